/* Where the cache of a file is, and what its key is. Inside scan only. */
#ifndef DATA_SCAN_CACHE_H
#define DATA_SCAN_CACHE_H

#include "data/scan.h"

/* False when the file cannot have one (standard input, not a regular file). */
bool cache_place(const struct scan_plan *plan, const char *path, struct buf *out_path,
                 uint64_t *out_key);

#endif
