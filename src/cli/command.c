/* The table of commands: finds a command, reads argv by its table of flags, prints help.
 *
 * A command is a constant struct (command.h); nothing is registered at run time. Commands with
 * parts (`skiff inspect tensor`) find the part first and then run it like a command. Wrong usage
 * is status 2 and a line that names the nearest known word. */
#include "cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <skiff/version.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/near.h"
#include "cli/interrupt.h"

#define WIDTH 100 /* of help */

static const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "cli/command_list.h"
#undef COMMAND
    NULL};

static void write_line(void *user, enum log_level level, const char *text)
{
    (void)user;
    log_line(level, "%s", text);
}

const struct logger command_logger = {.write = write_line};

const struct command *const *command_all(void)
{
    return commands;
}

int command_fail(const char *name, const struct skiff_error *err)
{
    fprintf(stderr, "%sskiff %s:%s %s\n", log_colour(LOG_ERROR), name, log_plain(),
            err->message[0] ? err->message : skiff_status_text(err->code));
    return 1;
}

int command_usage(const char *name, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fprintf(stderr, "%sskiff %s:%s ", log_colour(LOG_ERROR), name, log_plain());
    vfprintf(stderr, format, ap);
    fprintf(stderr, " (see skiff %s --help)\n", name);
    va_end(ap);
    return 2;
}

/* check_data is check-data */
static bool is_name(const char *word, const char *name)
{
    while (*word && (*word == *name || (*word == '_' && *name == '-'))) {
        word++;
        name++;
    }
    return !*word && !*name;
}

static bool is_also(const char *word, const char *names)
{
    size_t n = strlen(word);
    for (const char *at = names; at && *at; at += strcspn(at, " "), at += *at == ' ')
        if (n && strcspn(at, " ") == n && !strncmp(at, word, n))
            return true;
    return false;
}

const struct command *command_find(const char *name)
{
    for (int i = 0; commands[i]; i++)
        if (is_name(name, commands[i]->name) || is_also(name, commands[i]->also))
            return commands[i];
    return NULL;
}

static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* ---- help ---- */

static void add_usage(const struct command *c, const char *name, const char *head, struct buf *out)
{
    for (const char *line = c->usage; *line;) {
        size_t n = strcspn(line, "\n");
        buf_printf(out, "%sskiff %s%s%.*s\n", head, name, n ? " " : "", (int)n, line);
        line += n + (line[n] == '\n');
        head = "       ";
    }
}

void command_flags(const struct command *c, enum option_kind kind, struct buf *out)
{
    bool any = false;
    for (const struct option *row = c->options ? c->options->rows : NULL; row && row->name; row++)
        if (row->kind == kind) {
            buf_printf(out, "%s--%s", any ? ", " : "", row->name);
            any = true;
        }
}

static void add_body(const struct command *c, struct buf *out)
{
    struct buf taken = BUF_INIT;
    buf_char(out, '\n');
    buf_wrap(out, c->text, 0, 0, WIDTH);
    buf_char(out, '\n');
    if (c->options && c->options->rows->name) {
        buf_str(out, c->options->rows->group ? "\n" : "\nflags:\n");
        options_help(c->options, out);
    }
    command_flags(c, OPTION_IGNORED, &taken);
    if (taken.len) {
        buf_str(out, "\nAccepted for Paddle's launchers and ignored: ");
        buf_wrap(out, taken.data, 44, 0, WIDTH);
        buf_char(out, '\n');
    }
    if (c->more)
        c->more(out);
    buf_deinit(&taken);
}

