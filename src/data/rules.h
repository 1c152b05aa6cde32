/* Rules: which values of a sample training would refuse, so that they are found while files are
 * read, where file and line are known, and not by an op that knows a position only. The same rules
 * serve training and `skiff check-data`: they cannot differ.
 *
 * Ownership: rules own their texts. Threads: read by many once they are made. */
#ifndef DATA_RULES_H
#define DATA_RULES_H

#include "data/batch.h"

/* Kinds of bad samples, for counting; bad_kind_text has their names. */
enum bad_kind {
    BAD_FORM, /* the line cannot be read */
    BAD_EMPTY_LINE,
    BAD_NO_LABEL,
    BAD_NAME, /* a slot's name misspelt */
    BAD_LABEL,
    BAD_NUMBER, /* nan, inf */
    BAD_ID,
    BAD_KINDS
};
const char *bad_kind_text(enum bad_kind kind);

struct slot_rule {
    int64_t limit; /* int64: values are 0 .. limit - 1; 0: any */
    int64_t also;  /* this one as well, when has_also (padding_idx, ignore_index) */
    bool has_also;
    bool label;  /* it is the label; of float32 ones 0 .. 1 are taken */
    bool finite; /* float32: neither nan nor infinite */
    bool weight; /* float32: finite, and 0 at least */
    char *why;   /* where the limit comes from: `table "emb" has 100 rows`; NULL: nowhere */
};

struct data_rules {
    struct slot_rule *slots; /* in the order of the schema */
    int count;               /* slots behind them have no rule */
};

void rules_init(struct data_rules *r, int count);
void rules_deinit(struct data_rules *r);
void rules_copy(struct data_rules *to, const struct data_rules *from);
/* Limits values of the slot to 0 .. limit - 1, unless a lower limit is set already. `why` is
 * copied. */
void rules_limit(struct data_rules *r, int slot, int64_t limit, const char *why);

/* Whether rows from `from` on satisfy the rules; one pass over the columns without branches. */
bool rules_hold(const struct data_rules *r, const struct batch *b, int64_t from);

/* The first value that breaks a rule. */
struct breach {
    enum bad_kind kind;
    int slot;
    size_t at; /* in the column */
};
bool rules_breach(const struct data_rules *r, const struct batch *b, int64_t row,
                  struct breach *out);
/* Sets the error message: slot, expected, found. found: the value as written in the file, or NULL.
 * Returns RANGE. */
enum skiff_status rules_word(const struct data_rules *r, const struct batch *b,
                             const struct breach *breach, const char *found,
                             struct skiff_error *err);

#endif
