/* Tensor and arrays: numbers in and out.
 *
 * A Tensor shares a box of memory with the buffers that were exported from it (tensor_memory).
 * Before a write, a Tensor whose memory a numpy array still shows gets a new box, so that arrays
 * never change behind the script's back. Tensors of a scope have no box of their own: they find the
 * variable by name each time, since a run may replace it. Element types are converted by numpy,
 * which is loaded when first needed. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

/* ---- element types ---- */

static const struct {
    const char *dtype, *format;
    Py_ssize_t size;
} formats[] = {{"float32", "f", 4}, {"int64", "l", 8}, {"float64", "d", 8}, {"int32", "i", 4},
               {"bool", "?", 1},    {"uint8", "B", 1}, {"int8", "b", 1},    {"int16", "h", 2},
               {"float16", "e", 2}, {"int64", "q", 8}, {"bfloat16", "H", 2}};

/* The type of a buffer's elements; NULL: none of ours. */
static const char *format_dtype(const char *format, Py_ssize_t size)
{
    if (!format)
        return size == 1 ? "uint8" : NULL;
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (!strcmp(format, formats[i].format) && size == formats[i].size)
            return formats[i].dtype;
    return NULL;
}

static const char *dtype_format(const char *dtype, Py_ssize_t *size)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (!strcmp(dtype, formats[i].dtype)) {
            *size = formats[i].size;
            return formats[i].format;
        }
    return NULL;
}

size_t array_bytes(const struct array_view *a)
{
    Py_ssize_t size = 0;
    dtype_format(a->dtype, &size);
    for (int i = 0; i < a->ndim; i++)
        size *= a->dims[i];
    return (size_t)size;
}

/* ---- arrays of Python ---- */

static PyObject *numpy(void)
{
    static PyObject *module;
    if (!module)
        module = PyImport_ImportModule("numpy");
    return module;
}

PyObject *numpy_asarray(PyObject *o)
{
    static PyObject *asarray;
    if (!asarray && numpy())
        asarray = PyObject_GetAttrString(numpy(), "asarray");
    return asarray ? PyObject_CallFunctionObjArgs(asarray, o, NULL) : NULL;
}

/* numpy.ascontiguousarray(o, dtype), which keeps no 0-d arrays: numpy.array(..., order="C"). */
static PyObject *numpy_convert(PyObject *o, const char *dtype)
{
    PyObject *np = numpy();
    PyObject *function = np ? PyObject_GetAttrString(np, "array") : NULL;
    PyObject *args = function ? PyTuple_Pack(1, o) : NULL;
    PyObject *keywords =
        args ? dtype ? Py_BuildValue("{s:s,s:s}", "dtype",
                                     strcmp(dtype, "bfloat16") ? dtype : "uint16", "order", "C")
                     : Py_BuildValue("{s:s}", "order", "C")
             : NULL;
    PyObject *result = keywords ? PyObject_Call(function, args, keywords) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(args);
    Py_XDECREF(keywords);
    return result;
}

/* From the buffer of o; 0: it has none that fits (no exception), -1: exception. */
static int array_buffer(struct keep *k, PyObject *o, const char *what, struct array_view *out)
{
    Py_buffer *b = keep_buffer(k, o, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    if (!b) {
        PyErr_Clear();
        return 0;
    }
    out->dtype = format_dtype(b->format, b->itemsize);
    if (!out->dtype) {
        PyErr_Format(
            PyExc_TypeError,
            "%s: arrays of elements \"%s\" of %zd bytes cannot be used; float32, int64, ... "
            "can",
            what, b->format ? b->format : "?", b->itemsize);
        return -1;
    }
    if (b->ndim > SKIFF_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s has %d dimensions; at most %d", what, b->ndim,
                     SKIFF_MAX_DIMS);
        return -1;
    }
    out->ndim = b->ndim;
    for (int i = 0; i < b->ndim; i++)
        out->dims[i] = b->shape[i];
    out->data = b->buf;
    return 1;
}

