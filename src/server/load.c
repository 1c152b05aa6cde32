/* init_server(dir): this server's parts of a saved model, whatever number of servers has written
 * it. dir/<variable>                 fluid.save_persistables: a file each; only our part is read
 *   dir.pdparams, dir.pdopt        fluid.save, paddle.static.save
 *   dir/__lookup_table__/<table>.pserver_<i>, or dir/<table>      rows of keyed tables
 * Parameters must be there; accumulators and counters that are not keep what the startup program
 * gave them. Everything is checked before it is put into its place, variable by variable. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "server/server_parts.h"
#include "store/file.h"
#include "store/pickle.h"
#include "store/tensor_file.h"
#include "store/tensor_source.h"

#define PATH_ROOM 4608

struct loading {
    struct server *s;
    const char *dir;
    struct state params, optimizer; /* of .pdparams and .pdopt */
    bool pickled;
    int fresh; /* accumulators that were not there */
};

/* ---- one variable ---- */

struct part {
    const char *name, *origin; /* in the scope; in the model */
    struct shape shape, whole;
    int64_t offset; /* elements before it */
    bool required;
};

static enum skiff_status check_whole(const struct part *p, const char *where, enum dtype dtype,
                                     const struct shape *found, const struct value *v,
                                     struct skiff_error *err)
{
    char a[160], b[160];
    bool one = shape_numel(&p->whole) == 1 && shape_numel(found) == 1;
    if (!one && !shape_equal(found, &p->whole))
        return error_set(err, SKIFF_SHAPE, "%s: variable %s is %s in the file, %s in the program",
                         where, p->origin, shape_text(found, a), shape_text(&p->whole, b));
    if (v->kind == VALUE_TENSOR && v->tensor.dtype != dtype)
        return error_set(err, SKIFF_DTYPE, "%s: variable %s is %s in the file, %s in the program",
                         where, p->origin, dtype_name(dtype), dtype_name(v->tensor.dtype));
    return SKIFF_OK;
}

/* Up to the data of the only tensor of a file. */
static enum skiff_status open_tensor(struct tensor_source *s, struct tensor_head *h,
                                     struct skiff_error *err)
{
    uint64_t levels;
    TRY(tensor_source_version(s, "the version", err));
    TRY(tensor_source_read(s, &levels, 8, "the number of lod levels", err));
    if (levels)
        return error_set(err, SKIFF_FORMAT, "%s: a parameter has no lod", s->what);
    return tensor_source_head(s, h, err);
}

static enum skiff_status read_part(struct tensor_source *src, const struct part *p, struct value *v,
                                   struct skiff_error *err)
{
    struct tensor_head h;
    TRY(open_tensor(src, &h, err));
    TRY(check_whole(p, src->what, h.dtype, &h.shape, v, err));
    value_settle(v);
    TRY(value_as_tensor(v, h.dtype, &p->shape, err));
    src->pos += (uint64_t)p->offset * dtype_size(h.dtype);
    return tensor_source_read(src, v->tensor.data, tensor_bytes(&v->tensor), "a slice", err);
}

static enum skiff_status copy_part(const struct state_entry *e, const struct part *p,
                                   const char *where, struct value *v, struct skiff_error *err)
{
    const struct tensor *t = &e->tensor;
    TRY(check_whole(p, where, t->dtype, &t->shape, v, err));
    value_settle(v);
    TRY(value_as_tensor(v, t->dtype, &p->shape, err));
    memcpy(v->tensor.data, (const char *)t->data + (size_t)p->offset * dtype_size(t->dtype),
           tensor_bytes(&v->tensor));
    return SKIFF_OK;
}

static enum skiff_status missing(struct loading *l, const struct part *p, const char *where,
                                 struct skiff_error *err)
{
    if (p->required)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: there is no parameter %s (for slice %s of server %d)", where,
                         p->origin, p->name, l->s->options.index);
    l->fresh++;
    return SKIFF_OK;
}

static enum skiff_status load_part(struct loading *l, const struct part *p, struct skiff_error *err)
{
    char path[PATH_ROOM];
    struct value *v = scope_var(l->s->scope, p->name);
    if (l->pickled) {
        const struct state_entry *e = state_find(&l->params, p->origin);
        if (!e)
            e = state_find(&l->optimizer, p->origin);
        snprintf(path, sizeof path, "%s.pdparams", l->dir);
        return e && !e->text ? copy_part(e, p, path, v, err) : missing(l, p, path, err);
    }
    snprintf(path, sizeof path, "%s/%s", l->dir, p->origin);
    if (!file_exists(path))
        return missing(l, p, path, err);
    struct tensor_source src;
    TRY(tensor_source_open(&src, path, err));
    enum skiff_status status = read_part(&src, p, v, err);
    close(src.fd);
    return status;
}

/* ---- what there is to load ---- */

/* The slices of an origin put together. */
static struct shape whole_of(const struct server *s, const struct placement *p)
{
    struct shape whole = p->shape;
    if (!p->is_slice)
        return whole;
    whole.dims[0] = 0;
    for (int i = 0; i < s->options.nplacement; i++) {
        const struct placement *q = &s->options.placement[i];
        if (q->kind == p->kind && q->is_slice && !strcmp(q->origin, p->origin))
            whole.dims[0] += q->shape.dims[0];
    }
    return whole;
}

