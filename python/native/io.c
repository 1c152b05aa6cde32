/* Files: variables, parameters, models, programs (<skiff/io.h>).
 *
 * The functions convert arguments and release the interpreter lock while files are read or written;
 * formats and atomic saves are C's. A file that is not there is a FileNotFoundError
 * (raise_file_error), so that `except` clauses written for Paddle work. */
#include "native.h"
#include "save/contents.h"

typedef enum skiff_status (*group_function)(struct skiff_scope *, const struct skiff_program *,
                                            const char *, const char *, struct skiff_error *);
typedef enum skiff_status (*names_function)(struct skiff_scope *, const struct skiff_program *,
                                            const char *const *, int, const char *, const char *,
                                            struct skiff_error *);

static PyObject *done(bool ok)
{
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static bool status_ok(enum skiff_status status, const struct skiff_error *err)
{
    if (status < 0)
        raise_file_error(err);
    return status >= 0;
}

static struct skiff_scope *scope_s(PyObject *o)
{
    return ((struct scope_object *)o)->s;
}

static struct skiff_program *program_p(PyObject *o)
{
    return ((struct program_object *)o)->p;
}

/* save_params and its like: (scope, program, dirname, filename=None). */
static PyObject *group(PyObject *args, PyObject *keywords, group_function f)
{
    PyObject *scope, *program, *dir_object;
    const char *filename = NULL;
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O|z",
                                     KEYWORDS("scope", "program", "dirname", "filename"),
                                     base_class[CLASS_SCOPE], &scope, base_class[CLASS_PROGRAM],
                                     &program, &dir_object, &filename))
        return NULL;
    const char *dir = path_of(&k, dir_object, "dirname");
    bool ok = dir != NULL;
    if (ok) {
        Py_BEGIN_ALLOW_THREADS;
        status = f(scope_s(scope), program_p(program), dir, filename, &err);
        Py_END_ALLOW_THREADS;
        ok = status_ok(status, &err);
    }
    keep_end(&k);
    return done(ok);
}

static PyObject *save_params(PyObject *self, PyObject *args, PyObject *keywords)
{
    return group(args, keywords, skiff_save_params);
}

static PyObject *load_params(PyObject *self, PyObject *args, PyObject *keywords)
{
    return group(args, keywords, skiff_load_params);
}

static PyObject *save_persistables(PyObject *self, PyObject *args, PyObject *keywords)
{
    return group(args, keywords, skiff_save_persistables);
}

static PyObject *load_persistables(PyObject *self, PyObject *args, PyObject *keywords)
{
    return group(args, keywords, skiff_load_persistables);
}

static PyObject *by_names(PyObject *args, PyObject *keywords, names_function f)
{
    PyObject *scope, *program, *list, *dir_object;
    const char *filename = NULL, **names;
    int n;
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!OO|z",
                                     KEYWORDS("scope", "program", "names", "dirname", "filename"),
                                     base_class[CLASS_SCOPE], &scope, base_class[CLASS_PROGRAM],
                                     &program, &list, &dir_object, &filename))
        return NULL;
    const char *dir = path_of(&k, dir_object, "dirname");
    bool ok = dir && names_of(&k, list, "names", &names, &n);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS;
        status = f(scope_s(scope), program_p(program), names, n, dir, filename, &err);
        Py_END_ALLOW_THREADS;
        ok = status_ok(status, &err);
    }
    keep_end(&k);
    return done(ok);
}

static PyObject *save_vars(PyObject *self, PyObject *args, PyObject *keywords)
{
    return by_names(args, keywords, skiff_save_vars);
}

static PyObject *load_vars(PyObject *self, PyObject *args, PyObject *keywords)
{
    return by_names(args, keywords, skiff_load_vars);
}

static PyObject *whole(PyObject *args, PyObject *keywords,
                       enum skiff_status (*f)(struct skiff_scope *, const struct skiff_program *,
                                              const char *, struct skiff_error *))
{
    PyObject *scope, *program, *object;
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "O!O!O", KEYWORDS("scope", "program", "prefix"),
            base_class[CLASS_SCOPE], &scope, base_class[CLASS_PROGRAM], &program, &object))
        return NULL;
    const char *prefix = path_of(&k, object, "prefix");
    bool ok = prefix != NULL;
    if (ok) {
        Py_BEGIN_ALLOW_THREADS;
        status = f(scope_s(scope), program_p(program), prefix, &err);
        Py_END_ALLOW_THREADS;
        ok = status_ok(status, &err);
    }
    keep_end(&k);
    return done(ok);
}

