/* Rules: small functions for what rows cannot express as names and constants. They compute an
 * attribute from arguments, or refuse arguments. */
#ifndef CALLS_RULES_H
#define CALLS_RULES_H

#include "base/arena.h"
#include "base/error.h"
#include "calls/row.h"

/* A call in progress. */
struct call_context {
    const struct function *f;
    const struct skiff_call_target *to;
    const struct skiff_value *args;
    struct arena arena; /* lists and texts, freed after the call */
    const char *prefix; /* prefix of variables' names; NULL until drawn */
    union skiff_handle before;
    bool has_before;
    struct skiff_value *kept;
    struct temporary { /* of eager mode, released after the call */
        struct skiff_eager_tensor *tensor;
        struct temporary *next;
    } * temporaries;
    struct skiff_error *err;
};

/* args: values of the operands, with defaults. A check leaves *out unchanged. */
typedef enum skiff_status (*rule_fn)(struct call_context *c, const struct skiff_value *const *args,
                                     int n, struct skiff_attr *out);

/* takes: a letter per operand, for arguments whose kind nothing else says: t tensor, T tensors,
 * f number, i whole number, l whole numbers, b truth, s text, d data type, w sizes of windows (a
 * number, a list, pairs, text), L the same, in Python a list or
 * tuple, p what a parameter is like, * an argument that has no effect, a
 * anything, n anything, in Python also a number written as text. */
struct call_rule {
    const char *name, *takes;
    rule_fn run;
};
extern const struct call_rule shape_rules[];  /* rules_shape.c; ends with {0} */
extern const struct call_rule choice_rules[]; /* rules_choice.c */
extern const struct call_rule layout_rules[]; /* rules_layout.c */
extern const struct call_rule window_rules[]; /* rules_window.c */
extern const struct call_rule fluid_rules[];  /* rules_fluid.c */
const struct call_rule *call_rule_find(const char *name);

/* The value of an argument, or of what was kept. */
const struct skiff_value *call_value(const struct call_context *c, int i);
enum skiff_status rule_run(struct call_context *c, const struct call_rule *rule,
                           const struct operand *operands, int n, struct skiff_attr *out);
/* A step that is a layer (layer.c). */
enum skiff_status layer_step(struct call_context *c, const struct call_step *s,
                             union skiff_handle *out, int capacity, int *n);

/* Properties of tensors of either target. */
int handle_ndim(const struct call_context *c, union skiff_handle t);
int64_t handle_dim(const struct call_context *c, union skiff_handle t, int i);
const char *dtype_word(const struct call_context *c,
                       const struct skiff_value *v);                          /* None: default */
const char *handle_dtype(const struct call_context *c, union skiff_handle t); /* NULL: not known */
/* "[2, 3]", in the arena */
const char *handle_text(struct call_context *c, union skiff_handle t);
const char *list_text(struct call_context *c, const int64_t *longs, int n);
/* fill_constant, as paddle.full calls it. */
enum skiff_status call_fill(struct call_context *c, int ndim, const int64_t *dims,
                            const struct skiff_attr *number, const char *dtype,
                            union skiff_handle *out);
bool is_number(const struct skiff_attr *a);
double number_of(const struct skiff_attr *a);
/* A number, converted to the type, as Python's str() writes it; in the arena. */
const char *text_as(struct arena *a, const struct skiff_attr *number, const char *dtype);

#endif
