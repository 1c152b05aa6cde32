/* What a mode (<skiff/mode_list.h>) means for the modules: comm, server and fleet ask for what a
 * mode does, not for its name, so that one more mode is one more row. The split makes other
 * programs for GEO, as Paddle does, and asks for it by name. */
#ifndef BASE_MODE_H
#define BASE_MODE_H

#include <stdint.h>

#include <skiff/mode.h>

static inline bool mode_waits(enum skiff_split_mode mode)
{
    return skiff_mode_flags(mode) & SKIFF_MODE_WAITS;
}

static inline bool mode_joins_threads(enum skiff_split_mode mode)
{
    return skiff_mode_flags(mode) & SKIFF_MODE_MEETS;
}

static inline bool mode_adds(enum skiff_split_mode mode)
{
    return skiff_mode_flags(mode) & SKIFF_MODE_ADDS;
}

/* Is it the number of a mode? What comes from files or the wire is asked this first. */
bool mode_is_known(uint32_t number);

#endif
