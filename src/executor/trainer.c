/* The loop of the training threads, and the monitor thread that calls handler and ticks.
 *
 * A training thread takes a batch, runs the program and reports its values. It waits only for its
 * source of batches and, in a job, as the mode requires. Only thread 0 prints and passes values to
 * the fetch handler, so that lines do not mix and the handler sees the values of one batch. The
 * handler is user code and may be slow: it gets copies, on the monitor thread. That thread sets
 * `want` when the period is over; the next batch of thread 0 fills the copies and sets `ready`.
 *
 * The monitor thread polls every MONITOR_STEP seconds instead of being woken: a signal handler may
 * have set the stop flag, and it cannot signal a condition. When the flag is set, or when a thread
 * fails, blocked readers are woken (source->interrupt); every thread ends after its running batch,
 * and the first error is the result.
 *
 * In a job, threads that could not be started are reported as ended; otherwise the others would
 * wait for them after every batch. */
#include "executor/trainer.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "executor/trainer_parts.h"
#include "passes/collective.h"
#include "passes/merge_grad.h"
#include "program/job.h"

#define DEBUG_PERIOD 100
#define MONITOR_STEP 0.02 /* seconds between two polls of the monitor thread */

struct trainer;

struct worker {
    struct trainer *trainer;
    int index;
    struct thread thread;
    struct skiff_scope *scope; /* child: own metric states */
    struct skiff_executor *executor;
    struct skiff_tensor *values; /* of trainer.names */
    int64_t batches, rows;
    double read_seconds, compute_seconds, started; /* of this run; the registry counts all runs */
    bool saw_stop;
    float weight; /* of its batch, in a job whose ranks step together */
    struct tensor weighs;
    struct feed *feeds; /* the batch's and that */
    bool in_step;       /* a batch is being computed: an error is the step's, not the reader's */
};

struct trainer {
    const struct skiff_program *program;
    const struct trainer_source *source;
    const struct trainer_options *options;
    /* fetched by every run: fetches, watched and handled, in this order; names that stand in two
     * lists are fetched once */
    const char **names;
    int nnames, *fetch_at, *watch_at, *handle_at;
    int loss_at;                       /* -1: none */
    struct skiff_tensor *watch_values; /* per thread: nwatched */
    bool together;                     /* with other ranks */
    const struct skiff_var *weight;    /* what the program takes it as, or NULL */
    struct worker *workers;
    struct metrics *metrics, *own_metrics; /* own: NULL when the owner has given one */
    struct metric *batches, *samples, *read, *compute;
    struct pause pause;
    atomic_bool failed;
    pthread_mutex_t lock; /* guards the fields below */
    struct skiff_error error;
    int step_failed; /* the thread whose step has failed, or -1 */
    bool saw_nan;    /* in the loss */
    struct buf position;
    bool done; /* all workers have finished */
    bool want, ready;
    struct skiff_tensor *handed; /* copies for the handler */
    pthread_cond_t changed;
};

/* ---- names ---- */

static int name_at(struct trainer *t, const char *name)
{
    for (int i = 0; i < t->nnames; i++)
        if (!strcmp(t->names[i], name))
            return i;
    t->names[t->nnames] = name;
    return t->nnames++;
}

static int *names_add(struct trainer *t, const char *const *names, int n)
{
    int *at = mem_alloc_or_die((size_t)(n + 1) * sizeof(*at));
    for (int i = 0; i < n; i++)
        at[i] = name_at(t, names[i]);
    return at;
}

/* A handler may ask for variables that no op writes: it gets none. */
static bool has_value(const struct skiff_program *p, const char *name)
{
    const struct skiff_block *b = program_root(p);
    const struct skiff_var *v = block_find_var(b, name);
    if (v && var_persistable(v))
        return true;
    for (int i = 0; i < b->nops; i++)
        if (op_reads(b->ops[i], name) || op_writes(b->ops[i], name))
            return true;
    return false;
}

