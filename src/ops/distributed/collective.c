/* Collective ops: what the ranks of a ring do together (collective/rings.h; ring_id 0: the world).
 *
 *   c_allreduce_{sum,max,min,prod}, mp_allreduce_sum, allreduce   Out = reduction over the ranks
 *   c_reduce_{sum,max,min,prod}     the same at root_id only; Out = X elsewhere
 *   c_broadcast, broadcast          Out = root's X
 *   c_allgather                     Out = the ranks' X one after the other (dim 0)
 *   c_reducescatter                 piece `rank` (dim 0) of the sum
 *   c_scatter                       piece `rank` (dim 0) of root's X
 *   alltoall                        piece i of X (dim 0) goes to rank i
 *   c_concat, c_split               the last dim joined over ranks, cut by ranks
 *   c_identity                      Out = X; its gradient is the sum over ranks
 *   send_v2, recv_v2                from rank to rank
 *   barrier; c_sync_*, c_wait_*     meet; nothing
 *   c_gen_nccl_id, c_comm_init ...  the ring is there already, with that many ranks
 *
 * All calls block, whatever use_calc_stream says: values are there when the op is through, so the
 * ops that wait for streams have nothing to do. What overlaps with computing is made of
 * c_allreduce_sum by passes/fuse_reduce.c (fused_reduce.c). Selected rows are summed as rows: all
 * ranks' rows one after the other, each rank's own merged before. A ring of one rank: Out = X.
 *
 * They reach the ranks of this process's own world and nobody else: who opened it has allowed them
 * (no OP_SIDE_EFFECT). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collective/rings.h"
#include "ops/ops_common.h"
#include "ops/sparse/rows.h"
#include "ops/distributed/collective.h"

enum { AT_RING, AT_STREAM, AT_THIRD }; /* ring_id, use_calc_stream, what the op has besides */

enum skiff_status ring_of(const struct kernel *k, int ring, struct collective **out,
                          struct skiff_error *err)
{
    return rings_need(ring, k->kind->type, out, err);
}

enum skiff_status ring_failed(const struct kernel *k, const struct collective *c, const char *var,
                              enum skiff_status status, struct skiff_error *err)
{
    if (status >= 0)
        return SKIFF_OK;
    return error_prefix(err, status, "%s of variable %s, rank %d of %d", k->kind->type, var,
                        collective_rank(c), collective_size(c));
}

#define TRY_RING(k, c, call) \
    TRY(ring_failed(k, c, k->kind->ins[0].name ? kernel_in_name(k, 0, 0) : "", call, err))

/* Out = X, where they are not the same variable. */
static enum skiff_status pass_on(struct kernel *k, int i, struct skiff_error *err)
{
    struct skiff_tensor *x = kernel_in_value(k, 0, i), *out = kernel_out_value(k, 0, i);
    if (!x || !out || x == out)
        return SKIFF_OK;
    return value_copy(out, x, err);
}

/* ---- rows ---- */

static enum skiff_status rows_prepare(struct kernel *k, struct skiff_error *err)
{
    struct id_map *map = mem_alloc_or_die(sizeof *map);
    id_map_init(map);
    k->state = map;
    return SKIFF_OK;
}

static void rows_release(struct kernel *k)
{
    if (k->state)
        id_map_deinit(k->state);
    free(k->state);
    k->state = NULL;
}

struct rows_head { /* a rank's message about its rows */
    int64_t n, width, height;
};

/* Says how many rows all ranks have, and before this one's, once their tables are the same. */
static enum skiff_status rows_count(const struct kernel *k, const struct collective *c,
                                    const struct rows_head *heads, size_t *total, size_t *before,
                                    struct skiff_error *err)
{
    int rank = collective_rank(c);
    const struct rows_head *own = &heads[rank];
    *total = *before = 0;
    for (int r = 0; r < collective_size(c); r++) {
        const struct rows_head *h = &heads[r];
        if (h->width != own->width || h->height != own->height || h->n < 0 || h->n > UINT32_MAX)
            return kernel_fail(k, SKIFF_SHAPE, err,
                               "rank %d gives other rows than this one: a table of %lld rows of "
                               "%lld was expected (input X, variable %s)",
                               r, (long long)own->height, (long long)own->width,
                               kernel_in_name(k, 0, 0));
        *total += (size_t)h->n;
        *before += r < rank ? (size_t)h->n : 0;
    }
    return SKIFF_OK;
}

