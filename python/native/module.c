/* The module: classes, exceptions, start.
 *
 * Classes are made from specs, as the limited API wants. Python packages may subclass them:
 * made_class is the class that C creates objects of, base_class the module's own, with which
 * arguments are compared. Errors of C become exceptions in one place (raise_error): the status
 * selects the type, the message is unchanged. */
#include "native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

PyTypeObject *base_class[CLASS_COUNT], *made_class[CLASS_COUNT];
PyTypeObject *net_class, *dataset_class;
static PyObject *not_found_error, *file_not_found_error, *lost_peer_error;

/* ---- classes ---- */

PyObject *class_alloc(PyTypeObject *type)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return alloc(type, 0);
}

void class_free(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(o);
    Py_DECREF(type);
}

PyObject *class_made(PyObject *o)
{
    if (!PyObject_HasAttrString(o, "_skiff_made"))
        return o;
    PyObject *r = PyObject_CallMethod(o, "_skiff_made", NULL);
    if (!r)
        Py_CLEAR(o);
    Py_XDECREF(r);
    return o;
}

bool is_a(PyObject *o, enum class_id id)
{
    return PyObject_TypeCheck(o, base_class[id]);
}

bool class_add(PyObject *m, PyType_Spec *spec, const char *name, PyTypeObject **out)
{
    PyObject *type = PyType_FromSpec(spec);
    if (!type)
        return false;
    *out = (PyTypeObject *)type;
    Py_INCREF(type); /* one for the module, one for us */
    return PyModule_AddObject(m, name, type) == 0;
}

bool module_functions(PyObject *m, PyMethodDef *functions)
{
    return PyModule_AddFunctions(m, functions) == 0;
}

static const char *const class_names[CLASS_COUNT] = {"Program", "Block",  "Var",   "Parameter",
                                                     "Op",      "Tensor", "Scope", "EagerTensor"};

static PyObject *set_classes(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (PyTuple_Size(args)) {
        PyErr_SetString(PyExc_TypeError, "set_classes takes its classes by name");
        return NULL;
    }
    while (keywords && PyDict_Next(keywords, &at, &key, &value)) {
        const char *name = text_of(key, "a class");
        int id = 0;
        while (id < CLASS_COUNT && strcmp(class_names[id], name))
            id++;
        if (id == CLASS_COUNT) {
            PyErr_Format(PyExc_TypeError, "set_classes: there is no class %s", name);
            return NULL;
        }
        if (!PyType_Check(value) || !PyType_IsSubtype((PyTypeObject *)value, base_class[id])) {
            PyErr_Format(PyExc_TypeError, "set_classes: %s must be a subclass of %s", name,
                         class_names[id]);
            return NULL;
        }
        Py_INCREF(value);
        Py_XDECREF((PyObject *)made_class[id]);
        made_class[id] = (PyTypeObject *)value;
    }
    Py_RETURN_NONE;
}

/* ---- errors ---- */

static PyObject *error_class(const struct skiff_error *err)
{
    switch (err->code) {
    case SKIFF_INVALID:
    case SKIFF_SHAPE:
    case SKIFF_FORMAT:
    case SKIFF_RANGE:
        return PyExc_ValueError;
    case SKIFF_DTYPE:
        return PyExc_TypeError;
    case SKIFF_NOT_FOUND:
        return not_found_error;
    case SKIFF_UNSUPPORTED:
        return PyExc_NotImplementedError;
    case SKIFF_NOMEM:
        return PyExc_MemoryError;
    case SKIFF_TIMEOUT:
        return PyExc_TimeoutError;
    case SKIFF_PEER:
        return lost_peer_error;
    case SKIFF_IO:
        return PyExc_OSError;
    default:
        return PyExc_RuntimeError;
    }
}

