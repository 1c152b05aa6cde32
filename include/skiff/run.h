/* A trained run, ready to predict rows as they are: with the preprocessing that `skiff init` has
 * learned, the best epoch, and its calibration.
 *
 *     struct skiff_run *run = skiff_run_open("run", NULL, &err);
 *     const char *row = "39,State-gov,77516,Bachelors,13";
 *     double p;
 *     skiff_run_predict_text(run, &row, 1, &p, &err);
 *     skiff_run_close(run);
 *
 * A run is a folder with a config.yaml and what it names (columns.stats, the saved epochs), or the
 * path of such a config. Rows come as text, a line each in the format of the config, or as values,
 * one for each column of a table. The label needs no value; a value for it is ignored.
 *
 * Threads: any number of threads may predict with one run at the same time. Each uses working
 * memory of its own, which it keeps; after some calls of the same size a call allocates nothing.
 * open and close need the run for themselves. */
#ifndef SKIFF_RUN_H
#define SKIFF_RUN_H

#include <stddef.h>
#include <stdint.h>

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_run;

/* Everything may be left out. */
struct skiff_run_options {
    /* Names of the columns in the order of the rows, as the header line of a file has them. NULL:
     * the order of the table, as files in runner.train_data_dir or runner.test_data_dir have it. */
    const char *header;
    const char *model;          /* a saved model; NULL: the best epoch, else the newest */
    const char *name;           /* of the run, as for skiff_trainer_config */
    const char *const *options; /* "runner.infer_load_path=other" */
    int noptions;
    void (*on_log)(void *user,
                   const char *line); /* from open, the caller's thread; NULL: nowhere */
    void *user;
    uint64_t reserved[4];
};

/* NULL on failure. */
SKIFF_API struct skiff_run *
skiff_run_open(const char *path, const struct skiff_run_options *options, struct skiff_error *err);
SKIFF_API void skiff_run_close(struct skiff_run *r);              /* NULL is fine */
SKIFF_API const char *skiff_run_model(const struct skiff_run *r); /* path of the loaded model */

/* ---- rows of text ---- */

/* n rows, a text each, as lines of a file without its header line. out: n probabilities. A row that
 * cannot be read is an error, which names it (row 1 is the first), and its slot. */
SKIFF_API enum skiff_status skiff_run_predict_text(struct skiff_run *r, const char *const *rows,
                                                   int64_t n, double *out, struct skiff_error *err);

/* ---- rows of values (CSV) ---- */

/* The columns of a row, in order; without a header line their names are their numbers, "1" first.
 * 0: the format has no columns. */
SKIFF_API int skiff_run_columns(const struct skiff_run *r);
SKIFF_API const char *skiff_run_column(const struct skiff_run *r, int i);
/* The number of the column of that name, or -1. */
SKIFF_API int skiff_run_find_column(const struct skiff_run *r, const char *name);

/* {.text = "Private"}, {.number = 39}, {.number = NAN} */
struct skiff_run_value {
    const char *text; /* NULL: it is a number; "" is a missing value */
    size_t size;      /* of the text; 0: up to its \0 */
    double number;    /* NAN is a missing value */
};

/* n rows of skiff_run_columns values each, one row behind the other. */
SKIFF_API enum skiff_status skiff_run_predict_values(struct skiff_run *r,
                                                     const struct skiff_run_value *values,
                                                     int64_t n, double *out,
                                                     struct skiff_error *err);

/* ---- files ---- */

/* All rows of a file, a folder or a pattern, by runner.thread_num threads. write gets lines of text
 * in the order of the rows, on the caller's thread: the prediction and, behind a tab, the row's id,
 * if it has one. Bad lines are those of runner.bad_lines: "nan". When write fails, so does this. */
SKIFF_API enum skiff_status
skiff_run_predict_files(struct skiff_run *r, const char *path,
                        enum skiff_status (*write)(void *user, const char *text, size_t n,
                                                   int64_t rows, struct skiff_error *err),
                        void *user, struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
