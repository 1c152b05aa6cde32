/* Links: the table, the queues, cutting messages into parts. */
#include "net/node_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/clock.h"

struct node_link *link_create(struct node *node, bool outgoing)
{
    struct node_link *l = mem_must(sizeof *l);
    l->link.node = node;
    l->link.outgoing = outgoing;
    l->queue_end = &l->queue;
    assembly_init(&l->assemblies, &node->budget);
    return l;
}

static void queue_clear(struct node_link *l)
{
    if (l->queue)
        l->link.node->blocked--;
    while (l->queue) {
        struct outgoing *o = l->queue;
        l->queue = o->next;
        block_unref(o->body);
        free(o);
    }
    l->queue_end = &l->queue;
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
    node_add(node, COUNT_links_up, 1);
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
    node_add(node, COUNT_links_down, 1);
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

bool link_send_raw(struct node *node, transport_peer peer, enum wire_type type, uint8_t flags,
                   uint64_t tag, struct block *body)
{
    struct wire_head h = {.type = type, .flags = flags, .sequence = tag, .parts = 1};
    struct packet p = {.head_len = WIRE_HEAD, .body = body, .len = block_len(body)};
    fill_head(node, &h);
    h.length = h.total = p.len;
    wire_head_encode(&h, wire_hash(packet_body(&p), p.len), p.head);
    node_add(node, COUNT_frames_out, 1);
    return node->transport->kind->send(node->transport, peer, &p) == TRANSPORT_SENT;
}

void link_send_refusal(struct node *node, transport_peer peer, uint64_t tag,
                       const struct skiff_error *reason)
{
    struct wire_writer w;
    struct block *body;
    writer_init(&w);
    writer_error(&w, reason);
    if (writer_finish(&w, &body, NULL) < 0)
        return;
    link_send_raw(node, peer, WIRE_REFUSE, WIRE_ERROR, tag, body);
    block_unref(body);
}

/* One part of a message; head.part says which. */
static enum transport_sent send_part(struct node_link *l, struct wire_head *h, struct block *body)
{
    struct node *node = l->link.node;
    uint64_t each = node->options.part_bytes, offset = h->part * each;
    struct packet p = {.head_len = WIRE_HEAD, .body = body, .offset = offset};
    p.len = h->total - offset < each ? h->total - offset : each;
    h->length = p.len;
    bool sealed = h->parts == 1 && body && body->hashed;
    wire_head_encode(h, sealed ? body->hash : wire_hash(packet_body(&p), p.len), p.head);
    enum transport_sent sent = node->transport->kind->send(node->transport, l->peer, &p);
    if (sent == TRANSPORT_SENT) {
        node_add(node, COUNT_frames_out, 1);
        node_add(node, COUNT_bytes_out, WIRE_HEAD + p.len);
    }
    return sent;
}

/* Sends the parts that are left. GONE ends an incoming link; an outgoing one waits. */
static enum transport_sent send_parts(struct node_link *l, struct wire_head *h, struct block *body)
{
    enum transport_sent sent = TRANSPORT_SENT;
    while (h->part < h->parts && (sent = send_part(l, h, body)) == TRANSPORT_SENT)
        h->part++;
    if (sent == TRANSPORT_GONE && !l->link.outgoing)
        link_bury(l);
    return sent;
}

static void enqueue(struct node_link *l, const struct wire_head *h, struct block *body)
{
    struct outgoing *o = mem_must(sizeof *o);
    *o = (struct outgoing){.head = *h, .body = block_ref(body)};
    if (!l->queue)
        l->link.node->blocked++;
    *l->queue_end = o;
    l->queue_end = &o->next;
    l->queued += WIRE_HEAD + block_len(body);
}

void link_pump(struct node_link *l)
{
    while (l->queue && !l->dead) {
        struct outgoing *o = l->queue;
        if (send_parts(l, &o->head, o->body) != TRANSPORT_SENT)
            return; /* a buried link has cleared its queue */
        l->queue = o->next;
        if (!l->queue) {
            l->queue_end = &l->queue;
            l->link.node->blocked--;
        }
        l->queued -= WIRE_HEAD + block_len(o->body);
        block_unref(o->body);
        free(o);
    }
}

bool node_send(struct link *link, const struct wire_head *head, struct block *body)
{
    struct node_link *l = (struct node_link *)link;
    struct node *node = link->node;
    struct wire_head h = *head;
    uint64_t each = node->options.part_bytes;
    if (!link->up || l->dead)
        return false;
    fill_head(node, &h);
    h.total = block_len(body);
    h.part = 0;
    uint64_t parts = h.total ? (h.total + each - 1) / each : 1;
    if (parts > WIRE_PARTS_MAX || l->queued > node->options.queue_bytes) {
        node_note(node, COUNT_overflows, "%s: %zu bytes wait for it; a message is dropped",
                  link->peer.name, l->queued);
        return false;
    }
    h.parts = (uint32_t)parts;
    l->said = clock_now();
    if (l->queue) {
        enqueue(l, &h, body);
        return true;
    }
    enum transport_sent sent = send_parts(l, &h, body);
    if (sent == TRANSPORT_FULL || (sent == TRANSPORT_GONE && link->outgoing))
        enqueue(l, &h, body);
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
