/* Job: this process as a part of a job with servers: what a run by epochs (home_servers.c) and one
 * by days (home_days.c) do in the same way.
 *
 *     job_open      role, strategy, the program split; one process alone is a job, too
 *     job_serve     of a server: until the job is over
 *     job_startup   of a worker that has joined: initial values, or the servers' */
#ifndef TRAIN_JOB_H
#define TRAIN_JOB_H

#include <skiff/fleet.h>

#include "task/task.h"
#include "task/task_tables.h"

struct dataset;
struct ps_begin;
struct train_control;

struct train_job {
    struct skiff_fleet *fleet;
    struct task_tables tables;
    uint64_t seed;
    bool may_have_ended; /* before it was opened, all epochs were there: job_look_for_end */
    const struct train_control *control; /* borrowed; may be NULL */
    bool stop_on_death; /* a worker that dies ends the job, whatever the config says */
};

/* The environment says that this process is one of a job with servers. */
bool job_wanted(void);
/* One process with sparse tables (table_parameters) is also such a job: without servers it holds
 * the tables itself. */
bool job_is_alone(struct task *task);

/* Before job_open. A worker that is started when its job has ended finds all epochs of the config
 * in the folder of the models, and no server: it does not wait for servers as long as one of a job
 * that begins. */
void job_look_for_end(struct train_job *j, struct task *task, const struct task_args *args);
/* skiff_fleet_init_worker; an error says when the job may have ended. */
enum skiff_status job_init_worker(struct train_job *j, struct task *task, struct skiff_error *err);
/* job_close when it has failed, too. */
enum skiff_status job_open(struct train_job *j, struct task *task, const struct task_args *args,
                           struct skiff_error *err);
/* has: what is on this server's disk, which it begins with: start_path, or NULL. */
enum skiff_status job_serve(struct train_job *j, struct task *task, const struct ps_begin *has,
                            const char *start_path, struct skiff_error *err);
/* Shuffles samples in memory: they change workers when every worker has some (everybody), otherwise
 * each worker shuffles its own. */
enum skiff_status job_shuffle(struct train_job *j, struct dataset *data, uint64_t seed,
                              bool everybody, struct skiff_error *err);
enum skiff_status job_startup(struct train_job *j, struct task *task, struct skiff_error *err);
/* Whether the config suits a job of servers and workers: its mode, tables, links. */
enum skiff_status job_check(struct task *task, const struct task_args *args,
                            struct skiff_error *err);
void job_close(struct train_job *j);

#endif
