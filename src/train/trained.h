/* A trained run that is ready to predict: its config, the model that predict_model.h chooses, and
 * the settings of its rows. `skiff predict` and <skiff/run.h> stand on it.
 *
 * Threads: one owner; predictor_run from any. */
#ifndef TRAIN_TRAINED_H
#define TRAIN_TRAINED_H

#include "predict/calibration.h"
#include "predict/predictor.h"
#include "task/task.h"
#include "train/predict_model.h"

struct trained {
    struct task task;
    struct dataset_config data; /* its reader's settings take rows with and without labels */
    struct skiff_model model;
    struct buf path; /* of what was loaded */
    struct skiff_predictor *predictor;
    struct calibration *calibration; /* of its probabilities, or NULL */
};

/* The config and its keys, without the model. args are borrowed. Close it also after a failure. */
enum skiff_status trained_open(struct trained *t, const struct task_args *args,
                               struct skiff_error *err);
enum skiff_status trained_load(struct trained *t, const struct predict_wish *wish,
                               struct skiff_error *err);
void trained_close(struct trained *t);

/* All rows of files. */
struct trained_files {
    const struct file_list *files;
    struct bad_lines *bad;
    const atomic_bool *stop;
    void *user;
    /* predict/rows.h */
    enum skiff_status (*write)(void *user, const char *text, size_t n, int64_t rows,
                               struct skiff_error *err);
};
enum skiff_status trained_predict(struct trained *t, const struct trained_files *files,
                                  struct skiff_error *err);

#endif
