/* Frames: the head, field by field, and the checksum.
 *
 * Numbers are written byte by byte, so that the layout is that of wire.h on every machine. Decoding
 * checks everything that a sender can have written before it is used; an invalid frame is an error,
 * never a guess. */
#include "net/wire.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static void put_le(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_le(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* ---- identities ---- */

const char *net_id_print(struct net_id id, char out[NET_ID_TEXT])
{
    static const char *const names[] = {"client", "worker", "server"};
    snprintf(out, NET_ID_TEXT, "%s %u", names[id.role], id.index);
    return out;
}

uint32_t net_id_pack(struct net_id id)
{
    return (uint32_t)id.role << 24 | id.index;
}

bool net_id_equal(struct net_id a, struct net_id b)
{
    return a.role == b.role && a.index == b.index;
}

/* ---- frames ---- */

const char *wire_type_text(enum wire_type type)
{
    switch (type) {
#define WIRE_TYPE_CASE(name, value) \
    case WIRE_##name:               \
        return #name;
        WIRE_TYPE_MAP(WIRE_TYPE_CASE)
#undef WIRE_TYPE_CASE
    }
    return "?";
}

uint64_t wire_hash(const uint8_t *body, size_t len)
{
    return hash_xxh3(body, len, 0);
}

#define CHECKSUM_AT 88

static uint64_t head_checksum(const uint8_t *head, uint64_t body_hash)
{
    return hash_xxh3(head, CHECKSUM_AT, body_hash);
}

void wire_head_encode(const struct wire_head *h, uint64_t body_hash, uint8_t *out)
{
    put_le(out, WIRE_MAGIC, 4);
    put_le(out + 4, WIRE_VERSION, 2);
    out[6] = (uint8_t)h->type;
    out[7] = h->flags;
    put_le(out + 8, h->job, 8);
    put_le(out + 16, net_id_pack(h->sender), 4);
    put_le(out + 20, h->method, 4);
    put_le(out + 24, h->incarnation, 8);
    put_le(out + 32, h->sequence, 8);
    put_le(out + 40, h->ack, 8);
    put_le(out + 48, h->key, 8);
    put_le(out + 56, h->length, 8);
    put_le(out + 64, h->total, 8);
    put_le(out + 72, h->part, 4);
    put_le(out + 76, h->parts, 4);
    put_le(out + 80, 0, 8);
    put_le(out + CHECKSUM_AT, head_checksum(out, body_hash), 8);
}

/* Checks the lengths and part numbers that a sender can have written. */
static enum skiff_status check_parts(const struct wire_head *h, struct skiff_error *err)
{
    if (h->parts < 1 || h->parts > WIRE_PARTS_MAX || h->part >= h->parts)
        return error_set(err, SKIFF_FORMAT, "frame is part %u of %u", h->part, h->parts);
    if (h->length > h->total || (h->parts == 1 && h->length != h->total) ||
        (h->parts > 1 && h->length == 0))
        return error_set(err, SKIFF_FORMAT, "frame has %llu of %llu bytes in part %u of %u",
                         (unsigned long long)h->length, (unsigned long long)h->total, h->part,
                         h->parts);
    return SKIFF_OK;
}

enum skiff_status wire_head_decode(const uint8_t *bytes, size_t n, struct wire_head *out,
                                   uint16_t *out_version, struct skiff_error *err)
{
    *out_version = 0;
    if (n < 8 || get_le(bytes, 4) != WIRE_MAGIC)
        return error_set(err, SKIFF_FORMAT, "not a frame (%zu bytes)", n);
    /* set before the check: the caller answers another version with a refusal that names it */
    *out_version = (uint16_t)get_le(bytes + 4, 2);
    if (*out_version != WIRE_VERSION)
        return error_set(err, SKIFF_UNSUPPORTED, "frame of version %u; this is version %u",
                         *out_version, WIRE_VERSION);
    if (n != WIRE_HEAD)
        return error_set(err, SKIFF_FORMAT, "frame head of %zu bytes; expected %d", n, WIRE_HEAD);
    struct wire_head h = {.type = bytes[6], .flags = bytes[7]};
    if (strcmp(wire_type_text(h.type), "?") == 0 || (h.flags & ~WIRE_FLAGS) != 0)
        return error_set(err, SKIFF_FORMAT, "frame of unknown type %u with flags %u", bytes[6],
                         bytes[7]);
    uint32_t sender = (uint32_t)get_le(bytes + 16, 4);
    if (sender >> 24 > NET_SERVER)
        return error_set(err, SKIFF_FORMAT, "frame of a sender with role %u", sender >> 24);
    h.sender = (struct net_id){sender >> 24, sender & 0xffffff};
    h.job = get_le(bytes + 8, 8);
    h.method = (uint32_t)get_le(bytes + 20, 4);
    h.incarnation = get_le(bytes + 24, 8);
    h.sequence = get_le(bytes + 32, 8);
    h.ack = get_le(bytes + 40, 8);
    h.key = get_le(bytes + 48, 8);
    h.length = get_le(bytes + 56, 8);
    h.total = get_le(bytes + 64, 8);
    h.part = (uint32_t)get_le(bytes + 72, 4);
    h.parts = (uint32_t)get_le(bytes + 76, 4);
    if (get_le(bytes + 80, 8) != 0)
        return error_set(err, SKIFF_FORMAT, "frame with reserved bytes that are not 0");
    TRY(check_parts(&h, err));
    *out = h;
    return SKIFF_OK;
}

bool wire_checksum_ok(const uint8_t *head, uint64_t body_hash)
{
    return get_le(head + CHECKSUM_AT, 8) == head_checksum(head, body_hash);
}
