#include "table/changed.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void changed_deinit(struct changed *c)
{
    free(c->bits);
    free(c->rows);
    *c = (struct changed){0};
}

static void reserve_bits(struct changed *c, size_t words)
{
    if (words <= c->words)
        return;
    size_t now = c->words * 2 > words ? c->words * 2 : words;
    c->bits = mem_grow_or_die(c->bits, now * sizeof *c->bits);
    memset(c->bits + c->words, 0, (now - c->words) * sizeof *c->bits);
    c->words = now;
}

static void reserve_rows(struct changed *c, size_t n)
{
    if (n <= c->cap)
        return;
    c->cap = c->cap * 2 > n ? c->cap * 2 : n;
    c->rows = mem_grow_or_die(c->rows, c->cap * sizeof *c->rows);
}

void changed_add(struct changed *c, const int64_t *rows, size_t n)
{
    int64_t last = -1;
    for (size_t i = 0; i < n; i++)
        last = rows[i] > last ? rows[i] : last;
    reserve_bits(c, (size_t)(last + 1) / 64 + 1);
    reserve_rows(c, c->n + n);
    for (size_t i = 0; i < n; i++) {
        uint64_t *word = &c->bits[rows[i] / 64], bit = UINT64_C(1) << (rows[i] % 64);
        if (!(*word & bit))
            c->rows[c->n++] = rows[i];
        *word |= bit;
    }
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

size_t changed_take(struct changed *c)
{
    size_t n = c->n;
    if (n)
        qsort(c->rows, n, sizeof *c->rows, ascending);
    for (size_t i = 0; i < n; i++)
        c->bits[c->rows[i] / 64] = 0;
    c->n = 0;
    return n;
}
