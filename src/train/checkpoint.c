/* Epochs on disk (checkpoint.h). An epoch is one save, which appears atomically; its manifest says
 * which run, epoch and number of samples it holds. Epochs of older versions have this in a
 * separate file next to them. An epoch with neither comes from another program and counts as
 * complete. The newest epoch is the highest number that holds a complete model; an incomplete one
 * is reported and skipped, never removed. */
#include "train/checkpoint.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "train/runs.h"
#include "config/values.h"
#include "fleet/report.h"
#include "fs/fs.h"
#include "io/io.h"
#include "passes/prune.h"
#include "store/file.h"
#include "store/stale_file.h"
#include "task/saved_tables.h"

#define PREFIX "rec_static"
#define STATE "skiff_state.yaml"

static void join(struct buf *out, const char *folder, int epoch, const char *name)
{
    buf_reset(out);
    buf_printf(out, "%s/%d%s%s", folder, epoch, name[0] ? "/" : "", name);
}

int checkpoint_feeds(const struct task *j, const char *const *targets, int ntargets, bool label,
                     const char **out)
{
    struct skiff_program *needed = NULL;
    int n = 0;
    (void)prune_for_inference(j->main, NULL, 0, targets, ntargets, &needed, NULL); /* told later */
    for (int i = 0; i < j->vars.ninputs; i++) {
        const struct skiff_var *v = j->vars.inputs[i];
        if ((label || v != j->vars.label) &&
            (!needed || block_own_var(program_root(needed), skiff_var_name(v))))
            out[n++] = skiff_var_name(v);
    }
    program_destroy(needed);
    return n;
}

void checkpoint_inference(struct task *j, struct checkpoint_names *out)
{
    const char *const *named;
    *out = (struct checkpoint_names){.what = {.feeds = out->feeds, .targets = out->targets}};
    struct io_inference *what = &out->what;
    out->targets[what->ntargets++] =
        skiff_var_name(j->vars.predict ? j->vars.predict : j->vars.loss);
    int n = config_list(j->config, KEY_RUNNER_SAVE_INFERENCE_FETCH_VARNAMES, &named);
    if (n > 0) {
        what->targets = named;
        what->ntargets = n;
    }
    what->nfeeds = checkpoint_feeds(j, what->targets, what->ntargets, false, out->feeds);
    n = config_list(j->config, KEY_RUNNER_SAVE_INFERENCE_FEED_VARNAMES, &named);
    if (n > 0) {
        what->feeds = named;
        what->nfeeds = n;
    }
}

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
         status == SKIFF_OK && (epoch = checkpoint_before(folder, epoch)) >= 0;) {
        join(&path, folder, epoch, "");
        stale_file_remove(path.data);
    }
    buf_deinit(&path);
    return status;
}

enum skiff_status checkpoint_prepare(const char *folder, struct skiff_error *err)
{
    enum skiff_status status =
        fs_is_remote(folder) ? prepare_remote(folder, err) : prepare_here(folder, err);
    return status < 0 ? error_prefix(err, status, "runner.model_save_path") : status;
}

enum skiff_status checkpoint_check_folders(const char *folder, int first, int end,
                                           struct skiff_error *err)
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

void checkpoint_new_run(struct model_info *note)
{
    snprintf(note->run, sizeof note->run, "%016llx%016llx", (unsigned long long)rng_entropy(),
             (unsigned long long)rng_entropy());
}

static enum skiff_status write_epoch(struct task *j, struct model_writer *w,
                                     const struct model_info *note, struct skiff_error *err)
{
    model_writer_replace(w, STATE); /* of an older Skiff: the manifest says it now */
    model_writer_describe(w, note);
    if (config_bool(j->config, KEY_RUNNER_USE_INFERENCE)) {
        struct checkpoint_names names;
        checkpoint_inference(j, &names);
        TRY(io_write_inference(w, j->scope, j->main, &names.what, NULL, NULL, err));
    }
    return io_write_state(w, j->scope, j->main, PREFIX, err);
}

