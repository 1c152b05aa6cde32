/* Variables that servers hold as the pickles and the program of fluid.save: the layout of epochs,
 * whatever the home of their values was.
 *
 * What servers have is poured into the file a few megabytes at a time (collect.c). What only this
 * worker has, such as a learning rate, is copied first: its training threads may change it. */
#include <stdlib.h>

#include "base/mem.h"
#include "fleet/collect.h"
#include "io/io.h"
#include "store/state.h"
#include "tensor/tensor.h"

struct poured {
    struct state_stream stream;
    const struct collect *from;
    const struct skiff_var *v;
};

static enum skiff_status pour(const struct state_stream *self, const struct byte_sink *to,
                              struct skiff_error *err)
{
    const struct poured *p = (const struct poured *)self;
    return collect_pour(p->from, p->v, to, err);
}

static enum skiff_status add_variable(const struct collect *c, const struct skiff_var *v,
                                      struct poured *space, struct state *to,
                                      struct skiff_error *err)
{
    if (collect_skips(c, v) || !collect_has(c, v))
        return SKIFF_OK;
    struct state_entry *e = state_add(to, v->name);
    if (collect_is_own(c, v))
        return tensor_copy(&e->tensor, &collect_own(c, v)->tensor, err);
    *space = (struct poured){{pour}, c, v};
    e->stream = &space->stream;
    return collect_head(v, &e->tensor, err);
}

struct collected_values {
    const struct collect *from;
    const struct skiff_program *program;
};

static enum skiff_status write_pickle(void *user, struct model_writer *w, const char *file,
                                      enum io_group group, struct skiff_error *err)
{
    const struct collected_values *values = user;
    struct io_vars vars;
    struct state state;
    enum skiff_status status = SKIFF_OK;
    io_vars_list(values->program, group, &vars);
    state_init(&state);
    state.newer = values->program->generation == GEN_2X;
    struct poured *space = mem_alloc_or_die((size_t)(vars.n + 1) * sizeof *space);
    for (int i = 0; i < vars.n && status == SKIFF_OK; i++)
        status = add_variable(values->from, vars.v[i], &space[i], &state, err);
    if (status == SKIFF_OK)
        status = model_writer_pickle(w, file, &state, err);
    free(space);
    state_deinit(&state);
    io_vars_deinit(&vars);
    return status;
}

enum skiff_status collect_write_state(const struct collect *c, struct model_writer *w,
                                      const struct skiff_program *p, const char *base,
                                      struct skiff_error *err)
{
    struct collected_values values = {c, p};
    return io_write_state_of(w, p, base, &(struct io_pickles){write_pickle, &values}, err);
}
