/* Writes exactly the bytes of Python's pickler (protocol 2), including its memo numbers: an object
 * that Python holds once (a global, a dtype, an interned string) is put into the memo at its first
 * use and fetched from there afterwards.
 *
 * Protocol 2 has no bytes type, so bytes are written as text through _codecs.encode(text,
 * 'latin1'). A tensor whose text would exceed 4 GiB, the limit of protocol 2, makes the file
 * protocol 4, with plain bytes for that tensor. A state that asks for protocol 4 uses plain bytes
 * throughout: that is faster, as latin-1 text takes two bytes for half of all values. */
#include <inttypes.h>
#include <string.h>

#include "store/file.h"
#include "store/model_dir.h"
#include "store/pickle.h"
#include "store/pickle_parts.h"

enum seen {
    SEEN_RECONSTRUCT,
    SEEN_NDARRAY,
    SEEN_ENCODE,
    SEEN_LATIN1,
    SEEN_LETTER_B, /* b'b', the typecode that _reconstruct gets */
    SEEN_DTYPE,
    SEEN_LESS, /* '<' */
    SEEN_BAR,  /* '|' */
    SEEN_BYTES,
    SEEN_EMPTY_BYTES,
    SEEN_TYPE_0, /* one per dtype_codes row */
    SEEN_COUNT = SEEN_TYPE_0 + 16,
};

static const struct {
    enum dtype dtype;
    const char *code;
    bool one_byte;
} dtype_codes[] = {
    {DTYPE_FP32, "f4", false},   {DTYPE_FP64, "f8", false},      {DTYPE_FP16, "f2", false},
    {DTYPE_INT8, "i1", true},    {DTYPE_INT16, "i2", false},     {DTYPE_INT32, "i4", false},
    {DTYPE_INT64, "i8", false},  {DTYPE_UINT8, "u1", true},      {DTYPE_BOOL, "b1", true},
    {DTYPE_BF16, "u2", false},   {DTYPE_COMPLEX64, "c8", false}, {DTYPE_COMPLEX128, "c16", false},
    {DTYPE_SIZE_T, "u8", false},
};
#define DTYPE_CODES ((int)(sizeof dtype_codes / sizeof *dtype_codes))

struct pickler {
    struct file_writer *file;
    struct buf b; /* bytes not yet in the file */
    bool newer;   /* protocol 4 */
    uint32_t memo;
    int64_t seen[SEEN_COUNT]; /* memo number, or -1 */
    struct skiff_error *err;
};

#define BATCH 1000 /* items per SETITEMS, as Python does it */

static enum skiff_status flush(struct pickler *p)
{
    enum skiff_status status = file_writer_add(p->file, p->b.data, p->b.len, p->err);
    buf_reset(&p->b);
    return status;
}

static void put(struct pickler *p)
{
    if (p->memo < 256) {
        buf_char(&p->b, 'q');
        buf_char(&p->b, (char)p->memo);
    } else {
        buf_char(&p->b, 'r');
        buf_u32(&p->b, p->memo);
    }
    p->memo++;
}

/* Fetches an object from the memo; false: it is new and gets the next memo number from put() once
 * the object is complete. */
static bool get(struct pickler *p, int what)
{
    int64_t n = p->seen[what];
    if (n < 0)
        return false;
    if (n < 256) {
        buf_char(&p->b, 'h');
        buf_char(&p->b, (char)n);
    } else {
        buf_char(&p->b, 'j');
        buf_u32(&p->b, (uint32_t)n);
    }
    return true;
}

static void put_seen(struct pickler *p, int what)
{
    p->seen[what] = p->memo;
    put(p);
}

static void text(struct pickler *p, const char *s)
{
    buf_char(&p->b, 'X');
    buf_u32(&p->b, (uint32_t)strlen(s));
    buf_str(&p->b, s);
}

static void text_once(struct pickler *p, int what, const char *s)
{
    if (get(p, what))
        return;
    text(p, s);
    put_seen(p, what);
}

