/* Branches and recurrent networks: bindings of <skiff/control.h>.
 *
 * One object struct serves all four classes, since each is a pointer to what the net owns; the
 * object keeps the net alive and never frees the pointer. Python's classes call begin and end;
 * order and nesting are checked in C. */
#include "native.h"

#include <skiff/control.h>

struct control_object {
    PyObject_HEAD;
    struct net_object *net;
    void *c; /* the net's */
};
static PyTypeObject *branch_class, *if_else_class, *static_class, *dynamic_class;

static int control_traverse(struct control_object *o, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(o));
    Py_VISIT((PyObject *)o->net);
    return 0;
}

static void control_dealloc(struct control_object *o)
{
    PyObject_GC_UnTrack(o);
    Py_CLEAR(o->net);
    class_free((PyObject *)o);
}

static PyObject *control_new(struct net_object *n, PyTypeObject *type, void *c)
{
    struct control_object *o = net_ok(n) ? (struct control_object *)class_alloc(type) : NULL;
    if (o) {
        Py_INCREF((PyObject *)n);
        o->net = n;
        o->c = c;
    }
    return (PyObject *)o;
}

static PyObject *none_if_ok(struct net_object *n)
{
    if (!net_ok(n))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *var_if_ok(struct net_object *n, struct skiff_var *v)
{
    return net_ok(n) ? var_wrap(net_main(n), v) : NULL;
}

static struct skiff_var *one_var(PyObject *args, PyObject *keywords)
{
    PyObject *x;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("x"), &x))
        return NULL;
    return var_of(x, "x");
}

/* ---- branch ---- */

PyObject *net_branch_begin(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *conditions, *out = NULL;
    int scalar = 0, count;
    struct skiff_var **vars;
    struct keep k = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p", KEYWORDS("conditions", "is_scalar"),
                                     &conditions, &scalar))
        return NULL;
    if (vars_of(&k, conditions, "conditions", &vars, &count))
        out = control_new(n, branch_class, skiff_branch_begin(n->net, count, vars, scalar));
    keep_end(&k);
    return out;
}

PyObject *net_select_input(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *inputs, *mask, *out = NULL;
    int count;
    struct skiff_var **vars;
    struct keep k = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", KEYWORDS("inputs", "mask"), &inputs,
                                     &mask))
        return NULL;
    struct skiff_var *m = var_of(mask, "mask");
    if (m && vars_of(&k, inputs, "inputs", &vars, &count))
        out = var_if_ok(n, skiff_select_input(n->net, count, vars, m));
    keep_end(&k);
    return out;
}

static PyObject *branch_output(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *v = one_var(args, keywords);
    return v ? var_if_ok(o->net, skiff_branch_output(o->c, v)) : NULL;
}

static PyObject *branch_end(struct control_object *o, PyObject *unused)
{
    skiff_branch_end(o->c);
    return none_if_ok(o->net);
}

/* ---- IfElse ---- */

PyObject *net_if_else(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *condition;
    const char *name = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|z", KEYWORDS("condition", "name"),
                                     &condition, &name))
        return NULL;
    struct skiff_var *v = var_of(condition, "condition");
    return v ? control_new(n, if_else_class, skiff_if_else_create(n->net, v, name)) : NULL;
}

static PyObject *if_else_begin(struct control_object *o, PyObject *args, PyObject *keywords)
{
    int side;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "p", KEYWORDS("side"), &side))
        return NULL;
    skiff_if_else_begin(o->c, side);
    return none_if_ok(o->net);
}

static PyObject *if_else_input(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *v = one_var(args, keywords);
    return v ? var_if_ok(o->net, skiff_if_else_input(o->c, v)) : NULL;
}

static PyObject *if_else_output(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *v = one_var(args, keywords);
    if (!v)
        return NULL;
    skiff_if_else_output(o->c, v);
    return none_if_ok(o->net);
}

static PyObject *if_else_end(struct control_object *o, PyObject *unused)
{
    skiff_if_else_end(o->c);
    return none_if_ok(o->net);
}

static PyObject *results(struct control_object *o, int count,
                         struct skiff_var *(*get)(void *c, int i))
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        PyObject *v = var_if_ok(o->net, get(o->c, i));
        if (!v || PyList_Append(list, v) < 0)
            Py_CLEAR(list);
        Py_XDECREF(v);
    }
    return list;
}

