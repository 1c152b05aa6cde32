/* Model folders: what they contain. How a save is committed is in model_commit.c.
 *
 * Names come from program files, which are not trusted: a name that would lead out of the folder is
 * refused. */
#include "store/model_dir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "fs/fs.h"
#include "store/stale_file.h"
#include "store/model_commit.h"
#include "store/pickle.h"
#include "store/tensor_file.h"

#define READ_TRIES 20

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
    struct named *list = mem_alloc_or_die(sizeof *list * (size_t)(n + 1));
    for (int i = 0; i < n; i++)
        list[i] = (struct named){names[i], i};
    qsort(list, (size_t)n, sizeof *list, named_compare);
    for (int i = 0; i < n; i++)
        order[i] = list[i].at;
    free(list);
}

/* ------------------------------------------------------------------ writing */

static char *strip_slashes(const char *dir)
{
    char *s = mem_strdup_or_die(*dir ? dir : ".");
    for (size_t n = strlen(s); n > 1 && s[n - 1] == '/' && s[n - 2] != ':';
         n--) /* the slash of hdfs:/ stays */
        s[n - 1] = 0;
    return s;
}

/* Removes stale temporary files next to the folder and in it. */
static enum skiff_status clean_up(const char *dir, bool fresh, struct skiff_error *err)
{
    if (fs_is_remote(dir)) /* remote: done by the commit */
        return SKIFF_OK;
    char *parent = path_parent(dir);
    stale_file_remove(parent);
    free(parent);
    if (fresh)
        return SKIFF_OK;
    stale_file_remove(dir);
    return model_recover(dir, err);
}

/* Inside an existing folder: its parent may be another file system, or not writable. The lock
 * prevents another process from replacing the folder meanwhile. */
static enum skiff_status temp_create(struct model_writer *w, struct skiff_error *err)
{
    int lock = -1;
    if (w->remote)
        return remote_temp(w, err);
    if (!w->fresh)
        TRY(commit_lock(w->dir, &lock, err));
    enum skiff_status status = stale_file_create_dir(w->dir, !w->fresh, &w->temp, &w->lock, err);
    if (lock >= 0)
        lock_close(lock);
    return status;
}

/* Does the folder exist? One call decides: another process may create it at the same time. */
static enum skiff_status look_at_target(const char *dir, bool *fresh, struct skiff_error *err)
{
    struct stat st;
    *fresh = lstat(dir, &st) != 0;
    if (*fresh)
        return SKIFF_OK;
    if (S_ISLNK(st.st_mode) && stat(dir, &st) != 0)
        return error_set(err, SKIFF_IO, "cannot write the model folder %s: it is a link to nowhere",
                         dir);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, SKIFF_IO, "cannot write the model folder %s: it is a file", dir);
    return SKIFF_OK;
}

static enum skiff_status writer_open(struct model_writer *w, char *dir, char *manifest,
                                     struct skiff_error *err)
{
    *w = (struct model_writer){
        .dir = dir, .manifest = manifest, .lock = -1, .remote = fs_is_remote(dir)};
    enum skiff_status status = w->remote ? SKIFF_OK : look_at_target(dir, &w->fresh, err);
    if (w->fresh && status == SKIFF_OK)
        status = file_make_parents(dir, err);
    if (status == SKIFF_OK)
        status = clean_up(dir, w->fresh, err);
    if (status == SKIFF_OK)
        status = temp_create(w, err);
    if (status < 0)
        model_writer_close(w);
    return status;
}

enum skiff_status model_writer_open(struct model_writer *w, const char *dir,
                                    struct skiff_error *err)
{
    return writer_open(w, strip_slashes(dir), mem_strdup_or_die(MANIFEST_FILE), err);
}

enum skiff_status model_writer_open_prefix(struct model_writer *w, const char *prefix,
                                           struct skiff_error *err)
{
    const char *slash = strrchr(prefix, '/');
    struct buf manifest = BUF_INIT;
    buf_printf(&manifest, "%s" MANIFEST_ENDING, slash ? slash + 1 : prefix);
    return writer_open(w, path_parent(prefix), manifest.data, err);
}

