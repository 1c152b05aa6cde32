/* EagerOptimizer: updates of parameters in eager mode (skiff/eager.h).
 *
 * Parameters are given once, with their rate, regularizer and flags; a step gets the current
 * learning rate and reads the gradients from the tensors. Accumulators belong to the C optimizer
 * and are seen by name in state and set_state; missing ones are an AssertionError, as in Paddle.
 * The net is kept because its counters name the accumulators. */
#include "native.h"

#include <string.h>

struct eager_optimizer_object {
    PyObject_HEAD;
    struct skiff_eager_optimizer *opt;
    struct net_object *net; /* its counters name the accumulators */
};
static PyTypeObject *eager_optimizer_class;

static void eager_optimizer_dealloc(struct eager_optimizer_object *o)
{
    skiff_eager_optimizer_destroy(o->opt);
    Py_CLEAR(o->net);
    class_free((PyObject *)o);
}

/* (tensor, name, rate, regularizer or None, is clipped, is decayed) */
static bool parameter_of(PyObject *row, struct skiff_eager_parameter *p)
{
    PyObject *tensor, *regularizer;
    int clipped, decayed;
    if (!PyTuple_Check(row) ||
        !PyArg_ParseTuple(row, "OsdOpp", &tensor, &p->name, &p->learning_rate, &regularizer,
                          &clipped, &decayed))
        return false;
    if (p->learning_rate == 0)
        p->learning_rate = SKIFF_ZERO;
    p->no_clip = !clipped;
    p->no_decay = !decayed;
    return (p->tensor = eager_of(tensor, "a parameter")) &&
           regularizer_of(regularizer, &p->regularizer);
}

static bool options_of(struct keep *k, struct net_object *net, const char *type, PyObject *dict,
                       int generation, struct skiff_optimizer_options *o)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    const struct skiff_optimizer_info *info = optimizer_info_of(type, generation);
    while (info && PyDict_Next(dict, &at, &key, &value)) {
        const char *name = text_of(key, "an option");
        if (!name || !optimizer_option_set(k, net, info, name, value, o))
            return false;
    }
    return true;
}

/* What accumulators must be there and are not is an AssertionError in Paddle. */
static PyObject *raise_state(const struct skiff_error *err)
{
    if (PyErr_Occurred())
        return NULL;
    if (err->code != SKIFF_NOT_FOUND)
        return raise_error(err);
    PyErr_SetString(PyExc_AssertionError, err->message);
    return NULL;
}

/* EagerOptimizer(net, type, parameters, options, generation=2) */
static PyObject *eager_optimizer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *net_object, *rows, *dict;
    const char *kind;
    int generation = 2;
    struct skiff_optimizer_options o = {0};
    struct skiff_error err;
    struct keep k = {0};
    if (!PyArg_ParseTuple(args, "OsO!O!|i", &net_object, &kind, &PyList_Type, &rows, &PyDict_Type,
                          &dict, &generation))
        return NULL;
    if (!PyObject_TypeCheck(net_object, net_class)) {
        PyErr_SetString(PyExc_TypeError, "net must be a Net");
        return NULL;
    }
    struct net_object *net = (struct net_object *)net_object;
    o.generation = generation;
    int n = (int)PyList_Size(rows);
    struct eager_optimizer_object *self = (struct eager_optimizer_object *)class_alloc(type);
    struct skiff_eager_parameter *params = keep_alloc(&k, (size_t)(n + 1) * sizeof(*params));
    bool ok = self && params && options_of(&k, net, kind, dict, generation, &o);
    for (int i = 0; ok && i < n; i++)
        ok = parameter_of(PyList_GetItem(rows, i), &params[i]);
    if (ok && skiff_eager_optimizer_create(eager_engine(), kind, &o, params, n, net->net,
                                           &self->opt, &err) < 0) {
        raise_error(&err);
        ok = false;
    }
    keep_end(&k);
    if (!ok) {
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    Py_INCREF(net_object);
    self->net = net;
    return (PyObject *)self;
}

static PyObject *eager_optimizer_step(struct eager_optimizer_object *o, PyObject *rate)
{
    struct skiff_error err;
    double value;
    if (!float_of(rate, "the learning rate", &value))
        return NULL;
    if (skiff_eager_optimizer_step(o->opt, value, &err) < 0)
        return raise_state(&err);
    Py_RETURN_NONE;
}

static PyObject *eager_optimizer_clear(struct eager_optimizer_object *o, PyObject *to_zero)
{
    bool zero;
    if (!truth_of(to_zero, "set_to_zero", &zero))
        return NULL;
    skiff_eager_optimizer_clear_grad(o->opt, zero);
    Py_RETURN_NONE;
}

static PyObject *eager_optimizer_state(struct eager_optimizer_object *o, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    struct skiff_eager_tensor *t;
    const char *name;
    for (int i = 0; list && (t = skiff_eager_optimizer_accumulator(o->opt, i, &name)); i++) {
        PyObject *tensor = eager_wrap(skiff_eager_tensor_ref(t));
        PyObject *pair = tensor ? Py_BuildValue("(sN)", name, tensor) : NULL;
        if (!pair || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static PyObject *eager_optimizer_set_state(struct eager_optimizer_object *o, PyObject *dict)
{
    struct keep k = {0};
    struct skiff_error err;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int n = 0;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "a state must be a dict");
        return NULL;
    }
    size_t most = (size_t)PyDict_Size(dict) + 1;
    const char **names = keep_alloc(&k, most * sizeof(*names));
    struct skiff_eager_tensor **tensors =
        keep_alloc(&k, most * sizeof(struct skiff_eager_tensor *));
    bool ok = names && tensors;
    while (ok && PyDict_Next(dict, &at, &key, &value)) {
        names[n] = text_of(key, "a name");
        tensors[n] = names[n] ? eager_of(value, names[n]) : NULL;
        ok = tensors[n++] != NULL;
    }
    if (ok && skiff_eager_optimizer_set_state(o->opt, n, names, tensors, &err) < 0) {
        raise_state(&err);
        ok = false;
    }
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    METHOD1("step", eager_optimizer_step, "Updates the parameters that have a gradient."),
    METHOD1("clear_grad", eager_optimizer_clear, "Gradients become zeros (True) or go."),
    METHOD0("state", eager_optimizer_state, "[(name, Tensor)] of the accumulators."),
    METHOD1("set_state", eager_optimizer_set_state, "Accumulators by name."),
    {0}};
static PyType_Slot slots[] = {{Py_tp_new, eager_optimizer_new},
                              {Py_tp_dealloc, eager_optimizer_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "An optimizer of eager mode: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.EagerOptimizer", sizeof(struct eager_optimizer_object), 0,
                           Py_TPFLAGS_DEFAULT, slots};

bool eager_update_init(PyObject *m)
{
    return class_add(m, &spec, "EagerOptimizer", &eager_optimizer_class);
}
