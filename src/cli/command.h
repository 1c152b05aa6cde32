/* A command of `skiff`: one file each, one line in command_list.h.
 * run gets the arguments after the command's name (argv[0] is the name itself) and returns the exit
 * status: 0 done, 1 failed (the reason is the last line on stderr), 2 wrong usage. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/error.h"

struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};

/* Prints "skiff NAME: message" to stderr; returns 1. */
int command_fail(const char *name, const struct skiff_error *err);
/* Prints the message and where help is; returns 2. */
int command_usage(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define COMMAND(name, summary) int cmd_##name(int argc, char **argv);
#include "cli/command_list.h"
#undef COMMAND

#endif
