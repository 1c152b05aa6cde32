/* Data without labels, where labels are needed. */
#ifndef TASK_LABEL_H
#define TASK_LABEL_H

#include "task/task.h"

/* After a failure: when the first row of the data can be read only as one without a label, the
 * message is reported so, and how to predict. */
void label_explain(struct task *j, const struct task_data *data, struct skiff_error *err);

#endif
