#include "tensor/lod.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

struct lod *lod_ref(struct lod *l)
{
    if (l)
        __atomic_add_fetch(&l->refs, 1, __ATOMIC_RELAXED);
    return l;
}

void lod_unref(struct lod *l)
{
    if (l && __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL) == 0)
        mem_free(l);
}

enum skiff_status lod_build(struct lod **slot, int nlevels, const int64_t *counts,
                            struct skiff_error *err)
{
    if (nlevels < 0 || nlevels > LOD_MAX_LEVELS)
        return error_set(err, SKIFF_RANGE, "lod of %d levels: 0 to %d are possible", nlevels,
                         LOD_MAX_LEVELS);
    size_t total = 0, bytes;
    for (int k = 0; k < nlevels; k++)
        if (counts[k] < 0 || !mem_add(total, (size_t)counts[k], &total))
            return error_set(err, SKIFF_RANGE, "lod level %d of %" PRId64 " offsets", k, counts[k]);
    struct lod *l = *slot;
    if (!l || __atomic_load_n(&l->refs, __ATOMIC_ACQUIRE) != 1 || l->cap < total) {
        size_t cap = total < 16 ? 16 : total;
        void *fresh;
        if (!mem_mul(cap, sizeof(int64_t), &bytes) || !mem_add(bytes, sizeof *l, &bytes))
            return error_set(err, SKIFF_RANGE, "lod of %zu offsets: too large", total);
        TRY(mem_alloc(bytes, "lod", &fresh, err));
        lod_unref(l);
        l = fresh;
        l->refs = 1;
        l->cap = cap;
        *slot = l;
    }
    l->nlevels = nlevels;
    int64_t *at = l->store;
    for (int k = 0; k < nlevels; k++) {
        l->level[k] = (struct lod_level){at, counts[k]};
        at += counts[k];
    }
    return SKIFF_OK;
}

enum skiff_status lod_check(const struct lod *l, int64_t dim0, const char *what,
                            struct skiff_error *err)
{
    for (int k = 0; l && k < l->nlevels; k++) {
        const struct lod_level *v = &l->level[k];
        if (v->n < 1)
            return error_set(err, SKIFF_SHAPE, "%s: lod level %d is empty, it must start with 0",
                             what, k);
        if (v->off[0] != 0)
            return error_set(err, SKIFF_SHAPE, "%s: lod level %d starts with %" PRId64 ", not 0",
                             what, k, v->off[0]);
        for (int64_t i = 1; i < v->n; i++)
            if (v->off[i] < v->off[i - 1])
                return error_set(err, SKIFF_SHAPE,
                                 "%s: lod level %d decreases at %" PRId64 ": %" PRId64
                                 " after %" PRId64,
                                 what, k, i, v->off[i], v->off[i - 1]);
        bool last = k == l->nlevels - 1;
        int64_t want = last ? dim0 : l->level[k + 1].n - 1;
        if (v->off[v->n - 1] != want)
            return error_set(err, SKIFF_SHAPE,
                             "%s: lod level %d ends with %" PRId64 ", but there are %" PRId64 " %s",
                             what, k, v->off[v->n - 1], want,
                             last ? "rows" : "sequences in the next level");
    }
    return SKIFF_OK;
}

int lod_equal(const struct lod *a, const struct lod *b)
{
    int na = a ? a->nlevels : 0, nb = b ? b->nlevels : 0;
    if (a == b)
        return 1;
    if (na != nb)
        return 0;
    for (int k = 0; k < na; k++) {
        const struct lod_level *x = &a->level[k], *y = &b->level[k];
        if (x->n != y->n || memcmp(x->off, y->off, (size_t)x->n * sizeof *x->off) != 0)
            return 0;
    }
    return 1;
}
