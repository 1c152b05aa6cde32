/* Epochs on disk (checkpoint.h). The state file is written last: an epoch without it was saved
 * whole by somebody else, one that says so was cut short. The newest epoch is the highest number
 * that holds a model. */
#include "cli/checkpoint.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/io.h"
#include "store/file.h"

#define PREFIX "rec_static"
#define STATE "skiff_state.yaml"

static void join(struct buf *out, const char *folder, int epoch, const char *name)
{
    buf_reset(out);
    buf_printf(out, "%s/%d%s%s", folder, epoch, name[0] ? "/" : "", name);
}

void checkpoint_inference(struct task *j, struct checkpoint_names *out)
{
    const char *const *named;
    *out = (struct checkpoint_names){.what = {.feeds = out->feeds, .targets = out->targets}};
    struct io_inference *what = &out->what;
    for (int i = 0; i < j->vars.ninputs; i++)
        if (j->vars.inputs[i] != j->vars.label)
            out->feeds[what->nfeeds++] = skiff_var_name(j->vars.inputs[i]);
    out->targets[what->ntargets++] =
        skiff_var_name(j->vars.predict ? j->vars.predict : j->vars.loss);
    int n = config_list(j->config, "runner.save_inference_feed_varnames", &named);
    if (n > 0) {
        what->feeds = named;
        what->nfeeds = n;
    }
    n = config_list(j->config, "runner.save_inference_fetch_varnames", &named);
    if (n > 0) {
        what->targets = named;
        what->ntargets = n;
    }
}

static enum skiff_status save_inference(struct task *j, const char *dir, struct skiff_error *err)
{
    struct checkpoint_names names;
    checkpoint_inference(j, &names);
    return io_save_inference_dir(j->scope, j->main, &names.what, dir, NULL, NULL, err);
}

enum skiff_status checkpoint_write_state(const char *folder, const struct checkpoint_state *state,
                                         struct skiff_error *err)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    join(&path, folder, state->epoch, STATE);
    buf_printf(&text, "epoch: %d\ncomplete: %s\nsamples: %lld\n", state->epoch,
               state->complete ? "True" : "False", (long long)state->samples);
    enum skiff_status status = file_write(path.data, text.data, text.len, err);
    buf_deinit(&path);
    buf_deinit(&text);
    return status;
}

enum skiff_status checkpoint_prepare(const char *folder, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/x", folder);
    enum skiff_status status = file_make_parents(path.data, err);
    if (status == SKIFF_OK && access(folder, W_OK | X_OK))
        status = error_set_sys(err, "nothing can be written to %s", folder);
    buf_deinit(&path);
    return status < 0 ? error_prefix(err, status, "runner.model_save_path") : status;
}

enum skiff_status checkpoint_save(struct task *j, const char *folder,
                                  const struct checkpoint_state *state, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    bool inference = config_bool(j->config, "runner.use_inference", false) ||
                     config_bool(j->config, "runner.inference", false);
    join(&path, folder, state->epoch, PREFIX);
    TRY_OUT(file_make_parents(path.data, err));
    if (inference) {
        join(&path, folder, state->epoch, "");
        TRY_OUT(save_inference(j, path.data, err));
    }
    join(&path, folder, state->epoch, PREFIX);
    TRY_OUT(io_save(j->scope, j->main, path.data, err));
    TRY_OUT(checkpoint_write_state(folder, state, err));
out:
    buf_deinit(&path);
    return status;
}

/* Local training leaves pickles; distributed training, and PaddleRec's, a folder with a program. */
bool checkpoint_exists(const char *folder, int epoch)
{
    struct buf path = BUF_INIT;
    join(&path, folder, epoch, PREFIX ".pdparams");
    bool there = file_exists(path.data);
    join(&path, folder, epoch, "__model__");
    there |= file_exists(path.data);
    buf_deinit(&path);
    return there;
}

static enum skiff_status read_state(const char *folder, struct checkpoint_state *s,
                                    struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    struct config *c = NULL;
    enum skiff_status status = SKIFF_OK;
    s->complete = true; /* saved by somebody else, who saves whole epochs */
    s->samples = 0;
    join(&path, folder, s->epoch, STATE);
    if (file_exists(path.data))
        status = config_open(path.data, &c, err);
    if (c) {
        s->complete = config_bool(c, "complete", true);
        s->samples = config_int(c, "samples", 0);
        status = config_check(c, err);
        config_close(c);
    }
    buf_deinit(&path);
    return status;
}

enum skiff_status checkpoint_find(const char *folder, struct checkpoint_state *out,
                                  struct skiff_error *err)
{
    DIR *d = opendir(folder);
    out->epoch = -1;
    if (!d)
        return SKIFF_OK;
    for (struct dirent *e; (e = readdir(d));) {
        char *end;
        long n = strtol(e->d_name, &end, 10);
        if (end == e->d_name || *end || n <= out->epoch || n > 1000000)
            continue;
        if (checkpoint_exists(folder, (int)n))
            out->epoch = (int)n;
    }
    closedir(d);
    return out->epoch < 0 ? SKIFF_OK : read_state(folder, out, err);
}

enum skiff_status checkpoint_load(struct task *j, const char *path, struct skiff_error *err)
{
    struct buf prefix = BUF_INIT, params = BUF_INIT;
    buf_printf(&prefix, "%s/" PREFIX, path);
    buf_printf(&params, "%s.pdparams", prefix.data);
    enum skiff_status status =
        io_load(j->scope, j->main, file_exists(params.data) ? prefix.data : path, err);
    buf_deinit(&prefix);
    buf_deinit(&params);
    return status;
}

enum skiff_status checkpoint_load_epoch(struct task *j, const char *folder, int epoch,
                                        struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    join(&path, folder, epoch, "");
    enum skiff_status status = checkpoint_load(j, path.data, err);
    buf_deinit(&path);
    return status;
}
