/* Gradients and optimizers: bindings of append_backward and of optimizers on programs
 * (<skiff/optimizer.h>).
 *
 * An optimizer remembers variables of the programs it has worked on, so the object keeps these
 * programs alive. Regularizers and clips are descriptions (specs.c), converted anew in each call.
 * Warnings of C become Python warnings, which may be errors. */
#include "native.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- gradients ---- */

static bool minimize_options(struct keep *k, PyObject *parameters, PyObject *no_grad,
                             struct skiff_minimize_options *o)
{
    const char **names;
    *o = (struct skiff_minimize_options){0};
    if (!names_of(k, parameters, "parameters", &names, &o->nparameters))
        return false;
    o->parameters = names;
    if (!names_of(k, no_grad, "no_grad", &names, &o->nno_grad))
        return false;
    o->no_grad = names;
    return true;
}

static PyObject *pairs_list(struct program_object *p, const struct skiff_param_grad *pairs, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *param = var_wrap(p, pairs[i].param);
        PyObject *grad = param ? var_wrap(p, pairs[i].grad) : NULL;
        PyObject *pair = grad ? PyTuple_Pack(2, param, grad) : NULL;
        Py_XDECREF(param);
        Py_XDECREF(grad);
        if (!pair || PyList_SetItem(list, i, pair) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* false: the warning is an error (warnings.simplefilter). */
static bool pass_warning(const struct net_object *n)
{
    const char *text = skiff_net_warning(n->net);
    return !text || PyErr_WarnEx(PyExc_UserWarning, text, 2) == 0;
}

/* Of the net, or of an optimizer (opt not NULL). */
static PyObject *backward(struct net_object *n, struct skiff_optimizer *opt, PyObject *args,
                          PyObject *keywords)
{
    PyObject *loss_object, *parameters = NULL, *no_grad = NULL, *result = NULL;
    struct keep k = {0};
    struct skiff_minimize_options o;
    struct skiff_param_grad *pairs = NULL;
    struct skiff_error err;
    int count = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OO",
                                     KEYWORDS("loss", "parameters", "no_grad"), &loss_object,
                                     &parameters, &no_grad))
        return NULL;
    struct skiff_var *loss = var_of(loss_object, "loss");
    if (loss && minimize_options(&k, parameters, no_grad, &o)) {
        enum skiff_status status =
            opt ? skiff_optimizer_backward(opt, loss, &o, &pairs, &count, &err)
                : skiff_net_backward(n->net, loss, &o, &pairs, &count, &err);
        if (status < 0) {
            skiff_net_forget(n->net);
            raise_error(&err);
        } else if (pass_warning(n)) {
            result = pairs_list(net_main(n), pairs, count);
        }
    }
    keep_end(&k);
    return result;
}

PyObject *net_backward(struct net_object *n, PyObject *args, PyObject *keywords)
{
    return backward(n, NULL, args, keywords);
}

PyObject *net_gradients(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *targets, *inputs, *given = NULL, *no_grad = NULL, *result = NULL;
    struct keep k = {0};
    struct skiff_var **t, **x, **tg = NULL, **out;
    int nt, nx, ntg = 0;
    struct skiff_minimize_options o;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OO",
                                     KEYWORDS("targets", "inputs", "target_gradients", "no_grad"),
                                     &targets, &inputs, &given, &no_grad))
        return NULL;
    if (!vars_of(&k, targets, "targets", &t, &nt) || !vars_of(&k, inputs, "inputs", &x, &nx) ||
        !vars_of(&k, given, "target_gradients", &tg, &ntg) ||
        !minimize_options(&k, NULL, no_grad, &o))
        goto out;
    if (ntg && ntg != nt) {
        PyErr_Format(PyExc_ValueError,
                     "Should have the same number of target_gradients as targets");
        goto out;
    }
    if (!(out = keep_alloc(&k, (size_t)(nx + 1) * sizeof(*out))))
        goto out;
    if (skiff_net_gradients(n->net, (struct skiff_vars){nt, t}, (struct skiff_vars){nx, x}, tg, &o,
                            out, &err) < 0) {
        skiff_net_forget(n->net);
        raise_error(&err);
        goto out;
    }
    result = pass_warning(n) ? PyList_New(nx) : NULL;
    for (int i = 0; result && i < nx; i++) {
        PyObject *v = var_wrap(net_main(n), out[i]);
        if (!v || PyList_SetItem(result, i, v) < 0)
            Py_CLEAR(result);
    }