static void move(void *to, const void *from, size_t bytes)
{
    if (bytes && to != from)
        memmove(to, from, bytes);
}

/* This rank's rows at their offset among the rows of all, in Out, where they may be already. */
static enum skiff_status rows_scatter(struct kernel *k, const struct rows_merged *m, size_t total,
                                      size_t before, struct skiff_error *err)
{
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    size_t row = (size_t)m->width * sizeof(float);
    const void *ids = m->ids, *values = m->values;
    void *copy;
    if (m->n && (total > out->sel.rows_cap || total * row > out->tensor.cap)) {
        TRY(kernel_scratch(k, m->n * (sizeof(int64_t) + row), &copy, err));
        ids = memcpy(copy, ids, m->n * sizeof(int64_t));
        values = memcpy((int64_t *)copy + m->n, values, m->n * row);
    }
    TRY(value_as_rows(out, DTYPE_FP32, total, m->width, m->height, err));
    move(out->sel.rows + before, ids, m->n * sizeof(int64_t));
    move((char *)out->tensor.data + before * row, values, m->n * row);
    return SKIFF_OK;
}

/* One array of the rows of all ranks, `each` bytes a row, in which this rank's own lie. */
static enum skiff_status rows_gather(struct kernel *k, struct collective *c, void *rows,
                                     const struct rows_head *heads, size_t before, size_t each,
                                     struct skiff_error *err)
{
    void *sizes;
    TRY(kernel_scratch(k, (size_t)collective_size(c) * sizeof(size_t), &sizes, err));
    for (int r = 0; r < collective_size(c); r++)
        ((size_t *)sizes)[r] = (size_t)heads[r].n * each;
    TRY_RING(k, c, collective_all_gather_of(c, (char *)rows + before * each, sizes, rows, err));
    return SKIFF_OK;
}

static enum skiff_status sum_rows(struct kernel *k, struct collective *c, struct skiff_error *err)
{
    struct skiff_tensor *x = kernel_in_value(k, 0, 0), *out = kernel_out_value(k, 0, 0);
    struct rows_merged m = {.width = rows_width(x), .height = x->sel.height};
    void *heads;
    size_t total, before;
    if (x->tensor.dtype != DTYPE_FP32 && x->sel.nrows)
        return kernel_fail(k, SKIFF_DTYPE, err, "input X (%s): selected rows must be float32",
                           kernel_in_name(k, 0, 0));
    if (x->sel.nrows)
        TRY(rows_merge(k, k->state, &x, 1, ROWS_ANY, &m, err));
    struct rows_head own = {(int64_t)m.n, m.width, m.height};
    TRY(kernel_scratch(k, (size_t)collective_size(c) * sizeof own, &heads, err));
    TRY_RING(k, c, collective_all_gather(c, &own, sizeof own, heads, err));
    TRY(rows_count(k, c, heads, &total, &before, err));
    TRY(rows_scatter(k, &m, total, before, err));
    TRY(rows_gather(k, c, out->sel.rows, heads, before, sizeof(int64_t), err));
    return rows_gather(k, c, out->tensor.data, heads, before, (size_t)m.width * sizeof(float), err);
}

/* ---- reductions ---- */

static enum collective_op reduction_of(const struct kernel *k)
{
    static const enum collective_op by_type[] = {COLLECTIVE_SUM, COLLECTIVE_PROD, COLLECTIVE_MAX,
                                                 COLLECTIVE_MIN}; /* allreduce's reduce_type */
    return by_type[k->kind->arg & 3];
}

static enum skiff_status refuse_rows(const struct kernel *k, struct skiff_error *err)
{
    if (!kernel_in_is_rows(k, 0, 0))
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                       "input X (%s) is selected rows, of which only sums are made",
                       kernel_in_name(k, 0, 0));
}

static enum skiff_status all_reduce(struct kernel *k, int ring, enum collective_op op,
                                    struct skiff_error *err)
{
    struct collective *c;
    TRY(ring_of(k, ring, &c, err));
    if (collective_size(c) == 1)
        return pass_on(k, 0, err);
    if (kernel_in_is_rows(k, 0, 0) && op == COLLECTIVE_SUM)
        return sum_rows(k, c, err);
    TRY(refuse_rows(k, err));
    TRY(pass_on(k, 0, err));
    struct tensor *out = kernel_out(k, 0);
    TRY_RING(k, c, collective_all_reduce(c, out->data, tensor_numel(out), out->dtype, op, err));
    return SKIFF_OK;
}

