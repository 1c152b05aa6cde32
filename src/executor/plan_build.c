/* Building a plan: which value stands behind each name, which kernel behind each op.
 *
 * All that costs a look-up is done here, once, so that a step is a call of a kernel with pointers:
 * names become values (in the scope for persistable variables, in the plan for all others), slots
 * and attributes become positions of the kind's tables. What an op must have is checked here too;
 * kernels rely on it.
 *
 * A name belongs to the block that declares it, as Paddle sees it from a block: its own variables,
 * those of the forward block that it is the gradient of, then the parents'. A name that nobody
 * declares belongs to the block that uses it.
 *
 * Lives: variables that are never alive together may share memory (slab.c), so the first and the
 * last step that touches each one is noted. Steps are those of the root block, also for what
 * sub-blocks touch: a loop may run them any number of times during that one step. A sub-block that
 * several ops run is built once, and what it touches lives until the last of them. Fed variables
 * live from the start, fetched ones until their values have been copied out.
 *
 * Fusing comes first, on a copy of the program (docs/internals/decisions/0003-fusing.md). Programs
 * from outside that hold fused ops are refused: their kernels trust the passes that make them; and
 * so are those from files with ops that act outside of the program (program/rights.h). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/plan_parts.h"
#include "passes/fuse.h"
#include "program/bind.h"
#include "program/rights.h"

/* A gradient block has its own gradients of the variables that its forward block has, also where
 * somebody outside has one of the same name: a step of a sequence and the sequence (recurrent). */
static bool is_local_grad(const struct skiff_program *p, int b, const char *name)
{
    size_t n = strlen(name), cut = strlen(GRAD_SUFFIX);
    int forward = p->blocks[b]->forward_idx;
    char var[256];
    if (forward < 0 || n <= cut || n - cut >= sizeof var ||
        strcmp(name + n - cut, GRAD_SUFFIX) != 0)
        return false;
    memcpy(var, name, n - cut);
    var[n - cut] = '\0';
    return block_own_var(p->blocks[forward], var) != NULL;
}

/* Where a name is declared, as block_find_var sees it from block b: the block itself, the forward
 * block that a gradient block belongs to, then the parents. -1: nowhere. */
static int declaring_block(const struct skiff_program *p, int b, const char *name)
{
    for (; b >= 0; b = p->blocks[b]->parent) {
        int forward = p->blocks[b]->forward_idx;
        if (block_own_var(p->blocks[b], name) || is_local_grad(p, b, name))
            return b;
        if (forward >= 0 && block_own_var(p->blocks[forward], name))
            return forward;
    }
    return -1;
}

static struct plan_var *add_var(struct plan *plan, int block, const char *name)
{
    struct plan_var *v = arena_alloc(&plan->arena, sizeof(*v));
    v->name = name;
    v->block = block;
    v->first = 1;
    v->last = 0;
    str_map_put(&plan->names[block], name, v);
    struct plan_block *b = &plan->blocks[block];
    if (b->nown == b->own_cap) {
        b->own_cap = b->own_cap ? 2 * b->own_cap : 64;
        b->own = mem_grow_or_die(b->own, (size_t)b->own_cap * sizeof(*b->own));
    }
    b->own[b->nown++] = v;
    return v;
}

struct skiff_tensor *plan_resolve(struct plan *plan, int block, const char *name,
                                  struct plan_var **out_var)
{
    *out_var = NULL;
    int at = declaring_block(plan->program, block, name);
    const struct skiff_var *declared =
        at >= 0 ? block_own_var(plan->program->blocks[at], name) : NULL;
    if (declared && var_persistable(declared))
        return scope_var(plan->scope, name);
    if (at < 0)
        at = block;
    struct plan_var *v = str_map_get(&plan->names[at], name);
    if (!v)
        v = add_var(plan, at, name);
    *out_var = v;
    return &v->value;
}

