/* A command of `skiff`: one file each, one line in command_list.h.
 *
 * Its texts and its flags (base/options.h) are in one struct. From it come `skiff NAME --help`,
 * `skiff help NAME`, the man page, completions, and the reading of argv, which is done before `run`
 * is called. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/logger.h"
#include "base/options.h"

enum command_group {
    COMMAND_TRAIN,
    COMMAND_DATA,
    COMMAND_INSPECT,
    COMMAND_OPERATE,
    COMMAND_GROUPS
};

struct command_call {
    const char *name; /* for messages: "check-data", "inspect tensor" */
    void *args;       /* the struct of the options */
    char **words;     /* what stood beside flags; NULL behind the last */
    int nwords;
    bool dashes; /* behind "--" */
};

struct command {
    const char *name;     /* as users write it: "check-data"; with an underscore it is found, too */
    const char *also;     /* further names, with blanks between them; NULL: none */
    const char *summary;  /* one line; NULL: for internal use, not listed */
    const char *usage;    /* what follows "skiff NAME", one form a line */
    const char *text;     /* paragraphs, an empty line between them */
    const char *examples; /* shell commands, one a line; NULL: none */
    enum command_group group;      /* under which `skiff --help` lists it */
    const struct options *options; /* NULL: all arguments are words */
    size_t args_size;              /* of the struct of the options */
    void (*more)(struct buf *out); /* adds a list to the help, or NULL */
    const struct command
        *parts; /* commands behind this one (`inspect tensor`); the last has no name */
    /* Gives the exit status: 0 done, 1 failed (the reason is the last line on stderr), 2 wrong
     * usage. */
    int (*run)(const struct command_call *call);
};

/* Prints "skiff NAME: message" to stderr; returns 1. */
int command_fail(const char *name, const struct skiff_error *err);
/* Prints the message and where help is; returns 2. */
int command_usage(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lines of the library, as the command's own. */
extern const struct logger command_logger;

/* All of them, NULL behind the last. */
const struct command *const *command_all(void);
/* NULL: there is none of that name. */
const struct command *command_find(const char *name);
/* The commonest way to run one: reads argv[1..argc), helps, or calls it. Gives the exit status. */
int command_run(const struct command *c, const char *name, int argc, char **argv);
/* "train and predict": the heading of a group. */
const char *command_group_name(enum command_group group);
/* What `skiff NAME --help` prints. */
void command_help(const struct command *c, const char *name, struct buf *out);
/* "-a, -b and -c": flags of this kind, for "taken and not used". Nothing when there is none. */
void command_flags(const struct command *c, enum option_kind kind, struct buf *out);
/* The whole of `skiff`: argv[0] is the program. */
int command_main(int argc, char **argv);

#define COMMAND(name) extern const struct command command_##name;
#include "cli/command_list.h"
#undef COMMAND

#endif
