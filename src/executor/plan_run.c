/* Running a plan: feed, steps, fetch.
 *
 * A step looks at its inputs, sizes its outputs by the op's shape rule, and calls the kernel. The
 * look is a test of two fields for each value; only what is not a plain tensor with bytes goes
 * through check_input, which has the messages. Shapes are worked out in every run, because only the
 * data decide them (docs/internals/decisions/0002-plans.md); memory is there already when they are
 * those of the run before.
 *
 * Feeds are borrowed, not copied, unless the program writes to them or keeps them. When a run
 * failed as well as when it is through, nothing borrowed is left behind in the plan. */
#include "base/clock.h"
#include "executor/plan_parts.h"
#include "program/infer.h"

/* Before a step: checks that inputs exist and have a kind that the op takes, and flushes their
 * deferred updates. */
static enum skiff_status check_input(const struct step *s, const struct plan_input *in,
                                     struct skiff_error *err)
{
    unsigned flags = s->kernel.kind->flags;
    const char *slot = s->kernel.kind->ins[in->slot].name;
    const char *name = kernel_in_name(&s->kernel, in->slot, in->index);
    switch (in->value->kind) {
    case VALUE_NONE:
        if (flags & OP_EMPTY_OK)
            return SKIFF_OK;
        return error_set(
            err, SKIFF_STATE,
            "input %s: variable %s has no value: it was neither fed, nor loaded, nor written by an "
            "op before this one (was the startup program run?)",
            slot, name);
    case VALUE_ROWS:
        if (flags & OP_ROWS_OK)
            return SKIFF_OK;
        return error_set(err, SKIFF_UNSUPPORTED,
                         "input %s: variable %s is SelectedRows, which this op does not take", slot,
                         name);
    case VALUE_ARRAY:
        if (flags & OP_ARRAY_OK)
            return SKIFF_OK;
        return error_set(err, SKIFF_UNSUPPORTED,
                         "input %s: variable %s is a tensor array, which this op does not take",
                         slot, name);
    case VALUE_TENSOR: /* without bytes: fake_init */
        if ((flags & OP_DISTRIBUTED) || s->kernel.kind->ins[in->slot].flags & SLOT_SHAPE_ONLY ||
            tensor_numel(&in->value->tensor) == 0)
            return SKIFF_OK;
        return error_set(err, SKIFF_STATE,
                         "input %s: the rows of variable %s are on the parameter servers; this "
                         "process holds none of them",
                         slot, name);
    default:
        return SKIFF_OK;
    }
}

static enum skiff_status prepare_step(struct step *s, struct skiff_error *err)
{
    for (int i = 0; i < s->ntouched; i++) {
        const struct plan_input *t = &s->touched[i];
        if (!t->rowwise && (s->kernel.env->trains || t->is_output))
            value_flush(t->value);
        else if (!t->rowwise)
            value_show(t->value);
        if (!t->is_output && (t->value->kind != VALUE_TENSOR || !t->value->tensor.data))
            TRY(check_input(s, t, err));
    }
    return SKIFF_OK;
}

static enum skiff_status size_outputs(struct kernel *k, struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .op = k->op, .kernel = k};
    if (k->kind->infer)
        return k->kind->infer(&c, err);
    return infer_same(&c, 0, 0, err);
}

static enum skiff_status run_step(struct step *s, struct skiff_error *err)
{
    struct kernel *k = &s->kernel;
    TRY(prepare_step(s, err));
    if (!(k->kind->flags & OP_OWN_SHAPE))
        TRY(size_outputs(k, err));
    kernel_scratch_reset(k->scratch);
    return k->kind->run(k, err);
}

enum skiff_status plan_run_block(struct plan *plan, int block, struct skiff_error *err)
{
    struct plan_block *b = &plan->blocks[block];
    bool profile = plan->profile && block == 0;
    int64_t before = profile ? clock_now() : 0;
    uint64_t update = 0;
    for (int i = 0; i < b->nsteps; i++) {
        enum skiff_status status = run_step(&b->steps[i], err);
        if (profile) {
            int64_t after = clock_now();
            b->steps[i].calls++;
            b->steps[i].nanoseconds += (uint64_t)(after - before);
            update += b->steps[i].is_update ? (uint64_t)(after - before) : 0;
            before = after;
        }
        if (status < 0)
            return error_prefix(err, status, "block %d, op %d %s", block, b->steps[i].op_index,
                                b->steps[i].kernel.op->type);
    }
    if (update && plan->update)
        metric_observe(plan->update, update);
    return SKIFF_OK;
}

/* Variables made with need_check_feed (fluid.data) state what they take. */
static enum skiff_status check_feed(const struct skiff_var *v, const struct tensor *t,
                                    struct skiff_error *err)
{
    char declared[160], found[160];
    int64_t bad = tensor_bad_bool(t);
    TRY(lod_check(t->lod, t->shape.ndim ? t->shape.dims[0] : 1, v->name, err));
    if (bad >= 0)
        return error_set(err, SKIFF_INVALID,
                         "fed variable %s: element %lld is the byte %d; a bool is 0 or 1", v->name,
                         (long long)bad, ((const uint8_t *)t->data)[bad]);
    if (v->need_check_feed != PRESENCE_TRUE)
        return SKIFF_OK;
    if (v->dtype != t->dtype)
        return error_set(err, SKIFF_DTYPE, "fed variable %s is declared %s, but the feed is %s",
                         v->name, dtype_name(v->dtype), dtype_name(t->dtype));
    /* another number of dimensions is left to the ops, as real data loaders feed [32] for a
     * declared [-1, 1] */
    bool fits = true;
    for (int i = 0; fits && v->shape.ndim == t->shape.ndim && i < t->shape.ndim; i++)
        fits = v->shape.dims[i] < 0 || v->shape.dims[i] == t->shape.dims[i];
    if (!fits)
        return error_set(err, SKIFF_SHAPE, "fed variable %s is declared %s, but the feed is %s",
                         v->name, shape_text(&v->shape, declared), shape_text(&t->shape, found));
    return SKIFF_OK;
}

