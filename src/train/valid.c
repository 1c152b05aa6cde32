/* Validation during training (valid.h).
 *
 * Validation does not change training: at the end of an epoch it runs on the model as saved,
 * within an epoch on a copy of the parameters. The result is a list of points; the best epoch and
 * early stopping are computed from the list alone, so that a resumed run, which reads the list,
 * decides the same. The first validation chooses the metric if AUC is undefined (one class
 * only). */
#include "train/valid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/plural.h"
#include "train/checkpoint.h"
#include "executor/scope_copy.h"

#define DIR_KEY "runner.valid_data_dir" /* in messages */

/* ---- the config ---- */

/* Keys that say something about validation, without data for it: a slip. */
static enum skiff_status need_no_data(struct config *c, struct skiff_error *err)
{
    static const enum config_key keys[] = {KEY_RUNNER_VALID_INTERVAL,   KEY_RUNNER_VALID_BATCH_SIZE,
                                           KEY_RUNNER_VALID_METRIC,     KEY_RUNNER_EARLY_STOP,
                                           KEY_RUNNER_EARLY_STOP_DELTA, KEY_NONE};
    enum config_key found = config_word(c, KEY_RUNNER_CALIBRATE) ? KEY_RUNNER_CALIBRATE : KEY_NONE;
    for (const enum config_key *key = keys; *key && !found; key++)
        found = config_has(c, *key) ? *key : KEY_NONE;
    return found ? error_set(err, SKIFF_INVALID,
                             "%s: %s needs " DIR_KEY
                             ": a folder, files or patterns with validation data",
                             config_name(c), key_name(found))
                 : SKIFF_OK;
}

static enum skiff_status check_metric(const struct valid *v, struct skiff_error *err)
{
    bool missing = (v->metric == VALID_AUC && !v->accumulator.has_predict) ||
                   (v->metric == VALID_LOG_LOSS && !v->accumulator.is_probability);
    if (!missing)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID, "%s: runner.valid_metric: %s has no %s; use loss",
                     config_name(v->task->config), v->task->model->name,
                     valid_metric_name(v->metric));
}

static void on_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct valid *v = user;
    eval_metrics_batch(&v->accumulator, thread, rows, watched);
}

static bool wants_stop(void *user)
{
    const struct valid *v = user;
    return control_wants_stop(v->control);
}

static void read_keys(struct valid *v, struct config *c)
{
    v->keep_epochs = (int)config_int(c, KEY_RUNNER_KEEP_EPOCHS);
    v->keep_best = config_bool(c, KEY_RUNNER_KEEP_BEST);
    v->interval = config_int(c, KEY_RUNNER_VALID_INTERVAL);
    v->metric = (enum valid_metric)config_word(c, KEY_RUNNER_VALID_METRIC);
    v->patience = (int)config_int(c, KEY_RUNNER_EARLY_STOP);
    v->delta = config_real(c, KEY_RUNNER_EARLY_STOP_DELTA);
}

enum skiff_status valid_open(struct valid *v, struct task *t, const struct train_control *control,
                             struct skiff_error *err)
{
    struct config *c = t->config;
    struct task_data where = {.dir_key = KEY_RUNNER_VALID_DATA_DIR,
                              .batch_key = KEY_RUNNER_VALID_BATCH_SIZE};
    *v = (struct valid){.task = t, .control = control, .best = -1, .top = -1, .reference = NAN};
    read_keys(v, c);
    TRY(config_check(c, err));
    if (!config_has(c, KEY_RUNNER_VALID_DATA_DIR))
        return need_no_data(c, err);
    TRY(task_dataset_open(t, &where, &v->data, err));
    int threads = task_threads(t);
    eval_metrics_init(&v->accumulator, &t->vars, threads);
    v->accumulator.keeps_scores = v->accumulator.is_probability;
    v->accumulator.threshold = config_real(c, KEY_RUNNER_THRESHOLD);
    v->options = (struct trainer_options){.threads = threads,
                                          .executor = {.metrics = v->task->metrics},
                                          .user = v,
                                          .watched = v->accumulator.watched,
                                          .nwatched = v->accumulator.nwatched,
                                          .on_batch = on_batch,
                                          .wants_stop = wants_stop};
    return check_metric(v, err);
}

