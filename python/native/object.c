/* Objects in files: what paddle.save and paddle.load write and read beyond states (skiff/io.h).
 *
 * Python objects are walked here and written by C's pickler, not by Python's pickle, so that the
 * bytes are Paddle's in every version of Python. Reading gives only lists, dicts, numbers, texts
 * and Tensors: no code from a file runs. An object that is reached twice is one object again, also
 * if it contains itself. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

struct writing {
    struct skiff_pickler *to;
    struct keep keep;
    struct skiff_tensor *spare; /* looks at an array's memory */
    PyObject *array, *scalar;   /* numpy's classes */
    bool names;                 /* a Tensor is (name, array); otherwise the array alone */
};

static bool write_value(struct writing *w, PyObject *o);

static bool fits(enum skiff_status status, const struct skiff_error *err)
{
    if (status < 0)
        raise_error(err);
    return status == SKIFF_OK;
}

static bool write_text(struct writing *w, PyObject *o)
{
    struct skiff_error err;
    Py_ssize_t n;
    const char *text = PyUnicode_AsUTF8AndSize(o, &n);
    return text && fits(skiff_pickler_text(w->to, text, (size_t)n, &err), &err);
}

static bool write_bytes(struct writing *w, PyObject *o)
{
    struct skiff_error err;
    char *bytes;
    Py_ssize_t n;
    return PyBytes_AsStringAndSize(o, &bytes, &n) == 0 &&
           fits(skiff_pickler_bytes(w->to, bytes, (size_t)n, &err), &err);
}

static bool write_dict(struct writing *w, PyObject *o)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    skiff_pickler_begin(w->to, SKIFF_OBJECT_DICT);
    while (PyDict_Next(o, &at, &key, &value))
        if (!write_value(w, key) || !write_value(w, value))
            return false;
    skiff_pickler_finish(w->to, SKIFF_OBJECT_DICT);
    return true;
}

static bool write_sequence(struct writing *w, PyObject *o, enum skiff_object_kind kind)
{
    skiff_pickler_begin(w->to, kind);
    for (Py_ssize_t i = 0; i < PySequence_Size(o); i++) {
        PyObject *item = PySequence_GetItem(o, i);
        bool ok = item && write_value(w, item);
        Py_XDECREF(item);
        if (!ok)
            return false;
    }
    skiff_pickler_finish(w->to, kind);
    return true;
}

static bool write_tensor(struct writing *w, PyObject *o)
{
    struct skiff_error err;
    struct skiff_tensor *value = skiff_eager_value(((struct eager_object *)o)->t);
    PyObject *name = w->names ? PyObject_GetAttrString(o, "name") : NULL;
    if (w->names && !name)
        return false;
    if (w->names)
        skiff_pickler_begin(w->to, SKIFF_OBJECT_TUPLE);
    bool ok = (!name || write_text(w, name)) && fits(skiff_pickler_array(w->to, value, &err), &err);
    if (w->names)
        skiff_pickler_finish(w->to, SKIFF_OBJECT_TUPLE);
    Py_XDECREF(name);
    return ok;
}

static bool write_array(struct writing *w, PyObject *o)
{
    struct skiff_error err;
    const struct skiff_tensor *t = feed_of(&w->keep, o, "an array", NULL, &w->spare);
    return t && fits(skiff_pickler_array(w->to, t, &err), &err);
}

static bool write_int(struct writing *w, PyObject *o)
{
    int64_t v;
    if (!int_of(o, "an int", &v))
        return false;
    skiff_pickler_int(w->to, v);
    return true;
}

static bool write_scalar(struct writing *w, PyObject *o)
{
    PyObject *number = PyObject_CallMethod(o, "item", NULL);
    bool ok = number && write_value(w, number);
    Py_XDECREF(number);
    return ok;
}

