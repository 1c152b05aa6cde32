/* Metrics outside of programs. */
#include "native.h"

#include <string.h>

/* Two histograms of the same length. writable: they are changed in place, so they must be int64. */
static bool buckets_of(struct keep *k, PyObject *pos, PyObject *neg, bool writable,
                       struct array_view *p, struct array_view *n)
{
    bool ok =
        writable
            ? array_of(k, pos, "stat_pos", NULL, p) && array_of(k, neg, "stat_neg", NULL, n)
            : array_as(k, pos, "stat_pos", "int64", p) && array_as(k, neg, "stat_neg", "int64", n);
    if (!ok)
        return false;
    if (strcmp(p->dtype, "int64") || strcmp(n->dtype, "int64")) {
        PyErr_Format(PyExc_TypeError, "buckets must be int64, not %s and %s", p->dtype, n->dtype);
        return false;
    }
    if (array_bytes(p) != array_bytes(n) || array_bytes(p) < 16) {
        PyErr_SetString(PyExc_ValueError,
                        "stat_pos and stat_neg must have the same two or more buckets");
        return false;
    }
    return true;
}

static PyObject *auc_update(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *pos, *neg, *predictions, *labels;
    struct keep k = {0};
    struct array_view p, n, x, y;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOO",
                                     KEYWORDS("stat_pos", "stat_neg", "predictions", "labels"),
                                     &pos, &neg, &predictions, &labels))
        return NULL;
    bool ok = buckets_of(&k, pos, neg, true, &p, &n) &&
              array_as(&k, predictions, "predictions", "float32", &x) &&
              array_as(&k, labels, "labels", "int64", &y);
    size_t count = ok ? array_bytes(&y) / sizeof(int64_t) : 0;
    size_t width = ok && x.ndim > 1 ? (size_t)x.dims[x.ndim - 1] : 1;
    if (ok && (width < 1 || array_bytes(&x) != count * width * sizeof(float))) {
        PyErr_Format(PyExc_ValueError, "%zd predictions of width %zd do not fit %zd labels",
                     (Py_ssize_t)(array_bytes(&x) / sizeof(float)), (Py_ssize_t)width,
                     (Py_ssize_t)count);
        ok = false;
    }
    if (ok &&
        skiff_auc_count((int64_t *)p.data, (int64_t *)n.data, array_bytes(&p) / 8,
                        (const float *)x.data + (width - 1), width, y.data, count, &err) < 0) {
        raise_error(&err);
        ok = false;
    }
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *auc_area(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *pos, *neg;
    struct keep k = {0};
    struct array_view p, n;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", KEYWORDS("stat_pos", "stat_neg"), &pos,
                                     &neg))
        return NULL;
    PyObject *result = NULL;
    if (buckets_of(&k, pos, neg, false, &p, &n))
        result = PyFloat_FromDouble(skiff_auc_area(p.data, n.data, array_bytes(&p) / 8));
    keep_end(&k);
    return result;
}

static PyMethodDef functions[] = {
    METHOD("auc_update", auc_update, "Counts predictions into the buckets, in place."),
    METHOD("auc_area", auc_area, "Area under the ROC curve of two histograms."),
    {0}};

bool metric_init(PyObject *m)
{
    return module_functions(m, functions);
}
