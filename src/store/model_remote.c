/* Commit of a save in a remote folder (model_dir.h). Remote storage has no locks, and where
 * renaming is copying (S3) no atomic rename.
 *
 * The save is written to TMPDIR. Where a rename is atomic (HDFS) and the folder does not exist, it
 * is uploaded next to the target as .<name>.skiff-save-<n>/ and renamed.
 *
 * Otherwise it is uploaded into the folder as .skiff-save-<n>/. Then a marker file
 * .skiff-commit-<n> is written next to it: that is the commit point. The marker lists the files of
 * earlier saves to be removed. The files are then moved to their final paths, the manifest last,
 * and both temporary names are removed. A process that loads or saves in the folder and finds a
 * marker finishes the moves first. Two processes may do so at the same time: moving is idempotent.
 * A save killed before its marker leaves an upload; a save a day later removes it, as nothing
 * earlier tells whether its writer is still alive.
 *
 * <n> begins with the seconds since 1970, in hexadecimal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/secret.h"
#include "fs/fs.h"
#include "store/stale_file.h"
#include "store/folder_save.h"
#include "store/model_commit.h"

#define SAVE STALE_FILE_MARK
#define COMMIT ".skiff-commit-"
#define OLD_SECONDS (24 * 3600)
#define LOOKS 5 /* the process that committed is most likely still moving the files */

/* A folder in TMPDIR for a copy of `path`, or for files to be uploaded there. */
static enum skiff_status folder_here(const char *path, char **out, int *lock,
                                     struct skiff_error *err)
{
    char *here = file_local_path(path);
    stale_file_remove(fs_tmpdir());
    enum skiff_status status = stale_file_create_dir(here, false, out, lock, err);
    if (status == SKIFF_OK)
        (void)chmod(*out, 0700); /* TMPDIR is readable by other users */
    else
        error_prefix(err, status, "%s", path);
    free(here);
    return status;
}

enum skiff_status remote_temp(struct model_writer *w, struct skiff_error *err)
{
    return folder_here(w->dir, &w->temp, &w->lock, err);
}

/* ------------------------------------------------------------------ moving files to their final
 * paths */

static const char *name_in(const struct fs_entry *e)
{
    return strrchr(e->path, '/') + 1;
}

static enum skiff_status files_below(const char *folder, struct fs_list *out,
                                     struct skiff_error *err)
{
    struct fs_list in = {0};
    TRY(fs_list(NULL, folder, &in, err));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < in.count && status == SKIFF_OK; i++) {
        const struct fs_entry *e = &in.entries[i];
        if (e->stat.folder)
            status = files_below(e->path, out, err);
        else
            fs_list_add(out, NULL, e->path, strlen(e->path), &e->stat);
    }
    fs_list_deinit(&in);
    return status;
}

/* Creates a folder for each file whose name contains a slash. */
static enum skiff_status make_folders(const struct fs_move *moves, int n, const char *dir,
                                      struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && status == SKIFF_OK && fs_rename_is_atomic(NULL, dir); i++) {
        char *folder = path_parent(moves[i].to);
        if (strcmp(folder, dir) != 0)
            status = fs_mkdirs(NULL, folder, err);
        free(folder);
    }
    return status;
}

/* files: everything below `from`. Moves values, then programs, then manifests (commit_rank). */
static enum skiff_status move_files(const struct fs_list *files, const char *from, const char *dir,
                                    struct skiff_error *err)
{
    struct fs_move *moves = mem_alloc_or_die(sizeof *moves * (size_t)(files->count + 1));
    enum skiff_status status = SKIFF_OK;
    for (int rank = 0; rank <= 2 && status == SKIFF_OK; rank++) {
        int n = 0;
        for (int i = 0; i < files->count; i++) {
            const struct fs_entry *e = &files->entries[i];
            const char *name = e->path + strlen(from) + 1;
            if (commit_rank(name) == rank)
                moves[n++] = (struct fs_move){e->path, path_join(dir, name), e->stat};
        }
        status = make_folders(moves, n, dir, err);
        if (status == SKIFF_OK)
            status = fs_replace_all(NULL, moves, n, err);
        for (int i = 0; i < n; i++)
            free((char *)moves[i].to);
    }
    free(moves);
    return status;
}

/* The files that the text lists, one a line. The text is not trusted: names that lead out of the
 * folder are refused. */
