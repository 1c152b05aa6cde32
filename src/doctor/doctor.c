/* The checks of a job that need no running job: environment, limits, the config and its data.
 * Names, ports and links are in network.c. Every check reports what it finds; what is right is a
 * finding, too. */
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/map.h"
#include "base/plural.h"
#include "data/files.h"
#include "doctor/doctor_parts.h"
#include "fleet/settings.h"
#include "fs/fs.h"
#include "launch/launch.h"
#include "store/file.h"
#include "save/epochs.h"

/* ---- findings ---- */

static void report(struct doctor *d, enum doctor_level level, const char *advice,
                   const char *format, va_list ap)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, ap);
    d->result.count[level]++;
    d->on_finding(d->arg, &(struct doctor_finding){level, text, advice});
}

#define FINDING(level, advice)            \
    va_list ap;                           \
    va_start(ap, format);                 \
    report(d, level, advice, format, ap); \
    va_end(ap)

void doctor_ok(struct doctor *d, const char *format, ...)
{
    FINDING(DOCTOR_OK, NULL);
}

void doctor_warn(struct doctor *d, const char *advice, const char *format, ...)
{
    FINDING(DOCTOR_WARNING, advice);
}

void doctor_wrong(struct doctor *d, const char *advice, const char *format, ...)
{
    FINDING(DOCTOR_FAULT, advice);
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

#define CONFIG_ADVICE "docs/reference/configuration.md lists the keys"

static void check_data(struct doctor *d, struct task *j, const struct role *role)
{
    int workers = role->workers > 0 ? role->workers : 1;
    struct file_list list;
    struct skiff_error err = {0};
    uint64_t hash = 0;
    file_list_init(&list);
    if (task_file_list(j, &task_data_train, &list, &err) < 0) {
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
    doctor_ok(d, "training data: %d file%s%s; mark of the list: %08x%s", list.count,
              plural(list.count),
              split ? ", divided among the workers" : ", all of them for each worker here",
              (unsigned)(hash ^ hash >> 32),
              split ? " (the list must be the same on every worker's machine)" : "");
    if (split && list.count < workers)
        doctor_wrong(d, "split the files further, or start fewer workers",
                     "%d file%s for %d worker%s: %d worker%s would be idle", list.count,
                     plural(list.count), workers, plural(workers), workers - list.count,
                     plural(workers - list.count));
    file_list_deinit(&list);
}

static void check_save(struct doctor *d, struct task *j)
{
    struct statvfs s;
    const char *path = config_path(j->config, KEY_RUNNER_MODEL_SAVE_PATH);
    struct buf at = BUF_INIT;
    if (fs_is_remote(path)) {
        struct skiff_error err = {0};
        if (save_epochs_prepare(path, &err) < 0)
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

static void check_valid_data(struct doctor *d, struct task *j)
{
    struct task_data valid = {.dir_key = KEY_RUNNER_VALID_DATA_DIR,
                              .batch_key = KEY_RUNNER_VALID_BATCH_SIZE};
    struct file_list list;
    struct skiff_error err = {0};
    if (!config_has(j->config, KEY_RUNNER_VALID_DATA_DIR))
        return;
    file_list_init(&list);
    if (task_file_list(j, &valid, &list, &err) < 0)
        doctor_wrong(d, "correct runner.valid_data_dir, or remove it to train without validation",
                     "%s", err.message);
    else
        doctor_ok(d, "validation data: %d file%s", list.count, plural(list.count));
    file_list_deinit(&list);
}

/* Values of all keys, also of those that training reads later. */
static enum skiff_status check_values(struct config *c, struct skiff_error *err)
{
    config_read_all(c);
    return config_check(c, err);
}

static void check_config(struct doctor *d, const struct task_args *args, const struct role *role)
{
    struct task j;
    struct skiff_error err = {0};
    if (task_open(&j, args, TASK_TRAINS, &err) < 0) {
        doctor_wrong(d, CONFIG_ADVICE, "%s", err.message);
        return;
    }
    if (check_values(j.config, &err) == SKIFF_OK)
        doctor_ok(d, "%s: model %s", args->config, j.model->name);
    else
        doctor_wrong(d, CONFIG_ADVICE, "%s", err.message);
    check_data(d, &j, role);
    check_valid_data(d, &j);
    check_save(d, &j);
    task_close(&j);
}

/* ---- who takes part ---- */

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

static void take_roles(struct doctor *d, const struct doctor_options *a, struct role *role,
                       int *own)
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
            doctor_ok(d, "this process is %s %d of %d worker%s and %d server%s",
                      role->kind == SKIFF_SERVER ? "server" : "worker", role->id, role->workers,
                      plural(role->workers), role->nservers, plural(role->nservers));
        *own = role->kind == SKIFF_SERVER ? role->id : -1;
        return;
    }
    if (role_list_parse("--servers", a->servers, &role->servers, &role->nservers, &err) < 0)
        doctor_wrong(d, NULL, "%s", err.message);
    role->workers = a->worker_num;
    if (a->workers)
        take_workers(d, a->workers, role);
}

struct doctor_result doctor_run(const struct doctor_options *o, doctor_fn on_finding, void *arg)
{
    struct role role;
    struct settings settings = {0};
    struct doctor d = {.on_finding = on_finding, .arg = arg, .timeout_ms = o->timeout_ms};
    int own;
    take_roles(&d, o, &role, &own);
    check_settings(&d, &settings);
    check_transport(&d, o->task, &settings);
    d.job = settings.job;
    d.secret = settings.secret;
    d.transport = settings.links;
    (void)settings_silence(&d.silence_ms, NULL); /* check_settings has reported what is wrong */
    check_limits(&d, &role);
    check_proxies(&d);
    doctor_hosts(&d, "server", role.servers, role.nservers);
    doctor_hosts(&d, "worker", role.worker_endpoints, role.nworker_endpoints);
    doctor_servers(&d, &role, own);
    if (o->task->config)
        check_config(&d, o->task, &role);
    role_deinit(&role);
    return d.result;
}
