/* What happens in a job, with a level: for the command's log (skiff_fleet_on_say has none). */
#ifndef FLEET_FLEET_LOG_H
#define FLEET_FLEET_LOG_H

#include <skiff/fleet.h>

#include "base/log.h"

/* Instead of skiff_fleet_on_say. From any thread, one line each; NULL: nobody listens. */
void fleet_on_log(struct skiff_fleet *f,
                  void (*log)(void *user, enum log_level level, const char *line), void *user);

#endif
