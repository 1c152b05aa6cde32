/* Function: a callable made of a row of src/calls. Arguments are parsed here, by position and by
 * name, with Python's own TypeErrors; the rest is done in C. Mode: to which target calls go.
 *
 * The Mode object decides whether a call runs ops at once or appends them to the current program.
 * Vectorcall is used because an eager step is many short calls. */
#include "native.h"

#include <stdio.h>
#include <string.h>
#include <structmember.h>

#include "calls/row.h"

struct mode_object {
    PyObject_HEAD;
    char eager, guard;
    PyObject *trace, *dtype;
};

struct function_object {
    PyObject_HEAD;
    vectorcall_fn call;
    const struct function *f;
    PyObject *keys; /* tuple of the arguments' names */
    PyObject *dict;
    int plain; /* of so many tensors it is one op with one result, which `bound` is; 0: no */
    struct skiff_eager_bound *bound;
};

static PyTypeObject *mode_class, *function_class;
/* State of the dispatcher: the net of programs; the mode; the function that converts types to
 * numbers. */
static struct net_object *dispatch_net;
static struct mode_object *dispatch_mode;
static PyObject *dispatch_dtype;

/* ---- one call ---- */

enum { FEW = 64, MOST_RESULTS = 4096 };

struct function_call {
    const struct function *f;
    bool eager;
    PyObject *trace; /* NULL: none */
    struct keep k;
    struct skiff_value values[ARGS_MAX];
    int64_t longs[FEW]; /* of lists */
    union skiff_handle tensors[FEW];
    int used;
};

static int64_t *longs_reserve(struct function_call *c, Py_ssize_t n, union skiff_handle **tensors)
{
    if (c->used + n <= FEW) {
        c->used += (int)n;
        *tensors = c->tensors + c->used - n;
        return c->longs + c->used - n;
    }
    *tensors = keep_alloc(&c->k, (size_t)(n + 1) * sizeof(**tensors));
    return *tensors ? keep_alloc(&c->k, (size_t)(n + 1) * sizeof(int64_t)) : NULL;
}

static bool is_tensor(PyObject *o)
{
    return PyObject_TypeCheck(o, base_class[CLASS_EAGER]) || is_a(o, CLASS_VAR);
}

/* The tensor of the target. 0: o is none; -1: exception. */
static int tensor_take(struct function_call *c, PyObject *o, union skiff_handle *out)
{
    bool eager = PyObject_TypeCheck(o, base_class[CLASS_EAGER]);
    if (c->eager) {
        out->eager = eager ? ((struct eager_object *)o)->t : NULL;
        return eager;
    }
    if (is_a(o, CLASS_VAR)) {
        out->var = ((struct var_object *)o)->v;
        return 1;
    }
    if (!eager || !c->trace)
        return 0;
    PyObject *var = PyObject_CallMethod(c->trace, "variable", "O", o);
    if (!keep_object(&c->k, var))
        return -1;
    out->var = ((struct var_object *)var)->v;
    return 1;
}

static bool wrong_type(const struct function_call *c, const struct row_arg *arg, PyObject *o,
                       const char *wanted)
{
    PyErr_Format(PyExc_TypeError, "The type of '%s' in %s must be %s, but received %S.", arg->name,
                 c->f->name, wanted, Py_TYPE(o));
    return false;
}

/* ---- lists ---- */

static bool item_take(struct function_call *c, const struct row_arg *arg, PyObject *o,
                      int64_t *number, union skiff_handle *tensor)
{
    tensor->var = NULL;
    if (PyLong_Check(o))
        return int_of(o, arg->name, number);
    if (is_tensor(o) && (arg->takes & TAKES_MIXED)) {
        int got = tensor_take(c, o, tensor);
        return got > 0 || (got == 0 && wrong_type(c, arg, o, "Variable"));
    }
    if (PyIndex_Check(o))
        return int_of(o, arg->name, number);
    PyErr_Format(PyExc_TypeError, "The elements of '%s' in %s must be int, but received %S.",
                 arg->name, c->f->name, Py_TYPE(o));
    return false;
}

