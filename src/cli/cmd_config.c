/* skiff config: the table of keys, what a key means, and what a config file comes to.
 *
 * All texts are those of config/key_list.h, with their Markdown removed. With -m, effective
 * values are printed first and checked afterwards, so that a wrong value is seen with its
 * source before the error ends the command. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/task_flags.h"
#include "config/config.h"
#include "config/yaml.h"

struct config_args {
    struct task_args task;
    bool set;
};

/* ---- texts ---- */

static void print_line(const char *label, void (*add)(enum config_key key, struct buf *out),
                       enum config_key key)
{
    struct buf text = BUF_INIT, plain = BUF_INIT;
    add(key, &text);
    key_plain_text(&plain, text.len ? text.data : "");
    printf("  %-9s %s\n", label, plain.len ? plain.data : "nothing");
    buf_deinit(&text);
    buf_deinit(&plain);
}

static void add_alias(enum config_key key, struct buf *out)
{
    for (const char *c = key_info(key)->alias; *c; c++)
        buf_printf(out, *c == ' ' ? ", " : "%c", *c);
}

static void add_environment(enum config_key key, struct buf *out)
{
    buf_str(out, key_info(key)->environment);
}

static void explain(enum config_key key)
{
    struct buf plain = BUF_INIT, text = BUF_INIT;
    key_plain_text(&plain, key_info(key)->help);
    buf_str(&plain, ".");
    buf_wrap(&text, plain.data, 0, 2, 98);
    printf("%s\n  %s\n", key_name(key), text.data);
    print_line("value:", key_print_type, key);
    print_line("default:", key_print_standard, key);
    print_line("read by:", key_print_commands, key);
    if (key_info(key)->environment)
        print_line("variable:", add_environment, key);
    if (key_info(key)->alias)
        print_line("not:", add_alias, key);
    buf_deinit(&plain);
    buf_deinit(&text);
}

static void list_keys(void)
{
    struct buf type = BUF_INIT, standard = BUF_INIT, plain = BUF_INIT;
    const char *group = "";
    for (int i = KEY_NONE + 1; i < KEY_COUNT; i++) {
        enum config_key key = (enum config_key)i;
        if (strcmp(group, key_group(key)) != 0)
            printf("%s%s:\n", *group ? "\n" : "", key_group(key));
        group = key_group(key);
        buf_reset(&type);
        buf_reset(&standard);
        buf_reset(&plain);
        key_print_type(key, &type);
        key_print_standard(key, &standard);
        key_plain_text(&plain, standard.data);
        buf_reset(&standard);
        key_plain_text(&standard, type.data);
        printf("  %-48s %-38s %s\n", key_name(key), plain.data, standard.data);
    }
    buf_deinit(&type);
    buf_deinit(&standard);
    buf_deinit(&plain);
}

/* ---- one key ---- */