bool array_of(struct keep *k, PyObject *o, const char *what, const char *dtype,
              struct array_view *out)
{
    int done = PyObject_CheckBuffer(o) ? array_buffer(k, o, what, out) : 0;
    if (done)
        return done > 0;
    bool numbers = PyList_Check(o) || PyTuple_Check(o) || PyFloat_Check(o) || PyLong_Check(o);
    PyObject *made = numpy_convert(o, numbers ? dtype : NULL);
    if (!keep_object(k, made))
        return false;
    if (numbers && !dtype) { /* Python's float is meant as float32, as everywhere here */
        struct array_view a;
        if (array_buffer(k, made, what, &a) > 0 && !strcmp(a.dtype, "float64"))
            return keep_object(k, made = numpy_convert(made, "float32")) &&
                   array_buffer(k, made, what, out) > 0;
        if (PyErr_Occurred())
            return false;
    }
    done = array_buffer(k, made, what, out);
    if (!done)
        PyErr_Format(PyExc_TypeError, "%s cannot be used as an array", what);
    return done > 0;
}

bool array_as(struct keep *k, PyObject *o, const char *what, const char *dtype,
              struct array_view *out)
{
    if (!array_of(k, o, what, dtype, out))
        return false;
    if (!strcmp(out->dtype, dtype))
        return true;
    PyObject *made = numpy_convert(o, dtype);
    return keep_object(k, made) && array_buffer(k, made, what, out) > 0;
}

/* A bool of numpy's may be any byte (a view of others); here it is 0 or 1. */
static void copy_elements(void *to, const struct array_view *a)
{
    size_t n = array_bytes(a);
    if (strcmp(a->dtype, "bool")) {
        memcpy(to, a->data, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)a->data)[i] != 0;
}

bool tensor_assign(struct skiff_tensor *t, PyObject *value, const char *dtype)
{
    struct keep k = {0};
    struct array_view a;
    struct skiff_error err;
    bool ok = false;
    if (is_a(value, CLASS_TENSOR)) {
        ok = skiff_tensor_copy(t, tensor_value((struct tensor_object *)value), &err) == SKIFF_OK;
        if (!ok)
            raise_error(&err);
        return ok;
    }
    if (dtype ? array_as(&k, value, "the value", dtype, &a)
              : array_of(&k, value, "the value", NULL, &a)) {
        ok = skiff_tensor_resize(t, a.dtype, a.ndim, a.dims, &err) == SKIFF_OK;
        if (ok)
            copy_elements(skiff_tensor_data(t), &a);
        else
            raise_error(&err);
    }
    keep_end(&k);
    return ok;
}

static struct skiff_tensor *tensor_empty(void)
{
    struct skiff_error err;
    struct skiff_tensor *t = skiff_tensor_create("float32", 1, &(int64_t){0}, &err);
    if (!t)
        raise_error(&err);
    return t;
}

const struct skiff_tensor *feed_of(struct keep *k, PyObject *value, const char *name,
                                   const char *dtype, struct skiff_tensor **spare)
{
    struct array_view a;
    struct skiff_error err;
    if (is_a(value, CLASS_TENSOR))
        return tensor_value((struct tensor_object *)value);
    if (!array_of(k, value, name, dtype, &a) || (!*spare && !(*spare = tensor_empty())))
        return NULL;
    if (skiff_tensor_borrow(*spare, a.dtype, a.ndim, a.dims, a.data, &err) < 0) {
        raise_error(&err);
        return NULL;
    }
    return *spare;
}

/* ---- boxes ---- */

static void tensor_memory_unref(struct tensor_memory *b)
{
    if (!b || --b->refs)
        return;
    skiff_tensor_destroy(b->t);
    Py_XDECREF((PyObject *)b->scope);
    free(b->name);
    free(b);
}

static struct tensor_memory *tensor_memory_create(struct skiff_tensor *t)
{
    struct tensor_memory *b = t ? calloc(1, sizeof(*b)) : NULL;
    if (!b) {
        skiff_tensor_destroy(t);
        if (t)
            PyErr_NoMemory();
        return NULL;
    }
    b->t = t;
    b->refs = 1;
    return b;
}

struct skiff_tensor *tensor_value(struct tensor_object *o)
{
    struct tensor_memory *b = o->storage;
    return b->scope ? skiff_scope_var(b->scope->s, b->name) : b->t;
}

