/* The flags of `skiff launch`, fleetrun and launch_ps, and the choice of the mode: flags of
 * servers and workers, or flags of ranks, but not both. Flags of Paddle's launchers without a
 * meaning on CPUs are accepted and ignored, so that existing scripts run; those that would change
 * the result are refused. Everything behind the script belongs to the script. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/launch_args.h"
#include "cli/task_flags.h"
#include "store/file.h"

#define AT(field) offsetof(struct launch_args, field)
#define NO_HETER "heterogeneous workers are not supported; remove this flag"
static const struct option rows[] = {
    {"config", OPTION_PASS, AT(config), .letter = 'm', .also_letter = 'c', .also = "config_yaml",
     .value = "FILE ...",
     .help = "run skiff train in every process with this config and the arguments that follow",
     .group = "program"},
    {"resume", OPTION_BOOL, AT(resume),
     .help = "with -m: resume from the newest complete epoch, or from the part that Ctrl-C saved"},
    {"server_num", OPTION_INT, AT(options.server_num), .low = 1, .high = 65535, .value = "N",
     .help = "start N servers on this machine, on free ports", .group = "servers and workers"},
    {"worker_num", OPTION_INT, AT(options.worker_num), .also = "trainer_num", .low = 1,
     .high = 65535, .value = "N", .help = "start N workers on this machine"},
    {"servers", OPTION_TEXT, AT(options.servers), .also = "endpoints", .value = "LIST",
     .help = "list all servers as host:port,host:port; every machine starts the servers that have "
             "its own "
             "address (POD_IP names it)"},
    {"workers", OPTION_TEXT, AT(options.workers), .also = "trainers", .value = "LIST",
     .help = "list the hosts of all workers as host,host; every machine starts its own"},
    {"server_memory", OPTION_SIZE, AT(options.server_memory), .value = "SIZE",
     .default_text = "no limit",
     .help =
         "limit the memory of the sparse tables of each server, as 8G; at the limit the tables' "
         "memory_policy decides which rows leave"},
    {"collective", OPTION_BOOL, AT(options.collective),
     .help = "start ranks, each of which holds all parameters; the default if no flag of "
             "servers and workers is given",
     .group = "ranks (collective training)"},
    {"nproc_per_node", OPTION_INT, AT(options.nproc), .low = 0, .high = 65535, .value = "N",
     .help = "start N ranks on this machine", .default_text = "1"},
    {"devices", OPTION_TEXT, AT(devices), .also = "gpus", .value = "0,1",
     .help = "start one rank for each number; all of them use CPUs"},
    {"xpus", OPTION_TEXT, AT(devices), .value = "0,1", .help = "same as --devices"},
    {"selected_gpus", OPTION_TEXT, AT(devices), .also = "npus", .value = "0,1",
     .help = "same as --devices"},
    {"ips", OPTION_TEXT, AT(options.ips), .value = "LIST",
     .help =
         "list the addresses of all machines with ranks; run the same command on each; ports begin "
         "at --start_port",
     .default_text = "this machine alone"},
    {"nnodes", OPTION_INT, AT(options.nnodes), .low = 1, .high = 65535, .value = "N",
     .help = "run the job on N machines, whose launchers find each other at --master",
     .default_text = "1"},
    {"master", OPTION_TEXT, AT(options.master), .value = "HOST:PORT",
     .help = "set the rendezvous of the launchers: an address of one of the machines"},
    {"rank", OPTION_INT, AT(options.rank), .low = -1, .high = 65534, .standard = "-1", .value = "N",
     .help = "set the number of this machine, from 0", .default_text = "by order of arrival"},
    {"job_id", OPTION_TEXT, AT(options.job_id), .value = "NAME",
     .help = "name the job; all machines that use one --master give the same name"},
    {"restarts", OPTION_INT, AT(restarts), .low = 0, .high = 1000000, .value = "N",
     .help = "restart the whole job up to N times when a rank fails: with -m from the "
             "last saved epoch; scripts read SKIFF_RESTART=1, 2, ...",
     .default_text = "0"},
    {"host", OPTION_TEXT, AT(options.host), .value = "HOST",
     .help = "set the address of this machine", .default_text = "POD_IP",
     .group = "addresses and transport"},
    {"start_port", OPTION_INT, AT(options.start_port), .low = 0, .high = 65535, .value = "N",
     .help = "use the ports N, N + 1, ... for the servers of --server_num, or for ranks",
     .default_text = "free ports; with --ips 6070"},
    {"transport", OPTION_TEXT, AT(options.transport), .value = "NAME",
     .help =
         "connect processes by tcp or by ipc (faster on one machine); settings may follow the name "
         "(docs/guide/distributed.md)",
     .default_text = "tcp"},
    {"encrypt", OPTION_TEXT, AT(options.encrypt), .value = "on|off|auto",
     .help = "encrypt connections; auto: only those between machines", .group = "security",
     .default_text = "auto"},
    {"secret_file", OPTION_TEXT, AT(secret_file), .value = "FILE",
     .help = "read the job's secret from FILE (skiff secret new; docs/guide/security.md)",
     .default_text = "on one machine a new secret"},
    {"share_secret", OPTION_BOOL, AT(options.share_secret),
     .help = "make a secret on the machine of server 0 or rank 0 and send it to the other machines "
             "by ssh"},
    {"insecure", OPTION_BOOL, AT(options.insecure),
     .help = "allow several machines without a secret: any process that can connect can "
             "read and change everything"},
    {"log_dir", OPTION_TEXT, AT(options.log_dir), .value = "DIR",
     .help = "write serverlog.N and workerlog.N to DIR", .group = "output",
     .default_text = "log; launch-ps: logs"},
    {"log_overwrite", OPTION_BOOL, AT(options.log_overwrite), .takes_word = true,
     .help =
         "overwrite the logs of ranks instead of appending to them (logs of servers and workers "
         "are always overwritten); True or False may follow"},
    {"log_level", OPTION_TEXT, AT(log_level), .value = "LEVEL",
     .help = "set the level as in Paddle: DEBUG is -v; WARNING, ERROR and CRITICAL are -q"},
    {"quiet", OPTION_BOOL, AT(quiet), .letter = 'q',
     .help = "print only warnings, errors and the table at the end"},
    {"verbose", OPTION_BOOL, AT(verbose), .letter = 'v',
     .help = "also list the processes, and the skiff doctor command for this job"},
    {"log_format", OPTION_CHOICE, AT(log_format), .words = task_log_formats,
     .given = AT(has_log_format), .value = "FORMAT", .default_text = "table",
     .help = "with a config: print epochs in the logs as rows of one table, or as PaddleRec's "
             "lines"},
    {"run_mode", OPTION_TEXT, AT(run_mode), .value = "collective|ps",
     .help = "choose the mode if no other flag does", .group = "as in Paddle's launchers"},
    {"backend", OPTION_TEXT, AT(backend), .value = "gloo",
     .help = "accept gloo or auto; other backends are for GPUs"},
    {"elastic_level", OPTION_INT, AT(elastic_level), .standard = "-1", .value = "N",
     .help = "above 0: restart a failed job up to --max_restart times"},
    {"max_restart", OPTION_INT, AT(max_restart), .low = 0, .high = 1000000, .standard = "3",
     .value = "N", .help = "limit the restarts of --elastic_level"},
    /* without meaning for parameter servers on CPUs, or parsed and unused by Paddle itself */
    {"cluster_node_ips", OPTION_IGNORED, .at = 0},
    {"node_ip", OPTION_IGNORED, .at = 0},
    {"print_config", OPTION_IGNORED, .at = 0},
    {"http_port", OPTION_IGNORED, .at = 0},
    {"elastic_timeout", OPTION_IGNORED, .at = 0},
    {"gloo_port", OPTION_IGNORED, .at = 0},
    {"with_gloo", OPTION_IGNORED, .at = 0},
    {"sort_ip", OPTION_IGNORED, .at = 0},
    {"enable_gpu_log", OPTION_IGNORED, .at = 0},
    {"heter_workers", OPTION_REFUSED, .help = NO_HETER},
    {"heter_worker_num", OPTION_REFUSED, .help = NO_HETER},
    {"heter_devices", OPTION_REFUSED, .help = NO_HETER},
    {0}};

