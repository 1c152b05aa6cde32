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
#include "save/save.h"
#include "store/file.h"
#include "store/pickle.h"

/* ------------------------------------------------------------------ variables */

enum skiff_status io_save_vars(const struct skiff_scope *s, const struct io_vars *vars,
                               const char *dir, const char *filename, struct skiff_error *err)
{
    struct io_batch b;
    struct save to;
    io_batch_init(&b, vars);
    enum skiff_status status = io_batch_collect(&b, s, err);
    if (status == SKIFF_OK)
        status = save_begin(&to, dir, SAVE_LAYOUT_VARIABLES, err);
    if (status == SKIFF_OK)
        status = save_end(&to, io_writer_vars(&to.files, &b, filename, err), err);
    io_batch_deinit(&b);
    return status;
}

enum skiff_status io_read_vars(const struct model_reader *r, struct skiff_scope *s,
                               const struct skiff_program *p, const struct io_vars *vars,
                               const char *filename, struct skiff_error *err)
{
    struct io_batch b;
    io_batch_init(&b, vars);
    enum skiff_status status = filename
                                   ? model_read_combined(r, filename, b.n, b.names, b.loaded, err)
                                   : model_read_separate(r, b.n, b.names, b.loaded, err);
    char *target = filename ? io_join(r->dir, "/", filename) : mem_strdup_or_die(r->dir);
    if (status == SKIFF_OK)
        status = io_batch_give(&b, vars, p, s, target, filename != NULL, err);
    free(target);
    io_batch_deinit(&b);
    return status;
}

