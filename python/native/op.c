/* Op, and the registry of op types.
 *
 * An Op refers to its Program object and is valid as long as that. Attributes have a type in C that
 * Python does not know: an int is INT or LONG, a list may be of ints or longs. The op's declaration
 * in the registry decides, else the value, unless the caller names a type. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

static int op_traverse(struct op_object *o, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(o));
    Py_VISIT((PyObject *)o->program);
    return 0;
}

static void op_dealloc(struct op_object *o)
{
    PyObject_GC_UnTrack(o);
    Py_CLEAR(o->program);
    class_free((PyObject *)o);
}

static PyObject *get_type(struct op_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_op_type(o->op));
}

static PyObject *get_block(struct op_object *o, void *unused)
{
    return block_wrap(o->program, o->b);
}

static PyObject *get_idx(struct op_object *o, void *unused)
{
    int i = skiff_block_ops(o->b) - 1;
    while (i >= 0 && skiff_block_op(o->b, i) != o->op)
        i--;
    return PyLong_FromLong(i);
}

/* ---- slots ---- */

static int slot_count(const struct op_object *o, bool in)
{
    return in ? skiff_op_ins(o->op) : skiff_op_outs(o->op);
}

static const char *slot_name(const struct op_object *o, bool in, int i)
{
    return in ? skiff_op_in_slot(o->op, i) : skiff_op_out_slot(o->op, i);
}

static int slot_args(const struct op_object *o, bool in, const char *slot,
                     const char *const **names)
{
    return in ? skiff_op_in(o->op, slot, names) : skiff_op_out(o->op, slot, names);
}

static PyObject *slot_list(struct op_object *o, bool in)
{
    int n = slot_count(o, in);
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *s = PyUnicode_FromString(slot_name(o, in, i));
        if (!s || PyList_SetItem(list, i, s) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *arg_list(struct op_object *o, bool in)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < slot_count(o, in); i++) {
        const char *const *names;
        int n = slot_args(o, in, slot_name(o, in, i), &names);
        for (int k = 0; list && k < n; k++) {
            PyObject *s = PyUnicode_FromString(names[k]);
            if (!s || PyList_Append(list, s) < 0)
                Py_CLEAR(list);
            Py_XDECREF(s);
        }
    }
    return list;
}

static PyObject *get_input_names(struct op_object *o, void *unused)
{
    return slot_list(o, true);
}

static PyObject *get_output_names(struct op_object *o, void *unused)
{
    return slot_list(o, false);
}

static PyObject *get_input_args(struct op_object *o, void *unused)
{
    return arg_list(o, true);
}

static PyObject *get_output_args(struct op_object *o, void *unused)
{
    return arg_list(o, false);
}

static PyObject *slot_names(struct op_object *o, PyObject *args, PyObject *keywords, bool in)
{
    const char *slot;
    const char *const *names;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("slot"), &slot))
        return NULL;
    int n = slot_args(o, in, slot, &names);
    return names_list(names, n);
}

static PyObject *op_input(struct op_object *o, PyObject *args, PyObject *keywords)
{
    return slot_names(o, args, keywords, true);
}

static PyObject *op_output(struct op_object *o, PyObject *args, PyObject *keywords)
{
    return slot_names(o, args, keywords, false);
}

static PyObject *slot_set(struct op_object *o, PyObject *args, PyObject *keywords, bool in)
{
    const char *slot, **names;
    PyObject *value;
    struct keep k = {0};
    int n;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sO", KEYWORDS("slot", "names"), &slot,
                                     &value))
        return NULL;
    bool ok = names_of(&k, value, slot, &names, &n);
    if (ok && in)
        skiff_op_set_in(o->b, o->op, slot, n, names);
    else if (ok)
        skiff_op_set_out(o->b, o->op, slot, n, names);
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *op_set_input(struct op_object *o, PyObject *args, PyObject *keywords)
{
    return slot_set(o, args, keywords, true);
}

static PyObject *op_set_output(struct op_object *o, PyObject *args, PyObject *keywords)
{
    return slot_set(o, args, keywords, false);
}

static PyObject *op_rename_input(struct op_object *o, PyObject *args, PyObject *keywords)
{
    const char *from, *to;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ss", KEYWORDS("old", "new"), &from, &to))
        return NULL;
    skiff_op_rename_in(o->b, o->op, from, to);
    Py_RETURN_NONE;
}

