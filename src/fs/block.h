/* A reader over HTTP: block by block into one buffer, which is all the memory that it needs. */
#ifndef FS_BLOCK_H
#define FS_BLOCK_H

#include "fs/fs.h"
#include "fs/http.h"

#define BLOCK_BYTES ((size_t)4 << 20)

struct block_reader {
    struct fs_reader base;
    const struct fs *fs; /* owned copy */
    char *path;
    struct http *http;
    const atomic_bool *stop;
    char etag[256]; /* of the file when it was opened; empty: not known */
    char *block;    /* BLOCK_BYTES at most */
    size_t at, len;
    int64_t offset; /* offset of the byte behind the block */
    /* Fills into[0..n) from byte `offset` on; fewer are an error of the server. */
    enum skiff_status (*fetch)(struct block_reader *r, size_t n, struct skiff_error *err);
};

/* Takes ownership of http, also on failure. size: of the file. */
enum skiff_status block_reader_open(const struct fs *f, const char *path, struct http *http,
                                    int64_t size, const atomic_bool *stop,
                                    struct block_reader **out, struct skiff_error *err);
/* Runs a request for the next n bytes of the file. */
enum skiff_status block_run(struct block_reader *r, struct http_request *q, size_t n,
                            struct skiff_error *err);

#endif
