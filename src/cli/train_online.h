/* skiff train by days and passes: online training, as PaddleRec's trainers do it, alone or as one
 * process of a job with servers. */
#ifndef CLI_TRAIN_ONLINE_H
#define CLI_TRAIN_ONLINE_H

#include "task/task.h"

/* Does the config ask for it? One that cannot be read does not: others say why. */
bool train_online_wanted(const struct task_args *args);
int train_online(const struct task_args *args); /* exit status */

#endif
