/* Running programs: tensors, scopes, executors.
 *
 *     struct skiff_scope *scope = skiff_scope_create();
 *     struct skiff_executor *exe = skiff_executor_create(scope, NULL);
 *     skiff_executor_run(exe, skiff_net_startup(net), NULL, 0, NULL, 0, NULL, &err);
 *     skiff_executor_run(exe, skiff_net_main(net), feeds, nfeeds, names, 1, &loss, &err);
 *
 * Threads: one executor, one thread; several executors may share a scope and a program.
 * Programs must outlive the executor that ran them, or be forgotten with skiff_executor_forget. */
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

/* A tensor of the caller's. dtype: "float32", "int64", ...; elements are zero at first. NULL on bad
 * arguments (err says why). */
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
SKIFF_API const char *skiff_tensor_dtype(const struct skiff_tensor *t);
SKIFF_API int skiff_tensor_ndim(const struct skiff_tensor *t);
SKIFF_API int64_t skiff_tensor_dim(const struct skiff_tensor *t, int i);
SKIFF_API int64_t skiff_tensor_count(const struct skiff_tensor *t); /* elements */
SKIFF_API void *
skiff_tensor_data(const struct skiff_tensor *t); /* borrowed; elements in row-major order */
/* SelectedRows: the ids of the rows of the data; NULL and 0 for a plain tensor. */
SKIFF_API const int64_t *skiff_tensor_rows(const struct skiff_tensor *t, size_t *out_n);

SKIFF_API struct skiff_scope *skiff_scope_create(void);
SKIFF_API void skiff_scope_destroy(struct skiff_scope *s);
/* The value of a variable, borrowed: data can be read and, until the next run, written. NULL: there
 * is none. Find it anew after every run: rows that an optimizer has left behind are brought up to
 * date when a variable is found. */
SKIFF_API struct skiff_tensor *skiff_scope_find(struct skiff_scope *s, const char *name);
/* Sets a variable to a copy of the tensor. */
SKIFF_API enum skiff_status skiff_scope_set(struct skiff_scope *s, const char *name,
                                            const struct skiff_tensor *t, struct skiff_error *err);

struct skiff_executor_options {
    bool no_fuse; /* run programs op by op, as they are written */
    bool is_test;
    bool has_seed; /* seed of the default 2.x generator (paddle.seed) */
    uint64_t seed;
};

struct skiff_feed {
    const char *name;
    const struct skiff_tensor *tensor; /* borrowed during the run */
};

SKIFF_API struct skiff_executor *
skiff_executor_create(struct skiff_scope *scope, const struct skiff_executor_options *options);
SKIFF_API void skiff_executor_destroy(struct skiff_executor *e);
SKIFF_API void skiff_executor_forget(struct skiff_executor *e, const struct skiff_program *p);
/* Runs the program once. out[i] is the value of fetches[i]: made when out[i] is NULL, reused
 * otherwise; yours. */
SKIFF_API enum skiff_status skiff_executor_run(struct skiff_executor *e,
                                               const struct skiff_program *p,
                                               const struct skiff_feed *feeds, int nfeeds,
                                               const char *const *fetches, int nfetches,
                                               struct skiff_tensor **out, struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
