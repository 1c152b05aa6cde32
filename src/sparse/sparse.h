/* Sparse tables of a server: rows by 64-bit id with an accessor's rules (table/accessor.h), and
 * saves and loads of whole tables as shard files. A table knows its server only as a sparse_host.
 *
 * Threads: the owner of a table gives it the lock that guards its rows. What works on rows is
 * called with the lock held. What works on whole tables (saves, loads, shrinks) takes it for one
 * piece at a time, and is called by one thread, one command after the other. */
#ifndef SPARSE_SPARSE_H
#define SPARSE_SPARSE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "metrics/metrics.h"
#include "table/accessor.h"
#include "table/table.h"
#include "table/table_config.h"

/* What the tables of one server share. */
struct sparse_host {
    int server, servers; /* this server's number, and how many there are */
    char name[320];      /* for messages: "server 1 at host:port" */
    struct metrics *metrics;
    size_t memory;             /* limit of a table whose settings name none; 0: none */
    const atomic_bool *stop;   /* ends commands on whole tables with STATE; NULL: none runs */
    pthread_mutex_t *prepares; /* held while tables get memory ahead of need; NULL: they do not */
};

#define SPARSE_COUNTS (METRIC_TABLE_WRITTEN_BYTES - METRIC_TABLE_ROWS + 1)

struct sparse_save; /* save.c */
struct sparse_load; /* load.c */

struct sparse_table {
    const char *name;
    const struct sparse_host *host;
    pthread_mutex_t *lock; /* guards the rows; set by the owner after sparse_create */
    struct table_config config;
    struct accessor accessor;
    struct table *table;      /* a load may replace it */
    int first_shard, nshards; /* shards of the table that are on this server */
    float *rows;              /* scratch: pushed rows, aligned */
    struct metric *metrics[SPARSE_COUNTS];
    struct sparse_save *save; /* written, not committed */
    struct sparse_load *load; /* read, not committed */
};

/* name and host are borrowed. The table can be destroyed after an error, too. */
enum skiff_status sparse_create(const char *name, const char *settings,
                                const struct sparse_host *host, struct sparse_table **out,
                                struct skiff_error *err);
void sparse_destroy(struct sparse_table *t);

bool sparse_on_disk(const struct sparse_table *t); /* rows beyond the memory limit are on disk */
bool sparse_owns(const struct sparse_table *t, int64_t id);

/* ---- rows; the lock is held ---- */

/* Rows of n unaligned ids; zeros where there are none. */
enum skiff_status sparse_pull(struct sparse_table *t, const uint8_t *ids, size_t n, float *out,
                              struct skiff_error *err);
/* n rows of unaligned floats, as the accessor takes them. */
enum skiff_status sparse_push(struct sparse_table *t, const uint8_t *ids, const uint8_t *rows,
                              size_t n, struct skiff_error *err);
/* Brings all metrics up to date; pushes do it with those that are known in memory. */
void sparse_describe_all(struct sparse_table *t, const struct table_stats *now);

/* Numbers of a record in our own saves: its stamp, its values. */
int64_t sparse_record_width(const struct sparse_table *t);
/* Records of the table's snapshot from a cursor on, at most max; END: these are the last. */
enum skiff_status sparse_list_kept(struct sparse_table *t, uint64_t *cursor, size_t max,
                                   int64_t *ids, float *rows, size_t *out_n,
                                   struct skiff_error *err);
/* The same for ids that wait for admission, WAITING_WIDTH numbers each. */
enum skiff_status sparse_list_waiting(struct sparse_table *t, uint64_t *cursor, size_t max,
                                      int64_t *ids, float *rows, size_t *out_n,
                                      struct skiff_error *err);
/* One such record, when a model is loaded. */
enum skiff_status sparse_put(struct sparse_table *t, int64_t id, const float *row,
                             struct skiff_error *err);

/* ---- whole tables ---- */

struct sparse_command {
    uint64_t token;  /* of the save or load */
    const char *dir; /* of its files */
    int mode;        /* enum save_mode */
    bool cache;      /* a save: only rows that are shown more than `threshold` */
    bool all;        /* a load: rows are looked for in all files, not only in those of own shards */
    double threshold;
};

struct sparse_result {
    uint64_t rows;      /* written, read, removed */
    uint64_t elsewhere; /* read, and of other servers */
    double threshold;   /* shows above which a row is among the most requested ones */
};

/* Removes rows by the accessor's rules. */
enum skiff_status sparse_shrink(struct sparse_table *t, uint64_t *out_rows,
                                struct skiff_error *err);
/* Writes the files next to the target; sparse_commit puts them in place. */
enum skiff_status sparse_save(struct sparse_table *t, const struct sparse_command *c,
                              struct sparse_result *out, struct skiff_error *err);
bool sparse_is_saving(const struct sparse_table *t, uint64_t token);
enum skiff_status sparse_commit(struct sparse_table *t, struct skiff_error *err);
void sparse_abort(struct sparse_table *t); /* no-op when nothing is being saved */
/* Without a save: the marks of patches are cleared; a day passes. */
enum skiff_status sparse_revert(struct sparse_table *t, struct skiff_error *err);
enum skiff_status sparse_day(struct sparse_table *t, struct skiff_error *err);

/* Reads the files into a second table; sparse_take takes it over. */
enum skiff_status sparse_load(struct sparse_table *t, const struct sparse_command *c,
                              struct sparse_result *out, struct skiff_error *err);
bool sparse_is_loading(const struct sparse_table *t, uint64_t token);
enum skiff_status sparse_take(struct sparse_table *t, struct skiff_error *err);
void sparse_unload(struct sparse_table *t); /* no-op when nothing was read */

#endif
