/* Fleet: this process's part in a job of workers and servers.
 *
 * Calls that wait for the job run without the interpreter lock; log lines come from the job's
 * threads, which take it. C keeps pointers to programs and texts of the strategy, so the object
 * keeps their owners. The end of the process is the delicate part, and is explained at the top:
 * servers must learn whether a worker has finished or failed. */
#include "native.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <skiff/fleet.h>

/* ---- the end of the process ----
 *
 * A script may end between init_worker and stop_worker. Only the exit status shows whether it has
 * finished (0: it leaves the job) or failed (otherwise servers count it as dead, and log it at
 * once), and only on_exit knows the status. The interpreter has ended by then, so workers that are
 * still active keep the memory that C uses, and callbacks are not called any more. A process that
 * is killed, or ends by os._exit, is missed by the servers within seconds. */

static struct skiff_fleet **at_work; /* guarded by the interpreter lock, as long as there is one */
static size_t at_work_count;
static pid_t own_process;   /* children of a fork have none of the threads */
static atomic_bool quiet;   /* the interpreter ends: no more log lines */
static atomic_int speaking; /* threads that are logging now */

static size_t at_work_find(const struct skiff_fleet *f)
{
    size_t i = 0;
    while (i < at_work_count && at_work[i] != f)
        i++;
    return i;
}

static void at_work_remove(const struct skiff_fleet *f)
{
    size_t i = at_work_find(f);
    if (i < at_work_count)
        at_work[i] = at_work[--at_work_count];
}

static void on_process_exit(int status, void *unused)
{
    char reason[80];
    if (getpid() != own_process)
        return;
    snprintf(reason, sizeof reason, "has ended with exit status %d, without stop_worker", status);
    while (at_work_count) {
        struct skiff_fleet *f = at_work[--at_work_count];
        if (status == 0)
            skiff_fleet_stop_worker(f, NULL);
        else
            skiff_fleet_abandon_worker(f, reason);
    }
}

/* Runs by atexit, before the interpreter ends: a thread that waited for its lock then would be
 * ended, and the network thread must continue. */
static PyObject *fall_silent(PyObject *self, PyObject *unused)
{
    atomic_store(&quiet, true);
    Py_BEGIN_ALLOW_THREADS;
    for (int ms = 0; atomic_load(&speaking) && ms < 2000; ms++)
        usleep(1000);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static bool watch_exit(void)
{
    static PyMethodDef silence = {"fall_silent", fall_silent, METH_NOARGS, NULL};
    if (own_process)
        return true;
    PyObject *module = PyImport_ImportModule("atexit");
    PyObject *call = module ? PyCFunction_New(&silence, NULL) : NULL;
    PyObject *done = call ? PyObject_CallMethod(module, "register", "O", call) : NULL;
    bool ok = done && on_exit(on_process_exit, NULL) == 0;
    Py_XDECREF(done);
    Py_XDECREF(call);
    Py_XDECREF(module);
    if (ok)
        own_process = getpid();
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    return ok;
}

static bool at_work_add(struct skiff_fleet *f)
{
    if (at_work_find(f) < at_work_count)
        return true;
    struct skiff_fleet **grown = realloc(at_work, (at_work_count + 1) * sizeof *grown);
    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    at_work = grown;
    at_work[at_work_count++] = f;
    return true;
}

/* The process ends (or is a child of the one that works): on_process_exit has the last word. */
static bool stays_at_work(const struct skiff_fleet *f)
{
    return at_work_find(f) < at_work_count && (!Py_IsInitialized() || getpid() != own_process);
}

/* ---- lifetime ---- */

static PyObject *fleet_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct fleet_object *o = (struct fleet_object *)class_alloc(type);
    if (!o)
        return NULL;
    o->f = skiff_fleet_create();
    o->given = PyList_New(0);
    if (!o->given)
        Py_CLEAR(o);
    return (PyObject *)o;
}

