/* Server 0: what workers do together. A reduction is folded in the order of the workers when all
 * that are in the job have come; mail lies here until it is fetched. Who leaves or dies is not
 * waited for.
 *
 * Workers have no connections to each other: all that they share goes through server 0, which knows
 * who is in the job. The order of folding makes the result independent of who comes first, to the
 * bit. Requests wait here unanswered, and are looked at again whenever somebody comes, or the list
 * of members changes (meet_review). Mail serves the global shuffle; what lies here is bounded
 * (MAIL_MAX), and a letter that cannot come any more fails its taker at once. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/server_parts.h"

#define MAIL_MAX (UINT64_C(8) << 30) /* bytes that may lie here unfetched */

struct guest { /* one worker in a reduction */
    struct rpc_request *request;
    struct ps_reduce what; /* data lie in the request's body */
    int64_t since;
};

struct reduction {
    struct reduction *next;
    char tag[PS_NAME];
    struct guest *guests; /* by worker; request NULL: has not come */
};

struct letter {
    struct letter *next;
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

struct meeting_room {
    pthread_mutex_t lock;
    struct reduction *reductions;
    struct letter *letters;
    struct taker *takers;
    uint64_t bytes; /* of letters */
    bool met;       /* a reduction has ended well */
};

pthread_mutex_t *meet_lock(struct server *s)
{
    return &s->meet->lock;
}

bool meet_has_met(const struct server *s)
{
    return s->meet->met;
}

struct meeting_room *meet_create(struct server *s)
{
    struct meeting_room *m = mem_must(sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

void meet_destroy(struct meeting_room *m)
{
    if (!m)
        return;
    for (struct letter *l = m->letters, *next; l; l = next) {
        next = l->next;
        blob_unref(l->body);
        free(l);
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static bool is_in_job(struct server *s, int worker)
{
    enum member_state state = people_state(s, (uint32_t)worker);
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

/* The first guest's numbers, then the others' on top of them. */
static void fold(struct reduction *r, int workers, uint8_t *out)
{
    bool begun = false;
    for (int k = 0; k < workers; k++) {
        const struct ps_reduce *x = &r->guests[k].what;
        if (!r->guests[k].request)
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

static void reduction_remove(struct meeting_room *m, struct reduction *r)
{
    struct reduction **at = &m->reductions;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    free(r->guests);
    free(r);
}

static void reduction_fail(struct server *s, struct reduction *r, const struct skiff_error *err)
{
    for (int k = 0; k < s->plan->trainers; k++)
        if (r->guests[k].request)
            rpc_fail(r->guests[k].request, err);
}

static void reduction_answer(struct server *s, struct reduction *r, const struct guest *first)
{
    struct ps_reduce result = first->what;
    struct wire_writer w;
    struct blob *reply = NULL;
    struct skiff_error err;
    uint8_t *sum = mem_must(result.n * 8 + 1);
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
        if (r->guests[k].request)
            rpc_reply(r->guests[k].request, blob_ref(reply));
    blob_unref(reply);
}

/* Ends it if nobody is missing; true: it is gone. */
static bool reduction_try(struct server *s, struct reduction *r)
{
    const struct guest *first = NULL;
    for (int k = 0; k < s->plan->trainers; k++) {
        if (r->guests[k].request && !first)
            first = &r->guests[k];
        if (!r->guests[k].request && book_awaits(s, k))
            return false;
    }
    char tag[PS_NAME];
    strcpy(tag, r->tag);
    if (first)
        reduction_answer(s, r, first);
    s->meet->met |= first != NULL;
    reduction_remove(s->meet, r);
    if (first)
        book_meeting_over(s, tag);
    return true;
}

static struct reduction *reduction_find(struct server *s, const char *tag)
{
    struct meeting_room *m = s->meet;
    for (struct reduction *r = m->reductions; r; r = r->next)
        if (!strcmp(r->tag, tag))
            return r;
    struct reduction *r = mem_must(sizeof *r);
    strcpy(r->tag, tag);
    r->guests = mem_must((size_t)s->plan->trainers * sizeof *r->guests);
    r->next = m->reductions;
    m->reductions = r;
    return r;
}

static enum skiff_status check_guest(struct server *s, const struct reduction *r,
                                     const struct rpc_request *q, const struct ps_reduce *x,
                                     struct skiff_error *err)
{
    if (x->worker >= (uint32_t)s->plan->trainers || q->sender.role != NET_WORKER ||
        q->sender.index != x->worker)
        return error_set(err, SKIFF_INVALID, "reduction %s: worker %u of %d is not who asks",
                         x->tag, x->worker, s->plan->trainers);
    TRY(book_check_guest(s, q, x->tag, err));
    if (x->dtype != DTYPE_FP64 && x->dtype != DTYPE_INT64)
        return error_set(err, SKIFF_DTYPE, "reduction %s: float64 or int64 is needed", x->tag);
    for (int k = 0; r && k < s->plan->trainers; k++) {
        const struct ps_reduce *y = &r->guests[k].what;
        if (!r->guests[k].request)
            continue;
        if ((uint32_t)k == x->worker && r->guests[k].request->incarnation != q->incarnation)
            continue; /* of a process that has died */
        if ((uint32_t)k == x->worker)
            return error_set(err, SKIFF_STATE, "reduction %s: worker %d has come already", x->tag,
                             k);
        if (y->n != x->n || y->dtype != x->dtype || strcmp(y->op, x->op))
            return error_set(err, SKIFF_INVALID,
                             "reduction %s: worker %u brings %s of %zu numbers of type %u, worker "
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
    pthread_mutex_lock(&s->meet->lock);
    struct reduction *r = NULL;
    for (struct reduction *at = s->meet->reductions; at && !r; at = at->next)
        r = strcmp(at->tag, x.tag) ? NULL : at;
    if (check_guest(s, r, q, &x, &err) < 0) {
        rpc_fail(q, &err);
    } else {
        r = reduction_find(s, x.tag);
        if (r->guests[x.worker].request) {
            error_set(&err, SKIFF_STATE, "another process has taken the place of worker %u",
                      x.worker);
            rpc_fail(r->guests[x.worker].request, &err);
        }
        r->guests[x.worker] = (struct guest){q, x, clock_now()};
        book_arrival(s);
        reduction_try(s, r);
    }
    pthread_mutex_unlock(&s->meet->lock);
}

/* ---- mail ---- */

static struct letter *letter_take(struct meeting_room *m, const char *tag, uint32_t from,
                                  uint32_t to)
{
    struct letter **at = &m->letters;
    while (*at && ((*at)->from != from || (*at)->to != to || strcmp((*at)->tag, tag)))
        at = &(*at)->next;
    struct letter *l = *at;
    if (l) {
        *at = l->next;
        m->bytes -= l->body->len;
    }
    return l;
}

static bool deliver(struct meeting_room *m, const struct taker *t)
{
    struct letter *l = letter_take(m, t->tag, t->from, t->to);
    if (!l)
        return false;
    rpc_reply(t->request, l->body); /* as it came, with the reference */
    free(l);
    return true;
}

static void letter_keep(struct meeting_room *m, const struct ps_mail *x, struct blob *body)
{
    struct letter *l = mem_must(sizeof *l), **end = &m->letters;
    strcpy(l->tag, x->tag);
    l->from = x->from;
    l->to = x->to;
    l->body = blob_ref(body);
    while (*end)
        end = &(*end)->next;
    *end = l;
    m->bytes += body->len;
}

/* Gives every waiting taker his letter, or a no when none can come any more. */
static void review_takers(struct server *s)
{
    struct meeting_room *m = s->meet;
    struct skiff_error err;
    for (struct taker **at = &m->takers, *t; (t = *at);) {
        bool done = deliver(m, t);
        if (!done && !is_in_job(s, (int)t->from)) {
            error_set(&err, SKIFF_PEER, "mail \"%s\" from worker %u: it is not in the job any more",
                      t->tag, t->from);
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

static enum skiff_status read_mail(struct server *s, struct rpc_request *q, bool taking,
                                   struct ps_mail *x, struct skiff_error *err)
{
    uint32_t workers = (uint32_t)s->plan->trainers;
    TRY(ps_read_mail(q->body, x, err));
    uint32_t self = taking ? x->to : x->from;
    if (x->from >= workers || x->to >= workers || q->sender.role != NET_WORKER ||
        q->sender.index != self)
        return error_set(err, SKIFF_INVALID,
                         "mail \"%s\" from worker %u to %u of %u: not asked for by one of them",
                         x->tag, x->from, x->to, workers);
    return SKIFF_OK;
}

void on_mail_put(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_mail x;
    struct skiff_error err;
    enum skiff_status status = read_mail(s, q, false, &x, &err);
    pthread_mutex_lock(&s->meet->lock);
    if (status == SKIFF_OK && s->meet->bytes + q->body->len > MAIL_MAX)
        status = error_set(&err, SKIFF_NOMEM,
                           "mail \"%s\" for worker %u: %llu bytes of unfetched mail lie on server "
                           "%d already",
                           x.tag, x.to, (unsigned long long)s->meet->bytes, s->index);
    if (status == SKIFF_OK) {
        book_arrival(s);
        letter_keep(s->meet, &x, q->body);
        review_takers(s);
    }
    pthread_mutex_unlock(&s->meet->lock);
    if (status < 0)
        rpc_fail(q, &err);
    else
        rpc_reply(q, NULL);
}

void on_mail_take(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_mail x;
    struct skiff_error err;
    if (read_mail(s, q, true, &x, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    struct taker *t = mem_must(sizeof *t), **end = &s->meet->takers;
    strcpy(t->tag, x.tag);
    t->from = x.from;
    t->to = x.to;
    t->request = q;
    t->since = clock_now();
    pthread_mutex_lock(&s->meet->lock);
    while (*end)
        end = &(*end)->next;
    *end = t;
    review_takers(s);
    pthread_mutex_unlock(&s->meet->lock);
}

/* ---- for the server ---- */

void meet_add_waits(struct server *s, struct ps_status *out)
{
    pthread_mutex_lock(&s->meet->lock);
    for (const struct reduction *r = s->meet->reductions; r; r = r->next) {
        int64_t since = CLOCK_NEVER;
        for (int k = 0; k < s->plan->trainers; k++)
            if (r->guests[k].request)
                since = clock_min(since, r->guests[k].since);
        if (!status_wait_begin(out, r->tag, since))
            continue;
        for (int k = 0; k < s->plan->trainers; k++)
            if (!r->guests[k].request && book_awaits(s, k))
                status_wait_add(out, (uint32_t)k);
    }
    for (const struct taker *t = s->meet->takers; t; t = t->next)
        if (status_wait_begin(out, "samples of a global shuffle", t->since))
            status_wait_add(out, t->from);
    book_add_waits(s, out);
    pthread_mutex_unlock(&s->meet->lock);
}

void meet_review(struct server *s)
{
    pthread_mutex_lock(&s->meet->lock);
    for (struct reduction *r = s->meet->reductions, *next; r; r = next) {
        next = r->next;
        reduction_try(s, r);
    }
    review_takers(s);
    book_review(s);
    pthread_mutex_unlock(&s->meet->lock);
}

void meet_end(struct server *s, const struct skiff_error *reason)
{
    pthread_mutex_lock(&s->meet->lock);
    while (s->meet->reductions) {
        reduction_fail(s, s->meet->reductions, reason);
        reduction_remove(s->meet, s->meet->reductions);
    }
    while (s->meet->takers) {
        struct taker *t = s->meet->takers;
        s->meet->takers = t->next;
        rpc_fail(t->request, reason);
        free(t);
    }
    book_end(s, reason);
    pthread_mutex_unlock(&s->meet->lock);
}
