/* A rank's inbox: received messages that wait for the call that takes them, by sender; the ranks
 * that have left a group; the first failure, which ends every wait.
 *
 * Messages arrive in any order relative to this rank's calls, so they are found by kind, group and
 * number, never by arrival. The first failure is sent to all ranks and kept: every later call
 * returns it. Engines that have a thread deliver under the lock and signal; engines without one
 * (progress) are polled by the waiting thread, often at first, then with growing pauses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collective/collective_parts.h"

#define LOOK_AGAIN CLOCK_MS /* engines with progress: longest pause between two polls */

struct departure {
    struct departure *next;
    int rank;
    uint64_t group;
};

struct inbox *inbox_create(const struct engine_kind *kind, void *engine, int rank, int size)
{
    struct inbox *p = mem_alloc_or_die(sizeof *p);
    p->kind = kind;
    p->engine = engine;
    p->rank = rank;
    p->size = size;
    p->boxes = mem_alloc_or_die((size_t)size * sizeof *p->boxes);
    p->metrics = metrics_create(NULL, 0);
    pthread_mutex_init(&p->lock, NULL);
    cond_init(&p->changed);
    return p;
}

void inbox_destroy(struct inbox *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->size; i++)
        while (p->boxes[i]) {
            struct message *l = p->boxes[i];
            p->boxes[i] = l->next;
            message_destroy(l);
        }
    while (p->departures) {
        struct departure *d = p->departures;
        p->departures = d->next;
        free(d);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    metrics_destroy(p->metrics);
    free(p->boxes);
    free(p);
}

/* ---- ranks that are late ---- */

#define LATE_MS 10000
#define WAIT_MS (30 * 60 * 1000)

static struct collective_watch watch_of(struct inbox *p)
{
    pthread_mutex_lock(&p->lock);
    struct collective_watch w = p->watch;
    pthread_mutex_unlock(&p->lock);
    return w;
}

void inbox_wait_begin(struct inbox *p, struct inbox_wait *w)
{
    int64_t late_ms = watch_of(p).late_ms, late = (late_ms ? late_ms : LATE_MS) * CLOCK_MS;
    int64_t now = clock_now();
    *w = (struct inbox_wait){.start = now, .pause = late, .next = now + late};
}

bool inbox_wait_due(const struct inbox_wait *w)
{
    return clock_now() >= w->next;
}

void inbox_accuse(struct inbox *p, int rank, const char *text)
{
    struct collective_watch watch = watch_of(p);
    if (watch.on_late)
        watch.on_late(watch.user, rank, text, true);
}

enum skiff_status inbox_wait_late(struct inbox *p, struct inbox_wait *w, int rank,
                                  const struct collective_call *call, struct skiff_error *err)
{
    char what[CALL_TEXT] = "send its message", text[CALL_TEXT + 256];
    struct collective_watch watch = watch_of(p);
    int64_t now = clock_now(), wait = (watch.wait_ms ? watch.wait_ms : WAIT_MS) * CLOCK_MS;
    double waited = (double)(now - w->start) / 1e9;
    if (call)
        call_print(call, what);
    bool given_up = now - w->start >= wait;
    snprintf(text, sizeof text,
             "has not reached %s for %.0f s, while rank %d waits; its process "
             "is alive",
             what, waited, p->rank);
    w->pause *= 2;
    w->next = clock_min(now + w->pause, w->start + wait);
    if (!given_up) {
        if (watch.on_late)
            watch.on_late(watch.user, rank, text, false);
        return SKIFF_OK;
    }
    inbox_accuse(p, rank, text);
    return error_set(err, SKIFF_PEER, "rank %d %s; the deadline is SKIFF_WAIT_MS, %.0f s", rank,
                     text, (double)wait / 1e9);
}

void collective_set_watch(struct collective *c, const struct collective_watch *w)
{
    pthread_mutex_lock(&c->inbox->lock);
    c->inbox->watch = *w;
    pthread_mutex_unlock(&c->inbox->lock);
}

/* ---- failure ---- */

/* False: there was one already. */
static bool record_failure(struct inbox *p, const struct skiff_error *reason)
{
    pthread_mutex_lock(&p->lock);
    bool first = !atomic_load(&p->failed);
    if (first)
        p->failure = *reason;
    atomic_store(&p->failed, true);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return first;
}

