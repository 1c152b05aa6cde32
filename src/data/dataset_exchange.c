/* Global shuffle: every sample goes to a worker drawn at random, or that of its line id.
 *
 * In rounds of bounded size (EXCHANGE_ROUND_BYTES): all samples at once would need the memory twice
 * over on every worker. A round is an all-to-all, so a worker that stopped in between would leave
 * the others waiting; therefore everybody, also one that has failed, takes part until all leave
 * after the same round. Each message carries a mark (more, last, failed), and all see the same
 * marks. What comes from others is checked against the schema before it is kept. Line ids decide in
 * place of chance when samples are to be merged by them: all parts of one then meet at one
 * worker. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/dataset_parts.h"
#include "data/exchange.h"
#include "data/record.h"

struct shuffle {
    struct dataset *dataset;
    const struct skiff_exchange *exchange;
    struct counter_rng draws;
    size_t next;                 /* sample to be sent */
    struct buf *out;             /* per worker */
    struct sample_store arrived; /* also what stays here */
};

static int worker_of(struct shuffle *s, const char *sample)
{
    size_t size = (size_t)s->exchange->size;
    if (s->dataset->config.merge_by_lineid)
        return (int)(sample_line_id(sample) % size);
    return (int)draw_below(&s->draws, size);
}

/* Fills the messages of an exchange round. */
static void round_fill(struct shuffle *s, bool failed)
{
    const struct sample_store *from = &s->dataset->store;
    size_t bytes = 0;
    for (int i = 0; i < s->exchange->size; i++) {
        buf_reset(&s->out[i]);
        buf_char(&s->out[i], EXCHANGE_MORE);
    }
    while (!failed && s->next < from->count && bytes < EXCHANGE_ROUND_BYTES) {
        const char *p = from->samples[s->next++];
        size_t n = 4 + sample_bytes(p);
        buf_add(&s->out[worker_of(s, p)], p, n);
        bytes += n;
    }
    char mark = failed ? EXCHANGE_FAILED : s->next == from->count ? EXCHANGE_LAST : EXCHANGE_MORE;
    for (int i = 0; i < s->exchange->size; i++)
        s->out[i].data[0] = mark;
}

/* Samples from another process: checked against the schema before they are kept. */
static enum skiff_status take_samples(struct shuffle *s, const char *p, size_t bytes,
                                      struct batch *check, struct skiff_error *err)
{
    const char *end = p + bytes;
    while (p < end) {
        size_t n = end - p < 4 ? SIZE_MAX : sample_bytes(p);
        if (end - p < 4 || n > (size_t)(end - p) - 4)
            return error_set(err, SKIFF_FORMAT, "received samples end in the middle of one");
        TRY(batch_reset(check, err));
        TRY(record_read(p + 4, n, check, err));
        TRY(store_add_bytes(&s->arrived, p + 4, n, err));
        p += 4 + n;
    }
    return SKIFF_OK;
}

struct exchange_round {
    const void **send;
    size_t *send_bytes, *got;
    void **recv;
    bool all_last; /* every worker has sent everything */
    int failed;    /* a worker that sent FAILED, or -1 */
};

static void round_init(struct exchange_round *r, size_t n)
{
    *r = (struct exchange_round){mem_alloc_or_die(n * sizeof *r->send),
                                 mem_alloc_or_die(n * sizeof *r->send_bytes),
                                 mem_alloc_or_die(n * sizeof *r->got),
                                 mem_alloc_or_die(n * sizeof *r->recv),
                                 false,
                                 -1};
}

static void round_deinit(struct exchange_round *r)
{
    free(r->send);
    free(r->send_bytes);
    free(r->got);
    free(r->recv);
}

static enum skiff_status round_exchange(struct shuffle *s, struct exchange_round *r, bool failed,
                                        struct skiff_error *err)
{
    const struct skiff_exchange *x = s->exchange;
    round_fill(s, failed);
    for (int i = 0; i < x->size; i++) {
        r->send[i] = s->out[i].data;
        r->send_bytes[i] = s->out[i].len;
    }
    TRY(x->alltoall(x->arg, r->send, r->send_bytes, r->recv, r->got, err));
    r->all_last = true;
    for (int i = 0; i < x->size; i++) {
        int mark = r->got[i] ? ((const char *)r->recv[i])[0] : EXCHANGE_MORE;
        if (mark == EXCHANGE_FAILED && r->failed < 0)
            r->failed = i;
        r->all_last &= mark == EXCHANGE_LAST;
    }
    return SKIFF_OK;
}

