/* Program, and how its parts become Python objects.
 *
 * A Program object owns its C program; Blocks, Vars and Ops hold a reference to it. A dict by
 * address has every object made so far, so that `is` works and attributes that scripts set on them
 * stay. A program that was cloned or borrowed keeps the object it came from, because C points to
 * parts of it. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

#include <skiff/fleet.h>

/* ---- making objects ---- */

static PyObject *program_fill(PyTypeObject *type, struct skiff_program *p, PyObject *keeps)
{
    struct program_object *o = (struct program_object *)class_alloc(type);
    if (!o)
        return NULL; /* out of memory: the program leaks */
    o->p = p;
    o->wrappers = PyDict_New();
    o->keeps = keeps;
    Py_XINCREF(keeps);
    if (!o->wrappers)
        Py_CLEAR(o);
    return (PyObject *)o;
}

PyObject *program_wrap(struct skiff_program *p, PyObject *keeps)
{
    PyObject *o = program_fill(made_class[CLASS_PROGRAM], p, keeps);
    return o ? class_made(o) : NULL;
}

PyObject *program_borrow(struct skiff_program *p, PyObject *owner)
{
    PyObject *o = program_fill(made_class[CLASS_PROGRAM], p, owner);
    if (!o)
        return NULL;
    ((struct program_object *)o)->borrowed = true;
    return class_made(o);
}

/* The object of that address, a new reference; NULL without an exception: not made yet. */
static PyObject *wrapper_find(struct program_object *p, const void *address, PyObject **key)
{
    *key = PyLong_FromVoidPtr((void *)address);
    PyObject *o = *key && p->wrappers ? PyDict_GetItem(p->wrappers, *key) : NULL;
    Py_XINCREF(o);
    return o;
}

/* Remembers a new object and calls its _skiff_made; steals key. */
static PyObject *wrapper_keep(struct program_object *p, PyObject *key, PyObject *o)
{
    if (o && p->wrappers && PyDict_SetItem(p->wrappers, key, o) < 0)
        Py_CLEAR(o);
    if (o && !class_made(o)) {
        o = NULL;
        if (p->wrappers) {
            PyObject *type, *value, *trace; /* the exception of _skiff_made is the one to report */
            PyErr_Fetch(&type, &value, &trace);
            if (PyDict_DelItem(p->wrappers, key) < 0)
                PyErr_Clear();
            PyErr_Restore(type, value, trace);
        }
    }
    Py_XDECREF(key);
    return o;
}

PyObject *block_wrap(struct program_object *p, struct skiff_block *b)
{
    PyObject *key, *found = wrapper_find(p, b, &key);
    if (found || !key) {
        Py_XDECREF(key);
        return found;
    }
    struct block_object *o = (struct block_object *)class_alloc(made_class[CLASS_BLOCK]);
    if (o) {
        Py_INCREF((PyObject *)p);
        o->program = p;
        o->b = b;
    }
    return wrapper_keep(p, key, (PyObject *)o);
}

PyObject *var_wrap(struct program_object *p, struct skiff_var *v)
{
    if (!v)
        Py_RETURN_NONE;
    PyObject *key, *found = wrapper_find(p, v, &key);
    if (found || !key) {
        Py_XDECREF(key);
        return found;
    }
    enum class_id id = skiff_var_is_parameter(v) ? CLASS_PARAMETER : CLASS_VAR;
    struct var_object *o = (struct var_object *)class_alloc(made_class[id]);
    if (o) {
        Py_INCREF((PyObject *)p);
        o->program = p;
        o->v = v;
    }
    return wrapper_keep(p, key, (PyObject *)o);
}

PyObject *op_wrap(struct program_object *p, struct skiff_block *b, struct skiff_op *op)
{
    if (!op)
        Py_RETURN_NONE;
    PyObject *key, *found = wrapper_find(p, op, &key);
    if (found || !key) {
        Py_XDECREF(key);
        return found;
    }
    struct op_object *o = (struct op_object *)class_alloc(made_class[CLASS_OP]);
    if (o) {
        Py_INCREF((PyObject *)p);
        o->program = p;
        o->b = b;
        o->op = op;
    }
    return wrapper_keep(p, key, (PyObject *)o);
}

