/* Strategy to split and comm; programs of the role that carry their job.
 *
 * Every process splits the whole program and takes the part of its role: nothing is sent around,
 * and a hash of the placement tells when two processes did not split alike. The user's programs
 * stay as they are; the fleet's are copies that carry a job (program/job.h), so that whoever runs
 * them takes part in it without a setting. */
#include "fleet/fleet_parts.h"

#include <stdlib.h>
#include <string.h>

#include <skiff/transpile.h>

#include "fleet/local_server.h"
#include "fleet/report_member.h"
#include "passes/minimize.h"

/* ---- strategy ---- */

static enum skiff_status mode_of(const struct skiff_strategy *s, enum skiff_split_mode *out,
                                 struct skiff_error *err)
{
    *out = SKIFF_SPLIT_SYNC;
    if (!s->mode || skiff_mode_find(s->mode, out))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID, "the strategy's mode is '%s'; expected %s", s->mode,
                     skiff_mode_names());
}

static enum skiff_status direct_config(enum skiff_split_mode mode, struct skiff_split_config *c,
                                       struct skiff_error *err)
{
    *c = split_config_default();
    if (mode != SKIFF_SPLIT_SYNC && mode != SKIFF_SPLIT_ASYNC)
        return error_set(err, SKIFF_INVALID,
                         "the bare transpiler has no %s mode; expected sync or async",
                         skiff_mode_name(mode));
    if (mode == SKIFF_SPLIT_ASYNC)
        TRY(split_config_set_sync_mode(c, false, err));
    return SKIFF_OK;
}

enum skiff_status fleet_split_config(const struct skiff_strategy *s, struct skiff_split_config *out,
                                     struct skiff_error *err)
{
    enum skiff_split_mode mode = SKIFF_SPLIT_SYNC;
    struct skiff_split_config c;
    TRY(reserved_check(s->reserved, "skiff_strategy", err));
    TRY(mode_of(s, &mode, err));
    if (s->direct)
        TRY(direct_config(mode, &c, err));
    else
        c = split_config_fleet(mode);
    if (s->geo_steps < 0)
        return error_set(err, SKIFF_RANGE, "geo_steps is %d; at least 1", s->geo_steps);
    if (s->geo_steps)
        c.geo_sgd_need_push_nums = s->geo_steps;
    if (s->no_slice)
        c.slice_var_up = false;
    if (s->min_block_size)
        c.min_block_size = s->min_block_size;
    if (s->split_method)
        c.split_method = s->split_method;
    c.enable_dc_asgd = s->dc_asgd;
    c.tables = s->tables;
    c.ntables = s->ntables;
    c.all_features = s->all_features;
    TRY(split_config_check(&c, err));
    *out = c;
    return SKIFF_OK;
}

/* The strategy's number, else the environment's (-1: none), else `fallback`. */
static int pick(int given, int from_env, int fallback)
{
    if (given)
        return given < 0 ? 0 : given;
    return from_env >= 0 ? from_env : fallback;
}

void fleet_comm_options(const struct skiff_strategy *s, const struct settings *e,
                        const struct job_plan *plan, int worker, struct comm_options *out)
{
    *out = (struct comm_options){
        .plan = plan,
        .direct = s->direct,
        .session = {.worker = worker,
                    .job = e->job,
                    .secret = e->secret,
                    .insecure = e->insecure,
                    .transport = e->links,
                    .connect_ms = e->start_ms,
                    .request_ms = e->rpc_ms,
                    .silence_ms = e->silence_ms,
                    .on_member = fleet_report_member,
                    .on_late = fleet_report_late},
        .threads = s->threads > 0 ? s->threads : e->cpu_num,
        .max_merge_var_num = pick(s->max_merge_var_num, e->max_merge_var_num, 0),
        .send_queue_size = pick(s->send_queue_size, e->send_queue_size, 0),
        .min_send_grad_num_before_recv =
            pick(s->min_send_grad_num_before_recv, e->min_send_grad_num_before_recv, 0),
        .thread_pool_size = pick(s->thread_pool_size, e->thread_pool_size, 0),
        .send_wait_times = pick(s->send_wait_times, e->send_wait_times, 0),
        .independent_recv_thread = pick(s->independent_recv_thread, e->independent_recv_thread, -1),
        .is_sgd_optimizer = pick(s->is_sgd_optimizer, e->is_sgd_optimizer, -1),
        .geo_need_push_nums = s->geo_steps > 0 ? s->geo_steps : 100,
    };
}

