#include "cli/console.h"

#include <signal.h>
#include <stdio.h>

#include <skiff/fleet.h>

#include "cli/interrupt.h"

static bool wants_stop(void *user)
{
    (void)user;
    return interrupt_wanted();
}

static void print(void *user, const char *line)
{
    (void)user;
    printf("%s\n", line);
    fflush(stdout);
}

static void ready(void *user)
{
    (void)user;
    interrupt_watch();
    interrupt_outlive_output();
}

static struct skiff_fleet *serving; /* for the signal handler, which has no argument */

static void on_signal(int number)
{
    (void)number;
    interrupt_want();
    skiff_fleet_stop_server(serving);
}

static void serve(void *user, struct skiff_fleet *server)
{
    (void)user;
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    serving = server;
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGINT, &a, NULL);
    if (!interrupt_hangup_ignored())
        sigaction(SIGHUP, &a, NULL);
}

static void debug(void *user, const char *text)
{
    (void)user;
    fputs(text, stderr);
}

const struct train_control console_control = {
    .wants_stop = wants_stop, .print = print, .ready = ready, .serving = serve, .debug = debug};
