/* Optimizers of eager mode: a step is a program made by the passes of static mode.
 *
 * For the set of parameters that have a gradient, and the kind of each gradient, a program is
 * built once: parameters and gradients as variables, then clipping, decay and update ops
 * (passes/minimize.h). It runs as a plan, so updates are joined and sparse rows may be deferred
 * as in static mode, and the numbers equal those of static training. Gradients are fed, which
 * borrows their memory. Parameters and accumulators are eager tensors whose values are lent to
 * the scope of the plans, so every other user of the tensor sees what a step writes.
 *
 * Each set of parameters has its own program; all programs share the accumulators. MOST_SETS
 * programs are kept; the least recently used one is replaced. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread_pool.h"
#include "eager/eager.h"
#include "executor/plan.h"
#include "passes/minimize.h"

enum { MOST_SETS = 16 };

/* A parameter of a set. */
enum { WITHOUT = '-', DENSE = 'd', ROWS = 'r' };

struct parameter {
    struct skiff_eager_parameter p; /* owned reference */
    struct storage *lent;           /* whose value the scope knows; a reference */
};

struct accumulator {
    char *key; /* "<parameter>\n<kind>" */
    char *name;
    int order; /* sorted by kind, then by parameter, as in Paddle */
    struct skiff_eager_tensor *tensor;
};

struct update_set {
    char *signature; /* one letter for each parameter */
    struct plan *plan;
    struct feed *feeds;
    int *members; /* the parameter of each feed */
    int nmembers;
    uint64_t last_used;
};

struct skiff_eager_optimizer {
    struct skiff_eager *engine;
    struct arena arena; /* of names */
    const struct optimizer_kind *kind;
    struct skiff_optimizer_options o;
    struct skiff_net *names,
        *own_names; /* names the accumulators; owned, or NULL if it is the caller's */
    struct parameter *params;
    int nparams;
    struct skiff_scope *scope;
    struct accumulator *accumulators; /* sorted by order */
    int naccumulators;
    struct str_map
        loaded; /* name -> struct skiff_eager_tensor, for accumulators that do not exist yet */
    struct update_set sets[MOST_SETS];
    int nsets;
    char *signature;
    struct skiff_tensor *rate; /* in the scope; NULL before the first step */
    uint64_t steps;
    struct skiff_net *building; /* during set_make */
};

/* ---- parameters as the passes see them ---- */

static const struct parameter *find_parameter(const struct skiff_eager_optimizer *o,
                                              const char *name)
{
    for (int i = 0; i < o->nparams; i++)
        if (!strcmp(o->params[i].p.name, name))
            return &o->params[i];
    return NULL;
}

static bool is_clipped(const struct skiff_var *param, void *user)
{
    return !find_parameter(user, param->name)->p.no_clip;
}

static bool is_decayed(const struct skiff_var *param, void *user)
{
    return !find_parameter(user, param->name)->p.no_decay;
}

static bool is_not_decayed(const struct skiff_var *param, void *user)
{
    return find_parameter(user, param->name)->p.no_decay;
}

/* The parameter's own settings, unless the caller has functions for them. */
static void complete_options(struct skiff_eager_optimizer *opt)
{
    struct skiff_optimizer_options *o = &opt->o;
    o->learning_rate = SKIFF_ZERO; /* set in every step */
    o->learning_rate_var = NULL;
    if (o->name)
        o->name = arena_strdup(&opt->arena, o->name);
    if (o->grad_clip.kind && !o->grad_clip.need_clip) {
        o->grad_clip.need_clip = is_clipped;
        o->grad_clip.user = opt;
    }
    if (!o->apply_decay_param_fun.call)
        o->apply_decay_param_fun = (struct skiff_param_test){is_decayed, opt};
    if (!o->exclude_from_weight_decay.call)
        o->exclude_from_weight_decay = (struct skiff_param_test){is_not_decayed, opt};
}

/* ---- create and destroy ---- */

static int generation_of(const struct skiff_eager_optimizer *opt)
{
    return opt->o.generation == 1 ? 1 : 2;
}

static struct skiff_net *net_create(int generation)
{
    struct skiff_net *net = skiff_net_create();
    skiff_program_set_generation(skiff_net_main(net), generation);
    skiff_program_set_generation(skiff_net_startup(net), generation);
    return net;
}

