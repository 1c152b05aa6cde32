/* Sparse tables: a call goes to all servers, each of which has a part of every table (net/ps.h,
 * PS_TABLE).
 *
 * Saves and loads have two phases: servers first write or read everything under a token, then
 * commit; an error before the commit aborts all of them, so that a table is never half replaced. A
 * load is decided by server 0: what it has committed counts for all, and a server that has lost
 * this worker asks it. A long call logs what it waits for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "comm/session_parts.h"

#define TABLE_MS (INT64_C(3600) * 1000) /* saves and loads of large tables */
#define WARN_MS 10000

static const char *call_text(const struct ps_table *call)
{
    static const char *const texts[] = {[PS_TABLE_STAT] = "state",
                                        [PS_TABLE_SHRINK] = "shrink",
                                        [PS_TABLE_SAVE] = "save",
                                        [PS_TABLE_COMMIT] = "commit of the save or load",
                                        [PS_TABLE_ABORT] = "abort of the save or load",
                                        [PS_TABLE_LOAD] = "load",
                                        [PS_TABLE_CACHE] = "save of the cache",
                                        [PS_TABLE_REVERT] = "revert",
                                        [PS_TABLE_BEGIN] = "start of a load",
                                        [PS_TABLE_ASK] = "outcome of a load",
                                        [PS_TABLE_DAY] = "daily update"};
    return texts[call->call];
}

static enum skiff_status start(struct session *s, struct request_batch *r, int slot, int server,
                               const struct ps_table *call, struct skiff_error *err)
{
    struct wire_writer w;
    bool looks = call->call == PS_TABLE_STAT; /* answered at once */
    struct batch_request ask = {
        .server = server, .method = PS_TABLE, .wait_ms = looks ? 0 : TABLE_MS};
    writer_init(&w);
    ps_write_table(&w, call);
    TRY(writer_finish(&w, &ask.body, err));
    return request_batch_start(r, slot, &ask, err, "%s of table %s", call_text(call), call->table);
}

/* Waits until all servers have answered, or one has failed; logs what a long wait is for. */
static void wait_saying(struct request_batch *r, const struct ps_table *call)
{
    const struct session_options *o = &r->session->options;
    int64_t began = clock_now(), next = clock_after(began, WARN_MS);
    char line[512];
    pthread_mutex_lock(&r->lock);
    while (r->open && r->status == SKIFF_OK) {
        if (cond_wait_until(&r->changed, &r->lock, next))
            continue;
        snprintf(line, sizeof line, "%s of table %s: %d of %d servers are still busy after %lld s",
                 call_text(call), call->table, r->open, r->n,
                 (long long)((clock_now() - began) / CLOCK_SECOND));
        next = clock_after(clock_now(), WARN_MS);
        pthread_mutex_unlock(&r->lock);
        if (o->on_log)
            o->on_log(o->user, LOG_INFO, line);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
}

static enum skiff_status ask(struct session *s, int first, int n, const struct ps_table *call,
                             struct ps_table_state *states, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct request_batch *r = request_batch_create(s, n);
    for (int i = 0; i < n; i++)
        TRY_OUT(start(s, r, i, first + i, call, err));
    wait_saying(r, call);
    TRY_OUT(request_batch_wait(r, err));
    for (int i = 0; i < n; i++)
        TRY_OUT(ps_read_table_state(r->slots[i].reply, &states[i], err));
out:
    request_batch_unref(r);
    return status;
}

/* ---- loads ---- */

static uint64_t load_token(void)
{
    uint64_t token = rng_entropy();
    return token ? token : 1;
}

static enum skiff_status read_table(struct session *s, struct ps_table *call,
                                    struct ps_table_state *states, struct skiff_error *err)
{
    int n = s->options.servers;
    uint64_t elsewhere = 0;
    TRY(ask(s, 0, n, call, states, err));
    for (int i = 0; i < n; i++)
        elsewhere += states[i].elsewhere;
    call->all = elsewhere > 0; /* rows in files of other shards than theirs */
    return call->all ? ask(s, 0, n, call, states, err) : SKIFF_OK;
}

static enum skiff_status load_begin(struct session *s, const char *table, uint64_t token,
                                    struct ps_table_state *states, struct skiff_error *err)
{
    struct ps_table *x = mem_alloc_or_die(sizeof *x);
    x->call = PS_TABLE_BEGIN;
    x->token = token;
    snprintf(x->table, sizeof x->table, "%s", table);
    enum skiff_status status = ask(s, 0, s->options.servers, x, states, err);
    free(x);
    return status;
}

enum skiff_status session_load_begin(struct session *s, const char *table, uint64_t *out_token,
                                     struct skiff_error *err)
{
    struct ps_table_state *states = mem_alloc_or_die((size_t)s->options.servers * sizeof *states);
    *out_token = load_token();
    enum skiff_status status = load_begin(s, table, *out_token, states, err);
    free(states);
    return status;
}

enum skiff_status session_tables_read(struct session *s, struct ps_table *calls, int n,
                                      uint64_t token, struct skiff_error *err)
{
    struct ps_table_state *states = mem_alloc_or_die((size_t)s->options.servers * sizeof *states);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && status == SKIFF_OK; i++) {
        calls[i].token = token;
        status = read_table(s, &calls[i], states, err);
    }
    free(states);
    return status;
}

