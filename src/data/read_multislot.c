/* Paddle's MultiSlot text: for each slot of the schema, in order, `<count> <value> ...`.
 *
 *   2 5 6 3 0.1 0.2 0.3 1 1
 *
 * Blanks, tabs and CR may stand in any number around values; what follows the last slot is ignored,
 * as in Paddle. Ids are taken as strtoull takes them: negative ones wrap, 2^64 and above give
 * 2^64-1. A count of 0, a missing slot, a blank line, a value that is not a number are bad lines;
 * so is a dense slot of another width (Paddle cuts the batch anew and gets other rows).
 *
 * With skip_label a line may lack the label's group. Groups have no names: a line is taken to have
 * all, and when that fails, and the line without the label ends exactly where it should, to lack
 * it. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/reader.h"
#include "data/text.h"

extern const struct reader_class read_multislot;

struct reader_multislot {
    struct reader base;
    int skip;        /* leading groups `1 <text>`: ins_id, content, log key */
    int keep_ins_id; /* 1: the last slot is the hash of the first of them */
    bool has_id;     /* the first of them is the row's id */
    int label;       /* slot that lines may lack, or -1 */
    bool lacks;      /* the line before did */
};

static enum skiff_status multislot_create(const struct reader_config *config,
                                          const struct schema *schema, struct reader **out,
                                          struct skiff_error *err)
{
    struct reader_multislot *r = mem_alloc_or_die(sizeof *r);
    r->base = (struct reader){&read_multislot, schema};
    r->skip = config->parse_ins_id + config->parse_content + config->parse_logkey;
    r->keep_ins_id = config->parse_ins_id && config->keep_ins_id;
    r->has_id = config->parse_ins_id;
    r->label = config->skip_label ? schema_label(schema) : -1;
    *out = &r->base;
    return SKIFF_OK;
}

static void multislot_destroy(struct reader *r)
{
    free(r);
}

static inline bool at_gap(const char *p, const char *end)
{
    return *p == ' ' || p >= end || text_blank(*p);
}

/* To the next value; one blank is the usual case. */
static inline const char *skip_gap(const char *p, const char *end)
{
    if (__builtin_expect(*p == ' ' && p < end && p[1] > ' ', 1))
        return p + 1;
    return text_skip_blanks(p, end);
}

static enum skiff_status bad_count(const struct reader *r, int slot, const char *p, const char *end,
                                   struct skiff_error *err)
{
    const char *stop = text_token_end(p, end);
    if (p == end)
        return error_set(err, SKIFF_FORMAT,
                         "slot \"%s\" (%d of %d): expected the number of its values, found the end "
                         "of the line; a slot without values must be padded by the generator",
                         r->schema->slots[slot].name, slot + 1, r->schema->count);
    return reader_bad(r->schema, slot, -1, "the number of its values (1 or more)", p,
                      (size_t)(stop - p), err);
}

static enum skiff_status bad_value(const struct reader *r, int slot, const char *p, const char *end,
                                   uint64_t at, uint64_t count, struct skiff_error *err)
{
    const struct slot *s = &r->schema->slots[slot];
    char expected[96];
    if (p >= end)
        return error_set(err, SKIFF_FORMAT,
                         "slot \"%s\" (%d of %d): expected %" PRIu64 " values, found %" PRIu64,
                         s->name, slot + 1, r->schema->count, count, at);
    snprintf(expected, sizeof expected, "%s as value %" PRIu64 " of %" PRIu64,
             s->dtype == DTYPE_FP32 ? "a number" : "a whole number", at + 1, count);
    return reader_bad(r->schema, slot, -1, expected, p, (size_t)(text_token_end(p, end) - p), err);
}

static enum skiff_status bad_width(const struct reader *r, int slot, uint64_t count,
                                   struct skiff_error *err)
{
    const struct slot *s = &r->schema->slots[slot];
    return error_set(err, SKIFF_FORMAT,
                     "slot \"%s\" (%d of %d): expected %" PRId64
                     " values (it is dense), found a count of %" PRIu64,
                     s->name, slot + 1, r->schema->count, s->width, count);
}

/* Leading groups: `1 <text>` each. */
static enum skiff_status skip_groups(const struct reader_multislot *r, const char **at,
                                     const char *end, struct batch *b, struct skiff_error *err)
{
    static const char *const names[] = {"first", "second", "third"};
    const char *p = *at;
    for (int i = 0; i < r->skip; i++) {
        p = text_skip_blanks(p, end);
        const char *stop = text_token_end(p, end);
        if (stop - p != 1 || *p != '1' || stop == end)
            return error_set(err, SKIFF_FORMAT,
                             "the line must begin with %d groups `1 <text>` (ins_id, content, log "
                             "key); the %s one is missing",
                             r->skip, names[i]);
        p = text_skip_blanks(stop, end);
        stop = text_token_end(p, end);
        if (i == 0 && r->has_id)
            batch_row_id(b, p, (size_t)(stop - p));
        if (i == 0 && r->keep_ins_id)
            *batch_dense_i64(b, r->base.schema->count - 1) =
                (int64_t)hash_xxh64(p, (size_t)(stop - p), 0);
        p = stop;
    }
    *at = p;
    return SKIFF_OK;
}

