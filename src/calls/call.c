/* The dispatcher: carries out a call of a declared function.
 *
 * Arguments become slots and attributes of the ops in the function's row; the ops run at once
 * (eager mode) or are appended to the net's block. Attributes are set, results made and names
 * drawn in the order of the row, because Paddle's names depend on it. Tensors that a call makes
 * for itself, and results that the caller does not take, are released when the call ends. */
#include <string.h>

#include "calls/row.h"
#include "calls/rules.h"
#include "program/op_kind.h"

enum { SLOTS_MAX = 16, TENSORS_MAX = 64, SETTINGS_MAX = 24, OUTS_MAX = 4096 };

struct call_slot { /* tensors of one slot */
    const char *name;
    int n;
    union skiff_handle *tensors;
};

struct op_call { /* one op, ready to run or to be appended */
    const char *type;
    struct call_slot ins[SLOTS_MAX], outs[RESULTS_MAX];
    int nins, nouts;
    const int *order; /* of outs in programs; NULL: in the declared order */
    struct skiff_op_setting attrs[SETTINGS_MAX];
    int nattrs;
    union skiff_handle few[TENSORS_MAX];
    int used;
};

static union skiff_handle *op_reserve(struct call_context *c, struct op_call *o, int n)
{
    if (o->used + n > TENSORS_MAX)
        return arena_alloc(&c->arena, (size_t)n * sizeof(union skiff_handle));
    o->used += n;
    return o->few + o->used - n;
}

/* ---- arguments ---- */

const struct skiff_value *call_value(const struct call_context *c, int i)
{
    if (i >= c->f->nargs)
        return &c->kept[i - c->f->nargs];
    const struct skiff_value *v = &c->args[i];
    return v->kind == SKIFF_VALUE_DEFAULT ? &c->f->args[i].def : v;
}

static bool is_given(const struct skiff_value *v)
{
    return v->kind != SKIFF_VALUE_NONE && v->kind != SKIFF_VALUE_DEFAULT;
}

enum skiff_status rule_run(struct call_context *c, const struct call_rule *rule,
                           const struct operand *operands, int n, struct skiff_attr *out)
{
    const struct skiff_value *values[OPERANDS_MAX];
    for (int i = 0; i < n; i++)
        values[i] = operands[i].arg < 0 ? &operands[i].value : call_value(c, operands[i].arg);
    return rule->run(c, values, n, out);
}

static enum skiff_status put_in(struct call_context *c, struct op_call *o, const char *slot,
                                const struct skiff_value *v)
{
    bool one = v->kind == SKIFF_VALUE_TENSOR;
    if (o->nins == SLOTS_MAX)
        return error_set(c->err, SKIFF_INTERNAL, "%s: too many inputs", c->f->name);
    struct call_slot *s = &o->ins[o->nins++];
    s->name = slot;
    s->n = one ? 1 : v->n;
    s->tensors = op_reserve(c, o, s->n);
    if (one)
        s->tensors[0] = v->tensor;
    else
        memcpy(s->tensors, v->tensors, (size_t)v->n * sizeof(*s->tensors));
    return SKIFF_OK;
}

static void put_attr(struct op_call *o, const char *name, const struct skiff_attr *value)
{
    if (o->nattrs < SETTINGS_MAX)
        o->attrs[o->nattrs++] = (struct skiff_op_setting){name, *value};
}

static void stop_gradient(const struct call_context *c, union skiff_handle t)
{
    if (c->to->eager)
        skiff_eager_set_stop_gradient(t.eager, true);
    else
        skiff_var_set_stop_gradient(t.var, true);
}

/* A list of numbers with tensors among them: all become tensors; the attribute has -1 for numbers
 * that are known only when the program runs. */
static enum skiff_status put_mixed(struct call_context *c, struct op_call *o, const struct term *t,
                                   const struct skiff_value *v)
{
    struct skiff_value list = {.kind = SKIFF_VALUE_TENSORS, .n = v->n};
    union skiff_handle *tensors = arena_alloc(&c->arena, (size_t)(v->n + 1) * sizeof(*tensors));
    int64_t *longs = arena_alloc(&c->arena, (size_t)(v->n + 1) * sizeof(*longs));
    for (int i = 0; i < v->n; i++) {
        longs[i] = v->tensors[i].var ? -1 : v->attr.longs[i];
        tensors[i] = v->tensors[i];
        if (!v->tensors[i].var)
            TRY(call_fill(c, t->one_dim, (int64_t[]){1},
                          &(struct skiff_attr){.type = SKIFF_ATTR_LONG, .i = longs[i]}, "int32",
                          &tensors[i]));
    }
    list.tensors = tensors;
    put_attr(o, t->key, &(struct skiff_attr){.type = SKIFF_ATTR_LONGS, .n = v->n, .longs = longs});
    return put_in(c, o, t->list, &list);
}

