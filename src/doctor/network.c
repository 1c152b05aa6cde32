/* Names, ports and links of a job, tried as a process of the job would.
 *
 * The report depends on how far an attempt gets: the name is unknown; there is no answer (a
 * firewall, no route); the machine answers but nothing listens (correct before the job starts); a
 * process listens but does not complete the handshake of this job (another job, another secret,
 * another program); a server answers with the counts and the mode it was started with. A name that
 * resolves to the machine itself is a fault only if other servers are on other machines. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mode.h"
#include "base/plural.h"
#include "doctor/doctor_parts.h"
#include "fleet/observer.h"
#include "net/host.h"
#include "net/membership.h"
#include "net/ps.h"
#include "net/rpc.h"

/* ---- names ---- */

static struct addrinfo *resolve(const struct address *a, int *failed)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char port[16];
    snprintf(port, sizeof(port), "%u", a->port);
    *failed = getaddrinfo(a->host, port, &hints, &list);
    return *failed ? NULL : list;
}

static void check_name(struct doctor *d, const char *what, int i, const char *endpoint,
                       bool others_remote)
{
    struct address a;
    char text[128] = "";
    int failed;
    struct skiff_error err = {0};
    if (address_parse(endpoint, &a, &err) < 0) {
        doctor_wrong(d, NULL, "%s %d: %s", what, i, err.message);
        return;
    }
    struct addrinfo *list = resolve(&a, &failed);
    if (!list) {
        doctor_wrong(d, "correct the name, add it to /etc/hosts or DNS, or use an address",
                     "%s %d: %s cannot be found: %s", what, i, a.host, gai_strerror(failed));
        return;
    }
    getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
    if (host_is_any(list->ai_addr))
        doctor_wrong(
            d,
            "use the machine's own address in the list; SKIFF_LISTEN sets the address that a "
            "server listens on",
            "%s %d: %s is not reachable from other machines: it means the local machine everywhere",
            what, i, a.host);
    else if (host_is_loopback(list->ai_addr) && others_remote)
        doctor_wrong(d, "use an address that the other machines can reach",
                     "%s %d: %s is %s, which means the local machine everywhere", what, i, a.host,
                     text);
    else if (a.family == ADDRESS_NAME)
        doctor_ok(d, "%s %d: %s is %s", what, i, a.host, text);
    freeaddrinfo(list);
}

static bool points_here(const char *endpoint)
{
    struct address a;
    int failed;
    if (address_parse(endpoint, &a, NULL) < 0)
        return false;
    struct addrinfo *list = resolve(&a, &failed);
    /* what cannot be found is reported elsewhere */
    bool loopback = !list || host_is_loopback(list->ai_addr) || host_is_any(list->ai_addr);
    if (list)
        freeaddrinfo(list);
    return loopback;
}

void doctor_hosts(struct doctor *d, const char *what, char *const *endpoints, int n)
{
    bool remote = false;
    for (int i = 0; i < n; i++)
        remote |= !points_here(endpoints[i]);
    for (int i = 0; i < n; i++)
        check_name(d, what, i, endpoints[i], remote);
}

/* ---- the server that answers ---- */

/* On the network thread, while ours waits for an answer. */
static void network_says(void *self, enum log_level level, const char *line)
{
    if (level >= LOG_WARN)
        doctor_warn(self, NULL, "%s", line);
}

/* Half of the way there and back belongs to each direction. */
static void check_clock(struct doctor *d, struct observer *v, int index)
{
    struct blob *reply = NULL;
    double before = 1e-9 * (double)clock_real();
    if (observer_ask(v, PS_CLOCK, "the clock", &reply, NULL) < 0 || blob_len(reply) != 8) {
        blob_unref(reply);
        return;
    }
    double after = 1e-9 * (double)clock_real();
    uint64_t nanoseconds = 0;
    for (int i = 7; i >= 0; i--)
        nanoseconds = nanoseconds << 8 | reply->data[i];
    double off = 1e-9 * (double)nanoseconds - (before + after) / 2;
    if (off > 5 || off < -5)
        doctor_warn(
            d,
            "synchronise both machines with a time server; otherwise their logs cannot be compared",
            "server %d: its clock differs by %.1f s", index, off);
    else
        doctor_ok(d, "server %d: answers in %.1f ms, its clock differs by %.0f ms", index,
                  1e3 * (after - before), 1e3 * off);
    blob_unref(reply);
}

static void compare(struct doctor *d, const struct role *role, int index,
                    const struct ps_describe *s)
{
    enum skiff_split_mode mode = (enum skiff_split_mode)s->mode;
    if ((int)s->servers != role->nservers ||
        (role->workers > 0 && (int)s->trainers != role->workers))
        doctor_wrong(d, "start all processes with the same lists and counts",
                     "server %d was started for %u server%s and %u worker%s, expected %d and %d",
                     index, s->servers, plural(s->servers), s->trainers, plural(s->trainers),
                     role->nservers, role->workers);
    else
        doctor_ok(d, "server %d: running, %s, for %u server%s and %u worker%s (%s)", index,
                  skiff_mode_name(mode), s->servers, plural(s->servers), s->trainers,
                  plural(s->trainers), skiff_mode_promise(mode));
}

/* ---- the job, as server 0 sees it ---- */

