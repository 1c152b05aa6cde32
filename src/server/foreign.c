/* Reads the plan of a server program that comes without one: from a file, or changed since the
 * split wrote it. The split encodes the plan in ops and names, as Paddle's does; this file decodes
 * it:
 *   listen_and_serv, grad_to_block_id   which block belongs to which gradient
 *   sum over X@GRAD.trainer_k, scale    the merge, at the head of a block
 *   the optimizer's op                  the parameter, its accumulators
 *   ref_by_trainer_id                   DC-ASGD: base and backups
 *   a parameter that is SelectedRows    a hash-backed embedding
 *   sum over counter.trainer_k          in the learning rate's block: steps that trainers report
 * No other file of this module interprets ops; the others only run them. */
#include <stdlib.h>
#include <string.h>

#include "program/op_kind.h"
#include "server/server.h"

struct foreign_reader {
    const struct skiff_program *program;
    const struct skiff_op *service;
    struct server_plan *plan;
    bool dc_asgd;
};

/* ---- ops ---- */

/* Does name[0..*n) end with <mark><digits>? Then *n becomes the length of the part before. */
static bool cut_suffix(const char *name, size_t *n, const char *mark)
{
    size_t digits = *n, len = strlen(mark);
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits == *n || digits < len || memcmp(name + digits - len, mark, len))
        return false;
    *n = digits - len;
    return true;
}

static bool is_of_trainer(const char *name)
{
    size_t n = strlen(name);
    cut_suffix(name, &n, ".pserver_");
    return cut_suffix(name, &n, ".trainer_");
}

/* Is it the op that sums what the trainers sent? */
static bool is_merge(const struct skiff_op *op)
{
    const struct op_arg *x = op_in(op, "X");
    if (!op_is(op, CLASS_SUM) || !x || x->n < 1 || !op_out1(op, "Out"))
        return false;
    for (int i = 0; i < x->n; i++)
        if (!is_of_trainer(x->names[i]))
            return false;
    return true;
}

static bool is_scale_of(const struct skiff_op *op, const char *name)
{
    const char *x = op_in1(op, "X"), *out = op_out1(op, "Out");
    return op_is(op, CLASS_SCALE) && x && out && !strcmp(x, name) && !strcmp(out, name);
}

static int count_merge(const struct skiff_block *b)
{
    if (!b->nops || !is_merge(b->ops[0]))
        return 0;
    return b->nops > 1 && is_scale_of(b->ops[1], op_out1(b->ops[0], "Out")) ? 2 : 1;
}

static const struct skiff_op *find_op(const struct skiff_block *b, enum op_class class)
{
    for (int i = 0; i < b->nops; i++)
        if (op_is(b->ops[i], class))
            return b->ops[i];
    return NULL;
}

static const struct skiff_op *find_update(const struct skiff_block *b)
{
    for (int i = 0; i < b->nops; i++)
        if (b->ops[i]->kind && (b->ops[i]->kind->flags & OP_OPTIMIZER))
            return b->ops[i];
    return NULL;
}

static int attr_int(const struct skiff_op *op, const char *name, int absent)
{
    const struct op_attr_value *a = op_attr(op, name);
    if (!a || (a->type != ATTR_INT && a->type != ATTR_LONG && a->type != ATTR_BLOCK))
        return absent;
    return a->type == ATTR_LONG ? (int)a->value.l : a->value.i;
}

/* ---- one slice ---- */

static void add_all(struct server_plan *p, struct plan_names *to, const struct op_arg *from)
{
    for (int i = 0; from && i < from->n; i++)
        plan_names_add(p, to, from->names[i]);
}

/* GEO's blocks add to their parameter, all others have an optimizer. */
static const char *updated(const struct foreign_reader *r, const struct skiff_block *b)
{
    if (!mode_adds(r->plan->job->mode)) {
        const struct skiff_op *update = find_update(b);
        return update ? op_in1(update, "Param") : NULL;
    }
    const struct op_arg *x = b->nops == 1 ? op_in(b->ops[0], "X") : NULL;
    return x && x->n == 2 ? x->names[0] : NULL;
}

/* The table and every accumulator of its shape have a row per id. */
static void read_rows(const struct foreign_reader *r, struct plan_slice *u,
                      const struct skiff_op *update, const struct shape *shape)
{
    const struct skiff_block *root = program_root(r->program);
    for (int i = 0; i < update->nins; i++) {
        const struct op_arg *in = &update->ins[i];
        const struct skiff_var *v = in->n == 1 ? block_own_var(root, in->names[0]) : NULL;
        if (v && strcmp(in->slot, "Grad") && strcmp(in->slot, "LearningRate") &&
            shape_equal(&v->shape, shape))
            plan_names_add(r->plan, &u->rows, v->name);
    }
}

static void read_update(const struct foreign_reader *r, struct plan_slice *u,
                        const struct skiff_block *b)
{
    const struct skiff_op *update = find_update(b), *pulled = find_op(b, CLASS_BY_TRAINER);
    const char *base = pulled ? op_out1(pulled, "Out") : NULL;
    for (int i = 0; i < update->nins; i++)
        if (update->ins[i].n == 1 && strcmp(update->ins[i].slot, "LearningRate"))
            plan_names_add(r->plan, &u->vars, update->ins[i].names[0]);
    if (base) {
        u->base = arena_strdup(&r->plan->arena, base);
        add_all(r->plan, &u->backups, op_in(pulled, "X"));
    }
    u->compensate = base || (r->dc_asgd && u->sparse && !u->keyed);
    if (u->keyed)
        read_rows(r, u, update, &block_find_var(b, u->param)->shape);
}

