#include "fs/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static enum skiff_status block_read(struct fs_reader *base, void *buf, size_t n, size_t *got,
                                    struct skiff_error *err)
{
    struct block_reader *r = (struct block_reader *)base;
    if (r->at == r->len) {
        int64_t left = r->base.size - r->offset;
        size_t next = left < (int64_t)BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        r->at = r->len = 0;
        if (next == 0) {
            *got = 0;
            return SKIFF_OK;
        }
        TRY(r->fetch(r, next, err));
        r->len = next;
        r->offset += (int64_t)next;
    }
    *got = r->len - r->at < n ? r->len - r->at : n;
    memcpy(buf, r->block + r->at, *got);
    r->at += *got;
    return SKIFF_OK;
}

static void block_close(struct fs_reader *base)
{
    struct block_reader *r = (struct block_reader *)base;
    http_close(r->http);
    mem_free(r->block);
    free((void *)r->fs);
    free(r->path);
    free(r);
}

static const struct fs_reader_class block_class = {block_read, block_close};

enum skiff_status block_reader_open(const struct fs *f, const char *path, struct http *http,
                                    int64_t size, const atomic_bool *stop,
                                    struct block_reader **out, struct skiff_error *err)
{
    struct block_reader *r = mem_alloc_or_die(sizeof *r);
    struct fs *copy = mem_alloc_or_die(sizeof *copy);
    *copy = *f;
    r->base = (struct fs_reader){&block_class, size};
    r->fs = copy;
    r->path = mem_strdup_or_die(path);
    r->http = http;
    r->stop = stop;
    size_t bytes = size < (int64_t)BLOCK_BYTES ? (size_t)size + 1 : BLOCK_BYTES;
    enum skiff_status status = mem_alloc(bytes, path, (void **)&r->block, err);
    if (status < 0)
        block_close(&r->base);
    else
        *out = r;
    return status;
}

enum skiff_status block_run(struct block_reader *r, struct http_request *q, size_t n,
                            struct skiff_error *err)
{
    struct http_answer a = {0};
    enum skiff_status status = SKIFF_OK;
    q->into = r->block;
    q->into_cap = n;
    q->stop = r->stop;
    while (q->got < n) { /* an answer that ends early, and does not say so */
        size_t before = q->got;
        TRY_OUT(http_expect(r->http, q, &a, err));
        if (q->want && a.status != q->want)
            TRY_OUT(error_set(err, SKIFF_UNSUPPORTED,
                              "%s: %s answers with status %d to a question for a part of the file, "
                              "%d was expected: it cannot give parts; download the file, and read "
                              "it here",
                              r->path, a.host, a.status, q->want));
        if (q->got == before)
            TRY_OUT(
                error_set(err, SKIFF_IO,
                          "%s: %s gives no more than %lld of %lld bytes; was the file cut while "
                          "it was read?",
                          r->path, a.host, (long long)r->offset + (long long)q->got,
                          (long long)r->base.size));
    }
out:
    http_answer_deinit(&a);
    return status;
}
