#include "prepare/count.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

void value_counts_deinit(struct value_counts *c)
{
    for (size_t i = 0; c->texts && i < c->slots; i++)
        free(c->at[i].text);
    mem_free(c->at);
    *c = (struct value_counts){0};
}

static enum skiff_status grow(struct value_counts *c, struct skiff_error *err)
{
    size_t slots = c->slots ? 2 * c->slots : 64;
    void *fresh;
    TRY(mem_alloc(slots * sizeof *c->at, "value counts", &fresh, err));
    memset(fresh, 0, slots * sizeof *c->at);
    struct value_count *to = fresh;
    for (size_t i = 0; i < c->slots; i++) {
        if (!c->at[i].hash)
            continue;
        size_t k = c->at[i].hash & (slots - 1);
        while (to[k].hash)
            k = (k + 1) & (slots - 1);
        to[k] = c->at[i];
    }
    mem_free(c->at);
    c->at = to;
    c->slots = slots;
    return SKIFF_OK;
}

enum skiff_status value_counts_add(struct value_counts *c, const char *p, size_t n,
                                   struct skiff_error *err)
{
    if (2 * c->distinct >= c->slots)
        TRY(grow(c, err));
    uint64_t hash = hash_xxh64(p, n, 0);
    hash += hash == 0;
    size_t i = hash & (c->slots - 1);
    while (c->at[i].hash && c->at[i].hash != hash)
        i = (i + 1) & (c->slots - 1);
    if (!c->at[i].hash) {
        if (c->distinct == c->most) {
            c->full = true;
            return SKIFF_OK;
        }
        c->at[i].hash = hash;
        if (c->distinct++ < c->texts) {
            c->at[i].text = mem_alloc_or_die(n + 1);
            memcpy(c->at[i].text, p, n);
        }
    }
    c->at[i].count++;
    return SKIFF_OK;
}

static int by_count(const void *a, const void *b)
{
    const struct value_count *x = *(struct value_count *const *)a,
                             *y = *(struct value_count *const *)b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->text, y->text);
}

struct value_count **value_counts_sorted(const struct value_counts *c, size_t *out_n)
{
    struct value_count **list = mem_alloc_or_die((c->distinct + 1) * sizeof(struct value_count *));
    *out_n = 0;
    for (size_t i = 0; i < c->slots; i++)
        if (c->at[i].hash && c->at[i].text)
            list[(*out_n)++] = &c->at[i];
    qsort(list, *out_n, sizeof(struct value_count *), by_count);
    return list;
}

void number_sample_deinit(struct number_sample *s)
{
    free(s->at);
    *s = (struct number_sample){0};
}

void number_sample_add(struct number_sample *s, double x)
{
    if (s->seen == 0 || x < s->min)
        s->min = x;
    if (s->seen == 0 || x > s->max)
        s->max = x;
    s->sum += x;
    int64_t index = s->seen++;
    if (index >= s->most) {
        uint32_t w[4];
        philox(s->seed, 1, (uint64_t)index, w);
        index = (int64_t)(((uint64_t)w[0] << 32 | w[1]) % (uint64_t)s->seen);
        if (index < s->most)
            s->at[index] = x;
        return;
    }
    if (s->kept == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 64;
        s->at = mem_grow_or_die(s->at, (size_t)s->capacity * sizeof *s->at);
    }
    s->at[s->kept++] = x;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void number_sample_sort(struct number_sample *s)
{
    if (s->kept)
        qsort(s->at, (size_t)s->kept, sizeof *s->at, by_value);
}
