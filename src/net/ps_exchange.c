/* Messages of a step (ps.h): what is bound when a session opens, what is pushed, what comes back.
 *
 *   exchange  trainer u32, flags u32, step u64, push u64, acked u64, parts u32, pieces u32,
 *             wanted u32, 0 u32; table; wanted numbers, u32 each; data
 *   values    pieces u32, 0 u32; table; data
 *   table     number u32, rows u32 (DENSE: elements), offset u64, length u64 of each piece
 *
 * Offsets count from the beginning of the body and are multiples of 8. Data lie behind the tables
 * and may have gaps between them, but none after the last. A reader checks the whole table once,
 * and returns it where it lies: nothing is allocated. No state; any thread. */
#include <stdlib.h>
#include <string.h>

#include "net/ps.h"

#define HEADER 48u
#define VALUES_HEADER 8u
#define ENTRY 24u
#define DENSE UINT32_MAX
#define LIST_MAX 65536u /* pieces, wanted numbers */
#define BOUND_MAX (1u << 20)
#define BOUND_LEAST 5u /* bytes of the shortest entry of BIND */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are sent in memory order");

static void fault_unless(struct wire_reader *r, bool good, const char *fault)
{
    if (good || r->fault)
        return;
    r->fault = fault;
    r->fault_at = r->pos;
}

/* ---- pieces ---- */

