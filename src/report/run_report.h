/* Run report: what is kept of a run, to be drawn and written down: learning curves, calibration,
 * speed, slots, config, machine, events.
 *
 * Memory is bounded: points that have become too many are merged two by two, so that what is left
 * is still the exact mean of its window; events and epochs that are too many are thinned out.
 * Numbers that a model does not have, and those that are not finite, are NAN.
 * Ownership: the report copies every text. Threads: one user at a time. */
#ifndef REPORT_RUN_REPORT_H
#define REPORT_RUN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "report/quality.h"

#define RUN_MAX_POINTS 600
#define RUN_MAX_EPOCHS 1000
#define RUN_MAX_EVENTS 400
#define RUN_MAX_BINS 20
#define RUN_MAX_SLOTS 5000
#define RUN_MAX_TESTS 1000

struct run_numbers {
    double loss, auc, log_loss, copc, accuracy;
};
extern const struct run_numbers run_numbers_none; /* all NAN */

/* What was counted between the point before and this one. */
struct run_point {
    int epoch;
    double at_samples, at_seconds; /* of the whole run, where it ends */
    double samples, seconds;       /* its own */
    struct run_numbers n;
    double clicks, predicted; /* means over its samples; their quotient is the COPC */
    bool best;                /* validation: better than all before it */
};
struct run_points {
    struct run_point *at;
    int n;
};

struct run_epoch {
    int epoch;
    bool complete;
    double at_samples, at_seconds; /* of the whole run, where it ends */
    int64_t samples;
    double seconds;
    struct run_numbers n;
    double read, compute, update; /* shares of the threads' time */
};

/* Samples whose prediction lies between low and high. */
struct run_bin {
    double low, high, predicted, seen; /* predicted, seen: means */
    double count;                      /* with weights, their sum */
};
struct run_bins {
    struct run_bin at[RUN_MAX_BINS];
    int n;
};

struct run_op {
    const char *type;
    bool update;
    int64_t calls;
    double seconds;
};

struct run_slot {              /* a slot, or a column of a dense one */
    const char *name, *column; /* column: of the table ("time (weekday)"); "": not known */
    const char *type;          /* "int64", "float32" */
    bool ragged;
    int64_t values, zeros;
    double distinct, least, most, mean; /* NAN: not known for this type */
};

/* The rows of one part of the data. */
enum run_part { RUN_TRAIN, RUN_VALID, RUN_TEST, RUN_PARTS };
const char *run_part_word(enum run_part part); /* "train" */
struct run_data {
    int64_t files;    /* 0: not known */
    double rows;      /* 0: nothing was read of it */
    double positives; /* NAN: labels are not 0 and 1 */
};

/* A saved epoch that skiff infer has evaluated, on the rows of RUN_TEST. */
struct run_test {
    int epoch;
    bool best;
    double samples;
    struct run_numbers n;
};

struct run_pair {
    const char *key, *value;
};

enum run_event_kind {
    RUN_START,
    RUN_RESUME,
    RUN_SAVED,
    RUN_WARNING,
    RUN_PLATEAU,
    RUN_EARLY_STOP,
    RUN_CALIBRATED,
    RUN_INTERRUPT,
    RUN_ERROR,
    RUN_END,
    RUN_EVENT_KINDS
};
const char *run_event_word(enum run_event_kind kind); /* "saved" */
struct run_event {
    double seconds; /* since the run's start */
    enum run_event_kind kind;
    const char *text;
};

enum run_status { RUN_RUNNING, RUN_DONE, RUN_STOPPED, RUN_FAILED, RUN_STATUSES };
const char *run_status_word(enum run_status status); /* "running" */

struct run_machine {
    const char *host, *cpu, *system, *skiff, *compiler;
    int64_t cores, memory, peak_memory; /* bytes */
};

