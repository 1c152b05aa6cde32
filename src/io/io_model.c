/* load_inference_model, both generations: 1.x has a folder with __model__ and parameters, 2.x a
 * prefix with .pdmodel and .pdiparams. The inputs and outputs of a model are the feed and fetch ops
 * of its program, each with a column.
 *
 * An interrupted save is completed or undone before (model_recover), and a folder that is replaced
 * while it is read is read again: program and parameters are of one save. *out changes only on
 * success. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/io_parts.h"
#include "program/op_kind.h"
#include "store/file.h"

#define MODEL_FILE "__model__"

enum skiff_status io_read_program(const struct model_reader *r, const char *file,
                                  struct skiff_program **out, struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    const struct file_sum *want;
    TRY(model_reader_sum(r, file, &want, err));
    char *path = io_join(r->dir, "/", file);
    enum skiff_status status = file_read_checked(path, want, &bytes, err);
    /* no ProgramDesc begins with this: 'p' would be field 14 */
    if (status == SKIFF_OK)
        status = bytes.len >= 8 && !memcmp(bytes.data, "program ", 8)
                     ? program_parse(bytes.data, path, out, err)
                     : program_decode(bytes.data, bytes.len, path, out, err);
    buf_deinit(&bytes);
    free(path);
    return status;
}

enum skiff_status io_program_read(const char *path, struct skiff_program **out,
                                  struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    char *dir = path_parent(path);
    enum skiff_status status;
    do {
        TRY_OUT(model_reader_open(&r, dir, io_base_name(path), err));
        status = io_read_program(&r, io_base_name(path), out, err);
    } while (model_reader_close(&r, status));
out:
    free(dir);
    return status;
}

void io_model_deinit(struct skiff_model *m)
{
    program_destroy(m->program);
    *m = (struct skiff_model){0};
}

/* names[col] for every op of the class; columns must be 0..n-1, each once. */
static enum skiff_status targets_of(struct skiff_program *p, enum op_class class, bool out_side,
                                    const char ***out_names, int *out_n, struct skiff_error *err)
{
    const struct skiff_block *root = program_root(p);
    int n = 0;
    for (int i = 0; i < root->nops; i++)
        n += op_is(root->ops[i], class);
    const char **names = arena_alloc(&p->arena, (size_t)(n + 1) * sizeof *names);
    for (int i = 0; i < root->nops; i++) {
        const struct skiff_op *op = root->ops[i];
        if (!op_is(op, class))
            continue;
        const struct op_attr_value *col = op_attr(op, "col");
        const char *name = out_side ? op_out1(op, "Out") : op_in1(op, "X");
        int at = col && col->type == ATTR_INT ? col->value.i : -1;
        if (!name || at < 0 || at >= n || names[at])
            return error_set(
                err, SKIFF_FORMAT,
                "op %d (%s): its column is %d, expected each of 0 to %d once, with one "
                "variable",
                i, op->type, at, n - 1);
        names[at] = name;
    }
    *out_names = names;
    *out_n = n;
    return SKIFF_OK;
}

enum skiff_status io_model_targets(struct skiff_model *m, struct skiff_error *err)
{
    TRY(targets_of(m->program, CLASS_FEED, true, &m->feeds, &m->nfeeds, err));
    return targets_of(m->program, CLASS_FETCH, false, &m->fetches, &m->nfetches, err);
}

/* Where the two parts of a model are. */
struct model_location {
    char *dir;
    char *model;  /* file of the program in dir */
    char *params; /* of the parameters, or NULL: one file each */
};

static void location_deinit(struct model_location *m)
{
    free(m->model);
    free(m->dir);
    free(m->params);
}

static bool has(const char *dir, const char *file)
{
    char *path = io_join(dir, "/", file);
    bool there = file_exists(path);
    free(path);
    return there;
}

/* 2.x takes the names without their endings too. `first`: the one with the ending wins. */
static char *file_name(const char *dir, const char *name, const char *ending, bool first)
{
    char *shorter = mem_strdup_or_die(io_base_name(name)), *longer = io_join(shorter, ".", ending);
    bool take = has(dir, longer) && (first || !has(dir, shorter));
    free(take ? shorter : longer);
    return take ? longer : shorter;
}

static void location_find(const char *path, const char *model_filename, const char *params_filename,
                          struct model_location *out)
{
    if (model_filename || params_filename || file_is_dir(path)) {
        out->dir = mem_strdup_or_die(path);
        out->model = model_filename ? file_name(path, model_filename, "pdmodel", false)
                                    : mem_strdup_or_die(MODEL_FILE);
        out->params = params_filename ? file_name(path, params_filename, "pdiparams", true) : NULL;
        return;
    }
    char *stem = model_prefix_of(path);
    out->dir = path_parent(stem);
    out->model = io_join(io_base_name(stem), ".", "pdmodel");
    out->params = io_join(io_base_name(stem), ".", "pdiparams");
    free(stem);
}

static enum skiff_status model_read(const struct model_reader *r, struct skiff_scope *s,
                                    const struct model_location *location, struct skiff_model *m,
                                    struct skiff_error *err)
{
    TRY(io_read_program(r, location->model, &m->program, err));
    enum skiff_status status = io_model_targets(m, err);
    if (status < 0)
        return error_prefix(err, status, "%s/%s", r->dir, location->model);
    struct io_vars vars;
    io_vars_list(m->program, IO_PERSISTABLES, &vars);
    if (s && vars.n)
        status = io_read_vars(r, s, m->program, &vars, location->params, err);
    io_vars_deinit(&vars);
    return status;
}

enum skiff_status io_load_inference(struct skiff_scope *s, const char *path,
                                    const char *model_filename, const char *params_filename,
                                    struct skiff_model *out, struct skiff_error *err)
{
    struct model_location location = {0};
    struct model_reader r = MODEL_READER_INIT;
    struct skiff_model m = {0};
    char *dir = file_is_dir(path) ? mem_strdup_or_die(path) : path_parent(path);
    enum skiff_status status = model_recover(dir, err);
    free(dir);
    location_find(path, model_filename, params_filename, &location);
    if (status < 0)
        goto out;
    do {
        io_model_deinit(&m);
        TRY_OUT(model_reader_open(&r, location.dir, location.model, err));
        status = model_read(&r, s, &location, &m, err);
    } while (model_reader_close(&r, status));
    if (status == SKIFF_OK) {
        *out = m;
        m = (struct skiff_model){0};
    }
out:
    io_model_deinit(&m);
    location_deinit(&location);
    return status;
}