/* Checks the settings, so that errors appear when the optimizer is made and not in its first
 * step. */
static enum skiff_status check_options(struct skiff_eager_optimizer *opt, const char *type,
                                       struct skiff_error *err)
{
    if (opt->o.generation < 0 || opt->o.generation > 2)
        return error_set(err, SKIFF_INVALID,
                         "optimizer %s: generation must be 1 (Paddle 1.x) or 2 (2.x), but is %d",
                         type, opt->o.generation);
    struct skiff_net *net = net_create(generation_of(opt));
    skiff_optimizer_create(net, type, &opt->o);
    enum skiff_status status = skiff_net_check(net, err);
    skiff_net_destroy(net);
    if (status == SKIFF_OK)
        opt->kind = optimizer_kind_find(type, generation_of(opt));
    return status;
}

static enum skiff_status take_parameters(struct skiff_eager_optimizer *opt,
                                         const struct skiff_eager_parameter *params, int n,
                                         struct skiff_error *err)
{
    opt->params = mem_alloc_or_die((size_t)(n + 1) * sizeof(*opt->params));
    opt->signature = mem_alloc_or_die((size_t)n + 1);
    for (int i = 0; i < n; i++) {
        if (!params[i].tensor || !params[i].name || params[i].tensor->engine != opt->engine)
            return error_set(err, SKIFF_INVALID,
                             "optimizer %s: parameter %d has no name, or is not a tensor of this "
                             "engine",
                             opt->kind->info.type, i);
        const struct parameter *same = find_parameter(opt, params[i].name);
        if (same && same->p.tensor != params[i].tensor)
            return error_set(err, SKIFF_INVALID,
                             "optimizer %s: two parameters have the name %s; give one of them "
                             "another name (ParamAttr(name=..))",
                             opt->kind->info.type, params[i].name);
        opt->params[i].p = params[i];
        opt->params[i].p.name = arena_strdup(&opt->arena, params[i].name);
        skiff_eager_tensor_ref(params[i].tensor);
        opt->nparams++;
    }
    return SKIFF_OK;
}

enum skiff_status skiff_eager_optimizer_create(struct skiff_eager *e, const char *type,
                                               const struct skiff_optimizer_options *o,
                                               const struct skiff_eager_parameter *params, int n,
                                               struct skiff_net *names,
                                               struct skiff_eager_optimizer **out,
                                               struct skiff_error *err)
{
    struct skiff_eager_optimizer *opt = mem_alloc_or_die(sizeof(*opt));
    opt->engine = e;
    e->refs++;
    arena_init(&opt->arena);
    str_map_init(&opt->loaded);
    if (o)
        opt->o = *o;
    if (!names)
        opt->own_names = net_create(generation_of(opt));
    opt->names = names ? names : opt->own_names;
    opt->scope = scope_create();
    complete_options(opt);
    enum skiff_status status = check_options(opt, type, err);
    if (status == SKIFF_OK)
        status = take_parameters(opt, params, n, err);
    if (status == SKIFF_OK)
        *out = opt;
    else
        skiff_eager_optimizer_destroy(opt);
    return status;
}

static void set_deinit(struct update_set *s)
{
    plan_destroy(s->plan);
    free(s->signature);
    free(s->feeds);
    free(s->members);
    *s = (struct update_set){0};
}

/* Deferred rows need parameter and accumulators together, so they are flushed first. */
static void forget_sets(struct skiff_eager_optimizer *opt)
{
    for (int i = 0; i < opt->nparams; i++)
        if (opt->params[i].lent)
            value_flush(&opt->params[i].lent->value);
    for (int i = 0; i < opt->nsets; i++)
        set_deinit(&opt->sets[i]);
    opt->nsets = 0;
}

static void forget_loaded(struct skiff_eager_optimizer *opt)
{
    for (size_t i = 0; i < opt->loaded.count; i++) {
        skiff_eager_tensor_unref(opt->loaded.entries[i].value);
        free((char *)opt->loaded.entries[i].key);
    }
    str_map_deinit(&opt->loaded);
    str_map_init(&opt->loaded);
}

