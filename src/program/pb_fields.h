/* Protobuf fields as bytes: tag and payload, one after the other. For what is kept but not looked
 * into (unknown fields); messages themselves go through protobuf-c (pb.c). */
#ifndef PROGRAM_PB_FIELDS_H
#define PROGRAM_PB_FIELDS_H

#include <stdbool.h>

#include "base/buf.h"

enum { PB_TAG_MAX = 0x1fffffff };
enum pb_wire { PB_WIRE_VARINT = 0, PB_WIRE_64 = 1, PB_WIRE_BYTES = 2, PB_WIRE_32 = 5 };

struct pb_field {
    uint32_t tag;
    unsigned wire;
    const uint8_t *data; /* payload, with its length in front where it has one */
    size_t len;
};

void pb_put_varint(struct buf *b, uint64_t v);
/* Takes one field off bytes[*pos..n); false when there is no whole field. */
bool pb_next_field(const uint8_t *bytes, size_t n, size_t *pos, struct pb_field *out);
bool pb_fields_whole(const uint8_t *bytes, size_t n); /* nothing but whole fields? */

#endif
