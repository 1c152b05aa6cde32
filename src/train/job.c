/* A process of a job with servers (job.h): role and strategy from the environment and the config,
 * the split of the program, the server's loop. Training by epochs (home_servers.c) and by days uses
 * it. All processes read the same config and come to the same split without asking each other. */
#include "train/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <skiff/mode.h>

#include "base/log.h"
#include "base/plural.h"
#include "train/control.h"
#include "train/ranks.h"
#include "executor/executor.h"
#include "store/model_dir.h"
#include "fleet/epochs.h"
#include "fleet/fleet_log.h"
#include "fleet/role.h"
#include "fleet/settings.h"

static void on_log(void *user, enum log_level level, const char *line)
{
    logger_line(user, level, "%s", line);
}

bool job_wanted(void)
{
    return role_env_is_set(NULL, NULL);
}

bool job_is_alone(struct task *task)
{
    bool tables;
    return task_tables_any(task, &tables, NULL) == SKIFF_OK && tables &&
           strcasecmp(config_text(task->config, KEY_RUNNER_SYNC_MODE), "geo") != 0;
}

/* ---- the strategy ---- */

static enum skiff_status read_mode(struct config *c, struct skiff_strategy *out,
                                   struct skiff_error *err)
{
    const char *mode = config_text(c, KEY_RUNNER_SYNC_MODE);
    enum skiff_split_mode known;
    *out = (struct skiff_strategy){.mode = mode};
    TRY(ranks_refuse(c, err));
    if (skiff_mode_find(mode, &known))
        return SKIFF_OK;
    return error_set(err, SKIFF_UNSUPPORTED, "%s: %s is %s; expected %s", config_name(c),
                     key_name(config_has(c, KEY_RUNNER_SYNC_MODE) ? KEY_RUNNER_SYNC_MODE
                                                                  : KEY_OPTIMIZER_STRATEGY),
                     mode, skiff_mode_names());
}

static enum skiff_status read_strategy(struct train_job *j, struct task *task,
                                       const struct task_args *args, struct skiff_strategy *out,
                                       struct skiff_error *err)
{
    struct config *c = task->config;
    struct settings_security security;
    TRY(read_mode(c, out, err));
    out->geo_steps = (int)config_int(c, KEY_RUNNER_GEO_STEP);
    out->threads = task_threads(task);
    out->transport = task_transport(args, c);
    task_security(args, c, &security);
    out->encrypt = security.encrypt;
    out->secret_file = security.secret_file;
    out->insecure = security.insecure;
    out->stop_on_death = config_word(c, KEY_RUNNER_ON_WORKER_DEATH) == 1;
    out->stop_on_death |= j->stop_on_death;
    /* gradients of other rules than SGD are averaged, as the documents' jobs have it */
    const char *class = config_text(c, KEY_OPTIMIZER_CLASS);
    out->is_sgd_optimizer = strcasecmp(class, "sgd") ? -1 : 1;
    /* async: parameters come back with every push, as 2.x has it: with those of every second one
     * (1.x) workers are further behind, and predictions swing twice as far about the truth */
    if (!getenv("FLAGS_communicator_independent_recv_thread"))
        out->independent_recv_thread = -1;
    TRY(task_tables_read(&j->tables, task, out->mode, err));
    out->tables = j->tables.at;
    out->ntables = j->tables.n;
    out->adam_d2sum = config_bool(c, KEY_HYPER_ADAM_D2SUM);
    return config_check(c, err);
}

enum skiff_status job_check(struct task *task, const struct task_args *args,
                            struct skiff_error *err)
{
    struct train_job j = {0};
    struct skiff_strategy strategy;
    enum skiff_status status = read_strategy(&j, task, args, &strategy, err);
    task_tables_deinit(&j.tables);
    return status;
}

/* ---- jobs that have ended ---- */

#define ENDED_SILENCES 6 /* of SKIFF_SILENCE_MS: a minute */

static bool holds_all_epochs(struct task *task)
{
    struct model_info note = {0};
    struct buf last = BUF_INIT;
    buf_printf(&last, "%s/%d", task_save_path(task),
               (int)config_int(task->config, KEY_RUNNER_EPOCHS) - 1);
    bool all = model_info_read(last.data, &note, NULL) == SKIFF_OK && note.known && note.complete;
    buf_deinit(&last);
    return all;
}

void job_look_for_end(struct train_job *j, struct task *task, const struct task_args *args)
{
    const char *given = getenv("SKIFF_START_MS"), *role = getenv("TRAINING_ROLE");
    int silence;
    char ms[32];
    if (args->overwrite || (given && *given) || !role || strcmp(role, "TRAINER") != 0 ||
        settings_silence(&silence, NULL) < 0 || !holds_all_epochs(task)) /* the fleet reports it */
        return;
    j->may_have_ended = true;
    snprintf(ms, sizeof ms, "%d",
             silence < SETTINGS_START_MOST / ENDED_SILENCES ? silence * ENDED_SILENCES
                                                            : SETTINGS_START_MOST);
    setenv("SKIFF_START_MS", ms, 1); /* the fleet reads it */
}

