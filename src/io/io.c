/* Variables of a program, and fluid.save / fluid.load.
 *
 * All or nothing: saving looks for all values before the first file is begun, and files appear when
 * all are written (store/model_dir.h); loading reads and checks everything before a value of the
 * scope changes, so that a file that does not fit leaves the model as it was. */
#include "io/io.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/io_parts.h"
#include "store/file.h"
#include "store/pickle.h"

/* ------------------------------------------------------------------ variables */

enum skiff_status io_save_vars(const struct skiff_scope *s, const struct io_vars *vars,
                               const char *dir, const char *filename, struct skiff_error *err)
{
    struct io_batch b;
    struct model_writer w;
    io_batch_init(&b, vars);
    enum skiff_status status = io_batch_collect(&b, s, err);
    if (status == SKIFF_OK)
        status = model_writer_open(&w, dir, err);
    if (status == SKIFF_OK)
        status = io_writer_end(&w, io_writer_vars(&w, &b, filename, err), err);
    io_batch_deinit(&b);
    return status;
}

enum skiff_status io_load_vars(struct skiff_scope *s, const struct skiff_program *p,
                               const struct io_vars *vars, const char *dir, const char *filename,
                               struct skiff_error *err)
{
    struct io_batch b;
    io_batch_init(&b, vars);
    char *path = filename ? io_join(dir, "/", filename) : mem_must_strdup(dir);
    enum skiff_status status = filename ? model_read_combined(path, b.n, b.names, b.loaded, err)
                                        : model_read_separate(path, b.n, b.names, b.loaded, err);
    if (status == SKIFF_OK)
        status = io_batch_give(&b, vars, p, s, path, filename != NULL, err);
    free(path);
    io_batch_deinit(&b);
    return status;
}

enum skiff_status io_save_group(const struct skiff_scope *s, const struct skiff_program *p,
                                enum io_group group, const char *dir, const char *filename,
                                struct skiff_error *err)
{
    struct io_vars vars;
    io_vars_list(p, group, &vars);
    enum skiff_status status = io_save_vars(s, &vars, dir, filename, err);
    io_vars_deinit(&vars);
    return status;
}

enum skiff_status io_load_group(struct skiff_scope *s, const struct skiff_program *p,
                                enum io_group group, const char *dir, const char *filename,
                                struct skiff_error *err)
{
    struct io_vars vars;
    io_vars_list(p, group, &vars);
    enum skiff_status status = io_load_vars(s, p, &vars, dir, filename, err);
    io_vars_deinit(&vars);
    return status;
}

/* ------------------------------------------------------------------ fluid.save, fluid.load */

static enum skiff_status writer_add_pickle(struct model_writer *w, const char *file,
                                           const struct skiff_scope *s,
                                           const struct skiff_program *p, enum io_group group,
                                           struct skiff_error *err)
{
    struct io_vars vars;
    struct io_batch b;
    struct state state;
    char *path = NULL;
    io_vars_list(p, group, &vars);
    io_batch_init(&b, &vars);
    state_init(&state);
    enum skiff_status status;
    TRY_OUT(io_batch_collect(&b, s, err));
    for (int i = 0; i < b.n; i++) {
        if (b.saved[i]->kind != VALUE_TENSOR) {
            status = error_set(err, SKIFF_STATE,
                               "cannot save variable %s in %s: selected rows have no place there "
                               "(save_persistables takes them)",
                               b.names[i], file);
            goto out;
        }
        struct tensor *t = &state_add(&state, b.names[i])->tensor;
        *t = b.saved[i]->tensor; /* the scope's bytes, only looked at */
        t->owner = TENSOR_BORROWED;
        t->lod = NULL;
    }
    TRY_OUT(model_writer_add(w, file, &path, err));
    TRY_OUT(pickle_file_write(path, &state, err));
out:
    free(path);
    state_deinit(&state);
    io_batch_deinit(&b);
    io_vars_deinit(&vars);
    return status;
}

static enum skiff_status save_parts(struct model_writer *w, const struct skiff_scope *s,
                                    const struct skiff_program *p, const char *base,
                                    struct skiff_error *err)
{
    char *params = io_join(base, ".", "pdparams"), *opt = io_join(base, ".", "pdopt"),
         *model = io_join(base, ".", "pdmodel");
    struct skiff_program *copy = program_clone(p);
    io_program_stamp(copy);
    enum skiff_status status = writer_add_pickle(w, params, s, p, IO_PARAMS, err);
    if (status == SKIFF_OK)
        status = writer_add_pickle(w, opt, s, p, IO_STATE, err);
    if (status == SKIFF_OK)
        status = io_writer_program(w, model, copy, err);
    program_destroy(copy);
    free(params);
    free(opt);
    free(model);
    return status;
}

