/* Callbacks of ops: print ops call a Python function, and so does py_func. */
#include "native.h"

#include <stdio.h>
#include <string.h>

static PyObject *print_function, *call_function;

static void host_print(void *user, const char *text)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *s = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyObject *r =
        s && print_function ? PyObject_CallFunctionObjArgs(print_function, s, NULL) : NULL;
    Py_XDECREF(s);
    Py_XDECREF(r);
    PyErr_Clear(); /* a closed stdout ends no training */
    PyGILState_Release(gil);
}

/* A Tensor with a copy of the value; None for what is absent. */
static PyObject *tensor_copy_of(const struct skiff_tensor *t)
{
    if (!t || !strcmp(skiff_tensor_kind(t), "none"))
        Py_RETURN_NONE;
    struct skiff_error err;
    int64_t one = 1;
    struct skiff_tensor *copy = skiff_tensor_create("float32", 1, &one, &err);
    if (!copy || skiff_tensor_copy(copy, t, &err) < 0) {
        skiff_tensor_destroy(copy);
        return raise_error(&err);
    }
    return tensor_wrap(copy);
}

static PyObject *call_with(int id, const struct skiff_tensor *const *in, int nin, int nout)
{
    PyObject *args = PyList_New(0), *out = NULL;
    for (int i = 0; args && i < nin; i++) {
        PyObject *t = tensor_copy_of(in[i]);
        if (!t || PyList_Append(args, t) < 0)
            Py_CLEAR(args);
        Py_XDECREF(t);
    }
    if (args && call_function)
        out = PyObject_CallFunction(call_function, "iOi", id, args, nout);
    else if (args)
        PyErr_SetString(PyExc_RuntimeError, "py_func: no functions were registered");
    Py_XDECREF(args);
    return out;
}

/* The exception stays set: raise_error lets it through. A training's own threads have the text
 * only.
 */
static void describe(struct skiff_error *err)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    const char *what = bytes ? PyBytes_AsString(bytes) : NULL;
    PyErr_Clear();
    *err = (struct skiff_error){.code = SKIFF_INVALID};
    snprintf(err->message, sizeof err->message, "py_func: the function failed: %s",
             what ? what : "it gave no list of results");
    Py_XDECREF(text);
    Py_XDECREF(bytes);
    PyErr_Restore(type, value, trace);
}

static enum skiff_status host_call(void *user, int id, const struct skiff_tensor *const *in,
                                   int nin, struct skiff_tensor *const *out, int nout,
                                   struct skiff_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *results = call_with(id, in, nin, nout);
    bool ok = results && PyList_Check(results) && PyList_Size(results) == nout;
    for (int i = 0; ok && i < nout; i++) {
        PyObject *value = PyList_GetItem(results, i);
        if (out[i] && value != Py_None)
            ok = tensor_assign(out[i], value, NULL);
    }
    Py_XDECREF(results);
    if (!ok && err)
        describe(err);
    PyGILState_Release(gil);
    return ok ? SKIFF_OK : SKIFF_INVALID;
}

const struct skiff_host python_host = {NULL, host_print, host_call};

static PyObject *set_host(PyObject *m, PyObject *args, PyObject *keywords)
{
    PyObject *print, *call;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", KEYWORDS("print", "call"), &print,
                                     &call))
        return NULL;
    Py_INCREF(print);
    Py_INCREF(call);
    Py_XDECREF(print_function);
    Py_XDECREF(call_function);
    print_function = print;
    call_function = call;
    Py_RETURN_NONE;
}

bool host_init(PyObject *m)
{
    static PyMethodDef functions[] = {
        METHOD("set_host", set_host, "What print ops and py_func call: see _native.pyi."), {0}};
    return module_functions(m, functions);
}
