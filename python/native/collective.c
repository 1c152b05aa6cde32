/* Calls between the ranks of a collective job: the world, rings, calls on Tensors, what was started
 * without waiting, and the reducer of DataParallel.
 *
 * Calls that wait release the interpreter lock. Ctrl-C wakes a thread that aborts the world, and
 * how the process ends is reported to the other ranks: both are explained where they stand. A
 * started call works on a copy, so that a script may use the tensor meanwhile. */
#include "native.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the end of the process ----
 *
 * The other ranks must learn how this rank ended: a script that has finished leaves the job; of one
 * that failed they report the exit status. Only on_exit knows the status (see fleet.c). */

static void on_process_exit(int status, void *unused)
{
    char reason[80];
    if (!skiff_world_is_open() || skiff_world_is_inherited())
        return;
    snprintf(reason, sizeof reason, "has ended with exit status %d", status);
    if (status)
        skiff_world_abandon(reason);
    skiff_world_close();
}

/* ---- Ctrl-C ----
 *
 * A rank that waits for others must stop waiting. The signal handler only wakes a thread, which
 * aborts the world: the wait ends with an error, KeyboardInterrupt replaces it, and the other ranks
 * are notified. */

static sem_t interrupts;
static volatile sig_atomic_t interrupted;
static struct sigaction handler_before;

static void on_interrupt(int number)
{
    interrupted = 1;
    sem_post(&interrupts);
    handler_before.sa_handler(number);
}

static void *give_up_when_interrupted(void *unused)
{
    for (;;)
        if (sem_wait(&interrupts) == 0)
            skiff_world_abandon("was interrupted (SIGINT)");
    return NULL;
}