static enum skiff_status remove_listed(const char *text, const char *dir, struct skiff_error *err)
{
    struct fs_list gone = {0};
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        struct buf name = BUF_INIT;
        buf_add(&name, text, n);
        if (n && model_name_check(name.data, NULL) == SKIFF_OK)
            fs_list_add(&gone, dir, name.data, name.len, &(struct fs_stat){0});
        buf_deinit(&name);
    }
    const char **paths = mem_alloc_or_die(sizeof *paths * (size_t)(gone.count + 1));
    for (int i = 0; i < gone.count; i++)
        paths[i] = gone.entries[i].path;
    enum skiff_status status = fs_remove_all(NULL, paths, gone.count, err);
    free(paths);
    fs_list_deinit(&gone);
    return status;
}

/* Finishes a commit: moves files below `from` and removes the files that its marker lists. */
static enum skiff_status forward(const char *dir, const char *from, const char *marker,
                                 const struct fs_list *files, const char *gone,
                                 struct skiff_error *err)
{
    enum skiff_status status;
    TRY_OUT(move_files(files, from, dir, err));
    TRY_OUT(remove_listed(gone, dir, err));
    if (fs_rename_is_atomic(NULL,
                            dir)) /* on object storage a folder disappears with its last file */
        TRY_OUT(fs_remove(NULL, from, err));
    TRY_OUT(fs_remove_all(NULL, &marker, 1, err));
out:
    return status < 0
               ? error_prefix(err, status,
                              "%s holds an unfinished save whose files are not moved yet", from)
               : SKIFF_OK;
}

/* An unfinished commit of another process. */
static enum skiff_status forward_left(const char *dir, const char *number, struct skiff_error *err)
{
    struct buf from = BUF_INIT, marker = BUF_INIT, gone = BUF_INIT;
    struct fs_list files = {0};
    buf_printf(&from, "%s/" SAVE "%s", dir, number);
    buf_printf(&marker, "%s/" COMMIT "%s", dir, number);
    enum skiff_status status = files_below(from.data, &files, err);
    if (status == SKIFF_OK || status == SKIFF_NOT_FOUND)
        status = file_read(marker.data, &gone, err);
    if (status == SKIFF_OK)
        status = forward(dir, from.data, marker.data, &files, gone.len ? gone.data : "", err);
    if (status == SKIFF_OK) /* the mark of a folder written by older versions */
        status = fs_remove(NULL, from.data, err);
    fs_list_deinit(&files);
    buf_deinit(&from);
    buf_deinit(&marker);
    buf_deinit(&gone);
    return status == SKIFF_NOT_FOUND ? SKIFF_OK : status; /* another process has finished it */
}

static enum skiff_status list_folder(const char *dir, struct fs_list *out, struct skiff_error *err)
{
    struct fs_stat st;
    enum skiff_status status = fs_list(NULL, dir, out, err);
    if (status == SKIFF_NOT_FOUND || status == SKIFF_OK)
        return SKIFF_OK;
    return !fs_no_answer(dir, status) && fs_look(NULL, dir, &st, NULL) == SKIFF_OK && !st.folder
               ? SKIFF_OK
               : status;
}

static const char *number_of(const struct fs_entry *e, const char *mark)
{
    const char *name = name_in(e);
    return strncmp(name, mark, strlen(mark)) ? NULL : name + strlen(mark);
}

static bool has_commit(const struct fs_list *l)
{
    for (int i = 0; i < l->count; i++)
        if (number_of(&l->entries[i], COMMIT))
            return true;
    return false;
}

enum skiff_status remote_recover(const char *dir, struct fs_list *out, struct skiff_error *err)
{
    struct fs_list in = {0};
    enum skiff_status status = list_folder(dir, &in, err);
    for (int i = 1; i < LOOKS && status == SKIFF_OK && has_commit(&in); i++) {
        clock_sleep(2 * fs_pause() * CLOCK_MS);
        fs_list_deinit(&in);
        status = list_folder(dir, &in, err);
    }
    bool left = has_commit(&in);
    for (int i = 0; i < in.count && status == SKIFF_OK; i++) {
        const char *number = number_of(&in.entries[i], COMMIT);
        if (number)
            status = forward_left(dir, number, err);
    }
    if (left && out && status == SKIFF_OK) {
        fs_list_deinit(&in);
        status = list_folder(dir, &in, err);
    }
    if (status < 0 || !out)
        fs_list_deinit(&in);
    else
        *out = in;
    return status;
}

/* Removes uploads that were interrupted long ago: names of `mark` followed by a time. */
static enum skiff_status remove_old(const struct fs_list *in, const char *mark,
                                    struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < in->count && status == SKIFF_OK; i++) {
        const char *number = number_of(&in->entries[i], mark);
        if (number && (int64_t)strtoull(number, NULL, 16) < (int64_t)time(NULL) - OLD_SECONDS)
            status = fs_remove(NULL, in->entries[i].path, err);
    }
    return status;
}