static void names_collect(struct trainer *t)
{
    const struct trainer_options *o = t->options;
    t->names =
        mem_alloc_or_die((size_t)(o->nfetches + o->nwatched + o->nhandled + 2) * sizeof(*t->names));
    t->loss_at = o->loss ? name_at(t, o->loss) : -1;
    t->fetch_at = names_add(t, o->fetches, o->nfetches);
    t->watch_at = names_add(t, o->watched, o->nwatched);
    t->handle_at = mem_alloc_or_die((size_t)(o->nhandled + 1) * sizeof(*t->handle_at));
    for (int i = 0; i < o->nhandled; i++)
        t->handle_at[i] = has_value(t->program, o->handled[i]) ? name_at(t, o->handled[i]) : -1;
}

/* ---- one worker ---- */

/* Ranks of a job synchronise before every step and stop together; not for a program without
 * collective steps (evaluation). */
static bool steps_together(const struct skiff_program *p)
{
    return p->job && p->job->class->step && collective_in(p);
}

/* w: whose step it was; NULL: unknown */
static void trainer_fail(struct trainer *t, const struct worker *w, const struct skiff_error *err)
{
    pthread_mutex_lock(&t->lock);
    if (!atomic_exchange(&t->failed, true)) {
        t->error = *err;
        t->step_failed = w ? w->index : -1;
        if (w && t->source->position)
            t->source->position(t->source->self, w->index, &t->position);
    }
    pthread_mutex_unlock(&t->lock);
    if (t->source->interrupt)
        t->source->interrupt(t->source->self);
}

static bool stop_wanted(const struct trainer *t)
{
    return t->options->wants_stop && t->options->wants_stop(t->options->user);
}

static enum skiff_status check_loss(struct worker *w, struct skiff_error *err)
{
    struct trainer *t = w->trainer;
    const struct skiff_tensor *v = t->loss_at >= 0 ? &w->values[t->loss_at] : NULL;
    if (!v || v->kind != VALUE_TENSOR || v->tensor.dtype != DTYPE_FP32 ||
        tensor_numel(&v->tensor) < 1 || isfinite(tensor_f32(&v->tensor)[0]))
        return SKIFF_OK;
    pthread_mutex_lock(&t->lock);
    t->saw_nan = true;
    pthread_mutex_unlock(&t->lock);
    return error_set(err, SKIFF_RANGE, "the loss is %s",
                     isnan(tensor_f32(&v->tensor)[0]) ? "nan" : "infinite");
}

static void report_watcher(struct worker *w, int64_t rows)
{
    const struct trainer_options *o = w->trainer->options;
    if (!o->on_batch)
        return;
    /* shallow copies side by side: the callback sees one array */
    struct skiff_tensor *seen = w->trainer->watch_values + (size_t)w->index * (size_t)o->nwatched;
    for (int i = 0; i < o->nwatched; i++)
        seen[i] = w->values[w->trainer->watch_at[i]];
    o->on_batch(o->user, w->index, rows, seen);
}

static void report_fetches(struct worker *w)
{
    const struct trainer_options *o = w->trainer->options;
    int period = o->print_period > 0 ? o->print_period : 100;
    if (w->index != 0 || !o->nfetches || !o->print || w->batches % period)
        return;
    struct buf text = BUF_INIT;
    bool one_line = w->trainer->program->generation == GEN_2X;
    if (one_line)
        print_time(&text, w->batches);
    for (int i = 0; i < o->nfetches; i++) {
        const char *info = o->fetch_info ? o->fetch_info[i] : o->fetches[i];
        const struct skiff_tensor *value = &w->values[w->trainer->fetch_at[i]];
        if (one_line)
            print_fetched_2x(&text, info, value);
        else
            print_fetched(&text, info, o->fetches[i], value);
    }
    if (one_line)
        buf_char(&text, '\n');
    o->print(o->user, text.data);
    buf_deinit(&text);
}

static void report_debug(struct worker *w)
{
    const struct trainer_options *o = w->trainer->options;
    if (w->index != 0 || !o->print_debug || w->batches % DEBUG_PERIOD)
        return;
    struct buf text = BUF_INIT;
    struct profile profile;
    executor_profile(w->executor, w->trainer->program, &profile);
    print_profile(&text, &profile, w->batches, w->rows, w->read_seconds,
                  clock_seconds() - w->started);
    o->print_debug(o->user, text.data);
    free(profile.steps);
    buf_deinit(&text);
}

