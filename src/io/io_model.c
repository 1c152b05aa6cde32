/* load_inference_model, both generations. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/io_parts.h"
#include "store/file.h"

#define MODEL_FILE "__model__"

enum skiff_status io_program_read(const char *path, struct skiff_program **out,
                                  struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    TRY(file_read(path, &bytes, err));
    /* no ProgramDesc begins with this: 'p' would be field 14 */
    enum skiff_status status = bytes.len >= 8 && !memcmp(bytes.data, "program ", 8)
                                   ? program_parse(bytes.data, path, out, err)
                                   : program_decode(bytes.data, bytes.len, path, out, err);
    buf_deinit(&bytes);
    return status;
}

void io_model_deinit(struct skiff_model *m)
{
    program_destroy(m->program);
    *m = (struct skiff_model){0};
}

/* names[col] for every op of the type; columns must be 0..n-1, each once. */
static enum skiff_status targets_of(struct skiff_program *p, const char *type, bool out_side,
                                    const char ***out_names, int *out_n, struct skiff_error *err)
{
    const struct skiff_block *root = program_root(p);
    int n = 0;
    for (int i = 0; i < root->nops; i++)
        n += !strcmp(root->ops[i]->type, type);
    const char **names = arena_alloc(&p->arena, (size_t)(n + 1) * sizeof *names);
    for (int i = 0; i < root->nops; i++) {
        const struct skiff_op *op = root->ops[i];
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

enum skiff_status io_model_targets(struct skiff_model *m, struct skiff_error *err)
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
    buf_printf(&b, "%s/%s%s", dir, io_base_name(name), ending);
    return b.data;
}

static void place_find(const char *path, const char *model_filename, const char *params_filename,
                       struct model_place *out)
{
    if (model_filename || params_filename || file_is_dir(path)) {
        out->dir = mem_must_strdup(path);
        out->model = file_in(path, model_filename ? model_filename : MODEL_FILE, "");
        out->params = params_filename ? mem_must_strdup(io_base_name(params_filename)) : NULL;
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
            out->params = mem_must_strdup(io_base_name(longer));
        }
        free(longer);
        return;
    }
    char *stem = io_prefix_strip(path);
    out->dir = io_dir_name(stem);
    out->model = io_join(stem, ".", "pdmodel");
    out->params = io_join(io_base_name(stem), ".", "pdiparams");
    free(stem);
}

enum skiff_status io_load_inference(struct skiff_scope *s, const char *path,
                                    const char *model_filename, const char *params_filename,
                                    struct skiff_model *out, struct skiff_error *err)
{
    struct model_place place = {0};
    struct skiff_model m = {0};
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
    m = (struct skiff_model){0};
out:
    io_model_deinit(&m);
    place_deinit(&place);
    return status;
}
