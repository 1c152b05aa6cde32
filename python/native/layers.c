/* Layers: one function for each row of the table in src/layers/table.h, which lists its arguments
 * and results; operators on variables; the submodule.
 *
 * The table is generated from the headers, so that a layer declared in C is in Python without code
 * here. One function reads the arguments of all rows by their types, and one builds all results.
 * Arrays of initial values get their type from other arguments, and are therefore converted
 * last. */
#include "layers/table.h"

#include <string.h>

#include "native.h"

struct layer_build {
    struct layer_call c;
    struct net_object *object;
    struct keep k;
    PyObject *array; /* of an ARG_ARRAY, until its type and shape are known */
};

/* ---- arguments ---- */

static bool pair_of(PyObject *o, const char *what, int out[2])
{
    struct skiff_dims d;
    if (!dims_of(o, what, &d))
        return false;
    if (d.n != 1 && d.n != 2) {
        PyErr_Format(PyExc_ValueError, "%s must be one int or two", what);
        return false;
    }
    out[0] = (int)d.d[0];
    out[1] = (int)d.d[d.n - 1];
    return true;
}

static bool arg_take(struct layer_build *c, const struct layer_arg *arg, PyObject *o,
                     union layer_value *out)
{
    struct skiff_var **vars;
    switch (arg->type) {
    case ARG_VAR:
        return (out->var = var_of(o, arg->name)) != NULL;
    case ARG_VARS:
        if (!vars_of(&c->k, o, arg->name, &vars, &out->vars.n))
            return false;
        out->vars.v = vars;
        return true;
    case ARG_DIMS:
        return dims_of(o, arg->name, &out->dims);
    case ARG_TEXT:
        return (out->text = text_of(o, arg->name)) != NULL;
    case ARG_INT:
        if (!int_of(o, arg->name, &out->i))
            return false;
        if (!arg->wide && out->i != (int)out->i) {
            PyErr_Format(PyExc_OverflowError, "%s: %lld does not fit into 32 bits", arg->name,
                         (long long)out->i);
            return false;
        }
        if (arg->zero && out->i == 0)
            out->i = SKIFF_ZERO;
        return true;
    case ARG_FLOAT:
        if (!float_of(o, arg->name, &out->f))
            return false;
        if (arg->zero && out->f == 0)
            out->f = SKIFF_ZERO;
        return true;
    case ARG_BOOL:
        return truth_of(o, arg->name, &out->b);
    case ARG_PARAM:
        return param_attr_of(&c->k, o, c->object, &out->param);
    case ARG_INITIALIZER:
        return initializer_of(&c->k, o, &out->initializer);
    case ARG_PAIR:
        return pair_of(o, arg->name, out->pair);
    case ARG_LONGS:
        return longs_of(&c->k, o, arg->name, &out->longs.v, &out->longs.n);
    case ARG_DOUBLES:
        return doubles_of(&c->k, o, arg->name, &out->doubles.v, &out->doubles.n);
    case ARG_ARRAY:
        c->array = o;
        return true;
    }
    return false;
}

static bool args_take(struct layer_build *c, const struct layer_spec *spec, PyObject *args,
                      PyObject *keywords)
{
    Py_ssize_t n = PyTuple_Size(args) - 1, at = 0;
    PyObject *key, *value;
    if (n > spec->positional) {
        PyErr_Format(PyExc_TypeError, "%s: %zd arguments by position, at most %d: %s", spec->name,
                     n, spec->required, spec->signature);
        return false;
    }
    for (int i = 0; i < n; i++) {
        PyObject *o = PyTuple_GetItem(args, i + 1);
        c->c.given[i] = o == Py_None ? ARG_IS_NONE : ARG_HAS_VALUE;
        if (o != Py_None && !arg_take(c, &spec->args[i], o, &c->c.a[i]))
            return false;
    }
    while (keywords && PyDict_Next(keywords, &at, &key, &value)) {
        const char *name = text_of(key, "an argument");
        int i = name ? layer_arg_find(spec, name) : -1;
        if (i < 0 || c->c.given[i]) {
            PyErr_Format(PyExc_TypeError, i < 0 ? "%s has no argument %s: %s" : "%s: %s twice: %s",
                         spec->name, name, spec->signature);
            return false;
        }
        c->c.given[i] = value == Py_None ? ARG_IS_NONE : ARG_HAS_VALUE;
        if (value != Py_None && !arg_take(c, &spec->args[i], value, &c->c.a[i]))
            return false;
    }
    for (int i = 0; i < spec->required; i++)
        if (!c->c.given[i]) {
            PyErr_Format(PyExc_TypeError, "%s needs %s: %s", spec->name, spec->args[i].name,
                         spec->signature);
            return false;
        }
    return true;
}

