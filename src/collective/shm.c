/* The shared segment: memory that all ranks of a group can access, because they are threads of one
 * process or processes of one machine (shm_attach.c finds out).
 *
 * An exchange takes place in rounds. In each round a rank copies the bytes for the others into its
 * own slot, describes its call in its control block, and enters the barrier; when all have entered,
 * all read the bytes that they need. Slots and control blocks exist twice and are used in turns, so
 * one barrier per round is enough: a rank that fills a slot again has passed a barrier since the
 * others read it. In one process nothing is copied: the control block has a pointer to the caller's
 * bytes, and a second barrier ends the call.
 *
 * The barrier is one counter that every rank increments. It either completes for all or, once a
 * rank has timed out and marked the counter, for none. So no rank leaves while another one reads
 * its bytes, and there is no lock that a dead process could hold. */
#define _GNU_SOURCE
#include "collective/shm_parts.h"

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
#define YIELD CLOCK_MS            /* then a wait yields the core; then it sleeps */
#define CROWDED (CLOCK_MS / 2)    /* a yield that took this long: other processes need this core */
#define SLEEPS 200                /* then this many waits sleep at once; see spin_until_met */
#define NAP (20 * CLOCK_MS)       /* between two checks whether a rank is gone */
#define REASON (5 * CLOCK_SECOND) /* for the failing rank's reason to arrive */

/* ---- barriers ---- */

static void sleep_on(atomic_uint *word, unsigned seen)
{
    struct timespec nap = clock_timespec(NAP);
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &nap, NULL, 0);
}

static void wake_all(struct shm_shared *s)
{
    atomic_fetch_add(&s->wake, 1);
    if (atomic_load(&s->sleepers))
        syscall(SYS_futex, &s->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool has_met(uint64_t count, uint64_t target)
{
    return (count & ~BROKEN) >= target;
}

/* False: a rank has given up before all had arrived. */
static bool arrive(struct shm_shared *s, uint64_t target)
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

/* True: the barrier has completed after all. */
static bool give_up(struct shm_shared *s, uint64_t target)
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

/* Finds a rank that has not arrived and never will. */
static enum skiff_status look_for_missing(struct collective *c, struct skiff_error *err)
{
    struct shm *h = c->shm;
    TRY(inbox_check(c->inbox, err));
    for (int i = 0; i < c->size; i++)
        if (atomic_load(&shm_control(h, i, h->round)->round) < h->round &&
            inbox_has_left(c->inbox, c->ranks[i], c->id) &&
            atomic_load(&shm_control(h, i, h->round)->round) < h->round) {
            char text[CALL_TEXT];
            call_print(&shm_control(h, c->rank, h->round)->call, text);
            return error_set(err, SKIFF_PEER,
                             "rank %d has left the group while rank %d waits for %s", c->ranks[i],
                             c->inbox->rank, text);
        }
    return SKIFF_OK;
}

/* Ranks that have not arrived are named, and given up at the deadline. */
static enum skiff_status name_late(struct collective *c, struct inbox_wait *wait,
                                   struct skiff_error *err)
{
    struct shm *h = c->shm;
    struct inbox_wait each = *wait;
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < c->size && status == SKIFF_OK; i++) {
        if (atomic_load(&shm_control(h, i, h->round)->round) >= h->round)
            continue;
        each = *wait;
        status = inbox_wait_late(c->inbox, &each, c->ranks[i],
                                 &shm_control(h, c->rank, h->round)->call, err);
    }
    *wait = each;
    if (inbox_wait_due(wait)) /* all have arrived just now */
        wait->next = clock_now() + wait->pause;
    return status;
}

/* On a crowded machine a thread that yields runs after all others; one that sleeps and is woken
 * runs before them. */
static bool spin_until_met(struct shm *h, uint64_t target)
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

/* surely: all ranks are known to arrive. */
static enum skiff_status meet(struct collective *c, bool surely, struct skiff_error *err)
{
    struct shm *h = c->shm;
    struct shm_shared *s = h->shared;
    uint64_t target = ++h->barriers * (uint64_t)c->size, count;
    bool gone = !arrive(s, target);
    if (!gone && spin_until_met(h, target))
        return SKIFF_OK;
    struct inbox_wait wait;
    inbox_wait_begin(c->inbox, &wait);
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
        if (c->inbox->kind->progress)
            c->inbox->kind->progress(c->inbox->engine);
        enum skiff_status status = look_for_missing(c, err);
        if (status == SKIFF_OK && inbox_wait_due(&wait))
            status = name_late(c, &wait, err);
        if (status < 0)
            return give_up(s, target) ? SKIFF_OK : status;
    }
    if (inbox_wait_failure(c->inbox, clock_now() + REASON))
        return inbox_check(c->inbox, err);
    return error_set(err, SKIFF_PEER, "another rank has given up without a reason");
}

/* ---- rounds ---- */

struct shm_exchange {
    struct collective *c;
    const struct collective_exchange *x;
    size_t window; /* bytes for each receiver in a round */
    size_t rounds;
    const uint8_t **views;
    size_t *bytes;
    struct collective_call *calls;
};

