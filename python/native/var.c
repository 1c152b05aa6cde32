/* Var: a variable of a program, and what parameters have beyond it.
 *
 * A Var refers to its Program object and is valid as long as that. Getters and setters are shared
 * by many attributes, which the closure tells apart. Setting a name renames the variable in its
 * block, because C finds variables by name. A producer is known by address only, so op looks for
 * it. */
#include "native.h"

#include <string.h>

static int var_traverse(struct var_object *o, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(o));
    Py_VISIT((PyObject *)o->program);
    return 0;
}

static void var_dealloc(struct var_object *o)
{
    PyObject_GC_UnTrack(o);
    Py_CLEAR(o->program);
    class_free((PyObject *)o);
}

struct skiff_block *var_block(struct program_object *p, const struct skiff_var *v)
{
    for (int i = 0; i < skiff_program_blocks(p->p); i++) {
        struct skiff_block *b = skiff_program_block(p->p, i);
        if (skiff_block_own_var(b, skiff_var_name(v)) == v)
            return b;
    }
    return skiff_program_block(p->p, 0); /* it was removed */
}

static PyObject *get_name(struct var_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_var_name(o->v));
}

static int set_name(struct var_object *o, PyObject *value, void *unused)
{
    const char *to = value ? text_of(value, "name") : NULL;
    if (!to)
        return -1;
    if (!strcmp(to, skiff_var_name(o->v)))
        return 0;
    if (!skiff_block_rename_var(var_block(o->program, o->v), skiff_var_name(o->v), to)) {
        PyErr_Format(PyExc_ValueError, "var %s cannot be named %s: there is one of that name",
                     skiff_var_name(o->v), to);
        return -1;
    }
    return 0;
}

static PyObject *get_shape(struct var_object *o, void *unused)
{
    int64_t dims[SKIFF_MAX_DIMS];
    int n = skiff_var_ndim(o->v);
    for (int i = 0; i < n; i++)
        dims[i] = skiff_var_dim(o->v, i);
    return dims_tuple(n, dims);
}

static int set_shape(struct var_object *o, PyObject *value, void *unused)
{
    struct skiff_dims d;
    if (!value || !dims_of(value, "shape", &d))
        return -1;
    skiff_var_set_shape(o->v, d.n, d.d);
    return 0;
}

static PyObject *get_dtype(struct var_object *o, void *unused)
{
    if (!skiff_var_has_dtype(o->v))
        Py_RETURN_NONE;
    return PyUnicode_FromString(skiff_var_dtype(o->v));
}

static int set_dtype(struct var_object *o, PyObject *value, void *unused)
{
    const char *name = value ? text_of(value, "dtype") : NULL;
    if (!name)
        return -1;
    if (!skiff_var_set_dtype(o->v, name)) {
        PyErr_Format(PyExc_ValueError, "there is no data type %s", name);
        return -1;
    }
    return 0;
}

static PyObject *get_lod_level(struct var_object *o, void *unused)
{
    return PyLong_FromLong(skiff_var_lod_level(o->v));
}

static int set_lod_level(struct var_object *o, PyObject *value, void *unused)
{
    int64_t v;
    if (!value || !int_of(value, "lod_level", &v))
        return -1;
    skiff_var_set_lod_level(o->v, (int)v);
    return 0;
}

static PyObject *get_kind(struct var_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_var_kind(o->v));
}

static int set_kind(struct var_object *o, PyObject *value, void *unused)
{
    const char *name = value ? text_of(value, "kind") : NULL;
    if (!name)
        return -1;
    if (!skiff_var_set_kind(o->v, name)) {
        PyErr_Format(PyExc_ValueError, "there is no kind of variable %s", name);
        return -1;
    }
    return 0;
}

/* Flags of every variable: one getter and one setter for all, distinguished by the closure. */
struct flag {
    const char *name;
    bool (*get)(const struct skiff_var *v);
    void (*set)(struct skiff_var *v, bool on);
};
static struct flag flags[] = {
    {"persistable", skiff_var_persistable, skiff_var_set_persistable},
    {"stop_gradient", skiff_var_stop_gradient, skiff_var_set_stop_gradient},
    {"need_check_feed", skiff_var_need_check_feed, skiff_var_set_need_check_feed}};

static PyObject *get_flag(struct var_object *o, struct flag *f)
{
    return PyBool_FromLong(f->get(o->v));
}

