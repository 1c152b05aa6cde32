/* YAML text to a tree walk; the only user of libyaml is config_yaml.c. */
#ifndef CLI_CONFIG_YAML_H
#define CLI_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define YAML_MAX_DEPTH 32
#define YAML_MAX_BYTES ((size_t)4 << 20)

/* Called for every plain value and for every list of plain values (values n, list true). key: with
 * dots. An empty map or list is a list of none. */
struct yaml_sink {
    void *self;
    void (*value)(void *self, const char *key, int line, bool list, const char *const *values,
                  int n);
};

/* First document only. Errors name `name` and the line. */
enum skiff_status yaml_read(const void *bytes, size_t n, const char *name,
                            const struct yaml_sink *sink, struct skiff_error *err);

#endif
