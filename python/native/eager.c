/* EagerTensor and the calls that run ops at once. One engine serves the process; the interpreter
 * lock guards it.
 *
 * An EagerTensor owns a reference to the C tensor, which the tape may keep longer. Tape nodes whose
 * backward is Python's, and hooks of gradients, are callbacks of the engine; their exceptions end
 * backward and are raised unchanged. Ops are called in C; paddle/ adds names only. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

static struct skiff_eager *engine;

struct skiff_eager *eager_engine(void)
{
    return engine;
}

/* ---- objects ---- */

PyObject *eager_wrap(struct skiff_eager_tensor *t)
{
    PyObject *known = skiff_eager_user(t);
    if (known) {
        Py_INCREF(known);
        skiff_eager_tensor_unref(t);
        return known;
    }
    struct eager_object *o = (struct eager_object *)class_alloc(made_class[CLASS_EAGER]);
    if (!o) {
        skiff_eager_tensor_unref(t);
        return NULL;
    }
    o->t = t;
    skiff_eager_set_user(t, o);
    return (PyObject *)o;
}

static PyObject *eager_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct eager_object *o = (struct eager_object *)class_alloc(type);
    if (o) {
        o->t = skiff_eager_tensor_create(engine);
        skiff_eager_set_user(o->t, o);
    }
    return (PyObject *)o;
}

static int eager_start(struct eager_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *value = NULL;
    const char *dtype = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|Oz", KEYWORDS("array", "dtype"), &value,
                                     &dtype))
        return -1;
    if (value && value != Py_None && !tensor_assign(skiff_eager_value(o->t), value, dtype))
        return -1;
    return 0;
}

static void eager_dealloc(struct eager_object *o)
{
    if (o->t) {
        skiff_eager_set_user(o->t, NULL);
        skiff_eager_tensor_unref(o->t);
    }
    class_free((PyObject *)o);
}

struct skiff_eager_tensor *eager_of(PyObject *o, const char *what)
{
    if (PyObject_TypeCheck(o, base_class[CLASS_EAGER]))
        return ((struct eager_object *)o)->t;
    PyErr_Format(PyExc_TypeError, "%s must be a Tensor, but received %R", what, Py_TYPE(o));
    return NULL;
}

/* ---- arguments of ops ---- */

enum { MOST_SLOTS = 32, MOST_ATTRS = 64, FEW = 64 };

struct op_args {
    struct skiff_op_arg slots[MOST_SLOTS];
    int n;
    struct skiff_eager_tensor *few[FEW]; /* room for the tensors of all slots */
    int used;
};

/* A slot's tensors: a Tensor, None, or a list of both. */
static bool put_tensors(struct keep *k, struct op_args *a, const char *slot, PyObject *value)
{
    bool list = PyList_Check(value) || PyTuple_Check(value);
    Py_ssize_t n = list ? PySequence_Size(value) : 1;
    struct skiff_eager_tensor **to = a->few + a->used;
    if (a->n == MOST_SLOTS) {
        PyErr_Format(PyExc_ValueError, "an op has at most %d slots", MOST_SLOTS);
        return false;
    }
    if (a->used + n > FEW)
        to = keep_alloc(k, (size_t)(n + 1) * sizeof(struct skiff_eager_tensor *));
    else
        a->used += (int)n;
    for (Py_ssize_t i = 0; to && i < n; i++) {
        PyObject *item = !list                 ? value
                         : PyList_Check(value) ? PyList_GetItem(value, i)
                                               : PyTuple_GetItem(value, i);
        to[i] = item == Py_None ? NULL : eager_of(item, slot);
        if (!to[i] && item != Py_None)
            return false;
    }
    if (to && (list || to[0]))
        a->slots[a->n++] = (struct skiff_op_arg){slot, (int)n, to};
    return to != NULL;
}

static bool put_slots(struct keep *k, struct op_args *a, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    a->n = a->used = 0;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "inputs and outputs of an op must be dicts");
        return false;
    }
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *slot = text_of(key, "a slot");
        if (!slot || !put_tensors(k, a, slot, value))
            return false;
    }
    return true;
}

