/* Calls: an op type with its attributes and argument counts, bound to its kernel.
 *
 * A model makes the same few hundred calls over and over. The costly work (names, attributes,
 * defaults, the kernel's own preparation) is done when a call is first seen. Later it is found
 * by the bytes of its key and only receives its values. Shapes are not part of the key: shape
 * rules run every time, as they do in plans. Attributes that change in every call (a slice with
 * a moving start) would fill the cache, so the cache is emptied when it holds MOST calls. A call
 * that a tape node still needs lives until the node is released. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/thread_pool.h"
#include "eager/eager.h"
#include "program/bind.h"
#include "program/build.h"
#include "program/infer.h"

enum { MOST = 4096, CHAINS = 4096 };

/* ---- keys ---- */

static void key_bytes(struct buf *k, const void *p, size_t n)
{
    buf_add(k, p, n);
}

static void key_text(struct buf *k, const char *s)
{
    buf_add(k, s, strlen(s) + 1);
}

static void key_attr(struct buf *k, const struct skiff_attr *a)
{
    int head[2] = {(int)a->type * 2 + a->is_real, a->n};
    key_bytes(k, head, sizeof(head));
    switch (a->type) {
    case SKIFF_ATTR_STRING:
    case SKIFF_ATTR_VAR:
        key_text(k, a->s);
        break;
    case SKIFF_ATTR_STRINGS:
    case SKIFF_ATTR_VARS:
        for (int i = 0; i < a->n; i++)
            key_text(k, a->strings[i]);
        break;
    case SKIFF_ATTR_INTS:
    case SKIFF_ATTR_LONGS:
    case SKIFF_ATTR_BLOCKS:
    case SKIFF_ATTR_BOOLEANS:
        key_bytes(k, a->longs, (size_t)a->n * sizeof(*a->longs));
        break;
    case SKIFF_ATTR_FLOATS:
    case SKIFF_ATTR_FLOAT64S:
    case SKIFF_ATTR_SCALARS:
        key_bytes(k, a->floats, (size_t)a->n * sizeof(*a->floats));
        break;
    default:
        key_bytes(k, &a->i, sizeof(a->i));
    }
}

static void key_args(struct buf *k, const struct skiff_op_arg *args, int n)
{
    for (int i = 0; i < n; i++) {
        key_text(k, args[i].slot);
        buf_u32(k, (uint32_t)args[i].n);
        for (int j = 0; j < args[i].n; j++)
            buf_char(k, args[i].tensors[j] != NULL);
    }
    buf_char(k, '>');
}

static void key_make(struct buf *k, const struct skiff_op_call *c)
{
    buf_reset(k);
    key_text(k, c->type);
    key_args(k, c->ins, c->nins);
    key_args(k, c->outs, c->nouts);
    for (int i = 0; i < c->nattrs; i++) {
        key_text(k, c->attrs[i].name);
        key_attr(k, &c->attrs[i].value);
    }
}

/* ---- binding ---- */

static int count_slots(const struct op_slot *slots)
{
    int n = 0;
    while (slots && slots[n].name)
        n++;
    return n;
}

struct call_side { /* inputs or outputs of a call being bound */
    struct eager_call *call;
    struct skiff_op *op;
    const struct op_slot *slots;
    bool output;
};

static const struct op_arg *side_arg(const struct call_side *s, const char *slot)
{
    return s->output ? op_out(s->op, slot) : op_in(s->op, slot);
}

static void rename_args(struct call_side *s, struct skiff_program *p, const char *slot, int first,
                        int n)
{
    const struct op_arg *arg = side_arg(s, slot);
    const char **names = arena_alloc(&s->call->arena, (size_t)n * sizeof(*names));
    for (int i = 0; i < n; i++)
        names[i] = strcmp(arg->names[i], EMPTY_VAR) && arg->names[i][0]
                       ? arena_printf(&s->call->arena, "%c%d", s->output ? OUT_PREFIX : IN_PREFIX,
                                      first + i)
                       : EMPTY_VAR;
    if (s->output)
        op_set_out(p, s->op, slot, n, names);
    else
        op_set_in(p, s->op, slot, n, names);
}

