/* Tables of Python: columns into C without a copy, and as CSV for `skiff init`.
 *
 * A column is a float64 array, or int32 codes with the list of texts that they count (as pandas'
 * categories and Arrow's dictionaries are). Rows are written by the same functions that print cells
 * elsewhere, so that a number is read as the number that it was. */
#include "frame.h"

#include <stdio.h>

#include "data/csv.h"

#define WRITE_AT_ONCE (1 << 20)

static bool array_len(PyObject *o, const Py_buffer *b, int64_t *rows)
{
    int64_t n = b->ndim == 1 ? (int64_t)b->shape[0] : -1;
    if (n >= 0 && (*rows < 0 || *rows == n)) {
        *rows = n;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "a column has %lld rows; expected one dimension of %lld",
                 (long long)n, (long long)*rows);
    return false;
}

static const void *column_array(struct keep *k, PyObject *o, const char *format, size_t size,
                                int64_t *rows)
{
    Py_buffer *b = keep_buffer(k, o, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    if (!b)
        return NULL;
    if (!b->format || strcmp(b->format, format) || (size_t)b->itemsize != size) {
        PyErr_Format(PyExc_TypeError, "a column has format %s; expected %s",
                     b->format ? b->format : "B", format);
        return NULL;
    }
    return array_len(o, b, rows) ? b->buf : NULL;
}

static bool texts_of(struct keep *k, PyObject *list, struct frame_column *c)
{
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "the texts of a column must be a list");
        return false;
    }
    c->ntexts = PyList_Size(list);
    c->texts = keep_alloc(k, (size_t)(c->ntexts + 1) * sizeof *c->texts);
    c->sizes = keep_alloc(k, (size_t)(c->ntexts + 1) * sizeof *c->sizes);
    for (int64_t i = 0; c->texts && c->sizes && i < c->ntexts; i++) {
        PyObject *o = PyList_GetItem(list, (Py_ssize_t)i);
        Py_ssize_t size;
        if (!PyUnicode_Check(o)) {
            PyErr_SetString(PyExc_TypeError, "the texts of a column must be str");
            return false;
        }
        c->texts[i] = PyUnicode_AsUTF8AndSize(o, &size);
        if (!c->texts[i])
            return false;
        c->sizes[i] = (size_t)size;
    }
    return c->texts && c->sizes;
}

static bool codes_fit(const struct frame_column *c, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        if (c->codes[i] < -1 || c->codes[i] >= c->ntexts) {
            PyErr_Format(PyExc_ValueError, "row %lld has code %d; expected -1 to %lld",
                         (long long)i, (int)c->codes[i], (long long)c->ntexts - 1);
            return false;
        }
    return true;
}

static bool column_of(struct keep *k, PyObject *pair, struct frame_column *c, int64_t *rows)
{
    PyObject *values;
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2 ||
        !(c->name = text_of(PyTuple_GetItem(pair, 0), "the name of a column"))) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a column must be a pair (name, values)");
        return false;
    }
    values = PyTuple_GetItem(pair, 1);
    if (!PyTuple_Check(values))
        return (c->numbers = column_array(k, values, "d", sizeof(double), rows)) != NULL;
    if (PyTuple_Size(values) != 2) {
        PyErr_SetString(PyExc_TypeError, "texts of a column must be a pair (codes, list)");
        return false;
    }
    c->codes = column_array(k, PyTuple_GetItem(values, 0), "i", sizeof(int32_t), rows);
    return c->codes && texts_of(k, PyTuple_GetItem(values, 1), c) && codes_fit(c, *rows);
}

bool data_frame_of(struct keep *k, PyObject *list, struct data_frame *out)
{
    *out = (struct data_frame){.rows = -1};
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "columns must be a list");
        return false;
    }
    int n = (int)PyList_Size(list);
    out->columns = keep_alloc(k, (size_t)(n + 1) * sizeof *out->columns);
    for (; out->columns && out->n < n; out->n++)
        if (!column_of(k, PyList_GetItem(list, out->n), &out->columns[out->n], &out->rows))
            return false;
    return out->columns != NULL;
}

/* ---- as CSV ---- */

static void add_cell(struct buf *out, const struct frame_column *c, int64_t row)
{
    if (c->numbers)
        csv_print_number(out, c->numbers[row]);
    else if (c->codes[row] >= 0)
        csv_quote(out, c->texts[c->codes[row]], c->sizes[c->codes[row]], ',');
}

/* True when all is written; errno says why not. */
static bool write_rows(FILE *f, const struct data_frame *t)
{
    struct buf text = BUF_INIT;
    bool good = true;
    for (int i = 0; i < t->n; i++) {
        buf_str(&text, i ? "," : "");
        csv_quote(&text, t->columns[i].name, strlen(t->columns[i].name), ',');
    }
    buf_char(&text, '\n');
    for (int64_t row = 0; good && row <= t->rows; row++) {
        if (row == t->rows || text.len > WRITE_AT_ONCE) {
            good = fwrite(text.data, 1, text.len, f) == text.len;
            buf_reset(&text);
        }
        for (int i = 0; row < t->rows && i < t->n; i++) {
            buf_str(&text, i ? "," : "");
            add_cell(&text, &t->columns[i], row);
        }
        if (row < t->rows)
            buf_char(&text, '\n');
    }
    buf_deinit(&text);
    return good;
}

static PyObject *write_csv(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *path, *columns, *result = NULL;
    struct keep k = {0};
    struct data_frame t;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO:write_csv", KEYWORDS("path", "columns"),
                                     &path, &columns))
        return NULL;
    const char *name = path_of(&k, path, "path");
    if (name && data_frame_of(&k, columns, &t)) {
        bool good;
        Py_BEGIN_ALLOW_THREADS;
        FILE *f = fopen(name, "we");
        good = f && write_rows(f, &t);
        if (f && fclose(f) != 0)
            good = false;
        Py_END_ALLOW_THREADS;
        result = good ? Py_None : PyErr_SetFromErrnoWithFilename(PyExc_OSError, name);
        Py_XINCREF(good ? result : NULL);
    }
    keep_end(&k);
    return result;
}

static PyMethodDef functions[] = {
    METHOD("write_csv", write_csv, "Writes columns as a CSV file with a header line."), {0}};

bool frame_init(PyObject *m)
{
    return module_functions(m, functions);
}
