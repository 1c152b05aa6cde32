/* Sparse tables of a config: what is under table_parameters.<table>, as PaddleRec nests it,
 * becomes the settings of a job's tables (table/table_config.h), with what runner says of memory.
 * Checked here, so that a wrong value is reported with its file, line and key before anything
 * starts. */
#ifndef TASK_TASK_TABLES_H
#define TASK_TASK_TABLES_H

#include <skiff/fleet.h>

#include "task/task.h"

#define SERVER_MEMORY_ENV "SKIFF_SERVER_MEMORY" /* skiff launch --server_memory */

struct task_tables {
    struct arena arena;
    struct skiff_table_settings *at; /* in the arena */
    int n;
};

/* mode: of the job; geo has no sparse tables: warns. INVALID. */
enum skiff_status task_tables_read(struct task_tables *t, struct task *task, const char *mode,
                                   struct skiff_error *err);
/* Are there settings of tables that the model has? Others are ignored. INVALID. */
enum skiff_status task_tables_any(struct task *task, bool *out, struct skiff_error *err);
void task_tables_deinit(struct task_tables *t); /* {0} is fine */

#endif