void model_writer_describe(struct model_writer *w, const struct model_info *note)
{
    w->contents.note = *note;
}

void model_writer_replace(struct model_writer *w, const char *drop)
{
    w->replaces = true;
    w->drop = drop;
}

bool model_writer_has(const struct model_writer *w, const char *file)
{
    return manifest_find(&w->contents, file) != NULL;
}

static enum skiff_status writer_name(struct model_writer *w, const char *name,
                                     struct manifest_file **out, struct skiff_error *err)
{
    TRY(model_name_check(name, err));
    if (manifest_named(name) || stale_file_named(name) || !strncmp(name, ".skiff-", 7))
        return error_set(err, SKIFF_INVALID,
                         "%s: '%s' cannot be the name of a file there: such names are for files of "
                         "Skiff's own",
                         w->dir, name);
    if (model_writer_has(w, name))
        return error_set(err, SKIFF_INVALID, "%s: two things want the file name '%s'", w->dir,
                         name);
    *out = manifest_add(&w->contents, name);
    return SKIFF_OK;
}

enum skiff_status model_writer_file(struct model_writer *w, const char *name,
                                    struct file_writer *out, struct skiff_error *err)
{
    struct manifest_file *f = NULL;
    TRY(writer_name(w, name, &f, err));
    char *path = path_join(w->temp, name), *target = path_join(w->dir, name);
    enum skiff_status status = file_writer_open_exclusive(out, path, target, &f->sum, err);
    free(path);
    free(target);
    return status;
}

enum skiff_status model_writer_value(struct model_writer *w, const char *name,
                                     const struct skiff_tensor *v, struct skiff_error *err)
{
    struct file_writer file;
    TRY(model_writer_file(w, name, &file, err));
    return file_writer_end(&file, value_write(&file, v, err), err);
}

static enum skiff_status combined_write_named(struct file_writer *w, int n,
                                              const char *const *names,
                                              const struct skiff_tensor *const *values,
                                              struct skiff_error *err)
{
    for (int i = 0; i < n; i++)
        if (values[i]->kind != VALUE_TENSOR)
            return error_set(err, SKIFF_STATE,
                             "cannot save %s: variable %s holds %s, expected a tensor (a combined "
                             "file can hold nothing else)",
                             w->path, names[i],
                             values[i]->kind == VALUE_NONE   ? "no value yet"
                             : values[i]->kind == VALUE_ROWS ? "selected rows"
                                                             : "a list of values");
    int *order = mem_alloc_or_die(sizeof *order * (size_t)(n + 1));
    const struct tensor **tensors = mem_alloc_or_die(sizeof *tensors * (size_t)(n + 1));
    model_name_order(n, names, order);
    for (int i = 0; i < n; i++)
        tensors[i] = &values[order[i]]->tensor;
    enum skiff_status status = combined_write(w, n, tensors, err);
    free(tensors);
    free(order);
    return status;
}

enum skiff_status model_writer_combined(struct model_writer *w, const char *file, int n,
                                        const char *const *names,
                                        const struct skiff_tensor *const *values,
                                        struct skiff_error *err)
{
    struct file_writer out;
    TRY(model_writer_file(w, file, &out, err));
    return file_writer_end(&out, combined_write_named(&out, n, names, values, err), err);
}

enum skiff_status model_writer_pickle(struct model_writer *w, const char *file,
                                      const struct state *state, struct skiff_error *err)
{
    struct file_writer out;
    TRY(model_writer_file(w, file, &out, err));
    return file_writer_end(&out, pickle_write(&out, state, err), err);
}

enum skiff_status model_writer_bytes(struct model_writer *w, const char *file, const void *bytes,
                                     size_t n, struct skiff_error *err)
{
    struct file_writer out;
    TRY(model_writer_file(w, file, &out, err));
    return file_writer_end(&out, file_writer_add(&out, bytes, n, err), err);
}