/* ---- lifetime ---- */

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    return program_fill(type, skiff_program_create(), NULL);
}

static int program_traverse(struct program_object *o, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(o));
    Py_VISIT(o->wrappers);
    Py_VISIT(o->keeps);
    return 0;
}

static int program_clear(struct program_object *o)
{
    Py_CLEAR(o->wrappers);
    return 0;
}

static void program_dealloc(struct program_object *o)
{
    PyObject_GC_UnTrack(o);
    Py_CLEAR(o->wrappers);
    if (o->p) {
        nets_forget(o->p);
        if (!o->borrowed)
            skiff_program_destroy(o->p);
    }
    Py_CLEAR(o->keeps);
    class_free((PyObject *)o);
}

/* ---- attributes ---- */

static PyObject *get_seed(struct program_object *o, void *unused)
{
    return PyLong_FromLong(skiff_program_seed(o->p));
}

static int set_seed(struct program_object *o, PyObject *value, void *unused)
{
    int64_t v;
    if (!value || !int_of(value, "random_seed", &v))
        return -1;
    skiff_program_set_seed(o->p, (int)v);
    return 0;
}

static PyObject *get_state(struct program_object *o, void *unused)
{
    uint64_t state[2];
    skiff_program_state(o->p, state);
    return Py_BuildValue("KK", (unsigned long long)state[0], (unsigned long long)state[1]);
}

static PyObject *get_waits(struct program_object *o, void *unused)
{
    static const char *const words[] = {[SKIFF_WAIT_JOIN] = "join", [SKIFF_WAIT_SERVE] = "serve"};
    enum skiff_wait w = skiff_program_waits(o->p);
    if (w == SKIFF_WAIT_NONE)
        Py_RETURN_NONE;
    return PyUnicode_FromString(words[w]);
}

static PyObject *get_generation(struct program_object *o, void *unused)
{
    return PyLong_FromLong(skiff_program_generation(o->p));
}

static int set_generation(struct program_object *o, PyObject *value, void *unused)
{
    int64_t v;
    if (!value || !int_of(value, "generation", &v))
        return -1;
    if (v != 1 && v != 2) {
        PyErr_Format(PyExc_ValueError, "generation is 1 or 2, not %lld", (long long)v);
        return -1;
    }
    skiff_program_set_generation(o->p, (int)v);
    return 0;
}

static PyObject *get_version(struct program_object *o, void *unused)
{
    return PyLong_FromLongLong(skiff_program_version(o->p));
}

static int set_version(struct program_object *o, PyObject *value, void *unused)
{
    int64_t v;
    if (!value || !int_of(value, "version", &v))
        return -1;
    skiff_program_set_version(o->p, v);
    return 0;
}

static PyObject *get_role(struct program_object *o, void *unused)
{
    return PyLong_FromLong(skiff_program_role(o->p));
}

static int set_role(struct program_object *o, PyObject *value, void *unused)
{
    int64_t v;
    const char *const *names;
    if (!value || !int_of(value, "op_role", &v))
        return -1;
    int n = skiff_program_role_vars(o->p, &names);
    skiff_program_set_role(o->p, (int)v, n, names);
    return 0;
}

static PyObject *get_role_var(struct program_object *o, void *unused)
{
    const char *const *names;
    int n = skiff_program_role_vars(o->p, &names);
    return names_list(names, n);
}

static int set_role_var(struct program_object *o, PyObject *value, void *unused)
{
    struct keep k = {0};
    const char **names;
    int n;
    bool ok = value && names_of(&k, value, "op_role_var", &names, &n);
    if (ok)
        skiff_program_set_role(o->p, skiff_program_role(o->p), n, names);
    keep_end(&k);
    return ok ? 0 : -1;
}

