/* What a launch looks like, for whoever shows it: one look at all workers while they run, and a row
 * for each process at the end. Threads: functions of the launch, called by its user. */
#ifndef LAUNCH_VIEW_H
#define LAUNCH_VIEW_H

#include "launch/launch.h"

/* Workers of this machine together. */
struct launch_view {
    int running, servers; /* processes that have not ended; workers that are dead do not count */
    int reports;          /* workers that have reported; 0: the next five say nothing */
    int epoch;            /* or pass: the earliest one */
    int day;              /* of the pass; 0: an epoch */
    double share;         /* of the epoch, mean of the workers */
    double rate;          /* samples a second of late */
    double loss, auc;     /* means, weighted by samples; NAN: not known */
    const char *tables;   /* of the job: any worker's word; NULL: none */
};
/* "epoch 2" or "day 20260131, pass 2" */
void launch_span_text(const struct launch_view *v, char out[static 48]);
struct launch_view launch_view_of(const struct launch *l, double now);

enum launch_worker_state {
    LAUNCH_WORKER_TRAINS,
    LAUNCH_WORKER_DEAD,    /* other processes say so */
    LAUNCH_WORKER_STOPPED, /* by a signal */
    LAUNCH_WORKER_SILENT,
    LAUNCH_WORKER_WAITS, /* at the end of its files, for the others */
    LAUNCH_WORKER_STUCK  /* it reports, but trains nothing */
};
struct launch_worker_view {
    enum launch_worker_state state;
    double seconds; /* since when: stopped, silent, stuck */
    double speed;   /* samples a second of late; of the epoch before that is known */
};
struct launch_worker_view launch_worker_view_of(const struct launch_process *p, double now);

/* The result of a process; NAN: not known. */
struct launch_row {
    double samples, seconds, speed, auc;
};
struct launch_row launch_row_of(const struct launch_process *p);
/* Of all workers; auc: of the job. False: they have trained nothing. */
bool launch_row_sum(const struct launch *l, struct launch_row *out);
/* "done", "failed, status 3", "killed by signal 9 (Killed)" */
void launch_status_text(const struct launch_process *p, char *out, size_t capacity);

/* ---- logs ---- */

/* The last complete line that the first worker of this machine has written, at most 100 bytes of
 * it, without control characters; "": none. */
void launch_last_line(const struct launch *l, char *out, size_t capacity);
/* The last lines of a process's log; "": it is empty. */
void launch_log_tail(const struct launch_process *p, int lines, struct buf *out);
/* The line in which a worker says that it has saved the part, or else where it stopped; false: none
 * does. */
bool launch_saved_line(const struct launch *l, char *out, size_t capacity);

/* A word as the shell reads it, behind a blank unless it is the first. */
void launch_add_word(struct buf *out, const char *word);

#endif
