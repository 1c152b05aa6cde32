/* What every layer is written with: names, parameters, variables and ops.
 *
 *     struct layer l = layer_begin(net, "fc", o->name);        names: fc_0, or the user's
 *     w = layer_param(&l, attr, &shape, dtype, ...);           fc_0.w_0 in main and startup
 *     out = layer_tmp(&l, dtype);                              fc_0.tmp_0
 *     layer_op(net, "mul", P_IN("X", x), P_IN("Y", w), P_OUT("Out", out), P_INT("...", 1));
 *
 * After a failure every call does nothing and returns NULL, so that layers need no checks of their
 * own; only code that looks into a variable (its shape) must first see that it is there. */
#ifndef LAYERS_HELPER_H
#define LAYERS_HELPER_H

#include "layers/net.h"

#include <skiff/layers.h>

#include "program/infer.h"

enum part_kind {
    PART_END,
    PART_IN,
    PART_OUT,
    PART_INT,
    PART_FLOAT,
    PART_BOOL,
    PART_STR,
    PART_STRS,
    PART_LONGS,
    PART_FLOATS,
    PART_BOOLS,
    PART_BLOCK,
    PART_NO_INS, /* Fluid gave no `inputs` at all: no input slot is listed */
};

/* One slot or attribute of an op. Attributes take the type that the op kind declares; an attribute
 * that it does not declare is dropped, as in Fluid. An absent (NULL) optional input gives an empty
 * slot, an absent output no slot. */
struct part {
    enum part_kind kind;
    const char *name;
    int n;
    union {
        struct skiff_var *const *vars;
        int64_t i;
        double f;
        const char *s;
        const char *const *strs;
        const int64_t *longs;
        const double *floats;
        const bool *bools;
    };
};

#define P_IN(slot, v)                                    \
    {                                                    \
        PART_IN, slot, 1, .vars = (struct skiff_var *[]) \
        {                                                \
            v                                            \
        }                                                \
    }
#define P_INS(slot, count, list)           \
    {                                      \
        PART_IN, slot, count, .vars = list \
    }
#define P_OUT(slot, v)                                    \
    {                                                     \
        PART_OUT, slot, 1, .vars = (struct skiff_var *[]) \
        {                                                 \
            v                                             \
        }                                                 \
    }
#define P_OUTS(slot, count, list)           \
    {                                       \
        PART_OUT, slot, count, .vars = list \
    }
#define P_INT(name, v)         \
    {                          \
        PART_INT, name, .i = v \
    }
#define P_FLOAT(name, v)         \
    {                            \
        PART_FLOAT, name, .f = v \
    }
#define P_BOOL(name, v)         \
    {                           \
        PART_BOOL, name, .i = v \
    }
#define P_STR(name, v)         \
    {                          \
        PART_STR, name, .s = v \
    }
#define P_STRS(name, count, list)            \
    {                                        \
        PART_STRS, name, count, .strs = list \
    }
#define P_LONGS(name, count, list)             \
    {                                          \
        PART_LONGS, name, count, .longs = list \
    }
#define P_FLOATS(name, count, list)              \
    {                                            \
        PART_FLOATS, name, count, .floats = list \
    }
#define P_BLOCK(name, idx)         \
    {                              \
        PART_BLOCK, name, .i = idx \
    }
#define P_NO_INS            \
    {                       \
        .kind = PART_NO_INS \
    }
/* Puts an op at position `at` of the block (-1: the end), fills defaults, role, role variables and
 * name scope, and runs its shape rule. NULL after a failure (nothing is left in the block). */
struct skiff_op *net_put_op(struct skiff_net *net, struct skiff_block *b, int at, const char *type,
                            const struct part *parts);
#define PARTS(...) ((const struct part[]){__VA_ARGS__, {.kind = PART_END}})
#define layer_op(net, type, ...) net_put_op(net, (net)->frame->block, -1, type, PARTS(__VA_ARGS__))

struct layer {
    struct skiff_net *net;
    const char *type, *name;
    bool act_cudnn; /* use_cudnn given to the layer is handed on to its activation */
};

