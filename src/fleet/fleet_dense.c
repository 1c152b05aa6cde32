/* All dense parameters of a program as one table of files, as Paddle 2.x writes it: they stand in
 * one vector, in the order of their updates, which is cut over the servers of Paddle (floor(size /
 * servers) + 1 elements each), a file part-<server>.gz each, a line per element: the weight, and
 * behind it its optimizer's states (adam: moments; adam_d2sum: 0, d2sum, g2sum, mom).
 *
 * Here parameters lie in slices on the servers: values of one instant are gathered for a save, and
 * put back slice by slice by a load. The folder is the old one or the new one. A worker that keeps
 * its tables in a server of its own has them in its scope. */
#include "fleet/fleet_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/print_g.h"
#include "data/stream.h"
#include "fs/fs.h"
#include "program/op_kind.h"
#include "rules/optimizer.h"
#include "store/file.h"
#include "store/folder_commit.h"
#include "store/folder_save.h"
#include "store/stale_file.h"

#define COLUMNS 8

enum column_kind { COLUMN_VALUES, COLUMN_SCALAR, COLUMN_ZERO };

struct dense_column {
    enum column_kind kind;
    const char *name; /* of the variable; ZERO: NULL */
    float *v;         /* one for each element of the parameter; SCALAR: all are the same */
};

struct dense_param {
    struct dense_column columns[COLUMNS]; /* the first: the parameter itself */
    int ncolumns, nread;                  /* nread: of a load, so many of them have values */
    int64_t size;
};

struct dense {
    struct skiff_fleet *f;
    struct session *session;
    const struct job_plan *plan;
    struct skiff_scope *scope; /* where they are; NULL: on the servers */
    uint64_t token;            /* of the load that takes over what is put; 0: it counts at once */
    struct dense_param *params;
    int n;
    int64_t size;
};

/* ---- what there is ---- */

static bool is_param(const struct job_plan *p, int i)
{
    const struct skiff_placement *s = &p->placement[i];
    return !s->state && (!i || strcmp(p->placement[i - 1].origin, s->origin) != 0);
}

/* A parameter that the worker's own ops update; NULL: the op updates none. */
static const char *local_param(const struct skiff_fleet *f, int op)
{
    const struct skiff_op *o = program_root(f->origin)->ops[op];
    const char *name = op_in1(o, "Param");
    bool own = name && op_in1(o, "Grad") && !job_plan_has_table(split_plan(f->split), name);
    return own ? name : NULL;
}

bool fleet_dense_any(const struct skiff_fleet *f)
{
    const struct job_plan *p = f->split ? split_plan(f->split) : NULL;
    for (int i = 0; p && fleet_is_host(f) && i < program_root(f->origin)->nops; i++)
        if (local_param(f, i))
            return true;
    return p && p->nplacement > 0;
}

static const struct skiff_op *update_of(const struct skiff_program *p, const char *param)
{
    const struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++) {
        const char *name = op_in1(b->ops[i], "Param");
        if (name && !strcmp(name, param) && op_in1(b->ops[i], "Grad"))
            return b->ops[i];
    }
    return NULL;
}

static void add_column(struct dense_param *p, enum column_kind kind, const char *name)
{
    if (p->ncolumns == COLUMNS || (kind != COLUMN_ZERO && !name))
        return;
    float *v = mem_alloc_or_die((size_t)(p->size + 1) * sizeof(*v));
    p->columns[p->ncolumns++] = (struct dense_column){kind, name, v};
}

/* States of the optimizer that have a number per element, in the op's order. */
static void add_states(const struct skiff_program *program, const struct skiff_op *op,
                       struct dense_param *p)
{
    const struct skiff_block *b = program_root(program);
    for (int i = 0; i < op->nins; i++) {
        const struct op_arg *in = &op->ins[i];
        const struct skiff_var *v = in->n == 1 ? block_own_var(b, in->names[0]) : NULL;
        if (v && strcmp(in->slot, "Param") && strcmp(in->slot, "Grad") &&
            strcmp(in->slot, "LearningRate") && p->size > 1 && shape_numel(&v->shape) == p->size)
            add_column(p, COLUMN_VALUES, v->name);
    }
}

