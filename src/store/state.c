#include "store/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void state_init(struct state *s)
{
    *s = (struct state){0};
    str_map_init(&s->by_name);
}

void state_deinit(struct state *s)
{
    for (int i = 0; i < s->count; i++) {
        struct state_entry *e = s->entries[i];
        tensor_deinit(&e->tensor);
        free(e->name);
        free(e->param_name);
        free(e->text);
        free(e);
    }
    for (int i = 0; i < s->nstructured; i++) {
        free(s->structured[i].key);
        free(s->structured[i].value);
    }
    free(s->structured);
    free(s->entries);
    str_map_deinit(&s->by_name);
    *s = (struct state){0};
}

struct state_entry *state_find(const struct state *s, const char *name)
{
    return s->count ? str_map_get(&s->by_name, name) : NULL;
}

struct state_entry *state_find_variable(const struct state *s, const char *name)
{
    struct state_entry *e = state_find(s, name);
    for (int i = 0; !e && i < s->count; i++)
        if (s->entries[i]->param_name && !strcmp(s->entries[i]->param_name, name))
            e = s->entries[i];
    for (int i = 0; !e && i < s->nstructured; i++)
        if (!strcmp(s->structured[i].value, name))
            e = state_find(s, s->structured[i].key);
    return e;
}

struct state_entry *state_add(struct state *s, const char *name)
{
    struct state_entry *e = state_find(s, name);
    if (e)
        return e;
    if (s->count == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 16;
        s->entries = mem_grow_or_die(s->entries, sizeof *s->entries * (size_t)s->cap);
    }
    e = mem_alloc_or_die(sizeof *e);
    e->name = mem_strdup_or_die(name);
    s->entries[s->count++] = e;
    str_map_put(&s->by_name, e->name, e);
    return e;
}

void state_add_structured(struct state *s, const char *key, const char *value)
{
    if (s->nstructured == s->structured_cap) {
        s->structured_cap = s->structured_cap ? 2 * s->structured_cap : 16;
        s->structured =
            mem_grow_or_die(s->structured, sizeof *s->structured * (size_t)s->structured_cap);
    }
    s->structured[s->nstructured++] =
        (struct state_pair){mem_strdup_or_die(key), mem_strdup_or_die(value)};
}
