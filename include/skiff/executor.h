/* Running programs: tensors, scopes, executors.
 *
 *     struct skiff_scope *scope = skiff_scope_create();
 *     struct skiff_executor *exe = skiff_executor_create(scope, NULL);
 *     skiff_executor_run(exe, skiff_net_startup(net), NULL, 0, NULL, 0, NULL, &err);
 *     skiff_executor_run(exe, skiff_net_main(net), feeds, nfeeds, names, 1, &loss, &err);
 *
 * Programs may be changed and destroyed between two runs: the executor notices that a compiled
 * program is out of date. A program that is part of a job (skiff/fleet.h) takes part in it by being
 * run. Threads: one executor, one thread; several executors may share a scope and a program. */
#ifndef SKIFF_EXECUTOR_H
#define SKIFF_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <skiff/net.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_tensor;
struct skiff_scope;
struct skiff_executor;
struct skiff_thread_pool;

/* A tensor of the caller's. dtype: "float32", "int64", ...; elements are zero at first. NULL on bad
 * arguments, with the reason in err. */
SKIFF_API struct skiff_tensor *skiff_tensor_create(const char *dtype, int ndim, const int64_t *dims,
                                                   struct skiff_error *err);
SKIFF_API void skiff_tensor_destroy(struct skiff_tensor *t); /* NULL is fine */
/* Another shape (and type, NULL: as before); the memory is reused, contents are undefined. The lod
 * is dropped. */
SKIFF_API enum skiff_status skiff_tensor_resize(struct skiff_tensor *t, const char *dtype, int ndim,
                                                const int64_t *dims, struct skiff_error *err);
/* Cuts the rows into sequences: one level of `n` lengths, whose sum must be dimension 0. */
SKIFF_API enum skiff_status skiff_tensor_set_lengths(struct skiff_tensor *t, const int64_t *lengths,
                                                     int64_t n, struct skiff_error *err);
/* These and all calls below that only read a tensor accept NULL, and return NULL or 0 for it (dim:
 * -1, kind: "none"). A result of skiff_scope_find can therefore be passed unchecked. */
SKIFF_API const char *skiff_tensor_dtype(const struct skiff_tensor *t);
SKIFF_API int skiff_tensor_ndim(const struct skiff_tensor *t);
SKIFF_API int64_t skiff_tensor_dim(const struct skiff_tensor *t, int i);
SKIFF_API int64_t skiff_tensor_count(const struct skiff_tensor *t); /* elements */
SKIFF_API void *
skiff_tensor_data(const struct skiff_tensor *t); /* borrowed; elements in row-major order */
/* SelectedRows: the ids of the rows of the data; NULL and 0 for a plain tensor. */
SKIFF_API const int64_t *skiff_tensor_rows(const struct skiff_tensor *t, size_t *out_n);

/* "none" (not written yet), "tensor", "rows" (selected rows), "array" (of tensors). */
SKIFF_API const char *skiff_tensor_kind(const struct skiff_tensor *t);
/* Borrows memory of the caller, which must stay valid until the tensor is resized, borrows other
 * memory or is destroyed; for feeds. The lod is dropped. */
SKIFF_API enum skiff_status skiff_tensor_borrow(struct skiff_tensor *t, const char *dtype, int ndim,
                                                const int64_t *dims, const void *data,
                                                struct skiff_error *err);
SKIFF_API enum skiff_status skiff_tensor_copy(struct skiff_tensor *to,
                                              const struct skiff_tensor *from,
                                              struct skiff_error *err);
/* Sequences of several levels: level k has counts[k] offsets, which begin with 0; all of them one
 * after the other in `offsets`. 0 levels: none. */
SKIFF_API enum skiff_status skiff_tensor_set_lod(struct skiff_tensor *t, int levels,
                                                 const int64_t *counts, const int64_t *offsets,
                                                 struct skiff_error *err);
