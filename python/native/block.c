/* Block: its variables and ops, and ops of any type put into it.
 *
 * A variable that is there must agree with what create_var asks for, as in Fluid; one that could
 * not be completed is removed again. Vars and Ops are created on demand and found again by address
 * (program.c): one variable is one Python object. No lock but the interpreter's. */
#include "native.h"

#include <string.h>

static int block_traverse(struct block_object *o, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(o));
    Py_VISIT((PyObject *)o->program);
    return 0;
}

static void block_dealloc(struct block_object *o)
{
    PyObject_GC_UnTrack(o);
    Py_CLEAR(o->program);
    class_free((PyObject *)o);
}

static PyObject *get_idx(struct block_object *o, void *unused)
{
    return PyLong_FromLong(skiff_block_index(o->b));
}

static PyObject *get_parent(struct block_object *o, void *unused)
{
    return PyLong_FromLong(skiff_block_parent(o->b));
}

static PyObject *get_forward(struct block_object *o, void *unused)
{
    return PyLong_FromLong(skiff_block_forward(o->b));
}

static int set_forward(struct block_object *o, PyObject *value, void *unused)
{
    int64_t v;
    if (!value || !int_of(value, "forward_idx", &v))
        return -1;
    skiff_block_set_forward(o->b, (int)v);
    return 0;
}

static PyObject *get_program(struct block_object *o, void *unused)
{
    Py_INCREF((PyObject *)o->program);
    return (PyObject *)o->program;
}

static PyObject *get_num_ops(struct block_object *o, void *unused)
{
    return PyLong_FromLong(skiff_block_ops(o->b));
}

/* ---- variables ---- */

