/* What libsvm and libffm lines have in common: a label, tokens of numbers joined by colons, a
 * comment behind #. */
#ifndef DATA_SVM_H
#define DATA_SVM_H

#include "data/label.h"
#include "data/reader.h"

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
/* Whether the token's indices can be used: from 0 on, and there is a number above them. */
bool svm_in_range(const struct svm_token *t, int parts);

#endif
