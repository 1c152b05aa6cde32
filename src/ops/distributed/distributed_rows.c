/* Kernels that cut variables by rows or ids, and those that look rows up on the servers.
 *
 *   split_byref           Out[i] = the next sections[i] rows of X
 *   split_selected_rows   the same for SelectedRows; ids become those of the section
 *   distributed_lookup_table   Outputs[i] = rows of Ids[i], of a table cut by row ranges, or (with
 *                         shards) by id: a sparse table
 *   split_ids             Out[s] = ids with id % servers == s: the distinct ones of a list of ids;
 *                         of SelectedRows: the rows, ids unchanged
 *   prefetch, merge_ids   rows of these ids; put together again for every list of ids */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "ops/distributed/distributed.h"

/* ---- cutting ---- */

enum skiff_status split_byref_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    const struct attr_value *sections = &k->attr[0];
    int64_t at = 0;
    if (!x || !x->data || x->shape.ndim < 1 || kernel_in_is_rows(k, 0, 0) ||
        sections->n != kernel_out_count(k, 0))
        return kernel_fail(k, SKIFF_SHAPE, err, "a tensor is needed, and a section per output");
    for (int i = 0; i < sections->n; i++) {
        struct shape shape = x->shape;
        shape.dims[0] = sections->ints[i];
        if (shape.dims[0] < 0 || at + shape.dims[0] > x->shape.dims[0])
            return kernel_fail(k, SKIFF_SHAPE, err, "sections go beyond the %lld rows of %s",
                               (long long)x->shape.dims[0], kernel_in_name(k, 0, 0));
        TRY(kernel_out_resize(k, 0, i, x->dtype, &shape, err));
        if (kernel_out_at(k, 0, i))
            memcpy(kernel_out_at(k, 0, i)->data, (const char *)x->data + (size_t)at * row_bytes(x),
                   (size_t)shape.dims[0] * row_bytes(x));
        at += shape.dims[0];
    }
    return SKIFF_OK;
}

/* Copies the rows of x that `part` lists for output i; ids are reduced by `first`. */
static enum skiff_status put_part(struct kernel *k, int i, const int32_t *part, int64_t first,
                                  int64_t height, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    struct skiff_tensor *out = kernel_out_value(k, 0, i);
    struct shape shape = x->tensor.shape;
    size_t width = row_bytes(&x->tensor), n = 0;
    for (size_t r = 0; r < x->sel.nrows; r++)
        n += part[r] == i;
    if (!out)
        return SKIFF_OK;
    shape.dims[0] = (int64_t)n;
    TRY(value_as_rows_shape(out, x->tensor.dtype, &shape, height, err));
    out->sel.distinct = x->sel.distinct;
    n = 0;
    for (size_t r = 0; r < x->sel.nrows; r++) {
        if (part[r] != i)
            continue;
        out->sel.rows[n] = x->sel.rows[r] - first;
        memcpy((char *)out->tensor.data + n++ * width, (const char *)x->tensor.data + r * width,
               width);
    }
    return SKIFF_OK;
}

static int section_of(const struct attr_value *sections, int64_t id)
{
    for (int i = 0; i < sections->n && id >= 0; id -= sections->longs[i++])
        if (id < sections->longs[i])
            return i;
    return -1;
}

enum skiff_status split_rows_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    const struct attr_value *sections = &k->attr[0];
    void *p;
    if (!x || x->kind != VALUE_ROWS || sections->n != kernel_out_count(k, 0))
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "SelectedRows are needed, and a section per output");
    TRY(kernel_scratch(k, (x->sel.nrows + 1) * sizeof(int32_t), &p, err));
    int32_t *part = p;
    for (size_t r = 0; r < x->sel.nrows; r++) {
        part[r] = section_of(sections, x->sel.rows[r]);
        if (part[r] < 0)
            return kernel_fail(k, SKIFF_RANGE, err, "row %lld of %s is in none of the sections",
                               (long long)x->sel.rows[r], kernel_in_name(k, 0, 0));
    }
    int64_t first = 0;
    for (int i = 0; i < sections->n; first += sections->longs[i++])
        TRY(put_part(k, i, part, first, sections->longs[i], err));
    return SKIFF_OK;
}

