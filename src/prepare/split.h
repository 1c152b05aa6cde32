/* Split: the rows of a table to two or three folders, and what is learnt from the first.
 *
 * CSV files keep their header line; a folder gets a new file every so many bytes. A row goes to
 * test by its number and the seed, so that the same rows always go the same way; or by its time.
 * Rows without a label, or that cannot be read, go nowhere. */
#ifndef PREPARE_SPLIT_H
#define PREPARE_SPLIT_H

#include "data/label.h"
#include "prepare/learn.h"

#define SPLIT_PART_BYTES ((int64_t)128 << 20)

struct split_config {
    const struct look_config *look; /* files, stop, progress */
    struct look_form form;
    int ncolumns; /* csv */
    int label;    /* column; libsvm and libffm: 0, the first word; -1: none */
    const struct label_rule *rule;
    const char *train, *test; /* folders that are there; test NULL: no rows go there */
    const char *valid;        /* the same; as many rows as test would have */
    bool stratify;            /* each part gets its share of either label */
    int64_t train_part;       /* bytes of a file of train, so that workers can share them out; 0:
                                 SPLIT_PART_BYTES */
    double share;             /* of the rows that go to test, and the same to valid */
    uint64_t seed;
    int time; /* column; -1: by text */
    enum timestamp_form time_form;
    int64_t from;                     /* rows of this time and later go to test, */
    int64_t valid_from;               /* others of this time and later to valid; as `from`: random
                                         ones */
    const struct learn_config *learn; /* csv: a column each; libsvm: by index; NULL: nothing */
    int64_t first_index;              /* libsvm: of learn's first column */
};

struct split_side {
    int64_t rows, positive;
};

struct split_report {
    struct split_side train, valid, test;
    int64_t bad, unlabelled;
    int twin;               /* csv: a column that gives the label away by itself; -1: none */
    struct columns columns; /* the caller's (columns_deinit) */
};

enum skiff_status split_run(const struct split_config *config, struct split_report *out,
                            struct skiff_error *err);

#endif
