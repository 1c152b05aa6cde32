/* zstd by libzstd; the only file that includes its header. Frames may follow each other. */
#include "data/stream.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/mem.h"

struct stream_zstd {
    struct stream base;
    struct stream *below;
    ZSTD_DStream *z;
    ZSTD_inBuffer in;
    bool inside; /* a frame has begun and not ended */
    char capacity[STREAM_BLOCK];
};

static enum skiff_status zstd_read(struct stream *base, void *buf, size_t n, size_t *got,
                                   struct skiff_error *err)
{
    struct stream_zstd *s = (struct stream_zstd *)base;
    ZSTD_outBuffer out = {buf, n, 0};
    while (out.pos == 0) {
        bool bottom = false;
        if (s->in.pos == s->in.size) {
            size_t filled;
            TRY(stream_read(s->below, s->capacity, sizeof s->capacity, &filled, err));
            s->in = (ZSTD_inBuffer){s->capacity, filled, 0};
            bottom = filled == 0;
            if (bottom && !s->inside)
                break;
        }
        size_t before = s->in.pos;
        size_t r = ZSTD_decompressStream(s->z, &out, &s->in);
        if (ZSTD_isError(r))
            return error_set(err, SKIFF_FORMAT, "%s: not valid zstd data: %s", s->base.name,
                             ZSTD_getErrorName(r));
        s->inside = r != 0;
        if (bottom && out.pos == 0 && s->in.pos == before && s->inside)
            return error_set(err, SKIFF_FORMAT, "%s: the zstd data ends too early", s->base.name);
    }
    *got = out.pos;
    return SKIFF_OK;
}

static void zstd_close(struct stream *base)
{
    struct stream_zstd *s = (struct stream_zstd *)base;
    ZSTD_freeDStream(s->z);
    stream_close(s->below);
    free(s->base.name);
    free(s);
}

static int64_t zstd_report(struct stream *base)
{
    return stream_report(((struct stream_zstd *)base)->below);
}

static const struct stream_class zstd_class = {"zstd",      zstd_read, zstd_close,
                                               zstd_report, true,      NULL};

enum skiff_status stream_zstd_open(struct stream *below, struct stream **out,
                                   struct skiff_error *err)
{
    struct stream_zstd *s = mem_alloc_or_die(sizeof *s);
    s->base = (struct stream){&zstd_class, mem_strdup_or_die(below->name)};
    s->below = below;
    s->z = ZSTD_createDStream();
    if (!s->z) {
        zstd_close(&s->base);
        return error_set(err, SKIFF_NOMEM, "no memory to read zstd data");
    }
    *out = &s->base;
    return SKIFF_OK;
}
