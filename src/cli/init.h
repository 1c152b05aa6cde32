/* Parts of `skiff init`: init_plan.c decides what the columns are for, init_show.c prints it,
 * init_config.c writes the config, cmd_init.c puts them together. */
#ifndef CLI_INIT_H
#define CLI_INIT_H

#include "data/look.h"
#include "data/split.h"

enum init_role {
    INIT_NUMBER, /* features: */
    INIT_CATEGORY,
    INIT_HOUR,
    INIT_LABEL,
    INIT_ID, /* left out: */
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
};

struct init_plan {
    const struct look *look;
    struct init_column *columns; /* look->ncolumns */
    struct learn_column *learn;  /* what split_run is to learn; csv: a column each */
    struct learn_config learn_config;
    int label;
    char label_why[160];
    char *positive, *negative; /* owned; negative NULL: any other text */
    int time;                  /* column by which rows are split; -1: none */
    int64_t from;
    int ndense, nslots;
    bool multi_value; /* libsvm, libffm */
    bool learns;      /* there is something to learn */
    int64_t first_index;
    char (*names)[16]; /* libsvm: of the indices that are learnt */
};

/* Everything that follows from what was seen and said. */
enum skiff_status init_plan_make(const struct init_flags *flags, const struct look *look,
                                 struct init_plan *out, struct skiff_error *err);
void init_plan_deinit(struct init_plan *p);
bool init_is_feature(enum init_role role);

void init_show_table(const struct init_plan *p, const struct file_list *files);
void init_show_end(const struct init_plan *p, const struct split_report *r, const char *out);

/* The text of config.yaml. */
void init_config_print(const struct init_plan *p, const struct init_flags *flags,
                       const struct split_report *r, const struct file_list *files,
                       struct buf *out);

#endif