enum skiff_status inbox_fail(struct inbox *p, const struct skiff_error *reason)
{
    struct message_head h = {.kind = MESSAGE_FAIL, .call.count = reason->code};
    if (!record_failure(p, reason))
        return p->failure.code;
    for (int i = 0; i < p->size; i++)
        if (i != p->rank)
            p->kind->send(p->engine, i, &h, reason->message, strlen(reason->message), NULL);
    return reason->code;
}

enum skiff_status inbox_check(struct inbox *p, struct skiff_error *err)
{
    if (!atomic_load(&p->failed))
        return SKIFF_OK;
    if (err)
        *err = p->failure; /* written before `failed`, and never again */
    return p->failure.code;
}

bool inbox_wait_failure(struct inbox *p, int64_t deadline)
{
    while (!atomic_load(&p->failed) && clock_now() < deadline) {
        if (p->kind->progress)
            p->kind->progress(p->engine);
        pthread_mutex_lock(&p->lock);
        if (!atomic_load(&p->failed))
            cond_wait_until(&p->changed, &p->lock,
                            clock_min(deadline, clock_after(clock_now(), 20)));
        pthread_mutex_unlock(&p->lock);
    }
    return atomic_load(&p->failed);
}

/* ---- received messages ---- */

static void hear_of_failure(struct inbox *p, const struct message_head *h, const struct blob *blob,
                            size_t offset)
{
    struct skiff_error reason;
    int64_t code = h->call.count;
    int len = (int)(blob_len(blob) - offset);
    error_set(&reason, code < 0 && code >= SKIFF_PEER ? (enum skiff_status)code : SKIFF_PEER,
              "%.*s", len > 900 ? 900 : len, blob ? (const char *)blob->data + offset : "");
    record_failure(p, &reason);
}

