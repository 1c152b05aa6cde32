/* How links come up: the frames of hello.h on both sides. Every frame may be lost, doubled or late:
 * the client says HELLO until it is welcome, and the server answers the same each time.
 *
 * The client repeats with growing pauses, and looks again soon while there is no connection at all.
 * A refusal (another job, another secret, not who we expected at this address) is for good: trying
 * again would change nothing, and the reason is told. Until its proof is checked the server keeps a
 * stranger in a small bounded table, for hello_ms at most. */
#include "net/node_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define HELLO_FIRST (50 * CLOCK_MS) /* between two HELLOs; grows */
#define HELLO_LAST (1000 * CLOCK_MS)
#define HELLO_BLOCKED (20 * CLOCK_MS) /* no connection yet: look again */

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

static void say_hello(struct node_link *l, int64_t now)
{
    struct node *node = l->link.node;
    struct blob *body;
    enum skiff_status status = l->hello_open ? hello_reopen(&node->self, &l->hello, &body, NULL)
                                             : hello_open(&node->self, &l->hello, &body, NULL);
    l->hello_next = now + HELLO_BLOCKED;
    if (status < 0)
        return;
    l->hello_open = true;
    if (link_send_raw(node, l->peer, WIRE_HELLO, 0, hello_tag(&l->hello), body)) {
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

static void on_challenge(struct node_link *l, const struct wire_head *head, struct blob *body)
{
    struct node *node = l->link.node;
    struct skiff_error err;
    struct blob *proof;
    if (l->link.up || !l->hello_open || head->sequence != hello_tag(&l->hello))
        return;
    enum skiff_status status = check_expected(l, head->sender, &err);
    if (status == SKIFF_OK)
        status = hello_prove(&node->self, &l->hello, head, body, &proof, &err);
    if (status < 0) {
        link_send_refusal(node, l->peer, head->sequence, &err); /* so that its log says why */
        error_prefix(&err, status, "%s", l->link.address);
        refuse_link(l, &err);
        return;
    }
    link_send_raw(node, l->peer, WIRE_PROOF, 0, hello_tag(&l->hello), proof);
    blob_unref(proof);
}

static void on_welcome(struct node_link *l, const struct wire_head *head)
{
    const struct hello_side *peer = &l->hello.peer;
    if (l->link.up || !l->hello_open || head->sequence != hello_tag(&l->hello) ||
        !net_id_equal(head->sender, peer->id) || head->incarnation != peer->incarnation)
        return;
    l->link.peer = *peer;
    l->hello_open = false;
    link_set_up(l);
}

static void on_refuse(struct node_link *l, const struct wire_head *head, struct blob *body)
{
    struct wire_reader r;
    struct skiff_error reason;
    if (!l->hello_open || (head->sequence && head->sequence != hello_tag(&l->hello)))
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
    case WIRE_CHALLENGE:
        on_challenge(l, head, body);
        break;
    case WIRE_WELCOME:
        on_welcome(l, head);
        break;
    case WIRE_REFUSE:
        on_refuse(l, head, body);
        break;
    case WIRE_WHO:
        if (l->link.up)
            hello_restart(l);
        break;
    default:
        node_note(l->link.node, COUNT_nonsense, "%s sent %s to its client", l->link.address,
                  wire_type_text(head->type));
        break;
    }
}

/* ---- server ---- */

static struct pending *find_pending(struct node *node, transport_peer peer)
{
    for (size_t i = 0; i < PENDING_MAX; i++)
        if (node->pending[i].since && node->pending[i].peer == peer)
            return &node->pending[i];
    return NULL;
}

/* A free place, or the oldest one's. */
static struct pending *add_pending(struct node *node, transport_peer peer)
{
    struct pending *best = &node->pending[0];
    for (size_t i = 0; i < PENDING_MAX && best->since; i++)
        if (node->pending[i].since < best->since)
            best = &node->pending[i];
    if (best->since)
        node_note(node, COUNT_slow,
                  "%s has begun a hello and not finished it; too many others came",
                  best->hello.peer.name);
    *best = (struct pending){.peer = peer, .since = clock_now()};
    return best;
}

static void refuse_stranger(struct node *node, transport_peer peer, uint64_t tag,
                            enum node_count what, const struct skiff_error *err)
{
    node_note(node, what, "refused: %s", err->message);
    link_send_refusal(node, peer, tag, err);
}

static void on_hello(struct node *node, transport_peer peer, const struct wire_head *head,
                     struct blob *body)
{
    struct pending *p = find_pending(node, peer);
    struct hello h = {0};
    struct skiff_error err;
    struct blob *answer;
    if (p)
        h = p->hello;
    if (hello_challenge(&node->self, head, body, &h, &answer, &err) < 0) {
        if (head->job == node->self.job)
            node_note(node, COUNT_nonsense, "refused: %s", err.message);
        else
            refuse_stranger(node, peer, head->sequence, COUNT_other_job, &err);
        return;
    }
    if (!p)
        p = add_pending(node, peer);
    p->hello = h;
    link_send_raw(node, peer, WIRE_CHALLENGE, 0, hello_tag(&h), answer);
    blob_unref(answer);
}

static enum skiff_status ask_services(struct node *node, const struct hello_side *peer,
                                      struct skiff_error *err)
{
    for (size_t i = 0; i < node->nservices; i++)
        if (node->service[i].calls->admit)
            TRY(node->service[i].calls->admit(node->service[i].self, peer, err));
    return SKIFF_OK;
}

/* A process that has reconnected is the same peer under a new number: its old link goes. */
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

static void welcome(struct node *node, struct pending *p)
{
    uint64_t tag = hello_tag(&p->hello);
    struct node_link *l = link_find(node, p->peer);
    if (!l || l->tag != tag) {
        if (l)
            link_bury(l);
        bury_older_links(node, &p->hello.peer);
        l = link_create(node, false);
        l->peer = p->peer;
        l->tag = tag;
        l->link.peer = p->hello.peer;
        link_add_incoming(node, l);
        link_send_raw(node, p->peer, WIRE_WELCOME, 0, tag, NULL);
        link_set_up(l);
    } else {
        link_send_raw(node, p->peer, WIRE_WELCOME, 0, tag, NULL);
    }
    p->since = 0;
}

static void on_proof(struct node *node, transport_peer peer, struct node_link *l,
                     const struct wire_head *head, struct blob *body)
{
    struct pending *p = find_pending(node, peer);
    struct skiff_error err;
    if (!p || head->sequence != hello_tag(&p->hello)) {
        if (l && l->tag == head->sequence) /* the WELCOME was lost */
            link_send_raw(node, peer, WIRE_WELCOME, 0, l->tag, NULL);
        return;
    }
    enum node_count what = COUNT_other_secret;
    enum skiff_status status = hello_check(&node->self, &p->hello, head, body, &err);
    if (status == SKIFF_OK) {
        what = COUNT_refused;
        status = ask_services(node, &p->hello.peer, &err);
    }
    if (status == SKIFF_OK) {
        welcome(node, p);
        return;
    }
    refuse_stranger(node, peer, head->sequence, what, &err);
    p->since = 0;
}

/* A client does not want us: it has another secret, or expected somebody else. */
static void on_client_refuse(struct node *node, transport_peer peer, const struct wire_head *head)
{
    struct pending *p = find_pending(node, peer);
    if (!p || head->sequence != hello_tag(&p->hello))
        return;
    node_note(node, COUNT_other_secret,
              "%s does not accept us: it has another secret or looks for somebody else",
              p->hello.peer.name);
    p->since = 0;
}

void hello_frame(struct node *node, transport_peer peer, struct node_link *l,
                 const struct wire_head *head, struct blob *body)
{
    if (l && l->link.outgoing)
        client_frame(l, head, body);
    else if (head->type == WIRE_HELLO && l && l->tag == head->sequence)
        link_send_raw(node, peer, WIRE_WELCOME, 0, l->tag, NULL); /* it is late, or was lost */
    else if (head->type == WIRE_HELLO)
        on_hello(node, peer, head, body);
    else if (head->type == WIRE_PROOF)
        on_proof(node, peer, l, head, body);
    else if (head->type == WIRE_REFUSE)
        on_client_refuse(node, peer, head);
    else
        node_note(node, COUNT_nonsense, "a client sent %s", wire_type_text(head->type));
}

void hello_other_version(struct node *node, transport_peer peer, struct node_link *l,
                         uint16_t version)
{
    struct skiff_error err;
    node_add(node, COUNT_other_version, 1);
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

int64_t hello_tick(struct node *node, int64_t now)
{
    int64_t next = CLOCK_NEVER;
    for (struct node_link *l = node->outgoing; l; l = l->next) {
        if (l->link.up || l->refused)
            continue;
        if (now >= l->hello_next)
            say_hello(l, now);
        next = clock_min(next, l->hello_next);
    }
    int64_t allowed = node->options.hello_ms * CLOCK_MS;
    for (size_t i = 0; i < PENDING_MAX; i++) {
        struct pending *p = &node->pending[i];
        if (p->since && now - p->since > allowed) {
            node_note(node, COUNT_slow, "%s has begun a hello and not finished it in %d ms",
                      p->hello.peer.name, node->options.hello_ms);
            p->since = 0;
        } else if (p->since) {
            next = clock_min(next, p->since + allowed);
        }
    }
    return next;
}
