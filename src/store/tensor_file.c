/* LoDTensor stream: u32 0 | u64 levels | levels x (u64 bytes, offsets u64) | tensor part
 * SelectedRows:     u32 0 | u64 n | n x i64 row ids | i64 height | tensor part
 * (the tensor part: tensor_source.h)
 *
 * One decoder serves bytes in memory and files: it reads through a `tensor_source`, which always
 * knows how many bytes are left, so that no count from the file is believed before the bytes behind
 * it are known to be there; data go from the file straight into the tensor. */
#include "store/tensor_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/file.h"
#include "store/model_dir.h"
#include "store/tensor_source.h"

/* ------------------------------------------------------------------ reading */

/* Offsets must make sense among themselves; whether they fit the rows is checked by the caller. */
static enum skiff_status lod_links_check(const struct tensor_source *s, const struct lod *l,
                                         struct skiff_error *err)
{
    for (int k = 0; k < l->nlevels; k++) {
        const struct lod_level *v = &l->level[k];
        if (v->n < 2 || v->off[0] != 0)
            return error_set(err, SKIFF_FORMAT,
                             "%s: lod level %d has %" PRId64 " offsets, the first %" PRId64
                             "; expected at least 2, the first 0",
                             s->what, k, v->n, v->n ? v->off[0] : 0);
        for (int64_t i = 1; i < v->n; i++)
            if (v->off[i] < v->off[i - 1])
                return error_set(err, SKIFF_FORMAT,
                                 "%s: lod level %d: offset %" PRId64 " is %" PRId64
                                 ", less than the one before (%" PRId64 ")",
                                 s->what, k, i, v->off[i], v->off[i - 1]);
        if (k + 1 < l->nlevels && v->off[v->n - 1] != l->level[k + 1].n - 1)
            return error_set(err, SKIFF_FORMAT,
                             "%s: lod level %d ends at %" PRId64 ", but level %d has %" PRId64
                             " sequences",
                             s->what, k, v->off[v->n - 1], k + 1, l->level[k + 1].n - 1);
    }
    return SKIFF_OK;
}

/* Sizes of the levels, without advancing: a lod is allocated in one piece. */
static enum skiff_status lod_sizes_read(struct tensor_source s, uint64_t levels, int64_t *counts,
                                        struct skiff_error *err)
{
    if (levels > LOD_MAX_LEVELS)
        return error_set(err, SKIFF_FORMAT, "%s: %" PRIu64 " lod levels, at most %d are possible",
                         s.what, levels, LOD_MAX_LEVELS);
    for (uint64_t k = 0; k < levels; k++) {
        uint64_t bytes;
        TRY(tensor_source_read(&s, &bytes, 8, "the size of a lod level", err));
        if (bytes % 8 || bytes > tensor_source_left(&s))
            return error_set(err, SKIFF_FORMAT,
                             "%s: lod level %" PRIu64 " of %" PRIu64
                             " bytes; expected a multiple of 8, at most the %" PRIu64 " left",
                             s.what, k, bytes, tensor_source_left(&s));
        counts[k] = (int64_t)(bytes / 8);
        s.pos += bytes;
    }
    return SKIFF_OK;
}

/* *out gets a lod of its own, or NULL. */
static enum skiff_status lod_read(struct tensor_source *s, struct lod **out,
                                  struct skiff_error *err)
{
    uint64_t levels;
    TRY(tensor_source_read(s, &levels, 8, "the number of lod levels", err));
    int64_t counts[LOD_MAX_LEVELS];
    TRY(lod_sizes_read(*s, levels, counts, err));
    struct lod *l = NULL;
    if (levels) {
        TRY(lod_build(&l, (int)levels, counts, err));
        enum skiff_status status = SKIFF_OK;
        for (uint64_t k = 0; k < levels && status == SKIFF_OK; k++) {
            s->pos += 8;
            status =
                tensor_source_read(s, l->level[k].off, (uint64_t)counts[k] * 8, "a lod level", err);
        }
        if (status == SKIFF_OK)
            status = lod_links_check(s, l, err);
        if (status < 0) {
            lod_unref(l);
            return status;
        }
    }
    *out = l;
    return SKIFF_OK;
}

