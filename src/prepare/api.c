/* The public face of `skiff init` (skiff/prepare.h): options of the command by other names. */
#include <skiff/prepare.h>

#include <string.h>

#include "models/model.h"
#include "prepare/prepare.h"

#define SHARE 0.1
#define MODEL "rank/deepfm"

enum skiff_status prepare_check_model(const char *model, struct skiff_error *err)
{
    if (strncmp(model, "rank/", 5) == 0 && model_find(model))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "expected one of the rank/ models that skiff train --help lists, found %s",
                     model);
}

static enum skiff_status read_split(const char *split, int *out, struct skiff_error *err)
{
    static const char *const names[] = {"auto", "random", "time"};
    *out = 0;
    for (int i = 0; split && i < 3; i++)
        if (strcmp(split, names[i]) == 0) {
            *out = i;
            return SKIFF_OK;
        }
    return split ? error_set(err, SKIFF_INVALID,
                             "split: expected auto, random or time, found \"%.60s\"", split)
                 : SKIFF_OK;
}

static enum skiff_status read_options(const struct skiff_prepare_options *o,
                                      struct prepare_options *out, struct skiff_error *err)
{
    TRY(reserved_check(o->reserved, "skiff_prepare_options", err));
    *out = (struct prepare_options){.out = o->out,
                                    .label = o->label,
                                    .positive = o->positive,
                                    .time = o->time,
                                    .weight = o->weight,
                                    .model = o->model ? o->model : MODEL,
                                    .valid = o->valid,
                                    .no_valid = o->no_valid,
                                    .no_test = o->no_test,
                                    .share = o->share != 0 ? o->share : SHARE,
                                    .seed = o->seed ? o->seed : 1,
                                    .overwrite = o->overwrite};
    if (!o->data || !*o->data || !o->out || !*o->out)
        return error_set(err, SKIFF_INVALID, "data (a table) and out (a folder) are needed");
    if (o->valid && o->no_valid)
        return error_set(err, SKIFF_INVALID, "valid and no_valid exclude each other");
    if (!(out->share > 0 && out->share < 1))
        return error_set(err, SKIFF_INVALID, "share: expected a number between 0 and 1, found %g",
                         o->share);
    TRY(read_split(o->split, &out->split, err));
    return prepare_check_model(out->model, err);
}

enum skiff_status skiff_prepare(const struct skiff_prepare_options *options,
                                struct skiff_prepare_result *result, struct skiff_error *err)
{
    struct prepare r;
    struct prepare_options inner;
    struct split_report report = {0};
    struct prepare_events events = {0};
    char *names[] = {(char *)options->data};
    TRY(read_options(options, &inner, err));
    enum skiff_status status = prepare_open(&r, &events, &inner, names, 1, err);
    if (status == SKIFF_OK)
        status = prepare_job(&r, &inner, &report, err);
    if (status == SKIFF_OK && result)
        *result = (struct skiff_prepare_result){.train = report.train.rows,
                                                .valid = report.valid.rows,
                                                .test = report.test.rows,
                                                .train_positive = report.train.positive,
                                                .valid_positive = report.valid.positive,
                                                .test_positive = report.test.positive,
                                                .bad = report.bad,
                                                .unlabelled = report.unlabelled};
    columns_deinit(&report.columns);
    prepare_close(&r);
    return status;
}
