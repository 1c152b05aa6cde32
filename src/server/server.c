/* The lifecycle of a server: variables, the network, the end.
 *
 * The order at the end matters. First all deferred replies fail with the reason (no one shall wait
 * for an answer that cannot come), then the other members are notified (members_leave), then the
 * network is closed from the top down: membership, handlers, network thread. Replies that a handler
 * has deferred are sent between the end of the handlers and the end of the network thread, which
 * still sends them. */
#include "server/server.h"
#include "server/snapshot.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/plural.h"
#include "server/maintenance.h"
#include "server/bind.h"
#include "server/coordinator.h"
#include "server/exchange.h"
#include "server/ledger.h"
#include "server/members.h"
#include "server/prepare.h"
#include "server/reduce.h"
#include "server/slice.h"
#include "server/status.h"
#include "server/server_parts.h"

static void on_log(struct server *s, enum log_level level, const char *format, va_list args)
{
    char line[1024];
    if (!s->options.on_log)
        return;
    vsnprintf(line, sizeof line, format, args);
    s->options.on_log(s->options.user, level, line);
}

void server_log(struct server *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    on_log(s, LOG_INFO, format, args);
    va_end(args);
}

void server_warn(struct server *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    on_log(s, LOG_WARN, format, args);
    va_end(args);
}

/* Also called by signal handlers. */
void server_wake(struct server *s)
{
    uint64_t one = 1;
    ssize_t written = write(s->wake_fd, &one, sizeof one);
    (void)written; /* a full counter wakes as well */
}

void server_fail(struct server *s, const struct skiff_error *err)
{
    pthread_mutex_lock(&s->members);
    if (s->failure.code >= 0)
        s->failure = *err;
    pthread_mutex_unlock(&s->members);
    server_wake(s);
}

const char *server_text(const struct server *s, char out[static 320])
{
    snprintf(out, 320, "server %d at %s", s->index, s->plan->endpoints[s->index]);
    return out;
}

void server_stop(struct server *s)
{
    atomic_store(&s->stopping, true);
    server_wake(s);
}

/* ---- creation ---- */

static enum skiff_status check_options(const struct server_options *o, struct skiff_error *err)
{
    const struct job_plan *job = o->plan->job;
    int index = o->plan->index;
    if (index < 0 || index >= job->servers)
        return error_set(err, SKIFF_RANGE, "server %d of %d: servers are numbered 0 to %d", index,
                         job->servers, job->servers - 1);
    if (o->shards < 0 || o->shards > 4096)
        return error_set(err, SKIFF_RANGE, "%d shard%s: 1 to 4096 are possible", o->shards,
                         plural(o->shards));
    return SKIFF_OK;
}

static void copy_options(struct server *s, const struct server_options *o)
{
    s->options = *o;
    s->options.job = mem_strdup_or_die(o->job ? o->job : "");
    s->options.secret = mem_strdup_or_die(o->secret ? o->secret : "");
    s->options.listen = o->listen ? mem_strdup_or_die(o->listen) : NULL;
    s->options.transport = o->transport ? mem_strdup_or_die(o->transport) : NULL;
    s->options.silence_ms = o->silence_ms ? o->silence_ms : 10000;
    s->options.start_ms = o->start_ms ? o->start_ms : 30 * 60 * 1000;
    s->plan = o->plan->job;
    s->index = o->plan->index;
}

static void name_counts(struct server *s)
{
    s->metrics = s->options.metrics;
    if (!s->metrics)
        s->metrics = s->own_metrics = metrics_create("server", s->index);
    s->counts =
        (struct server_counters){.pushes = metrics_get(s->metrics, METRIC_SERVER_PUSHES),
                                 .pulls = metrics_get(s->metrics, METRIC_SERVER_PULLS),
                                 .rows_pushed = metrics_get(s->metrics, METRIC_SERVER_ROWS_PUSHED),
                                 .rows_pulled = metrics_get(s->metrics, METRIC_SERVER_ROWS_PULLED),
                                 .steps = metrics_get(s->metrics, METRIC_SERVER_STEPS),
                                 .bytes_in = metrics_get(s->metrics, METRIC_SERVER_BYTES_IN),
                                 .bytes_out = metrics_get(s->metrics, METRIC_SERVER_BYTES_OUT),
                                 .here = metrics_get(s->metrics, METRIC_SERVER_TRAINERS_HERE),
                                 .gone = metrics_get(s->metrics, METRIC_SERVER_TRAINERS_GONE),
                                 .dead = metrics_get(s->metrics, METRIC_SERVER_TRAINERS_DEAD)};
}

