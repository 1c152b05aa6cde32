#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>
#include "base/clock.h"

#define SAME_SECONDS 0.5 /* timeout(1) and terminals may send one wish twice */

/* the globals of the process: signals have no argument */
static atomic_bool wanted;
static _Atomic double wanted_at;

static void on_signal(int number)
{
    if (!atomic_exchange(&wanted, true)) {
        atomic_store(&wanted_at, clock_seconds());
        return;
    }
    double first = atomic_load(&wanted_at); /* 0: the first one is being handled right now */
    if (first > 0 && clock_seconds() - first > SAME_SECONDS)
        _exit(128 + number);
}

bool interrupt_hangup_ignored(void)
{
    struct sigaction now;
    return sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

const atomic_bool *interrupt_watch(void)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    if (!interrupt_hangup_ignored())
        sigaction(SIGHUP, &a, NULL);
    return &wanted;
}

static void on_failed_write(int number)
{
    (void)number; /* the write fails, that is all; unlike SIG_IGN a handler ends at exec */
}

static void outlive(int number)
{
    struct sigaction a = {.sa_handler = on_failed_write, .sa_flags = SA_RESTART};
    sigemptyset(&a.sa_mask);
    sigaction(number, &a, NULL);
}

void interrupt_outlive_output(void)
{
    outlive(SIGPIPE);
}

void interrupt_outlive_limits(void)
{
    outlive(SIGXFSZ);
}

void interrupt_want(void)
{
    atomic_store(&wanted, true);
}

bool interrupt_wanted(void)
{
    return atomic_load(&wanted);
}
