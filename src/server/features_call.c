/* PS_TABLE: shrinks, saves and loads of tables of features.
 *
 * They take minutes, while training goes on: so a thread of its own, the clerk, carries them out,
 * one after the other in the order of their coming. It holds a shard's lock for a piece of a table
 * at a time (CALL_PIECE). Only the state of a table is told at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "server/features.h"

#define PAUSE (50 * 1000) /* nanoseconds: who waits for the lock wakes up in that */

struct call {
    struct rpc_request *request;
    struct ps_table x;
    struct unit *unit;
    enum { CALL_TABLE, CALL_PART, CALL_SETTLE } kind; /* of a table; PUT_PART; no request */
    struct call *next;
};

struct clerk {
    pthread_mutex_t lock; /* guards the list; a leaf */
    pthread_cond_t came;
    struct call *first, **last;
    struct rpc_owner owner; /* of the load that has begun */
    bool loading, settling; /* settling: a CALL_SETTLE waits to be carried out */
    atomic_bool stop;
    struct thread thread;
};

/* ---- small ones ---- */

enum skiff_status call_going_on(struct server *s, struct skiff_error *err)
{
    char text[320];
    if (atomic_load(&s->clerk->stop))
        return error_set(err, SKIFF_STATE, "%s ends", server_text(s, text));
    return SKIFF_OK;
}

const atomic_bool *call_stop(const struct server *s)
{
    return s->clerk ? &s->clerk->stop : NULL;
}

enum skiff_status call_pause(struct server *s, struct skiff_error *err)
{
    TRY(call_going_on(s, err));
    clock_sleep(PAUSE);
    return SKIFF_OK;
}

void call_note_loading(struct server *s, const struct rpc_owner *owner)
{
    struct clerk *k = s->clerk;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->loading = owner != NULL;
    if (owner)
        k->owner = *owner;
    pthread_mutex_unlock(&k->lock);
}

void features_state(struct server *s, struct unit *u, struct ps_table_state *out)
{
    struct shard *h = unit_shard(s, u);
    pthread_mutex_lock(&h->lock);
    struct table_stats t = {0};
    table_stats(u->table, &t);
    if (u->features)
        features_tell(s, u);
    out->limit = u->table->options.limit.bytes;
    pthread_mutex_unlock(&h->lock);
    out->shards = u->features ? (uint64_t)u->features->nshards : 0;
    out->waiting = t.waiting;
    out->fetched = t.fetched;
    out->written_rows = t.rows_written;
    out->rows = t.rows;
    out->bytes = t.bytes;
    out->admitted = t.counts.admitted;
    out->refused = t.counts.refused;
    out->expired = t.counts.expired;
    out->evicted = t.counts.evicted;
    out->hits = t.hits;
    out->misses = t.misses;
    out->disk_rows = t.disk_rows;
    out->disk_bytes = t.disk_bytes;
    out->written_bytes = t.bytes_written;
}

static enum skiff_status shrink(struct server *s, struct unit *u, struct ps_table_state *state,
                                struct skiff_error *err)
{
    struct shard *h = unit_shard(s, u);
    struct table_cursor at = {0};
    enum skiff_status status = SKIFF_OK;
    uint64_t before = u->table->counts.expired; /* only the clerk changes it */
    while (status == SKIFF_OK) {
        TRY(call_pause(s, err));
        pthread_mutex_lock(&h->lock);
        status = table_shrink(u->table, &at, CALL_PIECE, err);
        pthread_mutex_unlock(&h->lock);
    }
    state->done = u->table->counts.expired - before;
    return status < 0 ? status : SKIFF_OK;
}

/* ---- one call ---- */

/* Whoever goes from here on is looked for again: the load that this call was for may have ended
 * meanwhile, and another one have begun. */
static enum skiff_status carry_out_settle(struct server *s, struct skiff_error *err)
{
    struct clerk *k = s->clerk;
    pthread_mutex_lock(&k->lock);
    k->settling = false;
    pthread_mutex_unlock(&k->lock);
    return intake_review(s, err);
}