static int fleet_traverse(struct fleet_object *o, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(o));
    Py_VISIT(o->main);
    Py_VISIT(o->startup);
    Py_VISIT(o->given);
    Py_VISIT(o->on_log);
    return 0;
}

static int fleet_clear(struct fleet_object *o)
{
    Py_CLEAR(o->main);
    Py_CLEAR(o->startup);
    return 0;
}

/* The last reference is gone, perhaps in a cycle that the collector breaks next, together with the
 * memory that C uses: a worker that has not left the job is lost. Threads are joined and may log:
 * the lock must be free. */
static void fleet_finalize(struct fleet_object *o)
{
    struct skiff_fleet *f = o->f;
    if (!f)
        return;
    skiff_fleet_on_log(f, NULL, NULL);
    if (stays_at_work(f)) {
        Py_XINCREF(o->given);
        return;
    }
    at_work_remove(f);
    Py_BEGIN_ALLOW_THREADS;
    skiff_fleet_abandon_worker(f, "has dropped its fleet without stop_worker");
    Py_END_ALLOW_THREADS;
}

static void fleet_dealloc(struct fleet_object *o)
{
    PyObject_GC_UnTrack(o);
    fleet_finalize(o);
    fleet_clear(o);
    if (o->f && !stays_at_work(o->f)) {
        Py_BEGIN_ALLOW_THREADS;
        skiff_fleet_destroy(o->f);
        Py_END_ALLOW_THREADS;
    }
    Py_CLEAR(o->given);
    Py_CLEAR(o->on_log);
    class_free((PyObject *)o);
}

/* ---- calls without the interpreter lock ---- */

PyObject *fleet_finish(enum skiff_status status, const struct skiff_error *err)
{
    if (status < 0)
        return raise_file_error(err);
    Py_RETURN_NONE;
}

/* ---- roles ---- */

static PyObject *fleet_init_env(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"auto", "cloud", "manual"};
    const char *env = "auto";
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|s", KEYWORDS("env"), &env))
        return NULL;
    for (int i = 0; i < 3; i++)
        if (!strcmp(env, names[i])) {
            enum skiff_status status = skiff_fleet_init_env(o->f, (enum skiff_role_env)i, &err);
            if (status < 0)
                return raise_error(&err);
            Py_RETURN_NONE;
        }
    PyErr_Format(PyExc_ValueError, "env is auto, cloud or manual, not %s", env);
    return NULL;
}

static PyObject *fleet_init_user(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    const char *role, **servers, **workers;
    PyObject *server_list, *worker_list = NULL;
    struct skiff_role r = {0};
    struct keep k = {0};
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "siiO|O",
            KEYWORDS("role", "current_id", "worker_num", "server_endpoints", "worker_endpoints"),
            &role, &r.current_id, &r.worker_num, &server_list, &worker_list))
        return NULL;
    if (strcmp(role, "worker") && strcmp(role, "server")) {
        PyErr_Format(PyExc_ValueError, "role is worker or server, not %s", role);
        return NULL;
    }
    r.role = role[0] == 'w' ? SKIFF_WORKER : SKIFF_SERVER;
    bool ok = names_of(&k, server_list, "server_endpoints", &servers, &r.nservers) &&
              names_of(&k, worker_list, "worker_endpoints", &workers, &r.nworker_endpoints);
    if (ok) {
        r.server_endpoints = servers;
        r.worker_endpoints = workers;
        ok = skiff_fleet_init_user(o->f, &r, &err) == SKIFF_OK;
        if (!ok)
            raise_error(&err);
    }
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

/* Facts: one getter for all that are bools, one for all that are ints. */
struct fact {
    bool (*yes)(const struct skiff_fleet *f);
    int (*number)(const struct skiff_fleet *f);
    const char *(*text)(const struct skiff_fleet *f);
};

static PyObject *get_fact(struct fleet_object *o, struct fact *fact)
{
    if (fact->yes)
        return PyBool_FromLong(fact->yes(o->f));
    if (fact->number)
        return PyLong_FromLong(fact->number(o->f));
    const char *text = fact->text(o->f);
    return PyUnicode_FromString(text ? text : "");
}