static size_t part_of(size_t all, size_t at, size_t window)
{
    return at >= all ? 0 : all - at < window ? all - at : window;
}

/* others: without the bytes that stay in this rank. */
static size_t longest_out(const struct shm_exchange *v, bool others)
{
    size_t most = 0;
    for (int i = 0; i < v->c->size; i++)
        if ((i != v->c->rank || !others) && v->x->out_bytes[i] > most)
            most = v->x->out_bytes[i];
    return most;
}

static void fill_control(struct shm_exchange *v)
{
    struct shm *h = v->c->shm;
    struct shm_control *control = shm_control(h, v->c->rank, h->round);
    control->call = v->x->call;
    control->longest = longest_out(v, false);
    control->mine = v->x->mine;
    for (int i = 0; i < v->c->size; i++)
        control->to[i] = (struct shm_share){.bytes = v->x->out_bytes[i],
                                            .sent = v->x->call.blocks ? v->c->sent[i] : 0};
    atomic_store(&control->round, h->round);
}

static void fill_slot(struct shm_exchange *v, size_t at)
{
    struct shm *h = v->c->shm;
    uint8_t *slot = shm_slot(h, v->c->rank, h->round);
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

/* All ranks see the same control blocks, so all come to the same result except for lengths. */
static enum skiff_status check_controls(struct shm_exchange *v, struct skiff_error *err)
{
    struct collective *c = v->c;
    uint64_t longest = 0;
    for (int i = 0; i < c->size; i++) {
        const struct shm_control *control = shm_control(c->shm, i, c->shm->round);
        v->calls[i] = control->call;
        longest = control->longest > longest ? control->longest : longest;
    }
    TRY(call_check(c, v->calls, err));
    for (int i = 0; i < c->size; i++) {
        const struct shm_control *control = shm_control(c->shm, i, c->shm->round);
        TRY(exchange_check_bytes(c, v->x, i, control->to[c->rank].bytes, err));
    }
    if (!c->shm->direct)
        v->rounds = longest ? (longest + v->window - 1) / v->window : 1;
    return SKIFF_OK;
}

/* Offset of a rank's bytes in the data of another one that makes the same call. */
static const uint8_t *piece_for(const struct shm_control *control, int rank, bool pieces)
{
    const uint8_t *at = control->mine;
    for (int i = 0; pieces && at && i < rank; i++)
        at += control->to[i].bytes;
    return at;
}

static void take_round(struct shm_exchange *v, size_t at)
{
    struct collective *c = v->c;
    struct shm *h = c->shm;
    for (int i = 0; i < c->size; i++) {
        const struct shm_control *control = shm_control(h, i, h->round);
        v->bytes[i] = part_of(v->x->in_bytes[i], at, v->window);
        if (h->direct || i == c->rank)
            v->views[i] = v->bytes[i] ? piece_for(control, c->rank, v->x->pieces) + at : NULL;
        else
            v->views[i] =
                shm_slot(h, i, h->round) + (v->x->pieces ? (size_t)c->rank * v->window : 0);
    }
    v->x->take(v->x->arg, at, v->views, v->bytes);
}

static enum skiff_status run_rounds(struct shm_exchange *v, struct skiff_error *err)
{
    struct shm *h = v->c->shm;
    for (size_t k = 0; k < v->rounds; k++) {
        h->round++;
        if (!h->direct)
            fill_slot(v, k * v->window);
        fill_control(v);
        TRY(meet(v->c, false, err));
        enum skiff_status status = k == 0 ? check_controls(v, err) : SKIFF_OK;
        if (status == SKIFF_OK)
            take_round(v, k * v->window);
        if (h->direct)
            TRY(meet(v->c, true, err));
        TRY(status);
    }
    return SKIFF_OK;
}

enum skiff_status shm_exchange(struct collective *c, const struct collective_exchange *x,
                               struct skiff_error *err)
{
    size_t n = (size_t)c->size;
    struct skiff_error why;
    struct shm_exchange v = {.c = c, .x = x, .rounds = 1, .views = c->shm->views};
    v.bytes = c->shm->bytes;
    v.calls = c->shm->calls;
    v.window = x->pieces ? (c->shm->slot_bytes / n) & ~(size_t)63 : c->shm->slot_bytes;
    if (c->shm->direct)
        v.window = SIZE_MAX;
    enum skiff_status status = run_rounds(&v, &why);
    if (status < 0) {
        status = inbox_fail(c->inbox, &why);
        inbox_check(c->inbox, err);
    }
    return status;
}

bool collective_shares_memory(const struct collective *c)
{
    return c->shm;
}

bool collective_crowded(const struct collective *c)
{
    return c->shm && c->shm->shared->crowded;
}

bool shm_peek_call(const struct collective *c, int member, struct collective_call *out,
                   uint64_t *out_sent)
{
    /* of a round that this rank has not begun: its control block does not change before this rank
     * arrives */
    struct shm *h = c->shm;
    const struct shm_control *control = shm_control(h, member, h->round + 1);
    if (atomic_load(&control->round) != h->round + 1)
        return false;
    *out = control->call;
    *out_sent = control->to[c->rank].sent;
    return out->blocks;
}
