/* Recipes: the gradient of a call, as calls.
 *
 * The makers of gradient ops (program/grad.h) are those of programs; they name what they read and
 * write after the forward op's variables, which are I0, I1, .. and O0, O1, .. here. The names are
 * turned into places once; a backward walk then only moves pointers. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eager/eager.h"
#include "program/grad.h"

/* "I12" of IN_LETTER -> 12; -1: another name. */
static int numbered(const char *name, char letter)
{
    if (name[0] != letter || !name[1])
        return -1;
    char *end;
    long i = strtol(name + 1, &end, 10);
    return *end ? -1 : (int)i;
}

/* "I12@GRAD" -> 12; -1. */
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
    int i = numbered_grad(grad, IN_LETTER);
    return i < 0 || !wanted[i];
}

struct making {
    struct recipe *r;
    struct call *call;
    struct str_map locals; /* name -> number + 1 */
};

static struct place local_place(struct making *m, const char *name)
{
    uintptr_t at = (uintptr_t)str_map_get(&m->locals, name);
    if (!at) {
        at = (uintptr_t)++m->r->nlocals;
        str_map_put(&m->locals, name, (void *)at);
    }
    return (struct place){FROM_LOCAL, (int)at - 1};
}

static struct place in_place_of(struct making *m, const char *name)
{
    int i;
    if (!name[0] || !strcmp(name, EMPTY_VAR))
        return (struct place){0};
    if (str_map_has(&m->locals, name))
        return local_place(m, name);
    if ((i = numbered(name, IN_LETTER)) >= 0)
        return (struct place){FROM_IN, i};
    if ((i = numbered(name, OUT_LETTER)) >= 0)
        return (struct place){FROM_OUT, i};
    if ((i = numbered_grad(name, OUT_LETTER)) >= 0)
        return (struct place){FROM_OUT_GRAD, i};
    return local_place(m, name);
}

static struct place out_place_of(struct making *m, const char *name)
{
    int i;
    if (!name[0] || !strcmp(name, EMPTY_VAR))
        return (struct place){0};
    if ((i = numbered_grad(name, IN_LETTER)) >= 0)
        return (struct place){FROM_IN, i};
    return local_place(m, name);
}

/* Places of one side of a gradient op, in the order in which its call numbers them. */
static struct place *places(struct making *m, const struct skiff_op *op, bool output)
{
    const struct op_slot *slots = output ? op->kind->outs : op->kind->ins;
    int n = 0;
    struct place *out = NULL;
    for (; slots && slots->name; slots++) {
        const struct op_arg *arg = output ? op_out(op, slots->name) : op_in(op, slots->name);
        if (!arg || !arg->n)
            continue;
        out = mem_must_grow(out, (size_t)(n + arg->n) * sizeof(*out));
        for (int i = 0; i < arg->n; i++)
            out[n++] = output ? out_place_of(m, arg->names[i]) : in_place_of(m, arg->names[i]);
    }
    return out;
}

static void note_need(struct recipe *r, const struct recipe_step *s)
{
    for (int i = 0; i < s->call->nin; i++) {
        char need = s->call->in_slots[i]->flags & SLOT_SHAPE_ONLY ? NEED_SHAPE : NEED_DATA;
        struct place p = s->ins[i];
        char *have = p.from == FROM_IN    ? &r->need_in[p.index]
                     : p.from == FROM_OUT ? &r->need_out[p.index]
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
    struct recipe_step *s = &m->r->steps[m->r->nsteps];
    s->ins = places(m, op, false);
    s->outs = places(m, op, true);
    m->r->nsteps++; /* counted at once, so that recipe_destroy frees the places */
    TRY(call_of_op(e, m->call->program, op, &s->call, err));
    note_need(m->r, s);
    return SKIFF_OK;
}

static enum skiff_status make(struct skiff_eager *e, struct call *c, const bool *wanted,
                              struct recipe **out, struct skiff_error *err)
{
    struct recipe *r = mem_must(sizeof(*r));
    struct grad_build g = {.program = c->program,
                           .block = program_root(c->program),
                           .fwd = c->kernel.op,
                           .unwanted = unwanted,
                           .user = (void *)wanted};
    struct making m = {.r = r, .call = c};
    r->wanted = mem_must((size_t)c->nin + 1);
    memcpy(r->wanted, wanted, (size_t)c->nin);
    r->need_in = mem_must((size_t)c->nin + 1);
    r->need_out = mem_must((size_t)c->nout + 1);
    str_map_init(&m.locals);
    enum skiff_status status = grad_build_ops(&g, err);
    if (status == SKIFF_OK)
        r->steps = mem_must((size_t)(g.nops + 1) * sizeof(*r->steps));
    for (int i = 0; i < g.nops && status == SKIFF_OK; i++)
        status = add_step(e, &m, g.ops[i], err);
    str_map_deinit(&m.locals);
    if (status < 0) {
        recipe_destroy(r);
        return status;
    }
    *out = r;
    return SKIFF_OK;
}

enum skiff_status recipe_of(struct skiff_eager *e, struct call *c, const bool *wanted,
                            struct recipe **out, struct skiff_error *err)
{
    struct recipe *r = c->recipes;
    while (r && memcmp(r->wanted, wanted, (size_t)c->nin))
        r = r->next;
    if (!r) {
        TRY(make(e, c, wanted, &r, err));
        r->next = c->recipes;
        c->recipes = r;
    }
    *out = r->nsteps ? r : NULL;
    return SKIFF_OK;
}

void recipe_destroy(struct recipe *r)
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