static enum skiff_status put_either(struct call_context *c, struct op_call *o, const struct term *t,
                                    const struct skiff_value *v)
{
    static const int64_t none;
    if (v->kind == SKIFF_VALUE_MIXED)
        return put_mixed(c, o, t, v);
    if (v->kind != SKIFF_VALUE_TENSOR) {
        if (v->kind == SKIFF_VALUE_ATTR)
            put_attr(o, t->key, &v->attr);
        return SKIFF_OK;
    }
    if (t->stop)
        stop_gradient(c, v->tensor);
    if (c->to->net && t->list) /* in programs the numbers are unknown */
        put_attr(o, t->key, &(struct skiff_attr){.type = SKIFF_ATTR_LONGS, .longs = &none});
    return put_in(c, o, t->slot, v);
}

/* A tensor as it is, or a number as a tensor of the second operand's type. */
static enum skiff_status put_fill(struct call_context *c, struct op_call *o, const struct term *t)
{
    const struct skiff_value *v = call_value(c, t->arg), *like = call_value(c, t->operands[1].arg);
    struct skiff_value made = {.kind = SKIFF_VALUE_TENSOR};
    if (v->kind == SKIFF_VALUE_TENSOR)
        return put_in(c, o, t->key, v);
    bool scalar = t->noperands < 3; /* otherwise [1] */
    if (!is_number(&v->attr))
        return error_set(c->err, SKIFF_DTYPE, "%s: %s must be a tensor or a number", c->f->name,
                         c->f->args[t->arg].name);
    const char *dtype = handle_dtype(c, like->tensor);
    TRY(call_fill(c, !scalar, (int64_t[]){1}, &v->attr, dtype ? dtype : "float32", &made.tensor));
    return put_in(c, o, t->key, &made);
}

static enum skiff_status put_real(struct call_context *c, struct op_call *o, const struct term *t);

static enum skiff_status put_term(struct call_context *c, struct op_call *o, const struct term *t)
{
    const struct skiff_value *v;
    struct skiff_attr made = {0};
    switch (t->kind) {
    case TERM_SLOT:
        v = call_value(c, t->arg);
        if (v->kind != SKIFF_VALUE_TENSOR && v->kind != SKIFF_VALUE_TENSORS)
            return SKIFF_OK;
        if (t->stop)
            stop_gradient(c, v->tensor);
        return put_in(c, o, t->key, v);
    case TERM_BEFORE:
        return put_in(
            c, o, t->key,
            &(struct skiff_value){.kind = SKIFF_VALUE_TENSOR,
                                  .tensor = c->has_before ? c->before : c->args[0].tensor});
    case TERM_FILL:
        return put_fill(c, o, t);
    case TERM_REAL:
        return put_real(c, o, t);
    case TERM_ATTR:
        v = call_value(c, t->arg);
        if (v->kind == SKIFF_VALUE_ATTR)
            put_attr(o, t->key, &v->attr);
        return SKIFF_OK;
    case TERM_CONST:
        put_attr(o, t->key, &t->value);
        return SKIFF_OK;
    case TERM_EITHER:
        return put_either(c, o, t, call_value(c, t->arg));
    case TERM_RULE:
        made.n = -1; /* a rule that leaves it unchanged sets nothing */
        TRY(rule_run(c, t->rule, t->operands, t->noperands, &made));
        if (made.n >= 0)
            put_attr(o, t->key, &made);
        return SKIFF_OK;
    case TERM_CHECK:
        return rule_run(c, t->rule, t->operands, t->noperands, &made);
    }
    return SKIFF_OK;
}

/* ---- results ---- */

/* The name passed to the call; NULL if there is none. */
static const char *given_name(const struct call_context *c)
{
    const struct skiff_value *v = c->f->name_arg < 0 ? NULL : call_value(c, c->f->name_arg);
    return v && is_given(v) ? v->attr.s : NULL;
}