static bool list_take(struct function_call *c, const struct row_arg *arg, PyObject *o,
                      struct skiff_value *v);

/* A tensor of eager mode where numbers are wanted. */
static bool list_of_tensor(struct function_call *c, const struct row_arg *arg, PyObject *o,
                           struct skiff_value *v)
{
    if (!c->eager || !PyObject_TypeCheck(o, base_class[CLASS_EAGER]))
        return wrong_type(c, arg, o, "an int, list or tuple");
    PyObject *list = PyObject_CallMethod(o, "tolist", NULL);
    return keep_object(&c->k, list) && list_take(c, arg, list, v);
}

static bool list_take(struct function_call *c, const struct row_arg *arg, PyObject *o,
                      struct skiff_value *v)
{
    bool single = PyLong_Check(o), mixed = false;
    PyObject *items = o;
    if (is_tensor(o))
        return list_of_tensor(c, arg, o, v);
    if (!single && !PyList_Check(o) && !PyTuple_Check(o)) {
        items = PySequence_List(o);
        if (!items)
            PyErr_Clear();
        single = !items && PyIndex_Check(o);
        if (!items && !single)
            return wrong_type(c, arg, o, "an int, list or tuple");
        if (!single && !keep_object(&c->k, items))
            return false;
    }
    Py_ssize_t n = single ? 1 : PySequence_Size(items);
    union skiff_handle *tensors;
    int64_t *longs = longs_reserve(c, n, &tensors);
    for (Py_ssize_t i = 0; longs && i < n; i++) {
        PyObject *item = single                ? o
                         : PyList_Check(items) ? PyList_GetItem(items, i)
                                               : PyTuple_GetItem(items, i);
        longs[i] = -1;
        if (!item_take(c, arg, item, &longs[i], &tensors[i]))
            return false;
        mixed |= tensors[i].var != NULL;
    }
    v->kind = mixed ? SKIFF_VALUE_MIXED : SKIFF_VALUE_ATTR;
    v->n = (int)n;
    v->tensors = tensors;
    v->attr = (struct skiff_attr){.type = SKIFF_ATTR_LONGS, .n = (int)n, .longs = longs};
    return longs != NULL;
}

static bool tensors_take(struct function_call *c, const struct row_arg *arg, PyObject *o,
                         struct skiff_value *v)
{
    if (!PyList_Check(o) && !PyTuple_Check(o))
        return wrong_type(c, arg, o, "a list or tuple of Variables");
    Py_ssize_t n = PySequence_Size(o);
    union skiff_handle *tensors;
    if (!longs_reserve(c, n, &tensors))
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyList_Check(o) ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i);
        int got = tensor_take(c, item, &tensors[i]);
        if (got <= 0)
            return got == 0 && wrong_type(c, arg, item, "Variable");
    }
    v->kind = SKIFF_VALUE_TENSORS;
    v->n = (int)n;
    v->tensors = tensors;
    return true;
}

/* ---- single values ---- */

static bool float_take(struct function_call *c, const struct row_arg *arg, PyObject *o,
                       struct skiff_attr *out)
{
    out->type = SKIFF_ATTR_FLOAT;
    if (PyFloat_Check(o) || PyLong_Check(o)) {
        out->f = PyFloat_AsDouble(o);
        return !PyErr_Occurred();
    }
    PyObject *f = PyUnicode_Check(o) ? NULL : PyNumber_Float(o);
    if (!f) {
        PyErr_Clear();
        return wrong_type(c, arg, o, "a number");
    }
    out->f = PyFloat_AsDouble(f);
    Py_DECREF(f);
    return true;
}

/* "3" is the int, "1.5" the float; other texts raise the error of float(). */
static bool number_from_text(struct function_call *c, const struct row_arg *arg, PyObject *text,
                             struct skiff_attr *out)
{
    PyObject *number = PyObject_CallFunctionObjArgs((PyObject *)&PyLong_Type, text, NULL);
    if (!number) {
        PyErr_Clear();
        number = PyNumber_Float(text);
    }
    return keep_object(&c->k, number) && attr_of(&c->k, number, arg->name, -1, out);
}

