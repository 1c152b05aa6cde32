/* xz by liblzma; the only file that includes its header. Streams may follow each other. */
#include "data/stream.h"

#include <lzma.h>
#include <stdlib.h>

#include "base/mem.h"

/* Files say how much memory their dictionary needs: xz -9 asks for 65 MB. */
#define XZ_MEMORY ((uint64_t)256 << 20)

struct stream_xz {
    struct stream base;
    struct stream *below;
    lzma_stream z;
    bool bottom; /* all of the file has been read */
    uint8_t capacity[STREAM_BLOCK];
};

static enum skiff_status xz_fail(struct stream_xz *s, lzma_ret r, struct skiff_error *err)
{
    if (r == LZMA_MEM_ERROR || r == LZMA_MEMLIMIT_ERROR)
        return error_set(err, SKIFF_NOMEM, "%s: reading this xz data needs more than %d MB",
                         s->base.name, (int)(XZ_MEMORY >> 20));
    return error_set(err, SKIFF_FORMAT, "%s: %s", s->base.name,
                     r == LZMA_BUF_ERROR ? "the xz data ends too early" : "not valid xz data");
}

static enum skiff_status xz_read(struct stream *base, void *buf, size_t n, size_t *got,
                                 struct skiff_error *err)
{
    struct stream_xz *s = (struct stream_xz *)base;
    s->z.next_out = buf;
    s->z.avail_out = n;
    while (s->z.avail_out == n) {
        if (!s->z.avail_in && !s->bottom) {
            size_t filled;
            TRY(stream_read(s->below, s->capacity, sizeof s->capacity, &filled, err));
            s->z.next_in = s->capacity;
            s->z.avail_in = filled;
            s->bottom = filled == 0;
        }
        lzma_ret r = lzma_code(&s->z, s->bottom ? LZMA_FINISH : LZMA_RUN);
        if (r == LZMA_STREAM_END)
            break;
        if (r != LZMA_OK)
            return xz_fail(s, r, err);
    }
    *got = n - s->z.avail_out;
    return SKIFF_OK;
}

static void xz_close(struct stream *base)
{
    struct stream_xz *s = (struct stream_xz *)base;
    lzma_end(&s->z);
    stream_close(s->below);
    free(s->base.name);
    free(s);
}

static int64_t xz_report(struct stream *base)
{
    return stream_report(((struct stream_xz *)base)->below);
}

static const struct stream_class xz_class = {"xz", xz_read, xz_close, xz_report, true, NULL};

enum skiff_status stream_xz_open(struct stream *below, struct stream **out, struct skiff_error *err)
{
    struct stream_xz *s = mem_alloc_or_die(sizeof *s);
    s->base = (struct stream){&xz_class, mem_strdup_or_die(below->name)};
    s->below = below;
    s->z = (lzma_stream)LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&s->z, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK) {
        xz_close(&s->base);
        return error_set(err, SKIFF_NOMEM, "no memory to read xz data");
    }
    *out = &s->base;
    return SKIFF_OK;
}
