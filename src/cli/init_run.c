/* Reading the files of `skiff init` and `skiff prepare`: twice, with a word of how far it is. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/init.h"
#include "cli/interrupt.h"

#define BAD_REPORTED 5
#define BAD_SHARE 0.02 /* with more the form was not understood */

static void clear_line(struct init_reported *t)
{
    if (t->line)
        fputs("\r\033[K", stderr);
    t->line = false;
}

static void print_bad(void *arg, const char *file, int64_t line, const struct skiff_error *why)
{
    struct init_reported *t = arg;
    if (t->bad++ >= BAD_REPORTED)
        return;
    clear_line(t);
    fprintf(stderr, "skiff %s: %s:%" PRId64 ": skipped: %s\n", t->command, file, line,
            why->message);
}

/* On a terminal a line that is written over; elsewhere one every ten seconds. */
static void print_progress(void *arg, int64_t bytes)
{
    struct init_reported *t = arg;
    double now = clock_seconds();
    bool terminal = isatty(STDERR_FILENO);
    if (now - t->last < (terminal ? 0.2 : 10))
        return;
    t->last = now;
    fprintf(stderr, "%s%s: %.1f of %.1f MB%s", terminal ? "\r" : "", t->what, (double)bytes / 1e6,
            (double)t->total / 1e6, terminal ? "\033[K" : "\n");
    t->line = terminal;
}

/* The format flags of the user. */
static void read_form(const struct init_flags *f, struct look_config *out)
{
    out->has_format = f->format > 0;
    if (out->has_format)
        out->form.format = (enum look_format)(f->format - 1);
    out->has_separator = f->has_separator;
    out->form.separator = f->separator;
    out->has_header = f->has_header;
    out->form.header = f->header;
}

static enum skiff_status too_many_bad(const struct look *l, const struct file_list *files,
                                      struct skiff_error *err)
{
    if ((double)l->bad <= BAD_SHARE * (double)(l->bad + l->rows))
        return SKIFF_OK;
    return error_set(err, SKIFF_FORMAT,
                     "%s: %" PRId64 " of %" PRId64
                     " rows cannot be read as %s; if the format is another one, set --format, "
                     "--separator or --header",
                     files->paths[0], l->bad, l->bad + l->rows, look_format_name(l->form.format));
}

enum skiff_status init_look(struct init_run *r, const char *command, const struct init_flags *flags,
                            char **names, int n, struct skiff_error *err)
{
    *r = (struct init_run){
        .reported = {.command = command, .what = "looking", .last = clock_seconds()}};
    file_list_init(&r->files);
    r->config = (struct look_config){.files = &r->files,
                                     .on_bad = print_bad,
                                     .on_progress = print_progress,
                                     .arg = &r->reported,
                                     .stop = interrupt_watch()};
    read_form(flags, &r->config);
    for (int i = 0; i < n; i++)
        TRY(file_list_expand(&r->files, names[i], err));
    r->reported.total = r->files.bytes;
    enum skiff_status status = look_run(&r->config, &r->look, err);
    clear_line(&r->reported);
    TRY(status);
    if (r->reported.bad > BAD_REPORTED)
        fprintf(stderr, "skiff %s: %" PRId64 " rows were skipped\n", command, r->reported.bad);
    TRY(too_many_bad(&r->look, &r->files, err));
    status = init_plan_create(flags, &r->look, &r->plan, err);
    return status < 0 ? error_prefix(err, status, "%s", r->files.paths[0]) : status;
}

#define TRAIN_PARTS 8           /* so that a few workers can share them out */
#define LEAST_PART (64 * 1024L) /* bytes */

static int64_t part_bytes(const struct look *l)
{
    int64_t bytes = l->bytes / TRAIN_PARTS;
    return bytes < LEAST_PART ? LEAST_PART : bytes < SPLIT_PART_BYTES ? bytes : SPLIT_PART_BYTES;
}

enum skiff_status init_split(struct init_run *r, const struct init_flags *f, const char *train,
                             const char *test, struct split_report *out, struct skiff_error *err)
{
    const struct init_plan *p = &r->plan;
    struct label_rule rule = {0};
    struct split_config config = {.look = &r->config,
                                  .form = p->look->form,
                                  .ncolumns = p->look->ncolumns,
                                  .label = p->label,
                                  .rule = &rule,
                                  .train = train,
                                  .test = test,
                                  .train_part = part_bytes(p->look),
                                  .share = f->share,
                                  .seed = (uint64_t)f->seed,
                                  .time = p->time,
                                  .from = p->from,
                                  .learn = p->learns ? &p->learn_config : NULL,
                                  .first_index = p->first_index};
    if (p->time >= 0)
        config.time_form = look_time_form(&p->look->columns[p->time]);
    r->config.on_bad = NULL;
    r->reported.what = "writing rows";
    TRY(label_rule_init(&rule, p->positive, p->negative, err));
    enum skiff_status status = split_run(&config, out, err);
    clear_line(&r->reported);
    label_rule_deinit(&rule);
    return status;
}

void init_run_deinit(struct init_run *r)
{
    clear_line(&r->reported);
    init_plan_deinit(&r->plan);
    look_deinit(&r->look);
    file_list_deinit(&r->files);
}
