/* The public face of io/io.h (<skiff/io.h>): loading and saving parameters, models and programs.
 * Arguments are checked and passed on; formats, order of files and atomic commits are io's and
 * store's.
 *
 * What a loaded program may do besides computing (read files, join a job) is decided here, by
 * skiff_program_allow and skiff_model_allow: a file alone allows nothing. */
#include <skiff/io.h>

#include <stdlib.h>

#include "base/mem.h"
#include "io/io.h"
#include "program/rights.h"
#include "store/file.h"

enum skiff_status skiff_save_params(struct skiff_scope *s, const struct skiff_program *p,
                                    const char *dir, const char *filename, struct skiff_error *err)
{
    return io_save_group(s, p, IO_PARAMS, dir, filename, err);
}

enum skiff_status skiff_load_params(struct skiff_scope *s, const struct skiff_program *p,
                                    const char *dir, const char *filename, struct skiff_error *err)
{
    return io_load_group(s, p, IO_PARAMS, dir, filename, err);
}

enum skiff_status skiff_save_persistables(struct skiff_scope *s, const struct skiff_program *p,
                                          const char *dir, const char *filename,
                                          struct skiff_error *err)
{
    return io_save_group(s, p, IO_PERSISTABLES, dir, filename, err);
}

enum skiff_status skiff_load_persistables(struct skiff_scope *s, const struct skiff_program *p,
                                          const char *dir, const char *filename,
                                          struct skiff_error *err)
{
    return io_load_group(s, p, IO_PERSISTABLES, dir, filename, err);
}

enum skiff_status skiff_save_vars(struct skiff_scope *s, const struct skiff_program *p,
                                  const char *const *names, int n, const char *dir,
                                  const char *filename, struct skiff_error *err)
{
    struct io_vars vars;
    io_vars_list(p, IO_PERSISTABLES, &vars);
    enum skiff_status status = io_vars_pick(&vars, names, n, err);
    if (status == SKIFF_OK)
        status = io_save_vars(s, &vars, dir, filename, err);
    io_vars_deinit(&vars);
    return status;
}

enum skiff_status skiff_load_vars(struct skiff_scope *s, const struct skiff_program *p,
                                  const char *const *names, int n, const char *dir,
                                  const char *filename, struct skiff_error *err)
{
    struct io_vars vars;
    io_vars_list(p, IO_PERSISTABLES, &vars);
    enum skiff_status status = io_vars_pick(&vars, names, n, err);
    if (status == SKIFF_OK)
        status = io_load_vars(s, p, &vars, dir, filename, err);
    io_vars_deinit(&vars);
    return status;
}

enum skiff_status skiff_save(struct skiff_scope *s, const struct skiff_program *p,
                             const char *prefix, struct skiff_error *err)
{
    return io_save(s, p, prefix, err);
}

enum skiff_status skiff_load(struct skiff_scope *s, const struct skiff_program *p,
                             const char *prefix, struct skiff_error *err)
{
    return io_load(s, p, prefix, err);
}

enum skiff_status skiff_save_inference_model(struct skiff_scope *s, const struct skiff_program *p,
                                             const char *const *feeds, int nfeeds,
                                             const char *const *targets, int ntargets,
                                             const char *dir, struct skiff_error *err)
{
    struct io_inference what = {feeds, nfeeds, targets, ntargets};
    return io_save_inference_dir(s, p, &what, dir, NULL, NULL, err);
}

enum skiff_status skiff_save_inference_files(struct skiff_scope *s, const struct skiff_program *p,
                                             const char *const *feeds, int nfeeds,
                                             const char *const *targets, int ntargets,
                                             const char *dir, const struct skiff_model_files *files,
                                             struct skiff_error *err)
{
    struct io_inference what = {feeds, nfeeds, targets, ntargets};
    return io_save_inference_dir(s, p, &what, dir, files ? files->model : NULL,
                                 files ? files->params : NULL, err);
}

enum skiff_status skiff_save_inference_prefix(struct skiff_scope *s, const struct skiff_program *p,
                                              const char *const *feeds, int nfeeds,
                                              const char *const *targets, int ntargets,
                                              const char *prefix, struct skiff_error *err)
{
    struct io_inference what = {feeds, nfeeds, targets, ntargets};
    return io_save_inference_prefix(s, p, &what, prefix, err);
}

enum skiff_status skiff_load_inference_model(struct skiff_scope *s, const char *path,
                                             const struct skiff_model_files *files,
                                             struct skiff_model **out, struct skiff_error *err)
{
    struct skiff_model *m = mem_alloc_or_die(sizeof(*m));
    enum skiff_status status = io_load_inference(s, path, files ? files->model : NULL,
                                                 files ? files->params : NULL, m, err);
    if (status < 0) {
        free(m);
        return status;
    }
    *out = m;
    return SKIFF_OK;
}

void skiff_model_destroy(struct skiff_model *m)
{
    if (!m)
        return;
    io_model_deinit(m);
    free(m);
}

const struct skiff_program *skiff_model_program(const struct skiff_model *m)
{
    return m->program;
}

int skiff_model_feeds(const struct skiff_model *m)
{
    return m->nfeeds;
}

const char *skiff_model_feed(const struct skiff_model *m, int i)
{
    return i >= 0 && i < m->nfeeds ? m->feeds[i] : NULL;
}

int skiff_model_targets(const struct skiff_model *m)
{
    return m->nfetches;
}

const char *skiff_model_target(const struct skiff_model *m, int i)
{
    return i >= 0 && i < m->nfetches ? m->fetches[i] : NULL;
}

enum skiff_status skiff_model_recover(const char *folder, struct skiff_error *err)
{
    return model_recover(*folder ? folder : ".", err);
}

enum skiff_status skiff_program_read(const char *path, struct skiff_program **out,
                                     struct skiff_error *err)
{
    return io_program_read(path, out, err);
}

enum skiff_status skiff_program_allow(struct skiff_program *p, const char *ops, const char *dir,
                                      struct skiff_error *err)
{
    return program_allow(p, ops, dir, err);
}

enum skiff_status skiff_model_allow(struct skiff_model *m, const char *ops, const char *dir,
                                    struct skiff_error *err)
{
    return program_allow(m->program, ops, dir, err);
}

enum skiff_status skiff_program_write(const struct skiff_program *p, const char *path,
                                      struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    program_encode(p, &bytes);
    enum skiff_status status = model_file_close(path, err);
    if (status == SKIFF_OK)
        status = file_write(path, bytes.data, bytes.len, err);
    buf_deinit(&bytes);
    return status;
}
