/* StaticRNN and DynamicRNN: recurrent nets of any layers.
 *
 * A StaticRNN is one op, recurrent, that runs its block once for each step. A DynamicRNN is a while
 * loop over tensor arrays: the sequences are ranked by length and cut into steps before it, and put
 * together again after it. */
#include <string.h>

#include "layers/control.h"

static struct skiff_var *outer_var(struct skiff_net *net, const char *key, enum dtype dtype,
                                   enum var_kind kind)
{
    struct skiff_var *v =
        block_new_var(net, control_outer(net), names_next(net->names, key), dtype);
    if (v)
        v->kind = kind;
    return v;
}

/* ---- StaticRNN ---- */

struct memory {
    struct skiff_var *init, *before, *now;
    struct memory *next;
};

struct skiff_static_rnn {
    struct layer layer;
    struct skiff_block *body;
    int64_t steps;
    struct skiff_var **inputs, **outputs; /* in the block; around it */
    int ninputs, noutputs;
    struct memory *memories, **last;
    int nmemories;
};

struct skiff_static_rnn *skiff_static_rnn_create(struct skiff_net *net, const char *name)
{
    struct skiff_static_rnn *r = arena_alloc(&net->arena, sizeof *r);
    *r = (struct skiff_static_rnn){.layer = layer_begin(net, "static_rnn", name)};
    r->last = &r->memories;
    return r;
}

void skiff_static_rnn_begin(struct skiff_static_rnn *r)
{
    if (!net_failed(r->layer.net))
        r->body = net_enter_block(r->layer.net);
}

/* Is the block open, and the variable one of the program's? */
static bool static_ok(struct skiff_static_rnn *r, const char *what, const struct skiff_var *v)
{
    struct skiff_net *net = r->layer.net;
    if (!net_has(net, "static_rnn", what, v))
        return false;
    if (!r->body)
        net_fail(net, SKIFF_STATE, "static_rnn: %s outside of the block", what);
    return r->body != NULL;
}

static void push(struct skiff_net *net, struct skiff_var ***list, int *n, struct skiff_var *v)
{
    struct skiff_var **more = arena_alloc(&net->arena, (size_t)(*n + 1) * sizeof *more);
    if (*n)
        memcpy(more, *list, (size_t)*n * sizeof *more);
    more[(*n)++] = v;
    *list = more;
}

struct skiff_var *skiff_static_rnn_input(struct skiff_static_rnn *r, struct skiff_var *x)
{
    struct skiff_net *net = r->layer.net;
    if (!static_ok(r, "input", x))
        return NULL;
    if (x->shape.ndim < 1)
        return net_fail(net, SKIFF_SHAPE, "static_rnn: input %s has no steps", x->name);
    if (!r->ninputs)
        r->steps = x->shape.dims[0];
    else if (x->shape.dims[0] != -1 && x->shape.dims[0] != r->steps)
        return net_fail(net, SKIFF_SHAPE, "static_rnn: input %s has %lld steps, the first has %lld",
                        x->name, (long long)x->shape.dims[0], (long long)r->steps);
    struct skiff_var *step = block_new_var(net, r->body, x->name, x->dtype);
    if (!step)
        return NULL;
    step->kind = x->kind;
    step->shape = shape_of(x->shape.ndim - 1, x->shape.dims + 1);
    push(net, &r->inputs, &r->ninputs, step);
    return step;
}

struct skiff_var *skiff_static_rnn_memory(struct skiff_static_rnn *r, struct skiff_var *init)
{
    struct skiff_net *net = r->layer.net;
    if (!static_ok(r, "memory", init))
        return NULL;
    struct memory *m = arena_alloc(&net->arena, sizeof *m);
    const char *key = arena_printf(&net->arena, "%s@mem", r->layer.name);
    *m = (struct memory){.init = init};
    m->before = block_new_var(net, r->body, names_next(net->names, key), init->dtype);
    if (!m->before)
        return NULL;
    m->before->shape = init->shape;
    *r->last = m;
    r->last = &m->next;
    r->nmemories++;
    return m->before;
}