void skiff_eager_optimizer_destroy(struct skiff_eager_optimizer *opt)
{
    if (!opt)
        return;
    forget_sets(opt);
    forget_loaded(opt);
    str_map_deinit(&opt->loaded);
    scope_destroy(opt->scope);
    for (int i = 0; i < opt->nparams; i++) {
        skiff_eager_tensor_unref(opt->params[i].p.tensor);
        storage_unref(opt->params[i].lent);
    }
    for (int i = 0; i < opt->naccumulators; i++) {
        free(opt->accumulators[i].key);
        free(opt->accumulators[i].name);
        skiff_eager_tensor_unref(opt->accumulators[i].tensor);
    }
    free(opt->params);
    free(opt->accumulators);
    free(opt->signature);
    skiff_net_destroy(opt->own_names);
    arena_deinit(&opt->arena);
    engine_unref(opt->engine);
    free(opt);
}

/* ---- accumulators ---- */

static struct accumulator *find_accumulator(struct skiff_eager_optimizer *opt, const char *key)
{
    for (int i = 0; i < opt->naccumulators; i++)
        if (!strcmp(opt->accumulators[i].key, key))
            return &opt->accumulators[i];
    return NULL;
}

static int accumulator_order(const struct skiff_eager_optimizer *opt, const struct skiff_var *param,
                             const struct optimizer_accumulator *a)
{
    int at = (int)(find_parameter(opt, param->name) - opt->params);
    return (int)(a - opt->kind->accumulators) * opt->nparams + at;
}

static struct accumulator *add_accumulator(struct skiff_eager_optimizer *opt, const char *key,
                                           const char *name, int order)
{
    size_t n = (size_t)opt->naccumulators, at = n;
    opt->accumulators = mem_grow_or_die(opt->accumulators, (n + 1) * sizeof(*opt->accumulators));
    while (at > 0 && opt->accumulators[at - 1].order > order)
        at--;
    struct accumulator *a = &opt->accumulators[at];
    memmove(a + 1, a, (n - at) * sizeof(*a));
    *a = (struct accumulator){mem_strdup_or_die(key), mem_strdup_or_die(name), order,
                              skiff_eager_tensor_create(opt->engine)};
    opt->naccumulators++;
    scope_lend(opt->scope, a->name, &a->tensor->storage->value);
    return a;
}

static enum skiff_status check_state(const char *name, const struct tensor *given, enum dtype dtype,
                                     const struct shape *shape, struct skiff_error *err)
{
    char have[160], want[160];
    if (given->dtype == dtype && shape_equal(&given->shape, shape))
        return SKIFF_OK;
    return error_set(err, SKIFF_SHAPE,
                     "state of %s must be %s %s, but is %s %s: it belongs to "
                     "another model",
                     name, dtype_name(dtype), shape_text(shape, want), dtype_name(given->dtype),
                     shape_text(&given->shape, have));
}

/* State that was loaded before the accumulator existed. */
static enum skiff_status take_loaded(struct skiff_eager_optimizer *opt, struct accumulator *a,
                                     enum dtype dtype, const struct shape *shape,
                                     struct skiff_error *err)
{
    struct str_map_entry *entry = NULL;
    for (size_t i = 0; i < opt->loaded.count && !entry; i++)
        if (!strcmp(opt->loaded.entries[i].key, a->name))
            entry = &opt->loaded.entries[i];
    if (!entry)
        return error_set(err, SKIFF_NOT_FOUND,
                         "Optimizer set error, %s should in state dict: the state that was loaded "
                         "has other names (of another model, or of a process that made this model "
                         "as its second one)",
                         a->name);
    struct skiff_eager_tensor *t = entry->value;
    char *key = (char *)entry->key;
    TRY(check_state(a->name, &t->storage->value.tensor, dtype, shape, err));
    TRY(value_copy(&a->tensor->storage->value, &t->storage->value, err));
    str_map_remove(&opt->loaded, key);
    skiff_eager_tensor_unref(t);
    free(key);
    return SKIFF_OK;
}

/* struct accumulator_names: looked up in every program, created in the first one. */
static const char *name_accumulator(void *user, const struct skiff_var *param,
                                    const struct optimizer_accumulator *a, const char *stem,
                                    bool *there)
{
    struct skiff_eager_optimizer *opt = user;
    struct skiff_error err;
    struct shape one = SHAPE(1);
    const char *key = arena_printf(&opt->building->arena, "%s\n%s", param->name, a->name);
    struct accumulator *known = find_accumulator(opt, key);
    if (!known)
        known = add_accumulator(opt, key, skiff_net_name(opt->names, stem),
                                accumulator_order(opt, param, a));
    struct skiff_tensor *value = &known->tensor->storage->value;
    if (value->kind == VALUE_NONE && opt->loaded.count &&
        take_loaded(opt, known, param->dtype, a->scalar ? &one : &param->shape, &err) < 0)
        return net_fail_with(opt->building, &err);
    *there = value->kind != VALUE_NONE;
    return known->name;
}

