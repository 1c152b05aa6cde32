/* What libsvm and libffm lines have in common: a label, tokens of numbers joined by colons, a
 * comment behind #. */
#ifndef DATA_SVM_H
#define DATA_SVM_H

#include "data/label.h"
#include "data/reader.h"
#include "data/text.h"

/* The text without its comment; its end. */
const char *svm_cut_comment(const char *text, const char *end);
/* A line without label begins with a token that has a colon. */
bool svm_is_token(const char *p, const char *end);
/* The label at *at to its slot (-1: checked, not stored); without a rule, -1 (and below) becomes 0
 * in an int64 slot. *at moves behind it. */
enum skiff_status svm_label(const struct schema *schema, int slot, const struct label_rule *rule,
                            const char **at, const char *end, struct batch *b,
                            struct skiff_error *err);

struct svm_token {
    int64_t index[2]; /* libffm: field, index; libsvm: index */
    float value;
};

/* Parses the token p[0..n): `parts` whole numbers and a value, with colons between them. FORMAT
 * names the token. */
enum skiff_status svm_token(const char *p, size_t n, int parts, struct svm_token *out,
                            struct skiff_error *err);
/* What both readers have; `base` is the first member of theirs, and this is. */
struct svm_reader {
    struct reader base;
    int label; /* slot or -1 */
    bool skip_label;
    struct label_rule rule;
    uint64_t mod; /* of indices; 0: as they are */
};
static inline int64_t svm_index(const struct svm_reader *r, int64_t index)
{
    return r->mod ? (int64_t)((uint64_t)index % r->mod) : index;
}

/* A token of `parts` whole numbers into the slots. */
typedef enum skiff_status (*svm_put)(struct svm_reader *r, const struct svm_token *t,
                                     struct batch *b, struct skiff_error *err);

/* Label and tokens of a line, into the row that has begun. Tokens `qid:7` are skipped in libsvm.
 * Inline: `put` is then a part of the loop. */
static inline __attribute__((always_inline)) enum skiff_status
svm_fill_row(struct svm_reader *r, const char *p, const char *end, int parts, svm_put put,
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
        if (parts != 1 || stop - p < 4 || memcmp(p, "qid:", 4) != 0) {
            TRY(svm_token(p, (size_t)(stop - p), parts, &t, err));
            TRY(put(r, &t, b, err));
        }
        p = stop;
    }
}

/* The same for a whole line; zeros: of dense slot `dense`, or NULL. END: it is empty. */
static inline __attribute__((always_inline)) enum skiff_status
svm_line(struct svm_reader *r, const char *text, size_t n, int parts, svm_put put,
         const float *zeros, int dense, struct batch *b, struct skiff_error *err)
{
    const char *end = svm_cut_comment(text, text + n), *p = text_skip_blanks(text, end);
    if (p == end)
        return SKIFF_END;
    batch_row_zero_dense(b);
    if (zeros)
        memcpy(batch_dense_f32(b, dense), zeros,
               (size_t)r->base.schema->slots[dense].width * sizeof *zeros);
    enum skiff_status status = svm_fill_row(r, p, end, parts, put, b, err);
    if (status < 0) {
        batch_row_abort(b);
        return status;
    }
    return batch_row_end(b, err);
}

/* Whether the token's indices can be used: from 0 on, and there is a number above them. */
bool svm_in_range(const struct svm_token *t, int parts);

#endif
