/* Reduces a training program: for inference to the ops that the targets need, for testing by the
 * roles of the ops.
 *
 * The reduction works on a copy, backwards: an op stays if it writes something that is needed, and
 * its inputs become needed. Sub-blocks are reduced by the arguments of the op that runs them.
 * Unused blocks are removed, and the rest is renumbered in the order in which ops refer to them.
 * Blocks that run each other in a circle (in a malformed file) are not followed: a sub-block comes
 * after the block that holds its op. The result for a valid program is verified; a fault is then an
 * internal error. */
#include "passes/prune.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "layers/net.h"
#include "program/infer.h"

/* ---- what stays ---- */

static bool set_has(const struct str_map *s, const char *name)
{
    return str_map_has(s, name);
}

static void add_args(struct str_map *to, const struct op_arg *args, int n,
                     const struct str_map *but)
{
    for (int s = 0; s < n; s++)
        for (int k = 0; k < args[s].n; k++)
            if (!but || !set_has(but, args[s].names[k]))
                str_map_put(to, args[s].names[k], to);
}

static bool writes_any(const struct skiff_op *op, const struct str_map *set)
{
    for (int s = 0; s < op->nouts; s++)
        for (int k = 0; k < op->outs[s].n; k++)
            if (set_has(set, op->outs[s].names[k]))
                return true;
    return false;
}

/* The block that an op of `b` runs, or NULL. Blocks come after the ones that hold their ops, so
 * that a file in which they run in circles leads nowhere. */
static struct skiff_block *sub_block_of(const struct skiff_block *b, const struct skiff_op *op)
{
    const struct op_attr_value *a = op_attr(op, "sub_block");
    if (!a || a->type != ATTR_BLOCK || a->value.i <= b->idx || a->value.i >= b->program->nblocks)
        return NULL;
    return b->program->blocks[a->value.i];
}

static bool is_optimize(const struct skiff_op *op)
{
    return op_attr(op, "op_role") && op_role_of(op) != ROLE_UNSPECIFIED &&
           op_role_of(op) & ROLE_OPTIMIZE;
}

/* Required results of a sub-block: the variables of the op that runs it, and the states passed from
 * one step to the next (recurrent), of which the op names only the first values. */
static void add_results(const struct skiff_op *op, struct str_map *to, const struct str_map *feeds)
{
    const struct op_attr_value *states = op_attr(op, "states");
    add_args(to, op->ins, op->nins, feeds);
    add_args(to, op->outs, op->nouts, feeds);
    for (int i = 0; states && states->type == ATTR_STRINGS && i < states->value.n; i++)
        str_map_put(to, states->value.strings[i], to);
}

/* Walks the block backwards; `needed` grows by the inputs of kept ops. */
static void drop_ops(struct skiff_block *b, struct str_map *needed, const struct str_map *feeds)
{
    bool *keep = mem_alloc_or_die((size_t)(b->nops + 1) * sizeof *keep);
    for (int i = b->nops - 1; i >= 0; i--) {
        struct skiff_op *op = b->ops[i];
        keep[i] = op->is_target == PRESENCE_TRUE || (writes_any(op, needed) && !is_optimize(op));
        if (keep[i])
            add_args(needed, op->ins, op->nins, feeds);
    }
    for (int i = b->nops - 1; i >= 0; i--)
        if (!keep[i])
            block_remove_ops(b, i, 1);
    free(keep);
}

/* The block, and the sub-blocks that are still used. */
static void drop_unneeded(struct skiff_block *b, struct str_map *needed,
                          const struct str_map *feeds, bool *done)
{
    if (done[b->idx])
        return;
    done[b->idx] = true;
    drop_ops(b, needed, feeds);
    for (int i = 0; i < b->nops; i++) {
        struct skiff_block *sub = sub_block_of(b, b->ops[i]);
        if (!sub)
            continue;
        struct str_map inner;
        str_map_init(&inner);
        add_results(b->ops[i], &inner, feeds);
        drop_unneeded(sub, &inner, feeds, done);
        str_map_deinit(&inner);
    }
}

