/* feed, fetch and files.
 *   feed          Out = holder[col]; a variable that the caller fed by name stays as it is
 *   fetch         holder[col] = X
 *   save, load                  one variable, one file (a LoDTensor or SelectedRows stream)
 *   save_combine, load_combine  the tensors of a list one after the other in one file
 * Files are written atomically; see store/tensor_file.h. Which files a program from a file may
 * touch says program/rights.h. */
#include <stdlib.h>
#include <string.h>

#include "ops/ops_common.h"
#include "program/rights.h"
#include "store/file.h"
#include "store/tensor_file.h"

static enum skiff_status no_shapes(struct infer *c, struct skiff_error *err)
{
    return SKIFF_OK;
}

/* ---- feed, fetch ---- */

static enum skiff_status column(struct kernel *k, size_t *out, struct skiff_error *err)
{
    if (k->attr[0].i < 0)
        return kernel_fail(k, SKIFF_RANGE, err, "col is %d; it cannot be negative", k->attr[0].i);
    *out = (size_t)k->attr[0].i;
    return SKIFF_OK;
}

static enum skiff_status feed_run(struct kernel *k, struct skiff_error *err)
{
    size_t col = 0;
    const struct skiff_tensor *holder = kernel_in_value(k, 0, 0);
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    TRY(column(k, &col, err));
    if (holder && holder->kind == VALUE_ARRAY && col < holder->array.count &&
        holder->array.items[col]->kind != VALUE_NONE)
        return value_copy(out, holder->array.items[col], err);
    if (out->kind != VALUE_NONE)
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_NOT_FOUND, err, "variable %s (col %zu) has not been fed",
                       kernel_out_name(k, 0, 0), col);
}

static enum skiff_status fetch_run(struct kernel *k, struct skiff_error *err)
{
    size_t col = 0;
    struct skiff_tensor *holder = kernel_out_value(k, 0, 0);
    TRY(column(k, &col, err));
    if (holder->kind != VALUE_ARRAY)
        value_clear(holder);
    TRY(value_as_array(holder, col + 1, err));
    return value_copy(holder->array.items[col], kernel_in_value(k, 0, 0), err);
}

/* ---- save, save_combine ---- */

enum { SAVE_OVERWRITE, SAVE_FP16, SAVE_PATH, SAVE_TO_MEMORY };

/* *out: where to, the caller's. */
static enum skiff_status save_check(struct kernel *k, char **out, struct skiff_error *err)
{
    const char *path = k->attr[SAVE_PATH].s;
    if (k->attr[SAVE_FP16].b)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                           "save_as_fp16: values are saved in their own type only");
    if (!path || !*path)
        return kernel_fail(k, SKIFF_INVALID, err, "file_path is empty");
    if (!k->attr[SAVE_OVERWRITE].b && file_exists(path))
        return kernel_fail(k, SKIFF_STATE, err, "file %s already exists, and overwrite is false",
                           path);
    return program_file(k->env->program, path, out, err);
}

static enum skiff_status save_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    char *path = NULL;
    if (x->kind != VALUE_TENSOR && x->kind != VALUE_ROWS)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "only tensors and selected rows are saved");
    TRY(save_check(k, &path, err));
    enum skiff_status status = value_file_write(path, x, err);
    free(path);
    return status;
}

static enum skiff_status save_combine_run(struct kernel *k, struct skiff_error *err)
{
    int n = kernel_in_count(k, 0);
    void *list;
    char *path = NULL;
    if (k->attr[SAVE_TO_MEMORY].b)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "save_to_memory: only files are written");
    TRY(kernel_scratch(k, (size_t)n * sizeof(struct tensor *), &list, err));
    const struct tensor **tensors = list;
    for (int i = 0; i < n; i++) {
        const struct skiff_tensor *x = kernel_in_value(k, 0, i);
        if (!x || x->kind != VALUE_TENSOR)
            return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                               "%s is not a dense tensor: a combined file holds no others",
                               kernel_in_name(k, 0, i));
        tensors[i] = &x->tensor;
    }
    TRY(save_check(k, &path, err));
    enum skiff_status status = combined_file_write(path, n, tensors, err);
    free(path);
    return status;
}

/* ---- load, load_combine ---- */

enum { LOAD_FP16, LOAD_PATH, LOAD_SEEK, LOAD_SHAPE, LOAD_FROM_MEMORY = LOAD_SEEK };

/* *out: where from, the caller's. */
static enum skiff_status load_check(struct kernel *k, char **out, struct skiff_error *err)
{
    if (k->attr[LOAD_FP16].b)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                           "load_as_fp16: values are loaded in their own type only");
    if (!k->attr[LOAD_PATH].s || !*k->attr[LOAD_PATH].s)
        return kernel_fail(k, SKIFF_INVALID, err, "file_path is empty");
    return program_file(k->env->program, k->attr[LOAD_PATH].s, out, err);
}

