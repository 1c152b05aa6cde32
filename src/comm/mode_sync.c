/* Sync: threads of the trainer meet; the mean of their gradients goes out as the trainer's part of
 * the step; the servers answer when all trainers have given theirs, with the new parameters. One
 * message to each server and step, and no further barrier. */
#include <stdlib.h>

#include "base/mem.h"
#include "comm/mode.h"

struct sync_state {
    struct gather gather;
    atomic_uint_fast64_t step; /* written by the one thread that leads, while the others wait */
};

static enum skiff_status sync_create(struct comm *c, struct skiff_error *err)
{
    struct sync_state *s = mem_must(sizeof *s);
    gather_init(&s->gather);
    c->state = s;
    return SKIFF_OK;
}

static void sync_destroy(struct comm *c)
{
    struct sync_state *s = c->state;
    gather_deinit(&s->gather);
    free(s);
}

static enum skiff_status sync_send(struct comm *c, const struct job_slices *to,
                                   const struct skiff_tensor *x, bool merge_add,
                                   struct skiff_error *err)
{
    struct sync_state *s = c->state;
    TRY(comm_check_running(c, err));
    return gather_add(&s->gather, to, x, merge_add, err);
}

static enum skiff_status sync_exchange(struct comm *c, const struct session_push *pushes, int n,
                                       struct skiff_error *err)
{
    struct sync_state *s = c->state;
    struct session_pull *pulls = mem_must((size_t)(c->nrecvs + 1) * sizeof *pulls);
    comm_pulls(c, pulls);
    enum skiff_status status =
        session_exchange(c->session, s->step, PS_END_STEP, pushes, n, pulls, c->nrecvs, err);
    if (status == SKIFF_OK)
        s->step++;
    free(pulls);
    return status;
}

static enum skiff_status sync_barrier(struct comm *c, struct skiff_error *err)
{
    struct sync_state *s = c->state;
    TRY(comm_check_running(c, err));
    return gather_meet(&s->gather, c, sync_exchange, err);
}

static void sync_begin(struct comm *c, int n)
{
    gather_begin(&((struct sync_state *)c->state)->gather, n);
}

static void sync_end(struct comm *c)
{
    gather_end(&((struct sync_state *)c->state)->gather);
}

/* With the values that this step will give. */
static bool sync_ahead(struct comm *c, uint64_t *after)
{
    *after = atomic_load(&((struct sync_state *)c->state)->step) + 1;
    return true;
}

static const struct job_class sync_class = {COMM_CLASS_SLOTS, COMM_AHEAD_SLOTS,
                                            .communicates = true, .send = comm_job_send};

const struct comm_mode mode_sync = {.class = &sync_class,
                                    .create = sync_create,
                                    .destroy = sync_destroy,
                                    .send = sync_send,
                                    .send_barrier = sync_barrier,
                                    .threads_begin = sync_begin,
                                    .thread_end = sync_end,
                                    .ahead = sync_ahead};
