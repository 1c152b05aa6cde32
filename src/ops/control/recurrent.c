/* recurrent: runs its block once for each step of a sequence of fixed length (StaticRNN).
 *
 *   inputs[i] and outputs[i] are known in the block under the same names, without dimension 0: what
 *   belongs to the step. A state is known there as ex_states[i] before the step and states[i] after
 *   it; before the first step it is initial_states[i]. reverse: from the last step to the first.
 *
 * recurrent_grad goes through the steps the other way round: brings the block's variables back,
 * gives the gradient block outputs@GRAD of the step and, as gradient of states[i], what the step
 * after left as gradient of ex_states[i]; and adds up the gradients of the parameters.
 *
 * rnn_memory_helper passes a value on; its gradient is zeros where nothing came back (the last
 * step's state). */
#include <stdlib.h>

#include "base/mem.h"
#include "ops/control/control.h"
#include "ops/seq_common.h"

enum { REC_INPUTS, REC_INIT, REC_PARAMS };
enum { REC_OUTPUTS, REC_SCOPES };
enum { REC_BLOCK, REC_HAS_STATES, REC_EX, REC_STATES, REC_REVERSE, REC_IS_TRAIN };

/* What step_scopes holds: the block's variables after each step, in the order they ran. */
struct steps {
    struct value_keepalive kept;
    void (*free_saved)(void *);
    int block, n;
    void **saved;
};

static void steps_destroy(struct value_keepalive *k)
{
    struct steps *s = (struct steps *)k;
    for (int i = 0; i < s->n; i++)
        s->free_saved(s->saved[i]);
    free(s->saved);
    free(s);
}

/* The block's own values, found when the op is prepared. */
struct links {
    bool keep;
    struct skiff_tensor **inputs, **ex, **states, **outputs;                     /* recurrent */
    struct skiff_tensor **d_inputs, **d_ex, **d_states, **d_outputs, **d_params; /* its gradient */
};

static void links_release(struct kernel *k)
{
    struct links *l = k->state;
    if (!l)
        return;
    struct skiff_tensor **all[] = {l->inputs, l->ex,       l->states,    l->outputs, l->d_inputs,
                                   l->d_ex,   l->d_states, l->d_outputs, l->d_params};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(l);
    k->state = NULL;
}

static enum skiff_status check_states(const struct kernel *k, struct skiff_error *err)
{
    int n = kernel_in_count(k, REC_INIT), ex = k->attr[REC_EX].n, now = k->attr[REC_STATES].n;
    if (n == ex && n == now)
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_FORMAT, err,
                       "%d initial_states, but %d ex_states and %d states are named", n, ex, now);
}

static enum skiff_status rec_prepare(struct kernel *k, struct skiff_error *err)
{
    int block = k->attr[REC_BLOCK].i;
    TRY(control_check_block(k, block, err));
    TRY(check_states(k, err));
    struct links *l = k->state = mem_alloc_or_die(sizeof *l);
    l->keep = control_is_kept(k, "step_scopes");
    l->inputs = control_inner(k, block, op_in(k->op, "inputs"), "", &k->in[REC_INPUTS], true);
    l->outputs = control_inner(k, block, op_out(k->op, "outputs"), "", &k->out[REC_OUTPUTS], true);
    l->ex = control_named(k, block, &k->attr[REC_EX], "");
    l->states = control_named(k, block, &k->attr[REC_STATES], "");
    return SKIFF_OK;
}

/* Steps of the sequences in a slot; all of them have the same number. */
static enum skiff_status count_steps(const struct kernel *k, int slot, int64_t *out,
                                     struct skiff_error *err)
{
    *out = -1;
    for (int i = 0; i < kernel_in_count(k, slot); i++) {
        const struct skiff_tensor *v = kernel_in_value(k, slot, i);
        char text[160];
        if (!v || v->kind != VALUE_TENSOR || v->tensor.shape.ndim < 1)
            return kernel_fail(k, SKIFF_SHAPE, err, "input %s is not a sequence of steps",
                               kernel_in_name(k, slot, i));
        if (*out >= 0 && v->tensor.shape.dims[0] != *out)
            return kernel_fail(k, SKIFF_SHAPE, err, "input %s is %s, but %s has %lld steps",
                               kernel_in_name(k, slot, i), shape_text(&v->tensor.shape, text),
                               kernel_in_name(k, slot, 0), (long long)*out);
        *out = v->tensor.shape.dims[0];
    }
    return *out >= 0 ? SKIFF_OK : kernel_fail(k, SKIFF_INVALID, err, "no input has steps");
}

