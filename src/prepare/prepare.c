/* Reading the files of a table: once to learn what is in them, once more to write the rows.
 *
 * Rows to validate on may come from files of their own. They must have the same header line,
 * because the plan knows columns by position, and nothing is learned from them. */
#include <inttypes.h>
#include <string.h>

#include "prepare/prepare.h"

#define BAD_SHARE 0.02 /* with more the form was not understood */

static void on_bad(void *arg, const char *file, int64_t line, const struct skiff_error *why)
{
    struct prepare *r = arg;
    if (r->events.on_bad)
        r->events.on_bad(r->events.arg, file, line, why);
}

static void on_progress(void *arg, int64_t bytes)
{
    struct prepare *r = arg;
    if (r->events.on_progress)
        r->events.on_progress(r->events.arg, r->what, bytes, r->files.bytes);
}

/* The form, where the user has given it. */
static void read_form(const struct prepare_options *f, struct look_config *out)
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

enum skiff_status prepare_open(struct prepare *r, const struct prepare_events *events,
                               const struct prepare_options *options, char **names, int n,
                               struct skiff_error *err)
{
    *r = (struct prepare){.events = *events, .what = "looking"};
    file_list_init(&r->files);
    r->config = (struct look_config){.files = &r->files,
                                     .on_bad = on_bad,
                                     .on_progress = on_progress,
                                     .arg = r,
                                     .stop = events->stop};
    read_form(options, &r->config);
    for (int i = 0; i < n; i++)
        TRY(file_list_expand(&r->files, names[i], err));
    TRY(look_run(&r->config, &r->look, err));
    if (r->events.on_looked)
        r->events.on_looked(r->events.arg, &r->look);
    TRY(too_many_bad(&r->look, &r->files, err));
    enum skiff_status status = prepare_plan_create(options, &r->look, &r->plan, err);
    return status < 0 ? error_prefix(err, status, "%s", r->files.paths[0]) : status;
}

#define TRAIN_PARTS 8           /* so that a few workers can share them out */
#define LEAST_PART (64 * 1024L) /* bytes */

static int64_t part_bytes(const struct look *l)
{
    int64_t bytes = l->bytes / TRAIN_PARTS;
    return bytes < LEAST_PART ? LEAST_PART : bytes < SPLIT_PART_BYTES ? bytes : SPLIT_PART_BYTES;
}

enum skiff_status prepare_split(struct prepare *r, const struct prepare_options *f,
                                const char *train, const char *valid, const char *test,
                                struct split_report *out, struct skiff_error *err)
{
    const struct prepare_plan *p = &r->plan;
    struct label_rule rule = {0};
    struct split_config config = {.look = &r->config,
                                  .form = p->look->form,
                                  .ncolumns = p->look->ncolumns,
                                  .label = p->label,
                                  .rule = &rule,
                                  .train = train,
                                  .valid = valid,
                                  .test = test,
                                  .stratify = p->few,
                                  .train_part = part_bytes(p->look),
                                  .share = f->share,
                                  .seed = (uint64_t)f->seed,
                                  .time = p->time,
                                  .from = p->from,
                                  .valid_from = p->valid_from,
                                  .learn = p->learns ? &p->learn_config : NULL,
                                  .first_index = p->first_index};
    if (p->time >= 0)
        config.time_form = look_time_form(&p->look->columns[p->time]);
    r->config.on_bad = NULL;
    r->what = "writing rows";
    TRY(label_rule_init(&rule, p->positive, p->negative, err));
    enum skiff_status status = split_run(&config, out, err);
    label_rule_deinit(&rule);
    return status;
}

/* The header line of the first file. */
static enum skiff_status header_of(const struct look_config *config, struct look_form form,
                                   struct buf *out, struct skiff_error *err)
{
    struct look_rows rows;
    struct look_row row;
    TRY(look_rows_open(&rows, config, form, err));
    enum skiff_status status = look_rows_next(&rows, &row, err);
    if (status == SKIFF_OK && row.header)
        buf_add(out, row.line, row.n);
    look_rows_close(&rows);
    return status < 0 ? status : SKIFF_OK;
}

static enum skiff_status same_header(const struct prepare *r, const struct look_config *valid,
                                     struct skiff_error *err)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    enum skiff_status status = header_of(&r->config, r->look.form, &a, err);
    if (status == SKIFF_OK)
        status = header_of(valid, r->look.form, &b, err);
    if (status == SKIFF_OK && (a.len != b.len || (a.len && memcmp(a.data, b.data, a.len) != 0)))
        status = error_set(err, SKIFF_INVALID,
                           "the header line of %s is \"%.200s\"; expected that of %s, \"%.200s\"",
                           valid->files->paths[0], b.len ? b.data : "", r->files.paths[0],
                           a.len ? a.data : "");
    buf_deinit(&a);
    buf_deinit(&b);
    return status;
}

static enum skiff_status write_valid(struct prepare *r, const struct look_config *look,
                                     const char *folder, struct split_side *out,
                                     struct skiff_error *err)
{
    const struct prepare_plan *p = &r->plan;
    struct label_rule rule = {0};
    struct split_report report = {0};
    struct split_config config = {.look = look,
                                  .form = p->look->form,
                                  .ncolumns = p->look->ncolumns,
                                  .label = p->label,
                                  .rule = &rule,
                                  .train = folder,
                                  .time = -1};
    TRY(label_rule_init(&rule, p->positive, p->negative, err));
    enum skiff_status status = split_run(&config, &report, err);
    label_rule_deinit(&rule);
    *out = report.train;
    if (status == SKIFF_OK && !out->rows)
        status = error_set(err, SKIFF_INVALID,
                           "%s has no row to validate on: none can be read and has a label",
                           look->files->paths[0]);
    return status;
}

enum skiff_status prepare_valid(struct prepare *r, const struct prepare_options *f,
                                const char *folder, struct split_side *out, struct skiff_error *err)
{
    struct file_list files;
    struct look_config look = {.files = &files, .stop = r->events.stop};
    file_list_init(&files);
    enum skiff_status status = file_list_expand(&files, f->valid, err);
    if (status == SKIFF_OK)
        status = same_header(r, &look, err);
    if (status == SKIFF_OK)
        status = write_valid(r, &look, folder, out, err);
    file_list_deinit(&files);
    return status;
}

void prepare_close(struct prepare *r)
{
    prepare_plan_deinit(&r->plan);
    look_deinit(&r->look);
    file_list_deinit(&r->files);
}
