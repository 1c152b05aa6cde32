#include "inspect/programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "program/op_kind.h"
#include "store/file.h"

static int count_compare(const void *a, const void *b)
{
    const struct op_count *x = a, *y = b;
    return x->n != y->n ? y->n - x->n : strcmp(x->type, y->type);
}

static struct op_count *count_of(struct op_counts *c, struct str_map *at, const struct skiff_op *op)
{
    uintptr_t k = (uintptr_t)str_map_get(at, op->type);
    if (!k) {
        c->at = mem_grow_or_die(c->at, ((size_t)c->n + 1) * sizeof *c->at);
        c->at[c->n] = (struct op_count){op->type, 0, op->kind != NULL};
        k = (uintptr_t)++c->n;
        str_map_put(at, op->type, (void *)k);
    }
    return &c->at[k - 1];
}

void op_counts_init(struct op_counts *out, const struct skiff_program *p)
{
    struct str_map at;
    *out = (struct op_counts){0};
    str_map_init(&at);
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            count_of(out, &at, p->blocks[b]->ops[i])->n++;
    str_map_deinit(&at);
    if (out->n)
        qsort(out->at, (size_t)out->n, sizeof *out->at, count_compare);
}

void op_counts_deinit(struct op_counts *c)
{
    free(c->at);
}

enum skiff_status op_counts_check(const struct op_counts *c, const char *path,
                                  struct skiff_error *err)
{
    struct buf names = BUF_INIT;
    int unknown = 0;
    for (int i = 0; i < c->n; i++)
        if (!c->at[i].known)
            buf_printf(&names, "%s%s", unknown++ ? ", " : "", c->at[i].type);
    enum skiff_status status =
        unknown ? error_set(err, SKIFF_UNSUPPORTED, "%s: %d op types are unknown: %s", path,
                            unknown, names.data)
                : SKIFF_OK;
    buf_deinit(&names);
    return status;
}

struct role_counts role_counts_of(const struct skiff_program *p)
{
    struct role_counts c = {0};
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++, c.ops++) {
            int role = op_role_of(p->blocks[b]->ops[i]);
            if (role == ROLE_UNSPECIFIED || (role & ~ROLE_LOSS) == ROLE_FORWARD)
                c.forward++;
            else if (role & ROLE_LRSCHED)
                c.learning_rate++;
            else if (role & ROLE_OPTIMIZE)
                c.optimize++;
            else if (role & ROLE_BACKWARD)
                c.backward++;
            else
                c.other++;
        }
    return c;
}

struct group_size group_size_of(const struct skiff_program *p, enum io_group group)
{
    struct io_vars vars;
    io_vars_list(p, group, &vars);
    struct group_size size = {.variables = vars.n};
    for (int i = 0; i < vars.n; i++) {
        int64_t n = vars.v[i]->has_tensor ? shape_numel(&vars.v[i]->shape) : 0;
        if (n > 0) {
            size.elements += (uint64_t)n;
            size.bytes += (uint64_t)n * dtype_size(vars.v[i]->dtype);
        }
    }
    io_vars_deinit(&vars);
    return size;
}

enum skiff_status network_values_open_files(struct network_values *m, const char *path,
                                            const char *model, const char *params,
                                            struct skiff_error *err)
{
    *m = (struct network_values){.scope = scope_create()};
    return io_load_inference(m->scope, path, model, params, &m->model, err);
}

/* Where the network of a layout is, with its parameters: a prefix or a folder. */
static char *network_of(const struct save_contents *c)
{
    return c->stem                           ? path_join(c->dir, c->stem)
           : c->layout == SAVE_LAYOUT_TABLES ? path_join(c->dir, SAVE_NETWORK)
                                             : mem_strdup_or_die(c->dir);
}

enum skiff_status network_values_open(struct network_values *m, const struct save_contents *c,
                                      struct skiff_error *err)
{
    /* the values of training, not those for inference, are in x.pdparams and x.pdopt */
    bool state = c->layout == SAVE_LAYOUT_STATE;
    char *network = network_of(c);
    *m = (struct network_values){.scope = scope_create()};
    enum skiff_status status =
        io_load_inference(state ? NULL : m->scope, network, NULL, NULL, &m->model, err);
    if (status == SKIFF_OK && state)
        status = io_load(m->scope, m->model.program, network, err);
    free(network);
    return status;
}

void network_values_close(struct network_values *m)
{
    io_model_deinit(&m->model);
    scope_destroy(m->scope);
}

enum skiff_status saved_program_read(const char *path, struct skiff_program **out,
                                     struct skiff_error *err)
{
    struct skiff_model m = {0};
    if (!file_is_dir(path))
        return io_program_read(path, out, err);
    TRY(io_load_inference(NULL, path, NULL, NULL, &m, err));
    *out = m.program;
    m.program = NULL;
    io_model_deinit(&m);
    return SKIFF_OK;
}
