/* A trainer's job: the part that all modes share.
 *
 * The trainer's program says what is exchanged (its send and recv ops name variables, slices and
 * servers), so programs that real Paddle's transpiler made work too. The session opens on first
 * use, because programs of the bare transpiler have no init_worker. `lock` serialises opening,
 * starting, stopping and closing only; a training thread that sends does not take it. */
#include "comm/comm.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/mode.h"

static struct comm *comm_of(struct job *j)
{
    return (struct comm *)j;
}

/* ---- variables of the program ---- */

void slices_copy(struct comm_var *to, const struct job_slices *from)
{
    size_t n = (size_t)from->n;
    char **names = mem_alloc_or_die((n + 1) * sizeof *names),
         **eps = mem_alloc_or_die((n + 1) * sizeof *eps);
    for (size_t i = 0; i < n; i++) {
        names[i] = mem_strdup_or_die(from->names[i]);
        eps[i] = mem_strdup_or_die(from->endpoints[i]);
    }
    to->origin = mem_strdup_or_die(from->origin);
    to->slices = (struct job_slices){.origin = to->origin,
                                     .n = from->n,
                                     .names = (const char *const *)names,
                                     .endpoints = (const char *const *)eps,
                                     .modulo = from->modulo,
                                     .shards = from->shards};
    if (!from->sections)
        return;
    int64_t *sections = mem_alloc_or_die((n + 1) * sizeof *sections);
    memcpy(sections, from->sections, n * sizeof *sections);
    to->slices.sections = sections;
}

void comm_var_deinit(struct comm_var *v)
{
    for (int i = 0; i < v->slices.n; i++) {
        free((char *)v->slices.names[i]);
        free((char *)v->slices.endpoints[i]);
    }
    free((void *)v->slices.names);
    free((void *)v->slices.endpoints);
    free((void *)v->slices.sections);
    session_unbind(v->bound);
    free(v->origin);
    *v = (struct comm_var){0};
}

void slices_placed(struct comm_var *to, const struct skiff_placement *slices, int n,
                   const char *origin, const char *suffix)
{
    const char **names = mem_alloc_or_die((size_t)n * sizeof *names);
    const char **eps = mem_alloc_or_die((size_t)n * sizeof *eps);
    int64_t *rows = mem_alloc_or_die((size_t)n * sizeof *rows);
    struct arena arena;
    arena_init(&arena);
    for (int i = 0; i < n; i++) {
        names[i] = arena_printf(&arena, "%s%s", slices[i].slice, suffix);
        eps[i] = slices[i].endpoint;
        rows[i] = placement_rows(&slices[i]);
    }
    struct job_slices s = {
        .origin = origin, .n = n, .names = names, .endpoints = eps, .sections = rows};
    slices_copy(to, &s);
    arena_deinit(&arena);
    free(names);
    free(eps);
    free(rows);
}

int slices_count(const struct job_plan *plan, int first)
{
    const struct skiff_placement *p = plan->placement;
    int end = first + 1;
    while (end < plan->nplacement && !strcmp(p[end].origin, p[first].origin))
        end++;
    return end - first;
}

/* Parameters that trainers hold. The bare transpiler's programs receive slices and concatenate
 * them. */
static void list_recvs(struct comm *c)
{
    const struct job_plan *plan = c->options.plan;
    c->recvs = mem_alloc_or_die((size_t)(plan->nplacement + 1) * sizeof *c->recvs);
    for (int i = 0, n; i < plan->nplacement; i += n) {
        const struct skiff_placement *p = &plan->placement[i];
        n = c->options.direct ? 1 : slices_count(plan, i);
        if (!p->state && !p->remote)
            slices_placed(&c->recvs[c->nrecvs++], p, n, c->options.direct ? p->slice : p->origin,
                          "");
    }
}

static void make_pulls(struct comm *c)
{
    free(c->pulls);
    c->pulls = mem_alloc_or_die((size_t)(c->nrecvs + 1) * sizeof *c->pulls);
    for (int i = 0; i < c->nrecvs; i++)
        c->pulls[i] = (struct session_pull){.from = c->recvs[i].slices,
                                            .out = scope_var(c->scope, c->recvs[i].origin)};
}

/* ---- numbers ---- */

