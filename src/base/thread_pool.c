/* A pool's helpers sleep until a round begins: one loop of one caller.
 *
 * Each of the T threads, of which the caller is number 0, has a share of the pieces, those of the
 * t-th part of the loop. A thread takes the pieces of its share, then those that the other threads
 * have not come to. So the rows of a batch mostly stay in the cache of one core from one op to the
 * next, and yet all end at about the same time, also on a machine that does other work. When there
 * are no pieces left, the caller closes the round and waits only for helpers that are inside: one
 * that has not woken up by then missed the round, and keeps nobody waiting.
 *
 * `lock` guards all fields but the atomic ones. `busy` belongs to the caller from begin to end; who
 * finds it set computes alone. Helpers look for the next round for SPIN nanoseconds before they
 * sleep, the caller for the end of the round: waking a thread takes 8 us and more, and most rounds
 * of a step follow each other within 20 us. */
#include "base/thread_pool.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#define SPIN 20000

struct share {
    _Atomic int64_t next; /* first item that nobody has taken */
    int64_t end;
    char apart[112]; /* taking pieces does not pull a cache line to and fro */
};

struct helper {
    struct thread thread;
    struct skiff_thread_pool *pool;
    int number; /* from 1 */
};

struct skiff_thread_pool {
    _Atomic int threads; /* asked for, the caller included */
    _Atomic bool busy;
    pid_t process; /* of the helpers; a child process has none of them */
    pthread_mutex_t lock;
    pthread_cond_t begun, left;
    struct helper *helpers;
    int nhelpers;
    bool refused; /* the system has no more threads */
    bool stop;

    _Atomic uint64_t round; /* number of the last one */
    bool open;
    int wanted;         /* threads of the round, the caller included */
    _Atomic int inside; /* helpers that have joined and not left */
    thread_pool_part *part;
    void *arg;
    int64_t n, piece;
    struct share *shares; /* by thread */
};

static _Thread_local struct skiff_thread_pool *lent;

/* As Paddle reads it: what is no number of threads counts as 1. */
static int environment_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : 1;
    return text && (end == text || *end) ? 1
                                         : (int)(n > SKIFF_MOST_THREADS ? SKIFF_MOST_THREADS : n);
}

void skiff_thread_pool_set_threads(struct skiff_thread_pool *p, int threads)
{
    int n = threads ? threads : environment_threads();
    n = n < 1 ? 1 : n > SKIFF_MOST_THREADS ? SKIFF_MOST_THREADS : n;
    atomic_store(&p->threads, n);
}

int skiff_thread_pool_threads(const struct skiff_thread_pool *p)
{
    return atomic_load(&p->threads);
}

static void helpers_init(struct skiff_thread_pool *p)
{
    p->process = getpid();
    pthread_mutex_init(&p->lock, NULL);
    cond_init(&p->begun);
    cond_init(&p->left);
    p->nhelpers = 0;
    p->refused = p->open = false;
    atomic_store(&p->inside, 0);
}

struct skiff_thread_pool *skiff_thread_pool_create(int threads)
{
    struct skiff_thread_pool *p = mem_alloc_or_die(sizeof *p);
    p->helpers = mem_alloc_or_die(SKIFF_MOST_THREADS * sizeof *p->helpers);
    p->shares = mem_alloc_or_die(SKIFF_MOST_THREADS * sizeof *p->shares);
    helpers_init(p);
    skiff_thread_pool_set_threads(p, threads);
    return p;
}

void skiff_thread_pool_destroy(struct skiff_thread_pool *p)
{
    if (!p)
        return;
    if (p->process == getpid()) { /* after fork the locks are in an unknown state */
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_broadcast(&p->begun);
        pthread_mutex_unlock(&p->lock);
        for (int i = 0; i < p->nhelpers; i++)
            thread_join(&p->helpers[i].thread);
        pthread_cond_destroy(&p->begun);
        pthread_cond_destroy(&p->left);
        pthread_mutex_destroy(&p->lock);
    }
    free(p->helpers);
    free(p->shares);
    free(p);
}

struct skiff_thread_pool *thread_pool_use(struct skiff_thread_pool *p)
{
    struct skiff_thread_pool *before = lent;
    lent = p;
    return before;
}

/* Whether the calling thread has a pool of two or more threads. */
static bool shares(void)
{
    return lent && atomic_load_explicit(&lent->threads, memory_order_relaxed) > 1;
}

