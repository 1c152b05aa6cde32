/* A list of chunks; `current`, the last one, is being filled. Chunks grow with the arena, so that a
 * large program takes few of them. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CHUNK_FIRST ((size_t)8 << 10)
#define CHUNK_MOST ((size_t)1 << 20)

struct arena_chunk {
    struct arena_chunk *next;
    size_t size, used;
    _Alignas(16) char bytes[];
};

void arena_init(struct arena *a)
{
    a->first = a->current = NULL;
}

void arena_deinit(struct arena *a)
{
    for (struct arena_chunk *c = a->first; c;) {
        struct arena_chunk *next = c->next;
        free(c);
        c = next;
    }
    a->first = a->current = NULL;
}

/* Adds a chunk with room for n bytes. */
static void arena_advance(struct arena *a, size_t n)
{
    struct arena_chunk *c = a->current;
    size_t size = c ? c->size * 2 : CHUNK_FIRST;
    size = size > CHUNK_MOST ? CHUNK_MOST : size;
    size = size < n ? n : size;
    struct arena_chunk *fresh = mem_grow_or_die(NULL, sizeof *fresh + size);
    *fresh = (struct arena_chunk){.size = size};
    if (c)
        c->next = fresh;
    else
        a->first = fresh;
    a->current = fresh;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    size_t n = bytes > SIZE_MAX - 64 ? bytes : (bytes + 15) & ~(size_t)15;
    if (!a->current || a->current->size - a->current->used < n)
        arena_advance(a, n);
    char *p = a->current->bytes + a->current->used;
    a->current->used += n;
    return memset(p, 0, bytes);
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_memdup(a, s, strlen(s) + 1);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *p = arena_alloc(a, len + 1);
    memcpy(p, s, len);
    return p;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *p = arena_alloc(a, n < 0 ? 1 : (size_t)n + 1);
    if (n >= 0)
        vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return p;
}

void *arena_memdup(struct arena *a, const void *p, size_t bytes)
{
    void *to = arena_alloc(a, bytes);
    if (bytes)
        memcpy(to, p, bytes);
    return to;
}
