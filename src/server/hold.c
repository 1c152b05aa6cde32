/* Holding pushes for a moment, so that a snapshot of several servers has all of a push or nothing
 * of it (docs/decisions/0009-snapshots.md). Modes that apply pushes on arrival only; in sync no
 * step ends without the one who saves.
 *
 * While pushes are held, one that has not begun anywhere waits in its shard, unanswered; one that
 * has been applied on another server is let through. Every shard remembers the last pushes of each
 * trainer, until the trainer says that they are settled everywhere. What is held goes on with the
 * mark, when the one who holds has died, and after HOLD_MS in any case. Locks: `hold` changes under
 * the locks of all shards, lists of a shard under its own. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/server_parts.h"

#define HOLD_MS 5000

struct recent_push {
    uint64_t push;
    uint32_t parts;
};

enum { RECENT = 64 }; /* as many exchanges of one trainer are under way at most */

struct trainer_pushes { /* of one trainer, in one shard */
    struct recent_push list[RECENT];
    int n;
    uint64_t settled;
};

struct shard_hold {
    struct trainer_pushes *recent; /* by trainer */
    struct held_push *held;
    int nheld, cap;
};

/* ---- life ---- */

struct shard_hold *shard_hold_create(int trainers)
{
    struct shard_hold *h = mem_must(sizeof *h);
    h->recent = mem_must((size_t)trainers * sizeof *h->recent);
    return h;
}

void shard_hold_destroy(struct shard_hold *h)
{
    if (!h)
        return;
    free(h->recent);
    free(h->held);
    free(h);
}

/* ---- one shard; its lock is held ---- */

void hold_note(struct shard *h, const struct ps_exchange *x)
{
    struct trainer_pushes *t = &h->hold->recent[x->trainer];
    int n = 0;
    t->settled = x->settled > t->settled ? x->settled : t->settled;
    for (int i = 0; i < t->n; i++)
        if (t->list[i].push >= t->settled)
            t->list[n++] = t->list[i];
    if (n == RECENT)
        memmove(t->list, t->list + 1, (size_t)--n * sizeof *t->list);
    t->n = n;
    if (x->push)
        t->list[t->n++] = (struct recent_push){x->push, x->parts};
}

void hold_forget(struct shard *h, uint32_t trainer)
{
    h->hold->recent[trainer] = (struct trainer_pushes){0};
}

static bool may_begin(const struct server *s, uint32_t trainer, uint64_t push)
{
    for (uint32_t i = 0; i < s->hold.nlet; i++)
        if (s->hold.let[i].trainer == trainer && s->hold.let[i].push == push)
            return true;
    return false;
}

bool hold_takes(struct shard *h, struct rpc_request *q, const struct ps_exchange *x)
{
    const struct server *s = h->server;
    struct shard_hold *d = h->hold;
    if (!s->hold.on || !x->nitems || !x->push || may_begin(s, x->trainer, x->push))
        return false;
    if (d->nheld == d->cap) {
        d->cap = d->cap ? 2 * d->cap : 4;
        d->held = mem_must_grow(d->held, (size_t)d->cap * sizeof *d->held);
    }
    d->held[d->nheld++] = (struct held_push){q, *x};
    return true;
}

/* Those that may begin do, in the order in which they came. */
static void let_go(struct shard *h)
{
    struct shard_hold *d = h->hold;
    struct held_push *held = d->held;
    int n = d->nheld;
    d->held = NULL;
    d->nheld = d->cap = 0;
    for (int i = 0; i < n; i++)
        if (!hold_takes(h, held[i].request, &held[i].x))
            exchange_now(h, held[i].request, &held[i].x);
    free(held);
}

void hold_fail(struct shard *h, const struct skiff_error *reason)
{
    for (int i = 0; i < h->hold->nheld; i++) {
        rpc_fail(h->hold->held[i].request, reason);
        ps_exchange_deinit(&h->hold->held[i].x);
    }
    h->hold->nheld = 0;
}

/* ---- the server: all locks are held ---- */

static bool is_of(const struct server *s, const struct rpc_request *q)
{
    return s->hold.on && s->hold.worker == q->sender.index && s->hold.life == q->incarnation;
}

enum skiff_status hold_begin(struct server *s, const struct rpc_request *q,
                             const struct ps_snapshot *x, struct skiff_error *err)
{
    if (s->hold.on && !is_of(s, q))
        return error_set(err, SKIFF_STATE, "worker %u is about to save; one at a time",
                         s->hold.worker);
    struct ps_applied *let = mem_must((x->npushes + 1) * sizeof *let);
    if (x->npushes)
        memcpy(let, x->pushes, x->npushes * sizeof *let);
    free(s->hold.let);
    s->hold.let = let;
    s->hold.nlet = x->npushes;
    s->hold.worker = q->sender.index;
    s->hold.life = q->incarnation;
    if (!s->hold.on)
        s->hold.until = clock_after(clock_now(), HOLD_MS);
    s->hold.on = true;
    for (int i = 0; i < s->nshards; i++)
        let_go(&s->shards[i]);
    return SKIFF_OK;
}

enum skiff_status hold_check(const struct server *s, const struct rpc_request *q,
                             struct skiff_error *err)
{
    char text[320];
    bool needed = !mode_waits(s->plan->mode) && s->plan->trainers > 1;
    if (!needed || is_of(s, q))
        return SKIFF_OK;
    return error_set(err, SKIFF_STATE,
                     "%s does not hold pushes for worker %u any more: they are held for %d s at "
                     "most, and one snapshot is made at a time",
                     server_text(s, text), q->sender.index, HOLD_MS / 1000);
}

static void hold_end(struct server *s)
{
    if (!s->hold.on)
        return;
    s->hold.on = false;
    free(s->hold.let);
    s->hold.let = NULL;
    s->hold.nlet = 0;
    for (int i = 0; i < s->nshards; i++)
        let_go(&s->shards[i]);
}

void hold_end_of(struct server *s, const struct rpc_request *q)
{
    if (is_of(s, q))
        hold_end(s);
}

/* Adds to the entry of the push; there are few. */
static void add_applied(struct ps_applied **list, uint32_t *n, uint32_t trainer, uint64_t settled,
                        const struct recent_push *p)
{
    for (uint32_t i = 0; i < *n; i++)
        if ((*list)[i].trainer == trainer && (*list)[i].push == p->push) {
            (*list)[i].here++;
            return;
        }
    *list = mem_must_grow(*list, (*n + 1) * sizeof **list);
    (*list)[(*n)++] = (struct ps_applied){
        .trainer = trainer, .parts = p->parts, .here = 1, .push = p->push, .settled = settled};
}

struct ps_applied *hold_list(struct server *s, uint32_t *out_n)
{
    struct ps_applied *list = NULL;
    *out_n = 0;
    for (int k = 0; k < s->plan->trainers; k++)
        for (int i = 0; i < s->nshards; i++) {
            const struct trainer_pushes *t = &s->shards[i].hold->recent[k];
            if (s->shards[i].lives[k] < people_person(s, (uint32_t)k).life)
                continue; /* of a process that has died: lives are times */
            for (int p = 0; p < t->n; p++)
                add_applied(&list, out_n, (uint32_t)k, t->settled, &t->list[p]);
        }
    return list;
}

int64_t hold_review(struct server *s)
{
    server_lock_all(s);
    if (s->hold.on &&
        (people_gone(s, s->hold.worker, s->hold.life) || clock_now() >= s->hold.until))
        hold_end(s);
    int64_t until = s->hold.on ? s->hold.until : CLOCK_NEVER;
    server_unlock_all(s);
    return until;
}
