/* The definition of struct skiff_fleet; only files of fleet/ include this. */
#ifndef FLEET_FLEET_PARTS_H
#define FLEET_FLEET_PARTS_H

#include <stdatomic.h>

#include <skiff/fleet.h>

#include "base/log.h"
#include "comm/comm.h"
#include "fleet/role.h"
#include "fleet/settings.h"
#include "io/io.h"
#include "passes/split.h"
#include "store/folder_lock.h"
#include "store/model_dir.h"

typedef void (*notify_call)(void *user, const char *line);
typedef void (*log_call)(void *user, enum log_level level, const char *line);

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
    unsigned saves;                                /* snapshots that this worker has made */
    struct folder_lock saving;                     /* of the folder that tables are saved to */
    int nsaving;                                   /* begin_save's that are not ended */
    double *thresholds;          /* per sparse table: of its last save of mode 1 or 2; NULL: none */
    _Atomic(notify_call) on_log; /* threads of the network look at these */
    _Atomic(log_call) log;       /* instead of say, with a level */
    _Atomic(void *) user;
};

/* To whoever listens; any thread. */
void fleet_log(void *self, enum log_level level, const char *line);

/* Neither servers nor a server inside this process: programs are run as they are. */
static inline bool fleet_is_alone(const struct skiff_fleet *f)
{
    return f->role.nservers == 0 && !f->split;
}
/* Are its tables in a server inside this process (local_server.h)? */
static inline bool fleet_is_host(const struct skiff_fleet *f)
{
    return f->role.nservers == 0 && f->split;
}
/* STATE unless init was called. */
enum skiff_status fleet_need_init(const struct skiff_fleet *f, const char *call,
                                  struct skiff_error *err);
/* STATE unless this is a worker whose session is open. */
enum skiff_status fleet_need_session(const struct skiff_fleet *f, const char *call,
                                     struct session **out, struct skiff_error *err);

/* Has this worker joined its job: between init_worker (or the first run) and stop_worker? */
bool fleet_is_working(const struct skiff_fleet *f);

/* ---- fleet_worker.c ---- */
/* In sync mode servers wait for the steps of all workers: one that is about to wait for others
 * steps aside before, and back again. In other modes nothing. */
enum skiff_status fleet_step_aside(struct skiff_fleet *f, struct session *s,
                                   struct skiff_error *err);
enum skiff_status fleet_step_back(struct skiff_fleet *f, struct session *s,
                                  struct skiff_error *err);

/* ---- fleet_save.c ---- */
struct fleet_saving {
    const char *dir;
    const struct skiff_program *vars;    /* whose persistables */
    const char *state;                   /* they go to <state>.pdparams, .pdopt; NULL: see params */
    const char *params;                  /* one file for all; NULL: one each */
    const struct skiff_program *program; /* to be written, too (with `state`: and its own
                                             persistables, one file each); NULL: none */
    const char *model;                   /* its file */
    const char *tag;                     /* snapshot of the servers; NULL: one of now is made */
    const struct model_info *note;       /* the folder is this save's alone; NULL: it is not */
    const struct save_attempts *attempts; /* NULL: one */
};
/* Gathers from the servers and writes; everything appears at one instant. */
enum skiff_status fleet_save(struct skiff_fleet *f, struct skiff_scope *scope,
                             const struct fleet_saving *what, struct skiff_error *err);

/* Every worker may call; all but the first (of those that are not dead) are done with it. */
bool fleet_writes(struct skiff_fleet *f, const char *call);

/* ---- fleet_dense.c: all dense parameters as one table of files ---- */
bool fleet_dense_any(const struct skiff_fleet *f);
/* part-<server>.gz in the folder: a line per element, the weight and its optimizer's states. It is
 * written beside `dir` first, then put there, by place or by a store/folder_commit.h. */
struct dense_folder {
    char *path; /* owned; NULL: none */
    int lock;
};
enum skiff_status fleet_dense_write(struct skiff_fleet *f, struct session *s, const char *dir,
                                    struct dense_folder *out, struct skiff_error *err);
enum skiff_status fleet_dense_commit(struct dense_folder *d, const char *dir,
                                     struct skiff_error *err);
void fleet_dense_end(struct dense_folder *d);   /* not placed: nothing is left */
void fleet_dense_leave(struct dense_folder *d); /* the caller commits the folder */
/* Loading: all is read and checked first, of the folder or (NULL) of a scope; then it is brought to
 * the servers, which take it over with all else of the load (session_load_end). take: a worker that
 * keeps them itself has them now. */
struct dense;
enum skiff_status fleet_dense_read(struct skiff_fleet *f, struct session *s, const char *dir,
                                   struct skiff_scope *scope, struct dense **out,
                                   struct skiff_error *err);
enum skiff_status fleet_dense_put(struct dense *d, uint64_t token, struct skiff_error *err);
enum skiff_status fleet_dense_take(struct dense *d, struct skiff_error *err);
void fleet_dense_close(struct dense *d); /* NULL is fine */

/* ---- fleet_split.c ---- */
void fleet_drop_programs(struct skiff_fleet *f);
/* What strategy and settings say to the modules below. */
enum skiff_status fleet_split_config(const struct skiff_strategy *s, struct skiff_split_config *out,
                                     struct skiff_error *err);
void fleet_comm_options(const struct skiff_strategy *s, const struct settings *settings,
                        const struct job_plan *plan, int worker, struct comm_options *out);

#endif
