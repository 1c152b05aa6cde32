/* PS_EXCHANGE: pushes in, wanted values out.
 *
 * Everything in a message is checked before anything of it counts, so a refused message has changed
 * nothing. In all modes but sync it is applied at once and answered with the values after it.
 *
 * Sync: pushes are kept with the message they lie in; who ends the step is parked, unanswered; when
 * nobody is missing any more the round is finished: learning rate, units, replies. The answer is
 * the barrier: trainers need no further message to know that the step is over. A shard does all
 * that by itself, without the others, so shards may be a step apart; the learning rate, which they
 * share, is run by the first one that comes to a step (rate_rounds).
 *
 * Who is missing: trainers that are in the job (or have not come yet) and have data. One that dies
 * or leaves is noticed elsewhere (people.c), so every change of the list looks at the rounds again
 * (exchange_review). One without data (PS_GONE) is not waited for until it pushes again. A new
 * process in a dead one's place begins the running step anew: what the dead one pushed for it is
 * dropped, or the step would count twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/server_parts.h"

/* ---- wanted values ---- */

static struct skiff_tensor *wanted(struct server *s, const char *name, struct unit **out_unit)
{
    *out_unit = str_map_get(&s->by_var, name);
    if (*out_unit && (*out_unit)->table)
        return NULL;
    struct skiff_tensor *v = *out_unit || block_own_var(program_root(s->program), name)
                                 ? scope_find(s->scope, name)
                                 : NULL;
    return v && v->kind == VALUE_TENSOR ? v : NULL;
}

static enum skiff_status check_wanted(struct server *s, const struct shard *h,
                                      const struct ps_exchange *x, struct skiff_error *err)
{
    char text[320];
    struct unit *u;
    for (uint32_t i = 0; i < x->nwant; i++) {
        if (!wanted(s, x->want[i], &u))
            return error_set(err, SKIFF_NOT_FOUND, "%s has no variable %s to give",
                             server_text(s, text), x->want[i]);
        if (u && u->shard != h->index)
            return error_set(err, SKIFF_INVALID, "%s belongs to shard %d of %s, not to %d",
                             x->want[i], u->shard, server_text(s, text), h->index);
    }
    return SKIFF_OK;
}

static enum skiff_status write_wanted(struct server *s, const struct ps_exchange *x,
                                      struct wire_writer *w, struct skiff_error *err)
{
    struct ps_item *items = mem_must((x->nwant + 1) * sizeof *items);
    size_t bytes = 16;
    enum skiff_status status = SKIFF_OK;
    for (uint32_t i = 0; i < x->nwant && status == SKIFF_OK; i++) {
        struct unit *u;
        struct skiff_tensor *v = wanted(s, x->want[i], &u);
        struct ps_item *item = &items[i];
        if (u && value_lag(v))
            unit_keep_all(s, u);
        value_settle(v);
        memcpy(item->name, x->want[i], PS_NAME);
        item->dtype = (uint32_t)v->tensor.dtype;
        item->ndim = v->tensor.shape.ndim;
        memcpy(item->dims, v->tensor.shape.dims, sizeof item->dims);
        item->data = v->tensor.data;
        item->bytes = tensor_bytes(&v->tensor);
        bytes += item->bytes + PS_NAME + 128;
        if (u && v == u->param_value)
            status = unit_backup(s, u, x->trainer, NULL, 0, err);
    }
    pthread_rwlock_rdlock(&s->rate); /* learning rates may be among them */
    writer_reserve(w, bytes);
    ps_write_items(w, items, x->nwant);
    pthread_rwlock_unlock(&s->rate);
    free(items);
    return status;
}

static void reply_wanted(struct server *s, struct rpc_request *q, const struct ps_exchange *x)
{
    struct wire_writer w;
    struct skiff_error err;
    writer_init(&w);
    metric_add(s->counts.pulls, (int64_t)x->nwant);
    if (write_wanted(s, x, &w, &err) < 0) {
        writer_deinit(&w);
        rpc_fail(q, &err);
    } else {
        reply_written(s, q, &w);
    }
}

/* ---- counters ---- */

/* "@LR_DECAY_COUNTER@.trainer_0": added to; the rate is computed anew. */
static enum skiff_status check_counter(const struct skiff_tensor *v, const struct ps_item *item,
                                       struct skiff_error *err)
{
    bool known = item->dtype == DTYPE_INT64 || item->dtype == DTYPE_FP32;
    if (v->kind != VALUE_TENSOR || tensor_numel(&v->tensor) != 1 || !known || item->has_rows ||
        item->dtype != (uint32_t)v->tensor.dtype ||
        item->bytes != dtype_size((enum dtype)item->dtype))
        return error_set(err, SKIFF_SHAPE, "counter %s must be one number of the server's type",
                         item->name);
    return SKIFF_OK;
}

