/* Task: what a config says, as objects: model, network, schema, optimizer, datasets. */
#ifndef TASK_H
#define TASK_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/logger.h"
#include "base/options.h"
#include "config/config.h"
#include "data/dataset.h"
#include "executor/scope.h"
#include "metrics/metrics.h"
#include "models/model.h"
#include "program/program.h"

/* What a task is opened with. */
/* How train and infer print epochs: a row of a table when each has ended, or PaddleRec's lines. */
enum log_format { LOG_FORMAT_TABLE, LOG_FORMAT_PADDLEREC };

struct task_args {
    const char *config;
    struct option_list overrides;
    bool resume;           /* train */
    bool overwrite;        /* train */
    const char *name;      /* train, infer, predict: of the run, a folder below the models' */
    const char *run;       /* infer, predict: id of a run */
    const char *json;      /* train, infer: where the report's numbers go */
    const char *group;     /* infer: instead of runner.group_column */
    const char *transport; /* train, doctor; and the following */
    const char *encrypt, *secret_file;
    bool insecure;
    bool quiet, verbose;        /* train, infer; predict: quiet */
    enum log_format log_format; /* train, infer */
    bool has_log_format;
    /* Instead of a model that the config names: a network with its optimizer. config may be NULL
     * then. */
    struct skiff_net *net;
    const struct skiff_model_net *net_vars;
    struct logger logger;
    /* A key that nobody knows, with the nearest one that is known; NULL: not reported. */
    void (*on_unknown)(void *user, const char *text);
    void *on_unknown_user;
};

/* The transport: from a flag, else the environment (NULL: it is looked at later),
 * else the config. */
const char *task_transport(const struct task_args *a, struct config *c);
/* The same for what is under `security` in a config. */
struct settings_security;
void task_security(const struct task_args *a, struct config *c, struct settings_security *out);
struct saved_tables;

struct task {
    const struct task_args *args;
    struct logger logger;
    struct config *config;
    const struct skiff_model_def *model;
    struct skiff_net *net;
    struct skiff_model_net vars;
    struct schema schema;
    struct data_rules rules; /* what its data must keep to, in training and check-data alike */
    struct skiff_scope *scope;
    struct metrics *metrics;              /* of its datasets, and of trainers that are given it */
    struct skiff_program *main, *startup; /* the net's */
    struct buf pipe;                      /* the pipe command as it is run */
    const char *name;                     /* of the run, or NULL */
    struct buf model_path;                /* where its epochs lie */
    /* task_model.c: a model that is no ready one */
    void *library;                   /* the shared object that `model` is in, or NULL */
    const struct yaml_node *network; /* the network in YAML that `own` was made from, or NULL */
    struct skiff_model_def own;
    struct arena network_text;
    bool started;                      /* its parameters have values */
    struct saved_tables *saved_tables; /* what was loaded has sparse tables; else NULL */
    char advice[160];                  /* when learning goes to NaN; "": nothing is learned */
    char about[32];                    /* the epoch that runs, for that message */
};

/* Settings of remote file systems, for the whole process. */
enum skiff_status task_storage(struct config *c, struct skiff_error *err);
/* What a task is opened for: training has an optimizer, prediction needs neither weights nor groups
 * of samples. */
enum task_use { TASK_PREDICTS, TASK_TRAINS, TASK_EVALUATES };
/* Opens the config and builds the net. */
enum skiff_status task_open(struct task *j, const struct task_args *args, enum task_use use,
                            struct skiff_error *err);
void task_close(struct task *j);

/* Where epochs are saved (runner.model_save_path), and where infer and predict look for them
 * (runner.infer_load_path, else the same), with the run's name. The text holds until the next
 * call. */
const char *task_save_path(struct task *j);
const char *task_load_path(struct task *j);

/* Where the samples are: keys for training, or for inference. */
struct task_data {
    enum config_key dir_key, batch_key;
    const char *const *files; /* instead of the folder, or NULL */
    int nfiles;
};
extern const struct task_data task_data_train, task_data_infer;
/* Settings of a dataset over the task's schema. Texts belong to the config; the reader's settings
 * are the caller's (reader_config_deinit). */
enum skiff_status task_dataset_config(struct task *j, const struct task_data *data,
                                      struct dataset_config *out, struct skiff_error *err);