static PyObject *fleet_split_files(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *files, *result = NULL;
    struct keep k = {0};
    const char **names, *const *mine;
    int n, nmine;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("files"), &files))
        return NULL;
    if (names_of(&k, files, "files", &names, &n)) {
        if (skiff_fleet_split_files(o->f, names, n, &mine, &nmine, &err) < 0) {
            raise_error(&err);
        } else {
            result = names_list(mine, nmine);
            free((void *)mine);
        }
    }
    keep_end(&k);
    return result;
}

/* ---- strategies ---- */

static const struct {
    const char *name;
    size_t offset;
    char kind; /* s: text, i: int, l: int64_t, b: bool */
} fields[] = {
#define FIELD(f, kind)                               \
    {                                                \
#f, offsetof(struct skiff_strategy, f), kind \
    }
    FIELD(mode, 's'),
    FIELD(geo_steps, 'i'),
    FIELD(no_slice, 'b'),
    FIELD(min_block_size, 'l'),
    FIELD(split_method, 's'),
    FIELD(dc_asgd, 'b'),
    FIELD(direct, 'b'),
    FIELD(stop_on_death, 'b'),
    FIELD(threads, 'i'),
    FIELD(max_merge_var_num, 'i'),
    FIELD(send_queue_size, 'i'),
    FIELD(min_send_grad_num_before_recv, 'i'),
    FIELD(thread_pool_size, 'i'),
    FIELD(send_wait_times, 'i'),
    FIELD(independent_recv_thread, 'i'),
    FIELD(is_sgd_optimizer, 'i'),
    FIELD(transport, 's'),
    FIELD(keyed_tables, 'b'),
    FIELD(all_features, 'b'),
    FIELD(adam_d2sum, 'b'),
#undef FIELD
};

static bool field_set(struct skiff_strategy *s, const char *name, PyObject *value)
{
    int64_t number;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        void *at = (char *)s + fields[i].offset;
        if (strcmp(fields[i].name, name))
            continue;
        if (value == Py_None)
            return true;
        if (fields[i].kind == 's')
            return (*(const char **)at = text_of(value, name)) != NULL;
        if (fields[i].kind == 'b')
            return truth_of(value, name, at);
        if (!int_of(value, name, &number))
            return false;
        if (fields[i].kind == 'l')
            *(int64_t *)at = number;
        else
            *(int *)at = (int)number;
        return true;
    }
    PyErr_Format(PyExc_TypeError, "a strategy has no field %s", name);
    return false;
}

static bool strategy_of(struct keep *k, PyObject *keywords, struct skiff_strategy *s)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    *s = (struct skiff_strategy){0};
    while (keywords && PyDict_Next(keywords, &at, &key, &value)) {
        const char *name = text_of(key, "a field");
        if (!name)
            return false;
        if (!strcmp(name, "tables") ? !fleet_tables_of(k, value, s) : !field_set(s, name, value))
            return false;
    }
    return true;
}

/* ---- programs ---- */

/* C keeps pointers to the programs and, perhaps, to texts of the strategy. */
static bool keep_given(struct fleet_object *o, PyObject *main, PyObject *startup, PyObject *texts)
{
    return PyList_Append(o->given, main) == 0 && PyList_Append(o->given, startup) == 0 &&
           (!texts || PyList_Append(o->given, texts) == 0);
}

