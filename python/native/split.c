/* Split: trainer and server programs (DistributeTranspiler).
 *
 * Configurations are dicts, whose keys are the fields of the C struct: one table reads and writes
 * them. The strings of a config are borrowed from its mapping for the time of the call. The
 * programs that a split returns are owned by their Program objects and outlive it. */
#include "native.h"

#include <stddef.h>
#include <string.h>

struct split_object {
    PyObject_HEAD;
    struct skiff_split *s;
};

/* ---- configurations as dicts ---- */

static const struct {
    const char *name;
    size_t offset;
    char kind; /* b: bool, i: int, l: int64_t, s: text */
} fields[] = {
#define FIELD(f, kind)                                   \
    {                                                    \
#f, offsetof(struct skiff_split_config, f), kind \
    }
    FIELD(slice_var_up, 'b'),
    FIELD(split_method, 's'),
    FIELD(min_block_size, 'l'),
    FIELD(enable_dc_asgd, 'b'),
    FIELD(mode, 's'),
    FIELD(print_log, 'b'),
    FIELD(wait_port, 'b'),
    FIELD(sync_mode, 'b'),
    FIELD(runtime_split_send_recv, 'b'),
    FIELD(half_async, 'b'),
    FIELD(completely_not_async, 'b'),
    FIELD(geo_sgd_mode, 'b'),
    FIELD(geo_sgd_need_push_nums, 'i'),
    FIELD(rpc_send_thread_num, 'i'),
    FIELD(rpc_get_thread_num, 'i'),
    FIELD(rpc_prefetch_thread_num, 'i'),
#undef FIELD
};
enum { NFIELDS = sizeof(fields) / sizeof(fields[0]) };

static PyObject *config_dict(const struct skiff_split_config *c)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < NFIELDS; i++) {
        const void *at = (const char *)c + fields[i].offset;
        PyObject *v = fields[i].kind == 'b'   ? PyBool_FromLong(*(const bool *)at)
                      : fields[i].kind == 'i' ? PyLong_FromLong(*(const int *)at)
                      : fields[i].kind == 'l' ? PyLong_FromLongLong(*(const int64_t *)at)
                                              : PyUnicode_FromString(*(const char *const *)at);
        if (!v || PyDict_SetItemString(dict, fields[i].name, v) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(v);
    }
    return dict;
}

static bool config_field(struct skiff_split_config *c, const char *name, PyObject *value)
{
    int64_t number;
    for (int i = 0; i < NFIELDS; i++) {
        void *at = (char *)c + fields[i].offset;
        if (strcmp(fields[i].name, name))
            continue;
        if (value == Py_None) {
            PyErr_Format(PyExc_ValueError, "%s can not be None", name);
            return false;
        }
        if (fields[i].kind == 'b')
            return truth_of(value, name, at);
        if (fields[i].kind == 's')
            return (*(const char **)at = text_of(value, name)) != NULL;
        if (!int_of(value, name, &number))
            return false;
        if (fields[i].kind == 'l')
            *(int64_t *)at = number;
        else
            *(int *)at = (int)number;
        return true;
    }
    PyErr_Format(PyExc_TypeError, "the configuration of a split has no field %s", name);
    return false;
}

/* Strings are borrowed from the mapping, which must stay. */
static bool config_of(PyObject *mapping, struct skiff_split_config *c)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    *c = skiff_split_config_default();
    if (!mapping || mapping == Py_None)
        return true;
    if (!PyDict_Check(mapping)) {
        PyErr_SetString(PyExc_TypeError, "config must be a dict");
        return false;
    }
    while (PyDict_Next(mapping, &at, &key, &value)) {
        const char *name = text_of(key, "a field of config");
        if (!name || !config_field(c, name, value))
            return false;
    }
    if (c->sync_mode && c->runtime_split_send_recv) { /* Paddle's setters refuse it: so its text */
        struct skiff_error err;
        struct skiff_split_config probe = *c;
        probe.sync_mode = true;
        probe.runtime_split_send_recv = false;
        if (skiff_split_config_set_runtime_split_send_recv(&probe, true, &err) < 0) {
            raise_error(&err);
            return false;
        }
    }
    return true;
}

static PyObject *split_config_default_f(PyObject *self, PyObject *unused)
{
    struct skiff_split_config c = skiff_split_config_default();
    return config_dict(&c);
}

/* The only argument, `mode`, by its name. */
static bool mode_of(PyObject *args, PyObject *keywords, enum skiff_split_mode *out)
{
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("mode"), &name))
        return false;
    if (skiff_mode_find(name, out))
        return true;
    PyErr_Format(PyExc_ValueError, "mode is %s; expected %s", name, skiff_mode_names());
    return false;
}

static PyObject *split_config_fleet_f(PyObject *self, PyObject *args, PyObject *keywords)
{
    enum skiff_split_mode mode;
    if (!mode_of(args, keywords, &mode))
        return NULL;
    struct skiff_split_config c = skiff_split_config_fleet(mode);
    return config_dict(&c);
}

static PyObject *mode_joins_threads_f(PyObject *self, PyObject *args, PyObject *keywords)
{
    enum skiff_split_mode mode;
    if (!mode_of(args, keywords, &mode))
        return NULL;
    return PyBool_FromLong(skiff_mode_flags(mode) & SKIFF_MODE_MEETS);
}

