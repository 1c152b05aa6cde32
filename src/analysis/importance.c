/* Permutation importance (skiff/importance.h).
 *
 * Rows are read once and kept. Each column of the table (features.h) is one piece of work: its
 * values are exchanged between rows, `repeats` times by other permutations, and all rows are
 * predicted again. What a row contributes to log loss and AUC then differs from what it does with
 * its own values; the mean of the differences is the importance, and their spread over the rows,
 * which contains that of the permutations, gives the interval (ranking.h).
 *
 * Threads: pieces are taken from a counter; each thread has an executor and a batch of its own, and
 * writes only results of its pieces. The numbers do not depend on the number of threads. */
#include <skiff/importance.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/kept_rows.h"
#include "analysis/log_lines.h"
#include "analysis/ranking.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "executor/executor.h"
#include "report/report.h"
#include "store/file.h"
#include "task/task.h"
#include "train/calibrate.h"
#include "train/predict_model.h"

#define ROWS 50000
#define REPEATS 5
#define BATCH 1024
#define NORMAL_95 1.959964

struct skiff_importance {
    struct skiff_importance_config config;
    struct log_lines log;
    struct task_args args;
    struct task task;
    struct skiff_model model;
    struct buf path;                 /* of the model */
    struct calibration *calibration; /* NULL: none */
    const char *data;
    struct kept_rows rows;
    struct features features;
    int *slots; /* of the model's feeds */
    bool *positive, probabilities;
    float *weights; /* NULL: 1 each */
    struct ranked_rows ranked;
    double *base_place, *base_loss;
    double auc, log_loss;
    int repeats, threads;
    uint64_t seed;
    struct skiff_importance_column *columns; /* names belong to features */
    atomic_int next, done;
    atomic_bool failed;
    struct skiff_error why;
    pthread_mutex_t lock; /* of why */
};

/* ---- predicting ---- */

struct permuter {
    struct skiff_importance *of;
    struct thread thread;
    struct skiff_executor *executor;
    struct batch batch;
    struct feed *feeds;
    struct skiff_tensor out;
    float *p;
    int64_t *order;
    struct ranked_row *sorted;
    double *place, *loss, *place_sum, *loss_sum;
};

static enum skiff_status worker_init(struct permuter *w, struct skiff_importance *i,
                                     struct skiff_error *err)
{
    size_t n = (size_t)i->rows.rows + 1, feeds = (size_t)i->model.nfeeds + 1;
    *w = (struct permuter){.of = i};
    w->executor = executor_create(i->task.scope, &(struct executor_options){.is_test = true});
    w->feeds = mem_alloc_or_die(feeds * sizeof *w->feeds);
    w->p = mem_alloc_or_die(n * sizeof *w->p);
    w->order = mem_alloc_or_die(n * sizeof *w->order);
    w->sorted = mem_alloc_or_die(n * sizeof *w->sorted);
    w->place = mem_alloc_or_die(n * sizeof *w->place);
    w->loss = mem_alloc_or_die(n * sizeof *w->loss);
    w->place_sum = mem_alloc_or_die(n * sizeof *w->place_sum);
    w->loss_sum = mem_alloc_or_die(n * sizeof *w->loss_sum);
    return batch_init(&w->batch, &i->task.schema, i->rows.batch_size, err);
}

static void worker_deinit(struct permuter *w)
{
    if (!w->of)
        return;
    executor_destroy(w->executor);
    if (w->batch.schema)
        batch_deinit(&w->batch);
    value_deinit(&w->out);
    free(w->feeds);
    free(w->p);
    free(w->order);
    free(w->sorted);
    free(w->place);
    free(w->loss);
    free(w->place_sum);
    free(w->loss_sum);
}

static enum skiff_status predict_batch(struct permuter *w, const struct batch *b, float *p,
                                       struct skiff_error *err)
{
    const struct skiff_model *m = &w->of->model;
    for (int i = 0; i < m->nfeeds; i++)
        w->feeds[i] =
            (struct feed){.name = m->feeds[i], .tensor = batch_tensor(b, w->of->slots[i])};
    TRY(executor_run(w->executor, m->program, w->feeds, m->nfeeds, m->fetches, 1, &w->out, err));
    const struct tensor *t = &w->out.tensor;
    int64_t width = t->shape.ndim > 1 ? t->shape.dims[1] : 1;
    if (t->dtype != DTYPE_FP32 || t->shape.ndim < 1 || t->shape.dims[0] != b->rows || width < 1)
        return error_set(err, SKIFF_SHAPE, "%s: expected one prediction (float32) for each row",
                         m->fetches[0]);
    for (int64_t i = 0; i < b->rows; i++)
        p[i] = (float)calibration_apply(w->of->calibration,
                                        (double)tensor_f32(t)[i * width + width - 1]);
    return SKIFF_OK;
}