static void global_once(struct pickler *p, int what, const char *module_and_name)
{
    if (get(p, what))
        return;
    buf_printf(&p->b, "c%s\n", module_and_name);
    put_seen(p, what);
}

void pickle_integer(struct buf *b, int64_t v)
{
    if (v >= 0 && v < 256) {
        buf_char(b, 'K');
        buf_char(b, (char)v);
    } else if (v >= 0 && v < 65536) {
        buf_char(b, 'M');
        buf_char(b, (char)v);
        buf_char(b, (char)(v >> 8));
    } else if (v >= INT32_MIN && v <= INT32_MAX) {
        buf_char(b, 'J');
        buf_u32(b, (uint32_t)v);
    } else {
        /* LONG1: as few bytes of two's complement as hold the value */
        int n = 8;
        while (n > 1 && (v >> (8 * (n - 1) - 1) == 0 || v >> (8 * (n - 1) - 1) == -1))
            n--;
        buf_char(b, '\x8a');
        buf_char(b, (char)n);
        for (int i = 0; i < n; i++)
            buf_char(b, (char)(v >> (8 * i)));
    }
}

static void integer(struct pickler *p, int64_t v)
{
    pickle_integer(&p->b, v);
}

static void shape_tuple(struct pickler *p, const struct shape *s)
{
    if (s->ndim == 0) {
        buf_char(&p->b, ')');
        return;
    }
    if (s->ndim > 3)
        buf_char(&p->b, '(');
    for (int i = 0; i < s->ndim; i++)
        integer(p, s->dims[i]);
    buf_char(&p->b, s->ndim > 3 ? 't' : (char)(0x85 + s->ndim - 1));
    put(p);
}

/* b'b' = _codecs.encode('b', 'latin1') */
static void message_b(struct pickler *p)
{
    if (get(p, SEEN_LETTER_B))
        return;
    global_once(p, SEEN_ENCODE, "_codecs\nencode");
    text(p, "b");
    put(p);
    text_once(p, SEEN_LATIN1, "latin1");
    buf_char(&p->b, '\x86');
    put(p);
    buf_char(&p->b, 'R');
    put_seen(p, SEEN_LETTER_B);
}

static void dtype_object(struct pickler *p, int code)
{
    if (get(p, SEEN_TYPE_0 + code))
        return;
    global_once(p, SEEN_DTYPE, "numpy\ndtype");
    text(p, dtype_codes[code].code);
    put(p);
    buf_str(&p->b, "\x89\x88\x87"); /* False, True -> tuple of three */
    put(p);
    buf_char(&p->b, 'R');
    put_seen(p, SEEN_TYPE_0 + code);
    buf_char(&p->b, '(');
    integer(p, 3);
    if (dtype_codes[code].one_byte)
        text_once(p, SEEN_BAR, "|");
    else
        text_once(p, SEEN_LESS, "<");
    buf_str(&p->b, "NNN");
    integer(p, -1);
    integer(p, -1);
    integer(p, 0);
    buf_char(&p->b, 't');
    put(p);
    buf_char(&p->b, 'b');
}

/* ---- the data of an array: in memory, or in pieces from elsewhere (state.h) ---- */

static enum skiff_status pour(const struct state_entry *e, const struct byte_sink *to,
                              struct skiff_error *err)
{
    return e->stream ? e->stream->pour(e->stream, to, err)
                     : to->add(to->user, e->tensor.data, tensor_bytes(&e->tensor), err);
}

static enum skiff_status count_text(void *user, const void *bytes, size_t n,
                                    struct skiff_error *err)
{
    (void)err;
    *(size_t *)user += pickle_latin1_length(bytes, n);
    return SKIFF_OK;
}

/* How long it is as text; too long: it goes as bytes. The length stands before the text, so data in
 * pieces are asked for twice, but not when they may be too long. */
