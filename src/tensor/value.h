/* Value: what a variable holds at run time: a tensor, selected rows, an array of tensors, or
 * nothing yet. Its type has the name that users know it by, struct skiff_tensor; struct tensor
 * (tensor.h) is the plain array inside.
 *
 * Lag: a sparse optimizer whose rule moves every row each step may leave rows behind and bring them
 * up to date when they are next needed (rules/catch_up.h). A value that has rows behind carries a
 * `lag`. Who reads or writes such a value as a whole must first call value_settle or value_show;
 * the executor does it for every op input/output whose slot is not marked SLOT_ROWWISE, and scope
 * reads (fetch, save) do it too.
 *
 * Settle or show? k steps applied at once and in two parts differ in the last bits. Settling is for
 * programs that train, which all ranks run alike, and for ends of epochs; showing is for readers
 * (fetch, save, evaluation): it leaves the bits of later steps as they would have been. */
#ifndef TENSOR_VALUE_H
#define TENSOR_VALUE_H

#include "tensor/tensor.h"

enum value_kind {
    VALUE_NONE, /* not written yet */
    VALUE_TENSOR,
    VALUE_ROWS,   /* SelectedRows */
    VALUE_ARRAY,  /* LoDTensorArray */
    VALUE_SCOPES, /* what an op that runs a block keeps of the runs for its gradient */
};

/* Shared by all copies of such a value; it does not change once there is a second one. */
struct value_kept {
    int refs; /* values that hold it */
    void (*destroy)(struct value_kept *k);
};

struct selected_rows {
    int64_t *rows; /* ids, duplicates allowed, any order */
    size_t nrows, rows_cap;
    int64_t height; /* dimension 0 of the whole table */
    bool distinct;  /* no id stands twice: set by who has made sure, cleared by value_as_rows */
    int marks;      /* so many columns at the front are not added up when rows of one id become one:
                       the first one's stay (slots of pushes); 0 but for tables of features */
};

struct skiff_tensor;

struct value_array {
    struct skiff_tensor **items; /* owned */
    size_t count, cap;
};

#define LAG_ARRAYS 4 /* values that lag together: a parameter and its accumulators */

/* What rows were at one moment, for whoever has their floats and stamps of then. */
struct lag_moment {
    const float *base[LAG_ARRAYS]; /* where the values lay; NULL: no such one */
    /* brings copies of one row, in the order of base, to the moment */
    void (*settle)(const struct lag_moment *m, uint32_t stamp, float *const *row);
    void (*destroy)(struct lag_moment *m);
};

/* Rows left behind by a sparse rule. Shared by the parameter and its accumulators; refcounted. */
struct lag;
struct lag_class {
    /* Brings the given rows (any order, duplicates allowed) of all values of the lag up to date. */
    void (*settle_rows)(struct lag *lag, const int64_t *ids, size_t n);
    void (*settle_all)(struct lag *lag);
    /* The same for a reader: the next step puts back what was not written to meanwhile. */
    void (*show_rows)(struct lag *lag, const int64_t *ids, size_t n);
    void (*show_all)(struct lag *lag);
    void (*destroy)(struct lag *lag);
    /* For snapshots; NULL: not of this lag. *out NULL: no row lies behind. */
    enum skiff_status (*moment)(struct lag *lag, struct lag_moment **out, struct skiff_error *err);
    uint32_t (*stamp)(const struct lag *lag, int64_t row);
    bool (*sweeps_next)(const struct lag *lag); /* will the next step settle all rows by itself? */
    /* For tables whose rows lie elsewhere, of which the values are copies of a few, others in every
     * step (rules/catch_up.h: window). arrays: where the values lie, in the order of `row`. */
    enum skiff_status (*window)(struct lag *lag, int64_t rows, uint32_t **out_stamps,
                                struct skiff_error *err);
    void (*arrays)(const struct lag *lag, const float *out[LAG_ARRAYS]);
    uint32_t (*settle_row)(struct lag *lag, uint32_t stamp, float *const *row);
    uint32_t (*now)(const struct lag *lag);
    void (*all_settled)(struct lag *lag);
};
struct lag {
    const struct lag_class *class;
    int refs; /* values that hold it: a fresh lag has 0, value_set_lag counts */
};

struct skiff_tensor {
    enum value_kind kind;
    struct tensor tensor;     /* TENSOR; the [nrows, width] value of ROWS */
    struct selected_rows sel; /* ROWS */
    struct value_array array; /* ARRAY */
    struct value_kept *kept;  /* SCOPES */
    struct lag *lag;          /* NULL: everything is up to date; read it with value_lag */
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
                             struct skiff_error *err);            /* SCOPES are shared */
void value_keep(struct skiff_tensor *v, struct value_kept *kept); /* makes it SCOPES */
/* A table that servers hold (fake_init): type and shape, no elements. */
static inline bool value_is_elsewhere(const struct skiff_tensor *v)
{
    return v->kind == VALUE_TENSOR && !v->tensor.data && tensor_numel(&v->tensor) > 0;
}

void value_set_lag(struct skiff_tensor *v, struct lag *lag); /* takes a reference; NULL drops it */
/* Threads that share a value may come upon a lag that another one has just attached: it is
 * complete. */
static inline struct lag *value_lag(const struct skiff_tensor *v)
{
    return __atomic_load_n(&v->lag, __ATOMIC_ACQUIRE);
}
static inline void value_settle(const struct skiff_tensor *v)
{
    struct lag *lag = value_lag(v);
    if (lag)
        lag->class->settle_all(lag);
}
static inline void value_show(const struct skiff_tensor *v)
{
    struct lag *lag = value_lag(v);
    if (lag)
        lag->class->show_all(lag);
}

#endif
