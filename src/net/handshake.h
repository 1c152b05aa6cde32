/* Handshake: the first messages of a connection, by which both ends find out whether they have the
 * same key (of the job's secret), and make the keys of this connection. Only the messages;
 * tcp_gate.c and tcp_dial.c send them. (The hello of hello.h comes later, on top of packets.)
 *
 *   FIRST    client -> server   version, settings, share
 *   ANSWER   server -> client   version, settings, share
 *   PROOF    client -> server   MAC of all messages so far
 *   WELCOME  server -> client   another MAC of them, or GREETING_REFUSAL
 *
 * The shares are those of base/secret.h's exchange, so neither message lets an unauthenticated peer
 * test guesses offline: without the secret it has one try per connection. The client proves itself
 * first. Messages have fixed lengths, and nothing else is read or kept before the proof.
 *
 * Both also derive a ticket, which the client may show in the FIRST of its next connection, once.
 * It proves nothing yet, but shows that the peer was authenticated before: it does not wait among
 * unauthenticated peers. Threads: plain functions; one user at a time per struct. */
#ifndef NET_HANDSHAKE_H
#define NET_HANDSHAKE_H

#include "base/seal.h"
#include "base/secret.h"

#define HANDSHAKE_VERSION 1
#define HANDSHAKE_OPEN 64  /* bytes of FIRST and ANSWER */
#define HANDSHAKE_MAGIC 6  /* how both begin */
#define HANDSHAKE_PROOF 32 /* bytes of PROOF and WELCOME */

/* The only answer to an unauthenticated peer. */
extern const uint8_t handshake_refusal[HANDSHAKE_PROOF];

enum handshake_encrypt { HANDSHAKE_AUTO, HANDSHAKE_ON, HANDSHAKE_OFF };

struct handshake_wish {
    /* auto: encrypt when one end sees the other on another machine */
    enum handshake_encrypt encrypt;
    bool apart;  /* the other end is on another machine */
    bool aes;    /* AES is fast here */
    bool chacha; /* the tag of ChaCha is faster here over bytes that are not hidden */
};

/* The result of a handshake. */
struct handshake_keys {
    bool encrypt; /* if not, records can be read by others, but not changed */
    enum seal_cipher cipher;
    uint8_t to_server[SEAL_KEY], to_client[SEAL_KEY];
};

struct handshake_ticket {
    uint32_t number; /* 0: none */
    uint8_t key[SECRET_BYTES];
};

struct handshake {
    struct pake pake;
    uint8_t transcript[2 * HANDSHAKE_OPEN]; /* FIRST, ANSWER */
    uint8_t master[SECRET_BYTES];
};

/* Client. ticket may be NULL. */
void handshake_first(struct handshake *g, const uint8_t base[SECRET_BYTES],
                     const struct handshake_wish *wish, const struct handshake_ticket *ticket,
                     uint8_t out[HANDSHAKE_OPEN]);
/* Server: the number of the ticket in a FIRST, 0: none; and whether it is this one. */
uint32_t handshake_shows(const uint8_t first[HANDSHAKE_OPEN]);
bool handshake_fits(const uint8_t first[HANDSHAKE_OPEN], const struct handshake_ticket *ticket);
/* Are these the first n bytes of a FIRST or ANSWER, of whatever version? */
bool handshake_begins(const uint8_t *bytes, size_t n);
/* Server: UNSUPPORTED for another version (out is set all the same: it carries this version),
 * FORMAT for invalid bytes. Costs about 200 us. */
enum skiff_status handshake_answer(struct handshake *g, const uint8_t base[SECRET_BYTES],
                                   const struct handshake_wish *wish,
                                   const uint8_t first[HANDSHAKE_OPEN], uint8_t out[HANDSHAKE_OPEN],
                                   struct skiff_error *err);
/* Client: UNSUPPORTED, FORMAT as above. */
enum skiff_status handshake_prove(struct handshake *g, const uint8_t answer[HANDSHAKE_OPEN],
                                  uint8_t out[HANDSHAKE_PROOF], struct skiff_error *err);
/* Server: INVALID when the client does not have the key; out is then the refusal. */
enum skiff_status handshake_check(const struct handshake *g, const uint8_t proof[HANDSHAKE_PROOF],
                                  uint8_t out[HANDSHAKE_PROOF], struct skiff_error *err);
/* Client: INVALID when the server does not have the key. */
enum skiff_status handshake_end(const struct handshake *g, const uint8_t welcome[HANDSHAKE_PROOF],
                                struct skiff_error *err);
/* Both, at the end. */
void handshake_ticket(const struct handshake *g, struct handshake_ticket *out);
/* Both, at the end. INVALID: one wants encryption, the other does not. */
enum skiff_status handshake_keys(const struct handshake *g, struct handshake_keys *out,
                                 struct skiff_error *err);

#endif
