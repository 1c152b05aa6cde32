/* Hash-backed embeddings: a record for each id in a table, and a window of rows on which a slice's
 * block works (hashed.c). The shard's lock is held. Only files of server/ include this. */
#ifndef SERVER_HASHED_H
#define SERVER_HASHED_H

#include "base/map.h"
#include "table/accessor.h"
#include "table/fill.h"

struct deferred_state;
struct param_slice;
struct server;
struct skiff_block;

/* A variable of a hash-backed embedding that has a row per id: the table itself, its
 * accumulators. */
struct row_var {
    const char *name;
    struct skiff_tensor *value; /* rows of the window, while the slice's block is run */
    struct fill fill;
    int first; /* where its part of a record begins */
};

/* Ids of a hash-backed embedding, each once, that are taken all at once (GEO: changes that one
 * trainer has not pulled yet); {0} is an empty set. */
struct changed_ids {
    struct id_map map;
    size_t capacity; /* of the map */
    int64_t *ids;
    size_t n;
};

/* Rows of a hash-backed embedding, copied to its variables while its block is run. */
struct row_window {
    struct table_row **row_list;
    uint32_t *stamps; /* of the records */
    size_t n, cap;
    float *to[ACCESSOR_PARTS]; /* the variables' rows */
    bool all;                  /* every row of the table */
};

/* initial values are known */
enum skiff_status hashed_create(struct param_slice *u, struct skiff_error *err);
void hashed_destroy(struct param_slice *u, int trainers);
/* Rows of n unaligned ids, created if missing, with deferred updates applied. */
enum skiff_status hashed_pull(struct param_slice *u, const uint8_t *ids, size_t n, float *out,
                              struct skiff_error *err);
/* Applies all deferred updates of the table, which must have some kept. */
enum skiff_status hashed_flush_all(struct param_slice *u, struct skiff_error *err);
/* The rows of one variable in the table's order, from a cursor on (0: the first), at most max, with
 * deferred updates applied. END: these are the last. */
enum skiff_status hashed_list(struct param_slice *u, const struct row_var *var, uint64_t *cursor,
                              size_t max, int64_t *ids, float *rows, size_t *out_n,
                              struct skiff_error *err);
/* One row of a variable, when a model is loaded. */
enum skiff_status hashed_put(struct param_slice *u, const struct row_var *var, int64_t id,
                             const float *row, struct skiff_error *err);
/* n rows of unaligned floats are added to those of n unaligned ids. */
enum skiff_status hashed_add(struct param_slice *u, const uint8_t *ids, size_t n,
                             const uint8_t *rows, struct skiff_error *err);
/* Notes these ids as changed for the trainer; hashed_forget_changed frees what is noted. */
void hashed_note_changed(struct param_slice *u, int trainer, const uint8_t *ids, size_t n);
void hashed_forget_changed(struct param_slice *u, int trainer);
/* The noted ids, ascending, which are cleared: valid until the next call. */
size_t hashed_take_changed(struct param_slice *u, int trainer, const int64_t **out);
/* Is the slice's block nothing but a rule that can work on the records? Then sets u->home. */
void hashed_find_home(struct param_slice *u, const struct skiff_block *b);
/* For slices without a home. The gradient has ids: the rows that the slice's block needs are copied
 * to its variables, and the ids become row numbers there. close: copies them back, if they were
 * updated. */
enum skiff_status hashed_open(struct server *s, struct param_slice *u, struct skiff_error *err);
void hashed_close(struct param_slice *u, bool updated);
/* Rows of the table's snapshot; deferred_state: the point to which deferred updates are applied,
 * NULL: there were none. */
enum skiff_status hashed_read_kept(struct param_slice *u, const struct row_var *var,
                                   const struct deferred_state *deferred_state, const uint8_t *ids,
                                   size_t n, float *out, struct skiff_error *err);

#endif
