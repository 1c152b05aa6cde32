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

#endif
