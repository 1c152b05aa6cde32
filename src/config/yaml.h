/* YAML text to a tree, a tree to keys with dots; the only user of libyaml is yaml.c. */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

#define YAML_MAX_DEPTH 32
#define YAML_MAX_BYTES ((size_t)4 << 20)

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    int line;
    const char *key;         /* in a map, otherwise NULL */
    const char *text;        /* TEXT */
    struct yaml_node *first; /* LIST, MAP; in the order of the text */
    struct yaml_node *next;
    int n; /* children */
};

/* First document only; *out NULL when there is none. Errors name `name` and the line. */
enum skiff_status yaml_read(const void *bytes, size_t n, const char *name, struct arena *arena,
                            const struct yaml_node **out, struct skiff_error *err);
/* NULL when the map has no such key; the last one counts. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* Called for every plain value and for every list of plain values (values n, list true). key: with
 * dots. An empty map or list is a list of none. */
struct yaml_sink {
    void *self;
    void (*value)(void *self, const char *key, int line, bool list, const char *const *values,
                  int n);
};
/* key: of the node itself. */
void yaml_walk(const struct yaml_node *node, const char *key, const struct yaml_sink *sink);

#endif