struct skiff_var *skiff_static_rnn_memory_like(struct skiff_static_rnn *r, struct skiff_dims shape,
                                               struct skiff_var *ref, double value, int init_dim,
                                               int ref_dim)
{
    struct skiff_net *net = r->layer.net;
    if (!static_ok(r, "memory", ref))
        return NULL;
    struct skiff_block *outer = control_outer(net);
    const char *key = arena_printf(&net->arena, "%s@memory_boot", r->layer.name);
    struct skiff_var *boot = block_new_var(net, outer, names_next(net->names, key), ref->dtype);
    if (!boot)
        return NULL;
    boot->shape = dims_shape(&shape);
    boot->persistable = PRESENCE_FALSE;
    net_put_op(net, outer, -1, "fill_constant_batch_size_like",
               PARTS(P_IN("Input", ref), P_OUT("Out", boot), P_FLOAT("value", value),
                     P_LONGS("shape", shape.n, shape.d), P_INT("dtype", ref->dtype),
                     P_INT("input_dim_idx", ref_dim), P_INT("output_dim_idx", init_dim)));
    return skiff_static_rnn_memory(r, boot);
}

void skiff_static_rnn_update(struct skiff_static_rnn *r, struct skiff_var *memory,
                             struct skiff_var *now)
{
    if (!static_ok(r, "update", memory) || !static_ok(r, "update", now))
        return;
    for (struct memory *m = r->memories; m; m = m->next)
        if (m->before == memory) {
            m->now = now;
            return;
        }
    net_fail(r->layer.net, SKIFF_INVALID, "static_rnn: %s is not a memory of this net",
             memory->name);
}

static struct skiff_var *pass_on(struct skiff_static_rnn *r, struct skiff_var *v)
{
    struct skiff_var *out = layer_tmp(&r->layer, v->dtype);
    layer_op(r->layer.net, "rnn_memory_helper", P_IN("X", v), P_OUT("Out", out),
             P_INT("dtype", v->dtype));
    return net_failed(r->layer.net) ? NULL : out;
}

struct skiff_var *skiff_static_rnn_output(struct skiff_static_rnn *r, struct skiff_var *v)
{
    struct skiff_net *net = r->layer.net;
    if (!static_ok(r, "output", v))
        return NULL;
    struct skiff_var *step = pass_on(r, v);
    if (!step)
        return NULL;
    struct skiff_var *all = block_new_var(net, control_outer(net), step->name, step->dtype);
    all->shape.ndim = step->shape.ndim + 1;
    all->shape.dims[0] = r->ninputs ? r->steps : -1;
    for (int d = 0; d < step->shape.ndim; d++)
        all->shape.dims[d + 1] = step->shape.dims[d];
    push(net, &r->outputs, &r->noutputs, all);
    return all;
}

/* What the block reads that is neither made in it, nor a step, nor a memory. */
static int outside_reads(struct skiff_static_rnn *r, struct skiff_block *outer,
                         struct skiff_var ***out)
{
    struct skiff_net *net = r->layer.net;
    struct str_map reads, writes, from;
    str_map_init(&reads);
    str_map_init(&writes);
    str_map_init(&from);
    control_uses(r->body, &reads, &writes);
    for (size_t i = 0; i < reads.count; i++)
        if (!block_own_var(r->body, reads.entries[i].key))
            str_map_put(&from, reads.entries[i].key, r);
    *out = arena_alloc(&net->arena, (from.count + 1) * sizeof **out);
    int n = control_resolve(net, outer, &from, true, *out);
    str_map_deinit(&reads);
    str_map_deinit(&writes);
    str_map_deinit(&from);
    return n;
}

void skiff_static_rnn_end(struct skiff_static_rnn *r)
{
    struct skiff_net *net = r->layer.net;
    if (!r->body)
        return;
    struct skiff_block *outer = control_outer(net);
    struct skiff_var **params, **init, **in;
    const char **before, **now;
    int n = 0, nparams = outside_reads(r, outer, &params);
    struct skiff_var *scopes = control_scopes(net, outer);
    init = arena_alloc(&net->arena, (size_t)(r->nmemories + 1) * sizeof *init);
    before = arena_alloc(&net->arena, (size_t)(r->nmemories + 1) * sizeof *before);
    now = arena_alloc(&net->arena, (size_t)(r->nmemories + 1) * sizeof *now);
    in = arena_alloc(&net->arena, (size_t)(r->ninputs + 1) * sizeof *in);
    for (int i = 0; i < r->ninputs; i++)
        in[i] = block_find_var(outer, r->inputs[i]->name);
    for (struct memory *m = r->memories; m && !net_failed(net); m = m->next, n++) {
        if (!m->now)
            net_fail(net, SKIFF_INVALID, "static_rnn: memory %s is not updated in the block",
                     m->init->name);
        struct skiff_var *v = m->now ? pass_on(r, m->now) : NULL;
        init[n] = m->init;
        before[n] = m->before->name;
        now[n] = v ? v->name : "";
    }
    net_leave_block(net);
    if (!net_failed(net))
        net_put_op(net, outer, -1, "recurrent",
                   PARTS(P_INS("inputs", r->ninputs, in), P_INS("initial_states", n, init),
                         P_INS("parameters", nparams, params),
                         P_OUTS("outputs", r->noutputs, r->outputs), P_OUT("step_scopes", scopes),
                         P_BOOL("has_states", n > 0), P_STRS("ex_states", n, before),
                         P_STRS("states", n, now), P_BLOCK("sub_block", r->body->idx)));
    r->body = NULL;
}

