/* gzip by zlib; the only file that includes its header. Members may follow each other, as in
 * `cat a.gz b.gz`; zero bytes behind the last one are padding of tapes and ignored. */
#include "data/stream.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

struct stream_gzip {
    struct stream base;
    struct stream *below;
    z_stream z;
    bool ended;  /* between members */
    bool opened; /* inflateInit2 was called */
    bool bottom; /* the stream below is at its end */
    unsigned char in[STREAM_BLOCK];
};

static enum skiff_status gzip_fill(struct stream_gzip *s, struct skiff_error *err)
{
    size_t got = 0;
    if (s->z.avail_in || s->bottom)
        return SKIFF_OK;
    TRY(stream_read(s->below, s->in, sizeof s->in, &got, err));
    s->z.next_in = s->in;
    s->z.avail_in = (unsigned)got;
    s->bottom = got == 0;
    return SKIFF_OK;
}

/* Between two members: to the first byte of the next one, or to the end. */
static enum skiff_status gzip_next_member(struct stream_gzip *s, bool *more,
                                          struct skiff_error *err)
{
    for (;;) {
        TRY(gzip_fill(s, err));
        if (s->z.avail_in == 0) {
            *more = false;
            return SKIFF_OK;
        }
        if (*s->z.next_in != 0)
            break;
        s->z.next_in++;
        s->z.avail_in--;
    }
    s->ended = false;
    *more = true;
    if (inflateReset(&s->z) != Z_OK)
        return error_set(err, SKIFF_INTERNAL, "%s: zlib refuses to go on", s->base.name);
    return SKIFF_OK;
}

static enum skiff_status gzip_read(struct stream *base, void *buf, size_t n, size_t *got,
                                   struct skiff_error *err)
{
    struct stream_gzip *s = (struct stream_gzip *)base;
    if (n > (1u << 30))
        n = 1u << 30;
    s->z.next_out = buf;
    s->z.avail_out = (unsigned)n;
    while (s->z.avail_out == n) {
        if (s->ended) {
            bool more;
            TRY(gzip_next_member(s, &more, err));
            if (!more)
                break;
        }
        TRY(gzip_fill(s, err));
        if (s->z.avail_in == 0)
            return error_set(err, SKIFF_FORMAT, "%s: the gzip data ends too early", s->base.name);
        int r = inflate(&s->z, Z_NO_FLUSH);
        if (r == Z_STREAM_END)
            s->ended = true;
        else if (r != Z_OK && r != Z_BUF_ERROR)
            return error_set(err, SKIFF_FORMAT, "%s: not valid gzip data: %s", s->base.name,
                             s->z.msg ? s->z.msg : "unknown reason");
    }
    *got = n - s->z.avail_out;
    return SKIFF_OK;
}

static void gzip_close(struct stream *base)
{
    struct stream_gzip *s = (struct stream_gzip *)base;
    if (s->opened)
        inflateEnd(&s->z);
    stream_close(s->below);
    free(s->base.name);
    free(s);
}

static int64_t gzip_report(struct stream *base)
{
    return stream_report(((struct stream_gzip *)base)->below);
}

static const struct stream_class gzip_class = {"gzip",      gzip_read, gzip_close,
                                               gzip_report, true,      NULL};

enum skiff_status stream_gzip_open(struct stream *below, struct stream **out,
                                   struct skiff_error *err)
{
    struct stream_gzip *s = mem_alloc_or_die(sizeof *s);
    s->base = (struct stream){&gzip_class, mem_strdup_or_die(below->name)};
    s->below = below;
    s->opened = inflateInit2(&s->z, 15 + 16) == Z_OK;
    if (!s->opened) {
        gzip_close(&s->base);
        return error_set(err, SKIFF_NOMEM, "no memory to read gzip data");
    }
    *out = &s->base;
    return SKIFF_OK;
}

/* ---- writing ---- */

#define PACK_LEVEL 3 /* three times as fast as zlib's 6, and a tenth larger */

enum skiff_status stream_gzip_pack(const void *bytes, size_t n, struct buf *out,
                                   struct skiff_error *err)
{
    z_stream z = {0};
    if (n > UINT32_MAX / 2)
        return error_set(err, SKIFF_RANGE, "%zu bytes for one member of a gzip file", n);
    if (deflateInit2(&z, PACK_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return error_set(err, SKIFF_NOMEM, "no memory to write gzip data");
    buf_reserve(out, deflateBound(&z, n) + 32);
    z.next_in = (unsigned char *)bytes;
    z.avail_in = (unsigned)n;
    z.next_out = (unsigned char *)out->data + out->len;
    z.avail_out = (unsigned)(out->cap - out->len);
    int r = deflate(&z, Z_FINISH);
    out->len += z.total_out;
    deflateEnd(&z);
    return r == Z_STREAM_END ? SKIFF_OK : error_set(err, SKIFF_INTERNAL, "zlib gives up: %d", r);
}
