/* An exclusive lock on a folder that one process saves to: a lock on <folder>/.skiff_lock, which
 * the kernel releases when the process ends. The file names the holder. Remote folders (S3, HDFS)
 * cannot be locked; on network file systems the lock is as reliable as theirs. */
#ifndef STORE_FOLDER_LOCK_H
#define STORE_FOLDER_LOCK_H

#include "base/error.h"

#define FOLDER_LOCK_FILE ".skiff_lock"

struct folder_lock {
    char *path; /* owned; NULL: not held */
    int fd;
};

/* Locks the folder, which must exist. who: describes this process in messages of others. END when
 * another process holds the lock: `holder` gets its process id, machine, `who` and start time. On a
 * file system without locks, or with no space for an empty file, succeeds without a lock. */
enum skiff_status folder_lock_take(struct folder_lock *l, const char *folder, const char *who,
                                   char holder[static 512], struct skiff_error *err);
void folder_lock_close(struct folder_lock *l); /* OK when not held */

#endif