static PyObject *block_vars(struct block_object *o, PyObject *unused)
{
    int n = skiff_block_vars(o->b);
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *v = var_wrap(o->program, skiff_block_var_at(o->b, i));
        if (!v || PyList_SetItem(list, i, v) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *block_var_names(struct block_object *o, PyObject *unused)
{
    int n = skiff_block_vars(o->b);
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *s = PyUnicode_FromString(skiff_var_name(skiff_block_var_at(o->b, i)));
        if (!s || PyList_SetItem(list, i, s) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *no_var(const struct block_object *o, const char *name)
{
    struct skiff_error err = {.code = SKIFF_NOT_FOUND};
    PyOS_snprintf(err.message, sizeof(err.message), "var %.900s is not in block %d", name,
                  skiff_block_index(o->b));
    return raise_error(&err);
}

static PyObject *block_var(struct block_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    struct skiff_var *v = skiff_block_own_var(o->b, name);
    return v ? var_wrap(o->program, v) : no_var(o, name);
}

static PyObject *block_has_var(struct block_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    return PyBool_FromLong(skiff_block_own_var(o->b, name) != NULL);
}

static PyObject *block_find_var(struct block_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    return var_wrap(o->program, skiff_block_find_var(o->b, name));
}

/* What create_var was given; absent fields are NULL or None. */
struct var_fields {
    const char *name, *kind;
    PyObject *shape, *dtype, *lod_level, *persistable, *need_check_feed;
    int stop_gradient;
};

static bool given(PyObject *o)
{
    return o && o != Py_None;
}

/* A variable that is there must be what is asked for, as in Fluid. */
static bool var_agrees(const struct skiff_var *v, const struct var_fields *f,
                       const struct skiff_dims *shape, const char *dtype)
{
    if (strcmp(skiff_var_kind(v), f->kind)) {
        PyErr_Format(
            PyExc_ValueError,
            "Variable %s has been created before. The previous type is %s; the new type is "
            "%s. They are not matched",
            f->name, skiff_var_kind(v), f->kind);
        return false;
    }
    bool same = !given(f->shape) || skiff_var_ndim(v) == 0 || shape->n == skiff_var_ndim(v);
    for (int i = 0; same && given(f->shape) && i < skiff_var_ndim(v); i++)
        same = shape->d[i] == skiff_var_dim(v, i);
    if (!same) {
        PyErr_Format(
            PyExc_ValueError,
            "Variable %s has been created before with another shape. They are not matched.",
            f->name);
        return false;
    }
    if (dtype && skiff_var_has_dtype(v) && strcmp(dtype, skiff_var_dtype(v))) {
        PyErr_Format(PyExc_ValueError,
                     "Variable %s has been created before. The previous data type is %s, the new "
                     "data type is %s. They are not matched.",
                     f->name, skiff_var_dtype(v), dtype);
        return false;
    }
    return true;
}

/* Sets what was given; false with an exception. */
static bool var_apply(struct skiff_var *v, const struct var_fields *f,
                      const struct skiff_dims *shape, const char *dtype)
{
    int64_t level;
    bool yes;
    if (dtype && !skiff_var_set_dtype(v, dtype)) {
        PyErr_Format(PyExc_ValueError, "Variable %s: there is no data type %s", f->name, dtype);
        return false;
    }
    if (given(f->shape))
        skiff_var_set_shape(v, shape->n, shape->d);
    if (given(f->lod_level)) {
        if (!int_of(f->lod_level, "lod_level", &level))
            return false;
        skiff_var_set_lod_level(v, (int)level);
    }
    if (given(f->persistable)) {
        if (!truth_of(f->persistable, "persistable", &yes))
            return false;
        skiff_var_set_persistable(v, yes);
    }
    if (given(f->need_check_feed)) {
        if (!truth_of(f->need_check_feed, "need_check_feed", &yes))
            return false;
        skiff_var_set_need_check_feed(v, yes);
    }
    skiff_var_set_stop_gradient(v, f->stop_gradient);
    return true;
}

static PyObject *block_create_var(struct block_object *o, PyObject *args, PyObject *keywords)
{
    struct var_fields f = {.kind = "LOD_TENSOR"};
    struct skiff_dims shape = {0};
    const char *dtype = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|$OOOsOpO",
                                     KEYWORDS("name", "shape", "dtype", "lod_level", "kind",
                                              "persistable", "stop_gradient", "need_check_feed"),
                                     &f.name, &f.shape, &f.dtype, &f.lod_level, &f.kind,
                                     &f.persistable, &f.stop_gradient, &f.need_check_feed))
        return NULL;
    if ((given(f.shape) && !dims_of(f.shape, "shape", &shape)) ||
        !text_or_none(f.dtype, "dtype", &dtype))
        return NULL;
    struct skiff_var *v = skiff_block_own_var(o->b, f.name);
    bool fresh = !v;
    if (v && !var_agrees(v, &f, &shape, dtype))
        return NULL;
    if (fresh) {
        v = skiff_block_add_var(o->b, f.name);
        if (!skiff_var_set_kind(v, f.kind)) {
            skiff_block_remove_var(o->b, f.name);
            PyErr_Format(PyExc_ValueError, "Variable %s: there is no kind %s", f.name, f.kind);
            return NULL;
        }
    }
    if (!var_apply(v, &f, &shape, dtype)) {
        if (fresh)
            skiff_block_remove_var(o->b, f.name);
        return NULL;
    }
    return var_wrap(o->program, v);
}

static PyObject *block_create_parameter(struct block_object *o, PyObject *args, PyObject *keywords)
{
    const char *name, *dtype;
    PyObject *shape_object, *regularizer = NULL, *clip = NULL, *init = NULL, *net_given = NULL;
    int trainable = 1, average = 1, distributed = 0, stop = 0;
    double rate = 1.0;
    struct skiff_dims shape;
    struct skiff_initializer initializer;
    struct keep k = {0};
    struct skiff_param_info info = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sOs|$pdOOpppOO",
                                     KEYWORDS("name", "shape", "dtype", "trainable",
                                              "learning_rate", "regularizer", "gradient_clip",
                                              "do_model_average", "is_distributed", "stop_gradient",
                                              "initializer", "net"),
                                     &name, &shape_object, &dtype, &trainable, &rate, &regularizer,
                                     &clip, &average, &distributed, &stop, &init, &net_given))
        return NULL;
    struct net_object *net = NULL;
    if (given(net_given)) {
        if (!PyObject_TypeCheck(net_given, net_class)) {
            PyErr_SetString(PyExc_TypeError, "net must be a Net");
            return NULL;
        }
        net = (struct net_object *)net_given;
    }
    PyObject *result = NULL;
    if (!dims_of(shape_object, "shape", &shape) ||
        !regularizer_of(regularizer, &info.regularizer) ||
        !clip_of(&k, clip, net, &info.gradient_clip) || !initializer_of(&k, init, &initializer))
        goto out;
    if (skiff_dtype_number(dtype) < 0) {
        PyErr_Format(PyExc_ValueError, "parameter %s: there is no data type %s", name, dtype);
        goto out;
    }
    for (int i = 0; i < shape.n; i++)
        if (shape.d[i] < 0) {
            PyErr_Format(PyExc_ValueError,
                         "parameter %s: every dimension of its shape must be known", name);
            goto out;
        }
    struct skiff_var *v = skiff_block_add_var(o->b, name);
    skiff_var_set_dtype(v, dtype);
    skiff_var_set_shape(v, shape.n, shape.d);
    skiff_var_set_stop_gradient(v, stop);
    info.trainable = trainable;
    info.learning_rate = rate;
    info.do_model_average = average;
    info.is_distributed = distributed;
    skiff_var_set_param(o->program->p, v, &info);
    if (initializer.kind && net) {
        skiff_net_init_in(net->net, o->b, v, &initializer);
        if (!net_ok(net))
            goto out;
    }
    result = var_wrap(o->program, v);
out:
    keep_end(&k);
    return result;
}