enum skiff_status comm_bind(const struct session *s, struct comm_var *v, uint32_t use,
                            struct skiff_error *err)
{
    if (v->bound)
        return SKIFF_OK;
    TRY(session_bind(s, &v->slices, use, &v->bound, err));
    v->slices.bound = v->bound;
    return SKIFF_OK;
}

static enum skiff_status bind_recvs(struct comm *c, struct skiff_error *err)
{
    for (int i = 0; i < c->nrecvs; i++)
        TRY(comm_bind(c->session, &c->recvs[i], PS_PULL_WHOLE, err));
    return SKIFF_OK;
}

struct comm_table {
    struct comm_var var;
    const struct session *session;
    struct comm_table *next;
};

/* Locked. */
static struct comm_table *add_table(struct comm *c, const struct session *s,
                                    const struct job_slices *table)
{
    struct comm_table *t = mem_alloc_or_die(sizeof *t);
    slices_copy(&t->var, table);
    t->session = s;
    t->next = c->tables;
    c->tables = t;
    return t;
}

enum skiff_status comm_table(struct comm *c, const struct session *s,
                             const struct job_slices *table, const struct job_slices **out,
                             struct skiff_error *err)
{
    pthread_mutex_lock(&c->lock);
    struct comm_table *t = c->tables;
    while (t && (t->session != s || strcmp(t->var.origin, table->origin)))
        t = t->next;
    if (!t)
        t = add_table(c, s, table);
    enum skiff_status status = comm_bind(s, &t->var, PS_PULL_ROWS_OF, err);
    pthread_mutex_unlock(&c->lock);
    *out = &t->var.slices;
    return status;
}

static void tables_destroy(struct comm *c)
{
    while (c->tables) {
        struct comm_table *t = c->tables;
        c->tables = t->next;
        comm_var_deinit(&t->var);
        free(t);
    }
}

/* ---- creation ---- */

static void default_int(int *v, int fallback)
{
    if (*v <= 0)
        *v = fallback;
}

static void options_fill(struct comm_options *o)
{
    default_int(&o->threads, 1);
    /* Paddle's default */
    o->sparse_merge_num = o->max_merge_var_num > 0 ? o->max_merge_var_num : 12;
    default_int(&o->max_merge_var_num, o->threads);
    default_int(&o->send_queue_size, o->threads);
    default_int(&o->min_send_grad_num_before_recv, o->threads);
    default_int(&o->thread_pool_size, 5);
    default_int(&o->send_wait_times, 5);
    default_int(&o->geo_need_push_nums, 100);
    if (o->independent_recv_thread < 0)
        o->independent_recv_thread = 1;
    if (o->is_sgd_optimizer < 0)
        o->is_sgd_optimizer = 1;
}

const struct comm_mode *comm_mode_of(enum skiff_split_mode mode)
{
    switch (mode) {
#define SKIFF_MODE(constant, number, name, flags, promise) \
    case SKIFF_SPLIT_##constant:                           \
        return &mode_##name;
#include <skiff/mode_list.h>
#undef SKIFF_MODE
    }
    return NULL;
}

static void session_fill(struct session_options *s, const struct job_plan *plan)
{
    s->workers = plan->trainers;
    s->servers = plan->servers;
    s->endpoints = plan->endpoints;
    s->mode = plan->mode;
    s->program_hash = plan->hash;
    s->job = mem_strdup_or_die(s->job ? s->job : "");
    s->secret = mem_strdup_or_die(s->secret ? s->secret : "");
    s->transport = s->transport ? mem_strdup_or_die(s->transport) : NULL;
}

enum skiff_status comm_create(const struct comm_options *options, struct job **out,
                              struct skiff_error *err)
{
    struct comm *c = mem_alloc_or_die(sizeof *c);
    c->mode = options->direct ? &mode_direct : comm_mode_of(options->plan->trainer_mode);
    c->job = (struct job){.class = c->mode->class, .refs = 1};
    c->options = *options;
    options_fill(&c->options);
    job_plan_ref(c->options.plan);
    if (c->options.own)
        job_plan_ref(c->options.own);
    session_fill(&c->options.session, c->options.plan);
    c->metrics = metrics_create("worker", options->session.worker);
    c->options.session.metrics = c->metrics;
    if (!c->options.own)
        c->options.session.hub = c->options.host.hub;
    pthread_mutex_init(&c->lock, NULL);
    list_recvs(c);
    enum skiff_status status = c->mode->create ? c->mode->create(c, err) : SKIFF_OK;
    if (status < 0)
        job_unref(&c->job);
    else
        *out = &c->job;
    return status;
}

