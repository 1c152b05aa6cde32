/* The hall: memory that all ranks of a group reach, because they are threads of one process or
 * processes of one machine (hall_open.c finds out).
 *
 * An exchange goes in rounds. In each one a rank lays what the others need of its bytes into its
 * own slot, says in its seat what call it makes, and comes to the meeting; when all have come, all
 * read what they want. Slots and seats are there twice and used in turns, so one meeting a round is
 * enough: who fills a slot again has met all others since they read it. In one process nothing is
 * copied: the seat has a pointer to the caller's bytes, and a second meeting ends the call.
 *
 * A meeting is one number that everybody counts up; it either takes place for all or, once somebody
 * has given up waiting and marked it, for nobody. So no rank leaves while another one reads its
 * bytes, and nothing is locked that a dead process could hold. */
#define _GNU_SOURCE
#include "collective/hall_parts.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

#define BROKEN (UINT64_C(1) << 63)
#define SPIN (4 * 1000)           /* nanoseconds */
#define YIELD CLOCK_MS            /* then others may run; then a wait sleeps */
#define CROWDED (CLOCK_MS / 2)    /* a yield that took so long: others have work for this core */
#define SLEEPS 200                /* so many waits sleep at once then; see spin_until_met */
#define NAP (20 * CLOCK_MS)       /* between two looks whether somebody is gone */
#define REASON (5 * CLOCK_SECOND) /* for the reason of whoever gave up to arrive */

/* ---- meetings ---- */

static void sleep_on(atomic_uint *word, unsigned seen)
{
    struct timespec nap = clock_timespec(NAP);
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &nap, NULL, 0);
}

static void wake_all(struct hall_shared *s)
{
    atomic_fetch_add(&s->wake, 1);
    if (atomic_load(&s->sleepers))
        syscall(SYS_futex, &s->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool has_met(uint64_t count, uint64_t target)
{
    return (count & ~BROKEN) >= target;
}

/* False: somebody has given up before all had come. */
static bool arrive(struct hall_shared *s, uint64_t target)
{
    uint64_t seen = atomic_load(&s->count);
    do {
        if (seen & BROKEN)
            return false;
    } while (!atomic_compare_exchange_weak(&s->count, &seen, seen + 1));
    if (seen + 1 == target)
        wake_all(s);
    return true;
}

/* True: it has taken place after all. */
static bool give_up(struct hall_shared *s, uint64_t target)
{
    uint64_t seen = atomic_load(&s->count);
    do {
        if (has_met(seen, target))
            return true;
        if (seen & BROKEN)
            return false;
    } while (!atomic_compare_exchange_weak(&s->count, &seen, seen | BROKEN));
    wake_all(s);
    return false;
}

/* Whoever has not come and will not. */
static enum skiff_status look_for_missing(struct collective *c, struct skiff_error *err)
{
    struct hall *h = c->hall;
    TRY(post_check(c->post, err));
    for (int i = 0; i < c->size; i++)
        if (atomic_load(&hall_seat(h, i, h->round)->round) < h->round &&
            post_has_left(c->post, c->ranks[i], c->id) &&
            atomic_load(&hall_seat(h, i, h->round)->round) < h->round) {
            char text[CALL_TEXT];
            call_print(&hall_seat(h, c->rank, h->round)->call, text);
            return error_set(err, SKIFF_PEER,
                             "rank %d has left the group while rank %d waits for %s", c->ranks[i],
                             c->post->rank, text);
        }
    return SKIFF_OK;
}

/* Ranks that have not come are named, and given up at last. */
static enum skiff_status name_late(struct collective *c, struct post_wait *wait,
                                   struct skiff_error *err)
{
    struct hall *h = c->hall;
    struct post_wait each = *wait;
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < c->size && status == SKIFF_OK; i++) {
        if (atomic_load(&hall_seat(h, i, h->round)->round) >= h->round)
            continue;
        each = *wait;
        status = post_wait_late(c->post, &each, c->ranks[i], &hall_seat(h, c->rank, h->round)->call,
                                err);
    }
    *wait = each;
    if (post_wait_due(wait)) /* all have come just now */
        wait->next = clock_now() + wait->pause;
    return status;
}

/* On a crowded machine who yields runs behind all others, who sleeps and is woken before them. */
static bool spin_until_met(struct hall *h, uint64_t target)
{
    int64_t start = clock_now(), waited = 0;
    while (waited < YIELD) {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(&h->shared->count, memory_order_acquire) >= target)
                return true;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        if (h->spins && waited <= SPIN) {
            waited = clock_now() - start;
            continue;
        }
        if (h->crowded) {
            h->crowded--;
            return false;
        }
        int64_t before = clock_now();
        sched_yield();
        int64_t after = clock_now();
        waited = after - start;
        if (after - before > CROWDED)
            h->crowded = SLEEPS;
    }
    return false;
}

