/* Remote files: src/fs, for fleet.utils.HDFSClient and datasets. Settings are None (those of the
 * process) or (uri, user, passwd, hadoop_bin, options).
 *
 * All calls wait for a network and release the interpreter lock. A path that is not there is a
 * FileNotFoundError, like that of open(). */
#include "native.h"

#include <string.h>

#include "base/buf.h"
#include "fs/fs.h"

static bool set_text(char *to, size_t cap, PyObject *from, const char *what)
{
    const char *text = text_of(from, what);
    if (!text)
        return false;
    if (strlen(text) >= cap) {
        PyErr_Format(PyExc_ValueError, "%s has %zu letters; at most %zu", what, strlen(text),
                     cap - 1);
        return false;
    }
    memcpy(to, text, strlen(text) + 1);
    return true;
}

static bool settings_of(PyObject *o, struct fs_settings *s, const struct fs_settings **out)
{
    *out = NULL;
    if (!o || o == Py_None)
        return true;
    if (!PyTuple_Check(o) || PyTuple_Size(o) != 5) {
        PyErr_SetString(PyExc_TypeError,
                        "settings must be (uri, user, passwd, hadoop_bin, options)");
        return false;
    }
    *s = (struct fs_settings){{0}};
    *out = s;
    return set_text(s->uri, sizeof s->uri, PyTuple_GetItem(o, 0), "uri") &&
           set_text(s->user, sizeof s->user, PyTuple_GetItem(o, 1), "user") &&
           set_text(s->passwd, sizeof s->passwd, PyTuple_GetItem(o, 2), "passwd") &&
           set_text(s->hadoop_bin, sizeof s->hadoop_bin, PyTuple_GetItem(o, 3), "hadoop_bin") &&
           set_text(s->options, sizeof s->options, PyTuple_GetItem(o, 4), "options");
}

/* path, perhaps another text, settings: what most functions take. */
struct fs_call {
    const char *path, *other;
    struct fs_settings capacity;
    const struct fs_settings *settings;
    struct skiff_error err;
};

static bool parse(struct fs_call *c, PyObject *args, PyObject *keywords, bool two)
{
    PyObject *settings = NULL;
    bool good = two ? PyArg_ParseTupleAndKeywords(args, keywords, "ss|O",
                                                  KEYWORDS("path", "other", "settings"), &c->path,
                                                  &c->other, &settings)
                    : PyArg_ParseTupleAndKeywords(
                          args, keywords, "s|O", KEYWORDS("path", "settings"), &c->path, &settings);
    return good && settings_of(settings, &c->capacity, &c->settings);
}

static PyObject *finish(struct fs_call *c, enum skiff_status status)
{
    if (status < 0)
        return raise_file_error(&c->err);
    Py_RETURN_NONE;
}

static PyObject *configure(PyObject *self, PyObject *args, PyObject *keywords)
{
    const char *kind, *name, *ugi, *bin = "";
    struct fs_settings s;
    struct skiff_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sss|s",
                                     KEYWORDS("kind", "fs_name", "fs_ugi", "hadoop_bin"), &kind,
                                     &name, &ugi, &bin))
        return NULL;
    if (fs_settings_parse(&s, name, ugi, &err) < 0 || fs_settings_hadoop(&s, bin, &err) < 0 ||
        fs_configure(kind, &s, &err) < 0)
        return raise_error(&err);
    Py_RETURN_NONE;
}

static PyObject *is_remote(PyObject *self, PyObject *args, PyObject *keywords)
{
    const char *path;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", KEYWORDS("path"), &path))
        return NULL;
    return PyBool_FromLong(fs_is_remote(path));
}

static PyObject *kind(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    struct fs f;
    if (!parse(&c, args, keywords, false))
        return NULL;
    if (fs_of(c.settings, c.path, &f, &c.err) < 0)
        return raise_error(&c.err);
    return Py_BuildValue("sO", f.class->name, f.class->rename_is_atomic ? Py_True : Py_False);
}

static PyObject *look(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    struct fs_stat st;
    enum skiff_status status;
    if (!parse(&c, args, keywords, false))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = fs_look(c.settings, c.path, &st, &c.err);
    Py_END_ALLOW_THREADS;
    if (status == SKIFF_OK)
        return Py_BuildValue("OLL", st.folder ? Py_True : Py_False, (long long)st.size,
                             (long long)st.mtime);
    if (status != SKIFF_NOT_FOUND)
        return raise_error(&c.err);
    Py_RETURN_NONE;
}

