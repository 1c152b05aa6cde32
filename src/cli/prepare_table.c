/* skiff prepare for forms other than Criteo's. */
#define _GNU_SOURCE
#include "cli/prepare_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/init.h"

static enum skiff_status make_folder(struct buf *path, const char *out, const char *name,
                                     struct skiff_error *err)
{
    buf_printf(path, "%s%s%s", out, *name ? "/" : "", name);
    if (mkdir(path->data, 0777) < 0 && errno != EEXIST)
        return error_set_sys(err, "%s: cannot create the folder", path->data);
    return SKIFF_OK;
}

static enum skiff_status write_stats(const struct init_run *r, const struct split_report *report,
                                     const char *out, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    buf_printf(&path, "%s/stats", out);
    if (r->plan.learns)
        status = columns_write(&report->columns, path.data, err);
    buf_deinit(&path);
    return status;
}

static void show(const struct init_run *r, const struct split_report *report, const char *out)
{
    printf("%s: %" PRId64 " rows for training, %" PRId64 " for validation, %" PRId64
           " bad line%s, %" PRId64 " without a label\n",
           out, report->train.rows, report->test.rows, r->reported.bad,
           r->reported.bad == 1 ? "" : "s", report->unlabelled);
    if (r->plan.learns)
        printf("%s/stats: %" PRId64 " ids of %d columns (runner.input_stats, "
               "hyper_parameters.sparse_feature_number)\n",
               out, columns_ids(&report->columns), report->columns.count);
}

static enum skiff_status split(struct init_run *r, const struct init_flags *f,
                               struct skiff_error *err)
{
    struct buf out = BUF_INIT, train = BUF_INIT, valid = BUF_INIT;
    struct split_report report = {0};
    enum skiff_status status;
    TRY_OUT(make_folder(&out, f->out, "", err));
    TRY_OUT(make_folder(&train, f->out, "train", err));
    TRY_OUT(make_folder(&valid, f->out, "valid", err));
    TRY_OUT(init_split(r, f, train.data, valid.data, &report, err));
    TRY_OUT(write_stats(r, &report, f->out, err));
    show(r, &report, f->out);
out:
    columns_deinit(&report.columns);
    buf_deinit(&out);
    buf_deinit(&train);
    buf_deinit(&valid);
    return status;
}

enum skiff_status prepare_table(const struct init_flags *f, char **names, int n, int64_t bad,
                                struct skiff_error *err)
{
    struct init_run r;
    enum skiff_status status = init_look(&r, "prepare", f, names, n, err);
    if (status == SKIFF_OK && bad >= 0 && r.reported.bad > bad)
        status = error_set(
            err, SKIFF_FORMAT,
            "%" PRId64 " row%s cannot be read; --bad N skips up to N of them, --bad -1 any number",
            r.reported.bad, r.reported.bad == 1 ? "" : "s");
    if (status == SKIFF_OK) {
        init_show_table(&r.plan, &r.files);
        printf("\n");
        status = split(&r, f, err);
    }
    init_run_deinit(&r);
    return status;
}
