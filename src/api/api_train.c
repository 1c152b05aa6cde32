/* The public face of datasets and of training from them (<skiff/train.h>). Settings of a dataset
 * are collected, and their first error is kept; the dataset itself is created when it is first
 * used. A setting that comes later drops it with its samples (set_files does not).
 *
 * Callbacks run on the thread of the trainer that calls them (executor/trainer.h); those of the
 * caller get his pointer, not ours. One thread uses a dataset at a time. */
#include <skiff/train.h>

#include <stdlib.h>
#include <string.h>

#include "api/api_dataset.h"
#include "api/api_report.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "executor/metrics.h"
#include "executor/trainer.h"
#include "metrics/metrics.h"
#include "program/op_kind.h"

struct skiff_dataset {
    struct dataset_config config;
    struct schema schema;
    char *pipe;
    char **files;
    int nfiles;
    struct dataset *made;    /* NULL: settings have changed */
    struct metrics *metrics; /* of all that were made */
    struct skiff_error error;
    /* reading by hand */
    int read_threads, read_thread;    /* of the dataset: how many have batches, whose turn it is */
    struct skiff_tensor *read_values; /* borrow from the batch */
    struct skiff_feed *read_feeds;
};

static void read_end(struct skiff_dataset *d)
{
    for (size_t i = 0; d->read_values && i < (size_t)d->schema.count; i++)
        tensor_drop_lod(&d->read_values[i].tensor);
    free(d->read_values);
    free(d->read_feeds);
    d->read_values = NULL;
    d->read_feeds = NULL;
}

static void changed(struct skiff_dataset *d)
{
    read_end(d);
    dataset_destroy(d->made);
    d->made = NULL;
}

struct skiff_dataset *skiff_dataset_create(const char *kind, struct skiff_error *err)
{
    bool queue = kind && !strcmp(kind, "QueueDataset");
    if (!queue && (!kind || strcmp(kind, "InMemoryDataset"))) {
        error_set(err, SKIFF_NOT_FOUND, "datasets are QueueDataset or InMemoryDataset, not %s",
                  kind ? kind : "NULL");
        return NULL;
    }
    struct skiff_dataset *d = mem_alloc_or_die(sizeof(*d));
    dataset_config_init(&d->config);
    schema_init(&d->schema);
    d->config.kind = queue ? DATASET_QUEUE : DATASET_MEMORY;
    d->config.metrics = d->metrics = metrics_create(NULL, 0);
    return d;
}

static void drop_files(struct skiff_dataset *d)
{
    for (int i = 0; i < d->nfiles; i++)
        free(d->files[i]);
    free(d->files);
    d->files = NULL;
    d->nfiles = 0;
}

void skiff_dataset_destroy(struct skiff_dataset *d)
{
    if (!d)
        return;
    changed(d);
    drop_files(d);
    reader_config_deinit(&d->config.reader);
    schema_deinit(&d->schema);
    metrics_destroy(d->metrics);
    free(d->pipe);
    free(d);
}

/* Keeps the first error; returns whether there is one. */
static bool failed(struct skiff_dataset *d, enum skiff_status status, const struct skiff_error *err)
{
    if (status < 0 && !d->error.code)
        d->error = *err;
    return d->error.code != 0;
}

void skiff_dataset_set_vars(struct skiff_dataset *d, struct skiff_var *const *vars, int n)
{
    struct skiff_error err = {0};
    changed(d);
    schema_deinit(&d->schema);
    schema_init(&d->schema);
    for (int i = 0; i < n; i++) {
        const struct skiff_var *v = vars[i];
        enum skiff_status status =
            v ? schema_add(&d->schema, v->name, v->dtype, v->lod_level, &v->shape, &err)
              : error_set(&err, SKIFF_INVALID, "variable %d of the dataset is NULL", i);
        if (failed(d, status, &err))
            return;
    }
}

void skiff_dataset_set_batch_size(struct skiff_dataset *d, int64_t n)
{
    struct skiff_error err = {0};
    changed(d);
    d->config.batch_size = n;
    if (n < 1)
        failed(d, error_set(&err, SKIFF_INVALID, "batch size %lld: at least 1", (long long)n),
               &err);
}

void skiff_dataset_set_threads(struct skiff_dataset *d, int n)
{
    changed(d);
    d->config.threads = n < 1 ? 1 : n;
}