struct run_report {
    const char *name, *command, *model, *model_path; /* place: the folder of its models */
    const char *label;   /* how a page with several runs calls it; not kept; "": its name */
    const char *started; /* "2026-05-01T10:11:12Z" */
    enum run_status status;
    double seconds; /* so far */
    int64_t threads, workers, worker;
    int64_t servers;          /* 0: workers are ranks, or one process */
    double samples;           /* so far, of all epochs */
    const char *valid_metric; /* that decides which epoch is the best: "log loss"; "": not known */
    struct run_data data[RUN_PARTS];

    struct run_points points, valid; /* valid: on validation data */
    struct run_epoch *epochs;
    int nepochs;
    struct run_bins calibration, valid_calibration, test_calibration;
    struct run_test *tests; /* of the last skiff infer */
    int ntests;
    struct run_quality *quality;
    int nquality;
    struct run_importance *importance; /* most important ones first */
    int nimportance;
    struct run_op *ops;
    int nops;
    struct run_slot *slots;
    int nslots;
    int64_t slot_rows; /* rows that the slots' numbers are from */
    struct run_pair *config;
    int nconfig;
    struct run_event *events;
    int nevents;
    int64_t events_lost;
    struct run_machine machine;
    struct arena arena;
};

void run_report_init(struct run_report *r);
void run_report_deinit(struct run_report *r);
/* A copy that lives as long as the report; NULL gives "". */
const char *run_text(struct run_report *r, const char *text);

void run_add_point(struct run_report *r, const struct run_point *p);
/* The last one of an epoch: when it is much shorter than the one before, whose noise it would
 * exceed, both become one. */
void run_add_last_point(struct run_report *r, const struct run_point *p);
/* On validation data; never merged: when there are too many, every second one goes, but not the
 * best. */
void run_add_valid(struct run_report *r, const struct run_point *p);
void run_add_epoch(struct run_report *r, const struct run_epoch *e);
void run_add_event(struct run_report *r, enum run_event_kind kind, double seconds,
                   const char *text);
void run_add_op(struct run_report *r, const struct run_op *op); /* same type: added up */
void run_add_slot(struct run_report *r, const struct run_slot *s);
void run_add_config(struct run_report *r, const char *key, const char *value);
/* A worker has seen its part of an epoch; all workers together `factor` times as much: points of
 * the epoch, from `start` samples on, are drawn as if they were of all. */
void run_scale_epoch(struct run_report *r, int epoch, double start, double factor);

/* Merges neighbours, never of two epochs, until at most `most` are left (more when there are more
 * epochs); gives how many. */
int run_merge_points(struct run_point *at, int n, int most);

/* Merges neighbours, never of two epochs, until every window but an epoch's last has at least so
 * many samples and seconds: noise is then about the same everywhere. Gives how many are left. */
int run_merge_windows(struct run_point *at, int n, double samples, double seconds);

/* About RUN_MAX_BINS groups of equally many samples, from histograms of predictions: bucket b of
 * `buckets` holds those with floor(p * (buckets - 1)) = b. */
void run_bins_fill(struct run_bins *out, const double *clicked, const double *not_clicked,
                   int buckets);

/* Ops by time, longest first. */
void run_sort_ops(struct run_report *r);
int run_count_events(const struct run_report *r, enum run_event_kind kind);
/* The best one on validation data, or NULL. */
const struct run_point *run_best_valid(const struct run_report *r);
/* The last one of an epoch, which is that of its end unless it was stopped; or NULL. */
const struct run_point *run_valid_of(const struct run_report *r, int epoch);
/* Of skiff infer: the best epoch, else the last one; or NULL. */
const struct run_test *run_best_test(const struct run_report *r);
void run_add_test(struct run_report *r, const struct run_test *t);
const struct run_epoch *run_last_epoch(const struct run_report *r); /* NULL: none */
double run_speed(const struct run_report *r); /* samples a second over all epochs */

/* This machine; texts belong to the report. */
void run_machine_read(struct run_report *r);

#endif