/* Logs what limits and disks have done to sparse tables. */
static void log_tables(struct server *s)
{
    for (int i = 0; i < s->nslices; i++) {
        struct ps_table_state state = {0};
        struct buf text = BUF_INIT;
        if (!s->slices[i].sparse_table)
            continue;
        maintenance_table_state(s, &s->slices[i], &state);
        ps_table_state_text(&state, false, &text);
        server_log(s, "table %s: %s", s->slices[i].param, text.data);
        buf_deinit(&text);
    }
}

static void log_counts(struct server *s)
{
    char text[320];
    struct metrics_snapshot now = {0};
    struct buf counts = BUF_INIT;
    snapshot_add(&now, s->metrics);
    snapshot_text(&now, &counts);
    log_tables(s);
    server_log(s, "%s: %s", server_text(s, text), counts.data ? counts.data : "no process joined");
    snapshot_deinit(&now);
    buf_deinit(&counts);
}

enum skiff_status server_create(const struct server_options *options, struct server **out,
                                struct skiff_error *err)
{
    TRY(check_options(options, err));
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return error_set_sys(err, "cannot make a server's eventfd");
    struct server *s = mem_alloc_or_die(sizeof *s);
    s->wake_fd = fd;
    copy_options(s, options);
    s->own_scope = !options->scope;
    s->scope = options->scope ? options->scope : scope_create();
    name_counts(s);
    pthread_rwlock_init(&s->rate, NULL);
    str_map_init(&s->by_grad);
    str_map_init(&s->by_var);
    str_map_init(&s->counters_in);
    str_map_init(&s->elsewhere);
    mt64_seed(&s->generator, rng_entropy());
    members_create(s);
    s->reduce = reduce_create(s);
    s->coordinator = coordinator_create(s);
    s->ledger = ledger_create();
    coordinator_own_start(s);
    enum skiff_status status = slices_create(s, err);
    if (status == SKIFF_OK)
        status = startup_fills(s, err);
    if (status < 0)
        server_destroy(s);
    else
        *out = s;
    return status;
}

void server_destroy(struct server *s)
{
    if (!s)
        return;
    snapshot_destroy(s->snapshot);
    free(s->quiesce.let);
    free(s->bound);
    slices_destroy(s);
    if (s->own_scope)
        scope_destroy(s->scope);
    str_map_deinit(&s->by_grad);
    str_map_deinit(&s->by_var);
    str_map_deinit(&s->counters_in);
    str_map_deinit(&s->elsewhere);
    reduce_destroy(s->reduce);
    coordinator_destroy(s->coordinator);
    ledger_destroy(s->ledger);
    members_destroy(s);
    pthread_rwlock_destroy(&s->rate);
    close(s->wake_fd);
    free((char *)s->options.job);
    free((char *)s->options.secret);
    free((char *)s->options.listen);
    free((char *)s->options.transport);
    metrics_destroy(s->own_metrics);
    free(s);
}

/* ---- running ---- */

