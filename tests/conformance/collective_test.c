/* One suite for all engines of src/collective: every case runs with 1 to 5 ranks as threads, as
 * processes (with shared memory and without) and, if it is installed, under mpirun. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collective/shm_parts.h"
#include "tests/conformance/collective_fixture_test.h"
#include "tests/conformance/collective_values_test.h"

/* ---- the cases ---- */

static const int64_t counts[] = {0, 1, 2, 3, 7, 64, 1001, 20011};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static void all_reduce_every_type(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c);
    for (int t = 0; t < DTYPES; t++)
        for (int op = COLLECTIVE_SUM; op <= COLLECTIVE_PROD; op++)
            for (int k = 0; k < COUNTS; k++) {
                int64_t n = counts[k];
                void *data = values(rank, n, dtypes[t]);
                CHECK_OK(
                    collective_all_reduce(c, data, n, dtypes[t], (enum collective_op)op, &err));
                for (int64_t i = 0; i < n; i++)
                    CHECK(get_value(data, i, dtypes[t]) ==
                          expected(size, i, dtypes[t], (enum collective_op)op));
                free(data);
            }
}

/* float32 numbers whose sum depends on the order: it must be that of the ranks. */
static float uneven(int rank, int64_t i)
{
    static const float scale[] = {1.0f, 1e7f, 1e-3f, -1e7f, 33.3f};
    return scale[(rank + i) % 5] * (1.0f + (float)((i * 37 + rank * 11) % 101) / 97.0f);
}

static void sums_have_the_order_of_ranks(struct collective *c)
{
    static const int64_t many[] = {5, 4000, 4097, 300001, 1100007};
    int rank = collective_rank(c), size = collective_size(c);
    for (int k = 0; k < 5; k++) {
        int64_t n = many[k];
        float *data = malloc((size_t)n * sizeof *data);
        for (int64_t i = 0; i < n; i++)
            data[i] = uneven(rank, i);
        CHECK_OK(collective_all_reduce(c, data, n, DTYPE_FP32, COLLECTIVE_SUM, &err));
        for (int64_t i = 0; i < n; i++) {
            float sum = uneven(0, i);
            for (int r = 1; r < size; r++)
                sum += uneven(r, i);
            CHECK(memcmp(&data[i], &sum, sizeof sum) == 0);
        }
        free(data);
    }
}

static void averages_are_sums_by_ranks(struct collective *c)
{
    static const int64_t many[] = {1, 4097, 300001};
    int rank = collective_rank(c), size = collective_size(c);
    for (int k = 0; k < 3; k++) {
        int64_t n = many[k];
        float *data = malloc((size_t)n * sizeof *data);
        for (int64_t i = 0; i < n; i++)
            data[i] = uneven(rank, i);
        CHECK_OK(collective_all_reduce(c, data, n, DTYPE_FP32, COLLECTIVE_AVG, &err));
        for (int64_t i = 0; i < n; i++) {
            float sum = uneven(0, i);
            for (int r = 1; r < size; r++)
                sum += uneven(r, i);
            sum *= 1.0f / (float)size;
            CHECK(memcmp(&data[i], &sum, sizeof sum) == 0);
        }
        free(data);
    }
    double d = 3.0 * rank;
    uint16_t half = rank == 0 ? 0x4400 : 0x4000; /* 4, 2, 2, .. */
    CHECK_OK(collective_all_reduce(c, &d, 1, DTYPE_FP64, COLLECTIVE_AVG, &err));
    CHECK(d == 3.0 * (size - 1) / 2);
    CHECK_OK(collective_all_reduce(c, &half, 1, DTYPE_FP16, COLLECTIVE_AVG, &err));
    CHECK(half == (size == 1 ? 0x4400 : size == 2 ? 0x4200 : half)); /* 3 */
    CHECK_FAILS(collective_all_reduce(c, &rank, 1, DTYPE_INT32, COLLECTIVE_AVG, &err),
                "all_reduce of int32: averages need float16");
}