static void name_draw(struct call_context *c, const struct call_step *s)
{
    const char *given = s->aside ? NULL : given_name(c);
    if (c->to->net)
        c->prefix = given ? given : skiff_net_name(c->to->net, s->as ? s->as : c->f->name);
}

static struct skiff_var *var_make(struct call_context *c, const char *name, const struct result *r)
{
    struct skiff_block *b = skiff_net_block(c->to->net);
    struct skiff_var *v = skiff_block_own_var(b, name);
    if (!v) {
        v = skiff_block_add_var(b, name);
        skiff_var_set_kind(v, "LOD_TENSOR");
    }
    if (r->dtype)
        skiff_var_set_dtype(v, r->dtype);
    skiff_var_set_persistable(v, false);
    skiff_var_set_stop_gradient(v, r->stop);
    return v;
}

static union skiff_handle result_make(struct call_context *c, const struct call_step *s,
                                      const struct result *r)
{
    union skiff_handle made;
    if (c->to->eager) {
        made.eager = skiff_eager_tensor_create(c->to->eager);
        return made;
    }
    if (!s->named) {
        const char *key = arena_printf(&c->arena, "%s.tmp", c->prefix);
        made.var = var_make(c, skiff_net_name(c->to->net, key), r);
        return made;
    }
    const char *given = s->aside ? NULL : given_name(c);
    made.var = var_make(c, given ? given : skiff_net_name(c->to->net, s->as), r);
    return made;
}

static enum skiff_status results_make(struct call_context *c, const struct call_step *s,
                                      struct op_call *o)
{
    if (c->to->net && !s->named && (!c->prefix || s->as))
        name_draw(c, s);
    for (int i = 0; i < s->nresults; i++) {
        const struct result *r = &s->results[i];
        struct call_slot *slot = &o->outs[o->nouts++];
        struct skiff_attr count = {.i = 1};
        slot->n = 0;
        if (r->rule)
            TRY(rule_run(c, r->rule, r->operands, r->noperands, &count));
        if (count.i < 0 || count.i > OUTS_MAX)
            return error_set(c->err, SKIFF_INVALID,
                             "%s: the number of results must be known and at most %d, but is %lld",
                             c->f->name, OUTS_MAX, (long long)count.i);
        slot->name = r->slot;
        slot->tensors = op_reserve(c, o, (int)count.i);
        const struct skiff_value *inplace = r->in_place < 0 ? NULL : call_value(c, r->in_place);
        for (int k = 0; k < (int)count.i; k++, slot->n++) {
            bool taken = inplace && is_given(inplace);
            slot->tensors[k] = taken ? inplace->tensor : result_make(c, s, r);
            if (taken && c->to->eager)
                skiff_eager_tensor_ref(inplace->tensor.eager);
        }
    }
    return SKIFF_OK;
}

/* ---- the two targets ---- */

/* ins, outs: room for SLOTS_MAX and RESULTS_MAX. */
static struct skiff_op_call eager_call_of(const struct op_call *o, struct skiff_op_arg *ins,
                                          struct skiff_op_arg *outs)
{
    for (int i = 0; i < o->nins; i++)
        ins[i] = (struct skiff_op_arg){o->ins[i].name, o->ins[i].n,
                                       (struct skiff_eager_tensor *const *)o->ins[i].tensors};
    for (int i = 0; i < o->nouts; i++)
        outs[i] = (struct skiff_op_arg){o->outs[i].name, o->outs[i].n,
                                        (struct skiff_eager_tensor *const *)o->outs[i].tensors};
    return (struct skiff_op_call){o->type, ins, outs, o->nins, o->nouts, o->attrs, o->nattrs};
}

static enum skiff_status op_run_now(struct call_context *c, struct op_call *o)
{
    struct skiff_op_arg ins[SLOTS_MAX], outs[RESULTS_MAX];
    struct skiff_op_call call = eager_call_of(o, ins, outs);
    return skiff_eager_op(c->to->eager, &call, c->err);
}

static const char **slot_names(struct call_context *c, const struct call_slot *s)
{
    const char **names = arena_alloc(&c->arena, (size_t)(s->n + 1) * sizeof(*names));
    for (int i = 0; i < s->n; i++)
        names[i] = skiff_var_name(s->tensors[i].var);
    return names;
}

