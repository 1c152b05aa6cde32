/* Arena: many small allocations with one lifetime.
 * Ownership: everything belongs to the arena and is freed by deinit (or made reusable by reset).
 * Threads: one user at a time. Failure: like mem_alloc_or_die (programs are small beside data). */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *first, *current;
};

void arena_init(struct arena *a);
void arena_deinit(struct arena *a);
void *arena_alloc(struct arena *a, size_t bytes); /* zeroed, 16-byte aligned */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *arena_memdup(struct arena *a, const void *p, size_t bytes);

#endif