static PyObject *save(PyObject *self, PyObject *args, PyObject *keywords)
{
    return whole(args, keywords, skiff_save);
}

static PyObject *load(PyObject *self, PyObject *args, PyObject *keywords)
{
    return whole(args, keywords, skiff_load);
}

/* ---- inference models ---- */

static PyObject *save_inference(PyObject *args, PyObject *keywords, bool is_prefix)
{
    PyObject *scope, *program, *feeds, *targets, *object;
    struct skiff_model_files files = {0};
    const char **f, **t;
    int nf, nt;
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, is_prefix ? "O!O!OOO" : "O!O!OOO|zz",
            is_prefix ? KEYWORDS("scope", "program", "feeds", "targets", "prefix")
                      : KEYWORDS("scope", "program", "feeds", "targets", "dirname",
                                 "model_filename", "params_filename"),
            base_class[CLASS_SCOPE], &scope, base_class[CLASS_PROGRAM], &program, &feeds, &targets,
            &object, &files.model, &files.params))
        return NULL;
    const char *path = path_of(&k, object, is_prefix ? "prefix" : "dirname");
    bool ok =
        path && names_of(&k, feeds, "feeds", &f, &nf) && names_of(&k, targets, "targets", &t, &nt);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS;
        status = is_prefix ? skiff_save_inference_prefix(scope_s(scope), program_p(program), f, nf,
                                                         t, nt, path, &err)
                           : skiff_save_inference_files(scope_s(scope), program_p(program), f, nf,
                                                        t, nt, path, &files, &err);
        Py_END_ALLOW_THREADS;
        ok = status_ok(status, &err);
    }
    keep_end(&k);
    return done(ok);
}

static PyObject *save_inference_model(PyObject *self, PyObject *args, PyObject *keywords)
{
    return save_inference(args, keywords, false);
}

static PyObject *save_inference_prefix(PyObject *self, PyObject *args, PyObject *keywords)
{
    return save_inference(args, keywords, true);
}

static PyObject *model_parts(struct skiff_model *m)
{
    PyObject *program = program_wrap(skiff_program_clone(skiff_model_program(m)), NULL);
    PyObject *feeds = PyList_New(0), *targets = PyList_New(0);
    bool ok = program && feeds && targets;
    for (int i = 0; ok && i < skiff_model_feeds(m) + skiff_model_targets(m); i++) {
        int at = i - skiff_model_feeds(m);
        PyObject *s =
            PyUnicode_FromString(at < 0 ? skiff_model_feed(m, i) : skiff_model_target(m, at));
        ok = s && PyList_Append(at < 0 ? feeds : targets, s) == 0;
        Py_XDECREF(s);
    }
    PyObject *result = ok ? PyTuple_Pack(3, program, feeds, targets) : NULL;
    Py_XDECREF(program);
    Py_XDECREF(feeds);
    Py_XDECREF(targets);
    return result;
}

static PyObject *load_inference_model(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *scope, *object, *result = NULL;
    struct skiff_model_files files = {0};
    struct skiff_model *m = NULL;
    struct keep k = {0};
    struct skiff_error err;
    enum skiff_status status;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|zz",
                                     KEYWORDS("scope", "path", "model_filename", "params_filename"),
                                     &scope, &object, &files.model, &files.params))
        return NULL;
    if (scope != Py_None && !is_a(scope, CLASS_SCOPE)) {
        PyErr_SetString(PyExc_TypeError, "scope must be a Scope or None");
        return NULL;
    }
    const char *path = path_of(&k, object, "path");
    if (path) {
        struct skiff_scope *s = scope == Py_None ? NULL : scope_s(scope);
        Py_BEGIN_ALLOW_THREADS;
        status = skiff_load_inference_model(s, path, &files, &m, &err);
        Py_END_ALLOW_THREADS;
        if (status_ok(status, &err))
            result = model_parts(m);
        skiff_model_destroy(m);
    }
    keep_end(&k);
    return result;
}