/* feature NULL: the rows as they are. */
static enum skiff_status predict_all(struct permuter *w, const struct feature *feature,
                                     struct skiff_error *err)
{
    const struct kept_rows *rows = &w->of->rows;
    for (int i = 0; i < rows->n; i++) {
        const struct batch *b = &rows->batches[i];
        if (feature) {
            TRY(kept_rows_permuted(rows, i, feature, w->order, &w->batch, err));
            b = &w->batch;
        }
        TRY(predict_batch(w, b, w->p + i * rows->batch_size, err));
    }
    return SKIFF_OK;
}

/* ---- a column ---- */

static void shuffle(int64_t *order, int64_t n, uint64_t seed)
{
    struct mt64 random;
    mt64_seed(&random, seed);
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(mt64_next(&random) % (uint64_t)(i + 1)), other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
}

static struct skiff_importance_effect effect_of(struct ranking_mean m)
{
    double off = NORMAL_95 * sqrt(m.variance);
    return (struct skiff_importance_effect){m.mean, m.mean - off, m.mean + off};
}

static enum skiff_status measure(struct permuter *w, int k, struct skiff_error *err)
{
    struct skiff_importance *i = w->of;
    struct skiff_importance_column *out = &i->columns[k];
    int64_t n = i->rows.rows;
    memset(w->place_sum, 0, (size_t)n * sizeof *w->place_sum);
    memset(w->loss_sum, 0, (size_t)n * sizeof *w->loss_sum);
    for (int r = 0; r < i->repeats; r++) {
        shuffle(w->order, n, i->seed + 1000003u * (uint64_t)k + (uint64_t)r);
        TRY(predict_all(w, &i->features.at[k], err));
        ranking_places(&i->ranked, w->p, w->sorted, w->place);
        ranking_losses(&i->ranked, w->p, w->loss);
        for (int64_t row = 0; row < n; row++) {
            w->place_sum[row] += (i->base_place[row] - w->place[row]) / i->repeats;
            w->loss_sum[row] += (w->loss[row] - i->base_loss[row]) / i->repeats;
        }
    }
    out->name = i->features.at[k].name;
    out->auc = effect_of(ranking_of_places(&i->ranked, w->place_sum));
    out->log_loss = effect_of(ranking_of_losses(&i->ranked, w->loss_sum));
    if (!i->probabilities)
        out->log_loss = (struct skiff_importance_effect){NAN, NAN, NAN};
    return SKIFF_OK;
}

static bool wants_stop(const struct skiff_importance *i)
{
    return i->config.wants_stop && i->config.wants_stop(i->config.user);
}

static void fail(struct skiff_importance *i, const struct skiff_error *why)
{
    pthread_mutex_lock(&i->lock);
    if (!atomic_exchange(&i->failed, true))
        i->why = *why;
    pthread_mutex_unlock(&i->lock);
}

static void *work(void *arg)
{
    struct permuter *w = arg;
    struct skiff_importance *i = w->of;
    struct skiff_error err = {0};
    for (int k; (k = atomic_fetch_add(&i->next, 1)) < i->features.n && !atomic_load(&i->failed);) {
        enum skiff_status status = wants_stop(i)
                                       ? error_set(&err, SKIFF_STATE, "stopped before the end")
                                       : measure(w, k, &err);
        if (status < 0)
            fail(i, &err);
        else if (i->config.on_progress)
            i->config.on_progress(i->config.user, atomic_fetch_add(&i->done, 1) + 1, i->features.n);
    }
    return NULL;
}

