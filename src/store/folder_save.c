/* Replacing a folder by a new one (folder_save.h), with the best primitive that the file system
 * has.
 *
 * Local: RENAME_EXCHANGE is atomic; the old contents are removed afterwards. Without it the old
 * folder is renamed away first, and back when the new one cannot be renamed. Remote: a rename where
 * it is atomic, else a copy with a mark file in it that tells readers it is incomplete.
 *
 * A folder in progress always has a locked temporary name or the mark, so that a later save can
 * tell the remains of a killed process from a save in progress. */
#define _GNU_SOURCE /* renameat2 */
#include "store/folder_save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"
#include "fs/fs.h"
#include "store/file.h"
#include "store/stale_file.h"

#define MARK ".skiff-saving"
#define OLD_SECONDS (24 * 3600)

/* ---- moving to the final path ---- */

/* With `replaced`, entries that are not part of a save are moved back to the folder. */
static void move_others(const char *from, const char *to, const char *replaced)
{
    DIR *d = replaced ? opendir(from) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strncmp(e->d_name, replaced, strlen(replaced)) || !strcmp(e->d_name, ".") ||
            !strcmp(e->d_name, ".."))
            continue;
        char *a = path_join(from, e->d_name), *b = path_join(to, e->d_name);
        if (!file_exists(b))
            (void)rename(a, b); /* on failure it is removed with the old files */
        free(a);
        free(b);
    }
    if (d)
        closedir(d);
}

/* For file systems without an exchange: rename the old folder to a temporary name, and back when
 * the new one cannot be renamed. */
static enum skiff_status replace(const char *from, const char *dir, const char *replaced,
                                 struct skiff_error *err)
{
    struct buf aside = BUF_INIT;
    buf_printf(&aside, "%s-old", from);
    enum skiff_status status = fs_rename(NULL, dir, aside.data, err);
    if (status == SKIFF_OK) {
        status = fs_rename(NULL, from, dir, err);
        if (status < 0 && fs_is_remote(dir))
            (void)fs_remove(NULL, dir, NULL); /* remains of an interrupted copy */
        if (status < 0)
            (void)fs_rename(NULL, aside.data, dir, NULL);
        else if (!fs_is_remote(dir))
            move_others(aside.data, dir, replaced);
        if (status == SKIFF_OK)
            file_remove_tree(aside.data);
    }
    buf_deinit(&aside);
    return status;
}

/* RENAME_EXCHANGE would exchange a file for a folder. */
static enum skiff_status check_target(const char *dir, struct skiff_error *err)
{
    if (!file_exists(dir) || file_is_dir(dir))
        return SKIFF_OK;
    return error_set(err, SKIFF_IO, "%s cannot be saved: there is a file of that name", dir);
}

static enum skiff_status move_here(const char *from, const char *dir, const char *replaced,
                                   struct skiff_error *err)
{
    TRY(check_target(dir, err));
    if (rename(from, dir) == 0) /* the target does not exist, or is an empty folder */
        return SKIFF_OK;
    bool there = errno == ENOTEMPTY || errno == EEXIST;
    if (there && renameat2(AT_FDCWD, from, AT_FDCWD, dir, RENAME_EXCHANGE) == 0) {
        move_others(from, dir, replaced);
        file_remove_tree(from);
        return SKIFF_OK;
    }
    if (there && (errno == EINVAL || errno == ENOSYS)) /* the file system has no exchange */
        return replace(from, dir, replaced, err);
    return error_set_sys(err, "cannot move the saved folder to %s", dir);
}

static enum skiff_status move_there(const char *from, const char *dir, struct skiff_error *err)
{
    struct fs_stat st;
    enum skiff_status status = fs_look(NULL, dir, &st, err);
    if (status == SKIFF_OK)
        return replace(from, dir, NULL, err);
    return status == SKIFF_NOT_FOUND ? fs_rename(NULL, from, dir, err) : status;
}

static enum skiff_status sync_target(const char *dir, struct skiff_error *err)
{
    return fs_is_remote(dir) ? SKIFF_OK : file_sync_parent(dir, err);
}

enum skiff_status folder_move(const char *from, const char *dir, const char *replaced,
                              struct skiff_error *err)
{
    TRY(fs_is_remote(dir) ? move_there(from, dir, err) : move_here(from, dir, replaced, err));
    return sync_target(dir, err);
}

/* ---- remote storage ---- */

static const char *name_of(const struct fs_entry *e)
{
    return strrchr(e->path, '/') + 1;
}

/* Removes uploads older than a day. Younger ones may still have a writer: there are no locks. */
static void remove_old(const char *parent, const char *start)
{
    struct fs_list in = {0};
    if (fs_list(NULL, parent, &in, NULL) < 0)
        return;
    for (int i = 0; i < in.count; i++) {
        const char *name = name_of(&in.entries[i]);
        if (strncmp(name, start, strlen(start)) != 0 || strstr(name, "-old"))
            continue;
        int64_t made = strtoll(name + strlen(start), NULL, 16);
        if (made < (int64_t)time(NULL) - OLD_SECONDS)
            (void)fs_remove(NULL, in.entries[i].path, NULL);
    }
    fs_list_deinit(&in);
}