struct skiff_eager_tensor *
skiff_eager_optimizer_accumulator(const struct skiff_eager_optimizer *opt, int i,
                                  const char **out_name)
{
    if (i < 0 || i >= opt->naccumulators)
        return NULL;
    *out_name = opt->accumulators[i].name;
    return opt->accumulators[i].tensor;
}

static enum skiff_status set_accumulator(struct accumulator *a, int n, const char *const *names,
                                         struct skiff_eager_tensor *const *tensors,
                                         struct skiff_error *err)
{
    struct skiff_tensor *to = skiff_eager_value(a->tensor);
    if (to->kind ==
        VALUE_NONE) /* the step that created it failed: the next one uses the loaded state */
        return SKIFF_OK;
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], a->name))
            continue;
        const struct skiff_tensor *from = skiff_eager_value(tensors[i]);
        TRY(check_state(a->name, &from->tensor, to->tensor.dtype, &to->tensor.shape, err));
        return to == from ? SKIFF_OK : value_copy(to, from, err);
    }
    return error_set(err, SKIFF_NOT_FOUND, "optimizer Tensor %s not found", a->name);
}

enum skiff_status skiff_eager_optimizer_set_state(struct skiff_eager_optimizer *opt, int n,
                                                  const char *const *names,
                                                  struct skiff_eager_tensor *const *tensors,
                                                  struct skiff_error *err)
{
    forget_loaded(opt);
    for (int i = 0; i < n; i++) {
        if (str_map_has(&opt->loaded, names[i]))
            continue;
        struct skiff_eager_tensor *copy = skiff_eager_tensor_create(opt->engine);
        str_map_put(&opt->loaded, mem_strdup_or_die(names[i]), copy);
        TRY(value_copy(&copy->storage->value, skiff_eager_value(tensors[i]), err));
    }
    for (int i = 0; i < opt->naccumulators; i++)
        TRY(set_accumulator(&opt->accumulators[i], n, names, tensors, err));
    return SKIFF_OK;
}

/* ---- building a set's program ---- */

static struct skiff_var *declare(struct skiff_block *b, const char *name, const struct tensor *like,
                                 enum var_kind kind)
{
    struct skiff_var *v = skiff_block_add_var(b, name);
    v->kind = kind;
    v->dtype = like->dtype;
    v->shape = like->shape;
    return v;
}

/* Variables of a parameter and its gradient. */
static struct skiff_param_grad declare_pair(struct skiff_eager_optimizer *opt,
                                            const struct parameter *p, char letter)
{
    struct skiff_program *main = skiff_net_main(opt->building);
    struct skiff_block *b = skiff_program_block(main, 0);
    const struct tensor *value = &p->p.tensor->storage->value.tensor;
    const char *grad_name = arena_printf(&opt->building->arena, "%s@GRAD", p->p.name);
    struct skiff_var *param = skiff_block_own_var(b, p->p.name);
    if (param) /* listed twice */
        return (struct skiff_param_grad){param, skiff_block_own_var(b, grad_name)};
    param = declare(b, p->p.name, value, VAR_LOD_TENSOR);
    skiff_var_set_persistable(param, true);
    skiff_var_set_param(main, param,
                        &(struct skiff_param_info){
                            .trainable = true,
                            .learning_rate = opt_float(p->p.learning_rate, 1),
                            .regularizer = p->p.regularizer,
                        });
    return (struct skiff_param_grad){
        param, declare(b, grad_name, value, letter == ROWS ? VAR_SELECTED_ROWS : VAR_LOD_TENSOR)};
}