/* surely: everybody is known to come. */
static enum skiff_status meet(struct collective *c, bool surely, struct skiff_error *err)
{
    struct hall *h = c->hall;
    struct hall_shared *s = h->shared;
    uint64_t target = ++h->meetings * (uint64_t)c->size, count;
    bool gone = !arrive(s, target);
    if (!gone && spin_until_met(h, target))
        return SKIFF_OK;
    struct post_wait wait;
    post_wait_begin(c->post, &wait);
    while (!gone) {
        atomic_fetch_add(&s->sleepers, 1);
        unsigned seen = atomic_load(&s->wake);
        count = atomic_load(&s->count);
        if (!has_met(count, target) && !(count & BROKEN))
            sleep_on(&s->wake, seen);
        atomic_fetch_sub(&s->sleepers, 1);
        count = atomic_load(&s->count);
        if (has_met(count, target))
            return SKIFF_OK;
        gone = count & BROKEN;
        if (gone || surely)
            continue;
        if (c->post->kind->progress)
            c->post->kind->progress(c->post->engine);
        enum skiff_status status = look_for_missing(c, err);
        if (status == SKIFF_OK && post_wait_due(&wait))
            status = name_late(c, &wait, err);
        if (status < 0)
            return give_up(s, target) ? SKIFF_OK : status;
    }
    if (post_wait_failure(c->post, clock_now() + REASON))
        return post_check(c->post, err);
    return error_set(err, SKIFF_PEER, "another rank has given up; it did not say why");
}

/* ---- rounds ---- */

struct visit {
    struct collective *c;
    const struct exchange *x;
    size_t window; /* bytes for each receiver in a round */
    size_t rounds;
    const uint8_t **views;
    size_t *bytes;
    struct call *calls;
};

static size_t part_of(size_t all, size_t at, size_t window)
{
    return at >= all ? 0 : all - at < window ? all - at : window;
}

/* others: without what stays here. */
static size_t longest_out(const struct visit *v, bool others)
{
    size_t most = 0;
    for (int i = 0; i < v->c->size; i++)
        if ((i != v->c->rank || !others) && v->x->out_bytes[i] > most)
            most = v->x->out_bytes[i];
    return most;
}

static void fill_seat(struct visit *v)
{
    struct hall *h = v->c->hall;
    struct hall_seat *seat = hall_seat(h, v->c->rank, h->round);
    seat->call = v->x->call;
    seat->longest = longest_out(v, false);
    seat->mine = v->x->mine;
    for (int i = 0; i < v->c->size; i++)
        seat->to[i] = (struct hall_share){.bytes = v->x->out_bytes[i],
                                          .sent = v->x->call.blocks ? v->c->sent[i] : 0};
    atomic_store(&seat->round, h->round);
}

static void fill_slot(struct visit *v, size_t at)
{
    struct hall *h = v->c->hall;
    uint8_t *slot = hall_slot(h, v->c->rank, h->round);
    const uint8_t *mine = v->x->mine;
    if (!v->x->pieces) {
        size_t n = part_of(longest_out(v, true), at, v->window);
        if (n)
            memcpy(slot, mine + at, n);
        return;
    }
    for (int i = 0; i < v->c->size; i++) {
        size_t n = i == v->c->rank ? 0 : part_of(v->x->out_bytes[i], at, v->window);
        if (n)
            memcpy(slot + (size_t)i * v->window, mine + at, n);
        if (mine)
            mine += v->x->out_bytes[i];
    }
}

