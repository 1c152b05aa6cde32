/* Modes whose trainers work in steps (sync, half_async): the threads of a trainer wait for each
 * other; the last one to arrive sends the mean of their gradients, one message to each server, and
 * the answer brings the parameters. Whether servers wait for the other trainers before they answer
 * is decided by the servers and makes no difference here. */
#include <stdlib.h>

#include "base/mem.h"
#include "comm/mode.h"

struct step_state {
    struct gather gather;
    atomic_uint_fast64_t step; /* written by the leading thread while the others wait */
};

enum skiff_status step_create(struct comm *c, struct skiff_error *err)
{
    struct step_state *s = mem_alloc_or_die(sizeof *s);
    (void)err;
    gather_init(&s->gather);
    c->state = s;
    return SKIFF_OK;
}

void step_destroy(struct comm *c)
{
    struct step_state *s = c->state;
    gather_deinit(&s->gather);
    free(s);
}

enum skiff_status step_send(struct comm *c, const struct job_slices *to,
                            const struct skiff_tensor *x, bool merge_add, struct skiff_error *err)
{
    struct step_state *s = c->state;
    TRY(comm_check_running(c, err));
    return gather_add(&s->gather, c->session, to, x, merge_add, err);
}

static enum skiff_status exchange(struct comm *c, const struct session_push *pushes, int n,
                                  struct skiff_error *err)
{
    struct step_state *s = c->state;
    TRY(session_exchange(c->session, s->step, PS_END_STEP, pushes, n, c->pulls, c->nrecvs, err));
    s->step++;
    return SKIFF_OK;
}

enum skiff_status step_barrier(struct comm *c, struct skiff_error *err)
{
    struct step_state *s = c->state;
    TRY(comm_check_running(c, err));
    return gather_barrier(&s->gather, c, exchange, err);
}

/* The answer to its last step lacks the later steps of trainers that had more batches. */
enum skiff_status step_refresh(struct comm *c, struct skiff_error *err)
{
    return session_exchange(c->session, 0, 0, NULL, 0, c->pulls, c->nrecvs, err);
}

void step_begin(struct comm *c, int n)
{
    gather_begin(&((struct step_state *)c->state)->gather, n);
}

void step_end(struct comm *c)
{
    gather_end(&((struct step_state *)c->state)->gather);
}

/* Prefetched rows include the changes by this step's gradients (in a mode that waits: of all
 * trainers). DC-ASGD's servers remember the values that a trainer has pulled, so nothing is
 * prefetched. */
bool step_prefetch(struct comm *c, uint64_t *after)
{
    *after = atomic_load(&((struct step_state *)c->state)->step) + 1;
    return !c->options.plan->dc_asgd;
}

const struct job_class step_class = {COMM_CLASS_SLOTS, COMM_PREFETCH_SLOTS, COMM_ANNOUNCE_SLOTS,
                                     .communicates = true, .send = comm_job_send};
