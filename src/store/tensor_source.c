/* Bytes under tensor files, and the head that both streams end with (tensor_source.h).
 *
 * TensorDesc is read by hand: it has two fields, sits between raw bytes in files of gigabytes, and
 * protobuf-c belongs to the program module. Every read is checked against what is left, so that a
 * count from the file can never ask for more than is there. */
#include "store/tensor_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian memory images");

#define GAP 4096
#define DESC_MAX 256 /* a TensorDesc of TENSOR_MAX_DIMS dims is far smaller */

/* Adds the bytes from upto to `end`, which no read has requested, to the checksum. */
static enum skiff_status sum_fill(const struct tensor_source *s, uint64_t end,
                                  struct skiff_error *err)
{
    char piece[4096];
    while (s->sum->upto < end) {
        uint64_t n = end - s->sum->upto < sizeof piece ? end - s->sum->upto : sizeof piece;
        ssize_t got = pread(s->fd, piece, n, (off_t)s->sum->upto);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_sys(err, "cannot read %s", s->what);
        if (got == 0)
            return error_set(err, SKIFF_FORMAT, "%s: became shorter while it was read", s->what);
        hash_stream_add(s->sum->hash, piece, (size_t)got);
        s->sum->upto += (uint64_t)got;
    }
    return SKIFF_OK;
}

/* n bytes at s->pos were read. The checksum needs them in file order, but headers are read twice,
 * and some before the bytes in front of them. A small gap is read and added; behind a large one
 * (row ids) the bytes wait until the gap is read. */
static enum skiff_status sum_take(const struct tensor_source *s, const void *bytes, uint64_t n,
                                  struct skiff_error *err)
{
    struct source_sum *sum = s->sum;
    if (s->pos > sum->upto && s->pos - sum->upto <= GAP)
        TRY(sum_fill(s, s->pos, err));
    if (s->pos > sum->upto || s->pos + n <= sum->upto)
        return SKIFF_OK;
    uint64_t known = sum->upto - s->pos;
    hash_stream_add(sum->hash, (const char *)bytes + known, n - known);
    sum->upto = s->pos + n;
    return SKIFF_OK;
}

enum skiff_status tensor_source_read(struct tensor_source *s, void *to, uint64_t n,
                                     const char *part, struct skiff_error *err)
{
    if (n > tensor_source_left(s))
        return error_set(err, SKIFF_FORMAT,
                         "%s: ends inside %s: %" PRIu64 " bytes expected at offset %" PRIu64
                         ", %" PRIu64 " found",
                         s->what, part, n, s->pos, tensor_source_left(s));
    if (s->mem && n) {
        memcpy(to, s->mem + s->pos, n);
    } else {
        for (uint64_t done = 0; done < n;) {
            ssize_t got = pread(s->fd, (char *)to + done, n - done, (off_t)(s->pos + done));
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                return error_set_sys(err, "cannot read %s", s->what);
            if (got == 0)
                return error_set(err, SKIFF_FORMAT, "%s: became shorter while it was read",
                                 s->what);
            done += (uint64_t)got;
        }
    }
    if (s->sum)
        TRY(sum_take(s, to, n, err));
    s->pos += n;
    return SKIFF_OK;
}

enum skiff_status tensor_source_open(struct tensor_source *s, const char *path,
                                     struct skiff_error *err)
{
    int fd;
    int64_t size;
    TRY(file_open_regular(path, &fd, &size, err));
    *s = (struct tensor_source){.what = path, .fd = fd, .size = (uint64_t)size};
    return SKIFF_OK;
}

enum skiff_status tensor_source_open_checked(struct tensor_source *s, const char *path,
                                             const struct file_sum *want, struct skiff_error *err)
{
    TRY(tensor_source_open(s, path, err));
    if (!file_sum_known(want))
        return SKIFF_OK;
    struct file_sum found = {(int64_t)s->size, want->xxh3};
    enum skiff_status status = file_sum_compare(path, want, &found, err);
    if (status < 0) {
        close(s->fd);
        return status;
    }
    s->sum = mem_alloc_or_die(sizeof *s->sum);
    *s->sum = (struct source_sum){.hash = hash_stream_create(), .want = *want};
    return SKIFF_OK;
}