static enum skiff_status measure_all(struct skiff_importance *i, struct skiff_error *err)
{
    int n = i->threads < i->features.n ? i->threads : i->features.n;
    struct permuter *workers = mem_alloc_or_die((size_t)(n + 1) * sizeof *workers);
    enum skiff_status status = SKIFF_OK;
    i->columns = mem_alloc_or_die(((size_t)i->features.n + 1) * sizeof *i->columns);
    for (int k = 0; k < n && status == SKIFF_OK; k++) {
        status = worker_init(&workers[k], i, err);
        if (status == SKIFF_OK)
            status = thread_start(&workers[k].thread, "permute", k, work, &workers[k], err);
        if (status < 0)
            atomic_store(&i->failed, true);
    }
    for (int k = 0; k < n; k++) {
        thread_join(&workers[k].thread);
        worker_deinit(&workers[k]);
    }
    free(workers);
    if (status == SKIFF_OK && atomic_load(&i->failed)) {
        status = i->why.code;
        if (err)
            *err = i->why;
    }
    return status;
}

/* ---- the rows as they are ---- */

static enum skiff_status take_labels(struct skiff_importance *i, struct skiff_error *err)
{
    const struct skiff_model_net *net = &i->task.vars;
    int label = net->label ? schema_find(&i->task.schema, skiff_var_name(net->label)) : -1;
    int weight = net->weight ? schema_find(&i->task.schema, skiff_var_name(net->weight)) : -1;
    if (label < 0)
        return error_set(err, SKIFF_UNSUPPORTED, "%s has no label", i->task.model->name);
    i->positive = mem_alloc_or_die((size_t)i->rows.rows);
    i->weights = weight < 0 ? NULL : mem_alloc_or_die((size_t)i->rows.rows * sizeof(float));
    for (int k = 0; k < i->rows.n; k++) {
        const struct batch *b = &i->rows.batches[k];
        const struct column *c = &b->columns[label];
        for (int64_t row = 0; row < b->rows; row++) {
            int64_t at = k * i->rows.batch_size + row;
            i->positive[at] = c->dtype == DTYPE_FP32 ? c->f32[row] > 0.5f : c->i64[row] > 0;
            if (i->weights)
                i->weights[at] = b->columns[weight].f32[row];
        }
    }
    ranked_rows_init(&i->ranked, i->positive, i->weights, i->rows.rows);
    if (i->ranked.pos > 0 && i->ranked.neg > 0)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "all %lld rows of %s have label %d: nothing can be ranked; take other rows "
                     "(--data)",
                     (long long)i->rows.rows, i->data, i->ranked.pos > 0);
}

static enum skiff_status take_base(struct skiff_importance *i, struct skiff_error *err)
{
    struct permuter w = {0};
    size_t n = (size_t)i->rows.rows;
    i->base_place = mem_alloc_or_die(n * sizeof(double));
    i->base_loss = mem_alloc_or_die(n * sizeof(double));
    enum skiff_status status = worker_init(&w, i, err);
    if (status == SKIFF_OK)
        status = predict_all(&w, NULL, err);
    if (status == SKIFF_OK) {
        ranking_places(&i->ranked, w.p, w.sorted, i->base_place);
        ranking_losses(&i->ranked, w.p, i->base_loss);
        i->auc = ranking_of_places(&i->ranked, i->base_place).mean;
        i->log_loss = i->probabilities ? ranking_of_losses(&i->ranked, i->base_loss).mean : NAN;
    }
    worker_deinit(&w);
    return status;
}

/* ---- model and rows ---- */

static enum skiff_status find_feeds(struct skiff_importance *i, bool *fed, struct skiff_error *err)
{
    const struct skiff_model *m = &i->model;
    i->slots = mem_alloc_or_die(((size_t)m->nfeeds + 1) * sizeof *i->slots);
    for (int k = 0; k < m->nfeeds; k++) {
        i->slots[k] = schema_find(&i->task.schema, m->feeds[k]);
        if (i->slots[k] < 0)
            return error_set(err, SKIFF_NOT_FOUND,
                             "the model needs the input \"%s\", which the network of the config "
                             "does not have",
                             m->feeds[k]);
        fed[i->slots[k]] = strcmp(m->feeds[k], skiff_var_name(i->task.vars.label)) != 0;
    }
    return SKIFF_OK;
}

static enum skiff_status find_features(struct skiff_importance *i,
                                       const struct reader_config *config, struct skiff_error *err)
{
    struct reader *reader = NULL;
    bool *fed = mem_alloc_or_die((size_t)i->task.schema.count + 1);
    enum skiff_status status = find_feeds(i, fed, err);
    if (status == SKIFF_OK)
        status = reader_create(config, &i->task.schema, &reader, err);
    if (status == SKIFF_OK)
        features_init(&i->features, reader, fed);
    reader_destroy(reader);
    free(fed);
    return status;
}