static void short_floats_are_rounded(struct collective *c)
{
    /* 2048 + 1 = 2048 (half to even), + 3 = 2051 -> 2052; bfloat16: 256 + 1 = 256 */
    uint16_t half = collective_rank(c) == 0 ? 0x6800 : 0x3c00;
    uint16_t brain = collective_rank(c) == 0 ? 0x4380 : 0x3f80;
    uint16_t tiny = 0x0001, huge = 0x7bff;
    int size = collective_size(c);
    CHECK_OK(collective_all_reduce(c, &half, 1, DTYPE_FP16, COLLECTIVE_SUM, &err));
    CHECK_OK(collective_all_reduce(c, &brain, 1, DTYPE_BF16, COLLECTIVE_SUM, &err));
    CHECK_OK(collective_all_reduce(c, &tiny, 1, DTYPE_FP16, COLLECTIVE_SUM, &err));
    CHECK_OK(collective_all_reduce(c, &huge, 1, DTYPE_FP16, COLLECTIVE_SUM, &err));
    CHECK(half == 0x6800 && brain == 0x4380);
    CHECK(tiny == (uint16_t)size);                /* below the normal numbers */
    CHECK(huge == (size == 1 ? 0x7bff : 0x7c00)); /* beyond the largest: infinity */
}

static void reduce_changes_only_the_root(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c);
    for (int root = 0; root < size; root++)
        for (int k = 0; k < COUNTS; k++) {
            int64_t n = counts[k];
            void *data = values(rank, n, DTYPE_FP64);
            CHECK_OK(collective_reduce(c, data, n, DTYPE_FP64, COLLECTIVE_SUM, root, &err));
            for (int64_t i = 0; i < n; i++)
                CHECK(get_value(data, i, DTYPE_FP64) ==
                      (rank == root ? expected(size, i, DTYPE_FP64, COLLECTIVE_SUM)
                                    : held(rank, i, DTYPE_FP64)));
            free(data);
        }
}

static void reduce_scatter_gives_pieces(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c);
    for (int k = 0; k < COUNTS; k++) {
        int64_t n = counts[k];
        int32_t *in = values(rank, n * size, DTYPE_INT32);
        int32_t *out = malloc((size_t)n * sizeof *out + 1);
        CHECK_OK(collective_reduce_scatter(c, in, out, n, DTYPE_INT32, COLLECTIVE_SUM, &err));
        for (int64_t i = 0; i < n; i++) {
            CHECK(out[i] == expected(size, rank * n + i, DTYPE_INT32, COLLECTIVE_SUM));
            CHECK(in[i] == small_value(rank, i));
        }
        free(in);
        free(out);
    }
}

static uint8_t byte_of(int rank, size_t i)
{
    return (uint8_t)(rank * 41 + (int)(i % 251) + (int)(i / 65536));
}

static uint8_t *bytes_of(int rank, size_t n)
{
    uint8_t *b = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        b[i] = byte_of(rank, i);
    return b;
}

static bool are_bytes_of(const uint8_t *b, int rank, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (b[i] != byte_of(rank, i))
            return false;
    return true;
}

static const size_t lengths[] = {0, 1, 13, 16385, 70001, 3000017};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static void gathers(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c);
    for (int k = 0; k < LENGTHS; k++) {
        size_t n = lengths[k];
        uint8_t *in = bytes_of(rank, n), *out = malloc(n * (size_t)size + 1);
        CHECK_OK(collective_all_gather(c, in, n, out, &err));
        for (int r = 0; r < size; r++)
            CHECK(are_bytes_of(out + (size_t)r * n, r, n));
        memset(out, 0xee, n * (size_t)size);
        memcpy(out + (size_t)rank * n, in, n);
        CHECK_OK(collective_all_gather(c, out + (size_t)rank * n, n, out, &err)); /* in place */
        for (int r = 0; r < size; r++)
            CHECK(are_bytes_of(out + (size_t)r * n, r, n));
        memset(out, 0xee, n * (size_t)size);
        int root = k % size;
        CHECK_OK(collective_gather(c, in, n, rank == root ? out : NULL, root, &err));
        for (int r = 0; r < size && rank == root; r++)
            CHECK(are_bytes_of(out + (size_t)r * n, r, n));
        free(in);
        free(out);
    }
}

