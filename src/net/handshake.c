/* The messages of the handshake (handshake.h). FIRST and ANSWER have 64 bytes:
 *
 *   at size
 *    0  6  magic "SKIFF" 0
 *    6  2  version, little-endian
 *    8  1  encrypt: enum handshake_encrypt
 *    9  1  apart: 0, 1
 *   10  1  aes: 0, 1
 *   11  1  chacha: 0, 1
 *   12  4  number of a ticket, little-endian; 0: none, and always in ANSWER
 *   16 16  MAC of bytes 0 to 15 and of the share under the ticket's key; or 0
 *   32 32  share
 *
 * The master key is a MAC of both messages under the result of the key exchange, so a change of any
 * byte on the way (of a setting, say) makes the proofs fail. */
#include "net/handshake.h"

#include <string.h>

static const uint8_t magic[HANDSHAKE_MAGIC] = "SKIFF";
const uint8_t handshake_refusal[HANDSHAKE_PROOF] = "skiff: authentication required\n";

static void write_open(const struct handshake *g, const struct handshake_wish *wish,
                       uint8_t out[HANDSHAKE_OPEN])
{
    memset(out, 0, HANDSHAKE_OPEN);
    memcpy(out, magic, HANDSHAKE_MAGIC);
    out[6] = HANDSHAKE_VERSION & 255;
    out[7] = HANDSHAKE_VERSION >> 8;
    out[8] = (uint8_t)wish->encrypt;
    out[9] = wish->apart;
    out[10] = wish->aes;
    out[11] = wish->chacha;
    memcpy(out + 32, g->pake.share, SECRET_BYTES);
}

bool handshake_begins(const uint8_t *bytes, size_t n)
{
    return memcmp(bytes, magic, n < HANDSHAKE_MAGIC ? n : HANDSHAKE_MAGIC) == 0;
}

uint32_t handshake_shows(const uint8_t first[HANDSHAKE_OPEN])
{
    return (uint32_t)first[12] | (uint32_t)first[13] << 8 | (uint32_t)first[14] << 16 |
           (uint32_t)first[15] << 24;
}

/* The bytes at offset 16 of a FIRST with this ticket. */
static void ticket_mac(const uint8_t first[HANDSHAKE_OPEN], const struct handshake_ticket *ticket,
                       uint8_t out[SECRET_BYTES])
{
    uint8_t transcript[16 + SECRET_BYTES];
    memcpy(transcript, first, 16);
    memcpy(transcript + 16, first + 32, SECRET_BYTES);
    secret_mac(ticket->key, sizeof ticket->key, transcript, sizeof transcript, out);
}

bool handshake_fits(const uint8_t first[HANDSHAKE_OPEN], const struct handshake_ticket *ticket)
{
    uint8_t expected[SECRET_BYTES], found[SECRET_BYTES];
    ticket_mac(first, ticket, expected);
    memcpy(found, expected, sizeof found);
    memcpy(found, first + 16, 16);
    return secret_equal(found, expected);
}

static enum skiff_status check_open(const uint8_t m[HANDSHAKE_OPEN], struct skiff_error *err)
{
    unsigned version = (unsigned)m[6] | (unsigned)m[7] << 8;
    if (!handshake_begins(m, HANDSHAKE_OPEN))
        return error_set(err, SKIFF_FORMAT, "not a Skiff handshake");
    if (version != HANDSHAKE_VERSION)
        return error_set(
            err, SKIFF_UNSUPPORTED,
            "the other side has handshake version %u, this process version %u: use the "
            "same release everywhere",
            version, HANDSHAKE_VERSION);
    bool zero = true;
    for (int i = 12; i < 32; i++)
        zero = zero && (m[i] == 0 || handshake_shows(m));
    if (m[8] > HANDSHAKE_OFF || m[9] > 1 || m[10] > 1 || m[11] > 1 || !zero)
        return error_set(err, SKIFF_FORMAT, "a handshake has invalid fields");
    return SKIFF_OK;
}

/* The result of both sides when their secrets are the same. */
static enum skiff_status make_master(struct handshake *g, const uint8_t *other,
                                     struct skiff_error *err)
{
    uint8_t shared[SECRET_BYTES];
    if (!pake_finish(&g->pake, other, shared))
        return error_set(err, SKIFF_FORMAT, "a handshake has an invalid share");
    secret_mac(shared, sizeof shared, g->transcript, sizeof g->transcript, g->master);
    secret_wipe(shared, sizeof shared);
    secret_wipe(g->pake.scalar, sizeof g->pake.scalar);
    return SKIFF_OK;
}

