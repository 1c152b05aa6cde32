/* What workers do together: begin, meet, add up, end.
 *
 * A meeting and sync steps would wait for each other for ever when workers have different numbers
 * of batches: one waits in the meeting for the others, they wait in a step for its gradients. So a
 * worker leaves the steps before it waits (session_pause), and all come back, and know that all are
 * back, before anybody goes on. Before that all that was handed over is exchanged (comm_flush):
 * what comes after the meeting finds it done. */
#include "fleet/fleet_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/auc.h"

static enum skiff_status need_worker(const struct skiff_fleet *f, const char *call,
                                     struct skiff_error *err)
{
    TRY(fleet_need_init(f, call, err));
    if (f->role.kind != SKIFF_WORKER)
        return error_set(err, SKIFF_STATE, "%s is for workers; this process is server %d", call,
                         f->role.id);
    return SKIFF_OK;
}

enum skiff_status fleet_need_session(const struct skiff_fleet *f, const char *call,
                                     struct session **out, struct skiff_error *err)
{
    TRY(need_worker(f, call, err));
    *out = f->job ? comm_session(f->job) : NULL;
    if (!*out)
        return error_set(err, SKIFF_STATE,
                         "%s: this worker is not connected; call init_worker "
                         "first",
                         call);
    return SKIFF_OK;
}

enum skiff_status skiff_fleet_init_worker(struct skiff_fleet *f, struct skiff_scope *scope,
                                          struct skiff_error *err)
{
    TRY(need_worker(f, "init_worker", err));
    if (fleet_is_alone(f))
        return SKIFF_OK;
    if (!f->job)
        return error_set(err, SKIFF_STATE,
                         "init_worker: there is no program yet; call "
                         "distributed_optimizer(...).minimize first");
    return comm_start(f->job, scope, err);
}

bool fleet_is_working(const struct skiff_fleet *f)
{
    return f->job && f->role.kind == SKIFF_WORKER && comm_is_running(f->job);
}

bool skiff_fleet_is_working(const struct skiff_fleet *f)
{
    return fleet_is_working(f);
}

/* Both halves are done, whatever becomes of the first: nobody must wait for us. */
enum skiff_status skiff_fleet_stop_worker(struct skiff_fleet *f, struct skiff_error *err)
{
    TRY(need_worker(f, "stop_worker", err));
    if (!f->job)
        return SKIFF_OK;
    enum skiff_status first = comm_stop(f->job, err);
    enum skiff_status second = f->job->class->close(f->job, first < 0 ? NULL : err);
    return first < 0 ? first : second;
}

void skiff_fleet_abandon_worker(struct skiff_fleet *f, const char *reason)
{
    if (!fleet_is_working(f))
        return;
    /* its server is in this process: no other process has to be notified */
    if (!f->role.nservers) {
        skiff_fleet_stop_worker(f, NULL);
        return;
    }
    comm_abandon(f->job, reason);
    comm_stop(f->job, NULL); /* its threads look at the scope, which may go after us */
}

/* ---- meeting ---- */

/* In sync mode servers wait for the steps of all workers. A worker that waits for the others in a
 * meeting makes no steps: it steps aside before, and comes back together with all others. */
static bool has_steps(const struct skiff_fleet *f)
{
    return mode_waits(split_plan(f->split)->mode);
}

enum skiff_status fleet_step_aside(struct skiff_fleet *f, struct session *s,
                                   struct skiff_error *err)
{
    return has_steps(f) ? session_pause(s, true, err) : SKIFF_OK;
}

enum skiff_status fleet_step_back(struct skiff_fleet *f, struct session *s, struct skiff_error *err)
{
    return has_steps(f) ? session_pause(s, false, err) : SKIFF_OK;
}

static enum skiff_status meet_begin(struct skiff_fleet *f, struct session *s,
                                    struct skiff_error *err)
{
    TRY(comm_flush(f->job, err)); /* what comes behind the meeting finds everything done */
    return fleet_step_aside(f, s, err);
}

static enum skiff_status meet_end(struct skiff_fleet *f, struct session *s, struct skiff_error *err)
{
    TRY(fleet_step_back(f, s, err));
    return has_steps(f) ? session_barrier(s, "back", err) : SKIFF_OK;
}

