/* Leaving: which records go first when a table is at its limit.
 *
 * Each place has two bytes beside the records. One: is a record there, when was it last asked for,
 * and two bits of the owner's. The other: how often it was asked for, halved from time to time. A
 * hand goes round over groups of 64 places, looks at four groups from
 * different quarters of the table together, and names the few that are worth least of them, if they
 * are worth as little as those who went before them (a bar that rises and falls). An approximation:
 * a step costs the same however large the table is. Time is counted in halves of the hand's round.
 *   oldest   by unseen days, where the accessor counts them, then by when it was last asked for
 *   lowest   by the accessor's score, then the same
 *   seldom   by how often it was asked for, then by when: what is asked for again and again stays,
 *            though much else comes between (measured: a quarter fewer rows to be read from disk
 *            than by age)
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
#define LEAVING_MANY 8 /* that one step names, at most */
/* the owner's bits */
#define LEAVING_CHANGED 64 /* what is on disk, if anything, is not this */
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
    uint32_t came_back; /* of them, or others, for an update */
    uint8_t tick;
    uint32_t calm;  /* ticks without too many of these */
    uint8_t guard;  /* ticks in which nobody leaves who was asked for (seldom) */
    double bar;     /* who ranks higher goes */
    uint32_t faded; /* the group whose uses are halved next */
    uint32_t gone;  /* records since the last one was */
};

void leaving_init(struct leaving *l);
void leaving_deinit(struct leaving *l);
size_t leaving_bytes(const struct leaving *l);
/* Bytes that room for so many places would add. */
size_t leaving_growth(const struct leaving *l, size_t places);

/* A record comes to this place, with these bits of the owner's; NOMEM. */
enum skiff_status leaving_come(struct leaving *l, uint32_t place, uint8_t bits,
                               struct skiff_error *err);
void leaving_go(struct leaving *l, uint32_t place);

static inline struct leaving_group *leaving_group(const struct leaving *l, uint32_t place)
{
    return pages_at(&l->flags, place / LEAVING_GROUP);
}

static inline uint8_t *leaving_flags(const struct leaving *l, uint32_t place)
{
    return &leaving_group(l, place)->flags[place % LEAVING_GROUP];
}

#define LEAVING_TICKS 31 /* mask of the bits that say when */
#define LEAVING_USES 63  /* more are not counted */

/* It was asked for, and gets these bits besides those it has. */
static inline void leaving_used(struct leaving *l, uint32_t place, uint8_t bits)
{
    struct leaving_group *g = leaving_group(l, place);
    uint8_t *f = &g->flags[place % LEAVING_GROUP], *uses = &g->uses[place % LEAVING_GROUP];
    *f = (uint8_t)((*f & ~LEAVING_TICKS) | bits | l->tick);
    *uses = (uint8_t)(*uses + (*uses < LEAVING_USES));
}

/* One that had left was to be updated: it left too soon. */
static inline void leaving_regret(struct leaving *l)
{
    l->came_back++;
}

/* The places of the records that go first of the next groups; how many, perhaps none. */
size_t leaving_choose(struct leaving *l, const struct accessor *a, enum table_policy policy,
                      const struct pages *records, uint32_t out[LEAVING_MANY]);

#endif
