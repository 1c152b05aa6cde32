#include "data/svm.h"

#include "data/text.h"

const char *svm_cut_comment(const char *text, const char *end)
{
    const char *hash = memchr(text, '#', (size_t)(end - text));
    return hash ? hash : end;
}

/* 0 or 1, as the user has set it. */
static enum skiff_status svm_ruled(const struct schema *schema, int slot,
                                   const struct label_rule *rule, const char *p, size_t n,
                                   struct batch *b, struct skiff_error *err)
{
    double value;
    enum skiff_status status = label_read(rule, p, n, &value, err);
    if (status < 0)
        return error_prefix(err, status, "label");
    if (slot < 0)
        return SKIFF_OK;
    if (schema->slots[slot].dtype == DTYPE_FP32)
        *batch_dense_f32(b, slot) = (float)value;
    else
        *batch_dense_i64(b, slot) = (int64_t)value;
    return SKIFF_OK;
}

bool svm_is_token(const char *p, const char *end)
{
    return memchr(p, ':', (size_t)(text_token_end(p, end) - p)) != NULL;
}

enum skiff_status svm_label(const struct schema *schema, int slot, const struct label_rule *rule,
                            const char **at, const char *end, struct batch *b,
                            struct skiff_error *err)
{
    const char *p = *at, *stop = text_token_end(p, end);
    char quoted[64];
    float v;
    if (rule->positive.text) {
        *at = stop;
        return svm_ruled(schema, slot, rule, p, (size_t)(stop - p), b, err);
    }
    if (text_f32(p, &v) != stop || v - v != 0)
        return error_set(err, SKIFF_FORMAT, "label: expected a number, found %s",
                         text_quote(p, (size_t)(stop - p), quoted));
    *at = stop;
    if (slot < 0)
        return SKIFF_OK;
    if (schema->slots[slot].dtype == DTYPE_FP32) {
        *batch_dense_f32(b, slot) = v;
        return SKIFF_OK;
    }
    int64_t whole;
    bool over = false;
    if (text_i64(p, &whole, &over) != stop || over) {
        if (v < -9e18f || v > 9e18f || v != (float)(int64_t)v)
            return error_set(err, SKIFF_FORMAT, "label: expected a whole number, found %s",
                             text_quote(p, (size_t)(stop - p), quoted));
        whole = (int64_t)v;
    }
    *batch_dense_i64(b, slot) = whole < 0 ? 0 : whole;
    return SKIFF_OK;
}

enum skiff_status svm_token(const char *p, size_t n, int parts, struct svm_token *out,
                            struct skiff_error *err)
{
    const char *start = p, *end = p + n;
    char quoted[64];
    bool over = false;
    for (int i = 0; i < parts; i++) {
        const char *stop = text_i64(p, &out->index[i], &over);
        if (stop == p || stop >= end || *stop != ':')
            goto bad;
        p = stop + 1;
    }
    if (p < end && text_f32(p, &out->value) == end && !over)
        return SKIFF_OK;
bad:
    return error_set(err, SKIFF_FORMAT, "expected %s, found %s",
                     parts == 1 ? "index:value" : "field:index:value",
                     text_quote(start, n, quoted));
}

bool svm_in_range(const struct svm_token *t, int parts)
{
    for (int i = 0; i < parts; i++)
        if (t->index[i] < 0 || t->index[i] == INT64_MAX)
            return false;
    return true;
}