static enum skiff_status lod_rows_check(const struct tensor_source *s, const struct lod *l,
                                        const struct shape *shape, struct skiff_error *err)
{
    const struct lod_level *last = lod_last(l);
    int64_t rows = shape->ndim ? shape->dims[0] : 0;
    if (last && last->off[last->n - 1] != rows)
        return error_set(err, SKIFF_FORMAT,
                         "%s: lod ends at row %" PRId64 ", but the tensor has %" PRId64 " rows",
                         s->what, last->off[last->n - 1], rows);
    return SKIFF_OK;
}

enum lod_rule { LOD_CHECKED, LOD_MAY_DIFFER };

static enum skiff_status tensor_read(struct tensor_source *s, enum lod_rule rule,
                                     struct tensor *out, struct skiff_error *err)
{
    enum skiff_status status;
    struct lod *lod = NULL;
    struct tensor_head h;
    TRY_OUT(tensor_source_version(s, "the LoDTensor version", err));
    TRY_OUT(lod_read(s, &lod, err));
    TRY_OUT(tensor_source_head(s, &h, err));
    if (rule == LOD_CHECKED)
        TRY_OUT(lod_rows_check(s, lod, &h.shape, err));
    TRY_OUT(tensor_resize(out, h.dtype, &h.shape, err));
    TRY_OUT(tensor_source_read(s, out->data, h.data_bytes, "the data of a tensor", err));
    tensor_normalise_bools(out);
    tensor_drop_lod(out);
    out->lod = lod;
    lod = NULL;
out:
    lod_unref(lod);
    return status;
}

static enum skiff_status rows_head_read(struct tensor_source *s, uint64_t *out_n,
                                        uint64_t *out_ids_at, int64_t *out_height,
                                        struct tensor_head *h, struct skiff_error *err)
{
    TRY(tensor_source_version(s, "the SelectedRows version", err));
    uint64_t n;
    TRY(tensor_source_read(s, &n, 8, "the number of rows", err));
    if (n > tensor_source_left(s) / 8)
        return error_set(err, SKIFF_FORMAT,
                         "%s: %" PRIu64 " row ids need more than the %" PRIu64 " bytes left",
                         s->what, n, tensor_source_left(s));
    *out_n = n;
    *out_ids_at = s->pos;
    s->pos += n * 8;
    TRY(tensor_source_read(s, out_height, 8, "the height", err));
    TRY(tensor_source_head(s, h, err));
    char text[160];
    /* A growable table has memory for more rows than it has ids; the rest is unused. */
    if (h->shape.ndim < 1 || (uint64_t)h->shape.dims[0] < n)
        return error_set(err, SKIFF_FORMAT, "%s: %" PRIu64 " row ids, but the value is %s", s->what,
                         n, shape_text(&h->shape, text));
    if (*out_height < 0)
        return error_set(err, SKIFF_FORMAT, "%s: height is %" PRId64 ", expected zero or more",
                         s->what, *out_height);
    return SKIFF_OK;
}

static enum skiff_status rows_read(struct tensor_source *s, struct skiff_tensor *out,
                                   struct skiff_error *err)
{
    uint64_t n, ids_at;
    int64_t height;
    struct tensor_head h;
    TRY(rows_head_read(s, &n, &ids_at, &height, &h, err));
    uint64_t row = h.shape.dims[0] ? h.data_bytes / (uint64_t)h.shape.dims[0] : 0;
    h.shape.dims[0] = (int64_t)n;
    TRY(value_as_rows_shape(out, h.dtype, &h.shape, height, err));
    struct tensor_source ids = *s;
    ids.pos = ids_at;
    TRY(tensor_source_read(&ids, out->sel.rows, n * 8, "the row ids", err));
    TRY(tensor_source_read(s, out->tensor.data, n * row, "the data of selected rows", err));
    s->pos += h.data_bytes - n * row;
    tensor_normalise_bools(&out->tensor);
    return SKIFF_OK;
}

enum skiff_status tensor_decode(const uint8_t *bytes, size_t n, size_t *pos, const char *what,
                                struct tensor *out, struct skiff_error *err)
{
    struct tensor_source s = {.what = what, .mem = bytes, .size = n, .pos = *pos};
    struct tensor t = {0};
    enum skiff_status status = tensor_read(&s, LOD_CHECKED, &t, err);
    if (status < 0) {
        tensor_deinit(&t);
        return status;
    }
    tensor_deinit(out);
    *out = t;
    *pos = s.pos;
    return SKIFF_OK;
}