static size_t step_bytes(const struct tensor *t)
{
    return (size_t)shape_cols(&t->shape, 1) * dtype_size(t->dtype);
}

/* Row t of a sequence. */
static enum skiff_status step_get(struct skiff_tensor *to, const struct tensor *from, int64_t t,
                                  struct skiff_error *err)
{
    struct shape s = {.ndim = from->shape.ndim - 1};
    for (int d = 0; d < s.ndim; d++)
        s.dims[d] = from->shape.dims[d + 1];
    TRY(value_as_tensor(to, from->dtype, &s, err));
    tensor_drop_lod(&to->tensor);
    bytes_copy(to->tensor.data, (const char *)from->data + (size_t)t * step_bytes(from),
               step_bytes(from));
    return SKIFF_OK;
}

/* Row t of n is the step's result; the first row determines the shape, and missing rows are
 * zero. */
static enum skiff_status step_put(struct kernel *k, const char *name, struct skiff_tensor *to,
                                  const struct skiff_tensor *from, int64_t t, int64_t n,
                                  struct skiff_error *err)
{
    if (!from || from->kind != VALUE_TENSOR)
        return kernel_fail(k, SKIFF_STATE, err, "the block left no tensor in %s", name);
    struct shape s = {.ndim = from->tensor.shape.ndim + 1, .dims = {n}};
    char a[160], b[160];
    if (s.ndim > TENSOR_MAX_DIMS)
        return kernel_fail(k, SKIFF_SHAPE, err, "%s has too many dimensions", name);
    for (int d = 1; d < s.ndim; d++)
        s.dims[d] = from->tensor.shape.dims[d - 1];
    if (to->kind == VALUE_NONE) {
        TRY(value_as_tensor(to, from->tensor.dtype, &s, err));
        tensor_clear(&to->tensor);
    }
    if (!shape_equal(&to->tensor.shape, &s) || to->tensor.dtype != from->tensor.dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "%s makes %s in this step, %s in one before", name,
                           shape_text(&s, a), shape_text(&to->tensor.shape, b));
    bytes_copy((char *)to->tensor.data + (size_t)t * step_bytes(&to->tensor), from->tensor.data,
               step_bytes(&to->tensor));
    return SKIFF_OK;
}

static enum skiff_status rec_step(struct kernel *k, int64_t step, int64_t n,
                                  struct skiff_error *err)
{
    const struct links *l = k->state;
    int64_t t = k->attr[REC_REVERSE].b ? n - 1 - step : step;
    for (int i = 0; i < kernel_in_count(k, REC_INPUTS); i++)
        if (l->inputs[i])
            TRY(step_get(l->inputs[i], kernel_in_at(k, REC_INPUTS, i), t, err));
    for (int i = 0; i < kernel_in_count(k, REC_INIT); i++) {
        if (!kernel_in_value(k, REC_INIT, i) || !l->ex[i] || !l->states[i])
            return kernel_fail(k, SKIFF_INVALID, err, "initial_states: entry %d is empty", i);
        TRY(value_copy(l->ex[i], step ? l->states[i] : kernel_in_value(k, REC_INIT, i), err));
    }
    TRY(k->env->run_block(k->env, k->attr[REC_BLOCK].i, err));
    for (int i = 0; i < kernel_out_count(k, REC_OUTPUTS); i++)
        if (l->outputs[i])
            TRY(step_put(k, kernel_out_name(k, REC_OUTPUTS, i), kernel_out_value(k, REC_OUTPUTS, i),
                         l->outputs[i], t, n, err));
    return SKIFF_OK;
}

