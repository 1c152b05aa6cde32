/* A function of Python that sees every op of eager mode (skiff_eager_set_observer). */
#include "native.h"

static PyObject *callable; /* NULL: none */

static enum skiff_status call_observer(void *user, const char *op, int n,
                                       struct skiff_eager_tensor *const *outs,
                                       struct skiff_error *err)
{
    PyObject *list = PyList_New(0), *function = user;
    for (int i = 0; list && i < n; i++) {
        PyObject *out = outs[i] ? eager_wrap(skiff_eager_tensor_ref(outs[i])) : NULL;
        if (out ? PyList_Append(list, out) < 0 : outs[i] != NULL)
            Py_CLEAR(list);
        Py_XDECREF(out);
    }
    Py_INCREF(function); /* it may take itself out */
    PyObject *got = list ? PyObject_CallFunction(function, "sO", op, list) : NULL;
    Py_DECREF(function);
    Py_XDECREF(list);
    if (!got) {
        *err = (struct skiff_error){.code = SKIFF_STATE};
        return SKIFF_STATE;
    }
    Py_DECREF(got);
    return SKIFF_OK;
}

static PyObject *set_observer(PyObject *self, PyObject *value)
{
    PyObject *before = callable;
    if (value != Py_None && !PyCallable_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "an observer must be callable, or None");
        return NULL;
    }
    callable = value == Py_None ? NULL : value;
    Py_XINCREF(callable);
    skiff_eager_set_observer(eager_engine(), callable ? call_observer : NULL, callable);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    METHOD1("eager_set_observer", set_observer,
            "A function(op, outputs) that is called after each op; None: no more."),
    {0}};

bool observer_init(PyObject *m)
{
    return module_functions(m, functions);
}
