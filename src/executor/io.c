#include "executor/io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/compat_map.h"
#include "passes/prune.h"
#include "store/file.h"
#include "store/model_dir.h"
#include "store/pickle.h"

#define MODEL_FILE "__model__"
#define VERSION_1X 1008005
#define VERSION_2X 2006002

/* Names and values of a list of variables, as the store wants them. */
struct batch {
    int n;
    const char **names;
    const struct value **saved; /* borrowed from the scope */
    struct value *loaded;       /* owned */
};

static void batch_init(struct batch *b, const struct io_vars *vars)
{
    size_t n = (size_t)vars->n + 1;
    *b = (struct batch){.n = vars->n,
                        .names = mem_must(n * sizeof *b->names),
                        .saved = mem_must(n * sizeof *b->saved),
                        .loaded = mem_must(n * sizeof *b->loaded)};
    for (int i = 0; i < vars->n; i++)
        b->names[i] = vars->v[i]->name;
}

static void batch_deinit(struct batch *b)
{
    for (int i = 0; i < b->n; i++)
        value_deinit(&b->loaded[i]);
    free(b->names);
    free(b->saved);
    free(b->loaded);
    *b = (struct batch){0};
}

static char *join(const char *a, const char *between, const char *b)
{
    struct buf s = BUF_INIT;
    buf_printf(&s, "%s%s%s", a, between, b);
    return s.data;
}

/* The part after the last '/'. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Folder of "dir/file": "dir"; of "file": "."; of "/file": "/". */
static char *dir_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_must_strdup(".");
    char *dir = mem_must_strdup(path);
    dir[slash == path ? 1 : slash - path] = 0;
    return dir;
}

/* ------------------------------------------------------------------ scope side */

/* Finds all values to be saved; scope_find brings rows that lag behind up to date. */
static enum skiff_status batch_collect(struct batch *b, const struct scope *s,
                                       struct skiff_error *err)
{
    for (int i = 0; i < b->n; i++) {
        const struct value *v = scope_find(s, b->names[i]);
        if (!v || v->kind == VALUE_NONE)
            return error_set(err, SKIFF_STATE,
                             "cannot save variable %s: it has no value yet (was the startup "
                             "program run?)",
                             b->names[i]);
        if (v->kind != VALUE_TENSOR && v->kind != VALUE_ROWS)
            return error_set(err, SKIFF_STATE,
                             "cannot save variable %s: it holds neither a tensor nor selected rows",
                             b->names[i]);
        b->saved[i] = v;
    }
    return SKIFF_OK;
}

static bool shape_fits(const struct var *v, bool param, const struct shape *found)
{
    if (!param) {
        int64_t want = shape_numel(&v->shape);
        return want < 0 || want == shape_numel(found) || v->dtype == DTYPE_INT64;
    }
    if (v->shape.ndim != found->ndim)
        return false;
    for (int i = 0; i < found->ndim; i++)
        if (v->shape.dims[i] >= 0 && v->shape.dims[i] != found->dims[i])
            return false;
    return true;
}

/* Is this what the program wants? A parameter's shape must be the same; of other variables only the
 * number of elements (Paddle writes [] or [1] for the same learning rate), and not even that of
 * counters (1.8 declares the buckets of auc [1, n] and makes them n + 1). */
static enum skiff_status value_check(const struct program *p, const struct var *v, bool param,
                                     const struct value *value, const char *file,
                                     struct skiff_error *err)
{
    const struct tensor *t = &value->tensor;
    bool rows = value->kind == VALUE_ROWS;
    if (rows != (v->kind == VAR_SELECTED_ROWS))
        return error_set(err, SKIFF_FORMAT, "variable %s: the program wants %s, %s holds %s",
                         v->name, rows ? "a tensor" : "selected rows", file,
                         rows ? "selected rows" : "a tensor");
    if (!v->has_tensor)
        return SKIFF_OK;
    if (t->dtype != v->dtype)
        return error_set(err, SKIFF_DTYPE, "variable %s: the program wants %s, %s holds %s",
                         v->name, dtype_name(v->dtype), file, dtype_name(t->dtype));
    /* 1.x writes no dims where it does not know them; 2.x for a tensor without dimensions. */
    bool known = v->shape.ndim || p->generation == GEN_2X;
    char want[160], found[160];
    if (!rows && known && !shape_fits(v, param, &t->shape))
        return error_set(err, SKIFF_SHAPE, "variable %s: the program wants shape %s, %s holds %s",
                         v->name, shape_text(&v->shape, want), file, shape_text(&t->shape, found));
    return SKIFF_OK;
}