static enum skiff_status all_reduce_run(struct kernel *k, struct skiff_error *err)
{
    return all_reduce(k, k->attr[AT_RING].i, reduction_of(k), err);
}

static enum skiff_status plain_reduce_run(struct kernel *k, struct skiff_error *err)
{
    static const enum collective_op by_type[] = {COLLECTIVE_SUM, COLLECTIVE_PROD, COLLECTIVE_MAX,
                                                 COLLECTIVE_MIN};
    int type = k->attr[0].i;
    if (type < 0 || type > 3)
        return kernel_fail(k, SKIFF_INVALID, err, "reduce_type is %d; expected 0 to 3", type);
    return all_reduce(k, 0, by_type[type], err);
}

static enum skiff_status check_root(const struct kernel *k, const struct collective *c, int root,
                                    struct skiff_error *err)
{
    if (root >= 0 && root < collective_size(c))
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_RANGE, err, "the root is rank %d; the ring has ranks 0 to %d", root,
                       collective_size(c) - 1);
}

static enum skiff_status reduce_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    int root = k->attr[AT_THIRD].i;
    TRY(ring_of(k, k->attr[AT_RING].i, &c, err));
    TRY(check_root(k, c, root, err));
    TRY(refuse_rows(k, err));
    TRY(pass_on(k, 0, err));
    struct tensor *out = kernel_out(k, 0);
    TRY_RING(
        k, c,
        collective_reduce(c, out->data, tensor_numel(out), out->dtype, reduction_of(k), root, err));
    return SKIFF_OK;
}

/* ---- moving ---- */

static enum skiff_status to_all(struct kernel *k, int ring, int root, struct skiff_error *err)
{
    struct collective *c;
    TRY(ring_of(k, ring, &c, err));
    TRY(check_root(k, c, root, err));
    TRY(refuse_rows(k, err));
    TRY(pass_on(k, 0, err));
    struct tensor *out = kernel_out(k, 0);
    TRY_RING(k, c, collective_broadcast(c, out->data, tensor_bytes(out), root, err));
    return SKIFF_OK;
}

static enum skiff_status to_all_run(struct kernel *k, struct skiff_error *err)
{
    return to_all(k, k->attr[AT_RING].i, k->attr[AT_THIRD].i, err);
}

static enum skiff_status plain_to_all_run(struct kernel *k, struct skiff_error *err)
{
    return to_all(k, 0, k->attr[0].i, err);
}

/* The attribute nranks is the number that shapes were inferred with; 0 in old programs: unknown. */
static enum skiff_status check_nranks(const struct kernel *k, const struct collective *c,
                                      int nranks, struct skiff_error *err)
{
    if (nranks == collective_size(c))
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_INVALID, err,
                       "the program was made for %d ranks (nranks); ring %d has %d", nranks,
                       k->attr[AT_RING].i, collective_size(c));
}

/* Ring, root and number of ranks are right, X is dense; Out has dim 0 = X's * up / down. */
static enum skiff_status piecewise(struct kernel *k, int up, int down, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct shape shape = x->shape;
    TRY(refuse_rows(k, err));
    if (shape.ndim < 1 || shape.dims[0] % down)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input X (%s): dim 0 must be a multiple of the %d ranks",
                           kernel_in_name(k, 0, 0), down);
    if (kernel_out_value(k, 0, 0) == kernel_in_value(k, 0, 0) && up != down)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "Out must be another variable than X (%s)",
                           kernel_in_name(k, 0, 0));
    shape.dims[0] = shape.dims[0] / down * up;
    return kernel_out_resize(k, 0, 0, x->dtype, &shape, err);
}

static enum skiff_status gather_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    TRY(ring_of(k, k->attr[AT_RING].i, &c, err));
    TRY(check_nranks(k, c, k->attr[AT_THIRD].i, err));
    if (collective_size(c) == 1)
        return pass_on(k, 0, err);
    TRY(piecewise(k, collective_size(c), 1, err));
    const struct tensor *x = kernel_in(k, 0);
    TRY_RING(k, c, collective_all_gather(c, x->data, tensor_bytes(x), kernel_out(k, 0)->data, err));
    return SKIFF_OK;
}