static enum column_kind column_kind(const struct optimizer_kind *kind, const char *in)
{
    for (const struct optimizer_accumulator *a = kind->accumulators; a->name; a++)
        if (!strcmp(a->in, in))
            return a->scalar ? COLUMN_SCALAR : COLUMN_VALUES;
    return COLUMN_ZERO;
}

static void list_columns(const struct skiff_program *program, const char *name,
                         struct dense_param *p)
{
    const struct skiff_op *op = update_of(program, name);
    add_column(p, COLUMN_VALUES, name);
    if (!op)
        return;
    const struct optimizer_kind *kind =
        op->kind ? optimizer_kind_find(op->type, (int)op->kind->generations) : NULL;
    const char *const *columns = kind ? kind->columns : NULL;
    if (!columns || !*columns)
        add_states(program, op, p);
    for (; columns && *columns; columns++)
        add_column(p, column_kind(kind, *columns), op_in1(op, *columns));
}

static void dense_deinit(struct dense *d)
{
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < d->params[i].ncolumns; k++)
            free(d->params[i].columns[k].v);
    free(d->params);
}

static enum skiff_status add_param(struct dense *d, const char *name, struct skiff_error *err)
{
    const struct skiff_program *program = d->f->origin;
    const struct skiff_var *v = block_own_var(program_root(program), name);
    if (!v || v->dtype != DTYPE_FP32)
        return error_set(err, SKIFF_DTYPE,
                         "%s is %s; only float32 parameters stand in the files of dense tables",
                         name, v ? dtype_name(v->dtype) : "not in the program");
    struct dense_param *p = &d->params[d->n++];
    p->size = shape_numel(&v->shape);
    d->size += p->size;
    list_columns(program, name, p);
    return SKIFF_OK;
}

static enum skiff_status dense_init(struct dense *d, struct skiff_fleet *f, struct session *s,
                                    struct skiff_error *err)
{
    const struct job_plan *plan = split_plan(f->split);
    bool host = fleet_is_host(f);
    int n = host ? program_root(f->origin)->nops : plan->nplacement;
    enum skiff_status status = SKIFF_OK;
    *d = (struct dense){.f = f, .session = s, .plan = plan};
    d->scope = host ? comm_scope(f->job) : NULL;
    d->params = mem_alloc_or_die((size_t)(n + 1) * sizeof(*d->params));
    for (int i = 0; i < n && status == SKIFF_OK; i++) {
        const char *placed = !host && is_param(plan, i) ? plan->placement[i].origin : NULL;
        const char *name = host ? local_param(f, i) : placed;
        if (name)
            status = add_param(d, name, err);
    }
    if (status < 0)
        dense_deinit(d);
    return status;
}

/* ---- from and to the servers ---- */

typedef enum skiff_status (*slice_call)(struct dense *d, const struct skiff_placement *slice,
                                        const char *tag, float *at, int64_t n,
                                        struct skiff_error *err);

static enum skiff_status pull_slice(struct dense *d, const struct skiff_placement *slice,
                                    const char *tag, float *at, int64_t n, struct skiff_error *err)
{
    struct skiff_tensor part = {0};
    int64_t rows = placement_rows(slice);
    enum skiff_status status =
        tag ? session_pull_snapshot(d->session, tag, slice->server, slice->slice, 0, rows, &part,
                                    err)
            : session_pull_part(d->session, slice->server, slice->slice, 0, rows, &part, err);
    if (status == SKIFF_OK && (part.tensor.dtype != DTYPE_FP32 || tensor_numel(&part.tensor) != n))
        status = error_set(err, SKIFF_SHAPE,
                           "server %d sent %lld numbers of %s for %s; expected %lld of float32",
                           slice->server, (long long)tensor_numel(&part.tensor),
                           dtype_name(part.tensor.dtype), slice->slice, (long long)n);
    if (status == SKIFF_OK)
        memcpy(at, part.tensor.data, (size_t)n * sizeof(*at));
    value_deinit(&part);
    return status;
}