/* Paddle's recv_save writes one header and then the data of every slice of a variable. A variable
 * that is not sliced but kept by every server (Adam's beta powers) is then the same element
 * repeated. Paddle's load reads the first one, so such a rest is accepted. */
static enum skiff_status tensor_at_end(struct tensor_source *s, const struct tensor *t,
                                       struct skiff_error *err)
{
    uint8_t again[16];
    size_t n = tensor_bytes(t);
    struct tensor_source rest = *s;
    if (t->lod || tensor_numel(t) != 1 || tensor_source_left(s) % n)
        return tensor_source_at_end(s, err);
    while (tensor_source_left(&rest)) {
        TRY(tensor_source_read(&rest, again, n, "the data of a slice", err));
        if (memcmp(again, t->data, n))
            return tensor_source_at_end(s, err);
    }
    return SKIFF_OK;
}

/* A complete file. `out` is only modified once everything but the data has been checked. */
static enum skiff_status file_of_one(const char *path, struct tensor *tensor,
                                     struct skiff_tensor *rows, struct skiff_error *err)
{
    struct tensor_source s;
    TRY(tensor_source_open(&s, path, err));
    enum skiff_status status;
    struct tensor t = {0};
    struct skiff_tensor v = {0};
    if (tensor)
        TRY_OUT(tensor_read(&s, LOD_CHECKED, &t, err));
    else
        TRY_OUT(rows_read(&s, &v, err));
    TRY_OUT(tensor ? tensor_at_end(&s, &t, err) : tensor_source_at_end(&s, err));
    if (tensor) {
        tensor_deinit(tensor);
        *tensor = t;
        t = (struct tensor){0};
    } else {
        value_deinit(rows);
        *rows = v;
        v = (struct skiff_tensor){0};
    }
out:
    tensor_deinit(&t);
    value_deinit(&v);
    close(s.fd);
    return status;
}

enum skiff_status tensor_file_read(const char *path, struct tensor *out, struct skiff_error *err)
{
    return file_of_one(path, out, NULL, err);
}

enum skiff_status rows_file_read(const char *path, struct skiff_tensor *out,
                                 struct skiff_error *err)
{
    return file_of_one(path, NULL, out, err);
}

/* Reads the headers only and skips the data. */
static enum skiff_status tensor_skip(struct tensor_source *s, struct tensor_location *out,
                                     struct skiff_error *err)
{
    int64_t counts[LOD_MAX_LEVELS];
    uint64_t levels;
    struct tensor_head h;
    TRY(tensor_source_version(s, "the LoDTensor version", err));
    TRY(tensor_source_read(s, &levels, 8, "the number of lod levels", err));
    TRY(lod_sizes_read(*s, levels, counts, err));
    for (uint64_t k = 0; k < levels; k++)
        s->pos += 8 + (uint64_t)counts[k] * 8;
    TRY(tensor_source_head(s, &h, err));
    *out = (struct tensor_location){h.dtype, h.shape, levels > 0, s->pos, h.data_bytes};
    s->pos += h.data_bytes;
    return SKIFF_OK;
}

/* Does a stream of that kind fill the file exactly? */
static enum skiff_status fits_tensor(struct tensor_source s, struct skiff_error *err)
{
    struct tensor_location location;
    TRY(tensor_skip(&s, &location, err));
    return tensor_source_at_end(&s, err);
}

static enum skiff_status fits_rows(struct tensor_source s, struct skiff_error *err)
{
    uint64_t n, at;
    int64_t height;
    struct tensor_head h;
    TRY(rows_head_read(&s, &n, &at, &height, &h, err));
    s.pos += h.data_bytes;
    return tensor_source_at_end(&s, err);
}

static enum skiff_status value_read(const char *path, const struct file_sum *want,
                                    enum lod_rule rule, struct skiff_tensor *out,
                                    struct skiff_error *err)
{
    struct tensor_source s;
    TRY(tensor_source_open_checked(&s, path, want, err));
    enum skiff_status status;
    struct skiff_error no_tensor = {0}, no_rows = {0};
    struct skiff_tensor v = {0};
    bool fits = fits_tensor(s, &no_tensor) == SKIFF_OK;
    if (!fits && fits_rows(s, &no_rows) == SKIFF_OK) {
        TRY_OUT(rows_read(&s, &v, err));
    } else {
        v.kind = VALUE_TENSOR;
        status = tensor_read(&s, rule, &v.tensor, err);
        if (status == SKIFF_OK)
            status = tensor_at_end(&s, &v.tensor, err);
        if (status < 0 && !fits)
            status = error_set(err, SKIFF_FORMAT,
                               "neither a LoDTensor (%.300s) nor SelectedRows (%.300s)",
                               no_tensor.message, no_rows.message);
    }
out:
    status = tensor_source_close(&s, status, err);
    if (status == SKIFF_OK) {
        value_deinit(out);
        *out = v;
        v = (struct skiff_tensor){0};
    }
    value_deinit(&v);
    return status;
}

