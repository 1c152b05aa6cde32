#include "cli/task_flags.h"

#include <stdio.h>

#include "cli/command.h"

static void print_unknown(void *command, const char *text)
{
    fprintf(stderr, "skiff %s: %s\n", (const char *)command, text);
}

void task_args_print(struct task_args *a, const char *command)
{
    a->logger = command_logger;
    a->on_unknown = print_unknown;
    a->on_unknown_user = (void *)command;
}

int task_args_check(struct task_args *a, const char *command)
{
    if (a->quiet && a->verbose)
        return command_usage(command, "--quiet and --verbose exclude each other; give one of them");
    log_set_level(a->quiet ? LOG_WARN : a->verbose ? LOG_DEBUG : LOG_INFO);
    task_args_print(a, command);
    return a->config ? 0 : command_usage(command, "-m config.yaml is required");
}
