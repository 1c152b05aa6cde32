/* Writes objects as a pickle, piece by piece, for paddle.save: into a file (atomically) or into
 * memory. Every object is written in full, without memo references: a value that a dict holds twice
 * is written twice. */
#include <stdlib.h>
#include <string.h>

#include <skiff/io.h>

#include "base/mem.h"
#include "store/file.h"
#include "store/model_dir.h"
#include "store/pickle_parts.h"
#include "tensor/value.h"

struct skiff_pickler {
    struct file_writer file;
    struct buf b; /* bytes not yet in the file; in memory: everything */
    bool in_file;
    int protocol;
};

enum { FLUSH_AT = 1 << 16 };

static enum skiff_status flush(struct skiff_pickler *p, size_t least, struct skiff_error *err)
{
    if (!p->in_file || p->b.len < least)
        return SKIFF_OK;
    enum skiff_status status = file_writer_add(&p->file, p->b.data, p->b.len, err);
    buf_reset(&p->b);
    return status;
}

enum skiff_status skiff_pickler_open(const char *path, int protocol, struct skiff_pickler **out,
                                     struct skiff_error *err)
{
    if (protocol < 2 || protocol > 4)
        return error_set(err, SKIFF_INVALID, "Expected 1<'protocol'<5, but received protocol=%d",
                         protocol);
    struct skiff_pickler *p = mem_alloc_or_die(sizeof(*p));
    p->in_file = path != NULL;
    p->protocol = protocol;
    enum skiff_status status = path ? model_file_close(path, err) : SKIFF_OK;
    if (status == SKIFF_OK && path)
        status = file_writer_open(&p->file, path, err);
    if (status < 0) {
        free(p);
        return status;
    }
    buf_char(&p->b, '\x80');
    buf_char(&p->b, (char)protocol);
    *out = p;
    return SKIFF_OK;
}

static void pickler_free(struct skiff_pickler *p)
{
    buf_deinit(&p->b);
    free(p);
}

void skiff_pickler_close(struct skiff_pickler *p)
{
    if (!p)
        return;
    if (p->in_file)
        file_writer_close(&p->file);
    pickler_free(p);
}

enum skiff_status skiff_pickler_end(struct skiff_pickler *p, void **out_bytes, size_t *out_n,
                                    struct skiff_error *err)
{
    buf_char(&p->b, '.');
    enum skiff_status status = flush(p, 0, err);
    if (p->in_file) {
        status = file_writer_end(&p->file, status, err);
    } else {
        *out_n = p->b.len;
        *out_bytes = mem_alloc_or_die(p->b.len);
        memcpy(*out_bytes, p->b.data, p->b.len);
    }
    pickler_free(p);
    return status;
}

void skiff_pickler_none(struct skiff_pickler *p)
{
    buf_char(&p->b, 'N');
}

void skiff_pickler_bool(struct skiff_pickler *p, bool v)
{
    buf_char(&p->b, v ? '\x88' : '\x89');
}

void skiff_pickler_int(struct skiff_pickler *p, int64_t v)
{
    pickle_integer(&p->b, v);
}

void skiff_pickler_float(struct skiff_pickler *p, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, 8);
    buf_char(&p->b, 'G');
    for (int i = 8; i-- > 0;)
        buf_char(&p->b, (char)(bits >> (8 * i)));
}

enum skiff_status skiff_pickler_text(struct skiff_pickler *p, const char *text, size_t n,
                                     struct skiff_error *err)
{
    if (n > PICKLE_TEXT_MAX)
        return error_set(err, SKIFF_UNSUPPORTED, "a text of %zu bytes is too long for a pickle", n);
    buf_char(&p->b, 'X');
    buf_u32(&p->b, (uint32_t)n);
    buf_add(&p->b, text, n);
    return flush(p, FLUSH_AT, err);
}