/* A tensor that can be written without changing what buffers show. */
static struct skiff_tensor *tensor_writable(struct tensor_object *o)
{
    if (o->storage->scope || o->storage->refs == 1)
        return tensor_value(o);
    struct tensor_memory *b = tensor_memory_create(tensor_empty());
    if (!b)
        return NULL;
    tensor_memory_unref(o->storage);
    o->storage = b;
    return b->t;
}

static PyObject *tensor_make(PyTypeObject *type, struct tensor_memory *b)
{
    if (!b)
        return NULL;
    struct tensor_object *o = (struct tensor_object *)class_alloc(type);
    if (!o)
        tensor_memory_unref(b);
    else
        o->storage = b;
    return (PyObject *)o;
}

PyObject *tensor_wrap(struct skiff_tensor *t)
{
    PyObject *o = tensor_make(made_class[CLASS_TENSOR], tensor_memory_create(t));
    return o ? class_made(o) : NULL;
}

PyObject *tensor_of_scope(struct scope_object *s, const char *name)
{
    struct tensor_memory *b = calloc(1, sizeof(*b));
    char *copy = strdup(name);
    if (!b || !copy) {
        free(b);
        free(copy);
        return PyErr_NoMemory();
    }
    *b = (struct tensor_memory){.refs = 1, .scope = s, .name = copy};
    Py_INCREF((PyObject *)s);
    PyObject *o = tensor_make(made_class[CLASS_TENSOR], b);
    return o ? class_made(o) : NULL;
}

static struct skiff_tensor *tensor_clone(struct skiff_tensor *from)
{
    struct skiff_error err;
    struct skiff_tensor *t = tensor_empty();
    if (t && skiff_tensor_copy(t, from, &err) < 0) {
        raise_error(&err);
        skiff_tensor_destroy(t);
        return NULL;
    }
    return t;
}

/* ---- the buffer protocol ---- */

struct exported { /* one buffer: the owner of its memory, and the arrays that Py_buffer points to */
    void *holder;
    Py_ssize_t shape[SKIFF_MAX_DIMS], strides[SKIFF_MAX_DIMS];
};

int tensor_view(struct skiff_tensor *t, PyObject *o, void *holder, Py_buffer *view, int flags)
{
    struct exported *e = calloc(1, sizeof(*e));
    view->obj = NULL;
    view->internal = e;
    if (!e)
        return -1;
    e->holder = holder;
    *view = (Py_buffer){.ndim = skiff_tensor_ndim(t), .internal = e};
    view->format = (char *)dtype_format(skiff_tensor_dtype(t), &view->itemsize);
    Py_ssize_t step = view->itemsize;
    for (int i = view->ndim - 1; i >= 0; i--) {
        e->shape[i] = (Py_ssize_t)skiff_tensor_dim(t, i);
        e->strides[i] = step;
        step *= e->shape[i];
    }
    view->len = step;
    view->buf = skiff_tensor_data(t) ? skiff_tensor_data(t) : (void *)e;
    view->shape = flags & PyBUF_ND ? e->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->strides : NULL;
    if (!view->format) {
        PyErr_Format(PyExc_BufferError, "a tensor of %s has no form that Python knows",
                     skiff_tensor_dtype(t));
        return -1;
    }
    if (!(flags & PyBUF_FORMAT))
        view->format = NULL;
    Py_INCREF(o);
    view->obj = o;
    return 0;
}

void *tensor_view_end(Py_buffer *view)
{
    struct exported *e = view->internal;
    void *holder = e ? e->holder : NULL;
    free(e);
    view->internal = NULL;
    return holder;
}

/* A table that servers hold has a shape here, but no elements. */
static bool is_elsewhere(const struct skiff_tensor *t)
{
    int64_t n = t && skiff_tensor_data(t) ? 0 : 1;
    for (int i = 0; n && t && i < skiff_tensor_ndim(t); i++)
        n *= skiff_tensor_dim(t, i);
    return t && n && skiff_tensor_ndim(t);
}

static void log_elsewhere(void)
{
    PyErr_SetString(PyExc_RuntimeError, "the rows of this table are on the parameter servers; this "
                                        "process holds none of them");
}

