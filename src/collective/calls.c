/* The collective calls, all on top of exchanges. Additions are made in the order of ranks, whatever
 * the engine, so the same number of ranks gives the same bits.
 *
 * all_reduce and reduce of small data: every rank gets all data and adds them up (one exchange). Of
 * large data: rank i gets piece i of all ranks and adds it up, then the pieces are put together.
 * Every byte enters and leaves a rank twice, which is the minimum. broadcast of large data takes
 * two steps likewise, so that its root sends every byte once instead of once per rank. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "collective/collective_parts.h"

#define LITTLE ((size_t)16 << 10) /* bytes; below it one exchange of everything is faster */

/* ---- handlers of received data ---- */

struct take_fold {
    enum dtype dtype;
    enum collective_op op;
    int n;
    uint8_t *out;
};

static void take_fold(void *arg, size_t at, const uint8_t *const *views, const size_t *bytes)
{
    struct take_fold *t = arg;
    fold(t->dtype, t->op, views, t->n, t->out + at, bytes[0]);
}

struct take_copy {
    int n;
    uint8_t *out;
    const size_t *offsets; /* offset of each rank's data */
};

static void take_copy(void *arg, size_t at, const uint8_t *const *views, const size_t *bytes)
{
    struct take_copy *t = arg;
    for (int i = 0; i < t->n; i++) {
        uint8_t *to = t->out + t->offsets[i] + at;
        if (bytes[i] && to != views[i])
            memmove(to, views[i], bytes[i]);
    }
}

static void take_nothing(void *arg, size_t at, const uint8_t *const *views, const size_t *bytes) {}

/* ---- arrays by rank ---- */

/* n elements divided into nearly equal pieces of whole elements. */
static void cut(size_t n, size_t each, int parts, size_t *bytes, size_t *offsets)
{
    size_t at = 0;
    for (int i = 0; i < parts; i++) {
        size_t count = n / (size_t)parts + ((size_t)i < n % (size_t)parts);
        bytes[i] = count * each;
        offsets[i] = at;
        at += bytes[i];
    }
}

static void fill(size_t *out, int n, size_t v)
{
    for (int i = 0; i < n; i++)
        out[i] = v;
}

static void add_up(const size_t *bytes, int n, size_t *offsets)
{
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        offsets[i] = at;
        at += bytes[i];
    }
}

/* ---- sums ---- */

/* All ranks, or the root, get the sum of all ranks' data. `from` and `to` may be the same. */
static enum skiff_status fold_all(struct collective *c, const struct collective_task *t,
                                  const void *from, void *to, size_t bytes, struct skiff_error *err)
{
    size_t out[c->size], in[c->size];
    bool takes = t->call.root < 0 || t->call.root == c->rank;
    uint8_t sum[LITTLE];
    struct take_fold f = {(enum dtype)t->call.dtype, (enum collective_op)t->call.op, c->size, sum};
    struct collective_exchange x = {
        .call = t->call, .mine = from, .out_bytes = out, .in_bytes = in};
    x.take = takes ? take_fold : take_nothing;
    x.arg = &f;
    fill(out, c->size, t->call.root < 0 ? bytes : 0);
    if (t->call.root >= 0)
        out[t->call.root] = bytes;
    fill(in, c->size, takes ? bytes : 0);
    TRY(exchange_run(c, &x, err));
    if (takes && bytes)
        memcpy(to, sum, bytes);
    return SKIFF_OK;
}

/* Rank i gets the sum of all pieces i. */
static enum skiff_status fold_pieces(struct collective *c, const struct collective_task *t,
                                     const void *from, const size_t *bytes, void *to,
                                     struct skiff_error *err)
{
    size_t in[c->size];
    struct take_fold f = {(enum dtype)t->call.dtype, (enum collective_op)t->call.op, c->size, to};
    struct collective_exchange x = {.call = t->call,
                                    .mine = from,
                                    .out_bytes = bytes,
                                    .in_bytes = in,
                                    .pieces = true,
                                    .take = take_fold,
                                    .arg = &f};
    fill(in, c->size, bytes[c->rank]);
    return exchange_run(c, &x, err);
}

static bool gets_all(const struct collective_call *call, int rank)
{
    return call->root < 0 || call->root == rank || call->kind == CALL_BROADCAST;
}

