/* Groups: their lifecycle, blocking and started calls, point-to-point messages.
 *
 * One exchange of a group is in progress at a time. The caller's own thread makes a blocking call
 * when no started call is pending; started calls are made by the group's thread, which exists from
 * the first start on. Point-to-point messages are independent of that: a send is passed to the
 * engine at once, and a received message lies in the inbox until the caller asks for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collective/collective_parts.h"

#define LOOK_EVERY 100            /* ms: whether a message can still arrive */
#define REPORT_AFTER CLOCK_SECOND /* of waiting for a message: then its sender is notified */

enum work_kind { WORK_CALL, WORK_RECEIVE };

struct collective_work {
    struct collective_work *next;
    struct collective *c;
    enum work_kind kind;
    struct collective_task task;
    atomic_bool done;
    enum skiff_status status;
    struct skiff_error err;
    /* receive: */
    int from;
    struct message_head wanted;
    void *data;
    size_t bytes;
};

/* ---- lifecycle ---- */

struct collective *group_create(struct inbox *inbox, uint64_t id, const int *ranks, int size,
                                int rank)
{
    struct collective *c = mem_alloc_or_die(sizeof *c);
    size_t n = (size_t)size;
    c->inbox = inbox;
    c->id = id;
    c->rank = rank;
    c->size = size;
    c->ranks = mem_alloc_or_die(n * sizeof *c->ranks);
    c->sent = mem_alloc_or_die(n * sizeof *c->sent);
    c->asked = mem_alloc_or_die(n * sizeof *c->asked);
    for (int i = 0; i < size; i++)
        c->ranks[i] = ranks ? ranks[i] : i;
    pthread_mutex_init(&c->lock, NULL);
    cond_init(&c->changed);
    atomic_fetch_add(&inbox->groups, 1);
    return c;
}

enum skiff_status group_open(struct collective *c, struct skiff_error *err)
{
    return c->size > 1 ? shm_attach(c, &c->shm, err) : SKIFF_OK;
}

/* After a failure this is the one that all ranks report; messages may overtake each other. */
static void leave(struct collective *c)
{
    struct message_head h = {.kind = MESSAGE_LEAVE, .group = c->id};
    if (atomic_load(&c->inbox->failed))
        return;
    for (int i = 0; i < c->size; i++)
        if (i != c->rank)
            c->inbox->kind->send(c->inbox->engine, c->ranks[i], &h, NULL, 0, NULL);
}

void collective_destroy(struct collective *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    thread_join(&c->thread);
    leave(c);
    shm_detach(c->shm);
    if (atomic_fetch_sub(&c->inbox->groups, 1) == 1)
        c->inbox->kind->close(c->inbox->engine);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->ranks);
    free(c->sent);
    free(c->asked);
    free(c);
}

void collective_abandon(struct collective *c, const char *reason)
{
    struct skiff_error err;
    error_set(&err, SKIFF_PEER, "rank %d %s", c->inbox->rank, reason);
    inbox_fail(c->inbox, &err);
}

int collective_rank(const struct collective *c)
{
    return c->rank;
}

int collective_size(const struct collective *c)
{
    return c->size;
}

const char *collective_engine(const struct collective *c)
{
    return c->inbox->kind->name;
}

/* ---- calls ---- */

static void *work_loop(void *arg)
{
    struct collective *c = arg;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (c->running || (!c->first && !c->stopping))
            cond_wait_until(&c->changed, &c->lock, CLOCK_NEVER);
        struct collective_work *w = c->first;
        if (!w)
            break;
        c->running = true;
        pthread_mutex_unlock(&c->lock);
        w->status = task_run(c, &w->task, &w->err);
        pthread_mutex_lock(&c->lock);
        c->running = false;
        c->first = w->next;
        if (!c->first)
            c->last = NULL;
        atomic_store(&w->done, true);
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

enum skiff_status group_run(struct collective *c, struct collective_task *t,
                            struct skiff_error *err)
{
    t->call.blocks = 1;
    pthread_mutex_lock(&c->lock);
    while (c->running || c->first)
        cond_wait_until(&c->changed, &c->lock, CLOCK_NEVER);
    c->running = true;
    pthread_mutex_unlock(&c->lock);
    enum skiff_status status = inbox_check(c->inbox, err);
    if (status == SKIFF_OK)
        status = task_run(c, t, err);
    pthread_mutex_lock(&c->lock);
    c->running = false;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return status;
}

static struct collective_work *work_create(struct collective *c, enum work_kind kind)
{
    struct collective_work *w = mem_alloc_or_die(sizeof *w);
    w->c = c;
    w->kind = kind;
    return w;
}

struct collective_work *group_start(struct collective *c, const struct collective_task *t,
                                    struct skiff_error *err)
{
    if (inbox_check(c->inbox, err) < 0)
        return NULL;
    if (!c->thread.running && thread_start(&c->thread, "collect", -1, work_loop, c, err) < 0)
        return NULL;
    struct collective_work *w = work_create(c, WORK_CALL);
    w->task = *t;
    pthread_mutex_lock(&c->lock);
    if (c->last)
        c->last->next = w;
    else
        c->first = w;
    c->last = w;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return w;
}

/* ---- messages ---- */

static enum skiff_status check_other(const struct collective *c, const char *what, int rank,
                                     struct skiff_error *err)
{
    if (rank < 0 || rank >= c->size)
        return error_set(err, SKIFF_INVALID,
                         "%s rank %d: it is not in the group, whose ranks are 0 to %d", what, rank,
                         c->size - 1);
    return inbox_check(c->inbox, err);
}

enum skiff_status collective_send(struct collective *c, int to, const void *data, size_t bytes,
                                  struct skiff_error *err)
{
    TRY(check_other(c, "a message to", to, err));
    struct message_head h = {
        .kind = MESSAGE_MESSAGE, .group = c->id, .number = ++c->sent[to], .total = bytes};
    return inbox_send(c->inbox, c->ranks[to], &h, data, bytes, err);
}

/* The head of the next message expected from a rank. */
static struct message_head ask_for(struct collective *c, int from, size_t bytes)
{
    return (struct message_head){
        .kind = MESSAGE_MESSAGE, .group = c->id, .number = ++c->asked[from], .total = bytes};
}

/* What another rank's caller waits in, which has not sent this rank the message: a call, or a
 * message that this rank has not sent. False: not known. */
static bool waits_in(struct collective *c, int other, uint64_t number, char text[CALL_TEXT])
{
    struct collective_call call;
    struct message_head wait;
    uint64_t sent;
    bool in_call = c->shm ? shm_peek_call(c, other, &call, &sent)
                          : inbox_peek_call(c->inbox, c->ranks[other], c->id, &call, &sent);
    if (in_call && sent < number) {
        call_print(&call, text);
        return true;
    }
    if (!inbox_peek_wait(c->inbox, c->ranks[other], c->id, &wait) || wait.sent >= number ||
        wait.number <= c->sent[other])
        return false;
    snprintf(text, CALL_TEXT, "recv from rank %d", c->inbox->rank);
    return true;
}

/* This rank's caller waits for a message of a rank whose caller waits for something that this rank
 * cannot do meanwhile: both would wait forever. */
static enum skiff_status check_can_come(struct collective *c, int from, uint64_t number,
                                        struct skiff_error *err)
{
    char text[CALL_TEXT];
    pthread_mutex_lock(&c->lock);
    bool idle = !c->running && !c->first;
    pthread_mutex_unlock(&c->lock);
    if (!idle || from == c->rank || !waits_in(c, from, number, text))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "rank %d waits for a message from rank %d, which calls %s; all ranks must "
                     "make the same calls in the same order",
                     c->inbox->rank, c->ranks[from], text);
}