enum skiff_status ref_by_trainer_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *id = kernel_in(k, 1);
    int64_t trainer = -1;
    if (id && id->data && tensor_numel(id) == 1)
        DISPATCH_NUMBER(id->dtype, T, trainer = (int64_t) * (const T *)id->data);
    if (trainer < 0 || trainer >= kernel_in_count(k, 0))
        return kernel_fail(k, SKIFF_RANGE, err, "trainer %lld of %d", (long long)trainer,
                           kernel_in_count(k, 0));
    struct skiff_tensor *from = kernel_in_value(k, 0, (int)trainer),
                        *to = kernel_out_value(k, 0, 0);
    if (!from || from->kind == VALUE_NONE)
        return kernel_fail(k, SKIFF_STATE, err, "%s has no value: that trainer has not pulled yet",
                           kernel_in_name(k, 0, (int)trainer));
    return value_copy(to, from, err);
}

/* Type and shape only: the rows are on the servers. */
enum skiff_status fake_init_run(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    const struct attr_value *dims = &k->attr[0];
    if (dims->n > TENSOR_MAX_DIMS)
        return kernel_fail(k, SKIFF_SHAPE, err, "shape has %d dims", dims->n);
    value_deinit(out);
    out->kind = VALUE_TENSOR;
    out->tensor.dtype = DTYPE_FP32;
    out->tensor.shape = shape_of(dims->n, dims->longs);
    return SKIFF_OK;
}

/* ---- lists of ids ---- */

static bool is_true(const struct skiff_op *op, const char *attr)
{
    const struct op_attr_value *a = op_attr(op, attr);
    return a && a->type == ATTR_BOOLEAN && a->value.b;
}

/* Is `name` the gradient of out? A second backward pass puts "grad/" before its names. */
static bool is_gradient_of(const char *name, const char *out)
{
    size_t n = strlen(out), prefix = strlen("grad/");
    while (!strncmp(name, "grad/", prefix) && strncmp(name, out, n) != 0)
        name += prefix;
    return !strncmp(name, out, n) && !strcmp(name + n, GRAD_SUFFIX);
}

/* The gradient op of the look-up that merge_ids replaces gives the table's name and padding id. The
 * ids alone do not tell it: two tables may be looked up by the same ids. */
static const struct skiff_op *table_gradient(const struct kernel *k, const struct skiff_op *merge)
{
    const struct skiff_block *b = program_root(k->env->program);
    const struct op_arg *ids = op_in(merge, "Ids"), *out = op_out(merge, "Out");
    for (int i = 0; ids && ids->n && out && out->n && i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        if (!op_is(op, CLASS_LOOKUP_GRAD) || !is_true(op, "is_distributed"))
            continue;
        const char *op_ids = op_in1(op, "Ids"), *dout = op_in1(op, "Out@GRAD");
        if (op_ids && dout && !strcmp(op_ids, ids->names[0]) && is_gradient_of(dout, out->names[0]))
            return op;
    }
    return NULL;
}

/* The op itself, or the op that assembles the rows that it fetches. */
static const struct skiff_op *merging_op(const struct kernel *k)
{
    const struct skiff_block *b = program_root(k->env->program);
    if (op_is(k->op, CLASS_MERGE_ROWS))
        return k->op;
    for (int i = 0; i < b->nops; i++)
        if (op_is(b->ops[i], CLASS_MERGE_ROWS) && op_reads(b->ops[i], kernel_out_name(k, 0, 0)))
            return b->ops[i];
    return NULL;
}

static const struct skiff_op *replaced_gradient(const struct kernel *k)
{
    const struct skiff_op *merge = merging_op(k);
    return merge ? table_gradient(k, merge) : NULL;
}

/* Look-ups name their table (W); prefetch and merge_ids replace a look-up that does. */
void remote_init(struct remote *r, const struct kernel *k)
{
    id_map_init(&r->map);
    r->grad = k->kind->arg == REPLACES_LOOKUP ? replaced_gradient(k) : NULL;
    r->name = op_in1(r->grad ? r->grad : k->op, "W");
    if (r->name)
        r->table = block_find_var(program_root(k->env->program), r->name);
}

enum skiff_status remote_prepare(struct kernel *k, struct skiff_error *err)
{
    k->state = mem_alloc_or_die(sizeof(struct remote));
    remote_init(k->state, k);
    return SKIFF_OK;
}

