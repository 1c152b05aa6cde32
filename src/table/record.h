/* Record: all that a table knows of one id, in one piece. What the values mean is the accessor's
 * affair (accessor.h): weights, the optimizer's state, counters. */
#ifndef TABLE_RECORD_H
#define TABLE_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct record {
    int64_t id;
    uint32_t
        changed;    /* the moment (table.h) in which it was last changed; RECORD_FREE: no record */
    uint32_t stamp; /* the accessor's: plain: the step that the row has seen; ctr: flags */
    float values[];
};

#define RECORD_FREE UINT32_MAX

/* Rows are short and their width is not known to the compiler: a call of memcpy for each would cost
 * more than the copy. The last four floats may be copied twice. */
static inline void record_copy(float *restrict to, const float *restrict from, size_t n)
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

static inline size_t record_bytes(int width)
{
    return (sizeof(struct record) + (size_t)width * sizeof(float) + 7) / 8 * 8;
}

#endif
