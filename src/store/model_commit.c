/* Atomic commit of a save in a local folder (model_dir.h).
 *
 * A new folder: one rename of the temporary folder next to it.
 *
 * A folder that contains only files that this save replaces: the two folders are exchanged
 * (RENAME_EXCHANGE), then the old one is removed.
 *
 * Any other folder (it contains other files, is a mount point or the working directory, or the file
 * system cannot exchange): the temporary folder inside it is renamed to .skiff-commit-<n>. This
 * rename is the commit point. The files are then moved to their final paths, the manifest last, and
 * the folder is removed. A process that loads or saves there and finds such a commit folder
 * finishes the moves first (model_recover). Moving is idempotent, so it may be interrupted any
 * number of times.
 *
 * A lock on the folder excludes other commits and recoveries. Everything is flushed before the
 * rename that commits it. */
#define _GNU_SOURCE /* renameat2 */
#include "store/model_commit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fs/fs.h"
#include "store/stale_file.h"

#define COMMIT ".skiff-commit-"
#define LOCK_SECONDS 60

char *model_prefix_of(const char *path)
{
    static const char *const endings[] = {".pdparams", ".pdopt", ".pdmodel", ".pdiparams"};
    char *s = mem_strdup_or_die(path);
    size_t n = strlen(s);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t e = strlen(endings[i]);
        if (n > e && !strcmp(s + n - e, endings[i])) {
            s[n - e] = 0;
            break;
        }
    }
    return s;
}

char *manifest_of_file(const char *file)
{
    struct buf b = BUF_INIT;
    char *prefix = model_prefix_of(file);
    if (strcmp(prefix, file) != 0)
        buf_printf(&b, "%s" MANIFEST_ENDING, prefix);
    free(prefix);
    return b.data;
}

