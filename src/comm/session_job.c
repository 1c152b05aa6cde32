/* Job-wide operations: the start that all agree on, snapshots of all servers, the choice of the
 * saver. Server 0 keeps the coordinator state (server/coordinator.c).
 *
 * Without a barrier (async, GEO), a push is applied by one server earlier than by another. A
 * snapshot must have all of it or nothing, so session_quiesce makes servers hold back new pushes
 * until every push that has begun is complete everywhere; it starts with server 0, which lets only
 * one saver pass. If that takes too long, the fence is lifted, training continues, and it is tried
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/session_parts.h"

#define HALF_MS 500 /* pushes are held back for this long because of one that is half applied ... */
#define PAUSE_MS 250   /* ... then continue for this long, before the next try */
#define TRIES_MS 30000 /* in total, and never longer than a request */

/* ---- start of the job ---- */

enum skiff_status session_begin(struct session *s, const struct ps_begin *has, struct ps_begun *out,
                                struct skiff_error *err)
{
    struct wire_writer w;
    struct blob *reply = NULL;
    struct batch_request ask = {.method = PS_BEGIN, .wait_ms = s->connect_ms, .joint = true};
    writer_init(&w);
    ps_write_begin(&w, has);
    TRY(writer_finish(&w, &ask.body, err));
    TRY(session_ask(s, &ask, "start of the job", &reply, err));
    enum skiff_status status = ps_read_begun(reply, out, err);
    blob_unref(reply);
    return status;
}

/* ---- saving ---- */

enum skiff_status session_saving(struct session *s, struct ps_saving *x, struct skiff_error *err)
{
    struct wire_writer w;
    struct blob *reply = NULL;
    struct batch_request ask = {.method = PS_SAVING};
    writer_init(&w);
    ps_write_saving(&w, x);
    TRY(writer_finish(&w, &ask.body, err));
    TRY(session_ask(s, &ask, "choice of the saver", &reply, err));
    enum skiff_status status = ps_read_saving(reply, x, err);
    blob_unref(reply);
    return status;
}

/* Sends the same to every server; `write` writes the body. */
static enum skiff_status report_all(struct session *s, uint32_t method, struct blob *body,
                                    const char *what, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct request_batch *r = request_batch_create(s, s->options.servers);
    for (int i = 0; i < s->options.servers; i++) {
        struct batch_request ask = {.server = i, .method = method, .body = blob_ref(body)};
        TRY_OUT(request_batch_start(r, i, &ask, err, "%s", what));
    }
    TRY_OUT(request_batch_wait(r, err));
out:
    request_batch_unref(r);
    blob_unref(body);
    return status;
}

enum skiff_status session_unsaved(struct session *s, const char *reason, struct skiff_error *err)
{
    struct ps_saving x = {.state = PS_SAVE_FAILED, .worker = (uint32_t)s->options.worker};
    struct wire_writer w;
    struct blob *body;
    snprintf(x.reason, sizeof x.reason, "%s", reason);
    writer_init(&w);
    ps_write_saving(&w, &x);
    TRY(writer_finish(&w, &body, err));
    return report_all(s, PS_RESULT, body, "report of a failed save", err);
}

static void trained_is_known(void *arg, enum skiff_status status, struct blob *reply,
                             const struct skiff_error *err)
{
    (void)arg;
    (void)status;
    (void)reply;
    (void)err;
}

enum skiff_status session_trained(struct session *s, struct ps_trained *x, struct ps_account *out,
                                  struct skiff_error *err)
{
    struct wire_writer w;
    struct blob *body, *reply = NULL;
    x->worker = (uint32_t)s->options.worker;
    writer_init(&w);
    ps_write_trained(&w, x);
    TRY(writer_finish(&w, &body, err));
    if (!out) {
        struct rpc_ask ask = {.what = "report of samples trained",
                              .method = PS_TRAINED,
                              .body = body,
                              .deadline = clock_after(clock_now(), s->request_ms)};
        enum skiff_status status = rpc_then(s->peers[0], &ask, trained_is_known, NULL, err);
        blob_unref(body);
        return status;
    }
    struct batch_request ask = {.method = PS_TRAINED, .body = body};
    TRY(session_ask(s, &ask, "account of an epoch", &reply, err));
    enum skiff_status status = ps_read_account(reply, out, err);
    blob_unref(reply);
    return status;
}

bool session_is_lowest(struct session *s)
{
    int all = s->options.servers + s->options.workers;
    bool lowest = true;
    struct member *members = mem_alloc_or_die((size_t)all * sizeof *members);
    size_t count = enrolment_list(s->enrolment, members, (size_t)all);
    for (size_t i = 0; i < count && i < (size_t)all; i++)
        lowest &= members[i].id.role != NET_WORKER || members[i].state == MEMBER_DEAD ||
                  members[i].id.index >= (uint32_t)s->options.worker;
    free(members);
    return lowest;
}

