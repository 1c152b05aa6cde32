/* save_inference_model, both generations. */
#include <stdlib.h>

#include "io/io_parts.h"
#include "passes/prune.h"
#include "save/save.h"

#define MODEL_FILE "__model__"

/* Persistables of the pruned program, then the program. */
static enum skiff_status inference_parts(struct model_writer *w, const struct skiff_scope *s,
                                         const struct skiff_program *pruned, const char *model_file,
                                         const char *params_file, struct skiff_error *err)
{
    struct io_vars vars;
    struct io_batch b;
    io_vars_list(pruned, IO_PERSISTABLES, &vars);
    io_batch_init(&b, &vars);
    enum skiff_status status = io_batch_collect(&b, s, err);
    if (status == SKIFF_OK)
        status = io_writer_vars(w, &b, params_file, err);
    if (status == SKIFF_OK)
        status = io_writer_program(w, model_file, pruned, err);
    io_batch_deinit(&b);
    io_vars_deinit(&vars);
    return status;
}

/* 2.x drops what only training or a debugger needs. */
static void training_info_remove(struct skiff_program *p)
{
    for (int b = 0; b < p->nblocks; b++) {
        struct skiff_block *block = p->blocks[b];
        for (size_t i = 0; i < block->vars.count; i++) {
            struct skiff_var *v = block->vars.entries[i].value;
            v->is_parameter = PRESENCE_ABSENT;
            v->has_stop_gradient = PRESENCE_ABSENT;
        }
        for (int i = 0; i < block->nops; i++)
            op_remove_attr(block->ops[i], "op_callstack");
    }
}

enum skiff_status io_inference_program(const struct skiff_program *p,
                                       const struct io_inference *what, bool prefix,
                                       struct skiff_program **out, struct skiff_error *err)
{
    TRY(prune_for_inference(p, what->feeds, what->nfeeds, what->targets, what->ntargets, out, err));
    io_program_stamp(*out);
    if (prefix)
        training_info_remove(*out);
    return SKIFF_OK;
}

enum skiff_status io_write_inference(struct model_writer *w, const struct skiff_scope *s,
                                     const struct skiff_program *p, const struct io_inference *what,
                                     const char *model_filename, const char *params_filename,
                                     struct skiff_error *err)
{
    struct skiff_program *pruned;
    TRY(io_inference_program(p, what, false, &pruned, err));
    enum skiff_status status =
        inference_parts(w, s, pruned, model_filename ? io_base_name(model_filename) : MODEL_FILE,
                        params_filename ? io_base_name(params_filename) : NULL, err);
    program_destroy(pruned);
    return status;
}

enum skiff_status io_save_inference_dir(const struct skiff_scope *s, const struct skiff_program *p,
                                        const struct io_inference *what, const char *dir,
                                        const char *model_filename, const char *params_filename,
                                        struct skiff_error *err)
{
    struct save to;
    TRY(save_begin(&to, dir, SAVE_LAYOUT_FOLDER, err));
    return save_end(
        &to, io_write_inference(&to.files, s, p, what, model_filename, params_filename, err), err);
}

enum skiff_status io_save_inference_prefix(const struct skiff_scope *s,
                                           const struct skiff_program *p,
                                           const struct io_inference *what, const char *prefix,
                                           struct skiff_error *err)
{
    TRY(io_prefix_check(prefix, err));
    struct save to;
    struct skiff_program *pruned;
    TRY(io_inference_program(p, what, true, &pruned, err));
    char *model = io_join(io_base_name(prefix), ".", "pdmodel"),
         *params = io_join(io_base_name(prefix), ".", "pdiparams");
    enum skiff_status status = save_begin(&to, prefix, SAVE_LAYOUT_PREFIX, err);
    if (status == SKIFF_OK)
        status = save_end(&to, inference_parts(&to.files, s, pruned, model, params, err), err);
    free(model);
    free(params);
    program_destroy(pruned);
    return status;
}