enum skiff_status skiff_fleet_barrier_worker(struct skiff_fleet *f, struct skiff_error *err)
{
    struct session *s;
    TRY(need_worker(f, "barrier_worker", err));
    if (f->role.workers == 1)
        return SKIFF_OK;
    TRY(fleet_need_session(f, "barrier_worker", &s, err));
    TRY(meet_begin(f, s, err));
    TRY(session_barrier(s, "barrier_worker", err));
    return meet_end(f, s, err);
}

/* ---- reductions ---- */

static enum skiff_status check_op(const char *call, const char *op, struct skiff_error *err)
{
    if (op && (!strcmp(op, "sum") || !strcmp(op, "max") || !strcmp(op, "min")))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID, "%s: the operation is '%s'; expected sum, max or min",
                     call, op ? op : "NULL");
}

/* All workers make these calls in the same order, so that the number is the same everywhere. */
static void next_tag(struct skiff_fleet *f, char out[64])
{
    snprintf(out, 64, "all_reduce.%u", f->meetings++);
}

/* v: double (real) or int64_t */
static enum skiff_status all_reduce(struct skiff_fleet *f, const char *op, bool real, void *v,
                                    size_t n, struct skiff_error *err)
{
    struct session *s;
    char tag[64];
    TRY(need_worker(f, "all_reduce", err));
    TRY(check_op("all_reduce", op, err));
    if (f->role.workers == 1)
        return SKIFF_OK;
    TRY(fleet_need_session(f, "all_reduce", &s, err));
    next_tag(f, tag);
    TRY(meet_begin(f, s, err));
    TRY(real ? session_reduce_double(s, tag, op, v, n, err)
             : session_reduce_int64(s, tag, op, v, n, err));
    return meet_end(f, s, err);
}

enum skiff_status skiff_fleet_all_reduce_double(struct skiff_fleet *f, const char *op, double *v,
                                                size_t n, struct skiff_error *err)
{
    return all_reduce(f, op, true, v, n, err);
}

enum skiff_status skiff_fleet_all_reduce_int64(struct skiff_fleet *f, const char *op, int64_t *v,
                                               size_t n, struct skiff_error *err)
{
    return all_reduce(f, op, false, v, n, err);
}

/* Appends the buckets; float64 ones (Paddle 1.6's) are whole numbers, too. */
static enum skiff_status take_buckets(const struct skiff_scope *scope, const char *name,
                                      int64_t *out, int64_t n, struct skiff_error *err)
{
    const struct skiff_tensor *v = scope_find(scope, name);
    if (tensor_numel(&v->tensor) != n)
        return error_set(err, SKIFF_SHAPE, "%s has %lld buckets, but its counterpart %lld", name,
                         (long long)tensor_numel(&v->tensor), (long long)n);
    for (int64_t i = 0; i < n; i++)
        out[i] = v->tensor.dtype == DTYPE_INT64 ? ((const int64_t *)v->tensor.data)[i]
                                                : (int64_t)((const double *)v->tensor.data)[i];
    return SKIFF_OK;
}

static enum skiff_status check_buckets(const struct skiff_scope *scope, const char *name,
                                       struct skiff_error *err)
{
    const struct skiff_tensor *v = name ? scope_find(scope, name) : NULL;
    if (!v || v->kind != VALUE_TENSOR)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s holds no value; expected a state of an auc layer that has run",
                         name ? name : "NULL");
    if (v->tensor.dtype != DTYPE_INT64 && v->tensor.dtype != DTYPE_FP64)
        return error_set(err, SKIFF_DTYPE,
                         "%s holds %s; expected the int64 buckets of an auc layer", name,
                         dtype_name(v->tensor.dtype));
    return SKIFF_OK;
}

enum skiff_status skiff_fleet_auc(struct skiff_fleet *f, struct skiff_scope *scope, const char *pos,
                                  const char *neg, double *out, struct skiff_error *err)
{
    const struct skiff_scope *s = scope;
    TRY(check_buckets(s, pos, err));
    TRY(check_buckets(s, neg, err));
    int64_t n = tensor_numel(&scope_find(s, pos)->tensor);
    int64_t *both = mem_alloc_or_die((size_t)(2 * n + 1) * sizeof(*both));
    enum skiff_status status = take_buckets(s, pos, both, n, err);
    if (status == SKIFF_OK)
        status = take_buckets(s, neg, both + n, n, err);
    if (status == SKIFF_OK)
        status = skiff_fleet_all_reduce_int64(f, "sum", both, (size_t)(2 * n), err);
    if (status == SKIFF_OK)
        *out = auc_area(both, both + n, n);
    free(both);
    return status;
}