/* Checks everything, then hands the values to the scope. dir/file: see io_load_vars. */
static enum skiff_status batch_give(struct batch *b, const struct io_vars *vars,
                                    const struct program *p, struct scope *s, const char *place,
                                    bool one_file, struct skiff_error *err)
{
    for (int i = 0; i < b->n; i++) {
        char *file = one_file ? mem_must_strdup(place) : join(place, "/", b->names[i]);
        enum skiff_status status =
            value_check(p, vars->v[i], vars->is_param[i], &b->loaded[i], file, err);
        free(file);
        TRY(status);
    }
    for (int i = 0; i < b->n; i++) {
        struct value *to = scope_var(s, b->names[i]);
        if (to->kind == VALUE_NONE && !to->tensor.data && !to->lag) {
            value_deinit(to);
            *to = b->loaded[i];
            b->loaded[i] = (struct value){0};
        } else {
            TRY(value_copy(to, &b->loaded[i], err));
        }
    }
    return SKIFF_OK;
}

/* ------------------------------------------------------------------ variables */

static enum skiff_status writer_add_vars(struct model_writer *w, const struct batch *b,
                                         const char *filename, struct skiff_error *err)
{
    if (filename)
        return model_writer_combined(w, filename, b->n, b->names, b->saved, err);
    for (int i = 0; i < b->n; i++)
        TRY(model_writer_value(w, b->names[i], b->saved[i], err));
    return SKIFF_OK;
}

static enum skiff_status writer_end(struct model_writer *w, enum skiff_status status,
                                    struct skiff_error *err)
{
    if (status == SKIFF_OK)
        return model_writer_commit(w, err);
    model_writer_close(w);
    return status;
}

enum skiff_status io_save_vars(const struct scope *s, const struct io_vars *vars, const char *dir,
                               const char *filename, struct skiff_error *err)
{
    struct batch b;
    struct model_writer w;
    batch_init(&b, vars);
    enum skiff_status status = batch_collect(&b, s, err);
    if (status == SKIFF_OK)
        status = model_writer_open(&w, dir, err);
    if (status == SKIFF_OK)
        status = writer_end(&w, writer_add_vars(&w, &b, filename, err), err);
    batch_deinit(&b);
    return status;
}

enum skiff_status io_load_vars(struct scope *s, const struct program *p, const struct io_vars *vars,
                               const char *dir, const char *filename, struct skiff_error *err)
{
    struct batch b;
    batch_init(&b, vars);
    char *path = filename ? join(dir, "/", filename) : mem_must_strdup(dir);
    enum skiff_status status = filename ? model_read_combined(path, b.n, b.names, b.loaded, err)
                                        : model_read_separate(path, b.n, b.names, b.loaded, err);
    if (status == SKIFF_OK)
        status = batch_give(&b, vars, p, s, path, filename != NULL, err);
    free(path);
    batch_deinit(&b);
    return status;
}

enum skiff_status io_save_group(const struct scope *s, const struct program *p, enum io_group group,
                                const char *dir, const char *filename, struct skiff_error *err)
{
    struct io_vars vars;
    io_vars_list(p, group, &vars);
    enum skiff_status status = io_save_vars(s, &vars, dir, filename, err);
    io_vars_deinit(&vars);
    return status;
}

enum skiff_status io_load_group(struct scope *s, const struct program *p, enum io_group group,
                                const char *dir, const char *filename, struct skiff_error *err)
{
    struct io_vars vars;
    io_vars_list(p, group, &vars);
    enum skiff_status status = io_load_vars(s, p, &vars, dir, filename, err);
    io_vars_deinit(&vars);
    return status;
}

/* ------------------------------------------------------------------ fluid.save, fluid.load */

static enum skiff_status writer_add_pickle(struct model_writer *w, const char *file,
                                           const struct scope *s, const struct program *p,
                                           enum io_group group, struct skiff_error *err)
{
    struct io_vars vars;
    struct batch b;
    struct state state;
    char *path = NULL;
    io_vars_list(p, group, &vars);
    batch_init(&b, &vars);
    state_init(&state);
    enum skiff_status status;
    TRY_OUT(batch_collect(&b, s, err));
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
    batch_deinit(&b);
    io_vars_deinit(&vars);
    return status;
}

