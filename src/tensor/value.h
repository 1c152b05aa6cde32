/* Value: what a variable holds at run time: a tensor, selected rows, an array of tensors, or
 * nothing yet. Its type has its public name, struct skiff_tensor; struct tensor (tensor.h) is the
 * plain array inside.
 *
 * Deferred updates (`deferred`): a sparse optimizer whose rule moves every row in each step may
 * defer rows and update them when they are next needed (rules/deferred.h). A value with deferred
 * rows has a `struct deferred`. Before such a value is read or written as a whole, value_flush or
 * value_show must be called; the executor does it for every op input/output whose slot is not
 * marked SLOT_ROWWISE, and scope reads (fetch, save) do it, too.
 *
 * value_flush applies the updates; value_show computes the current values for a reader and keeps
 * the updates deferred. k steps applied at once and in two parts differ in the last bits. Flushing
 * is for programs that train, which all ranks run alike, and for ends of epochs. Showing is for
 * readers (fetch, save, evaluation): the bits of later steps stay as they would have been. */
#ifndef TENSOR_VALUE_H
#define TENSOR_VALUE_H

#include "tensor/tensor.h"

enum value_kind {
    VALUE_NONE, /* not written yet */
    VALUE_TENSOR,
    VALUE_ROWS,   /* SelectedRows */
    VALUE_ARRAY,  /* LoDTensorArray */
    VALUE_SCOPES, /* state that an op which runs a block saves for its gradient */
};

/* Shared by all copies of such a value; it does not change once there is a second one. */
struct value_keepalive {
    int refs; /* values that hold it */
    void (*destroy)(struct value_keepalive *k);
};

struct selected_rows {
    int64_t *rows; /* ids, duplicates allowed, any order */
    size_t nrows, rows_cap;
    int64_t height; /* dimension 0 of the whole table */
    /* no id occurs twice: set by code that has checked it, cleared by value_as_rows */
    bool distinct;
    /* the first `marks` columns are not added when rows of one id are merged: the first row's stay
     * (slots of pushes); 0 except for sparse tables */
    int marks;
};

struct skiff_tensor;

struct value_array {
    struct skiff_tensor **items; /* owned */
    size_t count, cap;
};

#define DEFERRED_ARRAYS \
    4 /* values with common deferred updates: a parameter and its accumulators */

/* The deferred state at one version, for a reader that has the floats and stamps of that
 * version. */
struct deferred_state {
    const float *base[DEFERRED_ARRAYS]; /* where the values lay; NULL: no such one */
    /* brings copies of one row, in the order of base, to that version */
    void (*flush)(const struct deferred_state *m, uint32_t stamp, float *const *row);
    void (*destroy)(struct deferred_state *m);
};

/* Deferred updates of a sparse rule. Shared by the parameter and its accumulators; refcounted. */
struct deferred;
struct deferred_class {
    /* Flushes the given rows (any order, duplicates allowed) of all values. */
    void (*flush_rows)(struct deferred *deferred, const int64_t *ids, size_t n);
    void (*flush_all)(struct deferred *deferred);
    /* The same for a reader: the next step restores rows that were not written in between. */
    void (*show_rows)(struct deferred *deferred, const int64_t *ids, size_t n);
    void (*show_all)(struct deferred *deferred);
    void (*destroy)(struct deferred *deferred);
    /* For snapshots; NULL: this kind has none. *out NULL: no row is deferred. */
    enum skiff_status (*deferred_state)(struct deferred *deferred, struct deferred_state **out,
                                        struct skiff_error *err);
    uint32_t (*stamp)(const struct deferred *deferred, int64_t row);
    bool (*sweeps_next)(
        const struct deferred *deferred); /* will the next step flush all rows by itself? */
    /* For tables whose rows are stored elsewhere, while the values are copies of a few rows, others
     * in every step (rules/deferred.h: window). arrays: where the values are, in the order of
     * `row`. */
    enum skiff_status (*window)(struct deferred *deferred, int64_t rows, uint32_t **out_stamps,
                                struct skiff_error *err);
    void (*arrays)(const struct deferred *deferred, const float *out[DEFERRED_ARRAYS]);
    uint32_t (*flush_row)(struct deferred *deferred, uint32_t stamp, float *const *row);
    uint32_t (*now)(const struct deferred *deferred);
    void (*set_flushed)(struct deferred *deferred);
};
struct deferred {
    const struct deferred_class *class;
    int refs; /* values that hold it: a fresh one has 0, value_set_deferred counts */
};

struct skiff_tensor {
    enum value_kind kind;
    struct tensor tensor;         /* TENSOR; the [nrows, width] value of ROWS */
    struct selected_rows sel;     /* ROWS */
    struct value_array array;     /* ARRAY */
    struct value_keepalive *kept; /* SCOPES */
    struct deferred *deferred;    /* NULL: nothing is deferred; read it with value_deferred */
};

void value_deinit(struct skiff_tensor *v); /* frees everything, back to {0} */
void value_clear(struct skiff_tensor *v);  /* kind NONE, drops lod, keeps the memory */

/* Make the value a tensor / selected rows of this type and shape, reusing its memory. */
enum skiff_status value_as_tensor(struct skiff_tensor *v, enum dtype dtype,
                                  const struct shape *shape, struct skiff_error *err);
enum skiff_status value_as_rows(struct skiff_tensor *v, enum dtype dtype, size_t nrows,
                                int64_t width, int64_t height, struct skiff_error *err);
/* As value_as_rows for a value tensor of any rank; value_shape->dims[0] is the number of rows. */
enum skiff_status value_as_rows_shape(struct skiff_tensor *v, enum dtype dtype,
                                      const struct shape *value_shape, int64_t height,
                                      struct skiff_error *err);
/* The rows of `more` behind those of `to` (same type and width): their sum, as ids may stand twice.
 * Room is doubled, so that many pieces cost no more than their bytes. */
enum skiff_status value_append_rows(struct skiff_tensor *to, const struct skiff_tensor *more,
                                    struct skiff_error *err);
/* Makes it an array (if it is not one yet) of at least n items. */
enum skiff_status value_as_array(struct skiff_tensor *v, size_t n, struct skiff_error *err);
enum skiff_status value_copy(struct skiff_tensor *to, const struct skiff_tensor *from,
                             struct skiff_error *err);                       /* SCOPES are shared */
void value_keep_alive(struct skiff_tensor *v, struct value_keepalive *kept); /* makes it SCOPES */
/* A table that servers hold (fake_init): type and shape, no elements. */
static inline bool value_is_elsewhere(const struct skiff_tensor *v)
{
    return v->kind == VALUE_TENSOR && !v->tensor.data && tensor_numel(&v->tensor) > 0;
}

void value_set_deferred(struct skiff_tensor *v,
                        struct deferred *deferred); /* takes a reference; NULL drops it */
/* Threads that share a value may find one that another thread has just attached: it is
 * complete. */
static inline struct deferred *value_deferred(const struct skiff_tensor *v)
{
    return __atomic_load_n(&v->deferred, __ATOMIC_ACQUIRE);
}
static inline void value_flush(const struct skiff_tensor *v)
{
    struct deferred *deferred = value_deferred(v);
    if (deferred)
        deferred->class->flush_all(deferred);
}
static inline void value_show(const struct skiff_tensor *v)
{
    struct deferred *deferred = value_deferred(v);
    if (deferred)
        deferred->class->show_all(deferred);
}

#endif
