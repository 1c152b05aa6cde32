/* Values in bodies: writer and reader of wire.h.
 *
 * Neither stops at the first failure. A writer that gets no memory, or a reader that runs out of
 * bytes, remembers it, returns zeros from then on, and reports it once at the end (writer_finish,
 * reader_end): code that writes or reads twenty fields has one check. No count from a body is
 * trusted before that many bytes are known to be present (reader_count). */
#include "net/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "arrays are copied in memory order: a big-endian machine needs swaps here");

/* ---- writer ---- */

void writer_init(struct wire_writer *w)
{
    *w = (struct wire_writer){0};
}

void writer_deinit(struct wire_writer *w)
{
    mem_free(w->data);
    writer_init(w);
}

void writer_reserve(struct wire_writer *w, size_t extra)
{
    size_t need;
    if (w->failed || !mem_add(w->len, extra, &need)) {
        w->failed = true;
        return;
    }
    if (need <= w->cap)
        return;
    size_t cap = w->cap * 2 > need ? w->cap * 2 : need;
    void *data = NULL;
    if (mem_alloc(cap < 64 ? 64 : cap, "message", &data, NULL) < 0) {
        w->failed = true;
        return;
    }
    if (w->len)
        memcpy(data, w->data, w->len);
    mem_free(w->data);
    w->data = data;
    w->cap = cap < 64 ? 64 : cap;
}

void *writer_space(struct wire_writer *w, size_t n)
{
    writer_reserve(w, n);
    if (w->failed)
        return NULL;
    w->len += n;
    return w->data + w->len - n;
}

void writer_bytes(struct wire_writer *w, const void *p, size_t n)
{
    void *at = writer_space(w, n);
    if (at && n)
        memcpy(at, p, n);
}

static void put_le(struct wire_writer *w, uint64_t v, size_t bytes)
{
    writer_bytes(w, &v, bytes);
}

void writer_u8(struct wire_writer *w, uint8_t v)
{
    put_le(w, v, 1);
}

void writer_u32(struct wire_writer *w, uint32_t v)
{
    put_le(w, v, 4);
}

void writer_u64(struct wire_writer *w, uint64_t v)
{
    put_le(w, v, 8);
}

void writer_varint(struct wire_writer *w, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; v > 0x7f; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    writer_bytes(w, bytes, n);
}

void writer_signed(struct wire_writer *w, int64_t v)
{
    writer_varint(w, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void writer_string(struct wire_writer *w, const char *s)
{
    size_t n = strlen(s);
    writer_varint(w, n);
    writer_bytes(w, s, n);
}

void writer_floats(struct wire_writer *w, const float *v, size_t n)
{
    writer_varint(w, n);
    writer_bytes(w, v, n * sizeof *v);
}

void writer_ids(struct wire_writer *w, const int64_t *v, size_t n)
{
    writer_varint(w, n);
    writer_bytes(w, v, n * sizeof *v);
}

void writer_error(struct wire_writer *w, const struct skiff_error *e)
{
    writer_signed(w, e->code);
    writer_signed(w, e->sys_errno);
    writer_string(w, e->origin);
    writer_string(w, e->message);
}

static void release_bytes(struct blob *b)
{
    mem_free(b->owner);
    free(b);
}

enum skiff_status writer_finish(struct wire_writer *w, struct blob **out, struct skiff_error *err)
{
    if (w->failed) {
        size_t len = w->len;
        writer_deinit(w);
        return error_set(err, SKIFF_NOMEM, "message: no memory for more than %zu bytes", len);
    }
    *out = blob_wrap(w->data, w->len, release_bytes, w->data);
    writer_init(w);
    return SKIFF_OK;
}

/* ---- reader ---- */

void reader_init(struct wire_reader *r, const void *data, size_t len)
{
    *r = (struct wire_reader){.data = data, .len = len};
}

void reader_init_block(struct wire_reader *r, const struct blob *b)
{
    reader_init(r, b ? b->data : NULL, blob_len(b));
}

static void reader_fail(struct wire_reader *r, const char *fault)
{
    if (!r->fault) {
        r->fault = fault;
        r->fault_at = r->pos;
    }
}

const uint8_t *reader_bytes(struct wire_reader *r, size_t n)
{
    static const uint8_t none[1];
    if (r->fault || n > r->len - r->pos) {
        reader_fail(r, "the message ends in the middle of a value");
        return NULL;
    }
    r->pos += n;
    return r->data ? r->data + r->pos - n : none;
}

static uint64_t get_le(struct wire_reader *r, size_t bytes)
{
    uint64_t v = 0;
    const uint8_t *p = reader_bytes(r, bytes);
    if (p)
        memcpy(&v, p, bytes);
    return v;
}

uint8_t reader_u8(struct wire_reader *r)
{
    return (uint8_t)get_le(r, 1);
}

uint32_t reader_u32(struct wire_reader *r)
{
    return (uint32_t)get_le(r, 4);
}

uint64_t reader_u64(struct wire_reader *r)
{
    return get_le(r, 8);
}

uint64_t reader_varint(struct wire_reader *r)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = reader_u8(r);
        if (r->fault)
            return 0;
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte <= 0x7f)
            return v;
    }
    reader_fail(r, "a number is longer than 64 bits");
    return 0;
}