static enum skiff_status put_slice(struct dense *d, const struct skiff_placement *slice,
                                   const char *tag, float *at, int64_t n, struct skiff_error *err)
{
    return session_put_part(d->session, slice->server, slice->slice, 0, at, (size_t)n, d->token,
                            err);
}

/* The same with a variable of this worker. */
static enum skiff_status in_scope(struct dense *d, const char *name, bool one, int64_t size,
                                  float *v, bool put, struct skiff_error *err)
{
    struct skiff_tensor *x = scope_find(d->scope, name);
    if (!x || x->kind != VALUE_TENSOR || !x->tensor.data || x->tensor.dtype != DTYPE_FP32 ||
        tensor_numel(&x->tensor) != (one ? 1 : size))
        return error_set(err, SKIFF_STATE,
                         "%s has no value of %lld numbers here; was the startup program run?", name,
                         (long long)size);
    float *own = tensor_f32(&x->tensor);
    if (put && d->token) /* when the tables are taken over: fleet_dense_take */
        return SKIFF_OK;
    memcpy(put ? own : v, put ? v : own, (size_t)(one ? 1 : size) * sizeof(*v));
    return SKIFF_OK;
}

/* A variable's slices, or every server's copy of it (d2sum), with their places in `v`. */
static enum skiff_status each_slice(struct dense *d, const char *name, bool copies, int64_t size,
                                    const char *tag, float *v, slice_call call,
                                    struct skiff_error *err)
{
    int64_t done = 0;
    if (d->scope)
        return in_scope(d, name, copies, size, v, call == put_slice, err);
    for (int i = 0; i < d->plan->nplacement; i++) {
        const struct skiff_placement *slice = &d->plan->placement[i];
        struct shape shape = placement_shape(slice);
        int64_t n = shape_numel(&shape);
        if (strcmp(slice->origin, name))
            continue;
        int64_t at = copies ? 0 : slice->offset;
        if (at < 0 || n > size - at)
            return error_set(err, SKIFF_INTERNAL, "slice %s does not fit %s", slice->slice, name);
        TRY(call(d, slice, tag, v + at, n, err));
        done += n;
    }
    if (!done || (!copies && done != size))
        return error_set(err, SKIFF_INTERNAL, "the servers have %lld elements of %s, not %lld",
                         (long long)done, name, (long long)size);
    return SKIFF_OK;
}

static enum skiff_status each_column(struct dense *d, struct dense_param *p, struct dense_column *c,
                                     const char *tag, slice_call call, struct skiff_error *err)
{
    if (c->kind == COLUMN_ZERO)
        return SKIFF_OK;
    bool one = c->kind == COLUMN_SCALAR;
    TRY(each_slice(d, c->name, one, one ? 1 : p->size, tag, c->v, call, err));
    for (int64_t i = 1; one && i < p->size; i++)
        c->v[i] = c->v[0];
    return SKIFF_OK;
}

/* Values of one instant. */
static enum skiff_status gather(struct dense *d, struct skiff_error *err)
{
    char tag[64];
    snprintf(tag, sizeof(tag), "dense %u of worker %d", d->f->saves++, d->f->role.id);
    TRY(session_tag_now(d->session, tag, err));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < d->params[i].ncolumns && status == SKIFF_OK; k++)
            status = each_column(d, &d->params[i], &d->params[i].columns[k], tag, pull_slice, err);
    enum skiff_status end = session_untag(d->session, tag, status < 0 ? NULL : err);
    return status < 0 ? status : end;
}

/* ---- writing ---- */

static void print_element(const struct dense_param *p, int64_t i, struct buf *out)
{
    for (int k = 0; k < p->ncolumns; k++) {
        char number[PRINT_G_MAX];
        buf_add(out, number, print_g(number, (double)p->columns[k].v[i], 6));
        buf_char(out, k + 1 < p->ncolumns ? ' ' : '\n');
    }
}

