#include "program/pb_fields.h"

void pb_put_varint(struct buf *b, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        buf_char(b, (char)(v | 128));
    buf_char(b, (char)v);
}

static bool get_varint(const uint8_t *bytes, size_t n, size_t *pos, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && *pos < n; shift += 7) {
        uint8_t c = bytes[(*pos)++];
        v |= (uint64_t)(c & 127) << shift;
        if (c < 128) {
            *out = v;
            return true;
        }
    }
    return false;
}

/* Takes one field off bytes[*pos..n): its tag and its payload (with the length, if it has one). */
bool pb_next_field(const uint8_t *bytes, size_t n, size_t *pos, struct pb_field *out)
{
    uint64_t key, value;
    if (!get_varint(bytes, n, pos, &key) || key >> 3 == 0 || key >> 3 > PB_TAG_MAX)
        return false;
    size_t start = *pos;
    switch (key & 7) {
    case PB_WIRE_VARINT:
        if (!get_varint(bytes, n, pos, &value))
            return false;
        break;
    case PB_WIRE_64:
    case PB_WIRE_32:
        value = (key & 7) == PB_WIRE_64 ? 8 : 4;
        if (n - *pos < value)
            return false;
        *pos += (size_t)value;
        break;
    case PB_WIRE_BYTES:
        if (!get_varint(bytes, n, pos, &value) || n - *pos < value)
            return false;
        *pos += (size_t)value;
        break;
    default:
        return false;
    }
    *out = (struct pb_field){.tag = (uint32_t)(key >> 3),
                             .wire = (unsigned)(key & 7),
                             .len = *pos - start,
                             .data = bytes + start};
    return true;
}

bool pb_fields_whole(const uint8_t *bytes, size_t n)
{
    size_t pos = 0;
    struct pb_field field;
    while (pos < n)
        if (!pb_next_field(bytes, n, &pos, &field))
            return false;
    return true;
}