static PyObject *get_namescope(struct program_object *o, void *unused)
{
    return PyUnicode_FromString(skiff_program_namescope(o->p));
}

static int set_namescope(struct program_object *o, PyObject *value, void *unused)
{
    const char *path = value ? text_of(value, "op_namescope") : NULL;
    if (!path)
        return -1;
    skiff_program_set_namescope(o->p, path);
    return 0;
}

static PyObject *get_num_blocks(struct program_object *o, void *unused)
{
    return PyLong_FromLong(skiff_program_blocks(o->p));
}

/* ---- methods ---- */

static PyObject *program_block(struct program_object *o, PyObject *args, PyObject *keywords)
{
    int i;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i", KEYWORDS("idx"), &i))
        return NULL;
    struct skiff_block *b = skiff_program_block(o->p, i < 0 ? i + skiff_program_blocks(o->p) : i);
    if (b)
        return block_wrap(o, b);
    PyErr_Format(PyExc_IndexError, "the program has %d blocks; there is no block %d",
                 skiff_program_blocks(o->p), i);
    return NULL;
}

static PyObject *program_create_block(struct program_object *o, PyObject *args, PyObject *keywords)
{
    int parent = 0, forward = -1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|ii", KEYWORDS("parent", "forward"), &parent,
                                     &forward))
        return NULL;
    struct skiff_block *b = skiff_program_add_block(o->p, parent, forward);
    if (b)
        return block_wrap(o, b);
    PyErr_Format(PyExc_ValueError, "a block cannot have block %d as parent and %d as forward block",
                 parent, forward);
    return NULL;
}

/* Parameters of a clone use the regularizers of the original, so it is kept. */
static PyObject *program_clone(struct program_object *o, PyObject *args, PyObject *keywords)
{
    int for_test = 0;
    struct skiff_program *copy = NULL;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|p", KEYWORDS("for_test"), &for_test))
        return NULL;
    if (!for_test)
        copy = skiff_program_clone(o->p);
    else if (skiff_program_clone_for_test(o->p, &copy, &err) < 0)
        return raise_error(&err);
    return program_wrap(copy, (PyObject *)o);
}

typedef enum skiff_status prune_fn(const struct skiff_program *p, const char *const *feeds,
                                   int nfeeds, const char *const *targets, int ntargets,
                                   struct skiff_program **out, struct skiff_error *err);

static PyObject *pruned_by(prune_fn *prune, struct program_object *o, PyObject *args,
                           PyObject *keywords)
{
    PyObject *feeds, *targets;
    struct keep k = {0};
    const char **f, **t;
    int nf, nt;
    struct skiff_program *pruned = NULL;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", KEYWORDS("feeds", "targets"), &feeds,
                                     &targets))
        return NULL;
    PyObject *result = NULL;
    if (names_of(&k, feeds, "feeds", &f, &nf) && names_of(&k, targets, "targets", &t, &nt)) {
        if (prune(o->p, f, nf, t, nt, &pruned, &err) < 0)
            raise_error(&err);
        else
            result = program_wrap(pruned, (PyObject *)o);
    }
    keep_end(&k);
    return result;
}

static PyObject *program_prune(struct program_object *o, PyObject *args, PyObject *keywords)
{
    return pruned_by(skiff_program_prune, o, args, keywords);
}

static PyObject *program_cut(struct program_object *o, PyObject *args, PyObject *keywords)
{
    return pruned_by(skiff_program_cut, o, args, keywords);
}

static PyObject *program_cut_training(struct program_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *feeds, *targets, *updates = Py_None, *result = NULL;
    struct keep k = {0};
    const char **f, **t;
    int nf, nt;
    int64_t *at = NULL, nat = 0;
    struct skiff_program *cut = NULL;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|O",
                                     KEYWORDS("feeds", "targets", "updates"), &feeds, &targets,
                                     &updates))
        return NULL;
    if (names_of(&k, feeds, "feeds", &f, &nf) && names_of(&k, targets, "targets", &t, &nt) &&
        (updates == Py_None || longs_of(&k, updates, "updates", &at, &nat))) {
        if (skiff_program_cut_training(o->p, f, nf, t, nt, at, (int)nat, &cut, &err) < 0)
            raise_error(&err);
        else
            result = program_wrap(cut, (PyObject *)o);
    }
    keep_end(&k);
    return result;
}