/* A result of inputs without gradient has no gradient. */
static void stop_without_gradient(const struct call_context *c, const struct op_call *o)
{
    for (int i = 0; !c->to->no_gradient && i < o->nins; i++)
        for (int k = 0; k < o->ins[i].n; k++)
            if (!skiff_var_stop_gradient(o->ins[i].tensors[k].var))
                return;
    for (int i = 0; i < o->nouts; i++)
        for (int k = 0; k < o->outs[i].n; k++)
            skiff_var_set_stop_gradient(o->outs[i].tensors[k].var, true);
}

static enum skiff_status op_append(struct call_context *c, struct op_call *o)
{
    struct skiff_block *b = skiff_net_block(c->to->net);
    int at = skiff_block_ops(b);
    struct skiff_op *op = skiff_block_insert_op(b, -1, o->type);
    for (int i = 0; i < o->nins; i++)
        if (skiff_op_declares_in(b, op, o->ins[i].name))
            skiff_op_set_in(b, op, o->ins[i].name, o->ins[i].n, slot_names(c, &o->ins[i]));
    for (int i = 0; i < o->nouts; i++) {
        const struct call_slot *out = &o->outs[o->order ? o->order[i] : i];
        if (skiff_op_declares_out(b, op, out->name))
            skiff_op_set_out(b, op, out->name, out->n, slot_names(c, out));
    }
    for (int i = 0; i < o->nattrs; i++) {
        if (!skiff_op_declares_attr(b, op, o->attrs[i].name, NULL))
            continue;
        if (skiff_op_set_attr(b, op, o->attrs[i].name, &o->attrs[i].value, c->err) < 0) {
            skiff_block_remove_ops(b, at, 1);
            return c->err->code;
        }
    }
    TRY(skiff_op_finish(b, op, 0, c->err));
    if (!c->f->programs)
        stop_without_gradient(c, o);
    return SKIFF_OK;
}

static enum skiff_status op_do(struct call_context *c, struct op_call *o)
{
    return c->to->eager ? op_run_now(c, o) : op_append(c, o);
}

/* ---- tensors that a call makes for itself ---- */

static void keep_temporary(struct call_context *c, struct skiff_eager_tensor *tensor)
{
    struct temporary *t = arena_alloc(&c->arena, sizeof(*t));
    *t = (struct temporary){tensor, c->temporaries};
    c->temporaries = t;
}

static bool is_whole(const char *dtype)
{
    return dtype && (!strcmp(dtype, "int32") || !strcmp(dtype, "int64"));
}

static enum skiff_status put_real(struct call_context *c, struct op_call *o, const struct term *t)
{
    struct skiff_value v = *call_value(c, t->arg);
    const char *dtype = handle_dtype(c, v.tensor);
    if (c->to->eager && is_whole(dtype)) {
        struct op_call cast;
        cast.type = "cast";
        cast.order = NULL;
        cast.nins = cast.nattrs = cast.used = 0;
        cast.nouts = 1;
        put_attr(&cast, "in_dtype",
                 &(struct skiff_attr){.type = SKIFF_ATTR_INT, .i = skiff_dtype_number(dtype)});
        put_attr(&cast, "out_dtype",
                 &(struct skiff_attr){.type = SKIFF_ATTR_INT, .i = skiff_dtype_number("float64")});
        TRY(put_in(c, &cast, "X", &v));
        v.tensor.eager = skiff_eager_tensor_create(c->to->eager);
        keep_temporary(c, v.tensor.eager);
        cast.outs[0] = (struct call_slot){"Out", 1, &v.tensor};
        TRY(op_do(c, &cast));
    }
    return put_in(c, o, t->key, &v);
}