static enum skiff_status text_length(const struct state_entry *e, size_t *out,
                                     struct skiff_error *err)
{
    bool halves = tensor_bytes(&e->tensor) <= PICKLE_TEXT_MAX / 2;
    *out = 0;
    if (!halves && e->stream)
        *out = (size_t)PICKLE_TEXT_MAX + 1;
    return !halves && e->stream ? SKIFF_OK : pour(e, &(struct byte_sink){count_text, out}, err);
}

/* Writes bytes as UTF-8 of the code points 0..255, in pieces. */
static enum skiff_status add_text(void *user, const void *data, size_t n, struct skiff_error *err)
{
    struct pickler *p = user;
    const uint8_t *bytes = data;
    char piece[2 * 8192];
    (void)err;
    for (size_t at = 0; at < n;) {
        size_t end = n - at < 8192 ? n : at + 8192, len = 0;
        for (; at < end; at++) {
            uint8_t c = bytes[at];
            if (c < 0x80) {
                piece[len++] = (char)c;
            } else {
                piece[len++] = (char)(0xc0 | c >> 6);
                piece[len++] = (char)(0x80 | (c & 0x3f));
            }
        }
        buf_add(&p->b, piece, len);
        if (p->b.len >= 1 << 16)
            TRY(flush(p));
    }
    return SKIFF_OK;
}

size_t pickle_latin1_length(const uint8_t *bytes, size_t n)
{
    size_t len = n;
    for (size_t i = 0; i < n; i++)
        len += bytes[i] >> 7;
    return len;
}

int64_t pickle_values_bytes(const struct tensor *t)
{
    size_t n = tensor_bytes(t), text = t->data ? pickle_latin1_length(t->data, n) : n + n / 2;
    return (int64_t)(text > PICKLE_TEXT_MAX ? n : text);
}

static enum skiff_status plain_bytes(struct pickler *p, const struct state_entry *e)
{
    struct byte_sink file = file_writer_sink(p->file);
    buf_char(&p->b, '\x8e'); /* BINBYTES8 */
    buf_u64(&p->b, tensor_bytes(&e->tensor));
    TRY(flush(p));
    TRY(pour(e, &file, p->err));
    put(p);
    return SKIFF_OK;
}

static enum skiff_status data_object(struct pickler *p, const struct state_entry *e)
{
    size_t len = 0;
    if (!tensor_bytes(&e->tensor)) {
        if (get(p, SEEN_EMPTY_BYTES))
            return SKIFF_OK;
        global_once(p, SEEN_BYTES, "__builtin__\nbytes");
        buf_str(&p->b, ")R");
        put_seen(p, SEEN_EMPTY_BYTES);
        return SKIFF_OK;
    }
    if (!p->newer)
        TRY(text_length(e, &len, p->err));
    if (p->newer || len > PICKLE_TEXT_MAX)
        return plain_bytes(p, e);
    global_once(p, SEEN_ENCODE, "_codecs\nencode");
    buf_char(&p->b, 'X');
    buf_u32(&p->b, (uint32_t)len);
    TRY(pour(e, &(struct byte_sink){add_text, p}, p->err));
    put(p);
    text_once(p, SEEN_LATIN1, "latin1");
    buf_char(&p->b, '\x86');
    put(p);
    buf_char(&p->b, 'R');
    put(p);
    return SKIFF_OK;
}

static int dtype_code(enum dtype t)
{
    for (int i = 0; i < DTYPE_CODES; i++)
        if (dtype_codes[i].dtype == t)
            return i;
    return -1;
}

const char *pickle_dtype_code(enum dtype t, bool *out_one_byte)
{
    int i = dtype_code(t);
    *out_one_byte = i >= 0 && dtype_codes[i].one_byte;
    return i >= 0 ? dtype_codes[i].code : NULL;
}

