/* The job's secret on other machines: by ssh, through a pipe. */
#ifndef LAUNCH_SECRET_SHARE_H
#define LAUNCH_SECRET_SHARE_H

#include "launch/launch.h"

#define SECRET_PLACE ".skiff/secret" /* below the home, by default */

/* Puts it into a file of another machine, mode 0600; a path that does not begin with / is below the
 * home there. What ssh says goes to our stderr. */
enum skiff_status secret_send(const char *host, const char *path, const char *secret,
                              struct skiff_error *err);
/* "/home/me/.skiff/secret" of a path below the home; or the path itself. */
enum skiff_status secret_home(const char *path, char *out, size_t capacity,
                              struct skiff_error *err);
/* --share_secret: the machine of server 0 (or rank 0) makes one for this job, if it has none, and
 * sends it to all others; they wait until it has come. */
enum skiff_status secret_share(const struct launch *l, char out[SECRET_TEXT],
                               struct skiff_error *err);

#endif
