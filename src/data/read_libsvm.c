/* libsvm text: `label index:value index:value ...  # comment`; tokens `qid:7` are skipped.
 *
 * Slots: the label (schema_label); a ragged int64 slot gets the indices; a ragged float32 slot gets
 * the values; a dense float32 slot of width n gets the values by index, from index_base (1), zeros
 * between them. Each may be there once. hash_size takes indices of the ragged slot modulo that. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/svm.h"
#include "data/text.h"

extern const struct reader_class read_libsvm;

struct reader_libsvm {
    struct reader base;
    int label, ids, values, dense; /* slots or -1 */
    int64_t index_base;
    uint64_t mod;
};

static void libsvm_destroy(struct reader *r)
{
    free(r);
}

static enum skiff_status libsvm_create(const struct reader_config *config,
                                       const struct schema *schema, struct reader **out,
                                       struct skiff_error *err)
{
    struct reader_libsvm made = {.base = {&read_libsvm, schema},
                                 .label = schema_label(schema),
                                 .ids = -1,
                                 .values = -1,
                                 .dense = -1,
                                 .index_base = config->index_base,
                                 .mod = config->hash_size};
    for (int i = 0; i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        int *place = s->ragged                ? s->dtype == DTYPE_INT64 ? &made.ids : &made.values
                     : s->dtype == DTYPE_FP32 ? &made.dense
                                              : NULL;
        if (i == made.label && !s->ragged && s->width == 1)
            continue;
        if (!place || *place >= 0)
            return error_set(
                err, SKIFF_INVALID,
                "slot \"%s\" cannot be filled: there is a label, one ragged int64 slot "
                "(indices), one ragged float32 slot (values), one dense float32 slot",
                s->name);
        *place = i;
    }
    if (made.label >= 0 && schema->slots[made.label].ragged)
        return error_set(err, SKIFF_INVALID, "slot \"%s\" is the label: it must be dense, width 1",
                         schema->slots[made.label].name);
    struct reader_libsvm *r = mem_must(sizeof *r);
    *r = made;
    *out = &r->base;
    return SKIFF_OK;
}

static enum skiff_status libsvm_put(struct reader_libsvm *r, const struct svm_token *t,
                                    struct batch *b, struct skiff_error *err)
{
    const struct schema *schema = r->base.schema;
    int64_t index = t->index[0];
    if (index < 0)
        return error_set(err, SKIFF_RANGE, "expected an index of 0 or more, found %" PRId64, index);
    if (r->ids >= 0 &&
        !column_add_i64(&b->columns[r->ids], r->mod ? (int64_t)((uint64_t)index % r->mod) : index))
        return reader_no_memory(schema, r->ids, err);
    if (r->values >= 0 && !column_add_f32(&b->columns[r->values], t->value))
        return reader_no_memory(schema, r->values, err);
    if (r->dense >= 0) {
        int64_t width = schema->slots[r->dense].width, at = index - r->index_base;
        if (index < r->index_base || at >= width)
            return error_set(err, SKIFF_RANGE,
                             "slot \"%s\" (%d of %d): expected an index from %" PRId64
                             " to %" PRId64 ", found %" PRId64,
                             schema->slots[r->dense].name, r->dense + 1, schema->count,
                             r->index_base, r->index_base + width - 1, index);
        batch_dense_f32(b, r->dense)[at] = t->value;
    }
    return SKIFF_OK;
}

static enum skiff_status libsvm_parse(struct reader_libsvm *r, const char *p, const char *end,
                                      struct batch *b, struct skiff_error *err)
{
    TRY(svm_label(r->base.schema, r->label, &p, end, b, err));
    for (;;) {
        struct svm_token t;
        p = text_skip_blanks(p, end);
        if (p == end)
            return SKIFF_OK;
        const char *stop = text_token_end(p, end);
        if (stop - p < 4 || memcmp(p, "qid:", 4) != 0) {
            TRY(svm_token(p, (size_t)(stop - p), 1, &t, err));
            TRY(libsvm_put(r, &t, b, err));
        }
        p = stop;
    }
}

static enum skiff_status libsvm_line(struct reader *base, const char *text, size_t n,
                                     struct batch *b, struct skiff_error *err)
{
    const char *end = svm_cut_comment(text, text + n), *p = text_skip_blanks(text, end);
    if (p == end)
        return SKIFF_END;
    batch_row_zero_dense(b);
    enum skiff_status status = libsvm_parse((struct reader_libsvm *)base, p, end, b, err);
    if (status < 0) {
        batch_row_abort(b);
        return status;
    }
    return batch_row_end(b, err);
}

const struct reader_class read_libsvm = {
    .name = "libsvm",
    .summary = "libsvm: label index:value ...",
    .create = libsvm_create,
    .destroy = libsvm_destroy,
    .line = libsvm_line,
};
