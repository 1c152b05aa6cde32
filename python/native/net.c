/* Net: where layers append.
 *
 * A net has a stack of (main, startup) pairs; `with program_guard` pushes one. All nets are in a
 * list, so that each forgets a program that is destroyed: C would otherwise keep a pointer to it
 * (nets_forget). Callables of parameters run while C builds; their exception is kept and raised by
 * the building call. The interpreter lock guards all of it. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

static struct net_object *live; /* all nets, so that they forget programs that go */

void nets_forget(struct skiff_program *p)
{
    for (struct net_object *n = live; n; n = n->next)
        skiff_net_forget_program(n->net, p);
}

/* ---- the stack of programs ---- */

static struct program_object *top(struct net_object *n, int which)
{
    PyObject *pair = PyList_GetItem(n->frames, PyList_Size(n->frames) - 1);
    return (struct program_object *)PyTuple_GetItem(pair, which);
}

struct program_object *net_main(struct net_object *n)
{
    return top(n, 0);
}

struct program_object *net_startup(struct net_object *n)
{
    return top(n, 1);
}

static bool program_check(PyObject *o, const char *what)
{
    if (is_a(o, CLASS_PROGRAM))
        return true;
    PyErr_Format(PyExc_TypeError, "%s must be a Program", what);
    return false;
}

/* Steals neither. */
static bool frame_push(struct net_object *n, PyObject *main, PyObject *startup)
{
    PyObject *pair = PyTuple_Pack(2, main, startup);
    bool ok = pair && PyList_Append(n->frames, pair) == 0;
    Py_XDECREF(pair);
    return ok;
}

static PyObject *net_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct net_object *n = (struct net_object *)class_alloc(type);
    if (!n)
        return NULL;
    n->net = skiff_net_create();
    n->next = live;
    if (live)
        live->before = n;
    live = n;
    n->frames = PyList_New(0);
    n->keeps = PyList_New(0);
    PyObject *main = program_wrap(skiff_program_create(), NULL);
    PyObject *startup = main ? program_wrap(skiff_program_create(), NULL) : NULL;
    if (!n->frames || !n->keeps || !startup || !frame_push(n, main, startup))
        Py_CLEAR(n);
    else
        skiff_net_set_programs(n->net, ((struct program_object *)main)->p,
                               ((struct program_object *)startup)->p);
    Py_XDECREF(main);
    Py_XDECREF(startup);
    return (PyObject *)n;
}

static int net_traverse(struct net_object *n, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(n));
    Py_VISIT(n->frames);
    Py_VISIT(n->keeps);
    return 0;
}

static void net_dealloc(struct net_object *n)
{
    PyObject_GC_UnTrack(n);
    if (n->before)
        n->before->next = n->next;
    else if (live == n)
        live = n->next;
    if (n->next)
        n->next->before = n->before;
    skiff_net_destroy(n->net);
    Py_CLEAR(n->frames);
    Py_CLEAR(n->keeps);
    class_free((PyObject *)n);
}

static PyObject *get_main(struct net_object *n, void *unused)
{
    PyObject *p = (PyObject *)net_main(n);
    Py_INCREF(p);
    return p;
}

static PyObject *get_startup(struct net_object *n, void *unused)
{
    PyObject *p = (PyObject *)net_startup(n);
    Py_INCREF(p);
    return p;
}

static PyObject *get_block(struct net_object *n, void *unused)
{
    return block_wrap(net_main(n), skiff_net_block(n->net));
}

static int set_block(struct net_object *n, PyObject *value, void *unused)
{
    if (!value || !is_a(value, CLASS_BLOCK)) {
        PyErr_SetString(PyExc_TypeError, "block must be a Block of the main program");
        return -1;
    }
    skiff_net_set_block(n->net, ((struct block_object *)value)->b);
    return net_ok(n) ? 0 : -1;
}

static PyObject *net_push_programs(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *main, *startup = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O", KEYWORDS("main", "startup"), &main,
                                     &startup))
        return NULL;
    if (startup == Py_None)
        startup = (PyObject *)net_startup(n);
    if (!program_check(main, "main") || !program_check(startup, "startup") ||
        !frame_push(n, main, startup))
        return NULL;
    skiff_net_push_programs(n->net, ((struct program_object *)main)->p,
                            ((struct program_object *)startup)->p);
    Py_RETURN_NONE;
}