static PyObject *fleet_split(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *main, *startup;
    struct keep k = {0};
    struct skiff_strategy s;
    struct skiff_error err;
    if (!PyArg_ParseTuple(args, "O!O!:split(main, startup, **strategy)", base_class[CLASS_PROGRAM],
                          &main, base_class[CLASS_PROGRAM], &startup))
        return NULL;
    bool ok = strategy_of(&k, keywords, &s) && keep_given(o, main, startup, keywords);
    if (ok && skiff_fleet_split(o->f, ((struct program_object *)main)->p,
                                ((struct program_object *)startup)->p, &s, &err) < 0) {
        raise_error(&err);
        ok = false;
    }
    keep_end(&k);
    /* the first run joins the job; from then on the end of the process is the end of the work */
    if (!ok || (skiff_fleet_is_worker(o->f) && (!watch_exit() || !at_work_add(o->f))))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *fleet_program(struct fleet_object *o, struct skiff_program *p, PyObject **cache)
{
    if (!p)
        Py_RETURN_NONE;
    if (*cache && ((struct program_object *)*cache)->p != p)
        Py_CLEAR(*cache); /* it was split again */
    if (!*cache)
        *cache = program_borrow(p, (PyObject *)o);
    Py_XINCREF(*cache);
    return *cache;
}

static PyObject *get_main(struct fleet_object *o, void *unused)
{
    return fleet_program(o, skiff_fleet_main_program(o->f), &o->main);
}

static PyObject *get_startup(struct fleet_object *o, void *unused)
{
    return fleet_program(o, skiff_fleet_startup_program(o->f), &o->startup);
}

/* ---- servers and workers ---- */

static PyObject *fleet_init_server(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *dir_object = NULL;
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    const char *dir = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", KEYWORDS("model_dir"), &dir_object))
        return NULL;
    bool ok = !dir_object || dir_object == Py_None ||
              (dir = path_of(&k, dir_object, "model_dir")) != NULL;
    if (ok)
        status = UNLOCKED(skiff_fleet_init_server(o->f, dir, &err));
    PyObject *result = ok ? fleet_finish(status, &err) : NULL;
    keep_end(&k);
    return result;
}

static PyObject *fleet_run_server(struct fleet_object *o, PyObject *unused)
{
    struct skiff_error err;
    enum skiff_status status = UNLOCKED(skiff_fleet_run_server(o->f, &err));
    return fleet_finish(status, &err);
}

static PyObject *fleet_stop_server(struct fleet_object *o, PyObject *unused)
{
    Py_BEGIN_ALLOW_THREADS;
    skiff_fleet_stop_server(o->f);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *fleet_init_worker(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *scope;
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!", KEYWORDS("scope"),
                                     base_class[CLASS_SCOPE], &scope))
        return NULL;
    status = UNLOCKED(skiff_fleet_init_worker(o->f, ((struct scope_object *)scope)->s, &err));
    return fleet_finish(status, &err);
}

static PyObject *fleet_stop_worker(struct fleet_object *o, PyObject *unused)
{
    struct skiff_error err;
    enum skiff_status status = UNLOCKED(skiff_fleet_stop_worker(o->f, &err));
    at_work_remove(o->f);
    return fleet_finish(status, &err);
}

static PyObject *fleet_barrier(struct fleet_object *o, PyObject *unused)
{
    struct skiff_error err;
    enum skiff_status status = UNLOCKED(skiff_fleet_barrier_worker(o->f, &err));
    return fleet_finish(status, &err);
}

/* ---- over all workers ---- */

static bool all_whole(PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++)
        if (!PyLong_Check(PyList_GetItem(list, i)))
            return false;
    return true;
}

static PyObject *reduce_longs(struct fleet_object *o, struct keep *k, PyObject *list,
                              const char *op)
{
    int64_t *v, n;
    struct skiff_error err;
    enum skiff_status status;
    if (!longs_of(k, list, "values", &v, &n))
        return NULL;
    status = UNLOCKED(skiff_fleet_all_reduce_int64(o->f, op, v, (size_t)n, &err));
    if (status < 0)
        return raise_error(&err);
    struct skiff_attr a = {.type = SKIFF_ATTR_LONGS, .n = (int)n, .longs = v};
    return attr_object(&a);
}

