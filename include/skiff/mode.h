/* Modes of a job of trainers and parameter servers: the rows of <skiff/mode_list.h>.
 * docs/internals/consistency.md says what each of them guarantees when something fails. */
#ifndef SKIFF_MODE_H
#define SKIFF_MODE_H

#include <stdbool.h>

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum skiff_split_mode {
#define SKIFF_MODE(constant, number, name, flags, promise) SKIFF_SPLIT_##constant = number,
#include <skiff/mode_list.h>
#undef SKIFF_MODE
};

enum skiff_mode_flags {
    SKIFF_MODE_WAITS = 1, /* a step waits for all trainers; otherwise servers apply gradients as
                            they arrive */
    SKIFF_MODE_MEETS = 2, /* threads of a trainer wait for each other in every step and send one
                            gradient */
    SKIFF_MODE_ADDS = 4,  /* trainers update by themselves; servers add differences */
};

/* By its name, "sync" and so on. False: there is none, *out is untouched. */
SKIFF_API bool skiff_mode_find(const char *name, enum skiff_split_mode *out);
/* Of a number that no mode has: "unknown", "", 0. */
SKIFF_API const char *skiff_mode_name(enum skiff_split_mode mode);
SKIFF_API const char *skiff_mode_promise(enum skiff_split_mode mode);
SKIFF_API unsigned skiff_mode_flags(enum skiff_split_mode mode); /* of enum skiff_mode_flags */
/* "sync, half_async, async or geo": for messages. */
SKIFF_API const char *skiff_mode_names(void);

#ifdef __cplusplus
}
#endif
#endif
