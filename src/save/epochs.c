/* Folders of epochs (epochs.h), local or remote.
 *
 * Names decide what holds an epoch; contents are read only of one that is asked for, because on
 * remote storage every file that is read is a request. An incomplete epoch is never removed
 * here: whoever loads reports it and takes an older one. */
#include "save/epochs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "config/values.h"
#include "fs/fs.h"
#include "store/file.h"
#include "store/stale_file.h"

#define NUMBER_MAX 1000000

static void join(struct buf *out, const char *folder, int epoch, const char *name)
{
    buf_reset(out);
    buf_printf(out, "%s/%d%s%s", folder, epoch, name[0] ? "/" : "", name);
}

/* ---- before training ---- */

/* Nobody trains for a day to hear that nothing can be written there. Saves remove what killed ones
 * have left. */
static enum skiff_status prepare_remote(const char *folder, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/.skiff-probe", folder);
    enum skiff_status status = file_write(path.data, "", 0, err);
    if (status == SKIFF_OK)
        status = fs_remove_all(NULL, (const char *const[]){path.data}, 1, err);
    buf_deinit(&path);
    return status;
}

static enum skiff_status prepare_here(const char *folder, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/x", folder);
    enum skiff_status status = file_make_parents(path.data, err);
    if (status == SKIFF_OK && access(folder, W_OK | X_OK))
        status = error_set_sys(err, "nothing can be written to %s", folder);
    if (status == SKIFF_OK)
        stale_file_remove(folder);
    for (int epoch = INT_MAX;
         status == SKIFF_OK && (epoch = save_epoch_before(folder, epoch)) >= 0;) {
        join(&path, folder, epoch, "");
        stale_file_remove(path.data);
    }
    buf_deinit(&path);
    return status;
}

enum skiff_status save_epochs_prepare(const char *folder, struct skiff_error *err)
{
    enum skiff_status status =
        fs_is_remote(folder) ? prepare_remote(folder, err) : prepare_here(folder, err);
    return status < 0 ? error_prefix(err, status, "runner.model_save_path") : status;
}

enum skiff_status save_epochs_check(const char *folder, int first, int end, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    for (int epoch = first; epoch < end && status == SKIFF_OK; epoch++) {
        join(&path, folder, epoch, "");
        if (fs_is_remote(folder))
            continue; /* no conflict on S3; other storage reports it when saving */
        if (access(path.data, F_OK) == 0 && !file_is_dir(path.data))
            status = error_set(err, SKIFF_IO, "epoch %d cannot be saved: %s is a file", epoch,
                               path.data);
        else if (file_is_dir(path.data) && access(path.data, W_OK | X_OK))
            status = error_set_sys(err, "epoch %d cannot be saved: %s", epoch, path.data);
    }
    buf_deinit(&path);
    return status < 0 ? error_prefix(err, status, "runner.model_save_path") : status;
}

void save_new_run(struct model_info *info)
{
    snprintf(info->run, sizeof info->run, "%016llx%016llx", (unsigned long long)rng_entropy(),
             (unsigned long long)rng_entropy());
}

/* ---- finding ---- */

/* Names alone decide: on remote storage every file that is read is a request. */
static bool holds_epoch(const struct folder_view *v)
{
    return folder_view_has(v, folder_view_manifest(v)) ||
           folder_view_has(v, SAVE_EPOCH_STEM ".pdparams") || folder_view_has(v, "__model__") ||
           folder_view_has(v, "000");
}

/* A local folder that cannot be looked at may hold one: loading says why. */
static bool may_hold_epoch(const char *path)
{
    return !fs_is_remote(path) && file_is_dir(path);
}

bool save_epoch_open(const char *folder, int epoch, struct save_contents *out)
{
    struct buf path = BUF_INIT;
    join(&path, folder, epoch, "");
    bool there = save_open(out, path.data, NULL) < 0 ? may_hold_epoch(path.data)
                                                     : !out->prefix && holds_epoch(&out->view);
    buf_deinit(&path);
    if (!there)
        save_close(out);
    return there;
}