static bool is_list_type(enum skiff_attr_type t)
{
    return t == SKIFF_ATTR_INTS || t == SKIFF_ATTR_LONGS;
}

/* "SAME", numbers, or pairs of them, which become one list. */
static bool window_take(struct function_call *c, const struct row_arg *arg, PyObject *o,
                        struct skiff_value *v)
{
    PyObject *first = PyList_Check(o) && PyList_Size(o)     ? PyList_GetItem(o, 0)
                      : PyTuple_Check(o) && PyTuple_Size(o) ? PyTuple_GetItem(o, 0)
                                                            : NULL;
    if (PyUnicode_Check(o)) {
        v->attr = (struct skiff_attr){.type = SKIFF_ATTR_STRING, .s = text_of(o, arg->name)};
        return v->attr.s != NULL;
    }
    if (!first || !(PyList_Check(first) || PyTuple_Check(first)))
        return list_take(c, arg, o, v);
    PyObject *flat = PyList_New(0);
    Py_ssize_t n = PySequence_Size(o);
    for (Py_ssize_t i = 0; flat && i < n; i++) {
        PyObject *pair = PySequence_GetItem(o, i);
        Py_ssize_t end = PyList_Size(flat);
        if (!pair || PyList_SetSlice(flat, end, end, pair) < 0)
            Py_CLEAR(flat);
        Py_XDECREF(pair);
    }
    bool ok = keep_object(&c->k, flat) && list_take(c, arg, flat, v);
    v->attr.type = SKIFF_ATTR_INTS;
    return ok;
}

static bool attr_take(struct function_call *c, const struct row_arg *arg, PyObject *o,
                      struct skiff_value *v)
{
    struct skiff_attr *out = &v->attr;
    *out = (struct skiff_attr){0};
    v->kind = SKIFF_VALUE_ATTR;
    if (arg->as_text && PyUnicode_Check(o))
        return number_from_text(c, arg, o, out);
    if (arg->any_type) /* a number, or a list of them */
        return attr_of(&c->k, o, arg->name, -1, out) &&
               ((out->type != SKIFF_ATTR_STRING && out->type != SKIFF_ATTR_STRINGS &&
                 out->type != SKIFF_ATTR_VAR) ||
                wrong_type(c, arg, o, "a number"));
    if (arg->takes & TAKES_WINDOW)
        return window_take(c, arg, o, v);
    if (arg->list_only && !PyList_Check(o) && !PyTuple_Check(o))
        return wrong_type(c, arg, o, "list or tuple");
    if (is_list_type(arg->type))
        return list_take(c, arg, o, v);
    if (c->f->programs && arg->type == SKIFF_ATTR_STRING && !PyUnicode_Check(o))
        return wrong_type(c, arg, o, "str");
    if (arg->type == SKIFF_ATTR_FLOAT || arg->type == SKIFF_ATTR_FLOAT64)
        return float_take(c, arg, o, out);
    if (arg->type == SKIFF_ATTR_BOOLEAN) {
        int truth = PyObject_IsTrue(o);
        *out = (struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN, .i = truth};
        return truth >= 0;
    }
    bool whole = arg->type == SKIFF_ATTR_INT || arg->type == SKIFF_ATTR_LONG;
    if (whole && PyUnicode_Check(o))
        return wrong_type(c, arg, o, "a number");
    if (whole && is_tensor(o)) {
        PyObject *number = PyNumber_Long(o);
        return keep_object(&c->k, number) && attr_of(&c->k, number, arg->name, (int)arg->type, out);
    }
    if (whole && PyIndex_Check(o) && !PyBool_Check(o)) {
        out->type = SKIFF_ATTR_LONG;
        return int_of(o, arg->name, &out->i);
    }
    return attr_of(&c->k, o, arg->name, (int)arg->type, out) &&
           (!whole || out->type == SKIFF_ATTR_BOOLEAN || out->type == SKIFF_ATTR_FLOAT ||
            wrong_type(c, arg, o, "an int"));
}

