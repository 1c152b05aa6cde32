/* Control flow: sub-blocks that an op runs when a condition holds (branch, Switch, IfElse) or
 * while it does.
 *
 * The op lists what its block reads from outside and what it writes that is visible outside; both
 * are known only when the block is complete, so the op is put into the outer block when the body is
 * closed. A Switch is conditional blocks one after the other, each with the condition "this case,
 * and none before". */
#include "layers/control.h"

struct skiff_switch {
    struct skiff_net *net;
    struct skiff_var *none_so_far; /* no case before has been taken */
    struct skiff_var *condition;   /* of the case that is open */
    struct skiff_block *body;
};

struct skiff_while {
    struct skiff_net *net;
    struct skiff_var *condition;
    bool is_test;
    struct skiff_block *body;
};

static void collect(struct str_map *to, const struct op_arg *args, int n, const struct str_map *but)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < args[i].n; k++)
            if (!but || !str_map_has(but, args[i].names[k]))
                str_map_put(to, args[i].names[k], to);
}

void control_uses(const struct skiff_block *b, struct str_map *reads, struct str_map *writes)
{
    for (int i = 0; i < b->nops; i++) {
        collect(reads, b->ops[i]->ins, b->ops[i]->nins, writes);
        collect(writes, b->ops[i]->outs, b->ops[i]->nouts, NULL);
    }
}

int control_resolve(struct skiff_net *net, const struct skiff_block *b, const struct str_map *names,
                    bool all, struct skiff_var **out)
{
    int n = 0;
    for (size_t i = 0; i < names->count; i++) {
        struct skiff_var *v = block_find_var(b, names->entries[i].key);
        if (v)
            out[n++] = v;
        else if (all)
            net_fail(net, SKIFF_NOT_FOUND, "sub-block reads %s, which does not exist outside it",
                     names->entries[i].key);
    }
    return n;
}

struct skiff_var *control_scopes(struct skiff_net *net, struct skiff_block *b)
{
    struct skiff_var *v = block_new_var(net, b, NULL, DTYPE_FP32);
    if (v) {
        v->kind = VAR_STEP_SCOPES;
        v->has_tensor = false;
    }
    return v;
}

struct skiff_block *control_outer(struct skiff_net *net)
{
    struct skiff_block *b = net->frame->block;
    return b->parent >= 0 ? b->program->blocks[b->parent] : b;
}

/* Closes the body and puts the op that runs it into the block around it. */
static void close_block(struct skiff_net *net, struct skiff_block *body, const char *type,
                        int nconditions, struct skiff_var *const *conditions, const char *in_slot,
                        const char *cond_slot, const char *scope_slot, struct part attr,
                        struct str_map *writes)
{
    struct str_map reads;
    str_map_init(&reads);
    control_uses(body, &reads, writes);
    struct skiff_block *outer = body->program->blocks[body->parent];
    struct skiff_var **in = arena_alloc(&net->arena, (reads.count + 1) * sizeof *in);
    struct skiff_var **out = arena_alloc(&net->arena, (writes->count + 1) * sizeof *out);
    int nin = control_resolve(net, outer, &reads, true, in);
    int nout = control_resolve(net, outer, writes, false, out);
    struct skiff_var *scope = control_scopes(net, outer);
    net_leave_block(net);
    net_put_op(net, outer, -1, type,
               PARTS(P_INS(in_slot, nin, in), P_INS(cond_slot, nconditions, conditions),
                     P_OUTS("Out", nout, out), P_OUT(scope_slot, scope),
                     P_BLOCK("sub_block", body->idx), attr));
    str_map_deinit(&reads);
}

struct skiff_switch *skiff_switch_begin(struct skiff_net *net)
{
    struct skiff_switch *s = arena_alloc(&net->arena, sizeof *s);
    s->net = net;
    layer_begin(net, "switch", NULL);
    return s;
}

static void open_case(struct skiff_switch *s, struct skiff_var *condition)
{
    layer_begin(s->net, "conditional_block", NULL);
    s->condition = condition;
    s->body = net_failed(s->net) ? NULL : net_enter_block(s->net);
}

void skiff_switch_case(struct skiff_switch *s, struct skiff_var *condition)
{
    struct skiff_net *net = s->net;
    if (!net_has_type(net, "switch", "condition", condition, "bool"))
        return;
    if (!s->none_so_far) {
        layer_begin(net, "conditional_block", NULL);
        s->none_so_far = skiff_layer_logical_not(net, condition, NULL);
        s->condition = condition;
        s->body = net_failed(net) ? NULL : net_enter_block(net);
        return;
    }
    struct skiff_var *before = s->none_so_far;
    struct skiff_var *not_this = skiff_layer_logical_not(net, condition, NULL);
    s->none_so_far = skiff_layer_logical_and(net, before, not_this, NULL);
    open_case(s, skiff_layer_logical_and(net, before, condition, NULL));
}

