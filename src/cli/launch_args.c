/* The flags of `skiff launch`, fleetrun and launch_ps. */
#include <string.h>

#include "base/mem.h"
#include "cli/launch.h"

#define AT(field) offsetof(struct launch_args, field)
#define NO_HETER "there are no heterogeneous workers here"
#define NO_COLLECTIVE                                                                        \
    "that is collective training; here are parameter servers and workers: --server_num and " \
    "--worker_num"

static const struct option rows[] = {
    {"config_yaml", OPTION_PASS, AT(config), .letter = 'm', .value = "FILE ...",
     .help = "runs skiff train with this config, and what follows, in every process"},
    {"server_num", OPTION_INT, AT(server_num), .low = 1, .high = 65535, .value = "N",
     .help = "so many servers on this machine, on free ports"},
    {"worker_num", OPTION_INT, AT(worker_num), .low = 1, .high = 65535, .value = "N",
     .help = "so many workers on this machine"},
    {"servers", OPTION_TEXT, AT(servers), .also = "endpoints", .value = "LIST",
     .help =
         "host:port,host:port of all servers; every machine starts those with its own addresses "
         "(POD_IP says which one it is)"},
    {"workers", OPTION_TEXT, AT(workers), .value = "LIST",
     .help = "host,host of all workers, the same way"},
    {"start_port", OPTION_INT, AT(start_port), .low = 0, .high = 65535, .value = "N",
     .help = "ports of --server_num: N, N + 1, ..."},
    {"log_dir", OPTION_TEXT, AT(log_dir), .value = "DIR",
     .help = "for serverlog.N and workerlog.N; log unless said otherwise (launch-ps: logs)"},
    {"transport", OPTION_TEXT, AT(transport), .value = "NAME",
     .help = "how processes reach each other: tcp, or ipc (faster on one machine), with settings "
             "behind it (docs/launch.md)"},
    {"encrypt", OPTION_TEXT, AT(encrypt), .value = "on|off|auto",
     .help = "whether others can read what passes between them; auto: not between machines"},
    {"secret_file", OPTION_TEXT, AT(secret_file), .value = "FILE",
     .help = "the job's secret (skiff secret new; docs/security.md); on one machine one is made"},
    {"share_secret", OPTION_BOOL, AT(share_secret),
     .help = "the machine of server 0 makes a secret and sends it to the others by ssh"},
    {"insecure", OPTION_BOOL, AT(insecure),
     .help = "allows several machines without a secret: whoever reaches a server can read and "
             "change everything"},
    {"resume", OPTION_BOOL, AT(resume),
     .help = "with -m: goes on behind the newest whole epoch, or with the part that Ctrl-C saved"},
    {"quiet", OPTION_BOOL, AT(quiet), .letter = 'q',
     .help = "no progress; only the table, and what "
             "is wrong"},
    {"verbose", OPTION_BOOL, AT(verbose), .letter = 'v',
     .help = "also the processes, and the command of skiff doctor for this job"},
    /* without meaning for parameter servers on CPUs, or parsed and unused by Paddle itself */
    {"cluster_node_ips", OPTION_IGNORED, .at = 0},
    {"node_ip", OPTION_IGNORED, .at = 0},
    {"print_config", OPTION_IGNORED, .at = 0},
    {"http_port", OPTION_IGNORED, .at = 0},
    {"gpus", OPTION_IGNORED, .at = 0},
    {"selected_gpus", OPTION_IGNORED, .at = 0},
    {"devices", OPTION_IGNORED, .at = 0},
    {"backend", OPTION_IGNORED, .at = 0},
    {"run_mode", OPTION_IGNORED, .at = 0},
    {"log_level", OPTION_IGNORED, .at = 0},
    {"job_id", OPTION_IGNORED, .at = 0},
    {"master", OPTION_REFUSED,
     .help = "every machine gets the same --servers and --workers lists instead"},
    {"ips", OPTION_REFUSED, .help = NO_COLLECTIVE},
    {"nproc_per_node", OPTION_REFUSED, .help = NO_COLLECTIVE},
    {"heter_workers", OPTION_REFUSED, .help = NO_HETER},
    {"heter_worker_num", OPTION_REFUSED, .help = NO_HETER},
    {"heter_devices", OPTION_REFUSED, .help = NO_HETER},
    {0}};

const struct options launch_options = {
    .rows = rows,
    .words = "COMMAND",
    .rest = true,
    .advice = "flags of the script stand after the script, those of another command after --"};

/* Every process of the job is told to resume. */
static void add_resume(struct launch_args *a)
{
    a->longer = mem_must(((size_t)a->ncommand + 2) * sizeof *a->longer);
    memcpy(a->longer, a->command, (size_t)a->ncommand * sizeof *a->longer);
    a->longer[a->ncommand++] = "--resume";
    a->command = a->longer;
}

int launch_args_check(struct launch_args *a, const struct command_call *call, bool launch_ps)
{
    a->command = call->words;
    a->ncommand = call->nwords;
    if (!a->ncommand)
        return command_usage(call->name,
                             "what is to be started? -m config.yaml, script.py or -- command");
    size_t n = strlen(a->command[0]);
    if (a->config)
        a->kind = LAUNCH_CONFIG;
    else if (!call->dashes && n > 3 && !strcmp(a->command[0] + n - 3, ".py"))
        a->kind = LAUNCH_SCRIPT;
    if (a->quiet && a->verbose)
        return command_usage(call->name, "--quiet or --verbose, not both");
    if (a->resume && !a->config)
        return command_usage(call->name, "--resume goes with -m config.yaml; a script has flags of "
                                         "its own behind its name");
    if (a->resume)
        add_resume(a);
    if (!a->log_dir)
        a->log_dir = launch_ps ? "logs" : "log";
    if (launch_ps && !a->server_num && !a->servers)
        a->server_num = 2;
    if (launch_ps && !a->worker_num && !a->workers)
        a->worker_num = 2;
    return 0;
}
