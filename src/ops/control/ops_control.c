/* Loops.
 *   while       runs its block as long as the condition holds; keeps what each iteration left in
 *   the             block's own variables (StepScopes) for the gradient
 *   while_grad  goes through the iterations backwards: brings their variables back, runs the
 *               gradient block, and adds up the gradients of variables from outside
 *
 * Loop-carried variables of the outside that the block overwrites (with another op than one that
 * updates in place) are kept per iteration too, as they were before it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/control/control.h"
#include "ops/seq_common.h"

/* ---- while ---- */

enum { WHILE_X, WHILE_CONDITION };
enum { WHILE_OUT, WHILE_SCOPES };
enum { WHILE_BLOCK, WHILE_IS_TEST };

/* Contents of StepScopes. */
struct iteration {
    void *block;                   /* the block's own variables, from run_env.save_block */
    struct skiff_tensor **carried; /* values of the X that are carried, before the iteration */
};
struct iterations {
    struct value_keepalive kept;
    void (*free_saved)(void *);
    int block, ncarried;
    int *carried; /* positions in X */
    struct iteration *at;
    int n, cap;
};

static void iterations_destroy(struct value_keepalive *k)
{
    struct iterations *s = (struct iterations *)k;
    for (int i = 0; i < s->n; i++) {
        if (s->at[i].block)
            s->free_saved(s->at[i].block);
        for (int c = 0; c < s->ncarried; c++) {
            value_deinit(s->at[i].carried[c]);
            free(s->at[i].carried[c]);
        }
        free(s->at[i].carried);
    }
    free(s->at);
    free(s->carried);
    free(s);
}

/* Does an op of the block overwrite this outer variable, with none updating it in place? */
static bool is_carried(const struct skiff_block *b, const char *name)
{
    bool written = false;
    for (int i = 0; i < b->nops; i++) {
        bool writes = op_writes(b->ops[i], name);
        if (writes && op_reads(b->ops[i], name))
            return false;
        written = written || writes;
    }
    return written;
}

/* Made when the loop is prepared. */
struct loop {
    bool keep;     /* a gradient op asks for the iterations */
    bool *carried; /* per X: the block writes it, and not in place */
};

static struct iterations *iterations_start(struct kernel *k)
{
    const struct loop *loop = k->state;
    struct iterations *s = mem_alloc_or_die(sizeof *s);
    int nx = kernel_in_count(k, WHILE_X);
    s->kept.destroy = iterations_destroy;
    s->free_saved = k->env->free_saved;
    s->block = k->attr[WHILE_BLOCK].i;
    s->carried = mem_alloc_or_die((size_t)(nx + 1) * sizeof *s->carried);
    for (int i = 0; i < nx; i++) {
        const struct skiff_tensor *v = kernel_in_value(k, WHILE_X, i);
        if (v && v->kind == VALUE_TENSOR && loop->carried[i])
            s->carried[s->ncarried++] = i;
    }
    return s;
}

static struct iteration *iteration_push(struct iterations *s)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 16;
        s->at = mem_grow_or_die(s->at, (size_t)s->cap * sizeof *s->at);
    }
    struct iteration *it = &s->at[s->n++];
    it->block = NULL;
    it->carried = mem_alloc_or_die((size_t)(s->ncarried + 1) * sizeof *it->carried);
    for (int c = 0; c < s->ncarried; c++)
        it->carried[c] = mem_alloc_or_die(sizeof **it->carried);
    return it;
}

static enum skiff_status run_kept(struct kernel *k, struct iterations *s, struct skiff_error *err)
{
    struct iteration *it = iteration_push(s);
    for (int c = 0; c < s->ncarried; c++)
        TRY(value_copy(it->carried[c], kernel_in_value(k, WHILE_X, s->carried[c]), err));
    TRY(k->env->run_block(k->env, s->block, err));
    return k->env->save_block(k->env, s->block, &it->block, err);
}

