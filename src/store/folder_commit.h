/* Several folders of one place that are put there together: tables of features, which servers have
 * written, and the dense parameters, which a worker has.
 *
 * Each is written beside its place, ".<name>.skiff-save-<...>" (leftover.h). When all are written a
 * file in the place lists them: from that instant on the save is the new one. They are then put in
 * their places, and the file is removed. Whoever comes to the place afterwards, to load, to save or
 * to give up a save, and finds the file, does the rest first. Folders of this machine; any thread
 * and process. */
#ifndef STORE_FOLDER_COMMIT_H
#define STORE_FOLDER_COMMIT_H

#include <stdint.h>

#include "base/error.h"

/* ".../.<name>.skiff-save-<token>" of ".../<name>"; caller's. */
char *folder_commit_name(const char *dir, uint64_t token);
/* temps[0 .. n): folders in dir of such names, written. Failed: nothing has changed. */
enum skiff_status folder_commit_begin(const char *dir, const char *const *temps, int n,
                                      struct skiff_error *err);
/* Nothing to be done is fine, and so is a folder that is not there. */
enum skiff_status folder_commit_settle(const char *dir, struct skiff_error *err);

#endif
