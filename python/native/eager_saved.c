/* Hooks of the tensors that ops save for backward (paddle.autograd.saved_tensors_hooks); which
 * gradients backward leaves. */
#include "native.h"

#include <stdlib.h>

struct packed {
    struct skiff_eager_packed base;
    PyObject *value, *unpack;
};

static void packed_end(struct skiff_eager_packed *base)
{
    struct packed *p = (struct packed *)base;
    PyGILState_STATE lock = PyGILState_Ensure();
    Py_XDECREF(p->value);
    Py_XDECREF(p->unpack);
    PyGILState_Release(lock);
    free(p);
}

static struct skiff_eager_tensor *packed_unpack(struct skiff_eager_packed *base,
                                                struct skiff_error *err)
{
    struct packed *p = (struct packed *)base;
    PyObject *got = PyObject_CallFunctionObjArgs(p->unpack, p->value, NULL);
    struct skiff_eager_tensor *t = got ? eager_of(got, "what an unpack hook returns") : NULL;
    if (t)
        skiff_eager_tensor_ref(t);
    else
        *err = (struct skiff_error){.code = SKIFF_STATE};
    Py_XDECREF(got);
    return t;
}

/* user: (pack, unpack) */
static struct skiff_eager_packed *pack(void *user, struct skiff_eager_tensor *t,
                                       struct skiff_error *err)
{
    PyObject *given = eager_wrap(skiff_eager_tensor_ref(t));
    PyObject *got =
        given ? PyObject_CallFunctionObjArgs(PyTuple_GetItem(user, 0), given, NULL) : NULL;
    struct packed *p = got ? calloc(1, sizeof(*p)) : NULL;
    Py_XDECREF(given);
    if (!p) {
        Py_XDECREF(got);
        *err = (struct skiff_error){.code = SKIFF_STATE};
        return NULL;
    }
    *p = (struct packed){{packed_unpack, packed_end}, got, PyTuple_GetItem(user, 1)};
    Py_INCREF(p->unpack);
    return &p->base;
}

/* eager_set_pack((pack, unpack) or None) -> what was set before */
static PyObject *eager_set_pack(PyObject *self, PyObject *hooks)
{
    struct skiff_eager_pack set = {0};
    if (hooks != Py_None) {
        if (!PyTuple_Check(hooks) || PyTuple_Size(hooks) != 2 ||
            !PyCallable_Check(PyTuple_GetItem(hooks, 0)) ||
            !PyCallable_Check(PyTuple_GetItem(hooks, 1))) {
            PyErr_SetString(PyExc_TypeError, "hooks of saved tensors must be two functions");
            return NULL;
        }
        Py_INCREF(hooks);
        set = (struct skiff_eager_pack){pack, hooks};
    }
    struct skiff_eager_pack before = skiff_eager_set_pack(eager_engine(), set);
    if (before.call)
        return before.user;
    Py_RETURN_NONE;
}

static PyObject *eager_set_generation(PyObject *self, PyObject *value)
{
    int64_t generation;
    if (!int_of(value, "the generation", &generation))
        return NULL;
    return PyLong_FromLong(skiff_eager_set_generation(eager_engine(), (int)generation));
}

static PyMethodDef functions[] = {
    METHOD1("eager_set_pack", eager_set_pack, "Hooks for what ops save; gives those before."),
    METHOD1("eager_set_generation", eager_set_generation, "Whose gradients; gives what it was."),
    {0}};

bool eager_saved_init(PyObject *m)
{
    return module_functions(m, functions);
}
