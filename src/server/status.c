/* PS_STATUS: what this server knows of the members of the job, and which waits it cannot end
 * because workers are missing. Requested by workers that have waited for long, so that they can
 * name the missing ones, and by `skiff doctor`. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/exchange.h"
#include "server/ledger.h"
#include "server/members.h"
#include "server/reduce.h"
#include "server/server_parts.h"
#include "server/status.h"

bool status_wait_begin(struct ps_status *x, const char *what, int64_t since)
{
    if (since == CLOCK_NEVER)
        return false;
    x->waits = mem_grow_or_die(x->waits, (x->nwaits + 1) * sizeof *x->waits);
    struct ps_status_wait *wait = &x->waits[x->nwaits++];
    *wait = (struct ps_status_wait){.waited_ms = (uint64_t)((clock_now() - since) / CLOCK_MS),
                                    .first = x->nmissing};
    snprintf(wait->what, sizeof wait->what, "%s", what);
    return true;
}

void status_wait_add(struct ps_status *x, uint32_t worker)
{
    x->missing = mem_grow_or_die(x->missing, (x->nmissing + 1) * sizeof *x->missing);
    x->missing[x->nmissing++] = worker;
    x->waits[x->nwaits - 1].n++;
}

static void describe_member(struct server *s, enum net_role role, int index,
                            struct ps_status_member *out)
{
    const struct server_member *members = role == NET_WORKER ? s->trainers : s->servers;
    pthread_mutex_lock(&s->members);
    struct server_member p = members[index];
    pthread_mutex_unlock(&s->members);
    *out = (struct ps_status_member){.role = (uint8_t)role,
                                     .index = (uint32_t)index,
                                     .state = (uint8_t)p.state,
                                     .silent_ms = -1,
                                     .epoch = -1};
    snprintf(out->name, sizeof out->name, "%.255s", p.name);
    snprintf(out->reason, sizeof out->reason, "%.255s", p.reason);
    if (!s->membership)
        return;
    int64_t silence = membership_silence(s->membership, (struct net_id){role, (uint32_t)index});
    out->silent_ms = silence < 0 ? -1 : silence / CLOCK_MS;
    pthread_mutex_lock(reduce_lock(s));
    if (role == NET_WORKER)
        ledger_latest(s->ledger, (uint32_t)index, p.incarnation, &out->epoch, &out->samples);
    pthread_mutex_unlock(reduce_lock(s));
}

void on_status(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_status x = {0};
    struct wire_writer w;
    int workers = s->plan->trainers, servers = s->plan->servers;
    x.members = mem_alloc_or_die((size_t)(workers + servers) * sizeof *x.members);
    for (int i = 0; i < workers; i++)
        describe_member(s, NET_WORKER, i, &x.members[x.nmembers++]);
    for (int i = 0; i < servers; i++)
        describe_member(s, NET_SERVER, i, &x.members[x.nmembers++]);
    exchange_add_waits(s, &x);
    reduce_add_waits(s, &x);
    writer_init(&w);
    ps_write_status(&w, &x);
    ps_status_deinit(&x);
    reply_written(s, q, &w);
}
