/* Stream: bytes from a file, standard input, a child process or a decoder on top of one of them.
 *
 * Decoders (stream_gzip.c, stream_zstd.c, stream_lz4.c, stream_xz.c) are chosen by the first bytes
 * of the content, not by the name. Stop flag: a stream that may wait for somebody else (a terminal,
 * a FIFO, a child) looks at *stop every 50 ms and then fails with STATE, so that closing a reader
 * never hangs. */
#ifndef DATA_STREAM_H
#define DATA_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct stream;

struct stream_class {
    const char *name;
    /* Reads 1 .. n bytes (n > 0); *got 0 is the end. May block. On failure the stream can only be
     * closed. Called by one thread at a time, without locks held. */
    enum skiff_status (*read)(struct stream *s, void *buf, size_t n, size_t *got,
                              struct skiff_error *err);
    /* Frees everything, also in the middle of the data or after a failure; closes the stream below.
     * May wait for a child to die (it is killed), nothing else. */
    void (*close)(struct stream *s);
    /* Bytes of the file, as it lies on disk, that have been read so far; for progress. */
    int64_t (*report)(struct stream *s);
    bool unpacks; /* a few bytes of the file may give very many: the source watches the ratio */
    /* Would read give something, or the end, at once? NULL: it is not known, and taken to be so. */
    bool (*ready)(struct stream *s);
};

struct stream {
    const struct stream_class *class;
    char *name; /* for messages; owned by whoever made the stream, freed in its close */
};

/* One line per decoder. */
struct stream_decoder {
    const char *name;
    size_t magic_len;
    const char *magic;
    /* Takes `below` over, also when it fails. */
    enum skiff_status (*open)(struct stream *below, struct stream **out, struct skiff_error *err);
};

enum skiff_status stream_gzip_open(struct stream *below, struct stream **out,
                                   struct skiff_error *err);
enum skiff_status stream_zstd_open(struct stream *below, struct stream **out,
                                   struct skiff_error *err);
enum skiff_status stream_lz4_open(struct stream *below, struct stream **out,
                                  struct skiff_error *err);
enum skiff_status stream_xz_open(struct stream *below, struct stream **out,
                                 struct skiff_error *err);

/* The bytes as one member of a gzip file, at the end of *out: members may follow each other. */
enum skiff_status stream_gzip_pack(const void *bytes, size_t n, struct buf *out,
                                   struct skiff_error *err);

/* Opens a file ("-": standard input; s3://, hdfs:// and so on: fs/fs.h), decoded if its content is
 * compressed. A folder is an error (files_expand walks them). stop may be NULL. */
enum skiff_status stream_open(const char *path, const atomic_bool *stop, struct stream **out,
                              struct skiff_error *err);
/* A plain regular file from byte `offset` on, without decoding. */
enum skiff_status stream_open_at(const char *path, int64_t offset, const atomic_bool *stop,
                                 struct stream **out, struct skiff_error *err);
/* True for a regular file whose content is not compressed; *out_bytes is its size. */
bool stream_is_plain(const char *path, int64_t *out_bytes);
/* The same for an open descriptor, which is taken over. */
enum skiff_status stream_open_fd(int fd, const char *name, const atomic_bool *stop,
                                 struct stream **out, struct skiff_error *err);
/* Bytes in memory, borrowed until close; decoded too. */
enum skiff_status stream_open_memory(const void *bytes, size_t n, const char *name,
                                     struct stream **out, struct skiff_error *err);

static inline bool stream_ready(struct stream *s)
{
    return !s->class->ready || s->class->ready(s);
}

static inline enum skiff_status stream_read(struct stream *s, void *buf, size_t n, size_t *got,
                                            struct skiff_error *err)
{
    return s->class->read(s, buf, n, got, err);
}
static inline void stream_close(struct stream *s)
{
    if (s)
        s->class->close(s);
}

static inline int64_t stream_report(struct stream *s)
{
    return s ? s->class->report(s) : 0;
}

#define STREAM_WAIT_MS 50
#define STREAM_BLOCK ((size_t)128 << 10) /* what decoders read at once */

#endif
