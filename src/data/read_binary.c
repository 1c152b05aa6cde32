/* Skiff's own binary form (binary.h). The file's slots must be those of the schema, in its order.
 *
 * A block is checked by its checksum before a row of it is used; rows are then read from where they
 * lie in the source's buffer. A file without its end block was not finished and is an error at its
 * end, after the rows that are there. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/binary.h"
#include "data/reader.h"
#include "data/record.h"

extern const struct reader_class read_binary;

struct reader_binary {
    struct reader base;
    const char *at, *end; /* what is left of the block, inside the source's buffer */
    uint32_t left;        /* rows of it */
    uint64_t rows;        /* read so far */
    bool ended;           /* the end block was seen */
};

static enum skiff_status binary_create(const struct reader_config *config,
                                       const struct schema *schema, struct reader **out,
                                       struct skiff_error *err)
{
    struct reader_binary *r = mem_alloc_or_die(sizeof *r);
    r->base = (struct reader){&read_binary, schema};
    *out = &r->base;
    return SKIFF_OK;
}

static void binary_destroy(struct reader *r)
{
    free(r);
}

static uint32_t u32_at(const char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static uint64_t u64_at(const char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* A piece that must be there. */
static enum skiff_status read_or_fail(struct source *s, size_t n, const char **p, const char *what,
                                      struct skiff_error *err)
{
    enum skiff_status status = source_bytes(s, n, p, err);
    if (status == SKIFF_END)
        return error_set(err, SKIFF_FORMAT, "the file ends before %s", what);
    return status;
}

static enum skiff_status check_schema(const struct reader_binary *r, const char *text, size_t n,
                                      struct skiff_error *err)
{
    struct buf want = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    binary_schema_text(r->base.schema, &want);
    if (want.len != n || memcmp(want.data, text, n) != 0)
        status = error_set(err, SKIFF_FORMAT,
                           "the file holds other slots: expected\n%.300s\nfound\n%.*s", want.data,
                           (int)(n < 300 ? n : 300), text);
    buf_deinit(&want);
    return status;
}

static enum skiff_status binary_begin(struct reader *base, struct source *s,
                                      struct skiff_error *err)
{
    struct reader_binary *r = (struct reader_binary *)base;
    const char *p;
    s->max_line = BINARY_PAYLOAD_MAX;
    *r = (struct reader_binary){.base = r->base};
    TRY(read_or_fail(s, BINARY_HEADER, &p, "its header", err));
    if (memcmp(p, BINARY_MAGIC, 8) != 0)
        return error_set(err, SKIFF_FORMAT, "not a file of binary samples: it must begin with %s",
                         BINARY_MAGIC);
    if (u32_at(p + 8) != BINARY_VERSION)
        return error_set(err, SKIFF_FORMAT, "version %" PRIu32 " of binary samples; %d can be read",
                         u32_at(p + 8), BINARY_VERSION);
    char head[BINARY_HEADER];
    memcpy(head, p, sizeof head);
    size_t n = u32_at(p + 12);
    if (n > BINARY_SCHEMA_MAX)
        return error_set(err, SKIFF_FORMAT, "a schema of %zu bytes: at most %zu are read", n,
                         BINARY_SCHEMA_MAX);
    TRY(read_or_fail(s, n + 8, &p, "the end of its header", err));
    struct buf whole = BUF_INIT;
    buf_add(&whole, head, sizeof head);
    buf_add(&whole, p, n);
    uint64_t sum = hash_xxh64(whole.data, whole.len, 0);
    buf_deinit(&whole);
    if (sum != u64_at(p + n))
        return error_set(err, SKIFF_FORMAT, "the header is damaged: its checksum does not fit");
    return check_schema(r, p, n, err);
}

/* Reads the next block, or sets ended. */
static enum skiff_status next_block(struct reader_binary *r, struct source *s,
                                    struct skiff_error *err)
{
    const char *p;
    TRY(read_or_fail(s, BINARY_BLOCK_HEADER, &p, "its end block: it was not finished", err));
    uint32_t rows = u32_at(p + 4), bytes = u32_at(p + 8);
    uint64_t sum = u64_at(p + 16);
    if (memcmp(p, BINARY_BLOCK_MAGIC, 4) != 0 || bytes > BINARY_PAYLOAD_MAX || u32_at(p + 12) != 0)
        return error_set(err, SKIFF_FORMAT, "damaged behind row %" PRIu64 ": no block begins there",
                         r->rows);
    TRY(read_or_fail(s, bytes, &p, "the end of a block", err));
    if (hash_xxh64(p, bytes, rows) != sum)
        return error_set(err, SKIFF_FORMAT,
                         "damaged behind row %" PRIu64 ": the checksum does not fit", r->rows);
    if (rows == 0) {
        const char *more;
        if (bytes != 8 || u64_at(p) != r->rows)
            return error_set(err, SKIFF_FORMAT,
                             "the end block does not fit: %" PRIu64 " rows were read", r->rows);
        r->ended = true;
        if (source_bytes(s, 1, &more, NULL) != SKIFF_END)
            return error_set(err, SKIFF_FORMAT, "there are bytes behind the end block");
        return SKIFF_OK;
    }
    r->at = p;
    r->end = p + bytes;
    r->left = rows;
    return SKIFF_OK;
}

static enum skiff_status binary_read(struct reader *base, struct source *s, struct batch *b,
                                     int64_t max_rows, struct skiff_error *err)
{
    struct reader_binary *r = (struct reader_binary *)base;
    while (b->rows < max_rows) {
        if (r->left == 0) {
            if (r->at != r->end)
                return error_set(err, SKIFF_FORMAT, "a block has bytes behind its last row");
            if (!r->ended)
                TRY(next_block(r, s, err));
            if (r->ended)
                return SKIFF_END;
        }
        size_t capacity = (size_t)(r->end - r->at);
        size_t n = capacity < 4 ? 0 : u32_at(r->at);
        if (capacity < 4 || n > capacity - 4)
            return error_set(err, SKIFF_FORMAT, "row %" PRIu64 " goes over the end of its block",
                             r->rows);
        TRY(record_read(r->at + 4, n, b, err));
        r->at += 4 + n;
        r->left--;
        r->rows++;
    }
    return SKIFF_OK;
}

const struct reader_class read_binary = {
    .name = "binary",
    .summary = "Skiff's own binary samples",
    .create = binary_create,
    .destroy = binary_destroy,
    .begin = binary_begin,
    .read = binary_read,
};