static PyObject *reduce_doubles(struct fleet_object *o, struct keep *k, PyObject *list,
                                const char *op)
{
    double *v;
    int n;
    struct skiff_error err;
    enum skiff_status status;
    if (!doubles_of(k, list, "values", &v, &n))
        return NULL;
    status = UNLOCKED(skiff_fleet_all_reduce_double(o->f, op, v, (size_t)n, &err));
    if (status < 0)
        return raise_error(&err);
    struct skiff_attr a = {.type = SKIFF_ATTR_FLOAT64S, .n = n, .floats = v};
    return attr_object(&a);
}

static PyObject *fleet_all_reduce(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *values;
    const char *op = "sum";
    struct keep k = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|s", KEYWORDS("values", "op"), &values, &op))
        return NULL;
    PyObject *list = PySequence_List(values), *result = NULL;
    if (keep_object(&k, list))
        result = all_whole(list) ? reduce_longs(o, &k, list, op) : reduce_doubles(o, &k, list, op);
    keep_end(&k);
    return result;
}

static PyObject *fleet_auc(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *scope, *pos, *neg;
    double area;
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!OO", KEYWORDS("scope", "pos", "neg"),
                                     base_class[CLASS_SCOPE], &scope, &pos, &neg))
        return NULL;
    const char *p = name_of(pos, "pos"), *n = p ? name_of(neg, "neg") : NULL;
    if (!n)
        return NULL;
    status = UNLOCKED(skiff_fleet_auc(o->f, ((struct scope_object *)scope)->s, p, n, &area, &err));
    return status < 0 ? raise_error(&err) : PyFloat_FromDouble(area);
}

static PyObject *fleet_global_shuffle(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *dataset;
    unsigned long long seed = 0;
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|K", KEYWORDS("dataset", "seed"),
                                     dataset_class, &dataset, &seed))
        return NULL;
    struct dataset_object *d = (struct dataset_object *)dataset;
    if (d->busy) {
        PyErr_SetString(PyExc_RuntimeError, "the dataset is in use by another thread");
        return NULL;
    }
    d->busy = true;
    status = UNLOCKED(skiff_fleet_global_shuffle(o->f, d->d, seed, &err));
    d->busy = false;
    return fleet_finish(status, &err);
}

/* ---- saving ---- */

static PyObject *fleet_save_persistables(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *scope, *dir_object;
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O", KEYWORDS("scope", "dirname"),
                                     base_class[CLASS_SCOPE], &scope, &dir_object))
        return NULL;
    const char *dir = path_of(&k, dir_object, "dirname");
    if (dir) {
        status = UNLOCKED(
            skiff_fleet_save_persistables(o->f, ((struct scope_object *)scope)->s, dir, &err));
    }
    PyObject *result = dir ? fleet_finish(status, &err) : NULL;
    keep_end(&k);
    return result;
}

static PyObject *fleet_save_inference(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *scope, *feeds, *targets, *path_object;
    int is_prefix = 0, nf, nt;
    const char **f, **t;
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "O!OOO|p", KEYWORDS("scope", "feeds", "targets", "path", "is_prefix"),
            base_class[CLASS_SCOPE], &scope, &feeds, &targets, &path_object, &is_prefix))
        return NULL;
    const char *path = path_of(&k, path_object, "path");
    bool ok =
        path && names_of(&k, feeds, "feeds", &f, &nf) && names_of(&k, targets, "targets", &t, &nt);
    if (ok) {
        struct skiff_scope *s = ((struct scope_object *)scope)->s;
        status = UNLOCKED(
            skiff_fleet_save_inference_model(o->f, s, f, nf, t, nt, path, is_prefix, &err));
    }
    PyObject *result = ok ? fleet_finish(status, &err) : NULL;
    keep_end(&k);
    return result;
}

/* ---- lines for logs ---- */

static void log_now(struct fleet_object *o, const char *line)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *s =
        o->on_log ? PyUnicode_DecodeUTF8(line, (Py_ssize_t)strlen(line), "replace") : NULL;
    PyObject *r = s ? PyObject_CallFunctionObjArgs(o->on_log, s, NULL) : NULL;
    if (s && !r)
        PyErr_WriteUnraisable(o->on_log); /* no thread waits for it */
    Py_XDECREF(s);
    Py_XDECREF(r);
    PyGILState_Release(gil);
}

