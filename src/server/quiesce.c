/* Push fences (quiesce): pushes are held back briefly, so that a snapshot of several servers has
 * all of a push or none of it (docs/internals/decisions/0009-snapshots.md). Needed only in the
 * modes that apply pushes on arrival; in sync no step ends without the worker that saves.
 *
 * While the fence is up, a push that no server has applied yet waits in its shard, unanswered;
 * one that another server has applied already is let through. For that, every shard remembers
 * the last pushes of each trainer, until the trainer reports that they are applied on all
 * servers. The fence is lifted with the tag of the snapshot, when its owner has died, and after
 * QUIESCE_MS in any case. Locks: `hold` changes under the locks of all shards, lists of a shard
 * under its own. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/exchange.h"
#include "server/members.h"
#include "server/quiesce.h"
#include "server/server_parts.h"
#include "server/shard.h"

#define QUIESCE_MS 5000

struct recent_push {
    uint64_t push;
    uint32_t parts;
};

enum { RECENT = 64 }; /* at most this many exchanges of one trainer are in flight */

struct trainer_pushes { /* of one trainer, in one shard */
    struct recent_push list[RECENT];
    int n;
    uint64_t acked;
};

struct shard_quiesce {
    struct trainer_pushes *recent; /* by trainer */
    struct fenced_push *fenced;
    int nheld, cap;
};

/* ---- lifecycle ---- */

struct shard_quiesce *shard_quiesce_create(int trainers)
{
    struct shard_quiesce *h = mem_alloc_or_die(sizeof *h);
    h->recent = mem_alloc_or_die((size_t)trainers * sizeof *h->recent);
    return h;
}

void shard_quiesce_destroy(struct shard_quiesce *h)
{
    if (!h)
        return;
    free(h->recent);
    free(h->fenced);
    free(h);
}

/* ---- one shard; its lock is held ---- */

void quiesce_note(struct server_shard *h, const struct ps_exchange *x)
{
    struct trainer_pushes *t = &h->quiesce->recent[x->trainer];
    int n = 0;
    t->acked = x->acked > t->acked ? x->acked : t->acked;
    for (int i = 0; i < t->n; i++)
        if (t->list[i].push >= t->acked)
            t->list[n++] = t->list[i];
    if (n == RECENT)
        memmove(t->list, t->list + 1, (size_t)--n * sizeof *t->list);
    t->n = n;
    if (x->push)
        t->list[t->n++] = (struct recent_push){x->push, x->parts};
}

void quiesce_forget(struct server_shard *h, uint32_t trainer)
{
    h->quiesce->recent[trainer] = (struct trainer_pushes){0};
}

static bool may_begin(const struct server *s, uint32_t trainer, uint64_t push)
{
    for (uint32_t i = 0; i < s->quiesce.nlet; i++)
        if (s->quiesce.let[i].trainer == trainer && s->quiesce.let[i].push == push)
            return true;
    return false;
}

bool quiesce_takes(struct server_shard *h, struct rpc_request *q, const struct ps_exchange *x)
{
    const struct server *s = h->server;
    struct shard_quiesce *d = h->quiesce;
    if (!s->quiesce.on || !x->pieces.n || !x->push || may_begin(s, x->trainer, x->push))
        return false;
    if (d->nheld == d->cap) {
        d->cap = d->cap ? 2 * d->cap : 4;
        d->fenced = mem_grow_or_die(d->fenced, (size_t)d->cap * sizeof *d->fenced);
    }
    d->fenced[d->nheld++] = (struct fenced_push){q, *x};
    return true;
}

/* Starts the held pushes that may begin, in the order of arrival. */
static void let_go(struct server_shard *h)
{
    struct shard_quiesce *d = h->quiesce;
    struct fenced_push *fenced = d->fenced;
    int n = d->nheld;
    d->fenced = NULL;
    d->nheld = d->cap = 0;
    for (int i = 0; i < n; i++)
        if (!quiesce_takes(h, fenced[i].request, &fenced[i].x))
            exchange_now(h, fenced[i].request, &fenced[i].x);
    free(fenced);
}