void skiff_dataset_set_files(struct skiff_dataset *d, const char *const *files, int n)
{
    drop_files(d);
    d->files = mem_alloc_or_die((size_t)(n + 1) * sizeof(*d->files));
    for (int i = 0; i < n; i++)
        d->files[i] = mem_strdup_or_die(files[i]);
    d->nfiles = n;
    struct skiff_error err = {0};
    if (d->made) /* samples in memory stay */
        failed(d, dataset_set_files(d->made, files, n, &err), &err);
}

void skiff_dataset_set_pipe_command(struct skiff_dataset *d, const char *command)
{
    changed(d);
    free(d->pipe);
    d->pipe = command ? mem_strdup_or_die(command) : NULL;
    d->config.pipe_command = d->pipe;
}

void skiff_dataset_set(struct skiff_dataset *d, const char *key, const char *value)
{
    struct skiff_error err = {0};
    changed(d);
    failed(d, dataset_config_set(&d->config, key, value, &err), &err);
}

static enum skiff_status ready(struct skiff_dataset *d, struct skiff_error *err)
{
    if (d->error.code) {
        enum skiff_status code = d->error.code;
        if (err)
            *err = d->error;
        d->error = (struct skiff_error){0};
        return code;
    }
    if (d->made)
        return SKIFF_OK;
    struct dataset *made;
    d->config.schema = &d->schema;
    TRY(dataset_create(&d->config, &made, err));
    enum skiff_status status = SKIFF_OK;
    if (d->files)
        status = dataset_set_files(made, (const char *const *)d->files, d->nfiles, err);
    if (status < 0) {
        dataset_destroy(made);
        return status;
    }
    d->made = made;
    return SKIFF_OK;
}

enum skiff_status api_dataset(struct skiff_dataset *d, struct dataset **out,
                              struct skiff_error *err)
{
    TRY(ready(d, err));
    *out = d->made;
    return SKIFF_OK;
}

enum skiff_status skiff_dataset_load(struct skiff_dataset *d, struct skiff_error *err)
{
    TRY(ready(d, err));
    return dataset_load(d->made, err);
}

enum skiff_status skiff_dataset_preload(struct skiff_dataset *d, int threads,
                                        struct skiff_error *err)
{
    TRY(ready(d, err));
    return dataset_preload(d->made, threads, err);
}

enum skiff_status skiff_dataset_wait_preload(struct skiff_dataset *d, struct skiff_error *err)
{
    TRY(ready(d, err));
    return dataset_wait_preload(d->made, err);
}

enum skiff_status skiff_dataset_local_shuffle(struct skiff_dataset *d, uint64_t seed,
                                              struct skiff_error *err)
{
    TRY(ready(d, err));
    return dataset_local_shuffle(d->made, seed, err);
}

enum skiff_status skiff_dataset_global_shuffle(struct skiff_dataset *d,
                                               const struct skiff_exchange *exchange, uint64_t seed,
                                               struct skiff_error *err)
{
    TRY(ready(d, err));
    return dataset_global_shuffle(d->made, exchange, seed, err);
}

int64_t skiff_dataset_shuffle_size(const struct skiff_dataset *d)
{
    return d->made ? dataset_shuffle_size(d->made) : 0;
}

enum skiff_status skiff_dataset_slots_shuffle(struct skiff_dataset *d, const char *const *slots,
                                              int n, uint64_t seed, struct skiff_error *err)
{
    TRY(ready(d, err));
    return dataset_slots_shuffle(d->made, slots, n, seed, err);
}

enum skiff_status skiff_dataset_release(struct skiff_dataset *d, struct skiff_error *err)
{
    TRY(ready(d, err));
    return dataset_release(d->made, err);
}

int64_t skiff_dataset_memory_size(const struct skiff_dataset *d)
{
    return d->made ? dataset_memory_size(d->made) : 0;
}

/* ---- reading by hand ---- */

enum skiff_status skiff_dataset_begin(struct skiff_dataset *d, struct skiff_error *err)
{
    TRY(ready(d, err));
    read_end(d);
    TRY(dataset_start(d->made, &d->read_threads, err));
    d->read_thread = 0;
    d->read_values = mem_alloc_or_die((size_t)(d->schema.count + 1) * sizeof(*d->read_values));
    d->read_feeds = mem_alloc_or_die((size_t)(d->schema.count + 1) * sizeof(*d->read_feeds));
    return SKIFF_OK;
}

