/* Lookups in column statistics (columns.h): ids of cells, scaled numbers, and knots from sorted
 * samples.
 *
 * A value's id is found by its XXH64 hash; the knots of a number by binary search. After
 * columns_parse nothing changes, so any number of reader threads may look up values. */
#include "data/columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "data/text.h"

void columns_deinit(struct columns *c)
{
    for (int i = 0; i < c->count; i++) {
        struct column_stats *s = &c->at[i];
        for (int64_t k = 0; k < s->nvalues; k++)
            free(s->values[k].text);
        free(s->values);
        free(s->knots);
        free(s->name);
        id_map_deinit(&s->map);
    }
    free(c->at);
    *c = (struct columns){0};
}

struct column_stats *columns_add(struct columns *c, const char *name, size_t n,
                                 enum column_kind kind)
{
    c->at = mem_grow_or_die(c->at, ((size_t)c->count + 1) * sizeof *c->at);
    struct column_stats *s = &c->at[c->count++];
    *s = (struct column_stats){.name = mem_alloc_or_die(n + 1), .kind = kind};
    memcpy(s->name, name, n);
    id_map_init(&s->map);
    return s;
}

int64_t columns_number_ids(struct columns *c)
{
    int64_t next = 0;
    for (int i = 0; i < c->count; i++) {
        c->at[i].first = next;
        next += c->at[i].size;
    }
    return next;
}

int64_t columns_ids(const struct columns *c)
{
    int64_t ids = 0;
    for (int i = 0; i < c->count; i++)
        if (c->at[i].first + c->at[i].size > ids)
            ids = c->at[i].first + c->at[i].size;
    return ids;
}

static bool named(const struct column_stats *s, const char *name, size_t n)
{
    return strlen(s->name) == n && memcmp(s->name, name, n) == 0;
}

const struct column_stats *columns_find_number(const struct columns *c, const char *name, size_t n)
{
    for (int i = 0; i < c->count; i++)
        if (c->at[i].kind == COLUMN_NUMBER && named(&c->at[i], name, n))
            return &c->at[i];
    return NULL;
}

const struct column_stats *columns_find_ids(const struct columns *c, const char *name, size_t n)
{
    const struct column_stats *found = NULL;
    for (int i = 0; i < c->count; i++)
        if (c->at[i].size && named(&c->at[i], name, n) &&
            (!found || c->at[i].kind != COLUMN_NUMBER))
            found = &c->at[i];
    return found;
}

/* The last knot at or below x, or -1. */
static int knot_of(const struct column_stats *s, double x)
{
    int low = 0, high = s->nknots;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->knots[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

float column_scale(const struct column_stats *s, double x)
{
    int i = knot_of(s, x), n = s->nknots;
    if (i < 0 || n == 0)
        return 0;
    double from = s->knots[i], to = i + 1 < n ? s->knots[i + 1] : s->max;
    double part = to > from ? (x - from) / (to - from) : 0;
    return (float)((i + (part < 1 ? part : 1)) / n);
}

int64_t column_number_id(const struct column_stats *s, double x)
{
    int i = knot_of(s, x);
    return s->first + 1 + (i > 0 ? i : 0);
}

bool column_number(const struct column_stats *s, const char *text, size_t n, float *out)
{
    struct timestamp t;
    if (s->form != TIMESTAMP_NONE) {
        bool good = timestamp_read(s->form, text, n, &t);
        *out = good ? (float)t.day : 0;
        return good;
    }
    if (s->number_form != NUMBER_PLAIN)
        return number_read(s->number_form, text, n, out);
    return text_f32(text, out) == text + n;
}

const char *column_source(const struct column_stats *s, size_t *n)
{
    bool made = s->kind == COLUMN_WEEKDAY || (s->kind == COLUMN_NUMBER && s->form);
    const char *open = made ? strchr(s->name, '(') : NULL;
    *n = strlen(s->name);
    if (!open || s->name[*n - 1] != ')')
        return s->name;
    *n -= (size_t)(open + 1 - s->name) + 1;
    return open + 1;
}

int64_t column_id(const struct column_stats *s, const char *text, size_t n)
{
    uint32_t slot;
    float x;
    struct timestamp t;
    switch (s->kind) {
    case COLUMN_NUMBER:
        return column_number(s, text, n, &x) && x - x == 0 ? column_number_id(s, (double)x) : -1;
    case COLUMN_VALUES:
        return s->first +
               (id_map_find(&s->map, (int64_t)hash_xxh64(text, n, 0), &slot) ? 2 + slot : 1);
    case COLUMN_HASHED:
        return s->first + 1 + (int64_t)(hash_xxh64(text, n, 0) % (uint64_t)(s->size - 1));
    case COLUMN_HOUR:
        return timestamp_read(s->form, text, n, &t) ? s->first + 1 + t.hour : -1;
    case COLUMN_WEEKDAY:
        return timestamp_read(s->form, text, n, &t) ? s->first + 1 + timestamp_weekday(&t) : -1;
    }
    return -1;
}

/* Values that are the same, from sorted[i] on. */
static int64_t run_length(const double *sorted, int64_t n, int64_t i)
{
    int64_t k = i + 1;
    while (k < n && sorted[k] == sorted[i])
        k++;
    return k - i;
}

int columns_knots(const double *sorted, int64_t n, int most, double *out)
{
    int64_t heavy = n / most + 1, rest = 0, in_bucket = 0;
    int distinct = 0, heavies = 0, count = 0;
    for (int64_t i = 0, run; i < n; i += run) {
        run = run_length(sorted, n, i);
        distinct++;
        heavies += run >= heavy;
        rest += run >= heavy ? 0 : run;
    }
    int buckets = most - heavies > 1 ? most - heavies : 1;
    int64_t want = distinct <= most ? 1 : (rest + buckets - 1) / buckets;
    bool fresh = true;
    for (int64_t i = 0, run; i < n; i += run) {
        run = run_length(sorted, n, i);
        if ((fresh || run >= heavy || in_bucket >= want) && count < most) {
            out[count++] = sorted[i];
            in_bucket = 0;
        }
        in_bucket += run;
        fresh = run >= heavy;
    }
    return count;
}
