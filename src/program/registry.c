/* The op registry: one hash per generation over all rows of all families, built at the first call
 * and read-only from then on, so that it needs no lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"
#include "program/op_kind.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct str_map by_type[2]; /* GEN_1X, GEN_2X */
static const struct op_kind **rows;
static int nrows;

/* Two rows for one type and generation are a bug in the tables (a family listed twice, say): one of
 * them would never be found, and which one depends on their order. Such a build aborts. */
static void row_put(struct str_map *m, const struct op_kind *k)
{
    if (str_map_has(m, k->type)) {
        fprintf(stderr,
                "skiff: op %s is listed twice in the tables of src/ops for programs of %s.x; is a "
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
    rows = mem_alloc_or_die((size_t)(n ? n : 1) * sizeof(*rows));
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

const char *op_kind_nearest(const char *type)
{
    struct near near = near_to(type);
    pthread_once(&once, registry_build);
    for (int i = 0; i < nrows; i++)
        if (!(rows[i]->flags & OP_INTERNAL))
            near_try(&near, rows[i]->type);
    return near.best;
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

bool op_kind_is_gradient(const struct op_kind *k)
{
    size_t n = strlen(k->type), tail = strlen("_grad");
    return n > tail && !strcmp(k->type + n - tail, "_grad");
}

const struct op_second *op_kind_second(const struct op_kind *k)
{
    if (op_kind_is_gradient(k))
        for (const struct op_second *s = op_seconds; s->type; s++)
            if (!strcmp(s->type, k->type))
                return s;
    return NULL;
}
