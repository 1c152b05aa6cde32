/* Files that are about to become others. */
#ifndef FS_TEMPORARY_H
#define FS_TEMPORARY_H

#include <sys/types.h>

#include "base/buf.h"

/* A new, empty file beside `name`, which becomes its name; -1: errno says why not. */
int fs_temporary(struct buf *name, mode_t mode);

#endif
