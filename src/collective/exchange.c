/* Exchanges by messages: every rank sends every other one its bytes in windows, the first of which
 * is always sent and carries the description of the call. A few windows are in flight while the
 * first are processed. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collective/collective_parts.h"

#define WINDOW ((size_t)1 << 20) /* a multiple of every element's size */
#define AHEAD 4                  /* windows in flight */

/* One exchange in progress. Arrays by rank of the group. */
struct mesh {
    struct collective *c;
    const struct collective_exchange *x;
    struct message **messages;
    const uint8_t **views;
    size_t *bytes;
    struct collective_call *calls;
    const uint8_t **pieces; /* of mine */
};

static size_t windows_of(size_t bytes)
{
    return bytes ? (bytes + WINDOW - 1) / WINDOW : 1;
}

static size_t window_bytes(size_t all, size_t w)
{
    size_t at = w * WINDOW;
    return at >= all ? 0 : all - at < WINDOW ? all - at : WINDOW;
}

static size_t windows_needed(const struct mesh *m)
{
    size_t most = 1;
    for (int i = 0; i < m->c->size; i++) {
        size_t out = windows_of(m->x->out_bytes[i]), in = windows_of(m->x->in_bytes[i]);
        most = out > most ? out : most;
        most = in > most ? in : most;
    }
    return most;
}

static struct message_head head_of(const struct mesh *m, size_t w)
{
    return (struct message_head){.kind = MESSAGE_CALL,
                                 .window = (uint32_t)w,
                                 .group = m->c->id,
                                 .number = m->c->number,
                                 .call = m->x->call};
}

static enum skiff_status send_window(struct mesh *m, size_t w, struct skiff_error *err)
{
    struct collective *c = m->c;
    for (int k = 1; k < c->size; k++) {
        int i = (c->rank + k) % c->size; /* not all to rank 0 first */
        struct message_head h = head_of(m, w);
        h.total = m->x->out_bytes[i];
        h.sent = m->x->call.blocks ? c->sent[i] : 0;
        if (w >= windows_of(m->x->out_bytes[i]))
            continue;
        TRY(inbox_send(c->inbox, c->ranks[i], &h, m->pieces[i] + w * WINDOW,
                       window_bytes(m->x->out_bytes[i], w), err));
    }
    return SKIFF_OK;
}

static enum skiff_status check_first(struct mesh *m, struct skiff_error *err)
{
    for (int i = 0; i < m->c->size; i++)
        m->calls[i] = i == m->c->rank ? m->x->call : m->messages[i]->head.call;
    TRY(call_check(m->c, m->calls, err));
    for (int i = 0; i < m->c->size; i++)
        TRY(exchange_check_bytes(
            m->c, m->x, i, i == m->c->rank ? m->x->out_bytes[i] : m->messages[i]->head.total, err));
    return SKIFF_OK;
}

static enum skiff_status receive_window(struct mesh *m, size_t w, struct skiff_error *err)
{
    struct collective *c = m->c;
    struct message_head wanted = head_of(m, w);
    for (int i = 0; i < c->size; i++) {
        m->bytes[i] = window_bytes(m->x->in_bytes[i], w);
        m->views[i] = m->pieces[i] + w * WINDOW; /* its own bytes */
        if (i == c->rank || w >= windows_of(m->x->in_bytes[i]))
            continue;
        TRY(inbox_take(c->inbox, c->ranks[i], &wanted, &m->messages[i], err));
        m->views[i] = m->messages[i]->data;
    }
    if (w == 0)
        TRY(check_first(m, err));
    for (int i = 0; i < c->size; i++)
        if (m->messages[i] && m->messages[i]->bytes != m->bytes[i])
            return error_set(err, SKIFF_FORMAT, "rank %d sent %zu bytes of a window of %zu",
                             c->ranks[i], m->messages[i]->bytes, m->bytes[i]);
    m->x->take(m->x->arg, w * WINDOW, m->views, m->bytes);
    return SKIFF_OK;
}

static void drop_letters(struct mesh *m)
{
    for (int i = 0; i < m->c->size; i++) {
        message_destroy(m->messages[i]);
        m->messages[i] = NULL;
    }
}

