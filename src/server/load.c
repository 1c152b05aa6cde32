/* init_server(model): this server's parts of a saved model (saved.h), whatever number of servers
 * has written it, if any. Only our parts are read. Rows of keyed tables come from
 * <folder>/__lookup_table__/<table>.pserver_<i>, the same in the folder itself, or the variable.
 * Tables of features come from the shard files of a save of fleet 2.x, <folder>/<number>/part-*; a
 * folder that has these and no variables leaves dense parameters as they are, as in Paddle.
 * Parameters must be there; accumulators and counters that are not keep what the startup program
 * gave them. Everything is checked before it is put into its place, variable by variable. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/features.h"
#include "server/saved.h"
#include "server/server_parts.h"
#include "server/waiting_files.h"
#include "store/file.h"
#include "store/model_dir.h"

#define PATH_ROOM 4608
#define ROWS_BYTES ((int64_t)4 << 20) /* of a table, read at once */

struct loading {
    struct server *s;
    struct saved model;
    bool shards; /* tables of features come from shard files */
    int fresh;   /* accumulators that were not there */
};

/* ---- one variable ---- */

struct part {
    const char *name, *origin; /* in the scope; in the model */
    struct shape shape, whole;
    int64_t offset; /* elements before it */
    bool required;
};

static enum skiff_status check_whole(const struct part *p, const struct saved_var *found,
                                     const struct skiff_tensor *v, struct skiff_error *err)
{
    char a[160], b[160];
    bool one = shape_numel(&p->whole) == 1 && shape_numel(&found->place.shape) == 1;
    if (!one && !shape_equal(&found->place.shape, &p->whole))
        return error_set(err, SKIFF_SHAPE, "%s: variable %s is %s in the file, %s in the program",
                         found->file, p->origin, shape_text(&found->place.shape, a),
                         shape_text(&p->whole, b));
    if (v->kind == VALUE_TENSOR && v->tensor.dtype != found->place.dtype)
        return error_set(err, SKIFF_DTYPE, "%s: variable %s is %s in the file, %s in the program",
                         found->file, p->origin, dtype_name(found->place.dtype),
                         dtype_name(v->tensor.dtype));
    return SKIFF_OK;
}

static enum skiff_status load_part(struct loading *l, const struct part *p, struct skiff_error *err)
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
    value_settle(v);
    TRY(value_as_tensor(v, found.place.dtype, &p->shape, err));
    return saved_read(&found, p->offset, tensor_numel(&v->tensor), v->tensor.data, err);
}

/* ---- what there is to load ---- */

