/* What a worker loads as a whole: tables of features and dense parts of one token. Everything is
 * read beside what there is, on all servers; COMMIT takes all of it over.
 *
 * A worker may die between the commits of two servers. So it says COMMIT to server 0 before the
 * others, and server 0 remembers the token: a server whose loading worker has gone asks server 0
 * whether the load counts, then takes it over or forgets it. The question goes through server 0's
 * clerk, behind whatever the worker has sent there before it died; the answer stands: what does not
 * count when it is asked for cannot be committed any more. A server that cannot take over
 * all that it has read ends the job, and says so: nobody shall go on with a mixture.
 *
 * All of this is the clerk's. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/features.h"

#define ASK_MS 2000 /* then it is asked again, until this server ends */

struct intake_part { /* values for elements of a dense variable */
    struct ps_put put;
    struct unit *unit;
    unsigned char *data;
};

struct intake {
    uint64_t token;
    struct rpc_owner owner;
    struct intake_part *parts;
    int nparts, cap;
};

bool intake_is(const struct server *s, uint64_t token)
{
    return s->intake && s->intake->token == token;
}

enum skiff_status intake_need(struct server *s, uint64_t token, struct skiff_error *err)
{
    if (intake_is(s, token))
        return SKIFF_OK;
    return error_set(err, SKIFF_STATE, "there is no such load (%s); load again",
                     s->intake ? "another one has begun since" : "it was ended");
}

void intake_drop(struct server *s)
{
    struct intake *n = s->intake;
    if (!n)
        return;
    for (int i = 0; i < s->nunits; i++)
        if (s->units[i].features)
            features_unload(&s->units[i]);
    for (int i = 0; i < n->nparts; i++)
        free(n->parts[i].data);
    free(n->parts);
    free(n);
    s->intake = NULL;
    call_note_loading(s, NULL);
}

/* ---- the second half ---- */

static enum skiff_status take_all(struct server *s, struct intake *n, struct skiff_error *err)
{
    for (int i = 0; i < n->nparts; i++) {
        struct shard *h = unit_shard(s, n->parts[i].unit);
        pthread_mutex_lock(&h->lock);
        part_put(s, n->parts[i].unit, &n->parts[i].put);
        pthread_mutex_unlock(&h->lock);
    }
    for (int i = 0; i < s->nunits; i++)
        if (s->units[i].features && features_is_loading(&s->units[i], n->token))
            TRY(features_take(s, &s->units[i], err));
    return SKIFF_OK;
}

enum skiff_status intake_take(struct server *s, struct skiff_error *err)
{
    s->taken = s->intake->token;
    enum skiff_status status = take_all(s, s->intake, err);
    intake_drop(s);
    if (status == SKIFF_OK || call_going_on(s, NULL) < 0)
        return status;
    error_prefix(err, status,
                 "a load could not be taken over to its end; what is here is old and new mixed, so "
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

/* Has server 0 taken it over? It may be busy with that for long. */
static enum skiff_status ask_host(struct server *s, bool *out, struct skiff_error *err)
{
    struct ps_table *x = mem_must(sizeof *x);
    struct wire_writer w;
    struct blob *body = NULL;
    x->call = PS_TABLE_ASK;
    x->token = s->intake->token;
    for (int i = 0; i < s->nunits && !*x->table; i++)
        if (s->units[i].features)
            strcpy(x->table, s->units[i].param);
    writer_init(&w);
    ps_write_table(&w, x);
    free(x);
    TRY(writer_finish(&w, &body, err));
    enum skiff_status status;
    do {
        status = call_going_on(s, err);
        if (status == SKIFF_OK)
            status = ask_once(s, body, out, err);
    } while (status == SKIFF_TIMEOUT);
    blob_unref(body);
    return status;
}

static enum skiff_status end_by(struct server *s, bool counts, struct skiff_error *err)
{
    server_warn(s, "worker %u has left a load in the middle: %s", s->intake->owner.worker,
                counts ? "it is taken over, as by server 0" : "nothing of it counts");
    if (counts)
        return intake_take(s, err);
    intake_drop(s);
    return SKIFF_OK;
}

static enum skiff_status settle(struct server *s, struct skiff_error *err)
{
    bool counts = false;
    if (!s->intake)
        return SKIFF_OK;
    if (s->index) /* server 0 would have taken it over */
        TRY(ask_host(s, &counts, err));
    return end_by(s, counts, err);
}

bool intake_counts(struct server *s, uint64_t token)
{
    if (intake_is(s, token))
        (void)end_by(s, false, NULL);
    return s->taken == token;
}

enum skiff_status intake_review(struct server *s, struct skiff_error *err)
{
    if (!s->intake || !people_gone(s, s->intake->owner.worker, s->intake->owner.life))
        return SKIFF_OK;
    return settle(s, err);
}

enum skiff_status intake_yield(struct server *s, const struct rpc_request *q,
                               struct skiff_error *err)
{
    const struct intake *n = s->intake;
    if (!n || (n->owner.worker == q->sender.index && n->owner.life == q->incarnation))
        return SKIFF_OK;
    return settle(s, err);
}

/* ---- the first half ---- */

/* The request may have waited for long behind others: of whoever goes from now on there will be
 * news, of whoever went before there was. */
static enum skiff_status check_owner(struct server *s, struct skiff_error *err)
{
    struct rpc_owner owner = s->intake->owner;
    struct person p = people_person(s, owner.worker);
    if (p.life != owner.life || (p.state != MEMBER_DEAD && p.state != MEMBER_LEFT))
        return SKIFF_OK;
    intake_drop(s);
    return error_set(err, SKIFF_PEER, "worker %u, which began a load, has gone", owner.worker);
}

enum skiff_status intake_begin(struct server *s, const struct rpc_request *q, uint64_t token,
                               struct skiff_error *err)
{
    if (q->sender.role != NET_WORKER || q->sender.index >= (uint32_t)s->plan->trainers)
        return error_set(err, SKIFF_INVALID, "loading is for workers of the job");
    TRY(settle(s, err)); /* whoever began the last one has gone, or goes on without it */
    struct intake *n = s->intake = mem_must(sizeof *n);
    n->token = token;
    n->owner = (struct rpc_owner){q->sender.index, q->incarnation};
    call_note_loading(s, &n->owner);
    return check_owner(s, err);
}

enum skiff_status intake_keep(struct server *s, const struct rpc_request *q,
                              struct skiff_error *err)
{
    struct intake_part p;
    TRY(ps_read_put(q->body, &p.put, err));
    TRY(part_check(s, &p.put, &p.unit, err));
    TRY(intake_need(s, p.put.token, err));
    struct intake *n = s->intake;
    p.data = mem_must(p.put.item.bytes + 1);
    memcpy(p.data, p.put.item.data, p.put.item.bytes);
    p.put.item.data = p.data;
    if (n->nparts == n->cap) {
        n->cap = n->cap ? 2 * n->cap : 16;
        n->parts = mem_must_grow(n->parts, (size_t)n->cap * sizeof *n->parts);
    }
    n->parts[n->nparts++] = p;
    return SKIFF_OK;
}
