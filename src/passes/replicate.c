/* One program for several devices, instead of one thread per device with copies of the parameters.
 *
 * Ops before the update are repeated per device, with a suffix on all names that are not
 * persistable; parameters are shared. Values that the devices compute and the update reads
 * (gradients) are summed under their plain name, and the update ops appear once. So no copies need
 * to be kept equal, and the numbers are those of Paddle's average: the gradient of each device's
 * loss begins with 1/devices. */
#include "passes/replicate.h"

#include <string.h>

#include "layers/net.h"
#include "program/op_kind.h"
#include "program/rights.h"

struct replication {
    const struct skiff_program *from;
    struct skiff_program *to;
    int devices;
    bool scale_one;
};

static const char *device_name(const struct skiff_program *joint, const char *name, int device,
                               struct arena *arena)
{
    const struct skiff_var *v = block_own_var(program_root(joint), name);
    if (!strcmp(name, EMPTY_VAR) || (v && var_persistable(v)))
        return name; /* shared by the devices */
    return arena_printf(arena, "%s" REPLICA_SUFFIX "%d", name, device);
}

const char *replicate_name(const struct skiff_program *joint, const char *name, int device,
                           struct arena *arena)
{
    const struct skiff_block *b = program_root(joint);
    for (int i = 0; i < b->nops; i++)
        if (op_writes(b->ops[i], name))
            return name;
    return device_name(joint, name, device, arena);
}

/* Settings for running, except what belongs to the other program's arena. */
static void copy_var(struct skiff_program *to, const struct skiff_var *v, const char *name)
{
    struct skiff_var *n = block_add_var(program_root(to), name);
    *n = (struct skiff_var){.name = n->name,
                            .kind = v->kind,
                            .dtype = v->dtype,
                            .has_tensor = v->has_tensor,
                            .shape = v->shape,
                            .lod_level = v->lod_level,
                            .persistable = v->persistable,
                            .need_check_feed = v->need_check_feed,
                            .is_parameter = v->is_parameter,
                            .has_stop_gradient = v->has_stop_gradient,
                            .stop_gradient = v->stop_gradient};
}

static void copy_args(struct replication *r, struct skiff_op *to, const struct skiff_op *from,
                      int device)
{
    for (int side = 0; side < 2; side++) {
        const struct op_arg *args = side ? from->outs : from->ins;
        int n = side ? from->nouts : from->nins;
        for (int i = 0; i < n; i++) {
            const char **names =
                arena_alloc(&r->to->arena, (size_t)(args[i].n + 1) * sizeof(*names));
            for (int j = 0; j < args[i].n; j++)
                names[j] = device < 0 ? args[i].names[j]
                                      : device_name(r->to, args[i].names[j], device, &r->to->arena);
            (side ? op_set_out : op_set_in)(r->to, to, args[i].slot, args[i].n, names);
        }
    }
}

static void copy_op(struct replication *r, const struct skiff_op *from, int device)
{
    struct skiff_op *op = block_insert_op(program_root(r->to), -1, from->type);
    copy_args(r, op, from, device);
    op_copy_attrs(r->to, op, from);
    bool seed = op_role_of(from) == (ROLE_BACKWARD | ROLE_LOSS);
    if (seed && device >= 0 && !r->scale_one) {
        const struct op_attr_value *value = op_attr(from, "value");
        op_set_float(r->to, op, "value", (value ? value->value.f : 1.0f) / (float)r->devices);
    }
}

/* Ops that run once for all devices: updates, and the exchange with servers or other ranks. */
static bool is_update(const struct skiff_op *op)
{
    int role = op_role_of(op);
    if (op->kind && (op->kind->flags & OP_RANKS || op->kind->class == CLASS_STREAM))
        return true;
    return role != ROLE_UNSPECIFIED &&
           (role & (ROLE_OPTIMIZE | ROLE_LRSCHED | ROLE_RPC | ROLE_DIST));
}

