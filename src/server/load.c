/* init_server(model): loads this server's parts of a saved model (saved.h), whatever number of
 * servers wrote it, if any. Only these parts are read. Rows of hash-backed embeddings come from
 * <folder>/__lookup_table__/<table>.pserver_<i>, the same in the folder itself, or the variable.
 * Sparse tables come from the shard files of a save of fleet 2.x, <folder>/<number>/part-*; a
 * folder that has these and no variables leaves dense parameters unchanged, as in Paddle.
 * Parameters must be present. Accumulators and counters that are missing keep the values of the
 * startup program. Everything is checked before it is applied, variable by variable. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "save/contents.h"
#include "server/hashed.h"
#include "server/saved.h"
#include "server/server_parts.h"
#include "server/slice.h"
#include "sparse/waiting_files.h"
#include "store/file.h"
#include "store/model_dir.h"

#define PATH_CAPACITY 4608
#define ROWS_BYTES ((int64_t)4 << 20) /* of a table, read at once */

struct model_load {
    struct server *s;
    struct saved_model model;
    bool shards; /* sparse tables come from shard files */
    int fresh;   /* accumulators that were missing */
};

/* ---- one variable ---- */

struct model_part {
    const char *name, *origin; /* in the scope; in the model */
    struct shape shape, whole;
    int64_t offset; /* elements before it */
    bool required;
};

static enum skiff_status check_whole(const struct model_part *p, const struct saved_var *found,
                                     const struct skiff_tensor *v, struct skiff_error *err)
{
    char a[160], b[160];
    bool one = shape_numel(&p->whole) == 1 && shape_numel(&found->location.shape) == 1;
    if (!one && !shape_equal(&found->location.shape, &p->whole))
        return error_set(err, SKIFF_SHAPE, "%s: variable %s is %s in the file, %s in the program",
                         found->file, p->origin, shape_text(&found->location.shape, a),
                         shape_text(&p->whole, b));
    if (v->kind == VALUE_TENSOR && v->tensor.dtype != found->location.dtype)
        return error_set(err, SKIFF_DTYPE, "%s: variable %s is %s in the file, %s in the program",
                         found->file, p->origin, dtype_name(found->location.dtype),
                         dtype_name(v->tensor.dtype));
    return SKIFF_OK;
}

static enum skiff_status load_part(struct model_load *l, const struct model_part *p,
                                   struct skiff_error *err)
{
    struct skiff_tensor *v = scope_var(l->s->scope, p->name);
    struct saved_var found;
    TRY(saved_find(&l->model, p->origin, &found, err));
    if (!found.there && p->required)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: there is no parameter %s (for slice %s of server %d)", found.file,
                         p->origin, p->name, l->s->index);
    if (!found.there) {
        l->fresh++;
        return SKIFF_OK;
    }
    TRY(check_whole(p, &found, v, err));
    value_flush(v);
    TRY(value_as_tensor(v, found.location.dtype, &p->shape, err));
    return saved_read(&found, p->offset, tensor_numel(&v->tensor), v->tensor.data, err);
}

/* ---- variables ---- */

static enum skiff_status load_placed(struct model_load *l, struct str_map *done,
                                     struct skiff_error *err)
{
    const struct server *s = l->s;
    for (int i = 0; i < s->plan->nplacement; i++) {
        const struct skiff_placement *p = &s->plan->placement[i];
        if (p->server != s->index)
            continue;
        struct model_part part = {.name = p->slice,
                                  .origin = p->origin,
                                  .shape = placement_shape(p),
                                  .whole = job_plan_whole(s->plan, p),
                                  .offset = p->offset,
                                  .required = !p->state};
        TRY(load_part(l, &part, err));
        str_map_put(done, p->slice, (void *)p);
    }
    return SKIFF_OK;
}

