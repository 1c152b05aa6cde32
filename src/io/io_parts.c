/* Shared by the files of io: variables with their values on the way from a scope to files, or back;
 * the check that a value fits the program; paths and prefixes.
 *
 * A value is checked by io_value_check before the scope gets it. Written programs get the version
 * of the Paddle that has their format. */
#include "io/io_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/compat_map.h"

#define VERSION_1X 1008005
#define VERSION_2X 2006002

void io_batch_init(struct io_batch *b, const struct io_vars *vars)
{
    size_t n = (size_t)vars->n + 1;
    *b = (struct io_batch){.n = vars->n,
                           .names = mem_alloc_or_die(n * sizeof *b->names),
                           .saved = mem_alloc_or_die(n * sizeof *b->saved),
                           .loaded = mem_alloc_or_die(n * sizeof *b->loaded)};
    for (int i = 0; i < vars->n; i++)
        b->names[i] = vars->v[i]->name;
}

void io_batch_deinit(struct io_batch *b)
{
    for (int i = 0; i < b->n; i++)
        value_deinit(&b->loaded[i]);
    free(b->names);
    free(b->saved);
    free(b->loaded);
    *b = (struct io_batch){0};
}

char *io_join(const char *a, const char *between, const char *b)
{
    struct buf s = BUF_INIT;
    size_t n = strlen(a);
    bool slash = *between == '/' && n && a[n - 1] == '/'; /* two would be a part of keys of S3 */
    buf_printf(&s, "%s%s%s", a, slash ? "" : between, b);
    return s.data;
}

/* The part after the last '/'. */
const char *io_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ------------------------------------------------------------------ scope side */

enum skiff_status io_batch_collect(struct io_batch *b, const struct skiff_scope *s,
                                   struct skiff_error *err)
{
    for (int i = 0; i < b->n; i++) {
        const struct skiff_tensor *v = scope_find(s, b->names[i]);
        if (!v || v->kind == VALUE_NONE)
            return error_set(err, SKIFF_STATE,
                             "cannot save variable %s: it has no value yet (was the startup "
                             "program run?)",
                             b->names[i]);
        if (v->kind != VALUE_TENSOR && v->kind != VALUE_ROWS)
            return error_set(err, SKIFF_STATE,
                             "cannot save variable %s: it holds neither a tensor nor selected rows",
                             b->names[i]);
        if (value_is_elsewhere(v))
            return error_set(err, SKIFF_STATE,
                             "cannot save variable %s: its rows are in a table of servers (or of "
                             "this worker's own one); fleet.save_persistables and "
                             "paddle.static.save write those",
                             b->names[i]);
        b->saved[i] = v;
    }
    return SKIFF_OK;
}

static bool shape_fits(const struct skiff_var *v, bool param, const struct shape *found)
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
enum skiff_status io_value_check(const struct skiff_program *p, const struct skiff_var *v,
                                 bool param, const struct skiff_tensor *value, const char *file,
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

enum skiff_status io_batch_give(struct io_batch *b, const struct io_vars *vars,
                                const struct skiff_program *p, struct skiff_scope *s,
                                const char *target, bool one_file, struct skiff_error *err)
{
    for (int i = 0; i < b->n; i++) {
        char *file = one_file ? mem_strdup_or_die(target) : io_join(target, "/", b->names[i]);
        enum skiff_status status =
            io_value_check(p, vars->v[i], vars->is_param[i], &b->loaded[i], file, err);
        free(file);
        TRY(status);
    }
    for (int i = 0; i < b->n; i++) {
        struct skiff_tensor *to = scope_var(s, b->names[i]);
        if (to->kind == VALUE_NONE && !to->tensor.data && !value_deferred(to)) {
            value_deinit(to);
            *to = b->loaded[i];
            b->loaded[i] = (struct skiff_tensor){0};
        } else {
            TRY(value_copy(to, &b->loaded[i], err));
        }
    }
    return SKIFF_OK;
}

/* ------------------------------------------------------------------ files and programs */

enum skiff_status io_writer_vars(struct model_writer *w, const struct io_batch *b,
                                 const char *filename, struct skiff_error *err)
{
    if (filename)
        return model_writer_combined(w, filename, b->n, b->names, b->saved, err);
    for (int i = 0; i < b->n; i++)
        TRY(model_writer_value(w, b->names[i], b->saved[i], err));
    return SKIFF_OK;
}

enum skiff_status io_writer_program(struct model_writer *w, const char *file,
                                    const struct skiff_program *p, struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    program_encode(p, &bytes);
    enum skiff_status status = model_writer_bytes(w, file, bytes.data, bytes.len, err);
    buf_deinit(&bytes);
    return status;
}

void io_program_stamp(struct skiff_program *p)
{
    p->paddle_version = p->generation == GEN_2X ? VERSION_2X : VERSION_1X;
    p->has_version = true;
    compat_map_set(p);
}

enum skiff_status io_prefix_check(const char *prefix, struct skiff_error *err)
{
    if (!*io_base_name(prefix))
        return error_set(err, SKIFF_INVALID,
                         "'%s' is no prefix of files: expected folder/name, found no name", prefix);
    return SKIFF_OK;
}