/* Attributes that the op does not declare are left out, as in programs. */
static bool put_attrs(struct keep *k, const char *type, PyObject *dict, struct skiff_op_setting *to,
                      int *n)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    *n = 0;
    while (dict && dict != Py_None && PyDict_Next(dict, &at, &key, &value)) {
        enum skiff_attr_type wanted;
        const char *name = text_of(key, "an attribute");
        if (!name)
            return false;
        if (value == Py_None || !skiff_eager_attr_type(type, name, &wanted))
            continue;
        if (*n == MOST_ATTRS) {
            PyErr_Format(PyExc_ValueError, "an op has at most %d attributes", MOST_ATTRS);
            return false;
        }
        if (!attr_of(k, value, name, (int)wanted, &to[*n].value))
            return false;
        to[(*n)++].name = name;
    }
    return true;
}

/* Paddle's classes: two types where one is wanted are a wrong value, a type that no kernel takes is
 * a RuntimeError. */
static void raise_op_error(const struct op_args *ins, struct skiff_error *err)
{
    const char *first = NULL;
    if (PyErr_Occurred()) /* of a hook */
        return;
    if (err->code == SKIFF_DTYPE) {
        err->code = SKIFF_STATE;
        for (int i = 0; i < ins->n; i++)
            for (int j = 0; j < ins->slots[i].n; j++) {
                struct skiff_eager_tensor *t = ins->slots[i].tensors[j];
                const char *dtype = t ? skiff_tensor_dtype(skiff_eager_form(t)) : first;
                if (first && strcmp(first, dtype))
                    err->code = SKIFF_INVALID;
                first = dtype;
            }
    }
    raise_error(err);
}

static bool run_op(const char *type, const struct op_args *ins, const struct op_args *outs,
                   const struct skiff_op_setting *attrs, int nattrs)
{
    struct skiff_error err;
    struct skiff_op_call call = {type, ins->slots, outs->slots, ins->n, outs->n, attrs, nattrs};
    if (skiff_eager_op(engine, &call, &err) < 0) {
        raise_op_error(ins, &err);
        return false;
    }
    return true;
}

