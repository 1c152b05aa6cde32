#include "table/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SMALL ((size_t)4 << 10)
#define LARGE ((size_t)2 << 20)

void pages_init(struct pages *p, size_t stride, const char *what)
{
    *p = (struct pages){.what = what, .stride = stride, .free = PAGES_NONE};
}

static size_t page_bytes(const struct pages *p)
{
    return p->stride << PAGE_BITS;
}

void pages_deinit(struct pages *p)
{
    for (uint32_t i = 0; i < p->npages; i++)
        mem_unmap(p->page[i], page_bytes(p));
    free(p->page);
    mem_unclaim(p->claimed);
    pages_init(p, p->stride, p->what);
}

size_t pages_bytes(const struct pages *p)
{
    return p->claimed + p->npages * sizeof *p->page;
}

/* What `used` bytes of places touch. Pages are multiples of 2 MB, so that they count as one. */
static size_t touched(size_t used)
{
    size_t grain = used <= LARGE ? SMALL : LARGE;
    return (used + grain - 1) / grain * grain;
}

static enum skiff_status add_page(struct pages *p, struct skiff_error *err)
{
    void *page;
    TRY(mem_map(page_bytes(p), p->npages ? 0 : LARGE, p->what, &page, err));
    p->page = mem_must_grow(p->page, (p->npages + 1) * sizeof *p->page);
    p->page[p->npages++] = page;
    return SKIFF_OK;
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
    if (p->top == p->npages * PAGE_PLACES)
        TRY(add_page(p, err));
    if (need > p->claimed) {
        TRY(mem_claim(need - p->claimed, p->what, err));
        p->claimed = need;
    }
    *out = p->top++;
    return SKIFF_OK;
}

void pages_give_back(struct pages *p, uint32_t place)
{
    memcpy(pages_at(p, place), &p->free, sizeof p->free);
    p->free = place;
    p->nfree++;
}
