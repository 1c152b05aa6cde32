/* A saved model in any of its forms; servers read their parts of it.
 *
 *     folder with <variable> files      fluid.save_persistables, fleet's, inference models
 *     folder with one file of all       filename=, params_filename=; with or without __model__
 *     the path of such a file
 *     x.pdiparams and x.pdmodel         2.x; as x, either file, or the folder if it has one pair
 *     x.pdparams and x.pdopt            fluid.save, paddle.static.save; the same
 *
 * A file of all variables has no names: io/ takes them from the program next to it, else from the
 * program of the job. Threads: one user. */
#ifndef SERVER_SAVED_H
#define SERVER_SAVED_H

#include "base/map.h"
#include "program/program.h"
#include "store/pickle.h"
#include "store/tensor_file.h"

enum saved_form { SAVED_FILES, SAVED_PICKLES, SAVED_COMBINED };

struct saved_model {
    enum saved_form form;
    char *path;   /* the folder, x.pdparams, or the file of all */
    char *folder; /* its folder: files of hash-backed embeddings may lie there, too */
    struct pickle_file *params, *optimizer; /* of SAVED_PICKLES; the second may be NULL */
    struct skiff_program *program;          /* next to the file of all; NULL: none */
    struct tensor_location *locations;
    struct str_map by_name; /* of SAVED_COMBINED: index of the variable */
};

/* wanted: names of which a folder with a file for one is a folder of files. whole: the program
 * before the split; may be NULL. */
enum skiff_status saved_open(struct saved_model *m, const char *path, const char *const *wanted,
                             int nwanted, const struct skiff_program *whole,
                             struct skiff_error *err);
void saved_close(struct saved_model *m);

/* A variable, if the model has it: file and offset of its data, or the tensor itself. */
struct saved_var {
    bool there;
    char file[4608]; /* set for missing variables, too, for messages */
    struct tensor_location location;
    const struct tensor *tensor; /* in memory, until the next saved_find; NULL: in the file */
};
enum skiff_status saved_find(const struct saved_model *m, const char *name, struct saved_var *out,
                             struct skiff_error *err);
/* `count` elements from element `first`; the caller has checked type and shape. */
enum skiff_status saved_read(const struct saved_var *v, int64_t first, int64_t count, void *to,
                             struct skiff_error *err);

#endif