/* Everybody sees the same seats, so all come to the same result but for lengths. */
static enum skiff_status check_seats(struct visit *v, struct skiff_error *err)
{
    struct collective *c = v->c;
    uint64_t longest = 0;
    for (int i = 0; i < c->size; i++) {
        const struct hall_seat *seat = hall_seat(c->hall, i, c->hall->round);
        v->calls[i] = seat->call;
        longest = seat->longest > longest ? seat->longest : longest;
    }
    TRY(call_check(c, v->calls, err));
    for (int i = 0; i < c->size; i++) {
        const struct hall_seat *seat = hall_seat(c->hall, i, c->hall->round);
        TRY(exchange_check_bytes(c, v->x, i, seat->to[c->rank].bytes, err));
    }
    if (!c->hall->direct)
        v->rounds = longest ? (longest + v->window - 1) / v->window : 1;
    return SKIFF_OK;
}

/* Where the bytes of a rank begin that another one gave the same call for. */
static const uint8_t *piece_for(const struct hall_seat *seat, int rank, bool pieces)
{
    const uint8_t *at = seat->mine;
    for (int i = 0; pieces && at && i < rank; i++)
        at += seat->to[i].bytes;
    return at;
}

static void take_round(struct visit *v, size_t at)
{
    struct collective *c = v->c;
    struct hall *h = c->hall;
    for (int i = 0; i < c->size; i++) {
        const struct hall_seat *seat = hall_seat(h, i, h->round);
        v->bytes[i] = part_of(v->x->in_bytes[i], at, v->window);
        if (h->direct || i == c->rank)
            v->views[i] = v->bytes[i] ? piece_for(seat, c->rank, v->x->pieces) + at : NULL;
        else
            v->views[i] =
                hall_slot(h, i, h->round) + (v->x->pieces ? (size_t)c->rank * v->window : 0);
    }
    v->x->take(v->x->arg, at, v->views, v->bytes);
}

static enum skiff_status run_rounds(struct visit *v, struct skiff_error *err)
{
    struct hall *h = v->c->hall;
    for (size_t k = 0; k < v->rounds; k++) {
        h->round++;
        if (!h->direct)
            fill_slot(v, k * v->window);
        fill_seat(v);
        TRY(meet(v->c, false, err));
        enum skiff_status status = k == 0 ? check_seats(v, err) : SKIFF_OK;
        if (status == SKIFF_OK)
            take_round(v, k * v->window);
        if (h->direct)
            TRY(meet(v->c, true, err));
        TRY(status);
    }
    return SKIFF_OK;
}

enum skiff_status hall_exchange(struct collective *c, const struct exchange *x,
                                struct skiff_error *err)
{
    size_t n = (size_t)c->size;
    struct skiff_error why;
    struct visit v = {.c = c, .x = x, .rounds = 1, .views = c->hall->views};
    v.bytes = c->hall->bytes;
    v.calls = c->hall->calls;
    v.window = x->pieces ? (c->hall->slot_bytes / n) & ~(size_t)63 : c->hall->slot_bytes;
    if (c->hall->direct)
        v.window = SIZE_MAX;
    enum skiff_status status = run_rounds(&v, &why);
    if (status < 0) {
        status = post_fail(c->post, &why);
        post_check(c->post, err);
    }
    return status;
}

bool collective_shares_memory(const struct collective *c)
{
    return c->hall;
}

bool collective_crowded(const struct collective *c)
{
    return c->hall && c->hall->shared->crowded;
}

bool hall_peek_call(const struct collective *c, int member, struct call *out, uint64_t *out_sent)
{
    /* of a round that we have not begun: its seat does not change before we come */
    struct hall *h = c->hall;
    const struct hall_seat *seat = hall_seat(h, member, h->round + 1);
    if (atomic_load(&seat->round) != h->round + 1)
        return false;
    *out = seat->call;
    *out_sent = seat->to[c->rank].sent;
    return out->blocks;
}
