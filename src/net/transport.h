/* Transport: packets between processes. It knows addresses and peers, but neither frames nor jobs.
 *
 * A packet is a short head (copied) and a slice of a shared block. It arrives completely or not at
 * all, at most once, and in order as long as a connection is up. The side that connected restores a
 * broken connection, and packets in flight are lost. Nothing more is promised: node, hello and rpc
 * do the rest.
 *
 * Peers: a number that belongs to one transport. connect returns one at once, whether or not the
 * other side is up yet, and it stays valid over reconnects. A process that connects to a listening
 * transport appears as a new peer with its first packet, and after a reconnect as another one.
 *
 * Threads: one thread at a time calls into a transport; only wake may be called by any thread at
 * any time between open and close. No locks are held on return. */
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"
#include "metrics/metrics.h"
#include "net/address.h"
#include "net/blob.h"
#include "net/handshake.h"

#define PACKET_HEAD 128

struct packet {
    size_t head_len; /* 1 .. PACKET_HEAD */
    uint8_t head[PACKET_HEAD];
    struct blob *body;  /* may be NULL when len is 0 */
    size_t offset, len; /* the slice of body that is sent */
};

static inline const uint8_t *packet_body(const struct packet *p)
{
    return p->body ? p->body->data + p->offset : (const uint8_t *)"";
}

typedef uint64_t transport_peer;

enum transport_sent {
    TRANSPORT_SENT,
    TRANSPORT_FULL, /* no space, or no connection, now: try again later */
    TRANSPORT_GONE, /* this peer will never come back */
};

/* Counters of a transport, in its options' registry. */
struct transport_counts {
    struct metric *accepted, *lost, *malformed, *no_descriptor;
    /* incoming connections that failed the handshake, by reason */
    struct metric *silent, *nonsense, *other_version, *no_secret;
};

/* Faults of the fault transport, by a seed. Each packet, in both directions, is decided on by
 * numbers drawn from the seed: the same seed and the same order of packets give the same faults.
 * Probabilities are 0 .. 1. */
struct fault_plan {
    uint64_t seed;
    double drop, twice, corrupt; /* corrupt: one bit of head or body is flipped */
    double late; /* held back between late_ms[0] and late_ms[1]: arrives out of order */
    int late_ms[2];
    /* Every cut_every_ms, for cut_for_ms, no packet passes. 0: never. */
    int cut_every_ms, cut_for_ms;
};

struct inproc_hub;
struct transport_kind;

struct transport_options {
    size_t body_max; /* longest body accepted; 0: 16 MB */
    /* bytes in flight to one peer before send returns FULL for large packets; 0: 64 MB */
    size_t peer_bytes;
    int linger_ms; /* how long close waits for packets to be sent; 0: 1000 */
    enum handshake_encrypt encrypt;
    uint8_t key[32];        /* of the job's secret: peers with another one are refused */
    struct inproc_hub *hub; /* inproc: the endpoints that it can reach; borrowed */
    const struct transport_kind *inner; /* fault: what it wraps */
    struct fault_plan faults;           /* fault: the faults */
    struct metrics *metrics;            /* registry; must outlive the transport */
};

struct transport {
    const struct transport_kind *kind;
};

struct transport_kind {
    const char *name, *summary;
    bool sealed; /* bodies cannot change on the way: their checksums need not be compared */
    const struct options
        *settings; /* over struct transport_options; NULL: users cannot choose it */

    /* Does not block. On failure nothing is left to close. Options are copied. */
    enum skiff_status (*open)(const struct transport_options *options, struct transport **out,
                              struct skiff_error *err);

    /* Accepts connections at this address; may be called several times. May block while a name is
     * looked up. out_bound (ADDRESS_TEXT bytes, may be NULL) gets the address with the actual port.
     * On failure the transport is unchanged. */
    enum skiff_status (*listen)(struct transport *t, const char *address, char *out_bound,
                                struct skiff_error *err);

    /* Does not block and does not wait for the other side. On failure nothing changes. */
    enum skiff_status (*connect)(struct transport *t, const char *address, transport_peer *out_peer,
                                 struct skiff_error *err);

    /* Does not block. Packets in flight to the peer may still arrive. Unknown peers are ignored; an
     * incoming peer may come back. */
    void (*disconnect)(struct transport *t, transport_peer peer);

    /* Does not block. The caller keeps the packet; the transport takes a reference of its own to
     * the body when it returns SENT. SENT does not mean arrived. */
    enum transport_sent (*send)(struct transport *t, transport_peer peer,
                                const struct packet *packet);

    /* Blocks until a packet arrives (OK: out_packet's body is a reference for the caller), the
     * deadline of clock.h passes, wake is called or a FULL peer has space again (END for these
     * three, perhaps spuriously). With a deadline that has passed it takes an available packet and
     * does not block. */
    enum skiff_status (*receive)(struct transport *t, int64_t deadline, transport_peer *out_peer,
                                 struct packet *out_packet, struct skiff_error *err);

    /* Any thread. Does not block. A running receive, or the next one, returns soon. */
    void (*wake)(struct transport *t);

    /* Bytes accepted by send and not sent to this peer yet. Does not block. */
    size_t (*backlog)(struct transport *t, transport_peer peer);

    /* State of a peer, for messages: "connected", "no connection after 12 tries"; for an incoming
     * one its origin: "10.0.0.7:41234, encrypted". Does not block. */
    void (*describe)(struct transport *t, transport_peer peer, char *out, size_t capacity);

    /* OK, or why an outgoing connection will never come up: another secret, another version. Does
     * not block. NULL: that cannot happen. */
    enum skiff_status (*refused)(struct transport *t, transport_peer peer, struct skiff_error *err);

    /* Has a peer of an outgoing connection certainly ended? Its machine answers that no process
     * listens at the address any more. Does not block. NULL: that cannot be known. */
    bool (*has_ended)(struct transport *t, transport_peer peer);

    /* Origin of the last connection that failed the handshake; "": there was none. Does not block.
     * NULL: there is no handshake. */
    const char *(*last_unauthenticated)(struct transport *t);

    /* Closes everything; blocks for linger_ms at most. t is freed. Blocks that others hold
     * references to (bodies of received packets) stay valid. */
    void (*close)(struct transport *t);
};

/* NULL when there is no kind with that name. */
const struct transport_kind *transport_find(const char *name);
/* Parses a user's setting: "tcp", "tcp encrypt=on peer_bytes=32M", "ipc", "fault drop=0.05
 * late=0.1". NULL or "": tcp. NOT_FOUND lists the known ones. */
enum skiff_status transport_choose(const char *text, const struct transport_kind **out_kind,
                                   struct transport_options *out, struct skiff_error *err);
/* Settings of tcp and ipc: encrypt, peer_bytes, linger_ms. */
extern const struct options transport_tcp_settings;

void transport_counts_init(struct transport_counts *counts, struct metrics *metrics);
void packet_deinit(struct packet *p); /* drops the reference to the body */

/* ---- inproc: endpoints inside one process ---- */

/* Must live until the last transport that uses it is closed. Threads: any. */
struct inproc_hub *inproc_hub_create(void);
void inproc_hub_destroy(struct inproc_hub *hub);

/* ---- fault ---- */

/* Cuts (no packet passes) and restores by hand; any thread. */
void fault_cut(struct transport *t, bool cut);

#endif
