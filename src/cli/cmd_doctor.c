/* skiff doctor: checks a job before or while it runs.
 *
 * The checks need no running job: environment, limits, the config and its data are read here,
 * names and ports are tried in doctor_net.c. The command connects to servers only as a read-only
 * observer (observer.h). Every fault has a remedy, which is printed below it; the exit status is
 * 1 if there is a fault, warnings alone leave it 0. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/map.h"
#include "train/checkpoint.h"
#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/task_flags.h"
#include "fleet/observer.h"
#include "launch/launch.h"
#include "data/files.h"
#include "fs/fs.h"
#include "fleet/settings.h"
#include "store/file.h"

/* ---- findings ---- */

static void finding(const char *mark, const char *advice, const char *format, va_list ap)
{
    printf("%-6s", mark);
    vprintf(format, ap);
    printf("\n");
    if (advice)
        printf("      -> %s\n", advice);
}

#define FINDING(mark, advice)          \
    va_list ap;                        \
    va_start(ap, format);              \
    finding(mark, advice, format, ap); \
    va_end(ap)

void doctor_ok(struct doctor *d, const char *format, ...)
{
    FINDING("ok", NULL);
    d->fine++;
}

void doctor_warn(struct doctor *d, const char *advice, const char *format, ...)
{
    FINDING("note", advice);
    d->warnings++;
}

void doctor_wrong(struct doctor *d, const char *advice, const char *format, ...)
{
    FINDING("WRONG", advice);
    d->wrong++;
}

/* ---- this process and machine ---- */

static void check_limits(struct doctor *d, const struct role *role)
{
    struct rlimit files;
    rlim_t want = 256 + 8 * (rlim_t)(role->workers + role->nservers);
    if (getrlimit(RLIMIT_NOFILE, &files))
        return;
    if (files.rlim_cur < want)
        doctor_wrong(d, "raise it: ulimit -n 65536",
                     "%llu open files are allowed; this job needs %llu",
                     (unsigned long long)files.rlim_cur, (unsigned long long)want);
    else
        doctor_ok(d, "%llu open files are allowed", (unsigned long long)files.rlim_cur);
}

static void check_proxies(struct doctor *d)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "all_proxy",
                                        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
    bool any = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *v = getenv(names[i]);
        if (!v || !*v)
            continue;
        any = true;
        doctor_warn(d,
                    "links between processes never use it; unset it if scripts or pipe commands "
                    "must reach machines of the cluster (skiff launch does)",
                    "%s is set: %s", names[i], v);
    }
    if (!any)
        doctor_ok(d, "no proxy is set");
}

static void check_settings(struct doctor *d, struct settings *s)
{
    struct skiff_error err = {0};
    if (settings_read(s, NULL, NULL, &err) < 0)
        doctor_wrong(d, "docs/guide/distributed.md lists the variables", "%s", err.message);
    else if (s->job[0] || s->secret[0])
        doctor_ok(d, "the job is '%s', %s", s->job,
                  s->secret[0] ? "with a secret" : "without a secret");
}

/* A flag comes before the environment, and that before the config; a wrong config is reported
     * later. */
static void check_transport(struct doctor *d, const struct task_args *args, struct settings *s)
{
    struct skiff_error err = {0};
    struct config *c = NULL;
    enum skiff_status status = settings_set_transport(s, args->transport, &err);
    if (status == SKIFF_OK && args->config && config_open(args->config, &c, NULL) == SKIFF_OK) {
        for (int i = 0; i < args->overrides.n; i++)
            config_override(c, args->overrides.at[i], NULL);
        status = settings_set_transport(s, task_transport(args, c), &err);
    }
    struct settings_security security = {args->encrypt, args->secret_file, args->insecure};
    if (c)
        task_security(args, c, &security);
    if (status == SKIFF_OK)
        status = settings_set_security(s, &security, &err);
    config_close(c);
    if (status < 0)
        doctor_wrong(d, "docs/guide/distributed.md lists the transports", "%s", err.message);
    else
        doctor_ok(d, "transport: %s", s->links[0] ? s->links : "tcp");
    char weak[256];
    if (secret_is_weak(s->secret, weak, sizeof weak))
        doctor_warn(d, "docs/guide/security.md", "%s", weak);
}

