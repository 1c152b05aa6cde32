/* thread: ranks inside one process. Letters go straight into the other rank's post; sums read the
 * other ranks' buffers where they are (hall.c). */
#include <stdlib.h>

#include "base/mem.h"
#include "collective/collective_parts.h"

/* What the ranks share; lives until the last one has closed. */
struct house {
    atomic_int open;
    int size;
    struct post *posts[];
};

static enum skiff_status send_letter(void *engine, int to, const struct letter_head *h,
                                     const void *data, size_t bytes, struct skiff_error *err);
static void close_rank(void *engine);

static const struct engine_kind engine_thread = {
    .name = "thread", .one_process = true, .send = send_letter, .close = close_rank};

/* One rank's place in it. */
struct tenant {
    struct house *house;
    int rank;
};

static enum skiff_status send_letter(void *engine, int to, const struct letter_head *h,
                                     const void *data, size_t bytes, struct skiff_error *err)
{
    struct tenant *t = engine;
    struct blob *blob = NULL;
    if (bytes)
        TRY(blob_copy(data, bytes, "a letter between ranks", &blob, err));
    post_deliver(t->house->posts[to], t->rank, h, blob, 0);
    return SKIFF_OK;
}

static void close_rank(void *engine)
{
    struct tenant *t = engine;
    struct house *house = t->house;
    free(t);
    if (atomic_fetch_sub(&house->open, 1) > 1)
        return;
    for (int i = 0; i < house->size; i++)
        post_destroy(house->posts[i]);
    free(house);
}

/* The groups are made by one thread, so the hall is not agreed upon but given to all. */
enum skiff_status collective_thread(int size, struct collective **out, struct skiff_error *err)
{
    if (size < 1 || size > COLLECTIVE_RANKS)
        return error_set(err, SKIFF_INVALID, "a group of %d threads; 1 to %d are possible", size,
                         COLLECTIVE_RANKS);
    struct house *house = mem_must(sizeof *house + (size_t)size * sizeof(struct post *));
    house->size = size;
    atomic_init(&house->open, size);
    for (int i = 0; i < size; i++) {
        struct tenant *t = mem_must(sizeof *t);
        *t = (struct tenant){house, i};
        house->posts[i] = post_create(&engine_thread, t, i, size);
    }
    for (int i = 0; i < size; i++)
        out[i] = group_create(house->posts[i], GROUP_WORLD, NULL, size, i);
    hall_give(out, size);
    return SKIFF_OK;
}