static enum skiff_status hand_over(struct worker *w, struct skiff_error *err)
{
    struct trainer *t = w->trainer;
    if (w->index != 0 || !t->options->handler)
        return SKIFF_OK;
    enum skiff_status status = SKIFF_OK;
    pthread_mutex_lock(&t->lock);
    if (t->want) {
        for (int i = 0; i < t->options->nhandled && status == SKIFF_OK; i++)
            if (t->handle_at[i] >= 0)
                status = value_copy(&t->handed[i], &w->values[t->handle_at[i]], err);
        t->want = false;
        t->ready = status == SKIFF_OK;
    }
    pthread_mutex_unlock(&t->lock);
    return status;
}

/* Prefetches the rows of the next batch while this one is computed. */
static void look_prefetch(struct worker *w)
{
    struct trainer *t = w->trainer;
    struct trainer_batch later;
    if (t->program->job && t->source->peek && t->source->peek(t->source->self, w->index, &later))
        executor_prefetch(w->executor, t->program, later.feeds, later.nfeeds, t->names, t->nnames);
}

/* Ranks step together, including those without a batch, until all have finished. */
static enum skiff_status join_steps(struct worker *w, int64_t rows, struct skiff_error *err)
{
    struct trainer *t = w->trainer;
    struct job *job = t->program->job;
    for (;;) {
        struct job_step s = {.rows = rows, .stop = stop_wanted(t)};
        enum skiff_status status = job->class->step(job, t->program, &s, err);
        w->saw_stop |= s.stop;
        w->weight = s.weight;
        if (status != SKIFF_OK || !s.idle)
            return status;
        TRY(executor_run(w->executor, s.idle, NULL, 0, NULL, 0, NULL, err));
    }
}

/* The batch with one more feed: its weight among the batches of all ranks. */
static void add_weight(struct worker *w, struct trainer_batch *batch)
{
    size_t n = (size_t)batch->nfeeds;
    w->feeds = mem_grow_or_die(w->feeds, (n + 1) * sizeof(*w->feeds));
    memcpy(w->feeds, batch->feeds, n * sizeof(*w->feeds));
    w->weighs = (struct tensor){.dtype = DTYPE_FP32,
                                .shape = w->trainer->weight->shape,
                                .data = &w->weight,
                                .cap = sizeof(w->weight),
                                .owner = TENSOR_BORROWED};
    w->feeds[n] = (struct feed){.name = JOB_WEIGHT, .tensor = &w->weighs};
    batch->feeds = w->feeds;
    batch->nfeeds++;
}

/* part NULL: an evaluation, which has no training steps. */
static void observe(struct metric *part, double seconds)
{
    if (part)
        metric_observe(part, (uint64_t)(1e9 * seconds));
}

static enum skiff_status next_batch(struct worker *w, struct trainer_batch *batch,
                                    struct skiff_error *err)
{
    struct trainer *t = w->trainer;
    double start = clock_seconds();
    enum skiff_status status = t->source->next(t->source->self, w->index, batch, err);
    double seconds = clock_seconds() - start;
    w->read_seconds += seconds;
    if (status == SKIFF_OK)
        observe(t->read, seconds);
    if (status < 0 || !t->together)
        return status;
    status = join_steps(w, status == SKIFF_OK ? batch->rows : 0, err);
    if (status == SKIFF_OK && t->weight)
        add_weight(w, batch);
    return status;
}

