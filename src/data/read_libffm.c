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
    struct svm_reader svm;
    int fields;        /* slot or -1 */
    int *ids, *values; /* slots by field; all tokens go to [0] when `fields` is used */
    int nids, nvalues;
    int64_t field_base;
};

static void libffm_destroy(struct reader *base)
{
    struct reader_libffm *r = (struct reader_libffm *)base;
    label_rule_deinit(&r->svm.rule);
    free(r->ids);
    free(r->values);
    free(r);
}

static enum skiff_status libffm_create(const struct reader_config *config,
                                       const struct schema *schema, struct reader **out,
                                       struct skiff_error *err)
{
    struct reader_libffm *r = mem_alloc_or_die(sizeof *r);
    r->svm = (struct svm_reader){.base = {&read_libffm, schema},
                                 .label = schema_label(schema),
                                 .skip_label = config->skip_label,
                                 .mod = config->hash_size};
    r->fields = schema_find(schema, "fields");
    r->field_base = config->field_base;
    r->ids = mem_alloc_or_die((size_t)schema->count * sizeof *r->ids);
    r->values = mem_alloc_or_die((size_t)schema->count * sizeof *r->values);
    for (int i = 0; i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        bool label = i == r->svm.label;
        if (label != !s->ragged || (label && s->width != 1) ||
            (i == r->fields && s->dtype != DTYPE_INT64)) {
            libffm_destroy(&r->svm.base);
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
        libffm_destroy(&r->svm.base);
        return error_set(
            err, SKIFF_INVALID,
            "with a slot \"fields\" there may be one slot of indices and one of values");
    }
    enum skiff_status status =
        label_rule_init(&r->svm.rule, config->positive, config->negative, err);
    if (status < 0)
        libffm_destroy(&r->svm.base);
    else
        *out = &r->svm.base;
    return status;
}

static enum skiff_status libffm_put(struct svm_reader *svm, const struct svm_token *t,
                                    struct batch *b, struct skiff_error *err)
{
    struct reader_libffm *r = (struct reader_libffm *)svm;
    int64_t field = t->index[0], index = t->index[1], at = 0;
    if (field < 0 || index < 0)
        return error_set(err, SKIFF_RANGE,
                         "expected field and index of 0 or more, found %" PRId64 ":%" PRId64, field,
                         index);
    if (r->fields >= 0) {
        if (!column_add_i64(&b->columns[r->fields], field))
            return reader_no_memory(r->svm.base.schema, r->fields, err);
    } else if (__builtin_sub_overflow(field, r->field_base, &at) || at < 0) {
        return error_set(err, SKIFF_RANGE,
                         "expected a field of %" PRId64 " or more, found %" PRId64, r->field_base,
                         field);
    }
    if (at < r->nids && !column_add_i64(&b->columns[r->ids[at]], svm_index(svm, index)))
        return reader_no_memory(r->svm.base.schema, r->ids[at], err);
    if (at < r->nvalues && !column_add_f32(&b->columns[r->values[at]], t->value))
        return reader_no_memory(r->svm.base.schema, r->values[at], err);
    return SKIFF_OK;
}

static enum skiff_status libffm_line(struct reader *base, const char *text, size_t n,
                                     struct batch *b, struct skiff_error *err)
{
    struct reader_libffm *r = (struct reader_libffm *)base;
    return svm_line(&r->svm, text, n, 2, libffm_put, NULL, -1, b, err);
}

const struct reader_class read_libffm = {
    .name = "libffm",
    .summary = "libffm: label field:index:value ...",
    .labels = true,
    .create = libffm_create,
    .destroy = libffm_destroy,
    .line = libffm_line,
};