enum skiff_status checkpoint_save_to(struct task *j, const char *folder, const char *name,
                                     const struct model_info *note, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    struct model_writer w;
    buf_printf(&path, "%s/%s", folder, name);
    enum skiff_status status = model_writer_open(&w, path.data, err);
    if (status == SKIFF_OK) {
        status = write_epoch(j, &w, note, err);
        if (status == SKIFF_OK)
            status = model_writer_commit(&w, err);
        else
            model_writer_close(&w);
    }
    buf_deinit(&path);
    return status;
}

enum skiff_status checkpoint_save(struct task *j, const char *folder, const struct model_info *note,
                                  struct skiff_error *err)
{
    char name[32];
    snprintf(name, sizeof(name), "%d", note->epoch);
    return checkpoint_save_to(j, folder, name, note, err);
}

/* ------------------------------------------------------------------ finding */

/* Local training leaves pickles; distributed training, and PaddleRec's, a folder with a program. */
static bool holds_epoch(const struct folder_view *v)
{
    return folder_view_has(v, folder_view_manifest(v)) || folder_view_has(v, PREFIX ".pdparams") ||
           folder_view_has(v, "__model__") || saved_tables_in(v);
}

bool checkpoint_view(const char *folder, int epoch, struct folder_view *out)
{
    struct buf path = BUF_INIT;
    struct fs_list none = {0};
    join(&path, folder, epoch, "");
    if (model_view_open(path.data, out, NULL) < 0) /* loading says why */
        folder_view_init(out, path.data, fs_is_remote(path.data) ? &none : NULL);
    buf_deinit(&path);
    bool there = holds_epoch(out);
    if (!there)
        folder_view_deinit(out);
    return there;
}

bool checkpoint_exists(const char *folder, int epoch)
{
    struct folder_view v;
    bool there = checkpoint_view(folder, epoch, &v);
    if (there)
        folder_view_deinit(&v);
    return there;
}

static int descending(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

enum skiff_status checkpoint_list(const char *folder, int **out, int *out_n,
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
        if (end != name && !*end && epoch >= 0 && epoch <= 1000000)
            epochs[n++] = (int)epoch;
    }
    qsort(epochs, (size_t)n, sizeof *epochs, descending);
    fs_list_deinit(&in);
    *out = epochs;
    *out_n = n;
    return status == SKIFF_NOT_FOUND ? SKIFF_OK : status;
}

int checkpoint_before(const char *folder, int epoch)
{
    int *epochs, n, found = -1;
    (void)checkpoint_list(folder, &epochs, &n, NULL);
    for (int i = 0; i < n && found < 0; i++)
        if (epochs[i] < epoch && checkpoint_exists(folder, epochs[i]))
            found = epochs[i];
    free(epochs);
    return found;
}

/* What an older Skiff, and jobs, write beside the model. Nothing there: saved by somebody else, who
 * saves complete epochs. */
static enum skiff_status read_state(const char *folder, struct model_info *out,
                                    struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    struct values *c = NULL;
    enum skiff_status status = SKIFF_OK;
    out->complete = true;
    out->samples = 0;
    join(&path, folder, out->epoch, STATE);
    if (file_exists(path.data))
        status = values_open(path.data, &c, err);
    if (c) {
        out->complete = values_bool(c, "complete", true);
        out->samples = values_int(c, "samples", 0);
        status = values_check(c, err);
        values_close(c);
    }
    buf_deinit(&path);
    return status;
}

/* Without a manifest: a save that was cut by an older Skiff has one pickle and not the other. */
static enum skiff_status pickles_check(const char *folder, int epoch, struct skiff_error *err)
{
    struct buf params = BUF_INIT, opt = BUF_INIT;
    join(&params, folder, epoch, PREFIX ".pdparams");
    join(&opt, folder, epoch, PREFIX ".pdopt");
    enum skiff_status status = SKIFF_OK;
    if (file_exists(params.data) && !file_exists(opt.data))
        status =
            error_set(err, SKIFF_NOT_FOUND, "%s is there, %s is missing", params.data, opt.data);
    buf_deinit(&params);
    buf_deinit(&opt);
    return status;
}