static bool is_dot(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* A folder itself, not a link to one. */
static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ------------------------------------------------------------------ the lock */

enum skiff_status commit_lock(const char *dir, int *out, struct skiff_error *err)
{
    int64_t until = clock_after(clock_now(), LOCK_SECONDS * 1000);
    *out = -1;
    if (fs_is_remote(dir)) /* no such folder */
        return SKIFF_OK;
    for (;;) {
        struct stat a, b;
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            return error_set_sys(err, "cannot open the model folder %s", dir);
        bool busy = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
        /* While we waited, another commit may have replaced the folder: lock the new one. */
        if (!busy && fstat(fd, &a) == 0 && stat(dir, &b) == 0 && a.st_dev == b.st_dev &&
            a.st_ino == b.st_ino) {
            *out = fd;
            return SKIFF_OK;
        }
        close(fd);
        if (clock_now() > until)
            return error_set(err, SKIFF_TIMEOUT,
                             "%s: another process has been saving a model there for %d s", dir,
                             LOCK_SECONDS);
        clock_sleep(5 * CLOCK_MS);
    }
}

/* ------------------------------------------------------------------ moving files to their final
 * paths */

int commit_rank(const char *name)
{
    size_t n = strlen(name);
    if (manifest_named(name))
        return 2;
    return !strcmp(name, "__model__") || (n > 8 && !strcmp(name + n - 8, ".pdmodel"));
}

/* Opens or creates a folder of that name. Refuses a link: in a model folder from an untrusted
 * source it could lead anywhere. */
static enum skiff_status folder_need(const char *path, struct skiff_error *err)
{
    if (mkdir(path, 0777) == 0)
        return SKIFF_OK;
    int why = errno;
    if (is_folder(path))
        return SKIFF_OK;
    errno = why;
    if (why == EEXIST && file_is_dir(path))
        return error_set(err, SKIFF_IO, "cannot write to %s: it is a link to another folder", path);
    return error_set_sys(err, "cannot make folder %s", path);
}

static enum skiff_status move_tree(const char *from, const char *to, int rank,
                                   struct skiff_error *err);

static enum skiff_status move_entry(const char *from, const char *to, const char *name, int rank,
                                    struct skiff_error *err)
{
    char *old = path_join(from, name), *new = path_join(to, name);
    enum skiff_status status = SKIFF_OK;
    if (is_folder(old)) {
        status = folder_need(new, err);
        if (status == SKIFF_OK)
            status = move_tree(old, new, rank, err);
    } else if (commit_rank(name) == rank && rename(old, new) < 0 && errno != ENOENT) {
        status = error_set_sys(err, "cannot write %s", new);
    }
    free(old);
    free(new);
    return status;
}

static enum skiff_status move_tree(const char *from, const char *to, int rank,
                                   struct skiff_error *err)
{
    DIR *d = opendir(from);
    enum skiff_status status = SKIFF_OK;
    if (!d)
        return errno == ENOENT ? SKIFF_OK : error_set_sys(err, "cannot read the folder %s", from);
    for (struct dirent *e; status == SKIFF_OK && (e = readdir(d));)
        if (!is_dot(e->d_name))
            status = move_entry(from, to, e->d_name, rank, err);
    closedir(d);
    return status == SKIFF_OK ? file_sync_dir(to, err) : status;
}

/* The old manifest name: not read when one of the new name exists. */
static void old_manifest_remove(const char *dir)
{
    char *new = path_join(dir, MANIFEST_FILE), *old = path_join(dir, MANIFEST_OLD);
    if (file_exists(new))
        (void)unlink(old);
    free(new);
    free(old);
}

static enum skiff_status forward(const char *dir, const char *name, struct skiff_error *err)
{
    char *from = path_join(dir, name);
    enum skiff_status status = SKIFF_OK;
    for (int rank = 0; rank <= 2 && status == SKIFF_OK; rank++)
        status = move_tree(from, dir, rank, err);
    if (status == SKIFF_OK) {
        old_manifest_remove(dir);
        file_remove_tree(from);
    } else {
        error_prefix(err, status, "%s holds an unfinished save whose files are not moved yet",
                     from);
    }
    free(from);
    return status;
}

/* A folder itself: a link of that name, in a model from an untrusted source, would make us move
 * files elsewhere. */
static bool is_commit(const char *dir, const char *name)
{
    if (strncmp(name, COMMIT, strlen(COMMIT)))
        return false;
    char *path = path_join(dir, name);
    bool is = is_folder(path);
    free(path);
    return is;
}

static bool has_commit(const char *dir)
{
    DIR *d = opendir(dir);
    bool has = false;
    for (struct dirent *e; d && !has && (e = readdir(d));)
        has = is_commit(dir, e->d_name);
    if (d)
        closedir(d);
    return has;
}

/* One pass. An empty commit folder that we may not remove (no write permission) stays. */
static enum skiff_status recover_locked(const char *dir, struct skiff_error *err)
{
    DIR *d = opendir(dir);
    enum skiff_status status = SKIFF_OK;
    for (struct dirent *e; d && status == SKIFF_OK && (e = readdir(d));)
        if (is_commit(dir, e->d_name))
            status = forward(dir, e->d_name, err);
    if (d)
        closedir(d);
    return status;
}

enum skiff_status model_recover(const char *dir, struct skiff_error *err)
{
    int lock;
    if (fs_is_remote(dir))
        return remote_recover(dir, NULL, err);
    if (!has_commit(dir))
        return SKIFF_OK;
    TRY(commit_lock(dir, &lock, err));
    enum skiff_status status = recover_locked(dir, err);
    lock_close(lock);
    return status;
}

/* ------------------------------------------------------------------ manifests */

static enum skiff_status manifest_write(const struct model_writer *w, const char *name,
                                        const struct manifest *m, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    struct file_writer file;
    char *path = path_join(w->temp, name), *target = path_join(w->dir, name);
    manifest_encode(m, &text);
    unlink(path); /* left by a commit attempt of another kind */
    enum skiff_status status = file_writer_open_exclusive(&file, path, target, NULL, err);
    if (status == SKIFF_OK)
        status = file_writer_end(&file, file_writer_add(&file, text.data, text.len, err), err);
    buf_deinit(&text);
    free(path);
    free(target);
    return status;
}

static bool of_folder(const struct model_writer *w)
{
    return !strcmp(w->manifest, MANIFEST_FILE);
}

/* The manifest of the previous save. A damaged one does not prevent saving: it is replaced. */
static void manifest_read_old(const struct model_writer *w, struct manifest *out)
{
    const char *name = of_folder(w) ? folder_view_manifest(&w->view) : w->manifest;
    (void)folder_view_read(&w->view, name, out, NULL);
}

/* Files of other saves in the folder stay listed, as long as they exist. */
static void manifest_merge(struct model_writer *w, const struct manifest *old)
{
    bool kept = false;
    for (int i = 0; i < old->n && !w->replaces; i++) {
        const struct manifest_file *f = old->files[i];
        if (!manifest_find(&w->contents, f->name) && folder_view_has(&w->view, f->name)) {
            manifest_add(&w->contents, f->name)->sum = f->sum;
            kept = true;
        }
    }
    if (kept && !w->contents.note.known) {
        w->contents.note = old->note;
        if (!w->contents.notes.len && old->notes.len)
            buf_str(&w->contents.notes, old->notes.data);
    }
}

/* Removes what this save replaces from other manifests in the folder. */
static enum skiff_status manifest_yield(struct model_writer *w, const char *name,
                                        struct skiff_error *err)
{
    struct manifest m = MANIFEST_INIT;
    char *written = path_join(w->temp, name);
    enum skiff_status status = SKIFF_OK;
    int had = 0;
    if (strcmp(name, w->manifest) && !file_exists(written) &&
        folder_view_read(&w->view, name, &m, NULL) == SKIFF_OK) {
        had = m.n;
        for (int i = 0; i < w->contents.n; i++)
            manifest_drop(&m, w->contents.files[i]->name);
        if (m.n < had)
            status = manifest_write(w, name, &m, err);
    }
    manifest_deinit(&m);
    free(written);
    return status;
}

static enum skiff_status manifests_yield(struct model_writer *w, struct skiff_error *err)
{
    if (!of_folder(w))
        TRY(manifest_yield(w, folder_view_manifest(&w->view), err));
    for (int i = 0; i < w->contents.n; i++) {
        char *name = manifest_of_file(w->contents.files[i]->name);
        enum skiff_status status = name ? manifest_yield(w, name, err) : SKIFF_OK;
        free(name);
        TRY(status);
    }
    return SKIFF_OK;
}

enum skiff_status commit_manifests(struct model_writer *w, struct manifest *old,
                                   struct skiff_error *err)
{
    manifest_read_old(w, old);
    manifest_merge(w, old);
    TRY(manifest_write(w, w->manifest, &w->contents, err));
    return manifests_yield(w, err);
}

/* ------------------------------------------------------------------ the commit point */

/* Flushes the temporary folder and everything below it. */
static enum skiff_status sync_tree(const char *dir, struct skiff_error *err)
{
    DIR *d = opendir(dir);
    enum skiff_status status = SKIFF_OK;
    if (!d)
        return error_set_sys(err, "cannot read the folder %s", dir);
    for (struct dirent *e; status == SKIFF_OK && (e = readdir(d));) {
        char *path = path_join(dir, e->d_name);
        if (!is_dot(e->d_name) && is_folder(path))
            status = sync_tree(path, err);
        free(path);
    }
    closedir(d);
    return status == SKIFF_OK ? file_sync_dir(dir, err) : status;
}

/* What a save puts into its folder besides its files. */
static bool is_own(const struct model_writer *w, const char *name)
{
    return !strcmp(name, strrchr(w->temp, '/') + 1) || !strcmp(name, w->manifest) ||
           (of_folder(w) && !strcmp(name, MANIFEST_OLD));
}

/* Is everything below the folder listed in its manifest and replaced by this save? Files that other
 * processes are writing there are not. */
static bool all_replaced(const struct model_writer *w, const struct manifest *old, const char *sub)
{
    char *dir = sub ? path_join(w->dir, sub) : mem_strdup_or_die(w->dir);
    DIR *d = opendir(dir);
    bool all = d != NULL, any = false;
    for (struct dirent *e; all && (e = readdir(d));) {
        if (is_dot(e->d_name) || (!sub && is_own(w, e->d_name)))
            continue;
        any = true;
        char *name = sub ? path_join(sub, e->d_name) : mem_strdup_or_die(e->d_name);
        char *path = path_join(w->dir, name);
        if (is_folder(path))
            all = !stale_file_named(e->d_name) && all_replaced(w, old, name);
        else
            all = manifest_find(old, name) && (w->replaces || manifest_find(&w->contents, name));
        free(path);
        free(name);
    }
    if (d)
        closedir(d);
    free(dir);
    return all && (any || !sub); /* someone made this empty folder on purpose: keep it */
}

/* A folder that only this save uses, and not known to be a working directory. */
static bool may_exchange(const struct model_writer *w, const struct manifest *old)
{
    struct stat dir, here;
    if (lstat(w->dir, &dir) < 0 || !S_ISDIR(dir.st_mode) || dir.st_uid != geteuid())
        return false;
    if (stat(".", &here) == 0 && here.st_dev == dir.st_dev && here.st_ino == dir.st_ino)
        return false;
    return old->n && all_replaced(w, old, NULL) && chown(w->temp, (uid_t)-1, dir.st_gid) == 0 &&
           chmod(w->temp, dir.st_mode & 07777) == 0;
}

/* Exchanges the two folders. False, with everything as before, when that is not possible. */
static bool exchange(struct model_writer *w)
{
    char *beside;
    int lock;
    if (stale_file_create_dir(w->dir, false, &beside, &lock, NULL) < 0)
        return false;
    /* A rename can replace an empty folder; this one only reserved the name. */
    bool moved = rename(w->temp, beside) == 0;
    bool done = moved && renameat2(AT_FDCWD, beside, AT_FDCWD, w->dir, RENAME_EXCHANGE) == 0;
    if (moved && !done && rename(beside, w->temp) == 0)
        moved = false;
    if (!moved)
        rmdir(beside);
    lock_close(lock);
    if (moved) { /* the temporary name now holds the old folder; model_writer_close removes it */
        free(w->temp);
        w->temp = beside;
    } else {
        free(beside);
    }
    return done;
}

/* Creates the folders between w->dir and the file. */
static enum skiff_status parents_need(const struct model_writer *w, char *path,
                                      struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (char *p = path + strlen(w->dir) + 1; status == SKIFF_OK && (p = strchr(p, '/')); p++) {
        *p = 0;
        status = folder_need(path, err);
        *p = '/';
    }
    return status;
}

/* A folder in the way of a file, or a file in the way of a folder, would stop the move half-way. */
static enum skiff_status targets_check(const struct model_writer *w, struct skiff_error *err)
{
    for (int i = 0; i < w->contents.n; i++) {
        char *path = path_join(w->dir, w->contents.files[i]->name);
        enum skiff_status status = parents_need(w, path, err);
        if (status == SKIFF_OK && file_is_dir(path))
            status =
                error_set(err, SKIFF_IO, "cannot write %s: there is a folder of that name", path);
        free(path);
        TRY(status);
    }
    return SKIFF_OK;
}

static enum skiff_status commit_inside(struct model_writer *w, struct skiff_error *err)
{
    struct buf to = BUF_INIT;
    enum skiff_status status;
    TRY_OUT(targets_check(w, err));
    TRY_OUT(manifests_yield(w, err));
    TRY_OUT(sync_tree(w->temp, err));
    buf_printf(&to, "%s/" COMMIT "%ld", w->dir, (long)getpid());
    if (rename(w->temp, to.data) < 0) {
        status = error_set_sys(err, "cannot write the model folder %s", w->dir);
        goto out;
    }
    free(w->temp);
    w->temp = NULL;
    TRY_OUT(file_sync_dir(w->dir, err));
    TRY_OUT(recover_locked(w->dir, err));
out:
    buf_deinit(&to);
    return status;
}

static enum skiff_status commit_existing(struct model_writer *w, struct skiff_error *err)
{
    struct manifest old = MANIFEST_INIT;
    int lock;
    enum skiff_status status;
    TRY(commit_lock(w->dir, &lock, err));
    TRY_OUT(recover_locked(w->dir, err));
    manifest_read_old(w, &old);
    bool alone = may_exchange(w, &old);
    manifest_merge(w, &old);
    TRY_OUT(manifest_write(w, w->manifest, &w->contents, err));
    TRY_OUT(sync_tree(w->temp, err));
    status = alone && exchange(w) ? file_sync_parent(w->dir, err) : commit_inside(w, err);
out:
    lock_close(lock);
    manifest_deinit(&old);
    return status;
}

/* The folder was created meanwhile: move the temporary folder into it. */
static enum skiff_status move_inside(struct model_writer *w, struct skiff_error *err)
{
    char *inside;
    int kept, lock;
    TRY(commit_lock(w->dir, &lock, err));
    enum skiff_status status = stale_file_create_dir(w->dir, true, &inside, &kept, err);
    if (status == SKIFF_OK && rename(w->temp, inside) == 0) {
        free(w->temp);
        w->temp = inside;
        w->fresh = false;
        lock_close(kept);
    } else if (status == SKIFF_OK) {
        status = error_set_sys(err, "cannot write the model folder %s", w->dir);
        rmdir(inside);
        free(inside);
        lock_close(kept);
    }
    lock_close(lock);
    return status;
}

enum skiff_status commit_move(struct model_writer *w, struct skiff_error *err)
{
    if (w->remote)
        return remote_commit(w, err);
    folder_view_init(&w->view, w->dir, NULL);
    if (!w->fresh)
        return commit_existing(w, err);
    TRY(manifest_write(w, w->manifest, &w->contents, err));
    TRY(sync_tree(w->temp, err));
    if (rename(w->temp, w->dir) == 0) {
        free(w->temp);
        w->temp = NULL;
        return file_sync_parent(w->dir, err);
    }
    if (errno != ENOTEMPTY && errno != EEXIST)
        return error_set_sys(err, "cannot write the model folder %s", w->dir);
    TRY(move_inside(w, err));
    return commit_existing(w, err);
}
