/* Whole files in and out. */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include "base/buf.h"
#include "base/error.h"

enum skiff_status file_read(const char *path, struct buf *out, struct skiff_error *err);
/* Atomic: temporary file beside it, flush, rename. Creates missing parent folders. */
enum skiff_status file_write(const char *path, const void *bytes, size_t n,
                             struct skiff_error *err);
enum skiff_status file_make_parents(const char *path, struct skiff_error *err);
int file_exists(const char *path);
int file_is_dir(const char *path);

/* The same in pieces, for files that should not be put together in memory first: open, add ...,
 * then commit (flush, rename into place) or close (nothing is left behind). After commit, failed or
 * not, the writer is closed. */
struct file_writer {
    char *path, *temp; /* owned */
    int fd;
};

enum skiff_status file_writer_open(struct file_writer *w, const char *path,
                                   struct skiff_error *err);
enum skiff_status file_writer_add(struct file_writer *w, const void *bytes, size_t n,
                                  struct skiff_error *err);
enum skiff_status file_writer_commit(struct file_writer *w, struct skiff_error *err);
void file_writer_close(struct file_writer *w);

#endif
