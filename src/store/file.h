/* Reading and writing complete files. Paths may be remote (s3://, hdfs://, ...: fs/fs.h): a remote
 * file is downloaded into an unnamed file in TMPDIR before it is read; a file to be written is
 * created in TMPDIR and uploaded by the commit. */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* The expected size and XXH3 checksum of a file, as listed in a manifest (manifest.h). Where a
 * function takes one, NULL or bytes < 0 means unknown: nothing is compared. */
struct file_sum {
    int64_t bytes;
    uint64_t xxh3;
};

#define FILE_SUM_UNKNOWN \
    (struct file_sum)    \
    {                    \
        .bytes = -1      \
    }

static inline bool file_sum_known(const struct file_sum *s)
{
    return s && s->bytes >= 0;
}

/* Reads the file and computes its sum; with `flush`, also flushes it to the disk. */
enum skiff_status file_sum_of(const char *path, bool flush, struct file_sum *out,
                              struct skiff_error *err);
/* FORMAT when they differ; the message says what to do. */
enum skiff_status file_sum_compare(const char *path, const struct file_sum *want,
                                   const struct file_sum *found, struct skiff_error *err);

/* Opens a file of a folder that may come from an untrusted source. IO when it is not a regular
 * file: a link to a device could be read without end, and a pipe would block. */
enum skiff_status file_open_regular(const char *path, int *out_fd, int64_t *out_size,
                                    struct skiff_error *err);

/* For paths that the user names: pipes are allowed. */
enum skiff_status file_read(const char *path, struct buf *out, struct skiff_error *err);
/* Regular files only; want may be NULL. */
enum skiff_status file_read_checked(const char *path, const struct file_sum *want, struct buf *out,
                                    struct skiff_error *err);
/* Atomic: writes a temporary file next to `path`, flushes and renames it. Creates missing parent
 * folders. */
enum skiff_status file_write(const char *path, const void *bytes, size_t n,
                             struct skiff_error *err);
enum skiff_status file_make_parents(const char *path, struct skiff_error *err);
int file_exists(const char *path);
int file_is_dir(const char *path);
/* Flushes a folder: entries that were created or renamed in it survive a power cut. */
enum skiff_status file_sync_dir(const char *dir, struct skiff_error *err);
enum skiff_status file_sync_parent(const char *path,
                                   struct skiff_error *err); /* flushes its folder */
/* Removes a file, or a folder and its contents; skips what cannot be removed. */
void file_remove_tree(const char *path);

/* The same in pieces, for files too large to assemble in memory: open, add ..., then commit (flush
 * and rename) or close (removes the temporary file). After commit, failed or not, the writer is
 * closed. */
struct file_writer {
    char *path, *temp; /* owned; temp NULL: nothing is renamed, path is for messages */
    int fd;
    struct hash_stream *hash; /* owned; NULL: no checksum is wanted */
    struct file_sum *sum; /* where commit stores size and checksum, borrowed; NULL: not wanted */
    int64_t bytes;
};

/* Takes bytes in pieces, in order. */
struct byte_sink {
    enum skiff_status (*add)(void *user, const void *bytes, size_t n, struct skiff_error *err);
    void *user;
};

enum skiff_status file_writer_open(struct file_writer *w, const char *path,
                                   struct skiff_error *err);
/* For a file of a folder that is itself still temporary: writes directly to `path`, which must not
 * exist. Messages name `place`, the final path. Commit sets *sum. */
enum skiff_status file_writer_open_exclusive(struct file_writer *w, const char *path,
                                             const char *target, struct file_sum *sum,
                                             struct skiff_error *err);
enum skiff_status file_writer_add(struct file_writer *w, const void *bytes, size_t n,
                                  struct skiff_error *err);
enum skiff_status file_writer_commit(struct file_writer *w, struct skiff_error *err);
void file_writer_close(struct file_writer *w);
/* Adds what it gets to the file. */
struct byte_sink file_writer_sink(struct file_writer *w);
/* Commits when status is OK, else closes; returns the resulting status. */
enum skiff_status file_writer_end(struct file_writer *w, enum skiff_status status,
                                  struct skiff_error *err);

/* The local path next to which temporary files for `path` are created: `path` itself, or one in
 * TMPDIR when `path` is remote. Caller's. */
char *file_local_path(const char *path);
char *path_join(const char *dir, const char *name); /* caller's */
char *path_parent(const char *path);                /* caller's; "." of "file", "/" of "/file" */
/* The last part of a path, without trailing slashes: *out_n bytes of it; borrowed. */
const char *path_last(const char *path, size_t *out_n);

#endif
