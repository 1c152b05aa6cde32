/* The protocol between trainers and parameter servers: methods and bodies on top of rpc.h. Every
 * body is written field by field (wire.h's writers and readers), every decoder checks every length
 * and is fuzzed.
 *
 * Variables have the server's names ("fc_0.w_0.block1", "fc_0.w_0@GRAD.block1"): the split program
 * (passes/split.h) is the same on all sides, so nothing is negotiated, only checked (PS_DESCRIBE).
 * When a session opens, the server lists them with their numbers (PS_BIND). Messages of a step have
 * numbers only.
 *
 * PS_EXCHANGE is the main method: it pushes some variables and pulls others, in one round trip.
 *   sync     every exchange with PS_END_STEP belongs to step `step` of that trainer (0, 1, ...).
 *            The server keeps each trainer's pushes; when all trainers that are still in the job
 *            have ended the step, it merges in trainer order, runs its blocks, and only then
 *            answers, with the new values. So no further barrier is needed.
 *   others   pushes are applied on arrival, in order of arrival, then wanted values are read.
 *   GEO      names end with ".delta": added to the variable; rows are noted for all trainers.
 * A push of the same trainer and step without PS_END_STEP is kept for that step.
 *
 * One server process has `shards` threads; ps_shard(name, shards) tells which of them owns a
 * variable (a gradient, a delta and a trainer's part belong to their variable's shard); one message
 * carries variables of one shard only (rpc_ask.key = shard). PS_END_STEP goes to every shard of
 * every server: each shard ends the step by itself. */
#ifndef NET_PS_H
#define NET_PS_H

#include "base/buf.h"
#include "base/mode.h"
#include "net/blob.h"
#include "net/wire.h"

enum ps_method {
    PS_DESCRIBE = 16, /* mode, counts, shards, variables of the server; RPC_READ */
    PS_EXCHANGE,
    PS_PULL_ROWS,     /* rows by id of one slice; RPC_READ */
    PS_PULL_CHANGED,  /* GEO: rows that changed since this trainer's last call */
    PS_PULL_PART,     /* rows first..first+n of any variable, for saving; RPC_READ */
    PS_SCAN,          /* rows of a hash-backed table, from a cursor on; RPC_READ */
    PS_SAVE_TABLE,    /* write this server's part of a table into a folder */
    PS_REDUCE,        /* server 0: sum, max, min over all workers that are in the job */
    PS_MESSAGE_PUT,   /* server 0 (relay): bytes for another worker ... */
    PS_MESSAGE_TAKE,  /* ... which fetches them; waits until they have arrived */
    PS_CLOCK,         /* 8 bytes, little-endian: nanoseconds since 1970 (doctor); RPC_READ */
    PS_SNAPSHOT,      /* tag the current values with a name, or drop them */
    PS_PULL_SNAPSHOT, /* values of a snapshot; RPC_READ */
    PS_BEGIN,         /* server 0: ready to begin; answered when all agree on the epoch */
    PS_SAVING,        /* server 0: is this worker to save the epoch? it is saved; saving failed */
    PS_RESULT,        /* every server: why the job's last epoch is not saved */
    PS_TABLE,         /* every server: an operation on its part of a sparse table */
    PS_PUT_PART,      /* new values for elements first .. of a dense variable, now or at a COMMIT */
    PS_TABLES,        /* every hash-backed table and its state (inspect); RPC_READ */
    PS_PREFETCH_ROWS, /* body of PULL_ROWS: these will be pulled; no rows are returned; RPC_READ */
    PS_STATUS,        /* members, and the workers that waits lack; RPC_READ */
    PS_TRAINED,       /* server 0: samples of an epoch that a worker has trained so far */
    PS_METRICS,       /* every server: what it has counted, as snapshot_write's lines; RPC_READ */
    PS_BIND,          /* numbers of all variables that can be pushed and pulled; RPC_READ */
};

#define PS_NAME 256
/* flags of an exchange */
#define PS_END_STEP 1u /* sync and half-async: this trainer has pushed all of this step */
#define PS_GONE 2u     /* sync: this trainer has no more data and leaves the barrier */
#define PS_BACK 4u     /* sync: ... and has some again */

/* A variable in a body. Data are borrowed: from the caller when written, from the blob when read;
 * data in a blob may be unaligned. rows NULL: a dense tensor. */