/* Every parameter that trainers may request must have a value. */
static enum skiff_status check_ready(struct server *s, struct skiff_error *err)
{
    char found[160], expected[160];
    for (int i = 0; i < s->nslices; i++) {
        const struct param_slice *u = &s->slices[i];
        const struct skiff_tensor *v = u->param_value;
        if (slice_is_hashed(u))
            continue;
        if (v->kind != VALUE_TENSOR)
            return error_set(err, SKIFF_STATE,
                             "parameter %s has no value: run the startup program first "
                             "(init_server)",
                             u->param);
        if (v->tensor.dtype != DTYPE_FP32 || !shape_equal(&v->tensor.shape, &u->shape))
            return error_set(err, SKIFF_SHAPE, "parameter %s is %s, but %s in the server program",
                             u->param, shape_text(&v->tensor.shape, found),
                             shape_text(&u->shape, expected));
    }
    return SKIFF_OK;
}

static void add_handlers(struct server *s)
{
    rpc_server_handle(s->rpc, PS_DESCRIBE, RPC_ON_SHARD, on_describe, s);
    rpc_server_handle(s->rpc, PS_BIND, RPC_ON_SHARD, on_bind, s);
    rpc_server_handle(s->rpc, PS_EXCHANGE, RPC_ON_SHARD, on_exchange, s);
    rpc_server_handle(s->rpc, PS_PULL_ROWS, RPC_ON_SHARD, on_pull_rows, s);
    rpc_server_handle(s->rpc, PS_PREFETCH_ROWS, RPC_ON_SHARD, on_prefetch, s);
    rpc_server_handle(s->rpc, PS_PULL_CHANGED, RPC_ON_SHARD, on_pull_changed, s);
    rpc_server_handle(s->rpc, PS_PULL_PART, RPC_ON_SHARD, on_pull_part, s);
    rpc_server_handle(s->rpc, PS_SCAN, RPC_ON_SHARD, on_scan, s);
    rpc_server_handle(s->rpc, PS_SAVE_TABLE, RPC_ON_SHARD, on_save_table, s);
    rpc_server_handle(s->rpc, PS_REDUCE, RPC_ON_SHARD, on_reduce, s);
    rpc_server_handle(s->rpc, PS_MESSAGE_PUT, RPC_ON_SHARD, on_message_put, s);
    rpc_server_handle(s->rpc, PS_MESSAGE_TAKE, RPC_ON_SHARD, on_message_take, s);
    rpc_server_handle(s->rpc, PS_CLOCK, RPC_ON_NETWORK, on_clock, s);
    rpc_server_handle(s->rpc, PS_SNAPSHOT, RPC_ON_SHARD, on_snapshot, s);
    rpc_server_handle(s->rpc, PS_BEGIN, RPC_ON_SHARD, on_begin, s);
    rpc_server_handle(s->rpc, PS_SAVING, RPC_ON_SHARD, on_saving, s);
    rpc_server_handle(s->rpc, PS_RESULT, RPC_ON_SHARD, on_result, s);
    rpc_server_handle(s->rpc, PS_PULL_SNAPSHOT, RPC_ON_SHARD, on_pull_snapshot, s);
    rpc_server_handle(s->rpc, PS_TABLE, RPC_ON_SHARD, on_table, s);
    rpc_server_handle(s->rpc, PS_TABLES, RPC_ON_SHARD, on_tables, s);
    rpc_server_handle(s->rpc, PS_PUT_PART, RPC_ON_SHARD, on_put_part, s);
    rpc_server_handle(s->rpc, PS_STATUS, RPC_ON_SHARD, on_status, s);
    rpc_server_handle(s->rpc, PS_METRICS, RPC_ON_SHARD, on_metrics, s);
    rpc_server_handle(s->rpc, PS_TRAINED, RPC_ON_SHARD, on_trained, s);
}

static void node_says(void *self, enum log_level level, const char *line)
{
    struct server *s = self;
    if (s->options.on_log)
        s->options.on_log(s->options.user, level, line);
}

static enum skiff_status open_node(struct server *s, struct skiff_error *err)
{
    const struct server_options *o = &s->options;
    struct node_owner owner = {.job = o->job,
                               .secret = o->secret,
                               .insecure = o->insecure,
                               .transport = o->transport,
                               .hub = o->hub,
                               .metrics = s->metrics,
                               .on_log = node_says,
                               .user = s};
    const char *address = o->listen ? o->listen : s->plan->endpoints[s->index];
    TRY(node_check_secret(&owner, &address, 1, err));
    return node_open(&owner, (struct net_id){NET_SERVER, (uint32_t)s->index}, NULL, &s->node, err);
}

