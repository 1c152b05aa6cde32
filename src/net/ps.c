/* Bodies of ps.h. An item is
 *   name, dtype (varint), ndim (u8), dims (signed varints), 1 or 0 (u8): has rows,
 *   [ids: a count and int64s], length of the data (varint), the data
 * A reader returns only consistent items: dims of at most `bytes` elements, as many ids as rows.
 * The size of an element is up to the tensor module. */
#include "net/ps.h"

#include <stdlib.h>
#include <string.h>

/* items of a message: bounds the allocation that a small body can cause */
#define PS_LIST_MAX 65536u
#define PS_ITEM_LEAST 5u /* bytes of the shortest item: empty name, no dims, no data */

/* ---- which shard ---- */

/* Skips the parts of a name that mark a gradient, a delta or a trainer's part of a variable, so
 * that all of them belong to the variable's shard. */
static size_t name_skip(const char *p)
{
    static const char *const marks[] = {"@GRAD", ".delta"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(p, marks[i], strlen(marks[i])) == 0)
            return strlen(marks[i]);
    if (strncmp(p, ".trainer_", 9) == 0)
        return 9 + strspn(p + 9, "0123456789");
    return 0;
}

int ps_shard(const char *name, int shards)
{
    if (shards < 2)
        return 0;
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (const char *p = name; *p;) {
        size_t skip = name_skip(p);
        p += skip;
        if (!skip)
            h = (h ^ (unsigned char)*p++) * UINT64_C(0x100000001b3);
    }
    return (int)((h ^ h >> 32) % (unsigned)shards);
}

/* ---- items ---- */

void *ps_write_item_space(struct wire_writer *w, const struct ps_item *item)
{
    size_t ids = item->has_rows ? (size_t)item->nrows * 8 : 0;
    writer_reserve(w, PS_NAME + 128 + ids + item->bytes);
    writer_string(w, item->name);
    writer_varint(w, item->dtype);
    writer_u8(w, (uint8_t)item->ndim);
    for (int i = 0; i < item->ndim; i++)
        writer_signed(w, item->dims[i]);
    writer_u8(w, item->has_rows);
    if (item->has_rows) {
        writer_varint(w, (uint64_t)item->nrows);
        writer_bytes(w, item->rows, ids);
    }
    writer_varint(w, item->bytes);
    return writer_space(w, item->bytes);
}

static void pick_rows(char *to, const struct ps_item *item)
{
    size_t n = (size_t)item->nrows, row = item->bytes / n;
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * row, item->data + item->pick[i] * row, row);
}

void ps_write_item(struct wire_writer *w, const struct ps_item *item)
{
    void *at = ps_write_item_space(w, item);
    if (at && item->bytes && item->pick)
        pick_rows(at, item);
    else if (at && item->bytes)
        memcpy(at, item->data, item->bytes);
}

static void item_fault(struct wire_reader *r, const char *fault)
{
    if (!r->fault) {
        r->fault = fault;
        r->fault_at = r->pos;
    }
}

static uint32_t read_u32_varint(struct wire_reader *r)
{
    uint64_t v = reader_varint(r);
    if (v > UINT32_MAX)
        item_fault(r, "a number is longer than 32 bits");
    return r->fault ? 0 : (uint32_t)v;
}

/* Elements of the item's shape, or -1: negative, or more than `limit`. */
static int64_t item_elements(const struct ps_item *item, size_t limit)
{
    int64_t n = 1;
    for (int i = 0; i < item->ndim; i++) {
        if (item->dims[i] < 0 || __builtin_mul_overflow(n, item->dims[i], &n))
            return -1;
    }
    return (uint64_t)n > limit ? -1 : n;
}

static void read_item(struct wire_reader *r, struct ps_item *item)
{
    memset(item, 0, sizeof *item);
    reader_name(r, item->name, sizeof item->name);
    item->dtype = read_u32_varint(r);
    item->ndim = reader_u8(r);
    if (item->ndim > (int)(sizeof item->dims / sizeof *item->dims)) {
        item_fault(r, "a shape has too many dimensions");
        item->ndim = 0;
    }
    for (int i = 0; i < item->ndim; i++)
        item->dims[i] = reader_signed(r);
    uint8_t has_rows = reader_u8(r);
    if (has_rows > 1)
        item_fault(r, "neither rows nor a tensor");
    item->has_rows = has_rows == 1;
    if (item->has_rows) {
        size_t n;
        item->rows = reader_ids(r, &n);
        item->nrows = (int64_t)n;
    }
    item->bytes = reader_count(r, 1);
    item->data = reader_bytes(r, item->bytes);
    if (!r->fault && item_elements(item, item->bytes) < 0)
        item_fault(r, "a shape does not fit its data");
    if (!r->fault && item->has_rows && (item->ndim < 1 || item->dims[0] != item->nrows))
        item_fault(r, "the number of ids differs from the number of rows");
    if (r->fault)
        memset(item, 0, sizeof *item);
}

