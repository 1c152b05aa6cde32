/* Variables that servers hold, streamed into Paddle's files.
 *
 * A parameter may be larger than a worker's memory, so it is fetched a few megabytes at a time and
 * written at once; slices come in the order of their blocks. Who has what: slices by the placement;
 * the rest that servers keep (counters of schedules) from server 0; what no server has from the
 * worker's own scope. */
#include "fleet/collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "program/program.h"
#include "store/tensor_file.h"
#include "store/tensor_source.h"

#define PART_BYTES ((int64_t)1 << 20) /* servers answer pushes in between */

enum skiff_status collect_init(struct collect *c, struct session *session,
                               const struct skiff_split *split, const struct skiff_scope *scope,
                               const char *tag, struct skiff_error *err)
{
    struct skiff_program *startup;
    *c = (struct collect){.session = session, .tag = tag, .scope = scope};
    if (!session)
        return SKIFF_OK;
    const struct job_plan *plan = c->plan = split_plan(split);
    TRY(split_server(split, plan->endpoints[0], &c->server0, &startup, NULL, err));
    program_destroy(startup);
    return SKIFF_OK;
}

void collect_deinit(struct collect *c)
{
    program_destroy(c->server0);
}

/* ---- who has it ---- */

/* The step counter of a schedule and the like: every server has it, under its own name. */
static bool on_servers(const struct collect *c, const char *name)
{
    const struct skiff_var *v = block_own_var(program_root(c->server0), name);
    return v && v->persistable == PRESENCE_TRUE;
}

bool collect_is_keyed(const struct collect *c, const struct skiff_var *v)
{
    if (job_plan_has_table(c->plan, v->name))
        return true;
    for (int b = 1; b < c->server0->nblocks; b++)
        for (int i = 0; i < c->server0->blocks[b]->nops; i++) {
            const struct skiff_op *op = c->server0->blocks[b]->ops[i];
            const char *param = op_in1(op, "Param");
            const struct skiff_var *table =
                param ? block_find_var(c->server0->blocks[b], param) : NULL;
            if (table && job_plan_has_table(c->plan, param) && op_writes(op, v->name))
                return shape_equal(&table->shape, &v->shape);
        }
    return false;
}

static const struct skiff_tensor *in_scope(const struct collect *c, const char *name)
{
    const struct skiff_tensor *v = scope_find(c->scope, name);
    return v && v->kind == VALUE_TENSOR ? v : NULL;
}

bool collect_skips(const struct collect *c, const struct skiff_var *v)
{
    return c->session && job_plan_has_features(c->plan, v->name);
}

bool collect_is_own(const struct collect *c, const struct skiff_var *v)
{
    int n;
    if (!c->session)
        return true;
    const struct skiff_placement **slices = job_plan_slices(c->plan, v->name, &n);
    free(slices);
    return !n && !collect_is_keyed(c, v) && !on_servers(c, v->name);
}

const struct skiff_tensor *collect_own(const struct collect *c, const struct skiff_var *v)
{
    return in_scope(c, v->name);
}

bool collect_has(const struct collect *c, const struct skiff_var *v)
{
    return !collect_is_own(c, v) || in_scope(c, v->name);
}

/* ---- writing ---- */

enum skiff_status collect_head(const struct skiff_var *v, struct tensor *out,
                               struct skiff_error *err)
{
    *out = (struct tensor){.dtype = v->dtype, .shape = v->shape};
    for (int i = 0; i < v->shape.ndim; i++)
        if (v->shape.dims[i] < 0)
            return error_set(err, SKIFF_SHAPE,
                             "%s cannot be saved: the program does not say its dimension %d",
                             v->name, i);
    return SKIFF_OK;
}

static enum skiff_status write_head(const struct skiff_var *v, struct file_writer *w,
                                    struct skiff_error *err)
{
    struct tensor t;
    struct buf head = BUF_INIT;
    TRY(collect_head(v, &t, err));
    buf_u32(&head, 0); /* version of the stream, then no lod */
    buf_u64(&head, 0);
    tensor_head_encode(&t, &head);
    enum skiff_status status = file_writer_add(w, head.data, head.len, err);
    buf_deinit(&head);
    return status;
}

static int64_t row_bytes(const struct skiff_var *v)
{
    int64_t n = (int64_t)dtype_size(v->dtype);
    for (int i = 1; i < v->shape.ndim; i++)
        n *= v->shape.dims[i];
    return n > 0 ? n : 1;
}

static int64_t rows_per_part(const struct skiff_var *v)
{
    int64_t n = PART_BYTES / row_bytes(v);
    return n > 0 ? n : 1;
}