/* ---- session ---- */

static enum skiff_status open_own(struct comm *c, struct skiff_error *err)
{
    const struct job_plan *plan = c->options.own;
    struct session_options o = c->options.session;
    if (!plan || c->own)
        return SKIFF_OK;
    o.worker = 0;
    o.workers = o.servers = 1;
    o.endpoints = plan->endpoints;
    o.mode = plan->mode;
    o.program_hash = plan->hash;
    o.hub = c->options.host.hub;
    o.silence_ms = COMM_HOST_SILENCE_MS;
    o.on_log = NULL;
    o.metrics = NULL;
    return session_open(&o, &c->own, err);
}

static enum skiff_status open_locked(struct comm *c, struct skiff_error *err)
{
    if (c->closed)
        return error_set(
            err, SKIFF_STATE,
            "worker %d has left the job (stop_worker, close) and cannot take part again",
            c->options.session.worker);
    if (c->session)
        return SKIFF_OK;
    if (c->options.host.open)
        TRY(c->options.host.open(c->options.host.self, err));
    TRY(open_own(c, err));
    TRY(session_open(&c->options.session, &c->session, err));
    return bind_recvs(c, err);
}

enum skiff_status comm_open(struct comm *c, struct session **out, struct skiff_error *err)
{
    pthread_mutex_lock(&c->lock);
    enum skiff_status status = open_locked(c, err);
    *out = c->session;
    pthread_mutex_unlock(&c->lock);
    return status;
}

struct session *comm_session(struct job *j)
{
    struct comm *c = comm_of(j);
    pthread_mutex_lock(&c->lock);
    struct session *s = c->session;
    pthread_mutex_unlock(&c->lock);
    return s;
}

struct skiff_scope *comm_scope(struct job *j)
{
    struct comm *c = comm_of(j);
    pthread_mutex_lock(&c->lock);
    struct skiff_scope *s = c->scope;
    pthread_mutex_unlock(&c->lock);
    return s;
}

enum skiff_status comm_check_running(const struct comm *c, struct skiff_error *err)
{
    if (atomic_load(&c->running))
        return SKIFF_OK;
    return error_set(err, SKIFF_STATE,
                     "the communicator of worker %d is not running: call init_worker before "
                     "training, and stop_worker after it",
                     c->options.session.worker);
}