static struct skiff_var *if_else_at(void *c, int i)
{
    return skiff_if_else_result(c, i);
}

static PyObject *if_else_results(struct control_object *o, PyObject *unused)
{
    return results(o, skiff_if_else_count(o->c), if_else_at);
}

/* ---- StaticRNN ---- */

PyObject *net_static_rnn(struct net_object *n, PyObject *args, PyObject *keywords)
{
    const char *name = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|z", KEYWORDS("name"), &name))
        return NULL;
    return control_new(n, static_class, skiff_static_rnn_create(n->net, name));
}

static PyObject *static_begin(struct control_object *o, PyObject *unused)
{
    skiff_static_rnn_begin(o->c);
    return none_if_ok(o->net);
}

static PyObject *static_input(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *v = one_var(args, keywords);
    return v ? var_if_ok(o->net, skiff_static_rnn_input(o->c, v)) : NULL;
}

static PyObject *static_memory(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *v = one_var(args, keywords);
    return v ? var_if_ok(o->net, skiff_static_rnn_memory(o->c, v)) : NULL;
}

static PyObject *static_memory_like(struct control_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *shape, *ref;
    double value = 0;
    int init_dim = 0, ref_dim = 1;
    struct skiff_dims dims;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|dii",
                                     KEYWORDS("shape", "ref", "value", "init_dim", "ref_dim"),
                                     &shape, &ref, &value, &init_dim, &ref_dim))
        return NULL;
    struct skiff_var *v = var_of(ref, "ref");
    if (!v || !dims_of(shape, "shape", &dims))
        return NULL;
    return var_if_ok(o->net, skiff_static_rnn_memory_like(o->c, dims, v, value, init_dim, ref_dim));
}

static bool two_vars(PyObject *args, PyObject *keywords, struct skiff_var **a, struct skiff_var **b)
{
    PyObject *memory, *now;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", KEYWORDS("memory", "now"), &memory,
                                     &now))
        return false;
    *a = var_of(memory, "memory");
    *b = *a ? var_of(now, "now") : NULL;
    return *b != NULL;
}

static PyObject *static_update(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *memory, *now;
    if (!two_vars(args, keywords, &memory, &now))
        return NULL;
    skiff_static_rnn_update(o->c, memory, now);
    return none_if_ok(o->net);
}

static PyObject *static_output(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *v = one_var(args, keywords);
    return v ? var_if_ok(o->net, skiff_static_rnn_output(o->c, v)) : NULL;
}

static PyObject *static_end(struct control_object *o, PyObject *unused)
{
    skiff_static_rnn_end(o->c);
    return none_if_ok(o->net);
}

/* ---- DynamicRNN ---- */

PyObject *net_dynamic_rnn(struct net_object *n, PyObject *args, PyObject *keywords)
{
    const char *name = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|z", KEYWORDS("name"), &name))
        return NULL;
    return control_new(n, dynamic_class, skiff_dynamic_rnn_create(n->net, name));
}

static PyObject *dynamic_begin(struct control_object *o, PyObject *unused)
{
    skiff_dynamic_rnn_begin(o->c);
    return none_if_ok(o->net);
}

static PyObject *dynamic_input(struct control_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *x;
    int level = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|i", KEYWORDS("x", "level"), &x, &level))
        return NULL;
    struct skiff_var *v = var_of(x, "x");
    return v ? var_if_ok(o->net, skiff_dynamic_rnn_input(o->c, v, level)) : NULL;
}

static PyObject *dynamic_static_input(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *v = one_var(args, keywords);
    return v ? var_if_ok(o->net, skiff_dynamic_rnn_static_input(o->c, v)) : NULL;
}

static PyObject *dynamic_memory(struct control_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *init;
    int reorder = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p", KEYWORDS("init", "reorder"), &init,
                                     &reorder))
        return NULL;
    struct skiff_var *v = var_of(init, "init");
    return v ? var_if_ok(o->net, skiff_dynamic_rnn_memory(o->c, v, reorder)) : NULL;
}