void remote_destroy(struct kernel *k)
{
    struct remote *r = k->state;
    if (r)
        id_map_deinit(&r->map);
    free(r);
    k->state = NULL;
}

static enum skiff_status check_lists(const struct kernel *k, int slot, int64_t *total,
                                     struct skiff_error *err)
{
    *total = 0;
    for (int i = 0; i < kernel_in_count(k, slot); i++) {
        const struct skiff_tensor *v = kernel_in_value(k, slot, i);
        if (!v || v->kind != VALUE_TENSOR || v->tensor.dtype != DTYPE_INT64)
            return kernel_fail(k, SKIFF_DTYPE, err, "%s must be an int64 tensor of ids",
                               kernel_in_name(k, slot, i));
        *total += tensor_numel(&v->tensor);
    }
    return SKIFF_OK;
}

/* A table's declared shape: it has no memory here. */
enum skiff_status table_shape(const struct kernel *k, struct shape *out, struct skiff_error *err)
{
    const struct remote *r = k->state;
    const struct skiff_var *w = r->table;
    if (!w || w->shape.ndim != 2 || w->shape.dims[1] < 1 || w->dtype != DTYPE_FP32)
        return kernel_fail(k, SKIFF_SHAPE, err, "table %s must be a float32 matrix",
                           r->name ? r->name : "(none)");
    *out = w->shape;
    return SKIFF_OK;
}

/* Outputs[i] [.., width] for Ids[i]. */
static enum skiff_status size_looked_up(struct kernel *k, int i, bool v2, int64_t width,
                                        struct skiff_error *err)
{
    const struct tensor *ids = kernel_in_at(k, TABLE_IDS, i);
    struct shape shape = ids->shape;
    if (shape.ndim + v2 > TENSOR_MAX_DIMS || (!v2 && shape.ndim < 1))
        return kernel_fail(k, SKIFF_SHAPE, err, "%s has %d dims", kernel_in_name(k, TABLE_IDS, i),
                           shape.ndim);
    if (v2)
        shape.dims[shape.ndim++] = width;
    else
        shape.dims[shape.ndim - 1] = width;
    TRY(kernel_out_resize(k, 0, i, DTYPE_FP32, &shape, err));
    if (kernel_out_at(k, 0, i))
        tensor_share_lod(kernel_out_at(k, 0, i), ids);
    return SKIFF_OK;
}

struct job_slices table_slices(const struct kernel *k, const char *origin)
{
    bool sparse_table = k->attr[TABLE_SHARDS].i > 0;
    return (struct job_slices){.origin = origin,
                               .n = k->attr[TABLE_NAMES].n,
                               .names = k->attr[TABLE_NAMES].strings,
                               .endpoints = k->attr[TABLE_ENDPOINTS].strings,
                               .sections = sparse_table ? NULL : k->attr[TABLE_SECTIONS].longs,
                               .modulo = sparse_table,
                               .shards = sparse_table ? k->attr[TABLE_SHARDS].i : 0};
}

enum skiff_status check_slices(const struct kernel *k, struct skiff_error *err)
{
    int n = k->attr[TABLE_NAMES].n;
    bool sparse_table = k->attr[TABLE_SHARDS].i > 0;
    if (!n || k->attr[TABLE_ENDPOINTS].n != n || (!sparse_table && k->attr[TABLE_SECTIONS].n != n))
        return kernel_fail(k, SKIFF_INVALID, err,
                           "%d table_names, %d endpoints, %d height_sections", n,
                           k->attr[TABLE_ENDPOINTS].n, k->attr[TABLE_SECTIONS].n);
    return SKIFF_OK;
}

enum skiff_status lookup_begin(const struct kernel *k, struct job **j, struct shape *w,
                               int64_t *total, struct skiff_error *err)
{
    TRY(kernel_job(k, j, err));
    if (!(*j)->class->lookup)
        return job_lacks(k, err);
    TRY(check_slices(k, err));
    TRY(table_shape(k, w, err));
    return check_lists(k, TABLE_IDS, total, err);
}

