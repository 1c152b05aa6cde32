/* libffm text: `label field:index:value ...`.
 *
 * Slots: the label (schema_label), then either
 *   - fields, ids (ragged int64) and values (ragged float32), by these names: all tokens in order,
 *   - or any ragged int64 slots: the k-th gets the indices of field k, from field_base (0); and any
 *     ragged float32 slots: the k-th gets the values of field k. Tokens of fields beyond the slots
 *     are ignored.
 * hash_size takes indices modulo that. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/svm.h"
#include "data/text.h"

extern const struct reader_class read_libffm;

struct reader_libffm {
    struct reader base;
    int label, fields; /* slots or -1 */
    int *ids, *values; /* slots by field; all tokens go to [0] when `fields` is used */
    int nids, nvalues;
    int64_t field_base;
    uint64_t mod;
    bool skip_label;
    struct label_rule rule;
};

static void libffm_destroy(struct reader *base)
{
    struct reader_libffm *r = (struct reader_libffm *)base;
    label_rule_deinit(&r->rule);
    free(r->ids);
    free(r->values);
    free(r);
}

static enum skiff_status libffm_create(const struct reader_config *config,
                                       const struct schema *schema, struct reader **out,
                                       struct skiff_error *err)
{
    struct reader_libffm *r = mem_alloc_or_die(sizeof *r);
    r->base = (struct reader){&read_libffm, schema};
    r->label = schema_label(schema);
    r->fields = schema_find(schema, "fields");
    r->field_base = config->field_base;
    r->mod = config->hash_size;
    r->skip_label = config->skip_label;
    r->ids = mem_alloc_or_die((size_t)schema->count * sizeof *r->ids);
    r->values = mem_alloc_or_die((size_t)schema->count * sizeof *r->values);
    for (int i = 0; i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        bool label = i == r->label;
        if (label != !s->ragged || (label && s->width != 1) ||
            (i == r->fields && s->dtype != DTYPE_INT64)) {
            libffm_destroy(&r->base);
            return error_set(err, SKIFF_INVALID,
                             "slot \"%s\" cannot be filled: there is a label (dense, width 1), and "
                             "ragged slots: int64 for indices and fields, float32 for values",
                             s->name);
        }
        if (label || i == r->fields)
            continue;
        if (s->dtype == DTYPE_INT64)
            r->ids[r->nids++] = i;
        else
            r->values[r->nvalues++] = i;
    }
    if (r->fields >= 0 && (r->nids > 1 || r->nvalues > 1)) {
        libffm_destroy(&r->base);
        return error_set(
            err, SKIFF_INVALID,
            "with a slot \"fields\" there may be one slot of indices and one of values");
    }
    enum skiff_status status = label_rule_init(&r->rule, config->positive, config->negative, err);
    if (status < 0)
        libffm_destroy(&r->base);
    else
        *out = &r->base;
    return status;
}

static enum skiff_status libffm_put(struct reader_libffm *r, const struct svm_token *t,
                                    struct batch *b, struct skiff_error *err)
{
    int64_t field = t->index[0], index = t->index[1], at = 0;
    if (field < 0 || index < 0)
        return error_set(err, SKIFF_RANGE,
                         "expected field and index of 0 or more, found %" PRId64 ":%" PRId64, field,
                         index);
    if (r->fields >= 0) {
        if (!column_add_i64(&b->columns[r->fields], field))
            return reader_no_memory(r->base.schema, r->fields, err);
    } else if (__builtin_sub_overflow(field, r->field_base, &at) || at < 0) {
        return error_set(err, SKIFF_RANGE,
                         "expected a field of %" PRId64 " or more, found %" PRId64, r->field_base,
                         field);
    }
    if (at < r->nids && !column_add_i64(&b->columns[r->ids[at]],
                                        r->mod ? (int64_t)((uint64_t)index % r->mod) : index))
        return reader_no_memory(r->base.schema, r->ids[at], err);
    if (at < r->nvalues && !column_add_f32(&b->columns[r->values[at]], t->value))
        return reader_no_memory(r->base.schema, r->values[at], err);
    return SKIFF_OK;
}

static enum skiff_status libffm_parse(struct reader_libffm *r, const char *p, const char *end,
                                      struct batch *b, struct skiff_error *err)
{
    if (!r->skip_label)
        TRY(svm_label(r->base.schema, r->label, &r->rule, &p, end, b, err));
    else if (!svm_is_token(p, end))
        p = text_token_end(p, end);
    for (;;) {
        struct svm_token t;
        p = text_skip_blanks(p, end);
        if (p == end)
            return SKIFF_OK;
        const char *stop = text_token_end(p, end);
        TRY(svm_token(p, (size_t)(stop - p), 2, &t, err));
        TRY(libffm_put(r, &t, b, err));
        p = stop;
    }
}

static enum skiff_status libffm_line(struct reader *base, const char *text, size_t n,
                                     struct batch *b, struct skiff_error *err)
{
    const char *end = svm_cut_comment(text, text + n), *p = text_skip_blanks(text, end);
    if (p == end)
        return SKIFF_END;
    batch_row_zero_dense(b);
    enum skiff_status status = libffm_parse((struct reader_libffm *)base, p, end, b, err);
    if (status < 0) {
        batch_row_abort(b);
        return status;
    }
    return batch_row_end(b, err);
}

const struct reader_class read_libffm = {
    .name = "libffm",
    .summary = "libffm: label field:index:value ...",
    .labels = true,
    .create = libffm_create,
    .destroy = libffm_destroy,
    .line = libffm_line,
};