static void take_pieces(const struct skiff_thread_pool *p, int number)
{
    for (int i = 0; i < p->wanted; i++) {
        struct share *s = &p->shares[(number + i) % p->wanted];
        int64_t from;
        while ((from = atomic_fetch_add(&s->next, p->piece)) < s->end)
            p->part(p->arg, from, s->end - from < p->piece ? s->end : from + p->piece);
    }
}

/* The last share ends with the loop, the others end where a piece does. */
static void shares_set(struct skiff_thread_pool *p)
{
    int64_t pieces = (p->n + p->piece - 1) / p->piece;
    for (int i = 0; i < p->wanted; i++) {
        int64_t end = pieces * (i + 1) / p->wanted * p->piece;
        atomic_store(&p->shares[i].next, pieces * i / p->wanted * p->piece);
        p->shares[i].end = end < p->n ? end : p->n;
    }
}

static void pause_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* ---- helpers ---- */

static void spin_for_round(struct skiff_thread_pool *p, uint64_t seen)
{
    for (int64_t end = clock_now() + SPIN; atomic_load(&p->round) == seen && clock_now() < end;)
        pause_a_little();
}

static void *help(void *arg)
{
    struct helper *h = arg;
    struct skiff_thread_pool *p = h->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (!p->open || h->number >= p->wanted || atomic_load(&p->round) == seen) {
            pthread_cond_wait(&p->begun, &p->lock);
            continue;
        }
        seen = atomic_load(&p->round);
        atomic_fetch_add(&p->inside, 1);
        pthread_mutex_unlock(&p->lock);
        take_pieces(p, h->number);
        pthread_mutex_lock(&p->lock);
        if (atomic_fetch_sub(&p->inside, 1) == 1)
            pthread_cond_signal(&p->left);
        pthread_mutex_unlock(&p->lock);
        spin_for_round(p, seen);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Helpers take no signals: those are for the program's own threads. */
static void start_helpers(struct skiff_thread_pool *p, int wanted)
{
    sigset_t all, before;
    if (p->nhelpers >= wanted - 1 || p->refused)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (p->nhelpers < wanted - 1 && !p->refused) {
        struct helper *h = &p->helpers[p->nhelpers];
        *h = (struct helper){.pool = p, .number = p->nhelpers + 1};
        p->refused = thread_start(&h->thread, "pool", p->nhelpers, help, h, NULL) < 0;
        p->nhelpers += !p->refused;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the caller ---- */

static void round_begin(struct skiff_thread_pool *p, int64_t n, int64_t piece,
                        thread_pool_part *part, void *arg)
{
    if (p->process != getpid())
        helpers_init(p);
    int64_t pieces = (n + piece - 1) / piece, wanted = atomic_load(&p->threads);
    wanted = pieces < wanted ? pieces : wanted;
    start_helpers(p, (int)wanted);
    pthread_mutex_lock(&p->lock);
    p->part = part;
    p->arg = arg;
    p->n = n;
    p->piece = piece;
    p->wanted = p->nhelpers + 1 < wanted ? p->nhelpers + 1 : (int)wanted;
    shares_set(p);
    p->open = true;
    atomic_fetch_add(&p->round, 1);
    pthread_cond_broadcast(&p->begun);
    pthread_mutex_unlock(&p->lock);
}

static void round_end(struct skiff_thread_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->open = false;
    pthread_mutex_unlock(&p->lock);
    for (int64_t end = clock_now() + SPIN; atomic_load(&p->inside) && clock_now() < end;)
        pause_a_little();
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->inside))
        pthread_cond_wait(&p->left, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void thread_pool_split(int64_t n, int64_t piece, thread_pool_part *part, void *arg)
{
    if (n <= piece || !shares()) {
        if (n > 0)
            part(arg, 0, n);
        return;
    }
    struct skiff_thread_pool *p = thread_pool_use(NULL); /* pieces do not split again */
    if (!atomic_exchange(&p->busy, true)) {
        round_begin(p, n, piece, part, arg);
        take_pieces(p, 0);
        round_end(p);
        atomic_store(&p->busy, false);
    } else {
        for (int64_t from = 0; from < n; from += piece)
            part(arg, from, n - from < piece ? n : from + piece);
    }
    thread_pool_use(p);
}