static void drop_roles(struct skiff_block *b)
{
    /* in a split program, the exchange with servers is removed, too; its look-ups are forward ops
     * and stay */
    const int training = ROLE_BACKWARD | ROLE_OPTIMIZE | ROLE_LRSCHED | ROLE_RPC | ROLE_DIST;
    for (int i = b->nops - 1; i >= 0; i--) {
        int role = op_role_of(b->ops[i]);
        if (role != ROLE_UNSPECIFIED && role & training)
            block_remove_ops(b, i, 1);
    }
}

static void drop_unused_vars(struct skiff_block *b)
{
    struct str_map used;
    str_map_init(&used);
    for (int i = 0; i < b->nops; i++) {
        add_args(&used, b->ops[i]->ins, b->ops[i]->nins, NULL);
        add_args(&used, b->ops[i]->outs, b->ops[i]->nouts, NULL);
    }
    for (size_t i = b->vars.count; i-- > 0;)
        if (!set_has(&used, b->vars.entries[i].key))
            block_remove_var(b, b->vars.entries[i].key);
    str_map_deinit(&used);
}

/* Blocks in the order in which ops refer to them. */
static void list_blocks(struct skiff_block *b, struct skiff_block **order, int *index, int *n)
{
    if (index[b->idx] >= 0)
        return;
    index[b->idx] = *n;
    order[(*n)++] = b;
    for (int i = 0; i < b->nops; i++) {
        struct skiff_block *sub = sub_block_of(b, b->ops[i]);
        if (sub)
            list_blocks(sub, order, index, n);
    }
}

/* Renumbers blocks; those that no op runs are removed. */
static void compact_blocks(struct skiff_program *p)
{
    struct skiff_block **order = mem_alloc_or_die((size_t)(p->nblocks + 1) * sizeof *order);
    int *index = mem_alloc_or_die((size_t)(p->nblocks + 1) * sizeof *index), n = 0;
    for (int i = 0; i < p->nblocks; i++)
        index[i] = -1;
    list_blocks(program_root(p), order, index, &n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < order[i]->nops; k++) {
            const struct skiff_block *sub = sub_block_of(order[i], order[i]->ops[k]);
            if (sub)
                op_set_attr(p, order[i]->ops[k], "sub_block", ATTR_BLOCK,
                            &(struct attr_value){.i = index[sub->idx]});
        }
    for (int i = 0; i < p->nblocks; i++) {
        int parent = p->blocks[i]->parent;
        if (index[i] < 0) /* memory of a removed block outside the arena */
            str_map_deinit(&p->blocks[i]->vars);
        p->blocks[i]->parent = parent < 0 || parent >= p->nblocks ? -1 : index[parent];
    }
    for (int i = 0; i < n; i++) {
        order[i]->idx = i;
        p->blocks[i] = order[i];
        drop_unused_vars(order[i]);
    }
    p->nblocks = n;
    free(order);
    free(index);
}

static void set_is_test(struct skiff_program *p)
{
    for (int i = 0; i < p->nblocks; i++)
        for (int k = 0; k < p->blocks[i]->nops; k++) {
            struct skiff_op *op = p->blocks[i]->ops[k];
            if (op_attr(op, "is_test"))
                op_set_bool(p, op, "is_test", true);
            op->is_target = PRESENCE_ABSENT;
        }
}

/* ---- inference ---- */

static void neutral(struct skiff_program *p)
{
    p->current_role = ROLE_FORWARD;
    p->current_role_var = NULL;
    p->ncurrent_role_var = 0;
    p->current_namescope = "/";
}

/* The last op, other than optimizer ops, that writes the variable is a target. */
static enum skiff_status mark_writer_of(struct skiff_program *p, const char *target,
                                        struct skiff_error *err)
{
    struct skiff_block *b = program_root(p);
    struct str_map one;
    str_map_init(&one);
    str_map_put(&one, target, b);
    int at = b->nops - 1;
    while (at >= 0 && (is_optimize(b->ops[at]) || !writes_any(b->ops[at], &one)))
        at--;
    str_map_deinit(&one);
    if (at >= 0)
        b->ops[at]->is_target = PRESENCE_TRUE;
    /* a variable that no op writes (a parameter) needs no target op */
    else if (!block_own_var(b, target))
        return error_set(err, SKIFF_NOT_FOUND, "prune: there is no target variable %s", target);
    return SKIFF_OK;
}