/* Feed and fetch ops stand only for what the caller names: their holders tell them apart. */
static bool touches_holder(const struct skiff_program *p, const struct skiff_block *b,
                           const struct skiff_op *op)
{
    for (int side = 0; side < 2; side++) {
        const struct op_arg *args = side ? op->outs : op->ins;
        int n = side ? op->nouts : op->nins;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < args[i].n; j++) {
                const struct skiff_var *v = block_find_var(b, args[i].names[j]);
                if (v && (v->kind == VAR_FEED_MINIBATCH || v->kind == VAR_FETCH_LIST))
                    return true;
            }
    }
    return false;
}

/* root_step: the step of block 0 during which this op runs; lives of variables are measured in
 * these. */
static void note_incarnation(struct plan_var *v, int root_step, bool is_output)
{
    if (!v)
        return;
    if (v->first > v->last)
        v->first = root_step;
    v->last = root_step;
    v->written |= is_output;
}

static int count_args(const struct op_arg *args, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++)
        total += args[i].n;
    return total;
}

static int count_slots(const struct op_slot *slots)
{
    int n = 0;
    while (slots && slots[n].name)
        n++;
    return n;
}

struct binding { /* what bind_side works on */
    struct plan *plan;
    int block, root_step;
    struct step *step;
};

static void bind_side(struct binding *b, const struct op_slot *slots,
                      const struct op_arg *(*get)(const struct skiff_op *, const char *),
                      bool is_output, struct kernel_slot **out)
{
    int n = count_slots(slots);
    struct kernel_slot *bound = arena_alloc(&b->plan->arena, (size_t)(n + 1) * sizeof(*bound));
    for (int s = 0; s < n; s++) {
        const struct op_arg *arg = get(b->step->kernel.op, slots[s].name);
        if (!arg || !arg->n)
            continue;
        bound[s].n = arg->n;
        bound[s].v = arena_alloc(&b->plan->arena, (size_t)arg->n * sizeof(struct skiff_tensor *));
        for (int i = 0; i < arg->n; i++) {
            if (!arg->names[i][0] || !strcmp(arg->names[i], EMPTY_VAR))
                continue;
            struct plan_var *var;
            bound[s].v[i] = plan_resolve(b->plan, b->block, arg->names[i], &var);
            note_incarnation(var, b->root_step, is_output);
            b->step->touched[b->step->ntouched++] =
                (struct plan_input){.value = bound[s].v[i],
                                    .slot = (short)s,
                                    .index = (short)i,
                                    .is_output = is_output,
                                    .rowwise = slots[s].flags & SLOT_ROWWISE};
        }
    }
    *out = bound;
}

/* Does every element of the slot hold a variable? */
static bool is_bound(const struct op_arg *arg)
{
    for (int i = 0; arg && i < arg->n; i++)
        if (!arg->names[i][0] || !strcmp(arg->names[i], EMPTY_VAR))
            return false;
    return arg && arg->n;
}

/* Gradients may always be left out; other outputs are what the op is for. */
static bool is_required_output(const struct op_slot *s)
{
    size_t n = strlen(s->name), m = strlen(GRAD_SUFFIX);
    bool grad = n > m && !strcmp(s->name + n - m, GRAD_SUFFIX);
    return !grad && !(s->flags & (SLOT_OPTIONAL | SLOT_EXTRA | SLOT_LIST));
}

/* Slots that the kind does not know are harmless when empty; otherwise the op would silently ignore
 * an input. Kernels rely on the required ones being there. */
static enum skiff_status check_slots(const struct skiff_op *op, struct skiff_error *err)
{
    for (int i = 0; i < op->nins; i++)
        if (op->ins[i].n && op_kind_slot(op->kind->ins, op->ins[i].slot) < 0)
            return error_set(err, SKIFF_UNSUPPORTED,
                             "input slot %s (variable %s) is not known for this op",
                             op->ins[i].slot, op->ins[i].names[0]);
    for (const struct op_slot *s = op->kind->ins; s && s->name; s++)
        if (!(s->flags & SLOT_OPTIONAL) && !is_bound(op_in(op, s->name)))
            return error_set(err, SKIFF_INVALID, "input slot %s is required and has no variable",
                             s->name);
    for (const struct op_slot *s = op->kind->outs; s && s->name; s++)
        if (is_required_output(s) && !is_bound(op_out(op, s->name)))
            return error_set(err, SKIFF_INVALID, "output slot %s is required and has no variable",
                             s->name);
    return SKIFF_OK;
}

