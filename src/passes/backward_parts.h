/* Shared by the files of backward. Internal to backward. */
#ifndef PASSES_BACKWARD_PARTS_H
#define PASSES_BACKWARD_PARTS_H

#include <string.h>

#include "passes/backward.h"
#include "program/grad.h"

struct backward {
    struct skiff_program *p;
    const struct backward_options *o;
    struct str_map *no_grad; /* per block that was there at the start: names of gradients */
    int nblocks;
    struct str_map grad_to_var; /* gradient -> variable */
    struct str_map writers;     /* variable -> struct grad_writer */
    struct str_map seeds;       /* gradients of the targets */
    struct str_map written;     /* gradients that this call's seeds and ops write */
    struct str_map wanted;      /* second and later calls: gradients that may be read */
    bool use_wanted;
    struct str_map renamed; /* second and later calls: gradient -> its new name */
    bool clip_errors;       /* of the variables that ask for it */
};

static inline bool set_has(const struct str_map *s, const char *name)
{
    return str_map_has(s, name);
}

static inline void set_add(struct str_map *s, const char *name)
{
    str_map_put(s, name, s);
}

static inline bool is_grad(const char *name)
{
    return strstr(name, GRAD_SUFFIX) != NULL;
}

static inline const char *with_grad(struct skiff_program *p, const char *name)
{
    return arena_printf(&p->arena, "%s" GRAD_SUFFIX, name);
}

/* backward_path.c: which ops lead to the targets. */

void add_args(struct str_map *to, const struct op_arg *args, int n, const struct str_map *but);

/* no_grad holds names of variables here. `inputs` NULL: all ops that lead to the outputs.
 * `outputs` grows by the variables of the path. The caller frees the list. */
struct skiff_op **find_path(struct skiff_block *b, struct str_map *outputs, struct str_map *inputs,
                            struct str_map *no_grad, int *n);

/* Results of the path that lead nowhere (auxiliary outputs) have no gradient. */
void add_dead_outputs(const struct skiff_block *b, struct skiff_op *const *path, int n,
                      const char *target, struct str_map *no_grad);

/* Fails if a variable of `sources` reaches the targets through a gradient op that has no gradient
 * itself: the result would lack that term. */
enum skiff_status check_second_order(struct skiff_block *b, const struct str_map *targets,
                                     const struct str_map *sources, const struct str_map *no_grad,
                                     struct skiff_error *err);

/* backward_again.c: second and later calls on one program. */

/* Renames what the gradient op of `fwd` reads and writes where an earlier call has the name. */
void rename_again(struct backward *b, const struct skiff_block *block, const struct skiff_op *fwd,
                  struct skiff_op *op);
/* The name that this call gives to that gradient. */
const char *again_name(struct backward *b, const struct skiff_block *block, const char *name);
/* Renames the block's no_grad, once all gradient ops are made. */
void rename_no_grad(struct backward *b, const struct skiff_block *block);
/* Does one of the gradient ops of an op read a gradient of this call? Then all of them belong to
 * it. */
bool follows(struct backward *b, struct skiff_op *const *ops, int n);
/* The variable that the gradient belongs to; NULL: none, or not known. */
const struct skiff_var *grad_model(struct skiff_program *p, const struct skiff_block *block,
                                   const char *grad);

#endif
