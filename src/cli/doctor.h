/* Doctor: what is wrong with a job before it runs, or while it does. cmd_doctor.c looks at roles,
 * limits, variables and the config, doctor_net.c at names, ports and links. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <stdbool.h>

#include "fleet/role.h"

struct doctor {
    int fine, warnings, wrong;
    const char *job, *secret; /* of the job that may run; "" */
    const char *transport;    /* "": the usual one */
    int timeout_ms;           /* per link */
    int silence_ms;           /* of the job: SKIFF_SILENCE_MS */
};

void doctor_ok(struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* advice: what to do; NULL: nothing. */
void doctor_warn(struct doctor *d, const char *advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_wrong(struct doctor *d, const char *advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Names, ports and, where one runs, the server itself: role, counts, mode, clock. own: index of the
 * server that this process is; -1. */
void doctor_servers(struct doctor *d, const struct role *role, int own);
void doctor_hosts(struct doctor *d, const char *what, char *const *endpoints, int n);

#endif
