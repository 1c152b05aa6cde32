/* Wraps another transport and treats its packets as networks do: see struct fault_plan. A delayed
 * packet lies in a list, sorted by the time when it is due; receive sends and delivers packets that
 * are due. A corrupted body is a copy: the sender's block is never touched. */
#include "net/transport.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"

struct held {
    struct held *next;
    int64_t due;
    bool incoming;
    transport_peer peer;
    struct packet packet;
};

struct fault {
    struct transport base;
    struct transport *inner;
    struct fault_plan plan;
    uint64_t rng;
    int64_t opened;
    struct held *held;
    atomic_bool cut;
    struct metric *passed, *dropped, *doubled, *delayed, *corrupted;
};

static uint64_t draw(struct fault *f)
{
    uint64_t z = f->rng += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static bool happens(struct fault *f, double probability)
{
    return (double)(draw(f) >> 11) * 0x1p-53 < probability;
}

static void name_counts(struct fault *f, struct metrics *m)
{
    f->passed = metrics_get(m, METRIC_NET_FAULTS, "none");
    f->dropped = metrics_get(m, METRIC_NET_FAULTS, "dropped");
    f->doubled = metrics_get(m, METRIC_NET_FAULTS, "doubled");
    f->delayed = metrics_get(m, METRIC_NET_FAULTS, "delayed");
    f->corrupted = metrics_get(m, METRIC_NET_FAULTS, "corrupted");
}

static enum skiff_status fault_open(const struct transport_options *options, struct transport **out,
                                    struct skiff_error *err)
{
    if (!options->inner || options->inner->open == fault_open)
        return error_set(err, SKIFF_INVALID, "transport fault needs another transport to wrap");
    struct transport *inner;
    TRY(options->inner->open(options, &inner, err));
    struct fault *f = mem_alloc_or_die(sizeof *f);
    f->base.kind = transport_find("fault");
    f->inner = inner;
    f->plan = options->faults;
    f->rng = f->plan.seed;
    f->opened = clock_now();
    name_counts(f, options->metrics);
    *out = &f->base;
    return SKIFF_OK;
}

static enum skiff_status fault_listen(struct transport *t, const char *address, char *out_bound,
                                      struct skiff_error *err)
{
    struct fault *f = (struct fault *)t;
    return f->inner->kind->listen(f->inner, address, out_bound, err);
}

static enum skiff_status fault_connect(struct transport *t, const char *address,
                                       transport_peer *out_peer, struct skiff_error *err)
{
    struct fault *f = (struct fault *)t;
    return f->inner->kind->connect(f->inner, address, out_peer, err);
}

static void fault_disconnect(struct transport *t, transport_peer peer)
{
    struct fault *f = (struct fault *)t;
    f->inner->kind->disconnect(f->inner, peer);
}

static bool is_cut(struct fault *f, int64_t now)
{
    if (atomic_load(&f->cut))
        return true;
    if (f->plan.cut_every_ms <= 0)
        return false;
    int64_t every = f->plan.cut_every_ms * CLOCK_MS;
    return (now - f->opened) % every >= every - f->plan.cut_for_ms * CLOCK_MS;
}

static void hold(struct fault *f, int64_t due, bool incoming, transport_peer peer,
                 const struct packet *packet)
{
    struct held *h = mem_alloc_or_die(sizeof *h);
    h->due = due;
    h->incoming = incoming;
    h->peer = peer;
    h->packet = *packet;
    blob_ref(packet->body);
    struct held **at = &f->held;
    while (*at && (*at)->due <= due)
        at = &(*at)->next;
    h->next = *at;
    *at = h;
}

/* Flips one bit of p, a shallow copy of the sender's packet; gives it a reference of its own. */
static void corrupt(struct fault *f, struct packet *p)
{
    uint64_t bit = draw(f) % ((p->head_len + p->len) * 8), head_bits = p->head_len * 8;
    struct blob *copy = NULL;
    if (bit >= head_bits &&
        blob_copy(packet_body(p), p->len, "corrupted packet", &copy, NULL) == SKIFF_OK) {
        bit -= head_bits;
        copy->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        p->body = copy;
        p->offset = 0;
    } else {
        p->head[bit % head_bits / 8] ^= (uint8_t)(1 << bit % 8);
        blob_ref(p->body);
    }
    metric_add(f->corrupted, 1);
}

/* Decides on a packet. True: it passes now; false: it is dropped, or delayed. */
static bool evaluate(struct fault *f, bool incoming, transport_peer peer,
                     const struct packet *packet)
{
    const struct fault_plan *plan = &f->plan;
    int64_t now = clock_now();
    bool drop = happens(f, plan->drop), twice = happens(f, plan->twice);
    bool bad = happens(f, plan->corrupt), late = happens(f, plan->late);
    uint64_t span = (uint64_t)(plan->late_ms[1] - plan->late_ms[0]) * CLOCK_MS + 1;
    int64_t due = late ? now + plan->late_ms[0] * CLOCK_MS + (int64_t)(draw(f) % span) : now;
    if (drop || is_cut(f, now)) {
        metric_add(f->dropped, 1);
        return false;
    }
    if (twice) {
        hold(f, due, incoming, peer, packet);
        metric_add(f->doubled, 1);
    }
    if (bad) {
        struct packet changed = *packet;
        corrupt(f, &changed);
        hold(f, due, incoming, peer, &changed);
        blob_unref(changed.body);
        return false;
    }
    if (late) {
        hold(f, due, incoming, peer, packet);
        metric_add(f->delayed, 1);
        return false;
    }
    metric_add(f->passed, 1);
    return true;
}

static enum transport_sent fault_send(struct transport *t, transport_peer peer,
                                      const struct packet *packet)
{
    struct fault *f = (struct fault *)t;
    if (!evaluate(f, false, peer, packet))
        return TRANSPORT_SENT;
    return f->inner->kind->send(f->inner, peer, packet);
}

/* Sends packets that are due; true when an incoming one is due, which the caller then owns. */
static bool take_due(struct fault *f, transport_peer *out_peer, struct packet *out_packet)
{
    int64_t now = clock_now();
    while (f->held && f->held->due <= now) {
        struct held *h = f->held;
        f->held = h->next;
        if (h->incoming) {
            *out_peer = h->peer;
            *out_packet = h->packet;
            free(h);
            return true;
        }
        f->inner->kind->send(f->inner, h->peer, &h->packet);
        packet_deinit(&h->packet);
        free(h);
    }
    return false;
}

static enum skiff_status fault_receive(struct transport *t, int64_t deadline,
                                       transport_peer *out_peer, struct packet *out_packet,
                                       struct skiff_error *err)
{
    struct fault *f = (struct fault *)t;
    for (;;) {
        if (take_due(f, out_peer, out_packet))
            return SKIFF_OK;
        int64_t until = f->held ? clock_min(deadline, f->held->due) : deadline;
        transport_peer peer;
        struct packet packet;
        enum skiff_status status = f->inner->kind->receive(f->inner, until, &peer, &packet, err);
        if (status == SKIFF_OK) {
            bool passes = evaluate(f, true, peer, &packet);
            if (passes) {
                *out_peer = peer;
                *out_packet = packet;
                return SKIFF_OK;
            }
            packet_deinit(&packet);
        } else if (status != SKIFF_END || !f->held || f->held->due > clock_now()) {
            return status;
        }
    }
}

static void fault_wake(struct transport *t)
{
    struct fault *f = (struct fault *)t;
    f->inner->kind->wake(f->inner);
}

static size_t fault_backlog(struct transport *t, transport_peer peer)
{
    struct fault *f = (struct fault *)t;
    return f->inner->kind->backlog(f->inner, peer);
}

static void fault_describe(struct transport *t, transport_peer peer, char *out, size_t capacity)
{
    struct fault *f = (struct fault *)t;
    f->inner->kind->describe(f->inner, peer, out, capacity);
}

static enum skiff_status fault_refused(struct transport *t, transport_peer peer,
                                       struct skiff_error *err)
{
    struct fault *f = (struct fault *)t;
    return f->inner->kind->refused ? f->inner->kind->refused(f->inner, peer, err) : SKIFF_OK;
}

static bool fault_has_ended(struct transport *t, transport_peer peer)
{
    struct fault *f = (struct fault *)t;
    return f->inner->kind->has_ended && f->inner->kind->has_ended(f->inner, peer);
}

static const char *fault_last_unauthenticated(struct transport *t)
{
    struct fault *f = (struct fault *)t;
    return f->inner->kind->last_unauthenticated ? f->inner->kind->last_unauthenticated(f->inner)
                                                : "";
}

static void fault_close(struct transport *t)
{
    struct fault *f = (struct fault *)t;
    while (f->held) {
        struct held *h = f->held;
        f->held = h->next;
        packet_deinit(&h->packet);
        free(h);
    }
    f->inner->kind->close(f->inner);
    free(f);
}

/* "1-20", or "5" for both */
static const char *read_span(void *target, const char *text)
{
    int *span = target, low, high, n = 0;
    if (sscanf(text, "%d-%d%n", &low, &high, &n) != 2)
        high = sscanf(text, "%d%n", &low, &n) == 1 ? low : -1;
    if (!n || text[n] || low < 0 || high < low)
        return "milliseconds, lowest and highest, as 1-20";
    span[0] = low;
    span[1] = high;
    return NULL;
}

static const char *read_kind(void *target, const char *text)
{
    const struct transport_kind *kind = transport_find(text);
    if (!kind || !kind->settings || kind->open == fault_open)
        return "tcp or ipc";
    *(const struct transport_kind **)target = kind;
    return NULL;
}

#define AT(field) offsetof(struct transport_options, faults.field)
#define SHARE .low = 0, .high = 1
#define TIME .low = 0, .high = INT32_MAX

static const struct option rows[] = {
    {"over", OPTION_OTHER, offsetof(struct transport_options, inner), .read = read_kind,
     .standard = "tcp", .help = "the transport that is wrapped"},
    {"seed", OPTION_LONG, AT(seed), .standard = "1", .help = "seed of the faults"},
    {"drop", OPTION_REAL, AT(drop), SHARE, .help = "share of packets that are lost"},
    {"twice", OPTION_REAL, AT(twice), SHARE, .help = "share that is duplicated"},
    {"corrupt", OPTION_REAL, AT(corrupt), SHARE, .help = "share with a flipped bit"},
    {"late", OPTION_REAL, AT(late), SHARE, .help = "share that is delayed"},
    {"late_ms", OPTION_OTHER, AT(late_ms), .read = read_span, .standard = "1-20",
     .help = "length of a delay"},
    {"cut_every_ms", OPTION_INT, AT(cut_every_ms), TIME,
     .help = "time from one interruption to the next"},
    {"cut_for_ms", OPTION_INT, AT(cut_for_ms), TIME, .help = "length of an interruption"},
    {0}};
static const struct options fault_settings = {
    .what = "setting of transport fault", .rows = rows, .next = &transport_tcp_settings};

void fault_cut(struct transport *t, bool cut)
{
    atomic_store(&((struct fault *)t)->cut, cut);
}

extern const struct transport_kind transport_fault;
const struct transport_kind transport_fault = {
    .name = "fault",
    .summary = "for tests: wraps another one and loses, duplicates and delays packets",
    .settings = &fault_settings,
    .open = fault_open,
    .listen = fault_listen,
    .connect = fault_connect,
    .disconnect = fault_disconnect,
    .send = fault_send,
    .receive = fault_receive,
    .wake = fault_wake,
    .backlog = fault_backlog,
    .describe = fault_describe,
    .refused = fault_refused,
    .has_ended = fault_has_ended,
    .last_unauthenticated = fault_last_unauthenticated,
    .close = fault_close,
};
