/* Branches and recurrent nets made of blocks of layers.
 *
 *     struct skiff_static_rnn *r = skiff_static_rnn_create(net, NULL);
 *     skiff_static_rnn_begin(r);
 *     struct skiff_var *step = skiff_static_rnn_input(r, x);            x: [steps, batch, ...]
 *     struct skiff_var *before = skiff_static_rnn_memory(r, h0);
 *     struct skiff_var *now = layers of step and before
 *     skiff_static_rnn_update(r, before, now);
 *     struct skiff_var *all = skiff_static_rnn_output(r, now);          [steps, batch, ...]
 *     skiff_static_rnn_end(r);
 *
 * The objects that begin and create return belong to the net. The net keeps a failure
 * (skiff_net_error), and later calls do nothing. Switch and While: skiff/layers.h. */
#ifndef SKIFF_CONTROL_H
#define SKIFF_CONTROL_H

#include <skiff/net.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A block that runs if the condition holds. is_scalar: one bool; otherwise it runs if every outer
 * variable that it reads has elements. */
struct skiff_branch;
SKIFF_API struct skiff_branch *skiff_branch_begin(struct skiff_net *net, int n,
                                                  struct skiff_var *const *conditions,
                                                  bool is_scalar);
/* Within the block: an outer variable that gets the value of v. */
SKIFF_API struct skiff_var *skiff_branch_output(struct skiff_branch *b, struct skiff_var *v);
SKIFF_API void skiff_branch_end(struct skiff_branch *b);
/* inputs[mask]: only that input needs a value. mask: one int32. */
SKIFF_API struct skiff_var *skiff_select_input(struct skiff_net *net, int n,
                                               struct skiff_var *const *inputs,
                                               struct skiff_var *mask);

/* Rows by a condition, a bool for each row: one block for rows where it is true, one for the
 * others. */
struct skiff_if_else;
SKIFF_API struct skiff_if_else *skiff_if_else_create(struct skiff_net *net,
                                                     struct skiff_var *condition, const char *name);
SKIFF_API void skiff_if_else_begin(struct skiff_if_else *e, bool side);
SKIFF_API struct skiff_var *skiff_if_else_input(struct skiff_if_else *e, struct skiff_var *x);
SKIFF_API void skiff_if_else_output(struct skiff_if_else *e, struct skiff_var *v);
SKIFF_API void skiff_if_else_end(struct skiff_if_else *e);
/* Output `at` of both branches, with rows in their original order; the number of outputs. */
SKIFF_API struct skiff_var *skiff_if_else_result(struct skiff_if_else *e, int at);
SKIFF_API int skiff_if_else_count(const struct skiff_if_else *e);

/* Steps of sequences that all have the same length. */
struct skiff_static_rnn;
SKIFF_API struct skiff_static_rnn *skiff_static_rnn_create(struct skiff_net *net, const char *name);
SKIFF_API void skiff_static_rnn_begin(struct skiff_static_rnn *r);
SKIFF_API struct skiff_var *skiff_static_rnn_input(struct skiff_static_rnn *r, struct skiff_var *x);
SKIFF_API struct skiff_var *skiff_static_rnn_memory(struct skiff_static_rnn *r,
                                                    struct skiff_var *init);
/* A memory that begins with `value`; dimension init_dim of its shape is dimension ref_dim of
 * ref. */
SKIFF_API struct skiff_var *skiff_static_rnn_memory_like(struct skiff_static_rnn *r,
                                                         struct skiff_dims shape,
                                                         struct skiff_var *ref, double value,
                                                         int init_dim, int ref_dim);
SKIFF_API void skiff_static_rnn_update(struct skiff_static_rnn *r, struct skiff_var *memory,
                                       struct skiff_var *now);
SKIFF_API struct skiff_var *skiff_static_rnn_output(struct skiff_static_rnn *r,
                                                    struct skiff_var *v);
SKIFF_API void skiff_static_rnn_end(struct skiff_static_rnn *r);

/* Steps of sequences of any length (lod). Within the block rows are those of the sequences that
 * have this step, the longest sequence first. */
struct skiff_dynamic_rnn;
SKIFF_API struct skiff_dynamic_rnn *skiff_dynamic_rnn_create(struct skiff_net *net,
                                                             const char *name);
SKIFF_API void skiff_dynamic_rnn_begin(struct skiff_dynamic_rnn *r);
SKIFF_API struct skiff_var *skiff_dynamic_rnn_input(struct skiff_dynamic_rnn *r,
                                                    struct skiff_var *x, int level);
/* An input that is the same in every step; after the first input. */
SKIFF_API struct skiff_var *skiff_dynamic_rnn_static_input(struct skiff_dynamic_rnn *r,
                                                           struct skiff_var *x);
/* reorder: init has the order of the batch, not that of the lengths. */
SKIFF_API struct skiff_var *skiff_dynamic_rnn_memory(struct skiff_dynamic_rnn *r,
                                                     struct skiff_var *init, bool reorder);
SKIFF_API struct skiff_var *skiff_dynamic_rnn_memory_like(struct skiff_dynamic_rnn *r,
                                                          struct skiff_dims shape, double value,
                                                          const char *dtype);
SKIFF_API void skiff_dynamic_rnn_update(struct skiff_dynamic_rnn *r, struct skiff_var *memory,
                                        struct skiff_var *now);
SKIFF_API void skiff_dynamic_rnn_output(struct skiff_dynamic_rnn *r, struct skiff_var *v);
SKIFF_API void skiff_dynamic_rnn_end(struct skiff_dynamic_rnn *r);
/* After the end: output `at` for all steps, in the order and with the lod of the inputs. */
SKIFF_API struct skiff_var *skiff_dynamic_rnn_result(struct skiff_dynamic_rnn *r, int at);
SKIFF_API int skiff_dynamic_rnn_count(const struct skiff_dynamic_rnn *r);

#ifdef __cplusplus
}
#endif

#endif