static bool watcher_start(void)
{
    static bool running;
    pthread_t thread;
    sigset_t all, before;
    if (running)
        return true;
    sem_init(&interrupts, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    running = pthread_create(&thread, NULL, give_up_when_interrupted, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (running)
        pthread_detach(thread);
    return running;
}

bool collective_watch(void)
{
    struct sigaction ours = {.sa_handler = on_interrupt};
    if (!skiff_world_is_open() || skiff_world_is_inherited() || !watcher_start())
        return false;
    sigaction(SIGINT, NULL, &handler_before);
    if (handler_before.sa_handler == SIG_DFL || handler_before.sa_handler == SIG_IGN ||
        (handler_before.sa_flags & SA_SIGINFO) || handler_before.sa_handler == on_interrupt)
        return false;
    interrupted = 0;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGINT, &ours, NULL);
    return true;
}

bool collective_unwatch(void)
{
    sigaction(SIGINT, &handler_before, NULL);
    return interrupted && PyErr_CheckSignals() != 0;
}

/* ---- errors ---- */

/* A fault or the loss of another rank is a RuntimeError, as in Paddle. */
static PyObject *raise_between_ranks(struct skiff_error *err)
{
    if (err->code == SKIFF_PEER || err->code == SKIFF_TIMEOUT || err->code == SKIFF_IO ||
        err->code == SKIFF_INVALID || err->code == SKIFF_FORMAT)
        err->code = SKIFF_STATE;
    return raise_error(err);
}

static bool busy; /* a thread without the interpreter lock is in a call */

static bool may_call(void)
{
    if (skiff_world_is_inherited())
        PyErr_SetString(PyExc_RuntimeError,
                        "paddle.distributed: this process is a fork of a rank, which only the rank "
                        "itself may use (of a DataLoader's sub-process, perhaps)");
    else if (busy)
        PyErr_SetString(PyExc_RuntimeError, "paddle.distributed: another thread is in a call "
                                            "between ranks; one thread makes them");
    else
        return true;
    return false;
}

/* A call that may wait; false with an exception. */
#define WAITING(call)                                     \
    (may_call() && (__extension__({                       \
         struct skiff_error err_;                         \
         enum skiff_status status_;                       \
         struct skiff_error *err = &err_;                 \
         bool watched_ = collective_watch();              \
         busy = true;                                     \
         Py_BEGIN_ALLOW_THREADS;                          \
         status_ = (call);                                \
         Py_END_ALLOW_THREADS;                            \
         busy = false;                                    \
         bool raised_ = watched_ && collective_unwatch(); \
         if (status_ < 0 && !raised_)                     \
             raise_between_ranks(&err_);                  \
         status_ >= 0 && !raised_;                        \
     })))

static PyObject *none_if(bool ok)
{
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static bool works_end(const PyObject *tensor, int ring);

/* ---- the world ---- */

void log_who_is_missing(void *user, const char *line)
{
    fprintf(stderr, "skiff: %s\n", line);
}

/* There is no world yet to abort: Ctrl-C ends the process during the rendezvous. */
static PyObject *world_open(PyObject *self, PyObject *unused)
{
    struct skiff_error err;
    enum skiff_status status;
    struct sigaction at_once = {.sa_handler = SIG_DFL}, before;
    sigaction(SIGINT, &at_once, &before);
    Py_BEGIN_ALLOW_THREADS;
    status = skiff_world_open(&(struct skiff_world_options){.on_log = log_who_is_missing}, &err);
    Py_END_ALLOW_THREADS;
    sigaction(SIGINT, &before, NULL);
    if (status < 0)
        return raise_between_ranks(&err);
    Py_RETURN_NONE;
}

static PyObject *world_close(PyObject *self, PyObject *unused)
{
    if (!may_call() || !works_end(NULL, -1))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    skiff_world_close();
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *world_abandon(PyObject *self, PyObject *reason)
{
    const char *text = text_of(reason, "a reason");
    if (!text)
        return NULL;
    if (!skiff_world_is_inherited())
        skiff_world_abandon(text);
    Py_RETURN_NONE;
}

static PyObject *world_is_open(PyObject *self, PyObject *unused)
{
    return PyBool_FromLong(skiff_world_is_open());
}

static PyObject *world_rank(PyObject *self, PyObject *unused)
{
    return PyLong_FromLong(skiff_world_rank());
}

static PyObject *world_size(PyObject *self, PyObject *unused)
{
    return PyLong_FromLong(skiff_world_size());
}

static PyObject *world_engine(PyObject *self, PyObject *unused)
{
    return PyUnicode_FromString(skiff_world_engine());
}

static PyObject *world_group(PyObject *self, PyObject *list)
{
    struct keep k = {0};
    int64_t *given, n;
    int id = -1;
    int *ranks = longs_of(&k, list, "ranks", &given, &n)
                     ? keep_alloc(&k, (size_t)(n + 1) * sizeof *ranks)
                     : NULL;
    for (int64_t i = 0; ranks && i < n; i++)
        ranks[i] = (int)given[i];
    bool ok = ranks && WAITING(skiff_world_group(ranks, (int)n, &id, err));
    keep_end(&k);
    return ok ? PyLong_FromLong(id) : NULL;
}

static PyObject *ring_rank(PyObject *self, PyObject *ring)
{
    int64_t id;
    return int_of(ring, "a ring", &id) ? PyLong_FromLong(skiff_ring_rank((int)id)) : NULL;
}

static PyObject *ring_size(PyObject *self, PyObject *ring)
{
    int64_t id;
    return int_of(ring, "a ring", &id) ? PyLong_FromLong(skiff_ring_size((int)id)) : NULL;
}

static PyObject *ring_destroy(PyObject *self, PyObject *ring)
{
    int64_t id;
    if (!int_of(ring, "a ring", &id) || !may_call() || !works_end(NULL, (int)id))
        return NULL;
    skiff_ring_destroy((int)id);
    Py_RETURN_NONE;
}

/* ---- calls ---- */

static struct skiff_tensor *value_of(PyObject *o)
{
    struct skiff_eager_tensor *t = eager_of(o, "a tensor");
    return t ? skiff_eager_value(t) : NULL;
}

static void touched(PyObject *o)
{
    skiff_eager_touched(((struct eager_object *)o)->t);
}

/* The values of a list of `n` Tensors. */
static struct skiff_tensor **values_of(struct keep *k, PyObject *list, int ring)
{
    int n, size = skiff_ring_size(ring);
    struct skiff_eager_tensor **t = eager_list(k, list, "a tensor of the list", &n);
    struct skiff_tensor **out = t ? keep_alloc(k, (size_t)(n + 1) * sizeof *out) : NULL;
    if (out && n != size) {
        PyErr_Format(PyExc_ValueError,
                     "a list of %d tensors for a group of %d ranks: one for each is needed", n,
                     size);
        return NULL;
    }
    for (int i = 0; out && i < n; i++) {
        if (!t[i]) {
            PyErr_SetString(PyExc_TypeError, "a tensor of the list is None");
            return NULL;
        }
        out[i] = skiff_eager_value(t[i]);
    }
    return out;
}

static PyObject *all_reduce(PyObject *self, PyObject *args)
{
    PyObject *o;
    int ring, how;
    struct skiff_tensor *t;
    if (!PyArg_ParseTuple(args, "iOi", &ring, &o, &how) || !(t = value_of(o)))
        return NULL;
    bool ok = WAITING(skiff_collective_all_reduce(ring, t, (enum skiff_reduction)how, err));
    touched(o);
    return none_if(ok);
}

static PyObject *reduce(PyObject *self, PyObject *args)
{
    PyObject *o;
    int ring, how, root;
    struct skiff_tensor *t;
    if (!PyArg_ParseTuple(args, "iOii", &ring, &o, &how, &root) || !(t = value_of(o)))
        return NULL;
    bool ok = WAITING(skiff_collective_reduce(ring, t, (enum skiff_reduction)how, root, err));
    touched(o);
    return none_if(ok);
}

static PyObject *reduce_scatter(PyObject *self, PyObject *args)
{
    PyObject *list, *o;
    int ring, how;
    struct keep k = {0};
    struct skiff_tensor *t, **ins = NULL;
    if (!PyArg_ParseTuple(args, "iOOi", &ring, &list, &o, &how) || !(t = value_of(o)))
        return NULL;
    bool ok = (ins = values_of(&k, list, ring)) &&
              WAITING(skiff_collective_reduce_scatter(ring, (const struct skiff_tensor *const *)ins,
                                                      t, (enum skiff_reduction)how, err));
    touched(o);
    keep_end(&k);
    return none_if(ok);
}

/* all_gather(ring, tensor, root) -> list; root -1: in every rank, else there only, None elsewhere
 */
static PyObject *all_gather(PyObject *self, PyObject *args)
{
    PyObject *o, *list = NULL;
    int ring, root;
    struct skiff_tensor *t;
    if (!PyArg_ParseTuple(args, "iOi", &ring, &o, &root) || !(t = value_of(o)))
        return NULL;
    bool here = root < 0 || skiff_ring_rank(ring) == root;
    int n = here && skiff_ring_size(ring) > 0 ? skiff_ring_size(ring) : 0;
    struct skiff_eager_tensor *made[n + 1];
    struct skiff_tensor *outs[n + 1];
    for (int i = 0; i < n; i++) {
        made[i] = skiff_eager_tensor_create(eager_engine());
        outs[i] = skiff_eager_value(made[i]);
    }
    bool ok = root < 0 ? WAITING(skiff_collective_all_gather(ring, t, outs, err))
                       : WAITING(skiff_collective_gather(ring, t, outs, root, err));
    if (ok)
        list = eager_wrap_list(made, n);
    for (int i = 0; i < n && !ok; i++)
        skiff_eager_tensor_unref(made[i]);
    if (!list || here)
        return list;
    Py_DECREF(list);
    Py_RETURN_NONE;
}

static PyObject *bytes_list(const char *from, const size_t *sizes, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; i < n && list; from += sizes[i++]) {
        PyObject *item = PyBytes_FromStringAndSize(from, (Py_ssize_t)sizes[i]);
        if (!item || PyList_SetItem(list, i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *all_gather_bytes(PyObject *self, PyObject *args)
{
    int ring;
    const char *in;
    Py_ssize_t bytes;
    void *out = NULL;
    PyObject *list = NULL;
    if (!PyArg_ParseTuple(args, "iy#", &ring, &in, &bytes))
        return NULL;
    int n = skiff_ring_size(ring);
    size_t sizes[(n > 0 ? n : 0) + 1];
    if (WAITING(skiff_collective_all_gather_bytes(ring, in, (size_t)bytes, &out, sizes, err)))
        list = bytes_list(out, sizes, n);
    skiff_collective_free(out);
    return list;
}

static PyObject *broadcast(PyObject *self, PyObject *args)
{
    PyObject *o;
    int ring, root;
    struct skiff_tensor *t;
    if (!PyArg_ParseTuple(args, "iOi", &ring, &o, &root) || !(t = value_of(o)))
        return NULL;
    bool ok = WAITING(skiff_collective_broadcast(ring, t, root, err));
    touched(o);
    return none_if(ok);
}

static PyObject *scatter(PyObject *self, PyObject *args)
{
    PyObject *list, *o;
    int ring, root;
    struct keep k = {0};
    struct skiff_tensor *t, **ins = NULL;
    if (!PyArg_ParseTuple(args, "iOOi", &ring, &list, &o, &root) || !(t = value_of(o)))
        return NULL;
    bool ok = (skiff_ring_rank(ring) != root || (ins = values_of(&k, list, ring))) &&
              WAITING(skiff_collective_scatter(ring, (const struct skiff_tensor *const *)ins, t,
                                               root, err));
    touched(o);
    keep_end(&k);
    return none_if(ok);
}

static PyObject *all_to_all(PyObject *self, PyObject *args)
{
    PyObject *from, *to;
    int ring;
    struct keep k = {0};
    struct skiff_tensor **ins = NULL, **outs = NULL;
    if (!PyArg_ParseTuple(args, "iOO", &ring, &from, &to))
        return NULL;
    bool ok = (ins = values_of(&k, from, ring)) && (outs = values_of(&k, to, ring)) &&
              WAITING(skiff_collective_all_to_all(ring, (const struct skiff_tensor *const *)ins,
                                                  outs, err));
    for (int i = 0; ok && i < skiff_ring_size(ring); i++) {
        PyObject *item = PySequence_GetItem(to, i);
        touched(item);
        Py_DECREF(item);
    }
    keep_end(&k);
    return none_if(ok);
}

static PyObject *barrier(PyObject *self, PyObject *ring)
{
    int64_t id;
    if (!int_of(ring, "a ring", &id))
        return NULL;
    return none_if(WAITING(skiff_collective_barrier((int)id, err)));
}

static PyObject *send(PyObject *self, PyObject *args)
{
    PyObject *o;
    int ring, to;
    struct skiff_tensor *t;
    if (!PyArg_ParseTuple(args, "iOi", &ring, &o, &to) || !(t = value_of(o)))
        return NULL;
    return none_if(WAITING(skiff_collective_send(ring, t, to, err)));
}

static PyObject *recv(PyObject *self, PyObject *args)
{
    PyObject *o;
    int ring, from;
    struct skiff_tensor *t;
    if (!PyArg_ParseTuple(args, "iOi", &ring, &o, &from) || !(t = value_of(o)))
        return NULL;
    bool ok = WAITING(skiff_collective_recv(ring, t, from, err));
    touched(o);
    return none_if(ok);
}

/* ---- started without waiting ----
 *
 * The call works on a private copy, which is written to the tensor when the call is waited for, or
 * when its last reference is dropped. */

struct work_object {
    PyObject_HEAD;
    struct skiff_collective_work *w; /* NULL: it is over */
    struct skiff_tensor *copy;
    PyObject *tensor;
    int ring;
    struct work_object *next; /* not over yet */
};
static PyTypeObject *work_class;
static struct work_object *works;

static void works_remove(struct work_object *o)
{
    struct work_object **at = &works;
    while (*at && *at != o)
        at = &(*at)->next;
    if (*at)
        *at = o->next;
}

static bool work_end(struct work_object *o)
{
    struct skiff_collective_work *w = o->w;
    o->w = NULL;
    if (!w)
        return true;
    works_remove(o);
    bool ok = WAITING(skiff_collective_wait(w, err));
    struct skiff_tensor *to = value_of(o->tensor);
    struct skiff_error err;
    if (ok && skiff_tensor_copy(to, o->copy, &err) < 0) {
        raise_error(&err);
        ok = false;
    }
    touched(o->tensor);
    skiff_tensor_destroy(o->copy);
    o->copy = NULL;
    Py_CLEAR(o->tensor);
    return ok;
}

static PyObject *work_wait(struct work_object *o, PyObject *unused)
{
    return none_if(work_end(o));
}

static PyObject *work_done(struct work_object *o, PyObject *unused)
{
    return PyBool_FromLong(!o->w || skiff_collective_done(o->w));
}

static void work_dealloc(struct work_object *o)
{
    bool ours = skiff_world_is_open() && !skiff_world_is_inherited();
    if (o->w && ours && !work_end(o))
        PyErr_WriteUnraisable(NULL);
    works_remove(o);
    if (!o->w) /* of a fork: the copy is not ours to free */
        skiff_tensor_destroy(o->copy);
    Py_XDECREF(o->tensor);
    class_free((PyObject *)o);
}

/* What was started for a tensor, in a ring (-1: in any), is over. False with the first exception.
 */
static bool works_end(const PyObject *tensor, int ring)
{
    bool ok = true;
    for (struct work_object *o = works, *next; o && ok; o = next) {
        next = o->next;
        if ((tensor && o->tensor != tensor) || (ring >= 0 && o->ring != ring))
            continue;
        Py_INCREF((PyObject *)o);
        ok = work_end(o);
        next = works; /* other code may have run meanwhile */
        Py_DECREF((PyObject *)o);
    }
    return ok;
}

static PyObject *finish(PyObject *self, PyObject *tensor)
{
    return none_if(works_end(tensor, -1));
}

enum started { STARTED_ALL_REDUCE, STARTED_BROADCAST, STARTED_RECV };

/* start(what, ring, tensor, how or rank) -> CollectiveWork */
static PyObject *start(PyObject *self, PyObject *args)
{
    PyObject *tensor;
    int what, ring, how;
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTuple(args, "iiOi", &what, &ring, &tensor, &how))
        return NULL;
    struct skiff_tensor *from = value_of(tensor);
    struct work_object *o =
        from && may_call() ? (struct work_object *)class_alloc(work_class) : NULL;
    if (!o)
        return NULL;
    o->copy = skiff_tensor_create("float32", 0, NULL, &err);
    status = o->copy ? skiff_tensor_copy(o->copy, from, &err) : err.code;
    if (status == SKIFF_OK)
        status = what == STARTED_ALL_REDUCE
                     ? skiff_collective_start_all_reduce(ring, o->copy, (enum skiff_reduction)how,
                                                         &o->w, &err)
                 : what == STARTED_BROADCAST
                     ? skiff_collective_start_broadcast(ring, o->copy, how, &o->w, &err)
                     : skiff_collective_start_recv(ring, o->copy, how, &o->w, &err);
    if (status < 0) {
        raise_between_ranks(&err);
        Py_DECREF(o);
        return NULL;
    }
    Py_INCREF(tensor);
    o->tensor = tensor;
    o->ring = ring;
    o->next = works;
    works = o;
    return (PyObject *)o;
}

/* ---- the reducer ---- */

struct reducer_object {
    PyObject_HEAD;
    struct skiff_eager_reducer *r;
};
static PyTypeObject *reducer_class;

/* Other threads of Python continue while backward waits. */
static void let_others_run(void *user, bool begins)
{
    static PyThreadState *kept; /* one backward at a time */
    (void)user;
    if (begins) {
        busy = true;
        kept = PyEval_SaveThread();
    } else {
        PyEval_RestoreThread(kept);
        busy = false;
    }
}

/* Reducer(parameters, sparse, ring, bucket_bytes, first_bucket_bytes) */
static PyObject *reducer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *list, *flags;
    struct keep k = {0};
    struct skiff_error err;
    struct skiff_eager_reducer_options o = {0};
    Py_ssize_t bucket, first;
    int64_t *given, nflags = 0;
    int n = 0;
    struct reducer_object *made = NULL;
    if (!PyArg_ParseTuple(args, "OOinn", &list, &flags, &o.ring, &bucket, &first))
        return NULL;
    struct skiff_eager_tensor **params = eager_list(&k, list, "a parameter", &n);
    bool *sparse = keep_alloc(&k, (size_t)n + 1);
    if (params && sparse && longs_of(&k, flags, "sparse", &given, &nflags)) {
        for (int i = 0; i < n && i < nflags; i++)
            sparse[i] = given[i] != 0;
        o.sparse = sparse;
        o.waits = let_others_run;
        o.bucket_bytes = (size_t)bucket;
        o.first_bucket_bytes = (size_t)first;
        made = (struct reducer_object *)class_alloc(type);
        if (made && skiff_eager_reducer_create(eager_engine(), n, params, &o, &made->r, &err) < 0) {
            raise_between_ranks(&err);
            Py_CLEAR(made);
        }
    }
    keep_end(&k);
    return (PyObject *)made;
}

static void reducer_dealloc(struct reducer_object *o)
{
    skiff_eager_reducer_destroy(o->r);
    class_free((PyObject *)o);
}

static PyObject *reducer_set_sync(struct reducer_object *o, PyObject *sync)
{
    bool on;
    if (!truth_of(sync, "sync", &on))
        return NULL;
    skiff_eager_reducer_set_sync(o->r, on);
    Py_RETURN_NONE;
}

/* ---- start ---- */

static PyMethodDef functions[] = {
    METHOD0("world_open", world_open, "Joins the job that the environment names."),
    METHOD0("world_close", world_close, "Leaves the job."),
    METHOD1("world_abandon", world_abandon,
            "This rank cannot continue: notifies the others of the reason."),
    METHOD0("world_is_open", world_is_open, "Has this process joined?"),
    METHOD0("world_rank", world_rank, "Its number."),
    METHOD0("world_size", world_size, "How many ranks."),
    METHOD0("world_engine", world_engine, "net, mpi, alone; empty before open."),
    METHOD1("world_group", world_group, "A ring of some ranks -> its number."),
    METHOD1("ring_rank", ring_rank, "This rank's number in a ring; -1: not a member."),
    METHOD1("ring_size", ring_size, "Ranks of a ring; -1: not a member."),
    METHOD1("ring_destroy", ring_destroy, "A ring goes."),
    {"collective_all_reduce", all_reduce, METH_VARARGS, PyDoc_STR("(ring, tensor, how)")},
    {"collective_reduce", reduce, METH_VARARGS, PyDoc_STR("(ring, tensor, how, root)")},
    {"collective_reduce_scatter", reduce_scatter, METH_VARARGS,
     PyDoc_STR("(ring, list, tensor, how)")},
    {"collective_all_gather", all_gather, METH_VARARGS,
     PyDoc_STR("(ring, tensor, root or -1) -> list")},
    {"collective_all_gather_bytes", all_gather_bytes, METH_VARARGS,
     PyDoc_STR("(ring, bytes) -> list")},
    {"collective_broadcast", broadcast, METH_VARARGS, PyDoc_STR("(ring, tensor, root)")},
    {"collective_scatter", scatter, METH_VARARGS, PyDoc_STR("(ring, list, tensor, root)")},
    {"collective_all_to_all", all_to_all, METH_VARARGS, PyDoc_STR("(ring, list, list)")},
    METHOD1("collective_barrier", barrier, "(ring)"),
    {"collective_send", send, METH_VARARGS, PyDoc_STR("(ring, tensor, to)")},
    {"collective_recv", recv, METH_VARARGS, PyDoc_STR("(ring, tensor, from)")},
    {"collective_start", start, METH_VARARGS, PyDoc_STR("(what, ring, tensor, how) -> work")},
    METHOD1("collective_finish", finish, "(tensor): what was started for it is over."),
    {0}};

static PyMethodDef work_methods[] = {
    METHOD0("wait", work_wait, "Waits; the tensor has its value then."),
    METHOD0("done", work_done, "Would wait return at once?"),
    {0}};
static PyType_Slot work_slots[] = {{Py_tp_dealloc, work_dealloc},
                                   {Py_tp_methods, work_methods},
                                   {Py_tp_doc, (void *)"A call that was started."},
                                   {0, NULL}};
static PyType_Spec work_spec = {"skiff._native.CollectiveWork", sizeof(struct work_object), 0,
                                Py_TPFLAGS_DEFAULT, work_slots};

static PyMethodDef reducer_methods[] = {
    METHOD1("set_sync", reducer_set_sync, "False: gradients stay this rank's own."), {0}};
static PyType_Slot reducer_slots[] = {
    {Py_tp_new, reducer_new},
    {Py_tp_dealloc, reducer_dealloc},
    {Py_tp_methods, reducer_methods},
    {Py_tp_doc, (void *)"Averages gradients over the ranks of a ring during backward."},
    {0, NULL}};
static PyType_Spec reducer_spec = {"skiff._native.Reducer", sizeof(struct reducer_object), 0,
                                   Py_TPFLAGS_DEFAULT, reducer_slots};

bool collective_init(PyObject *m)
{
    if (on_exit(on_process_exit, NULL) != 0) {
        PyErr_NoMemory();
        return false;
    }
    return module_functions(m, functions) &&
           class_add(m, &work_spec, "CollectiveWork", &work_class) &&
           class_add(m, &reducer_spec, "Reducer", &reducer_class);
}
