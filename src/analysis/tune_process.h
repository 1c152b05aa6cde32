/* A part of a trial as a process of its own: it trains with the library's trainer and tells what
 * came of it. It ends with its parent, however that ends. */
#ifndef ANALYSIS_TUNE_PROCESS_H
#define ANALYSIS_TUNE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "analysis/tune_journal.h"

struct tune_process {
    pid_t pid; /* 0: none */
    int fd;    /* its outcome comes from here */
    struct tune_part part;
};

/* options: of the trainer, all of them; folder: of its models. log: a file for its lines. */
struct tune_run {
    const char *config;
    const char *const *options;
    int noptions;
    const char *folder, *log;
};

enum skiff_status tune_process_start(struct tune_process *p, const struct tune_run *run,
                                     const struct tune_part *part, struct skiff_error *err);
/* Waits for its end. metric: what it compared ("log loss"), "" if it failed. part.error is the
 * caller's. */
void tune_process_end(struct tune_process *p, char metric[static 16]);
void tune_process_kill(struct tune_process *p); /* and waits; none is fine */

#endif