/* ---- DynamicRNN ---- */

struct array_link { /* a memory and the array of its values */
    struct skiff_var *memory, *array;
    struct array_link *next;
};

struct skiff_dynamic_rnn {
    struct layer layer;
    struct skiff_var *condition, *step, *zero, *table, *longest, *first; /* first: of the inputs */
    struct skiff_while *loop;
    bool open, done;
    struct array_link *memories;
    struct skiff_var **updates, **update_arrays, **arrays, **results;
    int nupdates, nupdate_arrays, narrays, nresults;
};

struct skiff_dynamic_rnn *skiff_dynamic_rnn_create(struct skiff_net *net, const char *name)
{
    struct skiff_dynamic_rnn *r = arena_alloc(&net->arena, sizeof *r);
    *r = (struct skiff_dynamic_rnn){.layer = layer_begin(net, "dynamic_rnn", name)};
    r->condition = layer_tmp(&r->layer, DTYPE_BOOL);
    if (r->condition)
        r->condition->shape = SHAPE(1);
    return r;
}

void skiff_dynamic_rnn_begin(struct skiff_dynamic_rnn *r)
{
    struct skiff_net *net = r->layer.net;
    if (r->open || r->done) {
        net_fail(net, SKIFF_STATE, "dynamic_rnn: the block can be opened once");
        return;
    }
    r->step = skiff_fill_constant(net, SKIFF_DIMS(1), "int64", 0, .force_cpu = true);
    r->loop = net_failed(net) ? NULL : skiff_while_begin(net, r->condition, false);
    r->open = !net_failed(net);
    if (r->step)
        r->step->stop_gradient = false;
}

static bool dynamic_ok(struct skiff_dynamic_rnn *r, const char *what, const struct skiff_var *v)
{
    struct skiff_net *net = r->layer.net;
    if (!net_has(net, "dynamic_rnn", what, v))
        return false;
    if (!r->open)
        net_fail(net, SKIFF_STATE, "dynamic_rnn: %s outside of the block", what);
    return r->open;
}

/* Before the loop: which sequences there are, the longest first. */
static void rank(struct skiff_dynamic_rnn *r, struct skiff_var *x, int level)
{
    struct skiff_net *net = r->layer.net;
    struct skiff_block *outer = control_outer(net);
    r->table = outer_var(net, "lod_rank_table", DTYPE_FP32, VAR_LOD_RANK_TABLE);
    if (r->table) {
        r->table->stop_gradient = true;
        r->table->has_tensor = false;
    }
    net_put_op(net, outer, -1, "lod_rank_table",
               PARTS(P_IN("X", x), P_OUT("Out", r->table), P_INT("level", level)));
    r->longest = outer_var(net, "dynamic_rnn_max_seq_len", DTYPE_INT64, VAR_LOD_TENSOR);
    net_put_op(net, outer, -1, "max_sequence_len",
               PARTS(P_IN("RankTable", r->table), P_OUT("Out", r->longest)));
    if (r->condition)
        r->condition->stop_gradient = true;
    net_put_op(net, outer, -1, "less_than",
               PARTS(P_IN("X", r->step), P_IN("Y", r->longest), P_OUT("Out", r->condition),
                     P_BOOL("force_cpu", true)));
}

static struct skiff_var *read_item(struct skiff_dynamic_rnn *r, struct skiff_var *array)
{
    struct layer l = layer_begin(r->layer.net, "array_read", NULL);
    struct skiff_var *out = array ? layer_tmp(&l, array->dtype) : NULL;
    layer_op(r->layer.net, "read_from_array", P_IN("X", array), P_IN("I", r->step),
             P_OUT("Out", out));
    return net_failed(r->layer.net) ? NULL : out;
}

