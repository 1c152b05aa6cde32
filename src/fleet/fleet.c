/* A fleet: one process's part in a job (include/skiff/fleet.h). This file has its creation, its
 * role, and the questions about it; the other calls are in fleet_*.c by topic.
 *
 * The role is fixed by init and must be known before programs are split. Log lines come from any
 * thread of the job: callback and argument are atomics, and the argument is set first, so that a
 * thread never calls the new callback with the old argument. Except for skiff_fleet_stop_server,
 * all other calls come from one thread. */
#include "fleet/fleet_parts.h"
#include "fleet/fleet_log.h"

#include <stdlib.h>

#include "base/mem.h"

struct skiff_fleet *skiff_fleet_create(void)
{
    return mem_alloc_or_die(sizeof(struct skiff_fleet));
}

void skiff_fleet_destroy(struct skiff_fleet *f)
{
    if (!f)
        return;
    skiff_fleet_abandon_worker(f, "has ended without stop_worker");
    fleet_drop_programs(f);
    folder_lock_close(&f->saving);
    role_deinit(&f->role);
    free(f);
}

void skiff_fleet_on_log(struct skiff_fleet *f, void (*on_log)(void *user, const char *line),
                        void *user)
{
    if (on_log) /* a thread may be between its two looks */
        atomic_store(&f->user, user);
    atomic_store(&f->on_log, on_log);
}

void fleet_on_log(struct skiff_fleet *f, log_call log, void *user)
{
    if (log)
        atomic_store(&f->user, user);
    atomic_store(&f->log, log);
}

void fleet_log(void *self, enum log_level level, const char *line)
{
    struct skiff_fleet *f = self;
    notify_call on_log = atomic_load(&f->on_log);
    log_call log = atomic_load(&f->log);
    if (log)
        log(atomic_load(&f->user), level, line);
    else if (on_log)
        on_log(atomic_load(&f->user), line);
}

/* ---- init ---- */

static enum skiff_status take_role(struct skiff_fleet *f, struct role *role,
                                   struct skiff_error *err)
{
    struct settings settings;
    enum skiff_status status = settings_read(&settings, NULL, NULL, err);
    if (status == SKIFF_OK && f->main)
        status = error_set(err, SKIFF_STATE,
                           "call init before minimize: this fleet's programs are already split");
    if (status < 0) {
        role_deinit(role);
        return status;
    }
    role_deinit(&f->role);
    f->role = *role;
    f->settings = settings;
    f->initialized = true;
    return SKIFF_OK;
}

enum skiff_status skiff_fleet_init_env(struct skiff_fleet *f, enum skiff_role_env env,
                                       struct skiff_error *err)
{
    struct role role;
    TRY(role_from_env(&role, env, NULL, NULL, err));
    return take_role(f, &role, err);
}

enum skiff_status skiff_fleet_init_user(struct skiff_fleet *f, const struct skiff_role *given,
                                        struct skiff_error *err)
{
    struct role role;
    TRY(role_from_user(&role, given, err));
    return take_role(f, &role, err);
}

enum skiff_status fleet_need_init(const struct skiff_fleet *f, const char *call,
                                  struct skiff_error *err)
{
    return f->initialized ? SKIFF_OK
                          : error_set(err, SKIFF_STATE,
                                      "%s: call init first: this process has no role yet", call);
}

/* ---- who is who ---- */

bool skiff_fleet_is_initialized(const struct skiff_fleet *f)
{
    return f->initialized;
}

bool skiff_fleet_is_worker(const struct skiff_fleet *f)
{
    return f->initialized && f->role.kind == SKIFF_WORKER;
}

bool skiff_fleet_is_server(const struct skiff_fleet *f)
{
    return f->initialized && f->role.kind == SKIFF_SERVER;
}

bool skiff_fleet_is_first_worker(const struct skiff_fleet *f)
{
    return skiff_fleet_is_worker(f) && f->role.id == 0;
}

int skiff_fleet_worker_index(const struct skiff_fleet *f)
{
    return f->role.id;
}

int skiff_fleet_server_index(const struct skiff_fleet *f)
{
    return f->role.id;
}

int skiff_fleet_worker_num(const struct skiff_fleet *f)
{
    return f->role.workers;
}

int skiff_fleet_server_num(const struct skiff_fleet *f)
{
    return f->role.nservers;
}

const char *skiff_fleet_server_endpoints(const struct skiff_fleet *f)
{
    return f->role.servers_text ? f->role.servers_text : "";
}

const char *skiff_fleet_worker_endpoints(const struct skiff_fleet *f)
{
    return f->role.workers_text ? f->role.workers_text : "";
}

enum skiff_status skiff_fleet_split_files(const struct skiff_fleet *f, const char *const *files,
                                          int n, const char *const **out, int *out_n,
                                          struct skiff_error *err)
{
    int first, count;
    TRY(fleet_need_init(f, "split_files", err));
    if (!skiff_fleet_is_worker(f))
        return error_set(err, SKIFF_STATE, "split_files: files are for workers; this is server %d",
                         f->role.id);
    if (n < 0)
        return error_set(err, SKIFF_RANGE, "split_files: %d files", n);
    role_split(n, f->role.workers, f->role.id, &first, &count);
    const char **part = mem_alloc_or_die((size_t)(count + 1) * sizeof(*part));
    for (int i = 0; i < count; i++)
        part[i] = files[first + i];
    *out = part;
    *out_n = count;
    return SKIFF_OK;
}

/* ---- programs ---- */

struct skiff_program *skiff_fleet_main_program(const struct skiff_fleet *f)
{
    return f->main;
}

struct skiff_program *skiff_fleet_startup_program(const struct skiff_fleet *f)
{
    return f->startup;
}

const char *skiff_fleet_warnings(const struct skiff_fleet *f)
{
    return f->split ? split_warnings(f->split) : "";
}
