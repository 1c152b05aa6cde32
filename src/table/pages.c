/* Growing memory without copies or long pauses (pages.h). A page is a range of address space; the
 * owner claims memory from it as slots are first used, and publishes in `ahead` which memory comes
 * next. The preparer populates that memory, and the next page (`spare`), before the owner reaches
 * it.
 *
 * Invariants: the owner does not depend on the preparer: memory that is not ready is taken in small
 * pages. Both may touch the same memory: populating it does not change its contents. The preparer
 * stays some units of 2 MB away from the owner, since both would otherwise wait for each other in
 * the kernel. */
#include "table/pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

#define SMALL ((size_t)4 << 10)
#define LARGE ((size_t)2 << 20)
/* Memory prepared in advance, in units of 2 MB: little for small tables. */
#define NEAREST 8
#define MANY 4
#define SHARE_OF_NEAREST 16 /* the start is this fraction of the memory in use, */
#define SHARE_OF_MANY 8     /* and the length this fraction of it */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; before that nothing is prepared */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; before that pages stay small */
#endif

void pages_init(struct pages *p, size_t stride, bool prepared, const char *what)
{
    *p = (struct pages){.what = what, .stride = stride, .prepared = prepared, .free = PAGES_NONE};
}

static size_t page_bytes(const struct pages *p)
{
    return p->stride << PAGE_BITS;
}

void pages_deinit(struct pages *p)
{
    for (uint32_t i = 0; i < p->npages; i++)
        mem_unmap(p->page[i], page_bytes(p));
    mem_unmap(atomic_load(&p->spare), page_bytes(p));
    free(p->page);
    mem_unclaim(p->claimed);
    pages_init(p, p->stride, p->prepared, p->what);
}

size_t pages_bytes(const struct pages *p)
{
    return p->claimed + p->npages * sizeof *p->page;
}

/* The memory that `used` bytes of slots touch. Pages are multiples of 2 MB, so that they count as
 * one. */
static size_t touched(size_t used)
{
    size_t grain = used <= LARGE ? SMALL : LARGE;
    return (used + grain - 1) / grain * grain;
}

size_t pages_growth(const struct pages *p, size_t slots)
{
    if (slots <= p->nfree)
        return 0;
    size_t used = p->top + slots - p->nfree, need = touched(used * p->stride);
    size_t pages = (used + PAGE_SLOTS - 1) >> PAGE_BITS;
    return (need > p->claimed ? need - p->claimed : 0) +
           (pages > p->npages ? (pages - p->npages) * sizeof *p->page : 0);
}

static size_t huge_from(const struct pages *p)
{
    if (p->prepared)
        return page_bytes(p);
    return p->npages ? 0 : LARGE;
}

static enum skiff_status add_page(struct pages *p, struct skiff_error *err)
{
    void *page = atomic_exchange(&p->spare, NULL);
    if (!page)
        TRY(mem_map(page_bytes(p), huge_from(p), p->what, &page, err));
    p->page = mem_grow_or_die(p->page, (p->npages + 1) * sizeof *p->page);
    p->page[p->npages++] = page;
    return SKIFF_OK;
}

/* The first `used` bytes of all pages are in use; after a cut they do not end in the last page. */
static void announce(struct pages *p, size_t used)
{
    size_t i = (used - 1) / page_bytes(p), within = used - i * page_bytes(p);
    uintptr_t from = (uintptr_t)p->page[i] + within;
    atomic_store(&p->units, used / LARGE);
    atomic_store(&p->prefetch, from | (page_bytes(p) - within) / LARGE);
}

