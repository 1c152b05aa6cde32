/* Declarations shared by the files of transport tcp. transport_tcp.c describes the design. */
#ifndef NET_TCP_PARTS_H
#define NET_TCP_PARTS_H

#include <sys/socket.h>
#include <sys/un.h>

#include "net/handshake.h"
#include "net/resolve.h"
#include "net/transport.h"

#define TCP_OUTGOING (UINT64_C(1) << 63)
#define TCP_SLOT_BITS 24 /* an incoming peer's number: serial << 24 | slot */
#define TCP_TICKETS 1024
#define TCP_ORIGIN (ADDRESS_TEXT + 32)

struct tcp;

/* The kinds of epoll events. */
enum tcp_source { TCP_WAKE, TCP_LISTENER, TCP_CONN };

struct tcp_listener {
    enum tcp_source source;
    int fd;
    bool local; /* a local socket */
};

/* A packet that waits to be sent. */
struct tcp_item {
    struct tcp_item *next;
    struct packet packet;
};

enum tcp_state {
    TCP_CONNECTING, /* connect() has not ended */
    TCP_HANDSHAKE,  /* not authenticated yet */
    TCP_UP,
    TCP_CLOSED, /* lies in the graveyard until all pending events have passed */
};

enum tcp_stage { TCP_RECORD, TCP_HEAD, TCP_BODY, TCP_TAG };

struct tcp_conn {
    enum tcp_source source;
    enum tcp_state state;
    int fd;
    transport_peer peer;
    struct tcp_dialed *dialed; /* NULL: an incoming connection */
    bool local;
    int64_t since;                  /* when it entered this state */
    struct tcp_conn *older, *newer; /* list of unauthenticated peers */
    struct tcp_conn *next;          /* graveyard */
    struct tcp_conn *next_ready;    /* has bytes that were not examined yet */
    struct tcp_conn *next_dirty;    /* has packets that were not tried yet */
    bool ready, dirty, wants_out, was_full, waits_turn;

    struct handshake handshake;
    uint8_t hand[HANDSHAKE_OPEN]; /* of the handshake's next message */
    size_t nhand;
    int step; /* messages of the handshake received */

    /* up */
    bool encrypt;
    struct seal *in_seal, *out_seal;
    uint8_t *in; /* bytes read ahead */
    size_t in_start, in_end;
    enum tcp_stage stage;
    struct packet packet; /* that is being received */
    size_t body_got;

    struct tcp_item *first, **end;
    size_t nitems, queued; /* queued: bytes */
    uint8_t *out;          /* bytes to be sent next */
    size_t out_start, out_end;
    size_t body_sent; /* of the first item */
    bool begun;       /* the first item's head has been sent partly */
    const uint8_t *direct;
    size_t direct_len; /* after `out`, straight from a body */
};

/* An address that this process connects to. */
struct tcp_dialed {
    struct address address;
    transport_peer peer;
    struct sockaddr_un local_name;
    socklen_t local_len; /* 0: none */
    bool at_local;       /* the next attempt uses the local socket */
    struct resolve *resolve;
    struct addrinfo *list, *at; /* where the next attempt goes */
    struct tcp_conn *conn;      /* NULL: none now */
    int64_t next_try, wait;
    unsigned tries;
    unsigned closed; /* attempts in a row at which no process listened there */
    bool was_up;
    struct handshake_ticket ticket;  /* of the last connection */
    int refusals;                    /* in a row, for the same reason */
    struct skiff_error why, refused; /* refused.code 0: not final */
};

/* Incoming peers that are not authenticated yet: see tcp_gate.c. */
struct tcp_gate {
    struct tcp_conn *oldest, *newest;
    size_t unauthenticated, most;
    double accepts, hellos;                 /* left of the rate limits */
    int64_t refilled, closed_until, looked; /* looked: when the origin of one was recorded last */
    bool listening;
    size_t waiting; /* unauthenticated peers whose first message waits */
    /* of peers that were authenticated before, a ring */
    struct handshake_ticket tickets[TCP_TICKETS];
    size_t next_ticket;
};