static void derive(const struct handshake *g, const char *label, uint8_t out[SECRET_BYTES])
{
    secret_mac(g->master, sizeof g->master, label, strlen(label), out);
}

void handshake_first(struct handshake *g, const uint8_t base[SECRET_BYTES],
                     const struct handshake_wish *wish, const struct handshake_ticket *ticket,
                     uint8_t out[HANDSHAKE_OPEN])
{
    uint8_t mac[SECRET_BYTES];
    pake_start(base, &g->pake);
    write_open(g, wish, out);
    if (ticket && ticket->number) {
        for (int i = 0; i < 4; i++)
            out[12 + i] = (uint8_t)(ticket->number >> (8 * i));
        ticket_mac(out, ticket, mac);
        memcpy(out + 16, mac, 16);
    }
    memcpy(g->transcript, out, HANDSHAKE_OPEN);
}

enum skiff_status handshake_answer(struct handshake *g, const uint8_t base[SECRET_BYTES],
                                   const struct handshake_wish *wish,
                                   const uint8_t first[HANDSHAKE_OPEN], uint8_t out[HANDSHAKE_OPEN],
                                   struct skiff_error *err)
{
    enum skiff_status status = check_open(first, err);
    if (status < 0 && status != SKIFF_UNSUPPORTED)
        return status;
    if (status == SKIFF_OK)
        pake_start(base, &g->pake);
    else
        memset(g, 0, sizeof *g); /* only the version is sent, which costs nothing */
    write_open(g, wish, out);
    TRY(status);
    memcpy(g->transcript, first, HANDSHAKE_OPEN);
    memcpy(g->transcript + HANDSHAKE_OPEN, out, HANDSHAKE_OPEN);
    return make_master(g, first + 32, err);
}

enum skiff_status handshake_prove(struct handshake *g, const uint8_t answer[HANDSHAKE_OPEN],
                                  uint8_t out[HANDSHAKE_PROOF], struct skiff_error *err)
{
    TRY(check_open(answer, err));
    memcpy(g->transcript + HANDSHAKE_OPEN, answer, HANDSHAKE_OPEN);
    TRY(make_master(g, answer + 32, err));
    derive(g, "client proof", out);
    return SKIFF_OK;
}

enum skiff_status handshake_check(const struct handshake *g, const uint8_t proof[HANDSHAKE_PROOF],
                                  uint8_t out[HANDSHAKE_PROOF], struct skiff_error *err)
{
    uint8_t expected[SECRET_BYTES];
    derive(g, "client proof", expected);
    if (!secret_equal(proof, expected)) {
        memcpy(out, handshake_refusal, HANDSHAKE_PROOF);
        return error_set(err, SKIFF_INVALID, "it does not have this job's secret");
    }
    derive(g, "server proof", out);
    return SKIFF_OK;
}

enum skiff_status handshake_end(const struct handshake *g, const uint8_t welcome[HANDSHAKE_PROOF],
                                struct skiff_error *err)
{
    uint8_t expected[SECRET_BYTES];
    derive(g, "server proof", expected);
    if (secret_equal(welcome, expected))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "it does not have the same secret as this process; start all processes of a "
                     "job with the same one (SKIFF_SECRET or SKIFF_SECRET_FILE)");
}

void handshake_ticket(const struct handshake *g, struct handshake_ticket *out)
{
    uint8_t number[SECRET_BYTES];
    derive(g, "ticket number", number);
    memcpy(&out->number, number, sizeof out->number);
    out->number |= 1; /* never 0 */
    derive(g, "ticket key", out->key);
}

enum skiff_status handshake_keys(const struct handshake *g, struct handshake_keys *out,
                                 struct skiff_error *err)
{
    const uint8_t *a = g->transcript, *b = g->transcript + HANDSHAKE_OPEN;
    bool on = a[8] == HANDSHAKE_ON || b[8] == HANDSHAKE_ON;
    bool off = a[8] == HANDSHAKE_OFF || b[8] == HANDSHAKE_OFF;
    if (on && off)
        return error_set(err, SKIFF_INVALID,
                         "one side has encryption on, the other off (--encrypt, security.encrypt, "
                         "SKIFF_ENCRYPT)");
    out->encrypt = on || (!off && (a[9] || b[9]));
    bool aes = a[10] && b[10], chacha = !out->encrypt && a[11] && b[11];
    out->cipher = aes && !chacha ? SEAL_AES : SEAL_CHACHA;
    derive(g, "key to server", out->to_server);
    derive(g, "key to client", out->to_client);
    return SKIFF_OK;
}
