/* Epochs on disk (checkpoint.h). src/save knows their layouts; here values come from them into a
 * task, and back. The newest epoch is the highest number that holds a complete model; an incomplete
 * one is reported and skipped, never removed. */
#include "train/checkpoint.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/plural.h"
#include "fleet/report.h"
#include "fs/fs.h"
#include "io/io.h"
#include "passes/prune.h"
#include "save/epochs.h"
#include "save/runs.h"
#include "save/sources.h"
#include "store/file.h"
#include "task/saved_tables.h"

static void join(struct buf *out, const char *folder, int epoch)
{
    buf_reset(out);
    buf_printf(out, "%s/%d", folder, epoch);
}

int checkpoint_feeds(const struct task *j, const char *const *targets, int ntargets, bool label,
                     const char **out)
{
    struct skiff_program *needed = NULL;
    int n = 0;
    (void)prune_for_inference(j->main, NULL, 0, targets, ntargets, &needed,
                              NULL); /* reported later */
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

/* ------------------------------------------------------------------ saving */

static enum skiff_status write_inference(void *user, struct save *s, struct skiff_error *err)
{
    struct task *j = user;
    struct checkpoint_names names;
    checkpoint_inference(j, &names);
    return io_write_inference(&s->files, j->scope, j->main, &names.what, NULL, NULL, err);
}

static enum skiff_status write_state(void *user, struct save *s, struct skiff_error *err)
{
    struct task *j = user;
    return io_write_state(&s->files, j->scope, j->main, SAVE_EPOCH_STEM, err);
}

enum skiff_status checkpoint_save_to(struct task *j, const char *folder, const char *name,
                                     const struct model_info *note,
                                     const struct save_attempts *attempts, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    struct save_source sources[] = {
        {write_inference, j}, {write_state, j}, {save_write_position, (void *)note}};
    bool inference = config_bool(j->config, KEY_RUNNER_USE_INFERENCE);
    buf_printf(&path, "%s/%s", folder, name);
    enum skiff_status status = save_write(&(struct save_plan){.path = path.data,
                                                              .layout = SAVE_LAYOUT_FOLDER,
                                                              .info = note,
                                                              .sources = sources + !inference,
                                                              .nsources = 2 + inference,
                                                              .attempts = attempts},
                                          err);
    buf_deinit(&path);
    return status;
}

enum skiff_status checkpoint_save(struct task *j, const char *folder, const struct model_info *note,
                                  const struct save_attempts *attempts, struct skiff_error *err)
{
    char name[32];
    snprintf(name, sizeof(name), "%d", note->epoch);
    return checkpoint_save_to(j, folder, name, note, attempts, err);
}

/* ------------------------------------------------------------------ finding */

static void print_incomplete(const struct logger *log, const char *folder, int epoch,
                             const struct skiff_error *why)
{
    logger_warn(log, "%s/%d is incomplete and is ignored: %s", folder, epoch, why->message);
    report_warning("%s/%d is incomplete and is ignored: %s", folder, epoch, why->message);
}

/* Only epochs of the run that has saved last: a new run over the epochs of another has the lower
 * numbers until it has replaced them all. A machine that does not answer is no reason to take an
 * older one. */
enum skiff_status checkpoint_find(const struct logger *log, const char *folder,
                                  struct checkpoint_state *out, struct skiff_error *err)
{
    struct run_list runs;
    enum skiff_status status = SKIFF_OK;
    out->epoch = -1;
    TRY(run_list_read(&runs, folder, NULL, err));
    run_list_warn(&runs, log, folder, NULL);
    for (int epoch = INT_MAX; (epoch = run_list_before(&runs, epoch)) >= 0;) {
        struct skiff_error why = {0};
        struct model_info note = {0};
        status = save_epoch_check(folder, epoch, &note, &why);
        if (status == SKIFF_OK)
            *out = (struct checkpoint_state){epoch, note.complete, note.samples};
        else if (fs_no_answer(folder, status) && err)
            *err = why;
        if (status == SKIFF_OK || fs_no_answer(folder, status))
            break;
        print_incomplete(log, folder, epoch, &why);
        status = SKIFF_OK;
    }
    run_list_deinit(&runs);
    return status;
}

/* ------------------------------------------------------------------ loading */

/* Loads what is in the folder, by its layout. Pickles that its manifest lists must be there: else
 * the rest, an inference model without the optimizer's state, would pass for the epoch. */
static enum skiff_status load_found(struct task *j, const struct model_reader *r,
                                    const struct save_contents *c, struct skiff_error *err)
{
    if (c->layout == SAVE_LAYOUT_TABLES)
        return saved_tables_load(j, r->dir, err);
    saved_tables_close(j->saved_tables); /* of another epoch */
    j->saved_tables = NULL;
    if (!j->started)
        TRY(task_startup(j, err));
    if (c->layout != SAVE_LAYOUT_STATE)
        return io_load(j->scope, j->main, r->dir, err);
    if (!strcmp(c->stem, SAVE_EPOCH_STEM))
        return io_read_state(r, j->scope, j->main, SAVE_EPOCH_STEM, err);
    char *prefix = path_join(r->dir, c->stem); /* with a manifest of its own */
    enum skiff_status status = io_load(j->scope, j->main, prefix, err);
    free(prefix);
    return status;
}

static enum skiff_status load_read(struct task *j, const struct model_reader *r,
                                   struct skiff_error *err)
{
    struct save_contents c;
    enum skiff_status status = save_open_reader(&c, r, err);
    if (status == SKIFF_OK)
        status = load_found(j, r, &c, err);
    save_close(&c);
    return status;
}

static enum skiff_status load_path(struct task *j, const char *path, struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    enum skiff_status status;
    do {
        TRY(model_reader_open(&r, path, SAVE_EPOCH_STEM ".pdparams", err));
        status = load_read(j, &r, err);
    } while (model_reader_close(&r, status));
    return status;
}

static bool is_damaged(const char *path)
{
    struct save_contents c;
    bool damaged = save_open(&c, path, NULL) == SKIFF_OK && save_check(&c, true, NULL) < 0;
    save_close(&c);
    return damaged;
}

/* Of a model that is incomplete: which epoch next to it is. */
static void offer_whole(struct task *j, const char *path, struct skiff_error *err)
{
    struct checkpoint_state whole;
    char *folder = mem_strdup_or_die(path), *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    if (slash && err && is_damaged(path) &&
        checkpoint_find(&j->logger, folder, &whole, NULL) == SKIFF_OK && whole.epoch >= 0)
        error_prefix(err, err->code, "the newest complete epoch is %s/%d", folder, whole.epoch);
    free(folder);
}

enum skiff_status checkpoint_load(struct task *j, const char *path, struct skiff_error *err)
{
    enum skiff_status status = load_path(j, path, err);
    if (status < 0)
        offer_whole(j, path, err);
    return status;
}

/* Loading failed: because files are damaged or missing, or because this model does not fit the
 * program? No manifest lists the files of tables. */
static bool is_incomplete(const char *folder, int epoch, enum skiff_status status)
{
    struct save_contents c;
    struct buf path = BUF_INIT;
    join(&path, folder, epoch);
    bool incomplete = save_open(&c, path.data, NULL) < 0 || save_epoch_complete(&c, true, NULL) < 0;
    bool unlisted = !c.files.note.known || c.layout == SAVE_LAYOUT_TABLES;
    save_close(&c);
    buf_deinit(&path);
    return incomplete || (unlisted && (status == SKIFF_FORMAT || status == SKIFF_IO));
}

/* *checked: its files are there, and have their sizes; sums are compared of what is loaded. */
static enum skiff_status read_checked(struct task *j, const struct model_reader *r, int epoch,
                                      struct model_info *out, bool *checked,
                                      struct skiff_error *err)
{
    struct save_contents c;
    enum skiff_status status = save_open_reader(&c, r, err);
    if (status == SKIFF_OK)
        status = save_epoch_complete(&c, false, err);
    if (status == SKIFF_OK)
        status = save_epoch_info(&c, epoch, out, err);
    *checked = status == SKIFF_OK;
    if (*checked)
        status = load_found(j, r, &c, err);
    save_close(&c);
    return status;
}

static enum skiff_status load_checked(struct task *j, const char *folder, int epoch,
                                      struct model_info *out, bool *checked,
                                      struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    struct buf path = BUF_INIT;
    enum skiff_status status;
    join(&path, folder, epoch);
    do {
        *checked = false;
        TRY_OUT(model_reader_open(&r, path.data, SAVE_EPOCH_STEM ".pdparams", err));
        status = read_checked(j, &r, epoch, out, checked, err);
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
        print_incomplete(&j->logger, folder, epoch, &why);
        return SKIFF_OK;
    }
    if (status < 0 && err)
        *err = why;
    if (status == SKIFF_OK)
        *out = note;
    return status;
}

void checkpoint_print_run(const struct logger *log, const struct model_info *note)
{
    if (note->known && note->run[0])
        logger_info(log, "it belongs to run %.8s, has %lld sample%s of the epoch, and was saved %s",
                    note->run, (long long)note->samples, plural(note->samples), note->time);
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
    run_list_warn(&runs, &j->logger, folder, NULL);
    enum skiff_status status = checkpoint_load_newest(j, folder, &runs, out, err);
    run_list_deinit(&runs);
    return status;
}