/* ---- snapshots ---- */

static enum skiff_status call_snapshot(struct session *s, enum ps_snapshot_call call,
                                       const char *tag, const char *what, struct skiff_error *err)
{
    struct ps_snapshot x = {.call = call};
    struct wire_writer w;
    struct blob *body;
    TRY(session_text(x.tag, sizeof x.tag, tag, err));
    writer_init(&w);
    ps_write_snapshot(&w, &x);
    TRY(writer_finish(&w, &body, err));
    return report_all(s, PS_SNAPSHOT, body, what, err);
}

enum skiff_status session_tag(struct session *s, const char *tag, struct skiff_error *err)
{
    return call_snapshot(s, PS_TAG, tag, "tag of a snapshot", err);
}

/* ---- a point in time at which no push is half applied ---- */

struct push_list {
    struct ps_applied *v;
    uint32_t n;
};

static void list_add(struct push_list *l, const struct ps_applied *p)
{
    l->v = mem_grow_or_die(l->v, (l->n + 1) * sizeof *l->v);
    l->v[l->n++] = *p;
}

/* Adds the pushes that one server has applied to the list of all. */
static void list_merge(struct push_list *all, const struct ps_applied *more, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < all->n && !found; k++)
            if (all->v[k].trainer == more[i].trainer && all->v[k].push == more[i].push) {
                all->v[k].here += more[i].here;
                found = true;
            }
        if (!found)
            list_add(all, &more[i]);
    }
}

static bool is_gone(struct session *s, uint32_t worker)
{
    int all = s->options.servers + s->options.workers;
    bool gone = false;
    struct member *members = mem_alloc_or_die((size_t)all * sizeof *members);
    size_t count = enrolment_list(s->enrolment, members, (size_t)all);
    for (size_t i = 0; i < count && i < (size_t)all; i++)
        gone |= members[i].id.role == NET_WORKER && members[i].id.index == worker &&
                (members[i].state == MEMBER_DEAD || members[i].state == MEMBER_LEFT);
    free(members);
    return gone;
}

/* Pushes that some servers have applied and others not. */
static void list_half(struct session *s, const struct push_list *all, struct push_list *half)
{
    half->n = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        const struct ps_applied *p = &all->v[i];
        uint64_t acked = 0;
        for (uint32_t k = 0; k < all->n; k++)
            if (all->v[k].trainer == p->trainer && all->v[k].acked > acked)
                acked = all->v[k].acked;
        if (p->push >= acked && p->here < p->parts && !is_gone(s, p->trainer))
            list_add(half, p);
    }
}

/* The first `servers` hold back pushes that have not begun, except `let`; `all` gets those
 * applied. */
static enum skiff_status hold(struct session *s, const char *tag, int servers,
                              const struct push_list *let, struct push_list *all,
                              struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct request_batch *r = request_batch_create(s, servers);
    struct ps_snapshot x = {.call = PS_QUIESCE, .pushes = let->v, .npushes = let->n};
    all->n = 0;
    TRY_OUT(session_text(x.tag, sizeof x.tag, tag, err));
    for (int i = 0; i < servers; i++) {
        struct wire_writer w;
        struct batch_request ask = {.server = i, .method = PS_SNAPSHOT};
        writer_init(&w);
        ps_write_snapshot(&w, &x);
        TRY_OUT(writer_finish(&w, &ask.body, err));
        TRY_OUT(request_batch_start(r, i, &ask, err, "push fence for a snapshot"));
    }
    TRY_OUT(request_batch_wait(r, err));
    for (int i = 0; i < servers; i++) {
        struct ps_applied *list = NULL;
        uint32_t n;
        TRY_OUT(ps_read_applied(r->slots[i].reply, &list, &n, err));
        list_merge(all, list, n);
        free(list);
    }
out:
    request_batch_unref(r);
    return status;
}

/* Server 0 first: if two workers want to save, it makes one of them wait. */
enum skiff_status session_quiesce(struct session *s, const char *tag, struct skiff_error *err)
{
    struct push_list all = {0}, half = {0};
    int64_t until = clock_after(clock_now(), HALF_MS), pause = CLOCK_MS / 8;
    enum skiff_status status = hold(s, tag, 1, &half, &all, err);
    while (status == SKIFF_OK) {
        status = hold(s, tag, s->options.servers, &half, &all, err);
        if (status < 0)
            break;
        list_half(s, &all, &half);
        if (!half.n)
            break;
        if (clock_now() >= until)
            status = error_set(err, SKIFF_STATE,
                               "worker %u has pushed to some servers but not to others, and the "
                               "push does not finish: there is no consistent state to save",
                               half.v[0].trainer);
        clock_sleep(pause);
        pause = pause < 8 * CLOCK_MS ? 2 * pause : pause;
    }
    free(all.v);
    free(half.v);
    return status;
}