static void gathers_of_different_lengths(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c);
    for (int k = 0; k < LENGTHS; k++) {
        size_t sizes[RANKS], n = lengths[(k + rank) % LENGTHS], at = 0;
        uint8_t *in = bytes_of(rank, n);
        void *out;
        CHECK_OK(collective_all_gather_any(c, n ? in : NULL, n, &out, sizes, &err));
        for (int r = 0; r < size; r++) {
            CHECK(sizes[r] == lengths[(k + r) % LENGTHS]);
            CHECK(are_bytes_of((uint8_t *)out + at, r, sizes[r]));
            at += sizes[r];
        }
        memset(out, 0xee, at);
        CHECK_OK(collective_all_gather_of(c, in, sizes, out, &err));
        at = 0;
        for (int r = 0; r < size; r++) {
            CHECK(are_bytes_of((uint8_t *)out + at, r, sizes[r]));
            at += sizes[r];
        }
        mem_free(out);
        free(in);
    }
}

static void broadcasts_and_scatters(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c);
    for (int root = 0; root < size; root++)
        for (int k = 0; k < LENGTHS; k++) {
            size_t n = lengths[k];
            uint8_t *data = bytes_of(rank == root ? 77 : rank, n),
                    *all = bytes_of(root, n * (size_t)size);
            CHECK_OK(collective_broadcast(c, data, n, root, &err));
            CHECK(are_bytes_of(data, 77, n));
            CHECK_OK(collective_scatter(c, rank == root ? all : NULL, n, data, root, &err));
            for (size_t i = 0; i < n; i++)
                CHECK(data[i] == byte_of(root, (size_t)rank * n + i));
            free(data);
            free(all);
        }
}

/* Rank a sends rank b (a + 2 b) % 3 * step + (a == b) bytes. */
static size_t parcel(int from, int to, size_t step)
{
    return (size_t)((from + 2 * to) % 3) * step + (from == to);
}

static void everybody_to_everybody(struct collective *c)
{
    static const size_t steps[] = {0, 1, 1000, 700001};
    int rank = collective_rank(c), size = collective_size(c);
    for (int k = 0; k < 4; k++) {
        size_t out[RANKS], in[RANKS], nout = 0, nin = 0, at = 0;
        for (int r = 0; r < size; r++) {
            nout += out[r] = parcel(rank, r, steps[k]);
            nin += in[r] = parcel(r, rank, steps[k]);
        }
        uint8_t *give = malloc(nout + 1), *get = malloc(nin + 1);
        for (int r = 0; r < size; at += out[r++])
            for (size_t i = 0; i < out[r]; i++)
                give[at + i] = byte_of(rank * 5 + r, i);
        CHECK_OK(collective_all_to_all(c, give, out, get, in, &err));
        at = 0;
        for (int r = 0; r < size; at += in[r++])
            CHECK(are_bytes_of(get + at, r * 5 + rank, in[r]));
        free(give);
        free(get);
    }
}