/* A variable that an op writes twice would get the size of its last element and the data of all:
 * kernels rely on distinct outputs. (An op that runs a block or communicates lists variables that
 * it writes indirectly.) */
static enum skiff_status check_outputs(const struct skiff_op *op, struct skiff_error *err)
{
    struct str_map seen;
    enum skiff_status status = SKIFF_OK;
    if (op->kind->flags & (OP_RUNS_BLOCK | OP_DISTRIBUTED))
        return SKIFF_OK;
    str_map_init(&seen);
    for (int i = 0; i < op->nouts && status == SKIFF_OK; i++)
        for (int j = 0; j < op->outs[i].n && status == SKIFF_OK; j++) {
            const char *name = op->outs[i].names[j];
            if (!name[0] || !strcmp(name, EMPTY_VAR))
                continue;
            if (str_map_get(&seen, name))
                status = error_set(err, SKIFF_INVALID,
                                   "output slot %s: variable %s is already another output of this "
                                   "op; each needs one of its own",
                                   op->outs[i].slot, name);
            str_map_put(&seen, name, (void *)name);
        }
    str_map_deinit(&seen);
    return status;
}

static enum skiff_status bind_op(struct plan *plan, int block, int root_step, struct skiff_op *op,
                                 struct step *step, struct skiff_error *err)
{
    if (!op->kind) {
        const char *near = op_kind_nearest(op->type);
        return error_set(err, SKIFF_UNSUPPORTED, "Skiff has no op of this type%s%s%s",
                         near ? "; the most similar one is " : "", near ? near : "",
                         near ? " (`skiff inspect ops` lists all)" : "");
    }
    TRY(check_slots(op, err));
    TRY(check_outputs(op, err));
    struct kernel *k = &step->kernel;
    k->kind = op->kind;
    k->op = op;
    k->env = &plan->env;
    k->scratch = &plan->scratch;
    TRY(attrs_bind(op, &plan->arena, &k->attr, err));
    int most = count_args(op->ins, op->nins) + count_args(op->outs, op->nouts);
    step->touched = arena_alloc(&plan->arena, (size_t)(most + 1) * sizeof(*step->touched));
    struct binding b = {plan, block, root_step, step};
    bind_side(&b, op->kind->ins, op_in, false, &k->in);
    bind_side(&b, op->kind->outs, op_out, true, &k->out);
    return op->kind->prepare ? op->kind->prepare(k, err) : SKIFF_OK;
}

static enum skiff_status build_block(struct plan *plan, int idx, int root_step,
                                     struct skiff_error *err);

/* A block that another op runs, too: the variables it uses live until then. */
static void touch_block(struct plan *plan, int idx, int root_step)
{
    struct plan_block *b = &plan->blocks[idx];
    if (b->root_step == root_step)
        return;
    b->root_step = root_step;
    for (int i = 0; i < b->nsteps; i++) {
        const struct skiff_op *op = b->steps[i].kernel.op;
        for (int side = 0; side < 2; side++) {
            const struct op_arg *args = side ? op->outs : op->ins;
            int n = side ? op->nouts : op->nins;
            for (int j = 0; j < n; j++)
                for (int k = 0; k < args[j].n; k++) {
                    struct plan_var *v;
                    plan_resolve(plan, idx, args[j].names[k], &v);
                    note_incarnation(v, root_step, side);
                }
        }
        if (op->kind->flags & OP_RUNS_BLOCK)
            touch_block(plan, op_attr(op, "sub_block")->value.i, root_step);
    }
}

/* Ops of a sub-block run during the step that owns it. A sub-block is built once, for its first
 * owner. */