static int set_flag(struct var_object *o, PyObject *value, struct flag *f)
{
    bool on;
    if (!value || !truth_of(value, f->name, &on))
        return -1;
    f->set(o->v, on);
    return 0;
}

/* Set only: None, or (min, max). */
static int set_error_clip(struct var_object *o, PyObject *value, void *unused)
{
    double min = INFINITY, max = INFINITY;
    if (!value || (value != Py_None && !PyArg_ParseTuple(value, "dd", &min, &max)))
        return -1;
    skiff_var_set_error_clip(o->v, min, max);
    return 0;
}

/* ---- parameters ---- */

static PyObject *get_is_parameter(struct var_object *o, void *unused)
{
    return PyBool_FromLong(skiff_var_is_parameter(o->v));
}

enum param_field {
    PARAM_FIELD_TRAINABLE,
    PARAM_FIELD_RATE,
    PARAM_FIELD_REGULARIZER,
    PARAM_FIELD_CLIP,
    PARAM_FIELD_AVERAGE,
    PARAM_FIELD_DISTRIBUTED
};
static enum param_field param_fields[] = {PARAM_FIELD_TRAINABLE,   PARAM_FIELD_RATE,
                                          PARAM_FIELD_REGULARIZER, PARAM_FIELD_CLIP,
                                          PARAM_FIELD_AVERAGE,     PARAM_FIELD_DISTRIBUTED};

static PyObject *regularizer_spec(const struct skiff_regularizer *r)
{
    if (!r->kind)
        Py_RETURN_NONE;
    return Py_BuildValue("(s{s:d})", r->kind == SKIFF_REG_L1 ? "l1" : "l2", "coeff", r->coeff);
}

static PyObject *clip_spec(const struct skiff_clip *c)
{
    switch (c->kind) {
    case SKIFF_CLIP_VALUE:
        return Py_BuildValue("(s{s:d,s:d})", "value", "max", c->max, "min", c->min);
    case SKIFF_CLIP_NORM:
        return Py_BuildValue("(s{s:d})", "norm", "clip_norm", c->norm);
    case SKIFF_CLIP_GLOBAL_NORM:
        return Py_BuildValue("(s{s:d,s:s})", "global_norm", "clip_norm", c->norm, "group_name",
                             c->group ? c->group : "default_group");
    default:
        Py_RETURN_NONE;
    }
}

static PyObject *get_param(struct var_object *o, enum param_field *field)
{
    struct skiff_param_info info = skiff_var_param(o->v);
    switch (*field) {
    case PARAM_FIELD_TRAINABLE:
        return PyBool_FromLong(info.trainable);
    case PARAM_FIELD_RATE:
        return PyFloat_FromDouble(info.learning_rate);
    case PARAM_FIELD_REGULARIZER:
        return regularizer_spec(&info.regularizer);
    case PARAM_FIELD_CLIP:
        return clip_spec(&info.gradient_clip);
    case PARAM_FIELD_AVERAGE:
        return PyBool_FromLong(info.do_model_average);
    default:
        return PyBool_FromLong(info.is_distributed);
    }
}

static int set_param(struct var_object *o, PyObject *value, enum param_field *field)
{
    struct skiff_param_info info = skiff_var_param(o->v);
    struct keep k = {0};
    bool ok = false;
    if (!value)
        return -1;
    if (!skiff_var_is_parameter(o->v)) {
        PyErr_Format(PyExc_AttributeError, "%s is not a parameter", skiff_var_name(o->v));
        return -1;
    }
    switch (*field) {
    case PARAM_FIELD_TRAINABLE:
        ok = truth_of(value, "trainable", &info.trainable);
        break;
    case PARAM_FIELD_RATE:
        ok = float_of(value, "learning_rate", &info.learning_rate);
        break;
    case PARAM_FIELD_REGULARIZER:
        ok = regularizer_of(value, &info.regularizer);
        break;
    case PARAM_FIELD_CLIP:
        ok = clip_of(&k, value, NULL, &info.gradient_clip);
        break;
    case PARAM_FIELD_AVERAGE:
        ok = truth_of(value, "do_model_average", &info.do_model_average);
        break;
    case PARAM_FIELD_DISTRIBUTED:
        ok = truth_of(value, "is_distributed", &info.is_distributed);
        break;
    }
    if (ok)
        skiff_var_set_param(o->program->p, o->v, &info);
    keep_end(&k);
    return ok ? 0 : -1;
}

