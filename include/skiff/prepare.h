/* From a table of unknown format to a folder that trains on it, as `skiff init` makes it:
 * config.yaml, columns.stats, and the rows as train/, valid/ and test/.
 *
 *     struct skiff_prepare_options options = {.data = "visits.csv", .out = "run"};
 *     skiff_prepare(&options, &result, &err);
 *
 * <skiff/trainer.h> trains with the config, <skiff/run.h> predicts. Threads: any, each its own
 * folder. */
#ifndef SKIFF_PREPARE_H
#define SKIFF_PREPARE_H

#include <stdbool.h>
#include <stdint.h>

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* data and out are needed; everything else may be left out. */
struct skiff_prepare_options {
    const char *data;     /* a file, a folder or a pattern: CSV, TSV, libsvm, libffm */
    const char *out;      /* a folder, which is made */
    const char *label;    /* a column; NULL: detected */
    const char *positive; /* the value of the label that is 1; NULL: detected */
    const char *split;    /* "auto" (by time, if there is a column of times), "random", "time" */
    const char *time;     /* the column of times; NULL: detected */
    const char *model;    /* NULL: "rank/deepfm" */
    double share;       /* of the rows that are for the test, and the same for validation; 0: 0.1 */
    int64_t seed;       /* 0: 1 */
    const char *valid;  /* rows to validate on, of the same header; NULL: a share of data */
    bool no_valid;      /* nothing is for validation */
    bool no_test;       /* nothing is for the test */
    bool overwrite;     /* replaces the output of an earlier run */
    const char *weight; /* the column with the weight of each row, which is no feature then */
    uint64_t reserved[4];
};

/* Of each part: rows, and those of them whose label is 1. */
struct skiff_prepare_result {
    int64_t train, valid, test;
    int64_t train_positive, valid_positive, test_positive;
    int64_t bad, unlabelled; /* rows that were left out */
    uint64_t reserved[4];
};

/* result may be NULL. What was made is removed after a failure. */
SKIFF_API enum skiff_status skiff_prepare(const struct skiff_prepare_options *options,
                                          struct skiff_prepare_result *result,
                                          struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
