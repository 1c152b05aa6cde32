/* Collective calls between workers, on server 0: reductions and messages. A reduction is folded in
 * the order of the workers when all that are in the job have joined it; a message lies here until
 * it is fetched. Workers that leave or die are not waited for.
 *
 * Workers have no connections to each other: everything that they share goes through server 0,
 * which knows the members. The fixed order of folding makes the result independent of the order
 * of arrival, to the bit. Replies are deferred, and the waiting requests are examined again
 * whenever a worker joins or the member list changes (reduce_review). Messages serve the global
 * shuffle; the bytes stored here are limited (MESSAGE_MAX), and a fetch whose message can no
 * longer arrive fails at once. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/coordinator.h"
#include "server/members.h"
#include "server/reduce.h"
#include "server/server_parts.h"
#include "server/status.h"

#define MESSAGE_MAX (UINT64_C(8) << 30) /* bytes of messages that may lie here unfetched */

struct reduction_waiter { /* one worker in a reduction */
    struct rpc_request *request;
    struct ps_reduce what; /* data lie in the request's body */
    int64_t since;
};

struct reduction {
    struct reduction *next;
    char tag[PS_NAME];
    struct reduction_waiter *waiters; /* by worker; request NULL: has not joined yet */
};

struct stored_message {
    struct stored_message *next;
    char tag[PS_NAME];
    uint32_t from, to;
    struct blob *body;
};

struct taker {
    struct taker *next;
    char tag[PS_NAME];
    uint32_t from, to;
    struct rpc_request *request;
    int64_t since;
};

struct reduce_state {
    pthread_mutex_t lock;
    struct reduction *reductions;
    struct stored_message *messages;
    struct taker *takers;
    uint64_t bytes; /* of messages */
    bool met;       /* a reduction has succeeded */
};

pthread_mutex_t *reduce_lock(struct server *s)
{
    return &s->reduce->lock;
}

bool reduce_has_ended(const struct server *s)
{
    return s->reduce->met;
}