static enum skiff_status pour_rows(const struct collect *c, const struct skiff_var *v, int server,
                                   const char *slice, int64_t rows, const struct byte_sink *to,
                                   struct skiff_error *err)
{
    struct skiff_tensor part = {0};
    int64_t step = rows_per_part(v);
    enum skiff_status status = SKIFF_OK;
    for (int64_t at = 0; status == SKIFF_OK && at < rows; at += step) {
        int64_t n = rows - at < step ? rows - at : step;
        status = session_pull_snapshot(c->session, c->tag, server, slice, at, n, &part, err);
        if (status == SKIFF_OK && (part.tensor.dtype != v->dtype ||
                                   (int64_t)tensor_bytes(&part.tensor) != n * row_bytes(v)))
            status = error_set(err, SKIFF_SHAPE,
                               "server %d sent %zu bytes of %s for rows %lld to %lld of %s; "
                               "expected %lld bytes of %s",
                               server, tensor_bytes(&part.tensor), dtype_name(part.tensor.dtype),
                               (long long)at, (long long)(at + n - 1), slice,
                               (long long)(n * row_bytes(v)), dtype_name(v->dtype));
        if (status == SKIFF_OK)
            status = to->add(to->user, part.tensor.data, tensor_bytes(&part.tensor), err);
    }
    value_deinit(&part);
    return status;
}

static enum skiff_status pour_slices(const struct collect *c, const struct skiff_var *v,
                                     const struct skiff_placement *const *slices, int n,
                                     const struct byte_sink *to, struct skiff_error *err)
{
    int64_t rows = 0;
    for (int i = 0; i < n; i++)
        rows += placement_rows(slices[i]);
    int64_t whole = v->shape.ndim ? v->shape.dims[0] : 1;
    if (rows != whole)
        return error_set(err, SKIFF_INTERNAL, "the slices of %s have %lld rows, the whole has %lld",
                         v->name, (long long)rows, (long long)whole);
    for (int i = 0; i < n; i++)
        TRY(pour_rows(c, v, slices[i]->server, slices[i]->slice, placement_rows(slices[i]), to,
                      err));
    return SKIFF_OK;
}

/* Rows of a table that is spread by id modulo servers, in the order of their ids. */
static enum skiff_status pour_table(const struct collect *c, const struct skiff_var *v,
                                    const struct byte_sink *to, struct skiff_error *err)
{
    struct job_slices s = {
        .origin = v->name, .n = c->plan->servers, .endpoints = c->plan->endpoints, .modulo = true};
    int64_t width = row_bytes(v) / (int64_t)sizeof(float), step = rows_per_part(v);
    const char **names = mem_alloc_or_die((size_t)s.n * sizeof(*names));
    int64_t *ids = mem_alloc_or_die((size_t)step * sizeof(*ids));
    float *rows = mem_alloc_or_die((size_t)(step * row_bytes(v)));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < s.n; i++)
        names[i] = v->name;
    s.names = names;
    for (int64_t at = 0; status == SKIFF_OK && at < v->shape.dims[0]; at += step) {
        int64_t n = v->shape.dims[0] - at < step ? v->shape.dims[0] - at : step;
        for (int64_t i = 0; i < n; i++)
            ids[i] = at + i;
        status =
            session_pull_snapshot_rows(c->session, c->tag, &s, ids, (size_t)n, width, rows, err);
        if (status == SKIFF_OK)
            status = to->add(to->user, rows, (size_t)(n * row_bytes(v)), err);
    }
    free(names);
    free(ids);
    free(rows);
    return status;
}

static enum skiff_status write_local(const struct skiff_tensor *value, struct file_writer *w,
                                     struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    tensor_encode(&value->tensor, &bytes);
    enum skiff_status status = file_writer_add(w, bytes.data, bytes.len, err);
    buf_deinit(&bytes);
    return status;
}

static enum skiff_status write_own(const struct collect *c, const struct skiff_var *v,
                                   struct file_writer *w, struct skiff_error *err)
{
    const struct skiff_tensor *value = in_scope(c, v->name);
    return value ? write_local(value, w, err)
                 : error_set(err, SKIFF_NOT_FOUND,
                             "%s cannot be saved: neither a server nor this worker has a value of "
                             "it; was the startup program run?",
                             v->name);
}

enum skiff_status collect_pour(const struct collect *c, const struct skiff_var *v,
                               const struct byte_sink *to, struct skiff_error *err)
{
    int n;
    if (collect_is_keyed(c, v))
        return pour_table(c, v, to, err);
    const struct skiff_placement **slices = job_plan_slices(c->plan, v->name, &n);
    enum skiff_status status =
        n ? pour_slices(c, v, slices, n, to, err)
          : pour_rows(c, v, 0, v->name, v->shape.ndim ? v->shape.dims[0] : 1, to, err);
    free(slices);
    return status;
}

enum skiff_status collect_write(const struct collect *c, const struct skiff_var *v,
                                struct file_writer *w, struct skiff_error *err)
{
    struct byte_sink file = file_writer_sink(w);
    if (collect_is_own(c, v))
        return write_own(c, v, w, err);
    TRY(write_head(v, w, err));
    return collect_pour(c, v, &file, err);
}
