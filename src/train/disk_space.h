/* Disk space for an epoch: what its save takes, and what is free. */
#ifndef TRAIN_DISK_SPACE_H
#define TRAIN_DISK_SPACE_H

#include "task/task.h"

/* Bytes of one epoch of the task's model: parameters and the optimizer's state, with
 * runner.use_inference the parameters twice, and a little for programs and manifest. */
int64_t disk_space_needed(struct task *j);
/* Bytes that may be written below the folder; -1: not known. */
int64_t disk_space_available(const char *folder);
/* IO as of a full disk (ENOSPC), with both numbers, when an epoch does not fit. */
enum skiff_status disk_space_check(struct task *j, const char *folder, int epoch,
                                   struct skiff_error *err);
/* Before an epoch: the same as a warning, training continues. */
void disk_space_warn(struct task *j, const char *folder, int epoch);

/* "12.3 MB" */
const char *bytes_text(int64_t bytes, char out[static 32]);

#endif