/* What server 0 has taken over counts for all: a server that has lost this worker asks it, and
 * nothing is undone. */
static enum skiff_status load_end(struct session *s, const char *table, uint64_t token, bool good,
                                  struct ps_table_state *states, struct skiff_error *err)
{
    int n = s->options.servers;
    struct ps_table *x = mem_alloc_or_die(sizeof *x);
    x->call = PS_TABLE_COMMIT;
    x->token = token;
    snprintf(x->table, sizeof x->table, "%s", table);
    enum skiff_status status = good ? ask(s, 0, 1, x, states, err) : SKIFF_OK;
    if (good && status == SKIFF_OK && n > 1) {
        status = ask(s, 1, n - 1, x, states + 1, err);
    } else if (!good || status < 0) {
        x->call = PS_TABLE_ABORT;
        ask(s, 0, n, x, states, NULL); /* a dead server's ends with it */
    }
    free(x);
    return status;
}

enum skiff_status session_load_end(struct session *s, const char *table, uint64_t token, bool good,
                                   struct skiff_error *err)
{
    struct ps_table_state *states = mem_alloc_or_die((size_t)s->options.servers * sizeof *states);
    enum skiff_status status = load_end(s, table, token, good, states, err);
    free(states);
    return status < 0 ? error_prefix(err, status, "commit of the loaded values") : SKIFF_OK;
}

/* Reads and commits one table. */
static enum skiff_status load(struct session *s, const struct ps_table *call,
                              struct ps_table_state *states, struct skiff_error *err)
{
    int n = s->options.servers;
    struct ps_table_state *after = mem_alloc_or_die((size_t)n * sizeof *after);
    struct ps_table *x = mem_alloc_or_die(sizeof *x);
    *x = *call;
    x->token = load_token();
    enum skiff_status status = load_begin(s, x->table, x->token, states, err);
    if (status == SKIFF_OK)
        status = read_table(s, x, states, err);
    enum skiff_status end = load_end(s, x->table, x->token, status == SKIFF_OK, after, err);
    for (int i = 0; i < n && status == SKIFF_OK && end == SKIFF_OK; i++) {
        after[i].done = states[i].done;
        states[i] = after[i];
    }
    free(after);
    free(x);
    return status < 0 ? status : end;
}

/* ---- calls ---- */

enum skiff_status session_table(struct session *s, const struct ps_table *call,
                                struct ps_table_state *states, struct skiff_error *err)
{
    if (call->call == PS_TABLE_LOAD)
        return load(s, call, states, err);
    return ask(s, 0, s->options.servers, call, states, err);
}

/* Sends the call to all servers and adds up their states. */
enum skiff_status session_table_sum(struct session *s, const struct ps_table *call,
                                    struct ps_table_state *sum, struct skiff_error *err)
{
    int n = s->options.servers;
    struct ps_table_state *states = mem_alloc_or_die((size_t)n * sizeof *states);
    enum skiff_status status = session_table(s, call, states, err);
    int having = 0;
    memset(sum, 0, sizeof *sum);
    for (int i = 0; i < n && status == SKIFF_OK; i++) {
        ps_table_state_add(sum, &states[i]);
        having += states[i].shards > 0;
    }
    sum->threshold /= having ? having : 1;
    free(states);
    return status;
}

/* One server after the other: the first one that sees the folder moves all of it to the target. */
static enum skiff_status commit(struct session *s, struct ps_table *call, struct skiff_error *err)
{
    struct ps_table_state state;
    call->call = PS_TABLE_COMMIT;
    for (int i = 0; i < s->options.servers; i++)
        TRY(ask(s, i, 1, call, &state, err));
    return SKIFF_OK;
}

