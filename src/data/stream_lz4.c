/* lz4 frames by liblz4; the only file that includes its header. Frames may follow each other. */
#include "data/stream.h"

#include <lz4frame.h>
#include <stdlib.h>

#include "base/mem.h"

struct stream_lz4 {
    struct stream base;
    struct stream *below;
    LZ4F_dctx *z;
    size_t at, filled;
    bool inside; /* a frame has begun and not ended */
    char capacity[STREAM_BLOCK];
};

static enum skiff_status lz4_read(struct stream *base, void *buf, size_t n, size_t *got,
                                  struct skiff_error *err)
{
    struct stream_lz4 *s = (struct stream_lz4 *)base;
    size_t made = 0;
    while (made == 0) {
        bool bottom = false;
        if (s->at == s->filled) {
            TRY(stream_read(s->below, s->capacity, sizeof s->capacity, &s->filled, err));
            s->at = 0;
            bottom = s->filled == 0;
            if (bottom && !s->inside)
                break;
        }
        size_t used = s->filled - s->at;
        made = n;
        size_t r = LZ4F_decompress(s->z, buf, &made, s->capacity + s->at, &used, NULL);
        if (LZ4F_isError(r))
            return error_set(err, SKIFF_FORMAT, "%s: not valid lz4 data: %s", s->base.name,
                             LZ4F_getErrorName(r));
        s->at += used;
        s->inside = r != 0;
        if (bottom && made == 0 && s->inside)
            return error_set(err, SKIFF_FORMAT, "%s: the lz4 data ends too early", s->base.name);
    }
    *got = made;
    return SKIFF_OK;
}

static void lz4_close(struct stream *base)
{
    struct stream_lz4 *s = (struct stream_lz4 *)base;
    LZ4F_freeDecompressionContext(s->z);
    stream_close(s->below);
    free(s->base.name);
    free(s);
}

static int64_t lz4_report(struct stream *base)
{
    return stream_report(((struct stream_lz4 *)base)->below);
}

static const struct stream_class lz4_class = {"lz4", lz4_read, lz4_close, lz4_report, true, NULL};

enum skiff_status stream_lz4_open(struct stream *below, struct stream **out,
                                  struct skiff_error *err)
{
    struct stream_lz4 *s = mem_alloc_or_die(sizeof *s);
    s->base = (struct stream){&lz4_class, mem_strdup_or_die(below->name)};
    s->below = below;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&s->z, LZ4F_VERSION))) {
        lz4_close(&s->base);
        return error_set(err, SKIFF_NOMEM, "no memory to read lz4 data");
    }
    *out = &s->base;
    return SKIFF_OK;
}
