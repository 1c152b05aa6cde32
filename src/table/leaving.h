/* Leaving (eviction): which records leave first when a table is at its limit.
 *
 * Each slot has two bytes next to the records. One: is a record there, when was it last requested,
 * and two bits of the owner's. The other: how often it was requested, halved from time to time. A
 * hand goes round over groups of 64 slots, looks at four groups from different quarters of the
 * table together, and names the few that are worth least, if they are worth as little as those that
 * left before them (a bar that rises and falls). An approximation: a step costs the same however
 * large the table is. Time is counted in halves of the hand's round.
 *   oldest   by unseen days, where the accessor counts them, then by the last request
 *   lowest   by the accessor's score, then the same
 *   seldom   by the number of requests, then by the last one: records that are requested again and
 *            again stay, though many others come between (measured: a quarter fewer rows to be read
 *            from disk than by age)
 * Threads: one owner, the table's. */
#ifndef TABLE_LEAVING_H
#define TABLE_LEAVING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "table/accessor.h"
#include "table/pages.h"

enum table_policy { TABLE_OLDEST = 0, TABLE_LOWEST = 1, TABLE_SELDOM = 2 };

#define LEAVING_GROUP 64
#define LEAVING_MANY 8 /* named by one step, at most */
/* the owner's bits */
#define LEAVING_CHANGED 64 /* the copy on disk, if any, differs */
#define LEAVING_ON_DISK 32

struct leaving_group {
    uint8_t flags[LEAVING_GROUP];
    uint8_t uses[LEAVING_GROUP];
};

struct leaving {
    struct pages flags; /* struct leaving_group */
    uint32_t hand;      /* a group */
    uint32_t moved;     /* steps of it since the last tick */
    uint32_t grown;     /* groups since then */
    uint32_t left;      /* records since then */
    uint32_t came_back; /* of them, or others, that returned for an update */
    uint8_t tick;
    uint32_t calm;  /* ticks without too many of these */
    uint8_t guard;  /* ticks in which a record that was requested does not leave (seldom) */
    double bar;     /* records of a higher rank leave */
    uint32_t faded; /* the group whose uses are halved next */
    uint32_t gone;  /* records that have left since the last halving */
};

void leaving_init(struct leaving *l);
void leaving_deinit(struct leaving *l);
size_t leaving_bytes(const struct leaving *l);
/* Bytes that this many more slots would add. */
size_t leaving_growth(const struct leaving *l, size_t slots);

/* A record is stored in this slot, with these bits of the owner's; NOMEM. */
enum skiff_status leaving_come(struct leaving *l, uint32_t slot, uint8_t bits,
                               struct skiff_error *err);
void leaving_go(struct leaving *l, uint32_t slot);

static inline struct leaving_group *leaving_group(const struct leaving *l, uint32_t slot)
{
    return pages_at(&l->flags, slot / LEAVING_GROUP);
}

static inline uint8_t *leaving_flags(const struct leaving *l, uint32_t slot)
{
    return &leaving_group(l, slot)->flags[slot % LEAVING_GROUP];
}

#define LEAVING_TICKS 31 /* mask of the bits with the time */
#define LEAVING_USES 63  /* more are not counted */

/* It was requested, and gets these bits in addition to those it has. */
static inline void leaving_used(struct leaving *l, uint32_t slot, uint8_t bits)
{
    struct leaving_group *g = leaving_group(l, slot);
    uint8_t *f = &g->flags[slot % LEAVING_GROUP], *uses = &g->uses[slot % LEAVING_GROUP];
    *f = (uint8_t)((*f & ~LEAVING_TICKS) | bits | l->tick);
    *uses = (uint8_t)(*uses + (*uses < LEAVING_USES));
}

/* A record that had left was to be updated: it left too soon. */
static inline void leaving_regret(struct leaving *l)
{
    l->came_back++;
}

/* The slots of the records that leave first among the next groups; returns how many, perhaps
 * none. */
size_t leaving_choose(struct leaving *l, const struct accessor *a, enum table_policy policy,
                      const struct pages *row_list, uint32_t out[LEAVING_MANY]);

#endif
