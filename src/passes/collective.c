/* Makes a program collective (collective.h). Ops are inserted where Paddle 1.8.5's GradAllReduce
 * inserts them, on one ring.
 *
 * Main program, front to back: the loss gradient is scaled; behind each backward op that finishes a
 * parameter's gradient stands its sum over ranks; updates wait for the streams. With merged
 * gradients the sums move into the block of every k-th run. A copy for a rank without rows keeps
 * only the sums, of gradients with no rows or zeros, so that all ranks make the same calls.
 * collective_hash covers the calls, and collective_numbers lists the constants of updates; ranks
 * compare both to find programs that differ. */
#include "passes/collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "passes/merge_grad.h"
#include "program/job.h"
#include "program/op_kind.h"
#include "program/rights.h"

/* Statistics that are read and not computed (sync_batch_norm) need no exchange. */
static bool is_done_together(const struct skiff_op *op)
{
    const struct op_attr_value *test = op_attr(op, "is_test");
    return op->kind && op->kind->flags & OP_RANKS && !(test && test->value.b);
}

bool collective_in(const struct skiff_program *p)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            if (is_done_together(p->blocks[b]->ops[i]))
                return true;
    return false;
}

/* ---- ops ---- */

static struct skiff_op *put(struct skiff_program *p, int at, const char *type, const char *x,
                            int role)
{
    struct skiff_op *op = block_insert_op(program_root(p), at, type);
    op_set_in(p, op, "X", 1, &x);
    op_set_out(p, op, "Out", 1, &x);
    op_set_int(p, op, "op_role", role);
    return op;
}

static bool has_role(const struct skiff_op *op, int role)
{
    int own = op_role_of(op);
    return own != ROLE_UNSPECIFIED && (own & role);
}

/* ---- the loss ---- */

static int find_seed(const struct skiff_block *b)
{
    for (int i = 0; i < b->nops; i++)
        if (op_role_of(b->ops[i]) == (ROLE_BACKWARD | ROLE_LOSS))
            return i;
    return -1;
}

static void weigh_by_rows(struct skiff_program *p, int at, const char *grad)
{
    const struct skiff_var *g = block_find_var(program_root(p), grad);
    struct skiff_var *w = block_add_var(program_root(p), JOB_WEIGHT);
    const char *name = w->name;
    w->kind = VAR_LOD_TENSOR;
    w->dtype = DTYPE_FP32;
    w->has_tensor = true;
    w->shape = g ? g->shape : SHAPE(1);
    w->stop_gradient = true;
    struct skiff_op *op = put(p, at, "elementwise_mul", grad, ROLE_BACKWARD);
    op_set_in(p, op, "Y", 1, &name);
    op_set_int(p, op, "axis", -1);
}

static void scale_loss(struct skiff_program *p, const struct collective_pass *o)
{
    int at = find_seed(program_root(p));
    const char *grad = op_out1(program_root(p)->ops[at], "Out");
    if (o->by_rows) {
        weigh_by_rows(p, at + 1, grad);
        return;
    }
    struct skiff_op *op = put(p, at + 1, "scale", grad, ROLE_BACKWARD);
    op_set_float(p, op, "scale", 1.0f / (float)o->nranks);
    op_set_float(p, op, "bias", 0.0f);
    op_set_bool(p, op, "bias_after_scale", true);
}

/* ---- gradients ---- */

/* [param, grad, param, grad ..] of a backward op that computes gradients of parameters, or NULL */
static const struct attr_value *pairs_of(const struct skiff_op *op)
{
    const struct op_attr_value *pairs = op_attr(op, "op_role_var");
    bool makes = op_role_of(op) == ROLE_BACKWARD && pairs && pairs->type == ATTR_STRINGS;
    return makes && pairs->value.n >= 2 ? &pairs->value : NULL;
}

static int count_gradients(const struct skiff_block *b)
{
    int n = 0;
    for (int i = 0; i < b->nops; i++)
        n += pairs_of(b->ops[i]) != NULL;
    return n;
}

/* Inserts sums after the op at `at`; returns how many ops were added. */
static int sum_behind(struct skiff_program *p, int at, const char **last)
{
    const struct attr_value *pairs = pairs_of(program_root(p)->ops[at]);
    int to = at + 1;
    for (int i = 0; pairs && i + 1 < pairs->n; i += 2) {
        const char *grad = pairs->strings[i + 1];
        if (i == 0)
            put(p, to++, "c_sync_calc_stream", grad, ROLE_BACKWARD);
        struct skiff_op *op = put(p, to++, "c_allreduce_sum", grad, ROLE_BACKWARD);
        op_set_int(p, op, "ring_id", 0);
        op_set_bool(p, op, "use_calc_stream", false);
        *last = grad;
    }
    return to - at - 1;
}

