#include "program/names.h"

#include <stdint.h>

void names_init(struct names *n, const char *prefix)
{
    arena_init(&n->arena);
    str_map_init(&n->counters);
    n->prefix = arena_strdup(&n->arena, prefix ? prefix : "");
    n->outer = NULL;
}

void names_deinit(struct names *n)
{
    str_map_deinit(&n->counters);
    arena_deinit(&n->arena);
    *n = (struct names){0};
}

/* The map holds the next number + 1 of a key, so that a key not there yet (NULL) starts at 0. */
const char *names_next(struct names *n, const char *key)
{
    uintptr_t next = (uintptr_t)str_map_get(&n->counters, key);
    if (next == 0) {
        next = 1;
        key = arena_strdup(&n->arena, key);
    }
    str_map_put(&n->counters, key, (void *)(next + 1));
    return arena_printf(&n->arena, "%s%s_%llu", n->prefix, key, (unsigned long long)(next - 1));
}
