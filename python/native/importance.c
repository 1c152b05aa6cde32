/* Importance of columns (skiff/importance.h), as `skiff importance` finds it. The call releases the
 * interpreter lock. */
#include <skiff/importance.h>

#include "native.h"

static PyObject *effect_of(const struct skiff_importance_effect *e)
{
    return Py_BuildValue("(ddd)", e->mean, e->low, e->high);
}

static PyObject *result_of(const struct skiff_importance *i)
{
    int n = skiff_importance_count(i);
    PyObject *columns = PyList_New(n);
    for (int k = 0; columns && k < n; k++) {
        const struct skiff_importance_column *c = skiff_importance_column(i, k);
        PyObject *row = Py_BuildValue("{s:s,s:N,s:N}", "column", c->name, "log_loss",
                                      effect_of(&c->log_loss), "auc", effect_of(&c->auc));
        if (!row || PyList_SetItem(columns, k, row) < 0)
            Py_CLEAR(columns);
    }
    return columns ? Py_BuildValue("{s:L,s:d,s:d,s:N}", "rows", (long long)skiff_importance_rows(i),
                                   "auc", skiff_importance_auc(i), "log_loss",
                                   skiff_importance_log_loss(i), "columns", columns)
                   : NULL;
}

static PyObject *importance(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *config, *list = NULL, *data = NULL, *result = NULL;
    struct skiff_importance_config c = {.on_log = log_to_stderr};
    struct skiff_importance *i = NULL;
    struct skiff_error err = {0};
    struct keep k = {0};
    const char **options;
    int quiet = 0, no_report = 0;
    long long rows = 0;
    unsigned long long seed = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$OLiKizpp:importance",
                                     KEYWORDS("config", "options", "data", "rows", "repeats",
                                              "seed", "threads", "name", "quiet", "no_report"),
                                     &config, &list, &data, &rows, &c.repeats, &seed, &c.threads,
                                     &c.name, &quiet, &no_report))
        return NULL;
    c.rows = rows;
    c.seed = seed;
    c.quiet = quiet;
    c.no_report = no_report;
    c.config = path_of(&k, config, "config");
    bool good = c.config && names_of(&k, list, "options", &options, &c.noptions);
    if (good && data && data != Py_None)
        good = (c.data = path_of(&k, data, "data")) != NULL;
    if (good) {
        c.options = options;
        Py_BEGIN_ALLOW_THREADS;
        i = skiff_importance_run(&c, &err);
        Py_END_ALLOW_THREADS;
        result = i ? result_of(i) : raise_file_error(&err);
    }
    skiff_importance_destroy(i);
    keep_end(&k);
    return result;
}

static PyMethodDef functions[] = {
    METHOD("importance", importance, "What `skiff importance` does: columns with their effects."),
    {0}};

bool importance_init(PyObject *m)
{
    return module_functions(m, functions);
}