enum skiff_status value_file_read(const char *path, struct skiff_tensor *out,
                                  struct skiff_error *err)
{
    return value_read(path, NULL, LOD_CHECKED, out, err);
}

enum skiff_status value_file_read_checked(const char *path, const struct file_sum *want,
                                          struct skiff_tensor *out, struct skiff_error *err)
{
    return value_read(path, want, LOD_CHECKED, out, err);
}

enum skiff_status value_file_read_recorded(const char *path, struct skiff_tensor *out,
                                           struct skiff_error *err)
{
    return value_read(path, NULL, LOD_MAY_DIFFER, out, err);
}

enum skiff_status combined_file_read_named(const char *path, const struct file_sum *want, int n,
                                           const char *const *names, struct tensor **out,
                                           struct skiff_error *err)
{
    struct tensor_source s;
    TRY(tensor_source_open_checked(&s, path, want, err));
    enum skiff_status status = SKIFF_OK;
    struct tensor *list = mem_alloc_or_die(sizeof *list * (size_t)(n + 1));
    for (int i = 0; i < n && status == SKIFF_OK; i++) {
        if (!tensor_source_left(&s))
            status = error_set(err, SKIFF_FORMAT, "%s: %d tensors expected, %d found", path, n, i);
        else
            status = tensor_read(&s, LOD_CHECKED, &list[i], err);
        if (status < 0)
            error_prefix(err, status, names ? "tensor %d of %d (variable %s)" : "tensor %d of %d",
                         i + 1, n, names ? names[i] : "");
    }
    if (status == SKIFF_OK)
        status = tensor_source_at_end(&s, err);
    status = tensor_source_close(&s, status, err);
    for (int i = 0; i < n; i++) {
        if (status == SKIFF_OK) {
            tensor_deinit(out[i]);
            *out[i] = list[i];
        } else {
            tensor_deinit(&list[i]);
        }
    }
    free(list);
    return status;
}

enum skiff_status combined_file_read(const char *path, int n, struct tensor **out,
                                     struct skiff_error *err)
{
    return combined_file_read_named(path, NULL, n, NULL, out, err);
}

enum skiff_status combined_file_scan(const char *path, struct tensor_location **out, int *out_n,
                                     struct skiff_error *err)
{
    struct tensor_source s;
    struct tensor_location *list = NULL;
    int n = 0, cap = 0;
    enum skiff_status status = SKIFF_OK;
    TRY(tensor_source_open(&s, path, err));
    do {
        if (n == cap) {
            cap = cap ? 2 * cap : 16;
            list = mem_grow_or_die(list, (size_t)cap * sizeof *list);
        }
        status = tensor_skip(&s, &list[n], err);
        n++;
    } while (status == SKIFF_OK && tensor_source_left(&s));
    close(s.fd);
    if (status < 0) {
        free(list);
        return error_prefix(err, status, "tensor %d", n);
    }
    *out = list;
    *out_n = n;
    return SKIFF_OK;
}

static enum skiff_status slice_read(struct tensor_source *s, int64_t seek,
                                    const struct shape *shape, struct tensor *out,
                                    struct skiff_error *err)
{
    uint64_t levels;
    struct tensor_head h;
    TRY(tensor_source_version(s, "the LoDTensor version", err));
    TRY(tensor_source_read(s, &levels, 8, "the number of lod levels", err));
    if (levels)
        return error_set(err, SKIFF_FORMAT,
                         "%s: has %" PRIu64 " lod levels; part of a tensor can be loaded only when "
                         "it has none",
                         s->what, levels);
    TRY(tensor_source_head(s, &h, err));
    uint64_t data_at = s->pos;
    s->pos += h.data_bytes;
    TRY(tensor_source_at_end(s, err));
    int64_t all = (int64_t)(h.data_bytes / dtype_size(h.dtype)), part = shape_numel(shape);
    char text[160], full[160];
    if (part < 0 || seek < 0 || seek > all || part > all - seek)
        return error_set(err, SKIFF_RANGE,
                         "%s: elements of %s from element %" PRId64
                         " are not all inside the %s that the file holds",
                         s->what, shape_text(shape, text), seek, shape_text(&h.shape, full));
    TRY(tensor_resize(out, h.dtype, shape, err));
    s->pos = data_at + (uint64_t)seek * dtype_size(h.dtype);
    TRY(tensor_source_read(s, out->data, (uint64_t)part * dtype_size(h.dtype), "a slice", err));
    tensor_normalise_bools(out);
    return SKIFF_OK;
}