static enum skiff_status listen_at(struct server *s, struct skiff_error *err)
{
    const struct server_options *o = &s->options;
    const char *address = o->listen ? o->listen : s->plan->endpoints[s->index];
    enum skiff_status status = node_listen(s->node, address, NULL, err);
    if (status < 0)
        return error_prefix(err, status,
                            "server %d of %d cannot serve at %s (if another program or an earlier "
                            "run holds the port, end it or choose another port)",
                            s->index, s->plan->servers, address);
    return SKIFF_OK;
}

static enum skiff_status open_network(struct server *s, struct skiff_error *err)
{
    struct rpc_server_options r = {.shards = s->nshards};
    TRY(open_node(s, err));
    TRY(rpc_server_create(s->node, &r, &s->rpc, err));
    add_handlers(s);
    TRY(maintenance_start(s, err));
    TRY(prepare_begin(s, err));
    s->client = rpc_client_create(s->node, &(struct rpc_client_options){0});
    if (s->index == 0)
        members_host(s);
    TRY(listen_at(s, err));
    return node_start(s->node, err);
}

static void close_network(struct server *s, const struct skiff_error *reason, bool started)
{
    if (s->rpc)
        rpc_server_stop(s->rpc);
    exchange_end(s, reason);
    reduce_end(s, reason);
    maintenance_stop(s, reason);
    prepare_end(s);
    if (s->node && started)
        node_stop(s->node);
    rpc_client_destroy(s->client);
    enrolment_destroy(s->enrolment);
    membership_destroy(s->membership);
    rpc_server_destroy(s->rpc);
    node_destroy(s->node);
    s->client = NULL;
    s->enrolment = NULL;
    s->membership = NULL;
    s->rpc = NULL;
    s->node = NULL;
}

/* The rate of the first step in the modes that count steps by trainer, where the block runs only
 * when a trainer reports a step. */
static enum skiff_status first_rate(struct server *s, struct skiff_error *err)
{
    return mode_waits(s->plan->mode) ? SKIFF_OK : rate_run(s, err);
}

/* Requests and replies of some hundred kilobytes are allocated and freed thousands of times a
 * second. glibc would return their memory to the system after each, and have it cleared again for
 * the next, which takes a third of the time of a pull. */
static void keep_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 8 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

enum skiff_status server_run(struct server *s, struct skiff_error *err)
{
    struct skiff_error own, closing;
    char text[320];
    bool started = false;
    enum skiff_status status = SKIFF_OK;
    if (!err)
        err = &own;
    if (s->ran)
        return error_set(err, SKIFF_STATE, "a server runs only once; create a new one");
    s->ran = true;
    keep_heap();
    TRY(check_ready(s, err));
    TRY(first_rate(s, err));
    bind_all(s);
    TRY_OUT(open_network(s, err));
    started = true;
    members_announce_self(s);
    server_log(s, "%s serves %d parameter slice%s in %d shard%s", server_text(s, text), s->nslices,
               plural(s->nslices), s->nshards, plural(s->nshards));
    status = members_join(s, clock_after(clock_now(), s->options.start_ms), err);
    if (status == SKIFF_OK)
        status = members_watch(s, err);
    else if (atomic_load(&s->stopping))
        status = SKIFF_OK;
    if (status < 0) { /* no one shall wait for an answer that cannot come */
        exchange_end(s, err);
        reduce_end(s, err);
    }
    members_leave(s, status == SKIFF_OK);
    log_counts(s);
out:
    closing = status < 0 ? *err : (struct skiff_error){0};
    if (status == SKIFF_OK)
        error_set(&closing, SKIFF_PEER, "%s has ended", server_text(s, text));
    close_network(s, &closing, started);
    return status;
}

struct metrics *server_metrics(const struct server *s)
{
    return s->metrics;
}