struct ps_item {
    char name[PS_NAME];
    uint32_t dtype; /* enum dtype of the tensor module, checked by the user */
    int ndim;
    int64_t dims[9]; /* rows: dims[0] is the number of rows in data */
    int64_t nrows;   /* rows: number of ids, == dims[0] */
    bool has_rows;
    const unsigned char *rows; /* nrows little-endian int64 */
    const unsigned char *data;
    size_t bytes;
    const size_t *pick; /* writing rows: row k is row pick[k] of data; NULL: in memory order */
};

/* BIND: the request's body is empty; entry i of the reply describes number i. */
enum ps_use {
    PS_PUSH_DENSE = 1,
    PS_PUSH_ROWS = 2,
    PS_PULL_WHOLE = 4,
    PS_PULL_ROWS_OF = 8, /* rows by id; GEO: changed rows */
};
struct ps_bound {
    char name[PS_NAME];
    uint32_t use; /* of enum ps_use */
    uint32_t shard, dtype;
    int ndim;
    int64_t dims[9]; /* rows: dims[0] is of no meaning */
};
void ps_write_bound(struct wire_writer *w, const struct ps_bound *list, uint32_t n);
enum skiff_status ps_read_bound(const struct blob *b, struct ps_bound **out, uint32_t *out_n,
                                struct skiff_error *err); /* the caller frees it */

/* The values of one variable in a message of a step. Dense: its elements; rows: ids, then rows.
 * Data are borrowed: from the caller when written, from the blob when read, where they may be
 * unaligned. */
struct ps_piece {
    uint32_t number;
    bool has_rows;
    size_t nrows;
    const unsigned char *rows; /* nrows little-endian int64 */
    const unsigned char *data;
    size_t bytes;       /* of data */
    const size_t *pick; /* writing rows: row k is row pick[k] of data; NULL: in memory order */
    size_t
        at; /* writing dense: the data lie in the message already, from here on; 0: they do not */
};

/* Pieces of a message that was read: their table has been checked. */
struct ps_pieces {
    uint32_t n;
    const uint8_t *table, *body;
};
struct ps_piece ps_piece_at(const struct ps_pieces *p, uint32_t i);

/* Pushes of a worker are numbered (1, 2, ...; 0: pushes nothing), so that servers can agree on the
 * contents of a snapshot: of a push that goes to several servers, all or nothing.
 *
 * The body is a header, a table of pieces (number, rows, offset, length), the wanted numbers, and
 * the data, which begin at multiples of PS_ALIGN. */
struct ps_exchange {
    uint32_t trainer, flags;
    uint64_t step;
    uint64_t push, acked; /* all servers have answered all pushes before `acked` */
    uint32_t parts;       /* messages of this push that push something */
    uint32_t nwant;
    const uint8_t *want;     /* little-endian uint32 */
    struct ps_pieces pieces; /* when read */
};
#define PS_ALIGN 64u
/* Where data may begin in a message of so many pieces and wanted numbers. */
size_t ps_exchange_head(size_t npieces, size_t nwant);
uint32_t ps_want_at(const struct ps_exchange *x, uint32_t i);

int ps_shard(const char *name, int shards);

/* Writers append a body; readers fill *out from a blob, FORMAT with the reason otherwise. What a
 * reader returns points into the blob and is valid as long as the blob. */
void ps_write_item(struct wire_writer *w, const struct ps_item *item);
/* The same without the data: item->bytes bytes for the caller to fill; NULL: no memory. */
void *ps_write_item_space(struct wire_writer *w, const struct ps_item *item);
/* The writer is empty. */
void ps_write_exchange(struct wire_writer *w, const struct ps_exchange *x,
                       const struct ps_piece *pieces, uint32_t n);
enum skiff_status ps_read_exchange(const struct blob *b, struct ps_exchange *out,
                                   struct skiff_error *err);
/* The reply: the wanted values, in the order of the wanted numbers. */
void ps_write_values(struct wire_writer *w, const struct ps_piece *pieces, uint32_t n);
enum skiff_status ps_read_values(const struct blob *b, struct ps_pieces *out,
                                 struct skiff_error *err);
/* Reply of PULL_PART and (rows) of PULL_CHANGED: a list of items. */
void ps_write_items(struct wire_writer *w, const struct ps_item *items, uint32_t n);
enum skiff_status ps_read_items(const struct blob *b, struct ps_item **out, uint32_t *out_n,
                                struct skiff_error *err);

/* PULL_ROWS: ids are local rows of a contiguous slice, or ids of a hash-backed table. The reply is
 * n * width floats and nothing else, so that it can be copied straight to its destination.
 * PULL_CHANGED: the same without ids. */
