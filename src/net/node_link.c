/* Links: the table, the queues, splitting messages into parts.
 *
 * A message longer than part_bytes is sent in parts, so that a heartbeat need not wait behind a
 * gigabyte of parameters: small messages have a queue of their own, which always has priority.
 * Queues hold what the transport does not accept now, and are bounded; a message that does not fit
 * is dropped, as a network may do, and rpc sends it again. A link that goes down drops its queues
 * for the same reason.
 *
 * A link that ends while services are being called is put into the graveyard and freed at the end
 * of the loop's round: its pointer stays valid for services that still hold it. */
#include "net/node_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

struct node_link *link_create(struct node *node, bool outgoing)
{
    struct node_link *l = mem_alloc_or_die(sizeof *l);
    l->link.node = node;
    l->link.outgoing = outgoing;
    l->small.end = &l->small.first;
    l->large.end = &l->large.first;
    assembly_init(&l->assemblies, &node->budget);
    return l;
}

static bool is_blocked(const struct node_link *l)
{
    return l->small.first || l->large.first;
}

/* Takes the first message out; the queue is not empty. */
static void queue_pop(struct out_queue *q)
{
    struct outgoing *o = q->first;
    q->first = o->next;
    if (!q->first)
        q->end = &q->first;
    q->count--;
    blob_unref(o->body);
    free(o);
}

static void queue_clear(struct node_link *l)
{
    if (is_blocked(l))
        l->link.node->blocked--;
    while (l->small.first)
        queue_pop(&l->small);
    while (l->large.first)
        queue_pop(&l->large);
    l->queued = 0;
}

void link_destroy(struct node_link *l)
{
    queue_clear(l);
    assembly_deinit(&l->assemblies);
    free(l);
}

struct node_link *link_find(struct node *node, transport_peer peer)
{
    for (struct node_link *l = node->incoming[peer % NODE_BUCKETS]; l; l = l->next)
        if (l->peer == peer)
            return l;
    for (struct node_link *l = node->outgoing; l; l = l->next)
        if (l->peer == peer)
            return l;
    return NULL;
}

void link_add_incoming(struct node *node, struct node_link *l)
{
    l->next = node->incoming[l->peer % NODE_BUCKETS];
    node->incoming[l->peer % NODE_BUCKETS] = l;
}

void link_set_up(struct node_link *l)
{
    struct node *node = l->link.node;
    l->link.up = true;
    l->link.heard = clock_now();
    node_add(node, METRIC_NET_LINKS_UP, 1);
    for (size_t i = 0; i < node->nservices; i++)
        if (node->service[i].calls->link_up)
            node->service[i].calls->link_up(node->service[i].self, &l->link);
}

void link_set_down(struct node_link *l)
{
    struct node *node = l->link.node;
    if (!l->link.up)
        return;
    l->link.up = false;
    queue_clear(l);
    assembly_deinit(&l->assemblies);
    node_add(node, METRIC_NET_LINKS_DOWN, 1);
    for (size_t i = 0; i < node->nservices; i++)
        if (node->service[i].calls->link_down)
            node->service[i].calls->link_down(node->service[i].self, &l->link);
}

void link_bury(struct node_link *l)
{
    struct node *node = l->link.node;
    if (l->dead)
        return;
    l->dead = true;
    link_set_down(l);
    struct node_link **at = &node->incoming[l->peer % NODE_BUCKETS];
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    l->next = node->graveyard;
    node->graveyard = l;
}

void link_clear_graveyard(struct node *node)
{
    while (node->graveyard) {
        struct node_link *l = node->graveyard;
        node->graveyard = l->next;
        link_destroy(l);
    }
}

/* ---- sending ---- */

static void fill_head(struct node *node, struct wire_head *h)
{
    h->job = node->self.job;
    h->sender = node->self.side.id;
    h->incarnation = node->self.side.incarnation;
}

/* A body that the transport seals needs no hash of its own. */
static void encode_head(const struct node *node, struct wire_head *h, struct packet *p)
{
    bool sealed = node->transport->kind->sealed;
    if (sealed)
        h->flags |= WIRE_SEALED;
    wire_head_encode(h, sealed ? 0 : wire_hash(packet_body(p), p->len), p->head);
}

bool link_send_raw(struct node *node, transport_peer peer, enum wire_type type, uint8_t flags,
                   uint64_t tag, struct blob *body)
{
    struct wire_head h = {.type = type, .flags = flags, .sequence = tag, .parts = 1};
    struct packet p = {.head_len = WIRE_HEAD, .body = body, .len = blob_len(body)};
    fill_head(node, &h);
    h.length = h.total = p.len;
    encode_head(node, &h, &p);
    node_add(node, METRIC_NET_FRAMES_OUT, 1);
    return node->transport->kind->send(node->transport, peer, &p) == TRANSPORT_SENT;
}