enum skiff_status io_save(const struct skiff_scope *s, const struct skiff_program *p,
                          const char *prefix, struct skiff_error *err)
{
    TRY(io_prefix_check(prefix, err));
    struct model_writer w;
    char *dir = io_dir_name(prefix);
    enum skiff_status status = model_writer_open(&w, dir, err);
    free(dir);
    if (status < 0)
        return status;
    return io_writer_end(&w, save_parts(&w, s, p, io_base_name(prefix), err), err);
}

static enum skiff_status batch_take(struct io_batch *b, struct state *state, const char *path,
                                    struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < b->n && status == SKIFF_OK; i++) {
        struct state_entry *e = state_find_variable(state, b->names[i]);
        if (!e) {
            status = error_set(err, SKIFF_NOT_FOUND,
                               "variable %s: the program wants it, %s does not hold it",
                               b->names[i], path);
        } else if (e->text) {
            status = error_set(err, SKIFF_FORMAT, "variable %s: %s holds %.60s, expected an array",
                               b->names[i], path, e->text);
        } else {
            b->loaded[i].kind = VALUE_TENSOR;
            status = tensor_copy(&b->loaded[i].tensor, &e->tensor, err);
        }
    }
    return status;
}

/* Reads the pickle and checks; the caller hands out when all files are right. */
static enum skiff_status pickle_load(const char *path, const struct io_vars *vars,
                                     struct io_batch *b, struct skiff_error *err)
{
    struct state state;
    state_init(&state);
    io_batch_init(b, vars);
    enum skiff_status status = pickle_file_read(path, &state, err);
    if (status == SKIFF_OK)
        status = batch_take(b, &state, path, err);
    state_deinit(&state);
    return status;
}

static enum skiff_status load_pickles(struct skiff_scope *s, const struct skiff_program *p,
                                      const char *params, const char *opt, struct skiff_error *err)
{
    struct io_vars vars[2];
    struct io_batch batch[2] = {{0}, {0}};
    const char *path[2] = {params, opt};
    io_vars_list(p, IO_PARAMS, &vars[0]);
    io_vars_list(p, IO_STATE, &vars[1]);
    enum skiff_status status = SKIFF_OK;
    /* a program without optimizer state needs no .pdopt */
    for (int i = 0; i < 2 && status == SKIFF_OK; i++)
        if (i == 0 || vars[i].n)
            status = pickle_load(path[i], &vars[i], &batch[i], err);
    for (int pass = 0; pass < 2 && status == SKIFF_OK; pass++)
        for (int i = 0; i < 2 && status == SKIFF_OK; i++) {
            for (int k = 0; k < batch[i].n && !pass && status == SKIFF_OK; k++)
                status = io_value_check(p, vars[i].v[k], vars[i].is_param[k], &batch[i].loaded[k],
                                        path[i], err);
            if (pass)
                status = io_batch_give(&batch[i], &vars[i], p, s, path[i], true, err);
        }
    for (int i = 0; i < 2; i++) {
        io_batch_deinit(&batch[i]);
        io_vars_deinit(&vars[i]);
    }
    return status;
}

/* A folder of one file per variable: loads the variables that have a file. */
static enum skiff_status load_folder(struct skiff_scope *s, const struct skiff_program *p,
                                     const char *dir, struct skiff_error *err)
{
    struct io_vars vars;
    io_vars_list(p, IO_PERSISTABLES, &vars);
    int kept = 0;
    for (int i = 0; i < vars.n; i++) {
        char *path = io_join(dir, "/", vars.v[i]->name);
        if (model_name_check(vars.v[i]->name, NULL) == SKIFF_OK && file_exists(path)) {
            vars.is_param[kept] = vars.is_param[i];
            vars.v[kept++] = vars.v[i];
        }
        free(path);
    }
    int wanted = vars.n;
    vars.n = kept;
    enum skiff_status status = SKIFF_OK;
    if (wanted && !kept)
        status = error_set(err, SKIFF_NOT_FOUND,
                           "%s holds no file for any of the program's %d persistable variables",
                           dir, wanted);
    else
        status = io_load_vars(s, p, &vars, dir, NULL, err);
    io_vars_deinit(&vars);
    return status;
}

enum skiff_status io_load(struct skiff_scope *s, const struct skiff_program *p, const char *prefix,
                          struct skiff_error *err)
{
    char *stem = io_prefix_strip(prefix);
    char *params = io_join(stem, ".", "pdparams"), *opt = io_join(stem, ".", "pdopt");
    enum skiff_status status;
    if (file_exists(params) || !file_exists(prefix))
        status = load_pickles(s, p, params, opt, err);
    else if (file_is_dir(prefix))
        status = load_folder(s, p, prefix, err);
    else
        status = error_set(err, SKIFF_NOT_FOUND,
                           "%s: no such file (%s is a single file: load it as a combined file, "
                           "with the list of its variables)",
                           params, prefix);
    free(stem);
    free(params);
    free(opt);
    return status;
}