/* Numbers the arguments of one side in the order of the kind's slots. */
static int bind_side(struct call_side *s, struct skiff_program *p, struct kernel_slot **bound,
                     struct skiff_tensor ***values, const struct op_slot ***slot_of, bool **there)
{
    struct arena *a = &s->call->arena;
    int nslots = count_slots(s->slots), total = 0;
    for (int i = 0; i < nslots; i++) {
        const struct op_arg *arg = side_arg(s, s->slots[i].name);
        total += arg ? arg->n : 0;
    }
    *bound = arena_alloc(a, (size_t)(nslots + 1) * sizeof(**bound));
    *values = arena_alloc(a, (size_t)(total + 1) * sizeof(**values));
    *slot_of = arena_alloc(a, (size_t)(total + 1) * sizeof(**slot_of));
    *there = arena_alloc(a, (size_t)(total + 1) * sizeof(**there));
    int at = 0;
    for (int i = 0; i < nslots; i++) {
        const struct op_arg *arg = side_arg(s, s->slots[i].name);
        int n = arg ? arg->n : 0;
        if (!n)
            continue;
        rename_args(s, p, s->slots[i].name, at, n);
        arg = side_arg(s, s->slots[i].name);
        (*bound)[i] = (struct kernel_slot){.v = *values + at, .n = n};
        for (int j = 0; j < n; j++, at++) {
            (*slot_of)[at] = &s->slots[i];
            (*there)[at] = strcmp(arg->names[j], EMPTY_VAR) != 0;
        }
    }
    return total;
}

static enum skiff_status check_slots(const struct skiff_op *op, struct skiff_error *err)
{
    for (const struct op_slot *s = op->kind->ins; s && s->name; s++) {
        const struct op_arg *arg = op_in(op, s->name);
        if (!(s->flags & SLOT_OPTIONAL) && (!arg || !arg->n || !strcmp(arg->names[0], EMPTY_VAR)))
            return error_set(err, SKIFF_INVALID, "op %s: input %s is needed", op->type, s->name);
    }
    return SKIFF_OK;
}

enum skiff_status call_of_op(struct skiff_eager *e, struct skiff_program *p, struct skiff_op *op,
                             struct eager_call **out, struct skiff_error *err)
{
    TRY(check_slots(op, err));
    struct eager_call *c = mem_alloc_or_die(sizeof(*c));
    c->refs = 1;
    c->program = program_ref(p);
    arena_init(&c->arena);
    struct call_side in = {c, op, op->kind->ins, false}, to = {c, op, op->kind->outs, true};
    c->nin = bind_side(&in, p, &c->kernel.in, &c->in_values, &c->in_slots, &c->in_there);
    c->nout = bind_side(&to, p, &c->kernel.out, &c->out_values, &c->out_slots, &c->out_there);
    c->out_bytes = arena_alloc(&c->arena, (size_t)(c->nout + 1) * sizeof(*c->out_bytes));
    struct kernel *k = &c->kernel;
    k->op = op;
    k->env = &e->env;
    k->scratch = &e->scratch;
    enum skiff_status status = attrs_bind(op, &c->arena, &k->attr, err);
    if (status == SKIFF_OK) {
        k->kind = op->kind;
        if (op->kind->prepare)
            status = op->kind->prepare(k, err);
    }
    if (status < 0) {
        call_unref(c);
        return error_prefix(err, status, "op %s", op->type);
    }
    *out = c;
    return SKIFF_OK;
}

void call_unref(struct eager_call *c)
{
    if (!c || --c->refs)
        return;
    while (c->grad_fns) {
        struct grad_fn *next = c->grad_fns->next;
        grad_fn_destroy(c->grad_fns);
        c->grad_fns = next;
    }
    if (c->kernel.kind && c->kernel.kind->release)
        c->kernel.kind->release(&c->kernel);
    free(c->key);
    arena_deinit(&c->arena);
    program_destroy(c->program);
    free(c);
}

/* ---- creating a call ---- */

static void put_args(struct skiff_block *b, struct skiff_op *op, const struct skiff_op_arg *args,
                     int n, bool output)
{
    for (int i = 0; i < n; i++) {
        const struct op_slot *slots = output ? op->kind->outs : op->kind->ins;
        if (op_kind_slot(slots, args[i].slot) < 0 || !args[i].n)
            continue;
        const char **names = arena_alloc(&b->program->arena, (size_t)args[i].n * sizeof(*names));
        for (int j = 0; j < args[i].n; j++)
            names[j] = args[i].tensors[j] ? "?" : EMPTY_VAR; /* numbered by call_of_op */
        if (output)
            op_set_out(b->program, op, args[i].slot, args[i].n, names);
        else
            op_set_in(b->program, op, args[i].slot, args[i].n, names);
    }
}

static enum skiff_status build_op(struct skiff_program *p, const struct skiff_op_call *c,
                                  struct skiff_op **out, struct skiff_error *err)
{
    struct skiff_block *b = program_root(p);
    struct skiff_op *op = skiff_block_insert_op(b, -1, c->type);
    if (!op->kind) {
        const char *near = op_kind_nearest(c->type);
        return error_set(err, SKIFF_UNSUPPORTED, "Skiff has no op %s%s%s", c->type,
                         near ? "; the nearest it has is " : "", near ? near : "");
    }
    if (op->kind->flags & (OP_RUNS_BLOCK | OP_DISTRIBUTED | OP_INTERNAL))
        return error_set(err, SKIFF_UNSUPPORTED, "op %s runs in programs only", c->type);
    put_args(b, op, c->ins, c->nins, false);
    put_args(b, op, c->outs, c->nouts, true);
    for (int i = 0; i < c->nattrs; i++)
        if (op_kind_attr(op->kind, c->attrs[i].name) >= 0)
            TRY(skiff_op_set_attr(b, op, c->attrs[i].name, &c->attrs[i].value, err));
    *out = op;
    return skiff_op_finish(b, op, SKIFF_NO_INFER, err);
}

