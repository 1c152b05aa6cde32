/* Executor: runs programs in scopes.
 *
 * A C executor is tied to one scope, so an Executor has a handle for each scope that it was used
 * with; handles keep their scope alive. Feeds borrow the memory of arrays for the time of a run,
 * fetched values are new tensors. Runs release the interpreter lock; `busy` refuses a second thread
 * meanwhile. Destroyed and changed programs are noticed by C (program.version). */
#include "native.h"

#include <stdlib.h>
#include <string.h>

/* An executor per scope: C's are tied to one. */
struct executor_handle {
    struct scope_object *scope;
    struct skiff_executor *exe;
};

struct executor_object {
    PyObject_HEAD;
    struct skiff_executor_options options;
    struct scope_object *scope; /* the default */
    struct executor_handle *handles;
    int nhandles;
    struct skiff_tensor **spares; /* feeds that borrow arrays, one per position */
    int nspares;
    bool busy; /* a thread without the interpreter lock runs it */
};

/* ---- lifetime ---- */

static PyObject *executor_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *scope = NULL, *seed = NULL;
    int no_fuse = 0, is_test = 0;
    int64_t number = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$ppO",
                                     KEYWORDS("scope", "no_fuse", "is_test", "seed"), &scope,
                                     &no_fuse, &is_test, &seed))
        return NULL;
    if (scope && scope != Py_None && !is_a(scope, CLASS_SCOPE)) {
        PyErr_SetString(PyExc_TypeError, "scope must be a Scope");
        return NULL;
    }
    bool seeded = seed && seed != Py_None;
    if (seeded && !int_of(seed, "seed", &number))
        return NULL;
    struct executor_object *e = (struct executor_object *)class_alloc(type);
    if (!e)
        return NULL;
    e->options = (struct skiff_executor_options){.no_fuse = no_fuse,
                                                 .is_test = is_test,
                                                 .has_seed = seeded,
                                                 .seed = (uint64_t)number,
                                                 .host = &python_host,
                                                 .thread_pool = process_threads()};
    if (scope && scope != Py_None)
        Py_INCREF(scope);
    else
        scope = PyObject_CallFunctionObjArgs((PyObject *)made_class[CLASS_SCOPE], NULL);
    e->scope = (struct scope_object *)scope;
    if (!scope)
        Py_CLEAR(e);
    return (PyObject *)e;
}

static void handles_close(struct executor_object *e)
{
    for (int i = 0; i < e->nhandles; i++) {
        skiff_executor_destroy(e->handles[i].exe);
        Py_DECREF((PyObject *)e->handles[i].scope);
    }
    free(e->handles);
    e->handles = NULL;
    e->nhandles = 0;
}

static void executor_dealloc(struct executor_object *e)
{
    handles_close(e);
    for (int i = 0; i < e->nspares; i++)
        skiff_tensor_destroy(e->spares[i]);
    free(e->spares);
    Py_CLEAR(e->scope);
    class_free((PyObject *)e);
}

static PyObject *get_scope(struct executor_object *e, void *unused)
{
    Py_INCREF((PyObject *)e->scope);
    return (PyObject *)e->scope;
}

/* The C executor of a scope (None: the default); NULL with an exception. */
static struct skiff_executor *handle_of(struct executor_object *e, PyObject *scope)
{
    struct scope_object *s = scope && scope != Py_None ? (struct scope_object *)scope : e->scope;
    if (!is_a((PyObject *)s, CLASS_SCOPE)) {
        PyErr_SetString(PyExc_TypeError, "scope must be a Scope");
        return NULL;
    }
    for (int i = 0; i < e->nhandles; i++)
        if (e->handles[i].scope == s)
            return e->handles[i].exe;
    struct executor_handle *grown = realloc(e->handles, (size_t)(e->nhandles + 1) * sizeof(*grown));
    if (!grown) {
        PyErr_NoMemory();
        return NULL;
    }
    e->handles = grown;
    Py_INCREF((PyObject *)s);
    e->handles[e->nhandles] = (struct executor_handle){s, skiff_executor_create(s->s, &e->options)};
    return e->handles[e->nhandles++].exe;
}

/* ---- run ---- */

enum { FEW = 64 };

struct run { /* one call of run */
    struct executor_object *e;
    struct program_object *program;
    struct keep k;
    struct skiff_feed few[FEW], *feeds;
    int nfeeds;
    const char **fetches;
    int nfetches;
    struct skiff_tensor **out;
};

static bool spares_grow(struct executor_object *e, int n)
{
    if (n <= e->nspares)
        return true;
    struct skiff_tensor **grown = realloc(e->spares, (size_t)n * sizeof(*grown));
    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    memset(grown + e->nspares, 0, (size_t)(n - e->nspares) * sizeof(*grown));
    e->spares = grown;
    e->nspares = n;
    return true;
}

/* The type that a list of numbers becomes: the fed variable's. */
static const char *feed_dtype(const struct program_object *p, const char *name, PyObject *value)
{
    if (PyObject_CheckBuffer(value))
        return NULL;
    const struct skiff_var *v = skiff_program_var(p->p, name);
    return v && skiff_var_has_dtype(v) ? skiff_var_dtype(v) : NULL;
}

static bool feeds_take(struct run *r, PyObject *feed)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!feed || feed == Py_None)
        return true;
    if (!PyDict_Check(feed)) {
        PyErr_SetString(PyExc_TypeError, "feed must be a dict of names and values");
        return false;
    }
    int n = (int)PyDict_Size(feed);
    r->feeds = n <= FEW ? r->few : keep_alloc(&r->k, (size_t)n * sizeof(*r->feeds));
    if (!r->feeds || !spares_grow(r->e, n))
        return false;
    while (PyDict_Next(feed, &at, &key, &value) && r->nfeeds < n) {
        const char *name = name_of(key, "a name of feed");
        if (!name)
            return false;
        const struct skiff_tensor *t = feed_of(
            &r->k, value, name, feed_dtype(r->program, name, value), &r->e->spares[r->nfeeds]);
        if (!t)
            return false;
        r->feeds[r->nfeeds++] = (struct skiff_feed){name, t};
    }
    return true;
}