enum skiff_status table_run(struct kernel *k, struct skiff_error *err)
{
    struct job *j;
    struct shape w;
    int64_t total;
    void *p;
    int n = kernel_in_count(k, TABLE_IDS);
    bool v2 = !strcmp(k->attr[TABLE_VERSION].s, "lookup_table_v2");
    TRY(lookup_begin(k, &j, &w, &total, err));
    TRY(kernel_scratch(k, (size_t)n * 2 * sizeof(void *) + 1, &p, err));
    const struct tensor **ids = p;
    struct tensor **out = (struct tensor **)(ids + n);
    for (int i = 0; i < n; i++) {
        TRY(size_looked_up(k, i, v2, w.dims[1], err));
        ids[i] = kernel_in_at(k, TABLE_IDS, i);
        out[i] = kernel_out_at(k, 0, i);
    }
    struct job_lookup l = {.table = table_slices(k, kernel_in_name(k, TABLE_W, 0)),
                           .n = n,
                           .ids = ids,
                           .out = out,
                           .padding_idx = k->attr[TABLE_PADDING].l};
    return j->class->lookup(j, &l, err);
}

/* ---- hash-backed tables: server = id modulo servers ---- */

static enum skiff_status split_grad_ids(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    int n = kernel_out_count(k, 0);
    void *p;
    TRY(kernel_scratch(k, (x->sel.nrows + 1) * sizeof(int32_t), &p, err));
    int32_t *part = p;
    for (size_t r = 0; r < x->sel.nrows; r++)
        part[r] = (int32_t)((uint64_t)x->sel.rows[r] % (uint64_t)n);
    for (int i = 0; i < n; i++)
        TRY(put_part(k, i, part, 0, x->sel.height, err));
    return SKIFF_OK;
}

enum skiff_status split_ids_run(struct kernel *k, struct skiff_error *err)
{
    struct id_map *map = &((struct remote *)k->state)->map;
    int n = kernel_out_count(k, 0);
    int64_t total, distinct = 0;
    void *p;
    if (kernel_in_count(k, 0) == 1 && kernel_in_is_rows(k, 0, 0))
        return split_grad_ids(k, err);
    TRY(check_lists(k, 0, &total, err));
    TRY(kernel_scratch(k, (size_t)(total + 1) * sizeof(int64_t), &p, err));
    int64_t *ids = p;
    id_map_reset(map, (size_t)total);
    for (int i = 0; i < kernel_in_count(k, 0); i++) {
        const struct tensor *t = kernel_in_at(k, 0, i);
        for (int64_t e = 0; e < tensor_numel(t); e++) {
            bool fresh;
            id_map_add(map, tensor_i64(t)[e], &fresh);
            if (fresh)
                ids[distinct++] = tensor_i64(t)[e];
        }
    }
    for (int s = 0; s < n; s++) {
        int64_t count = 0;
        for (int64_t e = 0; e < distinct; e++)
            count += (uint64_t)ids[e] % (uint64_t)n == (uint64_t)s;
        struct shape shape = SHAPE(count, 1);
        TRY(kernel_out_resize(k, 0, s, DTYPE_INT64, &shape, err));
        int64_t *to = tensor_i64(kernel_out_at(k, 0, s));
        for (int64_t e = 0; e < distinct; e++)
            if ((uint64_t)ids[e] % (uint64_t)n == (uint64_t)s)
                *to++ = ids[e];
    }
    return SKIFF_OK;
}

enum skiff_status prefetch_run(struct kernel *k, struct skiff_error *err)
{
    struct job *j;
    struct shape w;
    int64_t total;
    int n = kernel_in_count(k, 0);
    const struct remote *r = k->state;
    void *p;
    TRY(kernel_job(k, &j, err));
    if (!j->class->lookup)
        return job_lacks(k, err);
    if (!r->grad || n != kernel_out_count(k, 0) || n != k->attr[1].n)
        return kernel_fail(k, SKIFF_INVALID, err,
                           "no gradient op names the distributed table, or %d lists, %d outputs "
                           "and %d servers do not fit",
                           n, kernel_out_count(k, 0), k->attr[1].n);
    const char *table = r->name;
    TRY(table_shape(k, &w, err));
    TRY(check_lists(k, 0, &total, err));
    TRY(kernel_scratch(k, (size_t)n * 3 * sizeof(void *) + 1, &p, err));
    const struct tensor **ids = p;
    struct tensor **out = (struct tensor **)(ids + n);
    const char **names = (const char **)(out + n);
    for (int i = 0; i < n; i++) {
        struct shape shape = SHAPE(tensor_numel(kernel_in_at(k, 0, i)), w.dims[1]);
        TRY(kernel_out_resize(k, 0, i, DTYPE_FP32, &shape, err));
        ids[i] = kernel_in_at(k, 0, i);
        out[i] = kernel_out_at(k, 0, i);
        names[i] = table;
    }
    struct job_lookup l = {.table = {.origin = table,
                                     .n = n,
                                     .names = names,
                                     .endpoints = k->attr[1].strings,
                                     .modulo = true},
                           .n = n,
                           .ids = ids,
                           .out = out,
                           .padding_idx = -1,
                           .distinct = true};
    return j->class->lookup(j, &l, err);
}