static bool dtype_take(struct function_call *c, PyObject *o, struct skiff_value *v)
{
    v->kind = SKIFF_VALUE_ATTR;
    v->attr = (struct skiff_attr){.type = SKIFF_ATTR_INT};
    if (PyUnicode_Check(o)) {
        const char *name = text_of(o, "dtype");
        v->attr.i = name ? skiff_dtype_number(name) : -1;
        if (v->attr.i >= 0)
            return true;
        PyErr_Clear();
    }
    PyObject *number = PyObject_CallFunctionObjArgs(dispatch_dtype, o, NULL);
    return keep_object(&c->k, number) && int_of(number, "dtype", &v->attr.i);
}

static bool value_take(struct function_call *c, int i, PyObject *o)
{
    const struct row_arg *arg = &c->f->args[i];
    struct skiff_value *v = &c->values[i];
    if (arg->takes & TAKES_UNUSED) {
        *v = (struct skiff_value){.kind = SKIFF_VALUE_NONE};
        return true;
    }
    if (o == Py_None) {
        *v = (struct skiff_value){.kind = SKIFF_VALUE_NONE};
        return !arg->required || arg->none_ok ||
               wrong_type(c, arg, o, arg->takes & TAKES_ATTR ? "a number" : "Variable");
    }
    if (arg->takes & (TAKES_TENSOR | TAKES_TENSORS)) {
        int got = tensor_take(c, o, &v->tensor);
        if (got) {
            v->kind = SKIFF_VALUE_TENSOR;
            return got > 0;
        }
    }
    if (arg->takes & TAKES_TENSORS)
        return tensors_take(c, arg, o, v);
    if (arg->takes & TAKES_PARAM) {
        v->kind = SKIFF_VALUE_PARAM;
        return param_form_of(&c->k, o, dispatch_net, &v->param);
    }
    if (arg->takes & TAKES_ATTR)
        return attr_take(c, arg, o, v);
    if (arg->takes & TAKES_DTYPE)
        return dtype_take(c, o, v);
    if (arg->takes & TAKES_NAME) {
        v->kind = SKIFF_VALUE_ATTR;
        v->attr.type = SKIFF_ATTR_STRING;
        return (v->attr.s = text_of(o, "name")) != NULL;
    }
    return wrong_type(c, arg, o, "Variable");
}

/* ---- arguments ---- */

static bool too_many(const struct function *f, Py_ssize_t n)
{
    char counts[64];
    if (f->nrequired < f->nargs)
        snprintf(counts, sizeof(counts), "from %d to %d positional arguments", f->nrequired,
                 f->nargs);
    else
        snprintf(counts, sizeof(counts), "%d positional argument%s", f->nargs,
                 f->nargs == 1 ? "" : "s");
    PyErr_Format(PyExc_TypeError, "%s() takes %s but %zd %s given", f->name, counts, n,
                 n == 1 ? "was" : "were");
    return false;
}

static bool some_missing(const struct function_call *c)
{
    char text[512] = "";
    int missing = 0, reported = 0;
    for (int i = 0; i < c->f->nrequired; i++)
        missing += c->values[i].kind == SKIFF_VALUE_DEFAULT;
    for (int i = 0; i < c->f->nrequired; i++) {
        if (c->values[i].kind != SKIFF_VALUE_DEFAULT)
            continue;
        const char *joint = !reported                ? ""
                            : reported + 1 < missing ? ", "
                            : missing > 2            ? ", and "
                                                     : " and ";
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n, "%s'%s'", joint, c->f->args[i].name);
        reported++;
    }
    PyErr_Format(PyExc_TypeError, "%s() missing %d required positional argument%s: %s", c->f->name,
                 missing, missing == 1 ? "" : "s", text);
    return false;
}