static PyObject *program_allow_ops(struct program_object *o, PyObject *args, PyObject *keywords)
{
    const char *ops;
    PyObject *dir = Py_None, *result = NULL;
    struct keep k = {0};
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|O", KEYWORDS("ops", "dir"), &ops, &dir))
        return NULL;
    const char *path = dir == Py_None ? NULL : path_of(&k, dir, "dir");
    if ((path || dir == Py_None) && skiff_program_allow(o->p, ops, path, &err) < 0) {
        raise_error(&err);
    } else if (path || dir == Py_None) {
        Py_INCREF(Py_None);
        result = Py_None;
    }
    keep_end(&k);
    return result;
}

static PyObject *text_taken(char *text);

static PyObject *program_replicate(struct program_object *o, PyObject *args, PyObject *keywords)
{
    int devices, scale_one = 0;
    struct skiff_program *joint = NULL;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i|p", KEYWORDS("devices", "scale_one"),
                                     &devices, &scale_one))
        return NULL;
    if (skiff_program_replicate(o->p, devices, scale_one, &joint, &err) < 0)
        return raise_error(&err);
    return program_wrap(joint, (PyObject *)o);
}

static PyObject *program_replica_name(struct program_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    int device;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "si", KEYWORDS("name", "device"), &name,
                                     &device))
        return NULL;
    return text_taken(skiff_program_replica_name(o->p, name, device));
}

static PyObject *text_taken(char *text)
{
    PyObject *o = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    free(text);
    return o;
}

static PyObject *program_text(struct program_object *o, PyObject *unused)
{
    return text_taken(skiff_program_text(o->p));
}

static PyObject *program_to_bytes(struct program_object *o, PyObject *unused)
{
    size_t n;
    char *bytes = skiff_program_bytes(o->p, &n);
    PyObject *result = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)n);
    free(bytes);
    return result;
}

static PyObject *program_find_var(struct program_object *o, PyObject *args, PyObject *keywords)
{
    const char *name;
    struct skiff_var *v = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    for (int i = 0; !v && i < skiff_program_blocks(o->p); i++)
        v = skiff_block_own_var(skiff_program_block(o->p, i), name);
    return var_wrap(o, v);
}

static PyObject *program_run_as(struct program_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *as;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("as_program"), &as))
        return NULL;
    if (as != Py_None && !PyObject_TypeCheck(as, base_class[CLASS_PROGRAM]))
        return PyErr_Format(PyExc_TypeError, "run_as: a Program or None is needed");
    skiff_program_run_as(o->p, as == Py_None ? NULL : ((struct program_object *)as)->p);
    Py_RETURN_NONE;
}

static PyObject *program_verify(struct program_object *o, PyObject *unused)
{
    struct skiff_error err;
    if (skiff_program_check(o->p, &err) < 0)
        return raise_error(&err);
    Py_RETURN_NONE;
}

static PyObject *program_diff(struct program_object *o, PyObject *args, PyObject *keywords)
{
    PyObject *other;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!", KEYWORDS("other"),
                                     base_class[CLASS_PROGRAM], &other))
        return NULL;
    return text_taken(skiff_program_differences(o->p, ((struct program_object *)other)->p));
}

/* ---- functions ---- */

static PyObject *parse_program(PyObject *self, PyObject *args, PyObject *keywords)
{
    const char *bytes;
    Py_ssize_t n;
    struct skiff_program *p;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s#", KEYWORDS("data"), &bytes, &n))
        return NULL;
    if (skiff_program_parse(bytes, (size_t)n, "the program", &p, &err) < 0)
        return raise_error(&err);
    return program_wrap(p, NULL);
}