out:
    keep_end(&k);
    return result;
}

/* ---- optimizers ---- */

struct optimizer_object {
    PyObject_HEAD;
    struct skiff_optimizer *opt; /* the net's */
    struct net_object *net;
    PyObject *programs; /* list: those it has appended to, whose variables it remembers */
};
static PyTypeObject *optimizer_class;

static int optimizer_traverse(struct optimizer_object *o, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(o));
    Py_VISIT((PyObject *)o->net);
    Py_VISIT(o->programs);
    return 0;
}

static void optimizer_dealloc(struct optimizer_object *o)
{
    PyObject_GC_UnTrack(o);
    Py_CLEAR(o->programs);
    Py_CLEAR(o->net);
    class_free((PyObject *)o);
}

const struct skiff_optimizer_info *optimizer_info_of(const char *type, int generation)
{
    const struct skiff_optimizer_info *info;
    for (int i = 0; (info = skiff_optimizer_info(i, generation)); i++)
        if (!strcmp(info->type, type))
            return info;
    return NULL;
}

static bool number_set(PyObject *value, const char *name, double *field)
{
    if (!float_of(value, name, field))
        return false;
    if (*field == 0)
        *field = SKIFF_ZERO;
    return true;
}

static bool setting_set(struct net_object *net, const struct skiff_optimizer_setting *s,
                        PyObject *value, struct skiff_optimizer_options *o)
{
    void *field = (char *)o + s->offset;
    struct skiff_param_factor *factor = field;
    struct skiff_param_test *test = field;
    switch (s->kind) {
    case SKIFF_SETTING_NUMBER:
        return number_set(value, s->name, field);
    case SKIFF_SETTING_TRUTH:
        return truth_of(value, s->name, field);
    case SKIFF_SETTING_FACTOR:
        factor->call = net_factor_call;
        factor->user = net_predicate(net, value);
        return factor->user != NULL;
    default:
        test->call = net_predicate_call;
        test->user = net_predicate(net, value);
        return test->user != NULL;
    }
}

bool optimizer_option_set(struct keep *k, struct net_object *net,
                          const struct skiff_optimizer_info *info, const char *name,
                          PyObject *value, struct skiff_optimizer_options *o)
{
    if (value == Py_None)
        return true;
    if (!strcmp(name, "learning_rate") && is_a(value, CLASS_VAR)) {
        o->learning_rate_var = var_of(value, name);
        return true;
    }
    if (!strcmp(name, "regularization"))
        return regularizer_of(value, &o->regularization);
    if (!strcmp(name, "grad_clip"))
        return clip_of(k, value, net, &o->grad_clip);
    if (!strcmp(name, "name")) { /* C keeps the pointer */
        o->name = text_of(value, name);
        return o->name && PyList_Append(net->keeps, value) == 0;
    }
    for (const struct skiff_optimizer_setting *s = info->settings; s->name; s++)
        if (!strcmp(name, s->name))
            return setting_set(net, s, value, o);
    PyErr_Format(PyExc_TypeError, "optimizer %s has no option %s", info->type, name);
    return false;
}

