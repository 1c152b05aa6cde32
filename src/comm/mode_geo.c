/* GEO: the trainer trains on local parameters; every K batches the communicator's thread exchanges
 * differences. Per parameter, with T trainers:
 *
 *   delta = (train - old) / T;  old += delta;  push delta;  pull p;  train += p - old;  old = p
 *
 * Dense parameters are exchanged completely. Of sparse ones, the rows that the K batches used are
 * pushed, and the rows that any trainer has pushed since this one's last pull are pulled.
 *
 * `train` is the parameter in the scope, which training threads continue to update meanwhile
 * (Hogwild). A training thread waits only when K batches are queued and the exchange before is not
 * over. Batches that remain when the trainer stops make a last exchange.
 *
 * For distributed tables, whose rows are not in the scope, see geo_rows.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "comm/geo_rows.h"
#include "comm/mode.h"

struct geo_param {
    struct comm_var var, delta; /* the servers' names */
    bool sparse;
    struct skiff_tensor *train; /* in the scope */
    struct skiff_tensor old;    /* dense: the last common value */
    struct skiff_tensor diff;   /* what is pushed */
    struct skiff_tensor pulled; /* dense */
    int64_t width;
    struct id_map map; /* sparse: rows of an exchange */
};

struct ids {                 /* of one table in one batch */
    struct geo_param *param; /* or */
    struct geo_table *table;
    int64_t *ids;
    size_t n;
};

struct geo_batch {
    struct ids *lists;
    int n;
};

struct geo_state {
    struct geo_param *params;
    int nparams;
    struct geo_rows rows;
    pthread_mutex_t lock; /* guards all below; a leaf */
    pthread_cond_t changed;
    struct thread thread;
    struct geo_batch *queue; /* the first `count` of K */
    int count;
    bool stop, busy;
    bool wants_init; /* param_init ran before start: there was no scope yet */
    bool has_init;
    struct skiff_error error;
};

/* ---- parameters ---- */

static void add_param(struct geo_state *s, const struct skiff_placement *p, int n)
{
    struct geo_param *to = &s->params[s->nparams++];
    struct shape shape = placement_shape(p);
    slices_placed(&to->var, p, n, p->origin, "");
    slices_placed(&to->delta, p, n, p->origin, ".delta");
    to->sparse = p->sparse;
    to->width = shape_cols(&shape, 1);
    id_map_init(&to->map);
}