static void copy_vars(struct replication *r)
{
    const struct str_map *vars = &program_root(r->from)->vars;
    for (size_t i = 0; i < vars->count;
         i++) { /* persistable variables first, because replicate_name looks them up */
        const struct skiff_var *v = vars->entries[i].value;
        copy_var(r->to, v, v->name);
    }
    for (size_t i = 0; i < vars->count; i++) {
        const struct skiff_var *v = vars->entries[i].value;
        for (int d = 0; d < r->devices && !var_persistable(v); d++)
            copy_var(r->to, v, device_name(r->to, v->name, d, &r->to->arena));
    }
}

static bool updates_read(const struct skiff_block *b, const char *name)
{
    for (int i = 0; i < b->nops; i++)
        if (is_update(b->ops[i]) && op_reads(b->ops[i], name))
            return true;
    return false;
}

/* Sums the devices' gradients under the plain name, for every value that the devices compute and
 * the update (or, in a split program, a send) reads. */
static void join_gradients(struct replication *r)
{
    const struct skiff_block *b = program_root(r->from);
    const struct str_map *vars = &b->vars;
    for (size_t i = 0; i < vars->count; i++) {
        const struct skiff_var *v = vars->entries[i].value;
        const char *name = v->name;
        bool written = false;
        for (int k = 0; k < b->nops && !written; k++)
            written = !is_update(b->ops[k]) && op_writes(b->ops[k], name);
        if (!written || var_persistable(v) || !updates_read(b, name))
            continue;
        const char **parts = arena_alloc(&r->to->arena, (size_t)r->devices * sizeof(*parts));
        for (int d = 0; d < r->devices; d++)
            parts[d] = device_name(r->to, name, d, &r->to->arena);
        struct skiff_op *sum = block_insert_op(program_root(r->to), -1, "sum");
        op_set_in(r->to, sum, "X", r->devices, parts);
        op_set_out(r->to, sum, "Out", 1, &name);
        op_set_int(r->to, sum, "op_role", ROLE_BACKWARD);
    }
}

enum skiff_status replicate_program(const struct skiff_program *p, int devices, bool scale_one,
                                    struct skiff_program **out, struct skiff_error *err)
{
    if (devices < 1)
        return error_set(err, SKIFF_INVALID,
                         "data parallel: the number of devices must be at least 1, found %d",
                         devices);
    if (p->nblocks != 1)
        return error_set(
            err, SKIFF_UNSUPPORTED,
            "data parallel: programs with sub-blocks are not supported (this one has %d blocks)",
            p->nblocks);
    struct replication r = {p, program_create(), devices, scale_one};
    r.to->paddle_version = p->paddle_version;
    r.to->generation = p->generation;
    r.to->random_seed = p->random_seed;
    program_copy_rights(r.to, p);
    program_set_job(r.to, p->job);
    copy_vars(&r);
    const struct skiff_block *b = program_root(p);
    for (int d = 0; d < devices; d++)
        for (int i = 0; i < b->nops; i++)
            if (!is_update(b->ops[i]))
                copy_op(&r, b->ops[i], d);
    join_gradients(&r);
    for (int i = 0; i < b->nops; i++)
        if (is_update(b->ops[i]))
            copy_op(&r, b->ops[i], -1);
    enum skiff_status status = program_verify(r.to, err);
    if (status < 0) {
        program_destroy(r.to);
        return error_prefix(err, status, "data parallel");
    }
    *out = r.to;
    return SKIFF_OK;
}

/* ---- public names ---- */

enum skiff_status skiff_program_replicate(const struct skiff_program *p, int devices,
                                          bool scale_one, struct skiff_program **out,
                                          struct skiff_error *err)
{
    return replicate_program(program_to_run(p), devices, scale_one, out, err);
}

char *skiff_program_replica_name(const struct skiff_program *joint, const char *name, int device)
{
    struct arena arena;
    arena_init(&arena);
    char *copy = strdup(replicate_name(joint, name, device, &arena));
    arena_deinit(&arena);
    return copy;
}
