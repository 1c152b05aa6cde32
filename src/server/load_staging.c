/* Staged loads: everything that one worker loads under one token, sparse tables and dense parts.
 * All servers read it into a stage next to the current values; COMMIT takes all of it over.
 *
 * A worker may die between the commits of two servers. So it sends COMMIT to server 0 before the
 * others, and server 0 remembers the token. A server whose loading worker has gone asks server 0
 * whether the load counts, then takes it over or drops it. Server 0 answers on its maintenance
 * thread, after all requests that the worker sent before it died. The answer is final: a load that
 * does not count when server 0 is asked cannot be committed any more. A server that cannot take
 * over all that it has read ends the job with an error, so that no job continues on mixed values.
 *
 * All of this runs on the table maintenance thread. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/exchange.h"
#include "server/load_staging.h"
#include "server/maintenance.h"
#include "server/members.h"
#include "server/server_parts.h"
#include "server/shard.h"
#include "server/slice.h"

#define ASK_MS 2000 /* then the question is repeated, until this server ends */

struct staging_part { /* values for elements of a dense variable */
    struct ps_put put;
    struct param_slice *slice;
    unsigned char *data;
};

struct load_staging {
    uint64_t token;
    struct rpc_owner owner;
    struct staging_part *parts;
    int nparts, cap;
};

bool staging_is(const struct server *s, uint64_t token)
{
    return s->staging && s->staging->token == token;
}

enum skiff_status staging_need(struct server *s, uint64_t token, struct skiff_error *err)
{
    if (staging_is(s, token))
        return SKIFF_OK;
    return error_set(err, SKIFF_STATE, "there is no such load (%s); load again",
                     s->staging ? "another one has begun since" : "it was aborted");
}

void staging_drop(struct server *s)
{
    struct load_staging *n = s->staging;
    if (!n)
        return;
    for (int i = 0; i < s->nslices; i++)
        if (s->slices[i].sparse_table)
            sparse_unload(s->slices[i].sparse_table);
    for (int i = 0; i < n->nparts; i++)
        free(n->parts[i].data);
    free(n->parts);
    free(n);
    s->staging = NULL;
    maintenance_note_loading(s, NULL);
}

/* ---- COMMIT ---- */

static enum skiff_status take_all(struct server *s, struct load_staging *n, struct skiff_error *err)
{
    for (int i = 0; i < n->nparts; i++) {
        struct server_shard *h = slice_shard(s, n->parts[i].slice);
        pthread_mutex_lock(&h->lock);
        part_put(s, n->parts[i].slice, &n->parts[i].put);
        pthread_mutex_unlock(&h->lock);
    }
    for (int i = 0; i < s->nslices; i++)
        if (s->slices[i].sparse_table && sparse_is_loading(s->slices[i].sparse_table, n->token))
            TRY(sparse_take(s->slices[i].sparse_table, err));
    return SKIFF_OK;
}

enum skiff_status staging_take(struct server *s, struct skiff_error *err)
{
    s->taken = s->staging->token;
    enum skiff_status status = take_all(s, s->staging, err);
    staging_drop(s);
    if (status == SKIFF_OK || maintenance_check_stop(s, NULL) < 0)
        return status;
    error_prefix(
        err, status,
        "a load could not be taken over completely; the parameters are a mix of old and new, so "
        "the job ends");
    server_fail(s, err);
    return status;
}

/* ---- a worker that has gone ---- */

static enum skiff_status ask_once(struct server *s, const struct blob *body, bool *out,
                                  struct skiff_error *err)
{
    struct ps_table_state state;
    struct blob *reply;
    struct rpc_ask ask = {.what = "question whether a load counts",
                          .method = PS_TABLE,
                          .flags = RPC_READ,
                          .body = (struct blob *)body,
                          .deadline = clock_after(clock_now(), ASK_MS)};
    TRY(rpc_ask(s->host, &ask, &reply, err));
    enum skiff_status status = ps_read_table_state(reply, &state, err);
    blob_unref(reply);
    *out = status == SKIFF_OK && state.done;
    return status;
}

