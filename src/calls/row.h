/* A declared function: what its row in a list says, taken apart once.
 *
 *     FUNCTION("nn.functional.leaky_relu", "x, negative_slope=0.01, name=None",
 *              "leaky_relu: X=x alpha=negative_slope",
 *              "x, or negative_slope * x below zero.")
 *
 * names (messages name the first one), arguments, steps, what it does. A step is an op,
 * another function that stands before this one, a layer of src/layers (rows of fluid only), or
 * what the call gives:
 *
 *     op: TERM... [-> RESULT...] [as | aside | named NAME] [keep NAME...] [if COND]...
 *     call function: arg=VALUE... [keep NAME...] [if COND]...
 *     layer name: arg=VALUE... [check(..)...] [keep NAME...] [if COND]...
 *     give NAME... [if COND]...
 *     rule(..)... [if COND]...             only checks
 *
 * (@arg: for the op, an activation, that an argument names)
 * TERM     Slot=arg         a tensor; nothing when it is none; a slot of a list: one or more;
 *                           Slot!: its gradient ends there
 *          Slot=.           the result of the step before (at first: the first argument)
 *          Slot=fill(a,x)   a tensor, or a number made one of the type of x
 *          Slot=real(x)     x; in eager mode as float64 where it has whole numbers
 *          attr=arg         a number, text ...; not set when it is None
 *          attr=constant    1  -1.0  True  'text'  [1,0]
 *          attr|Slot=arg    an attribute, or the tensor that is given instead;
 *                           attr|Slot|List=arg: or a list with tensors in it
 *          attr=rule(..)    worked out by a rule (rules.c); no blanks
 *          rule(..)         a check
 * VALUE    an argument, a constant, a rule, . or what was kept; a layer's argument stays as it is
 *          when the value is None or of another kind (scale=scale scale_var=scale: a number or
 *          a tensor)
 * RESULT   Slot[:dtype][!][~][=arg][*rule(..)]: ! stops gradients, ~ is not returned, =arg the
 *          argument takes its place when it is given, *rule(..) is a list of so many. None: Out.
 *          They are made in this order; in programs they stand as the op declares them.
 * as       what variables of programs are named after: NAME_0.tmp_0 (else the function's name)
 * aside    the same, also when the call is given a name
 * named    the variable is NAME_0
 * called   the same, also when the call is given a name
 * keep     what the step gives may be used under that name by all later ones, as arguments are
 * if       may be unless
 * COND     arg (is not None), tensor(arg), number(arg), none(arg), whole(arg) (a tensor of whole
 *          numbers), other(arg) (a type that the first argument does not have), matrix(arg) (a
 *          tensor of two dimensions or more), ints(arg) (what real(arg) would change), or a rule
 *          that gives a truth value; a step is left out unless all of its conditions hold
 *
 * Rows of "fluid." are Paddle 1.8's functions: they have no eager mode, their ops are those of
 * 1.x, and what they make has gradients unless marked by !.
 *
 * Steps are parted by "; ". A first step "as NAME" draws the name before anything else is made. */
#ifndef CALLS_ROW_H
#define CALLS_ROW_H

#include <skiff/call.h>

enum {
    ARGS_MAX = 16,
    TERMS_MAX = 14,
    RESULTS_MAX = 6,
    STEPS_MAX = 20,
    OPERANDS_MAX = 6,
    CONDITIONS_MAX = 3,
    KEPT_MAX = 8,
};

enum takes { /* kinds of values that an argument accepts */
             TAKES_TENSOR = 1,
             TAKES_TENSORS = 2, /* a list, or one */
             TAKES_ATTR = 4,
             TAKES_MIXED = 8, /* a list with tensors in it */
             TAKES_DTYPE = 16,
             TAKES_NAME = 32,    /* the one of the call */
             TAKES_PARAM = 128,  /* of a layer */
             TAKES_UNUSED = 256, /* whatever it is, it has no effect */
             TAKES_WINDOW = 64,  /* with a list: also text, or a list of pairs (as INTS) */
};

struct row_arg {
    const char *name;
    unsigned takes;
    enum skiff_attr_type type; /* with TAKES_ATTR */
    bool any_type;             /* ... which may be any */
    bool as_text;              /* ... or written as text, in Python: "1.5" */
    bool list_only;            /* ... in Python a list or tuple, no single number */
    bool required, none_ok;    /* none_ok: required, but it may be None */
    struct skiff_value def;    /* NONE, or ATTR */
};

