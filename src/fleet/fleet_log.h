/* Events of a job, with a level: for the command's log (skiff_fleet_on_log has no level). */
#ifndef FLEET_FLEET_LOG_H
#define FLEET_FLEET_LOG_H

#include <skiff/fleet.h>

#include "base/log.h"

/* Replaces skiff_fleet_on_log. Called from any thread, one line each; NULL: no listener. */
void fleet_on_log(struct skiff_fleet *f,
                  void (*log)(void *user, enum log_level level, const char *line), void *user);

#endif