/* The memory of an ARG_ARRAY, in the type and shape of two other arguments. */
static bool array_take(struct layer_build *c, const struct layer_spec *spec,
                       const struct layer_arg *arg, union layer_value *out)
{
    const char *dtype = c->c.a[layer_arg_find(spec, "dtype")].text;
    const struct skiff_dims *shape = &c->c.a[layer_arg_find(spec, "shape")].dims;
    size_t want = 1, size;
    struct array_view a;
    if (!c->array || !dtype) {
        PyErr_Format(PyExc_TypeError, "%s must be an array, and dtype its type", arg->name);
        return false;
    }
    if (!array_as(&c->k, c->array, arg->name, dtype, &a))
        return false;
    size = !strcmp(dtype, "int64") ? 8 : !strcmp(dtype, "bool") ? 1 : 4;
    for (int d = 0; d < shape->n; d++)
        want *= (size_t)(shape->d[d] < 0 ? 0 : shape->d[d]);
    if (array_bytes(&a) != want * size) {
        PyErr_Format(PyExc_ValueError, "%s has %zd elements, its shape %zd", arg->name,
                     (Py_ssize_t)(array_bytes(&a) / size), (Py_ssize_t)want);
        return false;
    }
    out->array = a.data;
    return true;
}

static bool arrays_take(struct layer_build *c, const struct layer_spec *spec)
{
    for (int i = 0; i < spec->nargs; i++)
        if (spec->args[i].type == ARG_ARRAY && !array_take(c, spec, &spec->args[i], &c->c.a[i]))
            return false;
    return true;
}

/* ---- results ---- */