/* One thread after the other: a queue's reader threads wait meanwhile. */
enum skiff_status skiff_dataset_next(struct skiff_dataset *d, const struct skiff_feed **out_feeds,
                                     int *out_n, int64_t *out_rows, struct skiff_error *err)
{
    const struct batch *b = NULL;
    if (!d->read_feeds)
        return error_set(err, SKIFF_STATE, "the dataset is not being read: call begin first");
    enum skiff_status status = SKIFF_END;
    for (; d->read_thread < d->read_threads; d->read_thread++) {
        status = dataset_next(d->made, d->read_thread, &b, err);
        if (status != SKIFF_END)
            break;
    }
    if (status != SKIFF_OK) {
        read_end(d);
        dataset_stop(d->made);
        return status;
    }
    for (int i = 0; i < (int)d->schema.count; i++) {
        struct skiff_tensor *v = &d->read_values[i];
        const struct tensor *from = batch_tensor(b, i);
        tensor_drop_lod(&v->tensor);
        v->kind = VALUE_TENSOR;
        v->tensor = *from;
        v->tensor.owner = TENSOR_BORROWED;
        v->tensor.lod = lod_ref(from->lod);
        d->read_feeds[i] = (struct skiff_feed){d->schema.slots[i].name, v};
    }
    *out_feeds = d->read_feeds;
    *out_n = (int)d->schema.count;
    *out_rows = b->rows;
    return SKIFF_OK;
}

/* ---- training ---- */

#define REPORT_SECONDS 0.25

struct caller { /* what callbacks need */
    const struct skiff_train_options *options;
    const struct skiff_tensor **values;
    struct pass_report report;
    struct eval_metrics metrics;
};

static void call_report_tick(void *user)
{
    pass_report_tick(&((struct caller *)user)->report);
}

static void call_print(void *user, const char *text)
{
    const struct skiff_train_options *o = ((struct caller *)user)->options;
    o->print(o->user, text);
}

static void call_debug(void *user, const char *text)
{
    const struct skiff_train_options *o = ((struct caller *)user)->options;
    o->print_debug(o->user, text);
}

static void call_handler(void *user, const struct skiff_tensor *values)
{
    struct caller *c = user;
    for (int i = 0; i < c->options->nhandler_vars; i++)
        c->values[i] = values[i].kind == VALUE_NONE ? NULL : &values[i];
    c->options->handler(c->options->user, c->values);
}

static bool call_stop(void *user)
{
    const struct skiff_train_options *o = ((struct caller *)user)->options;
    return o->wants_stop(o->user);
}

/* ---- what is counted for the result ---- */

static const char *only(const struct op_arg *arg)
{
    return arg && arg->n == 1 ? arg->names[0] : NULL;
}

static bool is_of(const struct skiff_block *b, const char *name, enum dtype dtype, int ndim)
{
    const struct skiff_var *v = name ? block_find_var(b, name) : NULL;
    return v && v->dtype == dtype && (ndim < 0 || v->shape.ndim == ndim);
}

/* The loss is what the op with the role of one writes; the others are the first auc op's. */
static void names_find(const struct skiff_program *p, struct eval_metrics_names *out)
{
    const struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        bool is_loss = op_role_of(op) == (ROLE_FORWARD | ROLE_LOSS);
        const char *loss = is_loss ? only(op_out(op, "Out")) : NULL;
        if (is_of(b, loss, DTYPE_FP32, -1))
            out->loss = loss;
        if (out->predict || !op_is(op, CLASS_AUC))
            continue;
        const char *predict = only(op_in(op, "Predict")), *label = only(op_in(op, "Label"));
        if (is_of(b, predict, DTYPE_FP32, 2) && is_of(b, label, DTYPE_INT64, -1)) {
            out->predict = predict;
            out->label = label;
        }
    }
}

static void call_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct caller *c = user;
    eval_metrics_batch(&c->metrics, thread, rows, watched);
}

