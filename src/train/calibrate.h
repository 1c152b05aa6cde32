/* Calibration of a saved model on validation data: a monotone function of its probabilities
 * (predict/calibration.h), saved in the model's folder. skiff calibrate does it, and skiff train
 * with runner.calibrate at its end. */
#ifndef TRAIN_CALIBRATE_H
#define TRAIN_CALIBRATE_H

#include "base/buf.h"
#include "predict/calibration.h"
#include "train/control.h"
#include "train/predict_model.h"

struct calibrate_numbers {
    double log_loss, copc; /* on the rows that it is fitted on */
};

struct calibrate_result {
    struct buf path;    /* the model's folder */
    const char *method; /* NULL: the one that was there is removed */
    int64_t rows;
    struct calibrate_numbers before, after;
    bool stopped; /* before its end; nothing was saved */
};

/* Opens the config of args with a task of its own, loads the model that `wish` asks for, predicts
 * the rows of runner.valid_data_dir, fits runner.calibrate, or by default platt, and saves it.
 * none: removes what is there. The caller deinits out->path in any case. */
enum skiff_status calibrate_model(const struct task_args *args, const struct predict_wish *wish,
                                  const struct train_control *control, struct calibrate_result *out,
                                  struct skiff_error *err);
/* One line about it. */
void calibrate_text(const struct calibrate_result *r, struct buf *out);

/* What is saved in the folder of a model and shall be applied: runner.calibrate: none says that
 * nothing is. */
enum skiff_status calibrate_load(struct task *task, const char *folder, struct calibration **out,
                                 struct skiff_error *err);
/* As eval_metrics.adjust: of a calibration. */
double calibrate_apply(const void *calibration, double p);

#endif