static enum skiff_status build_sub_block(struct plan *plan, const struct skiff_op *op,
                                         int root_step, struct skiff_error *err)
{
    const struct op_attr_value *a = op_attr(op, "sub_block");
    if (!a || a->type != ATTR_BLOCK || a->value.i <= 0 || a->value.i >= plan->program->nblocks)
        return error_set(err, SKIFF_FORMAT,
                         "attribute sub_block is missing or names no block (%d blocks)",
                         plan->program->nblocks);
    struct plan_block *sub = &plan->blocks[a->value.i];
    if (sub->open)
        return error_set(err, SKIFF_FORMAT,
                         "sub_block is block %d, which runs this op: blocks run in a circle",
                         a->value.i);
    if (sub->steps) {
        touch_block(plan, a->value.i, root_step);
        return SKIFF_OK;
    }
    sub->open = true;
    enum skiff_status status = build_block(plan, a->value.i, root_step, err);
    sub->open = false;
    return status;
}

static bool is_update(const struct skiff_op *op)
{
    int role = op_role_of(op);
    return (op->kind->flags & OP_OPTIMIZER) ||
           (role >= 0 && (role & (ROLE_OPTIMIZE | ROLE_LRSCHED)));
}

static enum skiff_status build_block(struct plan *plan, int idx, int root_step,
                                     struct skiff_error *err)
{
    const struct skiff_block *block = plan->program->blocks[idx];
    struct plan_block *pb = &plan->blocks[idx];
    pb->root_step = root_step;
    pb->steps = arena_alloc(&plan->arena, (size_t)(block->nops + 1) * sizeof(*pb->steps));
    for (int i = 0; i < block->nops; i++) {
        struct skiff_op *op = block->ops[i];
        if (idx == plan->root && touches_holder(plan->program, block, op))
            continue;
        struct step *step = &pb->steps[pb->nsteps];
        step->op_index = i;
        int root = idx == plan->root ? pb->nsteps : root_step;
        pb->nsteps++; /* counted at once, so that plan_destroy releases what prepare made */
        enum skiff_status status = bind_op(plan, idx, root, op, step, err);
        if (status == SKIFF_OK && (op->kind->flags & OP_RUNS_BLOCK))
            status = build_sub_block(plan, op, root, err);
        if (status < 0)
            return error_prefix(err, status, "block %d, op %d %s", idx, i, op->type);
        step->is_update = is_update(op);
    }
    return SKIFF_OK;
}

static enum skiff_status bind_feeds(struct plan *plan, const char *const *feeds, int nfeeds,
                                    struct skiff_error *err)
{
    plan->feeds = arena_alloc(&plan->arena, (size_t)(nfeeds + 1) * sizeof(*plan->feeds));
    for (int i = 0; i < nfeeds; i++) {
        struct plan_feed *f = &plan->feeds[plan->nfeeds++];
        f->declared = block_find_var(program_root(plan->program), feeds[i]);
        if (!f->declared)
            return error_set(err, SKIFF_NOT_FOUND, "fed variable %s is not in the program",
                             feeds[i]);
        struct plan_var *v;
        f->value = plan_resolve(plan, 0, feeds[i], &v);
        if (!v)
            continue;
        v->fed = f->borrows = !v->written;
        if (v->first <= v->last)
            v->first = 0; /* alive from before the first step */
    }
    return SKIFF_OK;
}

static enum skiff_status bind_fetches(struct plan *plan, const char *const *fetches, int nfetches,
                                      struct skiff_error *err)
{
    plan->fetches = arena_alloc(&plan->arena, (size_t)(nfetches + 1) * sizeof(*plan->fetches));
    for (int i = 0; i < nfetches; i++) {
        struct plan_fetch *f = &plan->fetches[plan->nfetches++];
        struct plan_var *v = str_map_get(&plan->names[plan->root], fetches[i]);
        f->name = arena_strdup(&plan->arena, fetches[i]);
        if (v) {
            f->value = &v->value;
            v->fetched = true;
            v->last = plan->blocks[plan->root].nsteps; /* until it has been copied out */
        } else if (block_find_var(program_root(plan->program), fetches[i]) ||
                   scope_find(plan->scope, fetches[i])) {
            f->value = scope_var(plan->scope, fetches[i]);
        } else {
            return error_set(err, SKIFF_NOT_FOUND, "fetched variable %s is not in the program",
                             fetches[i]);
        }
    }
    return SKIFF_OK;
}

