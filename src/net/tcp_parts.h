/* What the files of transport tcp share. See transport_tcp.c for the design. */
#ifndef NET_TCP_PARTS_H
#define NET_TCP_PARTS_H

#include <sys/socket.h>
#include <sys/un.h>

#include "net/greeting.h"
#include "net/resolve.h"
#include "net/transport.h"

#define TCP_OUTGOING (UINT64_C(1) << 63)
#define TCP_SLOT_BITS 24 /* an incoming peer's number: serial << 24 | slot */
#define TCP_TICKETS 1024
#define TCP_ORIGIN (ADDRESS_TEXT + 32)

struct tcp;

/* What epoll gives back. */
enum tcp_source { TCP_WAKE, TCP_LISTENER, TCP_CONN };

struct tcp_listener {
    enum tcp_source source;
    int fd;
    bool local; /* a local socket */
};

/* A packet that waits to leave. */
struct tcp_item {
    struct tcp_item *next;
    struct packet packet;
};

enum tcp_state {
    TCP_CONNECTING, /* connect() has not ended */
    TCP_GREETING,   /* not proven yet: a stranger */
    TCP_UP,
    TCP_CLOSED, /* lies in the graveyard until events about it have passed */
};

enum tcp_stage { TCP_RECORD, TCP_HEAD, TCP_BODY, TCP_TAG };

struct tcp_conn {
    enum tcp_source source;
    enum tcp_state state;
    int fd;
    transport_peer peer;
    struct tcp_dialed *dialed; /* NULL: it came to us */
    bool local;
    int64_t since;                  /* when it entered this state */
    struct tcp_conn *older, *newer; /* strangers */
    struct tcp_conn *next;          /* graveyard */
    struct tcp_conn *next_ready;    /* has bytes that were not looked at */
    struct tcp_conn *next_dirty;    /* has packets that were not tried to be sent */
    bool ready, dirty, wants_out, was_full, waits_turn;

    struct greeting greeting;
    uint8_t hand[GREETING_OPEN]; /* of the greeting's next message */
    size_t nhand;
    int step; /* messages of the greeting that have come */

    /* up */
    bool encrypt;
    struct seal *in_seal, *out_seal;
    uint8_t *in; /* bytes read ahead */
    size_t in_start, in_end;
    enum tcp_stage stage;
    struct packet packet; /* that is coming in */
    size_t body_got;

    struct tcp_item *first, **end;
    size_t nitems, queued; /* queued: bytes */
    uint8_t *out;          /* bytes that go out next */
    size_t out_start, out_end;
    size_t body_sent; /* of the first item */
    bool begun;       /* the first item's head is on its way */
    const uint8_t *direct;
    size_t direct_len; /* behind `out`, straight from a body */
};

/* An address that we connect to. */
struct tcp_dialed {
    struct address address;
    transport_peer peer;
    struct sockaddr_un local_name;
    socklen_t local_len; /* 0: none */
    bool at_local;       /* the next try goes to the local socket */
    struct resolve *resolve;
    struct addrinfo *list, *at; /* where the next try goes */
    struct tcp_conn *conn;      /* NULL: none now */
    int64_t next_try, wait;
    unsigned tries;
    unsigned closed; /* tries in a row at which nobody listened there */
    bool was_up;
    struct greeting_ticket ticket;   /* of the last time */
    int refusals;                    /* in a row, for the same reason */
    struct skiff_error why, refused; /* refused.code 0: not for good */
};

/* Who comes to us and has not proven himself: see tcp_gate.c. */
struct tcp_gate {
    struct tcp_conn *oldest, *newest;
    size_t strangers, most;
    double accepts, hellos;                 /* that are left of the quotas */
    int64_t refilled, closed_until, looked; /* looked: when it was noted where one came from */
    bool listening;
    size_t waiting; /* strangers whose first message waits for its turn */
    struct greeting_ticket tickets[TCP_TICKETS]; /* of those who have been here, a ring */
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
    struct tcp_conn **slots; /* of those that came to us */
    size_t nslots;
    uint64_t serial;
    struct tcp_gate gate;
    struct tcp_conn *ready, **ready_end, *dirty, *graveyard;
    bool room; /* a peer that was FULL has room */
    struct transport_stats stats;
};