static void messages(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int k = 0; k < LENGTHS; k++) {
        size_t n = lengths[k];
        uint8_t *give = bytes_of(rank, n), *get = malloc(n + 1);
        uint32_t first = (uint32_t)rank * 100, second = first + 1, a, b;
        /* all send before they receive, in a ring; a rank of one to itself */
        CHECK_OK(collective_send(c, next, give, n, &err));
        CHECK_OK(collective_recv(c, before, get, n, &err));
        CHECK(are_bytes_of(get, before, n));
        /* all receive before they send; messages keep their order */
        struct collective_work *w[2];
        struct skiff_error e;
        w[0] = collective_start_recv(c, before, &a, sizeof a, &e);
        w[1] = collective_start_recv(c, before, &b, sizeof b, &e);
        CHECK_OK(collective_send(c, next, &first, sizeof first, &err));
        CHECK_OK(collective_send(c, next, &second, sizeof second, &err));
        for (int i = 0; i < 2; i++)
            CHECK_OK(collective_wait(w[i], &err));
        CHECK(a == (uint32_t)before * 100 && b == a + 1);
        free(give);
        free(get);
    }
    /* messages between some, then a call of all: the numbers of messages need not match */
    int32_t one = 1;
    if (size > 2 && rank < 2)
        CHECK_OK(rank ? collective_recv(c, 0, &one, sizeof one, &err)
                      : collective_send(c, 1, &one, sizeof one, &err));
    CHECK_OK(collective_all_reduce(c, &one, 1, DTYPE_INT32, COLLECTIVE_SUM, &err));
    CHECK(one == size);
}

enum { STARTED = 20 };

static void started_calls_keep_their_order(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c);
    struct collective_work *w[STARTED];
    int64_t *data[STARTED], total = 0, n = 3001, chain = rank;
    struct skiff_error e;
    for (int k = 0; k < STARTED; k++) {
        data[k] = malloc((size_t)n * sizeof **data);
        for (int64_t i = 0; i < n; i++)
            data[k][i] = rank * k + i;
        w[k] = k % 4 == 3
                   ? collective_start_broadcast(c, data[k], (size_t)n * sizeof **data, k % size, &e)
                   : collective_start_all_reduce(c, data[k], n, DTYPE_INT64, COLLECTIVE_SUM, &e);
        CHECK(w[k]);
    }
    CHECK_OK(collective_all_reduce(c, &chain, 1, DTYPE_INT64, COLLECTIVE_SUM, &err));
    CHECK(chain == size * (size - 1) / 2);
    for (int k = 0; k < STARTED; k++) {
        CHECK(collective_done(w[k])); /* it was started before a call that has returned */
        CHECK_OK(collective_wait(w[k], &err));
        for (int64_t i = 0; i < n; i++) {
            total = k % 4 == 3 ? k % size * k + i : size * (size - 1) / 2 * k + size * i;
            CHECK(data[k][i] == total);
        }
        free(data[k]);
    }
}

static void groups(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c), odd[RANKS], back[RANKS], n = 0;
    struct collective *g, *b, *again;
    for (int r = size - 1; r >= 0; r--)
        back[size - 1 - r] = r;
    for (int r = 1; r < size; r += 2)
        odd[n++] = r;
    if (n == 0)
        odd[n++] = 0;
    CHECK_OK(collective_split(c, odd, n, &g, &err));
    CHECK_OK(collective_split(c, back, size, &b, &err));
    CHECK_OK(collective_split(c, odd, n, &again, &err)); /* the same ranks once more */
    CHECK(collective_rank(b) == size - 1 - rank && collective_size(b) == size);
    bool in_odd = size == 1 || rank % 2;
    CHECK((g != NULL) == in_odd && (again != NULL) == in_odd);
    int32_t sum = rank + 1, all = 1, first = rank;
    if (g) {
        CHECK(collective_size(g) == n && odd[collective_rank(g)] == rank);
        CHECK_OK(collective_all_reduce(g, &sum, 1, DTYPE_INT32, COLLECTIVE_SUM, &err));
        CHECK(sum == (size == 1 ? 1 : n == 1 ? 2 : 6));
    }
    CHECK_OK(collective_all_reduce(c, &all, 1, DTYPE_INT32, COLLECTIVE_SUM, &err));
    CHECK(all == size);
    CHECK_OK(collective_broadcast(b, &first, sizeof first, 0, &err));
    CHECK(first == size - 1);
    collective_destroy(g);
    CHECK_OK(collective_barrier(c, &err));
    if (again)
        CHECK_OK(collective_barrier(again, &err));
    collective_destroy(again);
    collective_destroy(b);
}