/* Every rank has one piece (mine); they are joined in the data of all, or of the root. */
static enum skiff_status join_pieces(struct collective *c, const struct collective_call *call,
                                     const size_t *bytes, const size_t *offsets, const void *mine,
                                     void *data, struct skiff_error *err)
{
    size_t out[c->size], in[c->size];
    bool takes = gets_all(call, c->rank);
    struct take_copy k = {c->size, data, offsets};
    struct collective_exchange x = {.call = *call, .mine = mine, .out_bytes = out, .in_bytes = in};
    x.take = takes ? take_copy : take_nothing;
    x.arg = &k;
    for (int i = 0; i < c->size; i++) {
        out[i] = gets_all(call, i) ? bytes[c->rank] : 0;
        in[i] = takes ? bytes[i] : 0;
    }
    return exchange_run(c, &x, err);
}

static enum skiff_status run_all_reduce(struct collective *c, const struct collective_task *t,
                                        struct skiff_error *err)
{
    size_t each = dtype_size((enum dtype)t->call.dtype), n = (size_t)t->call.count;
    size_t bytes[c->size], offsets[c->size];
    if (c->size == 1)
        return SKIFF_OK;
    if (n * each <= LITTLE)
        return fold_all(c, t, t->out, t->out, n * each, err);
    cut(n, each, c->size, bytes, offsets);
    uint8_t *mine = (uint8_t *)t->out + offsets[c->rank];
    TRY(fold_pieces(c, t, t->out, bytes, mine, err));
    return join_pieces(c, &t->call, bytes, offsets, mine, t->out, err);
}

/* As all_reduce; only the root's data may change, so the other ranks add up in a buffer of their
 * own. */
static enum skiff_status run_reduce(struct collective *c, const struct collective_task *t,
                                    struct skiff_error *err)
{
    size_t each = dtype_size((enum dtype)t->call.dtype), n = (size_t)t->call.count;
    size_t bytes[c->size], offsets[c->size];
    void *aside = NULL;
    if (c->size == 1)
        return SKIFF_OK;
    if (n * each <= LITTLE)
        return fold_all(c, t, t->out, t->out, n * each, err);
    cut(n, each, c->size, bytes, offsets);
    uint8_t *mine = (uint8_t *)t->out + offsets[c->rank];
    if (c->rank != t->call.root) {
        TRY(mem_alloc(bytes[c->rank] + 1, "a piece of a reduce", &aside, err));
        mine = aside;
    }
    enum skiff_status status = fold_pieces(c, t, t->out, bytes, mine, err);
    if (status == SKIFF_OK)
        status = join_pieces(c, &t->call, bytes, offsets, mine, t->out, err);
    mem_free(aside);
    return status;
}

static enum skiff_status run_reduce_scatter(struct collective *c, const struct collective_task *t,
                                            struct skiff_error *err)
{
    size_t bytes[c->size];
    fill(bytes, c->size, (size_t)t->call.count * dtype_size((enum dtype)t->call.dtype));
    return fold_pieces(c, t, t->in, bytes, t->out, err);
}

/* ---- moves ---- */

static enum skiff_status run_gather(struct collective *c, const struct collective_task *t,
                                    struct skiff_error *err)
{
    size_t out[c->size], in[c->size], offsets[c->size], bytes = (size_t)t->call.count;
    bool takes = t->call.root < 0 || t->call.root == c->rank;
    struct take_copy k = {c->size, t->out, offsets};
    struct collective_exchange x = {
        .call = t->call, .mine = t->in, .out_bytes = out, .in_bytes = in};
    x.take = takes ? take_copy : take_nothing;
    x.arg = &k;
    for (int i = 0; i < c->size; i++)
        offsets[i] = (size_t)i * bytes;
    fill(out, c->size, t->call.root < 0 ? bytes : 0);
    if (t->call.root >= 0)
        out[t->call.root] = bytes;
    fill(in, c->size, takes ? bytes : 0);
    return exchange_run(c, &x, err);
}

/* The root sends every rank its piece (bytes, at places of data); the other ranks send nothing. */
static enum skiff_status deal(struct collective *c, const struct collective_call *call,
                              const void *data, const size_t *bytes, void *to,
                              struct skiff_error *err)
{
    size_t out[c->size], in[c->size], offsets[c->size];
    struct take_copy k = {c->size, to, offsets};
    struct collective_exchange x = {.call = *call,
                                    .mine = data,
                                    .out_bytes = out,
                                    .in_bytes = in,
                                    .pieces = true,
                                    .take = take_copy,
                                    .arg = &k};
    fill(offsets, c->size, 0);
    fill(in, c->size, 0);
    in[call->root] = bytes[c->rank];
    for (int i = 0; i < c->size; i++)
        out[i] = c->rank == call->root ? bytes[i] : 0;
    return exchange_run(c, &x, err);
}