static enum skiff_status reduce_scatter_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    TRY(ring_of(k, k->attr[AT_RING].i, &c, err));
    TRY(check_nranks(k, c, k->attr[AT_THIRD].i, err));
    if (collective_size(c) == 1)
        return pass_on(k, 0, err);
    TRY(piecewise(k, 1, collective_size(c), err));
    struct tensor *out = kernel_out(k, 0);
    TRY_RING(k, c,
             collective_reduce_scatter(c, kernel_in(k, 0)->data, out->data, tensor_numel(out),
                                       out->dtype, COLLECTIVE_SUM, err));
    return SKIFF_OK;
}

static enum skiff_status scatter_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    int root = k->attr[AT_THIRD].i;
    TRY(ring_of(k, k->attr[AT_RING].i, &c, err));
    TRY(check_nranks(k, c, k->attr[AT_THIRD + 1].i, err));
    TRY(check_root(k, c, root, err));
    if (collective_size(c) == 1)
        return pass_on(k, 0, err);
    TRY(piecewise(k, 1, collective_size(c), err));
    struct tensor *out = kernel_out(k, 0);
    TRY_RING(k, c,
             collective_scatter(c, kernel_in(k, 0)->data, tensor_bytes(out), out->data, root, err));
    return SKIFF_OK;
}

static enum skiff_status alltoall_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    void *sizes, *copy;
    TRY(ring_of(k, k->attr[AT_RING].i, &c, err));
    int n = collective_size(c);
    TRY(piecewise(k, n, n, err));
    const struct tensor *x = kernel_in(k, 0);
    size_t bytes = tensor_bytes(x);
    TRY(kernel_scratch(k, (size_t)n * sizeof(size_t), &sizes, err));
    TRY(kernel_scratch(k, bytes, &copy, err)); /* Out may be X */
    if (bytes)
        memcpy(copy, x->data, bytes);
    for (int i = 0; i < n; i++)
        ((size_t *)sizes)[i] = bytes / (size_t)n;
    TRY_RING(k, c, collective_all_to_all(c, copy, sizes, kernel_out(k, 0)->data, sizes, err));
    return SKIFF_OK;
}

/* ---- the last dim over ranks ---- */

enum { LAST_RANK, LAST_NRANKS, LAST_RING };

static enum skiff_status last_ring(const struct kernel *k, struct collective **c,
                                   struct skiff_error *err)
{
    TRY(ring_of(k, k->attr[LAST_RING].i, c, err));
    if (k->attr[LAST_NRANKS].i == collective_size(*c) &&
        k->attr[LAST_RANK].i == collective_rank(*c))
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_INVALID, err,
                       "the program was made for rank %d of %d; this process is rank %d of %d",
                       k->attr[LAST_RANK].i, k->attr[LAST_NRANKS].i, collective_rank(*c),
                       collective_size(*c));
}

static enum skiff_status concat_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    void *all;
    TRY(last_ring(k, &c, err));
    const struct tensor *x = kernel_in(k, 0);
    size_t n = (size_t)collective_size(c), bytes = tensor_bytes(x);
    TRY(kernel_scratch(k, bytes * n, &all, err));
    TRY_RING(k, c, collective_all_gather(c, x->data, bytes, all, err));
    int last = x->shape.ndim - 1;
    size_t width = (size_t)x->shape.dims[last] * dtype_size(x->dtype);
    char *out = kernel_out(k, 0)->data;
    for (size_t row = 0; row < (width ? bytes / width : 0); row++)
        for (size_t r = 0; r < n; r++, out += width)
            memcpy(out, (char *)all + r * bytes + row * width, width);
    return SKIFF_OK;
}

static enum skiff_status split_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    TRY(last_ring(k, &c, err));
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, 0);
    int last = x->shape.ndim - 1;
    size_t width = (size_t)out->shape.dims[last] * dtype_size(x->dtype), bytes = tensor_bytes(out);
    const char *from = (char *)x->data + width * (size_t)collective_rank(c);
    for (size_t row = 0; row < (width ? bytes / width : 0); row++)
        memcpy((char *)out->data + row * width, from + row * width * (size_t)collective_size(c),
               width);
    return SKIFF_OK;
}

/* ---- meeting, messages ---- */

static enum skiff_status identity_run(struct kernel *k, struct skiff_error *err)
{
    for (int i = 0; i < kernel_in_count(k, 0); i++)
        TRY(pass_on(k, i, err));
    return SKIFF_OK;
}