/* For files that the caller has written without a model_writer. */
static enum skiff_status sums_complete(struct model_writer *w, struct skiff_error *err)
{
    for (int i = 0; i < w->contents.n; i++) {
        struct manifest_file *f = w->contents.files[i];
        if (file_sum_known(&f->sum))
            continue;
        char *path = path_join(w->temp, f->name);
        enum skiff_status status = file_sum_of(path, true, &f->sum, err);
        free(path);
        TRY(status);
    }
    return SKIFF_OK;
}

enum skiff_status model_writer_commit(struct model_writer *w, struct skiff_error *err)
{
    enum skiff_status status = sums_complete(w, err);
    if (status == SKIFF_OK)
        status = commit_move(w, err);
    if (status == SKIFF_OK && w->drop && !w->remote) {
        char *path = path_join(w->dir, w->drop);
        file_remove_tree(path);
        free(path);
    }
    model_writer_close(w);
    return status;
}

void model_writer_close(struct model_writer *w)
{
    if (w->temp)
        file_remove_tree(w->temp);
    if (w->lock >= 0)
        lock_close(w->lock);
    manifest_deinit(&w->contents);
    folder_view_deinit(&w->view);
    free(w->manifest);
    free(w->temp);
    free(w->dir);
    *w = (struct model_writer){.lock = -1};
}

/* ------------------------------------------------------------------ the manifest */

enum skiff_status model_view_open(const char *dir, struct folder_view *out, struct skiff_error *err)
{
    struct fs_list in = {0};
    bool remote = fs_is_remote(dir);
    TRY(remote ? remote_recover(dir, &in, err) : model_recover(dir, err));
    folder_view_init(out, dir, remote ? &in : NULL);
    return SKIFF_OK;
}

/* Finds the manifest of a folder, or of a prefix, and the folder. */
static enum skiff_status manifest_find_read(const char *dir, struct manifest *out,
                                            struct folder_view *v, struct skiff_error *err)
{
    struct buf name = BUF_INIT;
    char *base = strip_slashes(dir);
    *v = (struct folder_view){0}; /* a folder that cannot be listed leaves it so */
    enum skiff_status status = model_view_open(base, v, err);
    bool prefix = status == SKIFF_OK && (v->listed ? !v->in.count : !file_is_dir(dir));
    if (prefix) {
        folder_view_deinit(v);
        free(base);
        base = path_parent(dir);
        status = model_view_open(base, v, err);
        buf_printf(&name, "%s" MANIFEST_ENDING, strrchr(dir, '/') ? strrchr(dir, '/') + 1 : dir);
    }
    if (status == SKIFF_OK)
        status = folder_view_read(v, prefix ? name.data : folder_view_manifest(v), out, err);
    if (status < 0)
        folder_view_deinit(v);
    buf_deinit(&name);
    free(base);
    return status;
}

enum skiff_status model_info_read(const char *dir, struct model_info *out, struct skiff_error *err)
{
    struct manifest m = MANIFEST_INIT;
    struct folder_view v;
    TRY(manifest_find_read(dir, &m, &v, err));
    *out = m.note;
    manifest_deinit(&m);
    folder_view_deinit(&v);
    return SKIFF_OK;
}

/* A listed file must exist. */
static enum skiff_status listed_check(const struct folder_view *v, const char *name,
                                      const struct file_sum *want, struct skiff_error *err)
{
    if (!file_sum_known(want) || folder_view_has(v, name))
        return SKIFF_OK;
    return error_set(err, SKIFF_NOT_FOUND,
                     "%s/%s is missing, its manifest lists it with %lld bytes: the model is "
                     "incomplete; use an older one or, if the file was removed on purpose, "
                     "remove " MANIFEST_WHICH,
                     v->dir, name, (long long)want->bytes);
}

/* sums: also reads each file. Not on remote storage, where an upload is all or nothing: checking
 * would mean a download, and loading compares anyway. */
