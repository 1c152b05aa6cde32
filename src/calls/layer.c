/* Steps of rows that are layers: values of the call become the layer's arguments.
 *
 * What a layer appends, and under which names, src/layers knows; a row adds Fluid's arguments,
 * defaults and refusals. */
#include "layers/table.h"

#include <limits.h>
#include <string.h>

#include "calls/rules.h"

static const struct skiff_value *term_value(struct call_context *c, const struct term *t,
                                            struct skiff_value *made, enum skiff_status *status)
{
    *made = (struct skiff_value){.kind = SKIFF_VALUE_ATTR};
    if (t->kind == TERM_SLOT)
        return call_value(c, t->arg);
    if (t->kind == TERM_CONST)
        made->attr = t->value;
    else if (t->kind == TERM_BEFORE) {
        made->kind = SKIFF_VALUE_TENSOR;
        made->tensor = c->has_before ? c->before : c->args[0].tensor;
    } else {
        made->attr.n = -1; /* a rule that leaves it unchanged gives nothing */
        *status = rule_run(c, t->rule, t->operands, t->noperands, &made->attr);
        if (t->kind == TERM_CHECK || made->attr.n < 0)
            made->kind = SKIFF_VALUE_NONE;
    }
    return made;
}

static void vars_take(struct call_context *c, const struct skiff_value *v, struct skiff_vars *out)
{
    int n = v->kind == SKIFF_VALUE_TENSOR ? 1 : v->n;
    struct skiff_var **vars = arena_alloc(&c->arena, (size_t)(n + 1) * sizeof(struct skiff_var *));
    for (int i = 0; i < n; i++)
        vars[i] = v->kind == SKIFF_VALUE_TENSOR ? v->tensor.var : v->tensors[i].var;
    *out = (struct skiff_vars){n, vars};
}

static enum skiff_status lengths(struct call_context *c, const struct layer_arg *arg, int n,
                                 int least, int most)
{
    if (n >= least && n <= most)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "%s: %s must have %d to %d numbers, but has %d",
                     c->f->name, arg->name, least, most, n);
}

static enum skiff_status number_take(struct call_context *c, const struct layer_arg *arg,
                                     const struct skiff_value *v, union layer_value *out)
{
    double f = number_of(&v->attr);
    bool real = v->attr.type == SKIFF_ATTR_FLOAT || v->attr.type == SKIFF_ATTR_FLOAT64;
    int64_t i = real ? (int64_t)f : v->attr.i;
    if (arg->type == ARG_BOOL)
        out->b = f != 0;
    else if (arg->type == ARG_FLOAT)
        out->f = f == 0 && arg->zero ? SKIFF_ZERO : f;
    else if (real && (double)i != f)
        return error_set(c->err, SKIFF_DTYPE, "%s: %s must be an int, not float", c->f->name,
                         arg->name);
    else if (!arg->wide && (i < INT_MIN || i > INT_MAX))
        return error_set(c->err, SKIFF_RANGE, "%s: %lld does not fit into 32 bits", arg->name,
                         (long long)i);
    else
        out->i = i == 0 && arg->zero ? SKIFF_ZERO : i;
    return SKIFF_OK;
}

/* A value that is an attribute. */
static enum skiff_status attr_take(struct call_context *c, const struct layer_arg *arg,
                                   const struct skiff_value *v, union layer_value *out)
{
    const struct skiff_attr *a = &v->attr;
    switch (arg->type) {
    case ARG_TEXT:
        out->text = a->type == SKIFF_ATTR_STRING ? a->s : dtype_word(c, v);
        return SKIFF_OK;
    case ARG_DIMS:
        TRY(lengths(c, arg, a->n, 0, SKIFF_MAX_DIMS));
        out->dims.n = a->n;
        memcpy(out->dims.d, a->longs, (size_t)a->n * sizeof(*a->longs));
        return SKIFF_OK;
    case ARG_PAIR:
        TRY(lengths(c, arg, a->n, 1, 2));
        out->pair[0] = (int)a->longs[0];
        out->pair[1] = (int)a->longs[a->n - 1];
        return SKIFF_OK;
    default:
        return number_take(c, arg, v, out);
    }
}

static enum skiff_status arg_take(struct call_context *c, const struct layer_arg *arg,
                                  const struct skiff_value *v, union layer_value *out,
                                  enum arg_given *given)
{
    bool tensor = v->kind == SKIFF_VALUE_TENSOR;
    bool fits = arg->type == ARG_VAR     ? tensor
                : arg->type == ARG_VARS  ? tensor || v->kind == SKIFF_VALUE_TENSORS
                : arg->type == ARG_PARAM ? v->kind == SKIFF_VALUE_PARAM
                                         : v->kind == SKIFF_VALUE_ATTR;
    if (!fits)
        return SKIFF_OK;
    *given = ARG_HAS_VALUE;
    if (arg->type == ARG_VAR)
        out->var = v->tensor.var;
    else if (arg->type == ARG_VARS)
        vars_take(c, v, &out->vars);
    else if (arg->type == ARG_PARAM)
        out->param = v->param;
    else
        return attr_take(c, arg, v, out);
    return SKIFF_OK;
}

static enum skiff_status layer_run(struct call_context *c, const struct call_step *s,
                                   struct layer_call *l)
{
    struct skiff_value made;
    for (int i = 0; i < s->nterms; i++) {
        const struct term *t = &s->terms[i];
        enum skiff_status status = SKIFF_OK;
        const struct skiff_value *v = term_value(c, t, &made, &status);
        TRY(status);
        if (t->kind != TERM_CHECK)
            TRY(arg_take(c, &s->layer->args[t->to], v, &l->a[t->to], &l->given[t->to]));
    }
    s->layer->call(l);
    enum skiff_status status = skiff_net_check(c->to->net, c->err);
    if (status < 0)
        skiff_net_forget(c->to->net);
    return status;
}

enum skiff_status layer_step(struct call_context *c, const struct call_step *s,
                             union skiff_handle *out, int capacity, int *n)
{
    struct layer_call l;
    layer_call_init(&l, c->to->net);
    enum skiff_status status = layer_run(c, s, &l);
    if (status == SKIFF_OK) {
        *n = l.nouts;
        for (int i = 0; i < l.nouts && i < capacity; i++)
            out[i].var = l.outs[i];
    }
    layer_call_deinit(&l);
    return status;
}