const struct options launch_options_table = {
    .rows = rows,
    .words = "COMMAND",
    .rest = true,
    .is_first = task_is_config,
    .meant = task_flag_meant,
    .advice = "write flags of the script after the script, and flags of another command after --"};

void launch_args_resume(struct launch_args *a)
{
    char **words = mem_alloc_or_die(((size_t)a->ncommand + 2) * sizeof *words);
    int n = 0;
    for (int i = 0; i < a->ncommand; i++)
        if (!a->options.attempt ||
            (strcmp(a->command[i], "--overwrite") && strcmp(a->command[i], "--resume")))
            words[n++] = a->command[i];
    words[n++] = "--resume";
    words[n] = NULL;
    free(a->longer);
    a->longer = a->command = words;
    a->ncommand = n;
}

/* The package that is next to the executable, so that scripts find it. */
static void find_python_path(struct launch_args *a)
{
    static const char *const positions[] = {"python", "../lib/skiff/python"};
    const char *slash = strrchr(a->exe, '/');
    for (size_t i = 0; i < sizeof positions / sizeof positions[0] && !a->options.python_path; i++) {
        snprintf(a->python_path, sizeof a->python_path, "%.*s/%s",
                 (int)(slash ? slash - a->exe : 0), a->exe, positions[i]);
        if (file_is_dir(a->python_path))
            a->options.python_path = a->python_path;
    }
}