/* ---- tcp_conn.c: records of a connection that is up ---- */

struct tcp_conn *conn_create(struct tcp *t, int fd, enum tcp_state state, bool local);
/* Waits for these; false: the system does not let us. */
bool conn_watch(struct tcp *t, struct tcp_conn *c, bool out);
/* The greeting has ended well. False: no memory. */
bool conn_up(struct tcp *t, struct tcp_conn *c);
/* Ends it, and what waits for it. Its memory stays until tcp_bury. */
void conn_close(struct tcp *t, struct tcp_conn *c);
void conn_free(struct tcp_conn *c);
/* Reads what is there. False: it has ended, and was closed. */
bool conn_fill(struct tcp *t, struct tcp_conn *c);
/* OK: the next packet, the caller's; END: not there yet; else the connection was closed. */
enum skiff_status conn_take(struct tcp *t, struct tcp_conn *c, struct packet *out);
enum transport_sent conn_send(struct tcp *t, struct tcp_conn *c, const struct packet *p);
/* Writes as much as there is room for. False: it has ended, and was closed. */
bool conn_flush(struct tcp *t, struct tcp_conn *c);
void conn_mark_ready(struct tcp *t, struct tcp_conn *c);
/* Sends a few bytes of the greeting; false: they do not fit, which ends it. */
bool conn_hand_over(struct tcp_conn *c, const uint8_t *bytes, size_t n);
/* Reads up to n bytes of the greeting's next message into hand. True: they are there; false: not
 * yet, or (out_ended) there will be none. */
bool conn_hand_take(struct tcp_conn *c, size_t n, bool *out_ended);
/* Is the other end on another machine? */
bool conn_is_apart(const struct tcp_conn *c);
/* "10.0.0.7:41234", "a local socket"; gives out back. */
const char *conn_origin(const struct tcp_conn *c, char out[TCP_ORIGIN]);
void conn_wish(const struct tcp *t, const struct tcp_conn *c, struct greeting_wish *out);

/* ---- tcp_dial.c: connections that we make ---- */

struct tcp_dialed *dial_create(struct tcp *t, const struct address *a, transport_peer peer);
void dial_destroy(struct tcp *t, struct tcp_dialed *d);
/* Connects, and tries again, when it is time to; gives the time of the next thing to do. */
int64_t dial_tick(struct tcp *t, struct tcp_dialed *d, int64_t now);
/* epoll has something for a connection that is not up. */
void dial_event(struct tcp *t, struct tcp_conn *c);
/* A connection of it has ended. */
void dial_lost(struct tcp *t, struct tcp_dialed *d, bool was_up);
/* The local socket that stands for an address in this job. */
socklen_t dial_local_name(const struct tcp *t, const struct address *a, struct sockaddr_un *out);

/* ---- tcp_gate.c: connections that others make ---- */

void gate_init(struct tcp *t);
enum skiff_status gate_listen(struct tcp *t, const char *address, char *out_bound,
                              struct skiff_error *err);
void gate_close(struct tcp *t);
/* Somebody knocks. */
void gate_accept(struct tcp *t, struct tcp_listener *l);
/* epoll has something for a stranger. */
void gate_event(struct tcp *t, struct tcp_conn *c);
/* Ends slow greetings, takes up those that wait for their turn. */
int64_t gate_tick(struct tcp *t, int64_t now);
/* A stranger has been closed, or is none any more. */
void gate_forget(struct tcp *t, struct tcp_conn *c);

/* What every TCP socket of ours is told: not to wait for more bytes, and when a link is cut. */
void tcp_tune(int fd);

#endif