struct ps_pull_rows {
    uint32_t number;
    uint32_t trainer;
    uint64_t after;     /* answered when this many steps of the trainer are done; 0: at once */
    const uint8_t *ids; /* unaligned when read */
    size_t n;
};
void ps_write_pull_rows(struct wire_writer *w, uint32_t number, uint32_t trainer, uint64_t after,
                        const int64_t *ids, size_t n);
enum skiff_status ps_read_pull_rows(const struct blob *b, struct ps_pull_rows *out,
                                    struct skiff_error *err);

/* PULL_PART, SCAN: a name and two numbers (first and count; cursor and count). SCAN replies with
 * one item with rows and the next cursor (0: no more). */
void ps_write_range(struct wire_writer *w, const char *name, uint64_t a, uint64_t b);
enum skiff_status ps_read_range(const struct blob *blk, char name[static PS_NAME], uint64_t *a,
                                uint64_t *b, struct skiff_error *err);

/* SCAN's reply: rows with their ids, and the next cursor. */
void ps_write_scan(struct wire_writer *w, const struct ps_item *item, uint64_t next);
enum skiff_status ps_read_scan(const struct blob *b, struct ps_item *out, uint64_t *out_next,
                               struct skiff_error *err);

/* SAVE_TABLE: the reply is empty. */
struct ps_save_table {
    char table[PS_NAME], dir[4096];
};
void ps_write_save_table(struct wire_writer *w, const struct ps_save_table *s);
enum skiff_status ps_read_save_table(const struct blob *b, struct ps_save_table *out,
                                     struct skiff_error *err);

/* TABLE: fleet's save_*, load_*, shrink for each server's part of a sparse table. Saves have two
 * halves, so that a folder is the old one or the new one: SAVE writes next to it under names with
 * `token`, COMMIT (when all servers have answered) renames them to the target, ABORT removes them.
 * Loads have the same halves, for everything that is loaded together: from BEGIN on tables and
 * dense parts (PUT_PART) of one token are read on all servers; COMMIT, sent to server 0 before the
 * others, takes over all of them. In a save of several servers, each server's values are those of
 * one instant. */
enum ps_table_call {
    PS_TABLE_STAT,
    PS_TABLE_SHRINK,
    PS_TABLE_SAVE,
    PS_TABLE_COMMIT,
    PS_TABLE_ABORT,
    PS_TABLE_LOAD,   /* reads this server's files of dir; COMMIT takes them over */
    PS_TABLE_CACHE,  /* rows with more shows than `threshold`, written like SAVE */
    PS_TABLE_REVERT, /* patches: clears the marks of the rows pushed since the last one */
    PS_TABLE_BEGIN,  /* a load of `token` begins: of LOADs, PUT_PARTs and a COMMIT or ABORT */
    PS_TABLE_ASK, /* from servers to server 0: was the load of `token` taken over? done: 1, yes */
    PS_TABLE_DAY, /* a day passes for every row, as by a save of mode 3 */
};
struct ps_table {
    uint32_t call;
    int32_t mode;        /* of SAVE, LOAD */
    bool all;            /* LOAD: search all files for this server's rows */
    double threshold;    /* CACHE */
    uint64_t token;      /* of the save or load */
    char table[PS_NAME]; /* the parameter's name */
    char dir[4096];      /* with the table's number: <dir>/000 */
};
void ps_write_table(struct wire_writer *w, const struct ps_table *t);
enum skiff_status ps_read_table(const struct blob *b, struct ps_table *out,
                                struct skiff_error *err);
/* The reply of all of them. */
struct ps_table_state {
    uint64_t rows, bytes, admitted, refused, expired, evicted;   /* of the table */
    uint64_t hits, misses, disk_rows, disk_bytes, written_bytes; /* tiers */
    uint64_t limit;                                              /* limit of bytes; 0: none */
    uint64_t waiting;                                            /* ids that are not admitted yet */
    uint64_t fetched, written_rows; /* tiers: prefetched misses; rows that went to disk */
    uint64_t done;                  /* rows written, loaded, or removed by this call */
    uint64_t shards;                /* shards of the table on this server; may be 0 */
    uint64_t elsewhere;             /* LOAD: rows in its files that belong to other servers */
    double threshold;               /* SAVE 1, 2: of this server, for CACHE */
};
void ps_write_table_state(struct wire_writer *w, const struct ps_table_state *s);
enum skiff_status ps_read_table_state(const struct blob *b, struct ps_table_state *out,
                                      struct skiff_error *err);
void ps_table_state_add(struct ps_table_state *sum, const struct ps_table_state *x);
/* "12 rows, 3 kB of 64 MB, 12 admitted, 0 refused, 0 expired, ..., hit rate 98.1 %"; parts that do
 * not apply (a limit, waiting ids, a disk) are left out. brief: for a line of progress. */