/* {kind: [names]} */
static PyObject *parts_dict(const struct save_contents *c)
{
    PyObject *parts = PyDict_New();
    bool ok = parts != NULL;
    for (int i = 0; ok && i < c->nparts; i++) {
        PyObject *kind = PyUnicode_FromString(save_part_name(c->parts[i].kind));
        PyObject *name = PyUnicode_DecodeFSDefault(c->parts[i].name);
        PyObject *list = kind ? PyDict_GetItemWithError(parts, kind) : NULL;
        PyObject *fresh = kind && !list && !PyErr_Occurred() ? PyList_New(0) : NULL;
        ok = name && (list || (fresh && PyDict_SetItem(parts, kind, fresh) == 0)) &&
             PyList_Append(list ? list : fresh, name) == 0;
        Py_XDECREF(kind);
        Py_XDECREF(name);
        Py_XDECREF(fresh);
    }
    if (!ok)
        Py_CLEAR(parts);
    return parts;
}

/* What has that prefix, or else what is in the folder of that name. */
static enum skiff_status look_at(const char *path, struct save_contents *c, struct skiff_error *err)
{
    enum skiff_status status = save_open_prefix(c, path, err);
    if (status < 0 || c->nparts)
        return status;
    save_close(c);
    return save_open(c, path, err);
}

static PyObject *saved_parts(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *object, *result = NULL;
    struct save_contents c = {0};
    struct keep k = {0};
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("path"), &object))
        return NULL;
    const char *path = path_of(&k, object, "path");
    if (path && status_ok(UNLOCKED(look_at(path, &c, &err)), &err)) {
        PyObject *parts = parts_dict(&c);
        char *prefix = c.prefix ? path_join(c.dir, c.stem) : NULL;
        if (parts)
            result = Py_BuildValue("NN", parts,
                                   prefix ? PyUnicode_DecodeFSDefault(prefix)
                                          : (Py_INCREF(Py_None), Py_None));
        free(prefix);
    }
    save_close(&c);
    keep_end(&k);
    return result;
}

static PyObject *is_manifest(PyObject *self, PyObject *args, PyObject *keywords)
{
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("name"), &name))
        return NULL;
    return PyBool_FromLong(manifest_named(name));
}

static PyObject *remove_manifest(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *object;
    int prefix = 0;
    struct keep k = {0};
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p", KEYWORDS("path", "prefix"), &object,
                                     &prefix))
        return NULL;
    const char *path = path_of(&k, object, "path");
    bool ok = path && status_ok(UNLOCKED(prefix ? manifest_remove_prefix(path, &err)
                                                : manifest_remove(path, &err)),
                                &err);
    keep_end(&k);
    return done(ok);
}

/* ---- tensors and states ---- */

static PyObject *read_tensor(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *object, *result = NULL;
    struct skiff_tensor *t;
    struct keep k = {0};
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("path"), &object))
        return NULL;
    const char *path = path_of(&k, object, "path");
    if (path && status_ok(UNLOCKED(skiff_tensor_read(path, &t, &err)), &err))
        result = tensor_wrap(t);
    keep_end(&k);
    return result;
}

/* A C tensor with the value, the caller's; NULL with an exception. */
static struct skiff_tensor *tensor_from(PyObject *value)
{
    struct skiff_error err;
    struct skiff_tensor *t = skiff_tensor_create("float32", 1, &(int64_t){0}, &err);
    if (!t)
        raise_error(&err);
    else if (!tensor_assign(t, value, NULL)) {
        skiff_tensor_destroy(t);
        t = NULL;
    }
    return t;
}

static PyObject *write_tensor(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *object, *value;
    struct keep k = {0};
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", KEYWORDS("path", "tensor"), &object,
                                     &value))
        return NULL;
    const char *path = path_of(&k, object, "path");
    struct skiff_tensor *t = path ? tensor_from(value) : NULL;
    bool ok = t && status_ok(UNLOCKED(skiff_tensor_write(t, path, &err)), &err);
    skiff_tensor_destroy(t);
    keep_end(&k);
    return done(ok);
}

