/* Run: a trained run that predicts (skiff/run.h); and init and infer on paths (skiff/prepare.h,
 * skiff/trainer.h). Calls release the interpreter lock; any number of threads may predict with one
 * Run. Columns are not copied: rows are put together in blocks, for C. */
#include <skiff/prepare.h>
#include <skiff/trainer.h>

#include "base/buf.h"
#include "frame.h"

#define BLOCK 512 /* rows that are put together at once */

struct run_object {
    PyObject_HEAD;
    struct skiff_run *r;
};

void log_to_stderr(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "skiff: %s\n", line);
}

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *path, *list = NULL;
    struct skiff_run_options o = {0};
    struct keep k = {0};
    struct skiff_error err = {0};
    int quiet = 1;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "O|zzOzp:Run",
            KEYWORDS("path", "header", "model", "options", "name", "quiet"), &path, &o.header,
            &o.model, &list, &o.name, &quiet))
        return NULL;
    const char **options;
    const char *from = path_of(&k, path, "path");
    struct run_object *self = NULL;
    if (from && names_of(&k, list, "options", &options, &o.noptions))
        self = (struct run_object *)class_alloc(type);
    if (self) {
        o.options = options;
        o.on_log = quiet ? NULL : log_to_stderr;
        Py_BEGIN_ALLOW_THREADS;
        self->r = skiff_run_open(from, &o, &err);
        Py_END_ALLOW_THREADS;
        if (!self->r) {
            raise_file_error(&err);
            Py_CLEAR(self);
        }
    }
    keep_end(&k);
    return (PyObject *)self;
}

static void run_dealloc(struct run_object *o)
{
    skiff_run_close(o->r);
    class_free((PyObject *)o);
}

static PyObject *get_columns(struct run_object *o, void *unused)
{
    int n = skiff_run_columns(o->r);
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *name = PyUnicode_FromString(skiff_run_column(o->r, i));
        if (!name || PyList_SetItem(list, i, name) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_model(struct run_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_run_model(o->r));
}

/* ---- columns ---- */

/* Which column of the table each one of the run is, -1: it is missing. */
static int *places_of(struct keep *k, const struct run_object *o, const struct data_frame *t)
{
    int n = skiff_run_columns(o->r);
    int *places = keep_alloc(k, (size_t)(n + 1) * sizeof *places);
    for (int i = 0; places && i < n; i++)
        places[i] = -1;
    for (int i = 0; places && i < t->n; i++) {
        int at = skiff_run_find_column(o->r, t->columns[i].name);
        if (at >= 0)
            places[at] = i;
    }
    return places;
}

static struct skiff_run_value value_of(const struct frame_column *c, int64_t row)
{
    if (c->numbers)
        return (struct skiff_run_value){.number = c->numbers[row]};
    if (c->codes[row] < 0)
        return (struct skiff_run_value){.text = ""};
    return (struct skiff_run_value){.text = c->texts[c->codes[row]],
                                    .size = c->sizes[c->codes[row]]};
}

static enum skiff_status predict_table(struct skiff_run *r, const struct data_frame *t,
                                       const int *places, struct skiff_run_value *block,
                                       double *out, struct skiff_error *err)
{
    int n = skiff_run_columns(r);
    for (int64_t first = 0; first < t->rows; first += BLOCK) {
        int64_t rows = t->rows - first < BLOCK ? t->rows - first : BLOCK;
        for (int64_t i = 0; i < rows; i++)
            for (int c = 0; c < n; c++)
                block[i * n + c] = places[c] < 0 ? (struct skiff_run_value){.text = ""}
                                                 : value_of(&t->columns[places[c]], first + i);
        enum skiff_status status = skiff_run_predict_values(r, block, rows, out + first, err);
        if (status < 0)
            return status;
    }
    return SKIFF_OK;
}

static PyObject *run_predict_columns(struct run_object *o, PyObject *list)
{
    struct keep k = {0};
    struct data_frame t;
    struct skiff_error err = {0};
    PyObject *result = NULL;
    size_t n = (size_t)skiff_run_columns(o->r);
    int *places = data_frame_of(&k, list, &t) ? places_of(&k, o, &t) : NULL;
    struct skiff_run_value *block = places ? keep_alloc(&k, (n + 1) * BLOCK * sizeof *block) : NULL;
    if (t.rows < 0)
        t.rows = 0;
    if (block)
        result = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(t.rows * 8));
    if (result) {
        double *out = (double *)PyByteArray_AsString(result);
        enum skiff_status status = UNLOCKED(predict_table(o->r, &t, places, block, out, &err));
        if (status < 0) {
            Py_CLEAR(result);
            raise_error(&err);
        }
    }
    keep_end(&k);
    return result;
}

/* ---- files ---- */