void ps_table_state_text(const struct ps_table_state *s, bool brief, struct buf *out);
/* "1.23 MB" */
const char *ps_bytes_text(uint64_t n, char out[static 32]);

/* TABLES: the request's body is empty; the reply lists all tables of the server. */
struct ps_table_info {
    char table[PS_NAME];
    bool sparse_table; /* a sparse table; else an embedding that the program's optimizer updates */
    struct ps_table_state state;
};
void ps_write_tables(struct wire_writer *w, const struct ps_table_info *tables, uint32_t n);
enum skiff_status ps_read_tables(const struct blob *b, struct ps_table_info **out, uint32_t *out_n,
                                 struct skiff_error *err); /* the caller frees it */

/* PUT_PART: one item (dense, float32) for elements first .. of the variable; token: of the load
 * whose COMMIT writes it there, 0: now. */
struct ps_put {
    uint64_t token, first;
    struct ps_item item;
};
void ps_write_put(struct wire_writer *w, const struct ps_put *x);
enum skiff_status ps_read_put(const struct blob *b, struct ps_put *out, struct skiff_error *err);

/* DESCRIBE: the request's body is empty, or the trainer's own description (server 0, shards 1),
 * which the server compares with its own and refuses when they differ. */
struct ps_describe {
    uint32_t server, servers, trainers, mode, shards; /* mode: enum skiff_split_mode */
    uint64_t program_hash; /* of the server's placement: trainers refuse a different one */
};
void ps_write_describe(struct wire_writer *w, const struct ps_describe *d);
enum skiff_status ps_read_describe(const struct blob *b, struct ps_describe *out,
                                   struct skiff_error *err);

/* REDUCE: workers with the same tag take part; op "sum", "max", "min"; float64 or int64 elements.
 * The reply has the result in the same form. MAIL: tag, from, to, bytes. */
struct ps_reduce {
    char tag[PS_NAME], op[8];
    uint32_t worker, dtype;
    const uint8_t *data;
    size_t n; /* elements of 8 bytes */
};
void ps_write_reduce(struct wire_writer *w, const struct ps_reduce *r);
enum skiff_status ps_read_reduce(const struct blob *b, struct ps_reduce *out,
                                 struct skiff_error *err);
struct ps_message {
    char tag[PS_NAME];
    uint32_t from, to;
    const uint8_t *data;
    size_t bytes;
};
void ps_write_message(struct wire_writer *w, const struct ps_message *m);
enum skiff_status ps_read_message(const struct blob *b, struct ps_message *out,
                                  struct skiff_error *err);

/* SNAPSHOT: the reply of QUIESCE lists recently applied pushes (ps_write_applied), the others' is
 * empty. */
enum ps_snapshot_call {
    PS_TAG,     /* the current values get the name; they are the job's */
    PS_DROP,    /* drops the snapshot and lifts the sender's push fence */
    PS_QUIESCE, /* pushes that have not begun wait, except those that are listed */
    PS_TAG_OWN, /* as PS_TAG; lifts the fence; the values are dropped when the sender goes */
};
/* A push, and how many of its messages were applied here. */
struct ps_applied {
    uint32_t trainer, parts, here;
    uint64_t push, acked;
};
struct ps_snapshot {
    uint32_t call;
    char tag[PS_NAME];
    struct ps_applied *pushes; /* QUIESCE: may begin; read: the caller frees it */
    uint32_t npushes;
};
void ps_write_snapshot(struct wire_writer *w, const struct ps_snapshot *s);
enum skiff_status ps_read_snapshot(const struct blob *b, struct ps_snapshot *out,
                                   struct skiff_error *err);
void ps_write_applied(struct wire_writer *w, const struct ps_applied *list, uint32_t n);
enum skiff_status ps_read_applied(const struct blob *b, struct ps_applied **out, uint32_t *out_n,
                                  struct skiff_error *err); /* the caller frees it */

/* PULL_KEPT: rows first .. first + count of a variable; the reply is a list of one item. With ids
 * (of a hash-backed table): n * width floats and nothing else. Of a sparse table: records from the
 * cursor `first` on, as SCAN replies; with WAITING_SUFFIX (table/admission.h) appended to its name:
 * ids that wait for admission, in the same way (waiting_pack), with no columns if there is no
 * admission. */
struct ps_pull_snapshot {
    char tag[PS_NAME], name[PS_NAME];
    uint64_t first, count;
    const uint8_t *ids; /* unaligned when read */
    size_t n;
};
void ps_write_pull_snapshot(struct wire_writer *w, const struct ps_pull_snapshot *k);
enum skiff_status ps_read_pull_snapshot(const struct blob *b, struct ps_pull_snapshot *out,
                                        struct skiff_error *err);

