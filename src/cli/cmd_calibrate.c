/* skiff calibrate: fits a calibration on validation rows and saves it with the model
 * (train/calibrate.h). */
#include <stdio.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/task_flags.h"
#include "train/calibrate.h"

struct calibrate_args {
    struct task_args task;
    struct predict_wish wish; /* its run is the task's */
};

static void ready(void *user)
{
    (void)user;
    interrupt_watch();
}

static int print_result(const struct calibrate_result *r)
{
    struct buf text = BUF_INIT;
    if (r->stopped) {
        fprintf(stderr, "skiff calibrate: stopped before the end; nothing was saved\n");
        return 1;
    }
    calibrate_text(r, &text);
    printf("%s\n", text.data);
    if (r->method)
        printf("saved: %s/" CALIBRATION_FILE "\n", r->path.data);
    buf_deinit(&text);
    return 0;
}

static int run(const struct command_call *call)
{
    const struct calibrate_args *args = call->args;
    const struct train_control control = {.wants_stop = console_control.wants_stop, .ready = ready};
    struct predict_wish wish = args->wish;
    struct calibrate_result result;
    struct skiff_error err = {0};
    int status = task_args_check(call->args, call->name);
    if (status)
        return status;
    wish.run = args->task.run;
    status = calibrate_model(&args->task, &wish, &control, &result, &err) < 0
                 ? command_fail(call->name, &err)
                 : print_result(&result);
    buf_deinit(&result.path);
    return status;
}

#define AT(field) offsetof(struct calibrate_args, field)

static const struct option rows[] = {
    TASK_OPTIONS,
    {"epoch", OPTION_LONG, AT(wish.epoch), .low = 0, .high = 1000000, .given = AT(wish.has_epoch),
     .value = "N", .help = "calibrate epoch N", .group = "model",
     .default_text = "the best, else the newest"},
    TASK_NAME,
    TASK_RUN,
    {"quiet", OPTION_BOOL, AT(task.quiet), .letter = 'q',
     .help = "print only the result, warnings and errors", .group = "output"},
    {0}};

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "correct a model's probabilities on validation data, and save that with the model",
    .usage = "config.yaml [-o key=value ...] [--epoch N] [--name NAME] [--run ID]",
    .text =
        "Predicts the rows of runner.valid_data_dir with a saved model, fits a monotone function "
        "from its probabilities to the shares of positive rows, and saves it as " CALIBRATION_FILE
        " in the model's folder. skiff predict and skiff infer apply it from then on. The order "
        "of rows stays, and with it AUC; log loss and COPC improve when probabilities were too "
        "high or too low.\n\n"
        "runner.calibrate chooses the method: platt (the default here) or isotonic; none removes "
        "what was saved. skiff train calibrates at its end when this key is set. Rows for it must "
        "not be trained on.",
    .examples = "skiff calibrate config.yaml\n"
                "skiff calibrate config.yaml -o runner.calibrate=isotonic\n"
                "skiff infer -m config.yaml -o runner.calibrate=none",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows, TASK_WORDS},
    .args_size = sizeof(struct calibrate_args),
    .run = run};