static enum skiff_status load_placed(struct loading *l, struct str_map *done,
                                     struct skiff_error *err)
{
    const struct server *s = l->s;
    for (int i = 0; i < s->options.nplacement; i++) {
        const struct placement *p = &s->options.placement[i];
        if (p->server != s->options.index)
            continue;
        struct part part = {.name = p->slice,
                            .origin = p->origin,
                            .shape = p->shape,
                            .whole = whole_of(s, p),
                            .offset = p->offset,
                            .required = p->kind != PLACED_OPTIMIZER};
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
        const struct var *v = vars->entries[i].value;
        const struct value *now = scope_find(s->scope, v->name);
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

/* The rows of ours among `from`; a dense tensor's ids are its row numbers. */
static enum skiff_status take_rows(struct server *s, struct unit *u, struct row_var *r,
                                   const struct value *from, const char *where,
                                   struct skiff_error *err)
{
    struct shard *h = unit_shard(s, u);
    size_t width = (size_t)u->width;
    bool keyed = from->kind == VALUE_ROWS;
    int64_t n = keyed ? (int64_t)from->sel.nrows : from->tensor.shape.dims[0];
    if (from->tensor.dtype != DTYPE_FP32 || from->tensor.shape.ndim < 1 ||
        (n && shape_cols(&from->tensor.shape, 1) != u->width))
        return error_set(err, SKIFF_SHAPE, "%s: rows of %s have %lld float32 numbers", where,
                         r->name, (long long)u->width);
    for (int64_t i = 0; i < n; i++) {
        int64_t id = keyed ? from->sel.rows[i] : i;
        const int64_t *row;
        if (!server_owns(s, id))
            continue;
        TRY(unit_rows(s, h, u, (const uint8_t *)&id, 1, &row, err));
        memcpy(tensor_f32(&r->value->tensor) + (size_t)*row * width,
               tensor_f32(&from->tensor) + (size_t)i * width, width * sizeof(float));
    }
    return SKIFF_OK;
}

static enum skiff_status take_file(struct loading *l, struct unit *u, struct row_var *r,
                                   const char *path, struct skiff_error *err)
{
    struct value v = {0};
    enum skiff_status status = value_file_read(path, &v, err);
    if (status == SKIFF_OK)
        status = take_rows(l->s, u, r, &v, path, err);
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
        if (strncmp(e->d_name, start, strlen(start)) || strstr(e->d_name, ".tmp."))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        status = take_file(l, u, r, path, err);
        ++*found;
    }
    if (d)
        closedir(d);
    return status;
}

static enum skiff_status load_rows(struct loading *l, struct unit *u, struct row_var *r,
                                   struct skiff_error *err)
{
    char path[PATH_ROOM];
    int found = 0;
    snprintf(path, sizeof path, "%s/__lookup_table__", l->dir);
    TRY(take_folder(l, u, r, path, &found, err));
    if (!found)
        TRY(take_folder(l, u, r, l->dir, &found, err));
    snprintf(path, sizeof path, "%s/%s", l->dir, r->name);
    if (!found && file_exists(path) && !file_is_dir(path)) {
        TRY(take_file(l, u, r, path, err));
        found = 1;
    }
    if (!found && !strcmp(r->name, u->param))
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: there are no rows of table %s, neither as a file of that name nor as "
                         "__lookup_table__/%s.pserver_*",
                         l->dir, r->name, r->name);
    l->fresh += !found;
    return SKIFF_OK;
}

static enum skiff_status load_tables(struct loading *l, struct skiff_error *err)
{
    struct server *s = l->s;
    for (int i = 0; i < s->nunits; i++)
        for (int k = 0; k < s->units[i].nvars; k++)
            TRY(load_rows(l, &s->units[i], &s->units[i].vars[k], err));
    return SKIFF_OK;
}

/* ---- all ---- */

static enum skiff_status open_model(struct loading *l, struct skiff_error *err)
{
    char path[PATH_ROOM];
    if (file_is_dir(l->dir))
        return SKIFF_OK;
    snprintf(path, sizeof path, "%s.pdparams", l->dir);
    if (!file_exists(path))
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: neither a folder of a saved model nor the start of a .pdparams file",
                         l->dir);
    l->pickled = true;
    TRY(pickle_file_read(path, &l->params, err));
    snprintf(path, sizeof path, "%s.pdopt", l->dir);
    return file_exists(path) ? pickle_file_read(path, &l->optimizer, err) : SKIFF_OK;
}

enum skiff_status server_load(struct server *s, const char *dir, struct skiff_error *err)
{
    struct loading l = {.s = s, .dir = dir};
    struct str_map done;
    enum skiff_status status = SKIFF_OK;
    state_init(&l.params);
    state_init(&l.optimizer);
    str_map_init(&done);
    if (!s->initialised)
        TRY_OUT(server_init(s, err));
    TRY_OUT(open_model(&l, err));
    TRY_OUT(load_placed(&l, &done, err));
    TRY_OUT(load_rest(&l, &done, err));
    TRY_OUT(load_tables(&l, err));
    if (l.fresh)
        server_say(s, "%s: %d variables of the optimizer were not there and start fresh", dir,
                   l.fresh);
out:
    str_map_deinit(&done);
    state_deinit(&l.params);
    state_deinit(&l.optimizer);
    return status;
}
