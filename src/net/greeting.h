/* Greeting: what two ends of a connection say before anything else, to find out whether they have
 * the same key (of the job's secret), and to make the keys of this connection. Only the messages;
 * tcp_gate.c and tcp_dial.c send them.
 *
 *   FIRST    client -> server   version, wishes, share
 *   ANSWER   server -> client   version, wishes, share
 *   PROOF    client -> server   MAC of all that was said
 *   WELCOME  server -> client   another MAC of it, or GREETING_REFUSAL
 *
 * The shares are those of base/secret.h's exchange, so neither message gives a stranger anything to
 * test guesses with: who does not know the secret has one try per connection. The client proves
 * itself first. Messages have fixed lengths, and nothing else is read or kept before the proof.
 *
 * Both also make a ticket, which the client may show in the FIRST of its next connection, once. It
 * proves nothing yet, but that somebody has been here before: he need not wait with strangers.
 * Threads: plain functions; one user at a time per struct. */
#ifndef NET_GREETING_H
#define NET_GREETING_H

#include "base/seal.h"
#include "base/secret.h"

#define GREETING_VERSION 1
#define GREETING_OPEN 64  /* bytes of FIRST and ANSWER */
#define GREETING_MAGIC 6  /* how both begin */
#define GREETING_PROOF 32 /* bytes of PROOF and WELCOME */

/* All that a stranger is told. */
extern const uint8_t greeting_refusal[GREETING_PROOF];

enum greeting_encrypt { GREETING_AUTO, GREETING_ON, GREETING_OFF };

struct greeting_wish {
    enum greeting_encrypt encrypt; /* auto: when one of both sees the other on another machine */
    bool apart;                    /* the other end is on another machine */
    bool aes;                      /* fast here */
};

/* What came out of it. */
struct greeting_keys {
    bool encrypt; /* else records can be read, but not changed */
    enum seal_cipher cipher;
    uint8_t to_server[SEAL_KEY], to_client[SEAL_KEY];
};

struct greeting_ticket {
    uint32_t number; /* 0: none */
    uint8_t key[SECRET_BYTES];
};

struct greeting {
    struct pake pake;
    uint8_t said[2 * GREETING_OPEN]; /* FIRST, ANSWER */
    uint8_t master[SECRET_BYTES];
};

/* Client. ticket may be NULL. */
void greeting_first(struct greeting *g, const uint8_t base[SECRET_BYTES],
                    const struct greeting_wish *wish, const struct greeting_ticket *ticket,
                    uint8_t out[GREETING_OPEN]);
/* Server: the number of the ticket that a FIRST shows, 0: none; and whether it is this one. */
uint32_t greeting_shows(const uint8_t first[GREETING_OPEN]);
bool greeting_fits(const uint8_t first[GREETING_OPEN], const struct greeting_ticket *ticket);
/* Are these the first n bytes of a FIRST or ANSWER, of whatever version? */
bool greeting_begins(const uint8_t *bytes, size_t n);
/* Server: UNSUPPORTED for another version (out is set all the same: it tells ours), FORMAT for
 * nonsense. Costs about 200 us. */
enum skiff_status greeting_answer(struct greeting *g, const uint8_t base[SECRET_BYTES],
                                  const struct greeting_wish *wish,
                                  const uint8_t first[GREETING_OPEN], uint8_t out[GREETING_OPEN],
                                  struct skiff_error *err);
/* Client: UNSUPPORTED, FORMAT as above. */
enum skiff_status greeting_prove(struct greeting *g, const uint8_t answer[GREETING_OPEN],
                                 uint8_t out[GREETING_PROOF], struct skiff_error *err);
/* Server: INVALID when the client does not have the key; out is then the refusal. */
enum skiff_status greeting_check(const struct greeting *g, const uint8_t proof[GREETING_PROOF],
                                 uint8_t out[GREETING_PROOF], struct skiff_error *err);
/* Client: INVALID when the server does not have the key. */
enum skiff_status greeting_end(const struct greeting *g, const uint8_t welcome[GREETING_PROOF],
                               struct skiff_error *err);
/* Both, at the end. */
void greeting_ticket(const struct greeting *g, struct greeting_ticket *out);
/* Both, at the end. INVALID: one wants encryption, the other does not. */
enum skiff_status greeting_keys(const struct greeting *g, struct greeting_keys *out,
                                struct skiff_error *err);

#endif
