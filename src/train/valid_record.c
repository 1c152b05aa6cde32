/* What validation has found, on disk: <model_save_path>/best.yaml.
 *
 *   epoch: 2                 the best one: its model is in the folder `model`
 *   batch: 400               batches of that epoch before it was evaluated
 *   end: True                at the epoch's end
 *   metric: auc
 *   value: 0.7901
 *   model: "2"
 *   run: 5c0f...
 *   points:                  all of them, in order
 *     - {epoch: 0, batch: 400, samples: 40000, end: True, kept: True, auc: ..., log_loss: ...}
 *
 * Written atomically, after the models that it names. A number that is missing is none. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "save/epochs.h"
#include "train/valid.h"
#include "config/values.h"
#include "store/file.h"
#include "store/stale_file.h"

static const char *const keys[] = {"auto", "auc", "log_loss", "loss", NULL};

static void recorder_path(const char *folder, const char *name, struct buf *out)
{
    buf_reset(out);
    buf_printf(out, "%s/%s", folder, name);
}

/* ---- the list ---- */

void valid_add(struct valid *v, const struct valid_point *p)
{
    if (v->n == v->cap) {
        v->cap = v->cap ? 2 * v->cap : 16;
        v->points = mem_grow_or_die(v->points, (size_t)v->cap * sizeof(*v->points));
    }
    v->points[v->n++] = *p;
}

static double gain(const struct valid *v, double value, double over)
{
    if (isnan(value))
        return -INFINITY;
    if (isnan(over))
        return INFINITY;
    return v->metric == VALID_AUC ? value - over : over - value;
}

static double value_at(const struct valid *v, int i)
{
    return i < 0 ? NAN : valid_value(&v->points[i], v->metric);
}

void valid_choose_metric(struct valid *v, const struct valid_point *p)
{
    if (v->metric == VALID_AUTO)
        v->metric = !isnan(p->auc) ? VALID_AUC : !isnan(p->log_loss) ? VALID_LOG_LOSS : VALID_LOSS;
}

static void replay_one(struct valid *v, int i)
{
    const struct valid_point *p = &v->points[i];
    valid_choose_metric(v, p);
    double value = value_at(v, i), step = gain(v, value, v->reference);
    if (p->kept && gain(v, value, value_at(v, v->best)) > 0)
        v->best = i;
    if (gain(v, value, value_at(v, v->top)) > 0)
        v->top = i;
    bool improved = step > 0 && step >= v->delta;
    v->reference = improved ? value : v->reference;
    v->idle = improved ? 0 : v->idle + 1;
}

void valid_replay(struct valid *v)
{
    v->best = v->top = -1;
    v->reference = NAN;
    v->idle = 0;
    for (int i = 0; i < v->n; i++)
        replay_one(v, i);
    v->stop = v->patience && v->idle >= v->patience;
}

/* ---- writing ---- */

static void number(struct buf *out, const char *key, double x)
{
    if (!isnan(x))
        buf_printf(out, ", %s: %.17g", key, x);
}

static const char *word(bool yes)
{
    return yes ? "True" : "False";
}

static void write_best(const struct valid *v, struct buf *out)
{
    const struct valid_point *p = &v->points[v->best];
    buf_printf(out, "epoch: %d\nbatch: %lld\nend: %s\nmetric: %s\nvalue: %.17g\n", p->epoch,
               (long long)p->batch, word(p->end), keys[v->metric], value_at(v, v->best));
    if (p->end)
        buf_printf(out, "model: \"%d\"\n", p->epoch);
    else
        buf_printf(out, "model: \"" VALID_MODEL "\"\n");
}

