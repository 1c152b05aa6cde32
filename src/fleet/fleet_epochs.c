/* Epochs of a job (epochs.h): the common start, the barrier at the end of an epoch, tagging the
 * values of an epoch, choosing the worker that saves.
 *
 * Before a worker waits for the others it steps aside (fleet_step_aside): in sync mode, servers
 * would otherwise wait for its steps. Afterwards nobody trains before all are back. Names of
 * barriers contain the epoch, so that a worker that was started again cannot meet the others in
 * another epoch. A fleet without a job returns at once. One thread. */
#include "fleet/epochs.h"

#include <stdio.h>
#include <string.h>

#include "fleet/fleet_parts.h"
#include "fleet/job_server.h"

#define MEETINGS_OF_EPOCH 1000u /* tags of other meetings in an epoch begin with its number */

enum skiff_status epochs_server_has(struct skiff_fleet *f, const struct ps_begin *has,
                                    struct skiff_error *err)
{
    if (!f->job || f->role.kind != SKIFF_SERVER)
        return error_set(err, SKIFF_STATE, "only a server whose program is split begins so");
    job_server_set_start(f->job, has);
    return SKIFF_OK;
}

/* The last meeting of an epoch; server 0 knows it by this name (server/coordinator.c). */
static void back_tag(int epoch, char out[static 64])
{
    snprintf(out, 64, "epoch %d: back", epoch);
}

/* In sync mode servers would wait for the steps of one that waits for the others. Nobody trains
 * before all are back: the first steps would be made without who is slow. Who comes late finds the
 * others in the midst of an epoch, and waits for nobody. */
enum skiff_status epochs_begin(struct skiff_fleet *f, const struct ps_begin *has,
                               struct ps_begun *out, struct skiff_error *err)
{
    struct session *s;
    char tag[64];
    *out = (struct ps_begun){.epoch = has->epoch + has->complete, .idle = has->idle};
    if (has->epoch < 0)
        out->epoch = 0;
    if (fleet_is_alone(f))
        return SKIFF_OK;
    TRY(fleet_need_session(f, "the beginning of the job", &s, err));
    TRY(fleet_step_aside(f, s, err));
    TRY(session_begin(s, has, out, err));
    TRY(fleet_step_back(f, s, err));
    f->meetings = (unsigned)(out->epoch + 1) * MEETINGS_OF_EPOCH;
    if (out->late)
        return SKIFF_OK;
    back_tag((int)out->epoch - 1, tag);
    return session_barrier(s, tag, err);
}

static enum skiff_status meet(struct session *s, int epoch, int64_t *whole, size_t nwhole,
                              double *part, size_t npart, struct skiff_error *err)
{
    char tag[64];
    snprintf(tag, sizeof(tag), "epoch %d: counts", epoch);
    TRY(session_reduce_int64(s, tag, "sum", whole, nwhole, err));
    snprintf(tag, sizeof(tag), "epoch %d: sums", epoch);
    return session_reduce_double(s, tag, "sum", part, npart, err);
}

enum skiff_status epochs_barrier(struct skiff_fleet *f, int epoch, int64_t *whole, size_t nwhole,
                                 double *part, size_t npart, struct skiff_error *err)
{
    struct session *s;
    char tag[64];
    if (fleet_is_alone(f))
        return SKIFF_OK;
    TRY(fleet_need_session(f, "the end of an epoch", &s, err));
    TRY(comm_flush(f->job, err)); /* all that this worker has done is with the servers */
    TRY(fleet_step_aside(f, s, err));
    TRY(meet(s, epoch, whole, nwhole, part, npart, err));
    TRY(fleet_step_back(f, s, err));
    TRY(comm_refresh(f->job, err)); /* all others' steps are done, and none has begun the next */
    back_tag(epoch, tag);
    f->meetings = (unsigned)(epoch + 2) * MEETINGS_OF_EPOCH;
    return session_barrier(s, tag, err);
}

