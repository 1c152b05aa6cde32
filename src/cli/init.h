/* Parts of `skiff init`: init_run.c reads the files, init_plan.c decides what the columns are for,
 * init_show.c prints it, init_config.c writes the config, cmd_init.c puts them together. All but
 * the last two are for `skiff prepare`, too (prepare_table.c). */
#ifndef CLI_INIT_H
#define CLI_INIT_H

#include "data/look.h"
#include "data/split.h"

enum init_role {
    INIT_NUMBER, /* features: */
    INIT_CATEGORY,
    INIT_HOUR,
    INIT_LABEL,
    INIT_ID,  /* left out: */
    INIT_DAY, /* times without hours; rows may be split by it */
    INIT_CONSTANT,
    INIT_EMPTY,
    INIT_UNNAMED,
    INIT_LEFT_OUT, /* there were too many features */
};

struct init_column {
    enum init_role role;
    struct learn_column learn;
    int dense; /* place among the dense columns; -1: none */
    int slot;  /* 1: C1; 0: none */
};

#define INIT_MARK "# Written by skiff init" /* how its configs begin */

struct init_flags {
    const char *out, *label, *positive, *time, *model;
    char separator;
    int header; /* 1: there is one */
    bool has_separator, has_header;
    int format; /* 0: found out, else 1 + enum look_format */
    int split;  /* 0: by time if there is a column of times, 1: random, 2: time */
    double share;
    int64_t seed;
    bool overwrite;
    bool label_optional; /* prepare: without --label there is none */
};

struct init_plan {
    const struct look *look;
    struct init_column *columns; /* look->ncolumns */
    struct learn_column *learn;  /* what split_run is to learn; csv: a column each */
    struct learn_config learn_config;
    int label; /* -1: none */
    char label_why[160];
    char *positive, *negative; /* owned; negative NULL: any other text */
    int time;                  /* column by which rows are split; -1: none */
    int id;                    /* column that names the rows in predictions; -1: none */
    int64_t from;
    int ndense, nslots;
    bool multi_value; /* libsvm, libffm */
    bool learns;      /* there is something to learn */
    int64_t first_index;
    char (*names)[16]; /* libsvm: of the indices that are learned */
};

/* Everything that follows from the statistics and the flags. */
enum skiff_status init_plan_create(const struct init_flags *flags, const struct look *look,
                                   struct init_plan *out, struct skiff_error *err);
void init_plan_deinit(struct init_plan *p);
bool init_is_feature(enum init_role role);

struct init_reported {
    const char *command, *what;
    int64_t total, bad;
    double last;
    bool line; /* a line of progress stands on the terminal */
};

struct init_run {
    struct file_list files;
    struct init_reported reported;
    struct look_config config;
    struct look look;
    struct init_plan plan;
};

/* Looks at the files and makes a plan. r is to be deinited, also after a failure. */
enum skiff_status init_look(struct init_run *r, const char *command, const struct init_flags *flags,
                            char **names, int n, struct skiff_error *err);
/* Writes the rows into the folders, which are there; test NULL: no rows are for it. */
enum skiff_status init_split(struct init_run *r, const struct init_flags *f, const char *train,
                             const char *test, struct split_report *out, struct skiff_error *err);
void init_run_deinit(struct init_run *r);

void init_show_table(const struct init_plan *p, const struct file_list *files);
void init_show_end(const struct init_plan *p, const struct split_report *r, const char *out);

/* The text of config.yaml. */
void init_config_print(const struct init_plan *p, const struct init_flags *flags,
                       const struct split_report *r, const struct file_list *files,
                       struct buf *out);

#endif