enum skiff_status pages_take(struct pages *p, uint32_t *out, struct skiff_error *err)
{
    if (p->free != PAGES_NONE) {
        *out = p->free;
        memcpy(&p->free, pages_at(p, *out), sizeof p->free);
        p->nfree--;
        return SKIFF_OK;
    }
    if (p->top == PAGES_NONE)
        return error_set(err, SKIFF_NOMEM, "%s: it cannot hold more than %u", p->what, p->top);
    size_t need = touched(((size_t)p->top + 1) * p->stride);
    if (p->top == p->npages * PAGE_SLOTS)
        TRY(add_page(p, err));
    if (need > p->claimed) {
        TRY(mem_claim(need - p->claimed, p->what, err));
        p->claimed = need;
        if (need >= LARGE)
            announce(p, need);
    }
    *out = p->top++;
    return SKIFF_OK;
}

/* Populates small pages first and then collapses them into a huge one: while the kernel clears
 * or finds the huge page, the owner can use the small ones. (With MADV_HUGEPAGE the owner would
 * have to wait for that itself, if it came too early: tens of milliseconds when memory is
 * fragmented.) */
static void make_ready(char *from)
{
    madvise(from, LARGE, MADV_POPULATE_WRITE); /* both are only advice: may fail */
    madvise(from, LARGE, MADV_COLLAPSE);
}

static char *the_spare(struct pages *p)
{
    void *page = atomic_load(&p->spare);
    if (!page && mem_map(page_bytes(p), page_bytes(p), p->what, &page, NULL) == SKIFF_OK)
        atomic_store(&p->spare, page);
    return page;
}

static size_t between(size_t least, size_t x, size_t most)
{
    return x < least ? least : x > most ? most : x;
}

/* The owner may be using the memory by now, which is harmless: its contents stay. But memory that
 * the owner is about to reach is left alone: the owner would have to wait for it, as it would wait
 * for the preparer's system calls if it mapped the next page itself. */
bool pages_prepare(struct pages *p)
{
    uintptr_t prefetch = atomic_load(&p->prefetch);
    if (!prefetch || !p->prepared || prefetch == p->seen)
        return false;
    size_t left = prefetch % LARGE, units = atomic_load(&p->units);
    size_t first = between(1, units / SHARE_OF_NEAREST, NEAREST);
    size_t end = first + between(1, units / SHARE_OF_MANY, MANY);
    char *from = (char *)(prefetch - left);
    p->seen = prefetch;
    for (size_t i = first; i < end && i < left; i++)
        make_ready(from + i * LARGE);
    for (size_t i = 1; i <= MANY && i + left <= page_bytes(p) / LARGE; i++)
        madvise(from - i * LARGE, LARGE, MADV_COLLAPSE); /* memory that was not ready in time */
    char *spare = left < end ? the_spare(p) : NULL;
    size_t last = left + page_bytes(p) / LARGE;
    for (size_t i = left > first ? left : first; spare && i < end && i < last; i++)
        make_ready(spare + (i - left) * LARGE);
    return true;
}

void pages_give_back(struct pages *p, uint32_t slot)
{
    memcpy(pages_at(p, slot), &p->free, sizeof p->free);
    p->free = slot;
    p->nfree++;
}

static void cut_free(struct pages *p, uint32_t top)
{
    uint32_t slot = p->free, next;
    p->free = PAGES_NONE;
    p->nfree = 0;
    for (; slot != PAGES_NONE; slot = next) {
        memcpy(&next, pages_at(p, slot), sizeof next);
        if (slot < top)
            pages_give_back(p, slot);
    }
}

void pages_cut(struct pages *p, uint32_t top)
{
    cut_free(p, top);
    p->top = top;
    size_t need = touched((size_t)top * p->stride);
    for (size_t at = need, end; at < p->claimed; at = end) {
        size_t i = at / page_bytes(p), within = at % page_bytes(p);
        end = (i + 1) * page_bytes(p) < p->claimed ? (i + 1) * page_bytes(p) : p->claimed;
        madvise(p->page[i] + within, end - at, MADV_DONTNEED);
    }
    if (need == p->claimed)
        return;
    mem_unclaim(p->claimed - need);
    p->claimed = need;
    atomic_store(&p->prefetch, 0); /* until it grows again */
}
