/* The net: two programs, and stacks of guards for programs, names and scopes, as Fluid's `with`
 * blocks nest.
 *
 * The first error is kept and everything after it does nothing, so that a network can be written
 * without a check after every line; minimize or skiff_net_check tells it. Name scopes count how
 * often a name was used inside their parent (/fc/, /fc_1/), as Fluid does. */
#include "layers/net.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

struct skiff_net *skiff_net_create(void)
{
    struct skiff_net *net = mem_alloc_or_die(sizeof *net);
    arena_init(&net->arena);
    net->main = program_create();
    net->startup = program_create();
    net->root = (struct net_frame){net->main, net->startup, program_root(net->main), NULL};
    net->frame = &net->root;
    names_init(&net->root_names, "");
    net->names = &net->root_names;
    net->root_scope.path = "/";
    str_map_init(&net->root_scope.used);
    net->scope = &net->root_scope;
    return net;
}

void skiff_net_destroy(struct skiff_net *net)
{
    if (!net)
        return;
    while (net->names != &net->root_names)
        skiff_net_pop_names(net);
    while (net->scope != &net->root_scope)
        skiff_net_pop_scope(net);
    for (struct net_cleanup *c = net->cleanups; c; c = c->next)
        c->run(c->what);
    str_map_deinit(&net->root_scope.used);
    names_deinit(&net->root_names);
    program_destroy(net->main);
    program_destroy(net->startup);
    arena_deinit(&net->arena);
    free(net);
}

struct skiff_program *skiff_net_main(const struct skiff_net *net)
{
    return net->frame->main;
}

struct skiff_program *skiff_net_startup(const struct skiff_net *net)
{
    return net->frame->startup;
}

void *net_fail_at(struct skiff_net *net, const char *file, int line, enum skiff_status code,
                  const char *format, ...)
{
    if (net_failed(net))
        return NULL;
    char text[sizeof net->error.message];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    error_set_at(&net->error, file, line, code, "%s", text);
    return NULL;
}

void *net_fail_with(struct skiff_net *net, const struct skiff_error *err)
{
    if (!net_failed(net))
        net->error = *err;
    return NULL;
}

enum skiff_status skiff_net_check(const struct skiff_net *net, struct skiff_error *err)
{
    if (net_failed(net) && err)
        *err = net->error;
    return net->error.code;
}

void skiff_net_forget(struct skiff_net *net)
{
    net->error = (struct skiff_error){0};
}

void skiff_net_push_programs(struct skiff_net *net, struct skiff_program *main,
                             struct skiff_program *startup)
{
    struct net_frame *f = arena_alloc(&net->arena, sizeof *f);
    *f = (struct net_frame){main, startup ? startup : net->frame->startup, program_root(main),
                            net->frame};
    net->frame = f;
    main->current_namescope = net->scope->path;
    f->startup->current_namescope = net->scope->path;
}

void skiff_net_pop_programs(struct skiff_net *net)
{
    if (net->frame->outer)
        net->frame = net->frame->outer;
}

void skiff_net_push_names(struct skiff_net *net, const char *prefix)
{
    struct names *n = arena_alloc(&net->arena, sizeof *n);
    names_init(n, prefix ? arena_strdup(&net->arena, prefix) : "");
    n->outer = net->names;
    net->names = n;
}

void skiff_net_pop_names(struct skiff_net *net)
{
    struct names *n = net->names;
    if (!n->outer)
        return;
    net->names = n->outer;
    names_deinit(n);
}

const char *skiff_net_name(struct skiff_net *net, const char *key)
{
    return names_next(net->names, key);
}

/* The current scope is the net's, but ops read it from the program they are put into. */
static void scope_enter(struct skiff_net *net, struct name_scope *s)
{
    net->scope = s;
    net->frame->main->current_namescope = s->path;
    net->frame->startup->current_namescope = s->path;
}

void skiff_net_push_scope(struct skiff_net *net, const char *name)
{
    struct name_scope *s = arena_alloc(&net->arena, sizeof *s);
    uintptr_t times = (uintptr_t)str_map_get(&net->scope->used, name);
    str_map_put(&net->scope->used, arena_strdup(&net->arena, name), (void *)(times + 1));
    s->path = times ? arena_printf(&net->arena, "%s%s_%d/", net->scope->path, name, (int)times)
                    : arena_printf(&net->arena, "%s%s/", net->scope->path, name);
    s->outer = net->scope;
    str_map_init(&s->used);
    scope_enter(net, s);
}

