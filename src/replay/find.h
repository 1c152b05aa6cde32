/* Finding recorded cases: folders with a case.txt, at any depth, and archives of such folders. */
#ifndef REPLAY_FIND_H
#define REPLAY_FIND_H

#include <stdatomic.h>

#include "base/error.h"

struct replay_finder {
    /* dir: of the case; shown: what it is called in messages. Both hold for the call. */
    void (*on_case)(void *arg, const char *dir, const char *shown);
    void *arg;
    const atomic_bool *stop; /* no further cases; may be NULL */
};

/* Calls on_case for every case of a folder (archives in it, too) or of an archive, which is
 * unpacked into a private folder that is removed afterwards. Without a case: NOT_FOUND. When it was
 * stopped: OK. */
enum skiff_status replay_find(const char *root, const struct replay_finder *f,
                              struct skiff_error *err);
/* What is wrong with the recorded values of this case (docs/reference/differences.md), or NULL.
 * quirk: what the case says itself, or NULL. */
const char *replay_known_defect(const char *dir, const char *quirk);

#endif