/* Elements from .. end of the vector. */
static void print_part(const struct dense *d, int64_t from, int64_t end, struct buf *out)
{
    int64_t first = 0;
    for (int i = 0; i < d->n; first += d->params[i++].size) {
        int64_t e = from > first ? from - first : 0, size = d->params[i].size;
        for (; e < size && first + e < end; e++)
            print_element(&d->params[i], e, out);
    }
}

static enum skiff_status write_parts(const struct dense *d, const char *dir,
                                     struct skiff_error *err)
{
    int64_t each = d->size / d->plan->servers + 1;
    enum skiff_status status = SKIFF_OK;
    for (int k = 0; k < d->plan->servers && status == SKIFF_OK; k++) {
        struct buf text = BUF_INIT, packed = BUF_INIT, path = BUF_INIT;
        print_part(d, k * each, (k + 1) * each, &text);
        buf_printf(&path, "%s/part-%03d.gz", dir, k);
        status = stream_gzip_pack(text.data, text.len, &packed, err);
        if (status == SKIFF_OK)
            status = file_write(path.data, packed.data, packed.len, err);
        buf_deinit(&text);
        buf_deinit(&packed);
        buf_deinit(&path);
    }
    return status;
}

/* Beside `dir`, under a name that the next save takes away when this process is killed; of another
 * machine's folder nobody knows who lives. */
static enum skiff_status fresh_folder(const char *dir, char **out, int *lock,
                                      struct skiff_error *err)
{
    struct buf name = BUF_INIT;
    if (!fs_is_remote(dir)) {
        TRY(file_make_parents(dir, err));
        return stale_file_create_dir(dir, false, out, lock, err);
    }
    buf_printf(&name, "%s.new-%ld", dir, (long)getpid());
    file_remove_tree(name.data);
    *out = name.data;
    return SKIFF_OK;
}

enum skiff_status fleet_dense_write(struct skiff_fleet *f, struct session *s, const char *dir,
                                    struct dense_folder *out, struct skiff_error *err)
{
    struct dense d;
    *out = (struct dense_folder){.lock = -1};
    TRY(dense_init(&d, f, s, err));
    enum skiff_status status = gather(&d, err);
    if (status == SKIFF_OK)
        status = fresh_folder(dir, &out->path, &out->lock, err);
    if (status == SKIFF_OK)
        status = write_parts(&d, out->path, err);
    dense_deinit(&d);
    if (status < 0)
        fleet_dense_end(out);
    return status < 0 ? error_prefix(err, status, "saving dense parameters to %s", dir) : status;
}

enum skiff_status fleet_dense_commit(struct dense_folder *d, const char *dir,
                                     struct skiff_error *err)
{
    enum skiff_status status = folder_move(d->path, dir, "part-", err);
    return status < 0 ? error_prefix(err, status, "saving dense parameters to %s", dir) : status;
}

void fleet_dense_end(struct dense_folder *d)
{
    if (d->path)
        file_remove_tree(d->path);
    fleet_dense_leave(d);
}

void fleet_dense_leave(struct dense_folder *d)
{
    if (d->lock >= 0)
        lock_close(d->lock);
    free(d->path);
    *d = (struct dense_folder){.lock = -1};
}

/* ---- reading ---- */

struct dense_reader {
    struct dense *d;
    int param;
    int64_t element, done;
    bool states; /* lines have states */
    const char *path;
    int line;
};

