/* The messages of hello.h: what is proven, and how.
 *
 * A proof is an HMAC over the whole transcript, so that it fits this hello alone: both nonces (it
 * cannot be used again), both ids, incarnations and names (it cannot be used for somebody else),
 * and the label of the side that proves itself (it cannot be sent back). The server proves first: a
 * client does not answer to one that does not know the secret. Functions that fail leave the state
 * untouched; a HELLO that comes twice gets the same nonce again, so that a lost CHALLENGE does no
 * harm. */
#include "net/hello.h"

#include <stdio.h>
#include <string.h>

void hello_self_init(struct hello_self *self, const struct hello_side *side, const char *job,
                     const char *secret)
{
    *self = (struct hello_self){.side = *side};
    snprintf(self->job_name, sizeof self->job_name, "%s", job);
    for (char *p = self->side.name; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?'; /* as the other side will read it: the proofs cover the names */
    self->job = wire_hash((const uint8_t *)self->job_name, strlen(self->job_name));
    secret_derive(secret, "skiff hello", self->job_name, self->key);
}

uint64_t hello_tag(const struct hello *h)
{
    uint64_t tag;
    memcpy(&tag, h->client_nonce, sizeof tag);
    return tag;
}

/* HMAC over everything that both sides have said; `label` is the side that proves itself. */
static enum skiff_status transcript_mac(const struct hello_self *self, const struct hello *h,
                                        const char *label, const struct hello_side *client,
                                        const struct hello_side *server, uint8_t out[SECRET_BYTES],
                                        struct skiff_error *err)
{
    struct wire_writer w;
    struct blob *b;
    writer_init(&w);
    writer_string(&w, label);
    writer_u32(&w, WIRE_VERSION);
    writer_u64(&w, self->job);
    writer_u32(&w, net_id_pack(client->id));
    writer_u64(&w, client->incarnation);
    writer_u32(&w, net_id_pack(server->id));
    writer_u64(&w, server->incarnation);
    writer_bytes(&w, h->client_nonce, sizeof h->client_nonce);
    writer_bytes(&w, h->server_nonce, sizeof h->server_nonce);
    writer_string(&w, client->name);
    writer_string(&w, server->name);
    TRY(writer_finish(&w, &b, err));
    secret_mac(self->key, sizeof self->key, b->data, b->len, out);
    blob_unref(b);
    return SKIFF_OK;
}

enum skiff_status hello_reopen(const struct hello_self *self, const struct hello *h,
                               struct blob **out_body, struct skiff_error *err)
{
    struct wire_writer w;
    writer_init(&w);
    writer_bytes(&w, h->client_nonce, sizeof h->client_nonce);
    writer_string(&w, self->side.name);
    writer_string(&w, self->job_name);
    return writer_finish(&w, out_body, err);
}

enum skiff_status hello_open(const struct hello_self *self, struct hello *h, struct blob **out_body,
                             struct skiff_error *err)
{
    *h = (struct hello){0};
    secret_random(h->client_nonce, sizeof h->client_nonce);
    return hello_reopen(self, h, out_body, err);
}

static void read_nonce(struct wire_reader *r, uint8_t nonce[32])
{
    const uint8_t *p = reader_bytes(r, 32);
    if (p)
        memcpy(nonce, p, 32);
}

enum skiff_status hello_challenge(const struct hello_self *self, const struct wire_head *head,
                                  const struct blob *body, struct hello *h, struct blob **out_body,
                                  struct skiff_error *err)
{
    struct hello next = {.peer = {head->sender, head->incarnation, ""}};
    char job[HELLO_NAME];
    struct wire_reader r;
    reader_init_block(&r, body);
    read_nonce(&r, next.client_nonce);
    reader_name(&r, next.peer.name, sizeof next.peer.name);
    reader_name(&r, job, sizeof job);
    TRY(reader_end(&r, "hello", err));
    if (head->job != self->job)
        return error_set(err, SKIFF_INVALID, "%s belongs to job '%s', %s to job '%s'",
                         next.peer.name, job, self->side.name, self->job_name);
    if (memcmp(next.client_nonce, h->client_nonce, 32) == 0)
        memcpy(next.server_nonce, h->server_nonce, 32);
    else
        secret_random(next.server_nonce, 32);
    uint8_t mac[SECRET_BYTES];
    TRY(transcript_mac(self, &next, "server", &next.peer, &self->side, mac, err));
    struct wire_writer w;
    writer_init(&w);
    writer_bytes(&w, next.server_nonce, 32);
    writer_string(&w, self->side.name);
    writer_bytes(&w, mac, sizeof mac);
    TRY(writer_finish(&w, out_body, err));
    *h = next;
    return SKIFF_OK;
}

static enum skiff_status compare_mac(const struct hello_self *self, const uint8_t *found,
                                     const uint8_t *expected, const struct hello_side *peer,
                                     struct skiff_error *err)
{
    if (secret_equal(found, expected))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "%s and %s do not have the same secret for job '%s'; start all processes of a "
                     "job with the same one",
                     peer->name, self->side.name, self->job_name);
}

enum skiff_status hello_prove(const struct hello_self *self, struct hello *h,
                              const struct wire_head *head, const struct blob *body,
                              struct blob **out_body, struct skiff_error *err)
{
    struct hello next = *h;
    next.peer = (struct hello_side){head->sender, head->incarnation, ""};
    struct wire_reader r;
    reader_init_block(&r, body);
    read_nonce(&r, next.server_nonce);
    reader_name(&r, next.peer.name, sizeof next.peer.name);
    const uint8_t *proof = reader_bytes(&r, SECRET_BYTES);
    TRY(reader_end(&r, "challenge", err));
    uint8_t mac[SECRET_BYTES];
    TRY(transcript_mac(self, &next, "server", &self->side, &next.peer, mac, err));
    TRY(compare_mac(self, proof, mac, &next.peer, err));
    TRY(transcript_mac(self, &next, "client", &self->side, &next.peer, mac, err));
    TRY(blob_copy(mac, sizeof mac, "proof", out_body, err));
    *h = next;
    return SKIFF_OK;
}

enum skiff_status hello_check(const struct hello_self *self, const struct hello *h,
                              const struct wire_head *head, const struct blob *body,
                              struct skiff_error *err)
{
    if (blob_len(body) != SECRET_BYTES || !net_id_equal(head->sender, h->peer.id) ||
        head->incarnation != h->peer.incarnation)
        return error_set(err, SKIFF_FORMAT, "proof: it does not fit the hello of %s", h->peer.name);
    uint8_t mac[SECRET_BYTES];
    TRY(transcript_mac(self, h, "client", &h->peer, &self->side, mac, err));
    return compare_mac(self, body->data, mac, &h->peer, err);
}