static enum skiff_status barrier_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    TRY(ring_of(k, k->attr[AT_RING].i, &c, err));
    TRY(pass_on(k, 0, err));
    TRY_RING(k, c, collective_barrier(c, err));
    return SKIFF_OK;
}

enum { MSG_RING, MSG_PEER, SEND_DYNAMIC = 3, RECV_DTYPE = 2, RECV_SHAPE = 3, RECV_DYNAMIC = 5 };

static enum skiff_status message_ring(const struct kernel *k, bool dynamic, struct collective **c,
                                      struct skiff_error *err)
{
    if (dynamic)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                           "dynamic_shape: messages need a known shape (out_shape)");
    TRY(ring_of(k, k->attr[MSG_RING].i, c, err));
    return check_root(k, *c, k->attr[MSG_PEER].i, err);
}

static enum skiff_status send_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    TRY(message_ring(k, k->attr[SEND_DYNAMIC].b, &c, err));
    const struct tensor *x = kernel_in(k, 0);
    TRY_RING(k, c, collective_send(c, k->attr[MSG_PEER].i, x->data, tensor_bytes(x), err));
    return SKIFF_OK;
}

static enum skiff_status recv_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    TRY(message_ring(k, k->attr[RECV_DYNAMIC].b, &c, err));
    struct tensor *out = kernel_out(k, 0);
    return ring_failed(k, c, kernel_out_name(k, 0, 0),
                       collective_recv(c, k->attr[MSG_PEER].i, out->data, tensor_bytes(out), err),
                       err);
}

/* ---- opening rings: done by the job's start (fleet/world.c) ---- */

static enum skiff_status opened_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    return ring_of(k, 0, &c, err);
}

enum { INIT_NRANKS, INIT_RANK };

static enum skiff_status comm_init_run(struct kernel *k, struct skiff_error *err)
{
    struct collective *c;
    int nranks = k->attr[INIT_NRANKS].i, rank = k->attr[INIT_RANK].i;
    TRY(ring_of(k, 0, &c, err));
    if (nranks == collective_size(c) && rank == collective_rank(c))
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_INVALID, err,
                       "the program was made for rank %d of %d; this process is rank %d of %d "
                       "(PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM)",
                       rank, nranks, collective_rank(c), collective_size(c));
}

/* ---- shapes ---- */

static enum skiff_status nothing_infer(struct infer *c, struct skiff_error *err)
{
    return SKIFF_OK;
}

static enum skiff_status same_infer(struct infer *c, struct skiff_error *err)
{
    if (!infer_in(c, 0, 0))
        return infer_fail(c, 0, 0, err, "has no value");
    return infer_same(c, 0, 0, err);
}

static enum skiff_status list_infer(struct infer *c, struct skiff_error *err)
{
    for (int i = 0; i < infer_in_count(c, 0) && i < infer_out_count(c, 0); i++) {
        const struct shape *x = infer_in(c, 0, i);
        if (!x)
            continue;
        struct shape s = *x;
        if (infer_in_is_rows(c, 0, i))
            infer_out_kind(c, 0, i, VAR_SELECTED_ROWS);
        TRY(infer_out(c, 0, i, infer_in_dtype(c, 0, i), &s, err));
    }
    return SKIFF_OK;
}

/* dim = its own * up / down, where both are at least 1. */
static enum skiff_status scaled_infer(struct infer *c, bool first, int up, int down,
                                      struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    if (!x || x->ndim < 1)
        return infer_fail(c, 0, 0, err, "at least one dim is needed");
    if (up < 1 || down < 1 || up > 65536)
        return infer_fail(c, 0, 0, err, "nranks is %d; expected at least 1", up < 1 ? up : down);
    struct shape s = *x;
    int64_t *dim = &s.dims[first ? 0 : s.ndim - 1];
    if (*dim >= 0 && *dim % down)
        return infer_fail(c, 0, 0, err, "dim %d must be a multiple of nranks (%d)",
                          first ? 0 : s.ndim - 1, down);
    *dim = *dim < 0 ? -1 : *dim / down * up;
    return infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err);
}

static enum skiff_status gather_infer(struct infer *c, struct skiff_error *err)
{
    return scaled_infer(c, true, c->attr[AT_THIRD].i, 1, err);
}

