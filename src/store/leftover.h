/* Names of what is being written: ".<name>.skiff-save-<...>" beside a file or folder,
 * ".skiff-save-<...>" inside a folder. Whoever writes one holds a lock on it, which the kernel
 * takes away with the process: what has such a name and no lock is a leftover of a killed save, and
 * is removed by the next one in that place.
 *
 * On network file systems locks say nothing about other machines, there a leftover is what has not
 * changed for a day. Any thread. */
#ifndef STORE_LEFTOVER_H
#define STORE_LEFTOVER_H

#include <stdbool.h>

#include "base/error.h"

#define LEFTOVER_MARK ".skiff-save-"

/* Makes and locks a folder: beside `path` (inside false) or in it. *out_path is the caller's (to be
 * freed), *out_lock the descriptor that holds the lock. */
enum skiff_status leftover_make_dir(const char *path, bool inside, char **out_path, int *out_lock,
                                    struct skiff_error *err);
/* The same for a file beside `path`, opened for writing, empty; the descriptor holds the lock. */
enum skiff_status leftover_make_file(const char *path, char **out_path, int *out_fd,
                                     struct skiff_error *err);
/* Gives a lock back and closes its descriptor. Closing alone would leave it to a child that was
 * forked meanwhile (workers of a data loader), for as long as that lives. */
void lock_release(int fd);
/* Removes the leftovers of dead processes in the folder. */
void leftover_remove(const char *dir);
bool leftover_named(const char *name); /* does it look like one? */

#endif
