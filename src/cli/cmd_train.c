/* skiff train: from a config to a trained model, over the training loop of the library
 * (train/run.h). */
#include <stdio.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/task_flags.h"
#include "cli/train_show.h"
#include "train/run.h"

static int train(struct train_run *run, const struct task_args *args)
{
    struct skiff_error err = {0};
    struct train_show show;
    struct train_control control = console_control;
    control.shows_valid = train_show_has_valid(args);
    enum skiff_status status = train_run_open(run, args, &control, &err);
    if (status == SKIFF_OK)
        status = train_show_add(&show, run, &err);
    if (status == SKIFF_OK)
        status = train_run_run(run, &err);
    train_run_end(run, status, &err);
    if (status < 0)
        return command_fail("train", &err);
    if (run->stopped)
        train_show_stopped(run);
    return run->stopped || run->lost;
}

static int run(const struct command_call *call)
{
    const struct task_args *args = call->args;
    struct train_run one;
    int status = task_args_check(call->args, call->name);
    if (!status && args->resume && args->overwrite)
        status = command_usage(call->name, "--resume and --overwrite exclude each other: the one "
                                           "continues the run that the other removes");
    if (status)
        return status;
    status = train(&one, args);
    train_run_close(&one);
    return status;
}

static void list_models(struct buf *out)
{
    buf_str(out, "\nmodels:\n");
    for (const struct skiff_model_def *const *m = model_all(); *m; m++)
        buf_printf(out, "  %-26s %s\n", (*m)->name, (*m)->summary);
    buf_printf(out, "  %-26s %s\n", "./mynet.yaml, ./mymodel.so",
               "a network of your own: docs/guide/networks.md");
}

static const struct option rows[] = {
    TASK_OPTIONS,
    {"resume", OPTION_BOOL, offsetof(struct task_args, resume),
     .help = "resume from the newest complete epoch of the newest run in runner.model_save_path",
     .group = "epochs of earlier runs"},
    {"overwrite", OPTION_BOOL, offsetof(struct task_args, overwrite),
     .help = "remove the epochs of earlier runs from that folder before training"},
    TASK_NAME,
    TASK_TALK(.group = "output"),
    TASK_LOG_FORMAT,
    TASK_JSON,
    TASK_TRANSPORT(.group = "as one process of a job"),
    {0}};

const struct command command_train = {
    .name = "train",
    .summary = "train a model from a config and save it after every epoch",
    .usage = "config.yaml [-o key=value ...] [-q|-v] [--resume | --overwrite] [--name NAME] "
             "[--json FILE] [--transport NAME]",
    .text =
        "Trains the model that the config names, epoch after epoch, and saves it after each. "
        "Configs have the form of PaddleRec's; docs/reference/configuration.md lists the keys.\n\n"
        "When the environment names a role (skiff launch sets it), this is one process of a job of "
        "servers and workers: docs/guide/distributed.md.\n\n"
        "report.html in the folder of the models shows the run (docs/guide/report.md); skiff "
        "report compares "
        "several runs.\n\n"
        "With runner.start_day or runner.days it trains online, by days and passes, and resumes "
        "from the newest model that donefile.txt lists: docs/guide/online.md.\n\n"
        "Ctrl-C stops after the running batch and saves; a second Ctrl-C ends at once.",
    .examples = "skiff train config.yaml\n"
                "skiff train config.yaml -o runner.epochs=3 "
                "hyper_parameters.optimizer.learning_rate=0.0005\n"
                "skiff train config.yaml --resume",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows, TASK_WORDS},
    .args_size = sizeof(struct task_args),
    .more = list_models,
    .run = run};
