#include "base/clock.h"

#include <errno.h>

static int64_t nanoseconds_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * CLOCK_SECOND + t.tv_nsec;
}

static double seconds_of(clockid_t id)
{
    return 1e-9 * (double)nanoseconds_of(id);
}

double clock_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

int64_t clock_real(void)
{
    return nanoseconds_of(CLOCK_REALTIME);
}

double clock_cpu_thread(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double clock_cpu_process(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

struct timespec clock_timespec(int64_t at)
{
    return (struct timespec){.tv_sec = (time_t)(at / CLOCK_SECOND), .tv_nsec = at % CLOCK_SECOND};
}

void clock_sleep(int64_t nanoseconds)
{
    struct timespec until = clock_timespec(clock_now() + nanoseconds);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}