static PyObject *vars_list(struct layer_build *c, int from, int to)
{
    PyObject *list = PyList_New(to - from);
    for (int i = from; list && i < to; i++) {
        PyObject *o = var_wrap(net_main(c->object), c->c.outs[i]);
        if (!o || PyList_SetItem(list, i - from, o) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* A tuple, one for each name; the last name's may be a list. */
static PyObject *vars_tuple(struct layer_build *c, int names)
{
    int singles = c->c.nouts > names ? names - 1 : c->c.nouts;
    PyObject *all = vars_list(c, 0, singles);
    if (all && singles < c->c.nouts) {
        PyObject *rest = vars_list(c, singles, c->c.nouts);
        if (!rest || PyList_Append(all, rest) < 0)
            Py_CLEAR(all);
        Py_XDECREF(rest);
    }
    PyObject *tuple = all ? PyList_AsTuple(all) : NULL;
    Py_XDECREF(all);
    return tuple;
}

static PyObject *call_result(struct layer_build *c, const struct layer_spec *spec)
{
    if (!net_ok(c->object))
        return NULL;
    if (spec->result == RESULT_LIST)
        return vars_list(c, 0, c->c.nouts);
    if (spec->result == RESULT_STRUCT || c->c.nouts > 1)
        return vars_tuple(c, spec->nnames);
    return var_wrap(net_main(c->object), c->c.outs[0]);
}

static PyObject *call_layer(const struct layer_spec *spec, PyObject *args, PyObject *keywords)
{
    PyObject *net = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL, *result = NULL;
    struct layer_build c = {.array = NULL};
    if (!net || !PyObject_TypeCheck(net, net_class)) {
        PyErr_Format(PyExc_TypeError, "%s: the first argument must be a Net", spec->name);
        return NULL;
    }
    c.object = (struct net_object *)net;
    layer_call_init(&c.c, c.object->net);
    if (args_take(&c, spec, args, keywords) && arrays_take(&c, spec)) {
        spec->call(&c.c);
        result = call_result(&c, spec);
    }
    layer_call_deinit(&c.c);
    keep_end(&c.k);
    return result;
}

#define LAYER(name, signature)                                                        \
    static PyObject *layer_##name(PyObject *self, PyObject *args, PyObject *keywords) \
    {                                                                                 \
        return call_layer(&layer_spec_##name, args, keywords);                        \
    }
#include "layers/layer_list.h"
#undef LAYER

static PyMethodDef layer_methods[] = {
#define LAYER(name, signature) METHOD(#name, layer_##name, signature),
#include "layers/layer_list.h"
#undef LAYER
    {0}};

/* ---- operators ---- */

static const struct {
    const char *text;
    enum skiff_operator op;
} operators[] = {{"+", SKIFF_ADD},  {"-", SKIFF_SUB},       {"*", SKIFF_MUL}, {"/", SKIFF_DIV},
                 {"**", SKIFF_POW}, {"//", SKIFF_FLOORDIV}, {"%", SKIFF_MOD}, {"==", SKIFF_EQ},
                 {"!=", SKIFF_NE},  {"<", SKIFF_LT},        {"<=", SKIFF_LE}, {">", SKIFF_GT},
                 {">=", SKIFF_GE}};

static bool operator_of(const char *text, enum skiff_operator *out)
{
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (!strcmp(text, operators[i].text)) {
            *out = operators[i].op;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "there is no operator %s on variables", text);
    return false;
}

static PyObject *var_result(struct net_object *n, struct skiff_var *v)
{
    return net_ok(n) ? var_wrap(net_main(n), v) : NULL;
}

static PyObject *var_op(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *net, *a, *b;
    const char *text;
    enum skiff_operator op;
    double number;
    struct skiff_var *v;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!sOO", KEYWORDS("net", "op", "a", "b"),
                                     net_class, &net, &text, &a, &b) ||
        !operator_of(text, &op))
        return NULL;
    struct net_object *n = (struct net_object *)net;
    bool left = is_a(a, CLASS_VAR), right = is_a(b, CLASS_VAR);
    if (left && right) {
        v = skiff_var_op(n->net, op, var_of(a, "a"), var_of(b, "b"));
    } else if (left) {
        if (!float_of(b, "the right side of an operator", &number))
            return NULL;
        v = skiff_var_op_scalar(n->net, op, var_of(a, "a"), number);
    } else {
        if (!float_of(a, "the left side of an operator", &number) || !var_of(b, "b"))
            return NULL;
        v = skiff_scalar_op_var(n->net, op, number, var_of(b, "b"));
    }
    return var_result(n, v);
}

static PyObject *var_neg(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *net, *a;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O", KEYWORDS("net", "a"), net_class, &net,
                                     &a) ||
        !var_of(a, "a"))
        return NULL;
    struct net_object *n = (struct net_object *)net;
    return var_result(n, skiff_var_neg(n->net, var_of(a, "a")));
}

static PyObject *var_astype(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *net, *a;
    const char *dtype;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!Os", KEYWORDS("net", "a", "dtype"),
                                     net_class, &net, &a, &dtype) ||
        !var_of(a, "a"))
        return NULL;
    struct net_object *n = (struct net_object *)net;
    return var_result(n, skiff_var_astype(n->net, var_of(a, "a"), dtype));
}

/* ---- the submodule ---- */

static PyMethodDef functions[] = {
    METHOD("var_op", var_op, "a op b on variables; one of them may be a number."),
    METHOD("var_neg", var_neg, "-a"),
    METHOD("var_astype", var_astype, "a in another data type."),
    {0}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "skiff._native.layers",
                                        "One function per layer: see _native.pyi.",
                                        -1,
                                        layer_methods,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

bool layers_init(PyObject *m)
{
    PyObject *layers = PyModule_Create(&definition), *signatures = PyDict_New();
    bool ok = layers && signatures;
    for (int i = 0; ok && layer_specs[i]; i++) {
        PyObject *text = PyUnicode_FromString(layer_specs[i]->signature);
        ok = text && PyDict_SetItemString(signatures, layer_specs[i]->name, text) == 0;
        Py_XDECREF(text);
    }
    if (!ok || PyModule_AddObject(layers, "_signatures", signatures) < 0 ||
        PyModule_AddObject(m, "layers", layers) < 0)
        return false;
    return module_functions(m, functions);
}
