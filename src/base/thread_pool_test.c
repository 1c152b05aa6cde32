#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/thread_pool.h"

#define ITEMS 1000

struct count {
    _Atomic int of_item[ITEMS];
    _Atomic int pieces, whole, odd;
    int64_t piece;
};

static void count_items(void *arg, int64_t from, int64_t to)
{
    struct count *c = arg;
    c->pieces++;
    c->whole += from == 0 && to == ITEMS;
    c->odd += from % c->piece != 0 || (to - from != c->piece && to != ITEMS);
    for (int64_t i = from; i < to; i++)
        c->of_item[i]++;
}

static void expect_once(const struct count *c)
{
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(c->of_item[i], 1);
}

/* Every item once, and the same pieces with any number of threads from two on. */
static void test_every_item_once(void **state)
{
    int numbers[] = {2, 3, 8};
    int64_t sizes[] = {1, 7, 100, 499, 500, 999};
    for (int t = 0; t < 3; t++) {
        struct skiff_thread_pool *pool = skiff_thread_pool_create(numbers[t]);
        assert_null(thread_pool_use(pool));
        for (int s = 0; s < 6; s++) {
            struct count c = {.piece = sizes[s]};
            thread_pool_split(ITEMS, sizes[s], count_items, &c);
            expect_once(&c);
            assert_int_equal(c.odd, 0);
            assert_int_equal(c.pieces, (ITEMS + sizes[s] - 1) / sizes[s]);
        }
        assert_ptr_equal(thread_pool_use(NULL), pool);
        skiff_thread_pool_destroy(pool);
    }
}

static void expect_whole(int64_t piece)
{
    struct count c = {.piece = piece};
    thread_pool_split(ITEMS, piece, count_items, &c);
    expect_once(&c);
    assert_int_equal(c.whole, 1);
}

static void test_alone(void **state)
{
    expect_whole(10); /* no pool */
    struct skiff_thread_pool *pool = skiff_thread_pool_create(1);
    thread_pool_use(pool);
    expect_whole(10); /* of one thread */
    skiff_thread_pool_set_threads(pool, 4);
    expect_whole(ITEMS); /* one piece */
    struct count none = {.piece = 1};
    thread_pool_split(0, 1, count_items, &none);
    assert_int_equal(none.pieces, 0);
    thread_pool_use(NULL);
    skiff_thread_pool_destroy(pool);
    skiff_thread_pool_destroy(NULL);
}

/* Pieces that return only when all of them have begun: each needs a thread of its own. */
struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int arrived, expected;
    bool late;
};

static void meet(void *arg, int64_t from, int64_t to)
{
    struct meeting *m = arg;
    int64_t end = clock_after(clock_now(), 60000);
    pthread_mutex_lock(&m->lock);
    m->arrived++;
    pthread_cond_broadcast(&m->changed);
    while (m->arrived < m->expected && !m->late)
        m->late = !cond_wait_until(&m->changed, &m->lock, end);
    pthread_mutex_unlock(&m->lock);
}

static void expect_threads(int threads)
{
    struct meeting m = {.expected = threads};
    pthread_mutex_init(&m.lock, NULL);
    cond_init(&m.changed);
    thread_pool_split(threads, 1, meet, &m);
    assert_false(m.late);
    assert_int_equal(m.arrived, threads);
    pthread_cond_destroy(&m.changed);
    pthread_mutex_destroy(&m.lock);
}

static void test_threads_share(void **state)
{
    struct skiff_thread_pool *pool = skiff_thread_pool_create(2);
    thread_pool_use(pool);
    for (int i = 0; i < 200; i++)
        expect_threads(2);
    skiff_thread_pool_set_threads(pool, 6);
    assert_int_equal(skiff_thread_pool_threads(pool), 6);
    expect_threads(6);
    skiff_thread_pool_set_threads(pool, 2);
    expect_threads(2);
    thread_pool_use(NULL);
    skiff_thread_pool_destroy(pool);
}

/* A loop within a piece is computed by the thread that found it. */
struct nested {
    struct count counts[40];
    _Atomic int whole;
};

static void split_again(void *arg, int64_t from, int64_t to)
{
    struct nested *n = arg;
    for (int64_t i = from; i < to; i++) {
        n->counts[i].piece = 10;
        thread_pool_split(ITEMS, 10, count_items, &n->counts[i]);
        n->whole += n->counts[i].whole;
    }
}

static void test_nested(void **state)
{
    struct nested *n = calloc(1, sizeof *n);
    struct skiff_thread_pool *pool = skiff_thread_pool_create(3);
    thread_pool_use(pool);
    thread_pool_split(40, 1, split_again, n);
    for (int i = 0; i < 40; i++)
        expect_once(&n->counts[i]);
    assert_int_equal(n->whole, 40);
    thread_pool_use(NULL);
    skiff_thread_pool_destroy(pool);
    free(n);
}

/* Two threads with one pool: the one that comes second computes the same pieces itself. */
static void *loops(void *arg)
{
    thread_pool_use(arg);
    for (int i = 0; i < 300; i++) {
        struct count c = {.piece = 30};
        thread_pool_split(ITEMS, 30, count_items, &c);
        expect_once(&c);
        assert_int_equal(c.pieces, 34);
    }
    return NULL;
}

static void test_shared_by_threads(void **state)
{
    struct skiff_thread_pool *pool = skiff_thread_pool_create(3);
    struct thread other[2] = {0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(thread_start(&other[i], "loops", i, loops, pool, NULL), SKIFF_OK);
    loops(pool);
    for (int i = 0; i < 2; i++)
        thread_join(&other[i]);
    thread_pool_use(NULL);
    skiff_thread_pool_destroy(pool);
}

/* A forked process has none of the threads, and starts its own. */
static void test_fork(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* its processes may not start threads after fork */
#endif
    struct skiff_thread_pool *pool = skiff_thread_pool_create(2);
    thread_pool_use(pool);
    expect_threads(2);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        expect_threads(2);
        skiff_thread_pool_destroy(pool);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    child = fork(); /* one that ends with a pool that it has not used */
    if (!child) {
        skiff_thread_pool_destroy(pool);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_threads(2);
    thread_pool_use(NULL);
    skiff_thread_pool_destroy(pool);
}

static int threads_of(const char *text)
{
    if (text)
        setenv("OMP_NUM_THREADS", text, 1);
    else
        unsetenv("OMP_NUM_THREADS");
    struct skiff_thread_pool *pool = skiff_thread_pool_create(0);
    int n = skiff_thread_pool_threads(pool);
    skiff_thread_pool_destroy(pool);
    return n;
}

static void test_number_of_threads(void **state)
{
    assert_int_equal(threads_of(NULL), 1);
    assert_int_equal(threads_of("3"), 3);
    const char *ones[] = {"", "0", "-2", "abc", "4,2"};
    for (int i = 0; i < 5; i++)
        assert_int_equal(threads_of(ones[i]), 1);
    assert_int_equal(threads_of("99999999999999999999"), SKIFF_MOST_THREADS);
    unsetenv("OMP_NUM_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_item_once),   cmocka_unit_test(test_alone),
        cmocka_unit_test(test_threads_share),     cmocka_unit_test(test_nested),
        cmocka_unit_test(test_shared_by_threads), cmocka_unit_test(test_fork),
        cmocka_unit_test(test_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
