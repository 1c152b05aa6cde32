#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static atomic_bool wanted; /* the one global of the process: signals have no argument */

static void on_signal(int number)
{
    atomic_store(&wanted, true);
    signal(number, SIG_DFL);
}

const atomic_bool *interrupt_watch(void)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    return &wanted;
}

bool interrupt_wanted(void)
{
    return atomic_load(&wanted);
}