static PyObject *optimizer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct skiff_optimizer_options o = {0};
    struct keep k = {0};
    PyObject *net_object = NULL, *kind = NULL, *rate = NULL, *key, *value;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "OO|O", &net_object, &kind, &rate))
        return NULL;
    struct net_object *net = (struct net_object *)net_object;
    if (!PyObject_TypeCheck(net_object, net_class)) {
        PyErr_SetString(PyExc_TypeError, "net must be a Net");
        return NULL;
    }
    const char *name = text_of(kind, "type");
    if (!name)
        return NULL;
    /* a type that is not known is refused by skiff_optimizer_create */
    const struct skiff_optimizer_info *info =
        optimizer_info_of(name, skiff_program_generation(net_main(net)->p));
    bool ok = !info || !rate || optimizer_option_set(&k, net, info, "learning_rate", rate, &o);
    while (ok && info && keywords && PyDict_Next(keywords, &at, &key, &value)) {
        const char *option = text_of(key, "an option");
        ok = option && optimizer_option_set(&k, net, info, option, value, &o);
    }
    struct skiff_optimizer *opt = ok ? skiff_optimizer_create(net->net, name, &o) : NULL;
    keep_end(&k);
    if (!ok || !net_ok(net))
        return NULL;
    struct optimizer_object *self = (struct optimizer_object *)class_alloc(type);
    if (!self)
        return NULL;
    self->opt = opt;
    Py_INCREF((PyObject *)net);
    self->net = net;
    self->programs = PyList_New(0);
    if (!self->programs)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* The current programs stay as long as the optimizer, which remembers variables of theirs. */
static bool programs_keep(struct optimizer_object *o)
{
    PyObject *both[] = {(PyObject *)net_main(o->net), (PyObject *)net_startup(o->net)};
    for (int i = 0; i < 2; i++) {
        int there = PySequence_Contains(o->programs, both[i]);
        if (there < 0 || (!there && PyList_Append(o->programs, both[i]) < 0))
            return false;
    }
    return true;
}

/* Update ops of the main program's blocks that stand at or after a position of the root block. */
static PyObject *updates_since(struct program_object *p, struct skiff_block *b, int from)
{
    PyObject *list = PyList_New(0);
    for (int i = from; list && i < skiff_block_ops(b); i++) {
        struct skiff_op *op = skiff_block_op(b, i);
        PyObject *o = skiff_op_is_update(op) ? op_wrap(p, b, op) : NULL;
        if (skiff_op_is_update(op) && (!o || PyList_Append(list, o) < 0))
            Py_CLEAR(list);
        Py_XDECREF(o);
    }
    return list;
}

static PyObject *apply_pairs(struct optimizer_object *o, PyObject *pairs_object)
{
    struct skiff_error err;
    PyObject *pairs = PySequence_List(pairs_object), *result = NULL;
    if (!pairs || !programs_keep(o)) {
        Py_XDECREF(pairs);
        return NULL;
    }
    int n = (int)PyList_Size(pairs), count = 0; /* parameters without gradient are left out */
    struct skiff_param_grad *pg = calloc((size_t)n + 1, sizeof(*pg));
    bool ok = pg != NULL;
    for (int i = 0; ok && i < n; i++) {
        PyObject *pair = PySequence_List(PyList_GetItem(pairs, i));
        ok = pair && PyList_Size(pair) == 2;
        if (pair && !ok)
            PyErr_SetString(PyExc_TypeError, "pairs must be (parameter, gradient) pairs");
        PyObject *grad = ok ? PyList_GetItem(pair, 1) : Py_None;
        if (grad != Py_None) {
            pg[count].param = var_of(PyList_GetItem(pair, 0), "a parameter");
            pg[count].grad = pg[count].param ? var_of(grad, "a gradient") : NULL;
            ok = pg[count++].grad != NULL;
        }
        Py_XDECREF(pair);
    }
    struct skiff_block *b = skiff_program_block(net_main(o->net)->p, 0);
    int from = skiff_block_ops(b);
    if (ok && skiff_optimizer_apply(o->opt, pg, count, &err) < 0) {
        skiff_net_forget(o->net->net);
        raise_error(&err);
    } else if (ok && !PyErr_Occurred()) {
        result = updates_since(net_main(o->net), b, from);
    }
    free(pg);
    Py_DECREF(pairs);
    return result;
}

static PyObject *optimizer_backward(struct optimizer_object *o, PyObject *args, PyObject *keywords)
{
    return backward(o->net, o->opt, args, keywords);
}

static PyObject *optimizer_apply(struct optimizer_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *pairs;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("pairs"), &pairs))
        return NULL;
    return apply_pairs(o, pairs);
}