enum skiff_status tensor_source_close(struct tensor_source *s, enum skiff_status status,
                                      struct skiff_error *err)
{
    if (s->sum) {
        struct skiff_error why = {0};
        enum skiff_status sum = sum_fill(s, s->size, &why);
        struct file_sum found = {(int64_t)s->size, hash_stream_value(s->sum->hash)};
        if (sum == SKIFF_OK)
            sum = file_sum_compare(s->what, &s->sum->want, &found, &why);
        if (sum < 0 && err)
            *err = why;
        if (sum < 0)
            status = sum;
        hash_stream_destroy(s->sum->hash);
        free(s->sum);
        s->sum = NULL;
    }
    close(s->fd);
    return status;
}

enum skiff_status tensor_source_at_end(const struct tensor_source *s, struct skiff_error *err)
{
    if (tensor_source_left(s))
        return error_set(err, SKIFF_FORMAT,
                         "%s: %" PRIu64 " bytes expected, %" PRIu64 " found (%" PRIu64
                         " extra bytes after the last tensor)",
                         s->what, s->pos, s->size, tensor_source_left(s));
    return SKIFF_OK;
}

/* ------------------------------------------------------------------ TensorDesc */

struct desc_reader {
    const uint8_t *p, *end;
};

static bool varint_read(struct desc_reader *r, uint64_t *out)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        uint8_t byte = *r->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool desc_add_dim(struct desc_reader *r, struct shape *shape, int *ndim)
{
    uint64_t v;
    if (!varint_read(r, &v))
        return false;
    if (*ndim < TENSOR_MAX_DIMS)
        shape->dims[*ndim] = (int64_t)v;
    ++*ndim;
    return true;
}

/* Skips a field that this version does not know. */
static bool desc_skip(struct desc_reader *r, unsigned wire)
{
    uint64_t n = 0;
    if (wire == 0)
        return varint_read(r, &n);
    if (wire == 1)
        n = 8;
    else if (wire == 5)
        n = 4;
    else if (wire != 2 || !varint_read(r, &n))
        return false;
    if (n > (uint64_t)(r->end - r->p))
        return false;
    r->p += n;
    return true;
}

static bool desc_parse(const uint8_t *bytes, size_t n, uint64_t *out_type, struct shape *shape,
                       int *ndim)
{
    struct desc_reader r = {bytes, bytes + n};
    *out_type = UINT64_MAX;
    *ndim = 0;
    while (r.p < r.end) {
        uint64_t tag, len;
        if (!varint_read(&r, &tag))
            return false;
        if (tag == (1 << 3 | 0)) {
            if (!varint_read(&r, out_type))
                return false;
        } else if (tag == (2 << 3 | 0)) {
            if (!desc_add_dim(&r, shape, ndim))
                return false;
        } else if (tag == (2 << 3 | 2)) {
            if (!varint_read(&r, &len) || len > (uint64_t)(r.end - r.p))
                return false;
            struct desc_reader packed = {r.p, r.p + len};
            while (packed.p < packed.end)
                if (!desc_add_dim(&packed, shape, ndim))
                    return false;
            r.p += len;
        } else if (!desc_skip(&r, tag & 7)) {
            return false;
        }
    }
    return true;
}

