/* save_persistables, save_inference_model: worker 0 gathers from the servers and writes Paddle's
 * files. Everything appears when all of it is written. */
#include "fleet/fleet_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/io.h"
#include "fleet/collect.h"
#include "store/model_dir.h"

/* ---- files ---- */

static enum skiff_status write_one(const struct collect *g, struct model_writer *w,
                                   const struct skiff_var *v, struct skiff_error *err)
{
    struct file_writer file;
    char *path;
    TRY(model_writer_add(w, v->name, &path, err));
    enum skiff_status status = file_writer_open(&file, path, err);
    free(path);
    if (status < 0)
        return status;
    status = collect_write(g, v, &file, err);
    if (status < 0) {
        file_writer_close(&file);
        return status;
    }
    return file_writer_commit(&file, err);
}

/* A variable that nobody has is left out when the program was not pruned: a learning rate that was
 * never set, say. */
static enum skiff_status write_separate(const struct collect *g, struct model_writer *w,
                                        const struct io_vars *vars, bool all,
                                        struct skiff_error *err)
{
    for (int i = 0; i < vars->n; i++)
        if (all || collect_has(g, vars->v[i]))
            TRY(write_one(g, w, vars->v[i], err));
    return SKIFF_OK;
}

static enum skiff_status write_combined(const struct collect *g, struct model_writer *w,
                                        const struct io_vars *vars, const char *file,
                                        struct skiff_error *err)
{
    struct file_writer out;
    char *path;
    const char **names = mem_must((size_t)(vars->n + 1) * sizeof(*names));
    int *order = mem_must((size_t)(vars->n + 1) * sizeof(*order));
    enum skiff_status status;
    for (int i = 0; i < vars->n; i++)
        names[i] = vars->v[i]->name;
    model_name_order(vars->n, names, order);
    TRY_OUT(model_writer_add(w, file, &path, err));
    status = file_writer_open(&out, path, err);
    free(path);
    if (status < 0)
        goto out;
    for (int i = 0; status == SKIFF_OK && i < vars->n; i++)
        status = collect_write(g, vars->v[order[i]], &out, err);
    if (status == SKIFF_OK)
        status = file_writer_commit(&out, err);
    else
        file_writer_close(&out);
out:
    free(names);
    free(order);
    return status;
}

struct saving {
    const char *dir;
    const struct skiff_program *vars;    /* whose persistables */
    const char *params;                  /* one file for all; NULL: one each */
    const struct skiff_program *program; /* to be written, too; NULL: none */
    const char *model;                   /* its file */
};

static enum skiff_status write_program(struct model_writer *w, const struct saving *what,
                                       struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    program_encode(what->program, &bytes);
    enum skiff_status status = model_writer_bytes(w, what->model, bytes.data, bytes.len, err);
    buf_deinit(&bytes);
    return status;
}

static enum skiff_status save(struct skiff_fleet *f, struct session *session,
                              struct skiff_scope *scope, const struct saving *what,
                              struct skiff_error *err)
{
    struct collect g;
    struct model_writer w;
    struct io_vars vars;
    TRY(comm_settle(f->job, err));
    TRY(collect_init(&g, session, f->split, scope, err));
    io_vars_list(what->vars, IO_PERSISTABLES, &vars);
    enum skiff_status status = model_writer_open(&w, what->dir, err);
    if (status == SKIFF_OK) {
        status = what->params ? write_combined(&g, &w, &vars, what->params, err)
                              : write_separate(&g, &w, &vars, what->program != NULL, err);
        if (status == SKIFF_OK && what->program)
            status = write_program(&w, what, err);
        if (status == SKIFF_OK)
            status = model_writer_commit(&w, err);
        else
            model_writer_close(&w);
    }
    io_vars_deinit(&vars);
    collect_deinit(&g);
    return status < 0 ? error_prefix(err, status, "saving %s", what->dir) : status;
}

/* ---- calls ---- */