/* A note that the manifest did not give. */
static enum skiff_status note_complete(const char *folder, int epoch, struct model_info *out,
                                       struct skiff_error *err)
{
    if (out->known)
        return SKIFF_OK;
    out->epoch = epoch;
    TRY(pickles_check(folder, epoch, err));
    return read_state(folder, out, err);
}

static enum skiff_status epoch_note(const char *folder, int epoch, struct model_info *out,
                                    struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    join(&path, folder, epoch, "");
    enum skiff_status status = model_check(path.data, out, err);
    buf_deinit(&path);
    return status < 0 ? status : note_complete(folder, epoch, out, err);
}

static void print_incomplete(const char *folder, int epoch, const struct skiff_error *why)
{
    log_warn("%s/%d is incomplete and is ignored: %s", folder, epoch, why->message);
    report_warning("%s/%d is incomplete and is ignored: %s", folder, epoch, why->message);
}

/* Only epochs of the run that has saved last: a new run over the epochs of another has the lower
 * numbers until it has replaced them all. A machine that does not answer is no reason to take an
 * older one. */
enum skiff_status checkpoint_find(const char *folder, struct checkpoint_state *out,
                                  struct skiff_error *err)
{
    struct run_list runs;
    enum skiff_status status = SKIFF_OK;
    out->epoch = -1;
    TRY(run_list_read(&runs, folder, NULL, err));
    run_list_warn(&runs, folder, NULL);
    for (int epoch = INT_MAX; (epoch = run_list_before(&runs, epoch)) >= 0;) {
        struct skiff_error why = {0};
        struct model_info note = {0};
        status = epoch_note(folder, epoch, &note, &why);
        if (status == SKIFF_OK)
            *out = (struct checkpoint_state){epoch, note.complete, note.samples};
        else if (fs_no_answer(folder, status) && err)
            *err = why;
        if (status == SKIFF_OK || fs_no_answer(folder, status))
            break;
        print_incomplete(folder, epoch, &why);
        status = SKIFF_OK;
    }
    run_list_deinit(&runs);
    return status;
}

/* ------------------------------------------------------------------ loading */

/* Loads what is in the folder. Pickles that its manifest lists must be there: else the rest, an
 * inference model without the optimizer's state, would pass for the epoch. */
static enum skiff_status load_read(struct task *j, const struct model_reader *r,
                                   struct skiff_error *err)
{
    const struct file_sum *want;
    if (saved_tables_in(&r->view))
        return saved_tables_load(j, r->dir, err);
    saved_tables_close(j->saved_tables); /* of another epoch */
    j->saved_tables = NULL;
    if (!j->started)
        TRY(task_startup(j, err));
    TRY(model_reader_sum(r, PREFIX ".pdparams", &want, err));
    if (folder_view_has(&r->view, PREFIX ".pdparams"))
        return io_read_state(r, j->scope, j->main, PREFIX, err);
    return io_load(j->scope, j->main, r->dir, err);
}

static enum skiff_status load_path(struct task *j, const char *path, struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    enum skiff_status status;
    do {
        TRY(model_reader_open(&r, path, PREFIX ".pdparams", err));
        status = load_read(j, &r, err);
    } while (model_reader_close(&r, status));
    return status;
}

/* Of a model that is incomplete: which epoch next to it is. */
static void offer_whole(const char *path, struct skiff_error *err)
{
    struct checkpoint_state whole;
    struct model_info note;
    char *folder = mem_strdup_or_die(path), *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    if (slash && err && model_check(path, &note, NULL) < 0 &&
        checkpoint_find(folder, &whole, NULL) == SKIFF_OK && whole.epoch >= 0)
        error_prefix(err, err->code, "the newest complete epoch is %s/%d", folder, whole.epoch);
    free(folder);
}

