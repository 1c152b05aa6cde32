/* Words that people bring from elsewhere, and the keys that they mean. */
#ifndef CLI_CONFIG_WORDS_H
#define CLI_CONFIG_WORDS_H

#include "base/map.h"

/* The known key that was written in another case, or NULL. */
const char *config_word_case(const char *key, const struct str_map *known);
/* The key that its last word means in other people's configs, or NULL. */
const char *config_word_alias(const char *key);
/* A known key of another section with the same last word, or NULL. */
const char *config_word_elsewhere(const char *key, const struct str_map *known);

#endif