static enum skiff_status take_line(struct dense_reader *r, char *line, struct skiff_error *err)
{
    float numbers[COLUMNS];
    int n = 0;
    char *stop;
    r->line++;
    while (r->param < r->d->n && r->element == r->d->params[r->param].size) {
        r->param++;
        r->element = 0;
    }
    if (r->param == r->d->n)
        return error_set(err, SKIFF_FORMAT,
                         "%s, line %d: the program has only %lld elements of dense parameters",
                         r->path, r->line, (long long)r->d->size);
    struct dense_param *p = &r->d->params[r->param];
    for (char *at = line; n < COLUMNS; at = stop) {
        numbers[n] = strtof(at, &stop);
        if (stop == at)
            break;
        n++;
    }
    if (n < 1 || (n != 1 && n != p->ncolumns && p->ncolumns > 1))
        return error_set(err, SKIFF_FORMAT,
                         "%s, line %d: %d numbers for an element of %s; expected %d: the weight "
                         "and the states of its optimizer",
                         r->path, r->line, n, p->columns[0].name, p->ncolumns);
    for (int k = 0; k < n && k < p->ncolumns; k++) /* others' states are nobody's here */
        p->columns[k].v[r->element] = numbers[k];
    r->states |= n > 1;
    r->element++;
    r->done++;
    return SKIFF_OK;
}

static enum skiff_status read_lines(struct dense_reader *r, struct stream *s,
                                    struct skiff_error *err)
{
    char buf[65536];
    size_t have = 0, got = 1;
    while (got) {
        TRY(stream_read(s, buf + have, sizeof(buf) - 1 - have, &got, err));
        have += got;
        size_t at = 0;
        for (char *end; (end = memchr(buf + at, '\n', have - at)); at = (size_t)(end - buf) + 1) {
            *end = 0;
            if (end > buf + at)
                TRY(take_line(r, buf + at, err));
        }
        memmove(buf, buf + at, have - at);
        have -= at;
        if (have == sizeof(buf) - 1)
            return error_set(err, SKIFF_FORMAT, "%s: a line is longer than %zu bytes", r->path,
                             sizeof(buf));
    }
    buf[have] = 0;
    return have ? take_line(r, buf, err) : SKIFF_OK;
}

static bool is_part(const struct fs_entry *e)
{
    const char *slash = strrchr(e->path, '/');
    return !e->stat.folder && !strncmp(slash ? slash + 1 : e->path, "part-", 5);
}

static enum skiff_status read_part(struct dense_reader *r, const char *path,
                                   struct skiff_error *err)
{
    struct stream *s;
    r->path = path;
    r->line = 0;
    TRY(stream_open(path, NULL, &s, err));
    enum skiff_status status = read_lines(r, s, err);
    stream_close(s);
    return status;
}

static enum skiff_status read_parts(struct dense_reader *r, const char *dir,
                                    struct skiff_error *err)
{
    struct fs_list files = {0};
    int n = 0;
    if (!fs_is_remote(dir) && !file_is_dir(dir))
        return error_set(err, SKIFF_NOT_FOUND,
                         "there is no such folder; expected the files of dense parameters");
    enum skiff_status status = fs_list(NULL, dir, &files, err);
    for (int i = 0; i < files.count && status == SKIFF_OK; i++)
        if (is_part(&files.entries[i])) {
            status = read_part(r, files.entries[i].path, err);
            n++;
        }
    fs_list_deinit(&files);
    if (status == SKIFF_OK && r->done != r->d->size)
        status = error_set(err, SKIFF_FORMAT,
                           "%d files have %lld elements; the program's dense parameters have %lld",
                           n, (long long)r->done, (long long)r->d->size);
    return status;
}

static enum skiff_status read_files(struct dense *d, const char *dir, struct skiff_error *err)
{
    struct dense_reader r = {.d = d};
    char *parent = path_parent(dir);
    enum skiff_status status = fs_is_remote(dir) ? SKIFF_OK : folder_commit_recover(parent, err);
    if (status == SKIFF_OK)
        status = read_parts(&r, dir, err);
    free(parent);
    for (int i = 0; i < d->n; i++)
        d->params[i].nread = r.states ? d->params[i].ncolumns : 1;
    return status < 0 ? error_prefix(err, status, "loading dense parameters of %s", dir) : status;
}

