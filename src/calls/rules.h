/* What rows cannot say as names and constants: small functions that work an attribute out of
 * arguments, or refuse them. */
#ifndef CALLS_RULES_H
#define CALLS_RULES_H

#include "base/arena.h"
#include "base/error.h"
#include "calls/row.h"

/* One call while it is carried out. */
struct calling {
    const struct function *f;
    const struct skiff_call_target *to;
    const struct skiff_value *args;
    struct arena arena; /* lists and texts, until the call is over */
    const char *prefix; /* of variables' names; NULL: not drawn yet */
    union skiff_handle before;
    bool has_before;
    struct skiff_value *kept;
    struct temporary { /* of eager mode, given back when the call is over */
        struct skiff_eager_tensor *tensor;
        struct temporary *next;
    } * temporaries;
    struct skiff_error *err;
};

/* args: values of the operands, defaults filled in. A check leaves *out alone. */
typedef enum skiff_status (*rule_fn)(struct calling *c, const struct skiff_value *const *args,
                                     int n, struct skiff_attr *out);

/* takes: a letter per operand, for arguments whose kind nothing else says: t tensor, T tensors,
 * f number, i whole number, l whole numbers, b truth, s text, d data type, w sizes of windows (a
 * number, a list, pairs, text), a anything, n anything, in Python also a number written as text. */
struct call_rule {
    const char *name, *takes;
    rule_fn run;
};
extern const struct call_rule shape_rules[];  /* rules_shape.c; ends with {0} */
extern const struct call_rule choice_rules[]; /* rules_choice.c */
extern const struct call_rule layout_rules[]; /* rules_layout.c */
extern const struct call_rule window_rules[]; /* rules_window.c */
const struct call_rule *call_rule_find(const char *name);

/* What tensors of either target say of themselves. */
int handle_ndim(const struct calling *c, union skiff_handle t);
int64_t handle_dim(const struct calling *c, union skiff_handle t, int i);
const char *handle_dtype(const struct calling *c, union skiff_handle t); /* NULL: not known */
/* "[2, 3]", in the arena */
const char *handle_text(struct calling *c, union skiff_handle t);
const char *list_text(struct calling *c, const int64_t *longs, int n);
/* fill_constant, as paddle.full calls it. */
enum skiff_status call_fill(struct calling *c, int ndim, const int64_t *dims,
                            const struct skiff_attr *number, const char *dtype,
                            union skiff_handle *out);
bool is_number(const struct skiff_attr *a);
double number_of(const struct skiff_attr *a);
/* A number as Python's str() writes it once it has the type, in the arena. */
const char *text_as(struct arena *a, const struct skiff_attr *number, const char *dtype);

#endif
