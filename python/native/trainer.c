/* Trainer: what `skiff train` does (skiff/trainer.h). Runs without the interpreter lock; functions
 * of an observer take it, on the thread that calls them. The first exception of one stops the run,
 * which raises it. Ctrl-C stops the run behind its running batches; KeyboardInterrupt is raised
 * when it has saved. */
#include <signal.h>

#include <skiff/model.h>

#include "native.h"

struct watching { /* an observer in Python */
    struct trainer_object *trainer;
    PyObject *begin, *batch, *tick, *end, *saved, *line; /* owned, or NULL */
    struct watching *next;
};

struct trainer_object {
    PyObject_HEAD;
    struct skiff_trainer *t;
    struct watching *watching;
    PyObject *net, *dataset;        /* owned, or NULL: borrowed by t */
    PyObject *type, *value, *trace; /* of the first exception */
    bool busy;
};

/* ---- functions of an observer ---- */

static void keep_exception(struct trainer_object *o)
{
    if (o->type)
        PyErr_Clear();
    else
        PyErr_Fetch(&o->type, &o->value, &o->trace);
    skiff_trainer_stop(o->t);
}

/* Steals the arguments. True: it has returned something that is true. */
static bool call(struct watching *w, PyObject *callable, PyObject *arguments)
{
    PyObject *r = arguments ? PyObject_CallObject(callable, arguments) : NULL;
    bool truth = r && PyObject_IsTrue(r) > 0;
    Py_XDECREF(arguments);
    Py_XDECREF(r);
    if (!r)
        keep_exception(w->trainer);
    return truth;
}

static void on_begin(void *user, int epoch)
{
    struct watching *w = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    call(w, w->begin, Py_BuildValue("(i)", epoch));
    PyGILState_Release(gil);
}

static void on_batch(void *user, int thread, int64_t samples)
{
    struct watching *w = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    call(w, w->batch, Py_BuildValue("(iL)", thread, (long long)samples));
    PyGILState_Release(gil);
}

static void on_tick(void *user)
{
    struct watching *w = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    call(w, w->tick, PyTuple_New(0));
    PyGILState_Release(gil);
}

static void on_end(void *user, const struct skiff_trainer_epoch *e, bool *stop)
{
    struct watching *w = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *complete = e->complete ? Py_True : Py_False;
    *stop |= call(w, w->end,
                  Py_BuildValue("({s:i,s:O,s:L,s:d,s:d,s:d,s:d,s:d})", "epoch", e->epoch,
                                "complete", complete, "samples", (long long)e->samples, "seconds",
                                e->seconds, "loss", e->loss, "auc", e->auc, "log_loss", e->log_loss,
                                "copc", e->copc));
    PyGILState_Release(gil);
}

static void on_saved(void *user, int epoch, const char *folder)
{
    struct watching *w = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    call(w, w->saved, Py_BuildValue("(is)", epoch, folder));
    PyGILState_Release(gil);
}

static void on_line(void *user, const char *text)
{
    struct watching *w = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    call(w, w->line, Py_BuildValue("(s)", text));
    PyGILState_Release(gil);
}

static void watching_free(struct watching *w)
{
    PyObject *all[] = {w->begin, w->batch, w->tick, w->end, w->saved, w->line};
    for (int i = 0; i < 6; i++)
        Py_XDECREF(all[i]);
    PyMem_Free(w);
}

static bool take_callables(struct watching *w)
{
    PyObject **all[] = {&w->begin, &w->batch, &w->tick, &w->end, &w->saved, &w->line};
    bool fit = true;
    for (int i = 0; i < 6; i++) {
        if (*all[i] == Py_None)
            *all[i] = NULL;
        fit &= !*all[i] || PyCallable_Check(*all[i]);
        Py_XINCREF(*all[i]);
    }
    if (!fit)
        PyErr_SetString(PyExc_TypeError, "functions of an observer must be callable");
    return fit;
}

