/* The folders that are made of a table: a job with its config, or data alone.
 *
 * Only folders that an earlier run has written (config.yaml says so in its first line) are
 * replaced, and an input file inside of the output folder is refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prepare/prepare.h"
#include "store/file.h"

/* ---- a job ---- */

static const char *const made[] = {"config.yaml", "columns.stats", "train", "valid", "test"};

static void path_in(struct buf *path, const char *out, const char *name)
{
    buf_reset(path);
    buf_printf(path, "%s/%s", out, name);
}

static enum skiff_status not_inside(const struct file_list *files, const char *out,
                                    struct skiff_error *err)
{
    char *folder = realpath(out, NULL);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; folder && status == SKIFF_OK && i < files->count; i++) {
        char *file = realpath(files->paths[i], NULL);
        size_t n = strlen(folder);
        if (file && strncmp(file, folder, n) == 0 && file[n] == '/')
            status =
                error_set(err, SKIFF_INVALID,
                          "%s is in --out %s, whose content may be replaced; choose another folder",
                          files->paths[i], out);
        free(file);
    }
    free(folder);
    return status;
}

/* Did an earlier init write this folder? Its config says so in the first line. */
static bool is_ours(const char *out)
{
    char line[64] = "";
    struct buf path = BUF_INIT;
    path_in(&path, out, "config.yaml");
    FILE *f = fopen(path.data, "re");
    bool ours =
        f && fgets(line, sizeof line, f) && !strncmp(line, PREPARE_MARK, strlen(PREPARE_MARK));
    if (f)
        fclose(f);
    buf_deinit(&path);
    return ours;
}

static enum skiff_status make_job_folder(const struct prepare_options *f,
                                         const struct file_list *files, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    enum skiff_status status = not_inside(files, f->out, err);
    bool ours = is_ours(f->out);
    for (size_t i = 0; status == SKIFF_OK && i < sizeof made / sizeof *made; i++) {
        path_in(&path, f->out, made[i]);
        if (!file_exists(path.data))
            continue;
        if (f->overwrite && ours)
            file_remove_tree(path.data);
        else if (f->overwrite)
            status = error_set(err, SKIFF_STATE,
                               "%s exists, and skiff init did not write it (config.yaml does not "
                               "say so): remove it, or name another folder with --out",
                               path.data);
        else
            status = error_set(err, SKIFF_STATE,
                               "%s exists; --overwrite replaces the output of an earlier skiff "
                               "init, --out names another folder",
                               path.data);
    }
    for (size_t i = 2; status == SKIFF_OK && i < sizeof made / sizeof *made; i++) {
        path_in(&path, f->out, made[i]);
        status = file_make_parents(path.data, err);
        if (status == SKIFF_OK && mkdir(path.data, 0777) < 0)
            status = error_set_sys(err, "%s: cannot create the folder", path.data);
    }
    buf_deinit(&path);
    return status;
}

/* After a failure: what this run has made. The folder itself goes when it is empty. */
static void remove_made(const char *out)
{
    struct buf path = BUF_INIT;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        path_in(&path, out, made[i]);
        file_remove_tree(path.data);
    }
    rmdir(out);
    buf_deinit(&path);
}

static enum skiff_status write_files(const struct prepare_plan *p, const struct prepare_options *f,
                                     const struct split_report *r, const struct file_list *files,
                                     struct skiff_error *err)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    if (p->learns) {
        path_in(&path, f->out, "columns.stats");
        status = columns_write(&r->columns, path.data, err);
    }
    if (status == SKIFF_OK) {
        prepare_config_text(p, f, r, files, &text);
        path_in(&path, f->out, "config.yaml");
        status = file_write(path.data, text.data, text.len, err);
    }
    buf_deinit(&path);
    buf_deinit(&text);
    return status;
}

static enum skiff_status check_split(const struct prepare_options *f, const struct split_report *r,
                                     struct skiff_error *err)
{
    if (r->train.rows == 0 && f->no_test)
        return error_set(err, SKIFF_INVALID,
                         "of %" PRId64 " rows, none are left for training: change the share of "
                         "the rows to validate on, or the seed",
                         r->valid.rows);
    if (r->train.rows == 0 || (r->test.rows == 0 && !f->no_test))
        return error_set(err, SKIFF_INVALID,
                         "of %" PRId64 " rows, %" PRId64 " are for training and %" PRId64
                         " for the test; both need at least one: change the share of the test "
                         "(--share, default 0.1) or the choice (--seed)",
                         r->train.rows + r->valid.rows + r->test.rows, r->train.rows, r->test.rows);
    return SKIFF_OK;
}

enum skiff_status prepare_job(struct prepare *r, const struct prepare_options *f,
                              struct split_report *out, struct skiff_error *err)
{
    struct buf train = BUF_INIT, valid = BUF_INIT, test = BUF_INIT;
    *out = (struct split_report){0};
    TRY(make_job_folder(f, &r->files, err));
    path_in(&train, f->out, "train");
    path_in(&valid, f->out, "valid");
    path_in(&test, f->out, "test");
    bool own_valid = !f->valid && !f->no_valid;
    enum skiff_status status = prepare_split(r, f, train.data, own_valid ? valid.data : NULL,
                                             f->no_test ? NULL : test.data, out, err);
    if (status == SKIFF_OK && f->valid)
        status = prepare_valid(r, f, valid.data, &out->valid, err);
    if (status == SKIFF_OK)
        status = check_split(f, out, err);
    if (status == SKIFF_OK)
        status = write_files(&r->plan, f, out, &r->files, err);
    if (status < 0)
        remove_made(f->out);
    if (status == SKIFF_OK && !out->valid.rows)
        rmdir(valid.data);
    if (status == SKIFF_OK && f->no_test)
        rmdir(test.data);
    buf_deinit(&train);
    buf_deinit(&valid);
    buf_deinit(&test);
    return status;
}

/* ---- data alone ---- */

static enum skiff_status make_folder(struct buf *path, const char *out, const char *name,
                                     struct skiff_error *err)
{
    buf_printf(path, "%s%s%s", out, *name ? "/" : "", name);
    if (mkdir(path->data, 0777) < 0 && errno != EEXIST)
        return error_set_sys(err, "%s: cannot create the folder", path->data);
    return SKIFF_OK;
}

static enum skiff_status write_stats(const struct prepare *r, const struct split_report *report,
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

enum skiff_status prepare_data(struct prepare *r, const struct prepare_options *f,
                               struct split_report *out, struct skiff_error *err)
{
    struct buf folder = BUF_INIT, train = BUF_INIT, valid = BUF_INIT;
    enum skiff_status status;
    *out = (struct split_report){0};
    TRY_OUT(make_folder(&folder, f->out, "", err));
    TRY_OUT(make_folder(&train, f->out, "train", err));
    TRY_OUT(make_folder(&valid, f->out, "valid", err));
    TRY_OUT(prepare_split(r, f, train.data, NULL, valid.data, out, err));
    TRY_OUT(write_stats(r, out, f->out, err));
out:
    buf_deinit(&folder);
    buf_deinit(&train);
    buf_deinit(&valid);
    return status;
}
