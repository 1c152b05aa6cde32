/* Operations on paths (fs.h) that are the same for every kind of file system: dispatch, patterns,
 * the atomic writer, copying.
 *
 * Writing goes to a local temporary file first: next to the target when it is local, otherwise in
 * TMPDIR. The commit flushes and renames, or uploads. So nothing is visible before the commit, and
 * an aborted writer leaves no file.
 *
 * Names in a remote listing are not trusted: a name that would lead out of its folder is an error.
 * No global state; any thread may call any function, and each reader or writer has one user at a
 * time. */
#define _GNU_SOURCE
#include "fs/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"
#include "fs/temporary.h"

#define DEPTH_MAX 32

/* ---- lists ---- */

void fs_list_deinit(struct fs_list *l)
{
    for (int i = 0; i < l->count; i++)
        free(l->entries[i].path);
    free(l->entries);
    *l = (struct fs_list){0};
}

void fs_list_add(struct fs_list *l, const char *folder, const char *name, size_t name_len,
                 const struct fs_stat *st)
{
    struct buf path = BUF_INIT;
    if ((l->count & (l->count - 1)) == 0) /* room for twice as many */
        l->entries =
            mem_grow_or_die(l->entries, (l->count ? 2 * (size_t)l->count : 1) * sizeof *l->entries);
    if (folder) {
        buf_str(&path, folder);
        if (path.len && path.data[path.len - 1] != '/')
            buf_char(&path, '/');
    }
    buf_add(&path, name, name_len);
    l->entries[l->count++] = (struct fs_entry){mem_strdup_or_die(path.data), *st};
    buf_deinit(&path);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct fs_entry *)a)->path, ((const struct fs_entry *)b)->path);
}

void fs_list_sort(struct fs_list *l)
{
    if (l->count)
        qsort(l->entries, (size_t)l->count, sizeof *l->entries, by_path);
}

const struct fs_entry *fs_list_find(const struct fs_list *l, const char *path)
{
    struct fs_entry key = {.path = (char *)path};
    return l->count ? bsearch(&key, l->entries, (size_t)l->count, sizeof key, by_path) : NULL;
}