/* Each rank increments a number that the others read only after a barrier. */
static void barriers(struct collective *c)
{
    int size = collective_size(c);
    for (int k = 0; k < 50; k++) {
        int32_t seen[RANKS];
        CHECK_OK(collective_barrier(c, &err));
        CHECK_OK(collective_all_gather(c, &k, sizeof k, seen, &err));
        for (int r = 0; r < size; r++)
            CHECK(seen[r] == k);
    }
}

/* Calls count themselves in the metrics of the rank, those of other groups too. */
static void calls_are_counted(struct collective *c)
{
    struct metrics_snapshot before = {0}, after = {0};
    float v[1000] = {1};
    snapshot_add(&before, collective_metrics(c));
    for (int i = 0; i < 3; i++)
        CHECK_OK(collective_all_reduce(c, v, 1000, DTYPE_FP32, COLLECTIVE_SUM, &err));
    CHECK_OK(collective_broadcast(c, v, 600, 0, &err));
    snapshot_add(&after, collective_metrics(c));
    CHECK(snapshot_since(&after, &before, METRIC_COLLECTIVE_SECONDS, "all_reduce") == 3);
    CHECK(snapshot_since(&after, &before, METRIC_COLLECTIVE_SECONDS, "broadcast") == 1);
    CHECK(snapshot_seconds(&after, METRIC_COLLECTIVE_SECONDS, "all_reduce") > 0);
    int others = collective_size(c) - 1;
    int64_t bytes = snapshot_since(&after, &before, METRIC_COLLECTIVE_BYTES, "broadcast");
    CHECK(bytes == (collective_rank(c) ? 0 : 600 * others));
    bytes = snapshot_since(&after, &before, METRIC_COLLECTIVE_BYTES, "all_reduce");
    CHECK(others ? bytes > 0 && bytes % 3 == 0 : bytes == 0);
    snapshot_deinit(&before);
    snapshot_deinit(&after);
}

static void wrong_arguments(struct collective *c)
{
    float x = 1;
    int twice[] = {0, 0}, outside[] = {collective_size(c)};
    struct collective *g;
    int size = collective_size(c);
    CHECK_FAILS(collective_all_reduce(c, &x, 1, DTYPE_COMPLEX64, COLLECTIVE_SUM, &err),
                "all_reduce of complex64", "float32");
    CHECK_FAILS(collective_all_reduce(c, &x, -1, DTYPE_FP32, COLLECTIVE_SUM, &err), "-1 elements");
    CHECK_FAILS(collective_all_reduce(c, &x, 1, DTYPE_FP32, (enum collective_op)9, &err), "op 9");
    CHECK_FAILS(collective_broadcast(c, &x, 4, size, &err), "broadcast", "is not in the group");
    CHECK_FAILS(collective_send(c, -1, &x, 4, &err), "a message to rank -1");
    CHECK_FAILS(collective_recv(c, size, &x, 4, &err), "a message from rank");
    CHECK_FAILS(collective_split(c, outside, 1, &g, &err), "a new group: rank");
    CHECK_FAILS(collective_split(c, twice, size > 1 ? 2 : 3, &g, &err),
                size > 1 ? "twice" : "3 of 1");
    CHECK_OK(collective_all_reduce(c, &x, 1, DTYPE_FP32, COLLECTIVE_SUM, &err)); /* continues */
    CHECK(x == (float)size);
}

/* ---- different calls ---- */

static void different_counts(struct collective *c)
{
    float x[3] = {1, 2, 3};
    int last = collective_size(c) - 1;
    char first[64];
    if (!last)
        return;
    snprintf(first, sizeof first, "rank %d calls all_reduce(sum) of 3 float32", last);
    int64_t n = collective_rank(c) == last ? 3 : 2;
    for (int again = 0; again < 2; again++) /* and it stays failed */
        CHECK_FAILS(collective_all_reduce(c, x, n, DTYPE_FP32, COLLECTIVE_SUM, &err), first,
                    "rank 0 calls all_reduce(sum) of 2 float32", "same calls in the same order");
    CHECK(x[0] == 1 && x[1] == 2);
}