void valid_close(struct valid *v)
{
    dataset_destroy(v->data);
    if (v->accumulator.thread_states)
        eval_metrics_deinit(&v->accumulator);
    scope_destroy(v->copy);
    free(v->points);
    *v = (struct valid){0};
}

/* ---- words ---- */

const char *valid_metric_name(enum valid_metric m)
{
    static const char *const names[] = {"auto", "auc", "log loss", "loss"};
    return names[m];
}

double valid_value(const struct valid_point *p, enum valid_metric m)
{
    return m == VALID_AUC ? p->auc : m == VALID_LOG_LOSS ? p->log_loss : p->loss;
}

static void add_number(struct buf *out, const char *name, double x, int digits)
{
    if (!isnan(x))
        buf_printf(out, "%s%s %.*f", out->data[out->len - 1] == ':' ? " " : ", ", name, digits, x);
}

/* "valid: epoch 0, batch 200: auc 0.7812, log loss 0.4321, copc 0.98 (best so far)" */
static void print_point(const struct valid *v, const struct valid_point *p)
{
    struct buf text = BUF_INIT;
    if (!log_shows(LOG_INFO) || (v->shown && (p->end || p->epoch < 0)))
        return;
    if (p->epoch < 0)
        buf_str(&text, "valid: before training");
    else if (v->span)
        buf_printf(&text, "valid: %s", v->span);
    else
        buf_printf(&text, "valid: epoch %d", p->epoch);
    if (p->epoch >= 0 && !p->end)
        buf_printf(&text, ", batch %lld", (long long)p->batch);
    buf_str(&text, ":");
    add_number(&text, "auc", p->auc, 4);
    add_number(&text, "log loss", p->log_loss, 4);
    add_number(&text, "copc", p->copc, 2);
    if (isnan(p->log_loss))
        add_number(&text, "loss", p->loss, 4);
    if (isnan(valid_value(p, v->metric)))
        buf_printf(&text, " %s is not a number", valid_metric_name(v->metric));
    if (p->epoch >= 0 && v->top == v->n - 1)
        buf_str(&text, " (best so far)");
    control_print(v->control, "%s", text.data);
    buf_deinit(&text);
}

/* "epoch 2" or "epoch 2, batch 400" */
static const char *where_text(const struct valid_point *p, char out[static 64])
{
    if (p->end)
        snprintf(out, 64, "epoch %d", p->epoch);
    else
        snprintf(out, 64, "epoch %d, batch %lld", p->epoch, (long long)p->batch);
    return out;
}

void valid_stop_text(const struct valid *v, struct buf *out)
{
    char least[64] = "";
    if (v->delta > 0)
        snprintf(least, sizeof(least), " of at least %g", v->delta);
    buf_printf(out,
               "%d validation%s in a row without an improvement%s over %s %.4f (runner.early_stop)",
               v->idle, plural(v->idle), least, valid_metric_name(v->metric), v->reference);
}

static void print_stop(const struct valid *v)
{
    struct buf text = BUF_INIT;
    valid_stop_text(v, &text);
    control_print(v->control, "early stop: %s", text.data);
    buf_deinit(&text);
}

void valid_warn(const struct valid *v)
{
    char where[64];
    if (v->stop)
        print_stop(v);
    if (v->best < 0)
        return;
    const struct valid_point *p = &v->points[v->best];
    double value = valid_value(p, v->metric);
    if (p->end)
        control_print(v->control, "best epoch: %d (valid %s %.4f): %s/%d", p->epoch,
                      valid_metric_name(v->metric), value, v->folder, p->epoch);
    else
        control_print(v->control, "best: %s (valid %s %.4f): %s/" VALID_MODEL, where_text(p, where),
                      valid_metric_name(v->metric), value, v->folder);
    if (v->top != v->best)
        logger_info(&v->task->logger, "better, but not saved: %s (valid %s %.4f)",
                    where_text(&v->points[v->top], where), valid_metric_name(v->metric),
                    valid_value(&v->points[v->top], v->metric));
}

/* ---- evaluation ---- */

static double total(const double *buckets)
{
    double n = 0;
    for (int i = 0; i < EVAL_METRICS_BUCKETS; i++)
        n += buckets[i];
    return n;
}

