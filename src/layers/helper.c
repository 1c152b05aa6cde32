/* What layers are written with: ops from parts, parameters, bias, activation (helper.h).
 *
 * An op is given as a list of parts (slots, attributes), in any order; net_put_op brings it into
 * Fluid's form: every declared input slot is listed, empty when unused; slots and attributes that
 * the op kind does not have in this generation are dropped; numbers become the declared type;
 * defaults are filled in. So a layer says what it means, and one place knows how Fluid writes it
 * down. */
#include "layers/helper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const struct skiff_param_attr skiff_param_none;

struct layer layer_begin(struct skiff_net *net, const char *type, const char *name)
{
    return (struct layer){
        .net = net, .type = type, .name = name ? name : names_next(net->names, type)};
}

struct skiff_var *block_new_var(struct skiff_net *net, struct skiff_block *b, const char *name,
                                enum dtype dtype)
{
    if (net_failed(net))
        return NULL;
    struct skiff_var *v = block_add_var(b, name ? name : names_next(net->names, "_generated_var"));
    v->dtype = dtype;
    v->has_tensor = true;
    return v;
}

static const char *dotted(struct skiff_net *net, const char *a, const char *b)
{
    return arena_printf(&net->arena, "%s.%s", a, b);
}

struct skiff_var *layer_tmp(struct layer *l, enum dtype dtype)
{
    if (net_failed(l->net))
        return NULL;
    const char *name = names_next(l->net->names, dotted(l->net, l->name, "tmp"));
    struct skiff_var *v = block_new_var(l->net, l->net->frame->block, name, dtype);
    v->persistable = PRESENCE_FALSE;
    return v;
}

struct skiff_var *layer_tmp_no_grad(struct layer *l, enum dtype dtype)
{
    struct skiff_var *v = layer_tmp(l, dtype);
    if (v)
        v->stop_gradient = true;
    return v;
}

struct skiff_var *net_global_var(struct skiff_net *net, const char *name, enum dtype dtype,
                                 const struct shape *shape, bool persistable)
{
    struct skiff_var *v = block_new_var(net, program_root(net->frame->main), name, dtype);
    if (!v)
        return NULL;
    v->shape = *shape;
    v->persistable = persistable ? PRESENCE_TRUE : PRESENCE_FALSE;
    return v;
}

void net_init_var(struct skiff_net *net, struct skiff_var *v, const struct skiff_initializer *init)
{
    if (net_failed(net) || !v)
        return;
    struct skiff_block *b = program_root(net->frame->startup);
    struct skiff_var *s = block_new_var(net, b, v->name, v->dtype);
    s->kind = v->kind;
    s->shape = v->shape;
    s->persistable = PRESENCE_TRUE;
    initializer_apply(net, b, s, init);
}

/* ---- ops ---- */

/* Slots that the kind does not declare (for this generation) are dropped, as in Fluid. */
static void set_slot(struct skiff_program *p, struct skiff_op *op, const struct part *part)
{
    const struct op_slot *slots = part->kind == PART_IN ? op->kind->ins : op->kind->outs;
    int at = slots ? op_kind_slot(slots, part->name) : -1;
    if (at < 0 || (p->generation == GEN_1X && slots[at].flags & SLOT_ONLY_2X))
        return;
    const char **names = NULL;
    int n = 0;
    if (part->n > 0)
        names = mem_alloc_or_die((size_t)part->n * sizeof *names);
    for (int i = 0; i < part->n; i++)
        if (part->vars[i])
            names[n++] = part->vars[i]->name;
    if (part->kind == PART_IN)
        op_set_in(p, op, part->name, n, names);
    else if (n)
        op_set_out(p, op, part->name, n, names);
    if (part->kind == PART_OUT)
        for (int i = 0; i < part->n; i++)
            if (part->vars[i])
                part->vars[i]->producer = op;
    free(names);
}

static void set_longs(struct skiff_program *p, struct skiff_op *op, const struct part *part,
                      enum attr_type type)
{
    if (type == ATTR_LONGS) {
        op_set_longs(p, op, part->name, part->n, part->longs);
        return;
    }
    int32_t *v = mem_alloc_or_die((size_t)(part->n + 1) * sizeof *v);
    for (int i = 0; i < part->n; i++)
        v[i] = (int32_t)part->longs[i];
    op_set_ints(p, op, part->name, part->n, v);
    free(v);
}

static void set_floats(struct skiff_program *p, struct skiff_op *op, const struct part *part)
{
    float *v = mem_alloc_or_die((size_t)(part->n + 1) * sizeof *v);
    for (int i = 0; i < part->n; i++)
        v[i] = (float)part->floats[i];
    op_set_attr(p, op, part->name, ATTR_FLOATS, &(struct attr_value){.n = part->n, .floats = v});
    free(v);
}