/* eager_op(type, inputs, outputs, attrs=None) */
static PyObject *eager_op(PyObject *self, PyObject *args)
{
    const char *type;
    PyObject *in, *out, *attr = NULL;
    struct op_args ins, outs;
    struct skiff_op_setting attrs[MOST_ATTRS];
    struct keep k = {0};
    int nattrs;
    if (!PyArg_ParseTuple(args, "sOO|O", &type, &in, &out, &attr))
        return NULL;
    bool ok = put_slots(&k, &ins, in) && put_slots(&k, &outs, out) &&
              put_attrs(&k, type, attr, attrs, &nattrs) && run_op(type, &ins, &outs, attrs, nattrs);
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

/* eager_one(type, inputs, attrs=None, slot="Out") -> Tensor */
static PyObject *eager_one(PyObject *self, PyObject *args)
{
    const char *type, *slot = "Out";
    PyObject *in, *attr = NULL;
    struct op_args ins, outs;
    struct skiff_op_setting attrs[MOST_ATTRS];
    struct keep k = {0};
    int nattrs;
    if (!PyArg_ParseTuple(args, "sO|Os", &type, &in, &attr, &slot))
        return NULL;
    struct skiff_eager_tensor *made = skiff_eager_tensor_create(engine);
    outs.n = 1;
    outs.slots[0] = (struct skiff_op_arg){slot, 1, &made};
    bool ok = put_slots(&k, &ins, in) && put_attrs(&k, type, attr, attrs, &nattrs) &&
              run_op(type, &ins, &outs, attrs, nattrs);
    keep_end(&k);
    if (ok)
        return eager_wrap(made);
    skiff_eager_tensor_unref(made);
    return NULL;
}

/* ---- gradients ---- */

/* A list of Tensors and Nones; NULL with an exception. */
struct skiff_eager_tensor **eager_list(struct keep *k, PyObject *o, const char *what, int *n)
{
    PyObject *list = PySequence_List(o);
    if (!keep_object(k, list))
        return NULL;
    *n = (int)PyList_Size(list);
    struct skiff_eager_tensor **to = keep_alloc(k, (size_t)(*n + 1) * sizeof(*to));
    for (int i = 0; to && i < *n; i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (item != Py_None && !(to[i] = eager_of(item, what)))
            return NULL;
    }
    return to;
}

PyObject *eager_wrap_list(struct skiff_eager_tensor **t, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; i < n; i++) {
        PyObject *item = t[i] ? eager_wrap(t[i]) : Py_None;
        if (!t[i])
            Py_INCREF(item);
        if (!list || !item || PyList_SetItem(list, i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* An exception of a Python hook or backward propagates unchanged. */
static PyObject *raise_unless_raised(const struct skiff_error *err)
{
    if (PyErr_Occurred())
        return NULL;
    if (strstr(err->message, "through the same graph a second time")) { /* Paddle's class */
        PyErr_SetString(PyExc_SystemError, err->message);
        return NULL;
    }
    return raise_error(err);
}

static PyObject *eager_backward(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *tensors, *grads = Py_None;
    int retain = 0, n, ngrads = 0;
    struct keep k = {0};
    struct skiff_error err;
    struct skiff_eager_tensor **g = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|Op",
                                     KEYWORDS("tensors", "grad_tensors", "retain_graph"), &tensors,
                                     &grads, &retain))
        return NULL;
    struct skiff_eager_tensor **t = eager_list(&k, tensors, "a tensor", &n);
    bool ok = t && (grads == Py_None || (g = eager_list(&k, grads, "a gradient", &ngrads)));
    if (ok && g && ngrads != n) {
        PyErr_Format(PyExc_ValueError, "%d tensors, but %d gradients", n, ngrads);
        ok = false;
    }
    bool watched = ok && collective_watch();
    bool failed = ok && skiff_eager_backward(engine, n, t, g, retain, &err) < 0;
    bool raised = watched && collective_unwatch();
    if (failed && !raised)
        raise_unless_raised(&err);
    ok = ok && !failed && !raised;
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *eager_grad(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *outputs, *inputs, *weights = Py_None, *no_grad = Py_None, *result = NULL;
    int retain = 0, create = 0, unused = 0, n, m, nweights;
    struct keep k = {0};
    struct skiff_error err;
    struct skiff_eager_grad_options o = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OpppO",
                                     KEYWORDS("outputs", "inputs", "grad_outputs", "retain_graph",
                                              "create_graph", "allow_unused", "no_grad_vars"),
                                     &outputs, &inputs, &weights, &retain, &create, &unused,
                                     &no_grad))
        return NULL;
    struct skiff_eager_tensor **from = eager_list(&k, outputs, "an output", &n);
    struct skiff_eager_tensor **to = from ? eager_list(&k, inputs, "an input", &m) : NULL;
    bool ok = to != NULL;
    if (ok && weights != Py_None)
        ok = (o.weights = eager_list(&k, weights, "a gradient", &nweights)) != NULL;
    if (ok && no_grad != Py_None)
        ok = (o.no_grad = eager_list(&k, no_grad, "a tensor", &o.nno_grad)) != NULL;
    o.retain_graph = retain;
    o.create_graph = create;
    o.allow_unused = unused;
    struct skiff_eager_tensor **got = ok ? keep_alloc(&k, (size_t)(m + 1) * sizeof(*got)) : NULL;
    if (got && skiff_eager_grad(engine, n, from, m, to, &o, got, &err) < 0)
        raise_unless_raised(&err);
    else if (got)
        result = eager_wrap_list(got, m);
    keep_end(&k);
    return result;
}

static void drop_callable(void *user)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    Py_DECREF((PyObject *)user);
    PyGILState_Release(lock);
}

static struct skiff_eager_tensor *call_hook(void *user, struct skiff_eager_tensor *grad,
                                            bool *failed, struct skiff_error *err)
{
    PyObject *given = eager_wrap(skiff_eager_tensor_ref(grad));
    Py_INCREF((PyObject *)user); /* the hook may remove itself */
    PyObject *got = given ? PyObject_CallFunctionObjArgs(user, given, NULL) : NULL;
    struct skiff_eager_tensor *other =
        got && got != Py_None ? eager_of(got, "what a hook returns") : NULL;
    if (other)
        skiff_eager_tensor_ref(other);
    if (PyErr_Occurred()) {
        *failed = true;
        *err = (struct skiff_error){.code = SKIFF_STATE};
    }
    Py_XDECREF(given);
    Py_XDECREF(got);
    Py_DECREF((PyObject *)user);
    return other;
}

