/* Kernels that pass variables to the job (program/job.h): send, recv, the barriers,
 * listen_and_serv, and saving of servers' tables.
 *
 * A send names its variable's slices (send_varnames, sections), and the job cuts; or it lists
 * slices cut by earlier ops, one server each. One variable with several servers and no sections
 * goes to all of them (a step counter), or with `shards` row by row to the server of each id (a
 * sparse table). In GEO a send with names passes the ids of a batch: jobs with send_ids. */
#include <stdlib.h>
#include <string.h>

#include "ops/distributed/distributed.h"
#include "program/rights.h"
#include "store/tensor_file.h"

enum skiff_status kernel_job(const struct kernel *k, struct job **out, struct skiff_error *err)
{
    *out = k->env->program ? k->env->program->job : NULL;
    if (*out)
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                       "runs only in a distributed job (trainers and parameter servers)");
}

enum skiff_status job_lacks(const struct kernel *k, struct skiff_error *err)
{
    return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                       "this role of a distributed job does not have it");
}

/* `text` for each of n servers. */
static enum skiff_status repeat(struct kernel *k, const char *text, int n, const char *const **out,
                                struct skiff_error *err)
{
    void *p;
    TRY(kernel_scratch(k, (size_t)n * sizeof(char *), &p, err));
    const char **list = p;
    for (int i = 0; i < n; i++)
        list[i] = text;
    *out = list;
    return SKIFF_OK;
}

/* ---- send ---- */

static enum skiff_status send_value(struct kernel *k, struct job *j, int i,
                                    const struct job_slices *to, struct skiff_error *err)
{
    struct skiff_tensor *x = kernel_in_value(k, 0, i);
    if (!x || x->kind == VALUE_NONE)
        return kernel_fail(k, SKIFF_STATE, err, "%s has no value: no op before this one wrote it",
                           kernel_in_name(k, 0, i));
    if (!j->class->send)
        return job_lacks(k, err);
    return j->class->send(j, to, x, k->attr[SEND_ADD].b, err);
}

static enum skiff_status send_batch_ids(struct kernel *k, struct job *j, struct skiff_error *err)
{
    int n = k->attr[SEND_NAMES].n, have = kernel_in_count(k, 0);
    void *p;
    if (n != have)
        return kernel_fail(k, SKIFF_INVALID, err, "send_varnames has %d names for %d variables", n,
                           have);
    TRY(kernel_scratch(k, (size_t)(n + 1) * sizeof(struct tensor *), &p, err));
    const struct tensor **ids = p;
    for (int i = 0; i < n; i++) {
        const struct skiff_tensor *v = kernel_in_value(k, 0, i);
        ids[i] = v && v->kind == VALUE_TENSOR ? &v->tensor : NULL;
    }
    return j->class->send_ids(j, n, k->attr[SEND_NAMES].strings, ids, err);
}

/* One variable: its slices are named, or all servers get the complete variable. */
static enum skiff_status send_one(struct kernel *k, struct job *j, struct skiff_error *err)
{
    const struct attr_value *eps = &k->attr[SEND_EPMAP], *names = &k->attr[SEND_NAMES];
    const struct attr_value *rows = &k->attr[SEND_SECTIONS];
    struct job_slices to = {.origin = kernel_in_name(k, 0, 0),
                            .n = eps->n,
                            .endpoints = eps->strings,
                            .names = names->strings,
                            .sections = rows->n == eps->n ? rows->longs : NULL,
                            .modulo = k->attr[SEND_SHARDS].i > 0,
                            .shards = k->attr[SEND_SHARDS].i > 0 ? k->attr[SEND_SHARDS].i : 0};
    if (names->n != eps->n) {
        if (names->n > 1)
            return kernel_fail(k, SKIFF_INVALID, err, "send_varnames has %d names for %d servers",
                               names->n, eps->n);
        TRY(repeat(k, names->n ? names->strings[0] : to.origin, eps->n, &to.names, err));
    }
    return send_value(k, j, 0, &to, err);
}

enum skiff_status send_run(struct kernel *k, struct skiff_error *err)
{
    struct job *j;
    TRY(kernel_job(k, &j, err));
    int n = kernel_in_count(k, 0);
    if (j->class->send_ids && (k->attr[SEND_NAMES].n || !n))
        return send_batch_ids(k, j, err);
    if (n == 1)
        return send_one(k, j, err);
    if (k->attr[SEND_EPMAP].n != n)
        return kernel_fail(k, SKIFF_INVALID, err, "epmap has %d servers for %d variables",
                           k->attr[SEND_EPMAP].n, n);
    for (int i = 0; i < n; i++) {
        const char *name = kernel_in_name(k, 0, i);
        struct job_slices to = {
            .origin = name, .n = 1, .names = &name, .endpoints = &k->attr[SEND_EPMAP].strings[i]};
        TRY(send_value(k, j, i, &to, err));
    }
    return SKIFF_OK;
}

