/* Pages: any number of places of equal size that never move, with a free list. A place is found by
 * its number. Pages are address space of a whole number of huge pages; memory is claimed as places
 * are first used (4 KB at a time in the first 2 MB, 2 MB at a time afterwards), so that growing
 * copies nothing and no step of it is longer than the clearing of one huge page. That is 0.2 ms, or
 * 5 ms on a virtual machine whose host has to find the memory first: pages_prepare does it ahead.
 * Threads: one owner, and one other thread that prepares. */
#ifndef TABLE_PAGES_H
#define TABLE_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PAGE_BITS 18 /* places of a page: with a stride of 8 n bytes it is n huge pages */
#define PAGE_PLACES ((uint32_t)1 << PAGE_BITS)
#define PAGES_NONE UINT32_MAX /* no place */

struct pages {
    const char *what; /* for messages */
    size_t stride;    /* bytes of a place, a multiple of 8 */
    char **page;
    uint32_t npages;
    uint32_t top;  /* places used so far: 0 .. top - 1, some of them free again */
    uint32_t free; /* the first of the free places; PAGES_NONE */
    uint32_t nfree;
    size_t claimed; /* bytes of places */
    bool prepared;
    /* between the owner and the one who prepares */
    atomic_uintptr_t ahead; /* memory that is needed next, and (it is a multiple of 2 MB) in its low
                               bits how many times 2 MB are left of that page; 0: not yet */
    atomic_size_t units;    /* times 2 MB that are in use */
    uintptr_t seen;         /* the preparer's: what it has made ready was ahead of this */
    _Atomic(char *) spare;  /* the next page, mapped already; NULL */
};

/* prepared: pages_prepare will be called; memory that it has not made ready is then taken in small
 * pages, so that no step is long. */
void pages_init(struct pages *p, size_t stride, bool prepared, const char *what);
void pages_deinit(struct pages *p);

/* A place, of unknown content if it was used before, else of zeros; NOMEM: nothing has changed. */
enum skiff_status pages_take(struct pages *p, uint32_t *out, struct skiff_error *err);
/* Makes memory ready that will be taken soon, in huge pages; another thread than the owner's may
 * call it at any time between init and deinit, about once a millisecond. false: nothing has been
 * taken since the last time. */
bool pages_prepare(struct pages *p);
/* Its first four bytes belong to the free list from now on. */
void pages_give_back(struct pages *p, uint32_t place);
/* Places from `top` on, none of which is in use, are no more; their memory goes back to the
 * system. */
void pages_cut(struct pages *p, uint32_t top);
/* Bytes that taking so many more places would add to pages_bytes. */
size_t pages_growth(const struct pages *p, size_t places);
/* Exactly what is held: places that were touched, to the last 4 KB or 2 MB, and the list of
 * pages. */
size_t pages_bytes(const struct pages *p);

static inline void *pages_at(const struct pages *p, uint32_t place)
{
    return p->page[place >> PAGE_BITS] + (size_t)(place & (PAGE_PLACES - 1)) * p->stride;
}

#endif