static PyObject *eager_add_hook(struct eager_object *o, PyObject *callable)
{
    int64_t number = skiff_eager_add_hook(o->t, call_hook, callable, drop_callable);
    if (number)
        Py_INCREF(callable);
    return PyLong_FromLongLong(number);
}

static PyObject *eager_remove_hook(struct eager_object *o, PyObject *number)
{
    int64_t n;
    if (!int_of(number, "the number of a hook", &n))
        return NULL;
    return PyBool_FromLong(skiff_eager_remove_hook(o->t, n));
}

/* ---- tape nodes with a backward in Python ---- */

struct own {
    PyObject *callable;
    int nins, nouts;
};

static void own_end(void *user)
{
    struct own *own = user;
    drop_callable(own->callable);
    free(own);
}

static enum skiff_status own_backward(void *user, struct skiff_eager_tensor *const *out_grads,
                                      struct skiff_eager_tensor **in_grads, struct skiff_error *err)
{
    struct own *own = user;
    struct keep k = {0};
    int n = 0;
    PyObject *list = PyList_New(own->nouts), *got = NULL;
    for (int i = 0; list && i < own->nouts; i++) {
        PyObject *g = out_grads[i] ? eager_wrap(skiff_eager_tensor_ref(out_grads[i])) : Py_None;
        if (!out_grads[i])
            Py_INCREF(g);
        if (!g || PyList_SetItem(list, i, g) < 0)
            Py_CLEAR(list);
    }
    got = list ? PyObject_CallFunctionObjArgs(own->callable, list, NULL) : NULL;
    struct skiff_eager_tensor **to = got ? eager_list(&k, got, "what backward returns", &n) : NULL;
    for (int i = 0; to && i < n && i < own->nins; i++)
        in_grads[i] = to[i] ? skiff_eager_tensor_ref(to[i]) : NULL;
    keep_end(&k);
    Py_XDECREF(list);
    Py_XDECREF(got);
    if (!PyErr_Occurred())
        return SKIFF_OK;
    *err = (struct skiff_error){.code = SKIFF_STATE};
    return SKIFF_STATE;
}

/* eager_add_node(inputs, outputs, backward): backward(list of gradients) -> list of gradients */
static PyObject *eager_add_node(PyObject *self, PyObject *args)
{
    PyObject *ins, *outs, *callable;
    struct keep k = {0};
    int nin, nout = 0;
    if (!PyArg_ParseTuple(args, "OOO", &ins, &outs, &callable))
        return NULL;
    struct skiff_eager_tensor **in = eager_list(&k, ins, "an input", &nin);
    struct skiff_eager_tensor **out = in ? eager_list(&k, outs, "an output", &nout) : NULL;
    struct own *own = out ? calloc(1, sizeof(*own)) : NULL;
    if (own) {
        *own = (struct own){callable, nin, nout};
        Py_INCREF(callable);
        skiff_eager_custom_op(engine, nin, in, nout, out,
                              &(struct skiff_eager_own){own_backward, own_end, own, "PyLayer"});
    }
    keep_end(&k);
    if (!own)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* ---- attributes and methods ---- */

static PyObject *get_shape(struct eager_object *o, void *unused)
{
    const struct skiff_tensor *t = skiff_eager_form(o->t);
    int n = skiff_tensor_ndim(t);
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++)
        PyList_SetItem(list, i, PyLong_FromLongLong(skiff_tensor_dim(t, i)));
    return list;
}

static PyObject *get_ndim(struct eager_object *o, void *unused)
{
    return PyLong_FromLong(skiff_tensor_ndim(skiff_eager_form(o->t)));
}

static PyObject *get_count(struct eager_object *o, void *unused)
{
    return PyLong_FromLongLong(skiff_tensor_count(skiff_eager_form(o->t)));
}

static PyObject *get_dtype(struct eager_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_tensor_dtype(skiff_eager_form(o->t)));
}

static PyObject *get_kind(struct eager_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_tensor_kind(skiff_eager_form(o->t)));
}

static PyObject *get_stop(struct eager_object *o, void *unused)
{
    return PyBool_FromLong(skiff_eager_stop_gradient(o->t));
}

