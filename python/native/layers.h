/* What the generated bindings of layers are made with (tools/gen_bindings.py). */
#ifndef PYTHON_LAYERS_H
#define PYTHON_LAYERS_H

#include "native.h"

enum arg_type {
    ARG_VAR,
    ARG_VARS,
    ARG_DIMS,
    ARG_TEXT,
    ARG_INT,
    ARG_FLOAT,
    ARG_BOOL,
    ARG_PARAM,       /* struct skiff_param_attr * */
    ARG_INITIALIZER, /* struct skiff_initializer */
    ARG_PAIR,        /* int[2]: an int or two */
    ARG_LONGS,       /* const int64_t * with a length */
    ARG_DOUBLES,     /* const double * with a length */
    ARG_ARRAY,       /* elements of an array, by the dtype given in another argument */
};

struct layer_arg {
    const char *name;
    enum arg_type type;
    bool zero; /* an explicit 0 is told to C as SKIFF_ZERO */
};

struct layer_spec {
    const char *name, *signature;
    const struct layer_arg *args;
    int nargs, positional, required; /* in this order: required, by position too, by name only */
};

union arg_value {
    struct skiff_var *var;
    struct skiff_vars vars;
    struct skiff_dims dims;
    const char *text;
    int64_t i;
    double f;
    bool b;
    const struct skiff_param_attr *param;
    struct skiff_initializer initializer;
    int pair[2];
    struct {
        int64_t n;
        int64_t *v;
    } longs;
    struct {
        int n;
        double *v;
    } doubles;
    PyObject *object; /* ARRAY: converted by the binding */
};

enum { LAYER_ARGS_MAX = 32 };

struct call {
    struct net_object *object;
    struct skiff_net *net;
    struct keep k;
    union arg_value a[LAYER_ARGS_MAX];
    enum arg_given { NOT_GIVEN, IS_NONE, HAS_VALUE } given[LAYER_ARGS_MAX];
};

/* The arguments of a call, zeroes where one was left out; false with an exception. */
bool call_begin(struct call *c, const struct layer_spec *spec, PyObject *args, PyObject *keywords);
/* The result of a layer, or the exception of its error. */
PyObject *call_var(struct call *c, struct skiff_var *v);
PyObject *call_vars(struct call *c, struct skiff_var *const *v, int n); /* a list */
PyObject *call_tuple(struct call *c, struct skiff_var *const *v, int n);
/* A tuple of the first n and a list of the `rest` after them. */
PyObject *call_nested(struct call *c, struct skiff_var *const *v, int n, int rest);
/* Memory of an array of that type, for ARG_ARRAY; NULL with an exception. */
const void *call_array(struct call *c, int i, const char *dtype, struct skiff_dims shape);

/* Generated. */
extern PyMethodDef layer_methods[];
extern const struct layer_spec *const layer_specs[]; /* NULL at the end */

#endif
