/* Retries a save with growing pauses when the disk is full or fails, or remote storage does not
 * respond: a run of hours should not end because of an outage of seconds, or of a disk that is
 * about to be cleaned up. */
#ifndef SAVE_RETRY_H
#define SAVE_RETRY_H

#include <stdbool.h>

#include "base/error.h"

struct save_retry {
    enum skiff_status (*save)(void *user, struct skiff_error *err);
    /* Called before each pause with the cause and the length of the pause. False: give up (the
     * process is asked to stop). NULL: no callback. */
    bool (*pausing)(void *user, const struct skiff_error *why, double seconds);
    void *user;
    int tries;    /* attempts in all; 0: SAVE_TRIES */
    double pause; /* seconds before the second attempt, then doubled; 0: SAVE_PAUSE */
};

#define SAVE_TRIES 5
#define SAVE_PAUSE 0.25 /* 3.75 s in all */

/* Returns the last attempt's status. Retries only transient errors. */
enum skiff_status save_retry(const struct save_retry *r, struct skiff_error *err);
/* Is the error transient: no space, no quota, input/output error (of a disk, or of a server that
 * does not respond: fs/http.h)? */
bool save_may_pass(const struct skiff_error *err);

#endif