void launch_args_fill(struct launch_args *a)
{
    ssize_t n = readlink("/proc/self/exe", a->exe, sizeof a->exe - 1);
    a->exe[n > 0 ? n : 0] = 0;
    char **words = mem_alloc_or_die(((size_t)a->ncommand + 4) * sizeof *words);
    int at = 0;
    if (a->kind == LAUNCH_CONFIG) {
        words[at++] = a->program ? (char *)a->program : a->exe;
        words[at++] = "train";
    } else if (a->kind == LAUNCH_SCRIPT) {
        words[at++] = a->exe; /* it knows which Python */
        words[at++] = "python";
        words[at++] = "-u";
    }
    memcpy(words + at, a->command, (size_t)a->ncommand * sizeof *words);
    free(a->options.command);
    a->options.command = words;
    a->options.saves = a->kind == LAUNCH_CONFIG;
    find_python_path(a);
}

void launch_args_deinit(struct launch_args *a)
{
    free(a->longer);
    free(a->options.command);
}

/* ---- the environment ---- */

static bool names_ps(const struct launch_args *a)
{
    return a->options.servers || a->options.workers || a->options.server_num ||
           a->options.worker_num;
}

static const struct option *find_row(const char *name)
{
    const struct option *row = rows;
    while (strcmp(row->name, name) != 0)
        row++;
    return row;
}

int launch_args_environment(struct launch_args *a, const char *name)
{
    static const char *const variables[][2] = {{"PADDLE_NPROC_PER_NODE", "nproc_per_node"},
                                               {"PADDLE_DEVICES", "devices"},
                                               {"PADDLE_NNODES", "nnodes"},
                                               {"PADDLE_MASTER", "master"},
                                               {"PADDLE_RANK", "rank"},
                                               {"PADDLE_IPS", "ips"},
                                               {"PADDLE_START_PORT", "start_port"},
                                               {"PADDLE_LOG_DIR", "log_dir"},
                                               {"PADDLE_LOG_LEVEL", "log_level"},
                                               {"PADDLE_LOG_OVERWRITE", "log_overwrite"},
                                               {"PADDLE_JOB_ID", "job_id"},
                                               {"PADDLE_RUN_MODE", "run_mode"},
                                               {"PADDLE_MAX_RESTART", "max_restart"},
                                               {"PADDLE_ELASTIC_LEVEL", "elastic_level"}};
    struct skiff_error err = {0};
    if (names_ps(a) || getenv(LAUNCH_MARK)) /* inside a job its launcher has set them */
        return 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *text = getenv(variables[i][0]);
        if (text && *text &&
            option_put(find_row(variables[i][1]), a, variables[i][0], text, &err) < 0)
            return command_usage(name, "%s", err.message);
    }
    return 0;
}

/* ---- the mode ---- */

/* A flag that only collective jobs have, or NULL. */
static const char *names_collective(const struct launch_args *a)
{
    return a->options.collective  ? "--collective"
           : a->options.nproc     ? "--nproc_per_node"
           : a->options.ips       ? "--ips"
           : a->options.master    ? "--master"
           : a->options.nnodes    ? "--nnodes"
           : a->options.rank >= 0 ? "--rank"
           : a->restarts          ? "--restarts"
                                  : NULL;
}

bool launch_args_parts(const struct launch_args *a)
{
    return names_ps(a) || names_collective(a) || a->devices || a->run_mode;
}

/* Servers and workers if anything says so, as in Paddle; else collective. */
static int choose_mode(struct launch_args *a, const char *name, bool launch_ps)
{
    const char *flag = names_collective(a);
    bool ps_mode = a->run_mode && !strcasecmp(a->run_mode, "ps");
    if (a->run_mode && !ps_mode && strcasecmp(a->run_mode, "collective") != 0)
        return command_usage(name, "--run_mode is '%s'; expected collective or ps", a->run_mode);
    bool ps = launch_ps || names_ps(a) || ps_mode;
    a->options.collective = !ps;
    if (ps && flag)
        return command_usage(name,
                             "%s is for ranks, each of which holds all parameters; %s for "
                             "parameter servers and workers; give one of them",
                             flag,
                             launch_ps ? "launch-ps is"
                             : names_ps(a)
                                 ? "--server_num, --worker_num, --servers and --workers are"
                                 : "--run_mode ps is");
    return 0;
}

/* ---- what goes together ---- */

