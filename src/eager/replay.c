/* Runs a program as if its ops were called one after the other: a traced function, or a loaded
 * model that is trained further.
 *
 * Ops are bound when the replay is made, so a run has no names and no attributes to look at:
 * each call gets its tensors by number. A result is dropped after its last use, as a caller
 * without references would drop it; backward keeps what it needs by itself (tape.c). */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "eager/eager.h"
#include "program/build.h"

struct replay_step {
    struct eager_call *call; /* owned reference */
    int *ins, *outs;         /* by argument: its number among the variables; -1: absent */
    bool *fresh;             /* by output: a new tensor, not one that is written to again */
    bool quiet;              /* no gradient goes through it, whatever its inputs want */
    int *drops;              /* variables nobody reads later */
    int ndrops;
};

struct skiff_eager_replay {
    struct skiff_eager *engine;
    struct arena arena;
    struct str_map numbers; /* name -> number + 1 */
    struct replay_step *steps;
    int nsteps, nvars, nins, nouts;
    int *outs;
};

static int number_of(const struct skiff_eager_replay *r, const char *name)
{
    return (int)(intptr_t)str_map_get(&r->numbers, name) - 1;
}

static int number_new(struct skiff_eager_replay *r, const char *name)
{
    int known = number_of(r, name);
    if (known >= 0)
        return known;
    const char *own = arena_printf(&r->arena, "%s", name);
    str_map_put(&r->numbers, own, (void *)(intptr_t)++r->nvars);
    return r->nvars - 1;
}

static bool is_absent(const char *name)
{
    return !name[0] || !strcmp(name, EMPTY_VAR);
}

/* ---- creating a replay ---- */

/* The op's slots as slots of a call. To find the call, only the presence of a tensor matters. */
static struct skiff_op_arg *call_args(struct arena *a, const struct op_arg *args, int n)
{
    static struct skiff_eager_tensor *const there = (struct skiff_eager_tensor *)&is_absent;
    struct skiff_op_arg *out = arena_alloc(a, (size_t)(n + 1) * sizeof(*out));
    for (int i = 0; i < n; i++) {
        struct skiff_eager_tensor **tensors =
            arena_alloc(a, (size_t)(args[i].n + 1) * sizeof(struct skiff_eager_tensor *));
        for (int j = 0; j < args[i].n; j++)
            tensors[j] = is_absent(args[i].names[j]) ? NULL : there;
        out[i] = (struct skiff_op_arg){args[i].slot, args[i].n, tensors};
    }
    return out;
}

static bool is_left_out(const struct op_slot *slot, const struct op_arg *arg)
{
    return (slot->flags & SLOT_EXTRA) && !(slot->flags & SLOT_LIST) && (!arg || !arg->n);
}

/* Saved programs omit outputs that only gradients read (dropout's Mask): they are added again. */
static struct skiff_op_arg *call_outs(struct arena *a, const struct skiff_op *op, int *n)
{
    static struct skiff_eager_tensor *const there = (struct skiff_eager_tensor *)&is_absent;
    const struct op_slot *slots = op->kind ? op->kind->outs : NULL;
    int more = 0;
    for (const struct op_slot *slot = slots; slot && slot->name; slot++)
        more++;
    struct skiff_op_arg *given = call_args(a, op->outs, op->nouts);
    struct skiff_op_arg *out = arena_alloc(a, (size_t)(op->nouts + more + 1) * sizeof(*out));
    memcpy(out, given, (size_t)op->nouts * sizeof(*out));
    *n = op->nouts;
    for (const struct op_slot *slot = slots; slot && slot->name; slot++) {
        const struct op_arg *arg = op_out(op, slot->name);
        if (is_left_out(slot, arg))
            out[(*n)++] = (struct skiff_op_arg){slot->name, 1, &there};
    }
    return out;
}

static struct eager_call *bind_op(struct skiff_eager_replay *r, struct skiff_block *b,
                                  const struct skiff_op *op, struct skiff_error *err)
{
    struct skiff_op_setting *attrs =
        arena_alloc(&r->arena, (size_t)(op->nattrs + 1) * sizeof(*attrs));
    int nattrs = 0;
    for (int i = 0; i < op->nattrs && op->kind; i++) {
        const char *name = op->attrs[i].name;
        if (op_kind_attr(op->kind, name) >= 0 && skiff_op_attr(b, op, name, &attrs[nattrs].value))
            attrs[nattrs++].name = name;
    }
    struct skiff_op_call c = {.type = op->type, .nins = op->nins, .attrs = attrs};
    c.ins = call_args(&r->arena, op->ins, op->nins);
    c.outs = call_outs(&r->arena, op, &c.nouts);
    c.nattrs = nattrs;
    return call_create(r->engine, &c, b->program->generation, err);
}