/* ---- a server inside this worker ---- */

/* Of the server nobody wants to hear what is not worth a warning. */
static void log_warnings(void *self, enum log_level level, const char *line)
{
    if (level >= LOG_WARN)
        fleet_log(self, level, line);
}

/* f NULL: nobody hears its warnings. */
static enum skiff_status make_host(const struct skiff_split *split, const struct settings *settings,
                                   const struct skiff_program *whole, struct skiff_fleet *f,
                                   struct comm_host *out, struct skiff_error *err)
{
    struct skiff_program *main, *startup;
    struct server_plan *plan;
    struct settings patient = *settings;
    patient.silence_ms = COMM_HOST_SILENCE_MS;
    TRY(split_server(split, LOCAL_ENDPOINT, &main, &startup, &plan, err));
    struct job_server_options o = {.plan = plan,
                                   .main = main,
                                   .startup = startup,
                                   .whole = whole,
                                   .settings = &patient,
                                   .on_log = f ? log_warnings : NULL,
                                   .user = f};
    enum skiff_status status = local_server_create(&o, out, err);
    program_destroy(main);
    program_destroy(startup);
    return status;
}

/* GEO with distributed tables: besides the job's servers there is one inside each trainer. */
static enum skiff_status make_own(const struct skiff_split *split, const struct settings *settings,
                                  struct skiff_fleet *f, struct comm_options *o,
                                  struct skiff_error *err)
{
    const struct skiff_split *own = split_own(split);
    if (!own)
        return SKIFF_OK;
    TRY(make_host(own, settings, f ? f->origin : NULL, f, &o->host, err));
    o->own = split_plan(own);
    return SKIFF_OK;
}

/* ---- programs ---- */

static enum skiff_status make_trainer(struct skiff_fleet *f, const struct skiff_strategy *s,
                                      struct skiff_error *err)
{
    struct comm_options o;
    TRY(split_trainer(f->split, &f->main, &f->startup, err));
    fleet_comm_options(s, &f->settings, split_plan(f->split), f->role.id, &o);
    o.session.on_log = fleet_log;
    o.session.user = f;
    TRY(make_own(f->split, &f->settings, f, &o, err));
    return comm_create(&o, &f->job, err);
}

static enum skiff_status make_server(struct skiff_fleet *f, const struct skiff_strategy *s,
                                     struct skiff_error *err)
{
    struct server_plan *plan;
    TRY(split_server(f->split, f->role.servers[f->role.id], &f->main, &f->startup, &plan, err));
    struct job_server_options o = {.plan = plan,
                                   .main = f->main,
                                   .startup = f->startup,
                                   .whole = f->origin,
                                   .keeps_values = true,
                                   .settings = &f->settings,
                                   .stop_on_death = s->stop_on_death,
                                   .on_log = fleet_log,
                                   .user = f};
    return job_server_create(&o, &f->job, err);
}

/* ---- jobs without servers ---- */

static bool is_true(const struct skiff_op *op, const char *attr)
{
    const struct op_attr_value *a = op_attr(op, attr);
    return a && a->type == ATTR_BOOLEAN && a->value.b;
}

static bool has_tables(const struct skiff_program *p)
{
    const struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++)
        if (op_has(b->ops[i], OP_TRANSPILED_LOOKUP) && is_true(b->ops[i], "is_distributed"))
            return true;
    return false;
}

static bool hosts_tables(const struct skiff_fleet *f, const struct skiff_strategy *s,
                         const struct skiff_program *main)
{
    return fleet_is_alone(f) && (s->keyed_tables || s->ntables || s->all_features) &&
           has_tables(main);
}