enum skiff_status call_fill(struct call_context *c, int ndim, const int64_t *dims,
                            const struct skiff_attr *number, const char *dtype,
                            union skiff_handle *out)
{
    static const struct result result = {.slot = "Out", .stop = true, .in_place = -1};
    struct op_call o;
    o.type = "fill_constant";
    o.order = NULL;
    o.nins = o.nattrs = o.used = 0;
    o.nouts = 1;
    if (c->to->eager)
        out->eager = skiff_eager_tensor_create(c->to->eager);
    else { /* two names are taken, the second is used */
        skiff_net_name(c->to->net, "fill_constant");
        const char *prefix = skiff_net_name(c->to->net, "fill_constant");
        const char *key = arena_printf(&c->arena, "%s.tmp", prefix);
        out->var = var_make(c, skiff_net_name(c->to->net, key), &result);
    }
    o.outs[0] = (struct call_slot){"Out", 1, out};
    put_attr(&o, "shape", &(struct skiff_attr){.type = SKIFF_ATTR_LONGS, .n = ndim, .longs = dims});
    put_attr(&o, "dtype",
             &(struct skiff_attr){.type = SKIFF_ATTR_INT, .i = skiff_dtype_number(dtype)});
    put_attr(&o, "value", &(struct skiff_attr){.type = SKIFF_ATTR_FLOAT, .f = number_of(number)});
    put_attr(
        &o, "str_value",
        &(struct skiff_attr){.type = SKIFF_ATTR_STRING, .s = text_as(&c->arena, number, dtype)});
    put_attr(&o, "force_cpu", &(struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN});
    if (c->to->eager)
        keep_temporary(c, out->eager);
    return op_do(c, &o);
}

/* ---- steps ---- */

static int dtype_number(const struct skiff_value *v)
{
    return v->attr.type == SKIFF_ATTR_STRING ? skiff_dtype_number(v->attr.s) : (int)v->attr.i;
}

static const char *first_dtype(const struct call_context *c)
{
    const char *dtype = handle_dtype(c, c->args[0].tensor);
    return dtype ? dtype : "";
}

static bool condition_holds(struct call_context *c, const struct row_condition *if_)
{
    struct skiff_attr truth = {0};
    const struct skiff_value *v = if_->kind == IF_RULE ? NULL : call_value(c, if_->arg);
    switch (if_->kind) {
    case IF_RULE:
        return rule_run(c, if_->rule, if_->operands, if_->noperands, &truth) == SKIFF_OK && truth.i;
    case IF_GIVEN:
        return is_given(v);
    case IF_TENSOR:
        return v->kind == SKIFF_VALUE_TENSOR;
    case IF_NUMBER:
        return v->kind == SKIFF_VALUE_ATTR;
    case IF_NONE:
        return !is_given(v);
    case IF_INTS:
        return c->to->eager && is_whole(handle_dtype(c, v->tensor));
    case IF_MATRIX:
        return handle_ndim(c, v->tensor) >= 2;
    case IF_WHOLE:
        return is_whole(handle_dtype(c, v->tensor));
    case IF_OTHER:
        return is_given(v) && dtype_number(v) != skiff_dtype_number(first_dtype(c));
    default:
        return true;
    }
}

static bool step_holds(struct call_context *c, const struct call_step *s)
{
    for (int i = 0; i < s->nconditions; i++)
        if (condition_holds(c, &s->conditions[i]) == s->conditions[i].unless)
            return false;
    return true;
}

static void outs_unref(const struct call_context *c, const struct op_call *o)
{
    for (int i = 0; c->to->eager && i < o->nouts; i++)
        for (int k = 0; k < o->outs[i].n; k++)
            skiff_eager_tensor_unref(o->outs[i].tensors[k].eager);
}

/* Copies the visible results to out and releases the others. */
static void results_give(struct call_context *c, const struct call_step *s, struct op_call *o,
                         union skiff_handle *out, int capacity, int *n)
{
    *n = 0;
    for (int i = 0; i < o->nouts; i++)
        for (int k = 0; k < o->outs[i].n; k++) {
            union skiff_handle t = o->outs[i].tensors[k];
            bool fits = !s->results[i].hidden && *n < capacity;
            if (fits)
                out[*n] = t;
            else if (c->to->eager)
                skiff_eager_tensor_unref(t.eager);
            *n += !s->results[i].hidden;
        }
}

/* The previous step's result has been used. */
static void given_back(const struct call_context *c, union skiff_handle *out, int capacity, int n)
{
    for (int i = 0; c->to->eager && i < n && i < capacity; i++)
        skiff_eager_tensor_unref(out[i].eager);
}

static void step_keep(struct call_context *c, const struct call_step *s,
                      const union skiff_handle *out, int n)
{
    for (int i = 0; i < s->nkept && i < n; i++) {
        c->kept[s->kept[i] - c->f->nargs] =
            (struct skiff_value){.kind = SKIFF_VALUE_TENSOR, .tensor = out[i]};
        if (c->to->eager) {
            skiff_eager_tensor_ref(out[i].eager);
            keep_temporary(c, out[i].eager);
        }
    }
}

