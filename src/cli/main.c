/* skiff: finds the command and runs it. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <skiff/version.h>

#include "cli/command.h"

static const struct command commands[] = {
#define COMMAND(name, summary) {#name, summary, cmd_##name},
#include "cli/command_list.h"
#undef COMMAND
};

static const int ncommands = sizeof(commands) / sizeof(commands[0]);

int command_fail(const char *name, const struct skiff_error *err)
{
    fprintf(stderr, "skiff %s: %s\n", name,
            err->message[0] ? err->message : skiff_status_text(err->code));
    return 1;
}

int command_usage(const char *name, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fprintf(stderr, "skiff %s: ", name);
    vfprintf(stderr, format, ap);
    fprintf(stderr, " (skiff %s --help explains)\n", name);
    va_end(ap);
    return 2;
}

/* Names in C have an underscore where the user writes a dash. */
static bool is_name(const char *word, const char *name)
{
    while (*word && (*word == *name || (*word == '-' && *name == '_'))) {
        word++;
        name++;
    }
    return !*word && !*name;
}

static void print_help(void)
{
    printf("skiff: trains click-through-rate and recommendation models\n\n"
           "usage: skiff COMMAND [ARGUMENTS]\n\ncommands:\n");
    for (int i = 0; i < ncommands; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s", commands[i].name);
        for (char *c = name; *c; c++)
            *c = *c == '_' ? '-' : *c;
        printf("  %-10s %s\n", name, commands[i].summary);
    }
    printf("\nskiff COMMAND --help says more. Exit status: 0 done, 1 failed, 2 wrong usage.\n");
}

/* Installed under the name fleetrun it is Paddle's launcher. */
static bool is_fleetrun(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !strcmp(slash ? slash + 1 : path, "fleetrun");
}

int main(int argc, char **argv)
{
    if (argc > 0 && is_fleetrun(argv[0]))
        return cmd_launch(argc, argv);
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
        !strcmp(argv[1], "help")) {
        print_help();
        return argc < 2 ? 2 : 0;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("skiff %s\n", skiff_version());
        return 0;
    }
    for (int i = 0; i < ncommands; i++)
        if (is_name(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "skiff: there is no command %s; skiff --help lists them\n", argv[1]);
    return 2;
}