/* Merged gradients are summed in the runs that use them. */
static void sum_merged(struct skiff_program *p, struct skiff_block *body)
{
    const struct skiff_block *b = program_root(p);
    int at = 0;
    for (int i = 0; i < b->nops; i++) {
        const struct attr_value *pairs = pairs_of(b->ops[i]);
        for (int k = 0; pairs && k + 1 < pairs->n; k += 2) {
            const char *grad = pairs->strings[k + 1];
            struct skiff_op *op =
                pass_put_op(body, at++, "c_allreduce_sum", grad, NULL, grad, ROLE_BACKWARD);
            op_set_int(p, op, "ring_id", 0);
            op_set_bool(p, op, "use_calc_stream", false);
        }
    }
}

static void sum_gradients(struct skiff_program *p)
{
    struct skiff_block *b = program_root(p), *merged = merge_grad_block(p);
    const char *last = NULL;
    if (merged) {
        sum_merged(p, merged);
        return;
    }
    for (int i = 0; i < b->nops; i++)
        i += sum_behind(p, i, &last);
    for (int i = 0; last && i < b->nops; i++)
        if (has_role(b->ops[i], ROLE_OPTIMIZE)) {
            struct skiff_op *op = put(p, i, "c_sync_comm_stream", last, ROLE_BACKWARD);
            op_set_int(p, op, "ring_id", 0);
            return;
        }
}

/* ---- statistics ---- */

/* batch_norm and its gradient over all ranks. */
static void sync_batch_norm(struct skiff_program *p)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++) {
            struct skiff_op *op = p->blocks[b]->ops[i];
            if (!op->kind || !op->kind->over_ranks)
                continue;
            op->kind = op_kind_find(op->kind->over_ranks, p->generation);
            op->type = op->kind->type;
        }
}

/* ---- startup ---- */

static void open_ring(struct skiff_program *p, const struct collective_pass *o)
{
    struct skiff_block *b = program_root(p);
    struct skiff_var *id = block_add_var(b, "nccl_id_0");
    const char *name = id->name, *others[1024];
    int n = 0;
    id->kind = VAR_RAW;
    id->persistable = PRESENCE_TRUE;
    struct skiff_op *op = block_insert_op(b, -1, "c_gen_nccl_id");
    op_set_out(p, op, "Out", 1, &name);
    op_set_int(p, op, "rank", o->rank);
    for (int i = 0; o->endpoints && i < o->nranks && n < 1024; i++)
        if (i != o->rank)
            others[n++] = o->endpoints[i];
    op_set_string(p, op, "endpoint", o->endpoints ? o->endpoints[o->rank] : "");
    op_set_strings(p, op, "other_endpoints", n, others);
    op_set_int(p, op, "ring_id", 0);
    op_set_int(p, op, "op_role", ROLE_FORWARD);
    op = block_insert_op(b, -1, "c_comm_init");
    op_set_in(p, op, "X", 1, &name);
    op_set_int(p, op, "nranks", o->nranks);
    op_set_int(p, op, "rank", o->rank);
    op_set_int(p, op, "ring_id", 0);
    op_set_int(p, op, "op_role", ROLE_FORWARD);
}

void collective_gen(struct skiff_program *p, const struct collective_pass *o)
{
    struct skiff_block *b = program_root(p);
    struct skiff_var *id = block_add_var(b, "NCCLID");
    const char *name = id->name;
    id->kind = VAR_RAW;
    id->persistable = PRESENCE_TRUE;
    struct skiff_op *op = block_insert_op(b, -1, "gen_nccl_id");
    op_set_out(p, op, "NCCLID", 1, &name);
    op_set_strings(p, op, "trainers", o->endpoints ? o->nranks : 0,
                   (const char **)(void *)o->endpoints);
    op_set_int(p, op, "trainer_id", o->rank);
    op_set_int(p, op, "nccl_comm_num", 1);
    op_set_bool(p, op, "use_hierarchical_allreduce", false);
    op_set_int(p, op, "op_role", ROLE_FORWARD);
    program_changed(p);
}

