/* Folders of files that belong together.
 *
 * They are written into a temporary folder. A new folder then appears by one rename. In a folder
 * that is there already files are moved one by one, because it may hold other things that are not
 * ours to touch; the caller adds the program file last, so that whoever sees a new program sees its
 * parameters. The temporary folder is put where a rename can work: beside a new folder, inside an
 * existing one.
 *
 * Names come from programs, which come from files: one that would lead out of the folder is
 * refused. */
#include "store/model_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/file.h"
#include "store/tensor_file.h"

enum skiff_status model_name_check(const char *name, struct skiff_error *err)
{
    for (const char *part = name;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return error_set(err, SKIFF_INVALID,
                             "'%s' cannot be the name of a file in a model folder: a name must not "
                             "be empty, start with '/' or hold '.', '..' or empty parts",
                             name);
        part += n;
        if (!*part)
            return SKIFF_OK;
    }
}

struct named {
    const char *name;
    int at;
};

static int named_compare(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (x->at > y->at) - (x->at < y->at);
}

void model_name_order(int n, const char *const *names, int *order)
{
    struct named *list = mem_must(sizeof *list * (size_t)(n + 1));
    for (int i = 0; i < n; i++)
        list[i] = (struct named){names[i], i};
    qsort(list, (size_t)n, sizeof *list, named_compare);
    for (int i = 0; i < n; i++)
        order[i] = list[i].at;
    free(list);
}

static char *path_join(const char *dir, const char *name)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/%s", dir, name);
    return b.data;
}

/* ------------------------------------------------------------------ writing */

static char *strip_slashes(const char *dir)
{
    char *s = mem_must_strdup(*dir ? dir : ".");
    for (size_t n = strlen(s); n > 1 && s[n - 1] == '/'; n--)
        s[n - 1] = 0;
    return s;
}

enum skiff_status model_writer_open(struct model_writer *w, const char *dir,
                                    struct skiff_error *err)
{
    static unsigned serial;
    unsigned mine = __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
    char *target = strip_slashes(dir);
    struct buf temp = BUF_INIT;
    bool fresh = !file_exists(target);
    enum skiff_status status = SKIFF_OK;
    if (!fresh && !file_is_dir(target))
        status = error_set(err, SKIFF_IO, "cannot write the model folder %s: it is a file", target);
    if (fresh && status == SKIFF_OK)
        status = file_make_parents(target, err);
    /* Inside an existing folder: its parent may be another file system, or not ours to write. */
    buf_printf(&temp, fresh ? "%s.tmp.%ld.%u" : "%s/.tmp.%ld.%u", target, (long)getpid(), mine);
    if (status == SKIFF_OK && mkdir(temp.data, 0777) < 0)
        status = error_set_sys(err, "cannot write the model folder %s", target);
    if (status < 0) {
        free(target);
        buf_deinit(&temp);
        return status;
    }
    *w = (struct model_writer){.dir = target, .temp = temp.data, .fresh = fresh};
    return SKIFF_OK;
}

enum skiff_status model_writer_add(struct model_writer *w, const char *name, char **out_path,
                                   struct skiff_error *err)
{
    TRY(model_name_check(name, err));
    for (int i = 0; i < w->nfiles; i++)
        if (!strcmp(w->files[i], name))
            return error_set(err, SKIFF_INVALID, "%s: two things want the file name '%s'", w->dir,
                             name);
    if (w->nfiles == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 32;
        w->files = mem_must_grow(w->files, sizeof *w->files * (size_t)w->cap);
    }
    w->files[w->nfiles++] = mem_must_strdup(name);
    *out_path = path_join(w->temp, name);
    return SKIFF_OK;
}

enum skiff_status model_writer_value(struct model_writer *w, const char *name,
                                     const struct skiff_tensor *v, struct skiff_error *err)
{
    char *path;
    TRY(model_writer_add(w, name, &path, err));
    enum skiff_status status = value_file_write(path, v, err);
    free(path);
    return status;
}

enum skiff_status model_write_combined(const char *path, int n, const char *const *names,
                                       const struct skiff_tensor *const *values,
                                       struct skiff_error *err)
{
    for (int i = 0; i < n; i++)
        if (values[i]->kind != VALUE_TENSOR)
            return error_set(err, SKIFF_STATE,
                             "cannot save %s: variable %s holds %s, expected a tensor (a combined "
                             "file has room for nothing else)",
                             path, names[i],
                             values[i]->kind == VALUE_NONE   ? "no value yet"
                             : values[i]->kind == VALUE_ROWS ? "selected rows"
                                                             : "a list of values");
    int *order = mem_must(sizeof *order * (size_t)(n + 1));
    const struct tensor **tensors = mem_must(sizeof *tensors * (size_t)(n + 1));
    model_name_order(n, names, order);
    for (int i = 0; i < n; i++)
        tensors[i] = &values[order[i]]->tensor;
    enum skiff_status status = combined_file_write(path, n, tensors, err);
    free(tensors);
    free(order);
    return status;
}

