/* Calibration of a saved model (calibrate.h): probabilities and labels of all validation rows are
 * kept, with weights if rows have them, and given to the fit at once. Batches come from several
 * threads; a lock is held while one appends its rows. The order of the rows does not change the
 * result. */
#include "train/calibrate.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "executor/trainer.h"
#include "fs/fs.h"
#include "store/file.h"

#define LEAST_P 1e-7 /* of log loss, as in executor/metrics.c */

struct calibrating {
    struct task task;
    const struct train_control *control;
    struct skiff_model model;
    struct dataset *data;
    pthread_mutex_t lock;      /* of the rows */
    float *p, *label, *weight; /* weight NULL: rows have none */
    int64_t n, cap;
};

/* ---- the rows ---- */

static void grow(struct calibrating *c, int64_t n)
{
    if (c->n + n <= c->cap)
        return;
    c->cap = 2 * c->cap + n;
    c->p = mem_grow_or_die(c->p, (size_t)c->cap * sizeof *c->p);
    c->label = mem_grow_or_die(c->label, (size_t)c->cap * sizeof *c->label);
    if (c->task.vars.weight)
        c->weight = mem_grow_or_die(c->weight, (size_t)c->cap * sizeof *c->weight);
}

static void on_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct calibrating *c = user;
    const struct tensor *predict = &watched[0].tensor, *label = &watched[1].tensor;
    int64_t n = predict->shape.dims[0], width = predict->shape.dims[1];
    pthread_mutex_lock(&c->lock);
    grow(c, n);
    for (int64_t i = 0; i < n; i++) {
        if (tensor_i64(label)[i] < 0)
            continue;
        c->p[c->n] = tensor_f32(predict)[i * width + width - 1];
        if (c->weight)
            c->weight[c->n] = tensor_f32(&watched[2].tensor)[i];
        c->label[c->n++] = tensor_i64(label)[i] > 0 ? 1 : 0;
    }
    pthread_mutex_unlock(&c->lock);
}

static bool wants_stop(void *user)
{
    const struct calibrating *c = user;
    return control_wants_stop(c->control);
}

static struct calibrate_numbers numbers_of(const struct calibrating *c,
                                           const struct calibration *with)
{
    double loss = 0, positive = 0, predicted = 0, all = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double p = calibration_apply(with, (double)c->p[i]);
        double q = c->label[i] > 0 ? p : 1 - p, w = c->weight ? (double)c->weight[i] : 1;
        loss -= w * log(q < LEAST_P ? LEAST_P : q);
        positive += w * (double)c->label[i];
        predicted += w * p;
        all += w;
    }
    return (struct calibrate_numbers){loss / all, predicted > 0 ? positive / predicted : NAN};
}

static enum skiff_status predict_rows(struct calibrating *c, bool *stopped, struct skiff_error *err)
{
    struct trainer_result r = {0};
    const struct skiff_var *weight = c->task.vars.weight;
    const char *const watched[] = {skiff_var_name(c->task.vars.predict),
                                   skiff_var_name(c->task.vars.label),
                                   weight ? skiff_var_name(weight) : NULL};
    struct trainer_options options = {.threads = task_threads(&c->task),
                                      .user = c,
                                      .watched = watched,
                                      .nwatched = weight ? 3 : 2,
                                      .on_batch = on_batch,
                                      .wants_stop = wants_stop};
    if (task_in_memory(&c->task))
        TRY(dataset_load(c->data, err));
    TRY(trainer_infer_dataset(c->task.scope, c->task.main, c->data, &options, &r, err));
    *stopped = r.stopped;
    return SKIFF_OK;
}

/* ---- the model ---- */

static enum skiff_status check_keys(struct calibrating *c, struct skiff_error *err)
{
    struct config *config = c->task.config;
    struct task_data where = {.dir_key = KEY_RUNNER_VALID_DATA_DIR,
                              .batch_key = KEY_RUNNER_VALID_BATCH_SIZE};
    TRY(config_check(config, err));
    if (c->task.vars.not_probability)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%s predicts scores, not probabilities: there is nothing to calibrate",
                         c->task.model->name);
    if (!config_has(config, KEY_RUNNER_VALID_DATA_DIR))
        return error_set(err, SKIFF_INVALID,
                         "%s: calibration needs runner.valid_data_dir: a folder, files or patterns "
                         "with rows that were not trained on",
                         config_name(config));
    TRY(task_dataset_open(&c->task, &where, &c->data, err));
    (void)task_load_path(&c->task);
    return task_check(&c->task, err);
}

