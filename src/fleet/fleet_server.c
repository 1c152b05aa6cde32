/* init_server, run_server. */
#include "fleet/fleet_parts.h"

#include "fleet/job_server.h"

static enum skiff_status need_server(const struct skiff_fleet *f, const char *call,
                                     struct skiff_error *err)
{
    TRY(fleet_need_init(f, call, err));
    if (f->role.kind != SKIFF_SERVER)
        return error_set(err, SKIFF_STATE, "%s is for servers; this process is worker %d", call,
                         f->role.id);
    if (!f->job)
        return error_set(err, SKIFF_STATE,
                         "%s: there is no program yet; call distributed_optimizer(...).minimize "
                         "first",
                         call);
    return SKIFF_OK;
}

enum skiff_status skiff_fleet_init_server(struct skiff_fleet *f, const char *model_dir,
                                          struct skiff_error *err)
{
    TRY(need_server(f, "init_server", err));
    return job_server_init(f->job, model_dir, err);
}

enum skiff_status skiff_fleet_run_server(struct skiff_fleet *f, struct skiff_error *err)
{
    TRY(need_server(f, "run_server", err));
    return job_server_run(f->job, err);
}

void skiff_fleet_stop_server(struct skiff_fleet *f)
{
    if (f->job && f->role.kind == SKIFF_SERVER)
        job_server_stop(f->job);
}