struct reduce_state *reduce_create(struct server *s)
{
    struct reduce_state *m = mem_alloc_or_die(sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

void reduce_destroy(struct reduce_state *m)
{
    if (!m)
        return;
    for (struct stored_message *l = m->messages, *next; l; l = next) {
        next = l->next;
        blob_unref(l->body);
        free(l);
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static bool is_in_job(struct server *s, int worker)
{
    enum member_state state = members_state(s, (uint32_t)worker);
    return state == MEMBER_ABSENT || state == MEMBER_HERE;
}

/* ---- reductions ---- */

static double fold_double(const char *op, double a, double b)
{
    if (op[0] == 's')
        return a + b;
    return (op[1] == 'a') == (b > a) ? b : a;
}

static int64_t fold_int(const char *op, int64_t a, int64_t b)
{
    if (op[0] == 's')
        return (int64_t)((uint64_t)a + (uint64_t)b);
    return (op[1] == 'a') == (b > a) ? b : a;
}

/* Starts with the first participant's numbers and adds the others to them. */
static void fold(struct reduction *r, int workers, uint8_t *out)
{
    bool begun = false;
    for (int k = 0; k < workers; k++) {
        const struct ps_reduce *x = &r->waiters[k].what;
        if (!r->waiters[k].request)
            continue;
        for (size_t i = 0; i < x->n; i++) {
            union {
                double d;
                int64_t i;
            } a, b;
            memcpy(&b, x->data + 8 * i, 8);
            memcpy(&a, begun ? out + 8 * i : x->data + 8 * i, 8);
            if (begun && x->dtype == DTYPE_FP64)
                a.d = fold_double(x->op, a.d, b.d);
            else if (begun)
                a.i = fold_int(x->op, a.i, b.i);
            memcpy(out + 8 * i, &a, 8);
        }
        begun = true;
    }
}

static void reduction_remove(struct reduce_state *m, struct reduction *r)
{
    struct reduction **at = &m->reductions;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    free(r->waiters);
    free(r);
}

static void reduction_fail(struct server *s, struct reduction *r, const struct skiff_error *err)
{
    for (int k = 0; k < s->plan->trainers; k++)
        if (r->waiters[k].request)
            rpc_fail(r->waiters[k].request, err);
}

static void reduction_answer(struct server *s, struct reduction *r,
                             const struct reduction_waiter *first)
{
    struct ps_reduce result = first->what;
    struct wire_writer w;
    struct blob *reply = NULL;
    struct skiff_error err;
    uint8_t *sum = mem_alloc_or_die(result.n * 8 + 1);
    fold(r, s->plan->trainers, sum);
    result.data = sum;
    writer_init(&w);
    ps_write_reduce(&w, &result);
    enum skiff_status status = writer_finish(&w, &reply, &err);
    free(sum);
    if (status < 0) {
        reduction_fail(s, r, &err);
        return;
    }
    for (int k = 0; k < s->plan->trainers; k++)
        if (r->waiters[k].request)
            rpc_reply(r->waiters[k].request, blob_ref(reply));
    blob_unref(reply);
}

/* Ends the reduction if no worker is missing; true: it is freed. */
static bool reduction_try(struct server *s, struct reduction *r)
{
    const struct reduction_waiter *first = NULL;
    for (int k = 0; k < s->plan->trainers; k++) {
        if (r->waiters[k].request && !first)
            first = &r->waiters[k];
        if (!r->waiters[k].request && coordinator_awaits(s, k))
            return false;
    }
    char tag[PS_NAME];
    strcpy(tag, r->tag);
    if (first)
        reduction_answer(s, r, first);
    s->reduce->met |= first != NULL;
    reduction_remove(s->reduce, r);
    if (first)
        coordinator_reduction_over(s, tag);
    return true;
}

static struct reduction *reduction_find(struct server *s, const char *tag)
{
    struct reduce_state *m = s->reduce;
    for (struct reduction *r = m->reductions; r; r = r->next)
        if (!strcmp(r->tag, tag))
            return r;
    struct reduction *r = mem_alloc_or_die(sizeof *r);
    strcpy(r->tag, tag);
    r->waiters = mem_alloc_or_die((size_t)s->plan->trainers * sizeof *r->waiters);
    r->next = m->reductions;
    m->reductions = r;
    return r;
}

static enum skiff_status check_waiter(struct server *s, const struct reduction *r,
                                      const struct rpc_request *q, const struct ps_reduce *x,
                                      struct skiff_error *err)
{
    if (x->worker >= (uint32_t)s->plan->trainers || q->sender.role != NET_WORKER ||
        q->sender.index != x->worker)
        return error_set(
            err, SKIFF_INVALID,
            "reduction %s: the request for worker %u of %d was sent by another process", x->tag,
            x->worker, s->plan->trainers);
    TRY(coordinator_check_waiter(s, q, x->tag, err));
    if (x->dtype != DTYPE_FP64 && x->dtype != DTYPE_INT64)
        return error_set(err, SKIFF_DTYPE, "reduction %s: float64 or int64 is needed", x->tag);
    for (int k = 0; r && k < s->plan->trainers; k++) {
        const struct ps_reduce *y = &r->waiters[k].what;
        if (!r->waiters[k].request)
            continue;
        if ((uint32_t)k == x->worker && r->waiters[k].request->incarnation != q->incarnation)
            continue; /* of a process that has died */
        if ((uint32_t)k == x->worker)
            return error_set(err, SKIFF_STATE, "reduction %s: worker %d has joined it already",
                             x->tag, k);
        if (y->n != x->n || y->dtype != x->dtype || strcmp(y->op, x->op))
            return error_set(
                err, SKIFF_INVALID,
                "reduction %s: worker %u contributes %s of %zu numbers of type %u, worker "
                "%d %s of %zu of type %u",
                x->tag, x->worker, x->op, x->n, x->dtype, k, y->op, y->n, y->dtype);
    }
    return SKIFF_OK;
}

void on_reduce(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_reduce x;
    struct skiff_error err;
    if (ps_read_reduce(q->body, &x, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    pthread_mutex_lock(&s->reduce->lock);
    struct reduction *r = NULL;
    for (struct reduction *at = s->reduce->reductions; at && !r; at = at->next)
        r = strcmp(at->tag, x.tag) ? NULL : at;
    if (check_waiter(s, r, q, &x, &err) < 0) {
        rpc_fail(q, &err);
    } else {
        r = reduction_find(s, x.tag);
        if (r->waiters[x.worker].request) {
            error_set(&err, SKIFF_STATE, "another process has replaced worker %u", x.worker);
            rpc_fail(r->waiters[x.worker].request, &err);
        }
        r->waiters[x.worker] = (struct reduction_waiter){q, x, clock_now()};
        coordinator_arrival(s);
        reduction_try(s, r);
    }
    pthread_mutex_unlock(&s->reduce->lock);
}

/* ---- messages ---- */

static struct stored_message *message_take(struct reduce_state *m, const char *tag, uint32_t from,
                                           uint32_t to)
{
    struct stored_message **at = &m->messages;
    while (*at && ((*at)->from != from || (*at)->to != to || strcmp((*at)->tag, tag)))
        at = &(*at)->next;
    struct stored_message *l = *at;
    if (l) {
        *at = l->next;
        m->bytes -= l->body->len;
    }
    return l;
}

static bool deliver(struct reduce_state *m, const struct taker *t)
{
    struct stored_message *l = message_take(m, t->tag, t->from, t->to);
    if (!l)
        return false;
    rpc_reply(t->request, l->body); /* as it arrived, with the reference */
    free(l);
    return true;
}

static void message_keep(struct reduce_state *m, const struct ps_message *x, struct blob *body)
{
    struct stored_message *l = mem_alloc_or_die(sizeof *l), **end = &m->messages;
    strcpy(l->tag, x->tag);
    l->from = x->from;
    l->to = x->to;
    l->body = blob_ref(body);
    while (*end)
        end = &(*end)->next;
    *end = l;
    m->bytes += body->len;
}

/* Answers every waiting fetch whose message is here, and fails those whose message cannot
 * arrive. */
static void review_takers(struct server *s)
{
    struct reduce_state *m = s->reduce;
    struct skiff_error err;
    for (struct taker **at = &m->takers, *t; (t = *at);) {
        bool done = deliver(m, t);
        if (!done && !is_in_job(s, (int)t->from)) {
            error_set(&err, SKIFF_PEER,
                      "message \"%s\" from worker %u: that worker is no longer in the job", t->tag,
                      t->from);
            rpc_fail(t->request, &err);
            done = true;
        }
        if (done) {
            *at = t->next;
            free(t);
        } else {
            at = &t->next;
        }
    }
}

static enum skiff_status read_message(struct server *s, struct rpc_request *q, bool taking,
                                      struct ps_message *x, struct skiff_error *err)
{
    uint32_t workers = (uint32_t)s->plan->trainers;
    TRY(ps_read_message(q->body, x, err));
    uint32_t self = taking ? x->to : x->from;
    if (x->from >= workers || x->to >= workers || q->sender.role != NET_WORKER ||
        q->sender.index != self)
        return error_set(err, SKIFF_INVALID,
                         "message \"%s\" from worker %u to %u of %u: requested by another process",
                         x->tag, x->from, x->to, workers);
    return SKIFF_OK;
}

void on_message_put(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_message x;
    struct skiff_error err;
    enum skiff_status status = read_message(s, q, false, &x, &err);
    pthread_mutex_lock(&s->reduce->lock);
    if (status == SKIFF_OK && s->reduce->bytes + q->body->len > MESSAGE_MAX)
        status = error_set(
            &err, SKIFF_NOMEM,
            "message \"%s\" for worker %u: %llu bytes of unfetched messages are on server "
            "%d already",
            x.tag, x.to, (unsigned long long)s->reduce->bytes, s->index);
    if (status == SKIFF_OK) {
        coordinator_arrival(s);
        message_keep(s->reduce, &x, q->body);
        review_takers(s);
    }
    pthread_mutex_unlock(&s->reduce->lock);
    if (status < 0)
        rpc_fail(q, &err);
    else
        rpc_reply(q, NULL);
}

void on_message_take(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_message x;
    struct skiff_error err;
    if (read_message(s, q, true, &x, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    struct taker *t = mem_alloc_or_die(sizeof *t), **end = &s->reduce->takers;
    strcpy(t->tag, x.tag);
    t->from = x.from;
    t->to = x.to;
    t->request = q;
    t->since = clock_now();
    pthread_mutex_lock(&s->reduce->lock);
    while (*end)
        end = &(*end)->next;
    *end = t;
    review_takers(s);
    pthread_mutex_unlock(&s->reduce->lock);
}

/* ---- for the server ---- */

void reduce_add_waits(struct server *s, struct ps_status *out)
{
    pthread_mutex_lock(&s->reduce->lock);
    for (const struct reduction *r = s->reduce->reductions; r; r = r->next) {
        int64_t since = CLOCK_NEVER;
        for (int k = 0; k < s->plan->trainers; k++)
            if (r->waiters[k].request)
                since = clock_min(since, r->waiters[k].since);
        if (!status_wait_begin(out, r->tag, since))
            continue;
        for (int k = 0; k < s->plan->trainers; k++)
            if (!r->waiters[k].request && coordinator_awaits(s, k))
                status_wait_add(out, (uint32_t)k);
    }
    for (const struct taker *t = s->reduce->takers; t; t = t->next)
        if (status_wait_begin(out, "samples of a global shuffle", t->since))
            status_wait_add(out, t->from);
    coordinator_add_waits(s, out);
    pthread_mutex_unlock(&s->reduce->lock);
}

void reduce_review(struct server *s)
{
    pthread_mutex_lock(&s->reduce->lock);
    for (struct reduction *r = s->reduce->reductions, *next; r; r = next) {
        next = r->next;
        reduction_try(s, r);
    }
    review_takers(s);
    coordinator_review(s);
    pthread_mutex_unlock(&s->reduce->lock);
}

void reduce_end(struct server *s, const struct skiff_error *reason)
{
    pthread_mutex_lock(&s->reduce->lock);
    while (s->reduce->reductions) {
        reduction_fail(s, s->reduce->reductions, reason);
        reduction_remove(s->reduce, s->reduce->reductions);
    }
    while (s->reduce->takers) {
        struct taker *t = s->reduce->takers;
        s->reduce->takers = t->next;
        rpc_fail(t->request, reason);
        free(t);
    }
    coordinator_end(s, reason);
    pthread_mutex_unlock(&s->reduce->lock);
}
