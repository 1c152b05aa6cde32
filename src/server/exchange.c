/* PS_EXCHANGE: a message brings pushes and takes values back.
 *
 * Everything in a message is checked before any of it is applied, so a refused message has changed
 * nothing. In all modes but sync it is applied at once and answered with the values after it.
 *
 * Sync: pushes are kept together with the message that holds their data. A trainer that ends the
 * step gets a deferred reply. When no trainer is missing any more, the step is finished: learning
 * rate, slices, replies. The reply is the barrier: trainers need no further message to know that
 * the step is over. Each shard does this by itself, so shards may be one step apart. They share the
 * learning rate, which the first shard to reach a step runs (rate_steps).
 *
 * Missing are trainers that are in the job (or have not joined yet) and have data. members.c
 * notices when one dies or leaves, so every change of the member list re-evaluates the steps
 * (exchange_review). A trainer without data (PS_GONE) is not waited for until it pushes again. A
 * new process in a dead one's place starts the running step again: pushes of the dead process
 * are dropped, or the step would count them twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/bind.h"
#include "server/exchange.h"
#include "server/members.h"
#include "server/quiesce.h"
#include "server/server_parts.h"
#include "server/shard.h"
#include "server/slice.h"
#include "server/snapshot.h"
#include "server/status.h"

/* ---- wanted values ---- */

static enum skiff_status check_wanted(struct server *s, const struct server_shard *h,
                                      const struct ps_exchange *x, struct skiff_error *err)
{
    const struct bound_var *v;
    for (uint32_t i = 0; i < x->nwant; i++)
        TRY(bound_get(s, ps_want_at(x, i), PS_PULL_WHOLE, h->index, &v, err));
    return SKIFF_OK;
}

static void reserve_pieces(struct server_shard *h, uint32_t n)
{
    if (n <= h->pieces_cap)
        return;
    h->pieces_cap = n;
    h->pieces = mem_grow_or_die(h->pieces, n * sizeof *h->pieces);
}

static enum skiff_status write_wanted(struct server *s, struct server_shard *h,
                                      const struct ps_exchange *x, struct wire_writer *w,
                                      struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    reserve_pieces(h, x->nwant);
    for (uint32_t i = 0; i < x->nwant && status == SKIFF_OK; i++) {
        uint32_t number = ps_want_at(x, i);
        struct param_slice *u = s->bound[number].slice;
        struct skiff_tensor *v = s->bound[number].value;
        if (u && value_deferred(v))
            slice_cow_all(s, u);
        value_flush(v);
        h->pieces[i] = (struct ps_piece){
            .number = number, .data = v->tensor.data, .bytes = tensor_bytes(&v->tensor)};
        if (u && v == u->param_value)
            status = slice_backup(s, u, x->trainer, NULL, 0, err);
    }
    pthread_rwlock_rdlock(&s->rate); /* learning rates may be among them */
    ps_write_values(w, h->pieces, x->nwant);
    pthread_rwlock_unlock(&s->rate);
    return status;
}

static void reply_wanted(struct server_shard *h, struct rpc_request *q, const struct ps_exchange *x)
{
    struct server *s = h->server;
    struct wire_writer w;
    struct skiff_error err;
    writer_init(&w);
    metric_add(s->counts.pulls, (int64_t)x->nwant);
    if (write_wanted(s, h, x, &w, &err) < 0) {
        writer_deinit(&w);
        rpc_fail(q, &err);
    } else {
        reply_written(s, q, &w);
    }
}

/* ---- counters ---- */

/* "@LR_DECAY_COUNTER@.trainer_0": the push is added, and the rate is computed again. */
static enum skiff_status check_counter(const struct bound_var *b, const struct ps_piece *item,
                                       struct skiff_error *err)
{
    const struct skiff_tensor *v = b->value;
    bool known = v->tensor.dtype == DTYPE_INT64 || v->tensor.dtype == DTYPE_FP32;
    if (v->kind != VALUE_TENSOR || tensor_numel(&v->tensor) != 1 || !known || item->has_rows ||
        item->bytes != dtype_size(v->tensor.dtype))
        return error_set(err, SKIFF_SHAPE, "counter %s must be one number of the server's type",
                         b->name);
    return SKIFF_OK;
}

