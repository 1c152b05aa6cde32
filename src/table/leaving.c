/* Choice of the records that leave a full table (leaving.h): a clock algorithm over groups of 64
 * slots. Each step looks at SPREAD groups far apart and names at most LEAVING_MANY candidates, so
 * that its cost does not depend on the size of the table. Ages are differences of a 5-bit tick; the
 * hand resets older ones once per round, before they could wrap around. The bar on the rank adapts
 * until about as many records are above it as must leave. Threads: one owner. */
#include "table/leaving.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define HERE 128
#define SPREAD 4 /* groups that are examined together, far apart from each other */
#define GROWTH 8 /* one tick each time the table has grown by this fraction */
#define ROUND 2  /* ticks of a round of the hand, in which every group is examined once */
/* Ages are exact up to here; once in a round the hand makes sure that none grows past what five
 * bits can express. */
#define AGE_MAX 24
#define FADE 4
/* A record that was requested within this many ticks, at least, is still needed: updates follow
 * pulls. The right number depends on how many train at a time; records that return for their update
 * show it. */
#define GUARD 4
#define TOO_MANY 32 /* return if they are more than one in this many that leave */
#define CALM 64     /* ticks without such returns, after which a shorter time is tried */
/* Groups without a record above the bar are skipped, this many times. */
#define TRIES 8

void leaving_init(struct leaving *l)
{
    *l = (struct leaving){.guard = GUARD};
    pages_init(&l->flags, sizeof(struct leaving_group), false, "ages of a table's records");
}

void leaving_deinit(struct leaving *l)
{
    pages_deinit(&l->flags);
}

size_t leaving_bytes(const struct leaving *l)
{
    return pages_bytes(&l->flags);
}

size_t leaving_growth(const struct leaving *l, size_t slots)
{
    size_t groups = (slots + LEAVING_GROUP - 1) / LEAVING_GROUP;
    return groups > l->flags.top ? pages_growth(&l->flags, groups - l->flags.top) : 0;
}

static void tick(struct leaving *l)
{
    bool too_soon = l->came_back * TOO_MANY > l->left;
    l->calm = too_soon ? 0 : l->calm + 1;
    if (too_soon && l->guard < AGE_MAX - 1)
        l->guard++;
    else if (l->calm % CALM == CALM - 1 && l->guard > GUARD)
        l->guard--;
    l->moved = l->grown = l->left = l->came_back = 0;
    l->tick = (l->tick + 1) & LEAVING_TICKS;
}

enum skiff_status leaving_come(struct leaving *l, uint32_t slot, uint8_t bits,
                               struct skiff_error *err)
{
    while (slot / LEAVING_GROUP >= l->flags.top) {
        uint32_t group;
        TRY(pages_take(&l->flags, &group, err));
        /* while the table grows, the hand does not move to count ticks by */
        if (++l->grown * GROWTH >= l->flags.top)
            tick(l);
    }
    *leaving_flags(l, slot) = (uint8_t)(HERE | bits | l->tick);
    leaving_group(l, slot)->uses[slot % LEAVING_GROUP] = 0;
    return SKIFF_OK;
}

void leaving_go(struct leaving *l, uint32_t slot)
{
    *leaving_flags(l, slot) = 0;
}

struct candidate {
    uint32_t slot;
    int age;
    double rank; /* the higher, the sooner it leaves */
};

static bool goes_before(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank > b->rank : a->age > b->age;
}

static int age_of(const struct leaving *l, uint8_t *flags)
{
    int age = (l->tick - *flags) & LEAVING_TICKS;
    if (age <= AGE_MAX)
        return age;
    *flags = (uint8_t)((*flags & ~LEAVING_TICKS) | ((l->tick - AGE_MAX) & LEAVING_TICKS));
    return AGE_MAX;
}

static size_t insert(struct candidate *best, size_t n, struct candidate c)
{
    size_t at = n;
    while (at && goes_before(&c, &best[at - 1]))
        at--;
    if (at == LEAVING_MANY)
        return n;
    n += n < LEAVING_MANY;
    memmove(best + at + 1, best + at, (n - at - 1) * sizeof *best);
    best[at] = c;
    return n;
}

