/* Cutting parameters in blocks and giving the blocks to servers.
 *
 * A tensor of n elements, S servers, M = min_block_size:
 *   count = min(S, max(1, n / M));  block = ceil(n / count), rounded up to whole rows;
 *   block i holds elements i * block .. min((i + 1) * block, n).
 * One block keeps the variable's name; several are called <name>.block<i>. Blocks go to servers in
 * the order in which they are sent. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "passes/split_parts.h"

/* ---- servers ---- */

/* "host:port" with a port from 1 to 65535; the host may be a bracketed IPv6 address. */
static bool endpoint_is_good(const char *text)
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !colon[1] || strlen(colon + 1) > 5)
        return false;
    for (const char *c = colon + 1; *c; c++)
        if (*c < '0' || *c > '9')
            return false;
    long port = strtol(colon + 1, NULL, 10);
    return port >= 1 && port <= 65535;
}

enum skiff_status split_parse_endpoints(struct skiff_split *s, const char *text,
                                        struct skiff_error *err)
{
    struct names_list list = {0};
    for (const char *at = text ? text : ""; *at;) {
        size_t n = strcspn(at, ",");
        const char *one = arena_strndup(&s->arena, at, n);
        if (!endpoint_is_good(one))
            return error_set(err, SKIFF_INVALID,
                             "pservers: '%s' is no endpoint; ip:port is needed (in '%s')", one,
                             text);
        for (int i = 0; i < list.n; i++)
            if (!strcmp(list.v[i], one))
                return error_set(err, SKIFF_INVALID, "pservers: %s is listed twice (in '%s')", one,
                                 text);
        names_add(&s->arena, &list, one);
        at += n + (at[n] == ',');
    }
    if (!list.n)
        return error_set(err, SKIFF_INVALID, "pservers is empty; a list of ip:port is needed");
    s->endpoints = list.v;
    s->nendpoints = list.n;
    return SKIFF_OK;
}

/* ---- blocks ---- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static enum skiff_status cut_param(struct skiff_split *s, struct split_param *p,
                                   struct skiff_error *err)
{
    const struct shape *whole = &p->var->shape;
    int64_t n = shape_numel(whole);
    if (n <= 0 || whole->ndim < 1)
        return error_set(err, SKIFF_SHAPE,
                         "parameter %s has %lld elements; its shape must be known to be split",
                         p->name, (long long)n);
    int64_t width = n / whole->dims[0], count = n / s->config.min_block_size;
    int64_t most = s->config.slice_var_up || s->mode == SKIFF_SPLIT_GEO ? s->nendpoints : 1;
    if (count < 1)
        count = 1;
    if (count > most)
        count = most;
    int64_t block = ceil_div(ceil_div(n, count), width) * width;
    p->nblocks = (int)ceil_div(n, block);
    p->blocks = arena_alloc(&s->arena, (size_t)p->nblocks * sizeof *p->blocks);
    for (int i = 0; i < p->nblocks; i++) {
        int64_t left = n - i * block;
        p->blocks[i].shape = *whole;
        p->blocks[i].first_row = i * block / width;
        p->blocks[i].shape.dims[0] = (left < block ? left : block) / width;
    }
    return SKIFF_OK;
}

static void name_blocks(struct skiff_split *s, struct split_param *p)
{
    bool suffix = s->sync && s->merge;
    for (int i = 0; i < p->nblocks; i++) {
        struct split_block *b = &p->blocks[i];
        bool whole = p->nblocks == 1;
        b->param = whole ? p->name : arena_printf(&s->arena, "%s.block%d", p->name, i);
        b->merged = whole ? p->grad : arena_printf(&s->arena, "%s.block%d", p->grad, i);
        b->grad =
            suffix ? arena_printf(&s->arena, "%s.trainer_%d", b->merged, s->trainer_id) : b->merged;
    }
    p->sent = p->nblocks == 1 ? p->blocks[0].grad : p->grad;
}

/* numpy.random.seed(seed); numpy.random.shuffle(list): swaps from the end, with numbers drawn by
 * masking and rejecting. */
static void shuffle(int *v, int n, uint32_t seed)
{
    struct mt32 *r = mem_alloc_or_die(sizeof *r);
    mt32_seed(r, seed);
    for (int i = n - 1; i > 0; i--) {
        uint32_t mask = (uint32_t)i, j;
        for (int shift = 1; shift < 32; shift *= 2)
            mask |= mask >> shift;
        do
            j = mt32_next(r) & mask;
        while (j > (uint32_t)i);
        int kept = v[i];
        v[i] = v[j];
        v[j] = kept;
    }
    free(r);
}

static enum skiff_status dispatch(struct skiff_split *s, struct skiff_error *err)
{
    const struct split_dispatcher *d = s->dispatcher;
    int step = 0;
    for (int k = 0; k < s->nparams; k++) {
        struct split_param *p = &s->params[s->order[k]];
        for (int i = 0; i < p->nblocks; i++, step++) {
            int at = d->pick(p->name, i, step, s->nendpoints);
            if (at < 0 || at >= s->nendpoints)
                return error_set(err, SKIFF_RANGE,
                                 "split_method %s gives server %d for %s; there are %d", d->name,
                                 at, p->blocks[i].param, s->nendpoints);
            for (int j = 0; j < i; j++)
                if (p->blocks[j].server == at)
                    return error_set(err, SKIFF_INVALID,
                                     "split_method %s puts %s and %s both on server %s", d->name,
                                     p->blocks[j].param, p->blocks[i].param, s->endpoints[at]);
            p->blocks[i].server = at;
        }
    }
    return SKIFF_OK;
}