enum skiff_status model_writer_combined(struct model_writer *w, const char *file, int n,
                                        const char *const *names,
                                        const struct skiff_tensor *const *values,
                                        struct skiff_error *err)
{
    char *path;
    TRY(model_writer_add(w, file, &path, err));
    enum skiff_status status = model_write_combined(path, n, names, values, err);
    free(path);
    return status;
}

enum skiff_status model_writer_bytes(struct model_writer *w, const char *file, const void *bytes,
                                     size_t n, struct skiff_error *err)
{
    char *path;
    TRY(model_writer_add(w, file, &path, err));
    enum skiff_status status = file_write(path, bytes, n, err);
    free(path);
    return status;
}

/* Moves each file into the folder that is there already. */
static enum skiff_status writer_move_files(struct model_writer *w, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < w->nfiles && status == SKIFF_OK; i++) {
        char *from = path_join(w->temp, w->files[i]), *to = path_join(w->dir, w->files[i]);
        status = file_make_parents(to, err);
        if (status == SKIFF_OK && rename(from, to) < 0)
            status = error_set_sys(err, "cannot write %s", to);
        free(from);
        free(to);
    }
    return status;
}

enum skiff_status model_writer_commit(struct model_writer *w, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    /* The folder may have come into being meanwhile: then it is filled file by file. */
    if (!w->fresh || (rename(w->temp, w->dir) < 0 && file_is_dir(w->dir)))
        status = writer_move_files(w, err);
    else if (!file_is_dir(w->dir))
        status = error_set_sys(err, "cannot write the model folder %s", w->dir);
    model_writer_close(w);
    return status;
}

static void tree_remove(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        char *path = path_join(dir, e->d_name);
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            tree_remove(path);
        else
            unlink(path);
        free(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

void model_writer_close(struct model_writer *w)
{
    if (w->temp)
        tree_remove(w->temp);
    for (int i = 0; i < w->nfiles; i++)
        free(w->files[i]);
    free(w->files);
    free(w->temp);
    free(w->dir);
    *w = (struct model_writer){0};
}

/* ------------------------------------------------------------------ reading */

/* Hands over what was read, or drops it. */
static enum skiff_status values_finish(enum skiff_status status, int n, struct skiff_tensor *read,
                                       struct skiff_tensor *out)
{
    for (int i = 0; i < n; i++) {
        if (status == SKIFF_OK) {
            value_deinit(&out[i]);
            out[i] = read[i];
        } else {
            value_deinit(&read[i]);
        }
    }
    free(read);
    return status;
}

enum skiff_status model_read_separate(const char *dir, int n, const char *const *names,
                                      struct skiff_tensor *out, struct skiff_error *err)
{
    struct skiff_tensor *read = mem_must(sizeof *read * (size_t)(n + 1));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && status == SKIFF_OK; i++) {
        status = model_name_check(names[i], err);
        if (status < 0)
            break;
        char *path = path_join(dir, names[i]);
        status = value_file_read(path, &read[i], err);
        if (status < 0)
            error_prefix(err, status, "variable %s", names[i]);
        free(path);
    }
    return values_finish(status, n, read, out);
}

enum skiff_status model_read_combined(const char *path, int n, const char *const *names,
                                      struct skiff_tensor *out, struct skiff_error *err)
{
    struct skiff_tensor *read = mem_must(sizeof *read * (size_t)(n + 1));
    int *order = mem_must(sizeof *order * (size_t)(n + 1));
    struct tensor **tensors = mem_must(sizeof *tensors * (size_t)(n + 1));
    const char **sorted = mem_must(sizeof *sorted * (size_t)(n + 1));
    model_name_order(n, names, order);
    for (int i = 0; i < n; i++) {
        tensors[i] = &read[order[i]].tensor;
        sorted[i] = names[order[i]];
        read[i].kind = VALUE_TENSOR;
    }
    enum skiff_status status = combined_file_read_named(path, n, sorted, tensors, err);
    free(sorted);
    free(tensors);
    free(order);
    return values_finish(status, n, read, out);
}