/* AUC needs samples of both kinds. */
static enum skiff_status one_class(struct valid *v, double pos, double neg, struct skiff_error *err)
{
    if (v->metric == VALID_AUC)
        return error_set(err, SKIFF_INVALID,
                         "runner.valid_metric is auc, which needs both classes: all %.0f samples "
                         "of " DIR_KEY " have label %d; use log_loss, or other data",
                         pos + neg, pos > 0);
    if (v->metric == VALID_AUTO)
        logger_warn(&v->task->logger,
                    "all %.0f samples of " DIR_KEY
                    " have label %d: auc is undefined, %s is compared",
                    pos + neg, pos > 0, v->accumulator.is_probability ? "log_loss" : "loss");
    return SKIFF_OK;
}

static enum skiff_status read_point(struct valid *v, struct valid_point *p, struct skiff_error *err)
{
    struct eval_metrics_sum s;
    eval_metrics_read(&v->accumulator, &s);
    p->auc = eval_metrics_auc(&v->accumulator, &s);
    p->log_loss = eval_metrics_log_loss(&v->accumulator, &s);
    p->copc = eval_metrics_copc(&v->accumulator, &s);
    p->loss = eval_metrics_loss(&v->accumulator, &s);
    double pos = total(s.pos), neg = total(s.neg);
    if (!v->accumulator.has_predict || (pos > 0 && neg > 0))
        return SKIFF_OK;
    p->auc = NAN;
    if (pos + neg > 0)
        return one_class(v, pos, neg, err);
    if (isnan(p->loss)) /* the model gives no numbers any more: that is what is found */
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "no sample of " DIR_KEY
                     " has a label: the predictions of the model cannot be validated");
}

/* States of metrics, which the program writes, are those of a scope in front. */
static enum skiff_status evaluate(struct valid *v, struct skiff_scope *scope, struct valid_point *p,
                                  struct skiff_error *err)
{
    struct trainer_result r = {0};
    struct skiff_scope *front = scope_create_child(scope);
    eval_metrics_reset(&v->accumulator);
    enum skiff_status status =
        trainer_infer_dataset(front, v->task->main, v->data, &v->options, &r, err);
    scope_destroy(front);
    if (status < 0)
        return error_prefix(err, status, "validation");
    v->interrupted = r.stopped;
    if (r.stopped)
        return SKIFF_OK;
    if (!r.rows)
        return error_set(err, SKIFF_NOT_FOUND, "no samples in " DIR_KEY);
    return read_point(v, p, err);
}

/* ---- points ---- */

/* A disk that is full now does not end the run. */
static void write_record(struct valid *v)
{
    struct skiff_error why;
    if (valid_record_write(v, &why) < 0)
        logger_warn(&v->task->logger, "the results of validation could not be saved: %s",
                    why.message);
}

static void take_point(struct valid *v, const struct valid_point *p)
{
    valid_add(v, p);
    valid_replay(v);
    print_point(v, p);
    write_record(v);
    valid_remove_stale(v);
}

/* Epochs that no one wants to keep, once a newer one is there. */
static void remove_old(struct valid *v, int epoch)
{
    if (!valid_remove_old(v, epoch))
        return;
    valid_replay(v);
    write_record(v);
}

enum skiff_status valid_epoch(struct valid *v, int epoch, int64_t batches, int64_t samples,
                              bool saved, struct skiff_error *err)
{
    struct valid_point p = {
        .epoch = epoch, .batch = batches, .samples = samples, .end = true, .kept = saved};
    v->interrupted = false;
    if (v->data) {
        /* the last pause may have been here already: it was no point of its own, unless its model
         * is all that could be saved */
        const struct valid_point *last = v->n ? &v->points[v->n - 1] : NULL;
        if (last && last->epoch == epoch && last->batch == batches) {
            if (!saved && last->kept)
                return SKIFF_OK;
            v->n--;
        }
        TRY(evaluate(v, v->task->scope, &p, err));
        if (v->interrupted)
            return SKIFF_OK;
        take_point(v, &p);
    }
    if (saved)
        remove_old(v, epoch);
    return SKIFF_OK;
}

/* The model as it is now, if it is the best one so far. */
static void keep_copy(struct valid *v, struct valid_point *p)
{
    struct task copy = *v->task;
    struct skiff_error why;
    struct model_info note = {
        .epoch = p->epoch, .steps = p->batch, .samples = p->samples, .known = true};
    copy.scope = v->copy;
    memcpy(note.run, v->run, sizeof(note.run));
    p->kept = checkpoint_save_to(&copy, v->folder, VALID_MODEL, &note, NULL, &why) == SKIFF_OK;
    if (!p->kept)
        logger_warn(&v->task->logger, "the best model so far could not be saved: %s", why.message);
    for (int i = 0; p->kept && i < v->n; i++) /* its place is taken */
        v->points[i].kept &= v->points[i].end;
}

