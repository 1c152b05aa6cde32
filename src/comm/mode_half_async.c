/* Half-async: threads of the trainer meet; the mean of their gradients goes out, is applied on
 * arrival, and the answer brings the parameters as they are then. Trainers do not wait for each
 * other. */
#include <stdlib.h>

#include "base/mem.h"
#include "comm/mode.h"

struct half_state {
    struct gather gather;
    atomic_uint_fast64_t step; /* written by the one thread that leads, while the others wait */
};

static enum skiff_status half_create(struct comm *c, struct skiff_error *err)
{
    struct half_state *s = mem_must(sizeof *s);
    gather_init(&s->gather);
    c->state = s;
    return SKIFF_OK;
}

static void half_destroy(struct comm *c)
{
    struct half_state *s = c->state;
    gather_deinit(&s->gather);
    free(s);
}

static enum skiff_status half_send(struct comm *c, const struct job_slices *to,
                                   const struct skiff_tensor *x, bool merge_add,
                                   struct skiff_error *err)
{
    TRY(comm_check_running(c, err));
    return gather_add(&((struct half_state *)c->state)->gather, to, x, merge_add, err);
}

static enum skiff_status half_exchange(struct comm *c, const struct session_push *pushes, int n,
                                       struct skiff_error *err)
{
    struct half_state *s = c->state;
    struct session_pull *pulls = mem_must((size_t)(c->nrecvs + 1) * sizeof *pulls);
    comm_pulls(c, pulls);
    enum skiff_status status =
        session_exchange(c->session, s->step, PS_END_STEP, pushes, n, pulls, c->nrecvs, err);
    if (status == SKIFF_OK)
        s->step++;
    free(pulls);
    return status;
}

static enum skiff_status half_barrier(struct comm *c, struct skiff_error *err)
{
    TRY(comm_check_running(c, err));
    return gather_meet(&((struct half_state *)c->state)->gather, c, half_exchange, err);
}

static void half_begin(struct comm *c, int n)
{
    gather_begin(&((struct half_state *)c->state)->gather, n);
}

static void half_end(struct comm *c)
{
    gather_end(&((struct half_state *)c->state)->gather);
}

/* With what this step's gradients will have changed. */
static bool half_ahead(struct comm *c, uint64_t *after)
{
    *after = atomic_load(&((struct half_state *)c->state)->step) + 1;
    return !c->options.dc_asgd;
}

static const struct job_class half_class = {COMM_CLASS_SLOTS, COMM_AHEAD_SLOTS,
                                            .communicates = true, .send = comm_job_send};

const struct comm_mode mode_half_async = {.class = &half_class,
                                          .create = half_create,
                                          .destroy = half_destroy,
                                          .send = half_send,
                                          .send_barrier = half_barrier,
                                          .threads_begin = half_begin,
                                          .thread_end = half_end,
                                          .ahead = half_ahead};
