/* The public face of tensors, scopes and executors. The types are the inner ones
 * (docs/internals/decisions/0006-public-names.md); users see them as opaque, and what comes from
 * them is checked here. */
#include <skiff/executor.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/executor.h"
#include "program/kernel.h"

static enum skiff_status shape_from(int ndim, const int64_t *dims, struct shape *out,
                                    struct skiff_error *err)
{
    if (ndim < 0 || ndim > TENSOR_MAX_DIMS)
        return error_set(err, SKIFF_INVALID, "a tensor has 0 to %d dimensions, not %d",
                         TENSOR_MAX_DIMS, ndim);
    *out = shape_of(ndim, dims);
    return SKIFF_OK;
}

/* Getters have an answer for NULL; functions that change a tensor need one. */
static enum skiff_status need_tensor(const struct skiff_tensor *t, struct skiff_error *err)
{
    return t ? SKIFF_OK : error_set(err, SKIFF_INVALID, "expected a tensor, found NULL");
}

enum skiff_status skiff_tensor_resize(struct skiff_tensor *t, const char *dtype, int ndim,
                                      const int64_t *dims, struct skiff_error *err)
{
    TRY(need_tensor(t, err));
    enum dtype type = t->tensor.dtype;
    struct shape shape;
    if (dtype && !dtype_parse(dtype, &type))
        return error_set(err, SKIFF_DTYPE, "there is no element type \"%s\" (float32, int64, ...)",
                         dtype);
    TRY(shape_from(ndim, dims, &shape, err));
    TRY(value_as_tensor(t, type, &shape, err));
    tensor_drop_lod(&t->tensor);
    return SKIFF_OK;
}

struct skiff_tensor *skiff_tensor_create(const char *dtype, int ndim, const int64_t *dims,
                                         struct skiff_error *err)
{
    struct skiff_tensor *t = mem_alloc_or_die(sizeof(*t));
    if (skiff_tensor_resize(t, dtype ? dtype : "float32", ndim, dims, err) < 0) {
        free(t);
        return NULL;
    }
    if (t->tensor.data)
        memset(t->tensor.data, 0, tensor_bytes(&t->tensor));
    return t;
}

void skiff_tensor_destroy(struct skiff_tensor *t)
{
    if (!t)
        return;
    value_deinit(t);
    free(t);
}

enum skiff_status skiff_tensor_set_lengths(struct skiff_tensor *t, const int64_t *lengths,
                                           int64_t n, struct skiff_error *err)
{
    TRY(need_tensor(t, err));
    struct tensor *x = &t->tensor;
    int64_t total = 0, rows = x->shape.ndim ? x->shape.dims[0] : 1, count = n + 1;
    for (int64_t i = 0; i < n; i++) {
        if (lengths[i] < 0)
            return error_set(err, SKIFF_INVALID, "sequence %lld has a negative length %lld",
                             (long long)i, (long long)lengths[i]);
        total += lengths[i];
    }
    if (n < 1 || total != rows)
        return error_set(
            err, SKIFF_SHAPE,
            "the lengths of %lld sequences add up to %lld, but the tensor has %lld rows",
            (long long)n, (long long)total, (long long)rows);
    TRY(lod_build(&x->lod, 1, &count, err));
    int64_t *off = x->lod->level[0].off;
    off[0] = 0;
    for (int64_t i = 0; i < n; i++)
        off[i + 1] = off[i] + lengths[i];
    return SKIFF_OK;
}

const char *skiff_tensor_dtype(const struct skiff_tensor *t)
{
    return t ? dtype_name(t->tensor.dtype) : NULL;
}

int skiff_tensor_ndim(const struct skiff_tensor *t)
{
    return t ? t->tensor.shape.ndim : 0;
}

int64_t skiff_tensor_dim(const struct skiff_tensor *t, int i)
{
    return i >= 0 && i < skiff_tensor_ndim(t) ? t->tensor.shape.dims[i] : -1;
}

int64_t skiff_tensor_count(const struct skiff_tensor *t)
{
    return t ? tensor_numel(&t->tensor) : 0;
}

void *skiff_tensor_data(const struct skiff_tensor *t)
{
    return t ? t->tensor.data : NULL;
}

const int64_t *skiff_tensor_rows(const struct skiff_tensor *t, size_t *out_n)
{
    bool rows = t && t->kind == VALUE_ROWS;
    if (out_n)
        *out_n = rows ? t->sel.nrows : 0;
    return rows ? t->sel.rows : NULL;
}

const char *skiff_tensor_kind(const struct skiff_tensor *t)
{
    switch (t ? t->kind : VALUE_NONE) {
    case VALUE_TENSOR:
        return "tensor";
    case VALUE_ROWS:
        return "rows";
    case VALUE_ARRAY:
        return "array";
    default:
        return "none";
    }
}

