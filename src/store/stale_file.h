/* Temporary names of saves in progress: ".<name>.skiff-save-<...>" next to a file or folder,
 * ".skiff-save-<...>" inside a folder. The writer holds a lock on it, which the kernel releases
 * with the process. An entry with such a name and no lock is stale: its writer was killed. The next
 * save in that folder removes it.
 *
 * On network file systems, locks say nothing about other machines: there an entry is stale when it
 * has not changed for a day. Any thread. */
#ifndef STORE_STALE_FILE_H
#define STORE_STALE_FILE_H

#include <stdbool.h>

#include "base/error.h"

#define STALE_FILE_MARK ".skiff-save-"

/* Creates and locks a folder: next to `path`, or inside it. *out_path is the caller's (to be
 * freed); *out_lock is the descriptor that holds the lock. */
enum skiff_status stale_file_create_dir(const char *path, bool inside, char **out_path,
                                        int *out_lock, struct skiff_error *err);
/* The same for an empty file next to `path`, opened for writing; the descriptor holds the lock. */
enum skiff_status stale_file_create_file(const char *path, char **out_path, int *out_fd,
                                         struct skiff_error *err);
/* Releases a lock and closes its descriptor. Closing alone would leave the lock to a forked child
 * (a data loader worker) for as long as that lives. */
void lock_close(int fd);
/* Removes the stale temporary files of dead processes in the folder. */
void stale_file_remove(const char *dir);
bool stale_file_named(const char *name); /* does the name have this form? */

#endif