static enum skiff_status add_counter(struct server *s, struct skiff_tensor *v,
                                     const struct ps_item *item, struct skiff_error *err)
{
    pthread_rwlock_wrlock(&s->rate);
    if (item->dtype == DTYPE_INT64) {
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

/* ---- rounds ---- */

static bool is_awaited(struct shard *h, int trainer)
{
    if (h->ended[trainer] || h->gone[trainer])
        return false;
    enum member_state state = people_state(h->server, (uint32_t)trainer);
    return state == MEMBER_ABSENT || state == MEMBER_HERE;
}

static enum skiff_status run_round(struct shard *h, int present, struct skiff_error *err)
{
    struct server *s = h->server;
    enum skiff_status status = SKIFF_OK;
    pthread_rwlock_wrlock(&s->rate);
    if (s->rate_rounds <= h->round) { /* another shard may have done it for this step */
        s->rate_rounds = h->round + 1;
        status = rate_run(s, err);
    }
    pthread_rwlock_unlock(&s->rate);
    for (int i = 0; i < h->nunits && status == SKIFF_OK; i++)
        status = unit_step(s, h, h->units[i], present, err);
    return status;
}

static bool same_want(const struct ps_exchange *a, const struct ps_exchange *b)
{
    return a->nwant == b->nwant &&
           (!a->nwant || !memcmp(a->want, b->want, a->nwant * sizeof *a->want));
}

/* Trainers that want the same get the same bytes. */
static void reply_round(struct shard *h)
{
    struct server *s = h->server;
    struct blob *shared = NULL;
    const struct ps_exchange *first = &h->parked[0].x;
    for (int i = 0; i < h->nparked; i++) {
        struct parked *p = &h->parked[i];
        if (shared && same_want(first, &p->x)) {
            metric_add(s->counts.pulls, (int64_t)p->x.nwant);
            metric_add(s->counts.bytes_out, (int64_t)shared->len);
            rpc_reply(p->request, blob_ref(shared));
            continue;
        }
        struct wire_writer w;
        struct skiff_error err;
        writer_init(&w);
        if (i || write_wanted(s, &p->x, &w, &err) < 0 || writer_finish(&w, &shared, &err) < 0) {
            writer_deinit(&w);
            reply_wanted(s, p->request, &p->x);
            continue;
        }
        metric_add(s->counts.pulls, (int64_t)p->x.nwant);
        metric_add(s->counts.bytes_out, (int64_t)shared->len);
        rpc_reply(p->request, blob_ref(shared));
    }
    blob_unref(shared);
}

static void unpark(struct shard *h, const struct skiff_error *reason)
{
    if (h->nparked && !reason)
        reply_round(h);
    for (int i = 0; i < h->nparked; i++) {
        if (reason)
            rpc_fail(h->parked[i].request, reason);
        ps_exchange_deinit(&h->parked[i].x);
    }
    h->nparked = 0;
}

/* Ends the round if nobody is missing. */
static void try_finish(struct shard *h)
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
    h->round++;
    for (int i = 0; i < h->nparked; i++)
        h->done[h->parked[i].trainer] = h->parked[i].x.step + 1;
    metric_add(s->counts.steps, h->index == 0);
    memset(h->ended, 0, (size_t)s->plan->trainers * sizeof *h->ended);
    unpark(h, NULL);
    pulls_review(h);
}

void exchange_add_waits(struct server *s, struct ps_status *out)
{
    for (int i = 0; mode_waits(s->plan->mode) && i < s->nshards; i++) {
        struct shard *h = &s->shards[i];
        char what[64];
        pthread_mutex_lock(&h->lock);
        int64_t since = CLOCK_NEVER;
        for (int k = 0; k < h->nparked; k++)
            since = clock_min(since, h->parked[k].since);
        snprintf(what, sizeof what, "step %llu", (unsigned long long)h->round);
        if (h->nparked && status_wait_begin(out, what, since))
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
        hold_fail(&s->shards[i], reason);
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
        return error_set(err, SKIFF_INVALID, "%s speaks as trainer %u", net_id_print(q->sender, id),
                         x->trainer);
    return SKIFF_OK;
}

static enum skiff_status check_items(struct server *s, const struct shard *h,
                                     const struct ps_exchange *x, struct skiff_error *err)
{
    char text[320];
    for (uint32_t i = 0; i < x->nitems; i++) {
        const struct ps_item *item = &x->items[i];
        const struct skiff_tensor *counter = str_map_get(&s->counters_in, item->name);
        if (counter) {
            TRY(check_counter(counter, item, err));
            continue;
        }
        const struct unit *u = unit_of_grad(s, item->name);
        if (!u)
            return error_set(err, SKIFF_NOT_FOUND,
                             "%s does not live on %s: the trainer's program was split otherwise",
                             item->name, server_text(s, text));
        if (u->shard != h->index)
            return error_set(err, SKIFF_INVALID, "%s belongs to shard %d of %s, not to %d",
                             item->name, u->shard, server_text(s, text), h->index);
        TRY(unit_check(s, u, item, err));
    }
    return SKIFF_OK;
}

static void count_items(struct server *s, const struct rpc_request *q, const struct ps_exchange *x)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < x->nitems; i++)
        rows += x->items[i].has_rows ? (uint64_t)x->items[i].nrows : 0;
    metric_add(s->counts.pushes, (int64_t)x->nitems);
    metric_add(s->counts.rows_pushed, (int64_t)rows);
    metric_add(s->counts.bytes_in, (int64_t)blob_len(q->body));
}

