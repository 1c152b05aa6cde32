/* Descriptions of parameters: initializers, regularizers, clips and ParamAttr objects. A
 * description is a pair (kind, fields) or an object whose attribute _spec is one.
 *
 * Classes in paddle/ only collect fields; the kinds are known here alone. Results point into Python
 * objects, which the call's struct keep holds. */
#include "native.h"

#include <string.h>

/* The pair of a description: kind borrowed, *fields a new reference to a dict. NULL: exception. */
static const char *spec_open(struct keep *k, PyObject *o, const char *what, PyObject **fields)
{
    PyObject *pair = o;
    if (!PyTuple_Check(o)) {
        pair = PyObject_GetAttrString(o, "_spec");
        if (!pair) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s must be a pair (kind, fields) or have one as _spec",
                         what);
            return NULL;
        }
        if (!keep_object(k, pair))
            return NULL;
    }
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2 ||
        !PyDict_Check(PyTuple_GetItem(pair, 1))) {
        PyErr_Format(PyExc_TypeError, "%s: its description must be a pair (kind, dict)", what);
        return NULL;
    }
    *fields = PyTuple_GetItem(pair, 1);
    return text_of(PyTuple_GetItem(pair, 0), what);
}

static bool field_float(PyObject *fields, const char *name, double *out)
{
    PyObject *v = PyDict_GetItemString(fields, name);
    return !v || v == Py_None || float_of(v, name, out);
}

static bool field_int(PyObject *fields, const char *name, int *out)
{
    PyObject *v = PyDict_GetItemString(fields, name);
    int64_t i;
    if (!v || v == Py_None)
        return true;
    if (!int_of(v, name, &i))
        return false;
    *out = (int)i;
    return true;
}

static bool field_bool(PyObject *fields, const char *name, bool *out)
{
    PyObject *v = PyDict_GetItemString(fields, name);
    return !v || v == Py_None || truth_of(v, name, out);
}

/* ---- initializers ---- */

static bool values_of(struct keep *k, PyObject *fields, struct skiff_initializer *out)
{
    PyObject *values = PyDict_GetItemString(fields, "values");
    struct array_view a;
    if (!values) {
        PyErr_SetString(PyExc_TypeError, "an initializer of kind values needs the field values");
        return false;
    }
    if (!array_of(k, values, "values", NULL, &a))
        return false;
    bool whole = !strcmp(a.dtype, "int32") || !strcmp(a.dtype, "int64");
    if (!array_as(k, values, "values", whole ? "int32" : "float32", &a))
        return false;
    size_t n = array_bytes(&a) / 4;
    *out = whole ? skiff_init_int_values(a.data, n) : skiff_init_values(a.data, n);
    return true;
}

static bool uniform_of(PyObject *f, struct skiff_initializer *i)
{
    *i = skiff_init_uniform(-1, 1, 0);
    return field_float(f, "low", &i->a) && field_float(f, "high", &i->b) &&
           field_int(f, "seed", &i->seed) && field_int(f, "diag_num", &i->diag_num) &&
           field_int(f, "diag_step", &i->diag_step) && field_float(f, "diag_val", &i->diag_val);
}

static bool normal_of(PyObject *f, bool truncated, struct skiff_initializer *i)
{
    *i = truncated ? skiff_init_truncated_normal(0, 1, 0) : skiff_init_normal(0, 1, 0);
    return field_float(f, "loc", &i->a) && field_float(f, "scale", &i->b) &&
           field_int(f, "seed", &i->seed);
}

static bool fans_of(PyObject *f, bool msra, struct skiff_initializer *i)
{
    *i = msra ? skiff_init_msra(true, 0, 0) : skiff_init_xavier(true, 0, 0, 0);
    return field_bool(f, "uniform", &i->uniform) && field_float(f, "fan_in", &i->a) &&
           (msra || field_float(f, "fan_out", &i->b)) && field_int(f, "seed", &i->seed);
}

bool initializer_of(struct keep *k, PyObject *o, struct skiff_initializer *out)
{
    PyObject *f;
    *out = (struct skiff_initializer){0};
    if (!o || o == Py_None)
        return true;
    const char *kind = spec_open(k, o, "an initializer", &f);
    if (!kind)
        return false;
    if (!strcmp(kind, "constant")) {
        *out = skiff_init_constant(0);
        return field_float(f, "value", &out->a) && field_bool(f, "force_cpu", &out->force_cpu);
    }
    if (!strcmp(kind, "uniform"))
        return uniform_of(f, out);
    if (!strcmp(kind, "normal") || !strcmp(kind, "truncated_normal"))
        return normal_of(f, kind[0] == 't', out);
    if (!strcmp(kind, "xavier") || !strcmp(kind, "msra"))
        return fans_of(f, kind[0] == 'm', out);
    if (!strcmp(kind, "bilinear")) {
        *out = skiff_init_bilinear();
        return true;
    }
    if (!strcmp(kind, "values"))
        return values_of(k, f, out);
    PyErr_Format(PyExc_ValueError, "there is no initializer %s", kind);
    return false;
}

/* ---- regularizers and clips ---- */

bool regularizer_of(PyObject *o, struct skiff_regularizer *out)
{
    struct keep k = {0};
    PyObject *f;
    bool ok = false;
    *out = (struct skiff_regularizer){0};
    if (!o || o == Py_None)
        return true;
    const char *kind = spec_open(&k, o, "a regularizer", &f);
    if (kind && strcmp(kind, "l1") && strcmp(kind, "l2"))
        PyErr_Format(PyExc_ValueError, "there is no regularizer %s (l1, l2)", kind);
    else if (kind) {
        out->kind = kind[1] == '1' ? SKIFF_REG_L1 : SKIFF_REG_L2;
        ok = field_float(f, "coeff", &out->coeff);
    }
    keep_end(&k);
    return ok;
}

