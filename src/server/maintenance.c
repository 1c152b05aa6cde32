/* PS_TABLE: shrinks, saves and loads of sparse tables.
 *
 * They take minutes while training continues. So a thread of its own, the table maintenance thread,
 * carries them out one after the other in the order of arrival. It holds a shard's lock for one
 * piece of a table at a time. Only requests for the state of a table are answered at
 * once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "server/exchange.h"
#include "server/load_staging.h"
#include "server/maintenance.h"
#include "server/members.h"
#include "server/server_parts.h"
#include "server/shard.h"
#include "server/slice.h"

struct table_command {
    struct rpc_request *request;
    struct ps_table x;
    struct param_slice *slice;
    enum { CALL_TABLE, CALL_PART, CALL_FLUSH } kind; /* a table's command; PUT_PART; no request */
    struct table_command *next;
};

struct maintenance {
    pthread_mutex_t lock; /* guards the list; a leaf */
    pthread_cond_t came;
    struct table_command *first, **last;
    struct rpc_owner owner; /* of the load that is in progress */
    bool loading, flushing; /* flushing: a CALL_FLUSH is queued */
    atomic_bool stop;
    struct thread thread;
};

/* ---- small commands ---- */

enum skiff_status maintenance_check_stop(struct server *s, struct skiff_error *err)
{
    char text[320];
    if (atomic_load(&s->maintenance->stop))
        return error_set(err, SKIFF_STATE, "%s is shutting down", server_text(s, text));
    return SKIFF_OK;
}

void maintenance_note_loading(struct server *s, const struct rpc_owner *owner)
{
    struct maintenance *k = s->maintenance;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->loading = owner != NULL;
    if (owner)
        k->owner = *owner;
    pthread_mutex_unlock(&k->lock);
}

