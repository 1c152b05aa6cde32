/* A folder that one process saves to for a while: a lock on <folder>/.skiff_lock, which says who
 * has it, and which the kernel takes away with the process. Folders of other machines (S3, HDFS)
 * have none; on network file systems it is as good as their locks are. */
#ifndef STORE_FOLDER_LOCK_H
#define STORE_FOLDER_LOCK_H

#include "base/error.h"

#define FOLDER_LOCK_FILE ".skiff_lock"

struct folder_lock {
    char *path; /* owned; NULL: not held */
    int fd;
};

/* Takes the lock of the folder, which must be there; who: of this process, for others' messages.
 * END when somebody has it: holder tells process, machine, who and since when. A file system
 * without locks, or without room for an empty file, does without. */
enum skiff_status folder_lock_take(struct folder_lock *l, const char *folder, const char *who,
                                   char holder[static 512], struct skiff_error *err);
void folder_lock_release(struct folder_lock *l); /* one that is not held is fine */

#endif
