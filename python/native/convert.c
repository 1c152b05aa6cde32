/* Python values to C and back. Every failure leaves a TypeError or ValueError that names the
 * argument.
 *
 * Pointers into Python objects stay valid as long as a struct keep, which lives for one call: it
 * holds references and memory, and keep_end releases all of it, also after an error. Numbers of
 * numpy, and floats without a fraction where an int is wanted, are accepted, because Paddle's
 * scripts pass them. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

/* ---- what lives as long as a call ---- */

void keep_end(struct keep *k)
{
    for (int i = 0; i < k->nbuffers; i++) {
        PyBuffer_Release(k->buffers[i]);
        free(k->buffers[i]);
    }
    for (int i = 0; i < k->nblocks; i++)
        free(k->blocks[i]);
    free(k->buffers);
    free(k->blocks);
    Py_XDECREF(k->objects);
    *k = (struct keep){0};
}

/* Lists grow when their length is a power of two. */
static bool grow(void **list, int n, size_t size)
{
    if (n & (n - 1))
        return true;
    void *grown = realloc(*list, (size_t)(n ? 2 * n : 1) * size);
    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    *list = grown;
    return true;
}

void *keep_alloc(struct keep *k, size_t bytes)
{
    void *p = NULL;
    if (!grow((void **)&k->blocks, k->nblocks, sizeof(*k->blocks)))
        return NULL;
    p = calloc(1, bytes ? bytes : 1);
    if (!p) {
        PyErr_NoMemory();
        return NULL;
    }
    k->blocks[k->nblocks++] = p;
    return p;
}

bool keep_object(struct keep *k, PyObject *o)
{
    if (!o)
        return false;
    if (!k->objects)
        k->objects = PyList_New(0);
    bool ok = k->objects && PyList_Append(k->objects, o) == 0;
    Py_DECREF(o);
    return ok;
}

Py_buffer *keep_buffer(struct keep *k, PyObject *o, int flags)
{
    if (!grow((void **)&k->buffers, k->nbuffers, sizeof(*k->buffers)))
        return NULL;
    Py_buffer *b = calloc(1, sizeof(*b));
    if (!b || PyObject_GetBuffer(o, b, flags) < 0) {
        if (!b)
            PyErr_NoMemory();
        free(b);
        return NULL;
    }
    k->buffers[k->nbuffers++] = b;
    return b;
}

/* ---- simple values ---- */

static void wrong(const char *what, const char *wanted, PyObject *o)
{
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__name__");
    const char *name = type ? PyUnicode_AsUTF8AndSize(type, NULL) : "?";
    PyErr_Format(PyExc_TypeError, "%s must be %s, not %s", what, wanted, name ? name : "?");
    Py_XDECREF(type);
}

const char *text_of(PyObject *o, const char *what)
{
    if (!PyUnicode_Check(o)) {
        wrong(what, "a str", o);
        return NULL;
    }
    return PyUnicode_AsUTF8AndSize(o, NULL);
}

const char *path_of(struct keep *k, PyObject *o, const char *what)
{
    if (PyUnicode_Check(o))
        return text_of(o, what);
    PyObject *path = PyOS_FSPath(o);
    if (!path) {
        PyErr_Clear();
        wrong(what, "a path (str)", o);
        return NULL;
    }
    return keep_object(k, path) ? text_of(path, what) : NULL;
}

bool text_or_none(PyObject *o, const char *what, const char **out)
{
    *out = NULL;
    if (!o || o == Py_None)
        return true;
    *out = text_of(o, what);
    return *out != NULL;
}

bool int_of(PyObject *o, const char *what, int64_t *out)
{
    PyObject *i = PyNumber_Index(o);
    if (!i) { /* numpy.float32(3.0) and 3.0 count as integers, 3.5 does not */
        PyErr_Clear();
        double f = PyUnicode_Check(o) ? -1.0 : PyFloat_AsDouble(o);
        if (PyErr_Occurred() || PyUnicode_Check(o) || (double)(int64_t)f != f) {
            PyErr_Clear();
            wrong(what, "an int", o);
            return false;
        }
        *out = (int64_t)f;
        return true;
    }
    long long v = PyLong_AsLongLong(i);
    Py_DECREF(i);
    if (v == -1 && PyErr_Occurred())
        return false;
    *out = v;
    return true;
}