static void different_types(struct collective *c)
{
    double x = 1;
    if (collective_size(c) < 2)
        return;
    CHECK_FAILS(collective_all_reduce(c, &x, 1, collective_rank(c) == 1 ? DTYPE_FP64 : DTYPE_FP32,
                                      COLLECTIVE_MAX, &err),
                "rank 1 calls all_reduce(max) of 1 float64",
                "rank 0 calls all_reduce(max) of 1 float32");
}

static void different_kinds(struct collective *c)
{
    int32_t x = 1;
    if (collective_size(c) < 2)
        return;
    CHECK_FAILS(collective_rank(c) == 1
                    ? collective_barrier(c, &err)
                    : collective_all_reduce(c, &x, 1, DTYPE_INT32, COLLECTIVE_SUM, &err),
                "rank 1 calls barrier", "rank 0 calls all_reduce(sum) of 1 int32");
    CHECK_FAILS(collective_barrier(c, &err), "rank 1 calls barrier");
}

static void different_roots(struct collective *c)
{
    int32_t x = 1;
    if (collective_size(c) < 2)
        return;
    CHECK_FAILS(collective_broadcast(c, &x, sizeof x, collective_rank(c) == 1 ? 1 : 0, &err),
                "rank 1 calls broadcast of 4 bytes from rank 1",
                "rank 0 calls broadcast of 4 bytes from rank 0");
}

static void different_lengths_between_two(struct collective *c)
{
    int rank = collective_rank(c), size = collective_size(c);
    size_t out[RANKS] = {0}, in[RANKS] = {0};
    uint8_t x[8] = {0};
    if (size < 2)
        return;
    if (rank == 0)
        out[1] = 3;
    if (rank == 1)
        in[0] = 4;
    enum skiff_status status;
    struct skiff_error first;
    status = collective_all_to_all(c, x, out, x, in, &first);
    /* ranks that are not involved learn of it at the latest in their next call */
    if (status == SKIFF_OK)
        CHECK(rank != 1);
    CHECK_FAILS(collective_barrier(c, &err),
                "all_to_all: rank 0 sends rank 1 3 bytes, which expects 4 from it");
}

static void a_message_that_cannot_come(struct collective *c)
{
    int32_t x = 1;
    if (collective_size(c) != 2)
        return;
    CHECK_FAILS(collective_rank(c) == 1
                    ? collective_recv(c, 0, &x, sizeof x, &err)
                    : collective_all_reduce(c, &x, 1, DTYPE_INT32, COLLECTIVE_SUM, &err),
                "rank 1 waits for a message from rank 0, which calls all_reduce(sum) of 1 int32");
}

static void two_wait_for_each_other(struct collective *c)
{
    int32_t x = 1;
    int rank = collective_rank(c);
    char either[2][64];
    struct skiff_error e;
    if (collective_size(c) < 2 || rank > 1)
        return;
    for (int i = 0; i < 2; i++) /* the rank that finds out first */
        snprintf(either[i], sizeof either[i],
                 "rank %d waits for a message from rank %d, which "
                 "calls recv",
                 i, 1 - i);
    CHECK(collective_recv(c, 1 - rank, &x, sizeof x, &e) < 0);
    CHECK(strstr(e.message, either[0]) || strstr(e.message, either[1]));
}

