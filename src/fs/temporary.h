/* Temporary files of the atomic writers. */
#ifndef FS_TEMPORARY_H
#define FS_TEMPORARY_H

#include <sys/types.h>

#include "base/buf.h"

/* Creates an empty file next to `name`, and sets name to its path; -1: see errno. */
int fs_temporary(struct buf *name, mode_t mode);

#endif