/* Protocol 2 has no bytes type: they are written as _codecs.encode(text, 'latin1'). */
static enum skiff_status bytes_as_text(struct skiff_pickler *p, const uint8_t *bytes, size_t n,
                                       struct skiff_error *err)
{
    size_t len = pickle_latin1_length(bytes, n);
    if (len > PICKLE_TEXT_MAX)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%zu bytes are too many for pickles of protocol 2; use protocol 4", n);
    buf_str(&p->b, "c_codecs\nencode\nX");
    buf_u32(&p->b, (uint32_t)len);
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] < 0x80) {
            buf_char(&p->b, (char)bytes[i]);
        } else {
            buf_char(&p->b, (char)(0xc0 | bytes[i] >> 6));
            buf_char(&p->b, (char)(0x80 | (bytes[i] & 0x3f)));
        }
        if (i % FLUSH_AT == 0)
            TRY(flush(p, FLUSH_AT, err));
    }
    buf_char(&p->b, 'X');
    buf_u32(&p->b, 6);
    buf_str(&p->b, "latin1\x86R");
    return flush(p, FLUSH_AT, err);
}

enum skiff_status skiff_pickler_bytes(struct skiff_pickler *p, const void *bytes, size_t n,
                                      struct skiff_error *err)
{
    if (p->protocol == 2)
        return bytes_as_text(p, bytes, n, err);
    if (n > PICKLE_TEXT_MAX && p->protocol < 4)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%zu bytes are too many for pickles of protocol %d; use protocol 4", n,
                         p->protocol);
    if (n > PICKLE_TEXT_MAX) {
        buf_char(&p->b, '\x8e'); /* BINBYTES8 */
        buf_u64(&p->b, n);
    } else {
        buf_char(&p->b, 'B');
        buf_u32(&p->b, (uint32_t)n);
    }
    if (!p->in_file || n < FLUSH_AT) {
        buf_add(&p->b, bytes, n);
        return flush(p, FLUSH_AT, err);
    }
    TRY(flush(p, 0, err));
    return file_writer_add(&p->file, bytes, n, err);
}

void skiff_pickler_begin(struct skiff_pickler *p, enum skiff_object_kind kind)
{
    if (kind != SKIFF_OBJECT_TUPLE)
        buf_char(&p->b, kind == SKIFF_OBJECT_DICT ? '}' : ']');
    buf_char(&p->b, '(');
}

void skiff_pickler_finish(struct skiff_pickler *p, enum skiff_object_kind kind)
{
    buf_char(&p->b, kind == SKIFF_OBJECT_DICT ? 'u' : kind == SKIFF_OBJECT_LIST ? 'e' : 't');
}

/* As numpy 1 names its functions: numpy 2 knows these names, too. */
enum skiff_status skiff_pickler_array(struct skiff_pickler *p, const struct skiff_tensor *value,
                                      struct skiff_error *err)
{
    const struct tensor *t = &value->tensor;
    bool one_byte;
    const char *code = value->kind == VALUE_TENSOR ? pickle_dtype_code(t->dtype, &one_byte) : NULL;
    if (!code)
        return error_set(err, SKIFF_DTYPE, "a pickle has no arrays of %s",
                         value->kind == VALUE_TENSOR ? dtype_name(t->dtype) : "this kind");
    buf_str(&p->b, "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK");
    buf_add(&p->b, "\0\x85", 2);
    TRY(skiff_pickler_bytes(p, "b", 1, err));
    buf_str(&p->b, "\x87R(K\x01(");
    for (int i = 0; i < t->shape.ndim; i++)
        pickle_integer(&p->b, t->shape.dims[i]);
    buf_str(&p->b, "tcnumpy\ndtype\n");
    TRY(skiff_pickler_text(p, code, strlen(code), err));
    buf_str(&p->b, "\x89\x88\x87R(K\x03");
    TRY(skiff_pickler_text(p, one_byte ? "|" : "<", 1, err));
    buf_str(&p->b, "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK");
    buf_add(&p->b, "\0tb\x89", 4);
    TRY(skiff_pickler_bytes(p, t->data, tensor_bytes(t), err));
    buf_str(&p->b, "tb");
    return SKIFF_OK;
}