static PyObject *net_pop_programs(struct net_object *n, PyObject *unused)
{
    Py_ssize_t last = PyList_Size(n->frames) - 1;
    if (last < 1) {
        PyErr_SetString(PyExc_RuntimeError, "pop_programs: no programs have been pushed");
        return NULL;
    }
    skiff_net_pop_programs(n->net);
    if (PySequence_DelItem(n->frames, last) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *net_set_programs(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *main = Py_None, *startup = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO", KEYWORDS("main", "startup"), &main,
                                     &startup))
        return NULL;
    if (main == Py_None)
        main = (PyObject *)net_main(n);
    if (startup == Py_None)
        startup = (PyObject *)net_startup(n);
    if (!program_check(main, "main") || !program_check(startup, "startup"))
        return NULL;
    skiff_net_set_programs(n->net, ((struct program_object *)main)->p,
                           ((struct program_object *)startup)->p);
    PyObject *pair = PyTuple_Pack(2, main, startup);
    if (!pair || PyList_SetItem(n->frames, PyList_Size(n->frames) - 1, pair) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- names and scopes ---- */

struct names_object {
    PyObject_HEAD;
    struct skiff_names *n;
};
static PyTypeObject *names_class;

static void names_dealloc(struct names_object *o)
{
    skiff_names_destroy(o->n);
    class_free((PyObject *)o);
}

static PyObject *names_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *prefix = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|z", KEYWORDS("prefix"), &prefix))
        return NULL;
    struct names_object *o = (struct names_object *)class_alloc(type);
    if (o)
        o->n = skiff_names_create(prefix);
    return (PyObject *)o;
}

static PyType_Slot names_slots[] = {{Py_tp_new, names_new},
                                    {Py_tp_dealloc, names_dealloc},
                                    {Py_tp_doc, "Counters of unique names: Names(prefix='')."},
                                    {0}};
static PyType_Spec names_spec = {"skiff._native.Names", sizeof(struct names_object), 0,
                                 Py_TPFLAGS_DEFAULT, names_slots};

/* The object given takes the counters used until now: a fresh one when it was None. */
static PyObject *net_switch_names(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *given;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("names"), &given))
        return NULL;
    if (given != Py_None && !PyObject_TypeCheck(given, names_class)) {
        PyErr_SetString(PyExc_TypeError, "names must be Names or None");
        return NULL;
    }
    struct names_object *before = (struct names_object *)class_alloc(names_class);
    if (!before)
        return NULL;
    before->n = skiff_names_create(NULL);
    if (given != Py_None) { /* what was given must not count twice: its counters move */
        struct names_object *taken = (struct names_object *)given;
        struct skiff_names *empty = before->n;
        before->n = taken->n;
        taken->n = empty;
    }
    skiff_net_swap_names(n->net, before->n);
    return (PyObject *)before;
}

static PyObject *net_push_names(struct net_object *n, PyObject *args, PyObject *keywords)
{
    const char *prefix = "";
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|z", KEYWORDS("prefix"), &prefix))
        return NULL;
    skiff_net_push_names(n->net, prefix);
    Py_RETURN_NONE;
}

static PyObject *net_pop_names(struct net_object *n, PyObject *unused)
{
    skiff_net_pop_names(n->net);
    Py_RETURN_NONE;
}

static PyObject *net_name(struct net_object *n, PyObject *args, PyObject *keywords)
{
    const char *key;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("key"), &key))
        return NULL;
    return PyUnicode_FromString(skiff_net_name(n->net, key));
}

static PyObject *net_push_scope(struct net_object *n, PyObject *args, PyObject *keywords)
{
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    skiff_net_push_scope(n->net, name);
    Py_RETURN_NONE;
}

static PyObject *net_pop_scope(struct net_object *n, PyObject *unused)
{
    skiff_net_pop_scope(n->net);
    Py_RETURN_NONE;
}

/* ---- building ---- */

static PyObject *net_enter_block(struct net_object *n, PyObject *unused)
{
    return block_wrap(net_main(n), skiff_net_enter_block(n->net));
}

static PyObject *net_leave_block(struct net_object *n, PyObject *unused)
{
    return block_wrap(net_main(n), skiff_net_leave_block(n->net));
}