static enum skiff_status work_one(struct worker *w, struct skiff_error *err)
{
    struct trainer *t = w->trainer;
    struct trainer_batch batch = {0};
    enum skiff_status status = next_batch(w, &batch, err);
    double read = clock_seconds();
    if (status != SKIFF_OK)
        return status;
    w->in_step = true;
    look_prefetch(w);
    TRY(executor_run(w->executor, t->program, batch.feeds, batch.nfeeds, t->names, t->nnames,
                     w->values, err));
    TRY(check_loss(w, err));
    w->in_step = false;
    double seconds = clock_seconds() - read;
    w->compute_seconds += seconds;
    w->batches++;
    w->rows += batch.rows;
    observe(t->compute, seconds);
    metric_add(t->batches, 1);
    metric_add(t->samples, batch.rows);
    report_watcher(w, batch.rows);
    report_fetches(w);
    report_debug(w);
    TRY(hand_over(w, err));
    return pause_pass(&t->pause, batch.rows, err);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct trainer *t = w->trainer;
    struct skiff_error err = {0};
    enum skiff_status status = SKIFF_OK;
    w->started = clock_seconds();
    while (status == SKIFF_OK && !atomic_load(&t->failed)) {
        if (!t->together && stop_wanted(t)) {
            w->saw_stop = true;
            break;
        }
        status = work_one(w, &err);
    }
    if (status < 0)
        trainer_fail(t, w->in_step ? w : NULL, &err);
    if (pause_leave(&t->pause, status < 0, &err) < 0)
        trainer_fail(t, NULL, &err);
    struct job *job = t->program->job;
    if (job && job->class->thread_end)
        job->class->thread_end(job);
    return NULL;
}

/* ---- the monitor thread: handler, ticks, and waking readers for a stop ---- */

static void call_handler(struct trainer *t)
{
    bool ready = t->ready;
    t->ready = false;
    if (!ready)
        return;
    pthread_mutex_unlock(&t->lock);
    t->options->handler(t->options->user, t->handed);
    pthread_mutex_lock(&t->lock);
}

static void wait_a_little(struct trainer *t)
{
    cond_wait_until(&t->changed, &t->lock, clock_now() + (int64_t)(MONITOR_STEP * 1e9));
}

