/* The flags of `skiff launch`, fleetrun and launch_ps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/launch.h"

enum meaning { TAKE_INT, TAKE_TEXT, IGNORED, REFUSED };

struct launch_flag {
    const char *name;
    enum meaning meaning;
    size_t at;       /* in struct launch_args */
    const char *why; /* REFUSED */
};

#define AT(field) offsetof(struct launch_args, field)
#define NO_HETER "there are no heterogeneous workers here"
#define NO_COLLECTIVE                                                                        \
    "that is collective training; here are parameter servers and workers: --server_num and " \
    "--worker_num"

static const struct launch_flag flags[] = {
    {"--server_num", TAKE_INT, AT(server_num), NULL},
    {"--worker_num", TAKE_INT, AT(worker_num), NULL},
    {"--start_port", TAKE_INT, AT(start_port), NULL},
    {"--servers", TAKE_TEXT, AT(servers), NULL},
    {"--endpoints", TAKE_TEXT, AT(servers), NULL},
    {"--workers", TAKE_TEXT, AT(workers), NULL},
    {"--log_dir", TAKE_TEXT, AT(log_dir), NULL},
    /* without meaning for parameter servers on CPUs, or parsed and unused by Paddle itself */
    {"--cluster_node_ips", IGNORED, 0, NULL},
    {"--node_ip", IGNORED, 0, NULL},
    {"--print_config", IGNORED, 0, NULL},
    {"--http_port", IGNORED, 0, NULL},
    {"--gpus", IGNORED, 0, NULL},
    {"--selected_gpus", IGNORED, 0, NULL},
    {"--devices", IGNORED, 0, NULL},
    {"--backend", IGNORED, 0, NULL},
    {"--run_mode", IGNORED, 0, NULL},
    {"--log_level", IGNORED, 0, NULL},
    {"--job_id", IGNORED, 0, NULL},
    {"--master", REFUSED, 0, "every machine gets the same --servers and --workers lists instead"},
    {"--ips", REFUSED, 0, NO_COLLECTIVE},
    {"--nproc_per_node", REFUSED, 0, NO_COLLECTIVE},
    {"--heter_workers", REFUSED, 0, NO_HETER},
    {"--heter_worker_num", REFUSED, 0, NO_HETER},
    {"--heter_devices", REFUSED, 0, NO_HETER},
};

static const struct launch_flag *find(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        const char *name = flags[i].name;
        if (strlen(name) != len)
            continue;
        bool same = true;
        for (size_t k = 0; k < len && same; k++)
            same = name[k] == word[k] || (k > 1 && name[k] == '_' && word[k] == '-');
        if (same)
            return &flags[i];
    }
    return NULL;
}

static int store(struct launch_args *a, const char *command, const struct launch_flag *f,
                 const char *value)
{
    char *end;
    if (f->meaning == TAKE_TEXT)
        *(const char **)((char *)a + f->at) = value;
    if (f->meaning != TAKE_INT)
        return 0;
    long v = strtol(value, &end, 10);
    if (*end || end == value || v < 0 || v > 65535)
        return command_usage(command, "%s is '%s'; expected a number from 0 to 65535", f->name,
                             value);
    *(int *)((char *)a + f->at) = (int)v;
    return 0;
}

/* One flag and its value, as two words or with '='. */
static int take_flag(struct launch_args *a, int argc, char **argv, int *at)
{
    const char *word = argv[*at], *equals = strchr(word, '=');
    const struct launch_flag *f = find(word, equals ? (size_t)(equals - word) : strlen(word));
    if (!f)
        return command_usage(argv[0],
                             "there is no flag %s; flags of the script stand after the script, "
                             "those of another command after --",
                             word);
    if (f->meaning == REFUSED)
        return command_usage(argv[0], "%s: %s", f->name, f->why);
    if (!equals && ++*at >= argc)
        return command_usage(argv[0], "%s needs a value", f->name);
    return store(a, argv[0], f, equals ? equals + 1 : argv[*at]);
}

static bool is_launch_flag(const char *word)
{
    const char *equals = strchr(word, '=');
    return word[0] == '-' && find(word, equals ? (size_t)(equals - word) : strlen(word));
}

static void add_word(struct launch_args *a, char *word)
{
    a->command = mem_must_grow(a->command, (size_t)(a->ncommand + 2) * sizeof(*a->command));
    a->command[a->ncommand++] = word;
    a->command[a->ncommand] = NULL;
}

static int take_rest(struct launch_args *a, int argc, char **argv, int at)
{
    while (at < argc)
        add_word(a, argv[at++]);
    return 0;
}

static int check(const struct launch_args *a, const char *name)
{
    if (!a->ncommand)
        return command_usage(name,
                             "what is to be started? -m config.yaml, script.py or -- command");
    if (a->server_num == 0 && !a->servers)
        return command_usage(name, "--server_num is 0; a job has at least 1 server");
    if (a->worker_num == 0 && !a->workers)
        return command_usage(name, "--worker_num is 0; a job has at least 1 worker");
    return 0;
}

int launch_args_parse(struct launch_args *a, int argc, char **argv, bool launch_ps)
{
    *a = (struct launch_args){.server_num = -1, .worker_num = -1, .log_dir = "log"};
    if (launch_ps)
        a->log_dir = "logs";
    for (int i = 1, status; i < argc; i++) {
        char *word = argv[i];
        bool own = is_launch_flag(word);
        if (a->kind == LAUNCH_CONFIG && !own) {
            add_word(a, word);
            continue;
        }
        if (!strcmp(word, "-h") || !strcmp(word, "--help")) {
            a->help = true;
            return 0;
        }
        if (!strcmp(word, "-q") || !strcmp(word, "--quiet")) {
            a->quiet = true;
        } else if (!strcmp(word, "--")) {
            take_rest(a, argc, argv, i + 1);
            break;
        } else if (!strcmp(word, "-m")) {
            a->kind = LAUNCH_CONFIG;
            add_word(a, word);
        } else if (word[0] == '-') {
            if ((status = take_flag(a, argc, argv, &i)))
                return status;
        } else {
            size_t n = strlen(word);
            a->kind = n > 3 && !strcmp(word + n - 3, ".py") ? LAUNCH_SCRIPT : LAUNCH_COMMAND;
            take_rest(a, argc, argv, i);
            break;
        }
    }
    if (launch_ps && a->server_num < 0 && !a->servers)
        a->server_num = 2;
    if (launch_ps && a->worker_num < 0 && !a->workers)
        a->worker_num = 2;
    return check(a, argv[0]);
}

void launch_args_deinit(struct launch_args *a)
{
    free(a->command);
    a->command = NULL;
}
