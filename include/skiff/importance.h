/* Importance of the columns of a table: how much worse a saved model predicts when the values of
 * one column are exchanged between rows (permutation importance), as `skiff importance` does.
 *
 *     struct skiff_importance *i = skiff_importance_run(
 *         &(struct skiff_importance_config){.config = "config.yaml"}, &err);
 *     for (int k = 0; k < skiff_importance_count(i); k++)
 *         puts(skiff_importance_column(i, k)->name);
 *     skiff_importance_destroy(i);
 *
 * Threads: one owner; the run starts its own threads. */
#ifndef SKIFF_IMPORTANCE_H
#define SKIFF_IMPORTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Everything but the config may be left out. */
struct skiff_importance_config {
    const char *config;         /* a file in YAML */
    const char *const *options; /* "runner.thread_num=2" */
    int noptions;
    const char *name; /* of the run, as for skiff_trainer_config */
    const char *run;  /* the beginning of its id; NULL: the newest run */
    const char *data; /* rows; NULL: runner.valid_data_dir, else runner.test_data_dir */
    int64_t rows;     /* at most, from the first on; 0: 50000 */
    int repeats;      /* permutations of each column; 0: 5 */
    uint64_t seed;    /* 0: runner.seed */
    int threads;      /* 0: as many as cores */
    const char *json; /* a file for the numbers */
    bool quiet;       /* log only warnings and errors */
    bool no_report;   /* leave the report of the run as it is */
    void (*on_log)(void *user, const char *line);
    /* From any of its threads: done of all columns. */
    void (*on_progress)(void *user, int done, int all);
    bool (*wants_stop)(void *user); /* from any of its threads */
    void *user;
    uint64_t reserved[4];
};

/* A mean and its 95 % interval, which covers the choice of rows and of permutations. */
struct skiff_importance_effect {
    double mean, low, high;
};
struct skiff_importance_column {
    const char *name; /* of the user's table */
    /* AUC falls by it, log loss rises by it; NAN: there is none */
    struct skiff_importance_effect auc, log_loss;
};

struct skiff_importance;
/* NULL on failure. It writes the numbers into the report of the run, if there is one. */
SKIFF_API struct skiff_importance *
skiff_importance_run(const struct skiff_importance_config *config, struct skiff_error *err);
SKIFF_API int skiff_importance_count(const struct skiff_importance *i);
/* The most important one first, by log loss. */
SKIFF_API const struct skiff_importance_column *
skiff_importance_column(const struct skiff_importance *i, int k);
SKIFF_API int64_t skiff_importance_rows(const struct skiff_importance *i);
/* Of the rows as they are. */
SKIFF_API double skiff_importance_auc(const struct skiff_importance *i);
SKIFF_API double skiff_importance_log_loss(const struct skiff_importance *i);
SKIFF_API void skiff_importance_destroy(struct skiff_importance *i); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