enum skiff_status job_init_worker(struct train_job *j, struct task *task, struct skiff_error *err)
{
    struct skiff_error why;
    enum skiff_status status = skiff_fleet_init_worker(j->fleet, task->scope, &why);
    if (status == SKIFF_TIMEOUT && j->may_have_ended)
        return error_set(err, status,
                         "%s; %s has all %d epoch%s: the job seems to have ended. For a new job, "
                         "start the servers first, or give --overwrite or SKIFF_START_MS",
                         why.message, task_save_path(task),
                         (int)config_int(task->config, KEY_RUNNER_EPOCHS),
                         plural(config_int(task->config, KEY_RUNNER_EPOCHS)));
    if (status < 0)
        *err = why;
    return status;
}

static void print_role(const struct skiff_fleet *f)
{
    char role[32];
    bool server = skiff_fleet_is_server(f);
    if (!skiff_fleet_server_num(f))
        return;
    snprintf(role, sizeof(role), "%s.%d", server ? "server" : "worker",
             server ? skiff_fleet_server_index(f) : skiff_fleet_worker_index(f));
    log_set_role(role);
}

enum skiff_status job_open(struct train_job *j, struct task *task, const struct task_args *args,
                           struct skiff_error *err)
{
    struct skiff_strategy strategy;
    TRY(read_strategy(j, task, args, &strategy, err)); /* may add to the environment */
    j->fleet = skiff_fleet_create();
    fleet_on_log(j->fleet, on_log, &task->logger);
    TRY(skiff_fleet_init_env(j->fleet, SKIFF_ROLE_ENV_AUTO, err));
    print_role(j->fleet);
    j->seed = task_seed(task);
    TRY(skiff_fleet_split(j->fleet, task->main, task->startup, &strategy, err));
    for (const char *n = skiff_fleet_warnings(j->fleet); *n; n += strcspn(n, "\n") + 1)
        logger_warn(&task->logger, "%.*s", (int)strcspn(n, "\n"), n);
    if (skiff_fleet_server_num(j->fleet))
        logger_info(&task->logger, "%s, %d server%s (%s), %d worker%s, %s", task->model->name,
                    skiff_fleet_server_num(j->fleet), plural(skiff_fleet_server_num(j->fleet)),
                    skiff_fleet_server_endpoints(j->fleet), skiff_fleet_worker_num(j->fleet),
                    plural(skiff_fleet_worker_num(j->fleet)), strategy.mode);
    return SKIFF_OK;
}

enum skiff_status job_shuffle(struct train_job *j, struct dataset *data, uint64_t seed,
                              bool everybody, struct skiff_error *err)
{
    struct skiff_exchange exchange;
    if (!everybody)
        return dataset_local_shuffle(data, seed, err);
    TRY(skiff_fleet_exchange(j->fleet, &exchange, err));
    return dataset_global_shuffle(data, &exchange, seed, err);
}

void job_close(struct train_job *j)
{
    skiff_fleet_destroy(j->fleet);
    task_tables_deinit(&j->tables);
    *j = (struct train_job){0};
}

/* ---- server ---- */

enum skiff_status job_serve(struct train_job *j, struct task *task, const struct ps_begin *has,
                            const char *start_path, struct skiff_error *err)
{
    const struct train_control *c = j->control;
    struct dataset_config dc; /* servers read no data, but its keys are known to them, too */
    TRY(task_dataset_config(task, &task_data_train, &dc, err));
    reader_config_deinit(&dc.reader);
    TRY(task_check(task, err));
    if (start_path)
        logger_info(&task->logger, "parameters are loaded from %s", start_path);
    TRY(epochs_server_has(j->fleet, has, err));
    TRY(skiff_fleet_init_server(j->fleet, start_path, err));
    if (c && c->serving)
        c->serving(c->user, j->fleet);
    TRY(skiff_fleet_run_server(j->fleet, err));
    logger_info(&task->logger,
                control_wants_stop(c) ? "stopped by a signal" : "the job is complete");
    return SKIFF_OK;
}

/* ---- worker ---- */

enum skiff_status job_startup(struct train_job *j, struct task *task, struct skiff_error *err)
{
    struct skiff_executor *e =
        executor_create(task->scope, &(struct executor_options){.seed = j->seed, .has_seed = true});
    enum skiff_status status =
        executor_run(e, skiff_fleet_startup_program(j->fleet), NULL, 0, NULL, 0, NULL, err);
    executor_destroy(e);
    return status;
}
