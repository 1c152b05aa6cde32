/* A rank's post: letters that have come and wait for the call that takes them, by sender; who has
 * left which group; the first failure, which ends every wait. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collective/collective_parts.h"

#define LOOK_AGAIN CLOCK_MS /* engines with progress: longest pause between two looks */

struct departure {
    struct departure *next;
    int rank;
    uint64_t group;
};

struct post *post_create(const struct engine_kind *kind, void *engine, int rank, int size)
{
    struct post *p = mem_must(sizeof *p);
    p->kind = kind;
    p->engine = engine;
    p->rank = rank;
    p->size = size;
    p->boxes = mem_must((size_t)size * sizeof *p->boxes);
    pthread_mutex_init(&p->lock, NULL);
    cond_init(&p->changed);
    return p;
}

void post_destroy(struct post *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->size; i++)
        while (p->boxes[i]) {
            struct letter *l = p->boxes[i];
            p->boxes[i] = l->next;
            letter_destroy(l);
        }
    while (p->departures) {
        struct departure *d = p->departures;
        p->departures = d->next;
        free(d);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p->boxes);
    free(p);
}

/* ---- ranks that are late ---- */

#define LATE_MS 10000
#define WAIT_MS (30 * 60 * 1000)

static struct collective_watch watch_of(struct post *p)
{
    pthread_mutex_lock(&p->lock);
    struct collective_watch w = p->watch;
    pthread_mutex_unlock(&p->lock);
    return w;
}

void post_wait_begin(struct post *p, struct post_wait *w)
{
    int64_t late_ms = watch_of(p).late_ms, late = (late_ms ? late_ms : LATE_MS) * CLOCK_MS;
    int64_t now = clock_now();
    *w = (struct post_wait){.start = now, .pause = late, .next = now + late};
}

bool post_wait_due(const struct post_wait *w)
{
    return clock_now() >= w->next;
}

void post_accuse(struct post *p, int rank, const char *text)
{
    struct collective_watch watch = watch_of(p);
    if (watch.on_late)
        watch.on_late(watch.user, rank, text, true);
}

enum skiff_status post_wait_late(struct post *p, struct post_wait *w, int rank,
                                 const struct call *call, struct skiff_error *err)
{
    char what[CALL_TEXT] = "send its message", text[CALL_TEXT + 256];
    struct collective_watch watch = watch_of(p);
    int64_t now = clock_now(), wait = (watch.wait_ms ? watch.wait_ms : WAIT_MS) * CLOCK_MS;
    double waited = (double)(now - w->start) / 1e9;
    if (call)
        call_print(call, what);
    bool given_up = now - w->start >= wait;
    snprintf(text, sizeof text,
             "has not come to %s for %.0f s, while rank %d waits; its process "
             "is alive",
             what, waited, p->rank);
    w->pause *= 2;
    w->next = clock_min(now + w->pause, w->start + wait);
    if (!given_up) {
        if (watch.on_late)
            watch.on_late(watch.user, rank, text, false);
        return SKIFF_OK;
    }
    post_accuse(p, rank, text);
    return error_set(err, SKIFF_PEER, "rank %d %s; the deadline is SKIFF_WAIT_MS, %.0f s", rank,
                     text, (double)wait / 1e9);
}

void collective_set_watch(struct collective *c, const struct collective_watch *w)
{
    pthread_mutex_lock(&c->post->lock);
    c->post->watch = *w;
    pthread_mutex_unlock(&c->post->lock);
}

/* ---- failure ---- */

/* False: there was one already. */
static bool note_failure(struct post *p, const struct skiff_error *reason)
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

enum skiff_status post_fail(struct post *p, const struct skiff_error *reason)
{
    struct letter_head h = {.kind = LETTER_FAIL, .call.count = reason->code};
    if (!note_failure(p, reason))
        return p->failure.code;
    for (int i = 0; i < p->size; i++)
        if (i != p->rank)
            p->kind->send(p->engine, i, &h, reason->message, strlen(reason->message), NULL);
    return reason->code;
}

enum skiff_status post_check(struct post *p, struct skiff_error *err)
{
    if (!atomic_load(&p->failed))
        return SKIFF_OK;
    if (err)
        *err = p->failure; /* written before `failed`, and never again */
    return p->failure.code;
}

bool post_wait_failure(struct post *p, int64_t deadline)
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

/* ---- letters that come ---- */

static void hear_of_failure(struct post *p, const struct letter_head *h, const struct blob *blob,
                            size_t offset)
{
    struct skiff_error reason;
    int64_t code = h->call.count;
    int len = (int)(blob_len(blob) - offset);
    error_set(&reason, code < 0 && code >= SKIFF_PEER ? (enum skiff_status)code : SKIFF_PEER,
              "%.*s", len > 900 ? 900 : len, blob ? (const char *)blob->data + offset : "");
    note_failure(p, &reason);
}