/* ---- the config ---- */

static void check_data(struct doctor *d, struct task *j, const struct role *role)
{
    const char *const *names;
    int n, workers = role->workers > 0 ? role->workers : 1;
    struct file_list list;
    struct skiff_error err = {0};
    uint64_t hash = 0;
    file_list_init(&list);
    enum skiff_status status = task_files(j, &task_data_train, &names, &n, &err);
    for (int i = 0; status == SKIFF_OK && i < n; i++)
        status = file_list_expand(&list, names[i], &err);
    if (status < 0) {
        file_list_deinit(&list);
        doctor_wrong(d, "runner.train_data_dir must be there on every worker's machine", "%s",
                     err.message);
        return;
    }
    for (int i = 0; i < list.count; i++) {
        const char *slash = strrchr(list.paths[i], '/');
        const char *base = slash ? slash + 1 : list.paths[i];
        hash = hash * 31 + hash_bytes(base, strlen(base));
    }
    bool split = config_bool(j->config, KEY_RUNNER_SPLIT_FILE_LIST);
    doctor_ok(d, "training data: %d files%s; mark of the list: %08x%s", list.count,
              split ? ", divided among the workers" : ", all of them for each worker here",
              (unsigned)(hash ^ hash >> 32),
              split ? " (the list must be the same on every worker's machine)" : "");
    if (split && list.count < workers)
        doctor_wrong(d, "split the files further, or start fewer workers",
                     "%d files for %d workers: %d workers would be idle", list.count, workers,
                     workers - list.count);
    file_list_deinit(&list);
}

static void check_save(struct doctor *d, struct task *j)
{
    struct statvfs s;
    const char *path = config_path(j->config, KEY_RUNNER_MODEL_SAVE_PATH);
    struct buf at = BUF_INIT;
    if (fs_is_remote(path)) {
        struct skiff_error err = {0};
        if (checkpoint_prepare(path, &err) < 0)
            doctor_wrong(d, "docs/guide/storage.md describes such paths", "%s", err.message);
        else
            doctor_ok(d, "models go to %s, which is writable", path);
        return;
    }
    buf_str(&at, path);
    while (at.len > 1 && access(at.data, F_OK)) { /* up to what is there */
        char *slash = strrchr(at.data, '/');
        at.len = slash && slash != at.data ? (size_t)(slash - at.data) : 1;
        at.data[at.len] = 0;
    }
    if (access(at.data, W_OK))
        doctor_wrong(d, "change runner.model_save_path, or the rights of the folder",
                     "models cannot be written to %s", path);
    else if (!statvfs(at.data, &s))
        doctor_ok(d, "models go to %s, which has %.1f GB free", path,
                  (double)s.f_bavail * (double)s.f_frsize / 1e9);
    buf_deinit(&at);
}

static void check_config(struct doctor *d, const struct task_args *args, const struct role *role)
{
    struct task j;
    struct skiff_error err = {0};
    if (task_open(&j, args, true, &err) < 0) {
        doctor_wrong(d, "docs/reference/configuration.md lists the keys", "%s", err.message);
        return;
    }
    doctor_ok(d, "%s: model %s", args->config, j.model->name);
    check_data(d, &j, role);
    check_save(d, &j);
    task_close(&j);
}

/* ---- who takes part ---- */

struct asked {
    struct task_args config; /* first */
    const char *servers, *workers;
    int worker_num, timeout, pid;
};

/* Names of workers matter to the launcher alone: it starts those that are here. */
static void take_workers(struct doctor *d, const char *list, struct role *role)
{
    struct skiff_error err = {0};
    char *text = launch_with_ports(list, 6170);
    if (role_list_parse("--workers", text, &role->worker_endpoints, &role->nworker_endpoints,
                        &err) < 0)
        doctor_wrong(d, NULL, "%s", err.message);
    role->workers = role->nworker_endpoints;
    free(text);
}