static PyObject *block_remove_var(struct block_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    if (!skiff_block_own_var(o->b, name))
        return no_var(o, name);
    skiff_block_remove_var(o->b, name);
    Py_RETURN_NONE;
}

static PyObject *block_rename_var(struct block_object *o, PyObject *args, PyObject *keywords)
{
    const char *from, *to;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ss", KEYWORDS("old", "new"), &from, &to))
        return NULL;
    if (!skiff_block_own_var(o->b, from))
        return no_var(o, from);
    struct skiff_var *v = skiff_block_rename_var(o->b, from, to);
    if (!v) {
        PyErr_Format(PyExc_ValueError, "var %s cannot be named %s: there is one of that name", from,
                     to);
        return NULL;
    }
    return var_wrap(o->program, v);
}

/* ---- ops ---- */

static PyObject *block_ops(struct block_object *o, PyObject *unused)
{
    int n = skiff_block_ops(o->b);
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *op = op_wrap(o->program, o->b, skiff_block_op(o->b, i));
        if (!op || PyList_SetItem(list, i, op) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *block_op(struct block_object *o, PyObject *args, PyObject *keywords)
{
    int i;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i", KEYWORDS("idx"), &i))
        return NULL;
    struct skiff_op *op = skiff_block_op(o->b, i < 0 ? i + skiff_block_ops(o->b) : i);
    if (op)
        return op_wrap(o->program, o->b, op);
    PyErr_Format(PyExc_IndexError, "block %d has %d ops; there is no op %d",
                 skiff_block_index(o->b), skiff_block_ops(o->b), i);
    return NULL;
}

/* One mapping of append_op, item by item. */
struct op_parts {
    struct block_object *block;
    struct skiff_op *op;
    struct keep k;
    bool raw;
};

static bool put_slot(struct op_parts *p, const char *slot, PyObject *value, bool in)
{
    const char **names;
    int n;
    struct skiff_block *b = p->block->b;
    bool declared =
        in ? skiff_op_declares_in(b, p->op, slot) : skiff_op_declares_out(b, p->op, slot);
    if (!p->raw && !declared && skiff_op_known(p->op))
        return true;
    if (!names_of(&p->k, value, slot, &names, &n))
        return false;
    if (in)
        skiff_op_set_in(b, p->op, slot, n, names);
    else
        skiff_op_set_out(b, p->op, slot, n, names);
    return true;
}

static bool put_ins(struct op_parts *p, const char *slot, PyObject *value)
{
    return put_slot(p, slot, value, true);
}

static bool put_outs(struct op_parts *p, const char *slot, PyObject *value)
{
    return put_slot(p, slot, value, false);
}

static bool is_common_attr(const char *name)
{
    return !strncmp(name, "op_", 3) || !strncmp(name, "__", 2);
}

static bool put_attr(struct op_parts *p, const char *name, PyObject *value)
{
    struct skiff_attr a;
    struct skiff_error err;
    enum skiff_attr_type type;
    bool declared = skiff_op_declares_attr(p->block->b, p->op, name, &type);
    if (value == Py_None || (!p->raw && !declared && !is_common_attr(name)))
        return true;
    if (!attr_of(&p->k, value, name, declared ? (int)type : -1, &a))
        return false;
    if (skiff_op_set_attr(p->block->b, p->op, name, &a, &err) < 0) {
        raise_error(&err);
        return false;
    }
    return true;
}

static bool each(struct op_parts *p, PyObject *mapping, const char *what,
                 bool (*put)(struct op_parts *, const char *, PyObject *))
{
    if (!mapping || mapping == Py_None)
        return true;
    PyObject *items = PyMapping_Check(mapping) ? PyMapping_Items(mapping) : NULL;
    if (!items) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s of an op must be a dict", what);
        return false;
    }
    if (!keep_object(&p->k, items)) /* names are borrowed from it until the end */
        return false;
    for (Py_ssize_t i = 0; i < PyList_Size(items); i++) {
        PyObject *pair = PyList_GetItem(items, i);
        const char *key = text_of(PyTuple_GetItem(pair, 0), what);
        if (!key || !put(p, key, PyTuple_GetItem(pair, 1)))
            return false;
    }
    return true;
}

static void op_take_out(struct block_object *o, const struct skiff_op *op)
{
    for (int i = skiff_block_ops(o->b) - 1; i >= 0; i--)
        if (skiff_block_op(o->b, i) == op) {
            skiff_block_remove_ops(o->b, i, 1);
            return;
        }
}

static PyObject *block_append_op(struct block_object *o, PyObject *args, PyObject *keywords)
{
    const char *type;
    PyObject *ins = NULL, *outs = NULL, *attrs = NULL;
    int at = -1, infer = 1, raw = 0;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "s|OOO$ipp",
            KEYWORDS("type", "inputs", "outputs", "attrs", "at", "infer", "raw"), &type, &ins,
            &outs, &attrs, &at, &infer, &raw))
        return NULL;
    struct op_parts p = {.block = o, .op = skiff_block_insert_op(o->b, at, type), .raw = raw};
    bool ok = each(&p, ins, "inputs", put_ins) && each(&p, outs, "outputs", put_outs) &&
              each(&p, attrs, "attrs", put_attr);
    keep_end(&p.k);
    if (!ok) {
        op_take_out(o, p.op);
        return NULL;
    }
    if (!raw && skiff_op_finish(o->b, p.op, infer ? 0 : SKIFF_NO_INFER, &err) < 0)
        return raise_error(&err);
    return op_wrap(o->program, o->b, p.op);
}

