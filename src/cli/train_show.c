#include "cli/train_show.h"

#include <stdio.h>

#include "base/log.h"

static enum skiff_status show_start(void *self, struct train_run *run, struct skiff_error *err)
{
    struct train_show *show = self;
    (void)err;
    progress_init(&show->progress, &run->metrics,
                  config_int(run->task.config, KEY_RUNNER_PRINT_INTERVAL));
    show->progress.data = &run->data;
    show->progress.run = run;
    return SKIFF_OK;
}

static void print_line(const struct train_show *show, const struct train_counts *c)
{
    const struct trainer_result *r = c->result;
    const struct train_span *span = &show->run->span;
    double speed = r->seconds > 0 ? (double)r->rows / r->seconds : 0.0;
    if (span->day) {
        printf("Day:%08d, Pass: %d, using time: %.1f second, ips: %.0f example/sec.\n", span->day,
               span->pass, r->seconds, speed);
        return;
    }
    printf("Epoch: %d, using time: %.1f second, ips: %.0f example/sec.", c->row->epoch, r->seconds,
           speed);
    report_print_auc(c->row);
    printf("\n");
}

/* The epoch that waits; with its validation, if there was one. */
static void print_waiting(struct train_show *show)
{
    if (!show->waits)
        return;
    struct epoch_row row = *show->waits;
    show->waits = NULL;
    validation_fill(&show->run->validation, &row, 1);
    if (!show->printed++)
        report_print_head(&row, true);
    report_print_row(&row, true);
    fflush(stdout);
}

static enum skiff_status show_span_begin(void *self, const struct train_span *span,
                                         struct skiff_error *err)
{
    print_waiting(self); /* it was not validated */
    return SKIFF_OK;
}

static enum skiff_status show_span_end(void *self, const struct train_counts *c, bool *stop,
                                       struct skiff_error *err)
{
    struct train_show *show = self;
    const struct train_run *run = show->run;
    bool day = run->span.day > 0;
    (void)stop;
    (void)err;
    if (show->lines || (day && log_shows(LOG_INFO)))
        print_line(show, c);
    if (show->rows && !day)
        show->waits = c->row;
    if (run->home.remote) /* it is validated later, or by another process */
        print_waiting(show);
    fflush(stdout);
    return SKIFF_OK;
}

static void show_validated(void *self, int epoch, struct eval_metrics *counted)
{
    const struct train_show *show = self;
    if (show->waits && show->waits->epoch == epoch)
        print_waiting(self);
}

static void show_results(void *self, const struct epoch_row *rows, int n)
{
    struct train_show *show = self;
    print_waiting(show);
    if (show->lines && !show->rows && n)
        printf("\n");
    if (!show->rows && !show->run->span.day)
        report_print(rows, n, true);
    fflush(stdout);
}

static void show_end(void *self, enum run_status how, const char *why)
{
    print_waiting(self);
}

bool train_show_has_valid(const struct task_args *args)
{
    return args->log_format == LOG_FORMAT_TABLE && !args->verbose && !args->quiet;
}

enum skiff_status train_show_add(struct train_show *show, struct train_run *run,
                                 struct skiff_error *err)
{
    const struct task_args *args = run->args;
    const struct train_observer progress = progress_observer(&show->progress);
    const struct train_observer lines = {.self = show,
                                         .start = show_start,
                                         .span_begin = show_span_begin,
                                         .span_end = show_span_end,
                                         .validated = show_validated,
                                         .results = show_results,
                                         .end = show_end};
    *show = (struct train_show){
        .run = run,
        .rows = args->log_format == LOG_FORMAT_TABLE && !args->quiet,
        .lines = !args->quiet && (args->verbose || args->log_format == LOG_FORMAT_PADDLEREC)};
    TRY(observers_add(&run->observers, &lines, err));
    return observers_add(&run->observers, &progress, err);
}

void train_show_stopped(const struct train_run *run)
{
    struct buf text = BUF_INIT;
    run->home.slots->print_stopped(run, &text);
    fflush(stdout);
    fprintf(stderr, "skiff train: %s\n", text.data);
    buf_deinit(&text);
}
