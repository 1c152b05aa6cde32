#include "analysis/features.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static struct feature *feature_named(struct features *f, const char *name)
{
    for (int i = 0; i < f->n; i++)
        if (!strcmp(f->at[i].name, name))
            return &f->at[i];
    f->at = mem_grow_or_die(f->at, ((size_t)f->n + 1) * sizeof *f->at);
    struct feature *one = &f->at[f->n++];
    *one = (struct feature){.name = mem_strdup_or_die(name)};
    return one;
}

static void add_part(struct feature *to, int slot, int at)
{
    for (int i = 0; i < to->nparts; i++)
        if (to->parts[i].slot == slot && to->parts[i].at == at)
            return;
    to->parts = mem_grow_or_die(to->parts, ((size_t)to->nparts + 1) * sizeof *to->parts);
    to->parts[to->nparts++] = (struct feature_part){slot, at};
}

static void feature_deinit(struct feature *one)
{
    free(one->name);
    free(one->parts);
}

/* Its columns have no names of their own. */
static void add_slot(struct features *f, const struct schema *schema, int i)
{
    const struct slot *s = &schema->slots[i];
    char name[300];
    if (s->ragged || s->width == 1) {
        add_part(feature_named(f, s->name), i, s->ragged ? -1 : 0);
        return;
    }
    for (int at = 0; at < s->width; at++) {
        snprintf(name, sizeof name, "%.250s[%d]", s->name, at + 1);
        add_part(feature_named(f, name), i, at);
    }
}

/* Has the feature a part in a ragged slot that this one has, too? */
static bool share_slot(const struct feature *a, const struct feature *b)
{
    for (int i = 0; i < a->nparts; i++)
        for (int j = 0; j < b->nparts; j++)
            if (a->parts[i].at < 0 && b->parts[j].at < 0 && a->parts[i].slot == b->parts[j].slot)
                return true;
    return false;
}

static void join(struct features *f, int i, int j)
{
    struct feature *to = &f->at[i], *from = &f->at[j];
    size_t n = strlen(to->name) + strlen(from->name) + 4;
    char *name = mem_alloc_or_die(n);
    snprintf(name, n, "%s + %s", to->name, from->name);
    free(to->name);
    to->name = name;
    for (int k = 0; k < from->nparts; k++)
        add_part(to, from->parts[k].slot, from->parts[k].at);
    feature_deinit(from);
    memmove(from, from + 1, (size_t)(--f->n - j) * sizeof *from);
}

void features_init(struct features *f, const struct reader *r, const bool *wanted)
{
    const struct schema *schema = r->schema;
    bool *named = mem_alloc_or_die((size_t)schema->count + 1);
    const char *name;
    int slot, at;
    *f = (struct features){0};
    for (int i = 0; r->class->column && (name = r->class->column(r, i, &slot, &at)); i++) {
        named[slot] = true;
        if (wanted[slot])
            add_part(feature_named(f, name), slot, schema->slots[slot].ragged ? -1 : at);
    }
    for (int i = 0; i < schema->count; i++)
        if (wanted[i] && !named[i])
            add_slot(f, schema, i);
    for (int i = 0; i < f->n; i++)
        for (int j = i + 1; j < f->n; j++)
            if (share_slot(&f->at[i], &f->at[j])) {
                join(f, i, j);
                j = i; /* what has come may share further ones */
            }
    free(named);
}

void features_deinit(struct features *f)
{
    for (int i = 0; i < f->n; i++)
        feature_deinit(&f->at[i]);
    free(f->at);
    *f = (struct features){0};
}
