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

static enum skiff_status show_span_end(void *self, const struct train_counts *c, bool *stop,
                                       struct skiff_error *err)
{
    const struct trainer_result *r = c->result;
    (void)stop;
    (void)err;
    const struct train_span *span = &((struct train_show *)self)->run->span;
    double speed = r->seconds > 0 ? (double)r->rows / r->seconds : 0.0;
    if (!log_shows(LOG_INFO))
        return SKIFF_OK;
    if (span->day) {
        printf("Day:%08d, Pass: %d, using time: %.1f second, ips: %.0f example/sec.\n", span->day,
               span->pass, r->seconds, speed);
        fflush(stdout);
        return SKIFF_OK;
    }
    printf("Epoch: %d, using time: %.1f second, ips: %.0f example/sec.", c->row->epoch, r->seconds,
           speed);
    report_print_auc(c->row);
    printf("\n");
    fflush(stdout);
    return SKIFF_OK;
}

static void show_results(void *self, const struct epoch_row *rows, int n)
{
    if (n && !((struct train_show *)self)->run->span.day)
        report_print(rows, n, true);
    fflush(stdout);
}

enum skiff_status train_show_add(struct train_show *show, struct train_run *run,
                                 struct skiff_error *err)
{
    const struct train_observer progress = progress_observer(&show->progress);
    const struct train_observer lines = {
        .self = show, .start = show_start, .span_end = show_span_end, .results = show_results};
    *show = (struct train_show){.run = run};
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
