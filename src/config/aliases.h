/* Aliases for configuration keys: names that other tools use for them. */
#ifndef CONFIG_ALIASES_H
#define CONFIG_ALIASES_H

#include "base/map.h"

/* The known key that was written in another case, or NULL. */
const char *config_alias_case(const char *key, const struct str_map *known);
/* The key that the last part of this name means in configs of other tools, or NULL. */
const char *config_alias(const char *key);
/* A known key of another section with the same last word, or NULL. */
const char *config_alias_elsewhere(const char *key, const struct str_map *known);

#endif
