#include "cli/train_show.h"

#include <stdio.h>

#include "base/log.h"

static enum skiff_status show_start(void *self, struct train_run *run, struct skiff_error *err)
{
    struct train_show *show = self;
    (void)err;
    progress_init(&show->progress, &run->metrics,
                  config_int(run->task.config, KEY_RUNNER_PRINT_INTERVAL));
    return SKIFF_OK;
}

static enum skiff_status show_span(void *self, const struct train_span *span,
                                   struct skiff_error *err)
{
    struct train_show *show = self;
    (void)err;
    struct progress *p = &show->progress;
    progress_start(p, show->run->data, span->number);
    if (span->day) {
        snprintf(p->what_text, sizeof p->what_text, "%s%s", span->evaluates ? "evaluating " : "",
                 span->name);
        p->expected = 0; /* passes have different sizes */
    }
    return SKIFF_OK;
}

static void show_tick(void *self)
{
    struct train_show *show = self;
    show->progress.started = show->run->started; /* without pauses */
    show->progress.tables = show->run->tables;
    progress_tick(&show->progress);
}

static enum skiff_status show_pause(void *self, int64_t batches, int64_t rows,
                                    struct skiff_error *err)
{
    struct train_show *show = self;
    (void)batches;
    (void)rows;
    (void)err;
    progress_end(&show->progress, 0);
    return SKIFF_OK;
}

static enum skiff_status show_data_end(void *self, const struct trainer_result *r, bool ok,
                                       struct skiff_error *err)
{
    struct train_show *show = self;
    (void)err;
    progress_end(&show->progress, ok && !r->stopped ? r->rows : 0);
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
    *show = (struct train_show){.run = run};
    return observers_add(&run->observers,
                         &(struct train_observer){.self = show,
                                                  .start = show_start,
                                                  .span_begin = show_span,
                                                  .tick = show_tick,
                                                  .pause = show_pause,
                                                  .data_end = show_data_end,
                                                  .span_end = show_span_end,
                                                  .results = show_results},
                         err);
}

void train_show_stopped(const struct train_run *run)
{
    struct buf text = BUF_INIT;
    run->home.slots->print_stopped(run, &text);
    fflush(stdout);
    fprintf(stderr, "skiff train: %s\n", text.data);
    buf_deinit(&text);
}
