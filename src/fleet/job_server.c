/* The job of a server program: listen_and_serv, run by an executor or by run_server, becomes a
 * server (server/server.h).
 *
 * It keeps copies of all it was given, because a program, and the job with it, may outlive the
 * fleet that made them. Stopping may come from a signal handler and before the run has begun:
 * `stopped` is looked at after `running` is set, and set before `running` is looked at, so that one
 * of the two sides always sees the other. */
#include "fleet/job_server.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fleet/report_member.h"
#include "metrics/metrics.h"
#include "program/op_kind.h"
#include "server/server.h"

struct server_job {
    struct job base;
    struct skiff_program *main, *startup, *whole;
    struct server_plan *plan; /* of main */
    struct settings settings;
    struct server_options options;
    struct metrics *metrics;
    struct server *own; /* made by init */
    _Atomic(struct server *) running;
    atomic_bool stopped;
    bool keeps_values;
    struct ps_begin start; /* options.start */
};

static struct server_job *of(struct job *j)
{
    return (struct server_job *)j;
}

/* A run that was stopped before it began returns at once. */
static enum skiff_status run(struct server_job *s, struct server *server, struct skiff_error *err)
{
    atomic_store(&s->running, server);
    enum skiff_status status = atomic_load(&s->stopped) ? SKIFF_OK : server_run(server, err);
    atomic_store(&s->running, NULL);
    return status;
}

static bool is_of_split(const struct server_job *s, const struct skiff_program *p)
{
    struct buf differences = BUF_INIT;
    int n = program_diff(s->main, p, &differences);
    buf_deinit(&differences);
    return n == 0;
}

static enum skiff_status serve(struct job *j, const struct skiff_program *p,
                               struct skiff_scope *scope, struct skiff_error *err)
{
    struct server_job *s = of(j);
    struct server_options o = s->options;
    struct server_plan *read = NULL;
    struct server *server = NULL;
    enum skiff_status status = SKIFF_OK;
    if (s->own)
        return run(s, s->own, err);
    if (!is_of_split(s, p)) {
        TRY(server_plan_read(p, s->plan->job, s->plan->index, &read, err));
        o.plan = read;
        if (o.on_log)
            o.on_log(o.user, LOG_INFO,
                     "the server program is not the split's: what to do is read from its ops");
    }
    o.main = p;
    o.scope = scope;
    TRY_OUT(server_create(&o, &server, err));
    TRY_OUT(run(s, server, err));
out:
    server_destroy(server);
    server_plan_destroy(read);
    return status;
}

static bool is_main(const struct skiff_program *p)
{
    const struct skiff_block *root = program_root(p);
    for (int i = 0; i < root->nops; i++)
        if (op_is(root->ops[i], CLASS_SERVE))
            return true;
    return false;
}

static enum skiff_status begin(struct job *j, const struct skiff_program *p,
                               struct skiff_scope *scope, bool *done, struct skiff_error *err)
{
    struct server_job *s = of(j);
    if (!s->keeps_values)
        return SKIFF_OK;
    *done = true;
    if (!s->own)
        TRY(job_server_init(j, NULL, err));
    return is_main(p) ? run(s, s->own, err) : SKIFF_OK;
}

static bool waits(struct job *j, const struct skiff_program *p)
{
    (void)j;
    return is_main(p);
}

static enum skiff_status server_close(struct job *j, struct skiff_error *err)
{
    (void)err;
    job_server_stop(j);
    return SKIFF_OK;
}

static void snapshot(struct job *j, struct metrics_snapshot *out)
{
    snapshot_add(out, of(j)->metrics);
}

static void destroy(struct job *j)
{
    struct server_job *s = of(j);
    server_destroy(s->own);
    metrics_destroy(s->metrics);
    program_destroy(s->main);
    program_destroy(s->startup);
    program_destroy(s->whole);
    server_plan_destroy(s->plan);
    free(s);
}

static const struct job_class server_job_class = {
    .begin = begin,
    .waits = waits,
    .serve = serve,
    .snapshot = snapshot,
    .close = server_close,
    .destroy = destroy,
};

enum skiff_status job_server_create(const struct job_server_options *o, struct job **out,
                                    struct skiff_error *err)
{
    struct server_job *s = mem_alloc_or_die(sizeof(*s));
    (void)err;
    s->base = (struct job){.class = &server_job_class, .refs = 1};
    s->main = program_clone(o->main);
    s->startup = program_clone(o->startup);
    s->whole = o->whole ? program_clone(o->whole) : NULL;
    s->plan = o->plan;
    s->settings = *o->settings;
    s->keeps_values = o->keeps_values;
    s->metrics = metrics_create("server", o->plan->index);
    s->options = (struct server_options){
        .main = s->main,
        .startup = s->startup,
        .whole = s->whole,
        .plan = o->plan,
        .listen = s->settings.listen[0] && !o->hub ? s->settings.listen : NULL,
        .job = s->settings.job,
        .secret = s->settings.secret,
        .insecure = s->settings.insecure,
        .transport = s->settings.links,
        .hub = o->hub,
        .shards = s->settings.shards,
        .table_memory = s->settings.server_memory,
        .silence_ms = s->settings.silence_ms,
        .start_ms = s->settings.start_ms,
        .on_death = o->stop_on_death ? ON_DEATH_STOP : ON_DEATH_GO_ON,
        .metrics = s->metrics,
        .on_log = o->on_log,
        .on_member = o->hub ? NULL : fleet_report_member,
        .user = o->user,
    };
    *out = &s->base;
    return SKIFF_OK;
}

void job_server_set_start(struct job *j, const struct ps_begin *has)
{
    struct server_job *s = of(j);
    s->start = *has;
    s->options.start = &s->start;
}

enum skiff_status job_server_init(struct job *j, const char *model_dir, struct skiff_error *err)
{
    struct server_job *s = of(j);
    struct server *server;
    if (s->own)
        return error_set(err, SKIFF_STATE, "init_server was called already");
    TRY(server_create(&s->options, &server, err));
    enum skiff_status status = server_init(server, err);
    if (status == SKIFF_OK && model_dir)
        status = server_load(server, model_dir, err);
    if (status < 0) {
        server_destroy(server);
        return error_prefix(err, status, "init_server");
    }
    s->own = server;
    return SKIFF_OK;
}

enum skiff_status job_server_run(struct job *j, struct skiff_error *err)
{
    struct server_job *s = of(j);
    if (!s->own)
        TRY(job_server_init(j, NULL, err));
    return run(s, s->own, err);
}

struct metrics *job_server_metrics(const struct job *j)
{
    return ((const struct server_job *)j)->metrics;
}

void job_server_drop(struct job *j)
{
    struct server_job *s = of(j);
    server_destroy(s->own);
    s->own = NULL;
}

void job_server_stop(struct job *j)
{
    struct server_job *s = of(j);
    atomic_store(&s->stopped, true);
    struct server *server = atomic_load(&s->running);
    if (server)
        server_stop(server);
}