static enum calibration_method method_of(struct config *c)
{
    return config_has(c, KEY_RUNNER_CALIBRATE)
               ? (enum calibration_method)config_word(c, KEY_RUNNER_CALIBRATE)
               : CALIBRATION_PLATT;
}

static enum skiff_status remove_old(const char *folder, struct skiff_error *err)
{
    char *path = path_join(folder, CALIBRATION_FILE);
    enum skiff_status status = SKIFF_OK;
    if (file_exists(path) && fs_remove_all(NULL, (const char *const[]){path}, 1, err) < 0)
        status = error_prefix(err, SKIFF_IO, "%s cannot be removed", path);
    free(path);
    return status;
}

static enum skiff_status fit(struct calibrating *c, enum calibration_method method,
                             struct calibrate_result *out, struct skiff_error *err)
{
    struct calibration *calibration;
    TRY(predict_rows(c, &out->stopped, err));
    if (out->stopped)
        return SKIFF_OK;
    enum skiff_status status =
        calibration_fit(method, c->p, c->label, c->weight, c->n, &calibration, err);
    if (status < 0)
        return error_prefix(err, status, "runner.valid_data_dir");
    out->method = calibration_name(calibration);
    out->rows = calibration_rows(calibration);
    out->before = numbers_of(c, NULL);
    out->after = numbers_of(c, calibration);
    status = calibration_save(calibration, out->path.data, err);
    calibration_destroy(calibration);
    return status;
}

static enum skiff_status calibrate(struct calibrating *c, const struct predict_wish *wish,
                                   struct calibrate_result *out, struct skiff_error *err)
{
    enum calibration_method method = method_of(c->task.config);
    TRY(check_keys(c, err));
    TRY(predict_model_load(&c->task, wish, &c->model, &out->path, err));
    return method == CALIBRATION_NONE ? remove_old(out->path.data, err) : fit(c, method, out, err);
}

enum skiff_status calibrate_model(const struct task_args *args, const struct predict_wish *wish,
                                  const struct train_control *control, struct calibrate_result *out,
                                  struct skiff_error *err)
{
    struct calibrating c = {.control = control};
    *out = (struct calibrate_result){.path = BUF_INIT};
    TRY(task_open(&c.task, args, TASK_EVALUATES, err));
    pthread_mutex_init(&c.lock, NULL);
    control_ready(control);
    enum skiff_status status = calibrate(&c, wish, out, err);
    dataset_destroy(c.data);
    io_model_deinit(&c.model);
    pthread_mutex_destroy(&c.lock);
    free(c.p);
    free(c.label);
    free(c.weight);
    task_close(&c.task);
    return status;
}

void calibrate_text(const struct calibrate_result *r, struct buf *out)
{
    if (r->method)
        buf_printf(out,
                   "calibrated on %lld rows of valid (%s): log loss %.4f -> %.4f, copc %.2f -> "
                   "%.2f",
                   (long long)r->rows, r->method, r->before.log_loss, r->after.log_loss,
                   r->before.copc, r->after.copc);
    else
        buf_printf(out, "%s: not calibrated (runner.calibrate: none)", r->path.data);
}

/* ---- what uses it ---- */

enum skiff_status calibrate_load(struct task *task, const char *folder, struct calibration **out,
                                 struct skiff_error *err)
{
    *out = NULL;
    if (config_has(task->config, KEY_RUNNER_CALIBRATE) &&
        config_word(task->config, KEY_RUNNER_CALIBRATE) == CALIBRATION_NONE)
        return SKIFF_OK;
    return calibration_load(folder, out, err);
}

double calibrate_apply(const void *calibration, double p)
{
    return calibration_apply(calibration, p);
}
