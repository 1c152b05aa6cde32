/* The project's clocks. Deadlines and measured times are nanoseconds of the monotonic clock,
 * which nobody sets; CLOCK_NEVER is no deadline. Real time is for log lines, and for what another
 * machine or a later process reads. All may be called from any thread and from signal handlers. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

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

double clock_seconds(void);     /* clock_now in seconds */
int64_t clock_real(void);       /* nanoseconds since 1970, as the machine's clock has them */
double clock_cpu_thread(void);  /* seconds of processor time that this thread has used */
double clock_cpu_process(void); /* ... that all threads of this process have used */
/* A time of clock_now or clock_real as the system's calls take it. */
struct timespec clock_timespec(int64_t at);
/* Sleeps so long, whatever signals come. */
void clock_sleep(int64_t nanoseconds);

#endif
