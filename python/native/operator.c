/* Operator: a method of Tensor with two operands (x + y), made for an op whose bound call it keeps.
 *
 * Two tensors of one type, and a tensor of float32 with a Python number, are computed here; all
 * else (other types, arrays, what is no number) is left to a function of Python's, which knows the
 * types that Paddle gives. */
#include "native.h"

#include <math.h>
#include <string.h>
#include <structmember.h>

enum { WAY_ANY, WAY_NUMBERS, WAY_FLOATS }; /* types that the op itself takes */

struct operator_object {
    PyObject_HEAD;
    vectorcall_fn call;
    const char *op; /* of the text `kind` */
    PyObject *kind, *other, *dict;
    int types;
    char reverse;
    char number; /* x op number as a scale: + - r (number - x) * / or 0: not at all */
    struct skiff_eager_bound *bound;
    struct skiff_eager_bound *scaled; /* with the number `value` */
    double value;
};

static PyTypeObject *operator_class;

static bool takes(int types, const char *dtype)
{
    bool is_float = dtype[0] == 'f' || !strcmp(dtype, "bfloat16");
    if (types == WAY_NUMBERS)
        return is_float || dtype[0] == 'i' || dtype[0] == 'u';
    return types == WAY_ANY || is_float;
}

/* A type that no kernel takes is a RuntimeError in Paddle. */
static PyObject *done(struct skiff_eager_tensor *made, enum skiff_status status,
                      struct skiff_error *err)
{
    if (status >= 0)
        return eager_wrap(made);
    skiff_eager_tensor_unref(made);
    if (err->code == SKIFF_DTYPE)
        err->code = SKIFF_STATE;
    return PyErr_Occurred() ? NULL : raise_error(err); /* a hook has raised its own */
}

static PyObject *of_tensors(struct operator_object *o, struct skiff_eager_tensor *x,
                            struct skiff_eager_tensor *y)
{
    struct skiff_error err;
    struct skiff_eager *engine = eager_engine();
    struct skiff_eager_tensor *made = skiff_eager_tensor_create(engine);
    struct skiff_eager_tensor *tensors[] = {o->reverse ? y : x, o->reverse ? x : y, made};
    if (!o->bound) {
        struct skiff_op_arg ins[] = {{"X", 1, tensors}, {"Y", 1, tensors + 1}};
        struct skiff_op_arg out = {"Out", 1, tensors + 2};
        struct skiff_op_call call = {
            .type = o->op, .ins = ins, .nins = 2, .outs = &out, .nouts = 1};
        o->bound = skiff_eager_bind(engine, &call, &err);
        if (!o->bound)
            return done(made, SKIFF_INVALID, &err);
    }
    return done(made, skiff_eager_run_bound(engine, o->bound, tensors, &err), &err);
}

/* The bound scale op; a loop mostly has the same number again. */
static struct skiff_eager_bound *scaled_by(struct operator_object *o, struct skiff_eager_tensor *x,
                                           double v, struct skiff_error *err)
{
    if (o->scaled && o->value == v)
        return o->scaled;
    double scale = o->number == 'r'   ? -1
                   : o->number == '*' ? v
                   : o->number == '/' ? (v != 0 ? 1 / v : INFINITY)
                                      : 1;
    double bias = o->number == '+' || o->number == 'r' ? v : o->number == '-' ? -v : 0;
    struct skiff_op_setting attrs[] = {{"scale", {.type = SKIFF_ATTR_FLOAT, .f = scale}},
                                       {"bias", {.type = SKIFF_ATTR_FLOAT, .f = bias}}};
    struct skiff_op_arg in = {"X", 1, &x}, out = {"Out", 1, &x};
    struct skiff_op_call call = {"scale", &in, &out, 1, 1, attrs, 2};
    skiff_eager_unbind(o->scaled);
    o->value = v;
    o->scaled = skiff_eager_bind(eager_engine(), &call, err);
    return o->scaled;
}

static PyObject *of_number(struct operator_object *o, struct skiff_eager_tensor *x, double v)
{
    struct skiff_error err;
    struct skiff_eager_tensor *tensors[] = {x, skiff_eager_tensor_create(eager_engine())};
    struct skiff_eager_bound *b = scaled_by(o, x, v, &err);
    enum skiff_status status =
        b ? skiff_eager_run_bound(eager_engine(), b, tensors, &err) : SKIFF_INVALID;
    return done(tensors[1], status, &err);
}

