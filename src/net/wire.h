/* The wire format: frames, and the values in their bodies.
 *
 * A frame is a head of WIRE_HEAD bytes and a body. The head, little-endian, field by field:
 *
 *   at size               at size
 *    0  4  magic "SKFW"   48  8  key: routes a request to a shard
 *    4  2  version        56  8  length of this frame's body
 *    6  1  type           64  8  total: length of the whole message's body
 *    7  1  flags          72  4  part: 0 .. parts-1
 *    8  8  job            76  4  parts: frames that the message is split into
 *   16  4  sender         80  8  reserved, 0
 *   20  4  method         88  8  checksum
 *   24  8  incarnation
 *   32  8  sequence       sender is role << 24 | index. magic, version and type stay where they
 *   40  8  ack            are in every version, so that any two versions can refuse each other.
 *
 * checksum = XXH3_64(head with checksum 0, seed = XXH3_64(body), or 0 with WIRE_SEALED). All parts
 * of a message but the last have the same length, so a part's offset follows from its number. The
 * decoder trusts nothing: a head that it accepts satisfies the comments in struct wire_head.
 * Threads: plain functions of their arguments; a writer or reader has one user at a time. */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "net/blob.h"

#define WIRE_HEAD 96
#define WIRE_MAGIC 0x57464b53u
#define WIRE_VERSION 4
#define WIRE_PARTS_MAX (1u << 20)

/* ---- identities ---- */

enum net_role { NET_NOBODY, NET_WORKER, NET_SERVER };

struct net_id {
    enum net_role role;
    uint32_t index; /* below 2^24 */
};

#define NET_ID_TEXT 32
/* "worker 3"; returns out. */
const char *net_id_print(struct net_id id, char out[NET_ID_TEXT]);
uint32_t net_id_pack(struct net_id id);
bool net_id_equal(struct net_id a, struct net_id b);

/* ---- frames ---- */

/* name, value */
#define WIRE_TYPE_MAP(X)                                                                      \
    X(HELLO, 1)    /* client -> server: its identity */                                       \
    X(WELCOME, 4)  /* server -> client: accepted, and the server's identity */                \
    X(REFUSE, 5)   /* either way: an error value; the link cannot be used */                  \
    X(WHO, 6)      /* server -> client: unknown peer (perhaps after a restart); send HELLO */ \
    X(BYE, 7)      /* either way: the sender closes this link */                              \
    X(REQUEST, 8)  /* client -> server */                                                     \
    X(PROBE, 9)    /* client -> server: what is the state of this sequence number? */         \
    X(REPLY, 10)   /* server -> client: the result, or an error value */                      \
    X(WORKING, 11) /* server -> client: in progress, the result will follow */                \
    X(UNKNOWN, 12) /* server -> client: unknown, send it again */                             \
    X(BUSY, 13)    /* server -> client: the queue is full, send it later */                   \
    X(ACK, 14)     /* client -> server: only the field ack matters */                         \
    X(PING, 15)    /* either way, on a quiet link: shows whether it is up */

enum wire_type {
#define WIRE_TYPE_ENUM(name, value) WIRE_##name = value,
    WIRE_TYPE_MAP(WIRE_TYPE_ENUM)
#undef WIRE_TYPE_ENUM
};

enum wire_flags {
    WIRE_ERROR = 1,  /* the body is an error value */
    WIRE_READ = 2,   /* a request that changes nothing: may be carried out again */
    WIRE_SEALED = 4, /* the transport seals it: the body's hash is taken as 0 */
    WIRE_FLAGS = 7,
};

struct wire_head {
    enum wire_type type;
    uint8_t flags; /* of enum wire_flags */
    uint64_t job;
    struct net_id sender;
    uint32_t method;
    uint64_t incarnation, sequence, ack, key;
    uint64_t length, total; /* length <= total; equal when parts is 1 */
    uint32_t part, parts;   /* part < parts; 1 <= parts <= WIRE_PARTS_MAX */
};

const char *wire_type_text(enum wire_type type); /* never NULL */