enum skiff_status io_load_vars(struct skiff_scope *s, const struct skiff_program *p,
                               const struct io_vars *vars, const char *dir, const char *filename,
                               struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    enum skiff_status status;
    do {
        TRY(model_reader_open(&r, dir, filename, err));
        status = io_read_vars(&r, s, p, vars, filename, err);
    } while (model_reader_close(&r, status));
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

/* Gradient merge (passes/merge_grad.h) keeps sums of gradients between runs, rows among them. */
static bool is_merged(const char *name)
{
    static const char end[] = "@GRAD@GradientMerge";
    size_t n = strlen(name), most = sizeof end - 1;
    return n > most && !strcmp(name + n - most, end);
}

/* Pickles hold arrays: rows go as the array that they stand for. */
static enum skiff_status add_merged(struct state *state, const char *name,
                                    const struct skiff_tensor *v, struct skiff_error *err)
{
    struct tensor *t = &state_add(state, name)->tensor;
    int64_t width = v->tensor.shape.ndim > 1 ? v->tensor.shape.dims[1] : 1;
    size_t bytes = (size_t)width * dtype_size(v->tensor.dtype);
    struct shape shape = SHAPE(v->sel.height, width);
    TRY(tensor_resize(t, v->tensor.dtype, &shape, err));
    memset(t->data, 0, tensor_bytes(t));
    for (size_t i = 0; i < v->sel.nrows; i++) /* sums have every row once */
        if (v->sel.rows[i] >= 0 && v->sel.rows[i] < v->sel.height)
            memcpy((char *)t->data + (size_t)v->sel.rows[i] * bytes,
                   (const char *)v->tensor.data + i * bytes, bytes);
    return SKIFF_OK;
}

static bool is_zero(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Back: the rows of the array that are not zero. */
static enum skiff_status take_merged(struct skiff_tensor *out, const struct tensor *t,
                                     struct skiff_error *err)
{
    int64_t height = t->shape.dims[0], width = t->shape.dims[1];
    size_t bytes = (size_t)width * dtype_size(t->dtype), n = 0;
    const char *from = t->data;
    for (int64_t i = 0; i < height; i++)
        n += !is_zero(from + (size_t)i * bytes, bytes);
    TRY(value_as_rows(out, t->dtype, n, width, height, err));
    n = 0;
    for (int64_t i = 0; i < height; i++) {
        if (is_zero(from + (size_t)i * bytes, bytes))
            continue;
        out->sel.rows[n] = i;
        memcpy((char *)out->tensor.data + n++ * bytes, from + (size_t)i * bytes, bytes);
    }
    return SKIFF_OK;
}

static enum skiff_status writer_add_pickle(struct model_writer *w, const char *file,
                                           const struct skiff_scope *s,
                                           const struct skiff_program *p, enum io_group group,
                                           struct skiff_error *err)
{
    struct io_vars vars;
    struct io_batch b;
    struct state state;
    io_vars_list(p, group, &vars);
    io_batch_init(&b, &vars);
    state_init(&state);
    state.newer = p->generation == GEN_2X;
    enum skiff_status status;
    TRY_OUT(io_batch_collect(&b, s, err));
    for (int i = 0; i < b.n; i++) {
        if (b.saved[i]->kind == VALUE_ROWS && is_merged(b.names[i])) {
            TRY_OUT(add_merged(&state, b.names[i], b.saved[i], err));
            continue;
        }
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
    TRY_OUT(model_writer_pickle(w, file, &state, err));
out:
    state_deinit(&state);
    io_batch_deinit(&b);
    io_vars_deinit(&vars);
    return status;
}

enum skiff_status io_write_state_of(struct model_writer *w, const struct skiff_program *p,
                                    const char *base, const struct io_pickles *pickles,
                                    struct skiff_error *err)
{
    char *params = io_join(base, ".", "pdparams"), *opt = io_join(base, ".", "pdopt"),
         *model = io_join(base, ".", "pdmodel");
    struct skiff_program *copy = program_clone(p);
    io_program_stamp(copy);
    enum skiff_status status = pickles->write(pickles->user, w, params, IO_PARAMS, err);
    if (status == SKIFF_OK)
        status = pickles->write(pickles->user, w, opt, IO_STATE, err);
    if (status == SKIFF_OK)
        status = io_writer_program(w, model, copy, err);
    program_destroy(copy);
    free(params);
    free(opt);
    free(model);
    return status;
}

struct scope_values {
    const struct skiff_scope *scope;
    const struct skiff_program *program;
};

static enum skiff_status write_of_scope(void *user, struct model_writer *w, const char *file,
                                        enum io_group group, struct skiff_error *err)
{
    const struct scope_values *from = user;
    return writer_add_pickle(w, file, from->scope, from->program, group, err);
}

enum skiff_status io_write_state(struct model_writer *w, const struct skiff_scope *s,
                                 const struct skiff_program *p, const char *base,
                                 struct skiff_error *err)
{
    struct scope_values from = {s, p};
    return io_write_state_of(w, p, base, &(struct io_pickles){write_of_scope, &from}, err);
}

enum skiff_status io_save(const struct skiff_scope *s, const struct skiff_program *p,
                          const char *prefix, struct skiff_error *err)
{
    TRY(io_prefix_check(prefix, err));
    struct save to;
    TRY(save_begin(&to, prefix, SAVE_LAYOUT_STATE, err));
    return save_end(&to, io_write_state(&to.files, s, p, io_base_name(prefix), err), err);
}

static enum skiff_status batch_take(struct io_batch *b, const struct io_vars *vars,
                                    struct state *state, const char *path, struct skiff_error *err)
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
        } else if (vars->v[i]->kind == VAR_SELECTED_ROWS && is_merged(b->names[i]) &&
                   e->tensor.shape.ndim == 2) {
            status = take_merged(&b->loaded[i], &e->tensor, err);
        } else {
            b->loaded[i].kind = VALUE_TENSOR;
            status = tensor_copy(&b->loaded[i].tensor, &e->tensor, err);
        }
    }
    return status;
}

/* Reads the pickle and checks; the caller hands out when all files are right. */
static enum skiff_status pickle_load(const struct model_reader *r, const char *file,
                                     const struct io_vars *vars, struct io_batch *b,
                                     struct skiff_error *err)
{
    struct state state;
    const struct file_sum *want;
    char *path = io_join(r->dir, "/", file);
    state_init(&state);
    io_batch_init(b, vars);
    enum skiff_status status = model_reader_sum(r, file, &want, err);
    if (status == SKIFF_OK)
        status = pickle_file_read_checked(path, want, &state, err);
    if (status == SKIFF_OK)
        status = batch_take(b, vars, &state, path, err);
    state_deinit(&state);
    free(path);
    return status;
}

