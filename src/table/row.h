/* Record: all that a table knows of one id, in one piece. What the values mean is the accessor's
 * affair (accessor.h): weights, the optimizer's state, counters. */
#ifndef TABLE_ROW_H
#define TABLE_ROW_H

#include <stddef.h>
#include <stdint.h>

struct table_row {
    int64_t id;
    uint32_t changed; /* version (table.h) of the last change; ROW_FREE: no record */
    uint32_t stamp;   /* the accessor's: plain: last step of the row; ctr: flags */
    float values[];
};

#define ROW_FREE UINT32_MAX

/* Rows are short and their width is not known to the compiler: a call of memcpy for each would cost
 * more than the copy. The last four floats may be copied twice. */
static inline void row_copy(float *restrict to, const float *restrict from, size_t n)
{
    size_t i = 0;
    if (n < 4) {
        for (; i < n; i++)
            to[i] = from[i];
        return;
    }
    for (; i + 4 <= n; i += 4)
        __builtin_memcpy(to + i, from + i, 4 * sizeof *to);
    if (i < n)
        __builtin_memcpy(to + n - 4, from + n - 4, 4 * sizeof *to);
}

static inline size_t row_bytes(int width)
{
    return (sizeof(struct table_row) + (size_t)width * sizeof(float) + 7) / 8 * 8;
}

#endif
