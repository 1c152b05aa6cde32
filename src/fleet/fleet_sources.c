/* Small parts of a job's saves (epochs.h): who was there, and from where names go on. Lines of the
 * manifest (save/sources.h). */
#include "fleet/epochs.h"
#include "fleet/fleet_parts.h"
#include "save/save.h"

enum skiff_status epochs_write_members(void *user, struct save *s, struct skiff_error *err)
{
    const struct skiff_fleet *f = user;
    struct buf text = BUF_INIT;
    (void)err;
    buf_printf(&text, "{workers: %d, servers: %d, saved_by: %d, endpoints: \"%s\"}",
               skiff_fleet_worker_num(f), skiff_fleet_server_num(f), f->role.id,
               skiff_fleet_server_endpoints(f));
    save_add_note(s, "members", text.data);
    buf_deinit(&text);
    return SKIFF_OK;
}

/* Barriers and tags are numbered: a process that goes on with others needs the same numbers. */
enum skiff_status epochs_write_rpc(void *user, struct save *s, struct skiff_error *err)
{
    const struct skiff_fleet *f = user;
    struct buf text = BUF_INIT;
    (void)err;
    buf_printf(&text, "{meetings: %u, saves: %u}", f->meetings, f->saves);
    save_add_note(s, "rpc", text.data);
    buf_deinit(&text);
    return SKIFF_OK;
}