void link_send_refusal(struct node *node, transport_peer peer, uint64_t tag,
                       const struct skiff_error *reason)
{
    struct wire_writer w;
    struct blob *body;
    writer_init(&w);
    writer_error(&w, reason);
    if (writer_finish(&w, &body, NULL) < 0)
        return;
    link_send_raw(node, peer, WIRE_REFUSE, WIRE_ERROR, tag, body);
    blob_unref(body);
}

/* One part of a message; head.part says which. */
static enum transport_sent send_part(struct node_link *l, struct wire_head *h, struct blob *body)
{
    struct node *node = l->link.node;
    uint64_t each = node->options.part_bytes, offset = h->part * each;
    struct packet p = {.head_len = WIRE_HEAD, .body = body, .offset = offset};
    p.len = h->total - offset < each ? h->total - offset : each;
    h->length = p.len;
    encode_head(node, h, &p);
    enum transport_sent sent = node->transport->kind->send(node->transport, l->peer, &p);
    if (sent == TRANSPORT_SENT) {
        node_add(node, METRIC_NET_FRAMES_OUT, 1);
        node_add(node, METRIC_NET_BYTES_OUT, WIRE_HEAD + p.len);
    }
    return sent;
}

/* Sends one part. GONE ends an incoming link; an outgoing one waits. */
static enum transport_sent send_next(struct node_link *l, struct wire_head *h, struct blob *body)
{
    enum transport_sent sent = send_part(l, h, body);
    if (sent == TRANSPORT_SENT)
        h->part++;
    else if (sent == TRANSPORT_GONE && !l->link.outgoing)
        link_bury(l);
    return sent;
}

static void enqueue(struct node_link *l, struct out_queue *q, const struct wire_head *h,
                    struct blob *body)
{
    struct outgoing *o = mem_alloc_or_die(sizeof *o);
    *o = (struct outgoing){.head = *h, .body = blob_ref(body)};
    if (!is_blocked(l))
        l->link.node->blocked++;
    *q->end = o;
    q->end = &o->next;
    q->count++;
    if (q == &l->large)
        l->queued += blob_len(body);
}

void link_pump(struct node_link *l)
{
    while (is_blocked(l)) { /* a buried link has cleared its queues */
        struct out_queue *q = l->small.first ? &l->small : &l->large;
        struct outgoing *o = q->first;
        if (send_next(l, &o->head, o->body) != TRANSPORT_SENT)
            return;
        if (o->head.part < o->head.parts)
            continue;
        if (q == &l->large)
            l->queued -= blob_len(o->body);
        queue_pop(q);
        if (!is_blocked(l))
            l->link.node->blocked--;
    }
}

/* False: the queue of this link is full. */
static bool has_space(struct node_link *l, const struct out_queue *q)
{
    struct node *node = l->link.node;
    if (q == &l->small ? q->count < SMALL_QUEUE : l->queued <= node->options.queue_bytes)
        return true;
    node_note(node, METRIC_NET_OVERFLOWS, "%s: %zu bytes are queued for it; a message was dropped",
              l->link.peer.name, l->queued);
    return false;
}

bool node_send(struct link *link, const struct wire_head *head, struct blob *body)
{
    struct node_link *l = (struct node_link *)link;
    struct wire_head h = *head;
    uint64_t each = link->node->options.part_bytes;
    if (!link->up || l->dead)
        return false;
    fill_head(link->node, &h);
    h.total = blob_len(body);
    h.part = 0;
    uint64_t parts = h.total ? (h.total + each - 1) / each : 1;
    struct out_queue *q = h.total <= SMALL_MESSAGE ? &l->small : &l->large;
    if (parts > WIRE_PARTS_MAX || !has_space(l, q))
        return false;
    h.parts = (uint32_t)parts;
    l->transcript = clock_now();
    enum transport_sent sent = TRANSPORT_SENT;
    if (q->first)
        sent = TRANSPORT_FULL;
    while (sent == TRANSPORT_SENT && h.part < h.parts)
        sent = send_next(l, &h, body);
    if (sent == TRANSPORT_FULL || (sent == TRANSPORT_GONE && link->outgoing))
        enqueue(l, q, &h, body);
    return sent != TRANSPORT_GONE || link->outgoing;
}

size_t node_backlog(const struct link *link)
{
    const struct node_link *l = (const struct node_link *)link;
    struct transport *t = link->node->transport;
    return l->queued + t->kind->backlog(t, l->peer);
}

void node_drop(struct link *link)
{
    struct node_link *l = (struct node_link *)link;
    if (!link->outgoing && !l->dead) {
        link_send_raw(link->node, l->peer, WIRE_BYE, 0, 0, NULL);
        link_bury(l);
    }
}

bool node_is_gone(struct link *link)
{
    struct node_link *l = (struct node_link *)link;
    struct wire_head ping = {.type = WIRE_PING};
    return l->dead || (!node_send(link, &ping, NULL) && l->dead);
}