static size_t read_count(struct wire_reader *r, size_t each)
{
    size_t n = reader_count(r, each);
    if (n > PS_LIST_MAX)
        item_fault(r, "too many items in one message");
    return r->fault ? 0 : n;
}

static struct ps_item *read_list(struct wire_reader *r, uint32_t *out_n)
{
    size_t n = read_count(r, PS_ITEM_LEAST);
    struct ps_item *items = n ? calloc(n, sizeof *items) : NULL;
    if (n && !items)
        item_fault(r, "no memory for its items");
    for (size_t i = 0; i < n && !r->fault; i++)
        read_item(r, &items[i]);
    *out_n = r->fault ? 0 : (uint32_t)n;
    return items;
}

void ps_write_items(struct wire_writer *w, const struct ps_item *items, uint32_t n)
{
    writer_varint(w, n);
    for (uint32_t i = 0; i < n; i++)
        ps_write_item(w, &items[i]);
}

enum skiff_status ps_read_items(const struct blob *b, struct ps_item **out, uint32_t *out_n,
                                struct skiff_error *err)
{
    struct wire_reader r;
    uint32_t n;
    reader_init_block(&r, b);
    struct ps_item *items = read_list(&r, &n);
    enum skiff_status status = reader_end(&r, "a server's values", err);
    if (status < 0) {
        free(items);
        return status;
    }
    *out = items;
    *out_n = n;
    return SKIFF_OK;
}

/* ---- small bodies ---- */

void ps_write_pull_rows(struct wire_writer *w, uint32_t number, uint32_t trainer, uint64_t after,
                        const int64_t *ids, size_t n)
{
    writer_reserve(w, 48 + n * sizeof *ids);
    writer_varint(w, number);
    writer_varint(w, trainer);
    writer_varint(w, after);
    writer_ids(w, ids, n);
}

enum skiff_status ps_read_pull_rows(const struct blob *b, struct ps_pull_rows *out,
                                    struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_pull_rows p = {0};
    reader_init_block(&r, b);
    p.number = read_u32_varint(&r);
    p.trainer = read_u32_varint(&r);
    p.after = reader_varint(&r);
    p.ids = reader_ids(&r, &p.n);
    enum skiff_status status = reader_end(&r, "a pull of rows", err);
    if (status == SKIFF_OK)
        *out = p;
    return status;
}

void ps_write_range(struct wire_writer *w, const char *name, uint64_t a, uint64_t b)
{
    writer_string(w, name);
    writer_varint(w, a);
    writer_varint(w, b);
}

enum skiff_status ps_read_range(const struct blob *blk, char name[static PS_NAME], uint64_t *a,
                                uint64_t *b, struct skiff_error *err)
{
    struct wire_reader r;
    char text[PS_NAME];
    reader_init_block(&r, blk);
    reader_name(&r, text, sizeof text);
    uint64_t first = reader_varint(&r), second = reader_varint(&r);
    enum skiff_status status = reader_end(&r, "a request for a part of a variable", err);
    if (status < 0)
        return status;
    memcpy(name, text, sizeof text);
    *a = first;
    *b = second;
    return SKIFF_OK;
}

void ps_write_scan(struct wire_writer *w, const struct ps_item *item, uint64_t next)
{
    writer_varint(w, next);
    ps_write_item(w, item);
}

enum skiff_status ps_read_scan(const struct blob *b, struct ps_item *out, uint64_t *out_next,
                               struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_item item;
    reader_init_block(&r, b);
    uint64_t next = reader_varint(&r);
    read_item(&r, &item);
    if (!r.fault && !item.has_rows)
        item_fault(&r, "rows without ids");
    enum skiff_status status = reader_end(&r, "rows of a table", err);
    if (status < 0)
        return status;
    *out = item;
    *out_next = next;
    return SKIFF_OK;
}