struct tcp {
    struct transport base;
    struct transport_options options;
    bool by_local; /* transport ipc */
    int epoll, wake_fd;
    enum tcp_source wake_source;
    uint8_t pake_base[SECRET_BYTES];
    struct tcp_listener **listeners;
    size_t nlisteners;
    struct tcp_dialed **dialed; /* a NULL is one that was disconnected */
    size_t ndialed;
    struct tcp_conn **slots; /* of incoming peers */
    size_t nslots;
    uint64_t serial;
    struct tcp_gate gate;
    struct tcp_conn *ready, **ready_end, *dirty, *graveyard;
    bool capacity; /* a peer that was FULL has space */
    struct transport_counts counts;
    char last_unauthenticated[TCP_ORIGIN]; /* origin of the last peer that was refused */
};

/* ---- tcp_conn.c: records of a connection that is up ---- */

struct tcp_conn *conn_create(struct tcp *t, int fd, enum tcp_state state, bool local);
/* Polls for these events; false: the system refuses. */
bool conn_watch(struct tcp *t, struct tcp_conn *c, bool out);
/* The handshake has succeeded. False: no memory. */
bool conn_up(struct tcp *t, struct tcp_conn *c);
/* Closes the connection and drops its queue. Its memory stays until tcp_bury. */
void conn_close(struct tcp *t, struct tcp_conn *c);
void conn_destroy(struct tcp_conn *c);
/* Reads the available bytes. False: it has ended, and was closed. */
bool conn_fill(struct tcp *t, struct tcp_conn *c);
/* OK: the next packet, which the caller owns; END: none yet; else the connection was closed. */
enum skiff_status conn_take(struct tcp *t, struct tcp_conn *c, struct packet *out);
enum transport_sent conn_send(struct tcp *t, struct tcp_conn *c, const struct packet *p);
/* Writes as much as the system accepts. False: it has ended, and was closed. */
bool conn_flush(struct tcp *t, struct tcp_conn *c);
void conn_mark_ready(struct tcp *t, struct tcp_conn *c);
/* Sends a few bytes of the handshake; false: the system does not accept all of them, which ends
 * it. */
bool conn_hand_over(struct tcp_conn *c, const uint8_t *bytes, size_t n);
/* Reads up to n bytes of the handshake's next message into hand. True: complete; false: not yet, or
 * (out_ended) never. */
bool conn_hand_take(struct tcp_conn *c, size_t n, bool *out_ended);
/* Is the other end on another machine? */
bool conn_is_apart(const struct tcp_conn *c);
/* "10.0.0.7:41234", "a local socket"; returns out. */
const char *conn_origin(const struct tcp_conn *c, char out[TCP_ORIGIN]);
void conn_wish(const struct tcp *t, const struct tcp_conn *c, struct handshake_wish *out);

/* ---- tcp_dial.c: outgoing connections ---- */

struct tcp_dialed *dial_create(struct tcp *t, const struct address *a, transport_peer peer);
void dial_destroy(struct tcp *t, struct tcp_dialed *d);
/* Connects, and tries again, when it is time; returns the time of the next action. */
int64_t dial_tick(struct tcp *t, struct tcp_dialed *d, int64_t now);
/* An epoll event for a connection that is not up. */
void dial_event(struct tcp *t, struct tcp_conn *c);
/* A connection of it has ended. */
void dial_lost(struct tcp *t, struct tcp_dialed *d, bool was_up);
/* The local socket that belongs to an address in this job. */
socklen_t dial_local_name(const struct tcp *t, const struct address *a, struct sockaddr_un *out);

/* ---- tcp_gate.c: incoming connections ---- */

void gate_init(struct tcp *t);
enum skiff_status gate_listen(struct tcp *t, const char *address, char *out_bound,
                              struct skiff_error *err);
void gate_close(struct tcp *t);
/* Accepts new connections. */
void gate_accept(struct tcp *t, struct tcp_listener *l);
/* An epoll event for an unauthenticated peer. */
void gate_event(struct tcp *t, struct tcp_conn *c);
/* Ends slow handshakes, serves those that wait. */
int64_t gate_tick(struct tcp *t, int64_t now);
/* An unauthenticated peer was closed, or is authenticated now. */
void gate_forget(struct tcp *t, struct tcp_conn *c);

/* Options of every TCP socket of this module: send at once, and when a link is closed. */
void tcp_tune(int fd);

#endif
