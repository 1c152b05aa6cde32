/* Services of a plan for kernels: running sub-blocks, and saving a block's variables for the
 * backward loop. */
#include <stdlib.h>

#include "base/mem.h"
#include "executor/plan_parts.h"

static struct plan *plan_of(struct run_env *env)
{
    return (struct plan *)env;
}

static enum skiff_status env_run_block(struct run_env *env, int block, struct skiff_error *err)
{
    return plan_run_block(plan_of(env), block, err);
}

struct saved_block {
    struct plan *plan;
    int block, count;
    struct skiff_tensor values[];
};

static void env_free_saved(void *p)
{
    struct saved_block *s = p;
    if (!s)
        return;
    for (int i = 0; i < s->count; i++)
        value_deinit(&s->values[i]);
    free(s);
}

static enum skiff_status env_save_block(struct run_env *env, int block, void **out,
                                        struct skiff_error *err)
{
    struct plan_block *b = &plan_of(env)->blocks[block];
    struct saved_block *s = mem_alloc_or_die(sizeof(*s) + (size_t)b->nown * sizeof(s->values[0]));
    s->plan = plan_of(env);
    s->block = block;
    s->count = b->nown;
    for (int i = 0; i < b->nown; i++) {
        enum skiff_status status = value_copy(&s->values[i], &b->own[i]->value, err);
        if (status < 0) {
            env_free_saved(s);
            return status;
        }
    }
    *out = s;
    return SKIFF_OK;
}

static enum skiff_status env_restore_block(struct run_env *env, int block, void *saved,
                                           struct skiff_error *err)
{
    struct saved_block *s = saved;
    struct plan_block *b = &plan_of(env)->blocks[block];
    for (int i = 0; i < s->count; i++)
        TRY(value_copy(&b->own[i]->value, &s->values[i], err));
    return SKIFF_OK;
}

static struct skiff_tensor *env_find(struct run_env *env, int block, const char *name)
{
    struct plan_var *v;
    struct plan *plan = plan_of(env);
    /* the plan keeps the name of a variable that it sees for the first time */
    return plan_resolve(plan, block, arena_strdup(&plan->arena, name), &v);
}

void plan_env_init(struct plan *plan, const struct plan_options *options)
{
    plan->env = (struct run_env){.scope = plan->scope,
                                 .run_block = env_run_block,
                                 .save_block = env_save_block,
                                 .restore_block = env_restore_block,
                                 .free_saved = env_free_saved,
                                 .find = env_find,
                                 .host = options->host,
                                 .generator = options->generator,
                                 .program_seed = plan->program->random_seed,
                                 .is_test = options->is_test,
                                 .defer_rows = options->fuse || options->defer_rows,
                                 .empty_is_step = options->empty_is_step,
                                 .part_of = options->part_of,
                                 .part_user = options->part_user,
                                 .home = options->home};
}
