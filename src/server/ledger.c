/* Ledger on server 0: which samples of an epoch were trained, by which process of which worker.
 * Workers report about every second and at the end of their files. A worker that dies has no part
 * in the reduction at the end of the epoch, but the ledger still has its last report. So the sample
 * count of an epoch is that of the samples trained, and an epoch that lacks a worker's files, or
 * has some of them twice, is recognized. Guarded by the reduction state's lock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/coordinator.h"
#include "server/exchange.h"
#include "server/ledger.h"
#include "server/reduce.h"
#include "server/server_parts.h"

struct ledger_entry { /* one process in one epoch */
    uint32_t worker;
    uint64_t incarnation;
    int64_t epoch;
    uint64_t samples, batches;
    bool done;
};

struct ledger {
    struct ledger_entry *at; /* in the order of first reports */
    size_t n, cap;
};

struct ledger *ledger_create(void)
{
    return mem_alloc_or_die(sizeof(struct ledger));
}

void ledger_destroy(struct ledger *l)
{
    if (!l)
        return;
    free(l->at);
    free(l);
}

static struct ledger_entry *find(const struct ledger *l, uint32_t worker, uint64_t incarnation,
                                 int64_t epoch)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].worker == worker && l->at[i].incarnation == incarnation &&
            l->at[i].epoch == epoch)
            return &l->at[i];
    return NULL;
}

bool ledger_latest(const struct ledger *l, uint32_t worker, uint64_t incarnation, int64_t *epoch,
                   uint64_t *samples)
{
    bool found = false;
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].worker == worker && l->at[i].incarnation == incarnation &&
            (!found || l->at[i].epoch >= *epoch)) {
            found = true;
            *epoch = l->at[i].epoch;
            *samples = l->at[i].samples;
        }
    return found;
}

/* An epoch's account is no longer requested when all workers are two epochs further. */
static void drop_old(struct ledger *l, int64_t newest)
{
    size_t copy_of = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].epoch + 2 >= newest)
            l->at[copy_of++] = l->at[i];
    l->n = copy_of;
}

static void take(struct ledger *l, const struct ps_trained *x, uint64_t incarnation)
{
    struct ledger_entry *e = find(l, x->worker, incarnation, x->epoch);
    if (!e) {
        drop_old(l, x->epoch);
        if (l->n == l->cap) {
            l->cap = l->cap ? 2 * l->cap : 16;
            l->at = mem_grow_or_die(l->at, l->cap * sizeof *l->at);
        }
        e = &l->at[l->n++];
        *e = (struct ledger_entry){
            .worker = x->worker, .incarnation = incarnation, .epoch = x->epoch};
    }
    if (x->samples >= e->samples) { /* reports may arrive out of order */
        e->samples = x->samples;
        e->batches = x->batches;
    }
    e->done |= x->done;
}

/* The first process of the worker that has trained all of its files; NULL: none has. */
static const struct ledger_entry *find_done(const struct ledger *l, uint32_t worker, int64_t epoch)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].worker == worker && l->at[i].epoch == epoch && l->at[i].done)
            return &l->at[i];
    return NULL;
}

static void add_lost(struct server *s, int64_t epoch, struct ps_account *out)
{
    size_t at = 0;
    for (int i = 0; i < s->plan->trainers; i++) {
        if (!coordinator_has_files(s, i) || find_done(s->ledger, (uint32_t)i, epoch))
            continue;
        if (at + 16 < sizeof out->lost)
            at += (size_t)snprintf(out->lost + at, sizeof out->lost - at, "%s%d",
                                   out->nlost ? ", " : "", i);
        out->nlost++;
    }
}

static void account(struct server *s, int64_t epoch, struct ps_account *out)
{
    const struct ledger *l = s->ledger;
    *out = (struct ps_account){0};
    for (size_t i = 0; i < l->n; i++) {
        const struct ledger_entry *e = &l->at[i];
        if (e->epoch != epoch)
            continue;
        out->samples += e->samples;
        out->batches += e->batches;
        const struct ledger_entry *done = find_done(l, e->worker, epoch);
        if (done && done != e) /* every process of a worker reads its files from the beginning */
            out->twice += e->samples;
    }
    add_lost(s, epoch, out);
}

void on_trained(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_trained x;
    struct ps_account a;
    struct wire_writer w;
    struct skiff_error err;
    enum skiff_status status = ps_read_trained(q->body, &x, &err);
    if (status == SKIFF_OK && (q->sender.role != NET_WORKER || q->sender.index != x.worker ||
                               x.worker >= (uint32_t)s->plan->trainers))
        status = error_set(&err, SKIFF_INVALID,
                           "the samples of worker %u of %d are reported by another process",
                           x.worker, s->plan->trainers);
    if (status < 0) {
        rpc_fail(q, &err);
        return;
    }
    pthread_mutex_lock(reduce_lock(s));
    take(s->ledger, &x, q->incarnation);
    account(s, x.epoch, &a);
    pthread_mutex_unlock(reduce_lock(s));
    writer_init(&w);
    ps_write_account(&w, &a);
    reply_written(s, q, &w);
}