struct eager_call *call_create(struct skiff_eager *e, const struct skiff_op_call *c, int generation,
                               struct skiff_error *err)
{
    struct skiff_program *p = program_create();
    struct skiff_op *op = NULL;
    struct eager_call *made = NULL;
    skiff_program_set_generation(p, generation);
    if (build_op(p, c, &op, err) == SKIFF_OK && call_of_op(e, p, op, &made, err) < 0)
        made = NULL;
    program_destroy(p);
    return made;
}

/* ---- the cache ---- */

static void cache_empty(struct call_cache *cache)
{
    for (size_t i = 0; i < cache->nchains; i++)
        while (cache->chains[i]) {
            struct eager_call *next = cache->chains[i]->next;
            call_unref(cache->chains[i]);
            cache->chains[i] = next;
        }
    cache->count = 0;
}

void cache_deinit(struct call_cache *cache)
{
    cache_empty(cache);
    free(cache->chains);
    buf_deinit(&cache->key);
}

struct eager_call *call_find(struct skiff_eager *e, const struct skiff_op_call *c,
                             struct skiff_error *err)
{
    struct call_cache *cache = &e->cache;
    if (!cache->chains) {
        cache->chains = mem_alloc_or_die(CHAINS * sizeof(struct eager_call *));
        cache->nchains = CHAINS;
    }
    key_make(&cache->key, c);
    uint64_t hash = hash_bytes(cache->key.data, cache->key.len);
    struct eager_call **chain = &cache->chains[hash % cache->nchains];
    for (struct eager_call *at = *chain; at; at = at->next)
        if (at->hash == hash && at->key_bytes == cache->key.len &&
            !memcmp(at->key, cache->key.data, at->key_bytes))
            return at;
    struct eager_call *made = call_create(e, c, GEN_2X, err);
    if (!made)
        return NULL;
    if (cache->count == MOST)
        cache_empty(cache);
    made->hash = hash;
    made->key_bytes = cache->key.len;
    made->key = mem_alloc_or_die(cache->key.len);
    memcpy(made->key, cache->key.data, cache->key.len);
    made->next = *chain;
    *chain = made;
    cache->count++;
    return made;
}

/* ---- running ---- */

static enum skiff_status check_input(const struct eager_call *c, int i, struct skiff_error *err)
{
    const struct skiff_tensor *v = c->in_values[i];
    const struct op_kind *kind = c->kernel.kind;
    const char *slot = c->in_slots[i]->name;
    if (v->kind == VALUE_NONE && !(kind->flags & OP_EMPTY_OK))
        return error_set(err, SKIFF_STATE, "op %s, input %s: the tensor has no value", kind->type,
                         slot);
    if (v->kind == VALUE_ROWS && !(kind->flags & OP_ROWS_OK))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "op %s, input %s: the tensor is SelectedRows, which this op does not take",
                         kind->type, slot);
    return SKIFF_OK;
}

enum skiff_status call_run(struct skiff_eager *e, struct eager_call *c, struct skiff_error *err)
{
    struct kernel *k = &c->kernel;
    for (int i = 0; i < c->nin; i++) {
        if (!c->in_values[i])
            continue;
        if (!(c->in_slots[i]->flags & SLOT_ROWWISE))
            value_show(c->in_values[i]);
        if (c->in_values[i]->kind != VALUE_TENSOR)
            TRY(check_input(c, i, err));
    }
    for (int i = 0; i < c->nout; i++)
        if (c->out_values[i] && !(c->out_slots[i]->flags & SLOT_ROWWISE))
            value_flush(c->out_values[i]);
    if (!(k->kind->flags & OP_OWN_SHAPE)) {
        struct infer rule = {.kind = k->kind,
                             .attr = k->attr,
                             .running = true,
                             .op = k->op,
                             .kernel = k,
                             .supply = pool_supply,
                             .supplier = &e->pool};
        TRY(k->kind->infer ? k->kind->infer(&rule, err) : infer_same(&rule, 0, 0, err));
    }
    kernel_scratch_reset(k->scratch);
    e->env.program = c->program;
    struct skiff_thread_pool *before = thread_pool_use(e->thread_pool);
    enum skiff_status status = k->kind->run(k, err);
    thread_pool_use(before);
    if (status < 0)
        return status;
    for (int i = 0; i < c->nout; i++)
        if (c->out_values[i])
            c->out_bytes[i] = c->out_values[i]->tensor.cap;
    return SKIFF_OK;
}