void skiff_switch_default(struct skiff_switch *s)
{
    if (!s->none_so_far) {
        net_fail(s->net, SKIFF_STATE, "switch: the default needs a case before it");
        return;
    }
    open_case(s, s->none_so_far);
}

void skiff_switch_end(struct skiff_switch *s)
{
    if (!s->body)
        return;
    struct str_map writes;
    str_map_init(&writes);
    close_block(s->net, s->body, "conditional_block", 1, &s->condition, "Input", "Cond", "Scope",
                (struct part)P_BOOL("is_scalar_condition", true), &writes);
    str_map_deinit(&writes);
    s->body = NULL;
}

/* ---- branch ---- */

struct skiff_branch {
    struct skiff_net *net;
    struct skiff_var **conditions;
    int n;
    bool is_scalar;
    struct skiff_block *body;
};

struct skiff_branch *control_branch(struct skiff_net *net, int n,
                                    struct skiff_var *const *conditions, bool is_scalar)
{
    struct skiff_branch *b = arena_alloc(&net->arena, sizeof *b);
    *b = (struct skiff_branch){.net = net, .n = n, .is_scalar = is_scalar};
    layer_begin(net, "conditional_block", NULL);
    if (!net_has_all(net, "conditional_block", "condition", n, conditions))
        return b;
    b->conditions = arena_alloc(&net->arena, (size_t)(n + 1) * sizeof *b->conditions);
    for (int i = 0; i < n; i++)
        b->conditions[i] = conditions[i];
    return b;
}

void control_branch_open(struct skiff_branch *b)
{
    if (!net_failed(b->net))
        b->body = net_enter_block(b->net);
}

struct skiff_branch *skiff_branch_begin(struct skiff_net *net, int n,
                                        struct skiff_var *const *conditions, bool is_scalar)
{
    struct skiff_branch *b = control_branch(net, n, conditions, is_scalar);
    control_branch_open(b);
    return b;
}

struct skiff_var *skiff_branch_output(struct skiff_branch *b, struct skiff_var *v)
{
    struct skiff_net *net = b->net;
    if (!b->body || !net_has(net, "conditional_block", "output", v))
        return NULL;
    struct skiff_var *out = block_new_var(net, control_outer(net), NULL, v->dtype);
    if (!out)
        return NULL;
    out->shape = v->shape;
    out->kind = v->kind;
    return skiff_layer_assign(net, v, out);
}

void skiff_branch_end(struct skiff_branch *b)
{
    if (!b->body)
        return;
    struct str_map writes;
    str_map_init(&writes);
    close_block(b->net, b->body, "conditional_block", b->n, b->conditions, "Input", "Cond", "Scope",
                (struct part)P_BOOL("is_scalar_condition", b->is_scalar), &writes);
    str_map_deinit(&writes);
    b->body = NULL;
}