static enum skiff_status reduce_scatter_infer(struct infer *c, struct skiff_error *err)
{
    return scaled_infer(c, true, 1, c->attr[AT_THIRD].i, err);
}

static enum skiff_status scatter_infer(struct infer *c, struct skiff_error *err)
{
    return scaled_infer(c, true, 1, c->attr[AT_THIRD + 1].i, err);
}

static enum skiff_status concat_infer(struct infer *c, struct skiff_error *err)
{
    return scaled_infer(c, false, c->attr[LAST_NRANKS].i, 1, err);
}

static enum skiff_status split_infer(struct infer *c, struct skiff_error *err)
{
    return scaled_infer(c, false, 1, c->attr[LAST_NRANKS].i, err);
}

static enum skiff_status recv_infer(struct infer *c, struct skiff_error *err)
{
    const struct attr_value *shape = &c->attr[RECV_SHAPE];
    if (shape->n > TENSOR_MAX_DIMS)
        return infer_fail(c, -1, 0, err, "out_shape has %d dims; at most %d", shape->n,
                          TENSOR_MAX_DIMS);
    struct shape s = {.ndim = shape->n};
    for (int i = 0; i < shape->n; i++)
        if ((s.dims[i] = shape->ints[i]) < (c->running ? 0 : -1))
            return infer_fail(c, -1, 0, err, "out_shape[%d] is %d", i, shape->ints[i]);
    enum dtype dtype = (enum dtype)c->attr[RECV_DTYPE].i;
    if (!shape_is_bounded(&s) || !dtype_size(dtype))
        return infer_fail(c, -1, 0, err, "out_shape or dtype (%d) cannot be", (int)dtype);
    return infer_out(c, 0, 0, dtype, &s, err);
}

/* ---- gradients ---- */

/* X@GRAD = that op over Out@GRAD, with the forward op's attributes. */
static enum skiff_status grad_by(struct grad_build *g, const char *type)
{
    struct skiff_op *op = grad_op(g, type, true);
    const char *x = op_in(g->fwd, "X")->names[0], *out = op_out(g->fwd, "Out")->names[0];
    const char *from = grad_name(g, out), *to = grad_name(g, x);
    if (g->unwanted && g->unwanted(g, to)) {
        g->nops--;
        return SKIFF_OK;
    }
    op_set_in(g->program, op, "X", 1, &from);
    op_set_out(g->program, op, "Out", 1, &to);
    return SKIFF_OK;
}

/* Of model parallelism, where every rank computes the same loss: the gradient is there already. */
static enum skiff_status sum_make_grad(struct grad_build *g, struct skiff_error *err)
{
    const struct op_attr_value *model = op_attr(g->fwd, "use_model_parallel");
    return grad_by(g, model && model->value.b ? "c_identity" : "c_allreduce_sum");
}
static enum skiff_status identity_make_grad(struct grad_build *g, struct skiff_error *err)
{
    return grad_by(g, "c_allreduce_sum");
}
static enum skiff_status mp_make_grad(struct grad_build *g, struct skiff_error *err)
{
    return grad_by(g, "c_identity");
}
static enum skiff_status gather_make_grad(struct grad_build *g, struct skiff_error *err)
{
    return grad_by(g, "c_reducescatter");
}
static enum skiff_status reduce_scatter_make_grad(struct grad_build *g, struct skiff_error *err)
{
    return grad_by(g, "c_allgather");
}
static enum skiff_status alltoall_make_grad(struct grad_build *g, struct skiff_error *err)
{
    return grad_by(g, "alltoall");
}
static enum skiff_status concat_make_grad(struct grad_build *g, struct skiff_error *err)
{
    return grad_by(g, "c_split");
}

/* ---- table ---- */

static const struct op_slot none[] = {{0}};
static const struct op_slot x_one[] = {{"X", 0}, {0}};
static const struct op_slot x_maybe[] = {{"X", SLOT_OPTIONAL}, {0}};
static const struct op_slot x_cond[] = {{"X", 0}, {"Cond", SLOT_OPTIONAL | SLOT_ONLY_2X}, {0}};
static const struct op_slot x_list[] = {{"X", SLOT_LIST}, {0}};
static const struct op_slot out_one[] = {{"Out", 0}, {0}};
static const struct op_slot id_out[] = {{"NCCLID", 0}, {0}};
static const struct op_slot out_list[] = {{"Out", SLOT_LIST}, {0}};

