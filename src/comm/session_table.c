/* Tables of features: what all servers do with their parts of one (net/ps.h, PS_TABLE), and values
 * for dense variables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "comm/session_parts.h"

#define TABLE_MS (INT64_C(3600) * 1000) /* saves and loads of large tables */
#define SAY_MS 10000

static const char *call_text(const struct ps_table *call)
{
    static const char *const texts[] = {[PS_TABLE_STAT] = "state",
                                        [PS_TABLE_SHRINK] = "shrink",
                                        [PS_TABLE_SAVE] = "save",
                                        [PS_TABLE_COMMIT] = "commit of the save",
                                        [PS_TABLE_ABORT] = "end of the save",
                                        [PS_TABLE_LOAD] = "load",
                                        [PS_TABLE_CACHE] = "save of the cache",
                                        [PS_TABLE_REVERT] = "revert"};
    return texts[call->call];
}

static enum skiff_status start(struct session *s, struct round *r, int slot, int server,
                               const struct ps_table *call, struct skiff_error *err)
{
    struct wire_writer w;
    struct round_ask ask = {.server = server, .method = PS_TABLE, .wait_ms = TABLE_MS};
    writer_init(&w);
    ps_write_table(&w, call);
    TRY(writer_finish(&w, &ask.body, err));
    return round_start(r, slot, &ask, err, "%s of table %s", call_text(call), call->table);
}

