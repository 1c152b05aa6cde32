/* Listings that a server sends in pages: each page but the last one must bring new names. A server
 * that keeps announcing more is broken, and is refused. */
#ifndef FS_PAGES_H
#define FS_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct listing_pages { /* all zero at first */
    int found, found_before;
    uint64_t page, page_before; /* hashes of the names of a page, and of the one before */
    int64_t least_left;         /* the fewest names that the server has announced; 0: none yet */
    int stuck;                  /* pages since then */
};

void pages_next(struct listing_pages *p); /* a page begins */
void pages_add(struct listing_pages *p, const char *name, size_t n);
/* The page says that there are more, `left` of them (0: it does not say how many). May they be
 * fetched? from: where this page began; next: where the next one does. FORMAT: the server is
 * broken. */
enum skiff_status pages_check(struct listing_pages *p, const struct buf *from,
                              const struct buf *next, int64_t left, const char *path,
                              const char *host, struct skiff_error *err);

#endif
