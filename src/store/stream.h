/* The bytes under tensor files: a source that knows how many bytes are left, and the tensor part
 * that both streams end with: u32 0 | i32 length of TensorDesc | TensorDesc | raw row-major data
 * TensorDesc (protobuf): field 1 = data_type (varint), field 2 = dims (varint, repeated or packed).
 */
#ifndef STORE_STREAM_H
#define STORE_STREAM_H

#include "base/buf.h"
#include "tensor/tensor.h"

struct source {
    const char *what;   /* for messages */
    const uint8_t *mem; /* NULL: read from fd */
    int fd;
    uint64_t size, pos;
};

/* Everything that stands before the data of a tensor part. */
struct head {
    enum dtype dtype;
    struct shape shape;
    uint64_t data_bytes;
};

static inline uint64_t source_left(const struct source *s)
{
    return s->size - s->pos;
}

/* Opens a regular file; close(s->fd) when done. */
enum skiff_status source_open(struct source *s, const char *path, struct skiff_error *err);
/* n bytes to `to`; `part` names them for the message. */
enum skiff_status source_read(struct source *s, void *to, uint64_t n, const char *part,
                              struct skiff_error *err);
enum skiff_status source_at_end(const struct source *s, struct skiff_error *err);

/* A u32 that must be 0. */
enum skiff_status version_read(struct source *s, const char *part, struct skiff_error *err);
/* Reads up to the first byte of the data and checks that all of the data are there. */
enum skiff_status head_read(struct source *s, struct head *h, struct skiff_error *err);
void head_encode(const struct tensor *t, struct buf *out);

#endif