static inline const char *read_ids(const char *p, const char *end, uint64_t count, int64_t *out,
                                   uint64_t *done)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t v;
        bool over = false;
        p = skip_gap(p, end);
        const char *stop = text_u64(p, &v, &over);
        if (__builtin_expect(stop == p, 0))
            stop = text_id(p, &v);
        if (stop == p || !at_gap(stop, end) || p >= end) {
            *done = i;
            return p;
        }
        out[i] = (int64_t)v;
        p = stop;
    }
    *done = count;
    return p;
}

static inline const char *read_floats(const char *p, const char *end, uint64_t count, float *out,
                                      uint64_t *done)
{
    for (uint64_t i = 0; i < count; i++) {
        p = skip_gap(p, end);
        const char *stop = text_f32(p, &out[i]);
        if (stop == p || !at_gap(stop, end) || p >= end) {
            *done = i;
            return p;
        }
        p = stop;
    }
    *done = count;
    return p;
}

static inline enum skiff_status read_slot(struct reader *r, int slot, const char **at,
                                          const char *end, struct batch *b, struct skiff_error *err)
{
    struct column *c = &b->columns[slot];
    const char *p = skip_gap(*at, end);
    uint64_t count = 0, done;
    bool over = false;
    const char *stop = text_u64(p, &count, &over);
    if (__builtin_expect(stop == p && *p == '+', 0))
        stop = text_u64(p + 1, &count, &over);
    if (__builtin_expect(p >= end || count == 0 || over || count > INT_MAX || !at_gap(stop, end),
                         0))
        return bad_count(r, slot, p, end, err);
    p = stop;
    size_t at_value;
    if (c->ragged) {
        /* a value takes two bytes at least: a count that cannot be true costs no memory */
        if (__builtin_expect(count > (uint64_t)(end - p) / 2 + 1, 0))
            return error_set(err, SKIFF_FORMAT,
                             "slot \"%s\" (%d of %d): expected %" PRIu64
                             " values, but the line ends before",
                             r->schema->slots[slot].name, slot + 1, r->schema->count, count);
        if (!column_reserve(c, count))
            return reader_no_memory(r->schema, slot, err);
        at_value = c->count;
    } else {
        if (__builtin_expect(count != c->width, 0))
            return bad_width(r, slot, count, err);
        at_value = (size_t)b->rows * c->width;
    }
    if (c->dtype == DTYPE_INT64)
        p = read_ids(p, end, count, c->i64 + at_value, &done);
    else
        p = read_floats(p, end, count, c->f32 + at_value, &done);
    if (__builtin_expect(done != count, 0))
        return bad_value(r, slot, p, end, done, count, err);
    if (c->ragged)
        c->count += count;
    *at = p;
    return SKIFF_OK;
}

/* The slots of a line that may lack the label; `lacks`: it does, and ends behind the last slot. */
static enum skiff_status read_slots(struct reader_multislot *r, bool lacks, const char *p,
                                    const char *end, struct batch *b, struct skiff_error *err)
{
    int count = r->base.schema->count - r->keep_ins_id;
    for (int slot = 0; slot < count; slot++)
        if (slot != r->label || !lacks)
            TRY(read_slot(&r->base, slot, &p, end, b, err));
    if (lacks && text_skip_blanks(p, end) != end)
        return error_set(err, SKIFF_FORMAT, "expected the end of the line behind its last slot");
    return SKIFF_OK;
}

/* Tries first what the line before was; a failure is reported as one of such a line. */
static enum skiff_status read_either(struct reader_multislot *r, const char *p, const char *end,
                                     struct batch *b, struct skiff_error *err)
{
    struct column *label = &b->columns[r->label];
    struct skiff_error why[2];
    bool lacks = r->lacks;
    enum skiff_status status = read_slots(r, lacks, p, end, b, &why[lacks]);
    if (status < 0) {
        batch_row_empty(b);
        lacks = !lacks;
        status = read_slots(r, lacks, p, end, b, &why[lacks]);
    }
    if (status < 0) {
        batch_row_abort(b);
        if (err)
            *err = why[r->lacks];
        return why[r->lacks].code;
    }
    r->lacks = lacks;
    if (!label->ragged)
        memset((char *)label->data + (size_t)b->rows * label->width * dtype_size(label->dtype), 0,
               label->width * dtype_size(label->dtype));
    return batch_row_end(b, err);
}

static enum skiff_status multislot_line(struct reader *base, const char *text, size_t n,
                                        struct batch *b, struct skiff_error *err)
{
    struct reader_multislot *r = (struct reader_multislot *)base;
    const char *p = text, *end = text + n;
    if (r->skip)
        TRY(skip_groups(r, &p, end, b, err));
    if (r->label >= 0)
        return read_either(r, p, end, b, err);
    int count = base->schema->count - r->keep_ins_id;
    for (int slot = 0; slot < count; slot++) {
        enum skiff_status status = read_slot(base, slot, &p, end, b, err);
        if (status < 0) {
            batch_row_abort(b);
            return status;
        }
    }
    return batch_row_end(b, err);
}

const struct reader_class read_multislot = {
    .name = "multislot",
    .summary = "Paddle's MultiSlot text: <count> <value> ... for each slot in order",
    .drops_zeros = true,
    .create = multislot_create,
    .destroy = multislot_destroy,
    .line = multislot_line,
};