enum { MERGE_IDS, MERGE_ROWS, MERGE_X };

/* Where each fetched row lies, by the map's number of its id. */
static enum skiff_status map_rows(struct kernel *k, const float ***out, int64_t *width,
                                  struct skiff_error *err)
{
    struct id_map *map = &((struct remote *)k->state)->map;
    int n = kernel_in_count(k, MERGE_ROWS);
    int64_t total;
    void *p;
    TRY(check_lists(k, MERGE_ROWS, &total, err));
    if (n != kernel_in_count(k, MERGE_X) || !n)
        return kernel_fail(k, SKIFF_INVALID, err, "%d lists of ids for %d of rows", n,
                           kernel_in_count(k, MERGE_X));
    TRY(kernel_scratch(k, (size_t)(total + 1) * sizeof(float *), &p, err));
    const float **at = p;
    id_map_reset(map, (size_t)total);
    *width = shape_cols(&kernel_in_at(k, MERGE_X, 0)->shape, 1);
    for (int i = 0; i < n; i++) {
        const struct tensor *ids = kernel_in_at(k, MERGE_ROWS, i), *x = kernel_in_at(k, MERGE_X, i);
        if (x->dtype != DTYPE_FP32 || shape_cols(&x->shape, 1) != *width ||
            x->shape.dims[0] != tensor_numel(ids))
            return kernel_fail(k, SKIFF_SHAPE, err, "%s does not hold a row per id",
                               kernel_in_name(k, MERGE_X, i));
        for (int64_t e = 0; e < tensor_numel(ids); e++) {
            bool fresh;
            uint32_t where = id_map_add(map, tensor_i64(ids)[e], &fresh);
            at[where] = tensor_f32(x) + e * *width;
        }
    }
    *out = at;
    return SKIFF_OK;
}

enum skiff_status merge_ids_run(struct kernel *k, struct skiff_error *err)
{
    const float **at = NULL;
    int64_t width = 0, total;
    int n = kernel_in_count(k, MERGE_IDS);
    const struct remote *r = k->state;
    const struct skiff_op *grad = r->grad;
    const struct op_attr_value *pad = grad ? op_attr(grad, "padding_idx") : NULL;
    int64_t padding = pad && pad->type == ATTR_LONG ? pad->value.l : -1;
    bool v2 = grad && op_kind_attr(grad->kind, "grad_inplace") < 0;
    TRY(check_lists(k, MERGE_IDS, &total, err));
    TRY(map_rows(k, &at, &width, err));
    if (n != kernel_out_count(k, 0))
        return kernel_fail(k, SKIFF_INVALID, err, "%d lists of ids for %d outputs", n,
                           kernel_out_count(k, 0));
    for (int i = 0; i < n; i++) {
        const struct tensor *ids = kernel_in_at(k, MERGE_IDS, i);
        TRY(size_looked_up(k, i, v2, width, err));
        float *to = tensor_f32(kernel_out_at(k, 0, i));
        for (int64_t e = 0; e < tensor_numel(ids); e++, to += width) {
            uint32_t where;
            if (!id_map_find(&r->map, tensor_i64(ids)[e], &where))
                return kernel_fail(k, SKIFF_RANGE, err, "id %lld of %s was not fetched",
                                   (long long)tensor_i64(ids)[e], kernel_in_name(k, 0, i));
            if (padding != -1 && tensor_i64(ids)[e] == padding)
                memset(to, 0, (size_t)width * sizeof *to);
            else
                memcpy(to, at[where], (size_t)width * sizeof *to);
        }
    }
    return SKIFF_OK;
}