static enum skiff_status need_programs(const struct skiff_fleet *f, const char *call,
                                       struct skiff_error *err)
{
    TRY(fleet_need_init(f, call, err));
    if (f->role.kind != SKIFF_WORKER)
        return error_set(err, SKIFF_STATE, "%s is for workers; this process is server %d", call,
                         f->role.id);
    if (!f->main)
        return error_set(err, SKIFF_STATE,
                         "%s: there is no program yet; call distributed_optimizer(...).minimize "
                         "first",
                         call);
    return SKIFF_OK;
}

/* Every worker may call; all but the first are done with it. */
static bool writes(const struct skiff_fleet *f, const char *call)
{
    char line[128];
    snprintf(line, sizeof(line), "%s: worker 0 writes the files, this is worker %d", call,
             f->role.id);
    if (f->role.id && f->say)
        f->say(f->user, line);
    return f->role.id == 0;
}

enum skiff_status skiff_fleet_save_persistables(struct skiff_fleet *f, struct skiff_scope *scope,
                                                const char *dir, struct skiff_error *err)
{
    struct session *session;
    struct saving what = {.dir = dir, .vars = f->origin};
    TRY(need_programs(f, "save_persistables", err));
    if (fleet_is_alone(f))
        return io_save_group(scope, f->main, IO_PERSISTABLES, dir, NULL, err);
    if (!writes(f, "save_persistables"))
        return SKIFF_OK;
    TRY(fleet_need_session(f, "save_persistables", &session, err));
    return save(f, session, scope, &what, err);
}

/* "a/b/name" to the folder and the two files. */
static void prefix_parts(const char *prefix, struct buf *dir, struct buf *model, struct buf *params)
{
    const char *slash = strrchr(prefix, '/'), *name = slash ? slash + 1 : prefix;
    buf_printf(dir, "%.*s", slash ? (int)(slash - prefix + (slash == prefix)) : 1,
               slash ? prefix : ".");
    buf_printf(model, "%s.pdmodel", name);
    buf_printf(params, "%s.pdiparams", name);
}

static enum skiff_status save_pruned(struct skiff_fleet *f, struct skiff_scope *scope,
                                     const struct skiff_program *pruned, const char *where,
                                     bool prefix, struct skiff_error *err)
{
    struct session *session;
    struct buf dir = BUF_INIT, model = BUF_INIT, params = BUF_INIT;
    struct saving what = {.dir = where, .vars = pruned, .program = pruned, .model = "__model__"};
    TRY(fleet_need_session(f, "save_inference_model", &session, err));
    if (prefix) {
        prefix_parts(where, &dir, &model, &params);
        what.dir = dir.data;
        what.model = model.data;
        what.params = params.data;
    }
    enum skiff_status status = save(f, session, scope, &what, err);
    buf_deinit(&dir);
    buf_deinit(&model);
    buf_deinit(&params);
    return status;
}

enum skiff_status skiff_fleet_save_inference_model(struct skiff_fleet *f, struct skiff_scope *scope,
                                                   const char *const *feeds, int nfeeds,
                                                   const char *const *targets, int ntargets,
                                                   const char *dir_or_prefix, bool is_prefix,
                                                   struct skiff_error *err)
{
    struct io_inference what = {feeds, nfeeds, targets, ntargets};
    struct skiff_scope *s = scope;
    struct skiff_program *pruned;
    TRY(need_programs(f, "save_inference_model", err));
    if (!writes(f, "save_inference_model"))
        return SKIFF_OK;
    if (is_prefix && (!*dir_or_prefix || dir_or_prefix[strlen(dir_or_prefix) - 1] == '/'))
        return error_set(err, SKIFF_INVALID,
                         "'%s' is no prefix of files: expected folder/name, found no name",
                         dir_or_prefix);
    if (fleet_is_alone(f))
        return is_prefix
                   ? io_save_inference_prefix(s, f->origin, &what, dir_or_prefix, err)
                   : io_save_inference_dir(s, f->origin, &what, dir_or_prefix, NULL, NULL, err);
    TRY(io_inference_program(f->origin, &what, is_prefix, &pruned, err));
    enum skiff_status status = save_pruned(f, s, pruned, dir_or_prefix, is_prefix, err);
    program_destroy(pruned);
    return status;
}
