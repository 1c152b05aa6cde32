/* The op registry: one hash per generation over all rows of all families, built at the first call
 * and read-only from then on, so that it needs no lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "program/op_kind.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct str_map by_type[2]; /* GEN_1X, GEN_2X */
static const struct op_kind **rows;
static int nrows;

/* Two rows for one type and generation are a fault of the tables (a family listed twice, say): one
 * of them would never be found, and which one depends on their order. Nothing can run on such a
 * build. */
static void row_put(struct str_map *m, const struct op_kind *k)
{
    if (str_map_has(m, k->type)) {
        fprintf(stderr,
                "skiff: op %s stands twice in the tables of src/ops for the programs of %s.x; is a "
                "family listed twice in op_list.h?\n",
                k->type, m == &by_type[0] ? "1" : "2");
        abort();
    }
    str_map_put(m, k->type, (void *)k);
}

static void registry_build(void)
{
    int n = 0;
    for (const struct op_kind *const *f = op_families; *f; f++)
        for (const struct op_kind *k = *f; k->type; k++)
            n++;
    rows = mem_must((size_t)(n ? n : 1) * sizeof(*rows));
    str_map_init(&by_type[0]);
    str_map_init(&by_type[1]);
    for (const struct op_kind *const *f = op_families; *f; f++)
        for (const struct op_kind *k = *f; k->type; k++) {
            unsigned g = k->generations ? k->generations : GEN_1X | GEN_2X;
            rows[nrows++] = k;
            if (g & GEN_1X)
                row_put(&by_type[0], k);
            if (g & GEN_2X)
                row_put(&by_type[1], k);
        }
}

const struct op_kind *op_kind_find(const char *type, enum generation g)
{
    pthread_once(&once, registry_build);
    return str_map_get(&by_type[g == GEN_2X], type);
}

int op_kind_count(void)
{
    pthread_once(&once, registry_build);
    return nrows;
}

const struct op_kind *op_kind_at(int i)
{
    pthread_once(&once, registry_build);
    return i >= 0 && i < nrows ? rows[i] : NULL;
}

enum { NEAR_MAX = 64 };

/* Levenshtein distance of two names of at most NEAR_MAX characters; gives up above `limit`. */
static int edit_distance(const char *a, int na, const char *b, int nb, int limit)
{
    int row[NEAR_MAX + 1];
    if (abs(na - nb) > limit)
        return limit + 1;
    for (int j = 0; j <= nb; j++)
        row[j] = j;
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0], best = row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            int least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = change < least ? change : least;
            if (row[j] < best)
                best = row[j];
        }
        if (best > limit)
            return limit + 1;
    }
    return row[nb];
}

const char *op_kind_nearest(const char *type)
{
    pthread_once(&once, registry_build);
    size_t n = strlen(type);
    if (n == 0 || n > NEAR_MAX)
        return NULL;
    int best = n < 6 ? 2 : (int)n / 3;
    const char *found = NULL;
    for (int i = 0; i < nrows; i++) {
        size_t m = strlen(rows[i]->type);
        if (m > NEAR_MAX || rows[i]->flags & OP_INTERNAL)
            continue;
        int d = edit_distance(type, (int)n, rows[i]->type, (int)m, best);
        if (d < best || (d == best && !found)) {
            best = d;
            found = rows[i]->type;
        }
    }
    return found;
}

int op_kind_slot(const struct op_slot *slots, const char *name)
{
    for (int i = 0; slots && slots[i].name; i++)
        if (strcmp(slots[i].name, name) == 0)
            return i;
    return -1;
}

int op_kind_attr(const struct op_kind *k, const char *name)
{
    for (int i = 0; k->attrs && k->attrs[i].name; i++)
        if (strcmp(k->attrs[i].name, name) == 0)
            return i;
    return -1;
}
