/* The model of a prediction: the best epoch, the newest, or what is asked for. An inference model
 * brings its own program, everything else uses the network of the config. A best epoch that is
 * damaged is skipped with a warning, and the newest complete one is taken. */
#include "train/predict_model.h"

#include <string.h>

#include "save/contents.h"
#include "save/epochs.h"
#include "save/runs.h"
#include "train/checkpoint.h"
#include "train/online_done.h"
#include "train/valid.h"

struct choice {
    struct task *task;
    const struct predict_wish *wish;
    struct skiff_model *model;
    struct buf *path;
};

static bool program_reads(const struct skiff_program *p, const char *name)
{
    const struct skiff_block *root = program_root(p);
    for (int i = 0; i < root->nops; i++)
        for (int j = 0; j < root->ops[i]->nins; j++)
            for (int k = 0; k < root->ops[i]->ins[j].n; k++)
                if (!strcmp(root->ops[i]->ins[j].names[k], name))
                    return true;
    return false;
}

/* Fed with all inputs that it needs, or with all but the label. */
static enum skiff_status prune(struct choice *t, bool with_label, struct skiff_error *err)
{
    const struct skiff_model_net *net = &t->task->vars;
    const char *feeds[SKIFF_MODEL_MAX_INPUTS], *target = skiff_var_name(net->predict);
    struct io_inference what = {.feeds = feeds, .targets = &target, .ntargets = 1};
    const struct skiff_program *main = program_to_run(t->task->main); /* tables: a server's */
    what.nfeeds = checkpoint_feeds(t->task, &target, 1, with_label, feeds);
    return io_inference_program(main, &what, false, &t->model->program, err);
}

static enum skiff_status check_predicts(const struct choice *t, struct skiff_error *err)
{
    const struct skiff_model_net *net = &t->task->vars;
    bool label = false;
    for (int i = 0; i < net->ninputs; i++)
        label |= net->inputs[i] == net->label;
    if (!net->predict || !label)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%s has no prediction for a row (its inputs do not include the labels); "
                         "its parameters are in the saved epochs",
                         t->task->model->name);
    if (net->not_probability)
        logger_warn(&t->task->logger, "%s predicts scores that order rows, not probabilities",
                    t->task->model->name);
    return SKIFF_OK;
}

/* Of the model that was loaded: the network up to its prediction. Where that is made by the op of
 * the loss (the Softmax of softmax_with_cross_entropy) a label is fed, which does not change it:
 * the reader leaves 0. */
static enum skiff_status make_program(struct choice *t, struct skiff_error *err)
{
    TRY(prune(t, false, err));
    if (program_reads(t->model->program, skiff_var_name(t->task->vars.label))) {
        io_model_deinit(t->model);
        TRY(prune(t, true, err));
    }
    return io_model_targets(t->model, err);
}

static enum skiff_status load_path(struct choice *t, const char *path, struct skiff_error *err)
{
    struct save_contents c;
    buf_printf(t->path, "%s", path);
    enum skiff_status status = save_open(&c, path, err);
    bool runs_alone = c.layout == SAVE_LAYOUT_FOLDER || c.layout == SAVE_LAYOUT_PREFIX;
    if (status == SKIFF_OK && runs_alone) /* its own program predicts */
        status = io_load_inference(t->task->scope, c.layout == SAVE_LAYOUT_FOLDER ? c.dir : path,
                                   NULL, NULL, t->model, err);
    save_close(&c);
    if (status < 0 || runs_alone)
        return status;
    TRY(check_predicts(t, err));
    TRY(checkpoint_load(t->task, path, err));
    return make_program(t, err);
}

/* The folder of the run's best by validation; "": not known, or of another run. */
static void find_best(struct choice *t, const char *folder, const struct run_list *runs)
{
    struct valid_best best;
    struct skiff_error why = {0};
    buf_reset(t->path);
    if (valid_best_read(folder, &best, &why) < 0)
        logger_warn(&t->task->logger, "the best epoch is not known: %s", why.message);
    else if (best.epoch >= 0 && !strcmp(best.run, runs->run))
        buf_printf(t->path, "%s/%s", folder, best.model);
}

static void print_model(const struct choice *t, bool best, const struct model_info *note)
{
    logger_info(&t->task->logger, "predicting with %s%s%s", t->path->data,
                best ? ", the best of the run" : "",
                note->known && !note->complete
                    ? ", which was interrupted and has only part of the epoch"
                    : "");
    checkpoint_print_run(&t->task->logger, note);
}

static enum skiff_status no_epoch(const char *folder, struct skiff_error *err)
{
    int day;
    struct buf newest = BUF_INIT;
    enum skiff_status status =
        done_newest(folder, &newest, &day)
            ? error_set(err, SKIFF_NOT_FOUND,
                        "%s holds days and passes of online training: name one of its models, as "
                        "--model %s",
                        folder, newest.data)
            : error_set(err, SKIFF_NOT_FOUND,
                        "no complete epoch in %s to predict with: train first (skiff train), or "
                        "name a model (--model PATH)",
                        folder);
    buf_deinit(&newest);
    return status;
}

static enum skiff_status load_newest(struct choice *t, const char *folder,
                                     const struct run_list *runs, struct skiff_error *err)
{
    struct model_info note = {.epoch = -1};
    struct skiff_error why = {0};
    find_best(t, folder, runs);
    if (t->path->len) {
        if (model_check(t->path->data, &note, &why) == SKIFF_OK &&
            checkpoint_load(t->task, t->path->data, &why) == SKIFF_OK) {
            note.complete = true; /* a best one may be of the middle of its epoch */
            print_model(t, true, &note);
            return SKIFF_OK;
        }
        logger_warn(&t->task->logger, "%s, the best of the run, is ignored: %s", t->path->data,
                    why.message);
    }
    TRY(checkpoint_load_newest(t->task, folder, runs, &note, err));
    if (note.epoch < 0)
        return no_epoch(folder, err);
    buf_reset(t->path);
    buf_printf(t->path, "%s/%d", folder, note.epoch);
    print_model(t, false, &note);
    return SKIFF_OK;
}

static enum skiff_status choose(struct choice *t, struct skiff_error *err)
{
    const char *folder = t->wish->folder ? t->wish->folder : task_load_path(t->task);
    struct run_list runs;
    if (t->wish->model) {
        TRY(load_path(t, t->wish->model, err));
        logger_info(&t->task->logger, "predicting with %s", t->path->data);
        return SKIFF_OK;
    }
    if (t->wish->has_epoch) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%lld", folder, (long long)t->wish->epoch);
        enum skiff_status status = SKIFF_OK;
        if (!save_epoch_exists(folder, (int)t->wish->epoch))
            status = error_set(err, SKIFF_NOT_FOUND, "%s contains no saved model", path.data);
        else
            status = load_path(t, path.data, err);
        if (status == SKIFF_OK)
            logger_info(&t->task->logger, "predicting with %s", t->path->data);
        buf_deinit(&path);
        return status;
    }
    TRY(check_predicts(t, err));
    TRY(run_list_read(&runs, folder, t->wish->run, err));
    run_list_warn(&runs, &t->task->logger, folder, "--run ID or --epoch N selects them");
    enum skiff_status status = load_newest(t, folder, &runs, err);
    run_list_deinit(&runs);
    return status < 0 ? status : make_program(t, err);
}

enum skiff_status predict_model_load(struct task *task, const struct predict_wish *wish,
                                     struct skiff_model *out, struct buf *path,
                                     struct skiff_error *err)
{
    struct choice t = {task, wish, out, path};
    return choose(&t, err);
}
