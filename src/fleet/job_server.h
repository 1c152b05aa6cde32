/* The job (program/job.h) of a server program: whoever runs the program serves until the job is
 * complete. It keeps copies of what a server needs, so that split and programs may go.
 *
 * Two ways: with keeps_values (a fleet's) the server has a scope of its own, filled by
 * job_server_init or when the startup program is run, and job_server_run or running the main
 * program serves. Without (programs of the bare transpiler) both are run by an executor as any
 * program, and the server works in that executor's scope. A main program that is not, or no longer,
 * the split's is served as it is: its plan is read from it (server/foreign.c). */
#ifndef FLEET_JOB_SERVER_H
#define FLEET_JOB_SERVER_H

#include "base/log.h"
#include "fleet/settings.h"
#include "net/ps.h"
#include "program/job.h"
#include "program/program.h"
#include "program/server_plan.h"

struct job_server_options {
    struct server_plan *plan;                   /* of main; taken over */
    const struct skiff_program *main, *startup; /* of this server, as the split made them; copied */
    const struct skiff_program *whole;          /* before the split, or NULL; copied */
    const struct settings *settings;
    struct inproc_hub *hub; /* of a server inside its worker; NULL: workers are elsewhere */
    bool stop_on_death, keeps_values;
    void (*on_log)(void *user, enum log_level level, const char *line);
    void *user;
};

/* One reference is the caller's. */
enum skiff_status job_server_create(const struct job_server_options *o, struct job **out,
                                    struct skiff_error *err);
/* What this server has on its disk, for the beginning of the job; before init. Copied. */
void job_server_set_start(struct job *j, const struct ps_begin *has);
/* model_dir NULL: fresh parameters. */
enum skiff_status job_server_init(struct job *j, const char *model_dir, struct skiff_error *err);
enum skiff_status job_server_run(struct job *j, struct skiff_error *err);
/* After it: the server's tables and values go before the job does. */
void job_server_drop(struct job *j);
/* What its servers have counted; until the job is destroyed. */
struct metrics *job_server_metrics(const struct job *j);
void job_server_stop(struct job *j); /* any thread, signal handlers */

#endif