/* Quarters of the groups; the hand moves over the first. */
static uint32_t quarter(const struct leaving *l)
{
    return (l->flags.top + SPREAD - 1) / SPREAD;
}

static void step(struct leaving *l)
{
    l->hand = l->hand + 1 < quarter(l) ? l->hand + 1 : 0;
    if (++l->moved * ROUND >= quarter(l))
        tick(l);
}

struct search {
    const struct accessor *accessor;
    enum table_policy policy;
    const struct pages *row_list;
    int guard;
    struct candidate best[LEAVING_MANY];
    size_t n, seen;
    double least; /* rank */
};

static double rank_of(const struct search *s, uint32_t slot, int age, int uses)
{
    const struct accessor_class *class = s->accessor->class;
    if (s->policy == TABLE_SELDOM)
        return age <= s->guard ? -LEAVING_USES - 1 - uses : -uses;
    if (s->policy == TABLE_LOWEST)
        return -class->score(s->accessor, pages_at(s->row_list, slot));
    return class->unseen ? class->unseen(s->accessor, pages_at(s->row_list, slot)) : age;
}

static void look_at(struct leaving *l, uint32_t group, struct search *s)
{
    struct leaving_group *g = pages_at(&l->flags, group);
    for (uint32_t i = 0; i < LEAVING_GROUP; i++) {
        if (!(g->flags[i] & HERE))
            continue;
        struct candidate c = {group * LEAVING_GROUP + i, age_of(l, &g->flags[i]), 0};
        c.rank = rank_of(s, c.slot, c.age, g->uses[i]);
        s->n = insert(s->best, s->n, c);
        if (!s->seen++ || c.rank < s->least)
            s->least = c.rank;
    }
}

static void look(struct leaving *l, struct search *s)
{
    s->n = s->seen = 0;
    for (uint32_t i = 0; i < SPREAD; i++)
        if (l->hand + i * quarter(l) < l->flags.top)
            look_at(l, l->hand + i * quarter(l), s);
    while (s->n > 1 && s->n > s->seen / LEAVING_MANY) /* few records here: only the worst of them */
        s->n--;
}

/* Counts of uses are halved when FADE times as many records have left as the table holds. */
static void fade(struct leaving *l, uint32_t going)
{
    for (l->gone += going; l->gone >= FADE * LEAVING_GROUP; l->gone -= FADE * LEAVING_GROUP) {
        l->faded = l->faded + 1 < l->flags.top ? l->faded + 1 : 0;
        struct leaving_group *g = pages_at(&l->flags, l->faded);
        for (int i = 0; i < LEAVING_GROUP; i++)
            g->uses[i] /= 2;
    }
}

/* The bar rises when there are more above it than can be named at once, and falls when groups have
 * been skipped in vain: so it stays where as many are above it as must leave. */
size_t leaving_choose(struct leaving *l, const struct accessor *a, enum table_policy policy,
                      const struct pages *row_list, uint32_t out[LEAVING_MANY])
{
    struct search s = {.accessor = a, .policy = policy, .row_list = row_list, .guard = l->guard};
    double highest = -HUGE_VAL;
    for (int i = 0; i < TRIES; i++) {
        look(l, &s);
        if (s.n && s.best[0].rank >= l->bar)
            break;
        if (s.n && s.best[0].rank > highest)
            highest = s.best[0].rank;
        if (i == TRIES - 1)
            l->bar = highest;
        else
            step(l);
    }
    while (s.n && s.best[s.n - 1].rank < l->bar)
        s.n--;
    if (s.n == LEAVING_MANY)
        l->bar = s.best[s.n - 1].rank;
    if (s.n < LEAVING_MANY || l->bar == s.least)
        step(l); /* otherwise there may be more of them here */
    for (size_t i = 0; i < s.n; i++)
        out[i] = s.best[i].slot;
    l->left += (uint32_t)s.n;
    fade(l, (uint32_t)s.n);
    return s.n;
}