static int check_nodes(const struct launch_args *a, const char *name)
{
    int nodes = a->options.nnodes ? a->options.nnodes : 1;
    if (a->options.ips && a->options.master)
        return command_usage(
            name, "--ips lists all machines, --master sets their rendezvous; give one of them");
    if (a->options.ips && (a->options.rank >= 0 || a->options.nnodes))
        return command_usage(name, "--nnodes and --rank need --master; with --ips, the list gives "
                                   "the number of machines, and POD_IP or --host this machine");
    if (nodes > 1 && !a->options.master)
        return command_usage(
            name,
            "--nnodes %d needs a rendezvous: give --master HOST:PORT, the same on all machines",
            nodes);
    if (a->options.rank >= nodes)
        return command_usage(name, "--rank %d: with --nnodes %d, ranks of machines are 0 to %d",
                             a->options.rank, nodes, nodes - 1);
    if (a->options.master && a->options.share_secret)
        return command_usage(name, "--share_secret needs the addresses of all machines: --ips "
                                   "instead of --master, or --secret_file");
    return 0;
}

/* --devices: so many ranks, unless --nproc_per_node says another number. 0 after a message. */
static int count_devices(const struct launch_args *a, const char *name)
{
    int n = 1;
    const char *at = a->devices ? a->devices : "cpu";
    if (!strcasecmp(at, "cpu"))
        return 1;
    for (; *at; n += *at == ',', at += *at == ',') {
        const char *from = at;
        while (isdigit((unsigned char)*at))
            at++;
        if (at == from || (*at && *at != ',') || (*at == ',' && !at[1])) {
            command_usage(name, "--devices is '%s'; expected numbers with commas, such as 0,1",
                          a->devices);
            return 0;
        }
    }
    return n;
}

static int check_collective(struct launch_args *a, const char *name)
{
    int devices = count_devices(a, name), status = check_nodes(a, name);
    if (!devices || status)
        return 2;
    a->options.nproc = a->options.nproc ? a->options.nproc : devices;
    if (a->elastic_level > 0 && !a->restarts)
        a->restarts = a->max_restart;
    return 0;
}

/* `skiff train ...`, spelt out, is what -m would have started. */
static void take_train(struct launch_args *a)
{
    const char *slash = strrchr(a->command[0], '/');
    if (a->ncommand < 2 || strcmp(slash ? slash + 1 : a->command[0], "skiff") != 0 ||
        strcmp(a->command[1], "train") != 0)
        return;
    a->kind = LAUNCH_CONFIG;
    a->program = a->command[0];
    a->command += 2;
    a->ncommand -= 2;
}

/* What is to be run in every process. */
static int check_command(struct launch_args *a, const struct command_call *call)
{
    a->command = call->words;
    a->ncommand = call->nwords;
    if (!a->ncommand)
        return command_usage(call->name,
                             "nothing to start: give config.yaml, script.py or -- command");
    size_t n = strlen(a->command[0]);
    if (a->config || (!call->dashes && task_is_config(a->command[0])))
        a->kind = LAUNCH_CONFIG;
    else if (!call->dashes && n > 3 && !strcmp(a->command[0] + n - 3, ".py"))
        a->kind = LAUNCH_SCRIPT;
    else
        take_train(a);
    if (a->resume && a->kind != LAUNCH_CONFIG)
        return command_usage(
            call->name, "--resume needs -m config.yaml; give flags of a script after its name");
    if (a->resume)
        launch_args_resume(a);
    return 0;
}

/* The processes read their format from the environment. */
static void take_log_flags(struct launch_args *a)
{
    if (a->has_log_format)
        setenv(TASK_LOG_FORMAT_ENV, task_log_formats[a->log_format], 1);
    static const char *const quiet[] = {"WARN", "WARNING", "ERROR", "CRITICAL", "FATAL", NULL};
    for (int i = 0; a->log_level && quiet[i]; i++)
        a->quiet |= !strcasecmp(a->log_level, quiet[i]);
    a->verbose |= a->log_level && !a->quiet && !strcasecmp(a->log_level, "DEBUG");
}

int launch_args_check(struct launch_args *a, const struct command_call *call, bool launch_ps)
{
    if (a->quiet && a->verbose)
        return command_usage(call->name,
                             "--quiet and --verbose exclude each other; give one of them");
    take_log_flags(a);
    int status = check_command(a, call);
    status = status ? status : choose_mode(a, call->name, launch_ps);
    if (!status && a->options.collective)
        status = check_collective(a, call->name);
    if (!a->options.log_dir || !*a->options.log_dir)
        a->options.log_dir = launch_ps ? "logs" : "log";
    if (launch_ps && !a->options.server_num && !a->options.servers)
        a->options.server_num = 2;
    if (launch_ps && !a->options.worker_num && !a->options.workers)
        a->options.worker_num = 2;
    return status;
}