enum skiff_status epochs_trained(struct skiff_fleet *f, struct ps_trained *x,
                                 struct ps_account *out, struct skiff_error *err)
{
    struct session *s;
    if (out)
        *out = (struct ps_account){.samples = x->samples, .batches = x->batches};
    if (fleet_is_alone(f) || !f->role.nservers)
        return SKIFF_OK;
    TRY(fleet_need_session(f, "what was trained", &s, err));
    return session_trained(s, x, out, err);
}

static void mark_name(int epoch, char out[static 64])
{
    snprintf(out, 64, "epoch %d", epoch);
}

/* Each worker marks all servers before it trains on; the first one's mark counts. So it is there
 * before anybody's next push, and after everybody's last one (epochs_barrier). */
enum skiff_status epochs_mark(struct skiff_fleet *f, int epoch, struct skiff_error *err)
{
    struct session *s;
    char tag[64];
    if (fleet_is_alone(f))
        return SKIFF_OK;
    TRY(fleet_need_session(f, "the mark of an epoch", &s, err));
    mark_name(epoch, tag);
    return session_tag(s, tag, err);
}

/* Dropping a mark that nobody has made changes nothing, and asks all of them. */
enum skiff_status epochs_look(struct skiff_fleet *f, struct skiff_error *err)
{
    struct session *s;
    if (fleet_is_alone(f))
        return SKIFF_OK;
    TRY(fleet_need_session(f, "reading the state of the servers", &s, err));
    return session_untag(s, "look", err);
}

/* ---- saving ---- */

enum skiff_status epochs_who_saves(struct skiff_fleet *f, int epoch, bool complete,
                                   enum ps_saving_state *out, char reason[static 512],
                                   struct skiff_error *err)
{
    struct session *s;
    struct ps_saving x = {.state = PS_SAVE_ASK, .epoch = ps_save_number(epoch, complete)};
    *out = PS_SAVE_YOU;
    reason[0] = '\0';
    if (fleet_is_alone(f))
        return SKIFF_OK;
    TRY(fleet_need_session(f, "saving", &s, err));
    x.worker = (uint32_t)f->role.id;
    TRY(session_saving(s, &x, err));
    *out = (enum ps_saving_state)x.state;
    snprintf(reason, 512, "%s", x.reason);
    return SKIFF_OK;
}

enum skiff_status epochs_saved(struct skiff_fleet *f, int epoch, bool complete,
                               const struct skiff_error *failure, struct skiff_error *err)
{
    struct session *s;
    struct ps_saving x = {.state = failure ? PS_SAVE_FAILED : PS_SAVE_DONE,
                          .epoch = ps_save_number(epoch, complete)};
    char tag[64];
    if (fleet_is_alone(f))
        return SKIFF_OK;
    TRY(fleet_need_session(f, "saving", &s, err));
    x.worker = (uint32_t)f->role.id;
    snprintf(x.reason, sizeof(x.reason), "%.511s", failure ? failure->message : "");
    TRY(session_saving(s, &x, err));
    mark_name(epoch, tag);
    return failure || !complete ? SKIFF_OK : session_untag(s, tag, err);
}

enum skiff_status epochs_report_unsaved(struct skiff_fleet *f, const char *reason,
                                        struct skiff_error *err)
{
    struct session *s;
    if (fleet_is_alone(f))
        return SKIFF_OK;
    TRY(fleet_need_session(f, "saving", &s, err));
    return session_unsaved(s, reason, err);
}

enum skiff_status epochs_save(struct skiff_fleet *f, struct skiff_scope *scope,
                              const struct epochs_save *what, struct skiff_error *err)
{
    struct skiff_program *pruned = NULL;
    char tag[64];
    mark_name(what->note.epoch, tag);
    if (what->inference)
        TRY(io_inference_program(f->origin, what->inference, false, &pruned, err));
    struct fleet_saving saving = {.dir = what->dir,
                                  .vars = f->origin,
                                  .state = what->state,
                                  .program = pruned,
                                  .model = "__model__",
                                  .tag = what->marked ? tag : NULL,
                                  .note = &what->note,
                                  .attempts = what->attempts};
    enum skiff_status status = fleet_save(f, scope, &saving, err);
    program_destroy(pruned);
    return status;
}