/* name NULL: a unique one is made from the type. */
struct layer layer_begin(struct skiff_net *net, const char *type, const char *name);

/* A variable of the current block for a result; its shape comes from the op that writes it. */
struct skiff_var *layer_tmp(struct layer *l, enum dtype dtype);
struct skiff_var *layer_tmp_no_grad(struct layer *l, enum dtype dtype);
/* Same under a name of its own; name NULL: _generated_var_N. */
struct skiff_var *block_new_var(struct skiff_net *net, struct skiff_block *b, const char *name,
                                enum dtype dtype);
/* A persistable variable of the global block; name NULL: _generated_var_N. */
struct skiff_var *net_global_var(struct skiff_net *net, const char *name, enum dtype dtype,
                                 const struct shape *shape, bool persistable);
/* Makes the variable in the startup program too, with an op that fills it. */
void net_init_var(struct skiff_net *net, struct skiff_var *v, const struct skiff_initializer *init);

/* The parameter in both programs, its initializer op at the front of the startup program (unless it
 * is there already: shared parameters). attr NULL: defaults; SKIFF_NO_PARAM: NULL is returned.
 * default_init NULL: Xavier, or zeros for a bias. */
struct skiff_var *layer_param(struct layer *l, const struct skiff_param_attr *attr,
                              const struct shape *shape, enum dtype dtype, bool is_bias,
                              const struct skiff_initializer *default_init);
/* weight_norm.c: the weight of an attribute with weight_norm, made of the parameters <name>_g and
 * <name>_v. */
struct skiff_var *layer_weight_norm(struct layer *l, const struct skiff_param_attr *attr,
                                    const char *name, const struct shape *shape, enum dtype dtype,
                                    const struct skiff_initializer *init);
static inline bool attr_is_none(const struct skiff_param_attr *attr)
{
    return attr == SKIFF_NO_PARAM;
}

/* x plus a bias of shape dims[dim_start..dim_end) of x (dim_end 0: to the last). */
struct skiff_var *layer_bias(struct layer *l, struct skiff_var *x,
                             const struct skiff_param_attr *attr, int dim_start, int dim_end);
/* The activation of that name on top of x; act NULL: x itself. */
struct skiff_var *layer_act(struct layer *l, struct skiff_var *x, const char *act);

/* Appends the initializer's op to the front of the startup block. */
void initializer_apply(struct skiff_net *net, struct skiff_block *b, struct skiff_var *v,
                       const struct skiff_initializer *init);

/* One input X, one output Out, attributes as given (NULL: none). */
struct skiff_var *layer_unary(struct skiff_net *net, const char *type, const char *name,
                              struct skiff_var *x, const struct part *attrs);

/* Is the variable there, in this program? Otherwise records what is wrong. `what` is the layer's
 * argument. */
bool net_has(struct skiff_net *net, const char *layer, const char *what, const struct skiff_var *v);
bool net_has_all(struct skiff_net *net, const char *layer, const char *what, int n,
                 struct skiff_var *const *v);
/* Same, and its type must be one of those named, e.g. "int64 int32". */
bool net_has_type(struct skiff_net *net, const char *layer, const char *what,
                  const struct skiff_var *v, const char *dtypes);
/* "float32" -> DTYPE_FP32; NULL: otherwise. Records an error and
 * returns `otherwise` when unknown. */
enum dtype net_dtype(struct skiff_net *net, const char *layer, const char *name,
                     enum dtype otherwise);

/* Options: 0 means the default, SKIFF_ZERO means 0. */
static inline int opt_int(int v, int otherwise)
{
    return v == SKIFF_ZERO ? 0 : v ? v : otherwise;
}
static inline double opt_float(double v, double otherwise)
{
    return v == (double)SKIFF_ZERO ? 0 : v != 0 ? v : otherwise;
}
static inline struct shape dims_shape(const struct skiff_dims *d)
{
    return shape_of(d->n, d->d);
}

/* A float as Python's str() writes it: "0.3", "1.0", "1e-06". */
const char *python_float(double v, char out[static 32]);

#endif
