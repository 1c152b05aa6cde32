/* Accounted allocation. Sizes that come from data, wire or config go through here and fail with
 * a status; small fixed allocations of our own use mem_alloc_or_die, which ends the process when
 * the machine has no memory left for a few bytes. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* 64-byte aligned. *out is untouched on failure. `what` names the thing for the message. */
enum skiff_status mem_alloc(size_t bytes, const char *what, void **out, struct skiff_error *err);
void mem_free(void *p); /* NULL is fine */

/* Address space of zeros, 2 MB aligned, that costs nothing until it is touched; huge pages are
 * asked for from byte `huge_from` on. Not accounted: whoever uses it claims what he touches. */
enum skiff_status mem_map(size_t bytes, size_t huge_from, const char *what, void **out,
                          struct skiff_error *err);
void mem_unmap(void *p, size_t bytes); /* NULL is fine */
/* Accounts for touched bytes of a map, within the limit of mem_alloc. */
enum skiff_status mem_claim(size_t bytes, const char *what, struct skiff_error *err);
void mem_unclaim(size_t bytes);

/* From now on mem_alloc fails when more than so many bytes would be held; the machine's memory at
 * first. For programs whose inputs are not to be trusted with all of it. */
void mem_set_limit(size_t bytes);

/* Bytes held now through mem_alloc, over all threads; and the most ever held. */
size_t mem_in_use(void);
size_t mem_peak(void);
size_t mem_of_machine(void); /* memory and swap */

/* Number of mem_alloc calls so far: tests assert that a steady step makes none. */
uint64_t mem_alloc_count(void);

void *mem_alloc_or_die(size_t bytes);         /* zeroed; free() it */
void *mem_grow_or_die(void *p, size_t bytes); /* realloc */
char *mem_strdup_or_die(const char *s);

/* a * b, a + b without overflow; false when it would overflow. */
static inline int mem_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline int mem_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

#endif
