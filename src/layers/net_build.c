/* What <skiff/build.h> says about nets and parameters. */
#include "layers/helper.h"

#include <stdlib.h>

#include <skiff/build.h>

#include "base/mem.h"

struct skiff_block *skiff_net_block(const struct skiff_net *net)
{
    return net->frame->block;
}

void skiff_net_set_block(struct skiff_net *net, struct skiff_block *b)
{
    if (b->program == net->frame->main)
        net->frame->block = b;
    else
        net_fail(net, SKIFF_INVALID, "block %d is not a block of the current main program", b->idx);
}

struct skiff_block *skiff_net_enter_block(struct skiff_net *net)
{
    return net_enter_block(net);
}

struct skiff_block *skiff_net_leave_block(struct skiff_net *net)
{
    net_leave_block(net);
    return net->frame->block;
}

void skiff_net_set_programs(struct skiff_net *net, struct skiff_program *main,
                            struct skiff_program *startup)
{
    struct net_frame *f = net->frame;
    if (startup) {
        f->startup = startup;
        startup->current_namescope = net->scope->path;
    }
    if (main && main != f->main) {
        f->main = main;
        f->block = program_root(main);
        main->current_namescope = net->scope->path;
    }
}

struct skiff_names {
    struct names names;
};

struct skiff_names *skiff_names_create(const char *prefix)
{
    struct skiff_names *n = mem_alloc_or_die(sizeof(*n));
    names_init(&n->names, prefix);
    return n;
}

void skiff_names_destroy(struct skiff_names *n)
{
    if (!n)
        return;
    names_deinit(&n->names);
    free(n);
}

void skiff_net_swap_names(struct skiff_net *net, struct skiff_names *n)
{
    struct names waiting = n->names, *used = net->names;
    n->names = *used;
    n->names.outer = NULL;
    waiting.outer = used->outer;
    *used = waiting;
}

void skiff_net_init_var(struct skiff_net *net, struct skiff_var *v,
                        const struct skiff_initializer *init)
{
    net_init_var(net, v, init);
}

void skiff_net_init_in(struct skiff_net *net, struct skiff_block *b, struct skiff_var *v,
                       const struct skiff_initializer *init)
{
    if (!net_failed(net))
        initializer_apply(net, b, v, init);
}

void skiff_net_forget_program(struct skiff_net *net, const struct skiff_program *p)
{
    for (struct net_grad_count *c = net->grad_counts; c; c = c->next)
        if (c->program == p)
            c->program = NULL;
}

bool skiff_var_is_parameter(const struct skiff_var *v)
{
    return v->param || v->is_parameter == PRESENCE_TRUE;
}

struct skiff_param_info skiff_var_param(const struct skiff_var *v)
{
    struct skiff_param_info info = {
        .trainable = true, .learning_rate = 1.0, .do_model_average = true};
    const struct param_info *p = v->param;
    if (!p)
        return info;
    info.trainable = p->trainable;
    info.learning_rate = (double)p->learning_rate;
    if (p->regularizer)
        info.regularizer = *(const struct skiff_regularizer *)p->regularizer;
    if (p->gradient_clip)
        info.gradient_clip = *(const struct skiff_clip *)p->gradient_clip;
    info.do_model_average = p->do_model_average;
    info.is_distributed = p->is_distributed;
    return info;
}

void skiff_var_set_param(struct skiff_program *p, struct skiff_var *v,
                         const struct skiff_param_info *info)
{
    struct param_info *inner = v->param;
    program_changed(p);
    if (!inner)
        inner = v->param = arena_alloc(&p->arena, sizeof(*inner));
    *inner = (struct param_info){.trainable = info->trainable,
                                 .learning_rate = (float)info->learning_rate,
                                 .do_model_average = info->do_model_average,
                                 .is_distributed = info->is_distributed};
    if (info->regularizer.kind)
        inner->regularizer = arena_memdup(&p->arena, &info->regularizer, sizeof info->regularizer);
    if (info->gradient_clip.kind) {
        struct skiff_clip *clip =
            arena_memdup(&p->arena, &info->gradient_clip, sizeof info->gradient_clip);
        if (clip->group)
            clip->group = arena_strdup(&p->arena, clip->group);
        inner->gradient_clip = clip;
    }
    v->persistable = PRESENCE_TRUE;
}