static enum skiff_status file_check(const struct folder_view *v, const char *name,
                                    const struct file_sum *want, bool sums, struct skiff_error *err)
{
    struct file_sum found = *want;
    const struct fs_entry *e = folder_view_entry(v, name);
    struct fs_stat st;
    TRY(listed_check(v, name, want, err));
    char *path = path_join(v->dir, name);
    enum skiff_status status = SKIFF_OK;
    if (sums && !v->listed)
        status = file_sum_of(path, false, &found, err);
    else if (e || fs_look(NULL, path, &st, NULL) == SKIFF_OK)
        found.bytes = e ? e->stat.size : st.size;
    if (status == SKIFF_OK)
        status = file_sum_compare(path, want, &found, err);
    free(path);
    return status;
}

enum skiff_status model_view_check(const struct folder_view *v, const struct manifest *m, bool sums,
                                   struct skiff_error *err)
{
    for (int i = 0; i < m->n; i++)
        TRY(file_check(v, m->files[i]->name, &m->files[i]->sum, sums, err));
    return SKIFF_OK;
}

static enum skiff_status check(const char *dir, bool sums, struct model_info *out,
                               struct skiff_error *err)
{
    struct manifest m = MANIFEST_INIT;
    struct folder_view v;
    TRY(manifest_find_read(dir, &m, &v, err));
    enum skiff_status status = model_view_check(&v, &m, sums, err);
    if (status == SKIFF_OK)
        *out = m.note;
    manifest_deinit(&m);
    folder_view_deinit(&v);
    return status;
}

enum skiff_status model_check(const char *dir, struct model_info *out, struct skiff_error *err)
{
    return check(dir, true, out, err);
}

enum skiff_status model_check_sizes(const char *dir, struct model_info *out,
                                    struct skiff_error *err)
{
    return check(dir, false, out, err);
}

static enum skiff_status release_from(const char *dir, const char *manifest, const char *file,
                                      struct skiff_error *err)
{
    struct manifest m = MANIFEST_INIT;
    struct buf text = BUF_INIT;
    bool there;
    char *path = path_join(dir, manifest);
    enum skiff_status status = manifest_read(path, &m, &there, err);
    if (status == SKIFF_OK && manifest_find(&m, file)) {
        manifest_drop(&m, file);
        manifest_encode(&m, &text);
        status = file_write(path, text.data, text.len, err);
    }
    buf_deinit(&text);
    manifest_deinit(&m);
    free(path);
    return status;
}

/* Under the lock: two files written at the same time must both be removed from the list. */
enum skiff_status model_file_close(const char *path, struct skiff_error *err)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    char *dir = path_parent(path), *of_prefix = manifest_of_file(file);
    struct folder_view v = {0};
    int lock = -1;
    enum skiff_status status = model_view_open(dir, &v, err);
    bool prefix = status == SKIFF_OK && of_prefix && folder_view_has(&v, of_prefix);
    bool folder = status == SKIFF_OK && folder_view_has(&v, folder_view_manifest(&v));
    if (prefix || folder)
        status = commit_lock(dir, &lock, err);
    if (prefix && status == SKIFF_OK)
        status = release_from(dir, of_prefix, file, err);
    if (folder && status == SKIFF_OK)
        status = release_from(dir, folder_view_manifest(&v), file, err);
    if (lock >= 0)
        lock_close(lock);
    folder_view_deinit(&v);
    free(of_prefix);
    free(dir);
    return status;
}

/* ------------------------------------------------------------------ reading */

/* Adds the entries that are not listed yet. */
static enum skiff_status manifest_take(const struct folder_view *v, const char *name,
                                       struct manifest *into, struct skiff_error *err)
{
    struct manifest m = MANIFEST_INIT;
    enum skiff_status status = folder_view_read(v, name, &m, err);
    for (int i = 0; i < m.n && status == SKIFF_OK; i++)
        if (!manifest_find(into, m.files[i]->name))
            manifest_add(into, m.files[i]->name)->sum = m.files[i]->sum;
    into->save ^= m.save;
    into->note = m.note; /* the folder's manifest comes last */
    manifest_deinit(&m);
    return status;
}