enum skiff_status comm_start(struct job *j, struct skiff_scope *scope, struct skiff_error *err)
{
    struct comm *c = comm_of(j);
    pthread_mutex_lock(&c->lock);
    enum skiff_status status = open_locked(c, err);
    if (status == SKIFF_OK && !atomic_load(&c->running)) {
        scope_destroy(c->scope);
        c->scope = scope_ref(scope);
        make_pulls(c);
        if (c->mode->start)
            status = c->mode->start(c, err);
        if (status == SKIFF_OK)
            atomic_store(&c->running, true);
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

enum skiff_status comm_stop(struct job *j, struct skiff_error *err)
{
    struct comm *c = comm_of(j);
    enum skiff_status status = SKIFF_OK;
    pthread_mutex_lock(&c->lock);
    if (atomic_exchange(&c->running, false) && c->mode->stop)
        status = c->mode->stop(c, err);
    pthread_mutex_unlock(&c->lock);
    return status;
}

bool comm_is_running(struct job *j)
{
    return atomic_load(&comm_of(j)->running);
}

enum skiff_status comm_flush(struct job *j, struct skiff_error *err)
{
    struct comm *c = comm_of(j);
    return c->mode->flush && atomic_load(&c->running) ? c->mode->flush(c, err) : SKIFF_OK;
}

enum skiff_status comm_refresh(struct job *j, struct skiff_error *err)
{
    struct comm *c = comm_of(j);
    return c->mode->refresh && atomic_load(&c->running) ? c->mode->refresh(c, err) : SKIFF_OK;
}

/* ---- job.h ---- */

enum skiff_status comm_job_send(struct job *j, const struct job_slices *to,
                                const struct skiff_tensor *x, bool merge_add,
                                struct skiff_error *err)
{
    struct comm *c = comm_of(j);
    return c->mode->send(c, to, x, merge_add, err);
}

enum skiff_status comm_job_recv(struct job *j, const struct job_slices *from,
                                struct skiff_tensor *out, struct skiff_error *err)
{
    struct comm *c = comm_of(j);
    struct session *s;
    bool found = false;
    if (c->mode->held)
        TRY(c->mode->held(c, from, out, &found, err));
    if (found)
        return SKIFF_OK;
    struct session_pull pull = {.from = *from, .out = out};
    TRY(comm_open(c, &s, err));
    return session_exchange(s, 0, 0, NULL, 0, &pull, 1, err);
}

enum skiff_status comm_job_barrier(struct job *j, struct skiff_error *err)
{
    struct comm *c = comm_of(j);
    return c->mode->send_barrier ? c->mode->send_barrier(c, err) : SKIFF_OK;
}

enum skiff_status comm_job_ids(struct job *j, int n, const char *const *names,
                               const struct tensor *const *ids, struct skiff_error *err)
{
    struct comm *c = comm_of(j);
    return c->mode->send_ids(c, n, names, ids, err);
}

enum skiff_status comm_job_save_table(struct job *j, const char *dir, const char *table,
                                      struct skiff_error *err)
{
    struct session *s;
    TRY(comm_open(comm_of(j), &s, err));
    return session_save_table(s, dir, table, err);
}

void comm_job_threads_begin(struct job *j, int n)
{
    struct comm *c = comm_of(j);
    if (c->mode->threads_begin)
        c->mode->threads_begin(c, n);
}

void comm_job_thread_end(struct job *j)
{
    struct comm *c = comm_of(j);
    if (c->mode->thread_end)
        c->mode->thread_end(c);
}

/* Has it never joined? A worker that has left does not join again: its ops fail with that
 * reason. */
static bool may_join(struct comm *c)
{
    return !atomic_load(&c->running) && !atomic_load(&c->closed);
}

enum skiff_status comm_job_begin(struct job *j, const struct skiff_program *p,
                                 struct skiff_scope *scope, bool *done, struct skiff_error *err)
{
    return may_join(comm_of(j)) ? comm_start(j, scope, err) : SKIFF_OK;
}

bool comm_job_waits(struct job *j, const struct skiff_program *p)
{
    return may_join(comm_of(j));
}

void comm_job_snapshot(struct job *j, struct metrics_snapshot *out)
{
    struct comm *c = comm_of(j);
    snapshot_add(out, c->metrics);
    if (c->options.host.metrics)
        snapshot_add(out, c->options.host.metrics);
}

enum skiff_status comm_job_close(struct job *j, struct skiff_error *err)
{
    struct comm *c = comm_of(j);
    enum skiff_status status = comm_stop(j, err), left = SKIFF_OK;
    pthread_mutex_lock(&c->lock);
    c->closed = true;
    if (c->session)
        left = session_leave(c->session, status < 0 ? NULL : err);
    if (c->own)
        session_leave(c->own, NULL);
    if (c->options.host.end)
        c->options.host.end(c->options.host.self);
    pthread_mutex_unlock(&c->lock);
    return status < 0 ? status : left;
}

void comm_abandon(struct job *j, const char *reason)
{
    struct comm *c = comm_of(j);
    if (pthread_mutex_trylock(&c->lock) != 0)
        /* it may be held for long; a process that ends for good is soon noticed as silent */
        return;
    if (c->session)
        session_abandon(c->session, reason);
    c->closed = true;
    pthread_mutex_unlock(&c->lock);
}

void comm_job_destroy(struct job *j)
{
    struct comm *c = comm_of(j);
    comm_abandon(j, "has ended without stop_worker or close"); /* if it has not left */
    comm_stop(j, NULL);
    session_close(c->session);
    session_close(c->own);
    if (c->options.host.close)
        c->options.host.close(c->options.host.self);
    scope_destroy(c->scope);
    if (c->mode->destroy && c->state)
        c->mode->destroy(c);
    for (int i = 0; i < c->nrecvs; i++)
        comm_var_deinit(&c->recvs[i]);
    free(c->recvs);
    free(c->pulls);
    tables_destroy(c);
    job_plan_unref(c->options.plan);
    job_plan_unref(c->options.own);
    free((char *)c->options.session.job);
    free((char *)c->options.session.secret);
    free((char *)c->options.session.transport);
    metrics_destroy(c->metrics);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