static enum skiff_status run_scatter(struct collective *c, const struct collective_task *t,
                                     struct skiff_error *err)
{
    size_t bytes[c->size];
    fill(bytes, c->size, (size_t)t->call.count);
    return deal(c, &t->call, t->in, bytes, t->out, err);
}

static enum skiff_status broadcast_little(struct collective *c, const struct collective_task *t,
                                          struct skiff_error *err)
{
    size_t out[c->size], in[c->size], offsets[c->size], bytes = (size_t)t->call.count;
    struct take_copy k = {c->size, t->out, offsets};
    struct collective_exchange x = {.call = t->call,
                                    .mine = t->out,
                                    .out_bytes = out,
                                    .in_bytes = in,
                                    .take = take_copy,
                                    .arg = &k};
    fill(offsets, c->size, 0);
    fill(in, c->size, 0);
    in[t->call.root] = bytes;
    fill(out, c->size, c->rank == t->call.root ? bytes : 0);
    return exchange_run(c, &x, err);
}

static enum skiff_status run_broadcast(struct collective *c, const struct collective_task *t,
                                       struct skiff_error *err)
{
    size_t bytes[c->size], offsets[c->size], n = (size_t)t->call.count;
    if (n <= LITTLE || c->size <= 2 || c->shm)
        return broadcast_little(c, t, err);
    cut(n, 1, c->size, bytes, offsets);
    uint8_t *mine = (uint8_t *)t->out + offsets[c->rank];
    TRY(deal(c, &t->call, t->out, bytes, mine, err));
    return join_pieces(c, &t->call, bytes, offsets, mine, t->out, err);
}

static enum skiff_status run_all_to_all(struct collective *c, const struct collective_task *t,
                                        struct skiff_error *err)
{
    size_t offsets[c->size];
    struct take_copy k = {c->size, t->out, offsets};
    struct collective_exchange x = {.call = t->call,
                                    .mine = t->in,
                                    .out_bytes = t->in_bytes,
                                    .in_bytes = t->out_bytes,
                                    .pieces = true,
                                    .take = take_copy,
                                    .arg = &k};
    add_up(t->out_bytes, c->size, offsets);
    return exchange_run(c, &x, err);
}

static enum skiff_status run_barrier(struct collective *c, const struct collective_task *t,
                                     struct skiff_error *err)
{
    size_t none[c->size];
    struct collective_exchange x = {
        .call = t->call, .out_bytes = none, .in_bytes = none, .take = take_nothing};
    fill(none, c->size, 0);
    return exchange_run(c, &x, err);
}

static enum skiff_status run_all_gather_of(struct collective *c, const struct collective_task *t,
                                           struct skiff_error *err)
{
    size_t offsets[c->size];
    add_up(t->out_bytes, c->size, offsets);
    return join_pieces(c, &t->call, t->out_bytes, offsets, t->in, t->out, err);
}

/* First the lengths, then the bytes. t->out: where the pointer is stored; t->out_bytes: the
 * lengths. */
static enum skiff_status run_all_gather_any(struct collective *c, const struct collective_task *t,
                                            struct skiff_error *err)
{
    size_t offsets[c->size], *sizes = (size_t *)t->out_bytes, all = 0;
    uint64_t mine = *t->in_bytes, every[c->size];
    struct collective_task lengths = {.call = t->call, .in = &mine, .out = every};
    void *memory;
    lengths.call.count = sizeof mine;
    TRY(run_gather(c, &lengths, err));
    for (int i = 0; i < c->size; i++) {
        sizes[i] = (size_t)every[i];
        offsets[i] = all;
        if (!mem_add(all, sizes[i], &all))
            return error_set(err, SKIFF_RANGE, "all_gather_any: rank %d has %zu bytes", i,
                             sizes[i]);
    }
    TRY(mem_alloc(all ? all : 1, "what all ranks have gathered", &memory, err));
    enum skiff_status status = join_pieces(c, &t->call, sizes, offsets, t->in, memory, err);
    if (status < 0)
        mem_free(memory);
    else
        *(void **)t->out = memory;
    return status;
}

/* ---- the public calls ---- */

static enum skiff_status check_root(const struct collective *c, const char *what, int root,
                                    struct skiff_error *err)
{
    if (root >= 0 && root < c->size)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID, "%s: rank %d is not in the group; its ranks are 0 to %d",
                     what, root, c->size - 1);
}