static PyObject *other_call(PyObject *other, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    if (n == 2 && !names)
        return PyObject_CallFunctionObjArgs(other, args[0], args[1], NULL);
    PyObject *tuple = PyTuple_New(n), *dict = PyDict_New(), *result = NULL;
    bool ok = tuple && dict;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        Py_INCREF(args[i]);
        ok = PyTuple_SetItem(tuple, i, args[i]) == 0;
    }
    for (Py_ssize_t i = 0; ok && names && i < PyTuple_Size(names); i++)
        ok = PyDict_SetItem(dict, PyTuple_GetItem(names, i), args[n + i]) == 0;
    if (ok)
        result = PyObject_Call(other, tuple, dict);
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

static PyObject *operator_vectorcall(PyObject *self, PyObject *const *args, size_t nargs,
                                     PyObject *names)
{
    struct operator_object *o = (struct operator_object *)self;
    if ((nargs & ~OFFSET_BIT) == 2 && !names &&
        PyObject_TypeCheck(args[0], base_class[CLASS_EAGER])) {
        struct skiff_eager_tensor *x = ((struct eager_object *)args[0])->t;
        const char *dtype = skiff_tensor_dtype(skiff_eager_form(x));
        if (PyObject_TypeCheck(args[1], base_class[CLASS_EAGER])) {
            struct skiff_eager_tensor *y = ((struct eager_object *)args[1])->t;
            const char *other = skiff_tensor_dtype(skiff_eager_form(y));
            if (dtype && other && !strcmp(dtype, other) && takes(o->types, dtype))
                return of_tensors(o, x, y);
        } else if (o->number && dtype && !strcmp(dtype, "float32") &&
                   (PyFloat_CheckExact(args[1]) || PyLong_CheckExact(args[1]))) {
            double v = PyFloat_AsDouble(args[1]);
            if (!PyErr_Occurred())
                return of_number(o, x, v);
            PyErr_Clear(); /* too large */
        }
    }
    return other_call(o->other, args, (Py_ssize_t)(nargs & ~OFFSET_BIT), names);
}

/* operator(kind, other, types, reverse, number) */
static PyObject *operator_make(PyObject *self, PyObject *args)
{
    PyObject *kind, *other;
    const char *number;
    int types, reverse;
    if (!PyArg_ParseTuple(args, "UOips", &kind, &other, &types, &reverse, &number))
        return NULL;
    struct operator_object *o = (struct operator_object *)class_alloc(operator_class);
    if (!o)
        return NULL;
    Py_INCREF(kind);
    Py_INCREF(other);
    o->call = operator_vectorcall;
    o->kind = kind;
    o->other = other;
    o->op = text_of(kind, "kind");
    o->types = types;
    o->reverse = (char)reverse;
    o->number = number[0];
    o->dict = PyDict_New();
    PyObject *name = PyObject_GetAttrString(other, "__name__");
    bool ok = o->op && o->dict && name && PyDict_SetItemString(o->dict, "__name__", name) == 0 &&
              PyDict_SetItemString(o->dict, "__qualname__", name) == 0;
    Py_XDECREF(name);
    if (!ok)
        Py_CLEAR(o);
    return (PyObject *)o;
}

static PyObject *operator_get(PyObject *self, PyObject *object, PyObject *type)
{
    return method_bind(self, object);
}

static void operator_dealloc(struct operator_object *o)
{
    skiff_eager_unbind(o->bound);
    skiff_eager_unbind(o->scaled);
    Py_CLEAR(o->kind);
    Py_CLEAR(o->other);
    Py_CLEAR(o->dict);
    class_free((PyObject *)o);
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct operator_object, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct operator_object, dict), READONLY, NULL},
    {0}};
static PyType_Slot slots[] = {{Py_tp_dealloc, operator_dealloc},
                              {Py_tp_call, PyVectorcall_Call},
                              {Py_tp_descr_get, operator_get},
                              {Py_tp_getattro, PyObject_GenericGetAttr},
                              {Py_tp_members, members},
                              {Py_tp_doc, "An operator of Tensor: see paddle._tensor_math."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Operator", sizeof(struct operator_object), 0,
                           Py_TPFLAGS_DEFAULT | HAS_VECTORCALL | IS_METHOD_DESCRIPTOR, slots};

static PyMethodDef functions[] = {
    {"operator", operator_make, METH_VARARGS, PyDoc_STR("A method with two operands.")}, {0}};

bool operator_init(PyObject *m)
{
    return class_add(m, &spec, "Operator", &operator_class) && module_functions(m, functions);
}