/* Step counters. (Learning rates come from the program, as in Paddle.) */
static enum skiff_status load_rest(struct model_load *l, const struct str_map *done,
                                   struct skiff_error *err)
{
    const struct server *s = l->s;
    const struct str_map *vars = &program_root(s->options.main)->vars;
    for (size_t i = 0; i < vars->count; i++) {
        const struct skiff_var *v = vars->entries[i].value;
        const struct skiff_tensor *now = scope_find(s->scope, v->name);
        const struct param_slice *u = str_map_get(&s->by_var, v->name);
        if (!var_persistable(v) || str_map_has(done, v->name) || u || !now ||
            now->kind != VALUE_TENSOR || now->tensor.dtype != DTYPE_INT64)
            continue;
        struct model_part part = {.name = v->name,
                                  .origin = v->name,
                                  .shape = now->tensor.shape,
                                  .whole = now->tensor.shape};
        TRY(load_part(l, &part, err));
    }
    return SKIFF_OK;
}

/* ---- hash-backed embeddings ---- */

static int64_t row_width(const struct param_slice *u)
{
    return u->sparse_table ? sparse_record_width(u->sparse_table) : u->width;
}

/* Loads the rows among `from` that this server owns. The ids of a dense tensor are its row numbers,
 * from `first` on. */
static enum skiff_status take_rows(struct server *s, struct param_slice *u, struct row_var *r,
                                   const struct skiff_tensor *from, int64_t first,
                                   const char *where, struct skiff_error *err)
{
    size_t width = (size_t)row_width(u);
    bool keyed = from->kind == VALUE_ROWS;
    int64_t n = keyed ? (int64_t)from->sel.nrows : from->tensor.shape.dims[0];
    if (from->tensor.dtype != DTYPE_FP32 || from->tensor.shape.ndim < 1 ||
        (n && shape_cols(&from->tensor.shape, 1) != row_width(u)))
        return error_set(err, SKIFF_SHAPE, "%s: rows of %s have %lld float32 numbers", where,
                         r->name, (long long)width);
    for (int64_t i = 0; i < n; i++) {
        int64_t id = keyed ? from->sel.rows[i] : first + i;
        const float *row = tensor_f32(&from->tensor) + (size_t)i * width;
        if (slice_owns(s, u, id))
            TRY(u->sparse_table ? sparse_put(u->sparse_table, id, row, err)
                                : hashed_put(u, r, id, row, err));
    }
    return SKIFF_OK;
}

static enum skiff_status take_file(struct model_load *l, struct param_slice *u, struct row_var *r,
                                   const char *path, struct skiff_error *err)
{
    struct skiff_tensor v = {0};
    enum skiff_status status =
        u->sparse_table ? rows_file_read(path, &v, err) : value_file_read(path, &v, err);
    if (status == SKIFF_OK)
        status = take_rows(l->s, u, r, &v, 0, path, err);
    value_deinit(&v);
    return status;
}

/* Reads the table's file of every saving server; *found counts them. */
static enum skiff_status take_folder(struct model_load *l, struct param_slice *u, struct row_var *r,
                                     const char *folder, int *found, struct skiff_error *err)
{
    char start[PS_NAME + 16], path[PATH_CAPACITY];
    enum skiff_status status = SKIFF_OK;
    DIR *d = opendir(folder);
    snprintf(start, sizeof start, "%s.pserver_", r->name);
    for (struct dirent *e; d && status == SKIFF_OK && (e = readdir(d));) {
        if (strncmp(e->d_name, start, strlen(start)))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        status = take_file(l, u, r, path, err);
        ++*found;
    }
    if (d)
        closedir(d);
    return status;
}

/* A complete table in a file of all variables, or in memory. */
static enum skiff_status take_dense(struct model_load *l, struct param_slice *u, struct row_var *r,
                                    const struct saved_var *found, struct skiff_error *err)
{
    struct shape shape = found->location.shape;
    int64_t rows = shape.ndim ? shape.dims[0] : 0;
    int64_t width = shape.ndim ? shape_cols(&shape, 1) : 0;
    int64_t step = width > 0 ? ROWS_BYTES / (width * (int64_t)sizeof(float)) + 1 : 1;
    struct skiff_tensor part = {0};
    enum skiff_status status = SKIFF_OK;
    for (int64_t at = 0; at < rows && status == SKIFF_OK; at += step) {
        shape.dims[0] = rows - at < step ? rows - at : step;
        status = value_as_tensor(&part, found->location.dtype, &shape, err);
        if (status == SKIFF_OK)
            status = saved_read(found, at * width, shape.dims[0] * width, part.tensor.data, err);
        if (status == SKIFF_OK)
            status = take_rows(l->s, u, r, &part, at, found->file, err);
    }
    value_deinit(&part);
    return status;
}