enum skiff_status tensor_file_read_slice(const char *path, int64_t seek, const struct shape *shape,
                                         struct tensor *out, struct skiff_error *err)
{
    struct tensor_source s;
    struct tensor t = {0};
    TRY(tensor_source_open(&s, path, err));
    enum skiff_status status = slice_read(&s, seek, shape, &t, err);
    close(s.fd);
    if (status < 0) {
        tensor_deinit(&t);
        return status;
    }
    tensor_deinit(out);
    *out = t;
    return SKIFF_OK;
}

/* ------------------------------------------------------------------ writing */

/* The stream up to the data. */
static void lod_tensor_head_encode(const struct tensor *t, struct buf *out)
{
    buf_u32(out, 0);
    int levels = t->lod ? t->lod->nlevels : 0;
    buf_u64(out, (uint64_t)levels);
    for (int k = 0; k < levels; k++) {
        const struct lod_level *v = &t->lod->level[k];
        buf_u64(out, (uint64_t)v->n * 8);
        buf_add(out, v->off, (size_t)v->n * 8);
    }
    tensor_head_encode(t, out);
}

static void rows_head_encode(const struct skiff_tensor *v, struct buf *out)
{
    buf_u32(out, 0);
    buf_u64(out, v->sel.nrows);
    buf_add(out, v->sel.rows, v->sel.nrows * 8);
    buf_u64(out, (uint64_t)v->sel.height);
    tensor_head_encode(&v->tensor, out);
}

static void data_encode(const struct tensor *t, struct buf *out)
{
    buf_add(out, t->data, tensor_bytes(t));
}

void tensor_encode(const struct tensor *t, struct buf *out)
{
    lod_tensor_head_encode(t, out);
    data_encode(t, out);
}

static enum skiff_status write_head_and_data(struct file_writer *w, const struct buf *head,
                                             const struct tensor *t, struct skiff_error *err)
{
    TRY(file_writer_add(w, head->data, head->len, err));
    return file_writer_add(w, t->data, tensor_bytes(t), err);
}

enum skiff_status value_write(struct file_writer *w, const struct skiff_tensor *v,
                              struct skiff_error *err)
{
    if (v->kind != VALUE_TENSOR && v->kind != VALUE_ROWS)
        return error_set(
            err, SKIFF_STATE,
            "cannot save %s: the variable holds %s, expected a tensor or selected rows", w->path,
            v->kind == VALUE_NONE ? "no value yet" : "a list of values");
    struct buf head = BUF_INIT;
    if (v->kind == VALUE_ROWS)
        rows_head_encode(v, &head);
    else
        lod_tensor_head_encode(&v->tensor, &head);
    enum skiff_status status = write_head_and_data(w, &head, &v->tensor, err);
    buf_deinit(&head);
    return status;
}

enum skiff_status value_file_write(const char *path, const struct skiff_tensor *v,
                                   struct skiff_error *err)
{
    struct file_writer w;
    TRY(model_file_close(path, err));
    TRY(file_writer_open(&w, path, err));
    return file_writer_end(&w, value_write(&w, v, err), err);
}

enum skiff_status combined_write(struct file_writer *w, int n, const struct tensor *const *in,
                                 struct skiff_error *err)
{
    struct buf head = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && status == SKIFF_OK; i++) {
        buf_reset(&head);
        lod_tensor_head_encode(in[i], &head);
        status = write_head_and_data(w, &head, in[i], err);
    }
    buf_deinit(&head);
    return status;
}

enum skiff_status combined_file_write(const char *path, int n, const struct tensor *const *in,
                                      struct skiff_error *err)
{
    struct file_writer w;
    TRY(model_file_close(path, err));
    TRY(file_writer_open(&w, path, err));
    return file_writer_end(&w, combined_write(&w, n, in, err), err);
}