void maintenance_table_state(struct server *s, struct param_slice *u, struct ps_table_state *out)
{
    struct server_shard *h = slice_shard(s, u);
    pthread_mutex_lock(&h->lock);
    struct table_stats t = {0};
    table_stats(slice_table(u), &t);
    if (u->sparse_table)
        sparse_describe_all(u->sparse_table, &t);
    out->limit = slice_table(u)->options.limit.bytes;
    pthread_mutex_unlock(&h->lock);
    out->shards = u->sparse_table ? (uint64_t)u->sparse_table->nshards : 0;
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

/* ---- one command ---- */

/* Clears the flag first: a later departure queues a new check. The load that this call was queued
 * for may have ended meanwhile, and another one may have begun. */
static enum skiff_status carry_out_flush(struct server *s, struct skiff_error *err)
{
    struct maintenance *k = s->maintenance;
    pthread_mutex_lock(&k->lock);
    k->flushing = false;
    pthread_mutex_unlock(&k->lock);
    return staging_review(s, err);
}

/* Does it read or change all rows? */
static bool is_for_all(enum ps_table_call call)
{
    return call == PS_TABLE_SHRINK || call == PS_TABLE_SAVE || call == PS_TABLE_CACHE ||
           call == PS_TABLE_REVERT || call == PS_TABLE_DAY;
}

static enum skiff_status commit(struct server *s, const struct table_command *c,
                                struct skiff_error *err)
{
    struct sparse_table *t = c->slice->sparse_table;
    if (staging_is(s, c->x.token))
        return staging_take(s, err);
    if (sparse_is_saving(t, c->x.token))
        return sparse_commit(t, err);
    return error_set(err, SKIFF_STATE,
                     "table %s: there is no such save or load to commit (%s); save or load again",
                     t->name,
                     t->save || s->staging ? "another one has begun since" : "it was aborted");
}

static enum skiff_status save_or_load(struct server *s, const struct table_command *c,
                                      struct ps_table_state *state, struct skiff_error *err)
{
    struct sparse_table *t = c->slice->sparse_table;
    struct sparse_result got = {0};
    struct sparse_command x = {.token = c->x.token,
                               .dir = c->x.dir,
                               .mode = c->x.mode,
                               .cache = c->x.call == PS_TABLE_CACHE,
                               .all = c->x.all,
                               .threshold = c->x.threshold};
    bool loads = c->x.call == PS_TABLE_LOAD;
    if (loads)
        TRY(staging_need(s, c->x.token, err));
    enum skiff_status status = (loads ? sparse_load : sparse_save)(t, &x, &got, err);
    state->done = got.rows;
    state->elsewhere = got.elsewhere;
    state->threshold = got.threshold;
    return status;
}

/* Aborts only the sender's own: another one's may have begun since. */
static void abort_own(struct server *s, const struct table_command *c)
{
    if (sparse_is_saving(c->slice->sparse_table, c->x.token))
        sparse_abort(c->slice->sparse_table);
    if (staging_is(s, c->x.token))
        staging_drop(s);
}

static enum skiff_status carry_out_table(struct server *s, struct table_command *c,
                                         struct ps_table_state *state, struct skiff_error *err)
{
    struct sparse_table *t = c->slice->sparse_table;
    if (is_for_all(c->x.call))
        TRY(staging_yield(s, c->request, err));
    switch (c->x.call) {
    case PS_TABLE_SHRINK:
        return sparse_shrink(t, &state->done, err);
    case PS_TABLE_SAVE:
    case PS_TABLE_CACHE:
    case PS_TABLE_LOAD:
        return save_or_load(s, c, state, err);
    case PS_TABLE_COMMIT:
        return commit(s, c, err);
    case PS_TABLE_BEGIN:
        return staging_begin(s, c->request, c->x.token, err);
    case PS_TABLE_ABORT:
        abort_own(s, c);
        return SKIFF_OK;
    case PS_TABLE_ASK:
        state->done = staging_counts(s, c->x.token);
        return SKIFF_OK;
    case PS_TABLE_REVERT:
        return sparse_revert(t, err);
    case PS_TABLE_DAY:
        return sparse_day(t, err);
    default: /* STAT is answered at once */
        return SKIFF_OK;
    }
}

static enum skiff_status carry_out(struct server *s, struct table_command *c,
                                   struct ps_table_state *state, struct skiff_error *err)
{
    if (c->kind == CALL_PART)
        return staging_keep(s, c->request, err);
    return c->kind == CALL_FLUSH ? carry_out_flush(s, err) : carry_out_table(s, c, state, err);
}

static void answer(struct server *s, struct table_command *c, enum skiff_status status,
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
        maintenance_table_state(s, c->slice, state);
        writer_init(&w);
        ps_write_table_state(&w, state);
        reply_written(s, c->request, &w);
    }
    free(c);
}

static struct table_command *take_call(struct maintenance *k)
{
    pthread_mutex_lock(&k->lock);
    while (!k->first && !atomic_load(&k->stop))
        pthread_cond_wait(&k->came, &k->lock);
    struct table_command *c = atomic_load(&k->stop) ? NULL : k->first;
    if (c) {
        k->first = c->next;
        k->last = k->first ? k->last : &k->first;
    }
    pthread_mutex_unlock(&k->lock);
    return c;
}

static void *maintenance_run(void *arg)
{
    struct server *s = arg;
    for (struct table_command *c; (c = take_call(s->maintenance));) {
        struct ps_table_state state = {0};
        struct skiff_error err;
        enum skiff_status status = carry_out(s, c, &state, &err);
        answer(s, c, status, &state, &err);
    }
    return NULL;
}

/* ---- the table maintenance thread ---- */

enum skiff_status maintenance_start(struct server *s, struct skiff_error *err)
{
    bool any = false;
    for (int i = 0; i < s->nslices; i++)
        any |= s->slices[i].sparse_table != NULL;
    if (!any)
        return SKIFF_OK;
    struct maintenance *k = s->maintenance = mem_alloc_or_die(sizeof *k);
    pthread_mutex_init(&k->lock, NULL);
    cond_init(&k->came);
    k->last = &k->first;
    s->sparse_host.stop = &k->stop;
    return thread_start(&k->thread, "maintenance", -1, maintenance_run, s, err);
}

