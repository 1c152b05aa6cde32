/* Sparse tables: slices whose rows have an accessor's rules (table/accessor.h), and the operations
 * on whole tables (net/ps.h, PS_TABLE). Only files of server/ include this. */
#ifndef SERVER_SPARSE_H
#define SERVER_SPARSE_H

#include "server/server_parts.h"
#include "table/table_config.h"

struct rpc_request;
struct table_save; /* sparse_save.c */
struct table_load; /* sparse_load.c */

#define TABLE_COUNTS (METRIC_TABLE_WRITTEN_BYTES - METRIC_TABLE_ROWS + 1)

struct sparse_table {
    struct table_config config;
    int first_shard, nshards; /* shards of the table that are on this server */
    float *rows;              /* scratch: pushed rows, aligned */
    struct metric *metrics[TABLE_COUNTS];
    struct table_save *save; /* written, not committed; owned by the maintenance thread */
    struct table_load *load; /* read, not committed; owned by the maintenance thread */
};

/* The shard's lock is held. Brings the metrics up to date with the table: those that are known in
 * memory, or all. */
void sparse_describe(struct param_slice *u);
void sparse_describe_all(struct param_slice *u, const struct table_stats *now);
/* Creates a table from the slice's settings; stage: a second table for rows that are being
 * loaded. */
enum skiff_status sparse_table(struct server *s, struct param_slice *u, bool stage,
                               struct table **out, struct skiff_error *err);
bool sparse_on_disk(const struct param_slice *u); /* rows beyond the memory limit are on disk */

/* ---- sparse_call.c: commands, one after the other, on the maintenance thread ---- */

/* Number of table slots that are processed under one hold of the shard's lock: well under a
 * millisecond. */
#define CALL_PIECE 4096

/* Gives way to threads that wait for the shard's lock, which is not held. STATE: the server
 * ends. */
enum skiff_status call_pause(struct server *s, struct skiff_error *err);
/* the same without the pause */
enum skiff_status call_going_on(struct server *s, struct skiff_error *err);
/* the same as a flag; NULL: the thread does not run */
const atomic_bool *call_stop(const struct server *s);
/* The worker whose load is in progress here, NULL: none. staging_review is called when it has
 * gone. */
struct rpc_owner {
    uint32_t worker;
    uint64_t incarnation;
};
void call_note_loading(struct server *s, const struct rpc_owner *owner);
/* For any hash-backed table. */
void sparse_state(struct server *s, struct param_slice *u, struct ps_table_state *out);

/* ---- sparse_save.c ---- */
enum skiff_status sparse_save(struct server *s, struct param_slice *u, const struct ps_table *x,
                              struct ps_table_state *state, struct skiff_error *err);
enum skiff_status sparse_revert(struct server *s, struct param_slice *u, struct skiff_error *err);
enum skiff_status sparse_day(struct server *s, struct param_slice *u, struct skiff_error *err);
enum skiff_status sparse_commit(struct server *s, struct param_slice *u, const struct ps_table *x,
                                struct ps_table_state *state, struct skiff_error *err);
bool sparse_is_saving(const struct param_slice *u, uint64_t token);
void sparse_abort(struct param_slice *u); /* no-op when there is nothing to abort */

/* ---- sparse_load.c; while the server runs, on the maintenance thread ---- */
/* Reads the files into the stage. */
enum skiff_status sparse_load(struct server *s, struct param_slice *u, const struct ps_table *x,
                              struct ps_table_state *state, struct skiff_error *err);
bool sparse_is_loading(const struct param_slice *u, uint64_t token);
/* Takes over what was read. */
enum skiff_status sparse_take(struct server *s, struct param_slice *u, struct skiff_error *err);
void sparse_unload(struct param_slice *u); /* no-op when nothing was read */

/* ---- load_staging.c: everything of one staged load, tables and dense parts; on the maintenance
 * thread ---- */
/* q's sender begins a load. */
enum skiff_status staging_begin(struct server *s, const struct rpc_request *q, uint64_t token,
                                struct skiff_error *err);
/* q is a PUT_PART with a token. */
enum skiff_status staging_keep(struct server *s, const struct rpc_request *q,
                               struct skiff_error *err);
bool staging_is(const struct server *s, uint64_t token);
enum skiff_status staging_need(struct server *s, uint64_t token, struct skiff_error *err);
enum skiff_status staging_take(struct server *s, struct skiff_error *err);
/* Server 0: was this load taken over? If not, it never will be: the server that asks drops its
 * part. */
bool staging_counts(struct server *s, uint64_t token);
/* Has the loading worker gone? Then the load is taken over or dropped. */
enum skiff_status staging_review(struct server *s, struct skiff_error *err);
/* Called before q, an operation on all rows. A worker other than the loading one saves or shrinks
 * only after the loading one has gone, which this server may not have heard of yet. */
enum skiff_status staging_yield(struct server *s, const struct rpc_request *q,
                                struct skiff_error *err);
void staging_drop(struct server *s);

#endif
