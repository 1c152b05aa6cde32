/* What the checks share. doctor.c looks at roles, limits, variables and the config, network.c at
 * names, ports and links. */
#ifndef DOCTOR_DOCTOR_PARTS_H
#define DOCTOR_DOCTOR_PARTS_H

#include <stdbool.h>

#include "doctor/doctor.h"
#include "fleet/role.h"

struct doctor {
    doctor_fn on_finding;
    void *arg;
    struct doctor_result result;
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
