/* Request batches: several requests at once (session_parts.h).
 *
 * A batch is counted: one reference for its owner and one for each request that has no answer yet.
 * So an owner that gives up after an error can leave while answers are still coming, and a batch is
 * used again only when nobody else holds it. Answers come on the network thread; the lock of the
 * batch is between that thread and the one that waits. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "comm/session_parts.h"
#include "net/rpc.h"

struct request_batch *request_batch_create(struct session *s, int n)
{
    struct request_batch *r = mem_alloc_or_die(sizeof(*r) + (size_t)n * sizeof(r->slots[0]));
    r->session = s;
    r->n = n;
    atomic_init(&r->refs, 1);
    pthread_mutex_init(&r->lock, NULL);
    cond_init(&r->changed);
    return r;
}

void request_batch_empty(struct request_batch *r)
{
    for (int i = 0; i < r->n; i++) {
        blob_unref(r->slots[i].reply);
        r->slots[i].requests = NULL;
        r->slots[i].reply = NULL;
    }
}

struct request_batch *request_batch_again(struct request_batch *r, struct session *s, int n)
{
    if (!r || atomic_load(&r->refs) != 1) {
        request_batch_unref(r);
        return request_batch_create(s, n);
    }
    request_batch_empty(r);
    r->open = 0;
    r->status = SKIFF_OK;
    r->error = (struct skiff_error){0};
    r->joint = false;
    return r;
}

void request_batch_unref(struct request_batch *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    request_batch_empty(r);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static void request_batch_fail(struct request_batch *r, enum skiff_status status,
                               const struct skiff_error *err)
{
    if (r->status < 0)
        return;
    r->status = status;
    r->error = *err;
}

/* On the network thread. */
static void answered(void *arg, enum skiff_status status, struct blob *reply,
                     const struct skiff_error *err)
{
    struct batch_slot *slot = arg;
    struct request_batch *r = slot->requests;
    pthread_mutex_lock(&r->lock);
    if (status < 0)
        request_batch_fail(r, status, err);
    else
        slot->reply = blob_ref(reply);
    r->open--;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    request_batch_unref(r);
}

enum skiff_status request_batch_start(struct request_batch *r, int slot,
                                      const struct batch_request *ask, struct skiff_error *err,
                                      const char *what, ...)
{
    struct session *s = r->session;
    struct batch_slot *to = &r->slots[slot];
    va_list args;
    va_start(args, what);
    vsnprintf(to->what, sizeof to->what, what, args);
    va_end(args);
    to->requests = r;
    r->joint |= ask->joint;
    to->server = ask->server;
    struct rpc_ask rpc = {
        .what = to->what,
        .method = ask->method,
        .key = (uint64_t)ask->shard,
        .flags = ask->flags,
        .body = ask->body,
        .deadline = clock_after(clock_now(), ask->wait_ms ? ask->wait_ms : s->request_ms)};
    metric_add(s->counts.bytes_out, (int64_t)blob_len(ask->body));
    pthread_mutex_lock(&r->lock);
    r->open++;
    pthread_mutex_unlock(&r->lock);
    atomic_fetch_add(&r->refs, 1);
    enum skiff_status status = rpc_then(s->peers[ask->server], &rpc, answered, to, err);
    blob_unref(ask->body);
    if (status < 0) {
        pthread_mutex_lock(&r->lock);
        r->open--;
        pthread_mutex_unlock(&r->lock);
        request_batch_unref(r);
    }
    return status;
}

/* Locked; released while servers are contacted, each once: one that hangs takes seconds. */
static void name_late(struct request_batch *r, int64_t waited)
{
    struct session *s = r->session;
    bool found = false, *asked = mem_alloc_or_die((size_t)s->options.servers * sizeof *asked);
    for (int i = 0; i < r->n && !found && r->open && r->status == SKIFF_OK; i++) {
        int server = r->slots[i].server;
        if (!r->slots[i].requests || r->slots[i].reply || asked[server])
            continue;
        asked[server] = true;
        pthread_mutex_unlock(&r->lock);
        found = session_name_late(s, server, waited);
        pthread_mutex_lock(&r->lock);
    }
    free(asked);
}

enum skiff_status request_batch_wait(struct request_batch *r, struct skiff_error *err)
{
    struct session *s = r->session;
    int64_t start = clock_now(), pause = s->silence_ms * CLOCK_MS;
    int64_t next = r->joint ? start + pause : CLOCK_NEVER;
    pthread_mutex_lock(&r->lock);
    while (r->open && r->status == SKIFF_OK) { /* every request ends by its deadline */
        if (cond_wait_until(&r->changed, &r->lock, next) || clock_now() < next)
            continue;
        pause *= 2;
        next = clock_now() + pause;
        name_late(r, clock_now() - start);
    }
    enum skiff_status status = r->status;
    if (status < 0 && err)
        *err = r->error;
    for (int i = 0; i < r->n && status == SKIFF_OK; i++)
        metric_add(s->counts.bytes_in, (int64_t)blob_len(r->slots[i].reply));
    pthread_mutex_unlock(&r->lock);
    uint64_t waited = (uint64_t)(clock_now() - start);
    metric_observe(s->counts.wait, waited);
    if (r->part)
        metric_observe(r->part, waited);
    return status;
}

enum skiff_status session_ask(struct session *s, const struct batch_request *ask, const char *what,
                              struct blob **out_reply, struct skiff_error *err)
{
    struct request_batch *r = request_batch_create(s, 1);
    enum skiff_status status = request_batch_start(r, 0, ask, err, "%s", what);
    if (status == SKIFF_OK)
        status = request_batch_wait(r, err);
    if (status == SKIFF_OK && out_reply)
        *out_reply = blob_ref(r->slots[0].reply);
    request_batch_unref(r);
    return status;
}