static bool write_known(struct writing *w, PyObject *o)
{
    if (o == Py_None)
        skiff_pickler_none(w->to);
    else if (PyBool_Check(o))
        skiff_pickler_bool(w->to, o == Py_True);
    else if (PyFloat_Check(o))
        skiff_pickler_float(w->to, PyFloat_AsDouble(o));
    else if (PyLong_Check(o))
        return write_int(w, o);
    else if (PyUnicode_Check(o))
        return write_text(w, o);
    else if (PyBytes_Check(o))
        return write_bytes(w, o);
    else if (PyDict_Check(o))
        return write_dict(w, o);
    else if (PyList_Check(o) || PyTuple_Check(o))
        return write_sequence(w, o, PyList_Check(o) ? SKIFF_OBJECT_LIST : SKIFF_OBJECT_TUPLE);
    else if (PyObject_TypeCheck(o, base_class[CLASS_EAGER]))
        return write_tensor(w, o);
    else if (PyObject_TypeCheck(o, base_class[CLASS_TENSOR]) || PyObject_IsInstance(o, w->array))
        return write_array(w, o);
    else if (PyObject_IsInstance(o, w->scalar))
        return write_scalar(w, o);
    else {
        PyErr_Format(
            PyExc_ValueError,
            "paddle.save cannot write a %R: it writes numbers, texts, arrays, tensors, and "
            "lists, tuples and dicts of them (of a Layer: its state_dict())",
            Py_TYPE(o));
        return false;
    }
    return true;
}

static bool write_value(struct writing *w, PyObject *o)
{
    if (Py_EnterRecursiveCall(" while an object is saved"))
        return false;
    bool ok = write_known(w, o);
    Py_LeaveRecursiveCall();
    return ok;
}

static bool numpy_classes(struct writing *w)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    w->array = numpy ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
    w->scalar = w->array ? PyObject_GetAttrString(numpy, "generic") : NULL;
    Py_XDECREF(numpy);
    return w->scalar != NULL;
}

/* write_object(path or None, object, protocol, names) -> None, or bytes without a path */
static PyObject *write_object(PyObject *self, PyObject *args)
{
    PyObject *path_object, *o, *result = NULL;
    int protocol, names;
    struct writing w = {0};
    struct skiff_error err;
    void *bytes = NULL;
    size_t n = 0;
    if (!PyArg_ParseTuple(args, "OOip", &path_object, &o, &protocol, &names))
        return NULL;
    bool in_memory = path_object == Py_None;
    const char *path = in_memory ? NULL : path_of(&w.keep, path_object, "path");
    w.names = names;
    if ((!in_memory && !path) || !numpy_classes(&w))
        goto out;
    if (UNLOCKED(skiff_pickler_open(path, protocol, &w.to, &err)) < 0) {
        raise_file_error(&err);
        goto out;
    }
    if (!write_value(&w, o)) {
        skiff_pickler_close(w.to);
    } else if (UNLOCKED(skiff_pickler_end(w.to, &bytes, &n, &err)) < 0) {
        raise_file_error(&err);
    } else {
        result = in_memory ? PyBytes_FromStringAndSize(bytes, (Py_ssize_t)n) : Py_None;
        if (!in_memory)
            Py_INCREF(result);
    }
out:
    free(bytes);
    skiff_tensor_destroy(w.spare);
    Py_XDECREF(w.array);
    Py_XDECREF(w.scalar);
    keep_end(&w.keep);
    return result;
}

/* ---- reading ---- */

struct pickle_reader {
    struct skiff_pickle *from;
    PyObject *known; /* dict: address -> object, for objects that occur several times */
};

static PyObject *read_value(struct pickle_reader *r, const struct skiff_object *o);

static PyObject *read_array(struct pickle_reader *r, const struct skiff_object *o)
{
    struct skiff_tensor *t;
    struct skiff_error err;
    if (skiff_object_array(r->from, o, &t, &err) < 0)
        return raise_error(&err);
    return eager_wrap(skiff_eager_tensor_take(eager_engine(), t));
}

static bool remember(struct pickle_reader *r, const struct skiff_object *o, PyObject *made)
{
    PyObject *key = PyLong_FromVoidPtr((void *)(uintptr_t)o);
    bool ok = key && PyDict_SetItem(r->known, key, made) == 0;
    Py_XDECREF(key);
    return ok;
}