/* ---- recv ---- */

/* The servers' name of output i: recv_varnames or varnames if given, otherwise the local name. */
static const struct attr_value *remote_names(const struct kernel *k)
{
    return k->attr[RECV_NAMES].n ? &k->attr[RECV_NAMES] : &k->attr[RECV_VARNAMES];
}

enum skiff_status recv_run(struct kernel *k, struct skiff_error *err)
{
    struct job *j;
    const struct attr_value *names = remote_names(k), *eps = &k->attr[RECV_EPMAP];
    int n = kernel_out_count(k, 0);
    TRY(kernel_job(k, &j, err));
    if (k->attr[RECV_SKIP].i || (j->class->communicates && k->attr[RECV_NAMES].n))
        return SKIFF_OK; /* the communicator does it */
    if (!j->class->recv)
        return job_lacks(k, err);
    if (n == 1 && names->n > 1 && names->n == eps->n) {
        struct job_slices from = {.origin = kernel_out_name(k, 0, 0),
                                  .n = names->n,
                                  .names = names->strings,
                                  .endpoints = eps->strings};
        return j->class->recv(j, &from, kernel_out_value(k, 0, 0), err);
    }
    if (eps->n != n || (names->n && names->n != n))
        return kernel_fail(k, SKIFF_INVALID, err, "%d servers and %d names for %d variables",
                           eps->n, names->n, n);
    for (int i = 0; i < n; i++) {
        const char *here = kernel_out_name(k, 0, i), *there = names->n ? names->strings[i] : here;
        struct job_slices from = {
            .origin = here, .n = 1, .names = &there, .endpoints = &eps->strings[i]};
        TRY(j->class->recv(j, &from, kernel_out_value(k, 0, i), err));
    }
    return SKIFF_OK;
}

/* ---- barriers, serving, saving ---- */

enum skiff_status send_barrier_run(struct kernel *k, struct skiff_error *err)
{
    struct job *j;
    TRY(kernel_job(k, &j, err));
    return j->class->send_barrier ? j->class->send_barrier(j, err) : SKIFF_OK;
}

enum skiff_status fetch_barrier_run(struct kernel *k, struct skiff_error *err)
{
    struct job *j;
    TRY(kernel_job(k, &j, err));
    return j->class->fetch_barrier ? j->class->fetch_barrier(j, err) : SKIFF_OK;
}

enum skiff_status serve_run(struct kernel *k, struct skiff_error *err)
{
    struct job *j;
    TRY(kernel_job(k, &j, err));
    if (!j->class->serve)
        return job_lacks(k, err);
    return j->class->serve(j, k->env->program, k->env->scope, err);
}

enum skiff_status notify_run(struct kernel *k, struct skiff_error *err)
{
    struct job *j;
    TRY(kernel_job(k, &j, err));
    if (!j->class->save_table)
        return job_lacks(k, err);
    return j->class->save_table(j, k->attr[NOTIFY_DIR].s, k->attr[NOTIFY_TABLE].s, err);
}

/* Beta powers have one element on every server, however parameters are cut: one copy is enough. */
enum skiff_status recv_save_run(struct kernel *k, struct skiff_error *err)
{
    struct job *j;
    const struct attr_value *remote = &k->attr[SAVE_REMOTE], *dims = &k->attr[SAVE_SHAPE];
    const struct attr_value *names = remote->n ? remote : &k->attr[SAVE_SLICES];
    struct shape shape = shape_of(dims->n <= TENSOR_MAX_DIMS ? dims->n : 0, dims->longs);
    struct skiff_tensor whole = {0};
    char *path = NULL;
    TRY(kernel_job(k, &j, err));
    if (!j->class->recv)
        return job_lacks(k, err);
    if (!names->n || names->n != k->attr[SAVE_ENDPOINTS].n || dims->n > TENSOR_MAX_DIMS)
        return kernel_fail(k, SKIFF_INVALID, err, "%d names for %d servers, %d dims", names->n,
                           k->attr[SAVE_ENDPOINTS].n, dims->n);
    struct job_slices from = {.origin = k->attr[SAVE_PATH].s,
                              .n = shape_numel(&shape) == 1 ? 1 : names->n,
                              .names = names->strings,
                              .endpoints = k->attr[SAVE_ENDPOINTS].strings};
    enum skiff_status status = value_as_tensor(&whole, k->attr[SAVE_DTYPE].i, &shape, err);
    if (status == SKIFF_OK)
        status = j->class->recv(j, &from, &whole, err);
    if (status == SKIFF_OK)
        status = program_file(k->env->program, k->attr[SAVE_PATH].s, &path, err);
    if (status == SKIFF_OK)
        status = value_file_write(path, &whole, err);
    free(path);
    value_deinit(&whole);
    return status;
}