static enum skiff_status load_from(struct kernel *k, const char *path, struct skiff_error *err)
{
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    const struct attr_value *dims = &k->attr[LOAD_SHAPE];
    int64_t seek = k->attr[LOAD_SEEK].l;
    if (out->kind == VALUE_ROWS)
        return rows_file_read(path, out, err);
    if (seek < 0)
        return value_file_read(path, out, err);
    if (dims->n < 1 || dims->n > TENSOR_MAX_DIMS)
        return kernel_fail(k, SKIFF_INVALID, err, "seek needs a shape of 1 to %d dims, not %d",
                           TENSOR_MAX_DIMS, dims->n);
    struct shape shape = shape_of(dims->n, dims->longs);
    TRY(tensor_file_read_slice(path, seek, &shape, &out->tensor, err));
    out->kind = VALUE_TENSOR;
    return SKIFF_OK;
}

static enum skiff_status load_run(struct kernel *k, struct skiff_error *err)
{
    char *path = NULL;
    TRY(load_check(k, &path, err));
    enum skiff_status status = load_from(k, path, err);
    free(path);
    return status;
}

static enum skiff_status load_combine_run(struct kernel *k, struct skiff_error *err)
{
    int n = kernel_out_count(k, 0);
    void *list;
    char *path = NULL;
    if (k->attr[LOAD_FROM_MEMORY].b)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "model_from_memory: only files are read");
    TRY(kernel_scratch(k, (size_t)n * sizeof(struct tensor *), &list, err));
    struct tensor **tensors = list;
    for (int i = 0; i < n; i++) {
        struct skiff_tensor *out = kernel_out_value(k, 0, i);
        if (!out)
            return kernel_fail(k, SKIFF_INVALID, err, "output %d has no variable", i);
        tensors[i] = &out->tensor;
    }
    TRY(load_check(k, &path, err));
    enum skiff_status status = combined_file_read(path, n, tensors, err);
    for (int i = 0; i < n && status == SKIFF_OK; i++)
        kernel_out_value(k, 0, i)->kind = VALUE_TENSOR;
    free(path);
    return status;
}

/* ---- table ---- */

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot x_list[] = {{"X", SLOT_LIST}, {0}};
static const struct op_slot nothing[] = {{0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot out_list[] = {{"Out", SLOT_LIST}, {0}};
static const struct op_slot save_outs[] = {{"kLookupTablePath", SLOT_OPTIONAL}, {0}};
static const struct op_slot save_combine_outs[] = {{"Y", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec col_attrs[] = {A_REQ("col", ATTR_INT), {0}};
static const struct op_attr_spec save_attrs[] = {
    A_BOOL("overwrite", true), A_BOOL("save_as_fp16", false), A_REQ("file_path", ATTR_STRING), {0}};
static const struct op_attr_spec save_combine_attrs[] = {A_BOOL("overwrite", true),
                                                         A_BOOL("save_as_fp16", false),
                                                         A_REQ("file_path", ATTR_STRING),
                                                         A_BOOL("save_to_memory", false),
                                                         {0}};
static const struct op_attr_spec load_attrs[] = {A_BOOL("load_as_fp16", false),
                                                 A_REQ("file_path", ATTR_STRING),
                                                 A_LONG("seek", -1),
                                                 A_LONGS("shape"),
                                                 {0}};
static const struct op_attr_spec load_combine_attrs[] = {A_BOOL("load_as_fp16", false),
                                                         A_REQ("file_path", ATTR_STRING),
                                                         A_BOOL("model_from_memory", false),
                                                         {0}};

#define ANY_KIND (OP_OWN_SHAPE | OP_ROWS_OK | OP_ARRAY_OK | OP_NO_GRAD_NEEDED)

const struct op_kind ops_io[] = {{.type = "feed",
                                  .class = CLASS_FEED,
                                  .flags = ANY_KIND | OP_EMPTY_OK,
                                  .ins = x_in,
                                  .outs = out_out,
                                  .attrs = col_attrs,
                                  .infer = no_shapes,
                                  .run = feed_run},
                                 {.type = "fetch",
                                  .class = CLASS_FETCH,
                                  .flags = ANY_KIND,
                                  .ins = x_in,
                                  .outs = out_out,
                                  .attrs = col_attrs,
                                  .infer = no_shapes,
                                  .run = fetch_run},
                                 {.type = "save",
                                  .flags = ANY_KIND | OP_SIDE_EFFECT | OP_FILES,
                                  .ins = x_in,
                                  .outs = save_outs,
                                  .attrs = save_attrs,
                                  .infer = no_shapes,
                                  .run = save_run},
                                 {.type = "save_combine",
                                  .flags = ANY_KIND | OP_SIDE_EFFECT | OP_FILES,
                                  .ins = x_list,
                                  .outs = save_combine_outs,
                                  .attrs = save_combine_attrs,
                                  .infer = no_shapes,
                                  .run = save_combine_run},
                                 {.type = "load",
                                  .flags = ANY_KIND | OP_SIDE_EFFECT | OP_FILES,
                                  .ins = nothing,
                                  .outs = out_out,
                                  .attrs = load_attrs,
                                  .infer = no_shapes,
                                  .run = load_run},
                                 {.type = "load_combine",
                                  .flags = ANY_KIND | OP_SIDE_EFFECT | OP_FILES,
                                  .ins = nothing,
                                  .outs = out_list,
                                  .attrs = load_combine_attrs,
                                  .infer = no_shapes,
                                  .run = load_combine_run},
                                 {0}};
