/* New tensors: constants, copies, random numbers.
 *
 * Fluid writes a constant twice, as a float attribute and as the text `str_value`, so layers here
 * print numbers as Python's str() does. Values given element by element (assign_value) become
 * attributes and are limited in number; larger ones belong in a file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "layers/helper.h"

/* The value as Python's str() writes it: of an int for integer types, of a float otherwise. */
static const char *value_text(enum dtype dtype, double value, char out[static 32])
{
    if (dtype != DTYPE_INT64 && dtype != DTYPE_INT32)
        return python_float(value, out);
    snprintf(out, 32, "%" PRId64, (int64_t)value);
    return out;
}

struct skiff_var *skiff_layer_fill_constant(struct skiff_net *net, struct skiff_dims shape,
                                            const char *dtype, double value,
                                            const struct skiff_fill_options *o)
{
    static const struct skiff_fill_options none;
    o = o ? o : &none;
    if (net_failed(net))
        return NULL;
    char text[32];
    struct layer l = layer_begin(net, "fill_constant", NULL);
    enum dtype type = net_dtype(net, "fill_constant", dtype, DTYPE_FP32);
    struct skiff_var *out = o->out ? o->out : layer_tmp(&l, type);
    layer_op(net, "fill_constant", P_OUT("Out", out), P_LONGS("shape", shape.n, shape.d),
             P_INT("dtype", type), P_FLOAT("value", value), P_BOOL("force_cpu", o->force_cpu),
             P_STR("str_value", value_text(type, value, text)));
    if (net_failed(net))
        return NULL;
    out->stop_gradient = true;
    return out;
}