static enum skiff_status number_ins(struct skiff_eager_replay *r, const struct skiff_op *op,
                                    struct replay_step *s, struct skiff_error *err)
{
    int at = 0;
    s->ins = arena_alloc(&r->arena, (size_t)(s->call->nin + 1) * sizeof(*s->ins));
    for (const struct op_slot *slot = s->call->kernel.kind->ins; slot && slot->name; slot++) {
        const struct op_arg *arg = op_in(op, slot->name);
        for (int j = 0; arg && j < arg->n; j++) {
            int number = is_absent(arg->names[j]) ? -1 : number_of(r, arg->names[j]);
            if (number < 0 && !is_absent(arg->names[j]))
                return error_set(
                    err, SKIFF_STATE,
                    "op %s reads variable %s, which is not an input of the program and "
                    "not a result of an earlier op",
                    op->type, arg->names[j]);
            s->ins[at++] = number;
        }
    }
    return SKIFF_OK;
}

static bool reads(const struct replay_step *s, int number)
{
    for (int i = 0; i < s->call->nin; i++)
        if (s->ins[i] == number)
            return true;
    return false;
}

static void number_outs(struct skiff_eager_replay *r, const struct skiff_op *op,
                        struct replay_step *s)
{
    int at = 0;
    s->outs = arena_alloc(&r->arena, (size_t)(s->call->nout + 1) * sizeof(*s->outs));
    s->fresh = arena_alloc(&r->arena, (size_t)(s->call->nout + 1) * sizeof(*s->fresh));
    for (const struct op_slot *slot = s->call->kernel.kind->outs; slot && slot->name; slot++) {
        const struct op_arg *arg = op_out(op, slot->name);
        if (is_left_out(slot, arg)) {
            s->fresh[at] = true;
            s->outs[at++] = r->nvars++;
        }
        for (int j = 0; arg && j < arg->n; j++, at++) {
            s->outs[at] = is_absent(arg->names[j]) ? -1 : number_new(r, arg->names[j]);
            s->fresh[at] = s->outs[at] >= r->nins && !reads(s, s->outs[at]);
        }
    }
}

/* Traced under no_grad, or detached: an input wants a gradient and no output has one. */
static bool is_quiet(const struct skiff_block *b, const struct skiff_op *op)
{
    bool wanted = false;
    for (int i = 0; i < op->nins; i++)
        for (int j = 0; j < op->ins[i].n; j++) {
            const struct skiff_var *v = block_find_var(b, op->ins[i].names[j]);
            wanted = wanted || (v && !v->stop_gradient);
        }
    for (int i = 0; i < op->nouts; i++)
        for (int j = 0; j < op->outs[i].n; j++) {
            const struct skiff_var *v = block_find_var(b, op->outs[i].names[j]);
            if (v && !v->stop_gradient)
                return false;
        }
    return wanted;
}

static enum skiff_status make_steps(struct skiff_eager_replay *r, struct skiff_block *b,
                                    struct skiff_error *err)
{
    r->steps = arena_alloc(&r->arena, (size_t)(b->nops + 1) * sizeof(*r->steps));
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        struct replay_step *s = &r->steps[r->nsteps];
        if (op_is(op, CLASS_FEED) || op_is(op, CLASS_FETCH))
            continue;
        if (!(s->call = bind_op(r, b, op, err)))
            return err->code;
        r->nsteps++;
        TRY(number_ins(r, op, s, err));
        number_outs(r, op, s);
        s->quiet = is_quiet(b, op);
    }
    return SKIFF_OK;
}

static void note_last(int *last, const int *numbers, int n, int step)
{
    for (int i = 0; i < n; i++)
        if (numbers[i] >= 0)
            last[numbers[i]] = step;
}

/* Frees each variable after the last step that names it, unless it is an input or a result. */
static void make_drops(struct skiff_eager_replay *r)
{
    int *last = arena_alloc(&r->arena, (size_t)(r->nvars + 1) * sizeof(*last));
    for (int i = 0; i < r->nsteps; i++) {
        note_last(last, r->steps[i].ins, r->steps[i].call->nin, i);
        note_last(last, r->steps[i].outs, r->steps[i].call->nout, i);
    }
    for (int i = 0; i < r->nouts; i++)
        last[r->outs[i]] = -1;
    for (int v = r->nins; v < r->nvars; v++)
        if (last[v] >= 0)
            r->steps[last[v]].ndrops++;
    for (int i = 0; i < r->nsteps; i++) {
        r->steps[i].drops = arena_alloc(&r->arena, (size_t)(r->steps[i].ndrops + 1) * sizeof(int));
        r->steps[i].ndrops = 0;
    }
    for (int v = r->nins; v < r->nvars; v++)
        if (last[v] >= 0) {
            struct replay_step *s = &r->steps[last[v]];
            s->drops[s->ndrops++] = v;
        }
}