static enum skiff_status load_placed(struct loading *l, struct str_map *done,
                                     struct skiff_error *err)
{
    const struct server *s = l->s;
    for (int i = 0; i < s->plan->nplacement; i++) {
        const struct skiff_placement *p = &s->plan->placement[i];
        if (p->server != s->index)
            continue;
        struct part part = {.name = p->slice,
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

/* Step counters. (Learning rates are the program's, as in Paddle.) */
static enum skiff_status load_rest(struct loading *l, const struct str_map *done,
                                   struct skiff_error *err)
{
    const struct server *s = l->s;
    const struct str_map *vars = &program_root(s->options.main)->vars;
    for (size_t i = 0; i < vars->count; i++) {
        const struct skiff_var *v = vars->entries[i].value;
        const struct skiff_tensor *now = scope_find(s->scope, v->name);
        const struct unit *u = str_map_get(&s->by_var, v->name);
        if (!var_persistable(v) || str_map_has(done, v->name) || u || !now ||
            now->kind != VALUE_TENSOR || now->tensor.dtype != DTYPE_INT64)
            continue;
        struct part part = {.name = v->name,
                            .origin = v->name,
                            .shape = now->tensor.shape,
                            .whole = now->tensor.shape};
        TRY(load_part(l, &part, err));
    }
    return SKIFF_OK;
}

/* ---- keyed tables ---- */

static int64_t row_width(const struct unit *u)
{
    return u->features ? features_record_width(u) : u->width;
}

/* The rows of ours among `from`; a dense tensor's ids are its row numbers, from `first`. */
static enum skiff_status take_rows(struct server *s, struct unit *u, struct row_var *r,
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
        if (unit_owns(s, u, id))
            TRY(u->features ? features_put(u, id, row, err) : keyed_put(u, r, id, row, err));
    }
    return SKIFF_OK;
}

static enum skiff_status take_file(struct loading *l, struct unit *u, struct row_var *r,
                                   const char *path, struct skiff_error *err)
{
    struct skiff_tensor v = {0};
    enum skiff_status status =
        u->features ? rows_file_read(path, &v, err) : value_file_read(path, &v, err);
    if (status == SKIFF_OK)
        status = take_rows(l->s, u, r, &v, 0, path, err);
    value_deinit(&v);
    return status;
}

/* Every server's file of the table; *found counts them. */
static enum skiff_status take_folder(struct loading *l, struct unit *u, struct row_var *r,
                                     const char *folder, int *found, struct skiff_error *err)
{
    char start[PS_NAME + 16], path[PATH_ROOM];
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

/* A whole table that lies in a file of all, or in memory. */
static enum skiff_status take_dense(struct loading *l, struct unit *u, struct row_var *r,
                                    const struct saved_var *found, struct skiff_error *err)
{
    struct shape shape = found->place.shape;
    int64_t rows = shape.ndim ? shape.dims[0] : 0;
    int64_t width = shape.ndim ? shape_cols(&shape, 1) : 0;
    int64_t step = width > 0 ? ROWS_BYTES / (width * (int64_t)sizeof(float)) + 1 : 1;
    struct skiff_tensor part = {0};
    enum skiff_status status = SKIFF_OK;
    for (int64_t at = 0; at < rows && status == SKIFF_OK; at += step) {
        shape.dims[0] = rows - at < step ? rows - at : step;
        status = value_as_tensor(&part, found->place.dtype, &shape, err);
        if (status == SKIFF_OK)
            status = saved_read(found, at * width, shape.dims[0] * width, part.tensor.data, err);
        if (status == SKIFF_OK)
            status = take_rows(l->s, u, r, &part, at, found->file, err);
    }
    value_deinit(&part);
    return status;
}

static enum skiff_status take_variable(struct loading *l, struct unit *u, struct row_var *r,
                                       int *found, struct skiff_error *err)
{
    struct saved_var var;
    char path[PATH_ROOM];
    if (l->model.form == SAVED_FILES) { /* a tensor, or rows with their ids */
        snprintf(path, sizeof path, "%s/%s", l->model.path, r->name);
        *found = file_exists(path) && !file_is_dir(path);
        return *found ? take_file(l, u, r, path, err) : SKIFF_OK;
    }
    TRY(saved_find(&l->model, r->name, &var, err));
    *found = var.there;
    return var.there ? take_dense(l, u, r, &var, err) : SKIFF_OK;
}

static enum skiff_status load_rows(struct loading *l, struct unit *u, struct row_var *r,
                                   struct skiff_error *err)
{
    char path[PATH_ROOM];
    int found = 0;
    snprintf(path, sizeof path, "%s/__lookup_table__", l->model.folder);
    TRY(take_folder(l, u, r, path, &found, err));
    if (!found)
        TRY(take_folder(l, u, r, l->model.folder, &found, err));
    if (!found && !u->features)
        TRY(take_variable(l, u, r, &found, err));
    if (!found && !strcmp(r->name, u->param))
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: there are no rows of table %s, neither under that name nor as "
                         "__lookup_table__/%s.pserver_*",
                         l->model.path, r->name, r->name);
    l->fresh += !found;
    return SKIFF_OK;
}

/* Ids that waited for admission to it; saves of others have none. */
static enum skiff_status load_waiting(struct loading *l, struct unit *u, struct skiff_error *err)
{
    struct waiting_list list = {0};
    enum skiff_status status = waiting_files_read(l->s, u, l->model.folder, &list, err);
    if (status == SKIFF_OK)
        status = waiting_list_put(u, &list, 0, list.n, err);
    waiting_list_deinit(&list);
    return status;
}

static enum skiff_status load_tables(struct loading *l, struct skiff_error *err)
{
    struct server *s = l->s;
    for (int i = 0; i < s->nunits; i++) {
        struct unit *u = &s->units[i];
        struct row_var records = {.name = u->param};
        for (int k = 0; k < u->nvars; k++)
            TRY(load_rows(l, u, &u->vars[k], err));
        if (u->features && !l->shards) {
            TRY(load_rows(l, u, &records, err));
            TRY(load_waiting(l, u, err));
        }
    }
    return SKIFF_OK;
}

/* ---- tables of features ---- */

/* Tables of features are numbered in the order of the plan. */
static int features_number(const struct server *s, const struct unit *u)
{
    int number = 0;
    for (int i = 0; i < s->plan->ntables && strcmp(s->plan->tables[i], u->param); i++)
        number += s->plan->features[i] != NULL;
    return number;
}

/* <model>/000; NULL: it is no folder. */
static char *features_dir(const struct server *s, const struct unit *u, const char *model)
{
    struct buf dir = BUF_INIT;
    buf_printf(&dir, "%s/%03d", model, features_number(s, u));
    if (!file_is_dir(dir.data))
        buf_deinit(&dir);
    return dir.data;
}

static enum skiff_status load_shards(struct server *s, struct unit *u, const char *dir,
                                     struct skiff_error *err)
{
    struct ps_table_state state = {0};
    struct ps_table *x = mem_must(sizeof *x);
    snprintf(x->dir, sizeof x->dir, "%s", dir);
    x->call = PS_TABLE_LOAD;
    enum skiff_status status = features_load(s, u, x, &state, err);
    if (status == SKIFF_OK && state.elsewhere) {
        x->all = true;
        status = features_load(s, u, x, &state, err);
    }
    if (status == SKIFF_OK)
        status = features_take(s, u, err);
    if (status == SKIFF_OK)
        server_say(s, "table %s: %llu rows of %s", u->param, (unsigned long long)state.done, dir);
    free(x);
    return status;
}

/* A save of one table is a model, too, but nobody shall take it for one of all. */
static void say_missing(struct server *s, const char *model)
{
    for (int i = 0; i < s->nunits; i++) {
        const struct unit *u = &s->units[i];
        char *dir = u->features ? features_dir(s, u, model) : NULL;
        if (u->features && !dir)
            server_warn(s, "%s has folders of tables, but no %03d: table %s begins empty", model,
                        features_number(s, u), u->param);
        free(dir);
    }
}

/* *out: there were shard files. */
static enum skiff_status load_features(struct server *s, const char *model, bool *out,
                                       struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    *out = false;
    for (int i = 0; i < s->nunits && status == SKIFF_OK; i++) {
        char *dir = s->units[i].features ? features_dir(s, &s->units[i], model) : NULL;
        if (dir)
            status = load_shards(s, &s->units[i], dir, err);
        *out |= dir != NULL;
        free(dir);
    }
    if (*out && status == SKIFF_OK)
        say_missing(s, model);
    return status;
}

/* ---- all ---- */

/* Parameters of the whole job: a folder with a file for one of them has a file for each. */
static const char **wanted_names(const struct server *s, int *out_n)
{
    const struct job_plan *plan = s->plan;
    const char **names = mem_must((size_t)(plan->nplacement + s->nunits + 1) * sizeof *names);
    int n = 0;
    for (int i = 0; i < plan->nplacement; i++)
        if (!plan->placement[i].state)
            names[n++] = plan->placement[i].origin;
    for (int i = 0; i < s->nunits; i++)
        names[n++] = s->units[i].param;
    *out_n = n;
    return names;
}

/* Messages name files of the copy, if there is one: of what it was. */
static void copy_failed(struct model_copy *copy, const char *path, struct skiff_error *err)
{
    if (copy->temp)
        error_prefix(err, SKIFF_IO, "a copy of %s", path);
    model_copy_close(copy);
}

/* Has the folder a file of one of the job's parameters, or of all? */
static bool has_variables(const struct server *s, const char *path)
{
    DIR *d = opendir(path);
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        found = str_map_has(&s->by_var, e->d_name) || !strcmp(e->d_name, "__params__") ||
                (n > 9 && !strcmp(e->d_name + n - 9, ".pdparams"));
    }
    if (d)
        closedir(d);
    return found;
}

static enum skiff_status load_model(struct loading *l, const char *path, struct skiff_error *err)
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
    struct loading l = {.s = s};
    struct model_copy copy;
    if (!s->initialised)
        TRY(server_init(s, err));
    TRY(model_copy_open(&copy, path, err));
    enum skiff_status status = load_model(&l, copy.path, err);
    if (status == SKIFF_OK && l.fresh)
        server_say(s, "%s: %d variables of the optimizer were not there and start fresh", path,
                   l.fresh);
    if (status < 0)
        copy_failed(&copy, path, err);
    else
        model_copy_close(&copy);
    return status;
}