static enum skiff_status check_sum(const char *what, int64_t n, enum dtype dtype,
                                   enum collective_op op, struct skiff_error *err)
{
    size_t bytes;
    if (!fold_knows(dtype))
        return error_set(
            err, SKIFF_DTYPE,
            "%s of %s: supported are float16, bfloat16, float32, float64, int8, int16, "
            "int32, int64, uint8 and bool",
            what, dtype_name(dtype));
    if (op == COLLECTIVE_AVG && !fold_averages(dtype))
        return error_set(err, SKIFF_DTYPE,
                         "%s of %s: averages need float16, bfloat16, float32 or float64", what,
                         dtype_name(dtype));
    if (op > COLLECTIVE_AVG)
        return error_set(err, SKIFF_INVALID, "%s: there is no op %d", what, (int)op);
    if (n < 0 || !mem_mul((size_t)n, dtype_size(dtype), &bytes) || bytes > PTRDIFF_MAX)
        return error_set(err, SKIFF_RANGE, "%s of %lld elements", what, (long long)n);
    return SKIFF_OK;
}

static struct collective_call sum_call(enum call_kind kind, int64_t n, enum dtype dtype,
                                       enum collective_op op, int root)
{
    return (struct collective_call){.kind = (uint8_t)kind,
                                    .op = (uint8_t)op,
                                    .dtype = (uint8_t)dtype,
                                    .root = root,
                                    .count = n};
}

static struct collective_call move_call(enum call_kind kind, int64_t bytes, int root)
{
    return (struct collective_call){.kind = (uint8_t)kind, .root = root, .count = bytes};
}

/* The same task whether the caller waits for it or goes on. */
static enum skiff_status all_reduce_task(struct collective_task *t, void *data, int64_t n,
                                         enum dtype dtype, enum collective_op op,
                                         struct skiff_error *err)
{
    *t = (struct collective_task){.run = run_all_reduce, .out = data};
    TRY(check_sum("all_reduce", n, dtype, op, err));
    t->call = sum_call(CALL_ALL_REDUCE, n, dtype, op, -1);
    return SKIFF_OK;
}

static enum skiff_status broadcast_task(const struct collective *c, struct collective_task *t,
                                        void *data, size_t bytes, int root, struct skiff_error *err)
{
    *t = (struct collective_task){.run = run_broadcast, .out = data};
    TRY(check_root(c, "broadcast", root, err));
    t->call = move_call(CALL_BROADCAST, (int64_t)bytes, root);
    return SKIFF_OK;
}

enum skiff_status collective_all_reduce(struct collective *c, void *data, int64_t n,
                                        enum dtype dtype, enum collective_op op,
                                        struct skiff_error *err)
{
    struct collective_task t;
    TRY(all_reduce_task(&t, data, n, dtype, op, err));
    return group_run(c, &t, err);
}

enum skiff_status collective_reduce(struct collective *c, void *data, int64_t n, enum dtype dtype,
                                    enum collective_op op, int root, struct skiff_error *err)
{
    struct collective_task t = {.run = run_reduce, .out = data};
    TRY(check_sum("reduce", n, dtype, op, err));
    TRY(check_root(c, "reduce", root, err));
    t.call = sum_call(CALL_REDUCE, n, dtype, op, root);
    return group_run(c, &t, err);
}

enum skiff_status collective_reduce_scatter(struct collective *c, const void *in, void *out,
                                            int64_t n, enum dtype dtype, enum collective_op op,
                                            struct skiff_error *err)
{
    struct collective_task t = {.run = run_reduce_scatter, .in = in, .out = out};
    TRY(check_sum("reduce_scatter", n, dtype, op, err));
    t.call = sum_call(CALL_REDUCE_SCATTER, n, dtype, op, -1);
    return group_run(c, &t, err);
}

enum skiff_status collective_all_gather(struct collective *c, const void *in, size_t bytes,
                                        void *out, struct skiff_error *err)
{
    struct collective_task t = {.run = run_gather, .in = in, .out = out};
    t.call = move_call(CALL_ALL_GATHER, (int64_t)bytes, -1);
    return group_run(c, &t, err);
}

enum skiff_status collective_all_gather_of(struct collective *c, const void *in,
                                           const size_t *sizes, void *out, struct skiff_error *err)
{
    struct collective_task t = {.run = run_all_gather_of, .in = in, .out = out, .out_bytes = sizes};
    int64_t all = 0;
    for (int i = 0; i < c->size; i++)
        all += (int64_t)sizes[i];
    t.call = move_call(CALL_ALL_GATHER_OF, all, -1);
    return group_run(c, &t, err);
}

