/* Transport: packets between processes. Knows addresses and peers, nothing of frames or jobs.
 *
 * A packet is a short head (copied) and a slice of a shared block. It arrives whole or not at all,
 * at most once, and in order as long as a connection stands; a connection that breaks is made
 * again by whoever connected, and what was on its way is lost. Nothing more is promised: node,
 * hello and rpc make up for the rest.
 *
 * Peers: a number that belongs to one transport. connect gives one at once, whether or not the
 * other side is there yet, and it stays valid over reconnects. Whoever connects to a listening
 * transport appears as a new peer with its first packet, after a reconnect as another one.
 *
 * Threads: one thread at a time calls into a transport; only wake may be called by any thread at
 * any time between open and close. No locks are held on return. */
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"
#include "net/address.h"
#include "net/blob.h"
#include "net/greeting.h"

#define PACKET_HEAD 128

struct packet {
    size_t head_len; /* 1 .. PACKET_HEAD */
    uint8_t head[PACKET_HEAD];
    struct blob *body;  /* may be NULL when len is 0 */
    size_t offset, len; /* the slice of body that is meant */
};

static inline const uint8_t *packet_body(const struct packet *p)
{
    return p->body ? p->body->data + p->offset : (const uint8_t *)"";
}

typedef uint64_t transport_peer;

enum transport_sent {
    TRANSPORT_SENT,
    TRANSPORT_FULL, /* no room, or no connection, now: try again later */
    TRANSPORT_GONE, /* this peer will never come back */
};

struct transport_stats {
    uint64_t accepted;  /* connections of others to us */
    uint64_t lost;      /* connections that broke or were closed */
    uint64_t malformed; /* connections of members that were closed for bytes that make no sense */
    /* connections of others that did not get through the greeting, and why not */
    uint64_t strangers, silent, nonsense, other_version, no_secret;
    uint64_t no_descriptor; /* the process had no file descriptor left for one more */
    char last_stranger[ADDRESS_TEXT + 32]; /* where the last one came from; "": nobody has come */
};

/* What goes wrong in the fault transport, by a seed. Each packet, in both directions, is decided on
 * by numbers drawn from the seed: the same seed and the same order of packets give the same faults.
 * Probabilities are 0 .. 1. */
struct fault_plan {
    uint64_t seed;
    double drop, twice, corrupt; /* corrupt: one bit of head or body is flipped */
    double late; /* held back between late_ms[0] and late_ms[1]: arrives out of order */
    int late_ms[2];
    /* Every cut_every_ms, for cut_for_ms, nothing passes. 0: never. */
    int cut_every_ms, cut_for_ms;
};

struct inproc_hub;
struct transport_kind;

struct transport_options {
    size_t body_max;   /* longest body that is taken in; 0: 16 MB */
    size_t peer_bytes; /* on the way to one peer before send says FULL to large packets; 0: 64 MB */
    int linger_ms;     /* how long close waits for packets to leave; 0: 1000 */
    enum greeting_encrypt encrypt;
    uint8_t key[32];        /* of the job's secret: whoever has another one does not come in */
    struct inproc_hub *hub; /* inproc: whom it can reach; borrowed */
    const struct transport_kind *inner; /* fault: what it wraps */
    struct fault_plan faults;           /* fault: what happens */
};

struct transport {
    const struct transport_kind *kind;
};

struct transport_kind {
    const char *name, *summary;
    bool sealed; /* bodies arrive as they were sent: nobody need compare their checksums */
    const struct options
        *settings; /* over struct transport_options; NULL: users cannot choose it */

    /* Does not block. On failure nothing is left to close. Options are copied. */
    enum skiff_status (*open)(const struct transport_options *options, struct transport **out,
                              struct skiff_error *err);

    /* Takes connections at this address; may be called several times. May block while a name is
     * looked up. out_bound (ADDRESS_TEXT bytes, may be NULL) gets the address with the port that
     * was taken. On failure the transport is as before. */
    enum skiff_status (*listen)(struct transport *t, const char *address, char *out_bound,
                                struct skiff_error *err);

    /* Does not block and does not wait for the other side. On failure nothing changes. */
    enum skiff_status (*connect)(struct transport *t, const char *address, transport_peer *out_peer,
                                 struct skiff_error *err);

    /* Does not block. What is on its way to the peer may still arrive. Unknown peers are ignored;
     * a peer that came to us by listen may come back. */
    void (*disconnect)(struct transport *t, transport_peer peer);

    /* Does not block. The packet stays the caller's; the transport takes a reference of its own to
     * the body when it says SENT. SENT does not mean arrived. */
    enum transport_sent (*send)(struct transport *t, transport_peer peer,
                                const struct packet *packet);

    /* Blocks until a packet comes (OK: out_packet's body is the caller's reference), the deadline
     * of clock.h passes, wake is called or a FULL peer has room again (END for these three, maybe
     * without reason). A deadline that has passed: takes what is there, does not block. */
    enum skiff_status (*receive)(struct transport *t, int64_t deadline, transport_peer *out_peer,
                                 struct packet *out_packet, struct skiff_error *err);

    /* Any thread. Does not block. A receive that runs, or the next one, returns soon. */
    void (*wake)(struct transport *t);

    /* Bytes handed to send that have not left for this peer yet. Does not block. */
    size_t (*backlog)(struct transport *t, transport_peer peer);

    /* How things stand with a peer, for messages: "connected", "no connection after 12 tries"; of
     * one that came to us, from where: "10.0.0.7:41234, encrypted". Does not block. */
    void (*describe)(struct transport *t, transport_peer peer, char *out, size_t room);

    /* OK, or why a peer that we connect to will never be reached: it has another secret, another
     * version. Does not block. NULL: that cannot happen. */
    enum skiff_status (*refused)(struct transport *t, transport_peer peer, struct skiff_error *err);

    /* Has a peer that we were connected to ended for sure? Its machine answers that nobody listens
     * at the address any more. Does not block. NULL: that cannot be known. */
    bool (*has_ended)(struct transport *t, transport_peer peer);

    /* Does not block. */
    void (*stats)(struct transport *t, struct transport_stats *out);

    /* Ends everything; blocks for linger_ms at most. t is gone afterwards. Blocks that others hold
     * references to (bodies of received packets) stay valid. */
    void (*close)(struct transport *t);
};

/* NULL when there is no kind of that name. */
const struct transport_kind *transport_find(const char *name);
/* The kinds in transport_list.h, by number; NULL behind the last. */
const struct transport_kind *transport_at(size_t i);

/* What a user says: "tcp", "tcp encrypt=on peer_bytes=32M", "ipc", "fault drop=0.05 late=0.1".
 * NULL or "": tcp. NOT_FOUND lists those that there are. */
enum skiff_status transport_choose(const char *text, const struct transport_kind **out_kind,
                                   struct transport_options *out, struct skiff_error *err);
/* Settings of tcp and ipc: encrypt, peer_bytes, linger_ms. */
extern const struct options transport_tcp_settings;

void packet_deinit(struct packet *p); /* drops the reference to the body */

/* ---- inproc: who can reach whom inside a process ---- */

/* Lives until the last transport that uses it is closed. Threads: any. */
struct inproc_hub *inproc_hub_create(void);
void inproc_hub_destroy(struct inproc_hub *hub);

/* ---- fault ---- */

/* Cuts (nothing passes) and restores by hand; any thread. */
void fault_cut(struct transport *t, bool cut);

struct fault_stats {
    uint64_t passed, dropped, doubled, delayed, corrupted;
};
/* Any thread, at any time before close. */
void fault_count(struct transport *t, struct fault_stats *out);

#endif