static enum skiff_status rec_run(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor *scopes = kernel_out_value(k, REC_SCOPES, 0);
    struct steps *kept = NULL;
    int64_t n;
    TRY(count_steps(k, REC_INPUTS, &n, err));
    if (scopes && ((const struct links *)k->state)->keep && !k->env->is_test) {
        kept = mem_alloc_or_die(sizeof *kept);
        kept->kept.destroy = steps_destroy;
        kept->free_saved = k->env->free_saved;
        kept->block = k->attr[REC_BLOCK].i;
        kept->saved = mem_alloc_or_die((size_t)(n + 1) * sizeof *kept->saved);
        value_keep_alive(scopes, &kept->kept);
    }
    for (int i = 0; i < kernel_out_count(k, REC_OUTPUTS); i++)
        if (kernel_out_value(k, REC_OUTPUTS, i))
            value_clear(kernel_out_value(k, REC_OUTPUTS, i));
    for (int64_t step = 0; step < n; step++) {
        TRY(rec_step(k, step, n, err));
        if (kept) {
            TRY(k->env->save_block(k->env, kept->block, &kept->saved[step], err));
            kept->n++;
        }
    }
    return SKIFF_OK;
}

static enum skiff_status rec_make_grad(struct grad_build *g, struct skiff_error *err)
{
    if (!g->grad_block)
        return error_set(err, SKIFF_UNSUPPORTED, "op recurrent: no gradient block");
    static const char *const ins[] = {"inputs", "initial_states", "parameters"};
    struct skiff_op *op = grad_op(g, "recurrent_grad", true);
    struct attr_value block = {.i = g->grad_block->idx};
    const char *scopes = op_out1(g->fwd, "step_scopes");
    for (int i = 0; i < 3; i++) {
        grad_use(g, op, ins[i]);
        grad_make_in_grad(g, op, ins[i]);
    }
    grad_use(g, op, "outputs");
    grad_use_out_grad(g, op, "outputs");
    grad_use(g, op, "step_scopes");
    op_set_in(g->program, op, "step_scopes@GRAD", 1, &scopes);
    op_set_attr(g->program, op, "sub_block", ATTR_BLOCK, &block);
    return SKIFF_OK;
}

/* ---- recurrent_grad ---- */

enum { RGRAD_INPUTS, RGRAD_INIT, RGRAD_PARAMS, RGRAD_OUTPUTS, RGRAD_D_OUTPUTS, RGRAD_SCOPES };
enum { RGRAD_D_INPUTS, RGRAD_D_INIT, RGRAD_D_PARAMS };

static enum skiff_status rec_grad_prepare(struct kernel *k, struct skiff_error *err)
{
    int block = k->attr[REC_BLOCK].i;
    TRY(control_check_block(k, block, err));
    TRY(check_states(k, err));
    struct links *l = k->state = mem_alloc_or_die(sizeof *l);
    l->d_inputs =
        control_inner(k, block, op_in(k->op, "inputs"), GRAD_SUFFIX, &k->out[RGRAD_D_INPUTS], true);
    l->d_params = control_inner(k, block, op_in(k->op, "parameters"), GRAD_SUFFIX,
                                &k->out[RGRAD_D_PARAMS], true);
    l->d_outputs = control_inner(k, block, op_in(k->op, "outputs"), GRAD_SUFFIX,
                                 &k->in[RGRAD_D_OUTPUTS], false);
    l->d_ex = control_named(k, block, &k->attr[REC_EX], GRAD_SUFFIX);
    l->d_states = control_named(k, block, &k->attr[REC_STATES], GRAD_SUFFIX);
    return SKIFF_OK;
}

static void clear_all(struct skiff_tensor *const *v, int n)
{
    for (int i = 0; i < n; i++)
        if (v[i])
            value_clear(v[i]);
}

