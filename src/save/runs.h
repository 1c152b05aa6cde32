/* Runs: whose epochs are in a folder, and who writes there now.
 *
 * Every run has an id, which is in the manifests of its epochs and continues with --resume. A new
 * run into the folder of another replaces its epochs one by one; until then those of both lie
 * there, and only those of the run that has saved last belong together. Epochs without a manifest
 * (saved by Paddle, or an older Skiff) do not say whose they are: they count as the chosen run's.
 *
 * A run holds the lock of its folder (store/folder_lock.h). */
#ifndef SAVE_RUNS_H
#define SAVE_RUNS_H

#include "base/buf.h"
#include "base/logger.h"
#include "store/folder_lock.h"
#include "store/model_dir.h"

struct listed_epoch {
    int epoch;
    struct model_info note; /* known false: no manifest, or it cannot be read */
};

struct run_list {
    struct listed_epoch *epochs; /* in order */
    int n;
    char run[40]; /* the chosen one: the last that has saved, or the one asked for; "": no name */
};

/* What is in the folder. wanted: the id of a run, or its beginning; NULL: the newest. NOT_FOUND
 * when there is no such run: the message names those that are there. */
enum skiff_status run_list_read(struct run_list *l, const char *folder, const char *wanted,
                                struct skiff_error *err);
void run_list_deinit(struct run_list *l);
/* The epoch if it is one of the chosen run's, else NULL. */
const struct listed_epoch *run_list_find(const struct run_list *l, int epoch);
/* The highest epoch of the chosen run below `epoch`; -1: none. */
int run_list_before(const struct run_list *l, int epoch);
/* Warns of epochs of other runs: they are left out, and how to take them (NULL: no way is
 * named). */
void run_list_warn(const struct run_list *l, const struct logger *log, const char *folder,
                   const char *how);

/* Removes all epochs from the folder; gives their number. */
int runs_remove(const char *folder);

/* ---- the lock ---- */

/* Takes the lock of the folder, which must be there. STATE when somebody has it: the message names
 * process, machine, run and time. */
enum skiff_status run_lock_take(struct folder_lock *l, const char *folder, const char *run,
                                struct skiff_error *err);

#endif