enum skiff_status collective_all_gather_any(struct collective *c, const void *in, size_t bytes,
                                            void **out, size_t *sizes, struct skiff_error *err)
{
    struct collective_task t = {
        .run = run_all_gather_any, .in = in, .in_bytes = &bytes, .out = out, .out_bytes = sizes};
    t.call = move_call(CALL_ALL_GATHER_ANY, -1, -1);
    return group_run(c, &t, err);
}

enum skiff_status collective_gather(struct collective *c, const void *in, size_t bytes, void *out,
                                    int root, struct skiff_error *err)
{
    struct collective_task t = {.run = run_gather, .in = in, .out = out};
    TRY(check_root(c, "gather", root, err));
    t.call = move_call(CALL_GATHER, (int64_t)bytes, root);
    return group_run(c, &t, err);
}

enum skiff_status collective_broadcast(struct collective *c, void *data, size_t bytes, int root,
                                       struct skiff_error *err)
{
    struct collective_task t;
    TRY(broadcast_task(c, &t, data, bytes, root, err));
    return group_run(c, &t, err);
}

enum skiff_status collective_scatter(struct collective *c, const void *in, size_t bytes, void *out,
                                     int root, struct skiff_error *err)
{
    struct collective_task t = {.run = run_scatter, .in = in, .out = out};
    TRY(check_root(c, "scatter", root, err));
    t.call = move_call(CALL_SCATTER, (int64_t)bytes, root);
    return group_run(c, &t, err);
}

enum skiff_status collective_all_to_all(struct collective *c, const void *in,
                                        const size_t *in_bytes, void *out, const size_t *out_bytes,
                                        struct skiff_error *err)
{
    struct collective_task t = {
        .run = run_all_to_all, .in = in, .in_bytes = in_bytes, .out = out, .out_bytes = out_bytes};
    t.call = move_call(CALL_ALL_TO_ALL, -1, -1);
    return group_run(c, &t, err);
}

enum skiff_status collective_barrier(struct collective *c, struct skiff_error *err)
{
    struct collective_task t = {.run = run_barrier, .call = move_call(CALL_BARRIER, 0, -1)};
    return group_run(c, &t, err);
}

struct collective_work *collective_start_all_reduce(struct collective *c, void *data, int64_t n,
                                                    enum dtype dtype, enum collective_op op,
                                                    struct skiff_error *err)
{
    struct collective_task t;
    return all_reduce_task(&t, data, n, dtype, op, err) < 0 ? NULL : group_start(c, &t, err);
}

struct collective_work *collective_start_broadcast(struct collective *c, void *data, size_t bytes,
                                                   int root, struct skiff_error *err)
{
    struct collective_task t;
    return broadcast_task(c, &t, data, bytes, root, err) < 0 ? NULL : group_start(c, &t, err);
}

/* ---- groups ---- */

static uint64_t list_hash(const int *ranks, int n)
{
    return hash_xxh64(ranks, (size_t)n * sizeof *ranks, (uint64_t)n);
}

static enum skiff_status check_list(const struct collective *c, const int *ranks, int n,
                                    struct skiff_error *err)
{
    if (n < 1 || n > c->size)
        return error_set(err, SKIFF_INVALID, "a group of %d of %d ranks", n, c->size);
    for (int i = 0; i < n; i++) {
        TRY(check_root(c, "a new group", ranks[i], err));
        for (int k = 0; k < i; k++)
            if (ranks[k] == ranks[i])
                return error_set(err, SKIFF_INVALID, "a new group has rank %d twice", ranks[i]);
    }
    return SKIFF_OK;
}

enum skiff_status collective_split(struct collective *c, const int *ranks, int n,
                                   struct collective **out, struct skiff_error *err)
{
    struct collective_task t = {.run = run_barrier};
    int *world = mem_alloc_or_die((size_t)(n > 0 ? n : 1) * sizeof *world), rank = -1;
    enum skiff_status status;
    TRY_OUT(check_list(c, ranks, n, err));
    t.call = move_call(CALL_SPLIT, (int64_t)(list_hash(ranks, n) >> 1), -1);
    TRY_OUT(group_run(c, &t, err));
    uint64_t seed[2] = {c->id, ++c->splits};
    *out = NULL;
    for (int i = 0; i < n; i++) {
        world[i] = c->ranks[ranks[i]];
        rank = ranks[i] == c->rank ? i : rank;
    }
    if (rank >= 0) {
        *out = group_create(c->inbox, hash_xxh64(seed, sizeof seed, 0), world, n, rank);
        status = group_open(*out, err);
        if (status < 0) {
            collective_destroy(*out);
            *out = NULL;
        }
    }
out:
    free(world);
    return status;
}
