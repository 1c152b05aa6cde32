/* Stats: what prepare learns about Criteo-shaped files, as a small text file.
 *
 *   skiff-stats 1
 *   rows 109711
 *   clicks 28541
 *   I1 missing=49823 min=0 q95=16 max=1539 mean=3.51
 *   ...
 *   C1 missing=0 distinct=544 once=198 often=207 top=54823
 *
 * once: values that occur once; often: ten times or more; top: rows of the most frequent value. A
 * column with more distinct values than were counted has "distinct=4000000+". */
#ifndef DATA_STATS_H
#define DATA_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define CRITEO_NUMBERS 13
#define CRITEO_CATEGORIES 26
#define CRITEO_COLUMNS (1 + CRITEO_NUMBERS + CRITEO_CATEGORIES)

struct number_stats {
    int64_t missing;
    double min, q95, max, mean; /* 0 when every value is missing */
};

struct category_stats {
    int64_t missing, distinct, once, often, top;
    bool more; /* there are more than `distinct` */
};

struct criteo_stats {
    int64_t rows, clicks;
    struct number_stats numbers[CRITEO_NUMBERS];
    struct category_stats categories[CRITEO_CATEGORIES];
};

/* Atomic (fs_write_file): on failure an old file stays as it is. */
enum skiff_status stats_write(const struct criteo_stats *s, const char *path,
                              struct skiff_error *err);
enum skiff_status stats_read(const char *path, struct criteo_stats *out, struct skiff_error *err);
/* The file's text, for a table or a test; the same bytes that stats_write writes. */
struct buf;
void stats_print(const struct criteo_stats *s, struct buf *out);

#endif