static enum skiff_status step_call(struct call_context *c, const struct call_step *s,
                                   union skiff_handle *out, int capacity, int *n)
{
    struct skiff_value values[ARGS_MAX] = {0};
    union skiff_handle few[RESULTS_MAX], *made = few;
    int count, most = RESULTS_MAX;
    for (int i = 0; i < s->nterms; i++) {
        const struct term *t = &s->terms[i];
        struct skiff_value *v = &values[t->to];
        v->kind = t->kind == TERM_BEFORE ? SKIFF_VALUE_TENSOR : SKIFF_VALUE_ATTR;
        if (t->kind == TERM_SLOT)
            *v = *call_value(c, t->arg);
        else if (t->kind == TERM_BEFORE)
            v->tensor = c->has_before ? c->before : c->args[0].tensor;
        else if (t->kind == TERM_CONST)
            v->attr = t->value;
        else
            TRY(rule_run(c, t->rule, t->operands, t->noperands, &v->attr));
    }
    if (s->call->gives_list) {
        most = capacity;
        made = arena_alloc(&c->arena, (size_t)capacity * sizeof(*made));
    }
    TRY(function_call(s->call, c->to, values, made, most, &count, c->err));
    given_back(c, out, capacity, *n);
    memcpy(out, made, (size_t)(count < most ? count : most) * sizeof(*out));
    *n = count;
    return SKIFF_OK;
}

static void step_give(struct call_context *c, const struct call_step *s, union skiff_handle *out,
                      int capacity, int *n)
{
    union skiff_handle given[RESULTS_MAX];
    for (int i = 0; i < s->ngives; i++) {
        given[i] = call_value(c, s->gives[i])->tensor;
        if (c->to->eager && i < capacity)
            skiff_eager_tensor_ref(given[i].eager);
    }
    given_back(c, out, capacity, *n);
    *n = s->ngives;
    memcpy(out, given, (size_t)(*n < capacity ? *n : capacity) * sizeof(*out));
}

static enum skiff_status step_op(struct call_context *c, const struct call_step *s,
                                 union skiff_handle *out, int capacity, int *n)
{
    struct op_call o;
    o.type = s->op;
    o.order = s->order;
    o.nins = o.nouts = o.nattrs = o.used = 0;
    if (s->op_arg >= 0)
        o.type = call_value(c, s->op_arg)->attr.s;
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; status == SKIFF_OK && i < s->nterms; i++)
        status = put_term(c, &o, &s->terms[i]);
    if (status == SKIFF_OK)
        status = results_make(c, s, &o);
    if (status == SKIFF_OK)
        status = op_do(c, &o);
    if (status < 0) {
        outs_unref(c, &o);
        return status;
    }
    given_back(c, out, capacity, *n);
    results_give(c, s, &o, out, capacity, n);
    return SKIFF_OK;
}

static enum skiff_status step_do(struct call_context *c, const struct call_step *s,
                                 union skiff_handle *out, int capacity, int *n)
{
    if (s->call)
        TRY(step_call(c, s, out, capacity, n));
    else if (s->layer)
        TRY(layer_step(c, s, out, capacity, n));
    else if (s->ngives)
        step_give(c, s, out, capacity, n);
    else if (s->op)
        TRY(step_op(c, s, out, capacity, n));
    else {
        struct skiff_attr none;
        for (int i = 0; i < s->nterms; i++)
            TRY(rule_run(c, s->terms[i].rule, s->terms[i].operands, s->terms[i].noperands, &none));
        if (s->as)
            name_draw(c, s);
        return SKIFF_OK;
    }
    step_keep(c, s, out, *n < capacity ? *n : capacity);
    c->before = *n ? out[0] : c->before;
    c->has_before = *n > 0;
    return SKIFF_OK;
}

static void calling_end(struct call_context *c)
{
    for (struct temporary *t = c->temporaries; t; t = t->next)
        skiff_eager_tensor_unref(t->tensor);
    arena_deinit(&c->arena);
}

/* No step applied to these arguments: the first argument is the result. */
static void give_first(struct call_context *c, union skiff_handle *out, int *n)
{
    *n = 1;
    out[0] = c->args[0].tensor;
    if (c->to->eager)
        skiff_eager_tensor_ref(out[0].eager);
}