static enum skiff_status add_counter(struct server *s, struct skiff_tensor *v,
                                     const struct ps_piece *item, struct skiff_error *err)
{
    pthread_rwlock_wrlock(&s->rate);
    if (v->tensor.dtype == DTYPE_INT64) {
        int64_t by;
        memcpy(&by, item->data, sizeof by);
        tensor_i64(&v->tensor)[0] = (int64_t)((uint64_t)tensor_i64(&v->tensor)[0] + (uint64_t)by);
    } else {
        float by;
        memcpy(&by, item->data, sizeof by);
        tensor_f32(&v->tensor)[0] += by;
    }
    enum skiff_status status = rate_run(s, err);
    pthread_rwlock_unlock(&s->rate);
    return status;
}

/* ---- sync steps ---- */

static bool is_awaited(struct server_shard *h, int trainer)
{
    if (h->ended[trainer] || h->gone[trainer])
        return false;
    enum member_state state = members_state(h->server, (uint32_t)trainer);
    return state == MEMBER_ABSENT || state == MEMBER_HERE;
}

static enum skiff_status run_round(struct server_shard *h, int present, struct skiff_error *err)
{
    struct server *s = h->server;
    enum skiff_status status = SKIFF_OK;
    pthread_rwlock_wrlock(&s->rate);
    if (s->rate_steps <= h->step) { /* another shard may have done it for this step */
        s->rate_steps = h->step + 1;
        status = rate_run(s, err);
    }
    pthread_rwlock_unlock(&s->rate);
    for (int i = 0; i < h->nslices && status == SKIFF_OK; i++)
        status = slice_step(s, h, h->slices[i], present, err);
    return status;
}

static bool same_want(const struct ps_exchange *a, const struct ps_exchange *b)
{
    return a->nwant == b->nwant &&
           (!a->nwant || !memcmp(a->want, b->want, a->nwant * sizeof(uint32_t)));
}

/* Trainers that want the same variables get the same bytes. `first` lies in the body of a request
 * that is answered meanwhile. */
static void reply_round(struct server_shard *h)
{
    struct server *s = h->server;
    struct blob *shared = NULL, *body = blob_ref(h->deferred_replies[0].request->body);
    const struct ps_exchange *first = &h->deferred_replies[0].x;
    for (int i = 0; i < h->ndeferred_replies; i++) {
        struct deferred_reply *p = &h->deferred_replies[i];
        if (shared && same_want(first, &p->x)) {
            metric_add(s->counts.pulls, (int64_t)p->x.nwant);
            metric_add(s->counts.bytes_out, (int64_t)shared->len);
            rpc_reply(p->request, blob_ref(shared));
            continue;
        }
        struct wire_writer w;
        struct skiff_error err;
        writer_init(&w);
        if (i || write_wanted(s, h, &p->x, &w, &err) < 0 || writer_finish(&w, &shared, &err) < 0) {
            writer_deinit(&w);
            reply_wanted(h, p->request, &p->x);
            continue;
        }
        metric_add(s->counts.pulls, (int64_t)p->x.nwant);
        metric_add(s->counts.bytes_out, (int64_t)shared->len);
        rpc_reply(p->request, blob_ref(shared));
    }
    blob_unref(shared);
    blob_unref(body);
}

static void unpark(struct server_shard *h, const struct skiff_error *reason)
{
    if (h->ndeferred_replies && !reason)
        reply_round(h);
    for (int i = 0; i < h->ndeferred_replies && reason; i++)
        rpc_fail(h->deferred_replies[i].request, reason);
    h->ndeferred_replies = 0;
}

/* Finishes the step if no trainer is missing. */
static void try_finish(struct server_shard *h)
{
    struct server *s = h->server;
    struct skiff_error err;
    int present = 0;
    for (int t = 0; t < s->plan->trainers; t++) {
        if (is_awaited(h, t))
            return;
        present += h->ended[t];
    }
    if (!present)
        return;
    if (run_round(h, present, &err) < 0) {
        server_fail(s, &err);
        unpark(h, &err);
        return;
    }
    h->step++;
    for (int i = 0; i < h->ndeferred_replies; i++)
        h->done[h->deferred_replies[i].trainer] = h->deferred_replies[i].x.step + 1;
    metric_add(s->counts.steps, h->index == 0);
    memset(h->ended, 0, (size_t)s->plan->trainers * sizeof *h->ended);
    unpark(h, NULL);
    pulls_review(h);
}