/* Long waits on both sides, which end. */
static void messages_that_come_late(struct collective *c)
{
    int32_t x = 0;
    int rank = collective_rank(c);
    if (collective_size(c) != 2)
        return;
    for (int k = 0; k < 2; k++) {
        if (rank == k) {
            clock_sleep(1300 * CLOCK_MS);
            CHECK_OK(collective_send(c, 1 - rank, &k, sizeof k, &err));
        } else {
            CHECK_OK(collective_recv(c, 1 - rank, &x, sizeof x, &err));
            CHECK(x == k);
        }
    }
    struct skiff_error e;
    int64_t sum = 1;
    struct collective_work *w =
        rank ? NULL : collective_start_all_reduce(c, &sum, 1, DTYPE_INT64, COLLECTIVE_SUM, &e);
    if (rank == 0) { /* its caller is free, although its call waits */
        clock_sleep(300 * CLOCK_MS);
        CHECK_OK(collective_send(c, 1, &x, sizeof x, &err));
        CHECK_OK(collective_wait(w, &err));
    } else {
        CHECK_OK(collective_recv(c, 0, &x, sizeof x, &err));
        CHECK_OK(collective_all_reduce(c, &sum, 1, DTYPE_INT64, COLLECTIVE_SUM, &err));
    }
    CHECK(sum == 2);
}

static void messages_of_different_lengths(struct collective *c)
{
    int32_t x[2] = {1, 2};
    if (collective_size(c) != 2)
        return;
    if (collective_rank(c) == 0)
        CHECK_OK(collective_send(c, 1, x, 8, &err));
    else
        CHECK_FAILS(collective_recv(c, 0, x, 4, &err),
                    "rank 0 sent rank 1 a message of 8 bytes, but 4 were expected");
    CHECK_FAILS(collective_barrier(c, &err), "a message of 8 bytes");
}

static void somebody_leaves(struct collective *c)
{
    float x = 1;
    struct skiff_error e;
    if (collective_size(c) < 2 || collective_rank(c) == 1)
        return; /* it has nothing more to do */
    struct collective_work *w =
        collective_start_all_reduce(c, &x, 1, DTYPE_FP32, COLLECTIVE_SUM, &e);
    if (w)
        CHECK_FAILS(collective_wait(w, &err), "rank 1 has left the group");
    CHECK_FAILS(collective_barrier(c, &err), "rank 1 has left the group");
    CHECK_FAILS(collective_recv(c, 1, &x, sizeof x, &err), "rank 1 has left the group");
}

static const struct {
    const char *name;
    rank_run run;
} cases[] = {
#define CASE(name)  \
    {               \
#name, name \
    }
    CASE(all_reduce_every_type),
    CASE(sums_have_the_order_of_ranks),
    CASE(averages_are_sums_by_ranks),
    CASE(short_floats_are_rounded),
    CASE(reduce_changes_only_the_root),
    CASE(reduce_scatter_gives_pieces),
    CASE(gathers),
    CASE(gathers_of_different_lengths),
    CASE(broadcasts_and_scatters),
    CASE(everybody_to_everybody),
    CASE(messages),
    CASE(started_calls_keep_their_order),
    CASE(groups),
    CASE(barriers),
    CASE(calls_are_counted),
    CASE(wrong_arguments),
    CASE(different_counts),
    CASE(different_types),
    CASE(different_kinds),
    CASE(different_roots),
    CASE(different_lengths_between_two),
    CASE(a_message_that_cannot_come),
    CASE(two_wait_for_each_other),
    CASE(messages_that_come_late),
    CASE(messages_of_different_lengths),
    CASE(somebody_leaves),
#undef CASE
};
enum { CASES = sizeof cases / sizeof cases[0], BREAKING = 16 };

/* A thread sanitizer is slow, and three ranks are enough for it. */
#if defined(__SANITIZE_THREAD__)
enum { FEWEST = 2, MOST = 3 };
#else
enum { FEWEST = 1, MOST = RANKS };
#endif

/* The first ones are values and can follow each other in one group; the others break it. */
static void all_values(struct collective *c)
{
    for (int i = 0; i < BREAKING; i++)
        cases[i].run(c);
}

static void run_all(void (*runner)(int size, rank_run run))
{
    for (int size = FEWEST; size <= MOST; size++)
        runner(size, all_values);
    for (int i = BREAKING; i < CASES; i++)
        for (int size = 2; size <= 3; size++)
            runner(size, cases[i].run);
}

static void threads(void **state)
{
    assert_ptr_equal(cases[BREAKING].run, different_counts);
    run_all(run_threads);
}

static void processes(void **state)
{
    run_all(run_processes);
}

