/* What an optimizer is: a row of optimizer_list.h as a struct. Two tables are made from the list,
 * one for programs of 1.x and one for those of 2.x, so that everything in a row simply holds for
 * its generation. */
#ifndef RULES_OPTIMIZER_H
#define RULES_OPTIMIZER_H

#include <math.h>

#include <skiff/optimizer.h>

#include "rules/rule.h"

enum optimizer_flag {
    OPTIMIZER_SPARSE = 1,           /* takes gradients of selected rows */
    OPTIMIZER_ROWS_ONCE = 2,        /* and applies them one by one, not merged: no states */
    OPTIMIZER_EMPTY_IS_NOTHING = 4, /* a gradient without rows leaves everything as it is */
    OPTIMIZER_DECAY_INSIDE =
        8,                /* the op does L2 decay: regularization_method, regularization_coeff */
    OPTIMIZER_LISTS = 16, /* every slot of its op lists any number of variables */
    OPTIMIZER_SEED = 32,  /* the op draws numbers: attribute seed */
    /* Paddle's eager mode multiplies float64 powers by betas of float64, the op here by float32
     * ones: they start at the float32 value, or 1 - beta^t would no longer match 1 - beta */
    OPTIMIZER_ROUNDED_POWERS = 64,
    OPTIMIZER_NO_SPARSE_DECAY = 128, /* eager mode refuses weight decay with sparse gradients */
    OPTIMIZER_TO_D2SUM = 256,        /* strategy.adam_d2sum puts adam_d2sum in its place */
    OPTIMIZER_FEATURES = 512,        /* sparse tables take over its settings (hint.* lines) */
    OPTIMIZER_LOOKUP_TABLE = 1024,   /* the distributed look-up tables of Fluid 1.8 run it */
};

/* No such field: of an accumulator that starts at 0, of an attribute that nobody sets. */
#define OPTIMIZER_NO_FIELD SIZE_MAX
/* Preset of a setting that must be given. */
#define OPTIMIZER_NEEDED ((double)NAN)

/* Fields are offsets in struct skiff_optimizer_options. */
struct optimizer_accumulator {
    const char *name;     /* suffix of the variable */
    const char *in, *out; /* slots of the op; out NULL: not written */
    size_t start;         /* field with its first value */
    bool scalar;          /* [1], one for the tensor; otherwise as the parameter, and cut with it */
    bool on_cpu;          /* its initializer op says op_device cpu */
    const char *scaled_in; /* not NULL: a scale op by `start` advances it, in this name scope */
};

enum optimizer_attr_kind { OPTIMIZER_NUMBER, OPTIMIZER_TRUTH, OPTIMIZER_ANSWER };

/* An attribute of the op: where a program's comes from, and where the rule reads it. */
struct optimizer_attr {
    const char *name;
    enum optimizer_attr_kind kind;
    size_t field;  /* OPTIMIZER_NO_FIELD: nobody sets it */
    size_t unless; /* field of a test: 0 for parameters that pass it */
    size_t rule;   /* offset in struct rule_params */
};

struct optimizer_kind {
    struct skiff_optimizer_info info;
    const struct rule *rule;
    bool second_gen; /* for the rule: as Paddle 2.x defines it */
    unsigned flags;
    const char *no_server; /* why servers cannot run it; NULL: they can */
    const struct optimizer_accumulator *accumulators; /* ends with {0}: states of the rule in its
                                                         order, then its scalars */
    const struct optimizer_attr *attrs;               /* ends with {0} */
    /* Inputs whose values follow a weight in the files of dense tables ("": zeros), ends with NULL.
     * An empty list: those with an element for each of the parameter's. */
    const char *const *columns;
};

/* All of a generation (1 or 2), also those that are only ops (class_name NULL); ends with {0}. */
const struct optimizer_kind *optimizer_kinds(int generation);
/* By the type of its op; NULL: there is none. */
const struct optimizer_kind *optimizer_kind_find(const char *type, int generation);
/* Is this input of its op an accumulator? */
bool optimizer_kind_holds(const struct optimizer_kind *kind, const char *in);

#endif
