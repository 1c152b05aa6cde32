/* Paddle's tensor files: LoDTensor and SelectedRows streams, alone or one after the other
 * (save_combine). Reading trusts nothing: versions, sizes, dims, lod and the number of bytes left
 * are checked before anything is allocated. Writing goes through a file_writer (file.h), so a file
 * is whole or not there. */
#ifndef STORE_TENSOR_FILE_H
#define STORE_TENSOR_FILE_H

#include "base/buf.h"
#include "store/file.h"
#include "tensor/value.h"

/* Decodes one LoDTensor stream at *pos of bytes[0..n); advances *pos. `what` names the file in
 * messages. */
enum skiff_status tensor_decode(const uint8_t *bytes, size_t n, size_t *pos, const char *what,
                                struct tensor *out, struct skiff_error *err);
void tensor_encode(const struct tensor *t, struct buf *out);

/* Complete files. A file may be larger than half of the memory, so tensors are read straight into
 * their buffers. */
enum skiff_status tensor_file_read(const char *path, struct tensor *out, struct skiff_error *err);
enum skiff_status rows_file_read(const char *path, struct skiff_tensor *out,
                                 struct skiff_error *err);
/* Decides by content which of the two it is (a LoDTensor stream must fit the bytes exactly, else
 * rows). */
enum skiff_status value_file_read(const char *path, struct skiff_tensor *out,
                                  struct skiff_error *err);
/* The same for values that are only displayed or compared, never computed with: the lod must be
 * consistent in itself but need not end at dimension 0 (Paddle itself saves such: the result of
 * accuracy). */
enum skiff_status value_file_read_recorded(const char *path, struct skiff_tensor *out,
                                           struct skiff_error *err);
/* The same, compared with the manifest's checksum while it is read. */
enum skiff_status value_file_read_checked(const char *path, const struct file_sum *want,
                                          struct skiff_tensor *out, struct skiff_error *err);
enum skiff_status value_write(struct file_writer *w, const struct skiff_tensor *v,
                              struct skiff_error *err);
enum skiff_status value_file_write(const char *path, const struct skiff_tensor *v,
                                   struct skiff_error *err);

/* n tensors in one file, in the given order; the file must hold exactly n. */
enum skiff_status combined_file_read(const char *path, int n, struct tensor **out,
                                     struct skiff_error *err);
/* The same with the variables' names, for messages, and with the manifest's checksum. */
enum skiff_status combined_file_read_named(const char *path, const struct file_sum *want, int n,
                                           const char *const *names, struct tensor **out,
                                           struct skiff_error *err);
/* Offsets and sizes of the tensors in such a file; checks that their data are there without reading
 * them. */
struct tensor_location {
    enum dtype dtype;
    struct shape shape;
    bool has_lod;
    uint64_t at, bytes; /* of the data */
};
/* *out is the caller's (free). The file must hold at least one tensor. */
enum skiff_status combined_file_scan(const char *path, struct tensor_location **out, int *n,
                                     struct skiff_error *err);
enum skiff_status combined_write(struct file_writer *w, int n, const struct tensor *const *in,
                                 struct skiff_error *err);
enum skiff_status combined_file_write(const char *path, int n, const struct tensor *const *in,
                                      struct skiff_error *err);
/* load with seek >= 0: part of the only tensor of a file (numel of `shape` elements from element
 * `seek`). */
enum skiff_status tensor_file_read_slice(const char *path, int64_t seek, const struct shape *shape,
                                         struct tensor *out, struct skiff_error *err);

#endif