enum skiff_status valid_record_write(const struct valid *v, struct skiff_error *err)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    recorder_path(v->folder, VALID_RECORD, &path);
    if (v->best >= 0)
        write_best(v, &text);
    buf_printf(&text, "run: \"%s\"\npoints:\n", v->run);
    for (int i = 0; i < v->n; i++) {
        const struct valid_point *p = &v->points[i];
        buf_printf(&text, "  - {epoch: %d, batch: %lld, samples: %lld, end: %s, kept: %s", p->epoch,
                   (long long)p->batch, (long long)p->samples, word(p->end), word(p->kept));
        number(&text, "auc", p->auc);
        number(&text, "log_loss", p->log_loss);
        number(&text, "copc", p->copc);
        number(&text, "loss", p->loss);
        buf_str(&text, "}\n");
    }
    enum skiff_status status = file_write(path.data, text.data, text.len, err);
    buf_deinit(&text);
    buf_deinit(&path);
    return status;
}

/* ---- reading ---- */

/* Nothing was kept, or nothing had the metric: the file has points, and no best one. */
static int best_epoch(struct values *c)
{
    return values_has(c, "epoch") ? (int)values_int_in(c, "epoch", 0, 0, INT_MAX) : -1;
}

static void read_best(struct values *c, struct valid_best *out)
{
    *out = (struct valid_best){.epoch = best_epoch(c),
                               .batch = values_int(c, "batch", 0),
                               .end = values_bool(c, "end", true),
                               .metric = (enum valid_metric)values_choice(c, "metric", 1, keys),
                               .value = values_real(c, "value", NAN)};
    snprintf(out->model, sizeof(out->model), "%s", values_text(c, "model", ""));
    snprintf(out->run, sizeof(out->run), "%s", values_text(c, "run", ""));
}

static double real_of(struct values *c, int i, const char *name)
{
    char key[64];
    snprintf(key, sizeof(key), "points.%d.%s", i, name);
    return values_real(c, key, NAN);
}

static int64_t whole_of(struct values *c, int i, const char *name, int64_t most)
{
    char key[64];
    snprintf(key, sizeof(key), "points.%d.%s", i, name);
    return values_int_in(c, key, 0, 0, most);
}

static bool flag_of(struct values *c, int i, const char *name)
{
    char key[64];
    snprintf(key, sizeof(key), "points.%d.%s", i, name);
    return values_bool(c, key, false);
}

static void read_points(struct values *c, struct valid *v)
{
    char key[64];
    for (int i = 0; snprintf(key, sizeof(key), "points.%d.epoch", i), values_has(c, key); i++)
        valid_add(v, &(struct valid_point){.epoch = (int)whole_of(c, i, "epoch", INT_MAX),
                                           .batch = whole_of(c, i, "batch", INT64_MAX),
                                           .samples = whole_of(c, i, "samples", INT64_MAX),
                                           .end = flag_of(c, i, "end"),
                                           .kept = flag_of(c, i, "kept"),
                                           .auc = real_of(c, i, "auc"),
                                           .log_loss = real_of(c, i, "log_loss"),
                                           .copc = real_of(c, i, "copc"),
                                           .loss = real_of(c, i, "loss")});
}

/* v may be NULL: only the best. */
static enum skiff_status recorder_read(const char *folder, struct valid *v, struct valid_best *best,
                                       struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    struct values *c = NULL;
    enum skiff_status status = SKIFF_OK;
    *best = (struct valid_best){.epoch = -1};
    recorder_path(folder, VALID_RECORD, &path);
    if (file_exists(path.data))
        status = values_open(path.data, &c, err);
    if (c) {
        read_best(c, best);
        if (v && !strcmp(best->run, v->run))
            read_points(c, v);
        status = values_check(c, err);
        values_close(c);
    }
    buf_deinit(&path);
    return status;
}

enum skiff_status valid_record_read(struct valid *v, struct skiff_error *err)
{
    struct valid_best best;
    v->n = 0;
    return recorder_read(v->folder, v, &best, err);
}

