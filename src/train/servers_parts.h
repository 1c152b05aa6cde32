/* Parameters on servers: what home_servers.c and servers_save.c share. */
#ifndef TRAIN_SERVERS_PARTS_H
#define TRAIN_SERVERS_PARTS_H

#include "fleet/epochs.h"
#include "fleet/report.h"
#include "train/job.h"
#include "train/run.h"

struct servers {
    struct train_job job;
    const char *start_path; /* what servers begin with; NULL: fresh */
    struct buf start_text;
    struct ps_begin has;    /* on this disk */
    bool everybody;         /* all workers are here and have data */
    int64_t present;        /* workers with data in the epoch before */
    double next_count;      /* when the trained samples are next reported */
    struct model_info save; /* what is to be saved: the last epoch that has ended */
    bool at_end;            /* ... its files were trained to their end; else a part of them */
    bool unsaved;           /* ... and is not known to be saved */
    bool part_saved;        /* a part of an epoch, by this worker */
};

static inline struct servers *servers_of(const struct train_run *run)
{
    return run->home.self;
}

/* In the log, and on the launcher's screen. */
#define WARN_ALL(run, ...) \
    (logger_warn(&(run)->task.logger, __VA_ARGS__), report_warning(__VA_ARGS__))

/* ---- servers_save.c ---- */

/* The end of an epoch: its values are tagged, and somebody saves them. */
enum skiff_status servers_keep(struct train_run *run, const struct home_counts *counts,
                               struct skiff_error *err);
/* What the servers have now, whoever trains meanwhile. */
enum skiff_status servers_save_now(struct train_run *run, const char *dir,
                                   const struct model_info *note, struct skiff_error *err);
/* While training continues, on the monitor thread: does it fall to this worker to save? */
void servers_try_save(struct train_run *run);
/* No worker leaves before the last epoch is saved: the one that saves it may die. */
enum skiff_status servers_await_saved(struct train_run *run, struct skiff_error *err);

#endif