static PyObject *trainer_add_observer(struct trainer_object *o, PyObject *args, PyObject *keywords)
{
    struct skiff_error err;
    struct watching *w = PyMem_Calloc(1, sizeof *w);
    if (!w)
        return PyErr_NoMemory();
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOOOO:add_observer",
                                     KEYWORDS("begin", "batch", "tick", "end", "saved", "line"),
                                     &w->begin, &w->batch, &w->tick, &w->end, &w->saved,
                                     &w->line)) {
        PyMem_Free(w);
        return NULL;
    }
    w->trainer = o;
    struct skiff_trainer_observer c = {.user = w};
    bool fit = take_callables(w);
    c.begin = w->begin ? on_begin : NULL;
    c.batch = w->batch ? on_batch : NULL;
    c.tick = w->tick ? on_tick : NULL;
    c.end = w->end ? on_end : NULL;
    c.saved = w->saved ? on_saved : NULL;
    c.line = w->line ? on_line : NULL;
    if (!fit || skiff_trainer_add_observer(o->t, &c, &err) < 0) {
        watching_free(w);
        return fit ? raise_error(&err) : NULL;
    }
    w->next = o->watching;
    o->watching = w;
    Py_RETURN_NONE;
}

/* ---- new ---- */

static bool var_taken(PyObject *o, const char *what, struct skiff_var **out)
{
    if (!o || o == Py_None)
        return true;
    if (!is_a(o, CLASS_VAR)) {
        PyErr_Format(PyExc_TypeError, "%s must be a Var", what);
        return false;
    }
    *out = ((struct var_object *)o)->v;
    return true;
}

static bool inputs_taken(PyObject *list, struct skiff_model_net *vars)
{
    if (!list || !PyList_Check(list) || PyList_Size(list) > SKIFF_MODEL_MAX_INPUTS) {
        PyErr_Format(PyExc_TypeError, "inputs must be a list of at most %d Vars",
                     SKIFF_MODEL_MAX_INPUTS);
        return false;
    }
    for (; vars->ninputs < PyList_Size(list); vars->ninputs++)
        if (!var_taken(PyList_GetItem(list, vars->ninputs), "an input",
                       &vars->inputs[vars->ninputs]))
            return false;
    return true;
}

struct given {
    PyObject *config, *options, *net, *inputs, *loss, *predict, *label, *dataset;
    int resume, overwrite, quiet;
};

static bool net_taken(const struct given *g, struct skiff_model_net *vars,
                      struct skiff_trainer_config *c)
{
    if (!g->net || g->net == Py_None)
        return true;
    if (!PyObject_TypeCheck(g->net, net_class)) {
        PyErr_SetString(PyExc_TypeError, "net must be a Net");
        return false;
    }
    c->net = ((struct net_object *)g->net)->net;
    c->vars = vars;
    return inputs_taken(g->inputs, vars) && var_taken(g->loss, "loss", &vars->loss) &&
           var_taken(g->predict, "predict", &vars->predict) &&
           var_taken(g->label, "label", &vars->label);
}

static bool dataset_taken(const struct given *g, struct skiff_trainer_config *c)
{
    if (!g->dataset || g->dataset == Py_None)
        return true;
    if (!PyObject_TypeCheck(g->dataset, dataset_class)) {
        PyErr_SetString(PyExc_TypeError, "dataset must be a Dataset");
        return false;
    }
    c->dataset = ((struct dataset_object *)g->dataset)->d;
    return true;
}

static bool config_taken(struct keep *k, const struct given *g, struct skiff_model_net *vars,
                         struct skiff_trainer_config *c)
{
    const char **options;
    if (g->config && g->config != Py_None && !(c->config = path_of(k, g->config, "config")))
        return false;
    if (!names_of(k, g->options, "options", &options, &c->noptions))
        return false;
    c->options = options;
    c->resume = g->resume;
    c->overwrite = g->overwrite;
    c->quiet = g->quiet;
    c->on_log = log_to_stderr;
    return net_taken(g, vars, c) && dataset_taken(g, c);
}

static PyObject *trainer_make(PyTypeObject *type, const struct given *g,
                              const struct skiff_trainer_config *c)
{
    struct skiff_error err;
    struct trainer_object *o = (struct trainer_object *)class_alloc(type);
    if (!o)
        return NULL;
    o->t = skiff_trainer_create(c, &err);
    if (!o->t) {
        raise_file_error(&err);
        Py_DECREF(o);
        return NULL;
    }
    o->net = c->net ? g->net : NULL;
    o->dataset = c->dataset ? g->dataset : NULL;
    Py_XINCREF(o->net);
    Py_XINCREF(o->dataset);
    return (PyObject *)o;
}

