/* Predictor: a saved model that is ready to run (skiff/predict.h). Runs release the interpreter
 * lock; any number of threads may run one predictor. Inputs borrow the memory of arrays for the
 * time of a run, results are new tensors. */
#include "native.h"

struct predictor_object {
    PyObject_HEAD;
    struct skiff_predictor *p;
    struct skiff_thread_pool *pool; /* its own; or NULL: one thread */
    PyObject *program;              /* a copy, to be looked at */
};

static PyObject *predictor_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *object;
    int threads = 1;
    struct skiff_model_files files = {0};
    struct skiff_predictor_options options = {.host = &python_host};
    struct keep k = {0};
    struct skiff_error err = {0};
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "O|zzi",
            KEYWORDS("path", "model_filename", "params_filename", "threads"), &object, &files.model,
            &files.params, &threads))
        return NULL;
    const char *path = path_of(&k, object, "path");
    struct predictor_object *o = path ? (struct predictor_object *)class_alloc(type) : NULL;
    if (o && threads > 1)
        options.thread_pool = o->pool = skiff_thread_pool_create(threads);
    if (o) {
        Py_BEGIN_ALLOW_THREADS;
        o->p = skiff_predictor_create(path, &files, &options, &err);
        Py_END_ALLOW_THREADS;
        if (!o->p)
            raise_file_error(&err);
        else
            o->program = program_wrap(skiff_program_clone(skiff_predictor_program(o->p)), NULL);
        if (!o->program)
            Py_CLEAR(o);
    }
    keep_end(&k);
    return (PyObject *)o;
}

static void predictor_dealloc(struct predictor_object *o)
{
    skiff_predictor_destroy(o->p);
    skiff_thread_pool_destroy(o->pool);
    Py_CLEAR(o->program);
    class_free((PyObject *)o);
}

static PyObject *names(const struct skiff_predictor *p, int n,
                       const char *(*name)(const struct skiff_predictor *p, int i))
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *s = PyUnicode_FromString(name(p, i));
        if (!s || PyList_SetItem(list, i, s) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_inputs(struct predictor_object *o, void *unused)
{
    return names(o->p, skiff_predictor_inputs(o->p), skiff_predictor_input);
}

static PyObject *get_outputs(struct predictor_object *o, void *unused)
{
    return names(o->p, skiff_predictor_outputs(o->p), skiff_predictor_output);
}

static PyObject *get_program(struct predictor_object *o, void *unused)
{
    Py_INCREF(o->program);
    return o->program;
}

/* Values in the order of the inputs; spares: tensors that borrow arrays. */
static bool inputs_take(struct keep *k, const struct skiff_predictor *p, PyObject *values,
                        const struct skiff_tensor **inputs, struct skiff_tensor **spares)
{
    int n = skiff_predictor_inputs(p);
    if (!PyList_Check(values) || PyList_Size(values) != n) {
        PyErr_Format(PyExc_ValueError, "inputs must be a list of %d values", n);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (!(inputs[i] = feed_of(k, PyList_GetItem(values, i), skiff_predictor_input(p, i), NULL,
                                  &spares[i])))
            return false;
    return true;
}

/* Takes the tensors over. */
static PyObject *outputs_list(struct skiff_tensor **outputs, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *o = tensor_wrap(outputs[i]);
        outputs[i] = NULL;
        if (!o || PyList_SetItem(list, i, o) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *predictor_run(struct predictor_object *o, PyObject *values)
{
    int n = skiff_predictor_inputs(o->p), m = skiff_predictor_outputs(o->p);
    struct keep k = {0};
    struct skiff_error err = {0};
    PyObject *result = NULL;
    const struct skiff_tensor **inputs = keep_alloc(&k, (size_t)(n + 1) * sizeof(*inputs));
    struct skiff_tensor **spares = keep_alloc(&k, (size_t)(n + 1) * sizeof(*spares));
    struct skiff_tensor **outputs = keep_alloc(&k, (size_t)(m + 1) * sizeof(*outputs));
    if (inputs && spares && outputs && inputs_take(&k, o->p, values, inputs, spares)) {
        enum skiff_status status = UNLOCKED(skiff_predictor_run(o->p, inputs, outputs, &err));
        result = status < 0 ? raise_error(&err) : outputs_list(outputs, m);
    }
    for (int i = 0; spares && i < n; i++)
        skiff_tensor_destroy(spares[i]);
    for (int i = 0; outputs && i < m; i++)
        skiff_tensor_destroy(outputs[i]);
    keep_end(&k);
    return result;
}

static PyMethodDef methods[] = {
    METHOD1("run", predictor_run, "Results of inputs, both lists of Tensors."), {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("inputs", get_inputs, NULL, "Names, in the order that run takes."),
    ATTRIBUTE("outputs", get_outputs, NULL, "Names, in the order that run gives."),
    ATTRIBUTE("program", get_program, NULL, "A copy of the model's program."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, predictor_new},
                              {Py_tp_dealloc, predictor_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "A saved model, ready to run: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Predictor", sizeof(struct predictor_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

bool predictor_init(PyObject *m)
{
    static PyTypeObject *predictor_class;
    return class_add(m, &spec, "Predictor", &predictor_class);
}
