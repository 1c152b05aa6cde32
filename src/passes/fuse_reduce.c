/* Sums of gradients over ranks, in buckets, while backward is running.
 *
 *    dw = ..; c_sync_calc_stream(dw); c_allreduce_sum(dw); db = ..; c_allreduce_sum(db); ..
 *
 * fuse_reduce_lift removes the stream waits and moves each sum down to the first op that touches
 * its gradient, so that the other passes find the gradient ops next to each other. Then fuse_reduce
 * combines adjacent sums into buckets, and starts a bucket where its last gradient is computed:
 *
 *    dw = ..; db = ..; start(dw, db) -> work; .. ; wait(work) -> dw, db; sgd(dw); sgd(db)
 *
 * All ranks must make their calls in the same order, although their fetches, and therefore the
 * fusions, may differ. So order and contents of buckets depend only on the order of the sums in the
 * program and the sizes of gradients, and no bucket starts before another collective op. Selected
 * rows and types other than float32 keep sums of their own, after the starts. */
#include <string.h>

#include "passes/fuse_parts.h"

#define BUCKET_BYTES (512 << 10) /* bench/README.md, collective_train */

static bool is_sum(const struct skiff_op *op)
{
    const struct op_arg *x = op_in(op, "X"), *out = op_out(op, "Out"), *cond = op_in(op, "Cond");
    return op->kind && op->kind->class == CLASS_SUM_RANKS && x && out && x->n == 1 && out->n == 1 &&
           !strcmp(x->names[0], out->names[0]) && !(cond && cond->n);
}

/* Waits for a stream, and changes nothing. */
static bool is_idle(const struct skiff_op *op)
{
    const struct op_arg *x = op_in(op, "X"), *out = op_out(op, "Out");
    if (!op->kind || op->kind->class != CLASS_STREAM || !x || !out || x->n != out->n)
        return false;
    for (int i = 0; i < x->n; i++)
        if (strcmp(x->names[i], out->names[i]))
            return false;
    return true;
}

static bool touches(const struct skiff_op *op, const char *name)
{
    return op_reads(op, name) || op_writes(op, name);
}

/* Ops with blocks may touch anything. */
static bool may_sink(const struct skiff_op *sum, const struct skiff_op *below)
{
    return below->kind && !(below->kind->flags & (OP_RUNS_BLOCK | OP_RANKS)) &&
           !touches(below, op_in(sum, "X")->names[0]);
}

static bool any_sum(const struct skiff_block *b)
{
    for (int i = 0; i < b->nops; i++)
        if (is_sum(b->ops[i]) || is_idle(b->ops[i]))
            return true;
    return false;
}

/* From the last to the first: a sum sinks until it meets an op that touches its gradient, or a sum
 * that has sunk before it. */
int fuse_reduce_lift(struct skiff_program *p)
{
    struct skiff_block *b = program_root(p);
    int moved = 0;
    if (!any_sum(b))
        return 0;
    for (int i = b->nops - 1; i >= 0; i--)
        if (is_idle(b->ops[i])) {
            block_remove_ops(b, i, 1);
            moved++;
        }
    for (int i = b->nops - 1; i >= 0; i--) {
        struct skiff_op *op = b->ops[i];
        int to = i;
        if (!is_sum(op))
            continue;
        while (to + 1 < b->nops && may_sink(op, b->ops[to + 1]))
            to++;
        memmove(&b->ops[i], &b->ops[i + 1], (size_t)(to - i) * sizeof(*b->ops));
        b->ops[to] = op;
        moved += to > i;
    }
    return moved;
}

/* ---- buckets ---- */

struct fused_bucket {
    const char **names;
    int n, ring;
    int64_t bytes;
};

static bool is_dense(const struct skiff_block *b, const struct skiff_op *sum, int64_t *bytes)
{
    const struct skiff_var *v = block_find_var(b, op_in(sum, "X")->names[0]);
    *bytes = v ? shape_numel(&v->shape) * (int64_t)sizeof(float) : -1;
    return v && v->kind == VAR_LOD_TENSOR && v->dtype == DTYPE_FP32 && *bytes > 0;
}

