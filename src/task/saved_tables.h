/* Saved models with sparse tables, as infer, predict and validation read them: rows from the
 * shards into a server inside this process (fleet/local_server.h), dense parameters from
 * dnn_plugin/, or from their table where there is none. The task's program then looks rows up
 * there; an id without a row is zeros, as in the job. */
#ifndef TASK_SAVED_TABLES_H
#define TASK_SAVED_TABLES_H

#include "task/task.h"

/* Instead of what was loaded before; in task.saved_tables. The config must have the tables'
 * settings (table_parameters). path NULL: empty tables and initial values. */
enum skiff_status saved_tables_load(struct task *j, const char *path, struct skiff_error *err);
/* The task's program is itself again. NULL is fine. */
void saved_tables_close(struct saved_tables *s);

#endif
