/* Pages: any number of slots of equal size that never move, with a free list. A slot has a number.
 * Pages are address space of a whole number of huge pages; memory is claimed as slots are first
 * used (4 KB at a time in the first 2 MB, 2 MB at a time afterwards), so that growing copies
 * nothing and no step of it takes longer than clearing one huge page. That is 0.2 ms, or 5 ms on a
 * virtual machine whose host has to find the memory first: pages_prepare does it in advance.
 * Threads: one owner, and one other thread that prepares. */
#ifndef TABLE_PAGES_H
#define TABLE_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PAGE_BITS 18 /* slots of a page: with a stride of 8 n bytes it is n huge pages */
#define PAGE_SLOTS ((uint32_t)1 << PAGE_BITS)
#define PAGES_NONE UINT32_MAX /* no slot */

struct pages {
    const char *what; /* for messages */
    size_t stride;    /* bytes of a slot, a multiple of 8 */
    char **page;
    uint32_t npages;
    uint32_t top;  /* slots used so far: 0 .. top - 1, some of them free again */
    uint32_t free; /* the first of the free slots; PAGES_NONE */
    uint32_t nfree;
    size_t claimed; /* bytes of slots */
    bool prepared;
    /* shared by the owner and the preparer */
    /* memory that is needed next, a multiple of 2 MB, and in its low bits the number of 2 MB units
     * left of that page; 0: not yet */
    atomic_uintptr_t prefetch;
    atomic_size_t units;   /* units of 2 MB in use */
    uintptr_t seen;        /* the preparer's: the value of `ahead` that it has handled */
    _Atomic(char *) spare; /* the next page, mapped already; NULL */
};

/* prepared: pages_prepare will be called; memory that it has not populated is then taken in small
 * pages, so that no step is long. */
void pages_init(struct pages *p, size_t stride, bool prepared, const char *what);
void pages_deinit(struct pages *p);

/* A slot, with old contents if it was used before, else zeros; NOMEM: nothing has changed. */
enum skiff_status pages_take(struct pages *p, uint32_t *out, struct skiff_error *err);
/* Populates memory that will be needed soon, in huge pages; a thread other than the owner's may
 * call it at any time between init and deinit, about once a millisecond. false: nothing has been
 * taken since the last call. */
bool pages_prepare(struct pages *p);
/* Its first four bytes belong to the free list from now on. */
void pages_give_back(struct pages *p, uint32_t slot);
/* Drops the slots from `top` on, none of which is in use; their memory is returned to the
 * system. */
void pages_cut(struct pages *p, uint32_t top);
/* Bytes that taking this many more slots would add to pages_bytes. */
size_t pages_growth(const struct pages *p, size_t slots);
/* The exact memory held: slots that were touched, to the last 4 KB or 2 MB, and the list of
 * pages. */
size_t pages_bytes(const struct pages *p);

static inline void *pages_at(const struct pages *p, uint32_t slot)
{
    return p->page[slot >> PAGE_BITS] + (size_t)(slot & (PAGE_SLOTS - 1)) * p->stride;
}

#endif