enum skiff_status skiff_tensor_borrow(struct skiff_tensor *t, const char *dtype, int ndim,
                                      const int64_t *dims, const void *data,
                                      struct skiff_error *err)
{
    TRY(need_tensor(t, err));
    struct tensor *x = &t->tensor;
    struct shape shape;
    enum dtype type;
    if (!dtype_parse(dtype, &type))
        return error_set(err, SKIFF_DTYPE, "there is no element type \"%s\" (float32, int64, ...)",
                         dtype);
    TRY(shape_from(ndim, dims, &shape, err));
    if (x->owner != TENSOR_BORROWED || t->kind != VALUE_TENSOR)
        value_deinit(t);
    t->kind = VALUE_TENSOR;
    tensor_drop_lod(x);
    x->dtype = type;
    x->shape = shape;
    x->owner = TENSOR_BORROWED;
    x->data = (void *)data;
    x->cap = tensor_bytes(x);
    return SKIFF_OK;
}

enum skiff_status skiff_tensor_copy(struct skiff_tensor *to, const struct skiff_tensor *from,
                                    struct skiff_error *err)
{
    TRY(need_tensor(to, err));
    TRY(need_tensor(from, err));
    value_flush(to);
    value_show(from);
    return value_copy(to, from, err);
}

enum skiff_status skiff_tensor_set_lod(struct skiff_tensor *t, int levels, const int64_t *counts,
                                       const int64_t *offsets, struct skiff_error *err)
{
    TRY(need_tensor(t, err));
    struct tensor *x = &t->tensor;
    struct lod *made = NULL;
    if (levels <= 0) {
        tensor_drop_lod(x);
        return SKIFF_OK;
    }
    if (levels > LOD_MAX_LEVELS)
        return error_set(err, SKIFF_RANGE, "a tensor has at most %d sequence levels, not %d",
                         LOD_MAX_LEVELS, levels);
    for (int k = 0; k < levels; k++)
        if (counts[k] < 1)
            return error_set(err, SKIFF_INVALID, "sequence level %d has no offsets", k);
    TRY(lod_build(&made, levels, counts, err));
    for (int k = 0; k < levels; offsets += counts[k++])
        memcpy(made->level[k].off, offsets, (size_t)counts[k] * sizeof(*offsets));
    enum skiff_status status =
        lod_check(made, x->shape.ndim ? x->shape.dims[0] : 1, "the tensor", err);
    if (status < 0) {
        lod_unref(made);
        return status;
    }
    tensor_drop_lod(x);
    x->lod = made;
    return SKIFF_OK;
}

int skiff_tensor_lod_levels(const struct skiff_tensor *t)
{
    const struct lod *l = t ? t->tensor.lod : NULL;
    return l ? l->nlevels : 0;
}

const int64_t *skiff_tensor_lod(const struct skiff_tensor *t, int level, int64_t *out_n)
{
    const struct lod *l = t ? t->tensor.lod : NULL;
    bool there = l && level >= 0 && level < l->nlevels;
    *out_n = there ? l->level[level].n : 0;
    return there ? l->level[level].off : NULL;
}

enum skiff_status skiff_tensor_resize_rows(struct skiff_tensor *t, const char *dtype, int ndim,
                                           const int64_t *dims, int64_t height, int64_t **out_ids,
                                           struct skiff_error *err)
{
    TRY(need_tensor(t, err));
    struct shape shape;
    enum dtype type;
    if (!dtype_parse(dtype, &type))
        return error_set(err, SKIFF_DTYPE, "there is no element type \"%s\" (float32, int64, ...)",
                         dtype);
    TRY(shape_from(ndim, dims, &shape, err));
    TRY(value_as_rows_shape(t, type, &shape, height, err));
    *out_ids = t->sel.rows;
    return SKIFF_OK;
}

int64_t skiff_tensor_height(const struct skiff_tensor *t)
{
    return t && t->kind == VALUE_ROWS ? t->sel.height : 0;
}

int64_t skiff_tensor_items(const struct skiff_tensor *t)
{
    return t && t->kind == VALUE_ARRAY ? (int64_t)t->array.count : 0;
}

const struct skiff_tensor *skiff_tensor_item(const struct skiff_tensor *t, int64_t i)
{
    if (i < 0 || i >= skiff_tensor_items(t))
        return NULL;
    return t->array.items[i];
}

struct skiff_scope *skiff_scope_create(void)
{
    return scope_create();
}

void skiff_scope_destroy(struct skiff_scope *s)
{
    scope_destroy(s);
}

struct skiff_tensor *skiff_scope_find(struct skiff_scope *s, const char *name)
{
    struct skiff_tensor *v = s && name ? scope_find(s, name) : NULL;
    return v && v->kind != VALUE_NONE ? v : NULL;
}