void exchange_add_waits(struct server *s, struct ps_status *out)
{
    for (int i = 0; mode_waits(s->plan->mode) && i < s->nshards; i++) {
        struct server_shard *h = &s->shards[i];
        char what[64];
        pthread_mutex_lock(&h->lock);
        int64_t since = CLOCK_NEVER;
        for (int k = 0; k < h->ndeferred_replies; k++)
            since = clock_min(since, h->deferred_replies[k].since);
        snprintf(what, sizeof what, "step %llu", (unsigned long long)h->step);
        if (h->ndeferred_replies && status_wait_begin(out, what, since))
            for (int t = 0; t < s->plan->trainers; t++)
                if (is_awaited(h, t))
                    status_wait_add(out, (uint32_t)t);
        pthread_mutex_unlock(&h->lock);
    }
}

void exchange_review(struct server *s)
{
    for (int i = 0; mode_waits(s->plan->mode) && i < s->nshards; i++) {
        pthread_mutex_lock(&s->shards[i].lock);
        try_finish(&s->shards[i]);
        pthread_mutex_unlock(&s->shards[i].lock);
    }
}

void exchange_end(struct server *s, const struct skiff_error *reason)
{
    for (int i = 0; i < s->nshards; i++) {
        pthread_mutex_lock(&s->shards[i].lock);
        unpark(&s->shards[i], reason);
        pulls_end(&s->shards[i], reason);
        quiesce_fail(&s->shards[i], reason);
        pthread_mutex_unlock(&s->shards[i].lock);
    }
}

/* ---- a message ---- */

static enum skiff_status check_sender(const struct server *s, const struct rpc_request *q,
                                      const struct ps_exchange *x, struct skiff_error *err)
{
    char id[NET_ID_TEXT], text[320];
    if (x->trainer >= (uint32_t)s->plan->trainers)
        return error_set(err, SKIFF_RANGE, "trainer %u: %s was started for %d trainers", x->trainer,
                         server_text(s, text), s->plan->trainers);
    if (q->sender.role != NET_WORKER || q->sender.index != x->trainer)
        return error_set(err, SKIFF_INVALID, "%s sends as trainer %u", net_id_print(q->sender, id),
                         x->trainer);
    return SKIFF_OK;
}

static enum skiff_status check_items(struct server *s, const struct server_shard *h,
                                     const struct ps_exchange *x, struct skiff_error *err)
{
    for (uint32_t i = 0; i < x->pieces.n; i++) {
        const struct ps_piece item = ps_piece_at(&x->pieces, i);
        const struct bound_var *v;
        TRY(bound_get(s, item.number, PS_PUSH_DENSE | PS_PUSH_ROWS, h->index, &v, err));
        TRY(v->counter ? check_counter(v, &item, err) : slice_check(s, v, &item, err));
    }
    return SKIFF_OK;
}

static void count_items(struct server *s, const struct rpc_request *q, const struct ps_exchange *x)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < x->pieces.n; i++)
        rows += ps_piece_at(&x->pieces, i).nrows;
    metric_add(s->counts.pushes, (int64_t)x->pieces.n);
    metric_add(s->counts.rows_pushed, (int64_t)rows);
    metric_add(s->counts.bytes_in, (int64_t)blob_len(q->body));
}

static void keep_push(struct param_slice *u, struct rpc_request *q, uint32_t trainer,
                      const struct ps_piece *item)
{
    if (u->npushes == u->pushes_cap) {
        u->pushes_cap = u->pushes_cap ? 2 * u->pushes_cap : 4;
        u->pushes = mem_grow_or_die(u->pushes, (size_t)u->pushes_cap * sizeof *u->pushes);
    }
    u->pushes[u->npushes] = (struct pending_push){
        .trainer = trainer, .order = u->npushes, .item = *item, .body = blob_ref(q->body)};
    u->npushes++;
}

static enum skiff_status take_items(struct server *s, struct server_shard *h, struct rpc_request *q,
                                    const struct ps_exchange *x, struct skiff_error *err)
{
    for (uint32_t i = 0; i < x->pieces.n; i++) {
        const struct ps_piece item = ps_piece_at(&x->pieces, i);
        const struct bound_var *v = &s->bound[item.number];
        if (v->counter)
            TRY(add_counter(s, v->value, &item, err));
        else if (mode_waits(s->plan->mode))
            keep_push(v->slice, q, x->trainer, &item);
        else
            TRY(slice_apply(s, h, v->slice, x->trainer, &item, err));
    }
    return SKIFF_OK;
}