/* step counts in the order run; t is the position in the sequences. */
static enum skiff_status rec_step_back(struct kernel *k, const struct steps *s, int step,
                                       struct skiff_error *err)
{
    const struct links *l = k->state;
    int64_t t = k->attr[REC_REVERSE].b ? s->n - 1 - step : step;
    bool first = step == s->n - 1;
    TRY(k->env->restore_block(k->env, s->block, s->saved[step], err));
    for (int i = 0; i < kernel_in_count(k, RGRAD_D_OUTPUTS); i++) {
        const struct skiff_tensor *d = kernel_in_value(k, RGRAD_D_OUTPUTS, i);
        if (l->d_outputs[i] && d && d->kind == VALUE_TENSOR)
            TRY(step_get(l->d_outputs[i], &d->tensor, t, err));
    }
    for (int i = 0; !first && i < k->attr[REC_STATES].n; i++)
        TRY(value_copy(l->d_states[i], l->d_ex[i], err));
    clear_all(l->d_ex, k->attr[REC_EX].n);
    clear_all(l->d_inputs, kernel_out_count(k, RGRAD_D_INPUTS));
    clear_all(l->d_params, kernel_out_count(k, RGRAD_D_PARAMS));
    TRY(k->env->run_block(k->env, k->attr[REC_BLOCK].i, err));
    for (int i = 0; i < kernel_out_count(k, RGRAD_D_PARAMS); i++)
        if (l->d_params[i])
            TRY(control_add(k, kernel_out_name(k, RGRAD_D_PARAMS, i),
                            kernel_out_value(k, RGRAD_D_PARAMS, i), l->d_params[i], false, err));
    for (int i = 0; i < kernel_out_count(k, RGRAD_D_INPUTS); i++)
        if (l->d_inputs[i] && l->d_inputs[i]->kind == VALUE_TENSOR)
            TRY(step_put(k, kernel_out_name(k, RGRAD_D_INPUTS, i),
                         kernel_out_value(k, RGRAD_D_INPUTS, i), l->d_inputs[i], t, s->n, err));
    return SKIFF_OK;
}

/* Outputs that no step has written: nothing depends on those inputs. */
static enum skiff_status zero_unwritten(struct kernel *k, int out, int in, struct skiff_error *err)
{
    for (int i = 0; i < kernel_out_count(k, out); i++) {
        struct skiff_tensor *v = kernel_out_value(k, out, i);
        if (v && v->kind == VALUE_NONE)
            TRY(control_zeros(v, kernel_in_value(k, in, i), err));
    }
    return SKIFF_OK;
}

static enum skiff_status rec_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct links *l = k->state;
    const struct skiff_tensor *scopes = kernel_in_value(k, RGRAD_SCOPES, 0);
    if (!scopes || scopes->kind != VALUE_SCOPES)
        return kernel_fail(k, SKIFF_STATE, err,
                           "no steps were kept for the gradient (was the program run as a test?)");
    const struct steps *s = (const struct steps *)scopes->kept;
    for (int out = RGRAD_D_INPUTS; out <= RGRAD_D_PARAMS; out++)
        for (int i = 0; i < kernel_out_count(k, out); i++)
            if (kernel_out_value(k, out, i))
                value_clear(kernel_out_value(k, out, i));
    clear_all(l->d_states, k->attr[REC_STATES].n);
    clear_all(l->d_outputs, kernel_in_count(k, RGRAD_D_OUTPUTS));
    for (int step = s->n; step-- > 0;)
        TRY(rec_step_back(k, s, step, err));
    for (int i = 0; s->n && i < kernel_out_count(k, RGRAD_D_INIT); i++)
        if (kernel_out_value(k, RGRAD_D_INIT, i) && l->d_ex[i])
            TRY(value_copy(kernel_out_value(k, RGRAD_D_INIT, i), l->d_ex[i], err));
    TRY(zero_unwritten(k, RGRAD_D_INPUTS, RGRAD_INPUTS, err));
    TRY(zero_unwritten(k, RGRAD_D_INIT, RGRAD_INIT, err));
    return zero_unwritten(k, RGRAD_D_PARAMS, RGRAD_PARAMS, err);
}

