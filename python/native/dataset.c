/* Dataset, and training from it.
 *
 * Training and loading run without the interpreter lock. Callbacks (printing, the fetch handler)
 * come from training threads and take it; the first exception of one stops the training, which then
 * raises it. Ctrl-C sets a flag that training reads between batches. A dataset that another thread
 * uses is refused at once (busy), because C allows one user at a time. */
#include "native.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- the dataset ---- */

static PyObject *dataset_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *kind;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("kind"), &kind))
        return NULL;
    struct skiff_dataset *d = skiff_dataset_create(kind, &err);
    if (!d)
        return raise_error(&err);
    struct dataset_object *o = (struct dataset_object *)class_alloc(type);
    if (o)
        o->d = d;
    else
        skiff_dataset_destroy(d);
    return (PyObject *)o;
}

static void dataset_dealloc(struct dataset_object *o)
{
    skiff_dataset_destroy(o->d);
    class_free((PyObject *)o);
}

static bool idle(struct dataset_object *o)
{
    if (o->busy)
        PyErr_SetString(PyExc_RuntimeError, "the dataset is in use by another thread");
    return !o->busy;
}

static PyObject *dataset_set_vars(struct dataset_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *vars;
    struct keep k = {0};
    struct skiff_var **v;
    int n;
    if (!idle(o) || !PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("vars"), &vars))
        return NULL;
    bool ok = vars_of(&k, vars, "vars", &v, &n);
    if (ok)
        skiff_dataset_set_vars(o->d, v, n);
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *dataset_set_batch_size(struct dataset_object *o, PyObject *args,
                                        PyObject *keywords)
{
    long long n;
    if (!idle(o) || !PyArg_ParseTupleAndKeywords(args, keywords, "L", KEYWORDS("n"), &n))
        return NULL;
    if (n < 1) {
        PyErr_Format(PyExc_ValueError, "batch size %lld: at least 1", n);
        return NULL;
    }
    skiff_dataset_set_batch_size(o->d, n);
    Py_RETURN_NONE;
}

static PyObject *dataset_set_threads(struct dataset_object *o, PyObject *args, PyObject *keywords)
{
    int n;
    if (!idle(o) || !PyArg_ParseTupleAndKeywords(args, keywords, "i", KEYWORDS("n"), &n))
        return NULL;
    skiff_dataset_set_threads(o->d, n);
    Py_RETURN_NONE;
}

static PyObject *dataset_set_files(struct dataset_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *files;
    struct keep k = {0};
    if (!idle(o) || !PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("files"), &files))
        return NULL;
    PyObject *list = PyUnicode_Check(files) ? Py_BuildValue("[O]", files) : PySequence_List(files);
    bool ok = keep_object(&k, list);
    int n = ok ? (int)PyList_Size(list) : 0;
    const char **names = ok ? keep_alloc(&k, (size_t)(n + 1) * sizeof(*names)) : NULL;
    ok = names != NULL;
    for (int i = 0; ok && i < n; i++)
        ok = (names[i] = path_of(&k, PyList_GetItem(list, i), "a file")) != NULL;
    if (ok)
        skiff_dataset_set_files(o->d, names, n);
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *dataset_set_pipe(struct dataset_object *o, PyObject *args, PyObject *keywords)
{
    const char *command;
    if (!idle(o) ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "z", KEYWORDS("command"), &command))
        return NULL;
    skiff_dataset_set_pipe_command(o->d, command);
    Py_RETURN_NONE;
}

static PyObject *dataset_set(struct dataset_object *o, PyObject *args, PyObject *keywords)
{
    const char *key;
    PyObject *value;
    if (!idle(o) ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "sO", KEYWORDS("key", "value"), &key, &value))
        return NULL;
    PyObject *text = PyBool_Check(value) ? PyUnicode_FromString(value == Py_True ? "true" : "false")
                                         : PyObject_Str(value);
    const char *s = text ? text_of(text, "value") : NULL;
    if (s)
        skiff_dataset_set(o->d, key, s);
    Py_XDECREF(text);
    if (!s)
        return NULL;
    Py_RETURN_NONE;
}