static enum skiff_status read_rows(struct skiff_importance *i, const struct task_data *data,
                                   struct dataset_config *dc, struct skiff_error *err)
{
    struct bad_lines bad;
    struct file_list files;
    int64_t most = i->config.rows ? i->config.rows : ROWS;
    file_list_init(&files);
    bad_lines_init(&bad, dc->bad_limit);
    struct scan_plan plan = {.schema = &i->task.schema,
                             .reader = &dc->reader,
                             .pipe_command = dc->pipe_command,
                             .rules = dc->rules,
                             .unpack_ratio = dc->unpack_ratio,
                             .idle_lines = dc->idle_lines,
                             .bad = &bad};
    enum skiff_status status = task_file_list(&i->task, data, &files, err);
    if (status == SKIFF_OK)
        status = kept_rows_read(&i->rows, &plan, &files, most, BATCH, err);
    if (status == SKIFF_OK && !i->rows.rows)
        status = error_set(err, SKIFF_NOT_FOUND, "no rows in %s", i->data);
    bad_lines_deinit(&bad);
    file_list_deinit(&files);
    return status;
}

static enum skiff_status open_rows(struct skiff_importance *i, struct skiff_error *err)
{
    struct task_data data = task_data_infer;
    struct dataset_config dc;
    if (config_has(i->task.config, KEY_RUNNER_VALID_DATA_DIR))
        data.dir_key = KEY_RUNNER_VALID_DATA_DIR;
    if (i->config.data) {
        data.files = &i->config.data;
        data.nfiles = 1;
    }
    i->data = i->config.data ? i->config.data : key_name(data.dir_key);
    TRY(task_dataset_config(&i->task, &data, &dc, err));
    enum skiff_status status = task_check(&i->task, err);
    if (status == SKIFF_OK)
        status = find_features(i, &dc.reader, err);
    if (status == SKIFF_OK)
        status = read_rows(i, &data, &dc, err);
    reader_config_deinit(&dc.reader);
    return status;
}

/* ---- the report ---- */

static struct run_effect report_effect(const struct skiff_importance_effect *e)
{
    return (struct run_effect){e->mean, e->low, e->high};
}

static void fill_report(const struct skiff_importance *i, struct run_report *r)
{
    r->nimportance = 0;
    for (int k = 0; k < i->features.n; k++)
        run_add_importance(
            r, &(struct run_importance){.column = i->columns[k].name,
                                        .data = i->data,
                                        .rows = (double)i->rows.rows,
                                        .repeats = i->repeats,
                                        .auc = report_effect(&i->columns[k].auc),
                                        .log_loss = report_effect(&i->columns[k].log_loss)});
}

static enum skiff_status write_json(const struct skiff_importance *i, struct skiff_error *err)
{
    struct run_report r;
    struct buf text = BUF_INIT;
    if (!i->config.json)
        return SKIFF_OK;
    run_report_init(&r);
    r.command = "importance";
    r.name = r.started = "";
    r.model = run_text(&r, i->task.model->name);
    r.model_path = run_text(&r, i->path.data);
    fill_report(i, &r);
    report_json(&r, &text);
    enum skiff_status status = file_write(i->config.json, text.data, text.len, err);
    buf_deinit(&text);
    run_report_deinit(&r);
    return status;
}

/* The page of the run shows it, too. A folder that cannot be written to is a warning. */
static void update_report(struct skiff_importance *i)
{
    const char *folder = task_load_path(&i->task);
    struct skiff_error why = {0};
    char *json = path_join(folder, REPORT_JSON), *html = path_join(folder, REPORT_HTML);
    struct buf text = BUF_INIT;
    struct run_report r;
    const struct run_report *one = &r;
    run_report_init(&r);
    if (file_exists(json) && !i->config.no_report) {
        enum skiff_status status = report_read(folder, &r, &why);
        if (status == SKIFF_OK) {
            fill_report(i, &r);
            report_json(&r, &text);
            status = file_write(json, text.data, text.len, &why);
        }
        if (status == SKIFF_OK) {
            buf_reset(&text);
            report_html(&one, 1, &text);
            status = file_write(html, text.data, text.len, &why);
        }
        if (status == SKIFF_OK)
            logger_info(&i->task.logger, "%s shows it, too", html);
        else
            logger_warn(&i->task.logger, "the report of the run could not be updated: %s",
                        why.message);
    }
    run_report_deinit(&r);
    buf_deinit(&text);
    free(json);
    free(html);
}

