/* Half-async: threads of the trainer meet; the mean of their gradients goes out, is applied on
 * arrival, and the answer brings the parameters as they are then. Trainers do not wait for each
 * other. */
#include <stdlib.h>

#include "base/mem.h"
#include "comm/mode.h"

static enum skiff_status half_create(struct comm *c, struct skiff_error *err)
{
    c->state = mem_must(sizeof(struct gather));
    gather_init(c->state);
    return SKIFF_OK;
}

static void half_destroy(struct comm *c)
{
    gather_deinit(c->state);
    free(c->state);
}

static enum skiff_status half_send(struct comm *c, const struct job_slices *to,
                                   const struct value *x, bool merge_add, struct skiff_error *err)
{
    TRY(comm_check_running(c, err));
    return gather_add(c->state, to, x, merge_add, err);
}

static enum skiff_status half_exchange(struct comm *c, const struct session_push *pushes, int n,
                                       struct skiff_error *err)
{
    struct session_pull *pulls = mem_must((size_t)(c->nrecvs + 1) * sizeof *pulls);
    comm_pulls(c, pulls);
    enum skiff_status status = session_exchange(c->session, 0, 0, pushes, n, pulls, c->nrecvs, err);
    free(pulls);
    return status;
}

static enum skiff_status half_barrier(struct comm *c, struct skiff_error *err)
{
    TRY(comm_check_running(c, err));
    return gather_meet(c->state, c, half_exchange, err);
}

static void half_begin(struct comm *c, int n)
{
    gather_begin(c->state, n);
}

static void half_end(struct comm *c)
{
    gather_end(c->state);
}

static const struct job_class half_class = {COMM_CLASS_SLOTS, .communicates = true,
                                            .send = comm_job_send};

const struct comm_mode mode_half_async = {.class = &half_class,
                                          .create = half_create,
                                          .destroy = half_destroy,
                                          .send = half_send,
                                          .send_barrier = half_barrier,
                                          .threads_begin = half_begin,
                                          .thread_end = half_end};