static enum skiff_status load_pickles(const struct model_reader *r, struct skiff_scope *s,
                                      const struct skiff_program *p, const char *params,
                                      const char *opt, struct skiff_error *err)
{
    struct io_vars vars[2];
    struct io_batch batch[2] = {{0}, {0}};
    const char *file[2] = {params, opt};
    io_vars_list(p, IO_PARAMS, &vars[0]);
    io_vars_list(p, IO_STATE, &vars[1]);
    enum skiff_status status = SKIFF_OK;
    /* a program without optimizer state needs no .pdopt */
    for (int i = 0; i < 2 && status == SKIFF_OK; i++)
        if (i == 0 || vars[i].n)
            status = pickle_load(r, file[i], &vars[i], &batch[i], err);
    for (int pass = 0; pass < 2 && status == SKIFF_OK; pass++)
        for (int i = 0; i < 2 && status == SKIFF_OK; i++) {
            char *path = io_join(r->dir, "/", file[i]);
            for (int k = 0; k < batch[i].n && !pass && status == SKIFF_OK; k++)
                status = io_value_check(p, vars[i].v[k], vars[i].is_param[k], &batch[i].loaded[k],
                                        path, err);
            if (pass)
                status = io_batch_give(&batch[i], &vars[i], p, s, path, true, err);
            free(path);
        }
    for (int i = 0; i < 2; i++) {
        io_batch_deinit(&batch[i]);
        io_vars_deinit(&vars[i]);
    }
    return status;
}

/* Is there a file for it? One that is listed must be there. */
static enum skiff_status has_file(const struct model_reader *r, const char *name, bool *out,
                                  struct skiff_error *err)
{
    const struct file_sum *want;
    *out = false;
    if (model_name_check(name, NULL) < 0)
        return SKIFF_OK;
    TRY(model_reader_sum(r, name, &want, err));
    *out = folder_view_has(&r->view, name);
    return SKIFF_OK;
}

/* A folder of one file per variable: loads the variables that have a file. */
static enum skiff_status load_folder(const struct model_reader *r, struct skiff_scope *s,
                                     const struct skiff_program *p, struct skiff_error *err)
{
    struct io_vars vars;
    io_vars_list(p, IO_PERSISTABLES, &vars);
    int kept = 0, wanted = vars.n;
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < wanted && status == SKIFF_OK; i++) {
        bool there;
        status = has_file(r, vars.v[i]->name, &there, err);
        if (status == SKIFF_OK && there) {
            vars.is_param[kept] = vars.is_param[i];
            vars.v[kept++] = vars.v[i];
        }
    }
    vars.n = kept;
    if (status == SKIFF_OK && wanted && !kept)
        status = error_set(err, SKIFF_NOT_FOUND,
                           "%s holds no file for any of the program's %d persistable variables",
                           r->dir, wanted);
    if (status == SKIFF_OK)
        status = io_read_vars(r, s, p, &vars, NULL, err);
    io_vars_deinit(&vars);
    return status;
}

enum skiff_status io_read_state(const struct model_reader *r, struct skiff_scope *s,
                                const struct skiff_program *p, const char *base,
                                struct skiff_error *err)
{
    char *params = io_join(base, ".", "pdparams"), *opt = io_join(base, ".", "pdopt");
    enum skiff_status status = load_pickles(r, s, p, params, opt, err);
    free(params);
    free(opt);
    return status;
}

static enum skiff_status load_prefix(struct skiff_scope *s, const struct skiff_program *p,
                                     const char *stem, struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    char *dir = path_parent(stem), *params = io_join(io_base_name(stem), ".", "pdparams");
    enum skiff_status status;
    do {
        TRY_OUT(model_reader_open(&r, dir, params, err));
        status = io_read_state(&r, s, p, io_base_name(stem), err);
    } while (model_reader_close(&r, status));
out:
    free(dir);
    free(params);
    return status;
}

static enum skiff_status load_dir(struct skiff_scope *s, const struct skiff_program *p,
                                  const char *dir, struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    enum skiff_status status;
    do {
        TRY(model_reader_open(&r, dir, NULL, err));
        status = load_folder(&r, s, p, err);
    } while (model_reader_close(&r, status));
    return status;
}

enum skiff_status io_load(struct skiff_scope *s, const struct skiff_program *p, const char *prefix,
                          struct skiff_error *err)
{
    char *stem = model_prefix_of(prefix), *params = io_join(stem, ".", "pdparams");
    char *dir = path_parent(stem);
    enum skiff_status status = model_recover(dir, err);
    if (status == SKIFF_OK && (file_exists(params) || !file_exists(prefix)))
        status = load_prefix(s, p, stem, err);
    else if (status == SKIFF_OK && file_is_dir(prefix))
        status = load_dir(s, p, prefix, err);
    else if (status == SKIFF_OK)
        status = error_set(err, SKIFF_NOT_FOUND,
                           "%s: no such file (%s is a single file: load it as a combined file, "
                           "with the list of its variables)",
                           params, prefix);
    free(stem);
    free(params);
    free(dir);
    return status;
}
