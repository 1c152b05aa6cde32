/* What the layers that make sub-blocks share (control.c, control_rnn.c). */
#ifndef LAYERS_CONTROL_H
#define LAYERS_CONTROL_H

#include "layers/helper.h"

#include <skiff/control.h>

/* What a block reads from outside, and what it writes. */
void control_uses(const struct skiff_block *b, struct str_map *reads, struct str_map *writes);
/* The variables of those names that `b` sees. Fails on an unknown one if `all` is set. */
int control_resolve(struct skiff_net *net, const struct skiff_block *b, const struct str_map *names,
                    bool all, struct skiff_var **out);
/* A variable for what the op keeps of its block's runs. */
struct skiff_var *control_scopes(struct skiff_net *net, struct skiff_block *b);
/* The block around the one that is open. */
struct skiff_block *control_outer(struct skiff_net *net);
/* A branch whose block is opened later. */
struct skiff_branch *control_branch(struct skiff_net *net, int n,
                                    struct skiff_var *const *conditions, bool is_scalar);
void control_branch_open(struct skiff_branch *b);

#endif