static enum skiff_status round_take(struct shuffle *s, struct exchange_round *r,
                                    struct batch *check, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < s->exchange->size; i++) {
        if (status == SKIFF_OK && r->failed < 0) {
            status = r->got[i]
                         ? take_samples(s, (const char *)r->recv[i] + 1, r->got[i] - 1, check, err)
                         : error_set(err, SKIFF_FORMAT, "no message was received");
            if (status < 0)
                error_prefix(err, status, "global_shuffle: from worker %d", i);
        }
        free(r->recv[i]);
        r->recv[i] = NULL;
    }
    return status;
}

/* All workers see the same marks, so all leave after the same round: when one has failed, or when
 * all had sent LAST in the round before, too. That last round tells whether the samples of the
 * previous one were valid on every worker. */
static enum skiff_status rounds_run(struct shuffle *s, struct skiff_error *err)
{
    struct batch check;
    struct exchange_round r;
    enum skiff_status own = batch_init(&check, &s->dataset->schema, 1, err), status = SKIFF_OK;
    round_init(&r, (size_t)s->exchange->size);
    for (bool over = false, was_last = false; !over;) {
        struct skiff_error why = {0};
        status = round_exchange(s, &r, own < 0, &why);
        if (status == SKIFF_OK && own == SKIFF_OK) {
            own = round_take(s, &r, &check, err);
            if (r.failed >= 0)
                status =
                    error_set(&why, SKIFF_STATE, "global_shuffle: worker %d has failed", r.failed);
        } else if (status == SKIFF_OK)
            round_take(s, &r, &check, NULL);
        if (status < 0 && own == SKIFF_OK && err)
            *err = why;
        over = status < 0 || r.failed >= 0 || (r.all_last && was_last);
        was_last = r.all_last;
    }
    batch_deinit(&check);
    round_deinit(&r);
    return own < 0 ? own : status;
}

static enum skiff_status shuffle_between(struct dataset *d, const struct skiff_exchange *x,
                                         uint64_t seed, struct skiff_error *err)
{
    struct shuffle s = {.dataset = d,
                        .exchange = x,
                        .draws = {seed ^ (uint64_t)x->rank * 0x9E3779B97F4A7C15ull, 0}};
    store_init(&s.arrived);
    s.out = mem_alloc_or_die((size_t)x->size * sizeof *s.out);
    enum skiff_status status = x->barrier(x->arg, err);
    if (status == SKIFF_OK)
        status = rounds_run(&s, err);
    for (int i = 0; i < x->size; i++)
        buf_deinit(&s.out[i]);
    free(s.out);
    if (status < 0) {
        store_deinit(&s.arrived);
        return status;
    }
    store_deinit(&d->store);
    d->store = s.arrived;
    return SKIFF_OK;
}

enum skiff_status dataset_global_shuffle(struct dataset *d, const struct skiff_exchange *x,
                                         uint64_t seed, struct skiff_error *err)
{
    TRY(memory_only(d, "global_shuffle", err));
    if (x && (x->size < 1 || x->rank < 0 || x->rank >= x->size))
        return error_set(err, SKIFF_INVALID, "global_shuffle: worker %d of %d", x->rank, x->size);
    dataset_stop(d);
    slots_unshuffle(d);
    bool alone = !x || x->size == 1;
    if (!alone)
        TRY(shuffle_between(d, x, seed, err));
    TRY(dataset_local_shuffle(d, seed + (uint64_t)(alone ? 0 : x->rank), err));
    if (d->config.merge_by_lineid)
        TRY(memory_merge(d, err));
    d->shuffle_size = (int64_t)d->store.count;
    return alone ? SKIFF_OK : x->barrier(x->arg, err);
}