/* Is the epoch there, and of the run that was evaluated? */
static bool is_of_run(const char *folder, const char *model, const char *run)
{
    struct buf path = BUF_INIT;
    struct model_info note = {0};
    recorder_path(folder, model, &path);
    bool same =
        model_info_read(path.data, &note, NULL) == SKIFF_OK && note.known && !strcmp(note.run, run);
    buf_deinit(&path);
    return same;
}

enum skiff_status valid_best_read(const char *folder, struct valid_best *out,
                                  struct skiff_error *err)
{
    TRY(recorder_read(folder, NULL, out, err));
    if (out->epoch >= 0 && !is_of_run(folder, out->model, out->run))
        out->epoch = -1;
    return SKIFF_OK;
}

/* The folder `best` holds one model: is it this point's? */
static bool is_in_best(const struct valid *v, const struct valid_point *p)
{
    struct buf path = BUF_INIT;
    struct model_info note = {0};
    recorder_path(v->folder, VALID_MODEL, &path);
    bool same = model_info_read(path.data, &note, NULL) == SKIFF_OK && note.known &&
                !strcmp(note.run, v->run) && note.epoch == p->epoch && note.steps == p->batch;
    buf_deinit(&path);
    return same;
}

void valid_look_for_models(struct valid *v)
{
    char name[32];
    for (int i = 0; i < v->n; i++) {
        struct valid_point *p = &v->points[i];
        snprintf(name, sizeof(name), "%d", p->epoch);
        if (p->kept)
            p->kept = p->end ? is_of_run(v->folder, name, v->run) : is_in_best(v, p);
    }
}

/* ---- removing ---- */

void valid_record_remove(const char *folder)
{
    struct buf path = BUF_INIT;
    recorder_path(folder, VALID_RECORD, &path);
    file_remove_tree(path.data);
    recorder_path(folder, VALID_MODEL, &path);
    file_remove_tree(path.data);
    buf_deinit(&path);
}

void valid_remove_stale(struct valid *v)
{
    struct buf path = BUF_INIT;
    if (v->best >= 0 && !v->points[v->best].end)
        return;
    recorder_path(v->folder, VALID_MODEL, &path);
    file_remove_tree(path.data);
    buf_deinit(&path);
    for (int i = 0; i < v->n; i++)
        v->points[i].kept &= v->points[i].end;
}

static bool is_best(const struct valid *v, int epoch)
{
    const struct valid_point *p = v->best >= 0 ? &v->points[v->best] : NULL;
    return v->keep_best && p && p->end && p->epoch == epoch;
}

/* Gone atomically: what is left of it when this process is killed is a stale temporary file. */
static void remove_epoch(const struct valid *v, const char *name, struct buf *path)
{
    struct buf away = BUF_INIT;
    recorder_path(v->folder, name, path);
    buf_printf(&away, "%s/.%s" STALE_FILE_MARK "old", v->folder, name);
    logger_debug(&v->task->logger, "removed %s: runner.keep_epochs is %d", path->data,
                 v->keep_epochs);
    file_remove_tree(rename(path->data, away.data) ? path->data : away.data);
    buf_deinit(&away);
}

/* The record shall not name what is gone. */
static bool forget(struct valid *v, int epoch)
{
    bool was = false;
    for (int i = 0; i < v->n; i++)
        if (v->points[i].epoch == epoch && v->points[i].end) {
            was |= v->points[i].kept;
            v->points[i].kept = false;
        }
    return was;
}

bool valid_remove_old(struct valid *v, int epoch)
{
    struct buf path = BUF_INIT;
    char name[32];
    bool changed = false;
    for (int newer = 1; v->keep_epochs && (epoch = save_epoch_before(v->folder, epoch)) >= 0;) {
        snprintf(name, sizeof(name), "%d", epoch);
        if (++newer <= v->keep_epochs || is_best(v, epoch) || !is_of_run(v->folder, name, v->run))
            continue;
        remove_epoch(v, name, &path);
        changed |= forget(v, epoch);
    }
    buf_deinit(&path);
    return changed;
}