static PyObject *optimizer_minimize(struct optimizer_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *pairs = backward(o->net, o->opt, args, keywords);
    PyObject *ops = pairs ? apply_pairs(o, pairs) : NULL;
    PyObject *result = ops ? PyTuple_Pack(2, ops, pairs) : NULL;
    Py_XDECREF(ops);
    Py_XDECREF(pairs);
    return result;
}

static PyObject *get_rate(struct optimizer_object *o, void *unused)
{
    return var_wrap(net_main(o->net), skiff_optimizer_rate(o->opt));
}

static PyObject *optimizer_accumulators(struct optimizer_object *o, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    const char *name;
    for (int i = 0; list && (name = skiff_optimizer_accumulator(o->opt, i)); i++) {
        PyObject *s = PyUnicode_FromString(name);
        if (!s || PyList_Append(list, s) < 0)
            Py_CLEAR(list);
        Py_XDECREF(s);
    }
    return list;
}

/* ---- what there is ---- */

static const char *kind_name(enum skiff_setting_kind kind)
{
    static const char *const names[] = {"number", "truth", "test", "test_name", "factor"};
    return names[kind];
}

static const char *range_name(enum skiff_setting_range range)
{
    static const char *const names[] = {"any", "share", "not_negative"};
    return names[range];
}

static PyObject *preset_object(const struct skiff_optimizer_setting *s)
{
    if (s->kind == SKIFF_SETTING_TRUTH)
        return PyBool_FromLong(s->preset != 0);
    if (s->kind != SKIFF_SETTING_NUMBER || isnan(s->preset))
        Py_RETURN_NONE;
    return PyFloat_FromDouble(s->preset);
}

static PyObject *settings_list(const struct skiff_optimizer_setting *s)
{
    PyObject *list = PyList_New(0);
    for (; list && s->name; s++) {
        bool needed = s->kind == SKIFF_SETTING_NUMBER && isnan(s->preset);
        PyObject *row = Py_BuildValue("{s:s,s:s,s:s,s:s,s:N,s:N}", "name", s->name, "argument",
                                      s->argument ? s->argument : s->name, "kind",
                                      kind_name(s->kind), "range", range_name(s->range), "preset",
                                      preset_object(s), "needed", PyBool_FromLong(needed));
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *optimizers(PyObject *self, PyObject *args, PyObject *keywords)
{
    int generation;
    const struct skiff_optimizer_info *info;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i", KEYWORDS("generation"), &generation))
        return NULL;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && (info = skiff_optimizer_info(i, generation)); i++) {
        PyObject *row = Py_BuildValue("{s:s,s:s,s:s,s:z,s:N}", "type", info->type, "class_name",
                                      info->class_name, "about", info->about, "arguments",
                                      info->arguments, "settings", settings_list(info->settings));
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyMethodDef functions[] = {
    METHOD("optimizers", optimizers, "The optimizers of a generation, their names and settings."),
    {0}};

static PyMethodDef optimizer_methods[] = {
    METHOD("backward", optimizer_backward, "append_backward: (parameter, gradient) pairs."),
    METHOD("apply", optimizer_apply, "Clipping, decay and update ops for pairs."),
    METHOD("minimize", optimizer_minimize, "Both: (update ops, pairs)."),
    METHOD0("accumulator_names", optimizer_accumulators, "Names of the accumulators made so far."),
    {0}};
static PyGetSetDef optimizer_attributes[] = {
    ATTRIBUTE("learning_rate", get_rate, NULL, "Variable of the rate in the current program."),
    {0}};
static PyType_Slot optimizer_slots[] = {{Py_tp_new, optimizer_new},
                                        {Py_tp_dealloc, optimizer_dealloc},
                                        {Py_tp_traverse, optimizer_traverse},
                                        {Py_tp_methods, optimizer_methods},
                                        {Py_tp_getset, optimizer_attributes},
                                        {Py_tp_doc, "An optimizer: see _native.pyi."},
                                        {0}};
static PyType_Spec optimizer_spec = {"skiff._native.Optimizer", sizeof(struct optimizer_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                     optimizer_slots};

bool optimizer_init(PyObject *m)
{
    return class_add(m, &optimizer_spec, "Optimizer", &optimizer_class) &&
           module_functions(m, functions);
}
