/* What the files of config share. */
#ifndef CONFIG_CONFIG_PARTS_H
#define CONFIG_CONFIG_PARTS_H

#include "base/arena.h"
#include "base/map.h"
#include "config/config.h"
#include "config/values.h"

struct config {
    struct values *values;
    struct arena arena;
    struct str_map asked;         /* names of families, and by_model keys, that were asked for */
    bool whole_family[KEY_COUNT]; /* member_know with NULL */
};

#endif