void skiff_net_pop_scope(struct skiff_net *net)
{
    struct name_scope *s = net->scope;
    if (!s->outer)
        return;
    scope_enter(net, s->outer);
    str_map_deinit(&s->used);
}

void net_at_end(struct skiff_net *net, void (*run)(void *what), void *what)
{
    struct net_cleanup *c = arena_alloc(&net->arena, sizeof *c);
    *c = (struct net_cleanup){run, what, net->cleanups};
    net->cleanups = c;
}

int net_next_grad_time(struct skiff_net *net, const struct skiff_program *p)
{
    for (struct net_grad_count *c = net->grad_counts; c; c = c->next)
        if (c->program == p)
            return ++c->times;
    struct net_grad_count *c = arena_alloc(&net->arena, sizeof *c);
    *c = (struct net_grad_count){p, 1, net->grad_counts};
    net->grad_counts = c;
    return 1;
}

struct skiff_block *net_enter_block(struct skiff_net *net)
{
    net->frame->block = program_add_block(net->frame->main, net->frame->block->idx);
    return net->frame->block;
}

void net_leave_block(struct skiff_net *net)
{
    struct skiff_block *b = net->frame->block;
    if (b->parent >= 0)
        net->frame->block = b->program->blocks[b->parent];
}

struct role_guard role_push(struct skiff_program *p, int role, const char *const *role_var,
                            int nrole_var)
{
    struct role_guard saved = {p, p->current_role, p->current_role_var, p->ncurrent_role_var};
    p->current_role = role;
    p->current_role_var = role_var;
    p->ncurrent_role_var = nrole_var;
    return saved;
}

void role_pop(struct role_guard saved)
{
    saved.program->current_role = saved.role;
    saved.program->current_role_var = saved.role_var;
    saved.program->ncurrent_role_var = saved.nrole_var;
}

struct skiff_program *skiff_program_create(void)
{
    return program_create();
}

void skiff_program_destroy(struct skiff_program *p)
{
    if (p)
        program_destroy(p);
}

struct skiff_program *skiff_program_clone(const struct skiff_program *p)
{
    return program_clone(program_to_run(p));
}

void skiff_program_run_as(struct skiff_program *p, struct skiff_program *as)
{
    program_run_as(p, as);
}

void skiff_program_set_seed(struct skiff_program *p, int seed)
{
    p->random_seed = seed;
    program_changed(p);
}

int skiff_program_seed(const struct skiff_program *p)
{
    return p->random_seed;
}

char *skiff_program_text(const struct skiff_program *p)
{
    struct buf b = BUF_INIT;
    program_print(p, &b);
    char *text = mem_strdup_or_die(b.data ? b.data : "");
    buf_deinit(&b);
    return text;
}

struct skiff_var *skiff_program_var(const struct skiff_program *p, const char *name)
{
    return block_own_var(program_root(p), name);
}

const char *skiff_var_name(const struct skiff_var *v)
{
    return v ? v->name : NULL;
}

const char *skiff_var_dtype(const struct skiff_var *v)
{
    return v ? dtype_name(v->dtype) : NULL;
}

int skiff_var_ndim(const struct skiff_var *v)
{
    return v ? v->shape.ndim : 0;
}

int64_t skiff_var_dim(const struct skiff_var *v, int i)
{
    return v && i >= 0 && i < v->shape.ndim ? v->shape.dims[i] : 0;
}

int skiff_var_lod_level(const struct skiff_var *v)
{
    return v ? v->lod_level : 0;
}

bool skiff_var_persistable(const struct skiff_var *v)
{
    return v && var_persistable(v);
}

void skiff_var_set_persistable(struct skiff_var *v, bool on)
{
    if (!v)
        return;
    v->persistable = on ? PRESENCE_TRUE : PRESENCE_FALSE;
    program_changed(v->program);
}

bool skiff_var_stop_gradient(const struct skiff_var *v)
{
    return v && v->stop_gradient;
}

void skiff_var_set_error_clip(struct skiff_var *v, double min, double max)
{
    if (!v)
        return;
    v->clips_error = !(isinf(min) && isinf(max));
    v->error_min = (float)min;
    v->error_max = (float)max;
}

void skiff_var_set_stop_gradient(struct skiff_var *v, bool on)
{
    if (v)
        v->stop_gradient = on;
}