static void set_number(struct skiff_program *p, struct skiff_op *op, const struct part *part,
                       enum attr_type type)
{
    double f = part->kind == PART_FLOAT ? part->f : (double)part->i;
    int64_t i = part->kind == PART_FLOAT ? (int64_t)part->f : part->i;
    switch (type) {
    case ATTR_FLOAT:
        op_set_float(p, op, part->name, (float)f);
        break;
    case ATTR_LONG:
        op_set_long(p, op, part->name, i);
        break;
    case ATTR_BOOLEAN:
        op_set_bool(p, op, part->name, i != 0);
        break;
    default:
        op_set_int(p, op, part->name, (int32_t)i);
        break;
    }
}

static void set_attr(struct skiff_program *p, struct skiff_op *op, const struct part *part)
{
    int at = op_kind_attr(op->kind, part->name);
    if (at < 0 || (p->generation == GEN_1X && op->kind->attrs[at].flags & ATTR_ONLY_2X))
        return;
    enum attr_type type = op->kind->attrs[at].type;
    switch (part->kind) {
    case PART_INT:
    case PART_FLOAT:
    case PART_BOOL:
        set_number(p, op, part, type);
        break;
    case PART_STR:
        op_set_string(p, op, part->name, part->s);
        break;
    case PART_STRS:
        op_set_strings(p, op, part->name, part->n, part->strs);
        break;
    case PART_LONGS:
        set_longs(p, op, part, type);
        break;
    case PART_FLOATS:
        set_floats(p, op, part);
        break;
    case PART_BOOLS:
        op_set_attr(p, op, part->name, ATTR_BOOLEANS,
                    &(struct attr_value){.n = part->n, .bools = part->bools});
        break;
    case PART_BLOCK:
        op_set_attr(p, op, part->name, ATTR_BLOCK, &(struct attr_value){.i = (int32_t)part->i});
        break;
    default:
        break;
    }
}

/* Every declared input slot stands in the op, empty when it is not used; one that is not optional
 * must be filled, and every output that is neither optional nor an extra. */
static enum skiff_status complete_slots(struct skiff_program *p, struct skiff_op *op, bool no_ins,
                                        struct skiff_error *err)
{
    unsigned foreign = p->generation == GEN_1X ? SLOT_ONLY_2X : 0;
    for (const struct op_slot *s = op->kind->ins; s && s->name && !no_ins; s++) {
        const struct op_arg *a = op_in(op, s->name);
        if (s->flags & foreign)
            continue;
        if ((!a || !a->n) && !(s->flags & SLOT_OPTIONAL))
            return error_set(err, SKIFF_INVALID, "layer op %s: input %s is missing", op->type,
                             s->name);
        if (!a)
            op_set_in(p, op, s->name, 0, NULL);
    }
    for (const struct op_slot *s = op->kind->outs; s && s->name; s++)
        if (!op_out(op, s->name) && !(s->flags & (SLOT_OPTIONAL | SLOT_EXTRA | foreign)))
            return error_set(err, SKIFF_INVALID, "layer op %s: output %s is missing", op->type,
                             s->name);
    return SKIFF_OK;
}

