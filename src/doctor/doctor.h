/* What is wrong with a job before it runs, or while it does: roles, names, ports, links, limits,
 * the config and its data. Nothing is changed, and servers are asked as by a read-only observer
 * (fleet/observer.h). */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "task/task.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_FAULT, DOCTOR_LEVELS };

struct doctor_finding {
    enum doctor_level level;
    const char *text, *advice; /* advice: what to do, or NULL */
};
/* Called for each finding, in order; while a server is asked, warnings of the network thread come
 * from that thread. */
typedef void (*doctor_fn)(void *arg, const struct doctor_finding *f);

struct doctor_options {
    const struct task_args *task;  /* config NULL: the config and its data are not checked */
    const char *servers, *workers; /* lists; NULL: as the environment says */
    int worker_num;                /* with servers */
    int pid;                       /* of the process whose environment this is; 0: our own */
    int timeout_ms;                /* for the answer of a server */
};

struct doctor_result {
    int count[DOCTOR_LEVELS];
};
struct doctor_result doctor_run(const struct doctor_options *o, doctor_fn on_finding, void *arg);

#endif
