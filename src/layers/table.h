/* Every layer of <skiff/layers.h> as data: its arguments by name and type, and a function that
 * calls it. For callers that have a layer's name as text: networks in YAML (cli), rows of
 * src/calls, Python (python).
 * tools/gen_layers.py makes the table from the headers.
 *
 *     struct layer_call c;
 *     layer_call_init(&c, net);
 *     c.a[i] = ...; c.given[i] = ARG_HAS_VALUE;     for the arguments of spec that are there
 *     spec->call(&c);                               c.outs[0 .. c.nouts), NULL after an error
 *     layer_call_deinit(&c); */
#ifndef LAYERS_TABLE_H
#define LAYERS_TABLE_H

#include <skiff/layers.h>

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
    ARG_ARRAY,       /* elements of the type and shape that the arguments dtype and shape say */
};

struct layer_arg {
    const char *name;
    enum arg_type type;
    bool zero; /* an explicit 0 is passed to C as SKIFF_ZERO */
    bool wide; /* INT: 64 bits, otherwise 32 */
};

enum layer_result {
    RESULT_ONE,
    RESULT_LIST,   /* any number, without names */
    RESULT_STRUCT, /* named; the last name stands for all that follow (auc's states) */
    RESULT_EXTRA,  /* one, or two when an argument asks for the second */
};

enum { LAYER_ARGS_MAX = 32, LAYER_OUTS_FEW = 8, LAYER_OUTS_MAX = 1 << 16 };

struct layer_call;

struct layer_spec {
    const char *name, *signature; /* the latter as Python writes it */
    const struct layer_arg *args;
    int nargs, positional, required; /* in this order: required, by position too, by name only */
    enum layer_result result;
    const char *names[LAYER_OUTS_FEW]; /* of results */
    int nnames;
    void (*call)(struct layer_call *c);
};

/* Pointers are borrowed until the call returns. */
union layer_value {
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
    const void *array;
};

enum arg_given { ARG_NOT_GIVEN, ARG_IS_NONE, ARG_HAS_VALUE };

struct layer_call {
    struct skiff_net *net;
    union layer_value a[LAYER_ARGS_MAX]; /* zeroes where there is none */
    enum arg_given given[LAYER_ARGS_MAX];
    struct skiff_var **outs; /* few, or memory of its own */
    int nouts;
    struct skiff_var *few[LAYER_OUTS_FEW];
};

void layer_call_init(struct layer_call *c, struct skiff_net *net);
void layer_call_deinit(struct layer_call *c);
/* Space for n results in c->outs, for layers with any number; NULL, and an error of the net, if
 * there are too many. */
struct skiff_var **layer_call_reserve(struct layer_call *c, int64_t n);

/* NULL when there is none. */
const struct layer_spec *layer_find(const char *name);
int layer_arg_find(const struct layer_spec *spec, const char *name); /* -1: none */
/* By name; NULL at the end. */
extern const struct layer_spec *const layer_specs[];

#define LAYER(name, signature) extern const struct layer_spec layer_spec_##name;
#include "layers/layer_list.h"
#undef LAYER

#endif