/* What is counted of each batch: for the launcher's screen, and for the result if it is wanted. */
static void counting_begin(struct caller *c, struct trainer_options *t,
                           const struct skiff_program *p, const struct skiff_dataset *d,
                           bool trains, bool result)
{
    struct eval_metrics_names names = {0};
    if (result)
        names_find(p, &names);
    int threads = t->threads > 0 ? t->threads : d->config.threads;
    eval_metrics_open(&c->metrics, &names, threads > 0 ? threads : 1);
    pass_report_begin(&c->report, d->made, t->executor.metrics, trains);
    t->watched = c->metrics.watched;
    t->nwatched = c->metrics.nwatched;
    if (c->metrics.nwatched)
        t->on_batch = call_batch;
    if (c->report.wanted) {
        t->on_tick = call_report_tick;
        t->tick_period = REPORT_SECONDS;
    }
}

static void numbers_fill(struct eval_metrics *t, struct skiff_train_result *r)
{
    struct eval_metrics_sum *sum = mem_alloc_or_die(sizeof(*sum));
    eval_metrics_read(t, sum);
    r->loss = eval_metrics_loss(t, sum);
    r->auc = eval_metrics_auc(t, sum);
    r->log_loss = eval_metrics_log_loss(t, sum);
    r->copc = eval_metrics_copc(t, sum);
    free(sum);
}

typedef enum skiff_status (*run_function)(struct skiff_scope *, const struct skiff_program *,
                                          struct dataset *, const struct trainer_options *,
                                          struct trainer_result *, struct skiff_error *);

static enum skiff_status run(struct skiff_executor *e, const struct skiff_program *p,
                             struct skiff_dataset *d, const struct skiff_train_options *given,
                             struct skiff_train_result *result, run_function how,
                             struct skiff_error *err)
{
    static const struct skiff_train_options none;
    const struct skiff_train_options *o = given ? given : &none;
    struct caller c = {.options = o};
    struct trainer_result r;
    TRY(reserved_check(o->reserved, "skiff_train_options", err));
    if (!p || !d)
        return error_set(err, SKIFF_INVALID, "there is no %s to train %s",
                         p ? "dataset" : "program", p ? "from" : "");
    if (o->nfetch && !o->fetch_list)
        return error_set(err, SKIFF_INVALID, "nfetch is %d, but there is no fetch_list", o->nfetch);
    TRY(ready(d, err));
    c.values = mem_alloc_or_die((size_t)(o->nhandler_vars + 1) * sizeof(*c.values));
    struct trainer_options t = {.threads = o->threads,
                                .user = &c,
                                .fetches = o->fetch_list,
                                .fetch_info = o->fetch_info,
                                .nfetches = o->nfetch,
                                .print_period = o->print_period,
                                .print = o->print ? call_print : NULL,
                                .print_debug = o->print_debug ? call_debug : NULL,
                                .handled = o->handler_vars,
                                .nhandled = o->handler ? o->nhandler_vars : 0,
                                .handler_period = o->handler_period_secs,
                                .handler = o->handler ? call_handler : NULL,
                                .wants_stop = o->wants_stop ? call_stop : NULL};
    struct skiff_scope *scope = executor_settings(e, &t.executor);
    counting_begin(&c, &t, p, d, how == trainer_train_dataset, result != NULL);
    enum skiff_status status = how(scope, p, d->made, &t, &r, err);
    free(c.values);
    if (status == SKIFF_OK)
        pass_report_end(&c.report, p, scope, &r);
    if (result && status == SKIFF_OK) {
        *result = (struct skiff_train_result){.batches = r.batches,
                                              .samples = r.rows,
                                              .seconds = r.seconds,
                                              .read_seconds = r.read_seconds,
                                              .compute_seconds = r.compute_seconds,
                                              .stopped = r.stopped};
        numbers_fill(&c.metrics, result);
    }
    pass_report_deinit(&c.report);
    eval_metrics_deinit(&c.metrics);
    return status;
}

struct metrics *api_dataset_metrics(const struct skiff_dataset *d)
{
    return d->metrics;
}

enum skiff_status skiff_executor_train(struct skiff_executor *e, const struct skiff_program *p,
                                       struct skiff_dataset *d,
                                       const struct skiff_train_options *options,
                                       struct skiff_train_result *result, struct skiff_error *err)
{
    return run(e, p, d, options, result, trainer_train_dataset, err);
}

enum skiff_status skiff_executor_infer(struct skiff_executor *e, const struct skiff_program *p,
                                       struct skiff_dataset *d,
                                       const struct skiff_train_options *options,
                                       struct skiff_train_result *result, struct skiff_error *err)
{
    return run(e, p, d, options, result, trainer_infer_dataset, err);
}
