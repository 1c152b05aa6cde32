/* The instant at which a save is there, in a folder of another machine (model_dir.h). There are no
 * locks, and where renaming is copying (S3) no rename that does it at once.
 *
 * The save is written to TMPDIR, and uploaded into the folder as .skiff-save-<n>/. Then a file
 * .skiff-commit-<n> is put beside it: that is the instant. It lists the files of earlier saves that
 * go. The files are then moved to their places, the manifest last, and both names removed. Who
 * comes to the folder (to load or to save) and finds such a file does the rest first. Two may do it
 * at the same time: moving what is moved already does nothing. Killed before: what was uploaded is
 * removed by a save there a day later, as nobody can tell whether its writer lives.
 *
 * <n> begins with the seconds since 1970, in hexadecimal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/secret.h"
#include "fs/fs.h"
#include "store/leftover.h"
#include "store/model_commit.h"

#define SAVE LEFTOVER_MARK
#define COMMIT ".skiff-commit-"
#define OLD_SECONDS (24 * 3600)
#define LOOKS 5 /* whoever has committed is most likely about to move the files */

/* A folder in TMPDIR for what lies, or will lie, at `path`. */
static enum skiff_status folder_here(const char *path, char **out, int *lock,
                                     struct skiff_error *err)
{
    char *here = file_local_place(path);
    leftover_remove(fs_tmpdir());
    enum skiff_status status = leftover_make_dir(here, false, out, lock, err);
    if (status == SKIFF_OK)
        (void)chmod(*out, 0700); /* TMPDIR is everybody's */
    else
        error_prefix(err, status, "%s", path);
    free(here);
    return status;
}

enum skiff_status remote_temp(struct model_writer *w, struct skiff_error *err)
{
    return folder_here(w->dir, &w->temp, &w->lock, err);
}

/* ------------------------------------------------------------------ moving into place */

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

/* What somebody else has moved meanwhile is where it belongs. */
static enum skiff_status move_file(const char *from, const char *dir, const char *name,
                                   struct skiff_error *err)
{
    char *to = path_join(dir, name), *folder = path_parent(to);
    enum skiff_status status = strchr(name, '/') ? fs_mkdirs(NULL, folder, err) : SKIFF_OK;
    if (status == SKIFF_OK)
        status = fs_replace(NULL, from, to, err);
    free(to);
    free(folder);
    return status == SKIFF_NOT_FOUND ? SKIFF_OK : status;
}

static enum skiff_status move_files(const char *from, const char *dir, struct skiff_error *err)
{
    struct fs_list files = {0};
    enum skiff_status status = files_below(from, &files, err);
    if (status == SKIFF_NOT_FOUND)
        status = SKIFF_OK;
    for (int rank = 0; rank <= 2; rank++)
        for (int i = 0; i < files.count && status == SKIFF_OK; i++) {
            const char *name = files.entries[i].path + strlen(from) + 1;
            if (commit_rank(name) == rank)
                status = move_file(files.entries[i].path, dir, name, err);
        }
    fs_list_deinit(&files);
    return status;
}

/* The files that the marker lists. It may come from anywhere: no name leads out of the folder. */
static enum skiff_status remove_listed(const char *marker, const char *dir, struct skiff_error *err)
{
    struct fs_lines *lines;
    const char *name = "";
    size_t len;
    enum skiff_status status = fs_lines_open(NULL, marker, NULL, &lines, err);
    if (status < 0)
        return status == SKIFF_NOT_FOUND ? SKIFF_OK : status;
    while (status == SKIFF_OK && name) {
        status = fs_lines_next(lines, &name, &len, err);
        if (status < 0 || !name || model_name_check(name, NULL) < 0)
            continue;
        char *path = path_join(dir, name);
        status = fs_remove(NULL, path, err);
        free(path);
    }
    fs_lines_close(lines);
    return status;
}

static enum skiff_status forward(const char *dir, const char *number, struct skiff_error *err)
{
    struct buf from = BUF_INIT, marker = BUF_INIT;
    enum skiff_status status;
    buf_printf(&from, "%s/" SAVE "%s", dir, number);
    buf_printf(&marker, "%s/" COMMIT "%s", dir, number);
    TRY_OUT(move_files(from.data, dir, err));
    TRY_OUT(remove_listed(marker.data, dir, err));
    TRY_OUT(fs_remove(NULL, from.data, err));
    TRY_OUT(fs_remove(NULL, marker.data, err));
out:
    if (status < 0)
        error_prefix(err, status, "%s holds a save that is not in its place yet", from.data);
    buf_deinit(&from);
    buf_deinit(&marker);
    return status;
}