/* ---- the public face ---- */

static int most_important_first(const void *a, const void *b)
{
    const struct skiff_importance_column *x = a, *y = b;
    bool losses = !isnan(x->log_loss.mean) && !isnan(y->log_loss.mean);
    double one = losses ? x->log_loss.mean : x->auc.mean;
    double two = losses ? y->log_loss.mean : y->auc.mean;
    return (one < two) - (one > two);
}

static enum skiff_status run(struct skiff_importance *i, struct skiff_error *err)
{
    const struct skiff_importance_config *c = &i->config;
    struct predict_wish wish = {.run = c->run};
    TRY(task_open(&i->task, &i->args, TASK_EVALUATES, err));
    i->repeats = c->repeats ? c->repeats : REPEATS;
    i->seed = c->seed ? c->seed : (uint64_t)config_int(i->task.config, KEY_RUNNER_SEED);
    i->threads = c->threads > 0 ? c->threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    (void)task_load_path(&i->task);
    TRY(predict_model_load(&i->task, &wish, &i->model, &i->path, err));
    TRY(calibrate_load(&i->task, i->path.data, &i->calibration, err));
    i->probabilities = !i->task.vars.not_probability;
    TRY(open_rows(i, err));
    TRY(take_labels(i, err));
    TRY(take_base(i, err));
    TRY(measure_all(i, err));
    qsort(i->columns, (size_t)i->features.n, sizeof *i->columns, most_important_first);
    update_report(i);
    return write_json(i, err);
}

static enum skiff_status check(const struct skiff_importance_config *c, struct skiff_error *err)
{
    TRY(reserved_check(c->reserved, "skiff_importance_config", err));
    if (!c->config)
        return error_set(err, SKIFF_INVALID, "importance needs a config");
    if (c->repeats < 0 || c->repeats > 1000)
        return error_set(err, SKIFF_RANGE, "repeats is %d; expected 1 to 1000", c->repeats);
    if (c->rows < 0)
        return error_set(err, SKIFF_RANGE, "rows is %lld; expected at least 1", (long long)c->rows);
    return SKIFF_OK;
}

struct skiff_importance *skiff_importance_run(const struct skiff_importance_config *config,
                                              struct skiff_error *err)
{
    if (check(config, err) < 0)
        return NULL;
    struct skiff_importance *i = mem_alloc_or_die(sizeof *i);
    i->config = *config;
    i->log = (struct log_lines){config->on_log, config->user, config->quiet};
    pthread_mutex_init(&i->lock, NULL);
    i->args = (struct task_args){.config = config->config,
                                 .name = config->name,
                                 .run = config->run,
                                 .overrides = {(const char **)config->options, config->noptions},
                                 .logger = {log_lines_write, &i->log},
                                 .on_unknown = log_lines_unknown,
                                 .on_unknown_user = &i->log};
    if (run(i, err) == SKIFF_OK)
        return i;
    skiff_importance_destroy(i);
    return NULL;
}

int skiff_importance_count(const struct skiff_importance *i)
{
    return i->features.n;
}

const struct skiff_importance_column *skiff_importance_column(const struct skiff_importance *i,
                                                              int k)
{
    return k >= 0 && k < i->features.n ? &i->columns[k] : NULL;
}

int64_t skiff_importance_rows(const struct skiff_importance *i)
{
    return i->rows.rows;
}

double skiff_importance_auc(const struct skiff_importance *i)
{
    return i->auc;
}

double skiff_importance_log_loss(const struct skiff_importance *i)
{
    return i->log_loss;
}

void skiff_importance_destroy(struct skiff_importance *i)
{
    if (!i)
        return;
    kept_rows_deinit(&i->rows);
    features_deinit(&i->features);
    io_model_deinit(&i->model);
    calibration_destroy(i->calibration);
    buf_deinit(&i->path);
    if (i->task.args)
        task_close(&i->task);
    free(i->slots);
    free(i->positive);
    free(i->weights);
    free(i->base_place);
    free(i->base_loss);
    free(i->columns);
    pthread_mutex_destroy(&i->lock);
    free(i);
}