static int key_find(const struct function_object *o, PyObject *key)
{
    for (int i = 0; i < o->f->nargs; i++)
        if (PyTuple_GetItem(o->keys, i) == key)
            return i;
    const char *name = text_of(key, "an argument");
    return name ? function_arg(o->f, name) : -1;
}

static bool keyword_take(struct function_call *c, const struct function_object *o, PyObject *key,
                         PyObject *value)
{
    int i = key_find(o, key);
    if (i >= 0 && c->values[i].kind == SKIFF_VALUE_DEFAULT)
        return value_take(c, i, value);
    PyErr_Format(PyExc_TypeError,
                 i < 0 ? "%s() got an unexpected keyword argument '%U'"
                       : "%s() got multiple values for argument '%U'",
                 c->f->name, key);
    return false;
}

static bool args_take(struct function_call *c, const struct function_object *o,
                      PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    const struct function *f = c->f;
    if (n > f->nargs)
        return too_many(f, n);
    for (int i = 0; i < f->nargs; i++)
        c->values[i].kind = SKIFF_VALUE_DEFAULT;
    for (int i = 0; i < n; i++)
        if (!value_take(c, i, args[i]))
            return false;
    Py_ssize_t nnames = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < nnames; i++)
        if (!keyword_take(c, o, PyTuple_GetItem(names, i), args[n + i]))
            return false;
    for (int i = 0; i < f->nrequired; i++)
        if (c->values[i].kind == SKIFF_VALUE_DEFAULT)
            return some_missing(c);
    return true;
}

/* ---- results ---- */

static PyObject *result_wrap(const struct function_call *c, union skiff_handle t)
{
    return c->eager ? eager_wrap(t.eager) : var_wrap(net_main(dispatch_net), t.var);
}

static PyObject *results_wrap(const struct function_call *c, const union skiff_handle *out, int n)
{
    if (!c->f->gives_list && n == 1)
        return result_wrap(c, out[0]);
    PyObject *list = c->f->gives_list ? PyList_New(n) : PyTuple_New(n);
    for (int i = 0; i < n; i++) {
        PyObject *item = result_wrap(c, out[i]);
        if (!list || !item)
            Py_CLEAR(list);
        else if (c->f->gives_list)
            PyList_SetItem(list, i, item);
        else
            PyTuple_SetItem(list, i, item);
    }
    return list;
}