static void processes_without_shared_memory(void **state)
{
    setenv("SKIFF_NO_SHARED_MEMORY", "1", 1);
    run_all(run_processes);
    unsetenv("SKIFF_NO_SHARED_MEMORY");
}

/* ---- cores ---- */

static void crowded(void **state)
{
    cpu_set_t cores[2];
    for (int shared = 1; shared <= 8; shared++) { /* both may use the same ones */
        CPU_ZERO(&cores[0]);
        for (int i = 0; i < shared; i++)
            CPU_SET(i, &cores[0]);
        cores[1] = cores[0];
        assert_int_equal(shm_is_crowded(cores, sizeof *cores, 2), shared < 4);
    }
    for (int each = 1; each <= 4; each++) { /* bound: each has its own, whatever the machine has */
        CPU_ZERO(&cores[0]);
        CPU_ZERO(&cores[1]);
        for (int i = 0; i < each; i++) {
            CPU_SET(i, &cores[0]);
            CPU_SET(32 + i, &cores[1]);
        }
        assert_int_equal(shm_is_crowded(cores, sizeof *cores, 2), each < 2);
    }
}

/* ---- mpirun starts this program again, with the name of a case ---- */

static const char *self;

/* Not in sanitizers' builds: MPI's own threads and leaks would be reported. */
static bool have_mpi(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return false;
#endif
    struct skiff_error err;
    struct collective *c;
    if (system("command -v mpirun >/dev/null") != 0)
        return false;
    pid_t pid = fork(); /* MPI can be initialized once in a process */
    if (pid == 0)
        _exit(collective_mpi(&c, &err) == SKIFF_UNSUPPORTED ? 1 : 0);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status == 0;
}

static void run_mpirun(int size, rank_run run)
{
    char command[1024];
    const char *name = "all_values";
    for (int i = 0; i < CASES; i++)
        if (cases[i].run == run)
            name = cases[i].name;
    snprintf(command, sizeof command,
             "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout %d mpirun "
             "--oversubscribe --mca btl_vader_single_copy_mechanism none -n %d '%s' --mpi %s",
             PATIENCE, size, self, name);
    if (system(command) != 0)
        fail_msg("%s", command);
}

static int mpi_rank(const char *name)
{
    struct collective *c;
    rank_run run = all_values;
    alarm(PATIENCE);
    for (int i = 0; i < CASES; i++)
        if (strcmp(cases[i].name, name) == 0)
            run = cases[i].run;
    CHECK_OK(collective_mpi_loads(&err));
    CHECK_OK(collective_mpi(&c, &err));
    CHECK(strcmp(collective_engine(c), "mpi") == 0);
    run(c);
    collective_destroy(c);
    if (run == all_values) { /* and once more in the same process */
        CHECK_OK(collective_mpi(&c, &err));
        run(c);
        collective_destroy(c);
    }
    return 0;
}

static void mpi(void **state)
{
    if (!have_mpi())
        skip();
    for (int size = FEWEST; size <= MOST; size++)
        run_mpirun(size, all_values);
    for (int i = BREAKING; i < CASES; i++)
        run_mpirun(2, cases[i].run);
}

static void mpi_without_shared_memory(void **state)
{
    if (!have_mpi())
        skip();
    setenv("SKIFF_NO_SHARED_MEMORY", "1", 1);
    run_mpirun(3, all_values);
    run_mpirun(3, different_kinds);
    run_mpirun(3, somebody_leaves);
    run_mpirun(2, a_message_that_cannot_come);
    unsetenv("SKIFF_NO_SHARED_MEMORY");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads),
        cmocka_unit_test(processes),
        cmocka_unit_test(processes_without_shared_memory),
        cmocka_unit_test(crowded),
        cmocka_unit_test(mpi),
        cmocka_unit_test(mpi_without_shared_memory),
    };
    self = argv[0];
    if (argc == 3 && strcmp(argv[1], "--mpi") == 0)
        return mpi_rank(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