static enum skiff_status take_text(void *user, const char *text, size_t n, int64_t rows,
                                   struct skiff_error *err)
{
    (void)rows;
    (void)err;
    buf_add(user, text, n);
    return SKIFF_OK;
}

static PyObject *run_predict_files(struct run_object *o, PyObject *path)
{
    struct keep k = {0};
    struct skiff_error err = {0};
    struct buf text = BUF_INIT;
    PyObject *result = NULL;
    const char *from = path_of(&k, path, "path");
    if (from) {
        enum skiff_status status =
            UNLOCKED(skiff_run_predict_files(o->r, from, take_text, &text, &err));
        result = status < 0 ? raise_file_error(&err)
                            : PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.len);
    }
    buf_deinit(&text);
    keep_end(&k);
    return result;
}

static PyMethodDef methods[] = {
    METHOD1("predict_columns", run_predict_columns, "Probabilities of columns, as float64 bytes."),
    METHOD1("predict_files", run_predict_files, "A line of text for every row of files."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("columns", get_columns, NULL, "Names, in the order of the rows."),
    ATTRIBUTE("model", get_model, NULL, "Path of the loaded model."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, run_new},
                              {Py_tp_dealloc, run_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "A trained run, ready to predict: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Run", sizeof(struct run_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

/* ---- init and infer on paths ---- */

static PyObject *prepare(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *data, *out, *valid = NULL, *result = NULL;
    struct skiff_prepare_options o = {0};
    struct skiff_prepare_result r;
    struct skiff_error err = {0};
    struct keep k = {0};
    int no_valid = 0, no_test = 0, overwrite = 0;
    long long seed = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "OO|$zzzzzdLOpppz:prepare",
            KEYWORDS("data", "out", "label", "positive", "split", "time", "model", "share", "seed",
                     "valid", "no_valid", "no_test", "overwrite", "weight"),
            &data, &out, &o.label, &o.positive, &o.split, &o.time, &o.model, &o.share, &seed,
            &valid, &no_valid, &no_test, &overwrite, &o.weight))
        return NULL;
    o.data = path_of(&k, data, "data");
    o.out = o.data ? path_of(&k, out, "out") : NULL;
    bool good = o.out != NULL;
    if (good && valid && valid != Py_None)
        good = (o.valid = path_of(&k, valid, "valid")) != NULL;
    o.seed = seed;
    o.no_valid = no_valid;
    o.no_test = no_test;
    o.overwrite = overwrite;
    if (good) {
        enum skiff_status status = UNLOCKED(skiff_prepare(&o, &r, &err));
        result = status < 0 ? raise_file_error(&err)
                            : Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "train",
                                            (long long)r.train, "valid", (long long)r.valid, "test",
                                            (long long)r.test, "train_positive",
                                            (long long)r.train_positive, "valid_positive",
                                            (long long)r.valid_positive, "test_positive",
                                            (long long)r.test_positive, "bad", (long long)r.bad,
                                            "unlabelled", (long long)r.unlabelled);
    }
    keep_end(&k);
    return result;
}

static void add_epoch(void *user, const struct skiff_trainer_epoch *e)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *row = Py_BuildValue("{s:i,s:L,s:d,s:d,s:d,s:d,s:d}", "epoch", e->epoch, "samples",
                                  (long long)e->samples, "seconds", e->seconds, "loss", e->loss,
                                  "auc", e->auc, "log_loss", e->log_loss, "copc", e->copc);
    if (!row || PyList_Append(user, row) < 0)
        PyErr_Clear(); /* no memory: the list stays shorter */
    Py_XDECREF(row);
    PyGILState_Release(gil);
}

static PyObject *evaluate(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *config, *list = NULL, *result = NULL;
    struct skiff_trainer_config c = {.on_log = log_to_stderr};
    struct skiff_error err = {0};
    struct keep k = {0};
    const char **options;
    int quiet = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$zp:evaluate",
                                     KEYWORDS("config", "options", "name", "quiet"), &config, &list,
                                     &c.name, &quiet))
        return NULL;
    c.quiet = quiet;
    c.config = path_of(&k, config, "config");
    if (c.config && names_of(&k, list, "options", &options, &c.noptions))
        result = PyList_New(0);
    if (result) {
        c.options = options;
        enum skiff_status status = UNLOCKED(skiff_trainer_evaluate(&c, add_epoch, result, &err));
        if (status < 0) {
            Py_CLEAR(result);
            raise_file_error(&err);
        }
    }
    keep_end(&k);
    return result;
}

static PyMethodDef functions[] = {
    METHOD("prepare", prepare, "What `skiff init` does; the rows of each part as a dict."),
    METHOD("evaluate", evaluate, "What `skiff infer` does: a dict for each epoch."),
    {0}};

bool run_init(PyObject *m)
{
    static PyTypeObject *run_class;
    return class_add(m, &spec, "Run", &run_class) && module_functions(m, functions);
}