static void leave_barrier(struct server_shard *h, uint32_t trainer)
{
    h->gone[trainer] = true;
    for (int i = 0; i < h->nslices; i++)
        slice_forget(h->slices[i], (int)trainer);
}

/* A new process has taken the place of a dead one: the running step is the new one's. */
void exchange_new_incarnation(struct server_shard *h, const struct rpc_request *q, uint32_t trainer)
{
    struct skiff_error err;
    if (h->incarnations[trainer] == q->incarnation)
        return;
    h->incarnations[trainer] = q->incarnation;
    h->done[trainer] = 0;
    quiesce_forget(h, trainer);
    pulls_forget(h, trainer, q->incarnation);
    h->ended[trainer] = h->gone[trainer] = false;
    for (int i = 0; i < h->nslices; i++)
        slice_forget(h->slices[i], (int)trainer);
    for (int i = 0; i < h->ndeferred_replies; i++)
        if (h->deferred_replies[i].trainer == trainer) {
            error_set(&err, SKIFF_STATE, "another process has replaced trainer %u", trainer);
            rpc_fail(h->deferred_replies[i].request, &err);
            h->deferred_replies[i] = h->deferred_replies[--h->ndeferred_replies];
            return;
        }
}

/* True: the reply is deferred. x lies in the request, which lives until it is answered. */
static bool end_step(struct server_shard *h, struct rpc_request *q, const struct ps_exchange *x,
                     struct skiff_error *err)
{
    char text[320];
    if (h->ended[x->trainer]) {
        error_set(err, SKIFF_STATE,
                  "trainer %u has ended step %llu of %s already and waits for the others",
                  x->trainer, (unsigned long long)x->step, server_text(h->server, text));
        return false;
    }
    h->ended[x->trainer] = true;
    h->gone[x->trainer] = x->flags & PS_GONE;
    h->deferred_replies[h->ndeferred_replies++] =
        (struct deferred_reply){.request = q, .trainer = x->trainer, .since = clock_now(), .x = *x};
    return true;
}

void exchange_now(struct server_shard *h, struct rpc_request *q, const struct ps_exchange *x)
{
    struct server *s = h->server;
    struct skiff_error err = {0};
    bool waits = mode_waits(s->plan->mode);
    enum skiff_status status = check_sender(s, q, x, &err);
    if (status == SKIFF_OK)
        status = check_items(s, h, x, &err);
    if (status == SKIFF_OK)
        status = check_wanted(s, h, x, &err);
    if (status < 0) {
        rpc_fail(q, &err);
        return;
    }
    count_items(s, q, x);
    exchange_new_incarnation(h, q, x->trainer);
    slice_hear(h, q);
    quiesce_note(h, x);
    if (waits && (x->pieces.n || (x->flags & (PS_END_STEP | PS_BACK))))
        h->gone[x->trainer] = false; /* it has data again: the next epoch has begun */
    status = take_items(s, h, q, x, &err);
    if (status < 0) { /* it was checked before, so this is an internal failure */
        server_fail(s, &err);
        rpc_fail(q, &err);
        return;
    }
    bool deferred_replies = waits && (x->flags & PS_END_STEP) && end_step(h, q, x, &err);
    if (waits && (x->flags & PS_END_STEP) && !deferred_replies) {
        rpc_fail(q, &err);
        return;
    }
    if (waits && (x->flags & PS_GONE) && !deferred_replies)
        leave_barrier(h, x->trainer);
    if (!deferred_replies)
        reply_wanted(h, q, x);
    if (waits) {
        try_finish(h);
    } else if (x->flags & PS_END_STEP) {
        h->done[x->trainer] = x->step + 1;
        pulls_review(h);
    }
}

void on_exchange(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct server_shard *h = &s->shards[q->shard % s->nshards];
    struct ps_exchange x;
    struct skiff_error err;
    if (ps_read_exchange(q->body, &x, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    pthread_mutex_lock(&h->lock);
    if (mode_waits(s->plan->mode) || !quiesce_takes(h, q, &x))
        exchange_now(h, q, &x);
    pthread_mutex_unlock(&h->lock);
}
