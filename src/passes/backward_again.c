/* Second and later calls of append_backward and gradients on one program.
 *
 * Gradients of earlier calls are variables of the program by then, and their ops may be part of
 * what is differentiated. So y@GRAD has two meanings: a value that an earlier call made, and the
 * gradient that this call computes. The latter is named grad/grad/y@GRAD (one "grad/" per call).
 * The arguments of the differentiated op itself always mean the former.
 *
 * Fluid 1.8 confuses the two where an ordinary op reads a gradient. In
 *     g = gradients(x * x, x);  gradients(g * g + x * x * x, x)
 * the gradient of g * g is multiplied by grad/grad/x@GRAD, as far as it is known there, instead of
 * g. Programs of 1.x get these numbers, and a warning. */
#include "base/mem.h"
#include "passes/backward_parts.h"

static const char *prefixed(struct backward *b, const char *name)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < b->o->times; i++)
        buf_str(&text, "grad/");
    buf_str(&text, name);
    const char *out = arena_strdup(&b->p->arena, text.data);
    buf_deinit(&text);
    return out;
}

static bool is_taken(const struct skiff_block *block, const char *name)
{
    return is_grad(name) && block_own_var(block, name);
}

static void rename_outputs(struct backward *b, const struct skiff_block *block, struct skiff_op *op)
{
    for (int s = 0; s < op->nouts; s++)
        for (int k = 0; k < op->outs[s].n; k++) {
            const char *name = op->outs[s].names[k];
            if (!is_taken(block, name))
                continue;
            const char *to = prefixed(b, name);
            op->outs[s].names[k] = to;
            str_map_put(&b->renamed, name, (void *)to);
            const char *var = str_map_get(&b->grad_to_var, name);
            if (var)
                str_map_put(&b->grad_to_var, to, (void *)var);
        }
}

static void warn_replaced(struct backward *b, const struct skiff_op *fwd, const char *name)
{
    if (b->o->warning && !*b->o->warning)
        *b->o->warning = arena_printf(
            &b->p->arena,
            "op %s reads the gradient %s, and a later op has a gradient of the same name: as in "
            "Paddle 1.8 the later one takes its place when op %s is differentiated, so that the "
            "result is not the derivative. For the derivative, let the op read a copy of the "
            "gradient (assign)",
            fwd->type, name, fwd->type);
}

const char *again_name(struct backward *b, const struct skiff_block *block, const char *name)
{
    const char *to = str_map_get(&b->renamed, name);
    if (to)
        return to;
    return is_taken(block, name) && !set_has(&b->seeds, name) ? prefixed(b, name) : name;
}

static void rename_inputs(struct backward *b, const struct skiff_block *block,
                          const struct skiff_op *fwd, struct skiff_op *op)
{
    bool confused = b->p->generation == GEN_1X && op_role_of(fwd) != ROLE_BACKWARD;
    for (int s = 0; s < op->nins; s++)
        for (int k = 0; k < op->ins[s].n; k++) {
            const char *name = op->ins[s].names[k];
            bool own = op_reads(fwd, name) || op_writes(fwd, name);
            if (!own) {
                op->ins[s].names[k] = again_name(b, block, name);
            } else if (confused && str_map_has(&b->renamed, name)) {
                warn_replaced(b, fwd, name);
                op->ins[s].names[k] = str_map_get(&b->renamed, name);
            }
        }
}

void rename_again(struct backward *b, const struct skiff_block *block, const struct skiff_op *fwd,
                  struct skiff_op *op)
{
    rename_inputs(b, block, fwd, op);
    rename_outputs(b, block, op);
}

void rename_no_grad(struct backward *b, const struct skiff_block *block)
{
    struct str_map *set = &b->no_grad[block->idx], fresh;
    str_map_init(&fresh);
    for (size_t i = 0; i < set->count; i++)
        set_add(&fresh, again_name(b, block, set->entries[i].key));
    str_map_deinit(set);
    *set = fresh;
}

bool follows(struct backward *b, struct skiff_op *const *ops, int n)
{
    bool any = false;
    for (int i = 0; i < n; i++)
        for (int s = 0; s < ops[i]->nins; s++)
            for (int k = 0; k < ops[i]->ins[s].n; k++) {
                const char *name = ops[i]->ins[s].names[k];
                any = any || (is_grad(name) && set_has(&b->wanted, name));
            }
    for (int i = 0; any && i < n; i++)
        add_args(&b->wanted, ops[i]->outs, ops[i]->nouts, NULL);
    return any;
}

const struct skiff_var *grad_model(struct skiff_program *p, const struct skiff_block *block,
                                   const char *grad)
{
    const char *cut = NULL, *name = grad;
    for (const char *at = strstr(grad, GRAD_SUFFIX); at; at = strstr(at + 1, GRAD_SUFFIX))
        cut = at;
    if (!cut || strstr(cut, SECOND_MARK))
        return NULL;
    for (;; name += strlen("grad/")) {
        const char *var = arena_strndup(&p->arena, name, (size_t)(cut - name));
        const struct skiff_var *v = block_find_var(block, var);
        if (v || strncmp(name, "grad/", strlen("grad/")))
            return v;
    }
}