/* ---- the class ---- */

static PyObject *split_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *main, *startup, *config = NULL;
    int trainer_id, trainers, sync_mode = 1;
    const char *pservers;
    struct skiff_split_config c;
    struct skiff_split *s;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!isi|pO",
                                     KEYWORDS("main", "startup", "trainer_id", "pservers",
                                              "trainers", "sync_mode", "config"),
                                     base_class[CLASS_PROGRAM], &main, base_class[CLASS_PROGRAM],
                                     &startup, &trainer_id, &pservers, &trainers, &sync_mode,
                                     &config) ||
        !config_of(config, &c))
        return NULL;
    struct skiff_split_job job = {.main = ((struct program_object *)main)->p,
                                  .startup = ((struct program_object *)startup)->p,
                                  .trainer_id = trainer_id,
                                  .pservers = pservers,
                                  .trainers = trainers,
                                  .sync_mode = sync_mode};
    if (skiff_split_create(&job, &c, &s, &err) < 0)
        return raise_error(&err);
    struct split_object *o = (struct split_object *)class_alloc(type);
    if (o)
        o->s = s;
    else
        skiff_split_destroy(s);
    return (PyObject *)o;
}

static void split_dealloc(struct split_object *o)
{
    skiff_split_destroy(o->s);
    class_free((PyObject *)o);
}

static PyObject *pair_of(struct skiff_program *main, struct skiff_program *startup)
{
    PyObject *a = program_wrap(main, NULL), *b = program_wrap(startup, NULL);
    PyObject *pair = a && b ? PyTuple_Pack(2, a, b) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return pair;
}

static PyObject *split_trainer(struct split_object *o, PyObject *unused)
{
    struct skiff_program *main, *startup;
    struct skiff_error err;
    if (skiff_split_trainer(o->s, &main, &startup, &err) < 0)
        return raise_error(&err);
    return pair_of(main, startup);
}

static PyObject *split_server(struct split_object *o, PyObject *args, PyObject *keywords)
{
    const char *endpoint;
    struct skiff_program *main, *startup;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("endpoint"), &endpoint))
        return NULL;
    if (skiff_split_server(o->s, endpoint, &main, &startup, &err) < 0)
        return raise_error(&err);
    return pair_of(main, startup);
}

static PyObject *get_endpoints(struct split_object *o, void *unused)
{
    int n;
    const char *const *names = skiff_split_endpoints(o->s, &n);
    return names_list(names, n);
}

static PyObject *get_tables(struct split_object *o, void *unused)
{
    int n;
    const char *const *names = skiff_split_tables(o->s, &n);
    return names_list(names, n);
}

static PyObject *get_mode(struct split_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_mode_name(skiff_split_mode_of(o->s)));
}

static PyObject *get_notes(struct split_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_split_warnings(o->s));
}

static PyObject *placement_dict(const struct skiff_placement *p)
{
    PyObject *shape = dims_tuple(p->ndim, p->dims);
    if (!shape)
        return NULL;
    return Py_BuildValue("{s:s,s:s,s:s,s:O,s:O,s:i,s:L,s:L,s:N,s:s,s:i}", "slice", p->slice,
                         "origin", p->origin, "kind", p->kind, "is_slice",
                         p->is_slice ? Py_True : Py_False, "sparse", p->sparse ? Py_True : Py_False,
                         "block", p->block, "offset", (long long)p->offset, "first_row",
                         (long long)p->first_row, "shape", shape, "endpoint", p->endpoint, "server",
                         p->server);
}

static PyObject *split_placement(struct split_object *o, PyObject *unused)
{
    int n = skiff_split_placements(o->s);
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        struct skiff_placement p = skiff_split_placement(o->s, i);
        PyObject *d = placement_dict(&p);
        if (!d || PyList_SetItem(list, i, d) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef functions[] = {
    METHOD0("split_config_default", split_config_default_f,
            "DistributeTranspilerConfig as a dict."),
    METHOD("split_config_fleet", split_config_fleet_f, "What fleet's strategies set."),
    METHOD("mode_joins_threads", mode_joins_threads_f,
           "Do threads of a trainer wait for each other in every step?"),
    {0}};

static PyMethodDef methods[] = {
    METHOD0("trainer", split_trainer, "(main, startup) of a trainer."),
    METHOD("server", split_server, "(main, startup) of a server."),
    METHOD0("placement", split_placement, "Where each slice of each variable lives."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("endpoints", get_endpoints, NULL, "The servers."),
    ATTRIBUTE("tables", get_tables, NULL, "Distributed tables."),
    ATTRIBUTE("mode", get_mode, NULL, "What servers do: a name of <skiff/mode_list.h>."),
    ATTRIBUTE("notes", get_notes, NULL, "What the user should know, one line each."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, split_new},
                              {Py_tp_dealloc, split_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "Trainer and server programs: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Split", sizeof(struct split_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

bool split_init(PyObject *m)
{
    static PyTypeObject *split_class;
    return class_add(m, &spec, "Split", &split_class) && module_functions(m, functions);
}