#define RING A_INT("ring_id", 0)
#define STREAM A_BOOL("use_calc_stream", false)
#define MODEL_2X                                                                  \
    {                                                                             \
        .name = "use_model_parallel", .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_2X \
    }
static const struct op_attr_spec no_attrs[] = {{0}};
static const struct op_attr_spec ring_attrs[] = {RING, {0}};
static const struct op_attr_spec sum_attrs[] = {RING, STREAM, MODEL_2X, {0}};
static const struct op_attr_spec stream_attrs[] = {RING, STREAM, {0}};
static const struct op_attr_spec plain_reduce_attrs[] = {
    A_INT("reduce_type", 0), A_BOOL("sync_mode", false), {0}};
static const struct op_attr_spec plain_broadcast_attrs[] = {
    A_INT("root", 0), A_BOOL("sync_mode", false), {0}};
static const struct op_attr_spec reduce_attrs[] = {RING, STREAM, A_INT("root_id", 0), {0}};
static const struct op_attr_spec broadcast_attrs[] = {RING, STREAM, A_INT("root", 0), {0}};
static const struct op_attr_spec gather_attrs[] = {RING, STREAM, A_INT("nranks", 1), {0}};
static const struct op_attr_spec scatter_attrs[] = {
    RING, STREAM, A_INT("root", 0), A_INT("nranks", 1), {0}};
static const struct op_attr_spec last_attrs[] = {
    A_INT("rank", 0), A_INT("nranks", 1), RING, STREAM, A_BOOL("use_model_parallel", true), {0}};
static const struct op_attr_spec send_attrs[] = {
    RING, A_INT("peer", 0), STREAM, A_BOOL("dynamic_shape", false), {0}};
static const struct op_attr_spec recv_attrs[] = {RING,
                                                 A_INT("peer", 0),
                                                 A_INT("dtype", 5),
                                                 A_INTS("out_shape"),
                                                 STREAM,
                                                 A_BOOL("dynamic_shape", false),
                                                 {0}};
static const struct op_attr_spec gen_attrs[] = {
    A_STR("endpoint", ""), A_STRS("other_endpoints"), A_INT("rank", 0), RING, {0}};
static const struct op_attr_spec gen_1x_attrs[] = {A_STRS("trainers"),
                                                   A_INT("trainer_id", 0),
                                                   A_INT("nccl_comm_num", 1),
                                                   A_BOOL("use_hierarchical_allreduce", false),
                                                   A_INT("hierarchical_allreduce_inter_nranks", 1),
                                                   {0}};
static const struct op_attr_spec init_attrs[] = {
    A_INT("nranks", 1),
    A_INT("rank", 0),
    {.name = "device_id", .type = ATTR_INT, .flags = ATTR_ONLY_2X, .def = {.i = -1}},
    RING,
    A_STR("endpoints", ""),
    {0}};
static const struct op_attr_spec init_all_attrs[] = {A_INTS("devices"), RING, {0}};

/* Outputs have data-dependent sizes (rows), or are the same variable as the input. */
#define FLAGS (OP_RANKS | OP_OWN_SHAPE | OP_ROWS_OK)
#define ROWS_OF(kernel) .prepare = rows_prepare, .release = rows_release, .run = kernel
#define REDUCE(t, role, code, grad, slots)                                                    \
    {                                                                                         \
        .type = t, .flags = FLAGS, .class = role, .arg = code, .ins = slots, .outs = out_one, \
        .attrs = sum_attrs, .make_grad = grad, .infer = same_infer, ROWS_OF(all_reduce_run)   \
    }
#define MOVE(t, f, i, o, a, grad, rule, kernel)                                                   \
    {                                                                                             \
        .type = t, .flags = f, .ins = i, .outs = o, .attrs = a, .make_grad = grad, .infer = rule, \
        .run = kernel                                                                             \
    }
#define TO_ROOT(t, code)                                                                           \
    {                                                                                              \
        .type = t, .flags = FLAGS | OP_NO_GRAD_NEEDED, .arg = code, .ins = x_one, .outs = out_one, \
        .attrs = reduce_attrs, .infer = same_infer, .run = reduce_run                              \
    }
