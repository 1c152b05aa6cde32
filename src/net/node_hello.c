/* How links come up: the frames of hello.h on both sides. Every frame may be lost, duplicated or
 * delayed: the client sends HELLO until it gets WELCOME, and the server answers the same each time.
 *
 * The client repeats with growing pauses, and checks again soon while there is no connection at
 * all. A refusal (another job, another secret, not the process expected at this address) is final:
 * trying again would change nothing, and the reason is reported. */
#include "net/node_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define HELLO_FIRST (50 * CLOCK_MS) /* between two HELLOs; grows */
#define HELLO_LAST (1000 * CLOCK_MS)
#define HELLO_BLOCKED (20 * CLOCK_MS) /* no connection yet: check again */

/* ---- client ---- */

static void refuse_link(struct node_link *l, const struct skiff_error *reason)
{
    struct node *node = l->link.node;
    l->refused = true;
    link_set_down(l);
    for (size_t i = 0; i < node->nservices; i++)
        if (node->service[i].calls->link_refused)
            node->service[i].calls->link_refused(node->service[i].self, &l->link, reason);
}

void hello_restart(struct node_link *l)
{
    link_set_down(l);
    l->hello_open = false;
    l->hello_wait = HELLO_FIRST;
    l->hello_next = 0;
}

static void send_hello(struct node_link *l, int64_t now)
{
    struct node *node = l->link.node;
    struct blob *body;
    l->hello_next = now + HELLO_BLOCKED;
    if (hello_write(&node->self, &body, NULL) < 0)
        return;
    if (!l->hello_open)
        hello_start(&l->hello);
    l->hello_open = true;
    if (link_send_raw(node, l->peer, WIRE_HELLO, 0, l->hello.tag, body)) {
        l->hello_next = now + l->hello_wait;
        l->hello_wait = clock_min(2 * l->hello_wait, HELLO_LAST);
    }
    blob_unref(body);
}

static enum skiff_status check_expected(const struct node_link *l, struct net_id found,
                                        struct skiff_error *err)
{
    char expected_text[NET_ID_TEXT], found_text[NET_ID_TEXT];
    if (l->expected.role == NET_NOBODY || net_id_equal(l->expected, found))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "%s is %s; expected %s there: the lists of addresses must be the same, and in "
                     "the same order, everywhere",
                     l->link.address, net_id_print(found, found_text),
                     net_id_print(l->expected, expected_text));
}

static void on_welcome(struct node_link *l, const struct wire_head *head, struct blob *body)
{
    struct node *node = l->link.node;
    struct skiff_error err;
    if (l->link.up || !l->hello_open || head->sequence != l->hello.tag ||
        head->job != node->self.job)
        return;
    enum skiff_status status = check_expected(l, head->sender, &err);
    if (status == SKIFF_OK)
        status = hello_accept(&l->hello, head, body, &err);
    if (status < 0) {
        link_send_refusal(node, l->peer, head->sequence, &err); /* so that its log has the reason */
        error_prefix(&err, status, "%s", l->link.address);
        refuse_link(l, &err);
        return;
    }
    l->link.peer = l->hello.peer;
    l->hello_open = false;
    link_set_up(l);
}

static void on_refuse(struct node_link *l, const struct wire_head *head, struct blob *body)
{
    struct wire_reader r;
    struct skiff_error reason;
    if (!l->hello_open || (head->sequence && head->sequence != l->hello.tag))
        return;
    reader_init_block(&r, body);
    reader_error(&r, &reason);
    if (reader_end(&r, "refusal", NULL) < 0 || reason.code >= 0)
        return;
    error_prefix(&reason, reason.code, "%s refuses", l->link.address);
    refuse_link(l, &reason);
}

static void client_frame(struct node_link *l, const struct wire_head *head, struct blob *body)
{
    switch (head->type) {
    case WIRE_WELCOME:
        on_welcome(l, head, body);
        break;
    case WIRE_REFUSE:
        on_refuse(l, head, body);
        break;
    case WIRE_WHO:
        if (l->link.up)
            hello_restart(l);
        break;
    default:
        node_note(l->link.node, METRIC_NET_NONSENSE, "%s sent %s to its client", l->link.address,
                  wire_type_text(head->type));
        break;
    }
}

/* ---- server ---- */

static void refuse_peer(struct node *node, transport_peer peer, uint64_t tag, enum metric_id what,
                        const struct skiff_error *err)
{
    node_note(node, what, "refused: %s", err->message);
    link_send_refusal(node, peer, tag, err);
}

static enum skiff_status ask_services(struct node *node, const struct hello_side *peer,
                                      struct skiff_error *err)
{
    for (size_t i = 0; i < node->nservices; i++)
        if (node->service[i].calls->admit)
            TRY(node->service[i].calls->admit(node->service[i].self, peer, err));
    return SKIFF_OK;
}

