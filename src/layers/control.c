/* Control flow: sub-blocks that an op runs when a condition holds (Switch) or while it does.
 *
 * The op lists what its block reads from outside and what it writes that is visible outside; both
 * are known only when the block is complete, so the op is put into the outer block when the body is
 * closed. A Switch is conditional blocks one after the other, each with the condition "this case,
 * and none before". */
#include "layers/helper.h"

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

/* What a block reads from outside, and what it writes. */
static void block_uses(const struct skiff_block *b, struct str_map *reads, struct str_map *writes)
{
    for (int i = 0; i < b->nops; i++) {
        collect(reads, b->ops[i]->ins, b->ops[i]->nins, writes);
        collect(writes, b->ops[i]->outs, b->ops[i]->nouts, NULL);
    }
}

/* The variables of those names that `b` sees. Fails on an unknown one if `all` is set. */
static int resolve(struct skiff_net *net, const struct skiff_block *b, const struct str_map *names,
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

static struct skiff_var *step_scopes(struct skiff_net *net, struct skiff_block *b)
{
    struct skiff_var *v = block_new_var(net, b, NULL, DTYPE_FP32);
    if (v) {
        v->kind = VAR_STEP_SCOPES;
        v->has_tensor = false;
    }
    return v;
}

/* Closes the body and puts the op that runs it into the block around it. */
static void close_block(struct skiff_net *net, struct skiff_block *body, const char *type,
                        struct skiff_var *condition, const char *in_slot, const char *cond_slot,
                        const char *scope_slot, struct part attr, struct str_map *writes)
{
    struct str_map reads;
    str_map_init(&reads);
    block_uses(body, &reads, writes);
    struct skiff_block *outer = body->program->blocks[body->parent];
    struct skiff_var **in = arena_alloc(&net->arena, (reads.count + 1) * sizeof *in);
    struct skiff_var **out = arena_alloc(&net->arena, (writes->count + 1) * sizeof *out);
    int nin = resolve(net, outer, &reads, true, in);
    int nout = resolve(net, outer, writes, false, out);
    struct skiff_var *scope = step_scopes(net, outer);
    net_leave_block(net);
    net_put_op(net, outer, -1, type,
               PARTS(P_INS(in_slot, nin, in), P_IN(cond_slot, condition), P_OUTS("Out", nout, out),
                     P_OUT(scope_slot, scope), P_BLOCK("sub_block", body->idx), attr));
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
    close_block(s->net, s->body, "conditional_block", s->condition, "Input", "Cond", "Scope",
                (struct part)P_BOOL("is_scalar_condition", true), &writes);
    str_map_deinit(&writes);
    s->body = NULL;
}

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
    close_block(w->net, w->body, "while", w->condition, "X", "Condition", "StepScopes",
                (struct part)P_BOOL("is_test", w->is_test), &writes);
    str_map_deinit(&writes);
    w->body = NULL;
}