/* Clipping, decay and updates for the members of the set. */
static enum skiff_status build_program(struct skiff_eager_optimizer *opt,
                                       const struct update_set *s, struct skiff_error *err)
{
    struct skiff_param_grad *pairs = mem_alloc_or_die((size_t)(opt->nparams + 1) * sizeof(*pairs));
    int n = 0;
    for (int i = 0; i < opt->nparams; i++)
        if (s->signature[i] != WITHOUT)
            pairs[n++] = declare_pair(opt, &opt->params[i], s->signature[i]);
    struct skiff_optimizer *made =
        skiff_optimizer_create(opt->building, opt->kind->info.type, &opt->o);
    if (made) {
        made->own_names = (struct accumulator_names){name_accumulator, opt};
        made->rate_dtype = pairs[0].param->dtype;
    }
    enum skiff_status status =
        made ? skiff_optimizer_apply(made, pairs, n, err) : skiff_net_check(opt->building, err);
    if (status == SKIFF_OK)
        opt->rate = scope_var(opt->scope, skiff_optimizer_rate(made)->name);
    free(pairs);
    return status;
}

/* Fills new accumulators. */
static enum skiff_status run_startup(struct skiff_eager_optimizer *opt, struct skiff_error *err)
{
    struct skiff_executor *e = executor_create(opt->scope, &(struct executor_options){0});
    enum skiff_status status =
        executor_run(e, skiff_net_startup(opt->building), NULL, 0, NULL, 0, NULL, err);
    executor_destroy(e);
    return status;
}

static enum skiff_status make_plan(struct skiff_eager_optimizer *opt, struct update_set *s,
                                   struct skiff_error *err)
{
    const char **feeds =
        arena_alloc(&opt->building->arena, (size_t)(s->nmembers + 1) * sizeof(*feeds));
    for (int i = 0; i < s->nmembers; i++)
        feeds[i] =
            arena_printf(&opt->building->arena, "%s@GRAD", opt->params[s->members[i]].p.name);
    return plan_create(skiff_net_main(opt->building), opt->scope,
                       &(struct plan_options){.fuse = true, .generator = &opt->engine->generator},
                       feeds, s->nmembers, NULL, 0, &s->plan, err);
}

/* The members: every tensor once. */
static void count_members(const struct skiff_eager_optimizer *opt, struct update_set *s)
{
    s->feeds = mem_alloc_or_die((size_t)(opt->nparams + 1) * sizeof(*s->feeds));
    s->members = mem_alloc_or_die((size_t)(opt->nparams + 1) * sizeof(*s->members));
    for (int i = 0; i < opt->nparams; i++)
        if (s->signature[i] != WITHOUT &&
            find_parameter(opt, opt->params[i].p.name) == &opt->params[i])
            s->members[s->nmembers++] = i;
}

/* Paddle has this check for this optimizer only. */
static enum skiff_status check_decay(const struct skiff_eager_optimizer *opt,
                                     struct skiff_error *err)
{
    bool refuses = opt->kind->flags & OPTIMIZER_NO_SPARSE_DECAY && opt->o.regularization.kind;
    for (int i = 0; refuses && i < opt->nparams; i++)
        if (opt->signature[i] == ROWS)
            return error_set(err, SKIFF_STATE,
                             "parameter %s: Adam don't support weight_decay with sparse "
                             "parameters, please set it to None.",
                             opt->params[i].p.name);
    return SKIFF_OK;
}

static enum skiff_status set_make(struct skiff_eager_optimizer *opt, struct update_set *s,
                                  struct skiff_error *err)
{
    TRY(check_decay(opt, err));
    s->signature = mem_alloc_or_die((size_t)opt->nparams + 1);
    memcpy(s->signature, opt->signature, (size_t)opt->nparams);
    count_members(opt, s);
    opt->building = net_create(generation_of(opt));
    enum skiff_status status = build_program(opt, s, err);
    if (status == SKIFF_OK)
        status = run_startup(opt, err);
    if (status == SKIFF_OK)
        status = make_plan(opt, s, err);
    skiff_net_destroy(opt->building);
    opt->building = NULL;
    if (status < 0)
        set_deinit(s);
    return status;
}

static struct update_set *free_set(struct skiff_eager_optimizer *opt)
{
    if (opt->nsets < MOST_SETS)
        return &opt->sets[opt->nsets];
    struct update_set *oldest = &opt->sets[0];
    for (int i = 1; i < opt->nsets; i++)
        if (opt->sets[i].last_used < oldest->last_used)
            oldest = &opt->sets[i];
    set_deinit(oldest);
    *oldest = opt->sets[--opt->nsets];
    opt->sets[opt->nsets] = (struct update_set){0};
    return &opt->sets[opt->nsets];
}