/* The last ops that stand side by side: [*first, *first + returned) */
static int find_run(const struct skiff_block *b, int *first)
{
    int end = b->nops;
    while (end > 0 && !is_sum(b->ops[end - 1]))
        end--;
    *first = end;
    while (*first > 0 && is_sum(b->ops[*first - 1]))
        --*first;
    return end - *first;
}

/* After the last op before `before` that writes one of the bucket's gradients or is a collective
 * op. */
static int start_index(const struct skiff_block *b, const struct fused_bucket *k, int before)
{
    for (int i = before - 1; i >= 0; i--) {
        const struct skiff_op *op = b->ops[i];
        if (!op->kind || op->kind->flags & (OP_RANKS | OP_RUNS_BLOCK))
            return i + 1;
        for (int j = 0; j < k->n; j++)
            if (op_writes(op, k->names[j]))
                return i + 1;
    }
    return 0;
}

/* A wait at position `wait`, and a start before `head`. */
static void put_bucket(struct graph *g, const struct fused_bucket *k, int number, int head,
                       int wait)
{
    struct skiff_program *p = g->program;
    struct skiff_block *b = g->block;
    struct skiff_var *work = block_add_var(b, arena_printf(&p->arena, "@REDUCTION@%d", number));
    work->kind = VAR_STEP_SCOPES;
    struct skiff_op *op = block_insert_op(b, wait, "fused_reduce_wait");
    op_set_in(p, op, "Work", 1, &work->name);
    op_set_in(p, op, "X", k->n, k->names);
    op_set_out(p, op, "Out", k->n, k->names);
    op_set_int(p, op, "ring_id", k->ring);
    op_set_int(p, op, "op_role", ROLE_BACKWARD);
    op = block_insert_op(b, start_index(b, k, head), "fused_reduce_start");
    op_set_in(p, op, "X", k->n, k->names);
    op_set_out(p, op, "Work", 1, &work->name);
    op_set_int(p, op, "ring_id", k->ring);
    op_set_int(p, op, "op_role", ROLE_BACKWARD);
}

/* The next sums of [at, end) of one ring, up to BUCKET_BYTES. */
static int fill_bucket(struct graph *g, struct skiff_op **sums, int n, struct fused_bucket *k)
{
    int used = 0;
    *k = (struct fused_bucket){.names = arena_alloc(&g->arena, (size_t)n * sizeof(*k->names)),
                               .ring = attr_int(sums[0], "ring_id", 0)};
    for (; used < n && attr_int(sums[used], "ring_id", 0) == k->ring; used++) {
        int64_t bytes = 0;
        (void)is_dense(g->block, sums[used], &bytes);
        if (k->n && k->bytes + bytes > BUCKET_BYTES)
            break;
        k->names[k->n++] = op_in(sums[used], "X")->names[0];
        k->bytes += bytes;
    }
    return used;
}

int fuse_reduce(struct graph *g)
{
    struct skiff_block *b = g->block;
    int first, n = find_run(b, &first), ndense = 0, nrest = 0, buckets = 0;
    if (!n)
        return 0;
    struct skiff_op **dense = arena_alloc(&g->arena, (size_t)n * sizeof(*dense));
    struct skiff_op **rest = arena_alloc(&g->arena, (size_t)n * sizeof(*rest));
    int64_t bytes;
    for (int i = 0; i < n; i++) {
        if (is_dense(b, b->ops[first + i], &bytes))
            dense[ndense++] = b->ops[first + i];
        else
            rest[nrest++] = b->ops[first + i];
    }
    if (!ndense)
        return 0;
    /* starts of buckets, as early as possible; other sums; waits for buckets */
    memcpy(b->ops + first, rest, (size_t)nrest * sizeof(*rest));
    block_remove_ops(b, first + nrest, ndense);
    for (int i = 0; i < ndense; buckets++) {
        struct fused_bucket k;
        i += fill_bucket(g, dense + i, ndense - i, &k);
        int head = first + buckets; /* behind all starts so far */
        put_bucket(g, &k, buckets, head, head + nrest + buckets);
    }
    return buckets;
}