static PyObject *state_dict(const struct skiff_state *s)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < skiff_state_count(s); i++) {
        struct skiff_tensor *t;
        struct skiff_error err;
        bool ok = status_ok(skiff_state_get(s, i, &t, &err), &err);
        if (ok && !t)
            continue; /* a step counter and the like */
        PyObject *o = ok ? tensor_wrap(t) : NULL;
        if (!o || PyDict_SetItemString(dict, skiff_state_name(s, i), o) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(o);
    }
    return dict;
}

static PyObject *read_state(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *object, *result = NULL;
    struct skiff_state *s = NULL;
    struct keep k = {0};
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", KEYWORDS("path"), &object))
        return NULL;
    const char *path = path_of(&k, object, "path");
    if (path && status_ok(UNLOCKED(skiff_state_read(path, &s, &err)), &err))
        result = state_dict(s);
    skiff_state_destroy(s);
    keep_end(&k);
    return result;
}

static PyObject *read_saved(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *object, *list = NULL, *result = NULL;
    struct skiff_state *s = NULL;
    struct keep k = {0};
    struct skiff_error err;
    const char **names = NULL;
    int n = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O", KEYWORDS("path", "names"), &object,
                                     &list))
        return NULL;
    const char *path = path_of(&k, object, "path");
    bool ok = path && (!list || names_of(&k, list, "names", &names, &n));
    if (ok)
        ok = status_ok(UNLOCKED(list ? skiff_state_read_files(path, names, n, &s, &err)
                                     : skiff_state_read_prefix(path, &s, &err)),
                       &err);
    if (ok)
        result = state_dict(s);
    skiff_state_destroy(s);
    keep_end(&k);
    return result;
}

static PyObject *write_state(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *object, *state;
    struct keep k = {0};
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", KEYWORDS("path", "state"), &object,
                                     &state))
        return NULL;
    const char *path = path_of(&k, object, "path");
    PyObject *items = path ? PyMapping_Items(state) : NULL;
    struct skiff_state *s = skiff_state_create();
    bool ok = items != NULL;
    for (Py_ssize_t i = 0; ok && i < PyList_Size(items); i++) {
        PyObject *pair = PyList_GetItem(items, i);
        const char *name = text_of(PyTuple_GetItem(pair, 0), "a name");
        struct skiff_tensor *t = name ? tensor_from(PyTuple_GetItem(pair, 1)) : NULL;
        ok = t && status_ok(skiff_state_set(s, name, t, &err), &err);
        skiff_tensor_destroy(t);
    }
    ok = ok && status_ok(UNLOCKED(skiff_state_write(s, path, &err)), &err);
    skiff_state_destroy(s);
    Py_XDECREF(items);
    keep_end(&k);
    return done(ok);
}

static PyMethodDef functions[] = {
    METHOD("save_params", save_params, "Parameters into a folder or one file."),
    METHOD("load_params", load_params, "Parameters of a folder or one file."),
    METHOD("save_persistables", save_persistables, "Persistable variables into a folder or file."),
    METHOD("load_persistables", load_persistables, "Persistable variables of a folder or file."),
    METHOD("save_vars", save_vars, "The named variables."),
    METHOD("load_vars", load_vars, "The named variables."),
    METHOD("save", save, "fluid.save: PREFIX.pdparams, .pdopt, .pdmodel."),
    METHOD("load", load, "fluid.load."),
    METHOD("save_inference_model", save_inference_model, "A folder with __model__ and parameters."),
    METHOD("save_inference_prefix", save_inference_prefix, "PREFIX.pdmodel and PREFIX.pdiparams."),
    METHOD("load_inference_model", load_inference_model, "(program, feed names, target names)."),
    METHOD("saved_parts", saved_parts, "What lies under a prefix, or in a folder."),
    METHOD("is_manifest", is_manifest, "Is it the name of a manifest?"),
    METHOD("remove_manifest", remove_manifest, "Of a folder, or of the files of a prefix."),
    METHOD("read_tensor", read_tensor, "A tensor file."),
    METHOD("write_tensor", write_tensor, "Writes a tensor file."),
    METHOD("read_state", read_state, "The tensors of a .pdparams or .pdopt file."),
    METHOD("read_saved", read_saved,
           "The tensors of PREFIX.pdparams and PREFIX.pdopt, or of files in a folder, of one "
           "save."),
    METHOD("write_state", write_state, "Writes a .pdparams or .pdopt file."),
    {0}};

bool io_init(PyObject *m)
{
    return module_functions(m, functions);
}
