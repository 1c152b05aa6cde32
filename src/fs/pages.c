#include "fs/pages.h"

#include <string.h>

#include "base/hash.h"

#define NAMES_MOST 10000000 /* beyond, a server that never ends is likelier */
#define STUCK_MOST 100      /* pages, as the message says; files added meanwhile need far fewer */

void pages_next(struct listing_pages *p)
{
    p->found_before = p->found;
    p->page_before = p->page;
    p->page = 0;
}

void pages_add(struct listing_pages *p, const char *name, size_t n)
{
    p->found++;
    p->page = hash_xxh64(name, n, p->page);
}

static void count_left(struct listing_pages *p, int64_t left)
{
    bool fewer = !p->least_left || left < p->least_left;
    p->stuck = fewer ? 0 : p->stuck + 1;
    if (fewer)
        p->least_left = left;
}

enum skiff_status pages_check(struct listing_pages *p, const struct buf *from,
                              const struct buf *next, int64_t left, const char *path,
                              const char *host, struct skiff_error *err)
{
    bool same = next->len && from->len == next->len && !memcmp(from->data, next->data, next->len);
    if (left)
        count_left(p, left);
    const char *why = p->found == p->found_before ? "and gives none"
                      : !next->len                ? "and not where they begin"
                      : same                      ? "at the same place again"
                      : p->page == p->page_before ? "and gives the same names again"
                      : p->stuck >= STUCK_MOST    ? "and no fewer of them than 100 pages before"
                      : p->found >= NAMES_MOST    ? "than Skiff takes"
                                                  : NULL;
    if (!why)
        return SKIFF_OK;
    return error_set(err, SKIFF_FORMAT,
                     "%s: %s says behind %d names that there are more, %s: its listing is broken",
                     path, host, p->found, why);
}