static void record_departure(struct inbox *p, int rank, uint64_t group)
{
    struct departure *d = mem_alloc_or_die(sizeof *d);
    pthread_mutex_lock(&p->lock);
    *d = (struct departure){.next = p->departures, .rank = rank, .group = group};
    p->departures = d;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void put_in_box(struct inbox *p, int from, const struct message_head *h, struct blob *blob,
                       size_t offset)
{
    struct message *l = mem_alloc_or_die(sizeof *l), **end;
    *l = (struct message){.head = *h, .blob = blob_ref(blob)};
    l->bytes = blob ? blob->len - offset : 0;
    l->data = blob ? blob->data + offset : NULL;
    pthread_mutex_lock(&p->lock);
    for (end = &p->boxes[from]; *end;)
        end = &(*end)->next;
    *end = l;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

/* Locked. Of the MESSAGE_WAITS of a rank only the last one counts. */
static struct message **find_wait(struct inbox *p, int from, uint64_t group)
{
    struct message **at = &p->boxes[from];
    while (*at && ((*at)->head.kind != MESSAGE_WAITS || (*at)->head.group != group))
        at = &(*at)->next;
    return at;
}

static bool renew_wait(struct inbox *p, int from, const struct message_head *h)
{
    pthread_mutex_lock(&p->lock);
    struct message *l = *find_wait(p, from, h->group);
    if (l)
        l->head = *h;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return l != NULL;
}

bool inbox_peek_wait(struct inbox *p, int from, uint64_t group, struct message_head *out)
{
    pthread_mutex_lock(&p->lock);
    struct message *l = *find_wait(p, from, group);
    if (l)
        *out = l->head;
    pthread_mutex_unlock(&p->lock);
    return l != NULL;
}

void inbox_deliver(struct inbox *p, int from, const struct message_head *h, struct blob *blob,
                   size_t offset)
{
    if (h->kind == MESSAGE_FAIL)
        hear_of_failure(p, h, blob, offset);
    else if (h->kind == MESSAGE_LEAVE)
        record_departure(p, from, h->group);
    else if (h->kind != MESSAGE_BEAT && !(h->kind == MESSAGE_WAITS && renew_wait(p, from, h)))
        put_in_box(p, from, h, blob, offset);
    blob_unref(blob);
}

/* ---- waiting ---- */

static struct message **find(struct inbox *p, int from, const struct message_head *w)
{
    struct message **at = &p->boxes[from];
    while (*at && ((*at)->head.kind != w->kind || (*at)->head.group != w->group ||
                   (*at)->head.number != w->number || (*at)->head.window != w->window))
        at = &(*at)->next;
    return at;
}

static bool has_left(const struct inbox *p, int rank, uint64_t group)
{
    for (const struct departure *d = p->departures; d; d = d->next)
        if (d->rank == rank && d->group == group)
            return true;
    return false;
}

bool inbox_has_left(struct inbox *p, int rank, uint64_t group)
{
    pthread_mutex_lock(&p->lock);
    bool left = has_left(p, rank, group);
    pthread_mutex_unlock(&p->lock);
    return left;
}

bool inbox_has(struct inbox *p, int from, const struct message_head *wanted)
{
    if (p->kind->progress)
        while (p->kind->progress(p->engine))
            ;
    pthread_mutex_lock(&p->lock);
    bool here = *find(p, from, wanted) != NULL || has_left(p, from, wanted->group);
    pthread_mutex_unlock(&p->lock);
    return here || atomic_load(&p->failed);
}

bool inbox_peek_call(struct inbox *p, int from, uint64_t group, struct collective_call *out,
                     uint64_t *out_sent)
{
    bool found = false;
    pthread_mutex_lock(&p->lock);
    for (const struct message *l = p->boxes[from]; l && !found; l = l->next)
        if (l->head.kind == MESSAGE_CALL && l->head.group == group && l->head.call.blocks) {
            *out = l->head.call;
            *out_sent = l->head.sent;
            found = true;
        }
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* Locked. OK: it is in *out; END: not yet. */
static enum skiff_status look(struct inbox *p, int from, const struct message_head *wanted,
                              struct message **out, struct skiff_error *err)
{
    struct message **at = find(p, from, wanted);
    if (*at) {
        *out = *at;
        *at = (*at)->next;
        return SKIFF_OK;
    }
    if (atomic_load(&p->failed)) {
        *err = p->failure;
        return p->failure.code;
    }
    if (has_left(p, from, wanted->group)) {
        char text[CALL_TEXT] = "a message";
        if (wanted->kind == MESSAGE_CALL)
            call_print(&wanted->call, text);
        return error_set(err, SKIFF_PEER, "rank %d has left the group while rank %d waits for %s",
                         from, p->rank, text);
    }
    return SKIFF_END;
}

/* Polls engines with progress: often at first, then with growing pauses. */
static void look_around(struct inbox *p, int64_t *pause)
{
    if (p->kind->progress(p->engine)) {
        *pause = 0;
        return;
    }
    if (*pause > 20 * 1000)
        clock_sleep(*pause);
    *pause = clock_min(*pause + *pause / 4 + 500, LOOK_AGAIN);
}

void inbox_wait_change(struct inbox *p, int64_t deadline)
{
    int64_t pause = LOOK_AGAIN / 2;
    if (p->kind->progress) {
        look_around(p, &pause);
        return;
    }
    pthread_mutex_lock(&p->lock);
    cond_wait_until(&p->changed, &p->lock, deadline);
    pthread_mutex_unlock(&p->lock);
}

enum skiff_status inbox_take(struct inbox *p, int from, const struct message_head *wanted,
                             struct message **out, struct skiff_error *err)
{
    struct skiff_error why;
    enum skiff_status status;
    struct inbox_wait wait;
    int64_t pause = 0;
    inbox_wait_begin(p, &wait);
    pthread_mutex_lock(&p->lock);
    while ((status = look(p, from, wanted, out, &why)) == SKIFF_END) {
        if (!p->kind->progress && !inbox_wait_due(&wait)) {
            cond_wait_until(&p->changed, &p->lock, wait.next);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        if (p->kind->progress)
            look_around(p, &pause);
        if (inbox_wait_due(&wait))
            status = inbox_wait_late(p, &wait, from,
                                     wanted->kind == MESSAGE_CALL ? &wanted->call : NULL, &why);
        pthread_mutex_lock(&p->lock);
        if (status < 0)
            break;
    }
    pthread_mutex_unlock(&p->lock);
    if (status == SKIFF_OK)
        return SKIFF_OK;
    status = inbox_fail(p, &why);
    inbox_check(p, err);
    return status;
}

/* ---- sending ---- */

enum skiff_status inbox_send(struct inbox *p, int to, const struct message_head *h,
                             const void *data, size_t bytes, struct skiff_error *err)
{
    struct blob *blob = NULL;
    if (to != p->rank)
        return p->kind->send(p->engine, to, h, data, bytes, err);
    if (bytes)
        TRY(blob_copy(data, bytes, "a message of a rank to itself", &blob, err));
    inbox_deliver(p, to, h, blob, 0);
    return SKIFF_OK;
}