SKIFF_API int skiff_tensor_lod_levels(const struct skiff_tensor *t);
/* The offsets of a level, *out_n of them. */
SKIFF_API const int64_t *skiff_tensor_lod(const struct skiff_tensor *t, int level, int64_t *out_n);
/* Makes it selected rows: dims[0] rows of a table of `height`; fill
 * skiff_tensor_data and the ids. */
SKIFF_API enum skiff_status skiff_tensor_resize_rows(struct skiff_tensor *t, const char *dtype,
                                                     int ndim, const int64_t *dims, int64_t height,
                                                     int64_t **out_ids, struct skiff_error *err);
SKIFF_API int64_t skiff_tensor_height(const struct skiff_tensor *t); /* 0: not selected rows */
/* Arrays of tensors. */
SKIFF_API int64_t skiff_tensor_items(const struct skiff_tensor *t);
SKIFF_API const struct skiff_tensor *skiff_tensor_item(const struct skiff_tensor *t, int64_t i);

SKIFF_API struct skiff_scope *skiff_scope_create(void);
/* A child scope; its parent must outlive it. */
SKIFF_API struct skiff_scope *skiff_scope_create_child(struct skiff_scope *parent);
SKIFF_API void skiff_scope_destroy(struct skiff_scope *s);
/* The value of a variable, borrowed: data can be read and, until the next run, written. NULL: there
 * is none. Call it again after every run: deferred updates of rows are applied when a variable is
 * found. */
SKIFF_API struct skiff_tensor *skiff_scope_find(struct skiff_scope *s, const char *name);
/* Sets a variable to a copy of the tensor. */
SKIFF_API enum skiff_status skiff_scope_set(struct skiff_scope *s, const char *name,
                                            const struct skiff_tensor *t, struct skiff_error *err);

/* As skiff_scope_find, and also values that were not written yet. */
SKIFF_API struct skiff_tensor *skiff_scope_peek(struct skiff_scope *s, const char *name);
/* The same; creates the variable in this scope when no scope has it. */
SKIFF_API struct skiff_tensor *skiff_scope_var(struct skiff_scope *s, const char *name);
/* Calls `each` with the names of this scope (not its parent's), in order of creation. */
SKIFF_API void skiff_scope_names(const struct skiff_scope *s,
                                 void (*each)(void *user, const char *name), void *user);

/* Callbacks for ops that need the program's host: print and assert, py_func. Functions may be NULL,
 * and are called on the thread that runs. The struct must outlive the executor. */
struct skiff_host {
    void *user;
    void (*print)(void *user, const char *text); /* complete lines */
    /* Fills `out` with the results of function `id` for `in`; entries may be NULL. */
    enum skiff_status (*call)(void *user, int id, const struct skiff_tensor *const *in, int nin,
                              struct skiff_tensor *const *out, int nout, struct skiff_error *err);
};

struct skiff_executor_options {
    bool no_fuse; /* run programs op by op, as they are written */
    bool is_test;
    bool has_seed; /* seed of the default 2.x generator (paddle.seed) */
    uint64_t seed;
    const struct skiff_host *host; /* or NULL */
    /* or NULL: one thread; <skiff/thread_pool.h>; outlives the executor */
    struct skiff_thread_pool *thread_pool;
    uint64_t reserved[4];
};

struct skiff_feed {
    const char *name;
    const struct skiff_tensor *tensor; /* borrowed during the run */
};

SKIFF_API struct skiff_executor *
skiff_executor_create(struct skiff_scope *scope, const struct skiff_executor_options *options);
SKIFF_API void skiff_executor_destroy(struct skiff_executor *e);
/* Frees the memory of a compiled program now. */
SKIFF_API void skiff_executor_forget(struct skiff_executor *e, const struct skiff_program *p);
/* Runs the program once. out[i] is the value of fetches[i]: created when out[i] is NULL, reused
 * otherwise; the caller owns it. */
SKIFF_API enum skiff_status skiff_executor_run(struct skiff_executor *e,
                                               const struct skiff_program *p,
                                               const struct skiff_feed *feeds, int nfeeds,
                                               const char *const *fetches, int nfetches,
                                               struct skiff_tensor **out, struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