static struct skiff_placement *add_placement(struct skiff_split *s)
{
    if (s->nplaced == s->placed_cap) {
        s->placed_cap = s->placed_cap ? 2 * s->placed_cap : 32;
        s->placed = mem_grow_or_die(s->placed, (size_t)s->placed_cap * sizeof *s->placed);
    }
    return &s->placed[s->nplaced++];
}

static struct skiff_placement placement_of(const struct skiff_split *s, const struct split_param *p,
                                           int i)
{
    const struct split_block *b = &p->blocks[i];
    int64_t width = shape_numel(&p->var->shape) / p->var->shape.dims[0];
    return (struct skiff_placement){.slice = b->param,
                                    .origin = p->name,
                                    .kind = p->remote ? "RemotePrefetch" : "Param",
                                    .is_slice = p->nblocks > 1,
                                    .sparse = s->mode == SKIFF_SPLIT_GEO ? p->looked_up : p->rows,
                                    .block = i,
                                    .offset = b->first_row * width,
                                    .first_row = b->first_row,
                                    .ndim = b->shape.ndim,
                                    .dims = b->shape.dims,
                                    .endpoint = s->endpoints[b->server],
                                    .server = b->server,
                                    .remote = p->remote};
}

enum skiff_status split_assign_params(struct skiff_split *s, struct skiff_error *err)
{
    s->order = arena_alloc(&s->arena, (size_t)(s->nparams + 1) * sizeof *s->order);
    for (int i = 0; i < s->nparams; i++) {
        s->order[i] = i;
        TRY(cut_param(s, &s->params[i], err));
        name_blocks(s, &s->params[i]);
    }
    if (!s->config.slice_var_up && s->mode != SKIFF_SPLIT_GEO)
        shuffle(s->order, s->nparams, (uint32_t)s->main->random_seed);
    TRY(dispatch(s, err));
    for (int k = 0; k < s->nparams; k++)
        for (int i = 0; i < s->params[k].nblocks; i++)
            *add_placement(s) = placement_of(s, &s->params[k], i);
    return SKIFF_OK;
}

/* ---- accumulators ---- */

const struct split_param *split_find_param(const struct skiff_split *s, const char *name)
{
    for (int i = 0; i < s->nparams; i++)
        if (!strcmp(s->params[i].name, name))
            return &s->params[i];
    return NULL;
}

const struct split_block *split_block_on(const struct split_param *p, int server)
{
    for (int i = 0; i < p->nblocks; i++)
        if (p->blocks[i].server == server)
            return &p->blocks[i];
    return NULL;
}

struct shape split_accumulator_shape(const struct split_param *p, const struct split_block *block,
                                     const struct skiff_var *accumulator)
{
    bool like = shape_equal(&accumulator->shape, &p->var->shape);
    return like ? block->shape : accumulator->shape;
}

static int by_slot(const void *a, const void *b)
{
    return strcmp((*(const struct op_arg *const *)a)->slot,
                  (*(const struct op_arg *const *)b)->slot);
}

static void assign_states(struct skiff_split *s, const struct skiff_op *op,
                          const struct split_param *p, int server)
{
    const struct split_block *block = split_block_on(p, server);
    const struct optimizer_kind *kind = split_optimizer(op);
    const struct op_arg **ins = arena_alloc(&s->arena, (size_t)(op->nins + 1) * sizeof *ins);
    for (int i = 0; i < op->nins; i++)
        ins[i] = &op->ins[i];
    qsort(ins, (size_t)op->nins, sizeof *ins, by_slot);
    for (int i = 0; i < op->nins; i++) {
        bool state = ins[i]->n == 1 && optimizer_kind_holds(kind, ins[i]->slot);
        const struct skiff_var *v =
            state ? block_own_var(program_root(s->main), ins[i]->names[0]) : NULL;
        if (!v)
            continue;
        struct skiff_placement at = placement_of(s, p, (int)(block - p->blocks));
        bool like = shape_equal(&v->shape, &p->var->shape);
        at.slice = at.origin = v->name;
        at.kind = "Optimizer";
        at.remote = false;
        at.state = true;
        at.ndim = v->shape.ndim;
        at.dims = like ? block->shape.dims : v->shape.dims;
        if (!like) { /* one value shared by all blocks */
            at.is_slice = false;
            at.block = 0;
            at.offset = at.first_row = 0;
        }
        *add_placement(s) = at;
    }
}

void split_assign_accumulators(struct skiff_split *s)
{
    const struct skiff_block *b = program_root(s->main);
    for (int server = 0; server < s->nendpoints; server++)
        for (int i = 0; i < b->nops; i++) {
            if (!s->is_update[i] || !op_is_update(b->ops[i]))
                continue;
            const struct split_param *p = split_find_param(s, op_in1(b->ops[i], "Param"));
            if (p && split_block_on(p, server))
                assign_states(s, b->ops[i], p, server);
        }
}