void ps_write_put(struct wire_writer *w, const struct ps_put *x)
{
    writer_u64(w, x->token);
    writer_varint(w, x->first);
    ps_write_item(w, &x->item);
}

enum skiff_status ps_read_put(const struct blob *b, struct ps_put *out, struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_put x;
    reader_init_block(&r, b);
    x.token = reader_u64(&r);
    x.first = reader_varint(&r);
    read_item(&r, &x.item);
    if (!r.fault && x.item.has_rows)
        item_fault(&r, "rows instead of elements");
    enum skiff_status status = reader_end(&r, "values for a variable", err);
    if (status == SKIFF_OK)
        *out = x;
    return status;
}

void ps_write_save_table(struct wire_writer *w, const struct ps_save_table *s)
{
    writer_string(w, s->table);
    writer_string(w, s->dir);
}

enum skiff_status ps_read_save_table(const struct blob *b, struct ps_save_table *out,
                                     struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_save_table s;
    reader_init_block(&r, b);
    reader_name(&r, s.table, sizeof s.table);
    reader_string(&r, s.dir, sizeof s.dir);
    enum skiff_status status = reader_end(&r, "a request to save a table", err);
    if (status == SKIFF_OK)
        *out = s;
    return status;
}

void ps_write_describe(struct wire_writer *w, const struct ps_describe *d)
{
    writer_varint(w, d->server);
    writer_varint(w, d->servers);
    writer_varint(w, d->trainers);
    writer_varint(w, d->mode);
    writer_varint(w, d->shards);
    writer_u64(w, d->program_hash);
}

enum skiff_status ps_read_describe(const struct blob *b, struct ps_describe *out,
                                   struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_describe d;
    reader_init_block(&r, b);
    d.server = read_u32_varint(&r);
    d.servers = read_u32_varint(&r);
    d.trainers = read_u32_varint(&r);
    d.mode = read_u32_varint(&r);
    d.shards = read_u32_varint(&r);
    d.program_hash = reader_u64(&r);
    if (!r.fault &&
        (d.shards < 1 || d.shards > 4096 || d.server >= d.servers || !mode_is_known(d.mode)))
        item_fault(&r, "numbers outside the limits of a server");
    enum skiff_status status = reader_end(&r, "a server's description", err);
    if (status == SKIFF_OK)
        *out = d;
    return status;
}

void ps_write_reduce(struct wire_writer *w, const struct ps_reduce *r)
{
    writer_reserve(w, PS_NAME + 64 + r->n * 8);
    writer_string(w, r->tag);
    writer_string(w, r->op);
    writer_varint(w, r->worker);
    writer_varint(w, r->dtype);
    writer_varint(w, r->n);
    writer_bytes(w, r->data, r->n * 8);
}

enum skiff_status ps_read_reduce(const struct blob *b, struct ps_reduce *out,
                                 struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_reduce x;
    reader_init_block(&r, b);
    reader_name(&r, x.tag, sizeof x.tag);
    reader_name(&r, x.op, sizeof x.op);
    x.worker = read_u32_varint(&r);
    x.dtype = read_u32_varint(&r);
    x.data = reader_ids(&r, &x.n);
    if (!r.fault && strcmp(x.op, "sum") && strcmp(x.op, "max") && strcmp(x.op, "min"))
        item_fault(&r, "an operation that is not sum, max or min");
    enum skiff_status status = reader_end(&r, "a reduction", err);
    if (status == SKIFF_OK)
        *out = x;
    return status;
}

void ps_write_message(struct wire_writer *w, const struct ps_message *m)
{
    writer_reserve(w, PS_NAME + 64 + m->bytes);
    writer_string(w, m->tag);
    writer_varint(w, m->from);
    writer_varint(w, m->to);
    writer_varint(w, m->bytes);
    writer_bytes(w, m->data, m->bytes);
}

enum skiff_status ps_read_message(const struct blob *b, struct ps_message *out,
                                  struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_message m;
    reader_init_block(&r, b);
    reader_name(&r, m.tag, sizeof m.tag);
    m.from = read_u32_varint(&r);
    m.to = read_u32_varint(&r);
    m.bytes = reader_count(&r, 1);
    m.data = reader_bytes(&r, m.bytes);
    enum skiff_status status = reader_end(&r, "a message for another worker", err);
    if (status == SKIFF_OK)
        *out = m;
    return status;
}