static PyObject *net_init_var(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *var, *init;
    struct keep k = {0};
    struct skiff_initializer initializer;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", KEYWORDS("var", "initializer"), &var,
                                     &init))
        return NULL;
    struct skiff_var *v = var_of(var, "var");
    bool ok = v && initializer_of(&k, init, &initializer);
    if (ok && !initializer.kind)
        initializer = skiff_init_constant(0);
    if (ok)
        skiff_net_init_var(n->net, v, &initializer);
    keep_end(&k);
    if (!ok || !net_ok(n))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *net_set_gradient_clip(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *given, *params = NULL;
    struct keep k = {0};
    struct skiff_clip clip;
    const char **names;
    int count;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O", KEYWORDS("clip", "params"), &given,
                                     &params))
        return NULL;
    bool ok = clip_of(&k, given, n, &clip) && names_of(&k, params, "params", &names, &count);
    if (ok)
        skiff_net_set_gradient_clip(n->net, &clip, names, count);
    keep_end(&k);
    if (!ok || !net_ok(n))
        return NULL;
    Py_RETURN_NONE;
}

/* ---- callables of parameters ---- */

struct predicate {
    PyObject *callable;
    struct net_object *net; /* who keeps it */
};

static void predicate_free(PyObject *capsule)
{
    struct predicate *p = PyCapsule_GetPointer(capsule, "skiff.predicate");
    if (p)
        Py_XDECREF(p->callable);
    free(p);
}

void *net_predicate(struct net_object *net, PyObject *callable)
{
    if (!PyCallable_Check(callable)) {
        PyErr_SetString(PyExc_TypeError, "a function of parameters must be callable");
        return NULL;
    }
    struct predicate *p = calloc(1, sizeof(*p));
    if (!p)
        return PyErr_NoMemory();
    *p = (struct predicate){callable, net};
    Py_INCREF(callable);
    PyObject *capsule = PyCapsule_New(p, "skiff.predicate", predicate_free);
    if (!capsule || PyList_Append(net->keeps, capsule) < 0)
        p = NULL;
    Py_XDECREF(capsule);
    return p;
}

/* The function's result for the parameter; NULL after an exception, which the building call raises
 * (net_ok, minimize). */
static PyObject *predicate_answer(const struct predicate *p, const struct skiff_var *param)
{
    if (PyErr_Occurred())
        return NULL;
    PyObject *var = var_wrap(net_main(p->net), (struct skiff_var *)param);
    PyObject *answer = var ? PyObject_CallFunctionObjArgs(p->callable, var, NULL) : NULL;
    Py_XDECREF(var);
    return answer;
}

bool net_predicate_call(const struct skiff_var *param, void *user)
{
    PyObject *answer = predicate_answer(user, param);
    int yes = answer ? PyObject_IsTrue(answer) : 0;
    Py_XDECREF(answer);
    return yes > 0;
}

double net_factor_call(const struct skiff_var *param, void *user)
{
    PyObject *answer = predicate_answer(user, param);
    double factor = 1;
    if (answer && !float_of(answer, "what a function of parameters gives", &factor))
        factor = 1;
    Py_XDECREF(answer);
    return factor;
}

/* ---- control flow ---- */

struct flow_object { /* Switch, While */
    PyObject_HEAD;
    struct net_object *net;
    struct skiff_switch *s;
    struct skiff_while *w;
};
static PyTypeObject *switch_class, *while_class;

static int flow_traverse(struct flow_object *o, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(o));
    Py_VISIT((PyObject *)o->net);
    return 0;
}

static void flow_dealloc(struct flow_object *o)
{
    PyObject_GC_UnTrack(o);
    Py_CLEAR(o->net);
    class_free((PyObject *)o);
}

static struct flow_object *flow_new(struct net_object *n, PyTypeObject *type)
{
    struct flow_object *o = net_ok(n) ? (struct flow_object *)class_alloc(type) : NULL;
    if (o) {
        Py_INCREF((PyObject *)n);
        o->net = n;
    }
    return o;
}

static PyObject *net_switch_begin(struct net_object *n, PyObject *unused)
{
    struct skiff_switch *s = skiff_switch_begin(n->net);
    struct flow_object *o = flow_new(n, switch_class);
    if (o)
        o->s = s;
    return (PyObject *)o;
}

static PyObject *net_while_begin(struct net_object *n, PyObject *args, PyObject *keywords)
{
    PyObject *condition;
    int is_test = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p", KEYWORDS("condition", "is_test"),
                                     &condition, &is_test))
        return NULL;
    struct skiff_var *v = var_of(condition, "condition");
    struct skiff_while *w = v ? skiff_while_begin(n->net, v, is_test) : NULL;
    struct flow_object *o = v ? flow_new(n, while_class) : NULL;
    if (o)
        o->w = w;
    return (PyObject *)o;
}