static bool has_lod(const struct skiff_tensor *t)
{
    return skiff_tensor_lod_levels(t) > 0;
}

/* Takes over out[i]. */
static PyObject *fetched(struct run *r, int i, bool as_numpy)
{
    struct skiff_tensor *t = r->out[i];
    r->out[i] = NULL;
    if (as_numpy && has_lod(t)) {
        PyErr_Format(PyExc_RuntimeError,
                     "%s has LoD information, which numpy arrays cannot hold; fetch it with "
                     "return_numpy=False",
                     r->fetches[i]);
        skiff_tensor_destroy(t);
        return NULL;
    }
    bool plain = !strcmp(skiff_tensor_kind(t), "tensor");
    PyObject *o = tensor_wrap(t);
    if (!o || !as_numpy || !plain)
        return o;
    PyObject *array = numpy_asarray(o);
    Py_DECREF(o);
    return array;
}

static PyObject *fetch_list(struct run *r, bool as_numpy)
{
    PyObject *list = PyList_New(r->nfetches);
    for (int i = 0; list && i < r->nfetches; i++) {
        PyObject *o = fetched(r, i, as_numpy);
        if (!o || PyList_SetItem(list, i, o) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static bool busy_begin(struct executor_object *e)
{
    if (e->busy) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the executor is running in another thread; use one executor per thread");
        return false;
    }
    e->busy = true;
    return true;
}

static PyObject *executor_run(struct executor_object *e, PyObject *args, PyObject *keywords)
{
    PyObject *program, *feed = NULL, *fetch = NULL, *scope = NULL, *result = NULL;
    int as_numpy = 0;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|OOOp",
                                     KEYWORDS("program", "feed", "fetch", "scope", "return_numpy"),
                                     base_class[CLASS_PROGRAM], &program, &feed, &fetch, &scope,
                                     &as_numpy))
        return NULL;
    struct run r = {.e = e, .program = (struct program_object *)program};
    struct skiff_executor *exe = handle_of(e, scope);
    if (!exe || !busy_begin(e))
        return NULL;
    if (!names_of(&r.k, fetch, "fetch", &r.fetches, &r.nfetches) || !feeds_take(&r, feed) ||
        !(r.out = keep_alloc(&r.k, (size_t)(r.nfetches + 1) * sizeof(*r.out))))
        goto out;
    enum skiff_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = skiff_executor_run(exe, r.program->p, r.feeds, r.nfeeds, r.fetches, r.nfetches, r.out,
                                &err);
    Py_END_ALLOW_THREADS;
    result = status < 0 ? raise_error(&err) : fetch_list(&r, as_numpy);
    for (int i = 0; i < r.nfetches; i++)
        skiff_tensor_destroy(r.out[i]);
out:
    keep_end(&r.k);
    e->busy = false;
    return result;
}

/* ---- training ---- */

static PyObject *train(struct executor_object *e, PyObject *args, PyObject *keywords, bool infer)
{
    PyObject *program, *dataset;
    if (!PyArg_ParseTuple(args, "O!O!:train(program, dataset, *, ...)", base_class[CLASS_PROGRAM],
                          &program, dataset_class, &dataset))
        return NULL;
    PyObject *scope = keywords ? PyDict_GetItemString(keywords, "scope") : NULL;
    struct skiff_executor *exe = handle_of(e, scope);
    if (!exe || !busy_begin(e))
        return NULL;
    PyObject *result = executor_train(exe, (struct program_object *)program,
                                      (struct dataset_object *)dataset, keywords, infer);
    e->busy = false;
    return result;
}

static PyObject *executor_train_method(struct executor_object *e, PyObject *args,
                                       PyObject *keywords)
{
    return train(e, args, keywords, false);
}

static PyObject *executor_infer_method(struct executor_object *e, PyObject *args,
                                       PyObject *keywords)
{
    return train(e, args, keywords, true);
}

static PyObject *executor_forget(struct executor_object *e, PyObject *args, PyObject *keywords)
{
    PyObject *program;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!", KEYWORDS("program"),
                                     base_class[CLASS_PROGRAM], &program))
        return NULL;
    for (int i = 0; i < e->nhandles; i++)
        skiff_executor_forget(e->handles[i].exe, ((struct program_object *)program)->p);
    Py_RETURN_NONE;
}

static PyObject *executor_close(struct executor_object *e, PyObject *unused)
{
    if (!busy_begin(e))
        return NULL;
    handles_close(e);
    e->busy = false;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    METHOD("run", executor_run, "Runs a program once: see _native.pyi."),
    METHOD("train", executor_train_method, "One pass over a dataset."),
    METHOD("infer", executor_infer_method, "The same without backward and optimizer ops."),
    METHOD("forget", executor_forget, "Frees the compiled form of a program."),
    METHOD0("close", executor_close, "Drops everything that was compiled."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("scope", get_scope, NULL, "The scope used when none is given."), {0}};

static PyType_Slot slots[] = {{Py_tp_new, executor_new},
                              {Py_tp_dealloc, executor_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "Runs programs: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Executor", sizeof(struct executor_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

bool executor_init(PyObject *m)
{
    static PyTypeObject *executor_class;
    return class_add(m, &spec, "Executor", &executor_class);
}
