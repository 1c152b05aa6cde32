/* Monotonic time in nanoseconds. Deadlines are points of this clock; CLOCK_NEVER is none. */
#ifndef NET_CLOCK_H
#define NET_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_MS INT64_C(1000000)
#define CLOCK_SECOND INT64_C(1000000000)
#define CLOCK_NEVER INT64_MAX

static inline int64_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * CLOCK_SECOND + t.tv_nsec;
}

static inline int64_t clock_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* now + ms without overflow; a negative ms is no deadline */
static inline int64_t clock_after(int64_t now, int64_t ms)
{
    if (ms < 0 || ms > (CLOCK_NEVER - now) / CLOCK_MS)
        return CLOCK_NEVER;
    return now + ms * CLOCK_MS;
}

#endif
