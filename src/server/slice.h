/* Parameter slices: what a server holds of a variable, and how gradients are applied to it. Only
 * files of server/ include this. */
#ifndef SERVER_SLICE_H
#define SERVER_SLICE_H

#include "executor/plan.h"
#include "net/ps.h"
#include "server/hashed.h"
#include "sparse/sparse.h"
#include "table/changed.h"

struct bound_var;
struct rpc_request;
struct server;
struct server_shard;

/* A trainer's push that waits for the end of the step. The item's data lie in body. */
struct pending_push {
    uint32_t trainer;
    int order; /* of arrival */
    struct ps_piece item;
    struct blob *body; /* a reference */
};

/* A parameter slice (or hash-backed table) and its update rule. */
struct param_slice {
    const char *param, *grad; /* names in the server program */
    int shard;
    int block;                                                  /* of the server program */
    struct skiff_tensor *param_value, *grad_value, *base_value; /* base: DC-ASGD's local_bak */
    struct shape shape; /* of the parameter; a table's rows: -1 */
    int64_t width;
    int64_t pushed;                    /* floats of a row of its gradient */
    struct sparse_table *sparse_table; /* a sparse table, without a block; NULL */
    bool sparse;                       /* gradients arrive as rows */
    bool add;                          /* GEO: pushes are added */
    bool compensate;                   /* DC-ASGD */
    struct plan *plan;                 /* NULL with add */
    struct table *table;               /* of a hash-backed embedding; NULL: it is none */
    struct accessor accessor;
    struct row_var *vars; /* of a hash-backed embedding; the parameter first */
    int nvars;
    /* rules without states work on the records in place; each NULL: on a window */
    struct row_home home;
    struct row_window window;
    /* where the deferred update's arrays begin in a record; -1: no such array */
    int deferred_first[DEFERRED_ARRAYS];
    float **backups;          /* DC-ASGD: by trainer, the values it pulled last; NULL: none yet */
    struct changed *changed;  /* GEO, sparse: by trainer */
    struct changed_ids *news; /* GEO, hash-backed: by trainer */
    const char *delta;        /* differences are pushed under this name, too; NULL: none */
    struct pending_push *pushes; /* sync: of the running step */
    int npushes, pushes_cap;
};

/* Needs no lock. */
static inline bool slice_is_hashed(const struct param_slice *u)
{
    return u->sparse_table || u->nvars;
}

/* Of either kind. A load may replace it: the shard's lock, or the preparer's (prepare.c), is
 * held. */
static inline struct table *slice_table(const struct param_slice *u)
{
    return u->sparse_table ? u->sparse_table->table : u->table;
}

/* ---- slices.c: the plan and the server program ---- */

enum skiff_status slices_create(struct server *s, struct skiff_error *err);
void slices_destroy(struct server *s);
struct server_shard *slice_shard(struct server *s, const struct param_slice *u);

/* ---- startup.c ---- */

/* Initial values of rows of hash-backed embeddings, from the startup program. */
enum skiff_status startup_fills(struct server *s, struct skiff_error *err);

/* ---- apply.c; the shard's lock is held ---- */

/* Does the item fit the slice of this variable? */
enum skiff_status slice_check(const struct server *s, const struct bound_var *v,
                              const struct ps_piece *item, struct skiff_error *err);
/* Are these n unaligned ids rows that this server has (or can have)? */
enum skiff_status slice_check_ids(const struct server *s, const struct param_slice *u,
                                  const uint8_t *ids, size_t n, struct skiff_error *err);
/* Applies one push now (async, GEO). */
enum skiff_status slice_apply(struct server *s, struct server_shard *h, struct param_slice *u,
                              uint32_t trainer, const struct ps_piece *item,
                              struct skiff_error *err);
/* Merges the pushes of the trainers that have ended the step, in their order, divides by `present`
 * and applies the result; without a push nothing happens. The pushes are dropped afterwards. */
enum skiff_status slice_step(struct server *s, struct server_shard *h, struct param_slice *u,
                             int present, struct skiff_error *err);
void slice_forget(struct param_slice *u, int trainer); /* pushes of one trainer; -1: all */
/* GEO: this process pulls, so changes by others are noted for it from now on. */
void slice_hear(struct server_shard *h, const struct rpc_request *q);
/* Not for hash-backed tables: local rows of n unaligned ids; valid until the next call. Deferred
 * updates of these rows are applied. */
enum skiff_status slice_rows(struct server *s, struct server_shard *h, struct param_slice *u,
                             const uint8_t *ids, size_t n, const int64_t **out,
                             struct skiff_error *err);
/* DC-ASGD: the trainer has pulled these rows (NULL: all). */
enum skiff_status slice_backup(struct server *s, struct param_slice *u, uint32_t trainer,
                               const int64_t *rows, size_t n, struct skiff_error *err);
/* GEO: members have changed; noted changes for members that have gone are freed. No lock is
 * held. */
void changed_review(struct server *s);
/* Runs the learning rate's block; `rate` is held for writing. */
enum skiff_status rate_run(struct server *s, struct skiff_error *err);

#endif