/* Calls without the interpreter lock that take the dataset and a number or two. */
enum dataset_call {
    DATASET_CALL_LOAD,
    DATASET_CALL_PRELOAD,
    DATASET_CALL_WAIT,
    DATASET_CALL_SHUFFLE,
    DATASET_CALL_RELEASE
};

static PyObject *call(struct dataset_object *o, enum dataset_call what, uint64_t number)
{
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    if (!idle(o))
        return NULL;
    o->busy = true;
    Py_BEGIN_ALLOW_THREADS;
    switch (what) {
    case DATASET_CALL_LOAD:
        status = skiff_dataset_load(o->d, &err);
        break;
    case DATASET_CALL_PRELOAD:
        status = skiff_dataset_preload(o->d, (int)number, &err);
        break;
    case DATASET_CALL_WAIT:
        status = skiff_dataset_wait_preload(o->d, &err);
        break;
    case DATASET_CALL_SHUFFLE:
        status = skiff_dataset_local_shuffle(o->d, number, &err);
        break;
    case DATASET_CALL_RELEASE:
        status = skiff_dataset_release(o->d, &err);
        break;
    }
    Py_END_ALLOW_THREADS;
    o->busy = false;
    if (status < 0)
        return raise_error(&err);
    Py_RETURN_NONE;
}

static PyObject *dataset_load(struct dataset_object *o, PyObject *unused)
{
    return call(o, DATASET_CALL_LOAD, 0);
}

static PyObject *dataset_preload(struct dataset_object *o, PyObject *args, PyObject *keywords)
{
    int threads = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i", KEYWORDS("threads"), &threads))
        return NULL;
    return call(o, DATASET_CALL_PRELOAD, (uint64_t)(threads < 0 ? 0 : threads));
}

static PyObject *dataset_wait(struct dataset_object *o, PyObject *unused)
{
    return call(o, DATASET_CALL_WAIT, 0);
}

static PyObject *dataset_shuffle(struct dataset_object *o, PyObject *args, PyObject *keywords)
{
    unsigned long long seed = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|K", KEYWORDS("seed"), &seed))
        return NULL;
    return call(o, DATASET_CALL_SHUFFLE, seed);
}

static PyObject *dataset_release(struct dataset_object *o, PyObject *unused)
{
    return call(o, DATASET_CALL_RELEASE, 0);
}

static PyObject *dataset_slots_shuffle(struct dataset_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *slots;
    unsigned long long seed = 0;
    struct keep k = {0};
    const char **names;
    int n;
    struct skiff_error err;
    if (!idle(o) || !PyArg_ParseTupleAndKeywords(args, keywords, "O|K", KEYWORDS("slots", "seed"),
                                                 &slots, &seed))
        return NULL;
    bool ok = names_of(&k, slots, "slots", &names, &n);
    if (ok && skiff_dataset_slots_shuffle(o->d, names, n, seed, &err) < 0) {
        raise_error(&err);
        ok = false;
    }
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_memory_size(struct dataset_object *o, void *unused)
{
    return PyLong_FromLongLong(skiff_dataset_memory_size(o->d));
}

/* ---- reading by hand: Dataset.batches() ---- */

struct reader_object {
    PyObject_HEAD;
    struct dataset_object *dataset; /* NULL: at the end */
};
static PyTypeObject *reader_class;

static PyObject *dataset_batches(struct dataset_object *o, PyObject *unused)
{
    struct skiff_error err;
    enum skiff_status status;
    if (!idle(o))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = skiff_dataset_begin(o->d, &err);
    Py_END_ALLOW_THREADS;
    if (status < 0)
        return raise_error(&err);
    struct reader_object *r = (struct reader_object *)class_alloc(reader_class);
    if (r) {
        Py_INCREF((PyObject *)o);
        r->dataset = o;
    }
    return (PyObject *)r;
}

static void reader_dealloc(struct reader_object *r)
{
    Py_CLEAR(r->dataset);
    class_free((PyObject *)r);
}

static PyObject *reader_iter(PyObject *r)
{
    Py_INCREF(r);
    return r;
}

static PyObject *feeds_dict(const struct skiff_feed *feeds, int n)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < n; i++) {
        struct skiff_error err;
        struct skiff_tensor *t = skiff_tensor_create("float32", 1, &(int64_t){0}, &err);
        if (!t || skiff_tensor_copy(t, feeds[i].tensor, &err) < 0) {
            skiff_tensor_destroy(t);
            Py_DECREF(dict);
            return raise_error(&err);
        }
        PyObject *o = tensor_wrap(t);
        if (!o || PyDict_SetItemString(dict, feeds[i].name, o) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(o);
    }
    return dict;
}