static PyObject *dynamic_memory_like(struct control_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *shape;
    double value = 0;
    const char *dtype = NULL;
    struct skiff_dims dims;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|dz", KEYWORDS("shape", "value", "dtype"),
                                     &shape, &value, &dtype) ||
        !dims_of(shape, "shape", &dims))
        return NULL;
    return var_if_ok(o->net, skiff_dynamic_rnn_memory_like(o->c, dims, value, dtype));
}

static PyObject *dynamic_update(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *memory, *now;
    if (!two_vars(args, keywords, &memory, &now))
        return NULL;
    skiff_dynamic_rnn_update(o->c, memory, now);
    return none_if_ok(o->net);
}

static PyObject *dynamic_output(struct control_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_var *v = one_var(args, keywords);
    if (!v)
        return NULL;
    skiff_dynamic_rnn_output(o->c, v);
    return none_if_ok(o->net);
}

static PyObject *dynamic_end(struct control_object *o, PyObject *unused)
{
    skiff_dynamic_rnn_end(o->c);
    return none_if_ok(o->net);
}

static struct skiff_var *dynamic_at(void *c, int i)
{
    return skiff_dynamic_rnn_result(c, i);
}

static PyObject *dynamic_results(struct control_object *o, PyObject *unused)
{
    return results(o, skiff_dynamic_rnn_count(o->c), dynamic_at);
}

/* ---- the classes ---- */

static PyMethodDef branch_methods[] = {METHOD("output", branch_output, "A copy around the block."),
                                       METHOD0("end", branch_end, "Ends the block."),
                                       {0}};
static PyMethodDef if_else_methods[] = {
    METHOD("begin", if_else_begin, "Begins the block of one side."),
    METHOD("input", if_else_input, "The rows of this side."),
    METHOD("output", if_else_output, "One more result of this side."),
    METHOD0("end", if_else_end, "Ends the block."),
    METHOD0("results", if_else_results, "The results of both sides."),
    {0}};
static PyMethodDef static_methods[] = {
    METHOD0("begin", static_begin, "Begins the block."),
    METHOD("input", static_input, "The step of a sequence."),
    METHOD("memory", static_memory, "A value from the step before."),
    METHOD("memory_like", static_memory_like, "The same, with a constant initial value."),
    METHOD("update", static_update, "What a memory becomes."),
    METHOD("output", static_output, "A result of all steps."),
    METHOD0("end", static_end, "Ends the block."),
    {0}};
static PyMethodDef dynamic_methods[] = {
    METHOD0("begin", dynamic_begin, "Begins the block."),
    METHOD("input", dynamic_input, "The step of sequences."),
    METHOD("static_input", dynamic_static_input, "The same in every step."),
    METHOD("memory", dynamic_memory, "A value from the step before."),
    METHOD("memory_like", dynamic_memory_like, "The same, with a constant initial value."),
    METHOD("update", dynamic_update, "What a memory becomes."),
    METHOD("output", dynamic_output, "One more result."),
    METHOD0("end", dynamic_end, "Ends the block."),
    METHOD0("results", dynamic_results, "The results, after the end."),
    {0}};

#define CONTROL_CLASS(id, name)                                                              \
    static PyType_Slot id##_slots[] = {{Py_tp_dealloc, control_dealloc},                     \
                                       {Py_tp_traverse, control_traverse},                   \
                                       {Py_tp_methods, id##_methods},                        \
                                       {Py_tp_doc, "Made by a Net: see _native.pyi."},       \
                                       {0}};                                                 \
    static PyType_Spec id##_spec = {"skiff._native." name, sizeof(struct control_object), 0, \
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, id##_slots}
CONTROL_CLASS(branch, "Branch");
CONTROL_CLASS(if_else, "IfElse");
CONTROL_CLASS(static, "StaticRnn");
CONTROL_CLASS(dynamic, "DynamicRnn");

bool control_init(PyObject *m)
{
    return class_add(m, &branch_spec, "Branch", &branch_class) &&
           class_add(m, &if_else_spec, "IfElse", &if_else_class) &&
           class_add(m, &static_spec, "StaticRnn", &static_class) &&
           class_add(m, &dynamic_spec, "DynamicRnn", &dynamic_class);
}