static void spread_parameters(struct skiff_program *startup, const struct skiff_program *main)
{
    const struct str_map *vars = &program_root(main)->vars;
    const char *last = NULL;
    for (size_t i = 0; i < vars->count; i++) {
        const struct skiff_var *v = vars->entries[i].value;
        bool parameter = v->param || v->is_parameter == PRESENCE_TRUE;
        if (!parameter || !block_own_var(program_root(startup), v->name))
            continue;
        struct skiff_op *op = put(startup, -1, "c_broadcast", v->name, ROLE_FORWARD);
        op_set_int(startup, op, "ring_id", 0);
        op_set_int(startup, op, "root", 0);
        last = v->name;
    }
    if (last)
        op_set_int(startup, put(startup, -1, "c_sync_comm_stream", last, ROLE_FORWARD), "ring_id",
                   0);
}

/* ---- all of it ---- */

static enum skiff_status check(const struct skiff_program *main, const struct collective_pass *o,
                               struct skiff_error *err)
{
    const struct skiff_block *b = program_root(main);
    const struct skiff_block *merged = merge_grad_block(main);
    bool done = merged && merged->nops && merged->ops[0]->kind->class == CLASS_SUM_RANKS;
    if (o->nranks < 1 || o->rank < 0 || o->rank >= o->nranks)
        return error_set(err, SKIFF_RANGE, "collective: rank %d of %d; ranks go from 0 to %d",
                         o->rank, o->nranks, o->nranks - 1);
    if (find_seed(b) < 0 || !count_gradients(b))
        return error_set(err, SKIFF_INVALID,
                         "collective: the program has no gradients of parameters; call minimize "
                         "before it is made collective");
    for (int i = 0; i < b->nops; i++)
        done |= b->ops[i]->kind && b->ops[i]->kind->class == CLASS_SUM_RANKS &&
                op_role_of(b->ops[i]) == ROLE_BACKWARD;
    if (done)
        return error_set(err, SKIFF_STATE,
                         "collective: the program sums over ranks already; it was made collective "
                         "before");
    return SKIFF_OK;
}

enum skiff_status collective_transpile(struct skiff_program *main, struct skiff_program *startup,
                                       const struct collective_pass *o, struct skiff_error *err)
{
    TRY(check(main, o, err));
    if (o->sync_batch_norm)
        sync_batch_norm(main);
    if (startup) {
        open_ring(startup, o);
        spread_parameters(startup, main);
        program_changed(startup);
    }
    if (o->local_steps) {
        collective_local(main, startup, o);
    } else {
        scale_loss(main, o);
        sum_gradients(main);
    }
    program_changed(main);
    enum skiff_status status = program_verify(main, err);
    return status < 0 ? error_prefix(err, status, "collective") : SKIFF_OK;
}

/* ---- a rank without rows ---- */

static void put_zeros(struct skiff_program *p, int at, const char *grad, const struct shape *shape,
                      int dtype)
{
    struct skiff_op *op = block_insert_op(program_root(p), at, "fill_constant");
    op_set_out(p, op, "Out", 1, &grad);
    op_set_longs(p, op, "shape", shape->ndim, shape->dims);
    op_set_int(p, op, "dtype", dtype);
    op_set_float(p, op, "value", 0.0f);
    op_set_int(p, op, "op_role", ROLE_BACKWARD);
}

static const char *put_var(struct skiff_program *p, const char *of, const char *what,
                           enum dtype dtype, const struct shape *shape)
{
    struct skiff_var *v =
        block_add_var(program_root(p), arena_printf(&p->arena, "%s@IDLE@%s", of, what));
    v->kind = VAR_LOD_TENSOR;
    v->dtype = dtype;
    v->has_tensor = true;
    v->shape = *shape;
    return v->name;
}

/* No rows: the gradient of a look-up of no ids. Returns the number of ops. */
static int put_no_rows(struct skiff_program *p, int at, const char *grad, const char *table,
                       const struct shape *shape)
{
    struct shape none = SHAPE(0, 1), out = SHAPE(0, shape->dims[1]);
    const char *ids = put_var(p, grad, "ids", DTYPE_INT64, &none);
    const char *from = put_var(p, grad, "out", DTYPE_FP32, &out);
    put_zeros(p, at, ids, &none, DTYPE_INT64);
    put_zeros(p, at + 1, from, &out, DTYPE_FP32);
    struct skiff_op *op = block_insert_op(program_root(p), at + 2, "lookup_table_grad");
    op_set_in(p, op, "W", 1, &table);
    op_set_in(p, op, "Ids", 1, &ids);
    op_set_in(p, op, "Out@GRAD", 1, &from);
    op_set_out(p, op, "W@GRAD", 1, &grad);
    op_set_bool(p, op, "is_sparse", true);
    op_set_long(p, op, "padding_idx", -1);
    op_set_int(p, op, "op_role", ROLE_BACKWARD);
    return 3;
}

