/* Collective programs: what Paddle's collective transpilers do (include/skiff/collective.h). */
#include "native.h"

#include <skiff/collective.h>
#include <skiff/optimizer.h>

static bool is_program(PyObject *o, const char *what)
{
    if (is_a(o, CLASS_PROGRAM))
        return true;
    PyErr_Format(PyExc_TypeError, "%s must be a Program", what);
    return false;
}

static struct skiff_program *program_of(PyObject *o)
{
    return o == Py_None ? NULL : ((struct program_object *)o)->p;
}

/* endpoints: None (the environment's) or a list of all ranks' */
static bool world_of(struct keep *k, PyObject *endpoints, int rank, struct skiff_world_options *w,
                     struct skiff_collective_options *o)
{
    const char **names;
    int n;
    *w = (struct skiff_world_options){.on_log = log_who_is_missing};
    o->world = w;
    if (endpoints == Py_None)
        return true;
    if (!names_of(k, endpoints, "endpoints", &names, &n))
        return false;
    w->endpoints = (const char *const *)names;
    w->size = n;
    w->rank = rank;
    return true;
}

static PyObject *finish(struct keep *k, enum skiff_status status, const struct skiff_error *err)
{
    keep_end(k);
    if (PyErr_Occurred())
        return NULL;
    if (status < 0)
        return raise_error(err);
    Py_RETURN_NONE;
}

static PyObject *transpile(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *main, *startup = Py_None, *endpoints = Py_None;
    int rank = 0, by_rows = 0, sync_batch_norm = 0, local_steps = 0, local_begin = 0;
    struct skiff_world_options world;
    struct skiff_collective_options o = {0};
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOippii",
                                     KEYWORDS("main", "startup", "endpoints", "rank", "by_rows",
                                              "sync_batch_norm", "local_steps", "local_begin"),
                                     &main, &startup, &endpoints, &rank, &by_rows, &sync_batch_norm,
                                     &local_steps, &local_begin) ||
        !is_program(main, "main") || (startup != Py_None && !is_program(startup, "startup")))
        return NULL;
    o.by_rows = by_rows;
    o.sync_batch_norm = sync_batch_norm;
    o.local_steps = local_steps;
    o.local_begin = local_begin;
    if (world_of(&k, endpoints, rank, &world, &o))
        status = skiff_collective_transpile(program_of(main), program_of(startup), &o, &err);
    return finish(&k, status, &err);
}

static PyObject *gen(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *startup, *endpoints = Py_None;
    int rank = 0;
    struct skiff_world_options world;
    struct skiff_collective_options o = {0};
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|Oi",
                                     KEYWORDS("startup", "endpoints", "rank"), &startup, &endpoints,
                                     &rank) ||
        !is_program(startup, "startup"))
        return NULL;
    if (world_of(&k, endpoints, rank, &world, &o))
        status = skiff_collective_gen(program_of(startup), &o, &err);
    return finish(&k, status, &err);
}

static PyObject *spread(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *main, *scope;
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", KEYWORDS("main", "scope"), &main,
                                     &scope) ||
        !is_program(main, "main"))
        return NULL;
    if (!is_a(scope, CLASS_SCOPE)) {
        PyErr_SetString(PyExc_TypeError, "scope must be a Scope");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = skiff_collective_spread(program_of(main), ((struct scope_object *)scope)->s, &err);
    Py_END_ALLOW_THREADS;
    return finish(&k, status, &err);
}

static PyObject *gradient_merge(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *main, *startup;
    int k_steps, avg = 1;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOi|p",
                                     KEYWORDS("main", "startup", "k_steps", "avg"), &main, &startup,
                                     &k_steps, &avg) ||
        !is_program(main, "main") || !is_program(startup, "startup"))
        return NULL;
    if (skiff_gradient_merge(program_of(main), program_of(startup), k_steps, avg, &err) < 0)
        return raise_error(&err);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    METHOD("gradient_merge", gradient_merge,
           "Gradients are added up over k_steps runs of main, and used in every k-th."),
    METHOD("collective_transpile", transpile,
           "Sums of gradients over all ranks in main; parameters of rank 0 in startup."),
    METHOD("collective_gen", gen, "Running the startup program opens the world."),
    METHOD("collective_spread", spread, "Parameters in the scope become rank 0's."),
    {0}};

bool ranks_init(PyObject *m)
{
    return module_functions(m, functions);
}