enum skiff_status remote_list(const char *dir, struct fs_list *out, struct skiff_error *err)
{
    struct fs_stat st;
    enum skiff_status status = fs_list(NULL, dir, out, err);
    if (status == SKIFF_NOT_FOUND || status == SKIFF_OK)
        return SKIFF_OK;
    return fs_look(NULL, dir, &st, NULL) == SKIFF_OK && !st.folder ? SKIFF_OK : status;
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

enum skiff_status remote_settle(const char *dir, struct skiff_error *err)
{
    struct fs_list in = {0};
    enum skiff_status status = remote_list(dir, &in, err);
    for (int i = 1; i < LOOKS && status == SKIFF_OK && has_commit(&in); i++) {
        clock_sleep(2 * fs_pause() * CLOCK_MS);
        fs_list_deinit(&in);
        status = remote_list(dir, &in, err);
    }
    for (int i = 0; i < in.count && status == SKIFF_OK; i++) {
        const char *number = number_of(&in.entries[i], COMMIT);
        if (number)
            status = forward(dir, number, err);
    }
    fs_list_deinit(&in);
    return status;
}

enum skiff_status remote_clean(const char *dir, struct skiff_error *err)
{
    struct fs_list in = {0};
    TRY(remote_settle(dir, err));
    enum skiff_status status = remote_list(dir, &in, err);
    for (int i = 0; i < in.count && status == SKIFF_OK; i++) {
        const char *number = number_of(&in.entries[i], SAVE);
        if (number && (int64_t)strtoull(number, NULL, 16) < (int64_t)time(NULL) - OLD_SECONDS)
            status = fs_remove(NULL, in.entries[i].path, err);
    }
    fs_list_deinit(&in);
    return status;
}

/* ------------------------------------------------------------------ the instant */

/* The marker: what of the folder's last save is not in this one, when this one replaces it; a
 * manifest of the old name. */
static void list_gone(const struct model_writer *w, const struct manifest *old, struct buf *out)
{
    for (int i = 0; i < old->n && w->replaces; i++)
        if (!manifest_find(&w->contents, old->files[i]->name))
            buf_printf(out, "%s\n", old->files[i]->name);
    if (!strcmp(w->manifest, MANIFEST_FILE) && !strcmp(manifest_in(w->dir), MANIFEST_OLD))
        buf_str(out, MANIFEST_OLD "\n");
}

/* Nobody else has it: it stays here, under a name that is not removed as a leftover. */
static enum skiff_status keep_here(struct model_writer *w, const char *number,
                                   enum skiff_status status, struct skiff_error *err)
{
    struct buf kept = BUF_INIT;
    buf_printf(&kept, "%s/skiff-model-%s", fs_tmpdir(), number);
    if (rename(w->temp, kept.data) == 0) {
        free(w->temp);
        w->temp = NULL;
        error_prefix(err, status, "the model is kept in %s, it cannot be uploaded", kept.data);
    }
    buf_deinit(&kept);
    return status;
}

static enum skiff_status upload(struct model_writer *w, const char *number, const struct buf *gone,
                                struct skiff_error *err)
{
    struct buf to = BUF_INIT, marker = BUF_INIT;
    buf_printf(&to, "%s/" SAVE "%s", w->dir, number);
    buf_printf(&marker, "%s/" COMMIT "%s", w->dir, number);
    enum skiff_status status = fs_copy(NULL, w->temp, to.data, NULL, err);
    if (status == SKIFF_OK)
        status = file_write(marker.data, gone->data ? gone->data : "", gone->len, err);
    /* the marker may be there though the answer was lost: not without its files */
    if (status < 0 && fs_remove(NULL, marker.data, NULL) == SKIFF_OK)
        (void)fs_remove(NULL, to.data, NULL);
    buf_deinit(&to);
    buf_deinit(&marker);
    return status < 0 ? keep_here(w, number, status, err) : SKIFF_OK;
}

enum skiff_status remote_commit(struct model_writer *w, struct skiff_error *err)
{
    struct manifest old = MANIFEST_INIT;
    struct buf gone = BUF_INIT;
    char number[64];
    uint64_t random;
    secret_random(&random, sizeof random);
    snprintf(number, sizeof number, "%llx-%016llx", (unsigned long long)time(NULL),
             (unsigned long long)random);
    enum skiff_status status = remote_settle(w->dir, err);
    if (status == SKIFF_OK)
        status = commit_manifests(w, &old, err);
    list_gone(w, &old, &gone);
    status = status == SKIFF_OK ? upload(w, number, &gone, err) : keep_here(w, number, status, err);
    if (status == SKIFF_OK)
        status = forward(w->dir, number, err);
    buf_deinit(&gone);
    manifest_deinit(&old);
    return status;
}

/* ------------------------------------------------------------------ copies */

/* The folder's own files, and the tables of 1.x. */
static enum skiff_status copy_beside(const char *folder, const char *to, struct skiff_error *err)
{
    struct fs_list in = {0};
    TRY(fs_list(NULL, folder, &in, err));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < in.count && status == SKIFF_OK; i++) {
        const char *name = name_in(&in.entries[i]);
        if (in.entries[i].stat.folder && strcmp(name, "__lookup_table__"))
            continue;
        char *place = path_join(to, name);
        status = fs_copy(NULL, in.entries[i].path, place, NULL, err);
        free(place);
    }
    fs_list_deinit(&in);
    return status;
}

enum skiff_status model_copy_open(struct model_copy *c, const char *path, struct skiff_error *err)
{
    *c = (struct model_copy){.lock = -1};
    if (!fs_is_remote(path)) {
        c->path = mem_must_strdup(path);
        return SKIFF_OK;
    }
    TRY(folder_here(path, &c->temp, &c->lock, err));
    bool whole = file_is_dir(path);
    char *folder = whole ? mem_must_strdup(path) : path_parent(path);
    enum skiff_status status = remote_settle(folder, err);
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
        lock_release(c->lock);
    free(c->temp);
    free(c->path);
    *c = (struct model_copy){.lock = -1};
}