bool save_epoch_exists(const char *folder, int epoch)
{
    struct buf path = BUF_INIT;
    struct folder_view v;
    join(&path, folder, epoch, "");
    bool seen = model_view_open(path.data, &v, NULL) == SKIFF_OK;
    bool there = seen ? holds_epoch(&v) : may_hold_epoch(path.data);
    if (seen)
        folder_view_deinit(&v);
    buf_deinit(&path);
    return there;
}

static int descending(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

enum skiff_status save_epochs_list(const char *folder, int **out, int *out_n,
                                   struct skiff_error *err)
{
    struct fs_list in = {0};
    int n = 0;
    enum skiff_status status = fs_list(NULL, folder, &in, err);
    int *epochs = mem_alloc_or_die((size_t)(in.count + 1) * sizeof *epochs);
    for (int i = 0; i < in.count; i++) {
        char *end;
        const char *name = strrchr(in.entries[i].path, '/') + 1;
        long epoch = strtol(name, &end, 10);
        if (end != name && !*end && epoch >= 0 && epoch <= NUMBER_MAX)
            epochs[n++] = (int)epoch;
    }
    qsort(epochs, (size_t)n, sizeof *epochs, descending);
    fs_list_deinit(&in);
    *out = epochs;
    *out_n = n;
    return status == SKIFF_NOT_FOUND ? SKIFF_OK : status;
}

int save_epoch_before(const char *folder, int epoch)
{
    int *epochs, n, found = -1;
    (void)save_epochs_list(folder, &epochs, &n, NULL);
    for (int i = 0; i < n && found < 0; i++)
        if (epochs[i] < epoch && save_epoch_exists(folder, epochs[i]))
            found = epochs[i];
    free(epochs);
    return found;
}

/* Nothing there: saved by another program, which saves complete epochs. */
static enum skiff_status read_state(const struct save_contents *c, struct model_info *out,
                                    struct skiff_error *err)
{
    struct values *v = NULL;
    char *path = path_join(c->dir, SAVE_OLD_STATE);
    enum skiff_status status = SKIFF_OK;
    if (save_names(c, SAVE_OLD_STATE))
        status = values_open(path, &v, err);
    if (v) {
        out->complete = values_bool(v, "complete", true);
        out->samples = values_int(v, "samples", 0);
        status = values_check(v, err);
        values_close(v);
    }
    free(path);
    return status;
}

enum skiff_status save_epoch_info(const struct save_contents *c, int epoch, struct model_info *out,
                                  struct skiff_error *err)
{
    *out = c->files.note;
    if (out->known)
        return SKIFF_OK;
    *out = (struct model_info){.epoch = epoch, .complete = true};
    return read_state(c, out, err);
}

/* An older version that was killed in a save has left one pickle without the other. */
static enum skiff_status check_pickles(const struct save_contents *c, struct skiff_error *err)
{
    if (c->listed || c->layout != SAVE_LAYOUT_STATE || strcmp(c->stem, SAVE_EPOCH_STEM) != 0 ||
        save_names(c, SAVE_EPOCH_STEM ".pdopt"))
        return SKIFF_OK;
    return error_set(err, SKIFF_NOT_FOUND,
                     "%s/" SAVE_EPOCH_STEM ".pdparams is there, %s/" SAVE_EPOCH_STEM
                     ".pdopt is missing",
                     c->dir, c->dir);
}

enum skiff_status save_epoch_complete(const struct save_contents *c, bool sums,
                                      struct skiff_error *err)
{
    TRY(save_check(c, sums, err));
    return check_pickles(c, err);
}

enum skiff_status save_epoch_check(const char *folder, int epoch, struct model_info *out,
                                   struct skiff_error *err)
{
    struct save_contents c;
    struct buf path = BUF_INIT;
    join(&path, folder, epoch, "");
    enum skiff_status status = save_open(&c, path.data, err);
    if (status == SKIFF_OK)
        status = save_epoch_complete(&c, true, err);
    if (status == SKIFF_OK)
        status = save_epoch_info(&c, epoch, out, err);
    save_close(&c);
    buf_deinit(&path);
    return status;
}
