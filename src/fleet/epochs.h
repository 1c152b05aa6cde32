/* Epochs of a job: what workers that train epoch by epoch do together (skiff train). Saving belongs
 * to the job: every worker asks whether it shall save, server 0 says who does, and another one is
 * asked for when that one dies or fails. What is saved are the servers' values at the end of the
 * epoch, whoever saves and whenever: all workers have tagged them before any of them trained on.
 *
 *     epochs_begin      all begin with the same epoch; one that is started again joins the others
 *     ... train ...     epochs_trained, once a second and at the end: what dies is counted, too
 *     epochs_barrier       all are at the end of the epoch; their counts are added up
 *     epochs_mark       the values of now are the epoch's
 *     epochs_who_saves  PS_SAVE_YOU: epochs_save, then epochs_saved
 *
 * Without servers all of it is local. Threads: as the fleet's calls. */
#ifndef FLEET_EPOCHS_H
#define FLEET_EPOCHS_H

#include <skiff/fleet.h>

#include "net/ps.h"
#include "store/model_dir.h"

/* A server's part: before skiff_fleet_init_server. Copied. */
enum skiff_status epochs_server_has(struct skiff_fleet *f, const struct ps_begin *has,
                                    struct skiff_error *err);
/* out->epoch is where this worker begins. */
enum skiff_status epochs_begin(struct skiff_fleet *f, const struct ps_begin *has,
                               struct ps_begun *out, struct skiff_error *err);
/* For workers that wait for something else: are all servers there? An error says who is not. */
enum skiff_status epochs_look(struct skiff_fleet *f, struct skiff_error *err);
/* Adds up over all workers, in place. */
enum skiff_status epochs_barrier(struct skiff_fleet *f, int epoch, int64_t *whole, size_t nwhole,
                                 double *part, size_t npart, struct skiff_error *err);
/* What this worker has trained of an epoch so far (x->done: all of its files). out: the account of
 * all workers; NULL: nobody waits for it, and errors are noticed elsewhere. */
enum skiff_status epochs_trained(struct skiff_fleet *f, struct ps_trained *x,
                                 struct ps_account *out, struct skiff_error *err);
enum skiff_status epochs_mark(struct skiff_fleet *f, int epoch, struct skiff_error *err);

/* complete: of an epoch that was trained to its end. reason: filled when it is PS_SAVE_FAILED. */
enum skiff_status epochs_who_saves(struct skiff_fleet *f, int epoch, bool complete,
                                   enum ps_saving_state *out, char reason[static 512],
                                   struct skiff_error *err);
/* It is saved; or (failure not NULL) this worker could not. */
enum skiff_status epochs_saved(struct skiff_fleet *f, int epoch, bool complete,
                               const struct skiff_error *failure, struct skiff_error *err);
/* Nobody could: servers shall not end well. */
enum skiff_status epochs_report_unsaved(struct skiff_fleet *f, const char *reason,
                                        struct skiff_error *err);

struct io_inference;
struct epochs_save {
    const char *dir;
    struct model_info note;
    bool marked; /* the values that were tagged at the end of the epoch; otherwise those of now */
    /* All goes to <state>.pdparams, .pdopt and .pdmodel, as an epoch of one process; NULL: to one
     * file for each persistable. */
    const char *state;
    const struct io_inference *inference; /* this model, too; NULL: none */
    const struct save_attempts *attempts; /* NULL: one */
};
/* Providers of a job's small parts (save/sources.h); user: the fleet.
 *   members: {workers: 2, servers: 2, saved_by: 0, endpoints: "..."}
 *   rpc: {meetings: 2000, saves: 3} */
struct save;
enum skiff_status epochs_write_members(void *user, struct save *s, struct skiff_error *err);
enum skiff_status epochs_write_rpc(void *user, struct save *s, struct skiff_error *err);
/* Values, programs and what they are, in place at one instant. */
enum skiff_status epochs_save(struct skiff_fleet *f, struct skiff_scope *scope,
                              const struct epochs_save *what, struct skiff_error *err);
/* skiff_fleet_save_inference_model, in several attempts. */
struct epochs_inference {
    const char *path;
    bool prefix;
    const struct save_attempts *attempts; /* NULL: one */
};
enum skiff_status epochs_save_inference(struct skiff_fleet *f, struct skiff_scope *scope,
                                        const struct io_inference *what,
                                        const struct epochs_inference *to, struct skiff_error *err);
/* Beside the shards of a save of sparse tables (skiff_fleet_save_model): ids that wait for
 * admission, which have no place in Paddle's files; loads of that folder find them. */
enum skiff_status epochs_save_waiting(struct skiff_fleet *f, const char *dir,
                                      struct skiff_error *err);
/* A save of mode 3 has the rows of sparse tables as they were before it let a day pass:
 * a process that resumes from one lets it pass once more. */
enum skiff_status epochs_pass_day(struct skiff_fleet *f, struct skiff_error *err);

#endif