static int set_stop(struct eager_object *o, PyObject *value, void *unused)
{
    bool stop;
    if (!value || !truth_of(value, "stop_gradient", &stop))
        return -1;
    skiff_eager_set_stop_gradient(o->t, stop);
    return 0;
}

static PyObject *get_leaf(struct eager_object *o, void *unused)
{
    return PyBool_FromLong(skiff_eager_is_leaf(o->t));
}

static PyObject *get_version(struct eager_object *o, void *unused)
{
    return PyLong_FromUnsignedLong(skiff_eager_version(o->t));
}

static PyObject *get_gradient(struct eager_object *o, void *unused)
{
    struct skiff_eager_tensor *g = skiff_eager_grad_of(o->t);
    if (!g)
        Py_RETURN_NONE;
    return eager_wrap(skiff_eager_tensor_ref(g));
}

static int set_gradient(struct eager_object *o, PyObject *value, void *unused)
{
    struct skiff_eager_tensor *g = NULL;
    if (value && value != Py_None && !(g = eager_of(value, "a gradient")))
        return -1;
    skiff_eager_set_grad(o->t, g);
    return 0;
}

static PyObject *eager_set(struct eager_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *value;
    const char *dtype = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|z", KEYWORDS("array", "dtype"), &value,
                                     &dtype))
        return NULL;
    /* by exchange, so that views of the memory keep it when the size is another one */
    struct skiff_eager_tensor *made = skiff_eager_tensor_create(engine);
    bool ok = tensor_assign(skiff_eager_value(made), value, dtype);
    if (ok)
        skiff_eager_replace(o->t, made);
    skiff_eager_tensor_unref(made);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *eager_numpy(struct eager_object *o, PyObject *unused)
{
    return tensor_numpy_copy(skiff_eager_value(o->t));
}

/* The only element as a Python number; None: there are more, or Python has no such numbers. */
static PyObject *eager_item(struct eager_object *o, PyObject *unused)
{
    struct skiff_tensor *v = skiff_eager_value(o->t);
    const void *at = skiff_tensor_data(v);
    const char *dtype = skiff_tensor_dtype(v);
    if (skiff_tensor_count(v) != 1 || !at)
        Py_RETURN_NONE;
    if (!strcmp(dtype, "float32"))
        return PyFloat_FromDouble((double)*(const float *)at);
    if (!strcmp(dtype, "float64"))
        return PyFloat_FromDouble(*(const double *)at);
    if (!strcmp(dtype, "int64"))
        return PyLong_FromLongLong(*(const int64_t *)at);
    if (!strcmp(dtype, "int32"))
        return PyLong_FromLong(*(const int32_t *)at);
    if (!strcmp(dtype, "bool"))
        return PyBool_FromLong(*(const unsigned char *)at);
    if (!strcmp(dtype, "bfloat16")) { /* the upper half of a float; numpy would give the bits */
        uint32_t bits = (uint32_t) * (const uint16_t *)at << 16;
        float value;
        memcpy(&value, &bits, sizeof(value));
        return PyFloat_FromDouble((double)value);
    }
    Py_RETURN_NONE;
}

static PyObject *eager_detach(struct eager_object *o, PyObject *unused)
{
    return eager_wrap(skiff_eager_detach(o->t));
}

static PyObject *eager_become(struct eager_object *o, PyObject *from)
{
    struct skiff_eager_tensor *t = eager_of(from, "a tensor");
    if (!t)
        return NULL;
    skiff_eager_become(o->t, t);
    Py_RETURN_NONE;
}

/* _take(from, mark): an op in place, see skiff_eager_take. */
static PyObject *eager_take(struct eager_object *o, PyObject *args)
{
    PyObject *from;
    unsigned long long mark;
    if (!PyArg_ParseTuple(args, "OK", &from, &mark))
        return NULL;
    struct skiff_eager_tensor *t = eager_of(from, "a tensor");
    if (!t)
        return NULL;
    skiff_eager_take(o->t, t, mark);
    Py_INCREF((PyObject *)o);
    return (PyObject *)o;
}

static PyObject *eager_clear_grad(struct eager_object *o, PyObject *unused)
{
    skiff_eager_clear_grad(o->t, true);
    Py_RETURN_NONE;
}