/* For a rank that might wait for this one. */
static void report_of_wait(struct collective *c, int from, const struct message_head *wanted)
{
    struct message_head h = *wanted;
    h.kind = MESSAGE_WAITS;
    h.sent = c->sent[from];
    if (from != c->rank)
        inbox_send(c->inbox, c->ranks[from], &h, NULL, 0, NULL);
}

static enum skiff_status wait_for_message(struct collective *c, int from,
                                          const struct message_head *wanted,
                                          struct skiff_error *err)
{
    int64_t report = clock_now() + REPORT_AFTER;
    while (!inbox_has(c->inbox, c->ranks[from], wanted)) {
        TRY(check_can_come(c, from, wanted->number, err));
        inbox_wait_change(c->inbox, clock_after(clock_now(), LOOK_EVERY));
        if (clock_now() < report)
            continue;
        report_of_wait(c, from, wanted);
        report = CLOCK_NEVER;
    }
    return SKIFF_OK;
}

static enum skiff_status receive(struct collective *c, int from, const struct message_head *wanted,
                                 void *data, size_t bytes, struct skiff_error *err)
{
    struct message *l = NULL;
    struct skiff_error why;
    enum skiff_status status = wait_for_message(c, from, wanted, &why);
    if (status == SKIFF_OK)
        status = inbox_take(c->inbox, c->ranks[from], wanted, &l, &why);
    if (status == SKIFF_OK && l->bytes != bytes)
        status = error_set(&why, SKIFF_INVALID,
                           "rank %d sent rank %d a message of %zu bytes, but %zu were expected",
                           c->ranks[from], c->inbox->rank, l->bytes, bytes);
    if (status == SKIFF_OK && bytes)
        memcpy(data, l->data, bytes);
    message_destroy(l);
    if (status == SKIFF_OK)
        return SKIFF_OK;
    status = inbox_fail(c->inbox, &why);
    inbox_check(c->inbox, err);
    return status;
}

enum skiff_status collective_recv(struct collective *c, int from, void *data, size_t bytes,
                                  struct skiff_error *err)
{
    TRY(check_other(c, "a message from", from, err));
    struct message_head wanted = ask_for(c, from, bytes);
    return receive(c, from, &wanted, data, bytes, err);
}

struct collective_work *collective_start_recv(struct collective *c, int from, void *data,
                                              size_t bytes, struct skiff_error *err)
{
    if (check_other(c, "a message from", from, err) < 0)
        return NULL;
    struct collective_work *w = work_create(c, WORK_RECEIVE);
    w->from = from;
    w->data = data;
    w->bytes = bytes;
    w->wanted = ask_for(c, from, bytes);
    return w;
}

/* ---- started calls ---- */

bool collective_done(const struct collective_work *w)
{
    if (w->kind == WORK_RECEIVE)
        return inbox_has(w->c->inbox, w->c->ranks[w->from], &w->wanted);
    return atomic_load(&w->done);
}

enum skiff_status collective_wait(struct collective_work *w, struct skiff_error *err)
{
    struct collective *c = w->c;
    enum skiff_status status = SKIFF_OK;
    if (w->kind == WORK_RECEIVE)
        status = receive(c, w->from, &w->wanted, w->data, w->bytes, err);
    if (w->kind == WORK_CALL) {
        pthread_mutex_lock(&c->lock);
        while (!atomic_load(&w->done))
            cond_wait_until(&c->changed, &c->lock, CLOCK_NEVER);
        pthread_mutex_unlock(&c->lock);
        status = w->status;
        if (status < 0 && err)
            *err = w->err;
    }
    free(w);
    return status;
}
