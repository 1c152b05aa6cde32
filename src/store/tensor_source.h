/* The bytes under tensor files: a source that knows how many bytes are left, and the tensor
 * part that both streams end with: u32 0 | i32 length of TensorDesc | TensorDesc | raw
 * row-major data TensorDesc (protobuf): field 1 = data_type (varint), field 2 = dims
 * (varint, repeated or packed). */
#ifndef STORE_TENSOR_SOURCE_H
#define STORE_TENSOR_SOURCE_H

#include "base/buf.h"
#include "store/file.h"
#include "tensor/tensor.h"

/* The checksum of the bytes read so far, in the file's order. */
struct source_sum {
    struct hash_stream *hash; /* owned */
    uint64_t upto;            /* bytes before it are in the hash */
    struct file_sum want;
};

struct tensor_source {
    const char *what;   /* for messages */
    const uint8_t *mem; /* NULL: read from fd */
    int fd;
    uint64_t size, pos;
    struct source_sum *sum; /* shared by copies; NULL: nothing to compare with */
};

/* Everything that stands before the data of a tensor part. */
struct tensor_head {
    enum dtype dtype;
    struct shape shape;
    uint64_t data_bytes;
};

static inline uint64_t tensor_source_left(const struct tensor_source *s)
{
    return s->size - s->pos;
}

/* Opens a regular file; close(s->fd) when done. */
enum skiff_status tensor_source_open(struct tensor_source *s, const char *path,
                                     struct skiff_error *err);
/* Starts a checksum of the bytes read, to be compared with `want` when that is known. */
enum skiff_status tensor_source_open_checked(struct tensor_source *s, const char *path,
                                             const struct file_sum *want, struct skiff_error *err);
/* Ends it: compares and closes. `status` is the outcome of reading; when the checksum differs, that
 * error replaces it. */
enum skiff_status tensor_source_close(struct tensor_source *s, enum skiff_status status,
                                      struct skiff_error *err);
/* Reads n bytes to `to`; `part` names them in the message. */
enum skiff_status tensor_source_read(struct tensor_source *s, void *to, uint64_t n,
                                     const char *part, struct skiff_error *err);
enum skiff_status tensor_source_at_end(const struct tensor_source *s, struct skiff_error *err);

/* A u32 that must be 0. */
enum skiff_status tensor_source_version(struct tensor_source *s, const char *part,
                                        struct skiff_error *err);
/* Reads up to the first byte of the data and checks that all of the data are there. */
enum skiff_status tensor_source_head(struct tensor_source *s, struct tensor_head *h,
                                     struct skiff_error *err);
void tensor_head_encode(const struct tensor *t, struct buf *out);

#endif