/* ------------------------------------------------------------------ the commit point */

/* The marker: lists files of the folder's previous save that this one does not have, when it
 * replaces that save, and a manifest of the old name. */
static void list_gone(const struct model_writer *w, const struct manifest *old, struct buf *out)
{
    buf_str(out, "");
    for (int i = 0; i < old->n && w->replaces; i++)
        if (!manifest_find(&w->contents, old->files[i]->name))
            buf_printf(out, "%s\n", old->files[i]->name);
    if (w->drop && folder_view_has(&w->view, w->drop))
        buf_printf(out, "%s\n", w->drop);
    if (!strcmp(w->manifest, MANIFEST_FILE) &&
        !strcmp(folder_view_manifest(&w->view), MANIFEST_OLD))
        buf_str(out, MANIFEST_OLD "\n");
}

/* Where a model that cannot be uploaded is kept: one folder for all saves below the same folder. */
static void kept_name(const char *dir, struct buf *out)
{
    char *parent = path_parent(dir);
    buf_printf(out, "%s/skiff-model-%ld-%016llx", fs_tmpdir(), (long)getuid(),
               (unsigned long long)hash_xxh64(parent, strlen(parent), 0));
    free(parent);
}

/* This is the only copy: keep it under a name that is not removed as stale, replacing the one kept
 * before. */
static enum skiff_status keep_here(struct model_writer *w, enum skiff_status status,
                                   struct skiff_error *err)
{
    struct buf kept = BUF_INIT;
    kept_name(w->dir, &kept);
    if (folder_move(w->temp, kept.data, NULL, NULL) == SKIFF_OK) { /* one of them is always there */
        free(w->temp);
        w->temp = NULL;
        error_prefix(err, status, "the model cannot be uploaded; it is kept in %s", kept.data);
    }
    buf_deinit(&kept);
    return status;
}

static void forget_kept(const struct model_writer *w)
{
    struct buf kept = BUF_INIT;
    kept_name(w->dir, &kept);
    file_remove_tree(kept.data);
    buf_deinit(&kept);
}

/* Uploads the save as a new folder `to`; removes the remains when that fails. */
static enum skiff_status upload(const struct model_writer *w, const char *to,
                                struct skiff_error *err)
{
    enum skiff_status status = fs_send_folder(NULL, w->temp, to, err);
    if (status < 0)
        (void)fs_remove(NULL, to, NULL);
    return status;
}

/* The target does not exist: upload next to it, then one rename where the storage has an atomic
 * one. */
static enum skiff_status commit_new(struct model_writer *w, const char *number,
                                    struct skiff_error *err)
{
    struct buf from = BUF_INIT;
    const char *base = strrchr(w->dir, '/') + 1;
    buf_printf(&from, "%.*s.%s" SAVE "%s", (int)(base - w->dir), w->dir, base, number);
    enum skiff_status status = fs_send_folder(NULL, w->temp, from.data, err);
    if (status == SKIFF_OK)
        status = fs_rename_exclusive(NULL, from.data, w->dir, err);
    if (status < 0) /* the model is kept here; another attempt gets another number */
        (void)fs_remove(NULL, from.data, NULL);
    buf_deinit(&from);
    return status;
}

/* The listing of w->temp, with the paths it will have below `to`. */
static enum skiff_status list_uploaded(const struct model_writer *w, const char *to,
                                       struct fs_list *out, struct skiff_error *err)
{
    struct fs_list here = {0};
    enum skiff_status status = files_below(w->temp, &here, err);
    for (int i = 0; i < here.count; i++) {
        const char *name = here.entries[i].path + strlen(w->temp) + 1;
        fs_list_add(out, to, name, strlen(name), &here.entries[i].stat);
    }
    fs_list_deinit(&here);
    return status;
}