struct operand { /* of a rule: an argument, or a constant (arg -1) */
    int arg;
    struct skiff_value value;
};

struct call_rule;
struct layer_spec;

enum term_kind {
    TERM_SLOT,
    TERM_BEFORE,
    TERM_FILL,
    TERM_REAL,
    TERM_ATTR,
    TERM_CONST,
    TERM_EITHER,
    TERM_RULE,
    TERM_CHECK,
};
struct term {
    enum term_kind kind;
    const char *key;         /* slot or attribute */
    const char *slot, *list; /* EITHER; or NULL */
    bool stop;               /* EITHER: the tensor stops gradients */
    bool one_dim;            /* EITHER: numbers in the list have one dimension */
    int to;                  /* of a called function or layer: the argument */
    int arg;
    struct skiff_attr value; /* CONST */
    const struct call_rule *rule;
    const struct operand *operands;
    int noperands;
};

struct result {
    const char *slot, *dtype;
    bool stop, hidden;
    int in_place;                 /* argument, or -1 */
    const struct call_rule *rule; /* gives how many; NULL: one */
    const struct operand *operands;
    int noperands;
};

enum if_condition {
    IF_GIVEN,
    IF_TENSOR,
    IF_NUMBER,
    IF_NONE,
    IF_WHOLE,
    IF_OTHER,
    IF_MATRIX,
    IF_INTS,
    IF_RULE,
};
struct row_condition {
    enum if_condition kind;
    bool unless;
    int arg;
    const struct call_rule *rule; /* RULE */
    const struct operand *operands;
    int noperands;
};

struct call_step {
    const char *op;                 /* NULL: only draws the name, or checks */
    int op_arg;                     /* the argument that names the op, or -1 */
    const struct function *call;    /* instead of an op */
    const struct layer_spec *layer; /* the same; its terms' `to` are arguments of it */
    const char *as;
    bool named, aside;
    struct row_condition conditions[CONDITIONS_MAX];
    int nconditions;
    int kept[RESULTS_MAX], nkept;   /* where results are stored: numbers after the arguments */
    int gives[RESULTS_MAX], ngives; /* what the call gives */
    struct term *terms;
    struct result results[RESULTS_MAX];
    int order[RESULTS_MAX]; /* results as the op declares them: they stand so in programs */
    int nterms, nresults;
};

struct function {
    const char *names, *arguments, *ops, *text, *module; /* as declared in the row */
    const char *name;                                    /* the last word of the first name */
    struct row_arg args[ARGS_MAX + KEPT_MAX];            /* kept results follow these */
    struct call_step *steps;
    int nargs, nkept, nrequired, nsteps, name_arg;
    bool gives_list; /* not one or several */
    bool programs;   /* one of fluid, which only appends to programs */
};

/* NULL: there is none; "paddle." in front is fine. */
const struct function *function_find(const char *name);
const char *function_nearest(const char *name);
const struct function *function_at(int i, const char **out_name); /* NULL past the last */
int function_arg(const struct function *f, const char *name);     /* -1: none */

/* Runs or appends it; args: nargs values in order. */
enum skiff_status function_call(const struct function *f, const struct skiff_call_target *to,
                                const struct skiff_value *args, union skiff_handle *out,
                                int capacity, int *n, struct skiff_error *err);

/* How many tensors, its first arguments, a function takes that is nothing but one op with one
 * result; 0: it is more than that, or its op wants them in another order. */
int function_plain(const struct function *f);
/* The op of such a function, bound; args: all DEFAULT but these tensors. They and the result are
 * its numbered tensors (skiff_eager_run_bound). NULL on error. */
struct skiff_eager_bound *function_bind(const struct function *f,
                                        const struct skiff_call_target *to,
                                        const struct skiff_value *args, struct skiff_error *err);

/* ---- for parse.c ---- */

struct function_row {
    const char *names, *arguments, *ops, *text;
};
struct function_section {
    const char *module;
    const struct function_row *rows; /* ends with {0} */
};
extern const struct function_section function_sections[]; /* list.c; ends with {0} */

/* While rows are being read: a function that was read before; NULL if there is none. */
const struct function *function_before(const char *name);
/* Ends the process. */
void row_wrong(const char *names, const char *what, const char *word);

struct arena;
/* Parses a row; an error ends the process with a message that gives its position. */
void row_parse(const struct function_row *row, const char *module, struct arena *a,
               struct function *out);

#endif