static PyObject *op_rename_output(struct op_object *o, PyObject *args, PyObject *keywords)
{
    const char *from, *to;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ss", KEYWORDS("old", "new"), &from, &to))
        return NULL;
    skiff_op_rename_out(o->b, o->op, from, to);
    Py_RETURN_NONE;
}

/* ---- attributes of the op ---- */

static PyObject *get_attr_names(struct op_object *o, void *unused)
{
    int n = skiff_op_attrs(o->op);
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *s = PyUnicode_FromString(skiff_op_attr_name(o->op, i));
        if (!s || PyList_SetItem(list, i, s) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *op_has_attr(struct op_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    struct skiff_attr a;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    return PyBool_FromLong(skiff_op_attr(o->b, o->op, name, &a));
}

/* The attribute of that name; false with KeyError. */
static bool attr_find(struct op_object *o, const char *name, struct skiff_attr *out)
{
    struct skiff_error err = {.code = SKIFF_NOT_FOUND};
    if (skiff_op_attr(o->b, o->op, name, out))
        return true;
    PyOS_snprintf(err.message, sizeof(err.message), "op %s has no attribute %.900s",
                  skiff_op_type(o->op), name);
    raise_error(&err);
    return false;
}

static PyObject *op_attr(struct op_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    struct skiff_attr a;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    return attr_find(o, name, &a) ? attr_object(&a) : NULL;
}

static PyObject *op_attr_type(struct op_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    struct skiff_attr a;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    return attr_find(o, name, &a) ? PyUnicode_FromString(skiff_attr_type_name(a.type)) : NULL;
}

static PyObject *op_all_attrs(struct op_object *o, PyObject *unused)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < skiff_op_attrs(o->op); i++) {
        struct skiff_attr a;
        const char *name = skiff_op_attr_name(o->op, i);
        skiff_op_attr(o->b, o->op, name, &a);
        PyObject *value = attr_object(&a);
        if (!value || PyDict_SetItemString(dict, name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* Python's int is INT or LONG, its float FLOAT, unless `type` names another type. */
static bool attr_force(struct skiff_attr *a, const char *type)
{
    enum skiff_attr_type t;
    if (!skiff_attr_type_parse(type, &t)) {
        PyErr_Format(PyExc_ValueError, "there is no attribute type %s", type);
        return false;
    }
    bool real = a->type == SKIFF_ATTR_FLOAT || a->type == SKIFF_ATTR_FLOAT64;
    if ((t == SKIFF_ATTR_FLOAT || t == SKIFF_ATTR_FLOAT64) && !real)
        a->f = (double)a->i;
    a->type = t;
    return true;
}

static PyObject *op_set_attr(struct op_object *o, PyObject *args, PyObject *keywords)
{
    const char *name, *type = NULL;
    PyObject *value;
    struct keep k = {0};
    struct skiff_attr a;
    struct skiff_error err;
    enum skiff_attr_type declared;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sO|z", KEYWORDS("name", "value", "type"),
                                     &name, &value, &type))
        return NULL;
    int wanted = skiff_op_declares_attr(o->b, o->op, name, &declared) ? (int)declared : -1;
    bool ok = attr_of(&k, value, name, wanted, &a) && (!type || attr_force(&a, type));
    if (ok && skiff_op_set_attr(o->b, o->op, name, &a, &err) < 0) {
        raise_error(&err);
        ok = false;
    }
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *op_remove_attr(struct op_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    struct skiff_attr a;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    if (!attr_find(o, name, &a))
        return NULL;
    skiff_op_remove_attr(o->op, name);
    Py_RETURN_NONE;
}

static PyObject *op_text(struct op_object *o, PyObject *unused)
{
    char *text = skiff_op_text(o->op);
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    free(text);
    return result;
}

static PyObject *op_known(struct op_object *o, PyObject *unused)
{
    return PyBool_FromLong(skiff_op_known(o->op));
}

static PyObject *op_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyErr_SetString(PyExc_TypeError, "ops come from Block.append_op and layers");
    return NULL;
}

/* ---- the registry ---- */

static PyObject *op_types(PyObject *self, PyObject *args, PyObject *keywords)
{
    int generation = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i", KEYWORDS("generation"), &generation))
        return NULL;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < skiff_registry_count(); i++) {
        const char *type = skiff_registry_type(i, generation);
        PyObject *s = type ? PyUnicode_FromString(type) : NULL;
        if (type && (!s || PyList_Append(list, s) < 0))
            Py_CLEAR(list);
        Py_XDECREF(s);
    }
    return list;
}

static PyObject *slots_info(const char *type, int generation,
                            bool (*get)(const char *, int, int, struct skiff_slot_info *))
{
    PyObject *list = PyList_New(0);
    struct skiff_slot_info s;
    for (int i = 0; list && get(type, generation, i, &s); i++) {
        PyObject *item = Py_BuildValue("(sOO)", s.name, s.list ? Py_True : Py_False,
                                       s.optional ? Py_True : Py_False);
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static bool attr_is_list(enum skiff_attr_type t)
{
    const char *name = skiff_attr_type_name(t);
    return name[strlen(name) - 1] == 'S';
}

static PyObject *attrs_info(const char *type, int generation)
{
    PyObject *list = PyList_New(0);
    struct skiff_attr_info a;
    for (int i = 0; list && skiff_registry_attr(type, generation, i, &a); i++) {
        PyObject *value = Py_None;
        if (a.required || attr_is_list(a.def.type))
            Py_INCREF(value);
        else
            value = attr_object(&a.def);
        PyObject *item = value ? Py_BuildValue("(ssNO)", a.name, skiff_attr_type_name(a.def.type),
                                               value, a.required ? Py_True : Py_False)
                               : NULL;
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *op_info(PyObject *self, PyObject *args, PyObject *keywords)
{
    const char *type;
    int generation = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|i", KEYWORDS("type", "generation"), &type,
                                     &generation))
        return NULL;
    if (!skiff_registry_has(type, generation)) {
        struct skiff_error err = {.code = SKIFF_NOT_FOUND};
        const char *near = skiff_registry_nearest(type);
        PyOS_snprintf(err.message, sizeof(err.message), "there is no op %.400s%s%s%s", type,
                      near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
        return raise_error(&err);
    }
    return Py_BuildValue("{s:N,s:N,s:N}", "inputs", slots_info(type, generation, skiff_registry_in),
                         "outputs", slots_info(type, generation, skiff_registry_out), "attrs",
                         attrs_info(type, generation));
}

static PyMethodDef functions[] = {METHOD("op_types", op_types, "Every op type of the registry."),
                                  METHOD("op_info", op_info, "Slots and attributes of an op type."),
                                  {0}};

static PyMethodDef methods[] = {
    METHOD("input", op_input, "Names of the variables of an input slot."),
    METHOD("output", op_output, "Names of the variables of an output slot."),
    METHOD("set_input", op_set_input, "Sets the variables of an input slot."),
    METHOD("set_output", op_set_output, "Sets the variables of an output slot."),
    METHOD("rename_input", op_rename_input, "Another variable wherever it reads the old one."),
    METHOD("rename_output", op_rename_output, "Another variable wherever it writes the old one."),
    METHOD("has_attr", op_has_attr, "Whether it has the attribute."),
    METHOD("attr", op_attr, "The attribute's value."),
    METHOD("attr_type", op_attr_type, "The attribute's type: INT, FLOATS, ..."),
    METHOD0("all_attrs", op_all_attrs, "All attributes as a dict."),
    METHOD("set_attr", op_set_attr, "Sets an attribute."),
    METHOD("remove_attr", op_remove_attr, "Takes an attribute out."),
    METHOD0("text", op_text, "Its line of Program.text()."),
    METHOD0("known", op_known, "Whether the registry has its type."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("type", get_type, NULL, "Its type."),
    ATTRIBUTE("block", get_block, NULL, "Its block."),
    ATTRIBUTE("idx", get_idx, NULL, "Its position in the block; -1: it was removed."),
    ATTRIBUTE("input_names", get_input_names, NULL, "Its input slots."),
    ATTRIBUTE("output_names", get_output_names, NULL, "Its output slots."),
    ATTRIBUTE("input_arg_names", get_input_args, NULL, "All variables it reads."),
    ATTRIBUTE("output_arg_names", get_output_args, NULL, "All variables it writes."),
    ATTRIBUTE("attr_names", get_attr_names, NULL, "Its attributes."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, op_new},
                              {Py_tp_dealloc, op_dealloc},
                              {Py_tp_traverse, op_traverse},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "An op of a program."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Op", sizeof(struct op_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

bool op_init(PyObject *m)
{
    return class_add(m, &spec, "Op", &base_class[CLASS_OP]) && module_functions(m, functions);
}