/* target -> scale 1.0 -> save_infer_model/scale_<i>.tmp_<n>; bools are fetched as they are. */
static enum skiff_status wrap_target(struct skiff_program *p, int i, const char *target,
                                     const char **out_name, struct skiff_error *err)
{
    struct skiff_block *b = program_root(p);
    const struct skiff_var *v = block_own_var(b, target);
    if (!v)
        return error_set(err, SKIFF_NOT_FOUND, "prune: there is no target variable %s", target);
    if (v->dtype == DTYPE_BOOL) { /* as in Paddle 2.x: scale takes numbers only */
        *out_name = target;
        return mark_writer_of(p, target, err);
    }
    const char *name;
    int n = 0;
    do
        name = arena_printf(&p->arena, "save_infer_model/scale_%d.tmp_%d", i, n++);
    while (block_own_var(b, name));
    struct skiff_var *out = block_add_var(b, name);
    out->dtype = v->dtype;
    out->has_tensor = true;
    out->persistable = PRESENCE_FALSE;
    struct skiff_op *op = block_insert_op(b, -1, "scale");
    op_set_in(p, op, "X", 1, &target);
    op_set_in(p, op, "ScaleTensor", 0, NULL);
    op_set_out(p, op, "Out", 1, &name);
    TRY(op_fill_defaults(p, op, err));
    op->is_target = PRESENCE_TRUE;
    *out_name = name;
    return infer_op(b, op, err);
}

static enum skiff_status put_holder_op(struct skiff_program *p, int at, const char *type,
                                       const char *x, const char *out, int col,
                                       struct skiff_error *err)
{
    struct skiff_op *op = block_insert_op(program_root(p), at, type);
    op_set_in(p, op, "X", 1, &x);
    op_set_out(p, op, "Out", 1, &out);
    op_set_int(p, op, "col", col);
    return op_fill_defaults(p, op, err);
}

static void add_holder(struct skiff_program *p, const char *name, enum var_kind kind)
{
    struct skiff_var *v = block_add_var(program_root(p), name);
    v->kind = kind;
    v->has_tensor = false;
    v->persistable = PRESENCE_TRUE;
}

static enum skiff_status add_feed_fetch(struct skiff_program *p, const char *const *feeds,
                                        int nfeeds, const char *const *fetches, int nfetches,
                                        struct skiff_error *err)
{
    if (nfeeds)
        add_holder(p, "feed", VAR_FEED_MINIBATCH);
    for (int i = 0; i < nfeeds; i++) {
        if (!block_own_var(program_root(p), feeds[i]))
            return error_set(err, SKIFF_NOT_FOUND,
                             "prune: the targets do not need the feed %s (or it does not exist)",
                             feeds[i]);
        TRY(put_holder_op(p, 0, "feed", "feed", feeds[i], i, err));
    }
    add_holder(p, "fetch", VAR_FETCH_LIST);
    for (int i = 0; i < nfetches; i++)
        TRY(put_holder_op(p, -1, "fetch", fetches[i], "fetch", i, err));
    return SKIFF_OK;
}

static void remove_old_feeds(struct skiff_block *b)
{
    int read = -1;
    for (int i = b->nops - 1; i >= 0; i--)
        if (op_is(b->ops[i], CLASS_FEED) || op_is(b->ops[i], CLASS_FETCH))
            block_remove_ops(b, i, 1);
    for (int i = 0; i < b->nops && read < 0; i++)
        if (!strcmp(b->ops[i]->type, "read"))
            read = i;
    if (read >= 0)
        block_remove_ops(b, 0, read + 1);
    for (size_t i = b->vars.count; i-- > 0;) {
        const struct skiff_var *v = b->vars.entries[i].value;
        if (v->kind == VAR_READER || v->kind == VAR_FEED_MINIBATCH || v->kind == VAR_FETCH_LIST)
            block_remove_var(b, v->name);
    }
}

