/* Messages between ranks on the wire: a head of MESSAGE_HEAD bytes, little-endian, field by field,
 * and the data.
 *
 *   at size                  at size
 *    0  1  kind              16  8  group
 *    1  1  call: kind        24  8  number
 *    2  1  call: op          32  8  total
 *    3  1  call: dtype       40  8  call: count
 *    4  4  window            48  4  call: root
 *    8  8  magic             52  4  call: blocks
 *                            56  8  sent */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective_parts.h"

#define MAGIC UINT64_C(0x31726574746c6b53) /* "Skltter1" */

static void put(uint8_t *at, uint64_t v, size_t size)
{
    v = htole64(v);
    memcpy(at, &v, size);
}

static uint64_t get(const uint8_t *at, size_t size)
{
    uint64_t v = 0;
    memcpy(&v, at, size);
    return le64toh(v);
}

void message_encode(const struct message_head *h, uint8_t out[MESSAGE_HEAD])
{
    out[0] = (uint8_t)h->kind;
    out[1] = h->call.kind;
    out[2] = h->call.op;
    out[3] = h->call.dtype;
    put(out + 4, h->window, 4);
    put(out + 8, MAGIC, 8);
    put(out + 16, h->group, 8);
    put(out + 24, h->number, 8);
    put(out + 32, h->total, 8);
    put(out + 40, (uint64_t)h->call.count, 8);
    put(out + 48, (uint32_t)h->call.root, 4);
    put(out + 52, h->call.blocks, 4);
    put(out + 56, h->sent, 8);
}

enum skiff_status message_decode(const uint8_t *b, size_t n, struct message_head *out,
                                 struct skiff_error *err)
{
    if (n < MESSAGE_HEAD || get(b + 8, 8) != MAGIC)
        return error_set(err, SKIFF_FORMAT,
                         "%zu bytes that are not a message of a collective group", n);
    if (b[0] >= MESSAGE_KINDS || b[1] >= CALL_KINDS || b[2] > COLLECTIVE_AVG || get(b + 52, 4) > 1)
        return error_set(err, SKIFF_FORMAT, "a message of kind %d about call %d, op %d", b[0], b[1],
                         b[2]);
    *out = (struct message_head){.kind = (enum message_kind)b[0],
                                 .window = (uint32_t)get(b + 4, 4),
                                 .group = get(b + 16, 8),
                                 .number = get(b + 24, 8),
                                 .total = get(b + 32, 8),
                                 .sent = get(b + 56, 8),
                                 .call = {.kind = b[1],
                                          .op = b[2],
                                          .dtype = b[3],
                                          .blocks = b[52] != 0,
                                          .root = (int32_t)(uint32_t)get(b + 48, 4),
                                          .count = (int64_t)get(b + 40, 8)}};
    return SKIFF_OK;
}

enum skiff_status message_pack(const struct message_head *h, const void *data, size_t bytes,
                               struct blob **out, struct skiff_error *err)
{
    TRY(blob_create(MESSAGE_HEAD + bytes, "a message between ranks", out, err));
    message_encode(h, (*out)->data);
    if (bytes)
        memcpy((*out)->data + MESSAGE_HEAD, data, bytes);
    return SKIFF_OK;
}

void message_destroy(struct message *l)
{
    if (!l)
        return;
    blob_unref(l->blob);
    free(l);
}