static PyObject *eager_set_name(struct eager_object *o, PyObject *name)
{
    const char *text = text_of(name, "a name");
    if (!text)
        return NULL;
    skiff_eager_set_name(o->t, text);
    Py_RETURN_NONE;
}

static PyObject *eager_touched(struct eager_object *o, PyObject *unused)
{
    skiff_eager_touched(o->t);
    Py_RETURN_NONE;
}

static PyObject *eager_retain(struct eager_object *o, PyObject *unused)
{
    skiff_eager_retain_grad(o->t);
    Py_RETURN_NONE;
}

static PyObject *eager_rows(struct eager_object *o, PyObject *unused)
{
    size_t n;
    const int64_t *rows = skiff_tensor_rows(skiff_eager_value(o->t), &n);
    PyObject *list = rows ? PyList_New((Py_ssize_t)n) : NULL;
    if (!rows)
        Py_RETURN_NONE;
    for (size_t i = 0; list && i < n; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromLongLong(rows[i]));
    return list;
}

static int eager_getbuffer(struct eager_object *o, Py_buffer *view, int flags)
{
    /* the view keeps its memory, even if the tensor gets other memory later */
    struct skiff_eager_tensor *holder = skiff_eager_detach(o->t);
    if (tensor_view(skiff_eager_value(o->t), (PyObject *)o, holder, view, flags) == 0)
        return 0;
    tensor_view_end(view);
    skiff_eager_tensor_unref(holder);
    return -1;
}

static void eager_releasebuffer(struct eager_object *o, Py_buffer *view)
{
    skiff_eager_tensor_unref(tensor_view_end(view));
}

/* ---- the engine ---- */

static PyObject *eager_seed(PyObject *self, PyObject *seed)
{
    int64_t n;
    if (!int_of(seed, "the seed", &n))
        return NULL;
    skiff_eager_seed(engine, (uint64_t)n);
    Py_RETURN_NONE;
}

static PyObject *eager_generator(PyObject *self, PyObject *unused)
{
    unsigned char state[SKIFF_GENERATOR_BYTES];
    skiff_eager_get_generator(engine, state);
    return PyBytes_FromStringAndSize((const char *)state, sizeof(state));
}

static PyObject *eager_set_generator(PyObject *self, PyObject *state)
{
    char *bytes;
    Py_ssize_t n;
    if (PyBytes_AsStringAndSize(state, &bytes, &n) < 0)
        return NULL;
    if (n != SKIFF_GENERATOR_BYTES) {
        PyErr_Format(PyExc_ValueError, "the state of a generator has %d bytes, not %zd",
                     SKIFF_GENERATOR_BYTES, n);
        return NULL;
    }
    skiff_eager_set_generator(engine, (const unsigned char *)bytes);
    Py_RETURN_NONE;
}

static PyObject *eager_mark(PyObject *self, PyObject *unused)
{
    return PyLong_FromUnsignedLongLong(skiff_eager_tape_position(engine));
}

/* eager_scalar(number, dtype): a tensor without dimensions */
static PyObject *eager_scalar(PyObject *self, PyObject *args)
{
    double value;
    const char *dtype;
    struct skiff_error err;
    if (!PyArg_ParseTuple(args, "ds", &value, &dtype))
        return NULL;
    struct skiff_eager_tensor *t = skiff_eager_tensor_create(engine);
    struct skiff_tensor *v = skiff_eager_value(t);
    if (skiff_tensor_resize(v, dtype, 0, NULL, &err) < 0) {
        skiff_eager_tensor_unref(t);
        return raise_error(&err);
    }
    void *to = skiff_tensor_data(v);
    if (!strcmp(dtype, "float32"))
        *(float *)to = (float)value;
    else if (!strcmp(dtype, "float64"))
        *(double *)to = value;
    else if (!strcmp(dtype, "int64"))
        *(int64_t *)to = (int64_t)value;
    else if (!strcmp(dtype, "int32"))
        *(int32_t *)to = (int32_t)value;
    else if (!strcmp(dtype, "bool"))
        *(bool *)to = value != 0;
    else {
        skiff_eager_tensor_unref(t);
        PyErr_Format(PyExc_TypeError, "a scalar of %s", dtype);
        return NULL;
    }
    return eager_wrap(t);
}