/* Writes WIRE_HEAD bytes for a body of h->length bytes with that hash. */
void wire_head_encode(const struct wire_head *h, uint64_t body_hash, uint8_t *out);
/* FORMAT with the reason for anything that is not a frame of this version; SKIFF_UNSUPPORTED for
 * another version (out_version is set in both cases when n >= 6 and the magic is right, else it is
 * 0). */
enum skiff_status wire_head_decode(const uint8_t *bytes, size_t n, struct wire_head *out,
                                   uint16_t *out_version, struct skiff_error *err);
/* Does the checksum of a head that wire_head_decode accepted match it and the hash of its body? */
bool wire_checksum_ok(const uint8_t *head, uint64_t body_hash);

uint64_t wire_hash(const uint8_t *body, size_t len);

/* ---- values in bodies ----
 *
 * Integers little-endian; counts and lengths as varints (LEB128); strings and arrays are a count
 * and their elements. A writer that runs out of memory remembers it, and writer_finish reports
 * it. */

struct wire_writer {
    uint8_t *data;
    size_t len, cap;
    bool failed;
};

void writer_init(struct wire_writer *w);
void writer_deinit(struct wire_writer *w);                /* allowed after finish */
void writer_reserve(struct wire_writer *w, size_t extra); /* one growth instead of many */
void *writer_space(struct wire_writer *w, size_t n);      /* n raw bytes to fill; or NULL */
void writer_bytes(struct wire_writer *w, const void *p, size_t n); /* raw, without a count */
void writer_u8(struct wire_writer *w, uint8_t v);
void writer_u32(struct wire_writer *w, uint32_t v);
void writer_u64(struct wire_writer *w, uint64_t v);
void writer_varint(struct wire_writer *w, uint64_t v);
void writer_signed(struct wire_writer *w, int64_t v); /* zigzag varint */
void writer_string(struct wire_writer *w, const char *s);
void writer_floats(struct wire_writer *w, const float *v, size_t n);
void writer_ids(struct wire_writer *w, const int64_t *v, size_t n);
void writer_error(struct wire_writer *w, const struct skiff_error *e);
/* Returns the bytes as a blob, owned by the caller; the writer is empty afterwards, also on
 * failure. */
enum skiff_status writer_finish(struct wire_writer *w, struct blob **out, struct skiff_error *err);

/* A reader remembers the first fault and returns 0, "" or NULL from then on: read everything, then
 * call reader_end once. Counts are compared with the remaining bytes before they are returned. */
struct wire_reader {
    const uint8_t *data;
    size_t len, pos;
    const char *fault; /* what could not be read; NULL: none */
    size_t fault_at;
};

void reader_init(struct wire_reader *r, const void *data, size_t len);
void reader_init_block(struct wire_reader *r, const struct blob *b); /* NULL: no bytes */
const uint8_t *reader_bytes(struct wire_reader *r, size_t n);        /* raw; NULL after a fault */
uint8_t reader_u8(struct wire_reader *r);
uint32_t reader_u32(struct wire_reader *r);
uint64_t reader_u64(struct wire_reader *r);
uint64_t reader_varint(struct wire_reader *r);
int64_t reader_signed(struct wire_reader *r);
/* Copies at most capacity-1 bytes and a NUL; a longer string, or one with a NUL inside, is a
 * fault. */
void reader_string(struct wire_reader *r, char *out, size_t capacity);
/* The same, with '?' for anything that is not printable ASCII: for names that are logged. */
void reader_name(struct wire_reader *r, char *out, size_t capacity);
/* A count of elements of at least `each` bytes, which must be present. */
size_t reader_count(struct wire_reader *r, size_t each);
/* Borrowed, not aligned: copy with memcpy. */
const uint8_t *reader_floats(struct wire_reader *r, size_t *out_n);
const uint8_t *reader_ids(struct wire_reader *r, size_t *out_n);
void reader_error(struct wire_reader *r, struct skiff_error *out);
/* FORMAT when something could not be read or bytes are left over; `what` names the message. */
enum skiff_status reader_end(const struct wire_reader *r, const char *what,
                             struct skiff_error *err);

#endif
