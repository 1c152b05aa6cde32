/* The inside of struct skiff_fleet; only files of fleet/ include this. */
#ifndef FLEET_FLEET_PARTS_H
#define FLEET_FLEET_PARTS_H

#include <stdatomic.h>

#include <skiff/fleet.h>

#include "comm/comm.h"
#include "fleet/role.h"
#include "fleet/settings.h"
#include "passes/split.h"

typedef void (*say_call)(void *user, const char *line);

struct skiff_fleet {
    struct role role;
    bool initialized;
    struct settings settings;
    struct skiff_split *split;                     /* NULL: not split, or alone */
    struct skiff_program *origin, *origin_startup; /* as the user built them, after minimize */
    struct skiff_program *main, *startup;          /* of the role */
    struct skiff_program *given, *given_startup;   /* a worker's: run as those of the role */
    struct job *job;                               /* comm's or job_server's; NULL: alone */
    unsigned meetings;                             /* tags of collective calls */
    _Atomic(say_call) say;                         /* threads of the network look at both */
    _Atomic(void *) user;
};

/* To whoever listens; any thread. */
void fleet_say(void *self, const char *line);

static inline bool fleet_is_alone(const struct skiff_fleet *f)
{
    return f->role.nservers == 0;
}
/* STATE unless init was called. */
enum skiff_status fleet_need_init(const struct skiff_fleet *f, const char *call,
                                  struct skiff_error *err);
/* STATE unless this is a worker whose session is open. */
enum skiff_status fleet_need_session(const struct skiff_fleet *f, const char *call,
                                     struct session **out, struct skiff_error *err);

/* Is this worker in its job: between init_worker (or the first run) and stop_worker? */
bool fleet_is_working(const struct skiff_fleet *f);

/* ---- fleet_split.c ---- */
void fleet_drop_programs(struct skiff_fleet *f);
/* What strategy and settings say to the rooms below. */
enum skiff_status fleet_split_config(const struct skiff_strategy *s, struct skiff_split_config *out,
                                     struct skiff_error *err);
void fleet_comm_options(const struct skiff_strategy *s, const struct settings *settings,
                        const struct job_plan *plan, int worker, struct comm_options *out);

#endif
