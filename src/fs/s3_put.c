/* Uploading to S3: an object in one request, or in parts that become one object when the last is
 * there. Copies of large objects use parts, too, without transferring the bytes.
 *
 * 10000 parts are the most, so later parts are larger. A failed upload is aborted, because its
 * parts would be stored and billed; S3 may also answer 200 and report the failure in the body,
 * which is examined. Pieces are read from a file descriptor at an offset, so a retry sends the same
 * bytes. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "fs/s3.h"
#include "fs/sigv4.h"

static enum skiff_status read_piece(int fd, int64_t offset, char *to, size_t n, const char *path,
                                    struct skiff_error *err)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = pread(fd, to + at, n - at, offset + (int64_t)at);
        if (got < 0)
            return error_set_sys(err, "%s: cannot read what is to be uploaded", path);
        if (got == 0)
            return error_set(err, SKIFF_IO, "%s: the file was cut while it was uploaded", path);
        at += (size_t)got;
    }
    return SKIFF_OK;
}

enum skiff_status s3_put_piece(struct http *h, struct s3_call *c, int fd, int64_t offset,
                               int64_t size, struct http_answer *a, struct skiff_error *err)
{
    char *piece;
    TRY(mem_alloc((size_t)size + 1, c->path, (void **)&piece, err));
    enum skiff_status status = read_piece(fd, offset, piece, (size_t)size, c->path, err);
    if (status == SKIFF_OK) {
        struct http_request r = s3_request(c, "PUT");
        sigv4_hash(piece, (size_t)size, c->payload);
        r.body = piece;
        r.body_len = size;
        status = http_expect(h, &r, a, err);
    }
    mem_free(piece);
    return status;
}

/* The id that S3 gives the upload, encoded, into out. */
static enum skiff_status begin(struct s3_call *c, struct http *h, struct buf *out,
                               struct skiff_error *err)
{
    struct http_request r = s3_request(c, "POST");
    struct http_answer a = {0};
    const char *at, *id;
    size_t n;
    c->query = "uploads=";
    r.body = "";
    r.body_len = 0;
    enum skiff_status status = http_expect(h, &r, &a, err);
    if (status == SKIFF_OK) {
        at = a.body.len ? a.body.data : "";
        if (s3_tag(&at, NULL, "UploadId", &id, &n)) {
            struct buf plain = BUF_INIT;
            s3_text(&plain, id, n);
            http_encode(out, plain.data, false);
            buf_deinit(&plain);
        } else
            status = error_set(err, SKIFF_FORMAT,
                               "%s: %s begins an upload in parts without giving its UploadId",
                               c->path, a.host);
    }
    http_answer_deinit(&a);
    return status;
}

/* Makes one object of the parts. S3 may say 200, and in the body that it failed. */
static enum skiff_status finish(struct s3_call *c, struct http *h, struct buf *parts,
                                struct skiff_error *err)
{
    struct http_answer a = {0};
    struct http_request r = s3_request(c, "POST");
    buf_str(parts, "</CompleteMultipartUpload>");
    sigv4_hash(parts->data, parts->len, c->payload);
    r.body = parts->data;
    r.body_len = (int64_t)parts->len;
    enum skiff_status status = http_expect(h, &r, &a, err);
    if (status == SKIFF_OK && a.body.len && strstr(a.body.data, "<Error>")) {
        a.status = 500;
        status = http_refused(&r, &a, err);
    }
    http_answer_deinit(&a);
    return status;
}

/* Aborts the upload: parts of an unfinished one are stored and billed. */
static void give_up(struct s3_call *c, struct http *h)
{
    struct http_answer a = {0};
    struct http_request r = s3_request(c, "DELETE");
    c->payload[0] = 0;
    (void)http_run(h, &r, &a, NULL);
    http_answer_deinit(&a);
}

/* A part of another object; its tag, as XML has it, into a->etag. */
static enum skiff_status copy_piece(struct http *h, struct s3_call *c, int64_t offset, int64_t size,
                                    struct http_answer *a, struct skiff_error *err)
{
    struct http_request r = s3_request(c, "PUT");
    const char *at, *etag;
    size_t n;
    c->first = offset;
    c->count = size;
    r.body = "";
    r.body_len = 0;
    TRY(http_expect(h, &r, a, err));
    at = a->body.len ? a->body.data : "";
    if (!s3_tag(&at, NULL, "ETag", &etag, &n) || n >= sizeof a->etag)
        return error_set(err, SKIFF_FORMAT, "%s: %s copies a part without giving its ETag", c->path,
                         a->host);
    memcpy(a->etag, etag, n);
    a->etag[n] = 0;
    return SKIFF_OK;
}

/* 10000 parts are the most: later ones are larger. */
static enum skiff_status send_parts(struct http *h, struct s3_call *c, int fd, int64_t size,
                                    int64_t part_bytes, struct skiff_error *err)
{
    struct buf id = BUF_INIT, query = BUF_INIT, parts = BUF_INIT;
    struct http_answer a = {0};
    struct s3_call whole = {.fs = c->fs, .path = c->path, .key = c->key, .first = -1};
    enum skiff_status status = begin(&whole, h, &id, err);
    buf_str(&parts, "<CompleteMultipartUpload>");
    for (int64_t at = 0, n, i = 1; status == SKIFF_OK && at < size; at += n, i++) {
        n = part_bytes * (1 + i / 1000);
        n = n < size - at ? n : size - at;
        buf_reset(&query);
        buf_printf(&query, "partNumber=%lld&uploadId=%s", (long long)i, id.data);
        c->query = query.data;
        status = c->copy_source ? copy_piece(h, c, at, n, &a, err)
                                : s3_put_piece(h, c, fd, at, n, &a, err);
        buf_printf(&parts, "<Part><PartNumber>%lld</PartNumber><ETag>%s</ETag></Part>",
                   (long long)i, a.etag);
    }
    buf_reset(&query);
    buf_printf(&query, "uploadId=%s", id.len ? id.data : "");
    whole.query = query.data;
    if (status == SKIFF_OK)
        status = finish(&whole, h, &parts, err);
    if (status < 0 && id.len)
        give_up(&whole, h);
    http_answer_deinit(&a);
    buf_deinit(&id);
    buf_deinit(&query);
    buf_deinit(&parts);
    return status;
}

enum skiff_status s3_put_parts(const struct fs *f, struct http *h, int fd, int64_t size,
                               const char *path, struct skiff_error *err)
{
    struct s3_call c = {.fs = f, .path = path, .first = -1};
    return send_parts(h, &c, fd, size, S3_PART_BYTES, err); /* at most 440 GB */
}

enum skiff_status s3_copy_parts(struct http *h, struct s3_call *c, int64_t size,
                                struct skiff_error *err)
{
    return send_parts(h, c, -1, size, S3_COPY_BYTES, err);
}
