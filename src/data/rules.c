/* Checking values against rules (rules.h).
 *
 * Nearly all rows are valid. So a column is first checked without branches: a bit is collected
 * that is set when any value breaks the rule. Only then does a second, slow pass find the value
 * and its row, and word the error. */
#include "data/rules.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/slot_columns.h"

const char *bad_kind_text(enum bad_kind kind)
{
    static const char *const texts[BAD_KINDS] = {[BAD_FORM] = "line that cannot be read",
                                                 [BAD_EMPTY_LINE] = "empty line",
                                                 [BAD_NO_LABEL] = "row without label",
                                                 [BAD_NAME] = "misspelt slot name",
                                                 [BAD_LABEL] = "label out of range",
                                                 [BAD_NUMBER] = "nan or inf",
                                                 [BAD_ID] = "id out of range"};
    return texts[kind];
}

void rules_init(struct data_rules *r, int count)
{
    *r = (struct data_rules){mem_alloc_or_die((size_t)count * sizeof *r->slots + 1), count};
}

void rules_deinit(struct data_rules *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->slots[i].why);
    free(r->slots);
    *r = (struct data_rules){0};
}

void rules_copy(struct data_rules *to, const struct data_rules *from)
{
    rules_init(to, from->count);
    for (int i = 0; i < from->count; i++) {
        to->slots[i] = from->slots[i];
        if (from->slots[i].why)
            to->slots[i].why = mem_strdup_or_die(from->slots[i].why);
    }
}

void rules_limit(struct data_rules *r, int slot, int64_t limit, const char *why)
{
    struct slot_rule *s = &r->slots[slot];
    if (limit < 1 || (s->limit && s->limit <= limit))
        return;
    free(s->why);
    s->limit = limit;
    s->why = why ? mem_strdup_or_die(why) : NULL;
}

/* ---- finding ---- */

/* Where the values of rows from .. to - 1 lie in the column. */
static void values_of(const struct column *c, int64_t from, int64_t to, size_t *first, size_t *end)
{
    *first = c->ragged ? (size_t)c->offsets[from] : (size_t)from * c->width;
    *end = c->ragged ? (size_t)c->offsets[to] : (size_t)to * c->width;
}

/* A sign bit is left when a value is negative or above limit - 1. */
static bool ids_hold(const int64_t *v, size_t n, int64_t limit)
{
    uint64_t seen = 0, most = (uint64_t)limit - 1;
    for (size_t i = 0; i < n; i++)
        seen |= (uint64_t)v[i] | (most - (uint64_t)v[i]);
    return !(seen >> 63);
}

static bool floats_hold(const float *v, size_t n)
{
    uint32_t seen = 0; /* an exponent of all ones carries into the sign bit */
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        seen |= (bits & 0x7fffffffu) + 0x00800000u;
    }
    return !(seen >> 31);
}

static bool range_holds(const float *v, size_t n, float most)
{
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good &= v[i] >= 0 && v[i] <= most;
    return good;
}

static bool has_range(const struct slot_rule *rule)
{
    return rule->label || rule->weight;
}

static float most_of(const struct slot_rule *rule)
{
    return rule->label ? 1 : FLT_MAX;
}

static bool column_holds(const struct slot_rule *rule, const struct column *c, int64_t from,
                         int64_t to)
{
    size_t first, end;
    values_of(c, from, to, &first, &end);
    if (c->dtype == DTYPE_INT64)
        return !rule->limit || ids_hold(c->i64 + first, end - first, rule->limit);
    if (has_range(rule))
        return range_holds(c->f32 + first, end - first, most_of(rule));
    return !rule->finite || floats_hold(c->f32 + first, end - first);
}

static int rule_count(const struct data_rules *r, const struct batch *b)
{
    return r->count < b->schema->count ? r->count : b->schema->count;
}

bool rules_hold(const struct data_rules *r, const struct batch *b, int64_t from)
{
    bool hold = true;
    for (int i = 0; i < rule_count(r, b) && from < b->rows; i++)
        hold &= column_holds(&r->slots[i], &b->columns[i], from, b->rows);
    return hold;
}

/* One value: the same questions as above, and the exception. */
static bool value_holds(const struct slot_rule *rule, const struct column *c, size_t at)
{
    if (c->dtype == DTYPE_INT64)
        return !rule->limit || (uint64_t)c->i64[at] < (uint64_t)rule->limit ||
               (rule->has_also && c->i64[at] == rule->also);
    if (has_range(rule))
        return range_holds(c->f32 + at, 1, most_of(rule));
    return !rule->finite || isfinite(c->f32[at]);
}

bool rules_breach(const struct data_rules *r, const struct batch *b, int64_t row,
                  struct breach *out)
{
    for (int i = 0; i < rule_count(r, b); i++) {
        const struct slot_rule *rule = &r->slots[i];
        const struct column *c = &b->columns[i];
        size_t at, end;
        for (values_of(c, row, row + 1, &at, &end); at < end; at++) {
            if (value_holds(rule, c, at))
                continue;
            *out = (struct breach){rule->label               ? BAD_LABEL
                                   : c->dtype == DTYPE_INT64 ? BAD_ID
                                                             : BAD_NUMBER,
                                   i, at};
            return true;
        }
    }
    return false;
}

/* ---- wording ---- */

static void expected_text(const struct slot_rule *rule, enum bad_kind kind, enum dtype dtype,
                          char *out, size_t capacity)
{
    const char *because = rule->why ? " (" : "", *why = rule->why ? rule->why : "";
    const char *end = rule->why ? ")" : "";
    if (rule->weight)
        snprintf(out, capacity, "a weight, a number of at least 0");
    else if (kind == BAD_NUMBER)
        snprintf(out, capacity, "a number, not nan or inf");
    else if (kind == BAD_LABEL && dtype == DTYPE_FP32)
        snprintf(out, capacity, "a number from 0 to 1%s%s%s", because, why, end);
    else if (kind == BAD_LABEL && rule->limit == 2)
        snprintf(out, capacity, "0 or 1%s%s%s", because, why, end);
    else
        snprintf(out, capacity, "%s from 0 to %" PRId64 "%s%s%s",
                 kind == BAD_LABEL ? "a class" : "an id", rule->limit - 1, because, why, end);
}

enum skiff_status rules_word(const struct data_rules *r, const struct batch *b,
                             const struct breach *breach, const char *found,
                             struct skiff_error *err)
{
    const struct column *c = &b->columns[breach->slot];
    char expected[400], value[64], place[2 * SLOT_TITLE_MAX];
    expected_text(&r->slots[breach->slot], breach->kind, c->dtype, expected, sizeof expected);
    if (c->dtype == DTYPE_INT64)
        snprintf(value, sizeof value, "%" PRId64, c->i64[breach->at]);
    else if (isnan(c->f32[breach->at]))
        snprintf(value, sizeof value, "nan");
    else
        snprintf(value, sizeof value, "%.9g", (double)c->f32[breach->at]);
    int64_t at = c->ragged ? -1 : (int64_t)(breach->at % c->width);
    return error_set(err, SKIFF_RANGE, "%s: expected %s, found %s",
                     slot_place(b->schema, breach->slot, at, place), expected,
                     found ? found : value);
}