/* Copies as many results as the caller has room for; releases the others. */
static void few_give(const struct call_context *c, const union skiff_handle *few,
                     union skiff_handle *out, int capacity, int n)
{
    for (int i = 0; i < n && i < RESULTS_MAX; i++)
        if (i < capacity)
            out[i] = few[i];
        else if (c->to->eager)
            skiff_eager_tensor_unref(few[i].eager);
}

enum skiff_status function_call(const struct function *f, const struct skiff_call_target *to,
                                const struct skiff_value *args, union skiff_handle *out,
                                int capacity, int *n, struct skiff_error *err)
{
    struct skiff_value kept[KEPT_MAX];
    union skiff_handle few[RESULTS_MAX], *all = capacity < RESULTS_MAX ? few : out;
    struct call_context c = {.f = f, .to = to, .args = args, .kept = kept, .err = err};
    int most = capacity < RESULTS_MAX ? RESULTS_MAX : capacity;
    enum skiff_status status = SKIFF_OK;
    arena_init(&c.arena);
    memset(kept, 0, (size_t)f->nkept * sizeof(*kept));
    *n = 0;
    for (int i = 0; status == SKIFF_OK && i < f->nsteps; i++)
        if (step_holds(&c, &f->steps[i]))
            status = step_do(&c, &f->steps[i], all, most, n);
    if (status < 0) {
        given_back(&c, all, most, *n);
        *n = 0;
    } else if (!*n && !f->gives_list && args[0].kind == SKIFF_VALUE_TENSOR)
        give_first(&c, all, n);
    if (all == few)
        few_give(&c, few, out, capacity, *n);
    calling_end(&c);
    return status;
}

/* ---- functions that are one op ---- */

/* Inputs that the row takes as they are, in the order in which the op declares them. */
static bool is_plain_slot(const struct function *f, const struct term *t, int number, int *at)
{
    const struct op_kind *kind = op_kind_find(f->steps[0].op, GEN_2X);
    const struct row_arg *arg = &f->args[t->arg];
    int slot = kind ? op_kind_slot(kind->ins, t->key) : -1;
    bool ok = !t->stop && t->arg == number && arg->required && !arg->none_ok &&
              arg->takes == TAKES_TENSOR && slot > *at;
    *at = slot;
    return ok;
}

int function_plain(const struct function *f)
{
    const struct call_step *s = f->steps;
    const struct result *r = s->results;
    int n = 0, at = -1;
    if (f->nsteps != 1 || !s->op || s->op_arg >= 0 || s->nconditions || s->nresults != 1 ||
        f->gives_list || r->rule || r->in_place >= 0 || r->hidden)
        return 0;
    for (int i = 0; i < s->nterms; i++) {
        const struct term *t = &s->terms[i];
        bool left_out = (t->kind == TERM_SLOT || t->kind == TERM_EITHER || t->kind == TERM_ATTR) &&
                        t->arg < f->nargs && !f->args[t->arg].required;
        if (t->kind == TERM_CONST || left_out)
            continue;
        if (t->kind != TERM_SLOT || !is_plain_slot(f, t, n++, &at))
            return 0;
    }
    return n == f->nrequired ? n : 0;
}

struct skiff_eager_bound *function_bind(const struct function *f,
                                        const struct skiff_call_target *to,
                                        const struct skiff_value *args, struct skiff_error *err)
{
    struct call_context c = {.f = f, .to = to, .args = args, .err = err};
    const struct call_step *s = f->steps;
    struct skiff_op_arg ins[SLOTS_MAX], outs[RESULTS_MAX];
    struct skiff_eager_bound *bound = NULL;
    enum skiff_status status = SKIFF_OK;
    struct op_call o;
    union skiff_handle any = args[0].tensor;
    o.type = s->op;
    o.order = NULL;
    o.nins = o.nattrs = o.used = 0;
    o.nouts = 1;
    o.outs[0] = (struct call_slot){s->results[0].slot, 1, &any};
    arena_init(&c.arena);
    for (int i = 0; status == SKIFF_OK && i < s->nterms; i++)
        status = put_term(&c, &o, &s->terms[i]);
    if (status == SKIFF_OK) {
        struct skiff_op_call call = eager_call_of(&o, ins, outs);
        bound = skiff_eager_bind(to->eager, &call, err);
    }
    calling_end(&c);
    return bound;
}