static void geo_destroy(struct comm *c)
{
    struct geo_state *s = c->state;
    for (int i = 0; i < s->nparams; i++) {
        struct geo_param *p = &s->params[i];
        value_deinit(&p->old);
        value_deinit(&p->diff);
        value_deinit(&p->pulled);
        id_map_deinit(&p->map);
        comm_var_deinit(&p->var);
        comm_var_deinit(&p->delta);
    }
    geo_rows_deinit(&s->rows);
    free(s->params);
    free(s->queue);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static enum skiff_status geo_create(struct comm *c, struct skiff_error *err)
{
    const struct job_plan *plan = c->options.plan;
    struct geo_state *s = mem_alloc_or_die(sizeof *s);
    c->state = s;
    pthread_mutex_init(&s->lock, NULL);
    cond_init(&s->changed);
    s->queue = mem_alloc_or_die((size_t)c->options.geo_need_push_nums * sizeof *s->queue);
    s->params = mem_alloc_or_die((size_t)(plan->nplacement + 1) * sizeof *s->params);
    for (int i = 0, n; i < plan->nplacement; i += n) {
        n = slices_count(plan, i);
        if (!plan->placement[i].state)
            add_param(s, &plan->placement[i], n);
    }
    return geo_rows_init(&s->rows, plan, c->options.own, err);
}

static struct geo_param *find_param(struct geo_state *s, const char *name)
{
    for (int i = 0; i < s->nparams; i++)
        if (!strcmp(s->params[i].var.origin, name))
            return &s->params[i];
    return NULL;
}

/* All trainers start from the servers' values: sparse tables are fetched here; the startup program
 * has fetched dense parameters. */
static enum skiff_status fetch_tables(struct comm *c, struct skiff_error *err)
{
    struct geo_state *s = c->state;
    enum skiff_status status = SKIFF_OK;
    struct session_pull *pulls = mem_alloc_or_die((size_t)(s->nparams + 1) * sizeof *pulls);
    int n = 0;
    for (int i = 0; i < s->nparams; i++) {
        struct geo_param *p = &s->params[i];
        p->train = scope_var(c->scope, p->var.origin);
        if (p->train->kind != VALUE_TENSOR || !p->train->tensor.data ||
            p->train->tensor.dtype != DTYPE_FP32) {
            status = error_set(err, SKIFF_STATE,
                               "parameter %s has no float32 value: run the startup program first",
                               p->var.origin);
            goto out;
        }
        value_flush(p->train);
        if (p->sparse)
            pulls[n++] = (struct session_pull){.from = p->var.slices, .out = p->train};
    }
    TRY_OUT(session_exchange(c->session, 0, 0, NULL, 0, pulls, n, err));
out:
    free(pulls);
    return status;
}

static enum skiff_status bind_all(struct comm *c, struct skiff_error *err)
{
    struct geo_state *s = c->state;
    for (int i = 0; i < s->nparams; i++) {
        struct geo_param *p = &s->params[i];
        TRY(comm_bind(c->session, &p->var, PS_PULL_WHOLE, err));
        TRY(comm_bind(c->session, &p->delta, PS_PUSH_DENSE | PS_PUSH_ROWS, err));
    }
    return geo_rows_bind(c, &s->rows, err);
}

static enum skiff_status geo_init(struct comm *c, struct skiff_error *err)
{
    struct geo_state *s = c->state;
    TRY(bind_all(c, err));
    TRY(fetch_tables(c, err));
    for (int i = 0; i < s->nparams; i++)
        TRY(value_copy(&s->params[i].old, s->params[i].train, err));
    pthread_mutex_lock(&s->lock);
    s->has_init = true;
    pthread_mutex_unlock(&s->lock);
    return SKIFF_OK;
}

/* ---- training threads ---- */

static void batch_deinit(struct geo_batch *b)
{
    for (int i = 0; i < b->n; i++)
        free(b->lists[i].ids);
    free(b->lists);
    *b = (struct geo_batch){0};
}

static enum skiff_status batch_init(struct comm *c, struct geo_batch *b, int n,
                                    const char *const *names, const struct tensor *const *ids,
                                    struct skiff_error *err)
{
    *b = (struct geo_batch){.lists = mem_alloc_or_die((size_t)(n + 1) * sizeof *b->lists)};
    for (int i = 0; i < n; i++) {
        struct geo_state *s = c->state;
        struct geo_param *p = find_param(s, names[i]);
        struct geo_table *t = geo_rows_find(&s->rows, names[i]);
        if ((!p && !t) || !ids[i] || ids[i]->dtype != DTYPE_INT64) {
            batch_deinit(b);
            return error_set(err, SKIFF_INVALID,
                             "GEO: ids for %s: not a table of this job, or not of type int64",
                             names[i]);
        }
        size_t count = (size_t)tensor_numel(ids[i]);
        struct ids *to = &b->lists[b->n++];
        *to = (struct ids){p, t, mem_alloc_or_die(count * sizeof *to->ids + 1), count};
        memcpy(to->ids, ids[i]->data, count * sizeof *to->ids);
    }
    return SKIFF_OK;
}

static enum skiff_status start_over(struct comm *c, struct skiff_error *err)
{
    struct geo_state *s = c->state;
    pthread_mutex_lock(&s->lock);
    s->wants_init = true;
    pthread_mutex_unlock(&s->lock);
    return atomic_load(&c->running) ? geo_init(c, err) : SKIFF_OK;
}

static enum skiff_status geo_send_ids(struct comm *c, int n, const char *const *names,
                                      const struct tensor *const *ids, struct skiff_error *err)
{
    struct geo_state *s = c->state;
    struct geo_batch b;
    if (n == 1 && !strcmp(names[0], "param_init"))
        return start_over(c, err);
    TRY(comm_check_running(c, err));
    TRY(batch_init(c, &b, n, names, ids, err));
    enum skiff_status status = SKIFF_OK;
    pthread_mutex_lock(&s->lock);
    while (!s->error.code && s->count == c->options.geo_need_push_nums)
        pthread_cond_wait(&s->changed, &s->lock); /* the running exchange has a deadline */
    if (s->error.code) {
        status = s->error.code;
        if (err)
            *err = s->error;
    } else if (!s->has_init) {
        status = error_set(err, SKIFF_STATE,
                           "GEO: the startup program of the trainer was not run after init_worker");
    } else {
        s->queue[s->count++] = b;
        b = (struct geo_batch){0};
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    batch_deinit(&b);
    return status;
}

/* Gradients of distributed tables go to the inner server; nothing else is sent. */
static enum skiff_status geo_send(struct comm *c, const struct job_slices *to,
                                  const struct skiff_tensor *x, bool merge_add,
                                  struct skiff_error *err)
{
    struct session *session;
    struct session_push push = {.to = *to, .x = x};
    (void)merge_add;
    TRY(comm_open(c, &session, err));
    if (!c->own)
        return error_set(err, SKIFF_INVALID,
                         "GEO: %s is sent, but only differences are pushed in this mode",
                         to->origin);
    return session_exchange(c->own, 0, 0, &push, 1, NULL, 0, err);
}

static enum skiff_status geo_lookup(struct comm *c, const struct job_lookup *l,
                                    struct skiff_error *err)
{
    struct geo_state *s = c->state;
    TRY(geo_rows_merge(c, &s->rows, l, err));
    return comm_lookup(c, c->own, l, err);
}

/* ---- the communicator's thread ---- */

/* These two touch parameters that training threads update meanwhile: Hogwild. An element that no
 * other trainer has changed (pulled equals old, bit for bit) is not written, so that the trainer's
 * own update of it cannot be lost. */
static void geo_subtract(float *diff, float *old, const float *train, size_t n, float share)
{
    for (size_t i = 0; i < n; i++) {
        diff[i] = (train[i] - old[i]) * share;
        old[i] += diff[i];
    }
}

static void geo_replay(float *train, float *old, const float *pulled, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float others = pulled[i] - old[i];
        if (others != 0)
            train[i] += others;
        old[i] = pulled[i];
    }
}

static enum skiff_status diff_dense(struct geo_param *p, float share, struct skiff_error *err)
{
    const struct tensor *t = &p->train->tensor;
    TRY(value_as_tensor(&p->diff, DTYPE_FP32, &t->shape, err));
    TRY(value_as_tensor(&p->pulled, DTYPE_FP32, &t->shape, err));
    geo_subtract(tensor_f32(&p->diff.tensor), tensor_f32(&p->old.tensor), tensor_f32(t),
                 (size_t)tensor_numel(t), share);
    return SKIFF_OK;
}

static size_t count_ids(const struct geo_batch *batches, int n, const struct geo_param *p,
                        const struct geo_table *t)
{
    size_t total = 0;
    for (int b = 0; b < n; b++)
        for (int i = 0; i < batches[b].n; i++) {
            const struct ids *l = &batches[b].lists[i];
            total += l->param == p && l->table == t ? l->n : 0;
        }
    return total;
}

/* Every id that one of the batches used, once. */
static enum skiff_status diff_table(struct comm *c, struct geo_table *t,
                                    const struct geo_batch *batches, int n, float share,
                                    struct skiff_error *err)
{
    struct geo_state *s = c->state;
    size_t total = count_ids(batches, n, NULL, t), count = 0;
    int64_t *ids = mem_alloc_or_die((total + 1) * sizeof *ids);
    id_map_reset(&t->map, total);
    for (int b = 0; b < n; b++)
        for (int i = 0; i < batches[b].n; i++) {
            const struct ids *l = &batches[b].lists[i];
            for (size_t e = 0; e < l->n && l->table == t; e++) {
                bool fresh;
                id_map_add(&t->map, l->ids[e], &fresh);
                if (fresh)
                    ids[count++] = l->ids[e];
            }
        }
    enum skiff_status status = geo_rows_diff(c, &s->rows, t, ids, count, share, err);
    free(ids);
    return status;
}

/* Every row that one of the batches used, once. */
static enum skiff_status diff_rows(struct geo_param *p, const struct geo_batch *batches, int n,
                                   float share, struct skiff_error *err)
{
    size_t total = count_ids(batches, n, p, NULL), width = (size_t)p->width;
    int64_t height = p->train->tensor.shape.dims[0];
    id_map_reset(&p->map, total);
    TRY(value_as_rows(&p->diff, DTYPE_FP32, total, p->width, height, err));
    for (int b = 0; b < n; b++)
        for (int i = 0; i < batches[b].n; i++) {
            const struct ids *l = &batches[b].lists[i];
            for (size_t e = 0; e < l->n && l->param == p; e++) {
                bool fresh;
                if ((uint64_t)l->ids[e] >= (uint64_t)height)
                    continue; /* a padding id; the look-up has checked the others */
                uint32_t at = id_map_add(&p->map, l->ids[e], &fresh);
                if (fresh)
                    p->diff.sel.rows[at] = l->ids[e];
            }
        }
    p->diff.sel.nrows = p->map.count;
    p->diff.tensor.shape.dims[0] = p->map.count;
    for (size_t r = 0; r < p->diff.sel.nrows; r++) {
        size_t at = (size_t)p->diff.sel.rows[r] * width;
        geo_subtract(tensor_f32(&p->diff.tensor) + r * width, tensor_f32(&p->old.tensor) + at,
                     tensor_f32(&p->train->tensor) + at, width, share);
    }
    return SKIFF_OK;
}

static enum skiff_status take_changed(struct comm *c, struct geo_param *p, struct skiff_error *err)
{
    int64_t *ids = NULL;
    float *rows = NULL;
    size_t n = 0, width = (size_t)p->width;
    int64_t height = p->train->tensor.shape.dims[0];
    enum skiff_status status =
        session_pull_changed(c->session, &p->var.slices, p->width, &ids, &rows, &n, err);
    for (size_t i = 0; i < n && status == SKIFF_OK; i++) {
        if ((uint64_t)ids[i] >= (uint64_t)height) {
            status = error_set(err, SKIFF_RANGE, "%s: a server sent row %lld of %lld",
                               p->var.origin, (long long)ids[i], (long long)height);
            break;
        }
        size_t at = (size_t)ids[i] * width;
        geo_replay(tensor_f32(&p->train->tensor) + at, tensor_f32(&p->old.tensor) + at,
                   rows + i * width, width);
    }
    free(ids);
    free(rows);
    return status;
}

static enum skiff_status geo_round(struct comm *c, const struct geo_batch *batches, int n,
                                   struct skiff_error *err)
{
    struct geo_state *s = c->state;
    enum skiff_status status = SKIFF_OK;
    float share = 1.0f / (float)c->options.session.workers;
    struct session_push *pushes =
        mem_alloc_or_die((size_t)(s->nparams + s->rows.n) * sizeof *pushes);
    struct session_pull *pulls = mem_alloc_or_die((size_t)(s->nparams + 1) * sizeof *pulls);
    int npush = 0, npull = 0;
    for (int i = 0; i < s->nparams; i++) {
        struct geo_param *p = &s->params[i];
        TRY_OUT(p->sparse ? diff_rows(p, batches, n, share, err) : diff_dense(p, share, err));
        if (!p->sparse)
            pulls[npull++] = (struct session_pull){.from = p->var.slices, .out = &p->pulled};
        if (!p->sparse || p->diff.sel.nrows)
            pushes[npush++] = (struct session_push){.to = p->delta.slices, .x = &p->diff};
    }
    for (int i = 0; i < s->rows.n; i++) {
        struct geo_table *t = &s->rows.tables[i];
        TRY_OUT(diff_table(c, t, batches, n, share, err));
        if (t->diff.sel.nrows)
            pushes[npush++] = (struct session_push){.to = t->delta.slices, .x = &t->diff};
    }
    /* One exchange pushes all differences and pulls dense values. Changed rows are pulled after it,
     * so that they include this trainer's own push and `old` is again the servers' value. */
    TRY_OUT(session_exchange(c->session, 0, 0, pushes, npush, pulls, npull, err));
    for (int i = 0; i < s->rows.n; i++)
        TRY_OUT(geo_rows_replay(c, &s->rows, &s->rows.tables[i], err));
    for (int i = 0; i < s->nparams; i++) {
        struct geo_param *p = &s->params[i];
        if (p->sparse)
            TRY_OUT(take_changed(c, p, err));
        else
            geo_replay(tensor_f32(&p->train->tensor), tensor_f32(&p->old.tensor),
                       tensor_f32(&p->pulled.tensor), (size_t)tensor_numel(&p->old.tensor));
    }
out:
    free(pushes);
    free(pulls);
    return status;
}

static void *communicate(void *arg)
{
    struct comm *c = arg;
    struct geo_state *s = c->state;
    int k = c->options.geo_need_push_nums;
    struct geo_batch *taken = mem_alloc_or_die((size_t)k * sizeof *taken);
    struct skiff_error err;
    pthread_mutex_lock(&s->lock);
    while (!s->error.code) {
        while (s->count < k && !s->stop)
            pthread_cond_wait(&s->changed, &s->lock);
        int n = s->count;
        if (!n)
            break;
        /* The queue is emptied before the exchange, so that training threads can fill it again
         * meanwhile; `busy` makes a flush wait for the end of the exchange. */
        memcpy(taken, s->queue, (size_t)n * sizeof *taken);
        s->count = 0;
        s->busy = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        enum skiff_status status = geo_round(c, taken, n, &err);
        for (int i = 0; i < n; i++)
            batch_deinit(&taken[i]);
        pthread_mutex_lock(&s->lock);
        s->busy = false;
        if (status < 0)
            s->error = err;
        pthread_cond_broadcast(&s->changed);
    }
    for (int i = 0; i < s->count; i++)
        batch_deinit(&s->queue[i]);
    s->count = 0;
    pthread_mutex_unlock(&s->lock);
    free(taken);
    return NULL;
}

static enum skiff_status geo_start(struct comm *c, struct skiff_error *err)
{
    struct geo_state *s = c->state;
    s->stop = false;
    s->error = (struct skiff_error){0};
    if (s->wants_init)
        TRY(geo_init(c, err));
    return thread_start(&s->thread, "send", -1, communicate, c, err);
}

static enum skiff_status geo_flush(struct comm *c, struct skiff_error *err)
{
    struct geo_state *s = c->state;
    pthread_mutex_lock(&s->lock);
    while (!s->error.code && (s->busy || s->count == c->options.geo_need_push_nums))
        pthread_cond_wait(&s->changed, &s->lock);
    enum skiff_status status = s->error.code;
    if (status < 0 && err)
        *err = s->error;
    pthread_mutex_unlock(&s->lock);
    return status;
}

static enum skiff_status geo_stop(struct comm *c, struct skiff_error *err)
{
    struct geo_state *s = c->state;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    thread_join(&s->thread);
    if (s->error.code < 0 && err)
        *err = s->error;
    return s->error.code;
}

static const struct job_class geo_class = {COMM_CLASS_SLOTS, .communicates = true,
                                           .send = comm_job_send, .send_ids = comm_job_ids};

const struct comm_mode mode_geo = {.class = &geo_class,
                                   .create = geo_create,
                                   .destroy = geo_destroy,
                                   .start = geo_start,
                                   .stop = geo_stop,
                                   .flush = geo_flush,
                                   .send = geo_send,
                                   .lookup = geo_lookup,
                                   .send_ids = geo_send_ids};