static enum skiff_status writer_add_program(struct model_writer *w, const char *file,
                                            const struct program *p, struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    program_encode(p, &bytes);
    enum skiff_status status = model_writer_bytes(w, file, bytes.data, bytes.len, err);
    buf_deinit(&bytes);
    return status;
}

/* Version fields as Paddle sets them before it writes a program. */
static void program_stamp(struct program *p)
{
    p->version = p->generation == GEN_2X ? VERSION_2X : VERSION_1X;
    p->has_version = true;
    compat_map_set(p);
}

static enum skiff_status save_parts(struct model_writer *w, const struct scope *s,
                                    const struct program *p, const char *base,
                                    struct skiff_error *err)
{
    char *params = join(base, ".", "pdparams"), *opt = join(base, ".", "pdopt"),
         *model = join(base, ".", "pdmodel");
    struct program *copy = program_clone(p);
    program_stamp(copy);
    enum skiff_status status = writer_add_pickle(w, params, s, p, IO_PARAMS, err);
    if (status == SKIFF_OK)
        status = writer_add_pickle(w, opt, s, p, IO_STATE, err);
    if (status == SKIFF_OK)
        status = writer_add_program(w, model, copy, err);
    program_destroy(copy);
    free(params);
    free(opt);
    free(model);
    return status;
}

static enum skiff_status prefix_check(const char *prefix, struct skiff_error *err)
{
    if (!*base_name(prefix))
        return error_set(err, SKIFF_INVALID,
                         "'%s' is no prefix of files: expected folder/name, found no name", prefix);
    return SKIFF_OK;
}

enum skiff_status io_save(const struct scope *s, const struct program *p, const char *prefix,
                          struct skiff_error *err)
{
    TRY(prefix_check(prefix, err));
    struct model_writer w;
    char *dir = dir_name(prefix);
    enum skiff_status status = model_writer_open(&w, dir, err);
    free(dir);
    if (status < 0)
        return status;
    return writer_end(&w, save_parts(&w, s, p, base_name(prefix), err), err);
}

/* Entries by the parameters' own names, where the keys are structured names. */
static void own_names(const struct state *s, struct str_map *out)
{
    for (int i = 0; i < s->count; i++)
        if (s->entries[i]->param_name)
            str_map_put(out, s->entries[i]->param_name, s->entries[i]);
    for (int i = 0; i < s->nstructured; i++) {
        struct state_entry *e = state_find(s, s->structured[i].key);
        if (e)
            str_map_put(out, s->structured[i].value, e);
    }
}

static enum skiff_status batch_take(struct batch *b, struct state *state, const char *path,
                                    struct skiff_error *err)
{
    struct str_map own;
    str_map_init(&own);
    own_names(state, &own);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < b->n && status == SKIFF_OK; i++) {
        struct state_entry *e = state_find(state, b->names[i]);
        if (!e)
            e = str_map_get(&own, b->names[i]);
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
    str_map_deinit(&own);
    return status;
}

/* Reads the pickle and checks; the caller hands out when all files are right. */
static enum skiff_status pickle_load(const char *path, const struct io_vars *vars, struct batch *b,
                                     struct skiff_error *err)
{
    struct state state;
    state_init(&state);
    batch_init(b, vars);
    enum skiff_status status = pickle_file_read(path, &state, err);
    if (status == SKIFF_OK)
        status = batch_take(b, &state, path, err);
    state_deinit(&state);
    return status;
}

static enum skiff_status load_pickles(struct scope *s, const struct program *p, const char *params,
                                      const char *opt, struct skiff_error *err)
{
    struct io_vars vars[2];
    struct batch batch[2] = {{0}, {0}};
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
                status = value_check(p, vars[i].v[k], vars[i].is_param[k], &batch[i].loaded[k],
                                     path[i], err);
            if (pass)
                status = batch_give(&batch[i], &vars[i], p, s, path[i], true, err);
        }
    for (int i = 0; i < 2; i++) {
        batch_deinit(&batch[i]);
        io_vars_deinit(&vars[i]);
    }
    return status;
}