/* The value points at the caller's bytes, unless the program writes to it or keeps it. */
static enum skiff_status take_feed(const struct plan_feed *f, const struct feed *given,
                                   struct skiff_error *err)
{
    struct skiff_tensor *value = f->value;
    const struct tensor *t = given->tensor;
    TRY(check_feed(f->declared, t, err));
    value_flush(value);
    if (f->borrows) {
        value->kind = given->rows ? VALUE_ROWS : VALUE_TENSOR;
        if (given->rows)
            value->sel = *given->rows;
        struct lod *lod = lod_ref(t->lod);
        lod_unref(value->tensor.lod);
        value->tensor = *t;
        value->tensor.lod = lod;
        value->tensor.owner = TENSOR_BORROWED;
        value->tensor.cap = tensor_bytes(t);
        return SKIFF_OK;
    }
    if (given->rows)
        return value_copy(
            value, &(struct skiff_tensor){VALUE_ROWS, .tensor = *t, .sel = *given->rows}, err);
    TRY(value_as_tensor(value, t->dtype, &t->shape, err));
    return tensor_copy(&value->tensor, t, err);
}

static void release_feeds(struct plan *plan)
{
    for (int i = 0; i < plan->nfeeds; i++) {
        struct skiff_tensor *value = plan->feeds[i].value;
        if (!plan->feeds[i].borrows)
            continue;
        lod_unref(value->tensor.lod);
        value->tensor = (struct tensor){0};
        if (value->kind == VALUE_ROWS)
            value->sel = (struct selected_rows){0};
        value->kind = VALUE_NONE;
    }
}

static enum skiff_status give_fetch(const struct plan_fetch *f, struct skiff_tensor *out,
                                    struct skiff_error *err)
{
    if (f->value->kind == VALUE_NONE)
        return error_set(err, SKIFF_NOT_FOUND,
                         "fetched variable %s has no value: no op of the program wrote it",
                         f->name);
    if (value_is_elsewhere(f->value))
        return error_set(err, SKIFF_STATE,
                         "fetched variable %s: its rows are on the parameter servers; this process "
                         "holds none of them",
                         f->name);
    value_show(f->value);
    return value_copy(out, f->value, err);
}

/* Drops the deferred updates of an optimizer on a local table with it. */
static void forget_locals(struct plan *plan)
{
    for (int b = 0; b < plan->nblocks; b++)
        for (int i = 0; i < plan->blocks[b].nown; i++) {
            struct skiff_tensor *v = &plan->blocks[b].own[i]->value;
            v->kind = VALUE_NONE;
            if (v->deferred)
                value_set_deferred(v, NULL);
        }
}

enum skiff_status plan_run(struct plan *plan, const struct feed *feeds, struct skiff_tensor *out,
                           struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    forget_locals(plan);
    for (int i = 0; i < plan->nfeeds; i++)
        TRY_OUT(take_feed(&plan->feeds[i], &feeds[i], err));
    TRY_OUT(plan_run_block(plan, plan->root, err));
    for (int i = 0; i < plan->nfetches; i++)
        TRY_OUT(give_fetch(&plan->fetches[i], &out[i], err));
    if (plan_needs_layout(plan))
        TRY_OUT(plan_layout(plan, err));
out:
    release_feeds(plan);
    return status;
}

/* ---- prefetch ---- */

struct later_feeds {
    const struct plan *plan;
    const struct feed *feeds;
};

static const struct tensor *find_later(void *user, const struct skiff_tensor *value)
{
    const struct later_feeds *l = user;
    for (int i = 0; i < l->plan->nfeeds; i++)
        if (l->plan->feeds[i].value == value)
            return l->feeds[i].tensor;
    return NULL;
}

/* A prefetch may wait until the servers have this run's gradients; a run without gradients would
 * make it wait for ever. */
static bool sends_gradients(const struct plan *plan)
{
    const struct plan_block *b = &plan->blocks[plan->root];
    for (int i = 0; i < b->nsteps; i++)
        if (b->steps[i].kernel.kind->class == CLASS_SEND)
            return true;
    return false;
}

void plan_prefetch(struct plan *plan, uint64_t run, const struct feed *feeds)
{
    struct plan_block *b = &plan->blocks[plan->root];
    struct later_feeds l = {plan, feeds};
    struct kernel_later later = {run, sends_gradients(plan), &l, find_later};
    for (int i = 0; i < b->nsteps; i++)
        if (b->steps[i].kernel.kind->prefetch)
            b->steps[i].kernel.kind->prefetch(&b->steps[i].kernel, &later);
}