/* Keeps the ops that the marked targets need, down to the feeds. Sub-blocks of training programs
 * stay complete: gradient blocks read more of the forward blocks than the ops that run them
 * name. */
static void keep_needed(struct skiff_program *p, const char *const *feeds, int nfeeds,
                        bool whole_blocks)
{
    struct str_map needed, fed;
    str_map_init(&needed);
    str_map_init(&fed);
    for (int i = 0; i < nfeeds; i++)
        str_map_put(&fed, feeds[i], &fed);
    bool *done = mem_alloc_or_die((size_t)p->nblocks * sizeof *done);
    if (whole_blocks)
        drop_ops(program_root(p), &needed, &fed);
    else
        drop_unneeded(program_root(p), &needed, &fed, done);
    free(done);
    str_map_deinit(&needed);
    str_map_deinit(&fed);
    compact_blocks(p);
}

static void forget_targets(struct skiff_program *p, enum presence mark)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            p->blocks[b]->ops[i]->is_target = mark;
}

struct prune_request {
    const char *const *feeds;
    int nfeeds;
    const char *const *targets;
    int ntargets;
    const int64_t *updates; /* positions of optimizer ops in block 0; NULL: all of them */
    int nupdates;
};

static enum skiff_status prune_clone(struct skiff_program *p, const struct prune_request *c,
                                     struct skiff_error *err)
{
    const char **fetches = arena_alloc(&p->arena, (size_t)(c->ntargets + 1) * sizeof *fetches);
    neutral(p);
    remove_old_feeds(program_root(p));
    forget_targets(p, PRESENCE_FALSE);
    for (int i = 0; i < c->ntargets; i++)
        TRY(wrap_target(p, i, c->targets[i], &fetches[i], err));
    keep_needed(p, c->feeds, c->nfeeds, false);
    set_is_test(p);
    TRY(add_feed_fetch(p, c->feeds, c->nfeeds, fetches, c->ntargets, err));
    if (p->generation == GEN_1X) {
        p->paddle_version = 1008005;
        p->has_version = true;
    }
    return SKIFF_OK;
}