/* A folder of one file per variable: loads the variables that have a file. */
static enum skiff_status load_folder(struct scope *s, const struct program *p, const char *dir,
                                     struct skiff_error *err)
{
    struct io_vars vars;
    io_vars_list(p, IO_PERSISTABLES, &vars);
    int kept = 0;
    for (int i = 0; i < vars.n; i++) {
        char *path = join(dir, "/", vars.v[i]->name);
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

/* prefix without the ending that names one of the files */
static char *prefix_strip(const char *prefix)
{
    static const char *const endings[] = {".pdparams", ".pdopt", ".pdmodel", ".pdiparams"};
    char *s = mem_must_strdup(prefix);
    size_t n = strlen(s);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t e = strlen(endings[i]);
        if (n > e && !strcmp(s + n - e, endings[i])) {
            s[n - e] = 0;
            break;
        }
    }
    return s;
}

enum skiff_status io_load(struct scope *s, const struct program *p, const char *prefix,
                          struct skiff_error *err)
{
    char *stem = prefix_strip(prefix);
    char *params = join(stem, ".", "pdparams"), *opt = join(stem, ".", "pdopt");
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

/* ------------------------------------------------------------------ inference models */

/* Persistables of the pruned program, then the program. */
static enum skiff_status inference_parts(struct model_writer *w, const struct scope *s,
                                         const struct program *pruned, const char *model_file,
                                         const char *params_file, struct skiff_error *err)
{
    struct io_vars vars;
    struct batch b;
    io_vars_list(pruned, IO_PERSISTABLES, &vars);
    batch_init(&b, &vars);
    enum skiff_status status = batch_collect(&b, s, err);
    if (status == SKIFF_OK)
        status = writer_add_vars(w, &b, params_file, err);
    if (status == SKIFF_OK)
        status = writer_add_program(w, model_file, pruned, err);
    batch_deinit(&b);
    io_vars_deinit(&vars);
    return status;
}

static enum skiff_status inference_save(const struct scope *s, const struct program *pruned,
                                        const char *dir, const char *model_file,
                                        const char *params_file, struct skiff_error *err)
{
    struct model_writer w;
    TRY(model_writer_open(&w, dir, err));
    return writer_end(&w, inference_parts(&w, s, pruned, model_file, params_file, err), err);
}

static enum skiff_status inference_program(const struct program *p, const struct io_inference *what,
                                           struct program **out, struct skiff_error *err)
{
    TRY(prune_for_inference(p, what->feeds, what->nfeeds, what->targets, what->ntargets, out, err));
    program_stamp(*out);
    return SKIFF_OK;
}

enum skiff_status io_save_inference_dir(const struct scope *s, const struct program *p,
                                        const struct io_inference *what, const char *dir,
                                        const char *model_filename, const char *params_filename,
                                        struct skiff_error *err)
{
    struct program *pruned;
    TRY(inference_program(p, what, &pruned, err));
    enum skiff_status status =
        inference_save(s, pruned, dir, model_filename ? base_name(model_filename) : MODEL_FILE,
                       params_filename ? base_name(params_filename) : NULL, err);
    program_destroy(pruned);
    return status;
}

/* 2.x drops what only training or a debugger needs. */
static void training_info_remove(struct program *p)
{
    for (int b = 0; b < p->nblocks; b++) {
        struct block *block = p->blocks[b];
        for (size_t i = 0; i < block->vars.count; i++) {
            struct var *v = block->vars.entries[i].value;
            v->is_parameter = ABSENT;
            v->has_stop_gradient = ABSENT;
        }
        for (int i = 0; i < block->nops; i++)
            op_remove_attr(block->ops[i], "op_callstack");
    }
}

enum skiff_status io_save_inference_prefix(const struct scope *s, const struct program *p,
                                           const struct io_inference *what, const char *prefix,
                                           struct skiff_error *err)
{
    TRY(prefix_check(prefix, err));
    struct program *pruned;
    TRY(inference_program(p, what, &pruned, err));
    training_info_remove(pruned);
    char *dir = dir_name(prefix), *model = join(base_name(prefix), ".", "pdmodel"),
         *params = join(base_name(prefix), ".", "pdiparams");
    enum skiff_status status = inference_save(s, pruned, dir, model, params, err);
    free(dir);
    free(model);
    free(params);
    program_destroy(pruned);
    return status;
}

enum skiff_status io_program_read(const char *path, struct program **out, struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    TRY(file_read(path, &bytes, err));
    enum skiff_status status = program_decode(bytes.data, bytes.len, path, out, err);
    buf_deinit(&bytes);
    return status;
}

void io_model_deinit(struct io_model *m)
{
    program_destroy(m->program);
    *m = (struct io_model){0};
}

/* names[col] for every op of the type; columns must be 0..n-1, each once. */
static enum skiff_status targets_of(struct program *p, const char *type, bool out_side,
                                    const char ***out_names, int *out_n, struct skiff_error *err)
{
    const struct block *root = program_root(p);
    int n = 0;
    for (int i = 0; i < root->nops; i++)
        n += !strcmp(root->ops[i]->type, type);
    const char **names = arena_alloc(&p->arena, (size_t)(n + 1) * sizeof *names);
    for (int i = 0; i < root->nops; i++) {
        const struct op *op = root->ops[i];
        if (strcmp(op->type, type))
            continue;
        const struct op_attr_value *col = op_attr(op, "col");
        const char *name = out_side ? op_out1(op, "Out") : op_in1(op, "X");
        int at = col && col->type == ATTR_INT ? col->value.i : -1;
        if (!name || at < 0 || at >= n || names[at])
            return error_set(
                err, SKIFF_FORMAT,
                "op %d (%s): its column is %d, expected each of 0 to %d once, with one "
                "variable",
                i, type, at, n - 1);
        names[at] = name;
    }
    *out_names = names;
    *out_n = n;
    return SKIFF_OK;
}

enum skiff_status io_model_targets(struct io_model *m, struct skiff_error *err)
{
    TRY(targets_of(m->program, "feed", true, &m->feeds, &m->nfeeds, err));
    return targets_of(m->program, "fetch", false, &m->fetches, &m->nfetches, err);
}

/* Where the two parts of a model are. */
struct model_place {
    char *model;  /* path of the program */
    char *dir;    /* of the parameters */
    char *params; /* file in dir, or NULL: one file each */
};

static void place_deinit(struct model_place *m)
{
    free(m->model);
    free(m->dir);
    free(m->params);
}

static char *file_in(const char *dir, const char *name, const char *ending)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/%s%s", dir, base_name(name), ending);
    return b.data;
}

static void place_find(const char *path, const char *model_filename, const char *params_filename,
                       struct model_place *out)
{
    if (model_filename || params_filename || file_is_dir(path)) {
        out->dir = mem_must_strdup(path);
        out->model = file_in(path, model_filename ? model_filename : MODEL_FILE, "");
        out->params = params_filename ? mem_must_strdup(base_name(params_filename)) : NULL;
        /* 2.x takes the names without their endings too */
        char *longer = model_filename ? file_in(path, model_filename, ".pdmodel") : NULL;
        if (longer && !file_exists(out->model) && file_exists(longer)) {
            free(out->model);
            out->model = longer;
            longer = NULL;
        }
        free(longer);
        longer = params_filename ? file_in(path, params_filename, ".pdiparams") : NULL;
        if (longer && file_exists(longer)) {
            free(out->params);
            out->params = mem_must_strdup(base_name(longer));
        }
        free(longer);
        return;
    }
    char *stem = prefix_strip(path);
    out->dir = dir_name(stem);
    out->model = join(stem, ".", "pdmodel");
    out->params = join(base_name(stem), ".", "pdiparams");
    free(stem);
}

enum skiff_status io_load_inference(struct scope *s, const char *path, const char *model_filename,
                                    const char *params_filename, struct io_model *out,
                                    struct skiff_error *err)
{
    struct model_place place = {0};
    struct io_model m = {0};
    place_find(path, model_filename, params_filename, &place);
    enum skiff_status status;
    TRY_OUT(io_program_read(place.model, &m.program, err));
    status = io_model_targets(&m, err);
    if (status < 0) {
        error_prefix(err, status, "%s", place.model);
        goto out;
    }
    struct io_vars vars;
    io_vars_list(m.program, IO_PERSISTABLES, &vars);
    if (s && vars.n)
        status = io_load_vars(s, m.program, &vars, place.dir, place.params, err);
    io_vars_deinit(&vars);
    if (status < 0)
        goto out;
    *out = m;
    m = (struct io_model){0};
out:
    io_model_deinit(&m);
    place_deinit(&place);
    return status;
}
