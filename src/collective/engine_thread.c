/* thread: ranks inside one process. Messages go straight into the other rank's inbox; sums read the
 * other ranks' buffers directly (shm.c). */
#include <stdlib.h>

#include "base/mem.h"
#include "collective/collective_parts.h"

/* State shared by the ranks; lives until the last one has closed. */
struct thread_world {
    atomic_int open;
    int size;
    struct inbox *inboxes[];
};

static enum skiff_status send_message(void *engine, int to, const struct message_head *h,
                                      const void *data, size_t bytes, struct skiff_error *err);
static void close_rank(void *engine);

static const struct engine_kind engine_thread = {
    .name = "thread", .one_process = true, .send = send_message, .close = close_rank};

/* One rank's engine. */
struct thread_rank {
    struct thread_world *world;
    int rank;
};

static enum skiff_status send_message(void *engine, int to, const struct message_head *h,
                                      const void *data, size_t bytes, struct skiff_error *err)
{
    struct thread_rank *t = engine;
    struct blob *blob = NULL;
    if (bytes)
        TRY(blob_copy(data, bytes, "a message between ranks", &blob, err));
    inbox_deliver(t->world->inboxes[to], t->rank, h, blob, 0);
    return SKIFF_OK;
}

static void close_rank(void *engine)
{
    struct thread_rank *t = engine;
    struct thread_world *world = t->world;
    free(t);
    if (atomic_fetch_sub(&world->open, 1) > 1)
        return;
    for (int i = 0; i < world->size; i++)
        inbox_destroy(world->inboxes[i]);
    free(world);
}

/* One thread creates all groups, so the shared segment is given to all without negotiation. */
enum skiff_status collective_thread(int size, struct collective **out, struct skiff_error *err)
{
    if (size < 1 || size > COLLECTIVE_RANKS)
        return error_set(err, SKIFF_INVALID, "a group of %d threads; 1 to %d are possible", size,
                         COLLECTIVE_RANKS);
    struct thread_world *world =
        mem_alloc_or_die(sizeof *world + (size_t)size * sizeof(struct inbox *));
    world->size = size;
    atomic_init(&world->open, size);
    for (int i = 0; i < size; i++) {
        struct thread_rank *t = mem_alloc_or_die(sizeof *t);
        *t = (struct thread_rank){world, i};
        world->inboxes[i] = inbox_create(&engine_thread, t, i, size);
    }
    for (int i = 0; i < size; i++)
        out[i] = group_create(world->inboxes[i], GROUP_WORLD, NULL, size, i);
    shm_give(out, size);
    return SKIFF_OK;
}
