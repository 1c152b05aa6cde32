/* skiff train in a job: the environment says that this process is one of several. Servers
 * serve; workers train their part of the files, add up their counts after every epoch,
 * and worker 0 saves. */
#ifndef CLI_TRAIN_FLEET_H
#define CLI_TRAIN_FLEET_H

#include "task/task.h"

bool train_fleet_wanted(void);
/* One process with sparse tables (table_parameters) is also such a job: without servers it
 * holds the tables itself. */
bool train_fleet_alone(struct task *task);
int train_fleet(const struct task_args *args); /* exit status */

#endif