enum skiff_status session_tables_write(struct session *s, struct ps_table *calls, int n,
                                       struct ps_table_state *sums, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    int begun = 0;
    for (; begun < n && status == SKIFF_OK; begun++) {
        calls[begun].token = rng_entropy();
        status = session_table_sum(s, &calls[begun], &sums[begun], err);
    }
    if (status < 0)
        session_tables_end(s, calls, begun, false, NULL);
    return status;
}

enum skiff_status session_tables_end(struct session *s, struct ps_table *calls, int n, bool good,
                                     struct skiff_error *err)
{
    struct ps_table_state sum;
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && good && status == SKIFF_OK; i++)
        status = commit(s, &calls[i], err);
    /* after the commit, nothing is aborted */
    for (int i = 0; i < n && (!good || status < 0); i++) {
        calls[i].call = PS_TABLE_ABORT;
        session_table_sum(s, &calls[i], &sum, NULL); /* a dead server's ends with it */
    }
    return status;
}

enum skiff_status session_table_save(struct session *s, const struct ps_table *call,
                                     struct ps_table_state *sum, struct skiff_error *err)
{
    struct ps_table *x = mem_alloc_or_die(sizeof *x);
    *x = *call;
    enum skiff_status status = session_tables_write(s, x, 1, sum, err);
    if (status == SKIFF_OK)
        status = session_tables_end(s, x, 1, true, err);
    free(x);
    return status;
}

static enum skiff_status take_records(const struct blob *reply, const char *table, int server,
                                      uint64_t *cursor, struct skiff_tensor *out,
                                      struct skiff_error *err)
{
    struct ps_item item;
    TRY(ps_read_scan(reply, &item, cursor, err));
    size_t n = (size_t)item.nrows;
    if (item.dtype != DTYPE_FP32 || item.ndim != 2 ||
        item.bytes != n * (size_t)item.dims[1] * sizeof(float))
        return error_set(err, SKIFF_FORMAT, "%s: server %d sent %zu bytes for %zu records", table,
                         server, item.bytes, n);
    TRY(value_as_rows(out, DTYPE_FP32, n, item.dims[1], 0, err));
    if (n) {
        memcpy(out->sel.rows, item.rows, n * sizeof *out->sel.rows);
        memcpy(out->tensor.data, item.data, item.bytes);
    }
    return SKIFF_OK;
}

enum skiff_status session_pull_records(struct session *s, const char *tag, int server,
                                       const char *table, uint64_t *cursor, uint64_t max,
                                       struct skiff_tensor *out, struct skiff_error *err)
{
    struct ps_pull_snapshot x = {.first = *cursor, .count = max};
    struct wire_writer w;
    struct blob *reply = NULL;
    struct batch_request ask = {.server = server,
                                .method = PS_PULL_SNAPSHOT,
                                .shard = ps_shard(table, s->shards[server]),
                                .flags = RPC_READ};
    TRY(session_text(x.tag, sizeof x.tag, tag, err));
    TRY(session_text(x.name, sizeof x.name, table, err));
    writer_init(&w);
    ps_write_pull_snapshot(&w, &x);
    TRY(writer_finish(&w, &ask.body, err));
    TRY(session_ask(s, &ask, table, &reply, err));
    enum skiff_status status = take_records(reply, table, server, cursor, out, err);
    blob_unref(reply);
    return status;
}

enum skiff_status session_put_part(struct session *s, int server, const char *name, uint64_t first,
                                   const float *data, size_t n, uint64_t token,
                                   struct skiff_error *err)
{
    struct wire_writer w;
    struct ps_put x = {.token = token,
                       .first = first,
                       .item = {.dtype = DTYPE_FP32,
                                .ndim = 1,
                                .dims = {(int64_t)n},
                                .data = (const unsigned char *)data,
                                .bytes = n * sizeof *data}};
    struct batch_request ask = {.server = server, .method = PS_PUT_PART};
    TRY(session_text(x.item.name, sizeof x.item.name, name, err));
    ask.shard = ps_shard(name, s->shards[server]);
    writer_init(&w);
    ps_write_put(&w, &x);
    TRY(writer_finish(&w, &ask.body, err));
    return session_ask(s, &ask, name, NULL, err);
}
