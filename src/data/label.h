/* Label: from the text of a label to 0 or 1.
 *
 * With `positive` that text is 1, and any other text is 0, or only `negative`, if that is given.
 * Blanks around a text, one full stop behind it (census files end with ">50K.") and upper or lower
 * case (Yes, yes, YES) do not count, and numbers are the same when their values are: 1, 1.0, +1.
 * Without `positive` a label is a number. */
#ifndef DATA_LABEL_H
#define DATA_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct label_text {
    char *text; /* owned, padded as lines are; NULL: none */
    size_t n;
    bool is_number;
    double number;
};

struct label_rule {
    struct label_text positive, negative;
};

/* Part of label_read's message for a label that is neither of the two. */
#define LABEL_UNKNOWN "(an unknown label)"

/* Either may be NULL. INVALID: a negative without a positive, or the same twice. */
enum skiff_status label_rule_init(struct label_rule *r, const char *positive, const char *negative,
                                  struct skiff_error *err);
void label_rule_deinit(struct label_rule *r);
/* The label in text[0..n), which is padded as lines are. FORMAT: what was expected, and found. */
enum skiff_status label_read(const struct label_rule *r, const char *text, size_t n, double *out,
                             struct skiff_error *err);
/* True when both mean the same label. */
bool label_same(const char *a, size_t a_n, const char *b, size_t b_n);

#endif