void maintenance_stop(struct server *s, const struct skiff_error *reason)
{
    struct maintenance *k = s->maintenance;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    atomic_store(&k->stop, true);
    pthread_cond_signal(&k->came);
    pthread_mutex_unlock(&k->lock);
    thread_join(&k->thread);
    for (struct table_command *c = k->first, *next; c; c = next) {
        next = c->next;
        if (c->request)
            rpc_fail(c->request, reason);
        free(c);
    }
    staging_drop(s);
    s->sparse_host.stop = NULL;
    pthread_cond_destroy(&k->came);
    pthread_mutex_destroy(&k->lock);
    free(k);
    s->maintenance = NULL;
}

static enum skiff_status find_table(struct server *s, struct table_command *c,
                                    struct skiff_error *err)
{
    char text[320];
    c->slice = str_map_get(&s->by_var, c->x.table);
    if (c->slice && c->slice->sparse_table && !strcmp(c->slice->param, c->x.table))
        return SKIFF_OK;
    return error_set(err, SKIFF_NOT_FOUND, "%s has no sparse table %s%s", server_text(s, text),
                     c->x.table,
                     c->slice ? ": its rows are updated by the program's optimizer" : "");
}

static void hand_over(struct maintenance *k, struct table_command *c)
{
    pthread_mutex_lock(&k->lock);
    *k->last = c;
    k->last = &c->next;
    pthread_cond_signal(&k->came);
    pthread_mutex_unlock(&k->lock);
}

void maintenance_keep_part(struct server *s, struct rpc_request *q)
{
    struct skiff_error err;
    char text[320];
    if (!s->maintenance) {
        error_set(&err, SKIFF_STATE, "%s has no sparse tables to load", server_text(s, text));
        rpc_fail(q, &err);
        return;
    }
    struct table_command *c = mem_alloc_or_die(sizeof *c);
    c->kind = CALL_PART;
    c->request = q;
    hand_over(s->maintenance, c);
}

void maintenance_review(struct server *s)
{
    struct maintenance *k = s->maintenance;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    struct rpc_owner owner = k->owner;
    bool looks = k->loading && !k->flushing;
    pthread_mutex_unlock(&k->lock);
    if (!looks || !members_gone(s, owner.worker, owner.incarnation))
        return;
    pthread_mutex_lock(&k->lock);
    k->flushing = true;
    pthread_mutex_unlock(&k->lock);
    struct table_command *c = mem_alloc_or_die(sizeof *c);
    c->kind = CALL_FLUSH;
    hand_over(k, c);
}

void on_table(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct table_command *c = mem_alloc_or_die(sizeof *c);
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
    hand_over(s->maintenance, c);
}

/* As on_tables. */
void on_metrics(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct wire_writer w;
    struct metrics_snapshot now = {0};
    struct buf text = BUF_INIT;
    for (int i = 0; i < s->nslices; i++) {
        struct ps_table_state state;
        if (s->slices[i].sparse_table)
            maintenance_table_state(s, &s->slices[i], &state); /* brings its metrics up to date */
    }
    snapshot_add(&now, s->metrics);
    snapshot_add_memory(&now, s->metrics);
    snapshot_write(&now, &text);
    snapshot_deinit(&now);
    writer_init(&w);
    writer_bytes(&w, text.data, text.len);
    buf_deinit(&text);
    reply_written(s, q, &w);
}

/* A read-only client may ask, too: the state changes nothing, and the client is no member of the
 * job. */
void on_tables(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct wire_writer w;
    uint32_t n = 0;
    struct ps_table_info *tables = mem_alloc_or_die((size_t)(s->nslices + 1) * sizeof *tables);
    for (int i = 0; i < s->nslices; i++) {
        struct param_slice *u = &s->slices[i];
        if (!slice_is_hashed(u))
            continue;
        snprintf(tables[n].table, sizeof tables[n].table, "%s", u->param);
        tables[n].sparse_table = u->sparse_table != NULL;
        maintenance_table_state(s, u, &tables[n++].state);
    }
    writer_init(&w);
    ps_write_tables(&w, tables, n);
    free(tables);
    reply_written(s, q, &w);
}