/* The parameter of that gradient. */
static const struct skiff_var *param_of(const struct skiff_program *main, const char *grad)
{
    const struct skiff_block *b = program_root(main);
    for (int i = 0; i < b->nops; i++) {
        const struct attr_value *pairs = pairs_of(b->ops[i]);
        for (int k = 0; pairs && k + 1 < pairs->n; k += 2)
            if (!strcmp(pairs->strings[k + 1], grad))
                return block_find_var(b, pairs->strings[k]);
    }
    return NULL;
}

/* With local SGD, the means of its present values: a rank without rows updates nothing. */
static bool is_kept(const struct skiff_op *op, bool local, bool in_means)
{
    if (has_role(op, ROLE_LRSCHED) || local)
        return has_role(op, ROLE_LRSCHED) || in_means;
    return has_role(op, ROLE_OPTIMIZE) || (op->kind && op->kind->class == CLASS_SUM_RANKS);
}

enum skiff_status collective_idle(const struct skiff_program *main, struct skiff_program **out,
                                  struct skiff_error *err)
{
    struct skiff_program *p = program_clone(main);
    struct skiff_block *b = program_root(p);
    int means = collective_local_at(b);
    bool local = means < b->nops;
    for (int i = b->nops - 1; i >= 0; i--)
        if (!is_kept(b->ops[i], local, i >= means))
            block_remove_ops(b, i, 1);
    for (int i = 0; i < b->nops; i++) {
        if (b->ops[i]->kind->class != CLASS_SUM_RANKS)
            continue;
        const char *grad = op_in1(b->ops[i], "X");
        const struct skiff_var *g = block_find_var(b, grad), *param = param_of(main, grad);
        if (!g || !param) {
            program_destroy(p);
            return error_set(err, SKIFF_INTERNAL, "collective: %s is no parameter's", grad);
        }
        if (g->kind == VAR_SELECTED_ROWS) {
            i += put_no_rows(p, i, grad, param->name, &param->shape);
        } else {
            put_zeros(p, i, grad, &param->shape, param->dtype);
            i++;
        }
    }
    program_changed(p);
    *out = p;
    return SKIFF_OK;
}

/* ---- the comparison text ---- */

static uint64_t mix(uint64_t h, const char *text)
{
    return hash_bytes(text, strlen(text)) ^ (h * 0x9e3779b97f4a7c15u + (h >> 7));
}

static uint64_t mix_args(uint64_t h, const struct op_arg *args, int n)
{
    for (int i = 0; i < n; i++) {
        h = mix(h, args[i].slot);
        for (int j = 0; j < args[i].n; j++)
            h = mix(h, args[i].names[j]);
    }
    return h;
}

/* Ops and their variables' names: they determine which calls are made, and in which order. */
uint64_t collective_hash(const struct skiff_program *p)
{
    uint64_t h = (uint64_t)p->nblocks;
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++) {
            const struct skiff_op *op = p->blocks[b]->ops[i];
            h = mix(h, op->type);
            h = mix_args(h, op->ins, op->nins);
            h = mix_args(h, op->outs, op->nouts);
        }
    return h;
}

/* The shortest digits that read back to the same value. */
static const char *number_text(float f, char out[32])
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(out, 32, "%.*g", digits, (double)f);
        if (strtof(out, NULL) == f)
            break;
    }
    return out;
}

/* A constant that affects updates; other constants may differ between ranks. */
static bool sets_number(const struct skiff_op *op)
{
    static const char *const names[] = {"learning_rate", "gradient_merge_k", "local_sgd_"};
    const char *to = op_out1(op, "Out");
    for (size_t i = 0; to && i < sizeof names / sizeof *names; i++)
        if (op_is(op, CLASS_CONSTANT) && !strncmp(to, names[i], strlen(names[i])))
            return true;
    return false;
}

static void add_numbers(const struct skiff_op *op, struct buf *out)
{
    char text[32];
    const char *param = op_in1(op, "Param");
    bool sets = sets_number(op);
    if (!sets && !param && !has_role(op, ROLE_LRSCHED))
        return;
    for (int i = 0; i < op->nattrs; i++) {
        const struct op_attr_value *a = &op->attrs[i];
        if (a->type != ATTR_FLOAT)
            continue;
        if (sets)
            buf_printf(out, "%s = %s\n", op_out1(op, "Out"), number_text(a->value.f, text));
        else
            buf_printf(out, "%s of %s%s%s = %s\n", a->name, op->type, param ? " of " : "",
                       param ? param : "", number_text(a->value.f, text));
    }
}

void collective_numbers(const struct skiff_program *p, struct buf *out)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            add_numbers(p->blocks[b]->ops[i], out);
}
