/* save_persistables, save_inference_model: one worker (worker 0, or the lowest that is left)
 * gathers values from the servers and writes Paddle's files. They are committed together when all
 * are written.
 *
 * Values are read from a snapshot of all servers with a tag, so that training continues meanwhile
 * and the files hold one state; a save without a tag makes its own and drops it, also after an
 * error. Sparse tables have files of their own (fleet_tables.c). */
#include "fleet/epochs.h"
#include "fleet/fleet_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/io.h"
#include "fleet/collect.h"
#include "save/sources.h"

/* ---- files ---- */

static enum skiff_status write_one(const struct collect *g, struct model_writer *w,
                                   const struct skiff_var *v, struct skiff_error *err)
{
    struct file_writer file;
    TRY(model_writer_file(w, v->name, &file, err));
    enum skiff_status status = collect_write(g, v, &file, err);
    if (status < 0) {
        file_writer_close(&file);
        return status;
    }
    return file_writer_commit(&file, err);
}

/* Skips a variable that has no value anywhere, such as a learning rate that was never set. */
static enum skiff_status write_separate(const struct collect *g, struct model_writer *w,
                                        const struct io_vars *vars, struct skiff_error *err)
{
    for (int i = 0; i < vars->n; i++)
        if (!collect_skips(g, vars->v[i]) && collect_has(g, vars->v[i]))
            TRY(write_one(g, w, vars->v[i], err));
    return SKIFF_OK;
}