static enum skiff_status quiesce_and_tag(struct session *s, const char *tag,
                                         struct skiff_error *err)
{
    TRY(session_quiesce(s, tag, err));
    return call_snapshot(s, PS_TAG_OWN, tag, "tag of a snapshot", err);
}

/* SKIFF_STATE: another worker saves, or a push does not finish. Training continues before the next
 * try. */
enum skiff_status session_tag_now(struct session *s, const char *tag, struct skiff_error *err)
{
    if (mode_waits(s->options.mode) || s->options.workers == 1)
        return call_snapshot(s, PS_TAG_OWN, tag, "tag of a snapshot", err);
    int64_t until = clock_after(clock_now(), s->request_ms < TRIES_MS ? s->request_ms : TRIES_MS);
    for (;;) {
        enum skiff_status status = quiesce_and_tag(s, tag, err);
        if (status == SKIFF_OK)
            return status;
        /* lifts the fence: pushes shall not wait for a save that failed */
        (void)session_untag(s, tag, NULL);
        if (status != SKIFF_STATE || clock_now() >= until)
            return status;
        clock_sleep(PAUSE_MS * CLOCK_MS);
    }
}

enum skiff_status session_untag(struct session *s, const char *tag, struct skiff_error *err)
{
    return call_snapshot(s, PS_DROP, tag, "end of a snapshot", err);
}

enum skiff_status session_pull_snapshot(struct session *s, const char *tag, int server,
                                        const char *name, int64_t first, int64_t n,
                                        struct skiff_tensor *out, struct skiff_error *err)
{
    struct ps_pull_snapshot x = {.first = (uint64_t)first, .count = (uint64_t)n};
    struct wire_writer w;
    struct blob *reply = NULL;
    struct batch_request ask = {.server = server,
                                .method = PS_PULL_SNAPSHOT,
                                .shard = ps_shard(name, s->shards[server]),
                                .flags = RPC_READ};
    TRY(session_text(x.tag, sizeof x.tag, tag, err));
    TRY(session_text(x.name, sizeof x.name, name, err));
    writer_init(&w);
    ps_write_pull_snapshot(&w, &x);
    TRY(writer_finish(&w, &ask.body, err));
    TRY(session_ask(s, &ask, name, &reply, err));
    enum skiff_status status = session_take_part(server, name, reply, out, err);
    blob_unref(reply);
    return status;
}

static enum skiff_status ask_kept_rows(struct session *s, struct request_batch *r, const char *tag,
                                       const struct job_slices *table, const struct rows_cut *cut,
                                       int i, struct skiff_error *err)
{
    struct ps_pull_snapshot x = {.ids = (const uint8_t *)(cut->local + cut->first[i]),
                                 .n = cut->count[i]};
    struct wire_writer w;
    struct batch_request ask = {.method = PS_PULL_SNAPSHOT, .flags = RPC_READ};
    if (!cut->count[i])
        return SKIFF_OK;
    TRY(slice_server(s, table, i, &ask.server, err));
    ask.shard = ps_shard(table->names[i], s->shards[ask.server]);
    TRY(session_text(x.tag, sizeof x.tag, tag, err));
    TRY(session_text(x.name, sizeof x.name, table->names[i], err));
    writer_init(&w);
    ps_write_pull_snapshot(&w, &x);
    TRY(writer_finish(&w, &ask.body, err));
    return request_batch_start(r, i, &ask, err, "%zu rows of %s", cut->count[i], table->names[i]);
}

enum skiff_status session_pull_snapshot_rows(struct session *s, const char *tag,
                                             const struct job_slices *table, const int64_t *ids,
                                             size_t n, int64_t width, float *out,
                                             struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct rows_cut cut = {0};
    struct request_batch *r = request_batch_create(s, table->n);
    TRY_OUT(rows_cut_init(&cut, table, ids, n, err));
    for (int i = 0; i < table->n; i++)
        TRY_OUT(ask_kept_rows(s, r, tag, table, &cut, i, err));
    TRY_OUT(request_batch_wait(r, err));
    for (int i = 0; i < table->n; i++)
        TRY_OUT(rows_scatter(&cut, i, r->slots[i].reply, r->slots[i].server, table->origin, width,
                             out, err));
out:
    request_batch_unref(r);
    rows_cut_deinit(&cut);
    return status;
}
