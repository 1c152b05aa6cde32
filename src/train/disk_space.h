/* Disk space for an epoch: what its save takes, and what is free. */
#ifndef TRAIN_DISK_SPACE_H
#define TRAIN_DISK_SPACE_H

#include "task/task.h"

#define DISK_SPACE_MARGIN ((int64_t)1 << 20) /* for programs and manifest */

/* Bytes of one epoch of the task's model with its present values: parameters and the optimizer's
 * state as pickles, with runner.use_inference the parameters once more, and a margin. */
int64_t disk_space_needed(struct task *j);
/* IO as of a full disk (ENOSPC), with both numbers, when an epoch does not fit. */
enum skiff_status disk_space_check(struct task *j, const char *folder, int epoch,
                                   struct skiff_error *err);
/* Before an epoch: the same as a warning, training continues. */
void disk_space_warn(struct task *j, const char *folder, int epoch);

#endif