#define WAITS(t, a)                                                                              \
    {                                                                                            \
        .type = t, .flags = OP_OWN_SHAPE | OP_ROWS_OK | OP_EMPTY_OK | OP_NO_GRAD_NEEDED,         \
        .class = CLASS_STREAM, .ins = x_list, .outs = out_list, .attrs = a, .infer = list_infer, \
        .run = identity_run                                                                      \
    }
#define OPENS(t, i, o, a, kernel) \
    MOVE(t, OP_OWN_SHAPE | OP_EMPTY_OK | OP_NO_GRAD_NEEDED, i, o, a, NULL, nothing_infer, kernel)

const struct op_kind ops_collective[] = {
    REDUCE("c_allreduce_sum", CLASS_SUM_RANKS, 0, sum_make_grad, x_cond),
    REDUCE("c_allreduce_prod", CLASS_NONE, 1, NULL, x_one),
    REDUCE("c_allreduce_max", CLASS_NONE, 2, NULL, x_one),
    REDUCE("c_allreduce_min", CLASS_NONE, 3, NULL, x_one),
    REDUCE("mp_allreduce_sum", CLASS_NONE, 0, mp_make_grad, x_one),
    {.type = "allreduce",
     .generations = GEN_1X,
     .flags = FLAGS | OP_NO_GRAD_NEEDED,
     .ins = x_one,
     .outs = out_one,
     .attrs = plain_reduce_attrs,
     .infer = same_infer,
     ROWS_OF(plain_reduce_run)},
    TO_ROOT("c_reduce_sum", 0),
    TO_ROOT("c_reduce_prod", 1),
    TO_ROOT("c_reduce_max", 2),
    TO_ROOT("c_reduce_min", 3),
    MOVE("c_broadcast", FLAGS | OP_NO_GRAD_NEEDED, x_one, out_one, broadcast_attrs, NULL,
         same_infer, to_all_run),
    {.type = "broadcast",
     .generations = GEN_1X,
     .flags = FLAGS | OP_NO_GRAD_NEEDED,
     .ins = x_one,
     .outs = out_one,
     .attrs = plain_broadcast_attrs,
     .infer = same_infer,
     .run = plain_to_all_run},
    MOVE("c_allgather", FLAGS, x_one, out_one, gather_attrs, gather_make_grad, gather_infer,
         gather_run),
    MOVE("c_reducescatter", FLAGS, x_one, out_one, gather_attrs, reduce_scatter_make_grad,
         reduce_scatter_infer, reduce_scatter_run),
    MOVE("c_scatter", FLAGS | OP_NO_GRAD_NEEDED, x_one, out_one, scatter_attrs, NULL, scatter_infer,
         scatter_run),
    MOVE("alltoall", FLAGS, x_one, out_one, stream_attrs, alltoall_make_grad, same_infer,
         alltoall_run),
    MOVE("c_concat", OP_RANKS, x_one, out_one, last_attrs, concat_make_grad, concat_infer,
         concat_run),
    MOVE("c_split", OP_RANKS | OP_NO_GRAD_NEEDED, x_one, out_one, last_attrs, NULL, split_infer,
         split_run),
    MOVE("c_identity", OP_OWN_SHAPE | OP_ROWS_OK, x_one, out_one, sum_attrs, identity_make_grad,
         same_infer, identity_run),
    MOVE("send_v2", OP_RANKS | OP_NO_GRAD_NEEDED, x_one, none, send_attrs, NULL, nothing_infer,
         send_run),
    MOVE("recv_v2", OP_RANKS | OP_NO_GRAD_NEEDED, none, out_one, recv_attrs, NULL, recv_infer,
         recv_run),
    MOVE("barrier", FLAGS | OP_NO_GRAD_NEEDED, x_one, out_one, ring_attrs, NULL, same_infer,
         barrier_run),
    WAITS("c_sync_calc_stream", no_attrs),
    WAITS("c_sync_comm_stream", ring_attrs),
    WAITS("c_wait_comm", ring_attrs),
    WAITS("c_wait_compute", ring_attrs),
    OPENS("c_gen_nccl_id", none, out_one, gen_attrs, opened_run),
    OPENS("c_gen_xccl_id", none, out_one, gen_attrs, opened_run),
    OPENS("gen_nccl_id", none, id_out, gen_1x_attrs, opened_run),
    OPENS("c_comm_init", x_maybe, none, init_attrs, comm_init_run),
    OPENS("c_comm_init_all", none, none, init_all_attrs, opened_run),
    {0}};
