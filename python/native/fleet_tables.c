/* Sparse tables of a Fleet: settings, saves, loads, shrinks.
 *
 * Settings are pairs of a table's name and lines in Paddle's words; C reads and checks them
 * (table/table_config.h). Calls go to all servers and may take minutes; they release the
 * interpreter lock. */
#include "native.h"

#include <skiff/fleet.h>

/* ---- settings: pairs of a table's name and its lines ---- */

static bool pair_of(PyObject *pair, struct skiff_table_settings *out)
{
    PyObject *name = PySequence_GetItem(pair, 0), *lines = PySequence_GetItem(pair, 1);
    bool ok = name && lines && (out->table = text_of(name, "the name of a table")) &&
              (out->settings = text_of(lines, "settings of a table"));
    Py_XDECREF(name); /* the pair keeps them */
    Py_XDECREF(lines);
    return ok;
}

bool fleet_tables_of(struct keep *k, PyObject *o, struct skiff_strategy *s)
{
    PyObject *list = PySequence_List(o);
    if (!keep_object(k, list))
        return false;
    Py_ssize_t n = PyList_Size(list);
    struct skiff_table_settings *t = keep_alloc(k, (size_t)(n + 1) * sizeof *t);
    bool ok = t != NULL;
    for (Py_ssize_t i = 0; i < n && ok; i++) {
        ok = PyTuple_Check(PyList_GetItem(list, i)) && PyTuple_Size(PyList_GetItem(list, i)) == 2;
        if (!ok)
            PyErr_SetString(PyExc_TypeError, "tables must be a list of (name, settings)");
        else
            ok = pair_of(PyList_GetItem(list, i), &t[i]);
    }
    s->tables = t;
    s->ntables = (int)n;
    return ok;
}

/* ---- calls on servers ---- */

PyObject *fleet_flush(struct fleet_object *o, PyObject *unused)
{
    struct skiff_error err;
    enum skiff_status status = UNLOCKED(skiff_fleet_flush(o->f, &err));
    return fleet_finish(status, &err);
}

PyObject *fleet_revert(struct fleet_object *o, PyObject *unused)
{
    struct skiff_error err;
    enum skiff_status status = UNLOCKED(skiff_fleet_revert(o->f, &err));
    return fleet_finish(status, &err);
}

/* (dirname, mode, table), table -1: all of them */
static bool files_of(PyObject *args, PyObject *keywords, struct keep *k, const char **dir,
                     int *mode, int *table)
{
    PyObject *path;
    *mode = 0;
    *table = -1;
    return PyArg_ParseTupleAndKeywords(args, keywords, "O|ii", KEYWORDS("dirname", "mode", "table"),
                                       &path, mode, table) &&
           (*dir = path_of(k, path, "dirname")) != NULL;
}

static PyObject *answer(bool asked, enum skiff_status status, const struct skiff_error *err,
                        struct keep *k)
{
    PyObject *result = asked ? fleet_finish(status, err) : NULL;
    keep_end(k);
    return result;
}

/* dense: of a save of all, dense parameters, too. */
PyObject *fleet_save_tables(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    struct keep k = {0};
    PyObject *path;
    const char *dir = NULL;
    int mode = 0, table = -1, dense = 1;
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    bool ok = PyArg_ParseTupleAndKeywords(args, keywords, "O|iip",
                                          KEYWORDS("dirname", "mode", "table", "dense"), &path,
                                          &mode, &table, &dense) &&
              (dir = path_of(&k, path, "dirname")) != NULL;
    if (ok)
        status =
            UNLOCKED(table == -1 && dense ? skiff_fleet_save_model(o->f, dir, mode, &err)
                                          : skiff_fleet_save_table(o->f, table, dir, mode, &err));
    return answer(ok, status, &err, &k);
}