/* BEGIN: the checkpoint that a process has on disk, and the one from which all begin. */
struct ps_begin {
    uint32_t index;  /* worker or server, by the sender's role */
    bool idle;       /* a worker without data: it will leave */
    bool resume;     /* it was started with --resume */
    int64_t epoch;   /* the newest complete checkpoint; -1: none */
    bool complete;   /* ... which was trained to its end */
    uint64_t sum;    /* of its manifest; 0: unknown */
    char run[64];    /* id of the run that saved it */
    char where[512]; /* host and folder, for messages */
};
void ps_write_begin(struct wire_writer *w, const struct ps_begin *x);
enum skiff_status ps_read_begin(const struct blob *b, struct ps_begin *out,
                                struct skiff_error *err);
struct ps_begun {
    int64_t epoch; /* from which workers begin */
    uint32_t idle; /* workers without data */
    bool late;     /* the job has begun before */
    char run[64];
};
void ps_write_begun(struct wire_writer *w, const struct ps_begun *x);
enum skiff_status ps_read_begun(const struct blob *b, struct ps_begun *out,
                                struct skiff_error *err);

/* STATUS: the request's body is empty. The members of the job as this server knows them, and the
 * waits that it cannot end because workers are missing. Only server 0 knows silences and
 * samples. */
struct ps_status_member {
    uint8_t role; /* enum net_role */
    uint32_t index;
    uint8_t state;      /* enum member_state */
    int64_t silent_ms;  /* since its last frame; -1: unknown */
    int64_t epoch;      /* that it trains; -1: unknown */
    uint64_t samples;   /* of that epoch, as reported last */
    char name[PS_NAME]; /* "worker 0 (host, process 4711)" */
    char reason[PS_NAME];
};
struct ps_status_wait {
    char what[PS_NAME]; /* "step 12", "epoch 0: counts" */
    uint64_t waited_ms; /* of the worker that has waited longest */
    uint32_t first, n;  /* its missing workers, among `missing` */
};
struct ps_status {
    struct ps_status_member *members;
    struct ps_status_wait *waits;
    uint32_t *missing; /* indexes of workers */
    uint32_t nmembers, nwaits, nmissing;
};
void ps_write_status(struct wire_writer *w, const struct ps_status *x);
enum skiff_status ps_read_status(const struct blob *b, struct ps_status *out,
                                 struct skiff_error *err);
void ps_status_deinit(struct ps_status *x);

/* TRAINED: how much of an epoch a worker has trained so far; done: all of its files. The reply is
 * the epoch's account over all workers, as far as server 0 knows it. */
struct ps_trained {
    uint32_t worker;
    int64_t epoch;
    uint64_t samples, batches;
    bool done;
};
void ps_write_trained(struct wire_writer *w, const struct ps_trained *x);
enum skiff_status ps_read_trained(const struct blob *b, struct ps_trained *out,
                                  struct skiff_error *err);
struct ps_account {
    uint64_t samples, batches; /* trained by all processes, those that died included */
    uint64_t twice;     /* of these: trained by a process that died, and again by its successor */
    uint32_t nlost;     /* workers that have not trained all of their files */
    char lost[PS_NAME]; /* their numbers: "1, 3" */
};
void ps_write_account(struct wire_writer *w, const struct ps_account *x);
enum skiff_status ps_read_account(const struct blob *b, struct ps_account *out,
                                  struct skiff_error *err);

/* SAVING: a question and its answer; RESULT: reason only. */
enum ps_saving_state {
    PS_SAVE_ASK,    /* in questions: which worker saves it? */
    PS_SAVE_YOU,    /* in answers: the one that asks */
    PS_SAVE_OTHER,  /* another worker, which is alive */
    PS_SAVE_DONE,   /* both: it is saved */
    PS_SAVE_FAILED, /* both: the one that asks failed; all failed */
};
/* Saves are numbered in order: the save at an epoch's end follows one in the middle of it. */
static inline int64_t ps_save_number(int64_t epoch, bool complete)
{
    return 2 * epoch + complete;
}
struct ps_saving {
    uint32_t state, worker;
    int64_t epoch; /* ps_save_number */
    char reason[512];
};
void ps_write_saving(struct wire_writer *w, const struct ps_saving *x);
enum skiff_status ps_read_saving(const struct blob *b, struct ps_saving *out,
                                 struct skiff_error *err);

#endif