/* Weights alone; parameters that are not there stay as they are: rows of them are pulled by id. */
static enum skiff_status read_scope(struct dense *d, struct skiff_scope *scope,
                                    struct skiff_error *err)
{
    for (int i = 0; i < d->n; i++) {
        struct dense_param *p = &d->params[i];
        struct skiff_tensor *v = scope_find(scope, p->columns[0].name);
        if (!v || v->kind != VALUE_TENSOR || !v->tensor.data)
            continue;
        if (v->tensor.dtype != DTYPE_FP32 || tensor_numel(&v->tensor) != p->size)
            return error_set(err, SKIFF_SHAPE,
                             "loading dense parameters: %s has %lld elements of %s, not %lld of "
                             "float32",
                             p->columns[0].name, (long long)tensor_numel(&v->tensor),
                             dtype_name(v->tensor.dtype), (long long)p->size);
        memcpy(p->columns[0].v, tensor_f32(&v->tensor), (size_t)p->size * sizeof(float));
        p->nread = 1;
    }
    return SKIFF_OK;
}

enum skiff_status fleet_dense_read(struct skiff_fleet *f, struct session *s, const char *dir,
                                   struct skiff_scope *scope, struct dense **out,
                                   struct skiff_error *err)
{
    struct dense *d = mem_alloc_or_die(sizeof(*d));
    enum skiff_status status = dense_init(d, f, s, err);
    *out = NULL;
    if (status < 0) {
        free(d);
        return status;
    }
    status = dir ? read_files(d, dir, err) : read_scope(d, scope, err);
    if (status < 0)
        fleet_dense_close(d);
    else
        *out = d;
    return status;
}

enum skiff_status fleet_dense_put(struct dense *d, uint64_t token, struct skiff_error *err)
{
    d->token = token;
    for (int i = 0; i < d->n; i++) {
        struct dense_param *p = &d->params[i];
        for (int k = 0; k < p->nread; k++)
            TRY(each_column(d, p, &p->columns[k], NULL, put_slice, err));
    }
    return SKIFF_OK;
}

enum skiff_status fleet_dense_take(struct dense *d, struct skiff_error *err)
{
    return d->scope ? fleet_dense_put(d, 0, err) : SKIFF_OK;
}

void fleet_dense_close(struct dense *d)
{
    if (d)
        dense_deinit(d);
    free(d);
}

/* ---- a worker's scope ---- */

static enum skiff_status each_in_scope(struct skiff_fleet *f, const char *name,
                                       struct skiff_scope *scope, slice_call call,
                                       struct skiff_error *err)
{
    struct session *s;
    struct dense d;
    TRY(fleet_need_session(f, name, &s, err));
    TRY(comm_flush(f->job, err));
    if (fleet_is_host(f))
        return SKIFF_OK; /* they are there and nowhere else */
    TRY(dense_init(&d, f, s, err));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < d.n && status == SKIFF_OK; i++) {
        struct dense_column *c = &d.params[i].columns[0];
        struct skiff_tensor *v = scope_find(scope, c->name);
        if (!v || v->kind != VALUE_TENSOR || !v->tensor.data)
            continue; /* rows of it are pulled by id */
        if (v->tensor.dtype != DTYPE_FP32 || tensor_numel(&v->tensor) != d.params[i].size)
            status = error_set(err, SKIFF_SHAPE, "%s: %s has %lld elements of %s here, not %lld",
                               name, c->name, (long long)tensor_numel(&v->tensor),
                               dtype_name(v->tensor.dtype), (long long)d.params[i].size);
        else
            status = each_slice(&d, c->name, false, d.params[i].size, NULL, tensor_f32(&v->tensor),
                                call, err);
    }
    dense_deinit(&d);
    return status;
}

enum skiff_status skiff_fleet_pull_dense(struct skiff_fleet *f, struct skiff_scope *scope,
                                         struct skiff_error *err)
{
    return each_in_scope(f, "pull_dense", scope, pull_slice, err);
}

enum skiff_status skiff_fleet_push_dense(struct skiff_fleet *f, struct skiff_scope *scope,
                                         struct skiff_error *err)
{
    return each_in_scope(f, "push_dense", scope, put_slice, err);
}
