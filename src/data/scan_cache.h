/* Path and key of a file's cache. Internal to scan. */
#ifndef DATA_SCAN_CACHE_H
#define DATA_SCAN_CACHE_H

#include "data/scan.h"

/* False when the file cannot have one (standard input, not a regular file). */
bool cache_path(const struct scan_plan *plan, const char *path, struct buf *out_path,
                uint64_t *out_key);

#endif