enum skiff_status skiff_scope_set(struct skiff_scope *s, const char *name,
                                  const struct skiff_tensor *t, struct skiff_error *err)
{
    struct skiff_tensor *v = scope_var(s, name);
    value_flush(v);
    return value_copy(v, t, err);
}

struct skiff_scope *skiff_scope_create_child(struct skiff_scope *parent)
{
    return scope_create_child(parent);
}

struct skiff_tensor *skiff_scope_peek(struct skiff_scope *s, const char *name)
{
    return scope_find(s, name);
}

struct skiff_tensor *skiff_scope_var(struct skiff_scope *s, const char *name)
{
    struct skiff_tensor *t = skiff_scope_peek(s, name);
    return t ? t : scope_own(s, name);
}

void skiff_scope_names(const struct skiff_scope *s, void (*each)(void *user, const char *name),
                       void *user)
{
    struct str_map names;
    str_map_init(&names);
    scope_names(s, &names);
    for (size_t i = 0; i < names.count; i++)
        each(user, names.entries[i].key);
    str_map_deinit(&names);
}

_Static_assert(sizeof(struct skiff_host) == sizeof(struct run_host) &&
                   offsetof(struct skiff_host, call) == offsetof(struct run_host, call),
               "the public face of a host and the executor's are one");

struct skiff_executor *skiff_executor_create(struct skiff_scope *scope,
                                             const struct skiff_executor_options *options)
{
    struct executor_options o = {0};
    if (options)
        o = (struct executor_options){.no_fuse = options->no_fuse,
                                      .is_test = options->is_test,
                                      .has_seed = options->has_seed,
                                      .seed = options->seed,
                                      .host = (const struct run_host *)options->host,
                                      .thread_pool = options->thread_pool};
    return executor_create(scope, &o);
}

void skiff_executor_destroy(struct skiff_executor *e)
{
    executor_destroy(e);
}

void skiff_executor_forget(struct skiff_executor *e, const struct skiff_program *p)
{
    executor_forget(e, p);
}

static enum skiff_status feeds_check(const struct skiff_program *p, const struct skiff_feed *feeds,
                                     int n, struct skiff_error *err)
{
    if (!p)
        return error_set(err, SKIFF_INVALID, "there is no program to run (NULL)");
    for (int i = 0; i < n; i++) {
        if (!feeds[i].name || !feeds[i].tensor)
            return error_set(err, SKIFF_INVALID, "feed %d (%s) has no %s", i,
                             feeds[i].name ? feeds[i].name : "NULL",
                             feeds[i].name ? "tensor" : "name");
        if (feeds[i].tensor->kind != VALUE_TENSOR)
            return error_set(err, SKIFF_UNSUPPORTED,
                             "feed %s is not a plain tensor; selected rows cannot be fed",
                             feeds[i].name);
    }
    return SKIFF_OK;
}

/* The lists of a run, as the executor wants them; on the stack when they are short, so that a
 * steady step allocates nothing. */
#define FEW_FEEDS 64
#define FEW_FETCHES 8

enum skiff_status skiff_executor_run(struct skiff_executor *e, const struct skiff_program *p,
                                     const struct skiff_feed *feeds, int nfeeds,
                                     const char *const *fetches, int nfetches,
                                     struct skiff_tensor **out, struct skiff_error *err)
{
    struct feed few_feeds[FEW_FEEDS], *inner = few_feeds;
    struct skiff_tensor few_values[FEW_FETCHES] = {0}, *values = few_values;
    TRY(feeds_check(p, feeds, nfeeds, err));
    if (nfeeds > FEW_FEEDS)
        inner = mem_alloc_or_die((size_t)nfeeds * sizeof(*inner));
    if (nfetches > FEW_FETCHES)
        values = mem_alloc_or_die((size_t)nfetches * sizeof(*values));
    for (int i = 0; i < nfeeds; i++)
        inner[i] = (struct feed){feeds[i].name, &feeds[i].tensor->tensor, NULL};
    for (int i = 0; i < nfetches; i++)
        if (out[i])
            values[i] = *out[i]; /* lent for the run, so that its memory is reused */
    enum skiff_status status = executor_run(e, p, inner, nfeeds, fetches, nfetches, values, err);
    for (int i = 0; i < nfetches; i++) {
        if (!out[i] && status == SKIFF_OK)
            out[i] = mem_alloc_or_die(sizeof(struct skiff_tensor));
        if (out[i])
            *out[i] = values[i];
        else
            value_deinit(&values[i]);
    }
    if (values != few_values)
        free(values);
    if (inner != few_feeds)
        free(inner);
    return status;
}