/* Does it look at all rows, or change them? */
static bool is_for_all(enum ps_table_call call)
{
    return call == PS_TABLE_SHRINK || call == PS_TABLE_SAVE || call == PS_TABLE_CACHE ||
           call == PS_TABLE_REVERT || call == PS_TABLE_DAY;
}

static enum skiff_status carry_out_table(struct server *s, struct call *c,
                                         struct ps_table_state *state, struct skiff_error *err)
{
    struct unit *u = c->unit;
    if (is_for_all(c->x.call))
        TRY(intake_yield(s, c->request, err));
    switch (c->x.call) {
    case PS_TABLE_SHRINK:
        return shrink(s, u, state, err);
    case PS_TABLE_SAVE:
    case PS_TABLE_CACHE:
        return features_save(s, u, &c->x, state, err);
    case PS_TABLE_COMMIT:
        return intake_is(s, c->x.token) ? intake_take(s, err)
                                        : features_commit(s, u, &c->x, state, err);
    case PS_TABLE_LOAD:
        TRY(intake_need(s, c->x.token, err));
        return features_load(s, u, &c->x, state, err);
    case PS_TABLE_BEGIN:
        return intake_begin(s, c->request, c->x.token, err);
    case PS_TABLE_ABORT: /* not another asker's, which may have begun since */
        if (features_is_saving(u, c->x.token))
            features_abort(u);
        if (intake_is(s, c->x.token))
            intake_drop(s);
        return SKIFF_OK;
    case PS_TABLE_ASK:
        state->done = intake_counts(s, c->x.token);
        return SKIFF_OK;
    case PS_TABLE_REVERT:
        return features_revert(s, u, err);
    case PS_TABLE_DAY:
        return features_day(s, u, err);
    default: /* STAT is answered at once */
        return SKIFF_OK;
    }
}

static enum skiff_status carry_out(struct server *s, struct call *c, struct ps_table_state *state,
                                   struct skiff_error *err)
{
    if (c->kind == CALL_PART)
        return intake_keep(s, c->request, err);
    return c->kind == CALL_SETTLE ? carry_out_settle(s, err) : carry_out_table(s, c, state, err);
}

static void answer(struct server *s, struct call *c, enum skiff_status status,
                   struct ps_table_state *state, struct skiff_error *err)
{
    struct wire_writer w;
    char text[320];
    if (status < 0) {
        error_prefix(err, status, "%s", server_text(s, text));
        c->request ? rpc_fail(c->request, err) : server_fail(s, err);
    } else if (c->kind == CALL_PART) {
        rpc_reply(c->request, NULL);
    } else if (c->request) {
        features_state(s, c->unit, state);
        writer_init(&w);
        ps_write_table_state(&w, state);
        reply_written(s, c->request, &w);
    }
    free(c);
}

static struct call *take_call(struct clerk *k)
{
    pthread_mutex_lock(&k->lock);
    while (!k->first && !atomic_load(&k->stop))
        pthread_cond_wait(&k->came, &k->lock);
    struct call *c = atomic_load(&k->stop) ? NULL : k->first;
    if (c) {
        k->first = c->next;
        k->last = k->first ? k->last : &k->first;
    }
    pthread_mutex_unlock(&k->lock);
    return c;
}

static void *clerk_run(void *arg)
{
    struct server *s = arg;
    for (struct call *c; (c = take_call(s->clerk));) {
        struct ps_table_state state = {0};
        struct skiff_error err;
        enum skiff_status status = carry_out(s, c, &state, &err);
        answer(s, c, status, &state, &err);
    }
    return NULL;
}

/* ---- the clerk ---- */

