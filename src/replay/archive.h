/* Archives (tar, plain or packed by gzip, zstd, lz4 or xz): unpacked into a folder, for `replay`.
 *
 * They may be somebody else's: only files and folders are made, below the given folder, which is
 * new and the caller's alone. Links, devices, absolute names and names with ".." are refused, as is
 * what would be more than ARCHIVE_MAX_BYTES or ARCHIVE_MAX_ENTRIES. Nothing keeps its rights. */
#ifndef REPLAY_ARCHIVE_H
#define REPLAY_ARCHIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define ARCHIVE_MAX_BYTES ((int64_t)2 << 30)
#define ARCHIVE_MAX_ENTRIES 200000

/* x.tar, x.tar.gz, x.tgz, x.tar.zst, x.tar.lz4, x.tar.xz */
bool archive_is_named(const char *path);
/* stop: may be NULL. After a failure what has been made so far stays in the folder. */
enum skiff_status archive_unpack(const char *path, const char *into, const atomic_bool *stop,
                                 struct skiff_error *err);
/* The same for bytes; name: for messages. */
enum skiff_status archive_unpack_memory(const void *bytes, size_t n, const char *name,
                                        const char *into, struct skiff_error *err);

#endif