/* ---- where it belongs ---- */

static PyObject *get_block(struct var_object *o, void *unused)
{
    return block_wrap(o->program, var_block(o->program, o->v));
}

static PyObject *get_program(struct var_object *o, void *unused)
{
    Py_INCREF((PyObject *)o->program);
    return (PyObject *)o->program;
}

/* The producer is remembered by address only, so its block is looked for. */
static PyObject *get_op(struct var_object *o, void *unused)
{
    struct skiff_op *op = skiff_var_producer(o->v);
    for (int i = 0; op && i < skiff_program_blocks(o->program->p); i++) {
        struct skiff_block *b = skiff_program_block(o->program->p, i);
        for (int k = skiff_block_ops(b) - 1; k >= 0; k--)
            if (skiff_block_op(b, k) == op)
                return op_wrap(o->program, b, op);
    }
    Py_RETURN_NONE;
}

static PyObject *var_repr(struct var_object *o)
{
    PyObject *shape = get_shape(o, NULL);
    if (!shape)
        return NULL;
    PyObject *text = PyUnicode_FromFormat(
        "<skiff %s %s: %s %S>", skiff_var_is_parameter(o->v) ? "parameter" : "variable",
        skiff_var_name(o->v), skiff_var_has_dtype(o->v) ? skiff_var_dtype(o->v) : "?", shape);
    Py_DECREF(shape);
    return text;
}

static PyObject *var_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyErr_SetString(PyExc_TypeError, "variables come from blocks and layers");
    return NULL;
}

#define PARAM(name, i, doc)                                                              \
    {                                                                                    \
        name, (getter)(void (*)(void))get_param, (setter)(void (*)(void))set_param, doc, \
            &param_fields[i]                                                             \
    }
static PyGetSetDef attributes[] = {
    ATTRIBUTE("name", get_name, set_name, "Its name; setting renames it in its block."),
    ATTRIBUTE("shape", get_shape, set_shape, "Its dimensions; -1: known at run time."),
    ATTRIBUTE("dtype", get_dtype, set_dtype, "Name of its data type, or None."),
    ATTRIBUTE("lod_level", get_lod_level, set_lod_level, "How many sequence levels it has."),
    ATTRIBUTE("kind", get_kind, set_kind, "LOD_TENSOR, SELECTED_ROWS, ..."),
    {"persistable", (getter)(void (*)(void))get_flag, (setter)(void (*)(void))set_flag,
     "Whether it outlives a run.", &flags[0]},
    {"stop_gradient", (getter)(void (*)(void))get_flag, (setter)(void (*)(void))set_flag,
     "Whether it has no gradient.", &flags[1]},
    {"need_check_feed", (getter)(void (*)(void))get_flag, (setter)(void (*)(void))set_flag,
     "Whether feeds are checked against its shape.", &flags[2]},
    {"error_bounds", NULL, (setter)(void (*)(void))set_error_clip,
     "Set: (min, max) that minimize clips its gradient to, or None.", NULL},
    ATTRIBUTE("is_parameter", get_is_parameter, NULL, "Whether it is a parameter."),
    PARAM("trainable", PARAM_FIELD_TRAINABLE, "Whether minimize updates it."),
    PARAM("learning_rate", PARAM_FIELD_RATE, "Factor of the learning rate."),
    PARAM("regularizer", PARAM_FIELD_REGULARIZER,
          "Its own regularizer, as (kind, fields), or None."),
    PARAM("gradient_clip", PARAM_FIELD_CLIP, "Its own clip, as (kind, fields), or None."),
    PARAM("do_model_average", PARAM_FIELD_AVERAGE, "Whether model averaging takes it."),
    PARAM("is_distributed", PARAM_FIELD_DISTRIBUTED, "Whether its rows live on servers only."),
    ATTRIBUTE("block", get_block, NULL, "Its block."),
    ATTRIBUTE("program", get_program, NULL, "Its program."),
    ATTRIBUTE("op", get_op, NULL, "The op that writes it last, or None."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, var_new},
                              {Py_tp_dealloc, var_dealloc},
                              {Py_tp_traverse, var_traverse},
                              {Py_tp_repr, var_repr},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "A variable of a program."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Var", sizeof(struct var_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

bool var_init(PyObject *m)
{
    return class_add(m, &spec, "Var", &base_class[CLASS_VAR]);
}