/* Has server 0 taken it over? It may be busy with that for a long time. */
static enum skiff_status ask_host(struct server *s, bool *out, struct skiff_error *err)
{
    struct ps_table *x = mem_alloc_or_die(sizeof *x);
    struct wire_writer w;
    struct blob *body = NULL;
    x->call = PS_TABLE_ASK;
    x->token = s->staging->token;
    for (int i = 0; i < s->nslices && !*x->table; i++)
        if (s->slices[i].sparse_table)
            strcpy(x->table, s->slices[i].param);
    writer_init(&w);
    ps_write_table(&w, x);
    free(x);
    TRY(writer_finish(&w, &body, err));
    enum skiff_status status;
    do {
        status = maintenance_check_stop(s, err);
        if (status == SKIFF_OK)
            status = ask_once(s, body, out, err);
    } while (status == SKIFF_TIMEOUT);
    blob_unref(body);
    return status;
}

static enum skiff_status end_by(struct server *s, bool counts, struct skiff_error *err)
{
    server_warn(s, "worker %u left during a load: %s", s->staging->owner.worker,
                counts ? "server 0 has committed the load, so it is committed here, too"
                       : "the load is dropped");
    if (counts)
        return staging_take(s, err);
    staging_drop(s);
    return SKIFF_OK;
}

static enum skiff_status flush(struct server *s, struct skiff_error *err)
{
    bool counts = false;
    if (!s->staging)
        return SKIFF_OK;
    if (s->index) /* server 0 would have taken it over */
        TRY(ask_host(s, &counts, err));
    return end_by(s, counts, err);
}

bool staging_counts(struct server *s, uint64_t token)
{
    if (staging_is(s, token))
        (void)end_by(s, false, NULL);
    return s->taken == token;
}

enum skiff_status staging_review(struct server *s, struct skiff_error *err)
{
    if (!s->staging || !members_gone(s, s->staging->owner.worker, s->staging->owner.incarnation))
        return SKIFF_OK;
    return flush(s, err);
}

enum skiff_status staging_yield(struct server *s, const struct rpc_request *q,
                                struct skiff_error *err)
{
    const struct load_staging *n = s->staging;
    if (!n || (n->owner.worker == q->sender.index && n->owner.incarnation == q->incarnation))
        return SKIFF_OK;
    return flush(s, err);
}

/* ---- reading ---- */

/* The request may have waited for a long time. Departures from now on are reported to the
 * maintenance thread; those before must be looked up here. */
static enum skiff_status check_owner(struct server *s, struct skiff_error *err)
{
    struct rpc_owner owner = s->staging->owner;
    struct server_member p = members_get(s, owner.worker);
    if (p.incarnation != owner.incarnation || (p.state != MEMBER_DEAD && p.state != MEMBER_LEFT))
        return SKIFF_OK;
    staging_drop(s);
    return error_set(err, SKIFF_PEER, "worker %u, which began a load, has left the job",
                     owner.worker);
}

enum skiff_status staging_begin(struct server *s, const struct rpc_request *q, uint64_t token,
                                struct skiff_error *err)
{
    if (q->sender.role != NET_WORKER || q->sender.index >= (uint32_t)s->plan->trainers)
        return error_set(err, SKIFF_INVALID, "only workers of the job can load");
    TRY(flush(s, err)); /* the owner of the last load has gone or given it up */
    struct load_staging *n = s->staging = mem_alloc_or_die(sizeof *n);
    n->token = token;
    n->owner = (struct rpc_owner){q->sender.index, q->incarnation};
    maintenance_note_loading(s, &n->owner);
    return check_owner(s, err);
}

enum skiff_status staging_keep(struct server *s, const struct rpc_request *q,
                               struct skiff_error *err)
{
    struct staging_part p;
    TRY(ps_read_put(q->body, &p.put, err));
    TRY(part_check(s, &p.put, &p.slice, err));
    TRY(staging_need(s, p.put.token, err));
    struct load_staging *n = s->staging;
    p.data = mem_alloc_or_die(p.put.item.bytes + 1);
    memcpy(p.data, p.put.item.data, p.put.item.bytes);
    p.put.item.data = p.data;
    if (n->nparts == n->cap) {
        n->cap = n->cap ? 2 * n->cap : 16;
        n->parts = mem_grow_or_die(n->parts, (size_t)n->cap * sizeof *n->parts);
    }
    n->parts[n->nparts++] = p;
    return SKIFF_OK;
}
