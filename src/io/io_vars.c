/* Which variables of a program are parameters, persistables, state.
 *
 * Programs of 1.x files do not say which variables are parameters, and a guess by name would be
 * wrong for whoever names his own. So one walk over all ops notes how each variable is used, and
 * the rule of io.h is a question of these flags. Programs that say it themselves are believed. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/io.h"

enum use {
    USE_READ = 1,      /* by an op of the network itself */
    USE_UPDATED = 2,   /* Param of an optimizer op */
    USE_OPTIMIZER = 4, /* any other input of an optimizer op */
    USE_WRITTEN = 8,
};

static void use_mark(struct str_map *uses, const char *name, uintptr_t flag)
{
    str_map_put(uses, name, (void *)((uintptr_t)str_map_get(uses, name) | flag));
}

/* Is output `slot` the in-place successor of an input: "MeanOut" of "Mean"
 * with the same variable? */
static bool is_state_out(const struct skiff_op *op, const char *slot, const char *name)
{
    size_t n = strlen(slot);
    if (n < 4 || strcmp(slot + n - 3, "Out"))
        return false;
    for (int i = 0; i < op->nins; i++)
        if (strlen(op->ins[i].slot) == n - 3 && !strncmp(op->ins[i].slot, slot, n - 3))
            for (int k = 0; k < op->ins[i].n; k++)
                if (!strcmp(op->ins[i].names[k], name))
                    return true;
    return false;
}

static void uses_of_op(const struct skiff_op *op, struct str_map *uses)
{
    bool updates = op_in(op, "Param") && op_out(op, "ParamOut");
    int role = op_role_of(op);
    bool network = role == ROLE_UNSPECIFIED || !(role & (ROLE_OPTIMIZE | ROLE_LRSCHED));
    for (int i = 0; i < op->nins; i++)
        for (int k = 0; k < op->ins[i].n; k++) {
            const char *slot = op->ins[i].slot, *name = op->ins[i].names[k];
            if (updates && !strcmp(slot, "Param"))
                use_mark(uses, name, USE_UPDATED);
            else if (updates && strcmp(slot, "Grad"))
                use_mark(uses, name, USE_OPTIMIZER);
            else if (!updates && network)
                use_mark(uses, name, USE_READ);
        }
    for (int i = 0; i < op->nouts && !updates; i++)
        for (int k = 0; k < op->outs[i].n; k++)
            if (!is_state_out(op, op->outs[i].slot, op->outs[i].names[k]))
                use_mark(uses, op->outs[i].names[k], USE_WRITTEN);
}

static bool holds_reals(const struct skiff_var *v)
{
    switch (v->dtype) {
    case DTYPE_FP16:
    case DTYPE_BF16:
    case DTYPE_FP32:
    case DTYPE_FP64:
    case DTYPE_INT8: /* quantised weights */
        return true;
    default:
        return false;
    }
}

static bool is_persistable(const struct skiff_var *v)
{
    return var_persistable(v) && (v->kind == VAR_LOD_TENSOR || v->kind == VAR_SELECTED_ROWS);
}

/* Does the program itself say which variables are parameters? */
static bool declares_parameters(const struct skiff_program *p)
{
    for (int b = 0; b < p->nblocks; b++) {
        const struct str_map *vars = &p->blocks[b]->vars;
        for (size_t i = 0; i < vars->count; i++) {
            const struct skiff_var *v = vars->entries[i].value;
            if (v->param || v->is_parameter == PRESENCE_TRUE)
                return true;
        }
    }
    return false;
}

static bool is_parameter(const struct skiff_var *v, bool declared, const struct str_map *uses)
{
    if (declared)
        return v->param || v->is_parameter == PRESENCE_TRUE;
    uintptr_t use = (uintptr_t)str_map_get(uses, v->name);
    if (use & USE_UPDATED)
        return true;
    return use & USE_READ && !(use & (USE_OPTIMIZER | USE_WRITTEN)) && holds_reals(v);
}

static bool in_group(const struct skiff_var *v, bool param, uintptr_t use, enum io_group group)
{
    switch (group) {
    case IO_PARAMS:
        return param;
    case IO_STATE:
        return !param && v->need_check_feed != PRESENCE_TRUE;
    case IO_NETWORK:
        return param || use & USE_READ;
    case IO_PERSISTABLES:
        break;
    }
    return true;
}

void io_vars_list(const struct skiff_program *p, enum io_group group, struct io_vars *out)
{
    struct str_map uses, seen;
    str_map_init(&uses);
    str_map_init(&seen);
    bool declared = declares_parameters(p);
    size_t most = 1;
    for (int b = 0; b < p->nblocks; b++) {
        most += p->blocks[b]->vars.count;
        for (int i = 0; i < p->blocks[b]->nops && (!declared || group == IO_NETWORK); i++)
            uses_of_op(p->blocks[b]->ops[i], &uses);
    }
    *out = (struct io_vars){.v = mem_alloc_or_die(most * sizeof *out->v),
                            .is_param = mem_alloc_or_die(most * sizeof *out->is_param)};
    for (int b = 0; b < p->nblocks; b++) {
        const struct str_map *vars = &p->blocks[b]->vars;
        for (size_t i = 0; i < vars->count; i++) {
            struct skiff_var *v = vars->entries[i].value;
            if (!is_persistable(v) || str_map_has(&seen, v->name))
                continue;
            bool param = is_parameter(v, declared, &uses);
            if (!in_group(v, param, (uintptr_t)str_map_get(&uses, v->name), group))
                continue;
            str_map_put(&seen, v->name, v);
            out->is_param[out->n] = param;
            out->v[out->n++] = v;
        }
    }
    str_map_deinit(&uses);
    str_map_deinit(&seen);
}

enum skiff_status io_vars_pick(struct io_vars *vars, const char *const *names, int n,
                               struct skiff_error *err)
{
    struct str_map wanted, there;
    str_map_init(&wanted);
    str_map_init(&there);
    for (int i = 0; i < vars->n; i++)
        str_map_put(&there, vars->v[i]->name, NULL);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && status == SKIFF_OK; i++) {
        str_map_put(&wanted, names[i], NULL);
        if (!str_map_has(&there, names[i]))
            status = error_set(err, SKIFF_NOT_FOUND,
                               "variable %s is not among the persistable variables of the program",
                               names[i]);
    }
    int kept = 0;
    for (int i = 0; i < vars->n && status == SKIFF_OK; i++)
        if (str_map_has(&wanted, vars->v[i]->name)) {
            vars->v[kept] = vars->v[i];
            vars->is_param[kept++] = vars->is_param[i];
        }
    if (status == SKIFF_OK)
        vars->n = kept;
    str_map_deinit(&wanted);
    str_map_deinit(&there);
    return status;
}

void io_vars_deinit(struct io_vars *vars)
{
    free(vars->v);
    free(vars->is_param);
    *vars = (struct io_vars){0};
}