static PyObject *none_if_ok(struct net_object *n)
{
    if (!net_ok(n))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *switch_case(struct flow_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *condition;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("condition"), &condition))
        return NULL;
    struct skiff_var *v = var_of(condition, "condition");
    if (!v)
        return NULL;
    skiff_switch_case(o->s, v);
    return none_if_ok(o->net);
}

static PyObject *switch_default(struct flow_object *o, PyObject *unused)
{
    skiff_switch_default(o->s);
    return none_if_ok(o->net);
}

static PyObject *switch_end(struct flow_object *o, PyObject *unused)
{
    skiff_switch_end(o->s);
    return none_if_ok(o->net);
}

static PyObject *while_end(struct flow_object *o, PyObject *unused)
{
    skiff_while_end(o->w);
    return none_if_ok(o->net);
}

static PyMethodDef switch_methods[] = {METHOD("case", switch_case, "Begins a case."),
                                       METHOD0("default", switch_default, "Begins the default."),
                                       METHOD0("end", switch_end, "Ends the case."),
                                       {0}};
static PyType_Slot switch_slots[] = {{Py_tp_dealloc, flow_dealloc},
                                     {Py_tp_traverse, flow_traverse},
                                     {Py_tp_methods, switch_methods},
                                     {Py_tp_doc, "Made by Net.switch_begin."},
                                     {0}};
static PyType_Spec switch_spec = {"skiff._native.Switch", sizeof(struct flow_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, switch_slots};
static PyMethodDef while_methods[] = {METHOD0("end", while_end, "Ends the loop's body."), {0}};
static PyType_Slot while_slots[] = {{Py_tp_dealloc, flow_dealloc},
                                    {Py_tp_traverse, flow_traverse},
                                    {Py_tp_methods, while_methods},
                                    {Py_tp_doc, "Made by Net.while_begin."},
                                    {0}};
static PyType_Spec while_spec = {"skiff._native.While", sizeof(struct flow_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, while_slots};

/* ---- the class ---- */

static PyMethodDef methods[] = {
    METHOD("push_programs", net_push_programs, "Layers append to these until the pop."),
    METHOD0("pop_programs", net_pop_programs, "Back to the programs before."),
    METHOD("set_programs", net_set_programs, "Replaces the programs on top."),
    METHOD("push_names", net_push_names, "Fresh counters of unique names until the pop."),
    METHOD0("pop_names", net_pop_names, "Back to the counters before."),
    METHOD("switch_names", net_switch_names, "Other counters; the ones before are returned."),
    METHOD("name", net_name, "A unique name: key_0, key_1, ..."),
    METHOD("push_scope", net_push_scope, "name_scope until the pop."),
    METHOD0("pop_scope", net_pop_scope, "Back to the name scope before."),
    METHOD0("enter_block", net_enter_block, "Layers append to a new block until leave_block."),
    METHOD0("leave_block", net_leave_block, "Back to the parent block."),
    METHOD("init_var", net_init_var, "The variable in the startup program too, filled."),
    METHOD("set_gradient_clip", net_set_gradient_clip, "fluid.clip.set_gradient_clip."),
    METHOD("backward", net_backward, "append_backward: (parameter, gradient) pairs."),
    METHOD("gradients", net_gradients, "fluid.gradients."),
    METHOD0("switch_begin", net_switch_begin, "A Switch."),
    METHOD("while_begin", net_while_begin, "A While loop."),
    METHOD("branch_begin", net_branch_begin, "A block that runs if a condition holds."),
    METHOD("select_input", net_select_input, "The input whose number the mask is."),
    METHOD("if_else", net_if_else, "Blocks for the rows where a condition holds, or not."),
    METHOD("static_rnn", net_static_rnn, "Steps of sequences of one length."),
    METHOD("dynamic_rnn", net_dynamic_rnn, "Steps of sequences of any length."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("main", get_main, NULL, "The main program layers append to."),
    ATTRIBUTE("startup", get_startup, NULL, "The startup program."),
    ATTRIBUTE("block", get_block, set_block, "The block layers append to."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, net_new},
                              {Py_tp_dealloc, net_dealloc},
                              {Py_tp_traverse, net_traverse},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "Where layers append: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Net", sizeof(struct net_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

bool net_init(PyObject *m)
{
    return class_add(m, &spec, "Net", &net_class) &&
           class_add(m, &names_spec, "Names", &names_class) &&
           class_add(m, &switch_spec, "Switch", &switch_class) &&
           class_add(m, &while_spec, "While", &while_class);
}