static const char *status_name(enum skiff_status code)
{
    switch (code) {
#define STATUS_NAME(name, value, text) \
    case SKIFF_##name:                 \
        return #name;
        SKIFF_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "?";
}

static PyObject *raise_as(PyObject *type, const struct skiff_error *err)
{
    PyObject *text =
        PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
    PyObject *e = NULL;
    if (!text || PyErr_Occurred()) { /* a function that C called has raised its own */
        Py_XDECREF(text);
        return NULL;
    }
    if (err->sys_errno && (err->code == SKIFF_IO || err->code == SKIFF_NOT_FOUND))
        e = PyObject_CallFunction(PyExc_OSError, "iO", err->sys_errno, text);
    else
        e = PyObject_CallFunctionObjArgs(type, text, NULL);
    Py_DECREF(text);
    if (!e)
        return NULL;
    PyObject *status = PyUnicode_FromString(status_name(err->code));
    PyObject *origin = PyUnicode_FromString(err->origin);
    if (status && origin && PyObject_SetAttrString(e, "status", status) == 0 &&
        PyObject_SetAttrString(e, "origin", origin) == 0)
        PyErr_SetObject((PyObject *)Py_TYPE(e), e);
    Py_XDECREF(status);
    Py_XDECREF(origin);
    Py_DECREF(e);
    return NULL;
}

PyObject *raise_error(const struct skiff_error *err)
{
    return raise_as(error_class(err), err);
}

PyObject *raise_file_error(const struct skiff_error *err)
{
    return raise_as(err->code == SKIFF_NOT_FOUND ? file_not_found_error : error_class(err), err);
}

bool net_ok(struct net_object *n)
{
    struct skiff_error err;
    if (skiff_net_check(n->net, &err) == SKIFF_OK)
        return true;
    skiff_net_forget(n->net);
    raise_error(&err);
    return false;
}

/* KeyError's text is the repr of its argument; ours is the message. */
static bool errors_init(PyObject *m)
{
    static const char source[] = "class NotFoundError(KeyError, ValueError):\n"
                                 "    '''A name that does not exist.'''\n"
                                 "    __module__ = 'skiff._native'\n"
                                 "    def __str__(self):\n"
                                 "        return Exception.__str__(self)\n"
                                 "class LostPeerError(ConnectionError, RuntimeError):\n"
                                 "    '''Another process of the job is gone, or has failed.'''\n"
                                 "    __module__ = 'skiff._native'\n"
                                 "class MissingFileError(FileNotFoundError, NotFoundError):\n"
                                 "    '''A file, or a variable in a file, that does not exist.'''\n"
                                 "    __module__ = 'skiff._native'\n";
    PyObject *names = PyDict_New(), *code = Py_CompileString(source, "skiff", Py_file_input);
    PyObject *done = NULL;
    if (names && code && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(code, names, names);
    if (done) {
        not_found_error = PyDict_GetItemString(names, "NotFoundError");
        file_not_found_error = PyDict_GetItemString(names, "MissingFileError");
        Py_XINCREF(not_found_error); /* one for the module, one for us */
        Py_XINCREF(not_found_error);
        Py_XINCREF(file_not_found_error);
        Py_XINCREF(file_not_found_error);
        lost_peer_error = PyDict_GetItemString(names, "LostPeerError");
        Py_XINCREF(lost_peer_error);
        Py_XINCREF(lost_peer_error);
    }
    Py_XDECREF(done);
    Py_XDECREF(code);
    Py_XDECREF(names);
    return not_found_error && file_not_found_error && lost_peer_error &&
           PyModule_AddObject(m, "NotFoundError", not_found_error) == 0 &&
           PyModule_AddObject(m, "MissingFileError", file_not_found_error) == 0 &&
           PyModule_AddObject(m, "LostPeerError", lost_peer_error) == 0;
}

/* ---- start ---- */

static PyMethodDef functions[] = {
    METHOD("set_classes", set_classes, "Names the subclasses that the module makes instances of."),
    {0}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "skiff._native",
                                        "Skiff's native module: see _native.pyi.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

static bool fill(PyObject *m)
{
    return PyModule_AddStringConstant(m, "__version__", skiff_version()) == 0 && errors_init(m) &&
           thread_pool_init(m) && program_init(m) && block_init(m) && var_init(m) && op_init(m) &&
           net_init(m) && control_init(m) && host_init(m) && optimizer_init(m) && tensor_init(m) &&
           scope_init(m) && executor_init(m) && predictor_init(m) && trainer_init(m) &&
           frame_init(m) && run_init(m) && importance_init(m) && dataset_init(m) && io_init(m) &&
           split_init(m) && metric_init(m) && fleet_init(m) && ranks_init(m) && layers_init(m) &&
           eager_init(m) && eager_update_init(m) && object_init(m) && collective_init(m) &&
           functions_init(m) && operator_init(m) && fs_init(m);
}

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *m = PyModule_Create(&definition);
    if (m && !fill(m))
        Py_CLEAR(m);
    for (int i = 0; m && i < CLASS_COUNT; i++) {
        if (!base_class[i]) /* Parameter is made as a Var until a class is named */
            base_class[i] = base_class[CLASS_VAR];
        if (!made_class[i]) {
            made_class[i] = base_class[i];
            Py_INCREF((PyObject *)made_class[i]);
        }
    }
    return m;
}