/* ---- rnn_memory_helper ---- */

static enum skiff_status pass_run(struct kernel *k, struct skiff_error *err)
{
    return value_copy(kernel_out_value(k, 0, 0), kernel_in_value(k, 0, 0), err);
}

static enum skiff_status pass_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *d = kernel_in_value(k, 2, 0);
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    if (!out)
        return SKIFF_OK;
    return d && d->kind != VALUE_NONE ? value_copy(out, d, err)
                                      : control_zeros(out, kernel_in_value(k, 0, 0), err);
}

/* ---- table ---- */

static const struct op_slot rec_ins[] = {{"inputs", SLOT_LIST | SLOT_OPTIONAL},
                                         {"initial_states", SLOT_LIST | SLOT_OPTIONAL},
                                         {"parameters", SLOT_LIST | SLOT_OPTIONAL},
                                         {0}};
static const struct op_slot rec_outs[] = {
    {"outputs", SLOT_LIST | SLOT_OPTIONAL}, {"step_scopes", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec rec_attrs[] = {
    A_BLOCK("sub_block"),
    A_BOOL("has_states", false),
    A_STRS("ex_states"),
    A_STRS("states"),
    A_BOOL("reverse", false),
    A_BOOL("is_train", true),
    AF_LIST("skip_eager_deletion_vars", ATTR_STRINGS, ATTR_ONLY_1X),
    {0}};
static const struct op_slot rec_grad_ins[] = {
    {"inputs", SLOT_LIST | SLOT_OPTIONAL},       {"initial_states", SLOT_LIST | SLOT_OPTIONAL},
    {"parameters", SLOT_LIST | SLOT_OPTIONAL},   {"outputs", SLOT_LIST | SLOT_OPTIONAL},
    {"outputs@GRAD", SLOT_LIST | SLOT_OPTIONAL}, {"step_scopes", 0},
    {"step_scopes@GRAD", SLOT_OPTIONAL},         {0}};
static const struct op_slot rec_grad_outs[] = {{"inputs@GRAD", SLOT_LIST},
                                               {"initial_states@GRAD", SLOT_LIST},
                                               {"parameters@GRAD", SLOT_LIST},
                                               {0}};
static const struct op_slot pass_ins[] = {{"X", 0}, {0}};
static const struct op_slot pass_outs[] = {{"Out", 0}, {0}};
static const struct op_slot pass_grad_ins[] = {
    {"X", 0}, {"Out", SLOT_OPTIONAL}, {"Out@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot pass_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec pass_attrs[] = {A_INT("dtype", DTYPE_FP32), {0}};

const struct op_kind ops_recurrent[] = {{.type = "recurrent",
                                         .flags = CONTROL,
                                         .ins = rec_ins,
                                         .outs = rec_outs,
                                         .attrs = rec_attrs,
                                         .make_grad = rec_make_grad,
                                         .infer = control_no_shapes,
                                         .prepare = rec_prepare,
                                         .release = links_release,
                                         .run = rec_run},
                                        {.type = "recurrent_grad",
                                         .flags = CONTROL,
                                         .ins = rec_grad_ins,
                                         .outs = rec_grad_outs,
                                         .attrs = rec_attrs,
                                         .infer = control_no_shapes,
                                         .prepare = rec_grad_prepare,
                                         .release = links_release,
                                         .run = rec_grad_run},
                                        {.type = "rnn_memory_helper",
                                         .flags = OP_OWN_SHAPE | OP_ROWS_OK,
                                         .ins = pass_ins,
                                         .outs = pass_outs,
                                         .attrs = pass_attrs,
                                         .grad = "X Out Out@GRAD -> X@GRAD",
                                         .run = pass_run},
                                        {.type = "rnn_memory_helper_grad",
                                         .flags = OP_OWN_SHAPE | OP_ROWS_OK | OP_EMPTY_OK,
                                         .ins = pass_grad_ins,
                                         .outs = pass_grad_outs,
                                         .attrs = pass_attrs,
                                         .run = pass_grad_run},
                                        {0}};