bool float_of(PyObject *o, const char *what, double *out)
{
    double v = PyUnicode_Check(o) ? -1.0 : PyFloat_AsDouble(o);
    if (PyUnicode_Check(o) || (v == -1.0 && PyErr_Occurred())) {
        PyErr_Clear();
        wrong(what, "a number", o);
        return false;
    }
    *out = v;
    return true;
}

bool truth_of(PyObject *o, const char *what, bool *out)
{
    int v = PyObject_IsTrue(o);
    if (v < 0)
        return false;
    *out = v != 0;
    return true;
}

/* ---- variables and names ---- */

struct skiff_var *var_of(PyObject *o, const char *what)
{
    if (!is_a(o, CLASS_VAR)) {
        wrong(what, "a Variable", o);
        return NULL;
    }
    return ((struct var_object *)o)->v;
}

const char *name_of(PyObject *o, const char *what)
{
    if (is_a(o, CLASS_VAR))
        return skiff_var_name(((struct var_object *)o)->v);
    if (!PyUnicode_Check(o)) {
        wrong(what, "a str or a Variable", o);
        return NULL;
    }
    return text_of(o, what);
}

/* A kept list of the items of a sequence (or set); NULL with TypeError. */
static PyObject *items_of(struct keep *k, PyObject *o, const char *what, const char *wanted)
{
    PyObject *list = PyUnicode_Check(o) ? NULL : PySequence_List(o);
    if (!list) {
        PyErr_Clear();
        wrong(what, wanted, o);
        return NULL;
    }
    return keep_object(k, list) ? list : NULL;
}

bool names_of(struct keep *k, PyObject *o, const char *what, const char ***out, int *n)
{
    *out = NULL;
    *n = 0;
    if (!o || o == Py_None)
        return true;
    if (PyUnicode_Check(o) || is_a(o, CLASS_VAR)) {
        *out = keep_alloc(k, sizeof(**out));
        *n = 1;
        return *out && ((*out)[0] = name_of(o, what)) != NULL;
    }
    PyObject *items = items_of(k, o, what, "a list of str or Variables");
    if (!items)
        return false;
    *n = (int)PyList_Size(items);
    *out = keep_alloc(k, (size_t)(*n + 1) * sizeof(**out));
    for (int i = 0; *out && i < *n; i++)
        if (!((*out)[i] = name_of(PyList_GetItem(items, i), what)))
            return false;
    return *out != NULL;
}

bool vars_of(struct keep *k, PyObject *o, const char *what, struct skiff_var ***out, int *n)
{
    *out = NULL;
    *n = 0;
    if (!o || o == Py_None)
        return true;
    if (is_a(o, CLASS_VAR)) {
        *out = keep_alloc(k, sizeof(**out));
        *n = 1;
        return *out && ((*out)[0] = var_of(o, what)) != NULL;
    }
    PyObject *items = items_of(k, o, what, "a Variable or a list of Variables");
    if (!items)
        return false;
    *n = (int)PyList_Size(items);
    *out = keep_alloc(k, (size_t)(*n + 1) * sizeof(**out));
    for (int i = 0; *out && i < *n; i++) {
        PyObject *item = PyList_GetItem(items, i);
        if (item != Py_None && !((*out)[i] = var_of(item, what)))
            return false;
    }
    return *out != NULL;
}

/* ---- lists of numbers ---- */

bool dims_of(PyObject *o, const char *what, struct skiff_dims *out)
{
    struct keep k = {0};
    bool ok = false;
    *out = (struct skiff_dims){0};
    if (o == Py_None)
        return true;
    if (PyNumber_Check(o) && !PySequence_Check(o)) {
        out->n = 1;
        return int_of(o, what, &out->d[0]);
    }
    PyObject *items = items_of(&k, o, what, "an int or a list of ints");
    if (items && PyList_Size(items) > SKIFF_MAX_DIMS)
        PyErr_Format(PyExc_ValueError, "%s has %zd elements; at most %d", what, PyList_Size(items),
                     SKIFF_MAX_DIMS);
    else if (items) {
        ok = true;
        out->n = (int)PyList_Size(items);
        for (int i = 0; ok && i < out->n; i++) {
            PyObject *item = PyList_GetItem(items, i);
            out->d[i] = -1; /* None: known at run time */
            ok = item == Py_None || int_of(item, what, &out->d[i]);
        }
    }
    keep_end(&k);
    return ok;
}