/* A process that has reconnected is the same peer under a new number: its old link is removed. */
static void bury_older_links(struct node *node, const struct hello_side *peer)
{
    for (size_t i = 0; i < NODE_BUCKETS; i++)
        for (struct node_link *l = node->incoming[i], *next; l; l = next) {
            next = l->next;
            if (net_id_equal(l->link.peer.id, peer->id) &&
                l->link.peer.incarnation == peer->incarnation)
                link_bury(l);
        }
}

static void send_welcome(struct node *node, transport_peer peer, uint64_t tag)
{
    struct blob *body;
    if (hello_welcome(&node->self, &body, NULL) < 0)
        return;
    link_send_raw(node, peer, WIRE_WELCOME, 0, tag, body);
    blob_unref(body);
}

/* l is the link that this peer had before, or NULL. */
static void welcome(struct node *node, transport_peer peer, struct node_link *l,
                    const struct hello *h)
{
    if (l)
        link_bury(l);
    bury_older_links(node, &h->peer);
    l = link_create(node, false);
    l->peer = peer;
    l->tag = h->tag;
    l->link.peer = h->peer;
    node->transport->kind->describe(node->transport, peer, l->link.address, sizeof l->link.address);
    link_add_incoming(node, l);
    char line[sizeof l->link.address + HELLO_NAME + 64];
    snprintf(line, sizeof line, "%s has connected from %s", h->peer.name, l->link.address);
    node_log(node, LOG_INFO, line);
    send_welcome(node, peer, h->tag);
    link_set_up(l);
}

static void on_hello(struct node *node, transport_peer peer, struct node_link *l,
                     const struct wire_head *head, struct blob *body)
{
    struct hello h;
    struct skiff_error err;
    if (hello_read(&node->self, head, body, &h, &err) < 0) {
        if (head->job == node->self.job)
            node_note(node, METRIC_NET_NONSENSE, "refused: %s", err.message);
        else
            refuse_peer(node, peer, head->sequence, METRIC_NET_OTHER_JOB, &err);
    } else if (ask_services(node, &h.peer, &err) < 0) {
        refuse_peer(node, peer, head->sequence, METRIC_NET_REFUSED, &err);
    } else {
        welcome(node, peer, l, &h);
    }
}

/* A client refuses this server: it expected another process at this address. */
static void on_client_refuse(struct node *node, struct node_link *l, const struct wire_head *head)
{
    if (!l || l->tag != head->sequence)
        return;
    node_note(node, METRIC_NET_REFUSED,
              "%s refused this process: it expected another one at this address",
              l->link.peer.name);
    link_bury(l);
}

void hello_frame(struct node *node, transport_peer peer, struct node_link *l,
                 const struct wire_head *head, struct blob *body)
{
    if (l && l->link.outgoing)
        client_frame(l, head, body);
    else if (head->type == WIRE_HELLO && l && l->tag == head->sequence)
        send_welcome(node, peer, l->tag); /* it is late, or was lost */
    else if (head->type == WIRE_HELLO)
        on_hello(node, peer, l, head, body);
    else if (head->type == WIRE_REFUSE)
        on_client_refuse(node, l, head);
    else
        node_note(node, METRIC_NET_NONSENSE, "a client sent %s", wire_type_text(head->type));
}

void hello_other_version(struct node *node, transport_peer peer, struct node_link *l,
                         uint16_t version)
{
    struct skiff_error err;
    node_add(node, METRIC_NET_OTHER_VERSION, 1);
    if (l && l->link.outgoing && !l->link.up && !l->refused) {
        error_set(&err, SKIFF_UNSUPPORTED,
                  "%s speaks version %u of the wire format, this process version %u: use the same "
                  "release everywhere",
                  l->link.address, version, WIRE_VERSION);
        refuse_link(l, &err);
    } else if (!l) {
        error_set(&err, SKIFF_UNSUPPORTED,
                  "%s speaks version %u of the wire format, the process that connected version %u",
                  node->self.side.name, WIRE_VERSION, version);
        link_send_refusal(node, peer, 0, &err);
    }
}

/* The transport has found that this peer does not belong to the job. */
static bool is_refused(struct node_link *l)
{
    struct transport *t = l->link.node->transport;
    struct skiff_error err;
    if (!t->kind->refused || t->kind->refused(t, l->peer, &err) == SKIFF_OK)
        return false;
    error_prefix(&err, err.code, "%s", l->link.address);
    refuse_link(l, &err);
    return true;
}

int64_t hello_tick(struct node *node, int64_t now)
{
    int64_t next = CLOCK_NEVER;
    for (struct node_link *l = node->outgoing; l; l = l->next) {
        if (l->link.up || l->refused || is_refused(l))
            continue;
        if (now >= l->hello_next)
            send_hello(l, now);
        next = clock_min(next, l->hello_next);
    }
    return next;
}