static void add_examples(const struct command *c, struct buf *out)
{
    if (!c->examples)
        return;
    buf_str(out, "\nexamples:\n");
    for (const char *line = c->examples; *line;) {
        size_t n = strcspn(line, "\n");
        buf_printf(out, "  %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

void command_help(const struct command *c, const char *name, struct buf *out)
{
    char part[64];
    if (!c->parts) {
        add_usage(c, name, "usage: ", out);
        add_body(c, out);
        add_examples(c, out);
        return;
    }
    for (const struct command *p = c->parts; p->name; p++) {
        snprintf(part, sizeof part, "%s %s", name, p->name);
        add_usage(p, part, p == c->parts ? "usage: " : "       ", out);
    }
    buf_printf(out, "\n%s\n", c->text);
    for (const struct command *p = c->parts; p->name; p++) {
        buf_printf(out, "\n%s: %s", p->name, p->summary);
        add_body(p, out);
    }
    add_examples(c, out);
}

static int print_help(const struct command *c, const char *name)
{
    struct buf out = BUF_INIT;
    command_help(c, name, &out);
    fputs(out.data, stdout);
    buf_deinit(&out);
    return 0;
}

const char *command_group_name(enum command_group group)
{
    static const char *const names[COMMAND_GROUPS] = {
        [COMMAND_TRAIN] = "train and predict",
        [COMMAND_DATA] = "data",
        [COMMAND_INSPECT] = "inspect and compare",
        [COMMAND_OPERATE] = "operate",
    };
    return names[group];
}

static void print_group(enum command_group group)
{
    printf("\n%s:\n", command_group_name(group));
    for (int i = 0; commands[i]; i++)
        if (commands[i]->summary && commands[i]->group == group)
            printf("  %-11s %s\n", commands[i]->name, commands[i]->summary);
}

static void print_commands(void)
{
    printf("skiff: trains click-through-rate and recommendation models\n\n"
           "usage: skiff COMMAND [ARGUMENTS]\n");
    for (enum command_group group = 0; group < COMMAND_GROUPS; group++)
        print_group(group);
    printf("\nskiff COMMAND --help describes a command. Exit status: 0 done, 1 failed, "
           "2 wrong usage.\n");
}

/* ---- running ---- */

/* Arguments that the command reads itself. */
static int run_words(const struct command *c, const char *name, int argc, char **argv)
{
    if (argc > 1 && is_help(argv[1]))
        return print_help(c, name);
    return c->run(&(struct command_call){.name = name, .words = argv + 1, .nwords = argc - 1});
}

static int run_options(const struct command *c, const char *name, int argc, char **argv)
{
    struct skiff_error err;
    struct option_words words;
    void *args = mem_alloc_or_die(c->args_size ? c->args_size : 1);
    int code;
    options_init(c->options, args);
    if (options_parse(c->options, args, argc, argv, &words, &err) < 0)
        code = command_usage(name, "%s", err.message);
    else if (words.help)
        code = print_help(c, name);
    else
        code = c->run(&(struct command_call){.name = name,
                                             .args = args,
                                             .words = words.at,
                                             .nwords = words.n,
                                             .dashes = words.dashes});
    options_deinit(c->options, args);
    free(words.at);
    free(args);
    return code;
}

/* What could have been meant, in words. */
static int refuse_part(const struct command *c, const char *name, const char *word)
{
    struct buf known = BUF_INIT;
    struct near near = near_to(word);
    for (const struct command *p = c->parts; p->name; p++) {
        near_try(&near, p->name);
        buf_printf(&known, "%s%s", !known.len ? "" : p[1].name ? ", " : " or ", p->name);
    }
    int code =
        !word[0] ? command_usage(name, "expected %s", known.data)
                 : command_usage(name, "expected %s, found %s%s%s", known.data, word,
                                 near.best ? "; the nearest is " : "", near.best ? near.best : "");
    buf_deinit(&known);
    return code;
}

static const struct command *find_part(const struct command *c, const char *word)
{
    for (const struct command *p = c->parts; p->name; p++)
        if (is_name(word, p->name))
            return p;
    return NULL;
}

static int run_part(const struct command *c, const char *name, int argc, char **argv)
{
    char whole[64];
    const char *word = argc > 1 ? argv[1] : "";
    if (is_help(word))
        return print_help(c, name);
    const struct command *p = find_part(c, word);
    if (!p)
        return refuse_part(c, name, word);
    snprintf(whole, sizeof whole, "%s %s", name, p->name);
    return command_run(p, whole, argc - 1, argv + 1);
}

/* skiff help NAME [PART] */
static int help_about(const struct command *c, const char *part)
{
    char whole[64];
    const struct command *p = part && c->parts ? find_part(c, part) : NULL;
    if (part && c->parts && !p)
        return refuse_part(c, c->name, part);
    if (!p)
        return print_help(c, c->name);
    snprintf(whole, sizeof whole, "%s %s", c->name, p->name);
    return print_help(p, whole);
}

int command_run(const struct command *c, const char *name, int argc, char **argv)
{
    if (c->parts)
        return run_part(c, name, argc, argv);
    return c->options ? run_options(c, name, argc, argv) : run_words(c, name, argc, argv);
}

static int unknown_command(const char *word)
{
    struct near near = near_to(word);
    for (int i = 0; commands[i]; i++)
        if (commands[i]->summary)
            near_try(&near, commands[i]->name);
    fprintf(stderr, "skiff: unknown command %s%s%s; skiff --help lists them\n", word,
            near.best ? "; the nearest is " : "", near.best ? near.best : "");
    return 2;
}

/* Installed under the name fleetrun it is Paddle's launcher. */
static bool is_fleetrun(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !strcmp(slash ? slash + 1 : path, "fleetrun");
}

int command_main(int argc, char **argv)
{
    interrupt_outlive_limits();
    if (argc > 0 && is_fleetrun(argv[0]))
        return command_run(&command_launch, command_launch.name, argc, argv);
    if (argc < 2) {
        print_commands();
        return 2;
    }
    bool help = is_help(argv[1]) || !strcmp(argv[1], "help");
    const char *word = help ? argv[2] : argv[1];
    if (help && !word) {
        print_commands();
        return 0;
    }
    if (!strcmp(word, "--version")) {
        printf("skiff %s\n", skiff_version());
        return 0;
    }
    const struct command *c = command_find(word);
    if (!c)
        return unknown_command(word);
    return help ? help_about(c, argc > 3 ? argv[3] : NULL)
                : command_run(c, c->name, argc - 1, argv + 1);
}