/* Until somebody has answered all, or one has failed; who waits long hears for what. */
static void wait_saying(struct round *r, const struct ps_table *call)
{
    const struct session_options *o = &r->session->options;
    int64_t began = clock_now(), next = clock_after(began, SAY_MS);
    char line[512];
    pthread_mutex_lock(&r->lock);
    while (r->open && r->status == SKIFF_OK) {
        if (cond_wait_until(&r->changed, &r->lock, next))
            continue;
        snprintf(line, sizeof line, "%s of table %s: %d of %d servers are at it for %lld s",
                 call_text(call), call->table, r->open, r->n,
                 (long long)((clock_now() - began) / CLOCK_SECOND));
        next = clock_after(clock_now(), SAY_MS);
        pthread_mutex_unlock(&r->lock);
        if (o->say)
            o->say(o->user, LOG_INFO, line);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
}

static enum skiff_status ask(struct session *s, int first, int n, const struct ps_table *call,
                             struct ps_table_state *states, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct round *r = round_create(s, n);
    for (int i = 0; i < n; i++)
        TRY_OUT(start(s, r, i, first + i, call, err));
    wait_saying(r, call);
    TRY_OUT(round_wait(r, err));
    for (int i = 0; i < n; i++)
        TRY_OUT(ps_read_table_state(r->slots[i].reply, &states[i], err));
out:
    round_unref(r);
    return status;
}

/* Reading first, taking over when all have read. */
static enum skiff_status load(struct session *s, const struct ps_table *call,
                              struct ps_table_state *states, struct skiff_error *err)
{
    int n = s->options.servers;
    uint64_t elsewhere = 0;
    struct ps_table_state *after = mem_must((size_t)n * sizeof *after);
    struct ps_table *x = mem_must(sizeof *x);
    *x = *call;
    x->token = rng_entropy();
    enum skiff_status status = ask(s, 0, n, x, states, err);
    for (int i = 0; i < n && status == SKIFF_OK; i++)
        elsewhere += states[i].elsewhere;
    x->all = elsewhere > 0;
    if (status == SKIFF_OK && elsewhere) /* rows in files of other shards than theirs */
        status = ask(s, 0, n, x, states, err);
    x->call = status == SKIFF_OK ? PS_TABLE_COMMIT : PS_TABLE_ABORT;
    enum skiff_status end = ask(s, 0, n, x, after, status == SKIFF_OK ? err : NULL);
    for (int i = 0; i < n && status == SKIFF_OK && end == SKIFF_OK; i++) {
        after[i].done = states[i].done;
        states[i] = after[i];
    }
    free(after);
    free(x);
    return status < 0 ? status : end;
}

enum skiff_status session_table(struct session *s, const struct ps_table *call,
                                struct ps_table_state *states, struct skiff_error *err)
{
    if (call->call == PS_TABLE_LOAD)
        return load(s, call, states, err);
    return ask(s, 0, s->options.servers, call, states, err);
}

static void add_state(struct ps_table_state *sum, const struct ps_table_state *x)
{
    sum->rows += x->rows;
    sum->bytes += x->bytes;
    sum->admitted += x->admitted;
    sum->refused += x->refused;
    sum->expired += x->expired;
    sum->evicted += x->evicted;
    sum->hits += x->hits;
    sum->misses += x->misses;
    sum->disk_rows += x->disk_rows;
    sum->disk_bytes += x->disk_bytes;
    sum->written_bytes += x->written_bytes;
    sum->done += x->done;
    sum->threshold += x->threshold;
}

enum skiff_status session_table_write(struct session *s, struct ps_table *call,
                                      struct ps_table_state *sum, struct skiff_error *err)
{
    int n = s->options.servers;
    struct ps_table_state *states = mem_must((size_t)n * sizeof *states);
    call->token = rng_entropy();
    enum skiff_status status = session_table(s, call, states, err);
    memset(sum, 0, sizeof *sum);
    for (int i = 0; i < n && status == SKIFF_OK; i++)
        add_state(sum, &states[i]);
    sum->threshold /= n;
    free(states);
    if (status < 0)
        session_table_abort(s, call);
    return status;
}

/* One server after the other: the first that sees the folder brings all of it to its place. */
enum skiff_status session_table_place(struct session *s, struct ps_table *call,
                                      struct skiff_error *err)
{
    struct ps_table_state state;
    enum skiff_status status = SKIFF_OK;
    call->call = PS_TABLE_COMMIT;
    for (int i = 0; i < s->options.servers && status == SKIFF_OK; i++)
        status = ask(s, i, 1, call, &state, err);
    if (status < 0)
        session_table_abort(s, call);
    return status;
}

/* What cannot be said to a dead server ends with it. */
void session_table_abort(struct session *s, struct ps_table *call)
{
    struct ps_table_state *states = mem_must((size_t)s->options.servers * sizeof *states);
    call->call = PS_TABLE_ABORT;
    session_table(s, call, states, NULL);
    free(states);
}

enum skiff_status session_table_save(struct session *s, const struct ps_table *call,
                                     struct ps_table_state *sum, struct skiff_error *err)
{
    struct ps_table *x = mem_must(sizeof *x);
    *x = *call;
    enum skiff_status status = session_table_write(s, x, sum, err);
    if (status == SKIFF_OK)
        status = session_table_place(s, x, err);
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
    struct ps_kept x = {.first = *cursor, .count = max};
    struct wire_writer w;
    struct blob *reply = NULL;
    struct round_ask ask = {.server = server,
                            .method = PS_PULL_KEPT,
                            .shard = ps_shard(table, s->shards[server]),
                            .flags = RPC_READ};
    TRY(session_text(x.tag, sizeof x.tag, tag, err));
    TRY(session_text(x.name, sizeof x.name, table, err));
    writer_init(&w);
    ps_write_kept(&w, &x);
    TRY(writer_finish(&w, &ask.body, err));
    TRY(session_ask(s, &ask, table, &reply, err));
    enum skiff_status status = take_records(reply, table, server, cursor, out, err);
    blob_unref(reply);
    return status;
}

enum skiff_status session_put_part(struct session *s, int server, const char *name, uint64_t first,
                                   const float *data, size_t n, struct skiff_error *err)
{
    struct wire_writer w;
    struct ps_item item = {.dtype = DTYPE_FP32,
                           .ndim = 1,
                           .dims = {(int64_t)n},
                           .data = (const unsigned char *)data,
                           .bytes = n * sizeof *data};
    struct round_ask ask = {.server = server, .method = PS_PUT_PART};
    TRY(session_text(item.name, sizeof item.name, name, err));
    ask.shard = ps_shard(name, s->shards[server]);
    writer_init(&w);
    ps_write_put(&w, first, &item);
    TRY(writer_finish(&w, &ask.body, err));
    return session_ask(s, &ask, name, NULL, err);
}