/* Files to read, expanded later: names belong to the config. */
enum skiff_status task_files(struct task *j, const struct task_data *data,
                             const char *const **out_names, int *out_count,
                             struct skiff_error *err);
/* The same, expanded. The list stays as it is after a failure, and is the caller's. */
enum skiff_status task_file_list(struct task *j, const struct task_data *data,
                                 struct file_list *out, struct skiff_error *err);
enum skiff_status task_dataset_open(struct task *j, const struct task_data *data,
                                    struct dataset **out, struct skiff_error *err);

/* An epoch without a sample: why that may be. */
enum skiff_status task_no_samples(struct task *j, const struct task_data *data,
                                  const struct dataset *d, struct skiff_error *err);

/* What the table of keys cannot know: the mode of jobs, the reader and its settings, the optimizer
 * and its hyper-parameters. A config is enough: no network is built, no data opened. */
enum skiff_status task_check_values(struct config *c, struct skiff_error *err);
/* The parts of it. The reader's settings are the caller's (reader_config_deinit); the type of the
 * optimizer, whose wrong values config_check reports. */
enum skiff_status task_reader(struct config *c, struct reader_config *r, struct skiff_error *err);
const char *task_optimizer(struct config *c, struct skiff_optimizer_options *o);

/* After everything was read: wrong values are an error; unknown keys are reported (on_unknown), and
 * are an error when one looks like a known key misspelt or came from the command line. */
enum skiff_status task_check(struct task *j, struct skiff_error *err);

/* Gives every random op of the startup program its own seed from runner.seed; returns that. */
/* The saved model that training begins with: runner.model_init_path, else warmup_model_path; NULL:
 * initial values. */
const char *task_start_path(struct task *j);
uint64_t task_seed(struct task *j);
/* Fills the parameters: runner.seed, so that the same seed gives the same start. */
enum skiff_status task_startup(struct task *j, struct skiff_error *err);
int task_threads(struct task *j);    /* runner.thread_num */
bool task_in_memory(struct task *j); /* runner.reader_type */
/* Pipe commands find Skiff's Python packages (python_env.h). Without Python they run all the
 * same. */
void task_pipe_environment(struct task *j);

/* task_model.c: which model, and its network; close when open has failed, too. */
enum skiff_status task_model_open(struct task *j, struct skiff_error *err);
/* The same with the network of args, which stays its owner's. */
enum skiff_status task_model_given(struct task *j, struct skiff_error *err);
enum skiff_status task_model_build(struct task *j, struct skiff_error *err);
void task_model_close(struct task *j);
/* task_rules.c: fills task.rules; refuses an input_hash_size beyond the tables; makes
 * runner.cache_dir, or reports why not; warns about odd or ignored files and names. */
void task_rules(struct task *j);
void task_check_hash_size(struct task *j, const struct reader_config *r);
enum skiff_status task_cache_dir(const struct dataset_config *dc, struct skiff_error *err);
void task_warn_odd(void *task, const char *file, int64_t line, const char *name);
void task_warn_left_out(const struct task *j, const struct file_list *files);
/* task_data.c: which columns of a table the slots come from (data/slot_columns.h). */
void task_name_columns(struct task *j);
/* With --verbose: keys, files, slots and what is refused in them. */
void task_warn_all(const struct task *j, const struct file_list *files);

/* The message for a loss of NaN, in options; `what` is "epoch" or "saved epoch". */
struct trainer_options;
/* A pipe command takes this share of the time: advises the reader that could replace it, by the
 * first line of a file. */
void task_warn_pipe(struct task *j, double share, const char *file);
void task_warn_nan(struct task *j, struct trainer_options *options, const char *what, int epoch);

/* task_weight.c: runner.weight_column, runner.class_weight, runner.group_column: more inputs of the
 * net, and a loss that the weights act in. Before task_minimize. */
enum skiff_status task_weigh(struct task *j, struct skiff_error *err);
/* Columns of a CSV reader: those inputs, too. */
enum skiff_status task_weigh_columns(struct task *j, struct reader_config *r,
                                     struct skiff_error *err);

/* task_clicks.c: for models with settings of tables (table_parameters), before task_minimize */
enum skiff_status task_count_clicks(struct task *j, struct skiff_error *err);

/* task_optimizer.c: hyper_parameters.optimizer */
enum skiff_status task_minimize(struct task *j, struct skiff_error *err);

#endif
