/* Networks in YAML (docs/guide/networks.md): inputs, then layers by name with the arguments of the
 * calls in <skiff/layers.h>, then which of the results is the loss, the prediction, and so on.
 *
 * In reading order: net_text.c (sections, layers, repeating), net_text_args.c (arguments by their
 * types), net_text_names.c (what names stand for), net_text_expr.c (numbers with names). */
#ifndef TASK_NET_TEXT_H
#define TASK_NET_TEXT_H

#include <skiff/model.h>

#include "base/error.h"

struct config;
struct layer_spec;
struct yaml_node;

/* A layer that networks can have; NULL when there is none of that name. */
const struct layer_spec *net_text_layer(const char *name);

/* Appends the network to `net`. file: for messages; config: for hyper_parameters. */
enum skiff_status net_text_build(const struct yaml_node *root, const char *file,
                                 struct config *config, struct skiff_net *net,
                                 struct skiff_model_net *out, struct skiff_error *err);

#endif