static void log_callback(void *user, const char *line)
{
    atomic_fetch_add(&speaking, 1);
    if (!atomic_load(&quiet))
        log_now(user, line);
    atomic_fetch_sub(&speaking, 1);
}

/* Without the interpreter lock, which a script may hold for longer than others wait for our
 * heartbeats. */
static void on_log_to_fd(void *user, const char *line)
{
    struct fleet_object *o = user;
    atomic_fetch_add(&speaking, 1);
    if (!atomic_load(&quiet))
        dprintf(o->fd, "[%s] %s\n", o->label, line);
    atomic_fetch_sub(&speaking, 1);
}

static bool log_to_fd(struct fleet_object *o, PyObject *number)
{
    int64_t fd;
    bool server = skiff_fleet_is_server(o->f);
    if (!int_of(number, "on_log", &fd))
        return false;
    o->fd = (int)fd;
    snprintf(o->label, sizeof o->label, "%s %d", server ? "server" : "worker",
             server ? skiff_fleet_server_index(o->f) : skiff_fleet_worker_index(o->f));
    skiff_fleet_on_log(o->f, on_log_to_fd, o);
    return true;
}

static PyObject *fleet_on_log(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *on_log;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("on_log"), &on_log) ||
        !watch_exit())
        return NULL;
    bool to_fd = PyLong_Check(on_log);
    if (on_log != Py_None && !to_fd && !PyCallable_Check(on_log)) {
        PyErr_SetString(PyExc_TypeError, "on_log must be callable, or a file descriptor");
        return NULL;
    }
    skiff_fleet_on_log(o->f, NULL, NULL);
    Py_CLEAR(o->on_log);
    if (to_fd && !log_to_fd(o, on_log))
        return NULL;
    if (on_log != Py_None && !to_fd) {
        Py_INCREF(on_log);
        o->on_log = on_log;
        skiff_fleet_on_log(o->f, log_callback, o);
    }
    Py_RETURN_NONE;
}

static PyObject *leave_job(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *program;
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!", KEYWORDS("program"),
                                     base_class[CLASS_PROGRAM], &program))
        return NULL;
    status = UNLOCKED(skiff_program_leave_job(((struct program_object *)program)->p, &err));
    return fleet_finish(status, &err);
}

static PyObject *join_job(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *program, *scope;
    struct skiff_error err;
    enum skiff_status status;
    bool done;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!", KEYWORDS("program", "scope"),
                                     base_class[CLASS_PROGRAM], &program, base_class[CLASS_SCOPE],
                                     &scope))
        return NULL;
    status = UNLOCKED(skiff_program_join(((struct program_object *)program)->p,
                                         ((struct scope_object *)scope)->s, &done, &err));
    return status < 0 ? raise_file_error(&err) : PyBool_FromLong(done);
}

static PyMethodDef functions[] = {
    METHOD("join_job", join_job,
           "Waits for the other processes of the program's job, as a run would."),
    METHOD("leave_job", leave_job, "This process has done its part of the program's job."),
    {0}};

