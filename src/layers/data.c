/* Inputs, parameters and variables that no op makes. */
#include "layers/helper.h"

static struct skiff_var *data_var(struct skiff_net *net, const char *layer, const char *name,
                                  const struct shape *shape, const struct skiff_data_options *o)
{
    if (net_failed(net))
        return NULL;
    if (!name || !*name)
        return net_fail(net, SKIFF_INVALID, "layer %s: a name is needed", layer);
    enum dtype dtype = net_dtype(net, layer, o->dtype, DTYPE_FP32);
    struct skiff_block *b = program_root(net->frame->main);
    struct skiff_var *old = block_own_var(b, name);
    if (old && (!shape_equal(&old->shape, shape) || old->dtype != dtype ||
                old->lod_level != o->lod_level)) {
        char had[160], want[160];
        return net_fail(net, SKIFF_INVALID,
                        "layer %s: variable %s exists as %s %s and is wanted as %s %s", layer, name,
                        dtype_name(old->dtype), shape_text(&old->shape, had), dtype_name(dtype),
                        shape_text(shape, want));
    }
    struct skiff_var *v = block_new_var(net, b, name, dtype);
    if (!v)
        return NULL;
    v->shape = *shape;
    v->persistable = PRESENCE_FALSE;
    v->lod_level = o->lod_level;
    v->stop_gradient = !o->with_gradient;
    return v;
}

struct skiff_var *skiff_layer_data(struct skiff_net *net, const char *name, struct skiff_dims dims,
                                   const struct skiff_data_options *o)
{
    static const struct skiff_data_options none;
    o = o ? o : &none;
    bool batch = !o->no_batch_size;
    struct shape s = {.ndim = 0};
    for (int i = 0; i < dims.n; i++)
        if (dims.d[i] < 0)
            batch = false;
    if (batch)
        s.dims[s.ndim++] = -1;
    if (dims.n + s.ndim > TENSOR_MAX_DIMS)
        return net_fail(net, SKIFF_SHAPE, "layer data: %s has more than %d dimensions", name,
                        TENSOR_MAX_DIMS);
    for (int i = 0; i < dims.n; i++)
        s.dims[s.ndim++] = dims.d[i];
    return data_var(net, "data", name, &s, o);
}

struct skiff_var *skiff_layer_input(struct skiff_net *net, const char *name, struct skiff_dims dims,
                                    const struct skiff_data_options *o)
{
    static const struct skiff_data_options none;
    struct shape s = dims_shape(&dims);
    struct skiff_var *v = data_var(net, "input", name, &s, o ? o : &none);
    if (v)
        v->need_check_feed = PRESENCE_TRUE;
    return v;
}

struct skiff_var *skiff_layer_create_parameter(struct skiff_net *net, struct skiff_dims dims,
                                               const struct skiff_create_parameter_options *o)
{
    static const struct skiff_create_parameter_options none;
    o = o ? o : &none;
    struct layer l = layer_begin(net, "create_parameter", o->name);
    struct shape s = dims_shape(&dims);
    struct skiff_param_attr named = {.name = o->name};
    return layer_param(&l, o->attr ? o->attr : &named, &s,
                       net_dtype(net, "create_parameter", o->dtype, DTYPE_FP32), o->is_bias,
                       o->default_initializer.kind ? &o->default_initializer : NULL);
}

struct skiff_var *skiff_layer_create_global_var(struct skiff_net *net, struct skiff_dims dims,
                                                double value,
                                                const struct skiff_global_var_options *o)
{
    static const struct skiff_global_var_options none;
    o = o ? o : &none;
    layer_begin(net, "global_var", o->name);
    struct shape s = dims_shape(&dims);
    enum dtype dtype = net_dtype(net, "create_global_var", o->dtype, DTYPE_FP32);
    struct skiff_var *v = net_global_var(net, o->name, dtype, &s, o->persistable);
    if (!v)
        return NULL;
    v->stop_gradient = true;
    struct skiff_initializer init = skiff_init_constant(value);
    init.force_cpu = o->force_cpu;
    net_init_var(net, v, &init);
    return net_failed(net) ? NULL : v;
}

struct skiff_var *skiff_layer_create_tensor(struct skiff_net *net, const char *dtype,
                                            const char *name, bool persistable)
{
    struct layer l = layer_begin(net, "create_tensor", name);
    struct skiff_var *v = block_new_var(net, net->frame->block, l.name,
                                        net_dtype(net, "create_tensor", dtype, DTYPE_FP32));
    if (v)
        v->persistable = persistable ? PRESENCE_TRUE : PRESENCE_FALSE;
    return v;
}
