/* Whole files in and out. Paths may be of other machines (s3://, hdfs://, ...: fs/fs.h): what is
 * read is downloaded into a nameless file in TMPDIR first, what is written goes there and is
 * uploaded by the commit. */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* What a file must be: its length and the XXH3 of its bytes, as a manifest tells them
 * (manifest.h). Where a function takes one, NULL or bytes < 0 means that nobody knows. */
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

/* Reads the file (and sees to it that it is on the disk, when `flush`). */
enum skiff_status file_sum_of(const char *path, bool flush, struct file_sum *out,
                              struct skiff_error *err);
/* FORMAT, with what to do, when they differ. */
enum skiff_status file_sum_compare(const char *path, const struct file_sum *want,
                                   const struct file_sum *found, struct skiff_error *err);

/* A file to be read that lies in a folder from elsewhere: a link to a device would be read without
 * end, a pipe waited for. IO when it is not a regular one. */
enum skiff_status file_open_regular(const char *path, int *out_fd, int64_t *out_size,
                                    struct skiff_error *err);

/* What the user names: a pipe, too. */
enum skiff_status file_read(const char *path, struct buf *out, struct skiff_error *err);
/* A regular file; want may be NULL. */
enum skiff_status file_read_checked(const char *path, const struct file_sum *want, struct buf *out,
                                    struct skiff_error *err);
/* Atomic: temporary file beside it, flush, rename. Creates missing parent folders. */
enum skiff_status file_write(const char *path, const void *bytes, size_t n,
                             struct skiff_error *err);
enum skiff_status file_make_parents(const char *path, struct skiff_error *err);
int file_exists(const char *path);
int file_is_dir(const char *path);
/* Entries of a folder that were made or renamed are on the disk afterwards. */
enum skiff_status file_sync_dir(const char *dir, struct skiff_error *err);
enum skiff_status file_sync_parent(const char *path, struct skiff_error *err); /* of its folder */
/* Removes a file or a folder with all that is in it; what cannot be removed stays. */
void file_remove_tree(const char *path);

/* The same in pieces, for files that should not be put together in memory first: open, add ...,
 * then commit (flush, rename into place) or close (nothing is left behind). After commit, failed or
 * not, the writer is closed. */
struct file_writer {
    char *path, *temp; /* owned; temp NULL: nothing is renamed, path is for messages */
    int fd;
    struct hash_stream *hash; /* owned; NULL: nobody asks */
    struct file_sum *sum;     /* where to tell it at commit, borrowed; NULL: nobody asks */
    int64_t bytes;
};

enum skiff_status file_writer_open(struct file_writer *w, const char *path,
                                   struct skiff_error *err);
/* For a file in a folder that is not in its place yet: written at `path` itself, which must not be
 * there; messages name it `place`, where it will be. *sum is set by commit. */
enum skiff_status file_writer_open_new(struct file_writer *w, const char *path, const char *place,
                                       struct file_sum *sum, struct skiff_error *err);
enum skiff_status file_writer_add(struct file_writer *w, const void *bytes, size_t n,
                                  struct skiff_error *err);
enum skiff_status file_writer_commit(struct file_writer *w, struct skiff_error *err);
void file_writer_close(struct file_writer *w);
/* Commits when status is OK, else closes; returns what came of it. */
enum skiff_status file_writer_end(struct file_writer *w, enum skiff_status status,
                                  struct skiff_error *err);

/* Where what will lie at `path` is written: beside it, or in TMPDIR. Caller's. */
char *file_local_place(const char *path);
char *path_join(const char *dir, const char *name); /* caller's */
char *path_parent(const char *path);                /* caller's; "." of "file", "/" of "/file" */
/* The last part of a path, without slashes behind it: *out_n letters of it; borrowed. */
const char *path_last(const char *path, size_t *out_n);

#endif