static int refuse_key(const struct command_call *call, const char *name)
{
    struct skiff_error err = {0};
    const char *near = key_nearest(name);
    error_set(&err, SKIFF_NOT_FOUND, "%s is not a key%s%s%s; skiff config lists the keys", name,
              near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return command_fail(call->name, &err);
}

static int explain_all(const struct command_call *call)
{
    for (int i = 0; i < call->nwords; i++) {
        enum config_key key = key_meant(call->words[i]);
        if (!key)
            return refuse_key(call, call->words[i]);
        if (i)
            printf("\n");
        explain(key);
    }
    return 0;
}

/* ---- a file ---- */

static void print_value(const char *name, const struct buf *value, const struct buf *source)
{
    char head[256];
    struct buf plain = BUF_INIT;
    key_plain_text(&plain, value->len ? value->data : "");
    snprintf(head, sizeof head, "%s: %s", name, plain.len ? plain.data : "\"\"");
    printf("%-55s  # %s\n", head, source->data);
    buf_deinit(&plain);
}

static bool is_wanted(const struct command_call *call, const char *name)
{
    for (int i = 0; i < call->nwords; i++)
        if (!strcmp(call->words[i], name) || !strcmp(call->words[i], key_last_word(name)))
            return true;
    return !call->nwords;
}

static void print_row(struct config *c, const struct command_call *call, enum config_key key)
{
    const struct config_args *args = call->args;
    struct buf value = BUF_INIT, source = BUF_INIT;
    bool set = config_print_effective(c, key, &value, &source);
    bool counts = key_info(key)->commands && !key_info(key)->by_model;
    if (is_wanted(call, key_name(key)) && (set || (counts && !args->set)))
        print_value(key_name(key), &value, &source);
    buf_deinit(&value);
    buf_deinit(&source);
}

/* Names of families, as they are set. */
static void print_members(struct config *c, const struct command_call *call)
{
    for (int i = 0; i < config_count(c); i++) {
        struct buf value = BUF_INIT, source = BUF_INIT;
        enum config_key key = key_matching(config_at(c, i));
        if (key && key_is_family(key) && is_wanted(call, config_at(c, i))) {
            config_print_at(c, i, &value);
            config_print_source_at(c, i, &source);
            print_value(config_at(c, i), &value, &source);
        }
        buf_deinit(&value);
        buf_deinit(&source);
    }
}

static void print_file(struct config *c, const struct command_call *call)
{
    for (int i = KEY_NONE + 1; i < KEY_COUNT; i++)
        if (!key_is_family((enum config_key)i))
            print_row(c, call, (enum config_key)i);
    print_members(c, call);
    if (config_network(c) && !call->nwords)
        printf("%-55s  # %s:%d\n", "network: (in YAML)", config_name(c), config_network(c)->line);
}

static void print_unknown(void *arg, bool likely, const char *text)
{
    (void)likely;
    fprintf(stderr, "skiff %s: %s\n", (const char *)arg, text);
}

static enum skiff_status show(const struct command_call *call, struct skiff_error *err)
{
    const struct config_args *args = call->args;
    struct config *c = NULL;
    enum skiff_status status = config_open(args->task.config, &c, err);
    for (int i = 0; status == SKIFF_OK && i < args->task.overrides.n; i++)
        status = config_override(c, args->task.overrides.at[i], err);
    if (status == SKIFF_OK) {
        print_file(c, call);
        fflush(stdout);
        status = task_check_values(c, err);
    }
    if (status == SKIFF_OK)
        status = config_check_all(c, print_unknown, (void *)call->name, err);
    config_close(c);
    return status;
}

static int run(const struct command_call *call)
{
    const struct config_args *args = call->args;
    struct skiff_error err = {0};
    if (!args->task.config && (args->set || args->task.overrides.n))
        return command_usage(call->name, "%s needs a config: -m config.yaml",
                             args->set ? "--set" : "-o");
    for (int i = 0; args->task.config && i < call->nwords; i++)
        if (!key_meant(call->words[i]))
            return refuse_key(call, call->words[i]);
    if (args->task.config)
        return show(call, &err) < 0 ? command_fail(call->name, &err) : 0;
    if (call->nwords)
        return explain_all(call);
    list_keys();
    return 0;
}

static const struct option rows[] = {TASK_OPTIONS,
                                     {"set", OPTION_BOOL, offsetof(struct config_args, set),
                                      .help = "leave out keys that have their defaults"},
                                     {0}};

const struct command command_config = {
    .name = "config",
    .summary = "list the keys of configs, explain one, print what a config comes to",
    .usage = "\nKEY...\nconfig.yaml [-o key=value ...] [--set] [KEY...]",
    .text =
        "Without arguments, lists all keys with their defaults and types. With a KEY (its name, "
        "its last word, or its name in another tool), says what it means, what its value may "
        "be, its default, the commands that read it, the variable that takes precedence, and "
        "names of other tools that it does not go by.\n\n"
        "With a config, prints every key and its effective value, and where that comes from: the "
        "line of the file, -o, a variable of the environment, or the default; behind it the "
        "key that gives the value, if that is another one. Secrets are not printed. Wrong "
        "values and unknown keys are errors, as in training. Flags of commands such as "
        "--transport take precedence over all of these. "
        "docs/reference/configuration.md has all keys on a page.",
    .examples = "skiff config epochs\n"
                "skiff config config.yaml --set\n"
                "skiff config config.yaml -o runner.epochs=3 runner.sync_mode",
    .group = COMMAND_TRAIN,
    .options =
        &(const struct options){
            .rows = rows, .words = "KEY...", .is_first = task_is_config, TASK_WORDS},
    .args_size = sizeof(struct config_args),
    .run = run};