static bool clip_kind(const char *kind, PyObject *f, struct skiff_clip *out)
{
    if (!strcmp(kind, "value")) {
        out->kind = SKIFF_CLIP_VALUE;
        PyObject *min = PyDict_GetItemString(f, "min");
        if (!field_float(f, "max", &out->max))
            return false;
        out->min = -out->max;
        return !min || min == Py_None || float_of(min, "min", &out->min);
    }
    out->kind = !strcmp(kind, "norm")          ? SKIFF_CLIP_NORM
                : !strcmp(kind, "global_norm") ? SKIFF_CLIP_GLOBAL_NORM
                                               : SKIFF_CLIP_NONE;
    if (out->kind == SKIFF_CLIP_NONE) {
        PyErr_Format(PyExc_ValueError, "there is no clip %s (value, norm, global_norm)", kind);
        return false;
    }
    return field_float(f, "clip_norm", &out->norm);
}

bool clip_of(struct keep *k, PyObject *o, struct net_object *net, struct skiff_clip *out)
{
    PyObject *f;
    *out = (struct skiff_clip){0};
    if (!o || o == Py_None)
        return true;
    const char *kind = spec_open(k, o, "a gradient clip", &f);
    if (!kind || !clip_kind(kind, f, out))
        return false;
    PyObject *group = PyDict_GetItemString(f, "group_name");
    PyObject *need = PyDict_GetItemString(f, "need_clip");
    if (group && !text_or_none(group, "group_name", &out->group))
        return false;
    if (out->group && net) { /* the parameter remembers the pointer */
        Py_INCREF(group);
        int failed = PyList_Append(net->keeps, group);
        Py_DECREF(group);
        if (failed)
            return false;
    }
    if (!need || need == Py_None)
        return true;
    if (!net) {
        PyErr_SetString(PyExc_TypeError, "need_clip cannot be given here");
        return false;
    }
    out->need_clip = net_predicate_call;
    out->user = net_predicate(net, need);
    return out->user != NULL;
}

/* ---- ParamAttr ---- */

/* An attribute that may be missing; *out NULL then. The value is kept. */
static bool member(struct keep *k, PyObject *o, const char *name, PyObject **out)
{
    *out = NULL;
    if (!PyObject_HasAttrString(o, name))
        return true;
    *out = PyObject_GetAttrString(o, name);
    if (!keep_object(k, *out))
        return false;
    if (*out == Py_None)
        *out = NULL;
    return true;
}

static bool param_numbers(struct keep *k, PyObject *o, struct skiff_param_attr *a)
{
    PyObject *rate, *trainable, *average;
    bool yes;
    if (!member(k, o, "learning_rate", &rate) || !member(k, o, "trainable", &trainable) ||
        !member(k, o, "do_model_average", &average))
        return false;
    if (rate) {
        if (!float_of(rate, "learning_rate of a ParamAttr", &a->learning_rate))
            return false;
        if (a->learning_rate == 0)
            a->learning_rate = SKIFF_ZERO;
    }
    if (trainable) {
        if (!truth_of(trainable, "trainable", &yes))
            return false;
        a->frozen = !yes;
    }
    if (average) {
        if (!truth_of(average, "do_model_average", &yes))
            return false;
        a->no_model_average = !yes;
    }
    return true;
}

/* fluid's WeightNormParamAttr. */
static bool weight_norm_of(struct keep *k, PyObject *o, struct skiff_param_attr *a)
{
    PyObject *normalized, *dim;
    if (!member(k, o, "_weight_norm", &normalized) || !normalized)
        return !PyErr_Occurred();
    a->weight_norm = true;
    if (!member(k, o, "dim", &dim))
        return false;
    a->has_norm_dim = dim != NULL;
    return !dim || int_of(dim, "dim of a WeightNormParamAttr", &a->norm_dim);
}

bool param_attr_of(struct keep *k, PyObject *o, struct net_object *net,
                   const struct skiff_param_attr **out)
{
    PyObject *name, *initializer, *regularizer, *clip;
    *out = NULL;
    if (!o || o == Py_None || o == Py_True)
        return true;
    if (o == Py_False) {
        *out = SKIFF_NO_PARAM;
        return true;
    }
    struct skiff_param_attr *a = keep_alloc(k, sizeof(*a));
    if (!a)
        return false;
    *out = a;
    if (PyUnicode_Check(o))
        return (a->name = text_of(o, "a parameter's name")) != NULL;
    if (!member(k, o, "name", &name) || !member(k, o, "initializer", &initializer) ||
        !member(k, o, "regularizer", &regularizer) || !member(k, o, "gradient_clip", &clip))
        return false;
    if (!clip && !member(k, o, "grad_clip", &clip))
        return false;
    return text_or_none(name, "a parameter's name", &a->name) &&
           initializer_of(k, initializer, &a->initializer) &&
           regularizer_of(regularizer, &a->regularizer) &&
           clip_of(k, clip, net, &a->gradient_clip) && param_numbers(k, o, a) &&
           weight_norm_of(k, o, a);
}

bool param_form_of(struct keep *k, PyObject *o, struct net_object *net,
                   const struct skiff_param_attr **out)
{
    static PyObject *type;
    if (!type) {
        PyObject *module = PyImport_ImportModule("paddle.fluid.param_attr");
        type = module ? PyObject_GetAttrString(module, "ParamAttr") : NULL;
        Py_XDECREF(module);
    }
    PyObject *attr = type ? PyObject_CallMethod(type, "_to_attr", "O", o) : NULL;
    return keep_object(k, attr) && param_attr_of(k, attr, net, out);
}