static enum skiff_status read_unit(const struct foreign_reader *r, const char *grad, int block,
                                   struct skiff_error *err)
{
    struct server_plan *plan = r->plan;
    if (block <= 0 || block >= r->program->nblocks)
        return error_set(err, SKIFF_INVALID, "server program: gradient %s has block %d of %d", grad,
                         block, r->program->nblocks);
    for (int i = 0; i < plan->nslices; i++)
        if (plan->slices[i].block == block)
            return error_set(err, SKIFF_INVALID,
                             "server program: gradients %s and %s both have block %d",
                             plan->slices[i].grad, grad, block);
    const struct skiff_block *b = r->program->blocks[block];
    const char *param = updated(r, b);
    if (!param)
        return error_set(err, SKIFF_INVALID,
                         "server program: block %d of gradient %s updates no parameter", block,
                         grad);
    int merge = count_merge(b);
    const char *merged = merge ? op_out1(b->ops[0], "Out") : grad;
    const struct skiff_var *v = block_find_var(b, param), *g = block_find_var(b, merged);
    bool adds = mode_adds(plan->job->mode);
    bool keyed = v && v->kind == VAR_SELECTED_ROWS;
    struct plan_slice *u = server_plan_add(plan, param, merged, block, keyed);
    u->sparse = g && g->kind == VAR_SELECTED_ROWS;
    u->merge_ops = merge;
    plan_names_add(plan, &u->pushed, grad);
    if (merge)
        add_all(plan, &u->pushed, op_in(b->ops[0], "X"));
    if (adds)
        plan_names_add(plan, &u->vars, param);
    if (adds && keyed)
        plan_names_add(plan, &u->rows, param);
    if (!adds)
        read_update(r, u, b);
    return SKIFF_OK;
}

/* ---- the whole program ---- */

static enum skiff_status read_units(const struct foreign_reader *r, struct skiff_error *err)
{
    const struct op_attr_value *a = op_attr(r->service, "grad_to_block_id");
    for (int i = 0; a && a->type == ATTR_STRINGS && i < a->value.n; i++) {
        const char *pair = a->value.strings[i], *colon = strrchr(pair, ':');
        if (!colon)
            return error_set(err, SKIFF_INVALID,
                             "server program: grad_to_block_id has \"%s\", not gradient:block",
                             pair);
        const char *grad = arena_strndup(&r->plan->arena, pair, (size_t)(colon - pair));
        TRY(read_unit(r, grad, atoi(colon + 1), err));
    }
    return SKIFF_OK;
}

static enum skiff_status read_rate(const struct foreign_reader *r, struct skiff_error *err)
{
    int block = attr_int(r->service, "lr_decay_block_id", -1);
    if (block <= 0)
        return SKIFF_OK;
    if (block >= r->program->nblocks)
        return error_set(err, SKIFF_INVALID, "server program: lr_decay_block_id is %d of %d blocks",
                         block, r->program->nblocks);
    const struct skiff_block *b = r->program->blocks[block];
    r->plan->rate_block = block;
    for (int i = 0; i < b->nops; i++)
        if (is_merge(b->ops[i]))
            add_all(r->plan, &r->plan->counters, op_in(b->ops[i], "X"));
    return SKIFF_OK;
}

static enum skiff_status check_service(const struct foreign_reader *r, struct skiff_error *err)
{
    const struct job_plan *job = r->plan->job;
    if (!r->service)
        return error_set(err, SKIFF_INVALID,
                         "the program is not a server program: it has no listen_and_serv "
                         "(get_pserver_program makes one)");
    int fanin = attr_int(r->service, "Fanin", job->trainers);
    int mode = attr_int(r->service, "distributed_mode", (int)job->mode);
    if (fanin != job->trainers)
        return error_set(err, SKIFF_INVALID,
                         "the server program is for %d trainers, the server was started for %d",
                         fanin, job->trainers);
    if (mode != (int)job->mode)
        return error_set(err, SKIFF_INVALID,
                         "the server program is for mode %d, the server was started in mode %d",
                         mode, (int)job->mode);
    return SKIFF_OK;
}

static enum skiff_status read_plan(struct foreign_reader *r, struct skiff_error *err)
{
    TRY(check_service(r, err));
    const struct op_attr_value *dc = op_attr(r->service, "dc_asgd");
    r->dc_asgd = dc && dc->type == ATTR_BOOLEAN && dc->value.b;
    TRY(read_units(r, err));
    return read_rate(r, err);
}

enum skiff_status server_plan_read(const struct skiff_program *main, const struct job_plan *job,
                                   int index, struct server_plan **out, struct skiff_error *err)
{
    struct foreign_reader r = {.program = main,
                               .service = find_op(program_root(main), CLASS_SERVE),
                               .plan = server_plan_create(job, index)};
    enum skiff_status status = read_plan(&r, err);
    if (status < 0)
        server_plan_destroy(r.plan);
    else
        *out = r.plan;
    return status;
}