/* *saved: the marker is written; if a later step fails, the next process finishes the commit. */
static enum skiff_status commit_inside(struct model_writer *w, const char *number,
                                       const struct buf *gone, bool *saved, struct skiff_error *err)
{
    struct buf to = BUF_INIT, marker = BUF_INIT;
    struct fs_list files = {0};
    enum skiff_status status;
    buf_printf(&to, "%s/" SAVE "%s", w->dir, number);
    buf_printf(&marker, "%s/" COMMIT "%s", w->dir, number);
    TRY_OUT(list_uploaded(w, to.data, &files, err));
    TRY_OUT(upload(w, to.data, err));
    status = file_write(marker.data, gone->data, gone->len, err);
    /* the marker may exist though the reply was lost: then the files must stay */
    if (status < 0 && fs_remove(NULL, marker.data, NULL) == SKIFF_OK)
        (void)fs_remove(NULL, to.data, NULL);
    *saved = status == SKIFF_OK;
    if (*saved)
        status = forward(w->dir, to.data, marker.data, &files, gone->data, err);
out:
    buf_deinit(&to);
    buf_deinit(&marker);
    fs_list_deinit(&files);
    return status;
}

/* Lists the folder into w->view and removes old uploads. *fresh: it does not exist, and one rename
 * will create it. */
static enum skiff_status look_at_target(struct model_writer *w, bool *fresh,
                                        struct skiff_error *err)
{
    struct fs_list in = {0};
    struct buf mark = BUF_INIT;
    char *parent = path_parent(w->dir);
    enum skiff_status status = SKIFF_OK;
    *fresh = fs_rename_is_atomic(NULL, w->dir) && strcmp(parent, w->dir) != 0;
    if (*fresh) {
        buf_printf(&mark, ".%s" SAVE, strrchr(w->dir, '/') + 1);
        TRY_OUT(list_folder(parent, &in, err));
        TRY_OUT(remove_old(&in, mark.data, err));
        *fresh = !fs_list_find(&in, w->dir);
        fs_list_deinit(&in);
    }
    if (!*fresh) {
        TRY_OUT(remote_recover(w->dir, &in, err));
        TRY_OUT(remove_old(&in, SAVE, err));
    }
    folder_view_init(&w->view, w->dir, &in);
out:
    fs_list_deinit(&in);
    buf_deinit(&mark);
    free(parent);
    return status;
}

enum skiff_status remote_commit(struct model_writer *w, struct skiff_error *err)
{
    struct manifest old = MANIFEST_INIT;
    struct buf gone = BUF_INIT;
    char number[64];
    uint64_t random;
    bool fresh, saved = false;
    enum skiff_status status;
    secret_random(&random, sizeof random);
    snprintf(number, sizeof number, "%llx-%016llx", (unsigned long long)time(NULL),
             (unsigned long long)random);
    TRY_OUT(look_at_target(w, &fresh, err));
    TRY_OUT(commit_manifests(w, &old, err));
    list_gone(w, &old, &gone);
    status = fresh ? commit_new(w, number, err) : commit_inside(w, number, &gone, &saved, err);
out:
    if (status < 0 && !saved)
        (void)keep_here(w, status, err);
    else
        forget_kept(w);
    buf_deinit(&gone);
    manifest_deinit(&old);
    return status;
}

/* ------------------------------------------------------------------ local copies */

/* The folder's own files, and the sparse tables of 1.x. */
static enum skiff_status copy_beside(const char *folder, const char *to, struct skiff_error *err)
{
    struct fs_list in = {0};
    TRY(fs_list(NULL, folder, &in, err));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < in.count && status == SKIFF_OK; i++) {
        const char *name = name_in(&in.entries[i]);
        if (in.entries[i].stat.folder && strcmp(name, "__lookup_table__"))
            continue;
        char *target = path_join(to, name);
        status = fs_copy(NULL, in.entries[i].path, target, NULL, err);
        free(target);
    }
    fs_list_deinit(&in);
    return status;
}

enum skiff_status model_copy_open(struct model_copy *c, const char *path, struct skiff_error *err)
{
    *c = (struct model_copy){.lock = -1};
    if (!fs_is_remote(path)) {
        c->path = mem_strdup_or_die(path);
        return SKIFF_OK;
    }
    TRY(folder_here(path, &c->temp, &c->lock, err));
    bool whole = file_is_dir(path);
    char *folder = whole ? mem_strdup_or_die(path) : path_parent(path);
    enum skiff_status status = remote_recover(folder, NULL, err);
    c->path = path_join(c->temp, whole ? "model" : strrchr(path, '/') + 1);
    if (status == SKIFF_OK)
        status =
            whole ? fs_copy(NULL, path, c->path, NULL, err) : copy_beside(folder, c->temp, err);
    free(folder);
    if (status < 0)
        model_copy_close(c);
    return status;
}

void model_copy_close(struct model_copy *c)
{
    if (c->temp)
        file_remove_tree(c->temp);
    if (c->lock >= 0)
        lock_close(c->lock);
    free(c->temp);
    free(c->path);
    *c = (struct model_copy){.lock = -1};
}