bool longs_of(struct keep *k, PyObject *o, const char *what, int64_t **out, int64_t *n)
{
    *out = NULL;
    *n = 0;
    if (!o || o == Py_None)
        return true;
    PyObject *items = items_of(k, o, what, "a list of ints");
    if (!items)
        return false;
    *n = PyList_Size(items);
    *out = keep_alloc(k, (size_t)(*n + 1) * sizeof(**out));
    for (int64_t i = 0; *out && i < *n; i++)
        if (!int_of(PyList_GetItem(items, i), what, &(*out)[i]))
            return false;
    return *out != NULL;
}

bool doubles_of(struct keep *k, PyObject *o, const char *what, double **out, int *n)
{
    *out = NULL;
    *n = 0;
    if (!o || o == Py_None)
        return true;
    PyObject *items = items_of(k, o, what, "a list of numbers");
    if (!items)
        return false;
    *n = (int)PyList_Size(items);
    *out = keep_alloc(k, (size_t)(*n + 1) * sizeof(**out));
    for (int i = 0; *out && i < *n; i++)
        if (!float_of(PyList_GetItem(items, i), what, &(*out)[i]))
            return false;
    return *out != NULL;
}

/* ---- attributes of ops ---- */

/* bool before int: True is both. */
static bool number_attr(PyObject *o, const char *what, struct skiff_attr *out)
{
    if (PyBool_Check(o)) {
        out->type = SKIFF_ATTR_BOOLEAN;
        out->i = o == Py_True;
        return true;
    }
    if (PyLong_Check(o) || PyIndex_Check(o)) {
        if (!int_of(o, what, &out->i))
            return false;
        out->type = out->i >= INT32_MIN && out->i <= INT32_MAX ? SKIFF_ATTR_INT : SKIFF_ATTR_LONG;
        return true;
    }
    out->type = SKIFF_ATTR_FLOAT;
    return float_of(o, what, &out->f);
}

static bool numbers_attr(struct keep *k, PyObject *items, const char *what, struct skiff_attr *out)
{
    bool real = false, logical = true, wide = false;
    for (int i = 0; i < out->n; i++) {
        struct skiff_attr one = {0};
        if (!number_attr(PyList_GetItem(items, i), what, &one))
            return false;
        real |= one.type == SKIFF_ATTR_FLOAT;
        wide |= one.type == SKIFF_ATTR_LONG;
        logical &= one.type == SKIFF_ATTR_BOOLEAN;
    }
    if (real) {
        int n;
        double *v;
        out->type = SKIFF_ATTR_FLOATS;
        if (!doubles_of(k, items, what, &v, &n))
            return false;
        out->floats = v;
        return true;
    }
    int64_t *v, n;
    out->type = logical ? SKIFF_ATTR_BOOLEANS : wide ? SKIFF_ATTR_LONGS : SKIFF_ATTR_INTS;
    if (!longs_of(k, items, what, &v, &n))
        return false;
    out->longs = v;
    return true;
}

static bool blocks_attr(struct keep *k, PyObject *items, const char *what, struct skiff_attr *out)
{
    int64_t *v = keep_alloc(k, (size_t)(out->n + 1) * sizeof(*v));
    out->type = SKIFF_ATTR_BLOCKS;
    out->longs = v;
    for (int i = 0; v && i < out->n; i++) {
        PyObject *o = PyList_GetItem(items, i);
        if (!is_a(o, CLASS_BLOCK)) {
            wrong(what, "a list of Blocks", o);
            return false;
        }
        v[i] = skiff_block_index(((struct block_object *)o)->b);
    }
    return v != NULL;
}