static int tensor_getbuffer(struct tensor_object *o, Py_buffer *view, int flags)
{
    struct tensor_memory *b = o->storage;
    if (is_elsewhere(tensor_value(o))) {
        log_elsewhere();
        view->obj = NULL;
        return -1;
    }
    if (b->scope)
        /* running moves values: a snapshot */
        b = tensor_memory_create(tensor_clone(tensor_value(o)));
    else
        b->refs++;
    if (b && tensor_view(b->t, (PyObject *)o, b, view, flags) == 0)
        return 0;
    if (b)
        tensor_view_end(view);
    tensor_memory_unref(b);
    view->obj = NULL;
    return -1;
}

static void tensor_releasebuffer(struct tensor_object *o, Py_buffer *view)
{
    tensor_memory_unref(tensor_view_end(view));
}

/* ---- lifetime ---- */

static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    return tensor_make(type, tensor_memory_create(tensor_empty()));
}

static bool lengths_set(struct tensor_object *o, PyObject *lengths, bool offsets);

static int tensor_start(struct tensor_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *value = NULL, *lengths = NULL;
    const char *dtype = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOz",
                                     KEYWORDS("array", "recursive_sequence_lengths", "dtype"),
                                     &value, &lengths, &dtype))
        return -1;
    struct skiff_tensor *t = tensor_writable(o);
    if (!t || (value && value != Py_None && !tensor_assign(t, value, dtype)))
        return -1;
    return !lengths || lengths == Py_None || lengths_set(o, lengths, false) ? 0 : -1;
}

static void tensor_dealloc(struct tensor_object *o)
{
    tensor_memory_unref(o->storage);
    class_free((PyObject *)o);
}

/* ---- sequences ---- */

/* Levels of lengths or offsets -> all offsets, one level after the other. */
static bool levels_of(struct keep *k, PyObject *o, bool offsets, int64_t *counts, int64_t **out,
                      int *levels)
{
    PyObject *list = PySequence_List(o);
    if (!keep_object(k, list))
        return false;
    *levels = (int)PyList_Size(list);
    if (*levels > SKIFF_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "%d sequence levels are too many", *levels);
        return false;
    }
    int64_t *v[SKIFF_MAX_DIMS], total = 0;
    for (int i = 0; i < *levels; i++) {
        if (!longs_of(k, PyList_GetItem(list, i), "sequence lengths", &v[i], &counts[i]))
            return false;
        counts[i] += !offsets;
        total += counts[i];
    }
    int64_t *at = *out = keep_alloc(k, (size_t)(total + 1) * sizeof(*at));
    for (int i = 0; at && i < *levels; i++) {
        if (offsets) {
            memcpy(at, v[i], (size_t)counts[i] * sizeof(*at));
            at += counts[i];
            continue;
        }
        *at++ = 0;
        for (int64_t j = 0; j + 1 < counts[i]; j++, at++)
            *at = at[-1] + v[i][j];
    }
    return *out != NULL;
}

static bool lengths_set(struct tensor_object *o, PyObject *lengths, bool offsets)
{
    struct keep k = {0};
    int64_t counts[SKIFF_MAX_DIMS], *all;
    int levels;
    struct skiff_error err;
    bool ok = levels_of(&k, lengths, offsets, counts, &all, &levels);
    if (ok && skiff_tensor_set_lod(tensor_value(o), levels, counts, all, &err) < 0) {
        raise_error(&err);
        ok = false;
    }
    keep_end(&k);
    return ok;
}

static PyObject *levels_list(struct tensor_object *o, bool offsets)
{
    struct skiff_tensor *t = tensor_value(o);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < skiff_tensor_lod_levels(t); i++) {
        int64_t n;
        const int64_t *off = skiff_tensor_lod(t, i, &n);
        int64_t items = offsets ? n : n - 1;
        PyObject *level = PyList_New((Py_ssize_t)items);
        for (int64_t j = 0; level && j < items; j++) {
            PyObject *v = PyLong_FromLongLong(offsets ? off[j] : off[j + 1] - off[j]);
            if (!v || PyList_SetItem(level, (Py_ssize_t)j, v) < 0)
                Py_CLEAR(level);
        }
        if (!level || PyList_Append(list, level) < 0)
            Py_CLEAR(list);
        Py_XDECREF(level);
    }
    return list;
}