static PyObject *reader_next(struct reader_object *r)
{
    struct skiff_error err;
    enum skiff_status status;
    const struct skiff_feed *feeds;
    int n;
    int64_t rows;
    if (!r->dataset)
        return NULL;
    if (!idle(r->dataset))
        return NULL;
    r->dataset->busy = true;
    Py_BEGIN_ALLOW_THREADS;
    status = skiff_dataset_next(r->dataset->d, &feeds, &n, &rows, &err);
    Py_END_ALLOW_THREADS;
    r->dataset->busy = false;
    if (status == SKIFF_OK)
        return feeds_dict(feeds, n);
    Py_CLEAR(r->dataset);
    return status < 0 ? raise_error(&err) : NULL;
}

/* ---- training ---- */

/* What callbacks from threads without the interpreter lock need. The first exception stops. */
struct train_callbacks {
    PyObject *print, *debug, *handler;
    int nhandled;
    PyObject *type, *value, *trace; /* of the first exception */
    int stop;                       /* atomic */
};

static volatile sig_atomic_t interrupted;
static struct sigaction before_training;

/* Python's own handler runs too, so that KeyboardInterrupt is raised after the training. */
static void on_interrupt(int number)
{
    interrupted = 1;
    before_training.sa_handler(number);
}

static void keep_exception(struct train_callbacks *t)
{
    if (t->type)
        PyErr_Clear();
    else
        PyErr_Fetch(&t->type, &t->value, &t->trace);
    __atomic_store_n(&t->stop, 1, __ATOMIC_RELAXED);
}

static void call_with_text(struct train_callbacks *t, PyObject *callable, const char *text)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *s = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyObject *r = s ? PyObject_CallFunctionObjArgs(callable, s, NULL) : NULL;
    Py_XDECREF(s);
    Py_XDECREF(r);
    if (!r)
        keep_exception(t);
    PyGILState_Release(gil);
}

static void on_print(void *user, const char *text)
{
    struct train_callbacks *t = user;
    call_with_text(t, t->print, text);
}

static void on_debug(void *user, const char *text)
{
    struct train_callbacks *t = user;
    call_with_text(t, t->debug, text);
}

