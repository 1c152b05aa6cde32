/* Scope: named values. */
#include "native.h"

static struct skiff_scope *scope_make(struct scope_object *parent)
{
    return parent ? skiff_scope_create_child(parent->s) : skiff_scope_create();
}

static PyObject *scope_fill(PyTypeObject *type, struct scope_object *parent)
{
    struct scope_object *o = (struct scope_object *)class_alloc(type);
    if (o) {
        o->s = scope_make(parent);
        o->parent = parent;
        Py_XINCREF((PyObject *)parent);
    }
    return (PyObject *)o;
}

static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *parent = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", KEYWORDS("parent"), &parent))
        return NULL;
    if (parent && parent != Py_None && !is_a(parent, CLASS_SCOPE)) {
        PyErr_SetString(PyExc_TypeError, "parent must be a Scope");
        return NULL;
    }
    return scope_fill(type, parent == Py_None ? NULL : (struct scope_object *)parent);
}

static void scope_dealloc(struct scope_object *o)
{
    skiff_scope_destroy(o->s);
    Py_CLEAR(o->parent);
    class_free((PyObject *)o);
}

static PyObject *scope_var(struct scope_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    skiff_scope_var(o->s, name);
    return tensor_of_scope(o, name);
}

static PyObject *scope_find(struct scope_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    if (!skiff_scope_peek(o->s, name))
        Py_RETURN_NONE;
    return tensor_of_scope(o, name);
}

static PyObject *scope_set(struct scope_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    PyObject *value;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sO", KEYWORDS("name", "value"), &name,
                                     &value))
        return NULL;
    if (!tensor_assign(skiff_scope_var(o->s, name), value, NULL))
        return NULL;
    Py_RETURN_NONE;
}

static void add_name(void *user, const char *name)
{
    PyObject *dict = user, *key = PyErr_Occurred() ? NULL : PyUnicode_FromString(name);
    if (key && !PyDict_GetItem(dict, key))
        PyDict_SetItem(dict, key, Py_None);
    Py_XDECREF(key);
}

static PyObject *scope_names(struct scope_object *o, PyObject *unused)
{
    PyObject *names = PyDict_New();
    for (struct scope_object *s = o; names && s; s = s->parent)
        skiff_scope_names(s->s, add_name, names);
    PyObject *list = names && !PyErr_Occurred() ? PyDict_Keys(names) : NULL;
    Py_XDECREF(names);
    return list;
}

static PyObject *scope_new_scope(struct scope_object *o, PyObject *unused)
{
    PyObject *child = scope_fill(made_class[CLASS_SCOPE], o);
    return child ? class_made(child) : NULL;
}

static PyMethodDef methods[] = {
    METHOD("var", scope_var, "The value of that name, made here when there is none."),
    METHOD("find", scope_find, "The value of that name, or None."),
    METHOD("set", scope_set, "Sets a value to a copy of an array or Tensor."),
    METHOD0("names", scope_names, "Names of this scope and its parents."),
    METHOD0("new_scope", scope_new_scope, "A scope in front of this one."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, scope_new},
                              {Py_tp_dealloc, scope_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "Named values: see _native.pyi."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Scope", sizeof(struct scope_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

bool scope_init(PyObject *m)
{
    return class_add(m, &spec, "Scope", &base_class[CLASS_SCOPE]);
}