static PyObject *tensor_lod(struct tensor_object *o, PyObject *unused)
{
    return levels_list(o, true);
}

static PyObject *tensor_lengths(struct tensor_object *o, PyObject *unused)
{
    return levels_list(o, false);
}

static PyObject *tensor_set_lod(struct tensor_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *lod;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("lod"), &lod) ||
        !lengths_set(o, lod, true))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *tensor_set_lengths(struct tensor_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *lengths;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("lengths"), &lengths) ||
        !lengths_set(o, lengths, false))
        return NULL;
    Py_RETURN_NONE;
}

/* What is set is checked when it is set; only resizing C code can break it. */
static PyObject *tensor_valid_lengths(struct tensor_object *o, PyObject *unused)
{
    struct skiff_tensor *t = tensor_value(o);
    int levels = skiff_tensor_lod_levels(t);
    int64_t n;
    const int64_t *off = levels ? skiff_tensor_lod(t, levels - 1, &n) : NULL;
    return PyBool_FromLong(!off || off[n - 1] == skiff_tensor_dim(t, 0));
}

/* ---- contents ---- */

static PyObject *tensor_set(struct tensor_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *value;
    const char *dtype = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|z", KEYWORDS("array", "dtype"), &value,
                                     &dtype))
        return NULL;
    struct skiff_tensor *t = tensor_writable(o);
    if (!t || !tensor_assign(t, value, dtype))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_initialized(struct tensor_object *o, void *unused)
{
    struct skiff_tensor *t = tensor_value(o);
    bool written = strcmp(skiff_tensor_kind(t), "none") != 0;
    return PyBool_FromLong(written && (o->storage->scope || skiff_tensor_count(t) > 0));
}

static PyObject *get_kind(struct tensor_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_tensor_kind(tensor_value(o)));
}

static PyObject *get_dtype(struct tensor_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_tensor_dtype(tensor_value(o)));
}

static PyObject *get_shape(struct tensor_object *o, void *unused)
{
    struct skiff_tensor *t = tensor_value(o);
    int64_t dims[SKIFF_MAX_DIMS];
    int n = skiff_tensor_ndim(t);
    for (int i = 0; i < n; i++)
        dims[i] = skiff_tensor_dim(t, i);
    return dims_tuple(n, dims);
}

static PyObject *tensor_copy(struct tensor_object *o, PyObject *unused)
{
    struct skiff_tensor *t = tensor_clone(tensor_value(o));
    return t ? tensor_wrap(t) : NULL;
}

PyObject *tensor_numpy_copy(struct skiff_tensor *from)
{
    struct skiff_tensor *t = tensor_clone(from);
    PyObject *copy = t ? tensor_make(base_class[CLASS_TENSOR], tensor_memory_create(t)) : NULL;
    PyObject *result = copy ? numpy_asarray(copy) : NULL;
    Py_XDECREF(copy);
    return result;
}

static PyObject *tensor_numpy(struct tensor_object *o, PyObject *unused)
{
    return tensor_numpy_copy(tensor_value(o));
}

/* ---- selected rows and arrays ---- */