static void note_departure(struct post *p, int rank, uint64_t group)
{
    struct departure *d = mem_must(sizeof *d);
    pthread_mutex_lock(&p->lock);
    *d = (struct departure){.next = p->departures, .rank = rank, .group = group};
    p->departures = d;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void put_in_box(struct post *p, int from, const struct letter_head *h, struct blob *blob,
                       size_t offset)
{
    struct letter *l = mem_must(sizeof *l), **end;
    *l = (struct letter){.head = *h, .blob = blob_ref(blob)};
    l->bytes = blob ? blob->len - offset : 0;
    l->data = blob ? blob->data + offset : NULL;
    pthread_mutex_lock(&p->lock);
    for (end = &p->boxes[from]; *end;)
        end = &(*end)->next;
    *end = l;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

/* Locked. Of letters that tell what a rank waits for only the last one counts. */
static struct letter **find_wait(struct post *p, int from, uint64_t group)
{
    struct letter **at = &p->boxes[from];
    while (*at && ((*at)->head.kind != LETTER_WAITS || (*at)->head.group != group))
        at = &(*at)->next;
    return at;
}

static bool renew_wait(struct post *p, int from, const struct letter_head *h)
{
    pthread_mutex_lock(&p->lock);
    struct letter *l = *find_wait(p, from, h->group);
    if (l)
        l->head = *h;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return l != NULL;
}

bool post_peek_wait(struct post *p, int from, uint64_t group, struct letter_head *out)
{
    pthread_mutex_lock(&p->lock);
    struct letter *l = *find_wait(p, from, group);
    if (l)
        *out = l->head;
    pthread_mutex_unlock(&p->lock);
    return l != NULL;
}

void post_deliver(struct post *p, int from, const struct letter_head *h, struct blob *blob,
                  size_t offset)
{
    if (h->kind == LETTER_FAIL)
        hear_of_failure(p, h, blob, offset);
    else if (h->kind == LETTER_LEAVE)
        note_departure(p, from, h->group);
    else if (h->kind != LETTER_BEAT && !(h->kind == LETTER_WAITS && renew_wait(p, from, h)))
        put_in_box(p, from, h, blob, offset);
    blob_unref(blob);
}

/* ---- waiting ---- */

static struct letter **find(struct post *p, int from, const struct letter_head *w)
{
    struct letter **at = &p->boxes[from];
    while (*at && ((*at)->head.kind != w->kind || (*at)->head.group != w->group ||
                   (*at)->head.number != w->number || (*at)->head.window != w->window))
        at = &(*at)->next;
    return at;
}

static bool has_left(const struct post *p, int rank, uint64_t group)
{
    for (const struct departure *d = p->departures; d; d = d->next)
        if (d->rank == rank && d->group == group)
            return true;
    return false;
}

bool post_has_left(struct post *p, int rank, uint64_t group)
{
    pthread_mutex_lock(&p->lock);
    bool left = has_left(p, rank, group);
    pthread_mutex_unlock(&p->lock);
    return left;
}

bool post_has(struct post *p, int from, const struct letter_head *wanted)
{
    if (p->kind->progress)
        while (p->kind->progress(p->engine))
            ;
    pthread_mutex_lock(&p->lock);
    bool here = *find(p, from, wanted) != NULL || has_left(p, from, wanted->group);
    pthread_mutex_unlock(&p->lock);
    return here || atomic_load(&p->failed);
}

bool post_peek_call(struct post *p, int from, uint64_t group, struct call *out, uint64_t *out_sent)
{
    bool found = false;
    pthread_mutex_lock(&p->lock);
    for (const struct letter *l = p->boxes[from]; l && !found; l = l->next)
        if (l->head.kind == LETTER_CALL && l->head.group == group && l->head.call.blocks) {
            *out = l->head.call;
            *out_sent = l->head.sent;
            found = true;
        }
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* Locked. OK: it is in *out; END: not yet. */
static enum skiff_status look(struct post *p, int from, const struct letter_head *wanted,
                              struct letter **out, struct skiff_error *err)
{
    struct letter **at = find(p, from, wanted);
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
        if (wanted->kind == LETTER_CALL)
            call_print(&wanted->call, text);
        return error_set(err, SKIFF_PEER, "rank %d has left the group while rank %d waits for %s",
                         from, p->rank, text);
    }
    return SKIFF_END;
}

/* Engines whose letters must be looked for: often at first, then with growing pauses. */
static void look_around(struct post *p, int64_t *pause)
{
    if (p->kind->progress(p->engine)) {
        *pause = 0;
        return;
    }
    if (*pause > 20 * 1000)
        clock_sleep(*pause);
    *pause = clock_min(*pause + *pause / 4 + 500, LOOK_AGAIN);
}

void post_wait_change(struct post *p, int64_t deadline)
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

enum skiff_status post_take(struct post *p, int from, const struct letter_head *wanted,
                            struct letter **out, struct skiff_error *err)
{
    struct skiff_error why;
    enum skiff_status status;
    struct post_wait wait;
    int64_t pause = 0;
    post_wait_begin(p, &wait);
    pthread_mutex_lock(&p->lock);
    while ((status = look(p, from, wanted, out, &why)) == SKIFF_END) {
        if (!p->kind->progress && !post_wait_due(&wait)) {
            cond_wait_until(&p->changed, &p->lock, wait.next);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        if (p->kind->progress)
            look_around(p, &pause);
        if (post_wait_due(&wait))
            status = post_wait_late(p, &wait, from,
                                    wanted->kind == LETTER_CALL ? &wanted->call : NULL, &why);
        pthread_mutex_lock(&p->lock);
        if (status < 0)
            break;
    }
    pthread_mutex_unlock(&p->lock);
    if (status == SKIFF_OK)
        return SKIFF_OK;
    status = post_fail(p, &why);
    post_check(p, err);
    return status;
}

/* ---- sending ---- */

enum skiff_status post_send(struct post *p, int to, const struct letter_head *h, const void *data,
                            size_t bytes, struct skiff_error *err)
{
    struct blob *blob = NULL;
    if (to != p->rank)
        return p->kind->send(p->engine, to, h, data, bytes, err);
    if (bytes)
        TRY(blob_copy(data, bytes, "a message of a rank to itself", &blob, err));
    post_deliver(p, to, h, blob, 0);
    return SKIFF_OK;
}
