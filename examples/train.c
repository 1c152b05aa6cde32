/* What `skiff train -m config.yaml --resume` does: trains the model of a config, saves it after
 * every epoch, validates it, leaves a report, and goes on where an earlier run has stopped.
 *
 *     build/examples/train config.yaml [key=value ...]
 *
 * With runner.valid_data_dir in the config the model is validated after every epoch. Ctrl-C stops
 * behind the running batch and saves. report.html lies next to the models. */
#include <signal.h>
#include <stdio.h>

#include <skiff/skiff.h>

static struct skiff_trainer *trainer; /* for the signal handler, which has no argument */

static void on_signal(int number)
{
    signal(number, SIG_DFL); /* the second one ends the program */
    skiff_trainer_stop(trainer);
}

static void on_log(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

static void on_line(void *user, const char *text)
{
    (void)user;
    printf("%s\n", text);
}

static void on_epoch(void *user, const struct skiff_trainer_epoch *e, bool *stop)
{
    (void)user;
    (void)stop;
    printf("Epoch: %d, samples: %lld, loss: %.4f, auc: %.4f\n", e->epoch, (long long)e->samples,
           e->loss, e->auc);
}

static void print_result(const struct skiff_trainer *t)
{
    struct skiff_trainer_result r;
    skiff_trainer_result(t, &r);
    printf("%d epochs, %lld samples, loss %.4f, auc %.4f, log loss %.4f, copc %.2f\n", r.epochs,
           (long long)r.samples, r.loss, r.auc, r.log_loss, r.copc);
    if (r.best_epoch >= 0)
        printf("best epoch: %d\n", r.best_epoch);
    if (r.stopped)
        printf("stopped; the same command resumes\n");
}

int main(int argc, char **argv)
{
    struct skiff_error err = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: train config.yaml [key=value ...]\n");
        return 2;
    }
    trainer = skiff_trainer_create(
        &(struct skiff_trainer_config){.config = argv[1],
                                       .options = (const char *const *)argv + 2,
                                       .noptions = argc - 2,
                                       .resume = true,
                                       .on_log = on_log},
        &err);
    if (trainer) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        struct skiff_trainer_observer show = {.end = on_epoch, .line = on_line};
        if (skiff_trainer_add_observer(trainer, &show, &err) == SKIFF_OK &&
            skiff_trainer_run(trainer, &err) == SKIFF_OK)
            print_result(trainer);
    }
    skiff_trainer_destroy(trainer);
    if (err.code < 0)
        fprintf(stderr, "train: %s\n", err.message);
    return err.code < 0;
}