static enum skiff_status take_variable(struct model_load *l, struct param_slice *u,
                                       struct row_var *r, int *found, struct skiff_error *err)
{
    struct saved_var var;
    char path[PATH_CAPACITY];
    if (l->model.form == SAVED_FILES) { /* a tensor, or rows with their ids */
        snprintf(path, sizeof path, "%s/%s", l->model.path, r->name);
        *found = file_exists(path) && !file_is_dir(path);
        return *found ? take_file(l, u, r, path, err) : SKIFF_OK;
    }
    TRY(saved_find(&l->model, r->name, &var, err));
    *found = var.there;
    return var.there ? take_dense(l, u, r, &var, err) : SKIFF_OK;
}

static enum skiff_status load_rows(struct model_load *l, struct param_slice *u, struct row_var *r,
                                   struct skiff_error *err)
{
    char path[PATH_CAPACITY];
    int found = 0;
    snprintf(path, sizeof path, "%s/__lookup_table__", l->model.folder);
    TRY(take_folder(l, u, r, path, &found, err));
    if (!found)
        TRY(take_folder(l, u, r, l->model.folder, &found, err));
    if (!found && !u->sparse_table)
        TRY(take_variable(l, u, r, &found, err));
    if (!found && !strcmp(r->name, u->param))
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: there are no rows of table %s, neither under that name nor as "
                         "__lookup_table__/%s.pserver_*",
                         l->model.path, r->name, r->name);
    l->fresh += !found;
    return SKIFF_OK;
}

/* Ids that waited for admission to it; saves of other programs have none. */
static enum skiff_status load_waiting(struct model_load *l, struct param_slice *u,
                                      struct skiff_error *err)
{
    struct waiting_list list = {0};
    enum skiff_status status = waiting_files_read(u->sparse_table, l->model.folder, &list, err);
    if (status == SKIFF_OK)
        status = waiting_list_put(u->sparse_table, &list, 0, list.n, err);
    waiting_list_deinit(&list);
    return status;
}

static enum skiff_status load_tables(struct model_load *l, struct skiff_error *err)
{
    struct server *s = l->s;
    for (int i = 0; i < s->nslices; i++) {
        struct param_slice *u = &s->slices[i];
        struct row_var row_list = {.name = u->param};
        for (int k = 0; k < u->nvars; k++)
            TRY(load_rows(l, u, &u->vars[k], err));
        if (u->sparse_table && !l->shards) {
            TRY(load_rows(l, u, &row_list, err));
            TRY(load_waiting(l, u, err));
        }
    }
    return SKIFF_OK;
}

/* ---- sparse tables ---- */

/* Sparse tables are numbered in the order of the plan. */
static int sparse_number(const struct server *s, const struct param_slice *u)
{
    int number = 0;
    for (int i = 0; i < s->plan->ntables && strcmp(s->plan->tables[i], u->param); i++)
        number += s->plan->sparse_table[i] != NULL;
    return number;
}

/* <model>/000; NULL: the model is not a folder. */
static char *sparse_dir(const struct server *s, const struct param_slice *u, const char *model)
{
    struct buf dir = BUF_INIT;
    buf_printf(&dir, "%s/%03d", model, sparse_number(s, u));
    if (!file_is_dir(dir.data))
        buf_deinit(&dir);
    return dir.data;
}

static enum skiff_status load_shards(struct server *s, struct param_slice *u, const char *dir,
                                     struct skiff_error *err)
{
    struct sparse_result got = {0};
    struct sparse_command c = {.dir = dir};
    TRY(sparse_load(u->sparse_table, &c, &got, err));
    c.all = got.elsewhere;
    if (c.all)
        TRY(sparse_load(u->sparse_table, &c, &got, err));
    TRY(sparse_take(u->sparse_table, err));
    server_log(s, "table %s: %llu rows of %s", u->param, (unsigned long long)got.rows, dir);
    return SKIFF_OK;
}

