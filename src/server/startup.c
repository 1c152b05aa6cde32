/* Initial values. The startup program is run as it is, with two exceptions: random ops of slices
 * get the part of the variable that they fill (run_env.part_of), and hash-backed embeddings are not
 * created at all: their init ops define the values of a row at its first use.
 *
 * So a model begins with the same numbers on one machine and on any number of servers, which makes
 * distributed runs comparable with local ones, bit for bit in sync mode. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "executor/executor.h"
#include "server/hashed.h"
#include "server/server_parts.h"
#include "server/slice.h"

/* ---- rows of hash-backed embeddings ---- */

static float number(const struct skiff_op *op, const char *name, float absent)
{
    const struct op_attr_value *a = op_attr(op, name);
    return a && a->type == ATTR_FLOAT ? a->value.f : absent;
}

static bool fill_of(const struct skiff_op *op, struct fill *f)
{
    static const struct {
        const char *type, *a, *b;
        enum fill_kind kind;
        float absent_a, absent_b;
    } known[] = {
        {"uniform_random", "min", "max", FILL_UNIFORM, -1, 1},
        {"gaussian_random", "mean", "std", FILL_GAUSSIAN, 0, 1},
        {"truncated_gaussian_random", "mean", "std", FILL_TRUNCATED, 0, 1},
        {"fill_constant", "value", "value", FILL_CONSTANT, 0, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(op->type, known[i].type)) {
            f->kind = known[i].kind;
            f->a = number(op, known[i].a, known[i].absent_a);
            f->b = number(op, known[i].b, known[i].absent_b);
            return true;
        }
    return false;
}

static const struct skiff_op *init_op(const struct server *s, const char *name)
{
    const struct skiff_block *b = program_root(s->options.startup);
    for (int i = b->nops - 1; i >= 0; i--)
        if (op_writes(b->ops[i], name))
            return b->ops[i];
    return NULL;
}

/* Without any seed the numbers are new in every run. */
static uint64_t seed_of(const struct server *s, const struct skiff_op *op)
{
    const struct op_attr_value *a = op ? op_attr(op, "seed") : NULL;
    if (a && a->type == ATTR_INT && a->value.i)
        return (uint64_t)(int64_t)a->value.i;
    int32_t seed = s->options.startup ? s->options.startup->random_seed : 0;
    return seed ? (uint64_t)(int64_t)seed : rng_entropy();
}

static enum skiff_status start_var(struct server *s, const struct param_slice *u, struct row_var *r,
                                   struct skiff_error *err)
{
    const struct skiff_op *op = s->options.startup ? init_op(s, r->name) : NULL;
    struct shape shape = u->shape;
    r->fill = (struct fill){.kind = FILL_CONSTANT};
    if (op && !fill_of(op, &r->fill))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "table %s is a hash-backed embedding; its rows cannot be initialized by "
                         "op %s (constant, "
                         "uniform, normal and truncated normal initializers can)",
                         r->name, op->type);
    r->fill.key = fill_key(seed_of(s, op), r->name);
    shape.dims[0] = 1;
    TRY(value_as_tensor(r->value, DTYPE_FP32, &shape, err));
    memset(r->value->tensor.data, 0, tensor_bytes(&r->value->tensor));
    return SKIFF_OK;
}

enum skiff_status startup_fills(struct server *s, struct skiff_error *err)
{
    for (int i = 0; i < s->nslices; i++) {
        struct param_slice *u = &s->slices[i];
        for (int k = 0; k < u->nvars; k++)
            TRY(start_var(s, u, &u->vars[k], err));
        if (u->nvars)
            TRY(hashed_create(u, err));
    }
    return SKIFF_OK;
}

/* ---- the startup program ---- */

static bool part_of(void *user, const char *name, int64_t *offset, int64_t *whole)
{
    const struct server *s = user;
    const struct skiff_placement *own = job_plan_slice(s->plan, s->index, name);
    if (!own || !own->is_slice)
        return false;
    struct shape all = job_plan_whole(s->plan, own);
    *offset = own->offset;
    *whole = shape_numel(&all);
    return true;
}

/* Variables that are not created: rows of hash-backed embeddings, and DC-ASGD's backups, which are
 * kept elsewhere. */
static bool is_left_out(const struct server *s, const struct skiff_op *op)
{
    for (int i = 0; i < op->nouts; i++)
        for (int k = 0; k < op->outs[i].n; k++)
            if (str_map_has(&s->elsewhere, op->outs[i].names[k]))
                return true;
    return false;
}

enum skiff_status server_init(struct server *s, struct skiff_error *err)
{
    if (!s->options.startup)
        return error_set(err, SKIFF_INVALID, "a server needs its startup program");
    struct skiff_program *p = program_clone(s->options.startup);
    struct skiff_block *b = program_root(p);
    for (int i = b->nops - 1; i >= 0; i--)
        if (is_left_out(s, b->ops[i]))
            block_remove_ops(b, i, 1);
    for (size_t i = 0; i < b->vars.count; i++) {
        struct skiff_var *v = b->vars.entries[i].value;
        v->persistable = PRESENCE_TRUE;
    }
    struct executor_options options = {.no_fuse = true, .part_of = part_of, .part_user = s};
    struct skiff_executor *e = executor_create(s->scope, &options);
    enum skiff_status status = executor_run(e, p, NULL, 0, NULL, 0, NULL, err);
    executor_destroy(e);
    program_destroy(p);
    if (status < 0)
        return error_prefix(err, status, "startup program of server %d", s->index);
    s->initialised = true;
    return SKIFF_OK;
}