static enum skiff_status split_local(struct skiff_fleet *f, const struct skiff_strategy *s,
                                     struct skiff_error *err)
{
    struct skiff_strategy local = *s;
    struct skiff_split_config config;
    struct comm_options o;
    struct skiff_split_job job = {
        .main = f->origin, .startup = f->origin_startup, .pservers = LOCAL_ENDPOINT, .trainers = 1};
    local.mode = "async"; /* each thread's rows are there before its next batch */
    local.direct = true;
    TRY(fleet_split_config(&local, &config, err));
    config.tables_only = true;
    TRY(split_create(&job, &config, &f->split, err));
    TRY(split_trainer(f->split, &f->main, &f->startup, err));
    fleet_comm_options(&local, &f->settings, split_plan(f->split), 0, &o);
    TRY(make_host(f->split, &f->settings, f->origin, f, &o.host, err));
    o.session.on_log = log_warnings;
    o.session.on_member = NULL; /* its server is in this process */
    o.session.user = f;
    o.session.silence_ms = COMM_HOST_SILENCE_MS;
    return comm_create(&o, &f->job, err);
}

/* A job that others still hold must not be run by the user's programs without its fleet. */
static void give_back(struct skiff_program **given)
{
    if (*given)
        program_run_as(*given, NULL);
    program_destroy(*given);
    *given = NULL;
}

void fleet_drop_programs(struct skiff_fleet *f)
{
    give_back(&f->given);
    give_back(&f->given_startup);
    program_destroy(f->main);
    program_destroy(f->startup);
    program_destroy(f->origin);
    program_destroy(f->origin_startup);
    job_unref(f->job);
    split_destroy(f->split);
    free(f->thresholds);
    f->thresholds = NULL;
    f->main = f->startup = f->origin = f->origin_startup = NULL;
    f->job = NULL;
    f->split = NULL;
}

static enum skiff_status split_by_role(struct skiff_fleet *f, const struct skiff_strategy *s,
                                       struct skiff_error *err)
{
    struct skiff_split_config config;
    struct skiff_split_job job = {.main = f->origin,
                                  .startup = f->origin_startup,
                                  .trainer_id = f->role.kind == SKIFF_WORKER ? f->role.id : 0,
                                  .pservers = f->role.servers_text,
                                  .trainers = f->role.workers,
                                  .sync_mode = true};
    if (fleet_is_alone(f)) {
        TRY(split_local(f, s, err));
    } else {
        TRY(fleet_split_config(s, &config, err));
        if (s->adam_d2sum)
            TRY(split_adam_d2sum(f->origin, f->origin_startup, err));
        job.sync_mode = config.sync_mode || !s->direct;
        TRY(split_create(&job, &config, &f->split, err));
        TRY(f->role.kind == SKIFF_WORKER ? make_trainer(f, s, err) : make_server(f, s, err));
    }
    program_set_job(f->main, f->job);
    program_set_job(f->startup, f->job);
    return SKIFF_OK;
}

/* As if they had been rewritten in place, which is what Paddle does. */
static void run_as_trainer(struct skiff_fleet *f, struct skiff_program *main,
                           struct skiff_program *startup)
{
    f->given = program_ref(main);
    f->given_startup = program_ref(startup);
    program_run_as(main, f->main);
    program_run_as(startup, f->startup);
}

static enum skiff_status take_settings(struct skiff_fleet *f, const struct skiff_strategy *s,
                                       struct skiff_error *err)
{
    struct settings_security security = {
        .encrypt = s->encrypt, .secret_file = s->secret_file, .insecure = s->insecure};
    char weak[256];
    TRY(settings_set_transport(&f->settings, s->transport, err));
    TRY(settings_set_security(&f->settings, &security, err));
    if (secret_is_weak(f->settings.secret, weak, sizeof(weak)))
        fleet_log(f, LOG_WARN, weak);
    return SKIFF_OK;
}

