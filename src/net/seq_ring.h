/* A map from sequence numbers to pointers, for numbers that lie close together: a ring that grows
 * with the distance between the lowest and the highest. Used on both sides of rpc, for outstanding
 * and for known requests. One user at a time. */
#ifndef NET_SEQ_RING_H
#define NET_SEQ_RING_H

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

struct seq_ring {
    void **slot;
    uint64_t mask;      /* slots - 1; slot is NULL before the first put */
    uint64_t low, next; /* low <= numbers that may be in the ring < next */
};

static inline void *seq_ring_get(const struct seq_ring *r, uint64_t seq)
{
    return seq >= r->low && seq < r->next ? r->slot[seq & r->mask] : NULL;
}

/* seq >= low; the distance must be kept small by the caller. thing NULL clears. */
static inline void seq_ring_put(struct seq_ring *r, uint64_t seq, void *thing)
{
    if (!r->slot || seq - r->low > r->mask) {
        struct seq_ring old = *r;
        r->mask = old.slot ? 2 * old.mask + 1 : 63;
        while (seq - r->low > r->mask)
            r->mask = 2 * r->mask + 1;
        r->slot = mem_alloc_or_die((r->mask + 1) * sizeof *r->slot);
        for (uint64_t s = old.low; s < old.next; s++)
            r->slot[s & r->mask] = old.slot[s & old.mask];
        free(old.slot);
    }
    r->slot[seq & r->mask] = thing;
    if (seq >= r->next)
        r->next = seq + 1;
}

/* The numbers below `low` are finished; their entries have been taken out. */
static inline void seq_ring_advance(struct seq_ring *r, uint64_t low)
{
    r->low = low;
    if (r->next < low)
        r->next = low;
}

static inline void seq_ring_deinit(struct seq_ring *r)
{
    free(r->slot);
    *r = (struct seq_ring){0};
}

#endif
