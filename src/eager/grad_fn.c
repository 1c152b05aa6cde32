/* Gradient functions: the gradient of a call, expressed as calls.
 *
 * The makers of gradient ops (program/grad.h) are those of programs. They name their arguments
 * after the forward op's variables, which are I0, I1, .. and O0, O1, .. here. These names are
 * resolved to sources once, so a backward walk only moves pointers. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eager/eager.h"
#include "program/grad.h"

/* "I12" with letter 'I' -> 12; -1 for any other name. */
static int numbered(const char *name, char letter)
{
    if (name[0] != letter || !name[1])
        return -1;
    char *end;
    long i = strtol(name + 1, &end, 10);
    return *end ? -1 : (int)i;
}

/* "I12@GRAD" -> 12; -1 for any other name. */
static int numbered_grad(const char *name, char letter)
{
    size_t n = strlen(name), cut = strlen(GRAD_SUFFIX);
    char head[24];
    if (n <= cut || n - cut >= sizeof(head) || strcmp(name + n - cut, GRAD_SUFFIX))
        return -1;
    memcpy(head, name, n - cut);
    head[n - cut] = 0;
    return numbered(head, letter);
}

static bool unwanted(const struct grad_build *g, const char *grad)
{
    const bool *wanted = g->user;
    int i = numbered_grad(grad, IN_PREFIX);
    return i < 0 || !wanted[i];
}

struct making {
    struct grad_fn *r;
    struct eager_call *call;
    struct str_map locals; /* name -> number + 1 */
};

static struct grad_arg local_source(struct making *m, const char *name)
{
    uintptr_t at = (uintptr_t)str_map_get(&m->locals, name);
    if (!at) {
        at = (uintptr_t)++m->r->nlocals;
        str_map_put(&m->locals, name, (void *)at);
    }
    return (struct grad_arg){SOURCE_LOCAL, (int)at - 1};
}

static struct grad_arg in_source_of(struct making *m, const char *name)
{
    int i;
    if (!name[0] || !strcmp(name, EMPTY_VAR))
        return (struct grad_arg){0};
    if (str_map_has(&m->locals, name))
        return local_source(m, name);
    if ((i = numbered(name, IN_PREFIX)) >= 0)
        return (struct grad_arg){SOURCE_IN, i};
    if ((i = numbered(name, OUT_PREFIX)) >= 0)
        return (struct grad_arg){SOURCE_OUT, i};
    if ((i = numbered_grad(name, OUT_PREFIX)) >= 0)
        return (struct grad_arg){SOURCE_OUT_GRAD, i};
    return local_source(m, name);
}

static struct grad_arg out_source_of(struct making *m, const char *name)
{
    int i;
    if (!name[0] || !strcmp(name, EMPTY_VAR))
        return (struct grad_arg){0};
    if ((i = numbered_grad(name, IN_PREFIX)) >= 0)
        return (struct grad_arg){SOURCE_IN, i};
    return local_source(m, name);
}

/* Sources of one side of a gradient op, in the order in which its call numbers them. */
static struct grad_arg *sources(struct making *m, const struct skiff_op *op, bool output)
{
    const struct op_slot *slots = output ? op->kind->outs : op->kind->ins;
    int n = 0;
    struct grad_arg *out = NULL;
    for (; slots && slots->name; slots++) {
        const struct op_arg *arg = output ? op_out(op, slots->name) : op_in(op, slots->name);
        if (!arg || !arg->n)
            continue;
        out = mem_grow_or_die(out, (size_t)(n + arg->n) * sizeof(*out));
        for (int i = 0; i < arg->n; i++)
            out[n++] = output ? out_source_of(m, arg->names[i]) : in_source_of(m, arg->names[i]);
    }
    return out;
}

static void note_need(struct grad_fn *r, const struct grad_fn_step *s)
{
    for (int i = 0; i < s->call->nin; i++) {
        char need = s->call->in_slots[i]->flags & SLOT_SHAPE_ONLY ? NEED_SHAPE : NEED_DATA;
        struct grad_arg p = s->ins[i];
        char *have = p.from == SOURCE_IN    ? &r->need_in[p.index]
                     : p.from == SOURCE_OUT ? &r->need_out[p.index]
                                            : NULL;
        if (have && *have < need)
            *have = need;
    }
}

static enum skiff_status add_step(struct skiff_eager *e, struct making *m, struct skiff_op *op,
                                  struct skiff_error *err)
{
    if (!op->kind)
        return error_set(err, SKIFF_UNSUPPORTED, "op %s has no gradient here: Skiff has no op %s",
                         m->call->kernel.kind->type, op->type);
    struct grad_fn_step *s = &m->r->steps[m->r->nsteps];
    s->ins = sources(m, op, false);
    s->outs = sources(m, op, true);
    m->r->nsteps++; /* counted first, so that grad_fn_destroy frees the sources */
    TRY(call_of_op(e, m->call->program, op, &s->call, err));
    note_need(m->r, s);
    return SKIFF_OK;
}

static enum skiff_status make(struct skiff_eager *e, struct eager_call *c, const bool *wanted,
                              struct grad_fn **out, struct skiff_error *err)
{
    struct grad_fn *r = mem_alloc_or_die(sizeof(*r));
    struct grad_build g = {.program = c->program,
                           .block = program_root(c->program),
                           .fwd = c->kernel.op,
                           .unwanted = unwanted,
                           .user = (void *)wanted};
    struct making m = {.r = r, .call = c};
    r->wanted = mem_alloc_or_die((size_t)c->nin + 1);
    memcpy(r->wanted, wanted, (size_t)c->nin);
    r->need_in = mem_alloc_or_die((size_t)c->nin + 1);
    r->need_out = mem_alloc_or_die((size_t)c->nout + 1);
    str_map_init(&m.locals);
    enum skiff_status status = grad_build_ops(&g, err);
    if (status == SKIFF_OK)
        r->steps = mem_alloc_or_die((size_t)(g.nops + 1) * sizeof(*r->steps));
    for (int i = 0; i < g.nops && status == SKIFF_OK; i++)
        status = add_step(e, &m, g.ops[i], err);
    str_map_deinit(&m.locals);
    if (status < 0) {
        grad_fn_destroy(r);
        return status;
    }
    *out = r;
    return SKIFF_OK;
}

enum skiff_status grad_fn_of(struct skiff_eager *e, struct eager_call *c, const bool *wanted,
                             struct grad_fn **out, struct skiff_error *err)
{
    struct grad_fn *r = c->grad_fns;
    while (r && memcmp(r->wanted, wanted, (size_t)c->nin))
        r = r->next;
    if (!r) {
        TRY(make(e, c, wanted, &r, err));
        r->next = c->grad_fns;
        c->grad_fns = r;
    }
    *out = r->nsteps ? r : NULL;
    return SKIFF_OK;
}

void grad_fn_destroy(struct grad_fn *r)
{
    for (int i = 0; i < r->nsteps; i++) {
        call_unref(r->steps[i].call);
        free(r->steps[i].ins);
        free(r->steps[i].outs);
    }
    free(r->steps);
    free(r->wanted);
    free(r->need_in);
    free(r->need_out);
    free(r);
}