static PyObject *read_program(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *o;
    struct keep k = {0};
    struct skiff_program *p;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("path"), &o))
        return NULL;
    const char *path = path_of(&k, o, "path");
    PyObject *result = NULL;
    if (path && UNLOCKED(skiff_program_read(path, &p, &err)) < 0)
        raise_file_error(&err);
    else if (path)
        result = program_wrap(p, NULL);
    keep_end(&k);
    return result;
}

static PyObject *write_program(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *o, *path_object;
    struct keep k = {0};
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O", KEYWORDS("program", "path"),
                                     base_class[CLASS_PROGRAM], &o, &path_object))
        return NULL;
    const char *path = path_of(&k, path_object, "path");
    bool ok = path != NULL;
    if (ok && UNLOCKED(skiff_program_write(((struct program_object *)o)->p, path, &err)) < 0) {
        raise_error(&err);
        ok = false;
    }
    keep_end(&k);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    METHOD("parse_program", parse_program, "A program of ProgramDesc bytes or of the text form."),
    METHOD("read_program", read_program, "A program file."),
    METHOD("write_program", write_program, "Writes a program file."),
    {0}};

static PyMethodDef methods[] = {
    METHOD("block", program_block, "The block of that index."),
    METHOD("create_block", program_create_block, "A new block."),
    METHOD("clone", program_clone, "A deep copy; for_test: as Fluid's clone(for_test=True)."),
    METHOD("prune", program_prune, "What the targets need of the feeds."),
    METHOD("cut", program_cut, "The ops that the targets need, and nothing else."),
    METHOD("cut_training", program_cut_training, "The same, and what optimizer ops need."),
    METHOD("allow_ops", program_allow_ops,
           "Lets a program that was read act outside of itself: \"save,load\", below a folder."),
    METHOD("replicate", program_replicate, "One joint program for several devices."),
    METHOD("replica_name", program_replica_name, "What a joint program calls a device's variable."),
    METHOD0("text", program_text, "Readable form."),
    METHOD0("to_bytes", program_to_bytes, "ProgramDesc bytes."),
    METHOD("find_var", program_find_var, "The variable of that name in any block, or None."),
    METHOD("run_as", program_run_as, "Running it runs that one; None: itself again."),
    METHOD0("verify", program_verify, "Raises when something does not fit."),
    METHOD("diff", program_diff, "The differences in words."),
    {0}};

static PyGetSetDef attributes[] = {
    ATTRIBUTE("random_seed", get_seed, set_seed, "Seed of ops without one of their own."),
    ATTRIBUTE("state", get_state, NULL, "Another pair after every change of the program."),
    ATTRIBUTE("waits", get_waits, NULL,
              "What its next run waits for other processes for: None, join, serve."),
    ATTRIBUTE("generation", get_generation, set_generation, "1 or 2: the meaning of op types."),
    ATTRIBUTE("version", get_version, set_version, "Version of the program, 1008005."),
    ATTRIBUTE("op_role", get_role, set_role, "op_role of ops appended from now on."),
    ATTRIBUTE("op_role_var", get_role_var, set_role_var,
              "op_role_var of ops appended from now on."),
    ATTRIBUTE("op_namescope", get_namescope, set_namescope, "op_namescope of ops from now on."),
    ATTRIBUTE("num_blocks", get_num_blocks, NULL, "How many blocks there are."),
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, program_new},
                              {Py_tp_dealloc, program_dealloc},
                              {Py_tp_traverse, program_traverse},
                              {Py_tp_clear, program_clear},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_doc, "A program: blocks of variables and ops."},
                              {0}};
static PyType_Spec spec = {"skiff._native.Program", sizeof(struct program_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

bool program_init(PyObject *m)
{
    return class_add(m, &spec, "Program", &base_class[CLASS_PROGRAM]) &&
           module_functions(m, functions);
}