static PyObject *block_remove_ops(struct block_object *o, PyObject *args, PyObject *keywords)
{
    int at, n = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i|i", KEYWORDS("at", "n"), &at, &n))
        return NULL;
    if (at < 0)
        at += skiff_block_ops(o->b);
    if (at < 0 || n < 0 || at + n > skiff_block_ops(o->b)) {
        PyErr_Format(PyExc_IndexError, "block %d has %d ops; %d from %d on cannot be removed",
                     skiff_block_index(o->b), skiff_block_ops(o->b), n, at);
        return NULL;
    }
    skiff_block_remove_ops(o->b, at, n);
    Py_RETURN_NONE;
}

static PyObject *block_infer_op(struct block_object *o, PyObject *args, PyObject *keywords)
{
    int i;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i", KEYWORDS("idx"), &i))
        return NULL;
    struct skiff_op *op = skiff_block_op(o->b, i);
    if (!op) {
        PyErr_Format(PyExc_IndexError, "block %d has no op %d", skiff_block_index(o->b), i);
        return NULL;
    }
    if (skiff_op_infer(o->b, op, &err) < 0)
        return raise_error(&err);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    METHOD0("vars", block_vars, "The block's own variables, in order of creation."),
    METHOD0("var_names", block_var_names, "Their names."),
    METHOD("var", block_var, "The block's variable of that name."),
    METHOD("has_var", block_has_var, "Whether the block itself has it."),
    METHOD("find_var", block_find_var, "Here or in a parent; None."),
    METHOD("create_var", block_create_var, "A variable; the one that is there must agree."),
    METHOD("create_parameter", block_create_parameter, "A parameter."),
    METHOD("remove_var", block_remove_var, "Takes a variable out."),
    METHOD("rename_var", block_rename_var, "Another name, in all ops of the block too."),
    METHOD0("ops", block_ops, "The ops, in order."),
    METHOD("op", block_op, "The op at that position."),
    METHOD("append_op", block_append_op, "An op of any type: see _native.pyi."),
    METHOD("remove_ops", block_remove_ops, "Takes ops out."),
    METHOD("infer_op", block_infer_op, "Runs an op's shape rule again."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("idx", get_idx, NULL, "Its index."),
    ATTRIBUTE("parent_idx", get_parent, NULL, "Index of the block around it; -1: none."),
    ATTRIBUTE("forward_idx", get_forward, set_forward,
              "The block it is the gradient of; -1: none."),
    ATTRIBUTE("program", get_program, NULL, "Its program."),
    ATTRIBUTE("num_ops", get_num_ops, NULL, "How many ops there are."),
    {0}};

/* Instances come from programs only: the new of object would leave them empty. */
static PyObject *block_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyErr_SetString(PyExc_TypeError, "blocks come from Program.block and Program.create_block");
    return NULL;
}

static PyType_Slot slots[] = {{Py_tp_new, block_new},
                              {Py_tp_dealloc, block_dealloc},
                              {Py_tp_traverse, block_traverse},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "A block of a program."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Block", sizeof(struct block_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

bool block_init(PyObject *m)
{
    return class_add(m, &spec, "Block", &base_class[CLASS_BLOCK]);
}
