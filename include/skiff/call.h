/* Functions of Paddle 2.6 by name: paddle.*, paddle.nn.functional.*, with Paddle's arguments and
 * defaults. One call works in both modes: it runs at once, or appends to a program.
 *
 *     struct skiff_call_target now = {.eager = engine}, later = {.net = net};
 *     union skiff_handle y;
 *     struct skiff_call_arg args[] = {{"x", skiff_value_eager(x)},
 *                                     {"negative_slope", skiff_value_float(0.1)}};
 *     skiff_call(&now, "nn.functional.leaky_relu", 2, args, &y, 1, NULL, &err);
 *     ... y.eager is a new reference; with `later` y.var is a variable of the net's block
 *
 * `skiff inspect functions` lists them. Functions are declared, one row each, in src/calls. */
#ifndef SKIFF_CALL_H
#define SKIFF_CALL_H

#include <string.h>

#include <skiff/eager.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The target of a call: one of the first two fields. */
struct skiff_call_target {
    struct skiff_eager *eager; /* runs at once */
    struct skiff_net *net;     /* appended to its current block, with the names that Paddle gives;
                                  its program must be of generation 2 (skiff/build.h), but for
                                  fluid.layers, which have no other target */
    const char *default_dtype; /* paddle.set_default_dtype; NULL: float32 */
    bool no_gradient;          /* appended variables stop gradients (paddle.no_grad) */
    uint64_t reserved[4];
};

union skiff_handle { /* a tensor of the target */
    struct skiff_eager_tensor *eager;
    struct skiff_var *var;
};

enum skiff_value_kind {
    SKIFF_VALUE_DEFAULT, /* not given */
    SKIFF_VALUE_NONE,
    SKIFF_VALUE_TENSOR,
    SKIFF_VALUE_TENSORS,
    SKIFF_VALUE_ATTR,  /* a number, truth value, text or list of them; types as text: "float32" */
    SKIFF_VALUE_MIXED, /* integers in attr, but tensors[i] where that is not NULL */
    SKIFF_VALUE_PARAM, /* of a layer of fluid: what its parameter is like */
};

/* Memory is borrowed until the call is over. */
struct skiff_value {
    enum skiff_value_kind kind;
    int n; /* TENSORS, MIXED */
    union skiff_handle tensor;
    const union skiff_handle *tensors;
    struct skiff_attr attr;
    const struct skiff_param_attr *param; /* skiff/layers.h */
};

static inline struct skiff_value skiff_value_empty(enum skiff_value_kind kind)
{
    struct skiff_value v;
    memset(&v, 0, sizeof(v));
    v.kind = kind;
    return v;
}
static inline struct skiff_value skiff_value_eager(struct skiff_eager_tensor *t)
{
    struct skiff_value v = skiff_value_empty(SKIFF_VALUE_TENSOR);
    v.tensor.eager = t;
    return v;
}
static inline struct skiff_value skiff_value_var(struct skiff_var *var)
{
    struct skiff_value v = skiff_value_empty(SKIFF_VALUE_TENSOR);
    v.tensor.var = var;
    return v;
}
static inline struct skiff_value skiff_value_tensors(const union skiff_handle *tensors, int n)
{
    struct skiff_value v = skiff_value_empty(SKIFF_VALUE_TENSORS);
    v.n = n;
    v.tensors = tensors;
    return v;
}
static inline struct skiff_value skiff_value_float(double f)
{
    struct skiff_value v = skiff_value_empty(SKIFF_VALUE_ATTR);
    v.attr.type = SKIFF_ATTR_FLOAT;
    v.attr.f = f;
    return v;
}
static inline struct skiff_value skiff_value_int(int64_t i)
{
    struct skiff_value v = skiff_value_empty(SKIFF_VALUE_ATTR);
    v.attr.type = SKIFF_ATTR_LONG;
    v.attr.i = i;
    return v;
}
static inline struct skiff_value skiff_value_bool(bool b)
{
    struct skiff_value v = skiff_value_empty(SKIFF_VALUE_ATTR);
    v.attr.type = SKIFF_ATTR_BOOLEAN;
    v.attr.i = b;
    return v;
}
static inline struct skiff_value skiff_value_text(const char *s)
{
    struct skiff_value v = skiff_value_empty(SKIFF_VALUE_ATTR);
    v.attr.type = SKIFF_ATTR_STRING;
    v.attr.s = s;
    return v;
}
static inline struct skiff_value skiff_value_ints(const int64_t *longs, int n)
{
    struct skiff_value v = skiff_value_empty(SKIFF_VALUE_ATTR);
    v.attr.type = SKIFF_ATTR_LONGS;
    v.attr.n = n;
    v.attr.longs = longs;
    return v;
}

static inline struct skiff_value skiff_value_param(const struct skiff_param_attr *param)
{
    struct skiff_value v = skiff_value_empty(SKIFF_VALUE_PARAM);
    v.param = param;
    return v;
}

struct skiff_call_arg {
    const char *name; /* NULL: by position; these are first */
    struct skiff_value value;
};

/* Calls a function: "abs", "nn.functional.relu" ("paddle." in front is fine). `out` gets its
 * results, at most `room`; *n (may be NULL) their number. Tensors of eager mode are new references;
 * those beyond `room` are released. */
SKIFF_API enum skiff_status skiff_call(const struct skiff_call_target *to, const char *function,
                                       int nargs, const struct skiff_call_arg *args,
                                       union skiff_handle *out, int capacity, int *n,
                                       struct skiff_error *err);

/* ---- what there is ---- */

struct skiff_function_info {
    const char *name;      /* "nn.functional.leaky_relu" */
    const char *arguments; /* as Python writes them: "x, negative_slope=0.01, name=None" */
    const char *text;      /* what it does, a line */
    const char *ops;       /* its ops, as declared in src/calls */
    const char *module;    /* of Paddle's Python: "nn.functional.activation" */
    uint64_t reserved[4];
};
SKIFF_API int skiff_function_count(void);
/* The i-th, in the order of their declarations; false past the last. A function with several names
 * is listed once for each. */
SKIFF_API bool skiff_function_at(int i, struct skiff_function_info *out);

#ifdef __cplusplus
}
#endif
#endif
