/* Saving when the disk is full or fails, or another machine's storage does not answer: tried again
 * after growing pauses, so that a run of hours does not end for a file that somebody is about to
 * remove, or for an outage of seconds. */
#ifndef STORE_SAVE_RETRY_H
#define STORE_SAVE_RETRY_H

#include <stdbool.h>

#include "base/error.h"

struct save_retry {
    enum skiff_status (*save)(void *user, struct skiff_error *err);
    /* Before each pause: why, and how long. False: no further try (the process is asked to stop).
     * NULL: none is told. */
    bool (*pausing)(void *user, const struct skiff_error *why, double seconds);
    void *user;
    int tries;    /* in all; 0: SAVE_TRIES */
    double pause; /* seconds before the second, twice as long before each further; 0: SAVE_PAUSE */
};

#define SAVE_TRIES 5
#define SAVE_PAUSE 0.25 /* 3.75 s in all */

/* The last try's status. Only errors that may pass are tried again. */
enum skiff_status save_retry(const struct save_retry *r, struct skiff_error *err);
/* Is it one that may pass: no space, no quota, input/output error (a disk's, or a server that does
 * not answer: fs/http.h)? */
bool save_may_pass(const struct skiff_error *err);

#endif
