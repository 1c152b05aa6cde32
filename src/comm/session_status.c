/* Names the workers that others wait for. A worker that has waited for others for as long as
 * SKIFF_SILENCE_MS asks the server that does not answer which workers are missing, and logs them;
 * again after twice that time, and so on. When the request fails at its deadline, the error names
 * them. This finds a worker that hangs while its process is alive (a pipe command that sleeps, a
 * script that waits for something else); server 0 declares a silent one dead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "comm/session_parts.h"

#define STATUS_MS 2000

static enum skiff_status ask_status(struct session *s, int server, struct ps_status *out)
{
    struct blob *reply = NULL;
    struct batch_request ask = {
        .server = server, .method = PS_STATUS, .flags = RPC_READ, .wait_ms = STATUS_MS};
    enum skiff_status status = session_ask(s, &ask, "status of a server", &reply, NULL);
    if (status == SKIFF_OK)
        status = ps_read_status(reply, out, NULL);
    blob_unref(reply);
    return status;
}

static bool lists(const struct ps_status *x, const struct ps_status_wait *wait, uint32_t worker)
{
    for (uint32_t i = 0; i < wait->n; i++)
        if (x->missing[wait->first + i] == worker)
            return true;
    return false;
}

/* The longest wait that lacks another worker than this one; NULL: none. */
static const struct ps_status_wait *find_wait(const struct session *s, const struct ps_status *x)
{
    const struct ps_status_wait *best = NULL;
    for (uint32_t i = 0; i < x->nwaits; i++) {
        const struct ps_status_wait *wait = &x->waits[i];
        if (wait->n && !lists(x, wait, (uint32_t)s->options.worker) &&
            (!best || wait->waited_ms > best->waited_ms))
            best = wait;
    }
    return best;
}

/* "alive, trains epoch 3, 1200 samples so far" */
static void describe(const struct ps_status *x, uint32_t worker, char *out, size_t capacity)
{
    snprintf(out, capacity, "alive");
    for (uint32_t i = 0; i < x->nmembers; i++) {
        const struct ps_status_member *m = &x->members[i];
        if (m->role != NET_WORKER || m->index != worker)
            continue;
        if (m->state == MEMBER_ABSENT)
            snprintf(out, capacity, "it has not joined the job");
        else if (m->epoch >= 0)
            snprintf(out, capacity,
                     "its process is alive; it has trained %llu samples of epoch %lld",
                     (unsigned long long)m->samples, (long long)m->epoch);
        else
            snprintf(out, capacity, "its process is alive");
    }
}

/* Lists the missing workers of the wait in `names` ("worker 1 (its process is alive)"), and reports
 * each of them. */
static void name_missing(struct session *s, const struct ps_status *x,
                         const struct ps_status_wait *wait, bool given_up, struct buf *names)
{
    char state[160], text[512];
    for (uint32_t i = 0; i < wait->n; i++) {
        uint32_t worker = x->missing[wait->first + i];
        describe(x, worker, state, sizeof state);
        if (i < 8)
            buf_printf(names, "%sworker %u (%s)", i ? ", " : "", worker, state);
        snprintf(text, sizeof text, "has not reached \"%s\" for %.0f s, while worker %d waits; %s",
                 wait->what, (double)wait->waited_ms / 1e3, s->options.worker, state);
        if (s->options.on_late && !s->options.hub)
            s->options.on_late(s->options.user, (int)worker, text, given_up);
    }
    if (wait->n > 8)
        buf_printf(names, " and %u more", wait->n - 8);
}

bool session_name_late(struct session *s, int server, int64_t waited)
{
    struct ps_status x = {0};
    struct buf names = BUF_INIT;
    bool found = false;
    if (ask_status(s, server, &x) < 0)
        return false;
    const struct ps_status_wait *wait = find_wait(s, &x);
    if (wait) {
        name_missing(s, &x, wait, false, &names);
        session_log(s, LOG_WARN, "waiting for \"%s\" for %.0f s; missing: %s", wait->what,
                    (double)waited / 1e9, names.data);
        found = true;
    }
    buf_deinit(&names);
    ps_status_deinit(&x);
    return found;
}

void session_blame(struct session *s, struct skiff_error *err)
{
    struct skiff_error why = *err;
    struct ps_status x = {0};
    struct buf names = BUF_INIT;
    const struct ps_status_wait *wait = NULL;
    for (int i = 0; i < s->options.servers && !wait; i++) {
        ps_status_deinit(&x);
        if (ask_status(s, i, &x) == SKIFF_OK)
            wait = find_wait(s, &x);
    }
    if (wait)
        name_missing(s, &x, wait, true, &names);
    if (wait)
        error_set(err, why.code,
                  "%s; these workers have not reached \"%s\": %s. The deadline is "
                  "FLAGS_rpc_deadline",
                  why.message, wait->what, names.data);
    buf_deinit(&names);
    ps_status_deinit(&x);
}