static PyObject *trainer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct given g = {0};
    struct keep k = {0};
    struct skiff_trainer_config c = {0};
    PyObject *o = NULL;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "|OO$ppzzpOOOOOO:Trainer",
            KEYWORDS("config", "options", "resume", "overwrite", "name", "json", "quiet", "net",
                     "inputs", "loss", "predict", "label", "dataset"),
            &g.config, &g.options, &g.resume, &g.overwrite, &c.name, &c.json, &g.quiet, &g.net,
            &g.inputs, &g.loss, &g.predict, &g.label, &g.dataset))
        return NULL;
    struct skiff_model_net *vars = keep_alloc(&k, sizeof *vars);
    if (vars && config_taken(&k, &g, vars, &c))
        o = trainer_make(type, &g, &c);
    keep_end(&k);
    return o;
}

static void trainer_dealloc(struct trainer_object *o)
{
    skiff_trainer_destroy(o->t);
    while (o->watching) {
        struct watching *w = o->watching;
        o->watching = w->next;
        watching_free(w);
    }
    Py_CLEAR(o->net);
    Py_CLEAR(o->dataset);
    class_free((PyObject *)o);
}

/* ---- run ---- */

static struct skiff_trainer *volatile running; /* for the signal handler, which has no argument */
static struct sigaction before_run;

/* Python's own handler runs too, so that KeyboardInterrupt is raised behind the run. */
static void on_interrupt(int number)
{
    if (running)
        skiff_trainer_stop(running);
    before_run.sa_handler(number);
}

static enum skiff_status run_caught(struct trainer_object *o, struct skiff_error *err)
{
    struct sigaction ours = {.sa_handler = on_interrupt}, was;
    enum skiff_status status;
    sigaction(SIGINT, NULL, &was);
    bool caught = !running && was.sa_handler != SIG_DFL && was.sa_handler != SIG_IGN &&
                  !(was.sa_flags & SA_SIGINFO);
    if (caught) {
        running = o->t;
        before_run = was;
        sigemptyset(&ours.sa_mask);
        sigaction(SIGINT, &ours, NULL);
    }
    o->busy = true;
    status = UNLOCKED(skiff_trainer_run(o->t, err));
    o->busy = false;
    if (caught) {
        sigaction(SIGINT, &was, NULL);
        running = NULL;
    }
    return status;
}

static PyObject *result_dict(const struct trainer_object *o)
{
    struct skiff_trainer_result r;
    skiff_trainer_result(o->t, &r);
    return Py_BuildValue("{s:i,s:L,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:i,s:O}", "epochs", r.epochs,
                         "samples", (long long)r.samples, "seconds", r.seconds, "loss", r.loss,
                         "auc", r.auc, "log_loss", r.log_loss, "copc", r.copc, "valid_auc",
                         r.valid_auc, "valid_log_loss", r.valid_log_loss, "best_epoch",
                         r.best_epoch, "stopped", r.stopped ? Py_True : Py_False);
}

static PyObject *trainer_run(struct trainer_object *o, PyObject *unused)
{
    struct skiff_error err;
    if (o->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread runs this trainer");
        return NULL;
    }
    enum skiff_status status = run_caught(o, &err);
    if (o->type) {
        PyErr_Restore(o->type, o->value, o->trace);
        o->type = o->value = o->trace = NULL;
        return NULL;
    }
    if (status < 0)
        return raise_error(&err);
    return PyErr_CheckSignals() == 0 ? result_dict(o) : NULL;
}

static PyObject *trainer_stop(struct trainer_object *o, PyObject *unused)
{
    skiff_trainer_stop(o->t);
    Py_RETURN_NONE;
}

static PyObject *get_result(struct trainer_object *o, void *unused)
{
    if (!o->busy)
        return result_dict(o);
    PyErr_SetString(PyExc_RuntimeError, "the trainer runs; its result is there at the end");
    return NULL;
}

static PyMethodDef methods[] = {
    METHOD("add_observer", trainer_add_observer, "Functions that see the run."),
    METHOD0("run", trainer_run, "Trains to the end; the result as a dict."),
    METHOD0("stop", trainer_stop, "Stops a run, from any thread."),
    {0}};

static PyGetSetDef attributes[] = {ATTRIBUTE("result", get_result, NULL, "Of the run, as a dict."),
                                   {0}};

static PyType_Slot slots[] = {{Py_tp_new, trainer_new},
                              {Py_tp_dealloc, trainer_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "What `skiff train` does: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Trainer", sizeof(struct trainer_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

bool trainer_init(PyObject *m)
{
    static PyTypeObject *trainer_class;
    return class_add(m, &spec, "Trainer", &trainer_class);
}
