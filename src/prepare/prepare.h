/* Prepare: from a table of unknown form to files that training reads.
 *
 * prepare_open reads the files and collects statistics of their columns (look.h); plan.c decides
 * from these what each column is for. prepare_job writes the rows to train/, valid/ and test/,
 * with a config that trains on them (config_text.c); prepare_data writes them to train/ and valid/.
 * Threads: one user at a time; callbacks come in the caller's thread. */
#ifndef PREPARE_PREPARE_H
#define PREPARE_PREPARE_H

#include <stdatomic.h>

#include "prepare/look.h"
#include "prepare/split.h"

enum prepare_role {
    PREPARE_NUMBER, /* features: */
    PREPARE_CATEGORY,
    PREPARE_TIME,
    PREPARE_LABEL,
    PREPARE_WEIGHT,
    PREPARE_ID,    /* left out: */
    PREPARE_ORDER, /* times from which nothing is made; rows may be split by it */
    PREPARE_CONSTANT,
    PREPARE_EMPTY,
    PREPARE_UNNAMED,
    PREPARE_LEFT_OUT, /* there were too many features */
};

struct prepare_column {
    enum prepare_role role;
    struct learn_column learn;
    int dense;         /* place among the dense columns; -1: none */
    int slot;          /* 1: C1; 0: none */
    int hour, weekday; /* slots of times; 0: none. days are `dense` and `slot` */
};

#define PREPARE_FEW 200                        /* rows of a label */
#define PREPARE_MARK "# Written by skiff init" /* how its configs begin */

struct prepare_options {
    const char *out, *label, *positive, *time, *weight, *model;
    const char *valid;      /* job: rows to validate on, in a file of their own; NULL: a share */
    bool no_valid, no_test; /* job: no rows for that part */
    char separator;
    int header; /* 1: there is one */
    bool has_separator, has_header;
    int format; /* 0: found out, else 1 + enum look_format */
    int split;  /* 0: by time if there is a column of times, 1: random, 2: time */
    double share;
    int64_t seed;
    int64_t min_count; /* rows of a value that is not rare; 0: by the number of rows */
    bool overwrite;
    bool label_optional; /* prepare: without --label there is none */
};

struct prepare_plan {
    const struct look *look;
    struct prepare_column *columns; /* look->ncolumns */
    struct learn_column *learn;     /* what split_run is to learn; csv: a column each */
    struct learn_config learn_config;
    int label; /* -1: none */
    char label_why[160];
    char *positive, *negative; /* owned; negative NULL: any other text */
    int time;                  /* column by which rows are split; -1: none */
    int weight;                /* column with the weights of rows; -1: none */
    int id;                    /* column that names the rows in predictions; -1: none */
    int64_t from, valid_from;  /* split.h */
    int64_t positives;         /* -1: not known */
    bool few;                  /* rows of one label are so few that the split is stratified */
    int ndense, nslots;
    bool multi_value; /* libsvm, libffm */
    bool learns;      /* there is something to learn */
    int64_t first_index;
    char (*names)[16]; /* libsvm: of the indices that are learned */
};

/* Everything that follows from the statistics and the options. */
enum skiff_status prepare_plan_create(const struct prepare_options *options,
                                      const struct look *look, struct prepare_plan *out,
                                      struct skiff_error *err);
void prepare_plan_deinit(struct prepare_plan *p);
bool prepare_is_feature(enum prepare_role role);

/* Each may be NULL, besides arg and stop. */
struct prepare_events {
    void *arg;
    /* of every row that cannot be read; only while the table is looked at */
    void (*on_bad)(void *arg, const char *file, int64_t line, const struct skiff_error *why);
    /* what: "looking", "writing rows"; of so many bytes in all */
    void (*on_progress)(void *arg, const char *what, int64_t bytes, int64_t total);
    /* all files have been read for the first time */
    void (*on_looked)(void *arg, const struct look *look);
    const atomic_bool *stop;
};

struct prepare {
    struct prepare_events events;
    const char *what;
    struct file_list files;
    struct look_config config;
    struct look look;
    struct prepare_plan plan;
};

/* Looks at the files and makes a plan. Close it also after a failure. */
enum skiff_status prepare_open(struct prepare *r, const struct prepare_events *events,
                               const struct prepare_options *options, char **names, int n,
                               struct skiff_error *err);
/* Whether a network of that name trains on the config. */
enum skiff_status prepare_check_model(const char *model, struct skiff_error *err);
/* Makes options->out: train/, valid/, test/, config.yaml and, if the plan learns, columns.stats.
 * With `overwrite` the output of an earlier run is replaced, which the config's first line tells.
 * What was made is removed after a failure. Deinit out->columns in any case. */
enum skiff_status prepare_job(struct prepare *r, const struct prepare_options *options,
                              struct split_report *out, struct skiff_error *err);
/* Makes options->out: train/, valid/ and, if the plan learns, stats. Deinit out->columns in any
 * case. */
enum skiff_status prepare_data(struct prepare *r, const struct prepare_options *options,
                               struct split_report *out, struct skiff_error *err);
void prepare_close(struct prepare *r);

/* ---- between files of this module ---- */
/* Writes the rows into the folders, which are there; valid and test may be NULL. */
enum skiff_status prepare_split(struct prepare *r, const struct prepare_options *options,
                                const char *train, const char *valid, const char *test,
                                struct split_report *out, struct skiff_error *err);
/* The rows of options->valid into the folder: all of them, as they are. */
enum skiff_status prepare_valid(struct prepare *r, const struct prepare_options *options,
                                const char *folder, struct split_side *out,
                                struct skiff_error *err);
/* The text of config.yaml. */
void prepare_config_text(const struct prepare_plan *p, const struct prepare_options *options,
                         const struct split_report *r, const struct file_list *files,
                         struct buf *out);

#endif