const char *fs_tmpdir(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* ---- one path ---- */

enum skiff_status fs_look(const struct fs_settings *s, const char *path, struct fs_stat *out,
                          struct skiff_error *err)
{
    struct fs f;
    TRY(fs_of(s, path, &f, err));
    return f.class->stat(&f, path, out, err);
}

/* Entries that a server lists must lie in the folder: copying ".." or "../x" would leave the
 * target. */
static enum skiff_status check_names(const char *folder, const struct fs_list *l,
                                     struct skiff_error *err)
{
    size_t n = strlen(folder);
    for (int i = 0; i < l->count; i++) {
        const char *name = l->entries[i].path + n;
        name += *name == '/' && (!n || folder[n - 1] != '/');
        if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
            return error_set(err, SKIFF_FORMAT,
                             "%s: its listing has the name '%.200s', which is none of a file in "
                             "that folder; remove it there, or correct the server",
                             folder, name);
    }
    return SKIFF_OK;
}

enum skiff_status fs_list(const struct fs_settings *s, const char *folder, struct fs_list *out,
                          struct skiff_error *err)
{
    struct fs f;
    TRY(fs_of(s, folder, &f, err));
    enum skiff_status status = f.class->list(&f, folder, out, err);
    if (status == SKIFF_OK)
        status = check_names(folder, out, err);
    if (status < 0)
        fs_list_deinit(out);
    fs_list_sort(out);
    return status;
}

enum skiff_status fs_mkdirs(const struct fs_settings *s, const char *path, struct skiff_error *err)
{
    struct fs f;
    TRY(fs_of(s, path, &f, err));
    return f.class->mkdirs(&f, path, err);
}

enum skiff_status fs_rename(const struct fs_settings *s, const char *from, const char *to,
                            struct skiff_error *err)
{
    struct fs f, g;
    struct fs_stat st;
    TRY(fs_of(s, from, &f, err));
    TRY(fs_of(s, to, &g, err));
    if (f.class != g.class)
        return error_set(err, SKIFF_INVALID,
                         "%s cannot be renamed to %s: another file system; copy it, and remove the "
                         "old one",
                         from, to);
    enum skiff_status there = g.class->stat(&g, to, &st, err);
    if (there == SKIFF_OK)
        return error_set(err, SKIFF_STATE, "%s cannot be renamed to %s: the target exists", from,
                         to);
    return there == SKIFF_NOT_FOUND ? f.class->rename(&f, from, to, false, NULL, err) : there;
}

enum skiff_status fs_rename_exclusive(const struct fs_settings *s, const char *from, const char *to,
                                      struct skiff_error *err)
{
    struct fs f;
    TRY(fs_of(s, from, &f, err));
    return f.class->rename(&f, from, to, false, NULL, err);
}

bool fs_no_answer(const char *path, enum skiff_status status)
{
    return fs_is_remote(path) && (status == SKIFF_IO || status == SKIFF_TIMEOUT);
}

bool fs_rename_is_atomic(const struct fs_settings *s, const char *path)
{
    struct fs f;
    return fs_of(s, path, &f, NULL) == SKIFF_OK && f.class->rename_is_atomic;
}

enum skiff_status fs_remove(const struct fs_settings *s, const char *path, struct skiff_error *err)
{
    struct fs f;
    struct fs_stat st;
    TRY(fs_of(s, path, &f, err));
    enum skiff_status status = f.class->stat(&f, path, &st, err);
    if (status == SKIFF_NOT_FOUND)
        return SKIFF_OK;
    return status < 0 ? status : f.class->remove(&f, path, st.folder, err);
}

enum skiff_status fs_open(const struct fs_settings *s, const char *path, const atomic_bool *stop,
                          struct fs_reader **out, struct skiff_error *err)
{
    struct fs f;
    TRY(fs_of(s, path, &f, err));
    return f.class->open(&f, path, stop, out, err);
}

/* ---- patterns ---- */

/* Matches `rest` of the pattern below the folder `at`. */
static enum skiff_status glob_below(const struct fs_settings *s, const char *at, const char *rest,
                                    struct fs_list *out, struct skiff_error *err)
{
    struct buf path = BUF_INIT, part = BUF_INIT;
    struct fs_list in = {0};
    struct fs_stat st;
    enum skiff_status status = SKIFF_OK;
    buf_str(&path, at);
    while (*rest && !part.len) { /* parts without a pattern are names */
        size_t n = strcspn(rest, "/");
        buf_add(&part, rest, n);
        rest += n + (rest[n] == '/');
        if (!part.len || strpbrk(part.data, "*?["))
            continue;
        buf_printf(&path, "/%s", part.data);
        buf_reset(&part);
    }
    if (!part.len) {
        status = fs_look(s, path.data, &st, err);
        if (status == SKIFF_OK)
            fs_list_add(out, NULL, path.data, path.len, &st);
    } else {
        if (path.data[path.len - 1] == ':')
            buf_char(&path, '/');
        status = fs_list(s, path.data, &in, err);
    }
    for (int i = 0; status == SKIFF_OK && i < in.count; i++) {
        const struct fs_entry *e = &in.entries[i];
        if (fnmatch(part.data, strrchr(e->path, '/') + 1, FNM_PERIOD) != 0)
            continue;
        if (!*rest)
            fs_list_add(out, NULL, e->path, strlen(e->path), &e->stat);
        else if (e->stat.folder)
            status = glob_below(s, e->path, rest, out, err);
    }
    fs_list_deinit(&in);
    buf_deinit(&path);
    buf_deinit(&part);
    return status == SKIFF_NOT_FOUND ? SKIFF_OK : status;
}

enum skiff_status fs_glob(const struct fs_settings *s, const char *pattern, struct fs_list *out,
                          struct skiff_error *err)
{
    const char *rest = fs_path_of(pattern);
    struct buf root = BUF_INIT;
    buf_add(&root, pattern, (size_t)(rest - pattern));
    enum skiff_status status = glob_below(s, root.data, rest + (*rest == '/'), out, err);
    buf_deinit(&root);
    return status;
}

/* ---- writing: to a local temporary file first ---- */

struct fs_writer {
    struct fs fs;
    char *path;
    char *name; /* of the file that is written */
    int fd;
    int64_t size;
};

/* Creates a file with default permissions: mkstemp creates 0600, and widening that needs the umask,
 * which can only be read by setting it for all threads. */
int fs_temporary(struct buf *name, mode_t mode)
{
    uint64_t random;
    size_t len = name->len;
    int fd;
    do {
        secret_random(&random, sizeof random);
        name->data[name->len = len] = 0;
        buf_printf(name, ".skiff-%016llx", (unsigned long long)random);
        fd = open(name->data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

static enum skiff_status make_parent(const struct fs *f, const char *path, struct skiff_error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return SKIFF_OK;
    char *folder = mem_strdup_or_die(path);
    folder[slash - path] = 0;
    enum skiff_status status = f->class->mkdirs(f, folder, err);
    free(folder);
    return status;
}

enum skiff_status fs_create(const struct fs_settings *s, const char *path, struct fs_writer **out,
                            struct skiff_error *err)
{
    struct fs f;
    struct buf name = BUF_INIT;
    TRY(fs_of(s, path, &f, err));
    enum skiff_status status = SKIFF_OK;
    mode_t mode = f.class == &fs_local ? 0666 : 0600; /* TMPDIR is readable by other users */
    int fd = -1;
    if (f.class == &fs_local) {
        status = make_parent(&f, path, err);
        buf_str(&name, strncmp(path, "file://", 7) ? path : path + 7);
    } else {
        buf_printf(&name, "%s/skiff", fs_tmpdir());
    }
    if (status == SKIFF_OK && (fd = fs_temporary(&name, mode)) < 0)
        status = error_set_sys(err, "%s: cannot write (into %s first)", path, name.data);
    if (status < 0) {
        buf_deinit(&name);
        return status;
    }
    struct fs_writer *w = mem_alloc_or_die(sizeof *w);
    *w = (struct fs_writer){f, mem_strdup_or_die(path), mem_strdup_or_die(name.data), fd, 0};
    buf_deinit(&name);
    *out = w;
    return SKIFF_OK;
}

enum skiff_status fs_write(struct fs_writer *w, const void *bytes, size_t n,
                           struct skiff_error *err)
{
    for (size_t at = 0; at < n;) {
        ssize_t some = write(w->fd, (const char *)bytes + at, n - at);
        if (some < 0 && errno != EINTR)
            return error_set_sys(err, "%s: cannot write %s", w->path, w->name);
        at += some > 0 ? (size_t)some : 0;
    }
    w->size += (int64_t)n;
    return SKIFF_OK;
}

void fs_abort(struct fs_writer *w)
{
    if (!w)
        return;
    close(w->fd);
    unlink(w->name); /* gone already when it was renamed */
    free(w->name);
    free(w->path);
    free(w);
}

static enum skiff_status commit_local(struct fs_writer *w, struct skiff_error *err)
{
    const char *path = strncmp(w->path, "file://", 7) ? w->path : w->path + 7;
    /* The bytes must be on the disk before the name is, or a power cut leaves an empty file under
     * it. EINVAL, EROFS: this file system has no flush. */
    if ((fsync(w->fd) < 0 && errno != EINVAL && errno != EROFS) || rename(w->name, path) < 0)
        return error_set_sys(err, "%s: cannot write", w->path);
    return SKIFF_OK;
}

enum skiff_status fs_commit(struct fs_writer *w, struct skiff_error *err)
{
    enum skiff_status status = w->fs.class == &fs_local
                                   ? commit_local(w, err)
                                   : w->fs.class->put(&w->fs, w->fd, w->size, w->path, err);
    fs_abort(w);
    return status;
}

enum skiff_status fs_write_file(const struct fs_settings *s, const char *path, const void *bytes,
                                size_t n, struct skiff_error *err)
{
    struct fs_writer *w;
    TRY(fs_create(s, path, &w, err));
    enum skiff_status status = fs_write(w, bytes, n, err);
    if (status == SKIFF_OK)
        return fs_commit(w, err);
    fs_abort(w);
    return status;
}

enum skiff_status fs_send(const struct fs_settings *s, int fd, int64_t size, const char *path,
                          struct skiff_error *err)
{
    struct fs f;
    TRY(fs_of(s, path, &f, err));
    return f.class->put(&f, fd, size, path, err);
}

/* ---- copying ---- */

/* A local file is sent directly. */
static enum skiff_status send_local(const struct fs_settings *s, const char *from, const char *to,
                                    struct skiff_error *err)
{
    struct stat st;
    int fd = open(strncmp(from, "file://", 7) ? from : from + 7, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        enum skiff_status status = error_set_sys(err, "%s: cannot open", from);
        if (fd >= 0)
            close(fd);
        return status;
    }
    enum skiff_status status = fs_send(s, fd, st.st_size, to, err);
    close(fd);
    return status;
}

static enum skiff_status read_into(const struct fs_settings *s, const char *from,
                                   const atomic_bool *stop, struct fs_writer *to,
                                   struct skiff_error *err)
{
    struct fs_reader *r = NULL;
    void *block = NULL;
    size_t got = 1, size = (size_t)1 << 20;
    enum skiff_status status;
    TRY_OUT(fs_open(s, from, stop, &r, err));
    TRY_OUT(mem_alloc(size, "a block of a file", &block, err));
    while (got) {
        TRY_OUT(fs_read(r, block, size, &got, err));
        TRY_OUT(fs_write(to, block, got, err));
    }
out:
    fs_close(r);
    mem_free(block);
    return status;
}

static enum skiff_status copy_file(const struct fs_settings *s, const char *from, const char *to,
                                   struct skiff_error *err)
{
    struct fs_writer *w = NULL;
    if (!fs_is_remote(from))
        return send_local(s, from, to, err);
    TRY(fs_create(s, to, &w, err));
    enum skiff_status status = read_into(s, from, NULL, w, err);
    if (status == SKIFF_OK)
        return fs_commit(w, err);
    fs_abort(w);
    return status;
}

/* A writer whose temporary file is unlinked at once. */
enum skiff_status fs_fetch(const struct fs_settings *s, const char *path, const atomic_bool *stop,
                           int *out_fd, struct skiff_error *err)
{
    struct buf name = BUF_INIT;
    buf_printf(&name, "%s/skiff", fs_tmpdir());
    int fd = fs_temporary(&name, 0600);
    if (fd < 0) {
        enum skiff_status failed = error_set_sys(err, "%s: cannot be kept in %s", path, name.data);
        buf_deinit(&name);
        return failed;
    }
    unlink(name.data);
    struct fs_writer w = {.path = (char *)path, .name = name.data, .fd = fd};
    enum skiff_status status = read_into(s, path, stop, &w, err);
    if (status == SKIFF_OK && lseek(fd, 0, SEEK_SET) < 0)
        status = error_set_sys(err, "%s: cannot read %s", path, name.data);
    buf_deinit(&name);
    if (status < 0)
        close(fd);
    else
        *out_fd = fd;
    return status;
}

/* The files of a folder and below it, and their new paths. */
struct copies {
    const struct fs_settings *s;
    struct fs_list from, to; /* neither is sorted */
};

static enum skiff_status copies_add(struct copies *c, const char *from, const char *to, int depth,
                                    struct skiff_error *err)
{
    struct fs_list in = {0};
    struct buf target = BUF_INIT;
    struct fs f;
    enum skiff_status status;
    if (depth == DEPTH_MAX)
        return error_set(err, SKIFF_IO, "%s: more than %d folders deep; does a link point upwards?",
                         from, DEPTH_MAX);
    TRY_OUT(fs_of(c->s, to, &f, err));
    TRY_OUT(fs_list(c->s, from, &in, err));
    if (!f.class->no_folders || !in.count)
        TRY_OUT(f.class->mkdirs(&f, to, err));
    for (int i = 0; i < in.count; i++) {
        const struct fs_entry *e = &in.entries[i];
        buf_reset(&target);
        buf_printf(&target, "%s/%s", to, strrchr(e->path, '/') + 1);
        if (e->stat.folder) {
            TRY_OUT(copies_add(c, e->path, target.data, depth + 1, err));
        } else {
            fs_list_add(&c->from, NULL, e->path, strlen(e->path), &e->stat);
            fs_list_add(&c->to, NULL, target.data, target.len, &e->stat);
        }
    }
out:
    fs_list_deinit(&in);
    buf_deinit(&target);
    return status;
}

static enum skiff_status copy_one(void *arg, int i, struct skiff_error *err)
{
    struct copies *c = arg;
    return copy_file(c->s, c->from.entries[i].path, c->to.entries[i].path, err);
}

static void swap(struct fs_list *l, int a, int b)
{
    struct fs_entry kept = l->entries[a];
    l->entries[a] = l->entries[b];
    l->entries[b] = kept;
}

/* Moves the file `last`, directly in the folder, to the end of the list; false: not found. */
static bool put_last(struct copies *c, const char *to, const char *last)
{
    size_t n = strlen(to);
    for (int i = 0; last && i < c->to.count; i++)
        if (!strncmp(c->to.entries[i].path, to, n) &&
            !strcmp(c->to.entries[i].path + n + 1, last)) {
            swap(&c->from, i, c->from.count - 1);
            swap(&c->to, i, c->to.count - 1);
            return true;
        }
    return false;
}

static enum skiff_status copy_tree(const struct fs_settings *s, const char *from, const char *to,
                                   const char *last, struct skiff_error *err)
{
    struct copies c = {.s = s};
    struct fs here, there;
    enum skiff_status status;
    TRY(fs_of(s, from, &here, err));
    TRY(fs_of(s, to, &there, err));
    int threads = here.class->at_a_time > there.class->at_a_time ? here.class->at_a_time
                                                                 : there.class->at_a_time;
    TRY_OUT(copies_add(&c, from, to, 0, err));
    int first = c.from.count - put_last(&c, to, last);
    TRY_OUT(fs_each(first, threads, copy_one, &c, err));
    if (first < c.from.count)
        TRY_OUT(copy_one(&c, first, err));
out:
    fs_list_deinit(&c.from);
    fs_list_deinit(&c.to);
    return status;
}

enum skiff_status fs_copy(const struct fs_settings *s, const char *from, const char *to,
                          const char *last, struct skiff_error *err)
{
    struct fs_stat st;
    TRY(fs_look(s, from, &st, err));
    return st.folder ? copy_tree(s, from, to, last, err) : copy_file(s, from, to, err);
}
