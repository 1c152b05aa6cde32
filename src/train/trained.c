#include "train/trained.h"

#include "predict/rows.h"
#include "train/calibrate.h"

#define BATCH_SIZE 512

enum skiff_status trained_open(struct trained *t, const struct task_args *args,
                               struct skiff_error *err)
{
    *t = (struct trained){0};
    TRY(task_open(&t->task, args, TASK_PREDICTS, err));
    struct config *c = t->task.config;
    TRY(task_dataset_config(&t->task, &task_data_infer, &t->data, err));
    t->data.batch_size = config_int_or(c, task_data_infer.batch_key, BATCH_SIZE);
    t->data.reader.skip_label = true;
    (void)task_load_path(&t->task); /* its keys are known */
    return task_check(&t->task, err);
}

enum skiff_status trained_load(struct trained *t, const struct predict_wish *wish,
                               struct skiff_error *err)
{
    TRY(predict_model_load(&t->task, wish, &t->model, &t->path, err));
    TRY(calibrate_load(&t->task, t->path.data, &t->calibration, err));
    if (t->calibration)
        logger_info(&t->task.logger, "probabilities are calibrated (%s)",
                    calibration_name(t->calibration));
    t->predictor = predictor_create(t->task.scope, &t->model, &(struct executor_options){0});
    return SKIFF_OK;
}

void trained_close(struct trained *t)
{
    predictor_destroy(t->predictor);
    calibration_destroy(t->calibration);
    reader_config_deinit(&t->data.reader);
    io_model_deinit(&t->model);
    buf_deinit(&t->path);
    task_close(&t->task);
    *t = (struct trained){0};
}

enum skiff_status trained_predict(struct trained *t, const struct trained_files *files,
                                  struct skiff_error *err)
{
    struct file_cursor cursor = {.files = files->files};
    struct scan_plan plan = {.schema = &t->task.schema,
                             .reader = &t->data.reader,
                             .pipe_command = t->data.pipe_command,
                             .short_batches = true, /* the writer of a pipe waits for answers */
                             .rules = t->data.rules,
                             .unpack_ratio = t->data.unpack_ratio,
                             .idle_lines = t->data.idle_lines,
                             .bad = files->bad,
                             .stop = files->stop};
    return predict_rows_run(&(struct predict_rows){.predictor = t->predictor,
                                                   .plan = &plan,
                                                   .cursor = &cursor,
                                                   .calibration = t->calibration,
                                                   .threads = task_threads(&t->task),
                                                   .batch_size = t->data.batch_size,
                                                   .user = files->user,
                                                   .write = files->write},
                            err);
}