static PyObject *copies(const struct skiff_tensor *const *values, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *o = Py_None;
        struct skiff_error err;
        struct skiff_tensor *copy = NULL;
        if (!values[i]) {
            Py_INCREF(o);
        } else {
            copy = skiff_tensor_create("float32", 1, &(int64_t){0}, &err);
            if (!copy || skiff_tensor_copy(copy, values[i], &err) < 0) {
                skiff_tensor_destroy(copy);
                Py_DECREF(list);
                return raise_error(&err);
            }
            o = tensor_wrap(copy);
        }
        if (!o || PyList_SetItem(list, i, o) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static void on_values(void *user, const struct skiff_tensor *const *values)
{
    struct train_callbacks *t = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *list = copies(values, t->nhandled);
    PyObject *r = list ? PyObject_CallFunctionObjArgs(t->handler, list, NULL) : NULL;
    Py_XDECREF(list);
    Py_XDECREF(r);
    if (!r)
        keep_exception(t);
    PyGILState_Release(gil);
}

static bool wants_stop(void *user)
{
    struct train_callbacks *t = user;
    return interrupted || __atomic_load_n(&t->stop, __ATOMIC_RELAXED);
}

static bool callable_or_none(PyObject *o, const char *what, PyObject **out)
{
    *out = o && o != Py_None ? o : NULL;
    if (!*out || PyCallable_Check(o))
        return true;
    PyErr_Format(PyExc_TypeError, "%s must be callable", what);
    return false;
}

static PyObject *stdout_write(void)
{
    PyObject *out = PySys_GetObject("stdout"); /* borrowed */
    return out ? PyObject_GetAttrString(out, "write") : NULL;
}

struct train_arguments {
    PyObject *scope, *fetch_list, *fetch_info, *print, *debug, *handler_vars, *handler;
    int threads, print_period;
    double handler_period;
};

static bool train_parse(PyObject *options, struct train_arguments *a)
{
    PyObject *none = PyTuple_New(0);
    bool ok = none && PyArg_ParseTupleAndKeywords(
                          none, options, "|$OiOOiOOOdO:train",
                          KEYWORDS("scope", "threads", "fetch_list", "fetch_info", "print_period",
                                   "print", "debug", "handler_vars", "handler_period", "handler"),
                          &a->scope, &a->threads, &a->fetch_list, &a->fetch_info, &a->print_period,
                          &a->print, &a->debug, &a->handler_vars, &a->handler_period, &a->handler);
    Py_XDECREF(none);
    return ok;
}

static bool train_options(struct keep *k, const struct train_arguments *a,
                          struct train_callbacks *t, struct skiff_train_options *o)
{
    const char **names;
    int ninfo;
    if (!names_of(k, a->fetch_list, "fetch_list", &names, &o->nfetch))
        return false;
    o->fetch_list = names;
    if (!names_of(k, a->fetch_info, "fetch_info", &names, &ninfo))
        return false;
    if (ninfo && ninfo != o->nfetch) {
        PyErr_Format(PyExc_ValueError, "fetch_list has %d variables, fetch_info %d texts",
                     o->nfetch, ninfo);
        return false;
    }
    o->fetch_info = ninfo ? names : NULL;
    if (!names_of(k, a->handler_vars, "handler_vars", &names, &o->nhandler_vars))
        return false;
    o->handler_vars = names;
    if (!callable_or_none(a->print, "print", &t->print) ||
        !callable_or_none(a->debug, "debug", &t->debug) ||
        !callable_or_none(a->handler, "handler", &t->handler))
        return false;
    if (!t->print && o->nfetch && !keep_object(k, t->print = stdout_write()))
        return false;
    o->threads = a->threads;
    o->print_period = a->print_period;
    o->print = t->print ? on_print : NULL;
    o->print_debug = t->debug ? on_debug : NULL;
    o->handler = t->handler ? on_values : NULL;
    o->handler_period_secs = a->handler_period;
    o->wants_stop = wants_stop;
    o->user = t;
    t->nhandled = o->nhandler_vars;
    return true;
}

static enum skiff_status train_run(struct skiff_executor *e, struct program_object *p,
                                   struct dataset_object *d, const struct skiff_train_options *o,
                                   struct skiff_train_result *r, bool infer,
                                   struct skiff_error *err)
{
    enum skiff_status status;
    struct sigaction ours = {.sa_handler = on_interrupt}, was;
    sigaction(SIGINT, NULL, &was);
    bool caught = was.sa_handler != SIG_DFL && was.sa_handler != SIG_IGN &&
                  !(was.sa_flags & SA_SIGINFO) &&
                  was.sa_handler != on_interrupt; /* a training in another thread has it */
    if (caught) {
        interrupted = 0;
        before_training = was;
        sigemptyset(&ours.sa_mask);
        sigaction(SIGINT, &ours, NULL);
    }
    d->busy = true;
    Py_BEGIN_ALLOW_THREADS;
    status = (infer ? skiff_executor_infer : skiff_executor_train)(e, p->p, d->d, o, r, err);
    Py_END_ALLOW_THREADS;
    d->busy = false;
    if (caught) {
        sigaction(SIGINT, &was, NULL);
        interrupted = 0; /* trainings that do not catch it ask too */
    }
    return status;
}

PyObject *executor_train(struct skiff_executor *e, struct program_object *p,
                         struct dataset_object *d, PyObject *keywords, bool infer)
{
    struct keep k = {0};
    struct train_callbacks t = {0};
    struct skiff_train_options o = {0};
    struct skiff_train_result r = {0};
    struct skiff_error err;
    struct train_arguments a = {.print_period = 100, .handler_period = 60.0};
    PyObject *result = NULL;
    if (!idle(d) || !train_parse(keywords, &a) || !train_options(&k, &a, &t, &o))
        goto out;
    enum skiff_status status = train_run(e, p, d, &o, &r, infer, &err);
    if (t.type)
        PyErr_Restore(t.type, t.value, t.trace);
    else if (status < 0)
        raise_error(&err);
    else if (PyErr_CheckSignals() == 0)
        result = Py_BuildValue("{s:L,s:L,s:d,s:d,s:d,s:O}", "batches", (long long)r.batches,
                               "samples", (long long)r.samples, "seconds", r.seconds,
                               "read_seconds", r.read_seconds, "compute_seconds", r.compute_seconds,
                               "stopped", r.stopped ? Py_True : Py_False);
out:
    keep_end(&k);
    return result;
}

static PyMethodDef methods[] = {
    METHOD("set_vars", dataset_set_vars, "The variables that samples have, in order."),
    METHOD("set_batch_size", dataset_set_batch_size, "Samples of a batch."),
    METHOD("set_threads", dataset_set_threads, "Reading and training threads."),
    METHOD("set_files", dataset_set_files, "Files, folders, patterns."),
    METHOD("set_pipe_command", dataset_set_pipe,
           "A program that turns a file into MultiSlot text."),
    METHOD("set", dataset_set, "A setting of the reader."),
    METHOD0("load", dataset_load, "Loads all files into memory."),
    METHOD("preload", dataset_preload, "Begins to load in the background."),
    METHOD0("wait_preload", dataset_wait, "Waits for preload."),
    METHOD("local_shuffle", dataset_shuffle, "Shuffles the samples in memory."),
    METHOD("slots_shuffle", dataset_slots_shuffle, "Shuffles the values of some slots."),
    METHOD0("release", dataset_release, "Drops the samples in memory."),
    METHOD0("batches", dataset_batches, "The batches as dicts of Tensors."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("memory_size", get_memory_size, NULL, "Samples in memory."), {0}};

static PyType_Slot slots[] = {{Py_tp_new, dataset_new},
                              {Py_tp_dealloc, dataset_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "Files as samples: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Dataset", sizeof(struct dataset_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

static PyType_Slot reader_slots[] = {{Py_tp_dealloc, reader_dealloc},
                                     {Py_tp_iter, reader_iter},
                                     {Py_tp_iternext, reader_next},
                                     {Py_tp_doc, "Made by Dataset.batches."},
                                     {0}};
static PyType_Spec reader_spec = {"skiff._native.Batches", sizeof(struct reader_object), 0,
                                  Py_TPFLAGS_DEFAULT, reader_slots};

bool dataset_init(PyObject *m)
{
    return class_add(m, &spec, "Dataset", &dataset_class) &&
           class_add(m, &reader_spec, "Batches", &reader_class);
}