static enum skiff_status array_object(struct pickler *p, const struct state_entry *e)
{
    const struct tensor *t = &e->tensor;
    global_once(p, SEEN_RECONSTRUCT, "numpy.core.multiarray\n_reconstruct");
    global_once(p, SEEN_NDARRAY, "numpy\nndarray");
    integer(p, 0);
    buf_char(&p->b, '\x85');
    put(p);
    message_b(p);
    buf_char(&p->b, '\x87');
    put(p);
    buf_char(&p->b, 'R');
    put(p);
    buf_char(&p->b, '(');
    integer(p, 1);
    shape_tuple(p, &t->shape);
    dtype_object(p, dtype_code(t->dtype));
    buf_char(&p->b, '\x89'); /* not Fortran order */
    TRY(data_object(p, e));
    buf_char(&p->b, 't');
    put(p);
    buf_char(&p->b, 'b');
    return SKIFF_OK;
}

static void structured_object(struct pickler *p, const struct state *s)
{
    text(p, STATE_STRUCTURED_KEY);
    put(p);
    buf_char(&p->b, '}');
    put(p);
    for (int i = 0; i < s->nstructured; i++) {
        text(p, s->structured[i].key);
        put(p);
        text(p, s->structured[i].value);
        put(p);
        buf_char(&p->b, 's');
    }
}

static enum skiff_status dict_object(struct pickler *p, const struct state *s)
{
    int n = s->count + (s->nstructured > 0);
    buf_char(&p->b, '}');
    put(p);
    for (int i = 0; i < n; i++) {
        if (i % BATCH == 0 && n > 1)
            buf_char(&p->b, '(');
        if (i < s->count) {
            const struct state_entry *e = s->entries[i];
            text(p, e->name);
            put(p);
            TRY(array_object(p, e));
        } else {
            structured_object(p, s);
        }
        if (n == 1)
            buf_char(&p->b, 's');
        else if (i % BATCH == BATCH - 1 || i == n - 1)
            buf_char(&p->b, 'u');
        TRY(flush(p));
    }
    buf_char(&p->b, '.');
    return flush(p);
}

static enum skiff_status state_check(const char *path, const struct state *s, int *out_protocol,
                                     struct skiff_error *err)
{
    *out_protocol = s->newer ? 4 : 2;
    for (int i = 0; i < s->count; i++) {
        const struct state_entry *e = s->entries[i];
        if (e->text)
            return error_set(
                err, SKIFF_UNSUPPORTED,
                "cannot write %s: entry %s is no array (%.60s); only arrays are written", path,
                e->name, e->text);
        if (dtype_code(e->tensor.dtype) < 0)
            return error_set(err, SKIFF_DTYPE, "cannot write %s: numpy has no type for %s of %s",
                             path, dtype_name(e->tensor.dtype), e->name);
        if (shape_numel(&e->tensor.shape) < 0)
            return error_set(err, SKIFF_SHAPE, "cannot write %s: the shape of %s is not known",
                             path, e->name);
        size_t len = 0;
        if (!s->newer && tensor_bytes(&e->tensor) > PICKLE_TEXT_MAX / 2)
            TRY(text_length(e, &len, err));
        if (len > PICKLE_TEXT_MAX)
            *out_protocol = 4;
    }
    return SKIFF_OK;
}

enum skiff_status pickle_write(struct file_writer *w, const struct state *s,
                               struct skiff_error *err)
{
    int protocol;
    TRY(state_check(w->path, s, &protocol, err));
    struct pickler p = {.file = w, .newer = s->newer, .err = err};
    for (int i = 0; i < SEEN_COUNT; i++)
        p.seen[i] = -1;
    buf_char(&p.b, '\x80');
    buf_char(&p.b, (char)protocol);
    enum skiff_status status = dict_object(&p, s);
    buf_deinit(&p.b);
    return status;
}

enum skiff_status pickle_file_write(const char *path, const struct state *s,
                                    struct skiff_error *err)
{
    struct file_writer w;
    TRY(model_file_close(path, err));
    TRY(file_writer_open(&w, path, err));
    return file_writer_end(&w, pickle_write(&w, s, err), err);
}