/* Refusals for which Paddle has a class that does not follow from the status. */
static bool raise_other_class(const struct function_call *c, const struct skiff_error *err)
{
    struct {
        const char *start;
        PyObject *type;
    } others[] = {
        {"Only one dimension value of 'shape'", PyExc_AssertionError},
        {"The input's size along the split", c->eager ? PyExc_ValueError : PyExc_AssertionError},
        {"input dim must be larger than 1", PyExc_AssertionError},
        {"The dim count of weight shape should be 1", PyExc_AssertionError},
        {"The weight size should be equal to x input channel", PyExc_AssertionError},
        {"bias_attr should not be False", PyExc_AssertionError},
        {"either min or max should be defined", PyExc_AssertionError},
        {"divisor_override cannot be 0", PyExc_ZeroDivisionError},
        {"alpha cannot be 0", PyExc_ZeroDivisionError}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (!strncmp(err->message, others[i].start, strlen(others[i].start))) {
            PyErr_SetString(others[i].type, err->message);
            return true;
        }
    return false;
}

/* Paddle's classes: two types where one is wanted are a wrong value, a type that no kernel takes is
 * a RuntimeError. */
static void raise_call_error(const struct function_call *c, struct skiff_error *err)
{
    const char *first = NULL;
    if (raise_other_class(c, err))
        return;
    if (!c->eager || err->code != SKIFF_DTYPE || strncmp(err->message, "op ", 3) != 0) {
        raise_error(err);
        return;
    }
    err->code = SKIFF_STATE;
    for (int i = 0; i < c->f->nargs; i++) {
        const struct skiff_value *v = &c->values[i];
        int n = v->kind == SKIFF_VALUE_TENSOR ? 1 : v->kind == SKIFF_VALUE_TENSORS ? v->n : 0;
        for (int k = 0; k < n; k++) {
            struct skiff_eager_tensor *t =
                v->kind == SKIFF_VALUE_TENSOR ? v->tensor.eager : v->tensors[k].eager;
            const char *dtype = skiff_tensor_dtype(skiff_eager_form(t));
            if (first && strcmp(first, dtype))
                err->code = SKIFF_INVALID;
            first = dtype;
        }
    }
    raise_error(err);
}

static struct skiff_call_target target_of(const struct function_call *c)
{
    struct skiff_call_target to = {0};
    if (dispatch_mode->dtype && PyUnicode_Check(dispatch_mode->dtype))
        to.default_dtype = text_of(dispatch_mode->dtype, "dtype");
    if (c->eager)
        to.eager = eager_engine();
    else
        to.net = dispatch_net->net;
    to.no_gradient = c->trace && !skiff_eager_noting(eager_engine());
    return to;
}

static PyObject *function_run(struct function_call *c)
{
    struct skiff_error err;
    struct skiff_call_target to = target_of(c);
    union skiff_handle few[RESULTS_MAX], *out = few;
    int capacity = RESULTS_MAX, n;
    if (c->f->gives_list) {
        capacity = MOST_RESULTS;
        out = keep_alloc(&c->k, (size_t)capacity * sizeof(*out));
        if (!out)
            return NULL;
    }
    if (function_call(c->f, &to, c->values, out, capacity, &n, &err) < 0) {
        raise_call_error(c, &err);
        return NULL;
    }
    return results_wrap(c, out, n);
}

/* A call with tensors only of a function that is one op. NULL without an exception: impossible. */
static PyObject *plain_call(struct function_object *o, PyObject *const *args)
{
    struct skiff_eager_tensor *tensors[ARGS_MAX + 1];
    int n = o->plain;
    for (int i = 0; i < n; i++) {
        if (!PyObject_TypeCheck(args[i], base_class[CLASS_EAGER]))
            return NULL;
        tensors[i] = ((struct eager_object *)args[i])->t;
    }
    if (!o->bound) {
        struct skiff_value values[ARGS_MAX] = {0};
        struct skiff_call_target to = {.eager = eager_engine()};
        for (int i = 0; i < n; i++) {
            values[i].kind = SKIFF_VALUE_TENSOR;
            values[i].tensor.eager = tensors[i];
        }
        o->bound = function_bind(o->f, &to, values, NULL);
        if (!o->bound)
            return NULL;
    }
    tensors[n] = skiff_eager_tensor_create(eager_engine());
    if (skiff_eager_run_bound(eager_engine(), o->bound, tensors, NULL) >= 0)
        return eager_wrap(tensors[n]);
    skiff_eager_tensor_unref(tensors[n]);
    return NULL; /* the long way gives the message */
}

static PyObject *function_vectorcall(PyObject *self, PyObject *const *args, size_t nargs,
                                     PyObject *names)
{
    struct function_object *o = (struct function_object *)self;
    struct function_call c;
    c.f = o->f;
    c.used = 0;
    memset(&c.k, 0, sizeof(c.k));
    if (!dispatch_mode) {
        PyErr_SetString(PyExc_RuntimeError, "import paddle before its functions are called");
        return NULL;
    }
    c.eager = dispatch_mode->eager && !c.f->programs;
    if (c.eager && o->plain && !names && (Py_ssize_t)(nargs & ~OFFSET_BIT) == o->plain) {
        PyObject *made = plain_call(o, args);
        if (made || PyErr_Occurred())
            return made;
    }
    bool traced = dispatch_mode->trace && dispatch_mode->trace != Py_None && !c.f->programs;
    c.trace = traced ? dispatch_mode->trace : NULL;
    PyObject *result =
        args_take(&c, o, args, (Py_ssize_t)(nargs & ~OFFSET_BIT), names) ? function_run(&c) : NULL;
    keep_end(&c.k);
    return result;
}

/* ---- the object ---- */

PyObject *method_bind(PyObject *callable, PyObject *object)
{
    static PyObject *method;
    if (!object || object == Py_None) {
        Py_INCREF(callable);
        return callable;
    }
    if (!method) {
        PyObject *types = PyImport_ImportModule("types");
        method = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
        Py_XDECREF(types);
    }
    return method ? PyObject_CallFunctionObjArgs(method, callable, object, NULL) : NULL;
}

static PyObject *function_get(PyObject *self, PyObject *object, PyObject *type)
{
    return method_bind(self, object);
}

static PyObject *function_repr(struct function_object *o)
{
    return PyUnicode_FromFormat("<function paddle.%s.%s>", o->f->module, o->f->name);
}

/* The name is enough for pickle and copy. */
static PyObject *function_reduce(struct function_object *o, PyObject *unused)
{
    return PyUnicode_FromString(o->f->name);
}

/* Of a lambda with the same arguments. */
static PyObject *get_signature(struct function_object *o, void *unused)
{
    PyObject *inspect = PyImport_ImportModule("inspect"), *names = PyDict_New();
    PyObject *text = PyUnicode_FromFormat("lambda %s: None", o->f->arguments);
    const char *source = text ? text_of(text, "a signature") : NULL;
    PyObject *code = source ? Py_CompileString(source, o->f->name, Py_eval_input) : NULL;
    PyObject *made = code && names ? PyEval_EvalCode(code, names, names) : NULL;
    PyObject *result =
        made && inspect ? PyObject_CallMethod(inspect, "signature", "O", made) : NULL;
    Py_XDECREF(inspect);
    Py_XDECREF(names);
    Py_XDECREF(text);
    Py_XDECREF(code);
    Py_XDECREF(made);
    return result;
}

static void function_dealloc(struct function_object *o)
{
    skiff_eager_unbind(o->bound);
    Py_CLEAR(o->keys);
    Py_CLEAR(o->dict);
    class_free((PyObject *)o);
}

static bool dict_text(PyObject *dict, const char *key, const char *text)
{
    PyObject *s = PyUnicode_FromString(text);
    bool ok = s && PyDict_SetItemString(dict, key, s) == 0;
    Py_XDECREF(s);
    return ok;
}

static PyObject *function_make(const struct function *f)
{
    struct function_object *o = (struct function_object *)class_alloc(function_class);
    char module[128];
    if (!o)
        return NULL;
    o->call = function_vectorcall;
    o->f = f;
    o->plain = function_plain(f);
    o->keys = PyTuple_New(f->nargs);
    o->dict = PyDict_New();
    snprintf(module, sizeof(module), "paddle.%s", f->module);
    bool ok = o->keys && o->dict && dict_text(o->dict, "__name__", f->name) &&
              dict_text(o->dict, "__qualname__", f->name) &&
              dict_text(o->dict, "__module__", module) && dict_text(o->dict, "__doc__", f->text);
    for (int i = 0; ok && i < f->nargs; i++)
        ok = PyTuple_SetItem(o->keys, i, PyUnicode_InternFromString(f->args[i].name)) == 0;
    if (!ok)
        Py_CLEAR(o);
    return (PyObject *)o;
}

/* functions(module) -> {name: Function} of the functions that are declared for it */
static PyObject *functions_of(PyObject *self, PyObject *args)
{
    const char *module, *name;
    const struct function *f, *before = NULL;
    PyObject *made = NULL;
    if (!PyArg_ParseTuple(args, "s", &module))
        return NULL;
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && (f = function_at(i, &name)); i++) {
        if (strcmp(f->module, module))
            continue;
        if (f != before) { /* other names of the same function follow it */
            Py_XDECREF(made);
            made = function_make(f);
        }
        before = f;
        const char *dot = strrchr(name, '.');
        if (!made || PyDict_SetItemString(dict, dot ? dot + 1 : name, made) < 0)
            Py_CLEAR(dict);
    }
    Py_XDECREF(made);
    return dict;
}

