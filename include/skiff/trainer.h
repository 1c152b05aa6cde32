/* Training a model as the command `skiff train` does: epochs, saved models, resuming, validation,
 * early stopping, reports; in one process, as a worker or server of a job, or as a rank.
 *
 *     struct skiff_trainer *t = skiff_trainer_create(
 *         &(struct skiff_trainer_config){.config = "config.yaml", .resume = true}, &err);
 *     skiff_trainer_add_observer(t, &(struct skiff_trainer_observer){.end = on_epoch}, &err);
 *     skiff_trainer_run(t, &err);
 *     skiff_trainer_result(t, &result);
 *     skiff_trainer_destroy(t);
 *
 * The config is that of `skiff train` (docs/reference/configuration.md); options replace its keys.
 * The environment decides the role of the process, as for the command: alone, worker, server, rank.
 * Log lines go to on_log.
 *
 * Threads: one owner. skiff_trainer_stop may be called from any thread and from signal handlers. */
#ifndef SKIFF_TRAINER_H
#define SKIFF_TRAINER_H

#include <skiff/train.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_trainer;
struct skiff_model_net; /* <skiff/model.h> */

/* Everything may be left out, but there must be a config or a net. Texts are copied. */
struct skiff_trainer_config {
    const char *config;         /* a file in YAML */
    const char *const *options; /* "runner.epochs=3" */
    int noptions;
    bool resume;      /* from the newest complete epoch in runner.model_save_path */
    bool overwrite;   /* remove the epochs of earlier runs from that folder */
    const char *name; /* of the run: its epochs are in that folder below runner.model_save_path */
    const char *json; /* a file for the numbers of the run */
    bool quiet;       /* log only warnings and errors */
    /* Lines about the run, from any thread, one at a time. NULL: nowhere. */
    void (*on_log)(void *user, const char *line);
    void *user;
    /* Instead of the model and the data that a config names: a network with an optimizer
     * (skiff_minimize), what its variables are, and its data. All three are borrowed until
     * skiff_trainer_destroy. */
    struct skiff_net *net;
    const struct skiff_model_net *vars;
    struct skiff_dataset *dataset; /* NULL: runner.train_data_dir */
    uint64_t reserved[4];
};

/* NULL on failure. In a job it has not met the other processes yet. */
SKIFF_API struct skiff_trainer *skiff_trainer_create(const struct skiff_trainer_config *config,
                                                     struct skiff_error *err);
SKIFF_API void skiff_trainer_destroy(struct skiff_trainer *t); /* NULL is fine */

/* An epoch that has ended; counts are those of all workers or ranks. NAN: there is none. */
struct skiff_trainer_epoch {
    int epoch;
    bool complete; /* else a part of its data was trained */
    int64_t samples;
    double seconds, loss, auc, log_loss, copc;
    uint64_t reserved[4];
};

/* What sees a run; every function may be NULL. */
struct skiff_trainer_observer {
    void (*begin)(void *user, int epoch);
    /* On the training thread that ran the batch; must not block. */
    void (*batch)(void *user, int thread, int64_t samples);
    /* Several times a second, on a thread of its own. */
    void (*tick)(void *user);
    /* *stop true: training ends here, as by early stopping; a job and online training end one
     * epoch or pass later, which is saved. */
    void (*end)(void *user, const struct skiff_trainer_epoch *epoch, bool *stop);
    /* The epoch is in `folder`; in a job sometimes from the thread of tick. */
    void (*saved)(void *user, int epoch, const char *folder);
    /* A line of results, without its end: validation, early stop, best epoch. */
    void (*line)(void *user, const char *text);
    void *user;
    uint64_t reserved[4];
};

/* Before skiff_trainer_run; copied. */
SKIFF_API enum skiff_status
skiff_trainer_add_observer(struct skiff_trainer *t, const struct skiff_trainer_observer *observer,
                           struct skiff_error *err);

/* Trains to the end; a server serves until its job is over. Once for each trainer. */
SKIFF_API enum skiff_status skiff_trainer_run(struct skiff_trainer *t, struct skiff_error *err);
/* The run stops behind its running batches, and saves; a server stops serving. */
SKIFF_API void skiff_trainer_stop(struct skiff_trainer *t);

struct skiff_trainer_result {
    int epochs;      /* that were trained, the last one perhaps in part */
    int64_t samples; /* of all of them */
    double seconds;
    double loss, auc, log_loss, copc; /* of the last epoch; NAN: there is none */
    double valid_auc, valid_log_loss; /* of its model, on validation data; NAN: there is none */
    int best_epoch;                   /* by validation; -1: not known */
    bool stopped;                     /* by skiff_trainer_stop */
    uint64_t reserved[4];
};
SKIFF_API void skiff_trainer_result(const struct skiff_trainer *t,
                                    struct skiff_trainer_result *out);
/* The values of its parameters; borrowed. In a job a worker's copy, perhaps in part. */
SKIFF_API struct skiff_scope *skiff_trainer_scope(struct skiff_trainer *t);

/* What `skiff infer` does: evaluates saved epochs on runner.test_data_dir. `end` gets each of them,
 * from the oldest on; resume, overwrite, net and dataset must not be set. end may be NULL. */
SKIFF_API enum skiff_status
skiff_trainer_evaluate(const struct skiff_trainer_config *config,
                       void (*end)(void *user, const struct skiff_trainer_epoch *epoch), void *user,
                       struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
