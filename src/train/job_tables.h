/* Sparse tables of a running job, as `skiff train` uses them. A job without any has none of
 * this: its models are saved as a whole. */
#ifndef TRAIN_JOB_TABLES_H
#define TRAIN_JOB_TABLES_H

#include "train/job.h"
#include "fleet/report.h"

/* All of them together, for the line of progress; asked for every few seconds. */
struct job_tables_line {
    char text[REPORT_TABLES]; /* ps_table_state_text; "": no tables */
    double due;               /* when that is asked for again */
};
void job_tables_look(struct skiff_fleet *f, struct job_tables_line *line);
/* Says once how they are: rows, bytes, admitted, refused, expired, hit rate. */
void job_tables_print(struct skiff_fleet *f, const struct logger *log);

/* What is saved: all of the job as a checkpoint (mode 0, or 3 at the end of a day), or, for those
 * who serve, tables (mode 1: what has changed, 2: all that is worth it) and the network behind them
 * (dnn_plugin/). By one worker; all of it appears atomically, instead of what is there
 * (store/folder_save.h). */
struct save_attempts;
enum skiff_status job_tables_save(struct train_job *j, struct task *task, const char *dir, int mode,
                                  const struct save_attempts *attempts, struct skiff_error *err);
/* The same as an epoch of `skiff train`: a checkpoint, the network, and a manifest with the
 * note. */
struct model_info;
enum skiff_status job_tables_save_epoch(struct train_job *j, struct task *task, const char *dir,
                                        const struct model_info *note,
                                        const struct save_attempts *attempts,
                                        struct skiff_error *err);
/* By the first worker: all of it, or nothing. */
enum skiff_status job_tables_load(struct train_job *j, const char *dir, struct skiff_error *err);
/* All workers, when they begin: the first one has the servers load what lies there, all then have
 * it. Without such tables, or with dir NULL: nothing. */
enum skiff_status job_tables_begin(struct train_job *j, struct task *task, const char *dir,
                                   struct skiff_error *err);
/* The second half of it: the first worker has had something loaded. */
enum skiff_status job_tables_share(struct train_job *j, struct task *task, struct skiff_error *err);

#endif