static enum skiff_status desc_check(const char *what, uint64_t type, int ndim,
                                    struct tensor_head *h, struct skiff_error *err)
{
    if (type == UINT64_MAX)
        return error_set(err, SKIFF_FORMAT, "%s: tensor description has no data type", what);
    size_t size = type > INT32_MAX ? 0 : dtype_size((enum dtype)type);
    if (!size)
        return error_set(err, SKIFF_FORMAT,
                         "%s: unknown data type %" PRIu64 " in the tensor description", what, type);
    if (ndim > TENSOR_MAX_DIMS)
        return error_set(err, SKIFF_FORMAT, "%s: %d dims, at most %d are possible", what, ndim,
                         TENSOR_MAX_DIMS);
    h->dtype = (enum dtype)type;
    h->shape.ndim = ndim;
    uint64_t bytes = size;
    bool has_zero = false;
    for (int i = 0; i < ndim; i++) {
        if (h->shape.dims[i] < 0)
            return error_set(err, SKIFF_FORMAT, "%s: dim %d is %" PRId64 ", expected zero or more",
                             what, i, h->shape.dims[i]);
        has_zero |= h->shape.dims[i] == 0;
    }
    for (int i = 0; i < ndim && !has_zero; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)h->shape.dims[i], &bytes) || bytes > INT64_MAX)
            return error_set(err, SKIFF_FORMAT, "%s: dims are too large (dim %d is %" PRId64 ")",
                             what, i, h->shape.dims[i]);
    h->data_bytes = has_zero ? 0 : bytes;
    return SKIFF_OK;
}

static void varint_write(struct buf *out, uint64_t v)
{
    while (v >= 0x80) {
        buf_char(out, (char)(v | 0x80));
        v >>= 7;
    }
    buf_char(out, (char)v);
}

void tensor_head_encode(const struct tensor *t, struct buf *out)
{
    struct buf desc = BUF_INIT;
    buf_char(&desc, 1 << 3);
    varint_write(&desc, t->dtype);
    for (int i = 0; i < t->shape.ndim; i++) {
        buf_char(&desc, 2 << 3);
        varint_write(&desc, (uint64_t)t->shape.dims[i]);
    }
    buf_u32(out, 0);
    buf_u32(out, (uint32_t)desc.len);
    buf_add(out, desc.data, desc.len);
    buf_deinit(&desc);
}

enum skiff_status tensor_source_version(struct tensor_source *s, const char *part,
                                        struct skiff_error *err)
{
    uint32_t version;
    TRY(tensor_source_read(s, &version, 4, part, err));
    if (version)
        return error_set(err, SKIFF_FORMAT,
                         "%s: %s is %" PRIu32 " at offset %" PRIu64 ", expected 0 (not a tensor "
                         "file of Paddle?)",
                         s->what, part, version, s->pos - 4);
    return SKIFF_OK;
}

enum skiff_status tensor_source_head(struct tensor_source *s, struct tensor_head *h,
                                     struct skiff_error *err)
{
    TRY(tensor_source_version(s, "the tensor version", err));
    int32_t len;
    TRY(tensor_source_read(s, &len, 4, "the length of the tensor description", err));
    if (len < 0 || len > DESC_MAX)
        return error_set(err, SKIFF_FORMAT,
                         "%s: tensor description of %" PRId32 " bytes, expected 0 to %d", s->what,
                         len, DESC_MAX);
    uint8_t bytes[DESC_MAX];
    TRY(tensor_source_read(s, bytes, (uint64_t)len, "the tensor description", err));
    uint64_t type;
    int ndim;
    *h = (struct tensor_head){0};
    if (!desc_parse(bytes, (size_t)len, &type, &h->shape, &ndim))
        return error_set(err, SKIFF_FORMAT, "%s: malformed tensor description", s->what);
    TRY(desc_check(s->what, type, ndim, h, err));
    if (h->data_bytes > tensor_source_left(s)) {
        char text[160];
        return error_set(err, SKIFF_FORMAT,
                         "%s: %s %s needs %" PRIu64 " bytes of data, %" PRIu64 " found", s->what,
                         dtype_name(h->dtype), shape_text(&h->shape, text), h->data_bytes,
                         tensor_source_left(s));
    }
    return SKIFF_OK;
}