static bool fill_dict(struct pickle_reader *r, const struct skiff_object *o, PyObject *dict)
{
    bool ok = true;
    for (size_t i = 0; ok && i + 1 < skiff_object_count(o); i += 2) {
        PyObject *key = read_value(r, skiff_object_item(o, i));
        PyObject *value = key ? read_value(r, skiff_object_item(o, i + 1)) : NULL;
        ok = value && PyDict_SetItem(dict, key, value) == 0;
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return ok;
}

static bool fill_list(struct pickle_reader *r, const struct skiff_object *o, PyObject *list)
{
    bool ok = true;
    for (size_t i = 0; ok && i < skiff_object_count(o); i++) {
        PyObject *item = read_value(r, skiff_object_item(o, i));
        ok = item && PyList_Append(list, item) == 0;
        Py_XDECREF(item);
    }
    return ok;
}

/* Remembered before it is filled, as it may hold itself. */
static PyObject *read_container(struct pickle_reader *r, const struct skiff_object *o,
                                enum skiff_object_kind kind)
{
    PyObject *made = kind == SKIFF_OBJECT_DICT ? PyDict_New() : PyList_New(0), *tuple;
    bool ok = made && (kind == SKIFF_OBJECT_TUPLE || remember(r, o, made)) &&
              (kind == SKIFF_OBJECT_DICT ? fill_dict(r, o, made) : fill_list(r, o, made));
    if (ok && kind == SKIFF_OBJECT_TUPLE) {
        tuple = PyList_AsTuple(made);
        Py_DECREF(made);
        made = tuple;
        ok = made && remember(r, o, made);
    }
    if (ok)
        return made;
    Py_XDECREF(made);
    return NULL;
}

static PyObject *read_plain(struct pickle_reader *r, const struct skiff_object *o,
                            enum skiff_object_kind kind)
{
    size_t n;
    const char *text;
    switch (kind) {
    case SKIFF_OBJECT_NONE:
        Py_RETURN_NONE;
    case SKIFF_OBJECT_BOOL:
        return PyBool_FromLong(skiff_object_int(o) != 0);
    case SKIFF_OBJECT_INT:
        return PyLong_FromLongLong(skiff_object_int(o));
    case SKIFF_OBJECT_FLOAT:
        return PyFloat_FromDouble(skiff_object_float(o));
    case SKIFF_OBJECT_TEXT:
        text = skiff_object_text(r->from, o, &n);
        return PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "surrogatepass");
    case SKIFF_OBJECT_BYTES:
        text = skiff_object_text(r->from, o, &n);
        return PyBytes_FromStringAndSize(text, (Py_ssize_t)n);
    default:
        PyErr_SetString(PyExc_ValueError, "the pickle holds a type where a value belongs");
        return NULL;
    }
}

static PyObject *read_value(struct pickle_reader *r, const struct skiff_object *o)
{
    enum skiff_object_kind kind = skiff_object_kind(o);
    bool shared = kind == SKIFF_OBJECT_DICT || kind == SKIFF_OBJECT_LIST ||
                  kind == SKIFF_OBJECT_TUPLE || kind == SKIFF_OBJECT_ARRAY;
    if (!shared)
        return read_plain(r, o, kind);
    PyObject *key = PyLong_FromVoidPtr((void *)(uintptr_t)o);
    PyObject *known = key ? PyDict_GetItem(r->known, key) : NULL;
    Py_XDECREF(key);
    if (known) {
        Py_INCREF(known);
        return known;
    }
    if (Py_EnterRecursiveCall(" while an object is loaded"))
        return NULL;
    PyObject *made = kind == SKIFF_OBJECT_ARRAY ? read_array(r, o) : read_container(r, o, kind);
    Py_LeaveRecursiveCall();
    if (made && kind == SKIFF_OBJECT_ARRAY && !remember(r, o, made))
        Py_CLEAR(made);
    return made;
}

/* read_object(path, or bytes) -> the object; its arrays are Tensors */
static PyObject *read_object(PyObject *self, PyObject *source)
{
    struct keep k = {0};
    struct pickle_reader r = {0};
    struct skiff_error err;
    PyObject *result = NULL;
    char *bytes;
    Py_ssize_t n;
    enum skiff_status status = SKIFF_OK;
    if (PyBytes_Check(source)) {
        if (PyBytes_AsStringAndSize(source, &bytes, &n) < 0)
            return NULL;
        status = skiff_pickle_parse(bytes, (size_t)n, "the buffer", &r.from, &err);
    } else {
        const char *path = path_of(&k, source, "path");
        if (!path)
            goto out;
        status = UNLOCKED(skiff_pickle_open(path, &r.from, &err));
    }
    if (status < 0)
        raise_file_error(&err);
    else if ((r.known = PyDict_New()))
        result = read_value(&r, skiff_pickle_root(r.from));
out:
    skiff_pickle_close(r.from);
    Py_XDECREF(r.known);
    keep_end(&k);
    return result;
}

static PyMethodDef functions[] = {
    {"write_object", write_object, METH_VARARGS, PyDoc_STR("Writes any object as a pickle.")},
    METHOD1("read_object", read_object, "The object of a pickle; arrays are Tensors."),
    {0}};

bool object_init(PyObject *m)
{
    return module_functions(m, functions);
}