/* set_dispatcher(net, mode, type_number) */
static PyObject *set_dispatcher(PyObject *self, PyObject *args)
{
    PyObject *net, *mode, *dtype;
    if (!PyArg_ParseTuple(args, "OOO", &net, &mode, &dtype))
        return NULL;
    if (!PyObject_TypeCheck(net, net_class) || !PyObject_TypeCheck(mode, mode_class)) {
        PyErr_SetString(PyExc_TypeError, "set_dispatcher takes a Net, a Mode and a function");
        return NULL;
    }
    Py_INCREF(net);
    Py_INCREF(mode);
    Py_INCREF(dtype);
    dispatch_net = (struct net_object *)net;
    dispatch_mode = (struct mode_object *)mode;
    dispatch_dtype = dtype;
    Py_RETURN_NONE;
}

/* ---- Mode ---- */

static PyObject *mode_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct mode_object *o = (struct mode_object *)class_alloc(type);
    if (o)
        o->eager = 1;
    return (PyObject *)o;
}

static void mode_dealloc(struct mode_object *o)
{
    Py_CLEAR(o->trace);
    Py_CLEAR(o->dtype);
    class_free((PyObject *)o);
}

static PyMemberDef mode_members[] = {
    {"eager", T_BOOL, offsetof(struct mode_object, eager), 0, NULL},
    {"guard", T_BOOL, offsetof(struct mode_object, guard), 0, NULL},
    {"trace", T_OBJECT, offsetof(struct mode_object, trace), 0, NULL},
    {"dtype", T_OBJECT, offsetof(struct mode_object, dtype), 0, NULL},
    {0}};