static enum skiff_status run_windows(struct mesh *m, struct skiff_error *err)
{
    size_t windows = windows_needed(m), sent = 0;
    for (size_t w = 0; w < windows; w++) {
        for (; sent < windows && sent < w + AHEAD; sent++)
            TRY(send_window(m, sent, err));
        enum skiff_status status = receive_window(m, w, err);
        drop_letters(m);
        TRY(status);
    }
    return SKIFF_OK;
}

static void find_pieces(struct mesh *m)
{
    const uint8_t *at = m->x->mine;
    for (int i = 0; i < m->c->size; i++) {
        m->pieces[i] = at;
        if (m->x->pieces && at)
            at += m->x->out_bytes[i];
    }
}

enum skiff_status exchange_by_messages(struct collective *c, const struct collective_exchange *x,
                                       struct skiff_error *err)
{
    size_t n = (size_t)c->size;
    struct skiff_error why;
    struct mesh m = {.c = c,
                     .x = x,
                     .messages = mem_alloc_or_die(n * sizeof *m.messages),
                     .views = mem_alloc_or_die(n * sizeof *m.views),
                     .bytes = mem_alloc_or_die(n * sizeof *m.bytes),
                     .calls = mem_alloc_or_die(n * sizeof *m.calls),
                     .pieces = mem_alloc_or_die(n * sizeof *m.pieces)};
    find_pieces(&m);
    c->number++;
    enum skiff_status status = run_windows(&m, &why);
    if (status < 0) {
        status = inbox_fail(c->inbox, &why);
        inbox_check(c->inbox, err);
    }
    free(m.messages);
    free(m.views);
    free(m.bytes);
    free(m.calls);
    free(m.pieces);
    return status;
}

enum skiff_status exchange_check_bytes(const struct collective *c,
                                       const struct collective_exchange *x, int i, uint64_t came,
                                       struct skiff_error *err)
{
    char text[CALL_TEXT];
    if (came == x->in_bytes[i])
        return SKIFF_OK;
    call_print(&x->call, text);
    return error_set(err, SKIFF_INVALID,
                     "%s: rank %d sends rank %d %llu bytes, which expects %zu from it", text,
                     c->ranks[i], c->ranks[c->rank], (unsigned long long)came, x->in_bytes[i]);
}

/* ---- counting ---- */

/* Two threads that are the first get the same metric. */
static struct metric *metric_of(struct inbox *p, _Atomic(struct metric *) *at, enum metric_id id,
                                int kind)
{
    struct metric *m = atomic_load(at);
    if (!m)
        atomic_store(at, m = metrics_get(p->metrics, id, call_name(kind)));
    return m;
}

static void count_bytes(struct collective *c, const struct collective_exchange *x)
{
    struct inbox *p = c->inbox;
    int kind = x->call.kind;
    size_t bytes = 0;
    for (int i = 0; i < c->size; i++)
        bytes += i != c->rank ? x->out_bytes[i] : 0;
    metric_add(metric_of(p, &p->counts[kind].bytes, METRIC_COLLECTIVE_BYTES, kind), (int64_t)bytes);
}

struct metrics *collective_metrics(const struct collective *c)
{
    return c->inbox->metrics;
}

enum skiff_status exchange_run(struct collective *c, const struct collective_exchange *x,
                               struct skiff_error *err)
{
    TRY(inbox_check(c->inbox, err));
    TRY(c->shm ? shm_exchange(c, x, err) : exchange_by_messages(c, x, err));
    count_bytes(c, x);
    return SKIFF_OK;
}

/* A call may take two exchanges. */
enum skiff_status task_run(struct collective *c, const struct collective_task *t,
                           struct skiff_error *err)
{
    struct inbox *p = c->inbox;
    int kind = t->call.kind;
    int64_t start = clock_now();
    TRY(t->run(c, t, err));
    metric_observe(metric_of(p, &p->counts[kind].seconds, METRIC_COLLECTIVE_SECONDS, kind),
                   (uint64_t)(clock_now() - start));
    return SKIFF_OK;
}
