/* Requests to S3 and its responses; s3.c builds the file system from them. */
#ifndef FS_S3_H
#define FS_S3_H

#include "fs/fs.h"
#include "fs/http.h"

/* One request. path is s3://bucket/key; the key may be replaced. */
struct s3_call {
    const struct fs *fs;
    const char *path;
    const char *key;         /* not encoded; NULL: the path's */
    const char *query;       /* encoded and sorted; NULL: none */
    int64_t first;           /* of the bytes asked for, or copied; -1: all */
    int64_t count;           /* of them */
    const char *etag;        /* only if it still is this one; NULL or "": any */
    const char *copy_source; /* encoded; NULL: none */
    char payload[65];        /* SHA-256 of the body; "": of none */
};

/* A request of such a call; body_len -1. */
struct http_request s3_request(struct s3_call *c, const char *method);
/* "bucket" and "key" of s3://bucket/key; false: no bucket. *key points into path. */
bool s3_split(const char *path, char *bucket, size_t cap, const char **key);

/* The next <tag>text</tag> behind *at, before `end` (NULL: anywhere); *at moves behind it. */
bool s3_tag(const char **at, const char *end, const char *tag, const char **text, size_t *n);
/* Appends the text with &amp; and so on decoded. */
void s3_text(struct buf *b, const char *text, size_t n);

/* Uploads in parts, for files beyond one. */
#define S3_PART_BYTES ((int64_t)8 << 20)
enum skiff_status s3_put_parts(const struct fs *f, struct http *h, int fd, int64_t size,
                               const char *path, struct skiff_error *err);
/* The same for copies of other objects: c has path, key and copy_source. */
#define S3_COPY_BYTES ((int64_t)256 << 20)
enum skiff_status s3_copy_parts(struct http *h, struct s3_call *c, int64_t size,
                                struct skiff_error *err);
/* One body from a file at an offset: its hash is set, it is sent as `method` PUT. */
enum skiff_status s3_put_piece(struct http *h, struct s3_call *c, int fd, int64_t offset,
                               int64_t size, struct http_answer *a, struct skiff_error *err);

#endif
