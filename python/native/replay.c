/* Replay: a program whose ops run in eager mode, one after the other (skiff/eager.h). */
#include "native.h"

#include <stdlib.h>

struct replay_object {
    PyObject_HEAD;
    struct skiff_eager_replay *r;
    int nins, nouts;
};

/* Replay(program, inputs, outputs): names */
static PyObject *replay_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *program, *in, *out;
    const char **ins = NULL, **outs = NULL;
    struct keep k = {0};
    struct skiff_error err;
    int nins = 0, nouts = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!OO",
                                     KEYWORDS("program", "inputs", "outputs"),
                                     base_class[CLASS_PROGRAM], &program, &in, &out))
        return NULL;
    bool ok = names_of(&k, in, "the inputs", &ins, &nins) &&
              names_of(&k, out, "the outputs", &outs, &nouts);
    struct replay_object *o = ok ? (struct replay_object *)class_alloc(type) : NULL;
    if (o) {
        o->nins = nins;
        o->nouts = nouts;
        if (skiff_eager_replay_create(eager_engine(), ((struct program_object *)program)->p, nins,
                                      ins, nouts, outs, &o->r, &err) < 0) {
            raise_error(&err);
            Py_CLEAR(o);
        }
    }
    keep_end(&k);
    return (PyObject *)o;
}

static void replay_dealloc(struct replay_object *o)
{
    skiff_eager_replay_destroy(o->r);
    class_free((PyObject *)o);
}

static PyObject *replay_run(struct replay_object *o, PyObject *tensors)
{
    struct keep k = {0};
    struct skiff_error err;
    int n = 0;
    PyObject *result = NULL;
    struct skiff_eager_tensor **ins = eager_list(&k, tensors, "an input", &n);
    struct skiff_eager_tensor **outs =
        ins ? keep_alloc(&k, (size_t)(o->nouts + 1) * sizeof(*outs)) : NULL;
    for (int i = 0; outs && i < n; i++)
        if (!ins[i])
            n = -1;
    if (outs && n != o->nins)
        PyErr_Format(PyExc_ValueError, "the program takes %d tensors, and no None", o->nins);
    else if (outs && skiff_eager_replay_run(o->r, ins, outs, &err) < 0)
        raise_error(&err);
    else if (outs)
        result = eager_wrap_list(outs, o->nouts);
    keep_end(&k);
    return result;
}

static PyMethodDef methods[] = {{"run", (PyCFunction)(void (*)(void))replay_run, METH_O,
                                 PyDoc_STR("run(tensors of the inputs) -> tensors of the outputs")},
                                {0}};
static PyType_Slot slots[] = {{Py_tp_new, replay_new},
                              {Py_tp_dealloc, replay_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "A program that runs in eager mode: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Replay", sizeof(struct replay_object), 0,
                           Py_TPFLAGS_DEFAULT, slots};

bool replay_init(PyObject *m)
{
    static PyTypeObject *replay_class;
    return class_add(m, &spec, "Replay", &replay_class);
}