enum skiff_status tables_begin(struct server *s, struct skiff_error *err)
{
    bool any = false;
    for (int i = 0; i < s->nunits; i++)
        any |= s->units[i].features != NULL;
    if (!any)
        return SKIFF_OK;
    struct clerk *k = s->clerk = mem_must(sizeof *k);
    pthread_mutex_init(&k->lock, NULL);
    cond_init(&k->came);
    k->last = &k->first;
    return thread_start(&k->thread, "clerk", -1, clerk_run, s, err);
}

void tables_end(struct server *s, const struct skiff_error *reason)
{
    struct clerk *k = s->clerk;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    atomic_store(&k->stop, true);
    pthread_cond_signal(&k->came);
    pthread_mutex_unlock(&k->lock);
    thread_join(&k->thread);
    for (struct call *c = k->first, *next; c; c = next) {
        next = c->next;
        if (c->request)
            rpc_fail(c->request, reason);
        free(c);
    }
    intake_drop(s);
    pthread_cond_destroy(&k->came);
    pthread_mutex_destroy(&k->lock);
    free(k);
    s->clerk = NULL;
}

static enum skiff_status find_table(struct server *s, struct call *c, struct skiff_error *err)
{
    char text[320];
    c->unit = str_map_get(&s->by_var, c->x.table);
    if (c->unit && c->unit->features && !strcmp(c->unit->param, c->x.table))
        return SKIFF_OK;
    return error_set(err, SKIFF_NOT_FOUND, "%s has no table of features %s%s", server_text(s, text),
                     c->x.table,
                     c->unit ? ": its rows are updated by the program's optimizer" : "");
}

static void hand_over(struct clerk *k, struct call *c)
{
    pthread_mutex_lock(&k->lock);
    *k->last = c;
    k->last = &c->next;
    pthread_cond_signal(&k->came);
    pthread_mutex_unlock(&k->lock);
}

void tables_keep_part(struct server *s, struct rpc_request *q)
{
    struct skiff_error err;
    char text[320];
    if (!s->clerk) {
        error_set(&err, SKIFF_STATE, "%s has no tables of features to load", server_text(s, text));
        rpc_fail(q, &err);
        return;
    }
    struct call *c = mem_must(sizeof *c);
    c->kind = CALL_PART;
    c->request = q;
    hand_over(s->clerk, c);
}

void tables_review(struct server *s)
{
    struct clerk *k = s->clerk;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    struct rpc_owner owner = k->owner;
    bool looks = k->loading && !k->settling;
    pthread_mutex_unlock(&k->lock);
    if (!looks || !people_gone(s, owner.worker, owner.life))
        return;
    pthread_mutex_lock(&k->lock);
    k->settling = true;
    pthread_mutex_unlock(&k->lock);
    struct call *c = mem_must(sizeof *c);
    c->kind = CALL_SETTLE;
    hand_over(k, c);
}

void on_table(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct call *c = mem_must(sizeof *c);
    struct skiff_error err;
    c->request = q;
    enum skiff_status status = ps_read_table(q->body, &c->x, &err);
    if (status == SKIFF_OK)
        status = find_table(s, c, &err);
    if (status < 0 || c->x.call == PS_TABLE_STAT) {
        struct ps_table_state state = {0};
        answer(s, c, status, &state, &err);
        return;
    }
    hand_over(s->clerk, c);
}

/* Whoever knows the job's secret may look: it changes nothing, and is no member. */
void on_tables(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct wire_writer w;
    uint32_t n = 0;
    struct ps_table_info *tables = mem_must((size_t)(s->nunits + 1) * sizeof *tables);
    for (int i = 0; i < s->nunits; i++) {
        struct unit *u = &s->units[i];
        if (!unit_is_keyed(u))
            continue;
        snprintf(tables[n].table, sizeof tables[n].table, "%s", u->param);
        tables[n].features = u->features != NULL;
        features_state(s, u, &tables[n++].state);
    }
    writer_init(&w);
    ps_write_tables(&w, tables, n);
    free(tables);
    reply_written(s, q, &w);
}