void quiesce_fail(struct server_shard *h, const struct skiff_error *reason)
{
    for (int i = 0; i < h->quiesce->nheld; i++)
        rpc_fail(h->quiesce->fenced[i].request, reason);
    h->quiesce->nheld = 0;
}

/* ---- the server: all locks are held ---- */

static bool is_of(const struct server *s, const struct rpc_request *q)
{
    return s->quiesce.on && s->quiesce.worker == q->sender.index &&
           s->quiesce.incarnation == q->incarnation;
}

enum skiff_status quiesce_begin(struct server *s, const struct rpc_request *q,
                                const struct ps_snapshot *x, struct skiff_error *err)
{
    if (s->quiesce.on && !is_of(s, q))
        return error_set(err, SKIFF_STATE,
                         "worker %u is about to save; only one worker can at a time",
                         s->quiesce.worker);
    struct ps_applied *let = mem_alloc_or_die((x->npushes + 1) * sizeof *let);
    if (x->npushes)
        memcpy(let, x->pushes, x->npushes * sizeof *let);
    free(s->quiesce.let);
    s->quiesce.let = let;
    s->quiesce.nlet = x->npushes;
    s->quiesce.worker = q->sender.index;
    s->quiesce.incarnation = q->incarnation;
    if (!s->quiesce.on)
        s->quiesce.until = clock_after(clock_now(), QUIESCE_MS);
    s->quiesce.on = true;
    for (int i = 0; i < s->nshards; i++)
        let_go(&s->shards[i]);
    return SKIFF_OK;
}

enum skiff_status quiesce_check(const struct server *s, const struct rpc_request *q,
                                struct skiff_error *err)
{
    char text[320];
    bool needed = !mode_waits(s->plan->mode) && s->plan->trainers > 1;
    if (!needed || is_of(s, q))
        return SKIFF_OK;
    return error_set(err, SKIFF_STATE,
                     "%s no longer holds back pushes for worker %u: it does so for at most %d s, "
                     "and for one snapshot at a time",
                     server_text(s, text), q->sender.index, QUIESCE_MS / 1000);
}

static void quiesce_end(struct server *s)
{
    if (!s->quiesce.on)
        return;
    s->quiesce.on = false;
    free(s->quiesce.let);
    s->quiesce.let = NULL;
    s->quiesce.nlet = 0;
    for (int i = 0; i < s->nshards; i++)
        let_go(&s->shards[i]);
}

void quiesce_end_of(struct server *s, const struct rpc_request *q)
{
    if (is_of(s, q))
        quiesce_end(s);
}

/* Adds to the entry of the push; the list is short. */
static void add_applied(struct ps_applied **list, uint32_t *n, uint32_t trainer, uint64_t acked,
                        const struct recent_push *p)
{
    for (uint32_t i = 0; i < *n; i++)
        if ((*list)[i].trainer == trainer && (*list)[i].push == p->push) {
            (*list)[i].here++;
            return;
        }
    *list = mem_grow_or_die(*list, (*n + 1) * sizeof **list);
    (*list)[(*n)++] = (struct ps_applied){
        .trainer = trainer, .parts = p->parts, .here = 1, .push = p->push, .acked = acked};
}

struct ps_applied *quiesce_list(struct server *s, uint32_t *out_n)
{
    struct ps_applied *list = NULL;
    *out_n = 0;
    for (int k = 0; k < s->plan->trainers; k++)
        for (int i = 0; i < s->nshards; i++) {
            const struct trainer_pushes *t = &s->shards[i].quiesce->recent[k];
            if (s->shards[i].incarnations[k] < members_get(s, (uint32_t)k).incarnation)
                continue; /* of a process that has died: incarnations are start times */
            for (int p = 0; p < t->n; p++)
                add_applied(&list, out_n, (uint32_t)k, t->acked, &t->list[p]);
        }
    return list;
}

int64_t quiesce_review(struct server *s)
{
    server_lock_all(s);
    if (s->quiesce.on && (members_gone(s, s->quiesce.worker, s->quiesce.incarnation) ||
                          clock_now() >= s->quiesce.until))
        quiesce_end(s);
    int64_t until = s->quiesce.on ? s->quiesce.until : CLOCK_NEVER;
    server_unlock_all(s);
    return until;
}