static enum skiff_status find_outs(struct skiff_eager_replay *r, int nouts, const char *const *outs,
                                   struct skiff_error *err)
{
    r->outs = arena_alloc(&r->arena, (size_t)(nouts + 1) * sizeof(*r->outs));
    for (r->nouts = 0; r->nouts < nouts; r->nouts++) {
        r->outs[r->nouts] = number_of(r, outs[r->nouts]);
        if (r->outs[r->nouts] < 0)
            return error_set(err, SKIFF_STATE, "no op of the program computes its result %s",
                             outs[r->nouts]);
    }
    return SKIFF_OK;
}

enum skiff_status skiff_eager_replay_create(struct skiff_eager *e, const struct skiff_program *p,
                                            int nins, const char *const *ins, int nouts,
                                            const char *const *outs,
                                            struct skiff_eager_replay **out,
                                            struct skiff_error *err)
{
    struct skiff_error own;
    err = err ? err : &own;
    struct skiff_eager_replay *r = mem_alloc_or_die(sizeof(*r));
    r->engine = e;
    e->refs++;
    arena_init(&r->arena);
    str_map_init(&r->numbers);
    for (int i = 0; i < nins; i++)
        number_new(r, ins[i]);
    r->nins = nins;
    enum skiff_status status = make_steps(r, program_root(p), err);
    if (status == SKIFF_OK)
        status = find_outs(r, nouts, outs, err);
    if (status < 0) {
        skiff_eager_replay_destroy(r);
        return status;
    }
    make_drops(r);
    *out = r;
    return SKIFF_OK;
}

void skiff_eager_replay_destroy(struct skiff_eager_replay *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->nsteps; i++)
        call_unref(r->steps[i].call);
    str_map_deinit(&r->numbers);
    arena_deinit(&r->arena);
    engine_unref(r->engine);
    free(r);
}

/* ---- running ---- */

static enum skiff_status run_step(struct skiff_eager *e, const struct replay_step *s,
                                  struct skiff_eager_tensor **vars,
                                  struct skiff_eager_tensor **args, struct skiff_error *err)
{
    struct skiff_eager_tensor **ins = args, **outs = args + s->call->nin;
    for (int i = 0; i < s->call->nin; i++)
        ins[i] = s->ins[i] < 0 ? NULL : vars[s->ins[i]];
    for (int i = 0; i < s->call->nout; i++) {
        int v = s->outs[i];
        if (v >= 0 && (s->fresh[i] || !vars[v])) {
            skiff_eager_tensor_unref(vars[v]);
            vars[v] = skiff_eager_tensor_create(e);
        }
        outs[i] = v < 0 ? NULL : vars[v];
    }
    bool noting = e->noting;
    e->noting = noting && !s->quiet;
    enum skiff_status status = op_run(e, s->call, ins, outs, err);
    e->noting = noting;
    for (int i = 0; i < s->ndrops; i++) {
        skiff_eager_tensor_unref(vars[s->drops[i]]);
        vars[s->drops[i]] = NULL;
    }
    return status;
}

static int most_args(const struct skiff_eager_replay *r)
{
    int most = 0;
    for (int i = 0; i < r->nsteps; i++) {
        int n = r->steps[i].call->nin + r->steps[i].call->nout;
        most = n > most ? n : most;
    }
    return most;
}

enum skiff_status skiff_eager_replay_run(struct skiff_eager_replay *r,
                                         struct skiff_eager_tensor *const *ins,
                                         struct skiff_eager_tensor **out, struct skiff_error *err)
{
    struct skiff_error own;
    err = err ? err : &own;
    /* scratch of its own: a hook or a kernel's callback may run the same replay again */
    size_t capacity = (size_t)(r->nvars + most_args(r) + 1);
    struct skiff_eager_tensor **vars =
        mem_alloc_or_die(capacity * sizeof(struct skiff_eager_tensor *));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < r->nins; i++)
        vars[i] = skiff_eager_tensor_ref(ins[i]);
    for (int i = 0; i < r->nsteps && status == SKIFF_OK; i++)
        status = run_step(r->engine, &r->steps[i], vars, vars + r->nvars, err);
    for (int i = 0; i < r->nouts && status == SKIFF_OK; i++)
        out[i] = skiff_eager_tensor_ref(vars[r->outs[i]]);
    for (int i = 0; i < r->nvars; i++)
        skiff_eager_tensor_unref(vars[i]);
    free(vars);
    return status;
}