static PyMethodDef methods[] = {
    METHOD("init_env", fleet_init_env, "The role from the environment: auto, cloud, manual."),
    METHOD("init_user", fleet_init_user, "The role as said."),
    METHOD("split_files", fleet_split_files, "This worker's part of a list of files."),
    METHOD("split", fleet_split, "Splits minimized programs by the role."),
    METHOD("init_server", fleet_init_server, "Fresh parameters, or those of a saved model."),
    METHOD0("run_server", fleet_run_server, "Serves until the job is complete."),
    METHOD0("stop_server", fleet_stop_server, "Ends run_server; from any thread."),
    METHOD("init_worker", fleet_init_worker, "Joins the job."),
    METHOD0("stop_worker", fleet_stop_worker,
            "Notifies the servers that this worker has finished."),
    METHOD0("barrier_worker", fleet_barrier, "Waits for all workers."),
    METHOD("all_reduce", fleet_all_reduce, "Numbers over all workers: sum, max, min; a list."),
    METHOD("auc", fleet_auc, "AUC over all workers, of the buckets of an auc layer."),
    METHOD("global_shuffle", fleet_global_shuffle, "Shuffles samples over all workers."),
    METHOD("save_persistables", fleet_save_persistables, "Paddle's files, gathered."),
    METHOD("save_inference_model", fleet_save_inference, "A model that runs alone."),
    METHOD0("flush", fleet_flush, "All that this worker has queued has reached the servers."),
    METHOD("save_tables", fleet_save_tables, "Paddle's shard files, written by the servers."),
    METHOD("load_tables", fleet_load_tables, "From such files."),
    METHOD("begin_save", fleet_begin_save, "Locks a folder for saves of tables, until"),
    METHOD0("end_save", fleet_end_save, "... this call."),
    METHOD("save_cache", fleet_save_cache, "The rows with the most shows; how many."),
    METHOD("shrink", fleet_shrink, "Statistics fade, old rows go."),
    METHOD0("revert", fleet_revert, "Forgets what the next patch would hold."),
    METHOD("pull_dense", fleet_pull_dense, "The servers' dense parameters, into the scope."),
    METHOD("push_dense", fleet_push_dense, "The scope's dense parameters, to the servers."),
    METHOD("table_state", fleet_table_state, "Counts of one table, over all servers."),
    METHOD("on_log", fleet_on_log, "Sets the callback for log lines."),
    {0}};

static struct fact facts[] = {
    {.yes = skiff_fleet_is_initialized},    {.yes = skiff_fleet_is_worker},
    {.yes = skiff_fleet_is_server},         {.yes = skiff_fleet_is_first_worker},
    {.number = skiff_fleet_worker_index},   {.number = skiff_fleet_server_index},
    {.number = skiff_fleet_worker_num},     {.number = skiff_fleet_server_num},
    {.text = skiff_fleet_server_endpoints}, {.text = skiff_fleet_worker_endpoints},
    {.text = skiff_fleet_warnings},         {.yes = skiff_fleet_is_working}};
#define FACT(name, i, doc)                                           \
    {                                                                \
        name, (getter)(void (*)(void))get_fact, NULL, doc, &facts[i] \
    }
static PyGetSetDef attributes[] = {
    FACT("is_initialized", 0, "Whether the role is known."),
    FACT("is_worker", 1, "Whether this is a worker."),
    FACT("is_server", 2, "Whether this is a server."),
    FACT("is_first_worker", 3, "Whether this is worker 0."),
    FACT("worker_index", 4, "Number of this worker."),
    FACT("server_index", 5, "Number of this server."),
    FACT("worker_num", 6, "How many workers there are."),
    FACT("server_num", 7, "How many servers there are."),
    FACT("server_endpoints", 8, "ip:port,ip:port"),
    FACT("worker_endpoints", 9, "ip:port,ip:port"),
    FACT("notes", 10, "What the user should know of the split."),
    FACT("is_working", 11, "In the job: joined, and not left."),
    ATTRIBUTE("main_program", get_main, NULL, "The program of the role, or None before split."),
    ATTRIBUTE("startup_program", get_startup, NULL, "Its startup program, or None."),
    ATTRIBUTE("tables", fleet_get_tables, NULL, "Names of its sparse tables."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, fleet_new},
                              {Py_tp_dealloc, fleet_dealloc},
                              {Py_tp_finalize, fleet_finalize},
                              {Py_tp_traverse, fleet_traverse},
                              {Py_tp_clear, fleet_clear},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "This process's part in a job: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Fleet", sizeof(struct fleet_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

bool fleet_init(PyObject *m)
{
    static PyTypeObject *fleet_class;
    return class_add(m, &spec, "Fleet", &fleet_class) && module_functions(m, functions);
}