/* Kernels of internal ops trust the passes that make them. */
static enum skiff_status refuse_internal(const struct skiff_program *p, struct skiff_error *err)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++) {
            const struct skiff_op *op = p->blocks[b]->ops[i];
            if (op->kind && (op->kind->flags & OP_INTERNAL))
                return error_set(
                    err, SKIFF_UNSUPPORTED,
                    "block %d, op %d %s: this is an op of Skiff's plans; programs cannot hold it",
                    b, i, op->type);
        }
    return SKIFF_OK;
}

static bool has_optimizer(const struct skiff_program *p)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++) {
            const struct op_kind *kind = p->blocks[b]->ops[i]->kind;
            if (kind && (kind->flags & OP_OPTIMIZER))
                return true;
        }
    return false;
}

/* The program that will run: nothing else is kept of the given one. */
static enum skiff_status own_program(struct plan *plan, const struct plan_options *options,
                                     const char *const *fetches, int nfetches,
                                     struct skiff_error *err)
{
    if (!options->fuse && options->borrow)
        return SKIFF_OK;
    if (options->fuse)
        TRY(fuse_program(plan->program, fetches, nfetches, VERIFY_SKIP_SHAPES | VERIFY_SKIP_UNKNOWN,
                         &plan->own, err));
    else
        plan->own = program_clone(plan->program);
    plan->program = plan->own;
    return SKIFF_OK;
}

enum skiff_status plan_create(const struct skiff_program *p, struct skiff_scope *scope,
                              const struct plan_options *options, const char *const *feeds,
                              int nfeeds, const char *const *fetches, int nfetches,
                              struct plan **out, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct plan *plan = mem_alloc_or_die(sizeof(*plan));
    plan->program = p;
    plan->scope = scope;
    plan->profile = options->profile;
    plan->update = options->update;
    plan->root = options->block;
    arena_init(&plan->arena);
    plan_env_init(plan, options);
    TRY_OUT(refuse_internal(p, err));
    TRY_OUT(program_check_rights(p, options->block, err));
    TRY_OUT(own_program(plan, options, fetches, nfetches, err));
    plan->env.program = plan->program;
    plan->env.trains = has_optimizer(plan->program);
    plan->nblocks = plan->program->nblocks;
    plan->names = arena_alloc(&plan->arena, (size_t)plan->nblocks * sizeof(*plan->names));
    plan->blocks = arena_alloc(&plan->arena, (size_t)plan->nblocks * sizeof(*plan->blocks));
    for (int i = 0; i < plan->nblocks; i++)
        str_map_init(&plan->names[i]);
    TRY_OUT(build_block(plan, plan->root, 0, err));
    TRY_OUT(bind_feeds(plan, feeds, nfeeds, err));
    TRY_OUT(bind_fetches(plan, fetches, nfetches, err));
    *out = plan;
out:
    if (status < 0)
        plan_destroy(plan);
    return status;
}

void plan_destroy(struct plan *plan)
{
    if (!plan)
        return;
    for (int b = 0; plan->blocks && b < plan->nblocks; b++) {
        struct plan_block *pb = &plan->blocks[b];
        for (int i = 0; i < pb->nsteps; i++)
            if (pb->steps[i].kernel.kind && pb->steps[i].kernel.kind->release)
                pb->steps[i].kernel.kind->release(&pb->steps[i].kernel);
        for (int i = 0; i < pb->nown; i++)
            value_deinit(&pb->own[i]->value);
        free(pb->own);
        str_map_deinit(&plan->names[b]);
    }
    kernel_scratch_deinit(&plan->scratch);
    mem_free(plan->slab);
    program_destroy(plan->own);
    arena_deinit(&plan->arena);
    free(plan);
}