static bool would_be_best(struct valid *v, const struct valid_point *p)
{
    struct valid_point kept = *p;
    kept.kept = true;
    valid_add(v, &kept);
    valid_replay(v);
    bool best = v->best == v->n - 1;
    v->n--;
    return best;
}

enum skiff_status valid_within(struct valid *v, int epoch, int64_t batches, int64_t samples,
                               struct skiff_error *err)
{
    struct valid_point p = {.epoch = epoch, .batch = batches, .samples = samples};
    if (!v->copy)
        v->copy = scope_create();
    TRY(scope_copy(v->task->scope, v->copy, err));
    TRY(evaluate(v, v->copy, &p, err));
    if (v->interrupted)
        return SKIFF_OK;
    if (v->keep_best && would_be_best(v, &p))
        keep_copy(v, &p);
    take_point(v, &p);
    return SKIFF_OK;
}

const struct valid_point *valid_of_epoch(const struct valid *v, int epoch)
{
    for (int i = v->n - 1; i >= 0; i--)
        if (v->points[i].end && v->points[i].epoch == epoch)
            return &v->points[i];
    return NULL;
}

void valid_fill(const struct valid *v, struct epoch_row *rows, int n)
{
    for (int i = 0; v->data && i < n; i++) {
        const struct valid_point *p = valid_of_epoch(v, rows[i].epoch);
        rows[i].evaluated = true;
        rows[i].valid_auc = p ? p->auc : NAN;
        rows[i].valid_log_loss = p ? p->log_loss : NAN;
        rows[i].valid_copc = p ? p->copc : NAN;
        rows[i].valid_loss = p ? p->loss : NAN;
        rows[i].best = p && v->best >= 0 && p == &v->points[v->best];
    }
}

/* ---- the beginning ---- */

/* Whatever is wrong with the data is found before hours of training, not behind them. */
enum skiff_status valid_check(struct valid *v, struct skiff_error *err)
{
    struct valid_point p = {.epoch = -1};
    if (!v->data)
        return SKIFF_OK;
    if (task_in_memory(v->task) && !dataset_memory_size(v->data))
        TRY(dataset_load(v->data, err));
    TRY(evaluate(v, v->task->scope, &p, err));
    if (v->interrupted)
        return SKIFF_OK;
    valid_choose_metric(v, &p);
    print_point(v, &p);
    return SKIFF_OK;
}

/* Points of models that the run comes from. Those of an epoch that is trained again from its
 * beginning are found again; behind a part that was saved the others of that epoch stay. */
static void keep_behind(struct valid *v, const struct model_info *last)
{
    int n = 0, end = last->epoch + (last->complete || last->steps > 0);
    for (int i = 0; i < v->n; i++)
        if (v->points[i].epoch < end)
            v->points[n++] = v->points[i];
    v->n = n;
}

static enum skiff_status go_on(struct valid *v, const struct model_info *last,
                               struct skiff_error *err)
{
    TRY(valid_record_read(v, err));
    valid_look_for_models(v);
    valid_replay(v);
    if (v->stop) /* it has ended already, perhaps within an epoch */
        return SKIFF_OK;
    keep_behind(v, last);
    valid_replay(v);
    valid_remove_stale(v);
    if (!last->complete || valid_of_epoch(v, last->epoch))
        return SKIFF_OK;
    /* it was saved, and the process ended before it was evaluated */
    return valid_epoch(v, last->epoch, last->steps, last->samples, true, err);
}

enum skiff_status valid_begin(struct valid *v, const char *folder, const char *run,
                              const struct model_info *last, struct skiff_error *err)
{
    v->folder = folder;
    snprintf(v->run, sizeof(v->run), "%s", run);
    if (!v->data)
        return SKIFF_OK;
    if (!last) {
        TRY(valid_check(v, err));
        valid_record_remove(folder);
        return SKIFF_OK;
    }
    if (task_in_memory(v->task) && !dataset_memory_size(v->data))
        TRY(dataset_load(v->data, err));
    return go_on(v, last, err);
}
