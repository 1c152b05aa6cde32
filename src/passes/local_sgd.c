/* Local SGD: the effect of Paddle's LocalSGD on the programs of several ranks. Ranks train
 * independently; in every k-th run (and in each of the first `begin` runs) parameters become their
 * mean over ranks:
 *
 *     delta = snapshot - param, summed over ranks, / ranks
 *     param = snapshot = snapshot - delta
 *
 * The snapshot is the last mean, bit-identical on all ranks, so the next mean is, too. */
#include "passes/collective.h"
#include "passes/merge_grad.h"
#include "program/op_kind.h"

#include <string.h>

#define STEP "local_sgd_step"
#define COND "local_sgd_cond"

static const char *snapshot_of(struct skiff_program *p, const struct skiff_var *param)
{
    struct skiff_var *v =
        block_add_var(program_root(p), arena_printf(&p->arena, "%s@SNAPSHOT", param->name));
    v->kind = VAR_LOD_TENSOR;
    v->dtype = param->dtype;
    v->has_tensor = true;
    v->shape = param->shape;
    v->persistable = PRESENCE_TRUE;
    v->stop_gradient = true;
    return v->name;
}

/* The parameter that an op updates; NULL */
static const struct skiff_var *updated_by(const struct skiff_program *p, const struct skiff_op *op)
{
    int role = op_role_of(op);
    const char *name = op_in1(op, "Param");
    bool updates = role != ROLE_UNSPECIFIED && (role & ROLE_OPTIMIZE) && name;
    return updates ? block_find_var(program_root(p), name) : NULL;
}

static void put_mean(struct skiff_block *body, const struct collective_pass *o,
                     const struct skiff_var *param)
{
    const char *mine = param->name, *last = snapshot_of(body->program, param);
    struct skiff_program *p = body->program;
    pass_put_op(body, -1, "elementwise_sub", last, mine, mine, ROLE_OPTIMIZE);
    struct skiff_op *op = pass_put_op(body, -1, "c_allreduce_sum", mine, NULL, mine, ROLE_OPTIMIZE);
    op_set_int(p, op, "ring_id", 0);
    op_set_bool(p, op, "use_calc_stream", false);
    op = pass_put_op(body, -1, "scale", mine, NULL, mine, ROLE_OPTIMIZE);
    op_set_float(p, op, "scale", 1.0f / (float)o->nranks);
    op_set_float(p, op, "bias", 0.0f);
    pass_put_op(body, -1, "elementwise_sub", last, mine, mine, ROLE_OPTIMIZE);
    pass_put_op(body, -1, "assign", mine, NULL, last, ROLE_OPTIMIZE);
}

/* step <= begin or step - last == k */
static void put_condition(struct skiff_program *main, struct skiff_program *startup,
                          const struct collective_pass *o)
{
    struct skiff_block *b = program_root(main);
    const char *k = pass_put_counter(main, startup, "local_sgd_k", DTYPE_INT64, o->local_steps);
    const char *begin =
        pass_put_counter(main, startup, "local_sgd_begin", DTYPE_INT64, o->local_begin);
    const char *last =
        pass_put_counter(main, startup, "local_sgd_last", DTYPE_INT64, o->local_begin);
    const char *step = pass_put_counter(main, startup, STEP, DTYPE_INT64, 0);
    const char *early = pass_put_truth(main, COND "_early");
    const char *due = pass_put_truth(main, COND "_due");
    const char *cond = pass_put_truth(main, COND);
    struct skiff_var *since = block_add_var(b, STEP "_since");
    since->dtype = DTYPE_INT64;
    since->has_tensor = true;
    since->shape = SHAPE(1);
    op_set_float(main, pass_put_op(b, -1, "increment", step, NULL, step, ROLE_OPTIMIZE), "step",
                 1.0f);
    pass_put_op(b, -1, "less_equal", step, begin, early, ROLE_OPTIMIZE);
    pass_put_op(b, -1, "elementwise_sub", step, last, since->name, ROLE_OPTIMIZE);
    pass_put_op(b, -1, "equal", since->name, k, due, ROLE_OPTIMIZE);
    pass_put_op(b, -1, "logical_or", early, due, cond, ROLE_OPTIMIZE);
    op_remove_attr(b->ops[b->nops - 1], "axis");
}

int collective_local_at(const struct skiff_block *root)
{
    for (int i = 0; i < root->nops; i++) {
        const char *x = op_in1(root->ops[i], "X");
        if (x && op_is(root->ops[i], CLASS_COUNTER) && !strcmp(x, STEP))
            return i;
    }
    return root->nops;
}

void collective_local(struct skiff_program *main, struct skiff_program *startup,
                      const struct collective_pass *o)
{
    struct skiff_block *root = program_root(main);
    int nops = root->nops;
    put_condition(main, startup, o);
    struct skiff_block *body = program_add_block(main, 0);
    for (int i = 0; i < nops; i++) {
        const struct skiff_var *param = updated_by(main, root->ops[i]);
        if (!param)
            continue;
        put_mean(body, o, param);
        pass_put_op(program_root(startup), -1, "assign", param->name, NULL,
                    snapshot_of(startup, param), ROLE_FORWARD);
    }
    pass_put_op(body, -1, "assign", STEP, NULL, "local_sgd_last", ROLE_OPTIMIZE);
    pass_put_branch(body, -1, COND);
}