/* A save of one table is a valid model, but the user should notice that the other tables are
 * missing. */
static void log_missing(struct server *s, const char *model)
{
    for (int i = 0; i < s->nslices; i++) {
        const struct param_slice *u = &s->slices[i];
        char *dir = u->sparse_table ? sparse_dir(s, u, model) : NULL;
        if (u->sparse_table && !dir)
            server_warn(s, "%s has folders of tables, but no %03d: table %s starts empty", model,
                        sparse_number(s, u), u->param);
        free(dir);
    }
}

/* *out: there were shard files. */
static enum skiff_status load_features(struct server *s, const char *model, bool *out,
                                       struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    *out = false;
    for (int i = 0; i < s->nslices && status == SKIFF_OK; i++) {
        char *dir = s->slices[i].sparse_table ? sparse_dir(s, &s->slices[i], model) : NULL;
        if (dir)
            status = load_shards(s, &s->slices[i], dir, err);
        *out |= dir != NULL;
        free(dir);
    }
    if (*out && status == SKIFF_OK)
        log_missing(s, model);
    return status;
}

/* ---- the whole model ---- */

/* Parameters of the whole job: a folder with a file for one of them has a file for each. */
static const char **wanted_names(const struct server *s, int *out_n)
{
    const struct job_plan *plan = s->plan;
    const char **names =
        mem_alloc_or_die((size_t)(plan->nplacement + s->nslices + 1) * sizeof *names);
    int n = 0;
    for (int i = 0; i < plan->nplacement; i++)
        if (!plan->placement[i].state)
            names[n++] = plan->placement[i].origin;
    for (int i = 0; i < s->nslices; i++)
        names[n++] = s->slices[i].param;
    *out_n = n;
    return names;
}

/* Messages name files of the local copy, if there is one: adds what it is a copy of. */
static void copy_failed(struct model_copy *copy, const char *path, struct skiff_error *err)
{
    if (copy->temp)
        error_prefix(err, SKIFF_IO, "a copy of %s", path);
    model_copy_close(copy);
}

/* Does the folder hold a file of one of the job's parameters, or of all? */
static bool has_variables(const struct server *s, const char *path)
{
    struct save_contents c;
    bool found = save_open(&c, path, NULL) == SKIFF_OK &&
                 (save_part(&c, SAVE_PART_STATE) || save_names(&c, "__params__"));
    for (int i = 0; i < c.nparts && !found; i++)
        found = str_map_has(&s->by_var, c.parts[i].name);
    save_close(&c);
    return found;
}

static enum skiff_status load_model(struct model_load *l, const char *path, struct skiff_error *err)
{
    struct server *s = l->s;
    struct str_map done;
    int n;
    TRY(load_features(s, path, &l->shards, err));
    if (l->shards && !has_variables(s, path))
        return SKIFF_OK;
    const char **wanted = wanted_names(s, &n);
    enum skiff_status status = saved_open(&l->model, path, wanted, n, s->options.whole, err);
    free(wanted);
    TRY(status);
    str_map_init(&done);
    TRY_OUT(load_placed(l, &done, err));
    TRY_OUT(load_rest(l, &done, err));
    TRY_OUT(load_tables(l, err));
out:
    str_map_deinit(&done);
    saved_close(&l->model);
    return status;
}

enum skiff_status server_load(struct server *s, const char *path, struct skiff_error *err)
{
    struct model_load l = {.s = s};
    struct model_copy copy;
    if (!s->initialised)
        TRY(server_init(s, err));
    TRY(model_copy_open(&copy, path, err));
    enum skiff_status status = load_model(&l, copy.path, err);
    if (status == SKIFF_OK && l.fresh)
        server_log(s, "%s: %d variables of the optimizer are missing and keep their initial values",
                   path, l.fresh);
    if (status < 0)
        copy_failed(&copy, path, err);
    else
        model_copy_close(&copy);
    return status;
}
