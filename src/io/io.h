/* Saving and loading the variables of a program, and whole models: the file functions of
 * fluid.io, fluid.save/load and paddle.static.
 *
 * Loading is all or nothing: everything is read and checked (there, complete, right type, right
 * shape) before a value of the scope is touched. Saving too: files appear when all are written,
 * the program last. Threads: one user of the scope at a time. */
#ifndef IO_IO_H
#define IO_IO_H

#include "executor/scope.h"
#include "program/program.h"
#include "store/model_dir.h"
#include "store/tensor_file.h"

/* Which variables. A program built here knows its parameters, and so does a training program that
 * Paddle 2.x saved (is_parameter). Other files do not say; then a variable counts as a parameter
 * when it is persistable and
 *   - an op updates it (slots Param, ParamOut), or
 *   - an op that is not part of the optimizer or the learning-rate schedule reads it, it holds
 *     reals, and no op writes it, except in place as state of its own (slots X and XOut: the moving
 *     averages of batch_norm) - which leaves out accumulators, learning rates, counters and the
 *     buckets of auc. */
enum io_group {
    IO_PARAMS,       /* save_params, .pdparams */
    IO_PERSISTABLES, /* save_persistables, inference models */
    IO_STATE,        /* persistables that are no parameters (and not fed): .pdopt */
    IO_NETWORK,      /* persistables without the optimizer's: what a program for testing has */
};

struct io_vars {
    /* borrowed from the program; in the program's order, each name once */
    const struct skiff_var **v;
    bool *is_param;
    int n;
};

void io_vars_list(const struct skiff_program *p, enum io_group group, struct io_vars *out);
/* Keeps those whose name is listed; NOT_FOUND when a name is not among them. */
enum skiff_status io_vars_pick(struct io_vars *vars, const char *const *names, int n,
                               struct skiff_error *err);
void io_vars_deinit(struct io_vars *vars);

/* filename NULL: one file per variable, <dir>/<name>; else all in <dir>/<filename>. */
enum skiff_status io_save_vars(const struct skiff_scope *s, const struct io_vars *vars,
                               const char *dir, const char *filename, struct skiff_error *err);
enum skiff_status io_load_vars(struct skiff_scope *s, const struct skiff_program *p,
                               const struct io_vars *vars, const char *dir, const char *filename,
                               struct skiff_error *err);
/* save_params / save_persistables and their counterparts. */
enum skiff_status io_save_group(const struct skiff_scope *s, const struct skiff_program *p,
                                enum io_group group, const char *dir, const char *filename,
                                struct skiff_error *err);
enum skiff_status io_load_group(struct skiff_scope *s, const struct skiff_program *p,
                                enum io_group group, const char *dir, const char *filename,
                                struct skiff_error *err);

/* A combined file does not say which variable is which. They are found by the programs that it may
 * have been saved from: the first of their groups of variables that fits in number, types and
 * shapes, sorted by name (as Paddle writes) or in the program's order. names[i], borrowed from the
 * program, belongs to places[i] (combined_file_scan). SHAPE when none fits: the message says what
 * was found and expected. */
struct io_source {
    const struct skiff_program *program;
    const char *what; /* "the job's program", for messages */
};
enum skiff_status io_combined_names(const char *path, const struct tensor_location *locations,
                                    int n, const struct io_source *sources, int nsources,
                                    const char **names, struct skiff_error *err);

/* fluid.save / fluid.load: <prefix>.pdparams, .pdopt, .pdmodel. load also takes a folder that
 * save_persistables or save_params wrote (what is there is loaded). A parameter may stand in the
 * file under a structured name ("StructuredToParameterName@@"). */
enum skiff_status io_save(const struct skiff_scope *s, const struct skiff_program *p,
                          const char *prefix, struct skiff_error *err);
enum skiff_status io_load(struct skiff_scope *s, const struct skiff_program *p, const char *prefix,
                          struct skiff_error *err);

/* What io_load does with <base>.pdparams and .pdopt in a folder that is being read. */
enum skiff_status io_read_state(const struct model_reader *r, struct skiff_scope *s,
                                const struct skiff_program *p, const char *base,
                                struct skiff_error *err);

/* What io_save writes (<base>.pdparams, .pdopt, .pdmodel), as a part of a larger save. */
enum skiff_status io_write_state(struct model_writer *w, const struct skiff_scope *s,
                                 const struct skiff_program *p, const char *base,
                                 struct skiff_error *err);

/* The same of values that need not be in a scope: `write` writes the pickle of a group. */
struct io_pickles {
    enum skiff_status (*write)(void *user, struct model_writer *w, const char *file,
                               enum io_group group, struct skiff_error *err);
    void *user;
};
enum skiff_status io_write_state_of(struct model_writer *w, const struct skiff_program *p,
                                    const char *base, const struct io_pickles *pickles,
                                    struct skiff_error *err);

struct io_inference {
    const char *const *feeds;
    int nfeeds;
    const char *const *targets;
    int ntargets;
};

/* save_inference_model of 1.x: a folder with <model_filename> ("__model__" when NULL) and the
 * persistables of the pruned program, one file each or all in <params_filename>. */
enum skiff_status io_save_inference_dir(const struct skiff_scope *s, const struct skiff_program *p,
                                        const struct io_inference *what, const char *dir,
                                        const char *model_filename, const char *params_filename,
                                        struct skiff_error *err);
/* The same as a part of a larger save. */
enum skiff_status io_write_inference(struct model_writer *w, const struct skiff_scope *s,
                                     const struct skiff_program *p, const struct io_inference *what,
                                     const char *model_filename, const char *params_filename,
                                     struct skiff_error *err);
/* That of 2.x: <prefix>.pdmodel and <prefix>.pdiparams. */
enum skiff_status io_save_inference_prefix(const struct skiff_scope *s,
                                           const struct skiff_program *p,
                                           const struct io_inference *what, const char *prefix,
                                           struct skiff_error *err);

/* The program that such a model holds: pruned, with version fields as Paddle sets them. For callers
 * whose values do not lie in a scope. prefix: as 2.x writes it. *out is the caller's. */
enum skiff_status io_inference_program(const struct skiff_program *p,
                                       const struct io_inference *what, bool prefix,
                                       struct skiff_program **out, struct skiff_error *err);

/* A model as loaded. Names belong to the program. */
struct skiff_model {
    struct skiff_program *program;
    const char **feeds, **fetches;
    int nfeeds, nfetches;
};

void io_model_deinit(struct skiff_model *m);
/* `path` is a folder (file names as in save; NULL: the default) or a 2.x prefix, with or without
 * ".pdmodel". scope NULL: only the program is read. */
enum skiff_status io_load_inference(struct skiff_scope *s, const char *path,
                                    const char *model_filename, const char *params_filename,
                                    struct skiff_model *out, struct skiff_error *err);

/* Protobuf or text form. Compared with the manifest beside it, if there is one. */
enum skiff_status io_program_read(const char *path, struct skiff_program **out,
                                  struct skiff_error *err);
/* Feed and fetch names by the ops' columns; arrays live in the program's arena. */
enum skiff_status io_model_targets(struct skiff_model *m, struct skiff_error *err);

#endif
