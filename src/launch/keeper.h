/* The keeper: a process that holds nothing but a socket, and kills what is left of a launch when
 * the launcher is gone without a word: all processes of the sessions that were started, and all
 * that have inherited the launch's mark, a variable of the environment (pipe commands, say, have
 * groups of their own). */
#ifndef LAUNCH_KEEPER_H
#define LAUNCH_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct keeper {
    pid_t pid; /* 0: none */
    int socket;
};

/* mark: "SKIFF_LAUNCH=..." */
enum skiff_status keeper_start(struct keeper *k, const char *mark, struct skiff_error *err);
/* A process that was started. False: the keeper has ended. */
bool keeper_add(const struct keeper *k, pid_t pid);
/* It kills nothing. False: it had ended. */
bool keeper_stop(struct keeper *k);

#endif