static bool listed(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static enum skiff_status mark_targets(struct skiff_program *p, const struct prune_request *c,
                                      struct skiff_error *err)
{
    forget_targets(p, PRESENCE_FALSE);
    for (int i = 0; i < c->ntargets; i++)
        if (!listed(c->targets[i], c->feeds, c->nfeeds))
            TRY(mark_writer_of(p, c->targets[i], err));
    return SKIFF_OK;
}

static enum skiff_status keep_targets(struct skiff_program *p, const struct prune_request *c,
                                      bool whole_blocks)
{
    keep_needed(p, c->feeds, c->nfeeds, whole_blocks);
    forget_targets(p, PRESENCE_ABSENT);
    return SKIFF_OK;
}

static enum skiff_status cut_clone(struct skiff_program *p, const struct prune_request *c,
                                   struct skiff_error *err)
{
    TRY(mark_targets(p, c, err));
    return keep_targets(p, c, false);
}

/* Optimizer ops are targets, too: the given ones, or all. */
static enum skiff_status cut_training_clone(struct skiff_program *p, const struct prune_request *c,
                                            struct skiff_error *err)
{
    const struct skiff_block *root = program_root(p);
    TRY(mark_targets(p, c, err));
    for (int i = 0; c->updates && i < c->nupdates; i++) {
        int64_t at = c->updates[i];
        if (at < 0 || at >= root->nops || !is_optimize(root->ops[at]))
            return error_set(err, SKIFF_INVALID,
                             "prune: op %lld of block 0, which has %d, is not an optimizer op",
                             (long long)at, root->nops);
        root->ops[at]->is_target = PRESENCE_TRUE;
    }
    for (int b = 0; !c->updates && b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            if (is_optimize(p->blocks[b]->ops[i]))
                p->blocks[b]->ops[i]->is_target = PRESENCE_TRUE;
    return keep_targets(p, c, true);
}

/* The result for a valid program is valid. */
static enum skiff_status verify_cut(const struct skiff_program *whole,
                                    const struct skiff_program *cut, struct skiff_error *err)
{
    struct skiff_error why = {0};
    unsigned flags = VERIFY_SKIP_UNKNOWN | VERIFY_SKIP_SHAPES;
    if (program_verify_with(cut, flags, &why) == SKIFF_OK ||
        program_verify_with(whole, flags, NULL) < 0)
        return SKIFF_OK;
    return error_set(err, SKIFF_INTERNAL, "prune: %s", why.message);
}

typedef enum skiff_status cut_fn(struct skiff_program *p, const struct prune_request *c,
                                 struct skiff_error *err);

static enum skiff_status cut_copy(const struct skiff_program *p, cut_fn *cut,
                                  const struct prune_request *c, struct skiff_program **out,
                                  struct skiff_error *err)
{
    struct skiff_program *copy = program_clone(p);
    enum skiff_status status = cut(copy, c, err);
    if (status == SKIFF_OK)
        status = verify_cut(p, copy, err);
    if (status < 0)
        program_destroy(copy);
    else
        *out = copy;
    return status;
}

static enum skiff_status cut_for_targets(const struct skiff_program *p, cut_fn *cut,
                                         const char *const *feeds, int nfeeds,
                                         const char *const *targets, int ntargets,
                                         struct skiff_program **out, struct skiff_error *err)
{
    struct prune_request c = {
        .feeds = feeds, .nfeeds = nfeeds, .targets = targets, .ntargets = ntargets};
    if (ntargets < 1)
        return error_set(err, SKIFF_INVALID, "prune: no targets are given");
    return cut_copy(p, cut, &c, out, err);
}

enum skiff_status prune_for_inference(const struct skiff_program *p, const char *const *feeds,
                                      int nfeeds, const char *const *targets, int ntargets,
                                      struct skiff_program **out, struct skiff_error *err)
{
    return cut_for_targets(p, prune_clone, feeds, nfeeds, targets, ntargets, out, err);
}

enum skiff_status program_clone_for_test(const struct skiff_program *p, struct skiff_program **out,
                                         struct skiff_error *err)
{
    struct skiff_program *copy = program_clone(p);
    neutral(copy);
    for (int i = 0; i < copy->nblocks; i++)
        drop_roles(copy->blocks[i]);
    compact_blocks(copy);
    set_is_test(copy);
    copy->has_version = false;
    copy->paddle_version = 0;
    enum skiff_status status = verify_cut(p, copy, err);
    if (status < 0)
        program_destroy(copy);
    else
        *out = copy;
    return status;
}

/* ---- public names ---- */

enum skiff_status skiff_program_clone_for_test(const struct skiff_program *p,
                                               struct skiff_program **out, struct skiff_error *err)
{
    return program_clone_for_test(program_to_run(p), out, err);
}

enum skiff_status skiff_program_prune(const struct skiff_program *p, const char *const *feeds,
                                      int nfeeds, const char *const *targets, int ntargets,
                                      struct skiff_program **out, struct skiff_error *err)
{
    return prune_for_inference(program_to_run(p), feeds, nfeeds, targets, ntargets, out, err);
}

enum skiff_status skiff_program_cut(const struct skiff_program *p, const char *const *feeds,
                                    int nfeeds, const char *const *targets, int ntargets,
                                    struct skiff_program **out, struct skiff_error *err)
{
    return cut_for_targets(program_to_run(p), cut_clone, feeds, nfeeds, targets, ntargets, out,
                           err);
}

enum skiff_status skiff_program_cut_training(const struct skiff_program *p,
                                             const char *const *feeds, int nfeeds,
                                             const char *const *targets, int ntargets,
                                             const int64_t *updates, int nupdates,
                                             struct skiff_program **out, struct skiff_error *err)
{
    struct prune_request c = {.feeds = feeds,
                              .nfeeds = nfeeds,
                              .targets = targets,
                              .ntargets = ntargets,
                              .updates = updates,
                              .nupdates = nupdates};
    return cut_copy(program_to_run(p), cut_training_clone, &c, out, err);
}
