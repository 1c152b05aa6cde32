/* skiff doctor: prints what the checks of src/doctor find, with the remedy below every fault. The
 * exit status is 1 if there is a fault; warnings alone leave it 0. */
#include <limits.h>
#include <stdio.h>

#include "base/plural.h"
#include "cli/command.h"
#include "cli/task_flags.h"
#include "doctor/doctor.h"
#include "fleet/observer.h"

struct doctor_flags {
    struct task_args config; /* first */
    const char *servers, *workers;
    int worker_num, timeout, pid;
};

static void print_finding(void *arg, const struct doctor_finding *f)
{
    static const char *const marks[DOCTOR_LEVELS] = {"ok", "note", "WRONG"};
    printf("%-6s%s\n", marks[f->level], f->text);
    if (f->advice)
        printf("      -> %s\n", f->advice);
}

static int run(const struct command_call *call)
{
    struct doctor_flags *a = call->args;
    struct doctor_options o = {.task = &a->config,
                               .servers = a->servers,
                               .workers = a->workers,
                               .worker_num = a->worker_num,
                               .pid = a->pid,
                               .timeout_ms = a->timeout * 1000};
    int status = 0;
    struct skiff_error err = {0};
    if (a->config.overrides.n)
        status = task_args_check(&a->config, call->name);
    else
        task_args_print(&a->config, call->name);
    if (status)
        return status;
    if (a->pid && observer_environment(a->pid, &err) < 0)
        return command_fail(call->name, &err);
    struct doctor_result r = doctor_run(&o, print_finding, NULL);
    int warnings = r.count[DOCTOR_WARNING], faults = r.count[DOCTOR_FAULT];
    printf("\n%d ok, %d warning%s, %d fault%s\n", r.count[DOCTOR_OK], warnings, plural(warnings),
           faults, plural(faults));
    if (!faults)
        return 0;
    fflush(stdout);
    fprintf(stderr, "skiff doctor: %d fault%s found; see above\n", faults, plural(faults));
    return 1;
}

#define AT(field) offsetof(struct doctor_flags, field)

static const struct option rows[] = {
    TASK_OPTIONS,
    {"servers", OPTION_TEXT, AT(servers), .also = "endpoints", .value = "LIST", .group = "the job",
     .help = "list all servers as host:port,host:port", .default_text = "from the environment"},
    {"workers", OPTION_TEXT, AT(workers), .value = "LIST", .help = "list the hosts of all workers"},
    {"worker_num", OPTION_INT, AT(worker_num), .low = 1, .high = 1000000, .value = "N",
     .help = "set the number of workers"},
    {"pid", OPTION_INT, AT(pid), .low = 1, .high = INT_MAX, .value = "N",
     .help = "take role, job and secret from a process of the job on this machine (skiff launch -v "
             "lists them)"},
    {"timeout", OPTION_INT, AT(timeout), .low = 1, .high = 1000000, .value = "SECONDS",
     .standard = "10", .help = "wait so long for the answer of a server"},
    TASK_TRANSPORT(.group = "connection"),
    {0}};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "check roles, names, ports, links and data of a job, and suggest remedies",
    .usage = "[config.yaml [-o key=value ...]] [--servers LIST] [--workers LIST] [--worker_num N]\n"
             "[config.yaml [-o key=value ...]] --pid N",
    .text =
        "Checks a job before it runs or while it runs. For every fault it prints the remedy. It "
        "checks roles, names, "
        "ports (free, in use, by what), links to servers, clocks, proxies and limits; with a "
        "config also "
        "the config and its data. Without --servers, the environment describes the job. Exit "
        "status 1: "
        "at least one fault.",
    .examples = "skiff doctor config.yaml\n"
                "skiff doctor --servers a:7000,b:7000 --workers a,b\n"
                "skiff doctor --pid 12345",
    .group = COMMAND_OPERATE,
    .options = &(const struct options){.rows = rows, TASK_WORDS},
    .args_size = sizeof(struct doctor_flags),
    .run = run};