enum skiff_status checkpoint_load(struct task *j, const char *path, struct skiff_error *err)
{
    enum skiff_status status = load_path(j, path, err);
    if (status < 0)
        offer_whole(path, err);
    return status;
}

enum skiff_status checkpoint_load_epoch(struct task *j, const char *folder, int epoch,
                                        struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    join(&path, folder, epoch, "");
    enum skiff_status status = load_path(j, path.data, err);
    buf_deinit(&path);
    return status;
}

/* Loading failed: because files are damaged or missing, or because this model does not fit the
 * program? */
static bool is_incomplete(const char *folder, int epoch, enum skiff_status status)
{
    struct model_info note = {0}, network;
    struct buf path = BUF_INIT;
    if (epoch_note(folder, epoch, &note, NULL) < 0)
        return true;
    struct folder_view v;
    bool tables = checkpoint_view(folder, epoch, &v); /* no manifest lists their files */
    if (tables) {
        tables = saved_tables_in(&v);
        folder_view_deinit(&v);
    }
    join(&path, folder, epoch, "dnn_plugin");
    bool incomplete =
        tables && file_is_dir(path.data) && model_check(path.data, &network, NULL) < 0;
    buf_deinit(&path);
    return incomplete ||
           ((!note.known || tables) && (status == SKIFF_FORMAT || status == SKIFF_IO));
}

/* *checked: its files are there, and have their sizes; sums are compared of what is loaded. */
static enum skiff_status load_checked(struct task *j, const char *folder, int epoch,
                                      struct model_info *out, bool *checked,
                                      struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    struct buf path = BUF_INIT;
    enum skiff_status status;
    join(&path, folder, epoch, "");
    do {
        *checked = false;
        TRY_OUT(model_reader_open(&r, path.data, PREFIX ".pdparams", err));
        *out = r.files.note;
        status = model_reader_check_sizes(&r, err);
        if (status == SKIFF_OK)
            status = note_complete(folder, epoch, out, err);
        *checked = status == SKIFF_OK;
        if (*checked)
            status = load_read(j, &r, err);
    } while (model_reader_close(&r, status));
out:
    buf_deinit(&path);
    return status;
}

enum skiff_status checkpoint_load_whole(struct task *j, const char *folder, int epoch,
                                        struct model_info *out, bool *incomplete,
                                        struct skiff_error *err)
{
    struct skiff_error why = {0};
    struct model_info note = {0};
    bool checked;
    enum skiff_status status = load_checked(j, folder, epoch, &note, &checked, &why);
    *incomplete = status < 0 && !fs_no_answer(folder, status) &&
                  (!checked || is_incomplete(folder, epoch, status));
    if (*incomplete) {
        print_incomplete(folder, epoch, &why);
        return SKIFF_OK;
    }
    if (status < 0 && err)
        *err = why;
    if (status == SKIFF_OK)
        *out = note;
    return status;
}

void checkpoint_print_run(const struct model_info *note)
{
    if (note->known && note->run[0])
        log_info("it belongs to run %.8s, has %lld samples of the epoch, and was saved %s",
                 note->run, (long long)note->samples, note->time);
}

enum skiff_status checkpoint_load_newest(struct task *j, const char *folder,
                                         const struct run_list *runs, struct model_info *out,
                                         struct skiff_error *err)
{
    bool incomplete = true;
    for (int epoch = INT_MAX; incomplete;) {
        epoch = out->epoch = run_list_before(runs, epoch);
        if (epoch < 0)
            return SKIFF_OK;
        TRY(checkpoint_load_whole(j, folder, epoch, out, &incomplete, err));
        out->epoch = epoch;
    }
    return SKIFF_OK;
}

enum skiff_status checkpoint_resume(struct task *j, const char *folder, struct model_info *out,
                                    struct skiff_error *err)
{
    struct run_list runs;
    TRY(run_list_read(&runs, folder, NULL, err));
    run_list_warn(&runs, folder, NULL);
    enum skiff_status status = checkpoint_load_newest(j, folder, &runs, out, err);
    run_list_deinit(&runs);
    return status;
}
