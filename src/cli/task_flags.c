#include "cli/task_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "cli/command.h"
#include "config/keys.h"

bool task_is_config(const char *word)
{
    const char *dot = strrchr(word, '.');
    return dot && (!strcasecmp(dot, ".yaml") || !strcasecmp(dot, ".yml"));
}

/* --learning-rate, --runner.epochs */
bool task_flag_meant(const char *name, const char *value, struct buf *out)
{
    char *word = mem_strdup_or_die(name);
    for (char *at = word; *at; at++)
        *at = *at == '-' ? '_' : *at;
    enum config_key key = key_meant(word);
    bool known = key && !key_is_family(key);
    if (known)
        buf_printf(out, "set this key of the config with -o %s=%s", key_name(key),
                   value ? value : "VALUE");
    free(word);
    return known;
}

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

const char *const task_log_formats[] = {"table", "paddlerec", NULL};

/* From the environment, unless a flag says it. */
static int read_log_format(struct task_args *a, const char *command)
{
    static const struct option row = TASK_LOG_FORMAT;
    struct skiff_error err = {0};
    const char *text = getenv(TASK_LOG_FORMAT_ENV);
    if (a->has_log_format || !text || !*text)
        return 0;
    return option_put(&row, a, TASK_LOG_FORMAT_ENV, text, &err) < 0
               ? command_usage(command, "%s", err.message)
               : 0;
}

int task_args_check(struct task_args *a, const char *command)
{
    if (a->quiet && a->verbose)
        return command_usage(command, "--quiet and --verbose exclude each other; give one of them");
    log_set_level(a->quiet ? LOG_WARN : a->verbose ? LOG_DEBUG : LOG_INFO);
    task_args_print(a, command);
    int status = read_log_format(a, command);
    if (status)
        return status;
    return a->config
               ? 0
               : command_usage(command, "a config is required: skiff %s config.yaml", command);
}