enum skiff_status skiff_fleet_split(struct skiff_fleet *f, struct skiff_program *main,
                                    struct skiff_program *startup,
                                    const struct skiff_strategy *strategy, struct skiff_error *err)
{
    static const struct skiff_strategy defaults = {0};
    struct skiff_split_config config;
    if (!strategy)
        strategy = &defaults;
    TRY(fleet_need_init(f, "minimize", err));
    TRY(fleet_split_config(strategy, &config, err)); /* alone, too */
    TRY(take_settings(f, strategy, err));
    if (fleet_is_working(f))
        return error_set(err, SKIFF_STATE, "minimize: this worker is in a job; stop_worker first");
    fleet_drop_programs(f);
    f->origin = program_clone(main);
    f->origin_startup = program_clone(startup);
    if (fleet_is_alone(f) && !hosts_tables(f, strategy, main)) {
        f->main = program_clone(main);
        f->startup = program_clone(startup);
        return SKIFF_OK;
    }
    enum skiff_status status = split_by_role(f, strategy, err);
    if (status < 0)
        fleet_drop_programs(f);
    else if (f->role.kind == SKIFF_WORKER)
        run_as_trainer(f, main, startup);
    return status;
}

enum skiff_status skiff_fleet_minimize(struct skiff_fleet *f, struct skiff_optimizer *opt,
                                       struct skiff_var *loss,
                                       const struct skiff_strategy *strategy,
                                       const struct skiff_minimize_options *o,
                                       struct skiff_error *err)
{
    TRY(fleet_need_init(f, "distributed_optimizer", err));
    TRY(skiff_optimizer_minimize(opt, loss, o, err));
    return skiff_fleet_split(f, skiff_net_main(opt->net), skiff_net_startup(opt->net), strategy,
                             err);
}

/* ---- programs of the bare transpiler ---- */

static enum skiff_status check_trainers(const struct job_plan *plan, int trainers,
                                        struct skiff_error *err)
{
    if (trainers == plan->trainers)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID, "the split was made for %d trainers, not for %d",
                     plan->trainers, trainers);
}

static enum skiff_status attach(struct skiff_program *main, struct skiff_program *startup,
                                struct job *job)
{
    program_set_job(main, job);
    if (startup)
        program_set_job(startup, job);
    job_unref(job);
    return SKIFF_OK;
}

enum skiff_status skiff_split_attach_trainer(const struct skiff_split *split, int trainer_id,
                                             int trainers, struct skiff_program *main,
                                             struct skiff_program *startup, struct skiff_error *err)
{
    const struct job_plan *plan = split_plan(split);
    struct skiff_strategy strategy = {.direct = !mode_adds(plan->mode)};
    struct settings settings;
    struct comm_options o;
    struct job *job;
    TRY(check_trainers(plan, trainers, err));
    TRY(settings_read(&settings, NULL, NULL, err));
    fleet_comm_options(&strategy, &settings, plan, trainer_id, &o);
    TRY(make_own(split, &settings, NULL, &o, err));
    TRY(comm_create(&o, &job, err));
    return attach(main, startup, job);
}

enum skiff_status skiff_split_attach_server(const struct skiff_split *split, const char *endpoint,
                                            int trainers, struct skiff_program *main,
                                            struct skiff_program *startup, struct skiff_error *err)
{
    struct skiff_program *own_main, *own_startup;
    struct settings settings;
    struct server_plan *plan;
    struct job *job;
    TRY(check_trainers(split_plan(split), trainers, err));
    TRY(settings_read(&settings, NULL, NULL, err));
    TRY(split_server(split, endpoint, &own_main, &own_startup, &plan, err));
    struct job_server_options o = {.plan = plan,
                                   .main = own_main,
                                   .startup = startup ? startup : own_startup,
                                   .settings = &settings};
    enum skiff_status status = job_server_create(&o, &job, err);
    program_destroy(own_main);
    program_destroy(own_startup);
    return status < 0 ? status : attach(main, startup, job);
}

enum skiff_wait skiff_program_waits(const struct skiff_program *p)
{
    p = program_to_run(p);
    if (!p->job || !p->job->class->waits || !p->job->class->waits(p->job, p))
        return SKIFF_WAIT_NONE;
    return p->job->class->serve ? SKIFF_WAIT_SERVE : SKIFF_WAIT_JOIN;
}

enum skiff_status skiff_program_join(const struct skiff_program *p, struct skiff_scope *scope,
                                     bool *done, struct skiff_error *err)
{
    return job_begin(program_to_run(p), scope, done, err);
}

enum skiff_status skiff_program_leave_job(const struct skiff_program *p, struct skiff_error *err)
{
    p = program_to_run(p);
    return p->job && p->job->class->close ? p->job->class->close(p->job, err) : SKIFF_OK;
}
