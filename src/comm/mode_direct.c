/* Direct: programs of the bare transpiler, whose ops exchange by themselves, without a
 * communicator.
 *
 * If servers do not wait (async), every send and recv is a request of its own. In sync mode, sent
 * values are kept until the send_barrier, which is the trainer's part of the step; its answer
 * brings the parameters, and the recv ops after it take them from here. Several threads of one
 * trainer wait for each other at the barrier, as with a communicator. */
#include <stdlib.h>

#include "base/mem.h"
#include "comm/mode.h"

struct direct_state {
    struct gather gather;
    uint64_t step;
    struct skiff_tensor *held; /* of c->recvs, as the last step left them */
    bool has_held;             /* written by the leading thread, read by those it has released */
    struct str_map index;
};

static enum skiff_status direct_create(struct comm *c, struct skiff_error *err)
{
    struct direct_state *s = mem_alloc_or_die(sizeof *s);
    gather_init(&s->gather);
    s->held = mem_alloc_or_die((size_t)(c->nrecvs + 1) * sizeof *s->held);
    str_map_init(&s->index);
    for (int i = 0; i < c->nrecvs; i++)
        str_map_put(&s->index, c->recvs[i].slices.names[0], &s->held[i]);
    c->state = s;
    return SKIFF_OK;
}

static void direct_destroy(struct comm *c)
{
    struct direct_state *s = c->state;
    for (int i = 0; i < c->nrecvs; i++)
        value_deinit(&s->held[i]);
    free(s->held);
    str_map_deinit(&s->index);
    gather_deinit(&s->gather);
    free(s);
}

static bool is_sync(const struct comm *c)
{
    return mode_waits(c->options.session.mode);
}

static enum skiff_status direct_send(struct comm *c, const struct job_slices *to,
                                     const struct skiff_tensor *x, bool merge_add,
                                     struct skiff_error *err)
{
    struct direct_state *s = c->state;
    struct session *session;
    struct session_push push = {.to = *to, .x = x};
    TRY(comm_open(c, &session, err));
    if (is_sync(c))
        return gather_add(&s->gather, session, to, x, merge_add, err);
    return session_exchange(session, 0, 0, &push, 1, NULL, 0, err);
}

static enum skiff_status direct_exchange(struct comm *c, const struct session_push *pushes, int n,
                                         struct skiff_error *err)
{
    struct direct_state *s = c->state;
    struct session *session;
    TRY(comm_open(c, &session, err));
    struct session_pull *pulls = mem_alloc_or_die((size_t)(c->nrecvs + 1) * sizeof *pulls);
    for (int i = 0; i < c->nrecvs; i++)
        pulls[i] = (struct session_pull){.from = c->recvs[i].slices, .out = &s->held[i]};
    enum skiff_status status =
        session_exchange(session, s->step, PS_END_STEP, pushes, n, pulls, c->nrecvs, err);
    free(pulls);
    s->has_held = status == SKIFF_OK;
    if (status == SKIFF_OK)
        s->step++;
    return status;
}

static enum skiff_status direct_barrier(struct comm *c, struct skiff_error *err)
{
    struct direct_state *s = c->state;
    return is_sync(c) ? gather_barrier(&s->gather, c, direct_exchange, err) : SKIFF_OK;
}

static enum skiff_status direct_held(struct comm *c, const struct job_slices *from,
                                     struct skiff_tensor *out, bool *found, struct skiff_error *err)
{
    struct direct_state *s = c->state;
    const struct skiff_tensor *v =
        s->has_held && from->n == 1 ? str_map_get(&s->index, from->names[0]) : NULL;
    *found = v != NULL;
    return v ? value_copy(out, v, err) : SKIFF_OK;
}

static void direct_begin(struct comm *c, int n)
{
    gather_begin(&((struct direct_state *)c->state)->gather, n);
}

static void direct_end(struct comm *c)
{
    gather_end(&((struct direct_state *)c->state)->gather);
}

static const struct job_class direct_class = {COMM_CLASS_SLOTS, COMM_ANNOUNCE_SLOTS,
                                              .send = comm_job_send};

const struct comm_mode mode_direct = {.class = &direct_class,
                                      .create = direct_create,
                                      .destroy = direct_destroy,
                                      .send = direct_send,
                                      .held = direct_held,
                                      .send_barrier = direct_barrier,
                                      .threads_begin = direct_begin,
                                      .thread_end = direct_end};