static enum skiff_status manifests_take(const char *dir, const char *file, struct manifest *out,
                                        struct folder_view *v, struct skiff_error *err)
{
    TRY(model_view_open(dir, v, err));
    char *of_prefix = file ? manifest_of_file(file) : NULL;
    enum skiff_status status = of_prefix ? manifest_take(v, of_prefix, out, err) : SKIFF_OK;
    if (status == SKIFF_OK)
        status = manifest_take(v, folder_view_manifest(v), out, err);
    free(of_prefix);
    if (status < 0) {
        manifest_deinit(out);
        folder_view_deinit(v);
    }
    return status;
}

enum skiff_status model_reader_open(struct model_reader *r, const char *dir, const char *file,
                                    struct skiff_error *err)
{
    struct manifest files = MANIFEST_INIT;
    struct folder_view view;
    char *plain = strip_slashes(dir);
    enum skiff_status status = manifests_take(plain, file, &files, &view, err);
    if (status < 0) {
        free(plain);
        return status;
    }
    r->dir = plain;
    r->file = file ? mem_strdup_or_die(file) : NULL;
    r->files = files;
    r->view = view;
    return SKIFF_OK;
}

enum skiff_status model_reader_sum(const struct model_reader *r, const char *file,
                                   const struct file_sum **out, struct skiff_error *err)
{
    const struct manifest_file *f = manifest_find(&r->files, file);
    *out = f ? &f->sum : NULL;
    return listed_check(&r->view, file, *out, err);
}

bool model_reader_close(struct model_reader *r, enum skiff_status status)
{
    struct manifest now = MANIFEST_INIT;
    struct folder_view view = {0};
    bool again = status < 0 && r->tries < READ_TRIES &&
                 manifests_take(r->dir, r->file, &now, &view, NULL) == SKIFF_OK &&
                 now.save != r->files.save;
    folder_view_deinit(&view);
    manifest_deinit(&now);
    manifest_deinit(&r->files);
    folder_view_deinit(&r->view);
    free(r->dir);
    free(r->file);
    *r = (struct model_reader){.tries = r->tries + 1};
    return again;
}

/* Passes the values to the caller, or drops them. */
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

static enum skiff_status value_load(const struct model_reader *r, const char *name,
                                    struct skiff_tensor *out, struct skiff_error *err)
{
    const struct file_sum *want;
    TRY(model_name_check(name, err));
    TRY(model_reader_sum(r, name, &want, err));
    char *path = path_join(r->dir, name);
    enum skiff_status status = value_file_read_checked(path, want, out, err);
    free(path);
    return status;
}

enum skiff_status model_read_separate(const struct model_reader *r, int n, const char *const *names,
                                      struct skiff_tensor *out, struct skiff_error *err)
{
    struct skiff_tensor *read = mem_alloc_or_die(sizeof *read * (size_t)(n + 1));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && status == SKIFF_OK; i++) {
        status = value_load(r, names[i], &read[i], err);
        if (status < 0)
            error_prefix(err, status, "variable %s", names[i]);
    }
    return values_finish(status, n, read, out);
}

enum skiff_status model_read_combined(const struct model_reader *r, const char *file, int n,
                                      const char *const *names, struct skiff_tensor *out,
                                      struct skiff_error *err)
{
    const struct file_sum *want;
    TRY(model_reader_sum(r, file, &want, err));
    char *path = path_join(r->dir, file);
    struct skiff_tensor *read = mem_alloc_or_die(sizeof *read * (size_t)(n + 1));
    int *order = mem_alloc_or_die(sizeof *order * (size_t)(n + 1));
    struct tensor **tensors = mem_alloc_or_die(sizeof *tensors * (size_t)(n + 1));
    const char **sorted = mem_alloc_or_die(sizeof *sorted * (size_t)(n + 1));
    model_name_order(n, names, order);
    for (int i = 0; i < n; i++) {
        tensors[i] = &read[order[i]].tensor;
        sorted[i] = names[order[i]];
        read[i].kind = VALUE_TENSOR;
    }
    enum skiff_status status = combined_file_read_named(path, want, n, sorted, tensors, err);
    free(sorted);
    free(tensors);
    free(order);
    free(path);
    return values_finish(status, n, read, out);
}
