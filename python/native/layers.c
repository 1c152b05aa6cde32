/* Layers: arguments and results of the generated bindings, operators
 * on variables, the submodule. */
#include "layers.h"

#include <string.h>

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

static bool arg_take(struct call *c, const struct layer_arg *arg, PyObject *o, union arg_value *out)
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
        out->object = o;
        return true;
    }
    return false;
}

static int arg_find(const struct layer_spec *spec, const char *name)
{
    for (int i = 0; i < spec->nargs; i++)
        if (!strcmp(spec->args[i].name, name))
            return i;
    return -1;
}

static bool args_take(struct call *c, const struct layer_spec *spec, PyObject *args,
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
        c->given[i] = o == Py_None ? IS_NONE : HAS_VALUE;
        if (o != Py_None && !arg_take(c, &spec->args[i], o, &c->a[i]))
            return false;
    }
    while (keywords && PyDict_Next(keywords, &at, &key, &value)) {
        const char *name = text_of(key, "an argument");
        int i = name ? arg_find(spec, name) : -1;
        if (i < 0 || c->given[i]) {
            PyErr_Format(PyExc_TypeError, i < 0 ? "%s has no argument %s: %s" : "%s: %s twice: %s",
                         spec->name, name, spec->signature);
            return false;
        }
        c->given[i] = value == Py_None ? IS_NONE : HAS_VALUE;
        if (value != Py_None && !arg_take(c, &spec->args[i], value, &c->a[i]))
            return false;
    }
    for (int i = 0; i < spec->required; i++)
        if (!c->given[i]) {
            PyErr_Format(PyExc_TypeError, "%s needs %s: %s", spec->name, spec->args[i].name,
                         spec->signature);
            return false;
        }
    return true;
}

bool call_begin(struct call *c, const struct layer_spec *spec, PyObject *args, PyObject *keywords)
{
    PyObject *net = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;
    c->k = (struct keep){0};
    memset(c->a, 0, (size_t)spec->nargs * sizeof(c->a[0]));
    memset(c->given, 0, sizeof(c->given));
    if (!net || !PyObject_TypeCheck(net, net_class)) {
        PyErr_Format(PyExc_TypeError, "%s: the first argument must be a Net", spec->name);
        return false;
    }
    c->object = (struct net_object *)net;
    c->net = c->object->net;
    if (args_take(c, spec, args, keywords))
        return true;
    keep_end(&c->k);
    return false;
}

const void *call_array(struct call *c, int i, const char *dtype, struct skiff_dims shape)
{
    struct array a;
    size_t want = 1, size = !strcmp(dtype, "int64") ? 8 : !strcmp(dtype, "bool") ? 1 : 4;
    if (!c->a[i].object || !array_as(&c->k, c->a[i].object, "values", dtype, &a)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "values must be an array");
        return NULL;
    }
    for (int d = 0; d < shape.n; d++)
        want *= (size_t)(shape.d[d] < 0 ? 0 : shape.d[d]);
    if (array_bytes(&a) != want * size) {
        PyErr_Format(PyExc_ValueError, "values has %zd elements, its shape %zd",
                     (Py_ssize_t)(array_bytes(&a) / size), (Py_ssize_t)want);
        return NULL;
    }
    return a.data;
}

/* ---- results ---- */

PyObject *call_var(struct call *c, struct skiff_var *v)
{
    PyObject *result = net_ok(c->object) ? var_wrap(net_main(c->object), v) : NULL;
    keep_end(&c->k);
    return result;
}

PyObject *call_vars(struct call *c, struct skiff_var *const *v, int n)
{
    PyObject *list = net_ok(c->object) ? PyList_New(n) : NULL;
    for (int i = 0; list && i < n; i++) {
        PyObject *o = var_wrap(net_main(c->object), v[i]);
        if (!o || PyList_SetItem(list, i, o) < 0)
            Py_CLEAR(list);
    }
    keep_end(&c->k);
    return list;
}

PyObject *call_tuple(struct call *c, struct skiff_var *const *v, int n)
{
    PyObject *list = call_vars(c, v, n);
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

PyObject *call_nested(struct call *c, struct skiff_var *const *v, int n, int rest)
{
    PyObject *all = call_vars(c, v, n + rest);
    PyObject *list = all ? PyList_GetSlice(all, n, n + rest) : NULL;
    if (!list || PyList_SetSlice(all, n, n + rest, NULL) < 0 || PyList_Append(all, list) < 0)
        Py_CLEAR(all);
    PyObject *tuple = all ? PyList_AsTuple(all) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(list);
    return tuple;
}

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
