/* Which variables stand in a file of many tensors. */
#include <stdlib.h>

#include "base/mem.h"
#include "io/io_parts.h"

static const struct {
    enum io_group group;
    const char *what;
} groups[] = {{IO_PERSISTABLES, "persistable variables"},
              {IO_PARAMS, "parameters"},
              {IO_NETWORK, "variables of the network alone"}};

#define NGROUPS (int)(sizeof groups / sizeof *groups)

/* order NULL: as the program has them. The first tensor that is another one than expected. */
static enum skiff_status fits(const char *path, const struct tensor_location *locations,
                              const struct io_source *source, const struct io_vars *vars,
                              const int *order, struct skiff_error *err)
{
    for (int i = 0; i < vars->n; i++) {
        int k = order ? order[i] : i;
        struct skiff_tensor v = {
            .kind = VALUE_TENSOR,
            .tensor = {.dtype = locations[i].dtype, .shape = locations[i].shape}};
        enum skiff_status status =
            io_value_check(source->program, vars->v[k], vars->is_param[k], &v, path, err);
        if (status < 0)
            return error_prefix(err, status, "tensor %d of %d", i + 1, vars->n);
    }
    return SKIFF_OK;
}

static void name_sorted(const struct io_vars *vars, int *order)
{
    const char **names = mem_alloc_or_die((size_t)(vars->n + 1) * sizeof *names);
    for (int i = 0; i < vars->n; i++)
        names[i] = vars->v[i]->name;
    model_name_order(vars->n, names, order);
    free(names);
}

/* Does the list fit, one way or the other? err: why it does not in the order of names. */
static enum skiff_status list_try(const char *path, const struct tensor_location *locations,
                                  const struct io_source *source, const struct io_vars *vars,
                                  const char **names, struct skiff_error *err)
{
    int *order = mem_alloc_or_die((size_t)(vars->n + 1) * sizeof *order);
    name_sorted(vars, order);
    enum skiff_status status = fits(path, locations, source, vars, order, err);
    if (status < 0 && fits(path, locations, source, vars, NULL, NULL) == SKIFF_OK) {
        for (int i = 0; i < vars->n; i++)
            order[i] = i;
        status = SKIFF_OK;
    }
    for (int i = 0; i < vars->n && status == SKIFF_OK; i++)
        names[i] = vars->v[order[i]]->name;
    free(order);
    return status;
}

enum skiff_status io_combined_names(const char *path, const struct tensor_location *locations,
                                    int n, const struct io_source *sources, int nsources,
                                    const char **names, struct skiff_error *err)
{
    struct buf expected = BUF_INIT, why = BUF_INIT;
    enum skiff_status status = SKIFF_SHAPE;
    for (int k = 0; k < nsources * NGROUPS && status < 0; k++) {
        const struct io_source *source = &sources[k / NGROUPS];
        struct io_vars vars;
        struct skiff_error no = {0};
        io_vars_list(source->program, groups[k % NGROUPS].group, &vars);
        if (vars.n == n) {
            status = list_try(path, locations, source, &vars, names, &no);
            if (status < 0 && !why.len)
                buf_printf(&why, "as the %s of %s: %s", groups[k % NGROUPS].what, source->what,
                           no.message);
        }
        buf_printf(&expected, "%s%d (the %s of %s)", k ? ", " : "", vars.n,
                   groups[k % NGROUPS].what, source->what);
        io_vars_deinit(&vars);
    }
    if (status < 0)
        status = why.len
                     ? error_set(err, SKIFF_SHAPE, "%s", why.data)
                     : error_set(err, SKIFF_SHAPE, "%s holds %d tensors and no names; expected %s",
                                 path, n, nsources ? expected.data : "a program beside it");
    buf_deinit(&expected);
    buf_deinit(&why);
    return status;
}
