/* Commits several folders together: sparse tables, which servers have written, and the dense
 * parameters, which a worker has written.
 *
 * Each folder is written next to its final path as ".<name>.skiff-save-<...>" (stale_file.h). When
 * all are complete, a file that lists them is created: that is the commit point. The folders are
 * then renamed to their final paths and the list is removed. A process that loads, saves or aborts
 * a save in this folder and finds the list finishes the renames first. Local folders only; any
 * thread and process. */
#ifndef STORE_FOLDER_COMMIT_H
#define STORE_FOLDER_COMMIT_H

#include <stdint.h>

#include "base/error.h"

/* ".../.<name>.skiff-save-<token>" of ".../<name>"; caller's. */
char *folder_commit_name(const char *dir, uint64_t token);
/* temps[0 .. n): complete folders in dir with such names. On failure nothing has changed. */
enum skiff_status folder_commit_begin(const char *dir, const char *const *temps, int n,
                                      struct skiff_error *err);
/* OK when there is nothing to do or no such folder. */
enum skiff_status folder_commit_recover(const char *dir, struct skiff_error *err);

#endif