struct skiff_var *
skiff_layer_fill_constant_batch_size_like(struct skiff_net *net, struct skiff_var *input,
                                          struct skiff_dims shape, const char *dtype, double value,
                                          const struct skiff_batch_like_options *o)
{
    static const struct skiff_batch_like_options none;
    o = o ? o : &none;
    if (!net_has(net, "fill_constant_batch_size_like", "input", input))
        return NULL;
    char text[32];
    struct layer l = layer_begin(net, "fill_constant_batch_size_like", NULL);
    enum dtype type = net_dtype(net, l.type, dtype, DTYPE_FP32);
    struct skiff_var *out = layer_tmp_no_grad(&l, type);
    layer_op(net, l.type, P_IN("Input", input), P_OUT("Out", out),
             P_LONGS("shape", shape.n, shape.d), P_INT("dtype", type), P_FLOAT("value", value),
             P_INT("input_dim_idx", o->input_dim_idx), P_INT("output_dim_idx", o->output_dim_idx),
             P_BOOL("force_cpu", o->force_cpu), P_STR("str_value", value_text(type, value, text)));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_zeros_like(struct skiff_net *net, struct skiff_var *x,
                                         struct skiff_var *out)
{
    if (!net_has(net, "zeros_like", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "zeros_like", NULL);
    if (!out)
        out = layer_tmp(&l, x->dtype);
    layer_op(net, "fill_zeros_like", P_IN("X", x), P_OUT("Out", out));
    if (net_failed(net))
        return NULL;
    out->stop_gradient = true;
    return out;
}

struct skiff_var *skiff_layer_ones_like(struct skiff_net *net, struct skiff_var *x,
                                        struct skiff_var *out)
{
    if (!net_has(net, "ones_like", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "ones_like", NULL);
    if (!out)
        out = layer_tmp(&l, x->dtype);
    layer_op(net, "fill_any_like", P_IN("X", x), P_OUT("Out", out), P_FLOAT("value", 1.0));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_assign(struct skiff_net *net, struct skiff_var *input,
                                     struct skiff_var *output)
{
    if (!net_has(net, "assign", "input", input))
        return NULL;
    struct layer l = layer_begin(net, "assign", NULL);
    if (!output)
        output = layer_tmp(&l, input->dtype);
    layer_op(net, "assign", P_IN("X", input), P_OUT("Out", output));
    return net_failed(net) ? NULL : output;
}

struct skiff_var *skiff_layer_assign_value(struct skiff_net *net, struct skiff_dims dims,
                                           const char *dtype, const void *values,
                                           struct skiff_var *output)
{
    if (net_failed(net))
        return NULL;
    struct layer l = layer_begin(net, "assign", NULL);
    enum dtype type = net_dtype(net, "assign_value", dtype, DTYPE_FP32);
    struct shape shape = dims_shape(&dims);
    int64_t n = shape_numel(&shape);
    if (n < 0 || n > 1024 * 1024)
        return net_fail(net, SKIFF_RANGE, "layer assign_value: %lld values (at most 1048576)",
                        (long long)n);
    double *floats = mem_alloc_or_die((size_t)(n + 1) * sizeof *floats);
    int64_t *longs = mem_alloc_or_die((size_t)(n + 1) * sizeof *longs);
    struct part part;
    for (int64_t i = 0; i < n; i++) {
        if (type == DTYPE_FP32)
            floats[i] = ((const float *)values)[i];
        else if (type == DTYPE_INT32)
            longs[i] = ((const int32_t *)values)[i];
        else if (type == DTYPE_INT64)
            longs[i] = ((const int64_t *)values)[i];
    }
    switch (type) {
    case DTYPE_FP32:
        part = (struct part)P_FLOATS("fp32_values", (int)n, floats);
        break;
    case DTYPE_INT32:
        part = (struct part)P_LONGS("int32_values", (int)n, longs);
        break;
    case DTYPE_INT64:
        part = (struct part)P_LONGS("int64_values", (int)n, longs);
        break;
    case DTYPE_BOOL:
        part = (struct part){PART_BOOLS, "bool_values", (int)n, .bools = values};
        break;
    default:
        net_fail(net, SKIFF_DTYPE, "layer assign_value: %s is not supported", dtype_name(type));
    }
    if (!net_failed(net)) {
        if (!output)
            output = layer_tmp(&l, type);
        layer_op(net, "assign_value", P_NO_INS, P_OUT("Out", output), P_INT("dtype", type),
                 P_LONGS("shape", dims.n, dims.d), part);
    }
    free(floats);
    free(longs);
    return net_failed(net) ? NULL : output;
}

struct skiff_var *skiff_layer_increment(struct skiff_net *net, struct skiff_var *x, double value,
                                        bool new_variable)
{
    if (!net_has(net, "increment", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "increment", NULL);
    struct skiff_var *out = new_variable ? layer_tmp(&l, x->dtype) : x;
    layer_op(net, "increment", P_IN("X", x), P_OUT("Out", out), P_FLOAT("step", value));
    return net_failed(net) ? NULL : out;
}

static const struct skiff_random_options random_defaults;

struct skiff_var *skiff_layer_uniform_random(struct skiff_net *net, struct skiff_dims shape,
                                             const struct skiff_random_options *o)
{
    o = o ? o : &random_defaults;
    struct layer l = layer_begin(net, "uniform_random", NULL);
    enum dtype type = net_dtype(net, l.type, o->dtype, DTYPE_FP32);
    struct skiff_var *out = layer_tmp(&l, type);
    layer_op(net, "uniform_random", P_OUT("Out", out), P_LONGS("shape", shape.n, shape.d),
             P_INT("dtype", type), P_FLOAT("min", opt_float(o->min, -1.0)),
             P_FLOAT("max", opt_float(o->max, 1.0)), P_INT("seed", o->seed));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_gaussian_random(struct skiff_net *net, struct skiff_dims shape,
                                              const struct skiff_random_options *o)
{
    o = o ? o : &random_defaults;
    struct layer l = layer_begin(net, "gaussian_random", NULL);
    enum dtype type = net_dtype(net, l.type, o->dtype, DTYPE_FP32);
    struct skiff_var *out = layer_tmp(&l, type);
    layer_op(net, "gaussian_random", P_OUT("Out", out), P_LONGS("shape", shape.n, shape.d),
             P_INT("dtype", type), P_FLOAT("mean", o->mean), P_FLOAT("std", opt_float(o->std, 1.0)),
             P_INT("seed", o->seed));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_uniform_random_batch_size_like(struct skiff_net *net,
                                                             struct skiff_var *input,
                                                             struct skiff_dims shape,
                                                             const struct skiff_random_options *o)
{
    o = o ? o : &random_defaults;
    if (!net_has(net, "uniform_random_batch_size_like", "input", input))
        return NULL;
    struct layer l = layer_begin(net, "uniform_random_batch_size_like", NULL);
    enum dtype type = net_dtype(net, l.type, o->dtype, DTYPE_FP32);
    struct skiff_var *out = layer_tmp(&l, type);
    layer_op(net, l.type, P_IN("Input", input), P_OUT("Out", out),
             P_LONGS("shape", shape.n, shape.d), P_INT("input_dim_idx", o->input_dim_idx),
             P_INT("output_dim_idx", o->output_dim_idx), P_FLOAT("min", opt_float(o->min, -1.0)),
             P_FLOAT("max", opt_float(o->max, 1.0)), P_INT("seed", o->seed), P_INT("dtype", type));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_randint(struct skiff_net *net, int64_t low, int64_t high,
                                      struct skiff_dims shape, const char *dtype, int seed)
{
    if (low >= high)
        return net_fail(net, SKIFF_RANGE, "layer randint: low %lld is not below high %lld",
                        (long long)low, (long long)high);
    struct layer l = layer_begin(net, "randint", NULL);
    enum dtype type = net_dtype(net, l.type, dtype, DTYPE_INT64);
    struct skiff_var *out = layer_tmp(&l, type);
    layer_op(net, "randint", P_OUT("Out", out), P_LONGS("shape", shape.n, shape.d),
             P_INT("low", low), P_INT("high", high), P_INT("seed", seed), P_INT("dtype", type));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_sampling_id(struct skiff_net *net, struct skiff_var *x,
                                          const struct skiff_random_options *o)
{
    o = o ? o : &random_defaults;
    if (!net_has(net, "sampling_id", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "sampling_id", NULL);
    struct skiff_var *out = layer_tmp(&l, net_dtype(net, l.type, o->dtype, DTYPE_FP32));
    layer_op(net, "sampling_id", P_IN("X", x), P_OUT("Out", out), P_FLOAT("min", o->min),
             P_FLOAT("max", opt_float(o->max, 1.0)), P_INT("seed", o->seed));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_hash(struct skiff_net *net, struct skiff_var *x, int64_t hash_size,
                                   int num_hash, const char *name)
{
    if (!net_has(net, "hash", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "hash", name);
    struct skiff_var *out = layer_tmp_no_grad(&l, x->dtype);
    layer_op(net, "hash", P_IN("X", x), P_OUT("Out", out), P_INT("num_hash", num_hash),
             P_INT("mod_by", hash_size));
    return net_failed(net) ? NULL : out;
}