int64_t reader_signed(struct wire_reader *r)
{
    uint64_t v = reader_varint(r);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

size_t reader_count(struct wire_reader *r, size_t each)
{
    uint64_t n = reader_varint(r);
    if (!r->fault && n > (r->len - r->pos) / (each ? each : 1))
        reader_fail(r, "a count is larger than the message");
    return r->fault ? 0 : (size_t)n;
}

void reader_string(struct wire_reader *r, char *out, size_t capacity)
{
    size_t n = reader_count(r, 1);
    const uint8_t *p = reader_bytes(r, n);
    *out = 0;
    if (!p)
        return;
    if (n >= capacity || memchr(p, 0, n)) {
        reader_fail(r, n >= capacity ? "a string is too long" : "a string holds a zero byte");
        return;
    }
    memcpy(out, p, n);
    out[n] = 0;
}

void reader_name(struct wire_reader *r, char *out, size_t capacity)
{
    reader_string(r, out, capacity);
    for (; *out; out++)
        if (*out < ' ' || *out > '~')
            *out = '?';
}

static const uint8_t *get_array(struct wire_reader *r, size_t each, size_t *out_n)
{
    size_t n = reader_count(r, each);
    const uint8_t *p = reader_bytes(r, n * each);
    *out_n = p ? n : 0;
    return p;
}

const uint8_t *reader_floats(struct wire_reader *r, size_t *out_n)
{
    return get_array(r, sizeof(float), out_n);
}

const uint8_t *reader_ids(struct wire_reader *r, size_t *out_n)
{
    return get_array(r, sizeof(int64_t), out_n);
}

/* A code that this version does not know is still a failure. */
static enum skiff_status known_code(int64_t code)
{
    switch (code) {
#define STATUS_CASE(name, value, text) case value:
        SKIFF_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
        return (enum skiff_status)code;
    default:
        return SKIFF_INTERNAL;
    }
}

void reader_error(struct wire_reader *r, struct skiff_error *out)
{
    struct skiff_error e = {.code = known_code(reader_signed(r))};
    e.sys_errno = (int)reader_signed(r);
    reader_name(r, e.origin, sizeof e.origin);
    reader_string(r, e.message, sizeof e.message);
    *out = e;
}

enum skiff_status reader_end(const struct wire_reader *r, const char *what, struct skiff_error *err)
{
    if (r->fault)
        return error_set(err, SKIFF_FORMAT, "%s: %s (byte %zu of %zu)", what, r->fault, r->fault_at,
                         r->len);
    if (r->pos != r->len)
        return error_set(err, SKIFF_FORMAT, "%s: %zu bytes left over after byte %zu", what,
                         r->len - r->pos, r->pos);
    return SKIFF_OK;
}