/* No servers: a rank of a collective job, or none of a job's processes. */
static void print_no_servers(struct doctor *d, int pid)
{
    struct role ranks;
    struct skiff_error err = {0};
    if (role_from_ranks(&ranks, NULL, NULL, &err) < 0) {
        doctor_wrong(d, NULL, "%s", err.message);
        return;
    }
    if (ranks.workers > 1)
        doctor_ok(d, "this process is rank %d of %d; a collective job has no servers to ask",
                  ranks.id, ranks.workers);
    else if (pid)
        doctor_warn(d, "give --pid of a server, worker or rank, not of skiff launch",
                    "process %d has no role in a job", pid);
    else
        doctor_ok(d, "no role in the environment: a run here is a single process without servers");
    role_deinit(&ranks);
}

static void take_roles(struct doctor *d, const struct asked *a, struct role *role, int *own)
{
    struct skiff_error err = {0};
    *own = -1;
    *role = (struct role){.kind = SKIFF_WORKER};
    if (!a->servers) {
        if (role_from_env(role, SKIFF_ROLE_ENV_AUTO, NULL, NULL, &err) < 0)
            doctor_wrong(d, NULL, "%s", err.message);
        else if (!role->nservers)
            print_no_servers(d, a->pid);
        else
            doctor_ok(d, "this process is %s %d of %d workers and %d servers",
                      role->kind == SKIFF_SERVER ? "server" : "worker", role->id, role->workers,
                      role->nservers);
        *own = role->kind == SKIFF_SERVER ? role->id : -1;
        return;
    }
    if (role_list_parse("--servers", a->servers, &role->servers, &role->nservers, &err) < 0)
        doctor_wrong(d, NULL, "%s", err.message);
    role->workers = a->worker_num;
    if (a->workers)
        take_workers(d, a->workers, role);
}

static int run(const struct command_call *call)
{
    const struct asked *a = call->args;
    struct role role;
    struct settings settings = {0};
    struct doctor d = {.timeout_ms = a->timeout * 1000};
    int own, status = 0;
    struct skiff_error err = {0};
    if (a->config.overrides.n)
        status = task_args_check(call->args, call->name);
    else
        task_args_print(call->args, call->name);
    if (status)
        return status;
    if (a->pid && observer_environment(a->pid, &err) < 0)
        return command_fail(call->name, &err);
    take_roles(&d, a, &role, &own);
    check_settings(&d, &settings);
    check_transport(&d, &a->config, &settings);
    d.job = settings.job;
    d.secret = settings.secret;
    d.transport = settings.links;
    (void)settings_silence(&d.silence_ms, NULL); /* check_settings has told what is wrong */
    check_limits(&d, &role);
    check_proxies(&d);
    doctor_hosts(&d, "server", role.servers, role.nservers);
    doctor_hosts(&d, "worker", role.worker_endpoints, role.nworker_endpoints);
    doctor_servers(&d, &role, own);
    if (a->config.config)
        check_config(&d, &a->config, &role);
    printf("\n%d ok, %d warning%s, %d fault%s\n", d.fine, d.warnings, d.warnings == 1 ? "" : "s",
           d.wrong, d.wrong == 1 ? "" : "s");
    role_deinit(&role);
    if (!d.wrong)
        return 0;
    fflush(stdout);
    fprintf(stderr, "skiff doctor: %d fault%s found; see above\n", d.wrong,
            d.wrong == 1 ? "" : "s");
    return 1;
}

#define AT(field) offsetof(struct asked, field)

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
    .usage =
        "[-m config.yaml [-o key=value ...]] [--servers LIST] [--workers LIST] [--worker_num N]\n"
        "[-m config.yaml [-o key=value ...]] --pid N",
    .text =
        "Checks a job before it runs or while it runs. For every fault it prints the remedy. It "
        "checks roles, names, "
        "ports (free, in use, by what), links to servers, clocks, proxies and limits; with -m also "
        "the config and its data. Without --servers, the environment describes the job. Exit "
        "status 1: "
        "at least one fault.",
    .examples = "skiff doctor -m config.yaml\n"
                "skiff doctor --servers a:7000,b:7000 --workers a,b\n"
                "skiff doctor --pid 12345",
    .group = COMMAND_OPERATE,
    .options = &(const struct options){.rows = rows},
    .args_size = sizeof(struct asked),
    .run = run};