static PyObject *eager_noting(PyObject *self, PyObject *unused)
{
    return PyBool_FromLong(skiff_eager_noting(engine));
}

static PyObject *eager_set_noting(PyObject *self, PyObject *value)
{
    bool noting;
    if (!truth_of(value, "noting", &noting))
        return NULL;
    return PyBool_FromLong(skiff_eager_set_noting(engine, noting));
}

static PyMethodDef methods[] = {
    METHOD("set", eager_set, "Another content."),
    METHOD0("_numpy", eager_numpy, "A new numpy array."),
    METHOD0("_item", eager_item, "Its only element as a number, or None."),
    METHOD0("_detach", eager_detach, "A tensor with the same memory and no gradient."),
    METHOD1("_become", eager_become, "Takes the memory and the tape node of another tensor."),
    {"_take", (PyCFunction)(void (*)(void))eager_take, METH_VARARGS,
     PyDoc_STR("Takes the value and the tape node of a result, in its own memory.")},
    METHOD0("_clear_grad", eager_clear_grad, "Its gradient becomes zero."),
    METHOD1("_set_name", eager_set_name, "What messages call it."),
    METHOD0("_touched", eager_touched, "Its memory was written to."),
    METHOD0("_retain_grad", eager_retain, "backward leaves the gradient here too."),
    METHOD0("_rows", eager_rows, "Ids of selected rows; otherwise None."),
    METHOD1("_add_hook", eager_add_hook,
            "A number for _remove_hook; 0: the tensor gets no gradient."),
    METHOD1("_remove_hook", eager_remove_hook, "Whether it was there."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("shape", get_shape, NULL, "Its dimensions."),
    ATTRIBUTE("ndim", get_ndim, NULL, "How many dimensions it has."),
    ATTRIBUTE("_count", get_count, NULL, "How many elements it has."),
    ATTRIBUTE("_dtype", get_dtype, NULL, "Name of its data type."),
    ATTRIBUTE("_kind", get_kind, NULL, "none, tensor or rows."),
    ATTRIBUTE("stop_gradient", get_stop, set_stop, "Whether it gets no gradient."),
    ATTRIBUTE("is_leaf", get_leaf, NULL, "Whether no op has made it."),
    ATTRIBUTE("inplace_version", get_version, NULL, "How often it was changed in place."),
    ATTRIBUTE("_grad", get_gradient, set_gradient, "Its gradient, or None."),
    {0}};

static PyMethodDef functions[] = {
    {"eager_op", eager_op, METH_VARARGS, PyDoc_STR("Runs an op: see _native.pyi.")},
    {"eager_one", eager_one, METH_VARARGS, PyDoc_STR("Runs an op with one result.")},
    METHOD("eager_backward", eager_backward, "Gradients into the leaves."),
    METHOD("eager_grad", eager_grad, "Gradients of outputs by inputs."),
    {"eager_add_node", eager_add_node, METH_VARARGS,
     PyDoc_STR("Records a tape node with a custom gradient.")},
    METHOD1("eager_seed", eager_seed, "Seeds the generator."),
    METHOD0("eager_generator", eager_generator, "State of the generator."),
    METHOD1("eager_set_generator", eager_set_generator, "Another state of the generator."),
    METHOD0("eager_mark", eager_mark, "How many tape nodes have been made: for _take."),
    {"eager_scalar", eager_scalar, METH_VARARGS, PyDoc_STR("A tensor of one number.")},
    METHOD0("eager_noting", eager_noting, "Whether ops are noted."),
    METHOD1("eager_set_noting", eager_set_noting, "Sets it; gives what it was."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, eager_new},
                              {Py_tp_init, eager_start},
                              {Py_tp_dealloc, eager_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_bf_getbuffer, eager_getbuffer},
                              {Py_bf_releasebuffer, eager_releasebuffer},
                              {Py_tp_doc, "A tensor of eager mode: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.EagerTensor", sizeof(struct eager_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

bool eager_init(PyObject *m)
{
    engine = skiff_eager_create();
    skiff_eager_set_thread_pool(engine, process_threads());
    return class_add(m, &spec, "EagerTensor", &base_class[CLASS_EAGER]) &&
           module_functions(m, functions) && replay_init(m) && eager_saved_init(m) &&
           observer_init(m);
}