static uint32_t u32_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t u64_at(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

struct ps_piece ps_piece_at(const struct ps_pieces *p, uint32_t i)
{
    const uint8_t *entry = p->table + (size_t)i * ENTRY, *data = p->body + u64_at(entry + 8);
    uint32_t rows = u32_at(entry + 4);
    size_t ids = rows == DENSE ? 0 : (size_t)rows * 8;
    return (struct ps_piece){.number = u32_at(entry),
                             .has_rows = rows != DENSE,
                             .nrows = ids / 8,
                             .rows = data,
                             .data = data + ids,
                             .bytes = (size_t)u64_at(entry + 16) - ids};
}

uint32_t ps_want_at(const struct ps_exchange *x, uint32_t i)
{
    return u32_at(x->want + (size_t)i * 4);
}

static size_t aligned(size_t at)
{
    return (at + PS_ALIGN - 1) / PS_ALIGN * PS_ALIGN;
}

size_t ps_exchange_head(size_t npieces, size_t nwant)
{
    return aligned(HEADER + npieces * ENTRY + nwant * 4);
}

static size_t piece_length(const struct ps_piece *p)
{
    return p->bytes + (p->has_rows ? p->nrows * 8 : 0);
}

/* The end of the data that lie in the message already. */
static size_t placed_end(const struct ps_piece *pieces, uint32_t n)
{
    size_t end = 0;
    for (uint32_t i = 0; i < n; i++)
        if (pieces[i].at && pieces[i].at + pieces[i].bytes > end)
            end = pieces[i].at + pieces[i].bytes;
    return end;
}

/* Writes the table for data that begin at `at`; returns their end. */
static size_t write_table(struct wire_writer *w, size_t at, const struct ps_piece *pieces,
                          uint32_t n)
{
    size_t end = placed_end(pieces, n);
    at = end > at ? aligned(end) : at;
    for (uint32_t i = 0; i < n; i++) {
        const struct ps_piece *p = &pieces[i];
        writer_u32(w, p->number);
        writer_u32(w, p->has_rows ? (uint32_t)p->nrows : DENSE);
        writer_u64(w, p->at ? p->at : at);
        writer_u64(w, piece_length(p));
        if (p->at)
            continue;
        end = at + piece_length(p);
        at = aligned(end);
    }
    return end;
}

static void copy_data(uint8_t *to, const struct ps_piece *p)
{
    if (p->has_rows && p->nrows) {
        memcpy(to, p->rows, p->nrows * 8);
        to += p->nrows * 8;
    }
    if (!p->pick && p->bytes)
        memcpy(to, p->data, p->bytes);
    size_t row = p->pick && p->nrows ? p->bytes / p->nrows : 0;
    for (size_t i = 0; p->pick && i < p->nrows; i++)
        memcpy(to + i * row, p->data + p->pick[i] * row, row);
}

/* Zeros fill the gaps: no byte of our memory is sent by chance. */
static void write_data(struct wire_writer *w, size_t table, const struct ps_piece *pieces,
                       uint32_t n, size_t end)
{
    size_t placed = placed_end(pieces, n), done = w->len > placed ? w->len : placed;
    if (end > w->len)
        writer_space(w, end - w->len);
    for (uint32_t i = 0; i < n && !w->failed; i++) {
        if (pieces[i].at)
            continue;
        size_t at = (size_t)u64_at(w->data + table + (size_t)i * ENTRY + 8);
        memset(w->data + done, 0, at - done);
        copy_data(w->data + at, &pieces[i]);
        done = at + piece_length(&pieces[i]);
    }
}

/* Checks the table that begins at r->pos; data begin behind `nwant` numbers after it. */
static void read_table(struct wire_reader *r, uint32_t n, uint32_t nwant, struct ps_pieces *out)
{
    fault_unless(r, n <= LIST_MAX && nwant <= LIST_MAX, "too many pieces in one message");
    *out = (struct ps_pieces){.n = r->fault ? 0 : n, .body = r->data};
    out->table = reader_bytes(r, r->fault ? 0 : (size_t)n * ENTRY);
    size_t data = r->pos + (size_t)nwant * 4, end = data;
    for (uint32_t i = 0; i < out->n && !r->fault; i++) {
        const uint8_t *entry = out->table + (size_t)i * ENTRY;
        uint64_t at = u64_at(entry + 8), length = u64_at(entry + 16);
        uint32_t rows = u32_at(entry + 4);
        fault_unless(r, at >= data && at <= r->len && length <= r->len - at,
                     "a piece lies outside the message");
        fault_unless(r, at % 8 == 0, "a piece does not begin at a multiple of 8");
        fault_unless(r, rows == DENSE || (uint64_t)rows * 8 <= length,
                     "a piece is too short for its ids");
        end = !r->fault && at + length > end ? (size_t)(at + length) : end;
    }
    fault_unless(r, end == r->len, "the message does not end with its last piece");
}

/* ---- exchange ---- */

void ps_write_exchange(struct wire_writer *w, const struct ps_exchange *x,
                       const struct ps_piece *pieces, uint32_t n)
{
    size_t head = ps_exchange_head(n, x->nwant);
    writer_reserve(w, head);
    writer_u32(w, x->trainer);
    writer_u32(w, x->flags);
    writer_u64(w, x->step);
    writer_u64(w, x->push);
    writer_u64(w, x->acked);
    writer_u32(w, x->parts);
    writer_u32(w, n);
    writer_u32(w, x->nwant);
    writer_u32(w, 0);
    size_t end = write_table(w, head, pieces, n);
    writer_bytes(w, x->want, (size_t)x->nwant * 4);
    write_data(w, HEADER, pieces, n, end);
}

enum skiff_status ps_read_exchange(const struct blob *b, struct ps_exchange *out,
                                   struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_exchange x = {0};
    reader_init_block(&r, b);
    x.trainer = reader_u32(&r);
    x.flags = reader_u32(&r);
    x.step = reader_u64(&r);
    x.push = reader_u64(&r);
    x.acked = reader_u64(&r);
    x.parts = reader_u32(&r);
    uint32_t n = reader_u32(&r);
    x.nwant = reader_u32(&r);
    fault_unless(&r, reader_u32(&r) == 0, "a reserved number is not 0");
    fault_unless(&r, !(x.flags & ~(PS_END_STEP | PS_GONE | PS_BACK)), "unknown flags");
    read_table(&r, n, x.nwant, &x.pieces);
    x.want = reader_bytes(&r, r.fault ? 0 : (size_t)x.nwant * 4);
    if (!r.fault)
        r.pos = r.len; /* read_table has checked the data */
    enum skiff_status status = reader_end(&r, "an exchange", err);
    if (status == SKIFF_OK)
        *out = x;
    return status;
}

void ps_write_values(struct wire_writer *w, const struct ps_piece *pieces, uint32_t n)
{
    size_t head = aligned(VALUES_HEADER + (size_t)n * ENTRY);
    writer_reserve(w, head);
    writer_u32(w, n);
    writer_u32(w, 0);
    size_t end = write_table(w, head, pieces, n);
    write_data(w, VALUES_HEADER, pieces, n, end);
}

enum skiff_status ps_read_values(const struct blob *b, struct ps_pieces *out,
                                 struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_pieces p;
    reader_init_block(&r, b);
    uint32_t n = reader_u32(&r);
    fault_unless(&r, reader_u32(&r) == 0, "a reserved number is not 0");
    read_table(&r, n, 0, &p);
    if (!r.fault)
        r.pos = r.len;
    enum skiff_status status = reader_end(&r, "a server's values", err);
    if (status == SKIFF_OK)
        *out = p;
    return status;
}

/* ---- numbers ---- */

void ps_write_bound(struct wire_writer *w, const struct ps_bound *list, uint32_t n)
{
    writer_varint(w, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct ps_bound *b = &list[i];
        writer_string(w, b->name);
        writer_u8(w, (uint8_t)b->use);
        writer_varint(w, b->shard);
        writer_varint(w, b->dtype);
        writer_u8(w, (uint8_t)b->ndim);
        for (int k = 0; k < b->ndim; k++)
            writer_signed(w, b->dims[k]);
    }
}

static void read_bound(struct wire_reader *r, struct ps_bound *b)
{
    const int64_t most = INT64_C(1) << 48; /* of elements */
    int64_t n = 1;
    reader_name(r, b->name, sizeof b->name);
    b->use = reader_u8(r);
    uint64_t shard = reader_varint(r), dtype = reader_varint(r);
    b->ndim = reader_u8(r);
    fault_unless(r, shard < 4096 && dtype <= UINT32_MAX && b->use && b->use < 16,
                 "a number outside the limits of a server");
    fault_unless(r, b->ndim <= 9, "a shape has too many dimensions");
    b->shard = (uint32_t)shard;
    b->dtype = (uint32_t)dtype;
    for (int k = 0; k < b->ndim && !r->fault; k++) {
        b->dims[k] = reader_signed(r);
        fault_unless(r, b->dims[k] >= (k ? 0 : -1), "a negative dimension");
        fault_unless(r, !__builtin_mul_overflow(n, b->dims[k], &n) && n <= most,
                     "a shape is too large");
    }
}

enum skiff_status ps_read_bound(const struct blob *b, struct ps_bound **out, uint32_t *out_n,
                                struct skiff_error *err)
{
    struct wire_reader r;
    reader_init_block(&r, b);
    size_t n = reader_count(&r, BOUND_LEAST);
    fault_unless(&r, n <= BOUND_MAX, "too many variables");
    struct ps_bound *list = r.fault || !n ? NULL : calloc(n, sizeof *list);
    fault_unless(&r, list || !n, "no memory for its variables");
    for (size_t i = 0; i < n && !r.fault; i++)
        read_bound(&r, &list[i]);
    enum skiff_status status = reader_end(&r, "the numbers of a server's variables", err);
    if (status < 0) {
        free(list);
        return status;
    }
    *out = list;
    *out_n = (uint32_t)n;
    return SKIFF_OK;
}