static enum skiff_status write_combined(const struct collect *g, struct model_writer *w,
                                        const struct io_vars *vars, const char *file,
                                        struct skiff_error *err)
{
    struct file_writer out;
    const char **names = mem_alloc_or_die((size_t)(vars->n + 1) * sizeof(*names));
    int *order = mem_alloc_or_die((size_t)(vars->n + 1) * sizeof(*order));
    enum skiff_status status;
    for (int i = 0; i < vars->n; i++)
        names[i] = vars->v[i]->name;
    model_name_order(vars->n, names, order);
    TRY_OUT(model_writer_file(w, file, &out, err));
    for (int i = 0; status == SKIFF_OK && i < vars->n; i++)
        if (!collect_skips(g, vars->v[order[i]]))
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

static enum skiff_status write_program(struct model_writer *w, const struct fleet_saving *what,
                                       struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    program_encode(what->program, &bytes);
    enum skiff_status status = model_writer_bytes(w, what->model, bytes.data, bytes.len, err);
    buf_deinit(&bytes);
    return status;
}

static bool is_features(const struct collect *g, const char *name)
{
    for (int i = 0; g->plan && i < g->plan->ntables; i++)
        if (g->plan->sparse_table[i] && !strcmp(g->plan->tables[i], name))
            return true;
    return false;
}

/* Sparse tables have files of their own (fleet_tables.c). */
static void list_vars(const struct collect *g, const struct skiff_program *program,
                      enum io_group group, struct io_vars *out)
{
    int n = 0;
    io_vars_list(program, group, out);
    for (int i = 0; i < out->n; i++)
        if (!is_features(g, out->v[i]->name))
            out->v[n++] = out->v[i];
    out->n = n;
}

/* A model must have all that its network reads. */
static enum skiff_status check_has(const struct collect *g, const struct skiff_program *program,
                                   enum io_group group, struct skiff_error *err)
{
    struct io_vars vars;
    enum skiff_status status = SKIFF_OK;
    list_vars(g, program, group, &vars);
    for (int i = 0; i < vars.n && status == SKIFF_OK; i++)
        if (!collect_has(g, vars.v[i]))
            status = error_set(err, SKIFF_NOT_FOUND,
                               "%s cannot be saved: neither a server nor this worker has a value "
                               "of it; was the startup program run?",
                               vars.v[i]->name);
    io_vars_deinit(&vars);
    return status;
}

struct collected {
    struct collect from;
    const struct fleet_saving *what;
};

static enum skiff_status write_values(const struct collect *g, struct model_writer *w,
                                      const struct skiff_program *of, const char *params,
                                      struct skiff_error *err)
{
    struct io_vars vars;
    list_vars(g, of, IO_PERSISTABLES, &vars);
    enum skiff_status status =
        params ? write_combined(g, w, &vars, params, err) : write_separate(g, w, &vars, err);
    io_vars_deinit(&vars);
    return status;
}

static enum skiff_status write_all_rows(const struct collect *g, struct model_writer *w,
                                        const struct skiff_program *of, struct skiff_error *err)
{
    struct io_vars vars;
    enum skiff_status status = SKIFF_OK;
    list_vars(g, of, IO_PERSISTABLES, &vars);
    for (int i = 0; i < vars.n && status == SKIFF_OK; i++)
        status = collect_rows(g, vars.v[i], w, err);
    io_vars_deinit(&vars);
    return status;
}

/* As an epoch of one process: pickles; the model for inference, if there is one, in files. */
static enum skiff_status write_state(const struct collect *g, struct model_writer *w,
                                     const struct fleet_saving *what, struct skiff_error *err)
{
    TRY(check_has(g, what->vars, IO_PARAMS, err));
    TRY(collect_write_state(g, w, what->vars, what->state, err));
    return what->program ? write_values(g, w, what->program, NULL, err) : SKIFF_OK;
}

static enum skiff_status write_all(void *user, struct save *s, struct skiff_error *err)
{
    const struct collected *all = user;
    const struct collect *g = &all->from;
    const struct fleet_saving *what = all->what;
    struct model_writer *w = &s->files;
    if (what->program)
        TRY(check_has(g, what->program, IO_PERSISTABLES, err));
    TRY(what->state ? write_state(g, w, what, err)
                    : write_values(g, w, what->vars, what->params, err));
    TRY(write_all_rows(g, w, what->vars, err));
    if (what->program)
        return write_program(w, what, err);
    /* a model for inference does not need statistics and optimizer states; epochs have no tables */
    return what->state ? SKIFF_OK : collect_records(g, w, err);
}

static enum skiff_status save_tagged(struct skiff_fleet *f, struct session *session,
                                     struct skiff_scope *scope, const char *tag,
                                     const struct fleet_saving *what, struct skiff_error *err)
{
    struct collected all = {.what = what};
    struct save_source sources[] = {{write_all, &all},
                                    {save_write_position, (void *)what->note},
                                    {epochs_write_members, f},
                                    {epochs_write_rpc, f}};
    TRY(collect_init(&all.from, session, f->split, scope, tag, err));
    enum skiff_status status = save_write(&(struct save_plan){.path = what->dir,
                                                              .layout = SAVE_LAYOUT_FOLDER,
                                                              .info = what->note,
                                                              .sources = sources,
                                                              .nsources = what->note ? 4 : 1,
                                                              .attempts = what->attempts},
                                          err);
    collect_deinit(&all.from);
    return status;
}

static enum skiff_status save_now(struct skiff_fleet *f, struct session *s,
                                  struct skiff_scope *scope, const struct fleet_saving *what,
                                  struct skiff_error *err)
{
    char tag[64];
    snprintf(tag, sizeof(tag), "save %u of worker %d", f->saves++, f->role.id);
    TRY(comm_flush(f->job, err));
    TRY(session_tag_now(s, tag, err));
    enum skiff_status status = save_tagged(f, s, scope, tag, what, err);
    enum skiff_status end = session_untag(s, tag, status < 0 ? NULL : err);
    return status < 0 ? status : end;
}

enum skiff_status fleet_save(struct skiff_fleet *f, struct skiff_scope *scope,
                             const struct fleet_saving *what, struct skiff_error *err)
{
    struct session *s = NULL;
    enum skiff_status status;
    if (!fleet_is_alone(f))
        TRY(fleet_need_session(f, "saving", &s, err));
    if (s && !what->tag)
        status = save_now(f, s, scope, what, err);
    else
        status = save_tagged(f, s, scope, what->tag, what, err);
    return status < 0 ? error_prefix(err, status, "saving %s", what->dir) : status;
}

/* ---- ids that wait for admission ---- */

static enum skiff_status save_waiting(struct skiff_fleet *f, struct session *s, const char *tag,
                                      const char *dir, struct skiff_error *err)
{
    struct collect g;
    struct save to;
    int written = 0;
    TRY(collect_init(&g, s, f->split, NULL, tag, err));
    enum skiff_status status = save_begin(&to, dir, SAVE_LAYOUT_FOLDER, err);
    if (status == SKIFF_OK)
        status = collect_waiting(&g, &to.files, &written, err);
    if (status == SKIFF_OK && written)
        status = save_end(&to, status, err);
    else
        save_abort(&to);
    collect_deinit(&g);
    return status;
}

enum skiff_status epochs_save_waiting(struct skiff_fleet *f, const char *dir,
                                      struct skiff_error *err)
{
    char tag[64];
    struct session *s;
    TRY(fleet_need_session(f, "saving", &s, err));
    snprintf(tag, sizeof(tag), "waiting %u of worker %d", f->saves++, f->role.id);
    TRY(session_tag_now(s, tag, err));
    enum skiff_status status = save_waiting(f, s, tag, dir, err);
    enum skiff_status end = session_untag(s, tag, status < 0 ? NULL : err);
    status = status < 0 ? status : end;
    return status < 0 ? error_prefix(err, status, "saving ids that wait, %s", dir) : status;
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

bool fleet_writes(struct skiff_fleet *f, const char *call)
{
    char line[128];
    struct session *s = f->job ? comm_session(f->job) : NULL;
    if (f->role.id == 0 || (s && session_is_lowest(s)))
        return true;
    snprintf(line, sizeof(line), "%s: worker 0 writes the files, this is worker %d", call,
             f->role.id);
    fleet_log(f, LOG_INFO, line);
    return false;
}

enum skiff_status skiff_fleet_save_persistables(struct skiff_fleet *f, struct skiff_scope *scope,
                                                const char *dir, struct skiff_error *err)
{
    struct fleet_saving what = {.dir = dir, .vars = f->origin};
    TRY(need_programs(f, "save_persistables", err));
    if (fleet_is_alone(f))
        return io_save_group(scope, f->main, IO_PERSISTABLES, dir, NULL, err);
    return fleet_writes(f, "save_persistables") ? fleet_save(f, scope, &what, err) : SKIFF_OK;
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
                                     const struct skiff_program *pruned,
                                     const struct epochs_inference *to, struct skiff_error *err)
{
    struct buf dir = BUF_INIT, model = BUF_INIT, params = BUF_INIT;
    struct fleet_saving what = {.dir = to->path,
                                .vars = pruned,
                                .program = pruned,
                                .model = "__model__",
                                .attempts = to->attempts};
    if (to->prefix) {
        prefix_parts(to->path, &dir, &model, &params);
        what.dir = dir.data;
        what.model = model.data;
        what.params = params.data;
    }
    enum skiff_status status = fleet_save(f, scope, &what, err);
    buf_deinit(&dir);
    buf_deinit(&model);
    buf_deinit(&params);
    return status;
}

struct own_inference {
    struct skiff_fleet *fleet;
    struct skiff_scope *scope;
    const struct io_inference *what;
};

static enum skiff_status write_own(void *user, struct save *s, struct skiff_error *err)
{
    const struct own_inference *x = user;
    return io_write_inference(&s->files, x->scope, x->fleet->origin, x->what, NULL, NULL, err);
}

static enum skiff_status save_own(struct skiff_fleet *f, struct skiff_scope *scope,
                                  const struct io_inference *what,
                                  const struct epochs_inference *to, struct skiff_error *err)
{
    struct own_inference x = {f, scope, what};
    if (to->prefix)
        return io_save_inference_prefix(scope, f->origin, what, to->path, err);
    return save_write(&(struct save_plan){.path = to->path,
                                          .layout = SAVE_LAYOUT_FOLDER,
                                          .sources = &(struct save_source){write_own, &x},
                                          .nsources = 1,
                                          .attempts = to->attempts},
                      err);
}

enum skiff_status epochs_save_inference(struct skiff_fleet *f, struct skiff_scope *scope,
                                        const struct io_inference *what,
                                        const struct epochs_inference *to, struct skiff_error *err)
{
    struct skiff_program *pruned;
    TRY(need_programs(f, "save_inference_model", err));
    if (!fleet_writes(f, "save_inference_model"))
        return SKIFF_OK;
    if (to->prefix && (!*to->path || to->path[strlen(to->path) - 1] == '/'))
        return error_set(err, SKIFF_INVALID,
                         "'%s' is no prefix of files: expected folder/name, found no name",
                         to->path);
    if (fleet_is_alone(f))
        return save_own(f, scope, what, to, err);
    TRY(io_inference_program(f->origin, what, to->prefix, &pruned, err));
    enum skiff_status status = save_pruned(f, scope, pruned, to, err);
    program_destroy(pruned);
    return status;
}

enum skiff_status skiff_fleet_save_inference_model(struct skiff_fleet *f, struct skiff_scope *scope,
                                                   const char *const *feeds, int nfeeds,
                                                   const char *const *targets, int ntargets,
                                                   const char *dir_or_prefix, bool is_prefix,
                                                   struct skiff_error *err)
{
    struct io_inference what = {feeds, nfeeds, targets, ntargets};
    return epochs_save_inference(f, scope, &what,
                                 &(struct epochs_inference){dir_or_prefix, is_prefix, NULL}, err);
}
