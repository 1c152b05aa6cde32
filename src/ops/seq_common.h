/* What the embedding, sequence, loss, normalisation, convolution and recurrence families share:
 * short forms for op tables, checks of element types, integer inputs of either width, and lods.
 *
 * Rules of the checks: a shape rule runs for building (dims may be -1) and for running; the checks
 * here pass over dims that are not known yet. */
#ifndef OPS_SEQ_COMMON_H
#define OPS_SEQ_COMMON_H

#include <string.h>

#include "ops/ops_common.h"

/* Attributes with flags (the short forms of op_kind.h have none). */
#define AF_INT(n, v, fl)                                           \
    {                                                              \
        .name = n, .type = ATTR_INT, .flags = fl, .def = {.i = v } \
    }
#define AF_BOOL(n, v, fl)                                              \
    {                                                                  \
        .name = n, .type = ATTR_BOOLEAN, .flags = fl, .def = {.b = v } \
    }
#define AF_STR(n, v, fl)                                              \
    {                                                                 \
        .name = n, .type = ATTR_STRING, .flags = fl, .def = {.s = v } \
    }
#define AF_LIST(n, t, fl)                 \
    {                                     \
        .name = n, .type = t, .flags = fl \
    }
/* A list attribute with a constant default. */
#define A_INTS_DEF(attr_name, ...)                                                \
    {                                                                             \
        .name = attr_name, .type = ATTR_INTS, .def = {                            \
            .n = (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), \
            .ints = (const int32_t[]){__VA_ARGS__}                                \
        }                                                                         \
    }

/* ---- shape rules ---- */

/* The input must be of this element type. */
enum skiff_status infer_want(const struct infer *c, int slot, enum dtype want,
                             struct skiff_error *err);
/* float32 or float64. */
enum skiff_status infer_want_float(const struct infer *c, int slot, struct skiff_error *err);
/* int32 or int64. */
enum skiff_status infer_want_int(const struct infer *c, int slot, struct skiff_error *err);
/* The input must have this rank. */
enum skiff_status infer_want_rank(const struct infer *c, int slot, int rank,
                                  struct skiff_error *err);
/* Two inputs must have the same shape, as far as it is known. */
enum skiff_status infer_want_alike(const struct infer *c, int a, int b, struct skiff_error *err);
/* Inputs 0..n-1 are float32 or float64, all the same, and of one shape (absent ones are passed
 * over). */
enum skiff_status infer_want_floats_alike(const struct infer *c, int n, struct skiff_error *err);
/* At run time: the input must carry at least one lod level that fits its rows. */
enum skiff_status infer_want_lod(const struct infer *c, int slot, struct skiff_error *err);

static inline bool infer_has(const struct infer *c, int slot)
{
    return infer_in(c, slot, 0) != NULL;
}
static inline bool dims_agree(int64_t a, int64_t b)
{
    return a < 0 || b < 0 || a == b;
}
/* ---- kernels ---- */

static inline bool kernel_has(const struct kernel *k, int slot)
{
    struct skiff_tensor *v = kernel_in_value(k, slot, 0);
    return v && v->kind != VALUE_NONE;
}
static inline bool kernel_wants(const struct kernel *k, int slot)
{
    return kernel_out_value(k, slot, 0) != NULL;
}
/* The floats behind an input or output; NULL when it is absent. */
static inline const float *kernel_in_f32(const struct kernel *k, int slot)
{
    return kernel_has(k, slot) ? tensor_f32(kernel_in(k, slot)) : NULL;
}
static inline float *kernel_out_f32(const struct kernel *k, int slot)
{
    return kernel_wants(k, slot) ? tensor_f32(kernel_out(k, slot)) : NULL;
}
/* The same for elements of any type. */
static inline const void *kernel_in_data(const struct kernel *k, int slot)
{
    return kernel_has(k, slot) ? kernel_in(k, slot)->data : NULL;
}
static inline void *kernel_out_data(const struct kernel *k, int slot)
{
    return kernel_wants(k, slot) ? kernel_out(k, slot)->data : NULL;
}
/* Room for the gradient of an input; NULL when it is not wanted, or when the input is absent, so
 * that its size is not known. */
static inline void *kernel_grad(const struct kernel *k, int out_slot, int in_slot)
{
    return kernel_has(k, in_slot) ? kernel_out_data(k, out_slot) : NULL;
}
/* Element of an int32 or int64 tensor. */
static inline int64_t tensor_int_at(const struct tensor *t, int64_t i)
{
    return t->dtype == DTYPE_INT64 ? tensor_i64(t)[i] : (int64_t)tensor_i32(t)[i];
}
/* The ids of an integer tensor as int64: the tensor's own data, or a converted copy in scratch. */
enum skiff_status kernel_ints(struct kernel *k, int slot, const int64_t **out,
                              struct skiff_error *err);
/* Scratch for n floats. */
enum skiff_status kernel_floats(struct kernel *k, int64_t n, float **out, struct skiff_error *err);
/* The lowest lod level of an input, checked against its rows; fails when there is none. */
enum skiff_status kernel_lod(const struct kernel *k, int slot, int i, const struct lod_level **out,
                             struct skiff_error *err);
/* The input must have this type and exactly n elements (a gradient that must fit its forward
 * value). */
enum skiff_status kernel_want_elements(const struct kernel *k, int slot, enum dtype dtype,
                                       int64_t n, struct skiff_error *err);
/* The same for float32. */
enum skiff_status kernel_want_floats(const struct kernel *k, int slot, int64_t n,
                                     struct skiff_error *err);
/* Makes the output's lod one level of n offsets, for the caller to fill. */
enum skiff_status kernel_make_lod(struct tensor *out, int64_t n, int64_t **out_off,
                                  struct skiff_error *err);
/* Gives `out` the lod of `from` less its lowest level (no lod when it had one level). */
enum skiff_status kernel_lod_without_last(struct tensor *out, const struct tensor *from,
                                          struct skiff_error *err);
/* "op x, input Label (label): element 3 is 9, must be in [0, 5)" */
enum skiff_status kernel_bad_index(const struct kernel *k, int slot, int64_t at, int64_t value,
                                   int64_t limit, const char *of_what, struct skiff_error *err);

/* Sorts ids ascending, each once; returns how many are left. */
int64_t ids_unique(int64_t *ids, int64_t n);
/* Position of an id that is in the sorted list. */
int64_t ids_find(const int64_t *ids, int64_t n, int64_t id);

float sigmoid_f32(float x);
/* log that gives -1e20 for 0 (and 1e20 for infinity), as Paddle's cross entropies count it. */
float log_finite_f32(float x);
double sigmoid_f64(double x);
double log_finite_f64(double x);
/* The same by the type of x, for loops over either. */
#define SIGMOID(x) _Generic((x), float : sigmoid_f32, default : sigmoid_f64)(x)
#define LOG_FINITE(x) _Generic((x), float : log_finite_f32, default : log_finite_f64)(x)
#define ZERO_ELEMENTS(p, n)                \
    for (int64_t z_ = 0; z_ < (n); z_++) { \
        (p)[z_] = 0;                       \
    }

/* Copies n rows of `bytes` each. */
static inline void rows_move(void *to, const void *from, int64_t n, size_t bytes)
{
    if (n > 0 && bytes)
        memcpy(to, from, (size_t)n * bytes);
}
static inline void floats_zero(float *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = 0;
}

#endif