static void *monitor_run(void *arg)
{
    struct trainer *t = arg;
    const struct trainer_options *o = t->options;
    double period = o->handler_period > 0 ? o->handler_period : 60.0;
    double handle_next = clock_seconds() + period, tick_next = clock_seconds() + o->tick_period;
    bool interrupted = false;
    pthread_mutex_lock(&t->lock);
    while (!t->done) {
        wait_a_little(t);
        double at = clock_seconds();
        if (o->handler && at >= handle_next) {
            t->want = true;
            handle_next = at + period;
        }
        call_handler(t);
        bool interrupt = !interrupted && stop_wanted(t) && t->source->interrupt;
        bool tick = o->on_tick && at >= tick_next && !t->done;
        pthread_mutex_unlock(&t->lock);
        if (tick) {
            o->on_tick(o->user);
            tick_next = clock_seconds() + o->tick_period;
        }
        if (interrupt) {
            t->source->interrupt(t->source->self);
            interrupted = true;
        }
        pthread_mutex_lock(&t->lock);
    }
    call_handler(t);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- setup ---- */

static enum skiff_status workers_open(struct trainer *t, struct skiff_scope *root,
                                      const struct str_map *states, struct skiff_error *err)
{
    const struct trainer_options *o = t->options;
    for (int i = 0; i < o->threads; i++) {
        struct worker *w = &t->workers[i];
        struct executor_options eo = o->executor;
        eo.profile |= o->print_debug != NULL;
        eo.seed += (uint64_t)i;
        eo.metrics = t->metrics;
        eo.thread_pool = NULL; /* the training threads keep the cores busy */
        w->trainer = t;
        w->index = i;
        w->scope = scope_create_child(root);
        w->executor = executor_create(w->scope, &eo);
        w->values = mem_alloc_or_die((size_t)(t->nnames + 1) * sizeof(*w->values));
        TRY(metric_states_split(w->scope, root, states, o->reset_metrics || i > 0, err));
    }
    return SKIFF_OK;
}

static void workers_close(struct trainer *t)
{
    for (int i = 0; i < t->options->threads; i++) {
        struct worker *w = &t->workers[i];
        for (int v = 0; w->values && v < t->nnames; v++)
            value_deinit(&w->values[v]);
        free(w->values);
        free(w->feeds);
        executor_destroy(w->executor);
        scope_destroy(w->scope);
    }
}

/* Why a step has failed, and which samples it had; called when no thread trains any more. */
static void explain_step(struct trainer *t, const struct skiff_scope *scope)
{
    const struct trainer_options *o = t->options;
    struct skiff_error *e = &t->error;
    char odd[160];
    bool lost = trainer_diverged(scope, t->program, odd);
    if (!t->saw_nan && !(lost && e->code == SKIFF_RANGE)) {
        if (t->position.len && e->code == SKIFF_RANGE)
            error_prefix(e, e->code, "%s", t->position.data);
        return;
    }
    if (t->saw_nan)
        snprintf(odd, sizeof(odd), "%.150s", e->message);
    const struct worker *w = &t->workers[t->step_failed];
    char thread[32] = "";
    if (o->threads > 1)
        snprintf(thread, sizeof(thread), " of thread %d", t->step_failed);
    error_set(e, SKIFF_RANGE, "training diverged to NaN in %s%sbatch %lld%s%s%s%s: %s; %s",
              o->about ? o->about : "", o->about ? ", " : "", (long long)w->batches + 1, thread,
              t->position.len ? " (" : "", t->position.len ? t->position.data : "",
              t->position.len ? ")" : "", odd,
              o->advice ? o->advice : "a lower learning rate or clipped gradients may help");
}

static enum skiff_status threads_run(struct trainer *t, const struct skiff_scope *scope,
                                     struct skiff_error *err)
{
    const struct trainer_options *o = t->options;
    struct job *job = t->program->job;
    struct thread side = {0};
    struct skiff_error why;
    int started = 0;
    if (job && job->class->threads_begin)
        job->class->threads_begin(job, o->threads);
    enum skiff_status status = SKIFF_OK;
    if (o->handler || o->on_tick || o->wants_stop)
        status = thread_start(&side, "monitor", -1, monitor_run, t, &why);
    for (int i = 0; status == SKIFF_OK && i < o->threads; i++) {
        status = thread_start(&t->workers[i].thread, "train", i, work, &t->workers[i], &why);
        started += status == SKIFF_OK;
    }
    if (status < 0)
        trainer_fail(t, NULL, &why);
    /* other ranks must not wait for threads that could not start */
    for (int i = started; i < o->threads; i++) {
        (void)pause_leave(&t->pause, true, NULL);
        if (job && job->class->thread_end)
            job->class->thread_end(job);
    }
    for (int i = 0; i < started; i++)
        thread_join(&t->workers[i].thread);
    pthread_mutex_lock(&t->lock);
    t->done = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    thread_join(&side);
    if (!atomic_load(&t->failed))
        return SKIFF_OK;
    if (t->step_failed >= 0)
        explain_step(t, scope);
    if (err)
        *err = t->error;
    return t->error.code;
}

static void sum_up(const struct trainer *t, double seconds, struct trainer_result *r)
{
    *r = (struct trainer_result){.seconds = seconds};
    for (int i = 0; i < t->options->threads; i++) {
        const struct worker *w = &t->workers[i];
        struct profile profile;
        r->batches += w->batches;
        r->rows += w->rows;
        r->read_seconds += w->read_seconds;
        r->compute_seconds += w->compute_seconds;
        r->stopped |= w->saw_stop;
        executor_profile(w->executor, t->program, &profile);
        for (int s = 0; s < profile.count; s++)
            if (profile.steps[s].update)
                r->update_seconds += profile.steps[s].seconds;
        if (t->options->on_profile)
            t->options->on_profile(t->options->user, &profile);
        free(profile.steps);
    }
    r->stopped |= stop_wanted(t);
}

static enum skiff_status merge_states(struct trainer *t, struct skiff_scope *root,
                                      const struct str_map *states, struct skiff_error *err)
{
    struct skiff_scope **own = mem_alloc_or_die((size_t)t->options->threads * sizeof(*own));
    for (int i = 0; i < t->options->threads; i++)
        own[i] = t->workers[i].scope;
    enum skiff_status status = metric_states_merge(root, own, t->options->threads, states, err);
    free(own);
    return status < 0 ? status : metric_results(root, t->program, err);
}

static void trainer_count(struct trainer *t)
{
    const struct trainer_options *o = t->options;
    const char *work = o->evaluates ? "evaluate" : "train";
    t->metrics = o->executor.metrics;
    if (!t->metrics)
        t->metrics = t->own_metrics = metrics_create(NULL, 0);
    t->batches = metrics_get(t->metrics, METRIC_TRAIN_BATCHES, work);
    t->samples = metrics_get(t->metrics, METRIC_TRAIN_SAMPLES, work);
    if (o->evaluates)
        return;
    t->read = metrics_get(t->metrics, METRIC_STEP_SECONDS, "read");
    t->compute = metrics_get(t->metrics, METRIC_STEP_SECONDS, "compute");
}

static void trainer_init(struct trainer *t)
{
    const struct trainer_options *o = t->options;
    trainer_count(t);
    names_collect(t);
    t->workers = mem_alloc_or_die((size_t)o->threads * sizeof(*t->workers));
    t->watch_values =
        mem_alloc_or_die((size_t)o->threads * (size_t)(o->nwatched + 1) * sizeof(*t->watch_values));
    t->handed = mem_alloc_or_die((size_t)(o->nhandled + 1) * sizeof(*t->handed));
    pthread_mutex_init(&t->lock, NULL);
    cond_init(&t->changed);
    pause_init(&t->pause, o);
}

static void trainer_deinit(struct trainer *t)
{
    workers_close(t);
    for (int i = 0; i < t->options->nhandled; i++)
        value_deinit(&t->handed[i]);
    free(t->handed);
    free(t->watch_values);
    free(t->workers);
    free(t->names);
    free(t->fetch_at);
    free(t->watch_at);
    free(t->handle_at);
    metrics_destroy(t->own_metrics);
    buf_deinit(&t->position);
    pause_deinit(&t->pause);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
}

enum skiff_status trainer_run(struct skiff_scope *scope, const struct skiff_program *program,
                              const struct trainer_source *source,
                              const struct trainer_options *options, struct trainer_result *result,
                              struct skiff_error *err)
{
    if (options->threads < 1)
        return error_set(err, SKIFF_INVALID, "a trainer needs at least one thread, not %d",
                         options->threads);
    bool done;
    program = program_to_run(program);
    if (options->threads > 1 && steps_together(program))
        return error_set(err, SKIFF_INVALID,
                         "a rank of a collective job trains with one thread, not %d; start more "
                         "ranks instead (--nproc_per_node)",
                         options->threads);
    if (options->threads > 1 && merge_grad_block(program))
        return error_set(err, SKIFF_INVALID,
                         "gradient merge: one thread counts batches and adds up their gradients, "
                         "not %d; train with one thread, or with several ranks of one",
                         options->threads);
    TRY(job_begin(program, scope, &done, err));
    if (done)
        return error_set(err, SKIFF_STATE, "the program of a parameter server cannot be trained");
    struct trainer t = {.program = program,
                        .source = source,
                        .options = options,
                        .together = steps_together(program),
                        .weight = block_own_var(program_root(program), JOB_WEIGHT),
                        .step_failed = -1};
    struct trainer_result r = {0};
    struct str_map states;
    str_map_init(&states);
    metric_states(program, &states);
    trainer_init(&t);
    enum skiff_status status = workers_open(&t, scope, &states, err);
    if (status == SKIFF_OK) {
        double start = clock_seconds();
        status = threads_run(&t, scope, err);
        sum_up(&t, clock_seconds() - start - t.pause.seconds, &r);
        enum skiff_status merged =
            merge_states(&t, scope, &states, status == SKIFF_OK ? err : NULL);
        status = status == SKIFF_OK ? merged : status;
    }
    trainer_deinit(&t);
    str_map_deinit(&states);
    if (result)
        *result = r;
    return status;
}