static PyType_Slot mode_slots[] = {{Py_tp_new, mode_new},
                                   {Py_tp_dealloc, mode_dealloc},
                                   {Py_tp_members, mode_members},
                                   {Py_tp_doc, "Which mode functions work in: see paddle._mode."},
                                   {0}};
static PyType_Spec mode_spec = {"skiff._native.Mode", sizeof(struct mode_object), 0,
                                Py_TPFLAGS_DEFAULT, mode_slots};

static PyMemberDef function_members[] = {
    {"_arguments", T_OBJECT, offsetof(struct function_object, keys), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct function_object, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct function_object, dict), READONLY, NULL},
    {0}};
static PyMethodDef function_methods[] = {
    METHOD0("__reduce__", function_reduce, "Its name, for pickle and copy."), {0}};
static PyGetSetDef function_attributes[] = {
    ATTRIBUTE("__signature__", get_signature, NULL, "Its arguments, for inspect."), {0}};
static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyErr_SetString(PyExc_TypeError, "functions are declared in Skiff's src/calls");
    return NULL;
}
static PyType_Slot function_slots[] = {{Py_tp_new, function_new},
                                       {Py_tp_dealloc, function_dealloc},
                                       {Py_tp_call, PyVectorcall_Call},
                                       {Py_tp_descr_get, function_get},
                                       {Py_tp_repr, function_repr},
                                       {Py_tp_getattro, PyObject_GenericGetAttr},
                                       {Py_tp_setattro, PyObject_GenericSetAttr},
                                       {Py_tp_members, function_members},
                                       {Py_tp_methods, function_methods},
                                       {Py_tp_getset, function_attributes},
                                       {0}};
static PyType_Spec function_spec = {"skiff._native.Function", sizeof(struct function_object), 0,
                                    Py_TPFLAGS_DEFAULT | HAS_VECTORCALL | IS_METHOD_DESCRIPTOR,
                                    function_slots};

static PyMethodDef functions[] = {
    {"functions", functions_of, METH_VARARGS, PyDoc_STR("Declared functions of a module.")},
    {"set_dispatcher", set_dispatcher, METH_VARARGS,
     PyDoc_STR("Where functions go: see paddle._op.")},
    {0}};

bool functions_init(PyObject *m)
{
    return class_add(m, &mode_spec, "Mode", &mode_class) &&
           class_add(m, &function_spec, "Function", &function_class) &&
           module_functions(m, functions);
}
