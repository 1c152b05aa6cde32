/* A small array under a lock: a job has a handful of rings, and an op looks its own up per call. */
#include "collective/rings.h"

#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    struct ring {
        bool taken;
        struct collective *group;
    } at[RINGS_MOST];
} rings = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct ring look(int id)
{
    if (id < 0 || id >= RINGS_MOST)
        return (struct ring){0};
    pthread_mutex_lock(&rings.lock);
    struct ring r = rings.at[id];
    pthread_mutex_unlock(&rings.lock);
    return r;
}

struct collective *rings_get(int id)
{
    return look(id).group;
}

bool rings_has(int id)
{
    return look(id).taken;
}

int rings_free_id(void)
{
    int id = 0;
    while (id < RINGS_MOST && rings_has(id))
        id++;
    return id;
}

enum skiff_status rings_put(int id, struct collective *c, struct skiff_error *err)
{
    if (id < 0 || id >= RINGS_MOST)
        return error_set(err, SKIFF_INVALID, "ring %d: expected a number from 0 to %d", id,
                         RINGS_MOST - 1);
    pthread_mutex_lock(&rings.lock);
    bool taken = rings.at[id].taken;
    if (!taken)
        rings.at[id] = (struct ring){.taken = true, .group = c};
    pthread_mutex_unlock(&rings.lock);
    return taken ? error_set(err, SKIFF_INVALID, "ring %d exists already", id) : SKIFF_OK;
}

enum skiff_status rings_need(int id, const char *who, struct collective **out,
                             struct skiff_error *err)
{
    struct ring r = look(id);
    if (r.group) {
        *out = r.group;
        return SKIFF_OK;
    }
    if (r.taken)
        return error_set(err, SKIFF_INVALID, "%s: this process is not a member of ring %d", who,
                         id);
    if (id == 0)
        return error_set(err, SKIFF_STATE,
                         "%s: the ranks of the job are not connected; open the world first "
                         "(paddle.distributed.init_parallel_env(), fleet.init(is_collective=True) "
                         "or skiff_world_open)",
                         who);
    return error_set(err, SKIFF_NOT_FOUND,
                     "%s: there is no ring %d; create it first (paddle.distributed.new_group or "
                     "skiff_world_group)",
                     who, id);
}

void rings_remove(int id)
{
    if (id < 0 || id >= RINGS_MOST)
        return;
    pthread_mutex_lock(&rings.lock);
    struct collective *c = rings.at[id].group;
    rings.at[id] = (struct ring){0};
    pthread_mutex_unlock(&rings.lock);
    collective_destroy(c);
}

void rings_clear(void)
{
    for (int id = RINGS_MOST - 1; id >= 0; id--)
        rings_remove(id);
}