static void keep_push(struct unit *u, struct rpc_request *q, uint32_t trainer,
                      const struct ps_item *item)
{
    if (u->npushes == u->pushes_cap) {
        u->pushes_cap = u->pushes_cap ? 2 * u->pushes_cap : 4;
        u->pushes = mem_must_grow(u->pushes, (size_t)u->pushes_cap * sizeof *u->pushes);
    }
    u->pushes[u->npushes] = (struct push){
        .trainer = trainer, .order = u->npushes, .item = *item, .body = blob_ref(q->body)};
    u->npushes++;
}

static enum skiff_status take_items(struct server *s, struct shard *h, struct rpc_request *q,
                                    const struct ps_exchange *x, struct skiff_error *err)
{
    for (uint32_t i = 0; i < x->nitems; i++) {
        const struct ps_item *item = &x->items[i];
        struct skiff_tensor *counter = str_map_get(&s->counters_in, item->name);
        struct unit *u = counter ? NULL : unit_of_grad(s, item->name);
        if (counter)
            TRY(add_counter(s, counter, item, err));
        else if (mode_waits(s->plan->mode))
            keep_push(u, q, x->trainer, item);
        else
            TRY(unit_apply(s, h, u, x->trainer, item, err));
    }
    return SKIFF_OK;
}

static void leave_barrier(struct shard *h, uint32_t trainer)
{
    h->gone[trainer] = true;
    for (int i = 0; i < h->nunits; i++)
        unit_forget(h->units[i], (int)trainer);
}

/* A new process in the place of one that died: the running step is the new one's. */
void exchange_new_life(struct shard *h, const struct rpc_request *q, uint32_t trainer)
{
    struct skiff_error err;
    if (h->lives[trainer] == q->incarnation)
        return;
    h->lives[trainer] = q->incarnation;
    h->done[trainer] = 0;
    hold_forget(h, trainer);
    pulls_forget(h, trainer, q->incarnation);
    h->ended[trainer] = h->gone[trainer] = false;
    for (int i = 0; i < h->nunits; i++)
        unit_forget(h->units[i], (int)trainer);
    for (int i = 0; i < h->nparked; i++)
        if (h->parked[i].trainer == trainer) {
            error_set(&err, SKIFF_STATE, "another process has taken the place of trainer %u",
                      trainer);
            rpc_fail(h->parked[i].request, &err);
            ps_exchange_deinit(&h->parked[i].x);
            h->parked[i] = h->parked[--h->nparked];
            return;
        }
}

/* True: the request is parked, and x belongs to the shard now. */
static bool end_step(struct shard *h, struct rpc_request *q, const struct ps_exchange *x,
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
    h->parked[h->nparked++] =
        (struct parked){.request = q, .trainer = x->trainer, .since = clock_now(), .x = *x};
    return true;
}

/* Gives true when x has found another owner. */
static bool exchange(struct server *s, struct shard *h, struct rpc_request *q,
                     struct ps_exchange *x)
{
    struct skiff_error err = {0};
    bool waits = mode_waits(s->plan->mode);
    enum skiff_status status = check_sender(s, q, x, &err);
    if (status == SKIFF_OK)
        status = check_items(s, h, x, &err);
    if (status == SKIFF_OK)
        status = check_wanted(s, h, x, &err);
    if (status < 0) {
        rpc_fail(q, &err);
        return false;
    }
    count_items(s, q, x);
    exchange_new_life(h, q, x->trainer);
    unit_hear(h, q);
    hold_note(h, x);
    if (waits && (x->nitems || (x->flags & (PS_END_STEP | PS_BACK))))
        h->gone[x->trainer] = false; /* it has data again: the next epoch */
    status = take_items(s, h, q, x, &err);
    if (status < 0) { /* checked before: this is a failure of ours */
        server_fail(s, &err);
        rpc_fail(q, &err);
        return false;
    }
    bool parked = waits && (x->flags & PS_END_STEP) && end_step(h, q, x, &err);
    if (waits && (x->flags & PS_END_STEP) && !parked) {
        rpc_fail(q, &err);
        return false;
    }
    if (waits && (x->flags & PS_GONE) && !parked)
        leave_barrier(h, x->trainer);
    if (!parked)
        reply_wanted(s, q, x);
    if (waits) {
        try_finish(h);
    } else if (x->flags & PS_END_STEP) {
        h->done[x->trainer] = x->step + 1;
        pulls_review(h);
    }
    return parked;
}

void exchange_now(struct shard *h, struct rpc_request *q, struct ps_exchange *x)
{
    if (!exchange(h->server, h, q, x))
        ps_exchange_deinit(x);
}

void on_exchange(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct shard *h = &s->shards[q->shard % s->nshards];
    struct ps_exchange x;
    struct skiff_error err;
    if (ps_read_exchange(q->body, &x, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    pthread_mutex_lock(&h->lock);
    if (mode_waits(s->plan->mode) || !hold_takes(h, q, &x))
        exchange_now(h, q, &x);
    pthread_mutex_unlock(&h->lock);
}