/* scope: the source of dense parameters, instead of files. */
PyObject *fleet_load_tables(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    struct keep k = {0};
    PyObject *path, *scope = NULL;
    const char *dir = NULL;
    int mode = 0, table = -1;
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    bool ok = PyArg_ParseTupleAndKeywords(args, keywords, "O|iiO!",
                                          KEYWORDS("dirname", "mode", "table", "scope"), &path,
                                          &mode, &table, base_class[CLASS_SCOPE], &scope) &&
              (dir = path_of(&k, path, "dirname")) != NULL;
    struct skiff_scope *dense = scope ? ((struct scope_object *)scope)->s : NULL;
    if (ok)
        status = UNLOCKED(dense       ? skiff_fleet_load_features(o->f, dir, mode, dense, &err)
                          : table < 0 ? skiff_fleet_load_model(o->f, dir, mode, &err)
                                      : skiff_fleet_load_table(o->f, table, dir, mode, &err));
    return answer(ok, status, &err, &k);
}

PyObject *fleet_save_cache(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    struct keep k = {0};
    const char *dir;
    int mode, table;
    int64_t rows = 0;
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    bool ok = files_of(args, keywords, &k, &dir, &mode, &table);
    if (ok)
        status =
            UNLOCKED(skiff_fleet_save_cache(o->f, table < 0 ? 0 : table, dir, mode, &rows, &err));
    keep_end(&k);
    if (!ok)
        return NULL;
    return status < 0 ? raise_file_error(&err) : PyLong_FromLongLong(rows);
}

/* (dirname): saves to it until end_save are one. */
PyObject *fleet_begin_save(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    struct keep k = {0};
    PyObject *path;
    const char *dir = NULL;
    struct skiff_error err;
    enum skiff_status status = SKIFF_OK;
    bool ok = PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("dirname"), &path) &&
              (dir = path_of(&k, path, "dirname")) != NULL;
    if (ok)
        status = UNLOCKED(skiff_fleet_begin_save(o->f, dir, &err));
    return answer(ok, status, &err, &k);
}

PyObject *fleet_end_save(struct fleet_object *o, PyObject *unused)
{
    skiff_fleet_end_save(o->f);
    Py_RETURN_NONE;
}

PyObject *fleet_shrink(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    int table = -1;
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i", KEYWORDS("table"), &table))
        return NULL;
    status = UNLOCKED(skiff_fleet_shrink(o->f, table, &err));
    return fleet_finish(status, &err);
}

/* ---- dense parameters ---- */

static PyObject *move_dense(struct fleet_object *o, PyObject *args, PyObject *keywords,
                            enum skiff_status (*move)(struct skiff_fleet *, struct skiff_scope *,
                                                      struct skiff_error *))
{
    PyObject *scope;
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!", KEYWORDS("scope"),
                                     base_class[CLASS_SCOPE], &scope))
        return NULL;
    status = UNLOCKED(move(o->f, ((struct scope_object *)scope)->s, &err));
    return fleet_finish(status, &err);
}

PyObject *fleet_pull_dense(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    return move_dense(o, args, keywords, skiff_fleet_pull_dense);
}

PyObject *fleet_push_dense(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    return move_dense(o, args, keywords, skiff_fleet_push_dense);
}

/* ---- what there is ---- */

PyObject *fleet_get_tables(struct fleet_object *o, void *unused)
{
    int n = skiff_fleet_tables(o->f);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        PyObject *name = PyUnicode_FromString(skiff_fleet_table_name(o->f, i));
        if (!name || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

PyObject *fleet_table_state(struct fleet_object *o, PyObject *args, PyObject *keywords)
{
    int table = 0;
    struct skiff_table_state s;
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i", KEYWORDS("table"), &table))
        return NULL;
    status = UNLOCKED(skiff_fleet_table_state(o->f, table, &s, &err));
    if (status < 0)
        return raise_error(&err);
#define N(field) #field, (unsigned long long)s.field
    return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsKsKsKsKsKsK}", N(rows), N(bytes), N(admitted),
                         N(refused), N(expired), N(evicted), N(hits), N(misses), N(disk_rows),
                         N(disk_bytes), N(written_bytes), N(limit), N(waiting), N(fetched),
                         N(written_rows));
#undef N
}