static enum skiff_status fill_op(struct skiff_net *net, struct skiff_block *b, struct skiff_op *op,
                                 const struct part *parts, struct skiff_error *err)
{
    struct skiff_program *p = b->program;
    bool no_ins = false;
    if (!op->kind) {
        const char *near = op_kind_nearest(op->type);
        return error_set(err, SKIFF_NOT_FOUND, "unknown op %s%s%s%s", op->type,
                         near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    for (const struct part *x = parts; x->kind != PART_END; x++) {
        if (x->kind == PART_NO_INS)
            no_ins = true;
        else if (x->kind == PART_IN || x->kind == PART_OUT)
            set_slot(p, op, x);
        else
            set_attr(p, op, x);
    }
    TRY(complete_slots(p, op, no_ins, err));
    op_set_string(p, op, "op_namescope", net->scope->path);
    TRY(op_fill_defaults(p, op, err));
    return infer_op(b, op, err);
}

/* A layer says which types its results have, and Fluid leaves it at that when the op's shape rule
 * knows better (the indices of a max pool are float32 in its programs). So do we. */
static void keep_types(const struct part *parts, enum dtype *types, bool restore)
{
    int at = 0;
    for (; parts->kind != PART_END; parts++)
        for (int i = 0; parts->kind == PART_OUT && i < parts->n; i++, at++)
            if (parts->vars[i] && restore)
                parts->vars[i]->dtype = types[at];
            else if (parts->vars[i])
                types[at] = parts->vars[i]->dtype;
}

static int count_outs(const struct part *parts)
{
    int n = 0;
    for (; parts->kind != PART_END; parts++)
        n += parts->kind == PART_OUT ? parts->n : 0;
    return n;
}

struct skiff_op *net_put_op(struct skiff_net *net, struct skiff_block *b, int at, const char *type,
                            const struct part *parts)
{
    if (net_failed(net))
        return NULL;
    if (at < 0)
        at = b->nops;
    struct skiff_op *op = block_insert_op(b, at, type);
    struct skiff_error err = {0};
    enum dtype *types = mem_alloc_or_die((size_t)(count_outs(parts) + 1) * sizeof *types);
    keep_types(parts, types, false);
    enum skiff_status status = fill_op(net, b, op, parts, &err);
    keep_types(parts, types, true);
    free(types);
    if (status == SKIFF_OK)
        return op;
    block_remove_ops(b, at, 1);
    return net_fail_with(net, &err);
}

/* ---- parameters ---- */

static bool written_in(const struct skiff_block *b, const char *name)
{
    for (int i = 0; i < b->nops; i++)
        if (op_writes(b->ops[i], name))
            return true;
    return false;
}

/* The Parameter object of one program: made, or checked against the one that is there. */
static struct skiff_var *param_var(struct skiff_net *net, struct skiff_program *p, const char *name,
                                   const struct shape *shape, enum dtype dtype,
                                   const struct param_info *info)
{
    struct skiff_block *b = program_root(p);
    struct skiff_var *v = block_own_var(b, name);
    if (v && (!shape_equal(&v->shape, shape) || v->dtype != dtype)) {
        char had[160], want[160];
        return net_fail(net, SKIFF_SHAPE,
                        "parameter %s exists with shape %s of %s and is wanted with %s of %s", name,
                        shape_text(&v->shape, had), dtype_name(v->dtype), shape_text(shape, want),
                        dtype_name(dtype));
    }
    v = block_new_var(net, b, name, dtype);
    v->shape = *shape;
    v->persistable = PRESENCE_TRUE;
    v->stop_gradient = false;
    v->param = arena_memdup(&p->arena, info, sizeof *info);
    return v;
}

static struct param_info attr_info(struct skiff_program *p, const struct skiff_param_attr *attr)
{
    struct param_info info = {.trainable = !attr->frozen,
                              .learning_rate = (float)opt_float(attr->learning_rate, 1.0),
                              .do_model_average = !attr->no_model_average};
    if (attr->regularizer.kind)
        info.regularizer = arena_memdup(&p->arena, &attr->regularizer, sizeof attr->regularizer);
    if (attr->gradient_clip.kind)
        info.gradient_clip =
            arena_memdup(&p->arena, &attr->gradient_clip, sizeof attr->gradient_clip);
    return info;
}

struct skiff_var *layer_param(struct layer *l, const struct skiff_param_attr *attr,
                              const struct shape *shape, enum dtype dtype, bool is_bias,
                              const struct skiff_initializer *default_init)
{
    static const struct skiff_param_attr defaults;
    struct skiff_net *net = l->net;
    if (net_failed(net) || attr_is_none(attr))
        return NULL;
    if (!attr)
        attr = &defaults;
    const char *name =
        attr->name ? attr->name : names_next(net->names, dotted(net, l->name, is_bias ? "b" : "w"));
    struct skiff_initializer init =
        is_bias ? skiff_init_constant(0) : skiff_init_xavier(true, 0, 0, 0);
    if (attr->initializer.kind)
        init = attr->initializer;
    else if (default_init)
        init = *default_init;
    if (shape->ndim == 0)
        return net_fail(net, SKIFF_SHAPE, "layer %s: parameter %s has no dimensions", l->type,
                        name);
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dims[i] < 0) {
            char text[160];
            return net_fail(net, SKIFF_SHAPE,
                            "layer %s: parameter %s would have the shape %s: every dimension must "
                            "be known when the network is built",
                            l->type, name, shape_text(shape, text));
        }
    if (attr->weight_norm)
        return layer_weight_norm(l, attr, name, shape, dtype, &init);
    struct skiff_program *startup = net->frame->startup, *main = net->frame->main;
    struct param_info info = attr_info(startup, attr);
    struct skiff_var *s = param_var(net, startup, name, shape, dtype, &info);
    if (s && !written_in(program_root(startup), name))
        initializer_apply(net, program_root(startup), s, &init);
    if (net_failed(net))
        return NULL;
    info = attr_info(main, attr);
    return param_var(net, main, name, shape, dtype, &info);
}

struct skiff_var *layer_bias(struct layer *l, struct skiff_var *x,
                             const struct skiff_param_attr *attr, int dim_start, int dim_end)
{
    if (net_failed(l->net) || !x || attr_is_none(attr))
        return x;
    int end = dim_end ? dim_end : x->shape.ndim;
    struct shape size = {.ndim = 0};
    for (int i = dim_start; i < end && i < x->shape.ndim; i++)
        size.dims[size.ndim++] = x->shape.dims[i];
    struct skiff_var *b = layer_param(l, attr, &size, x->dtype, true, NULL);
    struct skiff_var *out = layer_tmp(l, x->dtype);
    layer_op(l->net, "elementwise_add", P_IN("X", x), P_IN("Y", b), P_OUT("Out", out),
             P_INT("axis", dim_start));
    return net_failed(l->net) ? NULL : out;
}

struct skiff_var *layer_act(struct layer *l, struct skiff_var *x, const char *act)
{
    if (!act || !x || net_failed(l->net))
        return x;
    const struct op_kind *k = op_kind_find(act, l->net->frame->main->generation);
    if (!k || !k->ins || op_kind_slot(k->ins, "X") != 0 || op_kind_slot(k->outs, "Out") < 0) {
        const char *near = op_kind_nearest(act);
        return net_fail(l->net, SKIFF_NOT_FOUND, "layer %s: unknown activation %s%s%s%s", l->name,
                        act, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    struct skiff_var *out = layer_tmp(l, x->dtype);
    layer_op(l->net, act, P_IN("X", x), P_OUT("Out", out), P_BOOL("use_cudnn", l->act_cudnn));
    return net_failed(l->net) ? NULL : out;
}

struct skiff_var *layer_unary(struct skiff_net *net, const char *type, const char *name,
                              struct skiff_var *x, const struct part *attrs)
{
    if (!net_has(net, type, "x", x))
        return NULL;
    struct layer l = layer_begin(net, type, name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    enum { MOST = 24 }; /* suggest names with few differing letters only */
    struct part parts[MOST] = {P_IN("X", x), P_OUT("Out", out)};
    for (int n = 2; n < MOST - 1 && attrs && attrs->kind != PART_END; n++)
        parts[n] = *attrs++;
    return net_put_op(net, net->frame->block, -1, type, parts) ? out : NULL;
}

/* ---- checks and utilities ---- */

/* Also a variable that an inner block has one of the same name for (the steps of a recurrent
 * net). */
static bool is_seen(const struct skiff_block *b, const struct skiff_var *v)
{
    for (;; b = b->program->blocks[b->parent])
        if (block_own_var(b, v->name) == v)
            return true;
        else if (b->parent < 0)
            return false;
}

bool net_has(struct skiff_net *net, const char *layer, const char *what, const struct skiff_var *v)
{
    if (net_failed(net))
        return false;
    if (!v) {
        net_fail(net, SKIFF_INVALID, "layer %s: argument %s is NULL", layer, what);
        return false;
    }
    if (!is_seen(net->frame->block, v)) {
        net_fail(net, SKIFF_INVALID,
                 "layer %s: argument %s (%s) is not a variable of the current main program", layer,
                 what, v->name);
        return false;
    }
    return true;
}

bool net_has_all(struct skiff_net *net, const char *layer, const char *what, int n,
                 struct skiff_var *const *v)
{
    if (net_failed(net))
        return false;
    if (n < 1) {
        net_fail(net, SKIFF_INVALID, "layer %s: the list %s is empty", layer, what);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (!net_has(net, layer, what, v[i]))
            return false;
    return true;
}

bool net_has_type(struct skiff_net *net, const char *layer, const char *what,
                  const struct skiff_var *v, const char *dtypes)
{
    if (!net_has(net, layer, what, v))
        return false;
    const char *name = dtype_name(v->dtype), *at = strstr(dtypes, name);
    size_t len = strlen(name);
    if (at && (at[len] == 0 || at[len] == ' '))
        return true;
    net_fail(net, SKIFF_DTYPE, "layer %s: argument %s (%s) is %s; %s is expected", layer, what,
             v->name, name, dtypes);
    return false;
}

enum dtype net_dtype(struct skiff_net *net, const char *layer, const char *name,
                     enum dtype otherwise)
{
    enum dtype t;
    if (!name)
        return otherwise;
    if (dtype_parse(name, &t))
        return t;
    net_fail(net, SKIFF_DTYPE, "layer %s: unknown data type %s", layer, name);
    return otherwise;
}

const char *python_float(double v, char out[static 32])
{
    if (isinf(v) || isnan(v)) {
        snprintf(out, 32, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return out;
    }
    int digits = 1;
    char e[32];
    do /* the shortest digits that give the same number back */
        snprintf(e, sizeof e, "%.*e", digits - 1, v);
    while (strtod(e, NULL) != v && ++digits <= 17);
    int exponent = atoi(strchr(e, 'e') + 1);
    if (exponent >= 16 || exponent < -4) {
        snprintf(out, 32, "%.*e", digits - 1, v);
        return out;
    }
    int decimals = digits - 1 - exponent;
    snprintf(out, 32, "%.*f", decimals > 1 ? decimals : 1, v);
    return out;
}