static enum skiff_status open_beside(struct folder_save *s, struct skiff_error *err)
{
    char *parent = path_parent(s->dir);
    struct buf start = BUF_INIT, path = BUF_INIT;
    uint64_t random;
    secret_random(&random, sizeof random);
    buf_printf(&start, ".%s" STALE_FILE_MARK, strrchr(s->dir, '/') + 1);
    remove_old(parent, start.data);
    buf_printf(&path, "%s/%s%llx-%016llx", parent, start.data, (unsigned long long)time(NULL),
               (unsigned long long)random);
    s->path = path.data;
    buf_deinit(&start);
    free(parent);
    return fs_mkdirs(NULL, s->path, err);
}

/* Everything except the mark. */
static enum skiff_status clear(const char *dir, struct skiff_error *err)
{
    struct fs_list in = {0};
    enum skiff_status status = fs_list(NULL, dir, &in, err);
    for (int i = 0; i < in.count && status == SKIFF_OK; i++)
        if (strcmp(name_of(&in.entries[i]), MARK) != 0)
            status = fs_remove(NULL, in.entries[i].path, err);
    fs_list_deinit(&in);
    return status == SKIFF_NOT_FOUND ? SKIFF_OK : status;
}

static enum skiff_status open_inside(struct folder_save *s, struct skiff_error *err)
{
    char *mark = path_join(s->dir, MARK);
    s->path = mem_strdup_or_die(s->dir);
    s->marked = true;
    enum skiff_status status = file_write(mark, "", 0, err);
    free(mark);
    TRY(status);
    return clear(s->dir, err);
}

static enum skiff_status remove_mark(const struct folder_save *s, struct skiff_error *err)
{
    char *mark = path_join(s->dir, MARK);
    enum skiff_status status = fs_remove(NULL, mark, err);
    free(mark);
    return status;
}

enum skiff_status folder_save_check(const char *dir, struct skiff_error *err)
{
    struct fs_stat st;
    if (!fs_is_remote(dir) || fs_rename_is_atomic(NULL, dir))
        return SKIFF_OK;
    char *mark = path_join(dir, MARK);
    enum skiff_status status = fs_look(NULL, mark, &st, err);
    if (status == SKIFF_OK)
        status =
            error_set(err, SKIFF_FORMAT,
                      "%s is incomplete: it contains %s, so the process that saved it was killed "
                      "or is still saving; use another model",
                      dir, mark);
    else if (status == SKIFF_NOT_FOUND)
        status = SKIFF_OK;
    free(mark);
    return status;
}

/* ---- a save ---- */

/* Locks the parent folder: those who write models lock the folder that contains them. */
static enum skiff_status open_here(struct folder_save *s, struct skiff_error *err)
{
    TRY(check_target(s->dir, err));
    TRY(file_make_parents(s->dir, err));
    char *parent = path_parent(s->dir);
    stale_file_remove(parent);
    free(parent);
    TRY(stale_file_create_dir(s->dir, false, &s->temp, &s->lock, err));
    s->path = path_join(s->temp, "model");
    return mkdir(s->path, 0777) < 0 ? error_set_sys(err, "cannot make folder %s", s->path)
                                    : SKIFF_OK;
}

enum skiff_status folder_save_open(struct folder_save *s, const char *dir, struct skiff_error *err)
{
    *s = (struct folder_save){.lock = -1, .dir = mem_strdup_or_die(dir)};
    for (size_t n = strlen(dir); n > 1 && s->dir[n - 1] == '/'; n--)
        s->dir[n - 1] = 0;
    enum skiff_status status = !fs_is_remote(s->dir)               ? open_here(s, err)
                               : fs_rename_is_atomic(NULL, s->dir) ? open_beside(s, err)
                                                                   : open_inside(s, err);
    if (status < 0)
        folder_save_close(s);
    return status;
}

static enum skiff_status target(struct folder_save *s, struct skiff_error *err)
{
    if (s->marked)
        return remove_mark(s, err);
    return fs_is_remote(s->dir) ? move_there(s->path, s->dir, err)
                                : move_here(s->path, s->dir, NULL, err);
}

/* After the rename, a retry has only to flush. */
enum skiff_status folder_save_commit(struct folder_save *s, struct skiff_error *err)
{
    if (!s->placed)
        TRY(target(s, err));
    s->placed = true;
    return sync_target(s->dir, err);
}

void folder_save_close(struct folder_save *s)
{
    if (!s->placed && s->marked) {
        if (clear(s->dir, NULL) == SKIFF_OK)
            (void)remove_mark(s, NULL);
    } else if (!s->placed && s->path) {
        file_remove_tree(s->path);
    }
    if (s->temp)
        file_remove_tree(s->temp);
    if (s->lock >= 0)
        lock_close(s->lock);
    free(s->dir);
    free(s->path);
    free(s->temp);
    *s = (struct folder_save){.lock = -1};
}
