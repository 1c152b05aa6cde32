/* The runs in a folder of epochs (runs.h): reads all manifests, chooses the run (the newest, or
 * --run by the beginning of its id) and warns about epochs of other runs. The folder's lock
 * is held for the whole run, so that two runs cannot write the same epochs. */
#include "save/runs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "save/epochs.h"
#include "store/file.h"

#define SHORT_ID 8 /* characters of an id that are shown */

/* ---- epochs ---- */

/* False: there is no such epoch. */
static bool read_epoch(struct listed_epoch *e, const char *folder, int epoch)
{
    struct save_contents c;
    if (!save_epoch_open(folder, epoch, &c))
        return false;
    *e = (struct listed_epoch){.epoch = epoch, .note = c.files.note};
    if (!e->note.known)
        e->note = (struct model_info){.epoch = epoch};
    save_close(&c);
    return true;
}

static void choose_newest(struct run_list *l)
{
    const char *newest = "";
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->epochs[i].note.time, newest) > 0) {
            newest = l->epochs[i].note.time;
            snprintf(l->run, sizeof l->run, "%s", l->epochs[i].note.run);
        }
}

/* The ids that begin so: how many; the last one goes to l->run. */
static int choose_wanted(struct run_list *l, const char *wanted)
{
    int found = 0;
    for (int i = 0; i < l->n; i++) {
        const char *run = l->epochs[i].note.run;
        if (!*run || strncmp(run, wanted, strlen(wanted)) != 0 || !strcmp(run, l->run))
            continue;
        snprintf(l->run, sizeof l->run, "%s", run);
        found++;
    }
    return found;
}

static enum skiff_status no_run(const struct run_list *l, const char *folder, const char *wanted,
                                int found, struct skiff_error *err)
{
    struct buf ids = BUF_INIT;
    for (int i = 0; i < l->n; i++) {
        const char *run = l->epochs[i].note.run;
        if (*run && (!ids.data || !strstr(ids.data, run)))
            buf_printf(&ids, "%s%s", ids.len ? ", " : "", run);
    }
    enum skiff_status status = error_set(
        err, SKIFF_NOT_FOUND, "--run %s: %s in %s with an id that begins so; its runs: %s", wanted,
        found ? "several runs" : "no run", folder, ids.len ? "" : "none");
    if (status < 0 && err && ids.len) {
        size_t n = strlen(err->message);
        snprintf(err->message + n, sizeof err->message - n, "%s", ids.data);
    }
    buf_deinit(&ids);
    return status;
}

enum skiff_status run_list_read(struct run_list *l, const char *folder, const char *wanted,
                                struct skiff_error *err)
{
    int *epochs, n;
    *l = (struct run_list){0};
    enum skiff_status listed = save_epochs_list(folder, &epochs, &n, err);
    l->epochs = mem_alloc_or_die((size_t)(n + 1) * sizeof *l->epochs);
    for (int i = n - 1; i >= 0; i--)
        l->n += read_epoch(&l->epochs[l->n], folder, epochs[i]);
    free(epochs);
    if (listed < 0)
        run_list_deinit(l);
    TRY(listed);
    if (!wanted) {
        choose_newest(l);
        return SKIFF_OK;
    }
    int found = choose_wanted(l, wanted);
    if (found == 1)
        return SKIFF_OK;
    enum skiff_status status = no_run(l, folder, wanted, found, err);
    run_list_deinit(l);
    return status;
}

void run_list_deinit(struct run_list *l)
{
    free(l->epochs);
    *l = (struct run_list){0};
}

static bool is_chosen(const struct run_list *l, const struct listed_epoch *e)
{
    return !e->note.run[0] || !strcmp(e->note.run, l->run);
}

const struct listed_epoch *run_list_find(const struct run_list *l, int epoch)
{
    for (int i = 0; i < l->n; i++)
        if (l->epochs[i].epoch == epoch && is_chosen(l, &l->epochs[i]))
            return &l->epochs[i];
    return NULL;
}

int run_list_before(const struct run_list *l, int epoch)
{
    for (int i = l->n - 1; i >= 0; i--)
        if (l->epochs[i].epoch < epoch && is_chosen(l, &l->epochs[i]))
            return l->epochs[i].epoch;
    return -1;
}

/* Epochs i up to `end` of the list, which are of one run. */
static void print_others(const struct run_list *l, int i, int end, struct buf *out)
{
    const struct model_info *note = &l->epochs[i].note;
    buf_printf(out, "%sepoch%s %d", out->len ? "; " : "", end - i > 1 ? "s" : "",
               l->epochs[i].epoch);
    if (end - i > 1)
        buf_printf(out, " to %d", l->epochs[end - 1].epoch);
    buf_printf(out, " %s of another run", end - i > 1 ? "are" : "is");
    buf_printf(out, " (%.*s, saved %s)", SHORT_ID, note->run, l->epochs[end - 1].note.time);
}

/* "epochs 3 to 9 are of another run (5c0f1234, saved 2026-...)", of all other runs; nothing when
 * there are none. */
static void list_others(const struct run_list *l, struct buf *out)
{
    for (int i = 0, end; i < l->n; i = end) {
        for (end = i + 1; end < l->n && !strcmp(l->epochs[end].note.run, l->epochs[i].note.run) &&
                          is_chosen(l, &l->epochs[end]) == is_chosen(l, &l->epochs[i]);)
            end++;
        if (!is_chosen(l, &l->epochs[i]))
            print_others(l, i, end, out);
    }
}

void run_list_warn(const struct run_list *l, const struct logger *log, const char *folder,
                   const char *how)
{
    struct buf text = BUF_INIT;
    list_others(l, &text);
    if (text.len)
        logger_warn(log, "%s: %s: ignored%s%s", folder, text.data, how ? "; " : "", how ? how : "");
    buf_deinit(&text);
}

int runs_remove(const char *folder)
{
    struct buf path = BUF_INIT;
    int n = 0;
    for (int epoch = INT_MAX; (epoch = save_epoch_before(folder, epoch)) >= 0;) {
        buf_reset(&path);
        buf_printf(&path, "%s/%d", folder, epoch);
        file_remove_tree(path.data);
        n += !file_exists(path.data);
    }
    buf_deinit(&path);
    return n;
}

/* ---- the lock ---- */

enum skiff_status run_lock_take(struct folder_lock *l, const char *folder, const char *run,
                                struct skiff_error *err)
{
    char who[64], holder[512];
    snprintf(who, sizeof who, "run %.*s", SHORT_ID, run);
    enum skiff_status status = folder_lock_take(l, folder, who, holder, err);
    if (status < 0)
        return error_prefix(err, status, "runner.model_save_path");
    if (status == SKIFF_END)
        return error_set(
            err, SKIFF_STATE,
            "runner.model_save_path: another run is writing to %s: %s; wait for it, stop it, or "
            "save to another folder (--name NAME, or -o runner.model_save_path=FOLDER)",
            folder, holder);
    return SKIFF_OK;
}
