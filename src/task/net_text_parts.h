/* What the files of net_text share. */
#ifndef TASK_NET_TEXT_PARTS_H
#define TASK_NET_TEXT_PARTS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/near.h"
#include "config/config.h"
#include "config/yaml.h"
#include "task/net_text.h"
#include "layers/table.h"

/* Results of layers, and inputs, by the name that the network gives them. */
struct net_name {
    struct skiff_var **vars;
    int n;
    bool group; /* of the same kind: a layer that takes one of them is repeated for each */
    const struct layer_spec *spec; /* of a layer with named results; otherwise NULL */
};

struct net_text {
    const char *file;
    struct config *config;
    struct skiff_net *net;
    struct skiff_model_net *out;
    const struct yaml_node *defaults; /* the section hyper_parameters, or NULL */
    struct arena arena;
    struct str_map names;   /* struct net_name */
    struct str_map numbers; /* of loops that are running: const char *, the value as text */
    int layers;             /* made so far */
};

/* What messages call a node. */
static inline const char *net_key(const struct yaml_node *node)
{
    return node->key ? node->key : "an item of the list";
}
/* "file:line: ..." of a node. */
#define net_wrong(t, node, err, ...) net_wrong_at(t, node, err, __FILE__, __LINE__, __VA_ARGS__)
enum skiff_status net_wrong_at(const struct net_text *t, const struct yaml_node *node,
                               struct skiff_error *err, const char *file, int line,
                               const char *format, ...) __attribute__((format(printf, 6, 7)));
/* A key of a map that is none of `known` (NULL at the end; what: of what it is a key). */
enum skiff_status net_keys_check(const struct net_text *t, const struct yaml_node *map,
                                 const char *what, const char *const *known,
                                 struct skiff_error *err);

/* ---- net_text_names.c ---- */

/* A key of hyper_parameters, as the config or else the network says: its values as texts. *out_n 0
 * and no error when neither has it. */
enum skiff_status net_setting(struct net_text *t, const char *name, const char *const **out,
                              int *out_n, bool *out_found, struct skiff_error *err);
/* A number by name: a loop's, or a setting. */
enum skiff_status net_number(struct net_text *t, const struct yaml_node *node, const char *name,
                             double *out, struct skiff_error *err);
/* "x", "metric.auc", "parts.0": variables; *out_group when a group was named as a whole. */
enum skiff_status net_vars(struct net_text *t, const struct yaml_node *node, const char *text,
                           struct skiff_vars *out, bool *out_group, struct skiff_error *err);
/* The same where only one makes sense. */
enum skiff_status net_var(struct net_text *t, const struct yaml_node *node, struct skiff_var **out,
                          struct skiff_error *err);
/* Text with $name or ${name} replaced by its value. */
enum skiff_status net_fill(struct net_text *t, const struct yaml_node *node, const char **out,
                           struct skiff_error *err);
/* Makes the name stand for these, which are copied. */
void net_bind(struct net_text *t, const char *name, struct skiff_var *const *vars, int n,
              bool group, const struct layer_spec *spec);

/* ---- net_text_expr.c ---- */

/* 3, 0.1 / sqrt(width), slots * width + columns(dense), cross_num > 0, True */
enum skiff_status net_expr(struct net_text *t, const struct yaml_node *node, const char *text,
                           double *out, struct skiff_error *err);
/* Of a plain node. */
enum skiff_status net_real(struct net_text *t, const struct yaml_node *node, double *out,
                           struct skiff_error *err);
enum skiff_status net_int(struct net_text *t, const struct yaml_node *node, int64_t *out,
                          struct skiff_error *err); /* a whole number below 2^53 */
enum skiff_status net_flag(struct net_text *t, const struct yaml_node *node, bool *out,
                           struct skiff_error *err);
/* "13" or [1, 2 * slots]. */
enum skiff_status net_dims(struct net_text *t, const struct yaml_node *node, struct skiff_dims *out,
                           struct skiff_error *err);

/* ---- net_text_args.c ---- */

/* A layer of `call` ({layer: fc, ...}): its arguments into c, the first groups among them into
 * `each` (at most LAYER_ARGS_MAX; n 0: not repeated). */
struct net_each {
    int arg[LAYER_ARGS_MAX];
    struct skiff_vars vars[LAYER_ARGS_MAX];
    int n;
};
enum skiff_status net_args(struct net_text *t, const struct layer_spec *spec,
                           const struct yaml_node *call, struct layer_call *c,
                           struct net_each *each, struct skiff_error *err);

#endif