static bool list_attr(struct keep *k, PyObject *o, const char *what, int wanted,
                      struct skiff_attr *out)
{
    PyObject *items = items_of(k, o, what, "a number, bool, str, Block or a list of one of them");
    if (!items)
        return false;
    out->n = (int)PyList_Size(items);
    out->type = wanted >= 0 ? (enum skiff_attr_type)wanted : SKIFF_ATTR_INTS;
    if (!out->n)
        return true;
    PyObject *first = PyList_GetItem(items, 0);
    if (PyUnicode_Check(first) || is_a(first, CLASS_VAR)) {
        const char **names;
        int n;
        out->type = is_a(first, CLASS_VAR) ? SKIFF_ATTR_VARS : SKIFF_ATTR_STRINGS;
        if (!names_of(k, items, what, &names, &n))
            return false;
        out->strings = names;
        return true;
    }
    return is_a(first, CLASS_BLOCK) ? blocks_attr(k, items, what, out)
                                    : numbers_attr(k, items, what, out);
}

bool attr_of(struct keep *k, PyObject *o, const char *what, int wanted, struct skiff_attr *out)
{
    *out = (struct skiff_attr){0};
    if (PyUnicode_Check(o)) {
        out->s = text_of(o, what);
        out->type = SKIFF_ATTR_STRING;
        int number = out->s && wanted == SKIFF_ATTR_INT ? skiff_dtype_number(out->s) : -1;
        if (number >= 0) { /* "float32" where an op wants the number of a type */
            out->type = SKIFF_ATTR_INT;
            out->i = number;
        }
        return out->s != NULL;
    }
    if (is_a(o, CLASS_BLOCK)) {
        out->type = SKIFF_ATTR_BLOCK;
        out->i = skiff_block_index(((struct block_object *)o)->b);
        return true;
    }
    if (is_a(o, CLASS_VAR)) {
        out->type = SKIFF_ATTR_VAR;
        out->s = name_of(o, what);
        return true;
    }
    if (PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) ||
        (PyNumber_Check(o) && !PySequence_Check(o)))
        return number_attr(o, what, out);
    return list_attr(k, o, what, wanted, out);
}

/* ---- results ---- */

PyObject *names_list(const char *const *names, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *s = PyUnicode_FromString(names[i]);
        if (!s || PyList_SetItem(list, i, s) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *dims_tuple(int n, const int64_t *dims)
{
    PyObject *t = PyTuple_New(n);
    for (int i = 0; t && i < n; i++) {
        PyObject *d = PyLong_FromLongLong(dims[i]);
        if (!d || PyTuple_SetItem(t, i, d) < 0)
            Py_CLEAR(t);
    }
    return t;
}

static PyObject *item_object(const struct skiff_attr *a, int i)
{
    switch (a->type) {
    case SKIFF_ATTR_BOOLEANS:
        return PyBool_FromLong(a->longs[i] != 0);
    case SKIFF_ATTR_FLOATS:
    case SKIFF_ATTR_FLOAT64S:
    case SKIFF_ATTR_SCALARS:
        return PyFloat_FromDouble(a->floats[i]);
    case SKIFF_ATTR_STRINGS:
    case SKIFF_ATTR_VARS:
        return PyUnicode_FromString(a->strings[i]);
    default:
        return PyLong_FromLongLong(a->longs[i]);
    }
}

PyObject *attr_object(const struct skiff_attr *a)
{
    switch (a->type) {
    case SKIFF_ATTR_INT:
    case SKIFF_ATTR_LONG:
    case SKIFF_ATTR_BLOCK:
        return PyLong_FromLongLong(a->i);
    case SKIFF_ATTR_BOOLEAN:
        return PyBool_FromLong(a->i != 0);
    case SKIFF_ATTR_FLOAT:
    case SKIFF_ATTR_FLOAT64:
        return PyFloat_FromDouble(a->f);
    case SKIFF_ATTR_SCALAR:
        return a->is_real ? PyFloat_FromDouble(a->f) : PyLong_FromLongLong(a->i);
    case SKIFF_ATTR_STRING:
    case SKIFF_ATTR_VAR:
        return PyUnicode_FromString(a->s ? a->s : "");
    default:
        break;
    }
    PyObject *list = PyList_New(a->n);
    for (int i = 0; list && i < a->n; i++) {
        PyObject *item = item_object(a, i);
        if (!item || PyList_SetItem(list, i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}