static PyObject *get_rows(struct tensor_object *o, void *unused)
{
    size_t n;
    const int64_t *rows = skiff_tensor_rows(tensor_value(o), &n);
    if (strcmp(skiff_tensor_kind(tensor_value(o)), "rows"))
        Py_RETURN_NONE;
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *id = PyLong_FromLongLong(rows[i]);
        if (!id || PyList_SetItem(list, (Py_ssize_t)i, id) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_height(struct tensor_object *o, void *unused)
{
    return PyLong_FromLongLong(skiff_tensor_height(tensor_value(o)));
}

static PyObject *tensor_set_rows(struct tensor_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *rows, *value;
    long long height;
    struct keep k = {0};
    struct array_view a;
    struct skiff_error err;
    int64_t *ids, *put, n;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OLO", KEYWORDS("rows", "height", "array"),
                                     &rows, &height, &value))
        return NULL;
    struct skiff_tensor *t = tensor_writable(o);
    bool ok = t && longs_of(&k, rows, "rows", &ids, &n) && array_of(&k, value, "array", NULL, &a);
    if (ok && (a.ndim < 1 || a.dims[0] != n)) {
        PyErr_Format(PyExc_ValueError, "%lld rows are named, but the array has another length",
                     (long long)n);
        ok = false;
    }
    if (ok && skiff_tensor_resize_rows(t, a.dtype, a.ndim, a.dims, height, &put, &err) < 0) {
        raise_error(&err);
        ok = false;
    }
    if (ok && n) {
        memcpy(put, ids, (size_t)n * sizeof(*put));
        memcpy(skiff_tensor_data(t), a.data, array_bytes(&a));
    }
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static Py_ssize_t tensor_length(struct tensor_object *o)
{
    struct skiff_tensor *t = tensor_value(o);
    if (!strcmp(skiff_tensor_kind(t), "array"))
        return (Py_ssize_t)skiff_tensor_items(t);
    return skiff_tensor_ndim(t) ? (Py_ssize_t)skiff_tensor_dim(t, 0) : 0;
}

static PyObject *tensor_item(struct tensor_object *o, PyObject *args, PyObject *keywords)
{
    int i;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i", KEYWORDS("i"), &i))
        return NULL;
    const struct skiff_tensor *item = skiff_tensor_item(tensor_value(o), i);
    if (!item) {
        PyErr_Format(PyExc_IndexError, "the array of tensors has no item %d", i);
        return NULL;
    }
    struct skiff_tensor *t = tensor_clone((struct skiff_tensor *)item);
    return t ? tensor_wrap(t) : NULL;
}

/* numpy reads it when there is no buffer, and shows its error. */
static PyObject *tensor_array(struct tensor_object *o, PyObject *args, PyObject *named)
{
    (void)args;
    (void)named;
    if (is_elsewhere(tensor_value(o)))
        log_elsewhere();
    else
        PyErr_SetString(PyExc_TypeError, "this tensor has no form that numpy knows");
    return NULL;
}

static PyMethodDef methods[] = {
    METHOD("__array__", tensor_array, "Raises the reason why there is no array."),
    METHOD("set", tensor_set, "Another content; the LoD is dropped."),
    METHOD0("lod", tensor_lod, "Offsets, one list per level."),
    METHOD("set_lod", tensor_set_lod, "Sets the offsets of all levels."),
    METHOD0("recursive_sequence_lengths", tensor_lengths, "Lengths, one list per level."),
    METHOD("set_recursive_sequence_lengths", tensor_set_lengths, "Sets the lengths of all levels."),
    METHOD0("has_valid_recursive_sequence_lengths", tensor_valid_lengths,
            "Whether the lengths fit the rows."),
    METHOD0("numpy", tensor_numpy, "A new numpy array."),
    METHOD0("copy", tensor_copy, "A tensor of its own."),
    METHOD("set_rows", tensor_set_rows, "Makes it selected rows."),
    METHOD("item", tensor_item, "A copy of an item of an array of tensors."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("initialized", get_initialized, NULL, "Whether it has a content."),
    ATTRIBUTE("kind", get_kind, NULL, "none, tensor, rows or array."),
    ATTRIBUTE("dtype", get_dtype, NULL, "Name of its data type."),
    ATTRIBUTE("shape", get_shape, NULL, "Its dimensions."),
    ATTRIBUTE("rows", get_rows, NULL, "Ids of selected rows; otherwise None."),
    ATTRIBUTE("height", get_height, NULL, "Rows of the complete table of selected rows."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, tensor_new},
                              {Py_tp_init, tensor_start},
                              {Py_tp_dealloc, tensor_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_mp_length, tensor_length},
                              {Py_bf_getbuffer, tensor_getbuffer},
                              {Py_bf_releasebuffer, tensor_releasebuffer},
                              {Py_tp_doc, "A value: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Tensor", sizeof(struct tensor_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

bool tensor_init(PyObject *m)
{
    return class_add(m, &spec, "Tensor", &base_class[CLASS_TENSOR]);
}