static void check_present(struct doctor *d, const struct ps_status_member *m)
{
    char trains[96] = "";
    if (m->epoch >= 0)
        snprintf(trains, sizeof trains, ", has trained %llu samples of epoch %lld",
                 (unsigned long long)m->samples, (long long)m->epoch);
    if (m->silent_ms > d->silence_ms / 4) /* members send something 20 times in that time */
        doctor_wrong(
            d,
            "is it stopped (SIGSTOP), or its machine or link down? Servers declare it dead "
            "after SKIFF_SILENCE_MS",
            "%s: last heard from %.1f s ago%s", m->name, (double)m->silent_ms / 1e3, trains);
    else
        doctor_ok(d, "%s: last heard from %.1f s ago%s", m->name, (double)m->silent_ms / 1e3,
                  trains);
}

static void check_member(struct doctor *d, const struct ps_status_member *m)
{
    switch ((enum member_state)m->state) {
    case MEMBER_HERE:
        check_present(d, m);
        break;
    case MEMBER_DEAD:
        doctor_wrong(d, "see its log; a process started with the same environment replaces it",
                     "%s is dead: it %s; its files are not trained", m->name, m->reason);
        break;
    case MEMBER_LEFT:
        doctor_ok(d, "%s: has finished and left the job", m->name);
        break;
    case MEMBER_ABSENT:
        doctor_warn(d, NULL, "%s: has not joined the job yet", m->name);
        break;
    }
}

static void check_wait(struct doctor *d, const struct ps_status *x,
                       const struct ps_status_wait *wait)
{
    struct buf names = BUF_INIT;
    for (uint32_t i = 0; i < wait->n; i++)
        buf_printf(&names, "%sworker %u", i ? ", " : "", x->missing[wait->first + i]);
    if (wait->n && wait->waited_ms > (uint64_t)d->silence_ms)
        doctor_wrong(d, "see its log: is it waiting for data, a pipe command, a disk?",
                     "workers have been waiting at \"%s\" for %.0f s; missing: %s", wait->what,
                     (double)wait->waited_ms / 1e3, names.data);
    buf_deinit(&names);
}

static void check_members(struct doctor *d, struct observer *v)
{
    struct blob *reply = NULL;
    struct ps_status x;
    struct skiff_error err = {0};
    if (observer_ask(v, PS_STATUS, "the members of the job", &reply, &err) < 0 ||
        ps_read_status(reply, &x, &err) < 0) {
        doctor_warn(d, NULL, "server 0 did not list the members of the job: %s", err.message);
    } else {
        for (uint32_t i = 0; i < x.nmembers; i++)
            if (x.members[i].role == NET_WORKER)
                check_member(d, &x.members[i]);
        for (uint32_t i = 0; i < x.nwaits; i++)
            check_wait(d, &x, &x.waits[i]);
        ps_status_deinit(&x);
    }
    blob_unref(reply);
}

static void check_running(struct doctor *d, const struct role *role, int index)
{
    struct observer v;
    struct skiff_error err = {0};
    struct blob *reply = NULL;
    struct ps_describe described;
    struct observer_identity who = {.name = "skiff doctor",
                                    .job = d->job,
                                    .secret = d->secret,
                                    .transport = d->transport,
                                    .timeout_ms = d->timeout_ms,
                                    .on_log = network_says,
                                    .user = d};
    enum skiff_status status = observer_open(&v, &who, role->servers[index], index, &err);
    if (status == SKIFF_OK)
        status = observer_ask(&v, PS_DESCRIBE, "its description", &reply, &err);
    if (status == SKIFF_OK)
        status = ps_read_describe(reply, &described, &err);
    if (status == SKIFF_OK) {
        compare(d, role, index, &described);
        check_clock(d, &v, index);
        if (index == 0)
            check_members(d, &v);
    } else {
        doctor_wrong(d,
                     status == SKIFF_TIMEOUT
                         ? "is it stopped, or very busy? otherwise another program uses the port"
                         : "is it a server of this job? SKIFF_JOB and SKIFF_SECRET must be the "
                           "job's; otherwise another program uses the port",
                     "server %d: a process listens on %s, but: %s", index, role->servers[index],
                     err.message);
    }
    blob_unref(reply);
    observer_close(&v);
}

/* ---- together ---- */

static void check_silent(struct doctor *d, const struct role *role, int index, int why, bool mine)
{
    struct skiff_error err = {0};
    const char *endpoint = role->servers[index];
    if (mine && host_port_check(endpoint, &err) < 0) {
        doctor_wrong(d, NULL, "server %d: %s", index, err.message);
    } else if (mine) {
        doctor_ok(d, "server %d: the port of %s is free", index, endpoint);
    } else if (why == ECONNREFUSED) {
        doctor_ok(d, "server %d: the machine of %s answers; no server is running there yet", index,
                  endpoint);
    } else {
        doctor_wrong(d,
                     why == ETIMEDOUT
                         ? "is the machine up? does a firewall drop packets to this port?"
                         : "check the address and the routes (`ip route get`)",
                     "server %d: %s is unreachable: %s", index, endpoint, strerror(why));
    }
}

void doctor_servers(struct doctor *d, const struct role *role, int own)
{
    for (int i = 0; i < role->nservers; i++) {
        struct address a;
        int failed;
        if (address_parse(role->servers[i], &a, NULL) < 0)
            continue;
        struct addrinfo *list = resolve(&a, &failed);
        if (!list)
            continue; /* reported already */
        freeaddrinfo(list);
        int why = observer_reach(&a, d->timeout_ms);
        bool mine = own == i || host_is_here(a.host);
        if (!why)
            check_running(d, role, i);
        else
            check_silent(d, role, i, why, mine);
    }
}