static struct skiff_var *shrink(struct skiff_dynamic_rnn *r, struct skiff_var *x)
{
    struct skiff_net *net = r->layer.net;
    struct layer l = layer_begin(net, "shrink_memory", NULL);
    struct skiff_var *out = x ? layer_tmp(&l, x->dtype) : NULL;
    layer_op(net, "shrink_rnn_memory", P_IN("X", x), P_IN("I", r->step),
             P_IN("RankTable", r->table), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

static struct skiff_var *reordered(struct skiff_dynamic_rnn *r, struct skiff_var *x,
                                   const char *key)
{
    struct skiff_net *net = r->layer.net;
    struct skiff_var *out = outer_var(net, key, x->dtype, VAR_LOD_TENSOR);
    net_put_op(net, control_outer(net), -1, "reorder_lod_tensor_by_rank",
               PARTS(P_IN("X", x), P_IN("RankTable", r->table), P_OUT("Out", out)));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_dynamic_rnn_input(struct skiff_dynamic_rnn *r, struct skiff_var *x,
                                          int level)
{
    struct skiff_net *net = r->layer.net;
    if (!dynamic_ok(r, "input", x))
        return NULL;
    if (!r->table)
        rank(r, x, level);
    struct skiff_var *array =
        outer_var(net, "dynamic_rnn_input_array", x->dtype, VAR_LOD_TENSOR_ARRAY);
    net_put_op(net, control_outer(net), -1, "lod_tensor_to_array",
               PARTS(P_IN("X", x), P_IN("RankTable", r->table), P_OUT("Out", array)));
    if (!r->first)
        r->first = array;
    return read_item(r, array);
}

struct skiff_var *skiff_dynamic_rnn_static_input(struct skiff_dynamic_rnn *r, struct skiff_var *x)
{
    if (!dynamic_ok(r, "static_input", x))
        return NULL;
    if (!r->table)
        return net_fail(r->layer.net, SKIFF_STATE,
                        "dynamic_rnn: static_input() must be called after step_input()");
    struct skiff_var *sorted = reordered(r, x, "dynamic_rnn_static_input_reordered");
    return shrink(r, sorted);
}

static void make_zero(struct skiff_dynamic_rnn *r)
{
    struct skiff_net *net = r->layer.net;
    if (r->zero)
        return;
    r->zero = outer_var(net, "zero_idx", DTYPE_INT64, VAR_LOD_TENSOR);
    net_put_op(net, control_outer(net), -1, "fill_constant",
               PARTS(P_OUT("Out", r->zero), P_LONGS("shape", 1, (int64_t[]){1}),
                     P_INT("dtype", DTYPE_INT64), P_FLOAT("value", 0), P_BOOL("force_cpu", true)));
}

struct skiff_var *skiff_dynamic_rnn_memory(struct skiff_dynamic_rnn *r, struct skiff_var *init,
                                           bool reorder)
{
    struct skiff_net *net = r->layer.net;
    if (!dynamic_ok(r, "memory", init))
        return NULL;
    make_zero(r);
    if (!r->table)
        return net_fail(net, SKIFF_STATE, "dynamic_rnn: a memory needs a step_input() before it");
    enum dtype dtype = init->dtype;
    if (reorder)
        init = reordered(r, init, "dynamic_rnn_mem_init_reordered");
    struct skiff_var *array = outer_var(net, "dynamic_rnn_mem_array", dtype, VAR_LOD_TENSOR_ARRAY);
    net_put_op(net, control_outer(net), -1, "write_to_array",
               PARTS(P_IN("X", init), P_IN("I", r->zero), P_OUT("Out", array)));
    struct skiff_var *item = read_item(r, array), *out = shrink(r, item);
    struct array_link *m = arena_alloc(&net->arena, sizeof *m);
    *m = (struct array_link){.memory = out, .array = array, .next = r->memories};
    r->memories = m;
    return out;
}

struct skiff_var *skiff_dynamic_rnn_memory_like(struct skiff_dynamic_rnn *r,
                                                struct skiff_dims shape, double value,
                                                const char *dtype)
{
    struct skiff_net *net = r->layer.net;
    if (!r->first || !r->open)
        return net_fail(net, SKIFF_STATE,
                        "dynamic_rnn: step_input should be invoked before memory(shape=..., "
                        "value=...)");
    if (shape.n >= TENSOR_MAX_DIMS)
        return net_fail(net, SKIFF_SHAPE, "dynamic_rnn: a memory of %d dimensions", shape.n);
    enum dtype type = net_dtype(net, "dynamic_rnn", dtype, DTYPE_FP32);
    make_zero(r);
    struct skiff_block *outer = control_outer(net);
    struct skiff_var *init = outer_var(net, "mem_init", type, VAR_LOD_TENSOR);
    struct skiff_var *like = outer_var(net, "in0", r->first->dtype, VAR_LOD_TENSOR);
    int64_t dims[TENSOR_MAX_DIMS] = {-1};
    for (int d = 0; d < shape.n; d++)
        dims[d + 1] = shape.d[d];
    net_put_op(net, outer, -1, "read_from_array",
               PARTS(P_IN("X", r->first), P_IN("I", r->zero), P_OUT("Out", like)));
    net_put_op(net, outer, -1, "fill_constant_batch_size_like",
               PARTS(P_IN("Input", like), P_OUT("Out", init), P_FLOAT("value", value),
                     P_LONGS("shape", shape.n + 1, dims), P_INT("dtype", type)));
    return skiff_dynamic_rnn_memory(r, init, false);
}

void skiff_dynamic_rnn_update(struct skiff_dynamic_rnn *r, struct skiff_var *memory,
                              struct skiff_var *now)
{
    struct skiff_net *net = r->layer.net;
    if (!dynamic_ok(r, "update_memory", memory) || !dynamic_ok(r, "update_memory", now))
        return;
    for (struct array_link *m = r->memories; m; m = m->next)
        if (m->memory == memory) {
            push(net, &r->updates, &r->nupdates, now);
            push(net, &r->update_arrays, &r->nupdate_arrays, m->array);
            return;
        }
    net_fail(net, SKIFF_INVALID,
             "dynamic_rnn: %s is not a memory; invoke memory before "
             "update_memory",
             memory->name);
}

static void write_item(struct skiff_dynamic_rnn *r, struct skiff_var *x, struct skiff_var *array)
{
    layer_begin(r->layer.net, "array_write", NULL);
    layer_op(r->layer.net, "write_to_array", P_IN("X", x), P_IN("I", r->step), P_OUT("Out", array));
}

void skiff_dynamic_rnn_output(struct skiff_dynamic_rnn *r, struct skiff_var *v)
{
    struct skiff_net *net = r->layer.net;
    if (!dynamic_ok(r, "output", v))
        return;
    const char *key = arena_printf(&net->arena, "%s_output_array_%s", r->layer.name, v->name);
    struct skiff_var *array = outer_var(net, key, v->dtype, VAR_LOD_TENSOR_ARRAY);
    write_item(r, v, array);
    push(net, &r->arrays, &r->narrays, array);
}

void skiff_dynamic_rnn_end(struct skiff_dynamic_rnn *r)
{
    struct skiff_net *net = r->layer.net;
    if (!r->open)
        return;
    r->open = false;
    r->done = true;
    if (!r->table) {
        net_leave_block(net);
        net_fail(net, SKIFF_STATE, "dynamic_rnn: the block has no step_input()");
        return;
    }
    skiff_layer_increment(net, r->step, 1, false);
    for (int i = 0; i < r->nupdates; i++)
        write_item(r, r->updates[i], r->update_arrays[i]);
    layer_begin(net, "less_than", NULL);
    layer_op(net, "less_than", P_IN("X", r->step), P_IN("Y", r->longest),
             P_OUT("Out", r->condition), P_BOOL("force_cpu", true));
    skiff_while_end(r->loop);
    for (int i = 0; i < r->narrays && !net_failed(net); i++) {
        struct layer l = layer_begin(net, "array_to_lod_tensor", NULL);
        struct skiff_var *out = layer_tmp(&l, r->arrays[i]->dtype);
        layer_op(net, "array_to_lod_tensor", P_IN("X", r->arrays[i]), P_IN("RankTable", r->table),
                 P_OUT("Out", out));
        push(net, &r->results, &r->nresults, out);
    }
}

int skiff_dynamic_rnn_count(const struct skiff_dynamic_rnn *r)
{
    return r->nresults;
}

struct skiff_var *skiff_dynamic_rnn_result(struct skiff_dynamic_rnn *r, int at)
{
    if (at < 0 || at >= r->nresults)
        return net_fail(r->layer.net, SKIFF_RANGE, "dynamic_rnn: there is no output %d", at);
    return r->results[at];
}