/* Iterations are kept only for a gradient op that asks for them. */
static enum skiff_status while_prepare(struct kernel *k, struct skiff_error *err)
{
    int nx = kernel_in_count(k, WHILE_X), block = k->attr[WHILE_BLOCK].i;
    TRY(control_check_block(k, block, err));
    struct loop *loop = k->state = mem_alloc_or_die(sizeof *loop);
    loop->keep = control_is_kept(k, "StepScopes");
    loop->carried = mem_alloc_or_die((size_t)(nx + 1) * sizeof *loop->carried);
    for (int i = 0; i < nx; i++)
        loop->carried[i] =
            is_carried(k->env->program->blocks[block], kernel_in_name(k, WHILE_X, i));
    return SKIFF_OK;
}

static void while_release(struct kernel *k)
{
    struct loop *loop = k->state;
    if (loop)
        free(loop->carried);
    free(loop);
    k->state = NULL;
}

static enum skiff_status while_run(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor *scopes = kernel_out_value(k, WHILE_SCOPES, 0);
    struct iterations *s = NULL;
    bool go;
    if (scopes) {
        value_clear(scopes);
        if (((const struct loop *)k->state)->keep && !k->attr[WHILE_IS_TEST].b &&
            !k->env->is_test) {
            s = iterations_start(k);
            value_keep_alive(scopes, &s->kept);
        }
    }
    for (;;) {
        TRY(control_read_bool(k, WHILE_CONDITION, &go, err));
        if (!go)
            return SKIFF_OK;
        if (s)
            TRY(run_kept(k, s, err));
        else
            TRY(k->env->run_block(k->env, k->attr[WHILE_BLOCK].i, err));
    }
}

/* The gradient of a variable that each run of the loop's block creates: there is none outside. */
static bool is_local_grad(const struct skiff_block *fwd, const char *name)
{
    size_t n = strlen(name), cut = strlen(GRAD_SUFFIX);
    char var[512];
    if (n <= cut || n - cut >= sizeof var || strcmp(name + n - cut, GRAD_SUFFIX))
        return false;
    memcpy(var, name, n - cut);
    var[n - cut] = 0;
    return block_own_var(fwd, var);
}

/* The gradients that the while loop gets from outside: what ops of the gradient block read and
 * neither the loop, nor its block, nor the gradient block itself provides. */