struct skiff_var *skiff_select_input(struct skiff_net *net, int n, struct skiff_var *const *inputs,
                                     struct skiff_var *mask)
{
    if (!net_has_all(net, "select_input", "inputs", n, inputs) ||
        !net_has(net, "select_input", "mask", mask))
        return NULL;
    layer_begin(net, "select_input", NULL);
    struct skiff_var *out = block_new_var(net, net->frame->block, NULL, inputs[0]->dtype);
    if (!out)
        return NULL;
    out->kind = inputs[0]->kind;
    layer_op(net, "select_input", P_INS("X", n, inputs), P_IN("Mask", mask), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

/* ---- IfElse ---- */

struct split_input { /* a variable and its rows on either side */
    struct skiff_var *x, *side[2];
    struct split_input *next;
};

struct joined { /* an output on either side */
    struct skiff_var *side[2];
    struct joined *next;
};

struct skiff_if_else {
    struct layer layer;
    struct skiff_var *condition;
    struct skiff_branch *branch[2]; /* false, true */
    int open;                       /* the side whose block is open; -1: none */
    int n[2];
    struct split_input *inputs;
    struct joined *outputs, **last;
};

struct skiff_if_else *skiff_if_else_create(struct skiff_net *net, struct skiff_var *condition,
                                           const char *name)
{
    struct skiff_if_else *e = arena_alloc(&net->arena, sizeof *e);
    *e = (struct skiff_if_else){.condition = condition, .open = -1};
    e->last = &e->outputs;
    e->layer = layer_begin(net, "ifelse", name);
    e->branch[1] = control_branch(net, 1, &condition, false);
    e->branch[0] = control_branch(net, 1, &condition, false);
    return e;
}

void skiff_if_else_begin(struct skiff_if_else *e, bool side)
{
    if (e->open >= 0) {
        net_fail(e->layer.net, SKIFF_STATE, "if_else: the block before has not been ended");
        return;
    }
    e->open = side;
    control_branch_open(e->branch[side]);
}

struct skiff_var *skiff_if_else_input(struct skiff_if_else *e, struct skiff_var *x)
{
    struct skiff_net *net = e->layer.net;
    if (!net_has(net, "if_else", "input", x))
        return NULL;
    if (e->open < 0)
        return net_fail(net, SKIFF_STATE, "if_else: input must be called in one of the blocks");
    for (struct split_input *i = e->inputs; i; i = i->next)
        if (i->x == x)
            return i->side[e->open];
    struct split_input *in = arena_alloc(&net->arena, sizeof *in);
    const char *key = arena_printf(&net->arena, "ifelse_input%s", e->layer.name);
    struct skiff_block *outer = control_outer(net);
    in->x = x;
    for (int side = 1; side >= 0; side--)
        in->side[side] = block_new_var(net, outer, names_next(net->names, key), x->dtype);
    net_put_op(net, outer, -1, "split_lod_tensor",
               PARTS(P_IN("X", x), P_IN("Mask", e->condition), P_OUT("OutTrue", in->side[1]),
                     P_OUT("OutFalse", in->side[0]), P_INT("level", 0)));
    in->next = e->inputs;
    e->inputs = in;
    return net_failed(net) ? NULL : in->side[e->open];
}

void skiff_if_else_output(struct skiff_if_else *e, struct skiff_var *v)
{
    struct skiff_net *net = e->layer.net;
    if (!net_has(net, "if_else", "output", v))
        return;
    if (e->open < 0) {
        net_fail(net, SKIFF_STATE, "if_else: output must be called in one of the blocks");
        return;
    }
    struct joined *j = e->outputs;
    for (int i = 0; j && i < e->n[e->open]; i++)
        j = j->next;
    if (!j) {
        j = *e->last = arena_alloc(&net->arena, sizeof *j);
        e->last = &j->next;
    }
    const char *key = arena_printf(&net->arena, "%s_output", e->layer.name);
    j->side[e->open] =
        block_new_var(net, control_outer(net), names_next(net->names, key), v->dtype);
    skiff_layer_assign(net, v, j->side[e->open]);
    e->n[e->open]++;
}

void skiff_if_else_end(struct skiff_if_else *e)
{
    if (e->open < 0)
        return;
    skiff_branch_end(e->branch[e->open]);
    if (!e->n[e->open])
        net_fail(e->layer.net, SKIFF_INVALID, "if_else: a block without output");
    e->open = -1;
}

int skiff_if_else_count(const struct skiff_if_else *e)
{
    return e->n[0] > e->n[1] ? e->n[0] : e->n[1];
}

struct skiff_var *skiff_if_else_result(struct skiff_if_else *e, int at)
{
    struct skiff_net *net = e->layer.net;
    const struct joined *j = e->outputs;
    if (net_failed(net))
        return NULL;
    if (e->n[0] && e->n[1] && e->n[0] != e->n[1])
        return net_fail(net, SKIFF_INVALID, "if_else: %d outputs where it holds, %d where not",
                        e->n[1], e->n[0]);
    for (int i = 0; j && i < at; i++)
        j = j->next;
    if (!j)
        return net_fail(net, SKIFF_RANGE, "if_else: there is no output %d", at);
    if (!j->side[0] || !j->side[1])
        return j->side[0] ? j->side[0] : j->side[1];
    struct layer l = layer_begin(net, "merge_lod_tensor", NULL);
    struct skiff_var *out = layer_tmp(&l, j->side[1]->dtype);
    layer_op(net, "merge_lod_tensor", P_IN("X", e->condition), P_IN("Mask", e->condition),
             P_IN("InTrue", j->side[1]), P_IN("InFalse", j->side[0]), P_OUT("Out", out),
             P_INT("level", 0));
    return net_failed(net) ? NULL : out;
}

/* ---- while ---- */

struct skiff_while *skiff_while_begin(struct skiff_net *net, struct skiff_var *condition,
                                      bool is_test)
{
    struct skiff_while *w = arena_alloc(&net->arena, sizeof *w);
    *w = (struct skiff_while){net, condition, is_test, NULL};
    layer_begin(net, "while", NULL);
    if (!net_has_type(net, "while", "condition", condition, "bool"))
        return w;
    if (shape_numel(&condition->shape) != 1) {
        char text[160];
        net_fail(net, SKIFF_SHAPE, "while: condition %s has the shape %s, one element is expected",
                 condition->name, shape_text(&condition->shape, text));
        return w;
    }
    w->body = net_enter_block(net);
    return w;
}

void skiff_while_end(struct skiff_while *w)
{
    if (!w->body)
        return;
    struct str_map writes;
    str_map_init(&writes);
    str_map_put(&writes, w->condition->name, &writes);
    close_block(w->net, w->body, "while", 1, &w->condition, "X", "Condition", "StepScopes",
                (struct part)P_BOOL("is_test", w->is_test), &writes);
    str_map_deinit(&writes);
    w->body = NULL;
}
