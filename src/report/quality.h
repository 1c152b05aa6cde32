/* Parts of a run report that say how good predictions are, and what they rest on: metrics of an
 * evaluation that need every prediction, and the importance of columns. */
#ifndef REPORT_QUALITY_H
#define REPORT_QUALITY_H

#define RUN_MAX_QUALITY 1000
#define RUN_MAX_IMPORTANCE 2000

enum run_quality_value {
    QUALITY_AUC,
    QUALITY_PR_AUC,
    QUALITY_KS,
    QUALITY_LIFT_1,
    QUALITY_LIFT_5,
    QUALITY_LIFT_10,
    QUALITY_LOG_LOSS,
    QUALITY_ENTROPY,
    QUALITY_GROUP_AUC,
    QUALITY_GROUPS,
    QUALITY_THRESHOLD,
    QUALITY_PRECISION,
    QUALITY_RECALL,
    QUALITY_F1,
    QUALITY_TRUE_POS,
    QUALITY_FALSE_POS,
    QUALITY_FALSE_NEG,
    QUALITY_TRUE_NEG,
    RUN_QUALITY_VALUES
};

/* How a value is called in JSON and at the head of a column; title NULL: it has no column of its
 * own. */
struct run_quality_text {
    const char *key, *title;
    int digits;
};
extern const struct run_quality_text run_quality_texts[RUN_QUALITY_VALUES];

struct run_quality {
    const char *data; /* "valid", "test" */
    int epoch;
    double values[RUN_QUALITY_VALUES]; /* NAN: there is none */
};

/* Mean of several permutations of a column, and its 95 % interval. */
struct run_effect {
    double mean, low, high;
};
struct run_importance {
    const char *column, *data;
    double rows;
    int repeats;
    struct run_effect auc, log_loss; /* what is lost: AUC falls, log loss rises by it */
};

struct run_report;
struct buf;

/* Copies texts; what is too many is left out. */
void run_add_quality(struct run_report *r, const struct run_quality *q);
/* Removes the rows of these data: before others are added. */
void run_drop_quality(struct run_report *r, const char *data);
void run_add_importance(struct run_report *r, const struct run_importance *i);
/* Sections of the page, with their headings; nothing where the report has no such numbers. */
void add_quality_section(struct buf *b, const struct run_report *r);
void add_importance_section(struct buf *b, const struct run_report *r);

#endif