static int outside_grads(struct grad_build *g, const struct skiff_block *fwd, const char **out,
                         int max)
{
    const struct op_arg *x = op_in(g->fwd, "X"), *y = op_out(g->fwd, "Out");
    struct str_map known;
    int n = 0;
    str_map_init(&known);
    for (int i = 0; x && i < x->n; i++)
        str_map_put(&known, x->names[i], g);
    for (int i = 0; y && i < y->n; i++)
        str_map_put(&known, y->names[i], g);
    str_map_put(&known, EMPTY_VAR, g);
    for (int o = 0; o < g->grad_block->nops; o++) {
        const struct skiff_op *op = g->grad_block->ops[o];
        for (int s = 0; s < op->nins; s++)
            for (int i = 0; i < op->ins[s].n; i++) {
                const char *name = op->ins[s].names[i];
                if (str_map_has(&known, name) || block_own_var(fwd, name) ||
                    is_local_grad(fwd, name))
                    continue;
                str_map_put(&known, name, g);
                if (n < max)
                    out[n++] = name;
            }
        for (int s = 0; s < op->nouts; s++)
            for (int i = 0; i < op->outs[s].n; i++)
                str_map_put(&known, op->outs[s].names[i], g);
    }
    str_map_deinit(&known);
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool block_writes(const struct skiff_block *b, const char *name)
{
    for (int i = 0; i < b->nops; i++)
        if (op_writes(b->ops[i], name))
            return true;
    return false;
}

static enum skiff_status while_make_grad(struct grad_build *g, struct skiff_error *err)
{
    enum { MOST = 1024 };
    const struct op_attr_value *sub = op_attr(g->fwd, "sub_block");
    const struct op_arg *x = op_in(g->fwd, "X");
    if (!g->grad_block || !sub || !x)
        return error_set(err, SKIFF_UNSUPPORTED, "op while: its block has no gradient block");
    const char **names = mem_alloc_or_die(MOST * sizeof *names);
    struct skiff_op *op = grad_op(g, "while_grad", true);
    grad_use(g, op, "X");
    grad_use(g, op, "Out");
    grad_use(g, op, "StepScopes");
    int n = outside_grads(g, g->program->blocks[sub->value.i], names, MOST);
    qsort(names, (size_t)n, sizeof *names, by_name);
    op_set_in(g->program, op, "Out@GRAD", n, names);
    op_set_strings(g->program, op, "original_output_grad", n, names);
    for (n = 0; n < x->n && n < MOST; n++) {
        names[n] = grad_name(g, x->names[n]);
        if (g->unwanted(g, names[n]) || !block_writes(g->grad_block, names[n]))
            names[n] = EMPTY_VAR;
    }
    op_set_out(g->program, op, "X@GRAD", n, names);
    struct attr_value block = {.i = g->grad_block->idx};
    op_set_attr(g->program, op, "sub_block", ATTR_BLOCK, &block);
    free(names);
    return SKIFF_OK;
}

/* ---- while_grad ---- */

enum { WGRAD_X, WGRAD_OUT, WGRAD_SCOPES, WGRAD_OUT_GRAD };
enum { WGRAD_BLOCK, WGRAD_IS_TEST, WGRAD_SKIP, WGRAD_INSIDE };

/* Gradients that the gradient block declares itself; NULL: it uses the outer one.
 *
 * A gradient that is read as Out@GRAD and written as X@GRAD belongs to a variable that each
 * iteration computes from the previous one: it is passed from iteration to iteration, while all
 * others are summed. If the body computes it from other variables only, it concerns the last
 * iteration only. */
struct inner {
    struct skiff_tensor **grads; /* by X@GRAD */
    struct skiff_tensor **links; /* by Out@GRAD */
    bool *handed_on;             /* by X@GRAD */
    bool *once;                  /* by Out@GRAD: for the last iteration only */
};

static bool lists(const struct attr_value *names, const char *var)
{
    size_t n = strlen(var);
    for (int i = 0; i < names->n; i++)
        if (!strncmp(names->strings[i], var, n) && !strcmp(names->strings[i] + n, GRAD_SUFFIX))
            return true;
    return false;
}

/* Does the loop's block compute the variable in each iteration without reading its old value? */
static bool is_made_anew(const struct kernel *k, int block, const char *grad)
{
    const struct skiff_program *p = k->env->program;
    const struct op_arg *out = op_in(k->op, "Out");
    int forward = p->blocks[block]->forward_idx;
    for (int i = 0; forward >= 0 && out && i < out->n; i++) {
        size_t n = strlen(out->names[i]);
        if (!strncmp(grad, out->names[i], n) && !strcmp(grad + n, GRAD_SUFFIX))
            return is_carried(p->blocks[forward], out->names[i]) &&
                   !block_writes(p->blocks[block], grad);
    }
    return false;
}

static enum skiff_status while_grad_prepare(struct kernel *k, struct skiff_error *err)
{
    int block = k->attr[WGRAD_BLOCK].i, nlinks = kernel_in_count(k, WGRAD_OUT_GRAD);
    int nx = kernel_out_count(k, 0);
    const struct attr_value *inside = &k->attr[WGRAD_INSIDE];
    TRY(control_check_block(k, block, err));
    struct inner *in = k->state = mem_alloc_or_die(sizeof *in);
    in->grads = control_inner(k, block, op_in(k->op, "X"), GRAD_SUFFIX, &k->out[0], true);
    in->handed_on = mem_alloc_or_die((size_t)(nx + 1) * sizeof *in->handed_on);
    for (int i = 0; i < nx; i++)
        in->handed_on[i] = lists(inside, kernel_in_name(k, WGRAD_X, i));
    in->links = mem_alloc_or_die((size_t)(nlinks + 1) * sizeof *in->links);
    in->once = mem_alloc_or_die((size_t)(nlinks + 1) * sizeof *in->once);
    for (int i = 0; i < nlinks && i < inside->n; i++) {
        in->links[i] = k->env->find(k->env, block, inside->strings[i]);
        in->once[i] = is_made_anew(k, block, inside->strings[i]);
        if (in->links[i] == kernel_in_value(k, WGRAD_OUT_GRAD, i))
            in->links[i] = NULL;
    }
    return SKIFF_OK;
}

static void while_grad_release(struct kernel *k)
{
    struct inner *in = k->state;
    if (in) {
        free(in->grads);
        free(in->links);
        free(in->handed_on);
        free(in->once);
    }
    free(in);
    k->state = NULL;
}

/* Before the iterations: gradients that the block declares for outputs are the outer ones, or zeros
 * if nothing outside depends on the output. */
static enum skiff_status link_grads(struct kernel *k, struct skiff_error *err)
{
    const struct inner *in = k->state;
    for (int i = 0; i < kernel_in_count(k, WGRAD_OUT_GRAD); i++) {
        const struct skiff_tensor *outer = kernel_in_value(k, WGRAD_OUT_GRAD, i);
        if (in->links[i] && outer)
            TRY(value_copy(in->links[i], outer, err));
    }
    for (int i = 0; i < kernel_out_count(k, 0); i++) {
        struct skiff_tensor *v = in->grads[i] ? in->grads[i] : kernel_out_value(k, 0, i);
        if (in->handed_on[i] && v && v->kind == VALUE_NONE)
            TRY(control_zeros(v, kernel_in_value(k, WGRAD_X, i), err));
    }
    return SKIFF_OK;
}

static enum skiff_status iteration_back(struct kernel *k, const struct iterations *s, int n,
                                        struct skiff_error *err)
{
    const struct iteration *it = &s->at[n];
    const struct inner *in = k->state;
    TRY(k->env->restore_block(k->env, s->block, it->block, err));
    for (int c = 0; c < s->ncarried; c++)
        TRY(value_copy(kernel_in_value(k, WGRAD_X, s->carried[c]), it->carried[c], err));
    TRY(k->env->run_block(k->env, k->attr[WGRAD_BLOCK].i, err));
    for (int i = 0; i < kernel_out_count(k, 0); i++)
        if (kernel_out_value(k, 0, i))
            TRY(control_add(k, kernel_out_name(k, 0, i), kernel_out_value(k, 0, i), in->grads[i],
                            in->handed_on[i] || n == s->n - 1, err));
    for (int i = 0; i < kernel_in_count(k, WGRAD_OUT_GRAD); i++) {
        struct skiff_tensor *v =
            in->links[i] ? in->links[i] : kernel_in_value(k, WGRAD_OUT_GRAD, i);
        if (in->once[i] && v && v->kind == VALUE_TENSOR)
            tensor_clear(&v->tensor);
    }
    return SKIFF_OK;
}

/* A loop that never ran: its inputs affect the result only through their initial values. */
static enum skiff_status zero_grads(struct kernel *k, struct skiff_error *err)
{
    const struct inner *in = k->state;
    for (int i = 0; i < kernel_out_count(k, 0); i++) {
        struct skiff_tensor *v = kernel_out_value(k, 0, i);
        if (in->handed_on[i] && in->grads[i] && v)
            TRY(value_copy(v, in->grads[i], err));
        else if (!in->handed_on[i])
            TRY(control_zeros(v, kernel_in_value(k, WGRAD_X, i), err));
    }
    return SKIFF_OK;
}

static enum skiff_status while_grad_run(struct kernel *k, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct skiff_tensor *scopes = kernel_in_value(k, WGRAD_SCOPES, 0);
    if (!scopes || scopes->kind != VALUE_SCOPES)
        return kernel_fail(k, SKIFF_STATE, err,
                           "the loop kept nothing for its gradient (did it run with is_test?)");
    const struct iterations *s = (const struct iterations *)scopes->kept;
    struct skiff_tensor *last = mem_alloc_or_die((size_t)(s->ncarried + 1) * sizeof *last);
    for (int c = 0; c < s->ncarried; c++)
        TRY_OUT(value_copy(&last[c], kernel_in_value(k, WGRAD_X, s->carried[c]), err));
    TRY_OUT(link_grads(k, err));
    if (!s->n)
        TRY_OUT(zero_grads(k, err));
    for (int n = s->n; n-- > 0;)
        TRY_OUT(iteration_back(k, s, n, err));
    for (int c = 0; c < s->ncarried; c++)
        TRY_OUT(value_copy(kernel_in_value(k, WGRAD_X, s->carried[c]), &last[c], err));
out:
    for (int c = 0; c < s->ncarried; c++)
        value_deinit(&last[c]);
    free(last);
    return status;
}

/* The gradient of an array is an array. */
static void while_grad_kinds(struct infer *c)
{
    const struct op_arg *x = op_in(c->op, "X");
    for (int i = 0; x && i < x->n && i < infer_out_count(c, 0); i++) {
        const struct skiff_var *v = block_find_var(c->block, x->names[i]);
        if (v && v->kind == VAR_LOD_TENSOR_ARRAY)
            infer_out_kind(c, 0, i, v->kind);
    }
}

/* ---- table ---- */

static const struct op_slot while_ins[] = {
    {"X", SLOT_LIST | SLOT_OPTIONAL}, {"Condition", SLOT_LIST}, {0}};
static const struct op_slot while_outs[] = {{"Out", SLOT_LIST}, {"StepScopes", 0}, {0}};
static const struct op_attr_spec while_attrs[] = {
    A_BLOCK("sub_block"),
    A_BOOL("is_test", false),
    AF_LIST("skip_eager_deletion_vars", ATTR_STRINGS, ATTR_ONLY_1X),
    {0}};
static const struct op_slot while_grad_ins[] = {{"X", SLOT_LIST},
                                                {"Out", SLOT_LIST | SLOT_OPTIONAL},
                                                {"StepScopes", 0},
                                                {"Out@GRAD", SLOT_LIST | SLOT_OPTIONAL},
                                                {0}};
static const struct op_slot while_grad_outs[] = {{"X@GRAD", SLOT_LIST}, {0}};
static const struct op_attr_spec while_grad_attrs[] = {
    A_BLOCK("sub_block"),
    A_BOOL("is_test", false),
    AF_LIST("skip_eager_deletion_vars", ATTR_STRINGS, ATTR_ONLY_1X),
    A_STRS("original_output_grad"),
    {0}};

const struct op_kind ops_control[] = {{.type = "while",
                                       .flags = CONTROL,
                                       .ins = while_ins,
                                       .outs = while_outs,
                                       .attrs = while_attrs,
                                       .make_grad = while_make_grad,
                                       .infer = control_no_shapes,
                                       .prepare = while_prepare,
                                       .release = while_release,
                                       .run = while_run},
                                      {.type = "while_grad",
                                       .flags = CONTROL,
                                       .ins = while_grad_ins,
                                       .outs = while_grad_outs,
                                       .attrs = while_grad_attrs,
                                       .infer = control_no_shapes,
                                       .prepare = while_grad_prepare,
                                       .release = while_grad_release,
                                       .run = while_grad_run,
                                       .infer_kind = while_grad_kinds},
                                      {0}};
