/* Which saved model predicts, loaded into a task: values in its scope, and the program up to the
 * prediction, which needs no label. */
#ifndef TRAIN_PREDICT_MODEL_H
#define TRAIN_PREDICT_MODEL_H

#include "io/io.h"
#include "task/task.h"

struct predict_wish {
    const char *model; /* a path; NULL: an epoch of runner.model_save_path */
    bool has_epoch;    /* that one; else the best by validation, or the newest */
    int64_t epoch;
    const char *folder; /* of the epochs; NULL: task_load_path */
    const char *run;    /* the beginning of its id; NULL: the newest run */
};

/* Logs which one it is. *path: of what was loaded. The caller deinits both. NOT_FOUND: none is
 * there; UNSUPPORTED: the network predicts nothing for a row. */
enum skiff_status predict_model_load(struct task *task, const struct predict_wish *wish,
                                     struct skiff_model *out, struct buf *path,
                                     struct skiff_error *err);

#endif