static enum skiff_status find_set(struct skiff_eager_optimizer *opt, struct update_set **out,
                                  struct skiff_error *err)
{
    struct update_set *s = NULL;
    for (int i = 0; i < opt->nsets && !s; i++)
        if (!memcmp(opt->sets[i].signature, opt->signature, (size_t)opt->nparams))
            s = &opt->sets[i];
    if (!s) {
        s = free_set(opt);
        TRY(set_make(opt, s, err));
        opt->nsets++;
    }
    s->last_used = ++opt->steps;
    *out = s;
    return SKIFF_OK;
}

/* ---- a step ---- */

static enum skiff_status check_member(const struct parameter *p, struct skiff_error *err)
{
    const struct skiff_tensor *value = &p->p.tensor->storage->value;
    const struct skiff_tensor *grad = &p->p.tensor->grad->storage->value;
    char have[160], want[160];
    if (value->kind != VALUE_TENSOR)
        return error_set(err, SKIFF_STATE, "parameter %s has no value", p->p.name);
    if (grad->tensor.dtype != value->tensor.dtype ||
        (grad->kind == VALUE_TENSOR && !shape_equal(&grad->tensor.shape, &value->tensor.shape)))
        return error_set(err, SKIFF_SHAPE,
                         "the gradient of parameter %s is %s %s; it must be %s %s", p->p.name,
                         dtype_name(grad->tensor.dtype), shape_text(&grad->tensor.shape, have),
                         dtype_name(value->tensor.dtype), shape_text(&value->tensor.shape, want));
    return SKIFF_OK;
}

/* Finds the parameters that have a gradient, and checks that the scope has their storages. */
static enum skiff_status look(struct skiff_eager_optimizer *opt, bool *out_any,
                              struct skiff_error *err)
{
    *out_any = false;
    for (int i = 0; i < opt->nparams; i++) {
        struct parameter *p = &opt->params[i];
        struct skiff_eager_tensor *t = p->p.tensor, *grad = NULL;
        if (!t->stop_gradient)
            grad = skiff_eager_grad_of(t);
        opt->signature[i] = !grad || grad->storage->value.kind == VALUE_NONE ? WITHOUT
                            : grad->storage->value.kind == VALUE_ROWS        ? ROWS
                                                                             : DENSE;
        if (opt->signature[i] == WITHOUT)
            continue;
        TRY(check_member(p, err));
        if (p->lent != t->storage) {
            forget_sets(opt);
            storage_unref(p->lent);
            p->lent = storage_ref(t->storage);
            scope_lend(opt->scope, p->p.name, &t->storage->value);
        }
        *out_any = true;
    }
    return SKIFF_OK;
}

static void set_rate(struct skiff_eager_optimizer *opt, double rate)
{
    struct tensor *t = &opt->rate->tensor;
    if (t->dtype == DTYPE_FP64)
        *(double *)t->data = rate;
    else
        *(float *)t->data = (float)rate;
}

enum skiff_status skiff_eager_optimizer_step(struct skiff_eager_optimizer *opt, double rate,
                                             struct skiff_error *err)
{
    struct update_set *s;
    bool any;
    TRY(look(opt, &any, err));
    if (!any)
        return SKIFF_OK;
    TRY(find_set(opt, &s, err));
    set_rate(opt, rate);
    for (int i = 0; i < s->nmembers; i++) {
        const struct skiff_tensor *g = skiff_eager_value(opt->params[s->members[i]].p.tensor->grad);
        s->feeds[i] =
            (struct feed){.tensor = &g->tensor, .rows = g->kind == VALUE_ROWS ? &g->sel : NULL};
    }
    struct skiff_thread_pool *before = thread_pool_use(opt->engine->thread_pool);
    enum skiff_status status = plan_run(s->plan, s->feeds, NULL, err);
    thread_pool_use(before);
    return status;
}

void skiff_eager_optimizer_clear_grad(struct skiff_eager_optimizer *opt, bool to_zero)
{
    for (int i = 0; i < opt->nparams; i++)
        if (!opt->params[i].p.tensor->stop_gradient)
            skiff_eager_clear_grad(opt->params[i].p.tensor, to_zero);
}