/* [(path, folder, size, mtime)]; takes the list over. */
static PyObject *entries_of(struct fs_list *l)
{
    PyObject *out = PyList_New(0);
    for (int i = 0; out && i < l->count; i++) {
        const struct fs_entry *e = &l->entries[i];
        PyObject *path = PyUnicode_DecodeFSDefault(e->path);
        PyObject *one = path ? Py_BuildValue("NOLL", path, e->stat.folder ? Py_True : Py_False,
                                             (long long)e->stat.size, (long long)e->stat.mtime)
                             : NULL;
        if (!one || PyList_Append(out, one) < 0)
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    fs_list_deinit(l);
    return out;
}

static PyObject *list(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    struct fs_list l = {0};
    enum skiff_status status;
    if (!parse(&c, args, keywords, false))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = strpbrk(c.path, "*?[") ? fs_glob(c.settings, c.path, &l, &c.err)
                                    : fs_list(c.settings, c.path, &l, &c.err);
    Py_END_ALLOW_THREADS;
    if (status == SKIFF_OK)
        return entries_of(&l);
    fs_list_deinit(&l);
    return raise_file_error(&c.err);
}

static PyObject *mkdirs(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    enum skiff_status status;
    if (!parse(&c, args, keywords, false))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = fs_mkdirs(c.settings, c.path, &c.err);
    Py_END_ALLOW_THREADS;
    return finish(&c, status);
}

static PyObject *remove_path(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    enum skiff_status status;
    if (!parse(&c, args, keywords, false))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = fs_remove(c.settings, c.path, &c.err);
    Py_END_ALLOW_THREADS;
    return finish(&c, status);
}

static PyObject *rename_path(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    enum skiff_status status;
    if (!parse(&c, args, keywords, true))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = fs_rename(c.settings, c.path, c.other, &c.err);
    Py_END_ALLOW_THREADS;
    return finish(&c, status);
}

static PyObject *copy(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    enum skiff_status status;
    if (!parse(&c, args, keywords, true))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = fs_copy(c.settings, c.path, c.other, NULL, &c.err);
    Py_END_ALLOW_THREADS;
    return finish(&c, status);
}

/* A complete file into new memory. */
static enum skiff_status read_all(struct fs_call *c, struct buf *out)
{
    struct fs_reader *r;
    size_t got = 1;
    TRY(fs_open(c->settings, c->path, NULL, &r, &c->err));
    enum skiff_status status = SKIFF_OK;
    while (status == SKIFF_OK && got) {
        buf_reserve(out, 65536);
        status = fs_read(r, out->data + out->len, 65536, &got, &c->err);
        if (status == SKIFF_OK)
            out->len += got;
    }
    fs_close(r);
    return status;
}

static PyObject *read_file(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    struct buf bytes = BUF_INIT;
    enum skiff_status status;
    if (!parse(&c, args, keywords, false))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = read_all(&c, &bytes);
    Py_END_ALLOW_THREADS;
    PyObject *out = status < 0 ? raise_file_error(&c.err)
                               : PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.len);
    buf_deinit(&bytes);
    return out;
}

static enum skiff_status read_start(struct fs_call *c, char *out, size_t *n)
{
    struct fs_reader *r;
    size_t want = *n, got = 1;
    *n = 0;
    TRY(fs_open(c->settings, c->path, NULL, &r, &c->err));
    enum skiff_status status = SKIFF_OK;
    for (; status == SKIFF_OK && got && *n < want; *n += got)
        status = fs_read(r, out + *n, want - *n, &got, &c->err);
    fs_close(r);
    return status;
}

static PyObject *start_of(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    char start[64];
    size_t n = sizeof start;
    enum skiff_status status;
    if (!parse(&c, args, keywords, false))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = read_start(&c, start, &n);
    Py_END_ALLOW_THREADS;
    return status < 0 ? raise_file_error(&c.err) : PyBytes_FromStringAndSize(start, (Py_ssize_t)n);
}

static PyObject *write_file(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct fs_call c;
    struct fs_writer *w = NULL;
    PyObject *settings = NULL;
    const char *bytes;
    Py_ssize_t n;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sy#|O", KEYWORDS("path", "bytes", "settings"),
                                     &c.path, &bytes, &n, &settings) ||
        !settings_of(settings, &c.capacity, &c.settings))
        return NULL;
    enum skiff_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = fs_create(c.settings, c.path, &w, &c.err);
    if (status == SKIFF_OK)
        status = fs_write(w, bytes, (size_t)n, &c.err);
    if (status == SKIFF_OK)
        status = fs_commit(w, &c.err);
    else
        fs_abort(w);
    Py_END_ALLOW_THREADS;
    return finish(&c, status);
}

static PyMethodDef functions[] = {
    METHOD("fs_configure", configure, "Settings of the process for \"hdfs\" or \"s3\"."),
    METHOD("fs_kind", kind, "(name of the file system of a path, is its rename atomic)."),
    METHOD("fs_is_remote", is_remote, "Is it a path of another machine?"),
    METHOD("fs_look", look, "(folder, size, mtime), or None: nothing is there."),
    METHOD("fs_list", list, "[(path, folder, size, mtime)] of a folder or a pattern."),
    METHOD("fs_mkdirs", mkdirs, "Makes a folder, and those above."),
    METHOD("fs_remove", remove_path, "Removes a file, or a folder with all in it."),
    METHOD("fs_rename", rename_path, "Renames within one file system."),
    METHOD("fs_copy", copy, "Copies a file or a folder, from anywhere to anywhere."),
    METHOD("fs_read", read_file, "The bytes of a file."),
    METHOD("fs_start", start_of, "Its first 64 bytes, or all when it has fewer."),
    METHOD("fs_write", write_file, "A file of these bytes: completely, or not at all."),
    {0}};

bool fs_init(PyObject *m)
{
    return module_functions(m, functions);
}
