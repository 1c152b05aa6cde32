/* libsvm text: `label index:value index:value ...  # comment`; tokens `qid:7` are skipped.
 *
 * Slots: the label (schema_label); a ragged int64 slot gets the indices; a ragged float32 slot gets
 * the values; a dense float32 slot of width n gets the values by index, from index_base (1), zeros
 * between them. Each may be there once. hash_size takes indices of the ragged slot modulo that.
 *
 * A stats file (columns.h, whose columns are named by their indices) makes ids of index and value
 * together: those of the buckets; with normalise: quantile the values of the dense slot are scaled.
 * An index that is not in a line is 0. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/columns.h"
#include "data/svm.h"
#include "data/text.h"

#define LIBSVM_STATS_MAX 1000000

extern const struct reader_class read_libsvm;

struct reader_libsvm {
    struct svm_reader svm;
    int ids, values, dense; /* slots or -1 */
    int64_t index_base;
    struct columns stats;
    const struct column_stats **by_index; /* nindices of them; NULL: there is none */
    int64_t nindices;
    float *zeros; /* the dense slot of a line without values; NULL: zeros */
};

static void libsvm_destroy(struct reader *base)
{
    struct reader_libsvm *r = (struct reader_libsvm *)base;
    label_rule_deinit(&r->svm.rule);
    columns_deinit(&r->stats);
    free(r->by_index);
    free(r->zeros);
    free(r);
}

/* Columns by index, and what 0 is in the dense slot. */
static enum skiff_status libsvm_stats(struct reader_libsvm *r, const char *path, bool scaled,
                                      struct skiff_error *err)
{
    TRY(columns_read(path, &r->stats, err));
    for (int i = 0; i < r->stats.count; i++) {
        int64_t index;
        if (!option_int(r->stats.at[i].name, 0, LIBSVM_STATS_MAX, &index) ||
            r->stats.at[i].kind != COLUMN_NUMBER)
            return error_set(err, SKIFF_FORMAT,
                             "%s: column \"%.60s\": a libsvm file has numbers by index, 0 to %d",
                             path, r->stats.at[i].name, LIBSVM_STATS_MAX);
        if (index >= r->nindices) {
            r->by_index = mem_grow_or_die(r->by_index, ((size_t)index + 1) * sizeof *r->by_index);
            while (r->nindices <= index)
                r->by_index[r->nindices++] = NULL;
        }
        r->by_index[index] = &r->stats.at[i];
    }
    if (!scaled || r->dense < 0)
        return SKIFF_OK;
    int64_t width = r->svm.base.schema->slots[r->dense].width;
    r->zeros = mem_alloc_or_die((size_t)width * sizeof *r->zeros);
    for (int64_t k = 0; k < width; k++) {
        int64_t index = k + r->index_base;
        if (index >= 0 && index < r->nindices && r->by_index[index])
            r->zeros[k] = column_scale(r->by_index[index], 0);
    }
    return SKIFF_OK;
}

static enum skiff_status libsvm_settings(struct reader_libsvm *r,
                                         const struct reader_config *config,
                                         struct skiff_error *err)
{
    bool scaled = config->has_normalise && config->normalise == NORMALISE_QUANTILE;
    TRY(label_rule_init(&r->svm.rule, config->positive, config->negative, err));
    if (config->has_normalise && config->normalise == NORMALISE_DOCUMENTS)
        return error_set(err, SKIFF_INVALID,
                         "normalise documents is for criteo; libsvm has quantile and none");
    if (scaled && !config->stats)
        return error_set(err, SKIFF_INVALID,
                         "normalise quantile needs the file that `skiff init` or `skiff prepare` "
                         "writes (setting stats)");
    return config->stats ? libsvm_stats(r, config->stats, scaled, err) : SKIFF_OK;
}

static enum skiff_status libsvm_create(const struct reader_config *config,
                                       const struct schema *schema, struct reader **out,
                                       struct skiff_error *err)
{
    struct reader_libsvm made = {.svm = {.base = {&read_libsvm, schema},
                                         .label = schema_label(schema),
                                         .skip_label = config->skip_label,
                                         .mod = config->hash_size},
                                 .ids = -1,
                                 .values = -1,
                                 .dense = -1,
                                 .index_base = config->index_base};
    for (int i = 0; i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        int *cell = s->ragged                ? s->dtype == DTYPE_INT64 ? &made.ids : &made.values
                    : s->dtype == DTYPE_FP32 ? &made.dense
                                             : NULL;
        if (i == made.svm.label && !s->ragged && s->width == 1)
            continue;
        if (!cell || *cell >= 0)
            return error_set(
                err, SKIFF_INVALID,
                "slot \"%s\" cannot be filled: there is a label, one ragged int64 slot "
                "(indices), one ragged float32 slot (values), one dense float32 slot",
                s->name);
        *cell = i;
    }
    if (made.svm.label >= 0 && schema->slots[made.svm.label].ragged)
        return error_set(err, SKIFF_INVALID, "slot \"%s\" is the label: it must be dense, width 1",
                         schema->slots[made.svm.label].name);
    struct reader_libsvm *r = mem_alloc_or_die(sizeof *r);
    *r = made;
    enum skiff_status status = libsvm_settings(r, config, err);
    if (status < 0)
        libsvm_destroy(&r->svm.base);
    else
        *out = &r->svm.base;
    return status;
}

/* What goes to the slot of ids: the index, or index and value together. False: nothing. */
static bool libsvm_id(const struct reader_libsvm *r, const struct svm_token *t, int64_t *out)
{
    int64_t index = t->index[0];
    *out = svm_index(&r->svm, index);
    if (!r->stats.count)
        return true;
    const struct column_stats *s = index < r->nindices ? r->by_index[index] : NULL;
    if (!s || !s->size)
        return false;
    *out = column_number_id(s, (double)t->value);
    return true;
}

static float libsvm_value(const struct reader_libsvm *r, const struct svm_token *t)
{
    int64_t index = t->index[0];
    if (!r->zeros || index >= r->nindices || !r->by_index[index] || !isfinite(t->value))
        return t->value;
    return column_scale(r->by_index[index], (double)t->value);
}

static enum skiff_status libsvm_put(struct svm_reader *svm, const struct svm_token *t,
                                    struct batch *b, struct skiff_error *err)
{
    struct reader_libsvm *r = (struct reader_libsvm *)svm;
    const struct schema *schema = r->svm.base.schema;
    int64_t index = t->index[0];
    if (index < 0)
        return error_set(err, SKIFF_RANGE, "expected an index of 0 or more, found %" PRId64, index);
    int64_t id;
    if (r->ids >= 0 && libsvm_id(r, t, &id) && !column_add_i64(&b->columns[r->ids], id))
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
        batch_dense_f32(b, r->dense)[at] = libsvm_value(r, t);
    }
    return SKIFF_OK;
}

static enum skiff_status libsvm_line(struct reader *base, const char *text, size_t n,
                                     struct batch *b, struct skiff_error *err)
{
    struct reader_libsvm *r = (struct reader_libsvm *)base;
    return svm_line(&r->svm, text, n, 1, libsvm_put, r->zeros, r->dense, b, err);
}

const struct reader_class read_libsvm = {
    .name = "libsvm",
    .summary = "libsvm: label index:value ...",
    .scales = true,
    .labels = true,
    .create = libsvm_create,
    .destroy = libsvm_destroy,
    .line = libsvm_line,
};
