/* Between the files of launch/. */
#ifndef LAUNCH_LAUNCH_PARTS_H
#define LAUNCH_LAUNCH_PARTS_H

#include "launch/launch.h"

/* ---- the environment of a process ---- */

struct launch_env {
    char **at; /* "NAME=value", NULL behind the last; all owned */
    int n;
};

void launch_env_init(struct launch_env *e, const struct launch_options *o);     /* ours */
void launch_env_set(struct launch_env *e, const char *name, const char *value); /* NULL: unset */
void launch_env_set_number(struct launch_env *e, const char *name, long long number);
const char *launch_env_get(const struct launch_env *e, const char *name); /* NULL: not set */
void launch_env_deinit(struct launch_env *e);
/* The variables of a process. */
void launch_env_fill(struct launch_env *e, const struct launch *l, const struct launch_process *p);

/* ---- modes ---- */

struct launch_mode {
    const char *process;  /* what a process is called that trains */
    const char *listener; /* what unauthenticated peers could reach: "a server" */
    const char *first;    /* whose machine shares secrets: "server 0" */
    /* After the first failure others may end by themselves for so long: they say what they saw. */
    double grace_seconds;
    enum skiff_status (*plan)(struct launch *l, struct skiff_error *err);
    void (*env)(const struct launch *l, const struct launch_process *p, struct launch_env *e);
    /* Before the process is started, with its environment; may be NULL. */
    void (*ready)(const struct launch *l, const struct launch_process *p,
                  const struct launch_env *e);
    int (*exit_status)(const struct launch *l); /* of a job that has failed or was stopped */
};

extern const struct launch_mode launch_ps_mode, launch_collective_mode;

/* POD_IP, or --host; NULL: not set. */
const char *launch_own_host(const struct launch_options *o);
/* Is it an address of this machine, by launch_own_host if that is set? */
bool launch_is_here(const struct launch_options *o, const char *endpoint);
/* log: "workerlog.0" */
struct launch_process *launch_add(struct launch *l, const char *called, int index,
                                  const char *endpoint, const char *log);
/* The job's name: of the lists when other machines have a part, else random. */
void launch_name_job(struct launch *l);
/* The user's secret, or one that we make. reachable: other machines can come in. */
enum skiff_status launch_take_secret(struct launch *l, bool reachable, struct skiff_error *err);
/* FLAGS_START_PORT, as in Paddle's launchers; 0: not set. */
enum skiff_status launch_start_flag(int *out, struct skiff_error *err);
/* ---- events ---- */

void launch_notify(const struct launch *l, enum launch_event_kind kind,
                   const struct launch_process *p, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A warning, now and at the end. from: whose it is; NULL: the launcher's own. */
void launch_warn(struct launch *l, const struct launch_process *from, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- what processes report (reports.c) ---- */

/* Lines of its pipe that have come. */
void launch_take_reports(struct launch *l, struct launch_process *p);
/* Looks for processes that are stopped, for a full disk of the logs; once a second. */
void launch_look_around(struct launch *l, double now);
/* Live processes that others call dead or hanging, for `seconds` at least; NULL: none. */
struct launch_process *launch_accused(struct launch *l, double seconds, double now);
/* Others have ended: workers that are still members of the job will never end. */
void launch_accuse_left_behind(struct launch *l);
bool launch_is_live(const struct launch_process *p);
/* Are workers of other machines members of the job, as far as is known? */
bool launch_workers_elsewhere(const struct launch *l);

/* ---- running (run.c) ---- */

void launch_runner_destroy(struct launch_runner *r);

#endif
