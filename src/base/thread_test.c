#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int arrived;
    bool open;
    sem_t named; /* posted when thread_start has returned */
    char name[16];
};

static void meeting_init(struct meeting *m)
{
    memset(m, 0, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    cond_init(&m->changed);
    sem_init(&m->named, 0, 0);
}

static void meeting_deinit(struct meeting *m)
{
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    sem_destroy(&m->named);
}

static void *read_name(void *arg)
{
    struct meeting *m = arg;
    sem_wait(&m->named);
    pthread_getname_np(pthread_self(), m->name, sizeof m->name);
    return NULL;
}

static void expect_name(const char *what, int number, const char *name)
{
    struct meeting m;
    struct thread t = {0};
    struct skiff_error err;
    meeting_init(&m);
    assert_int_equal(thread_start(&t, what, number, read_name, &m, &err), SKIFF_OK);
    assert_true(t.running);
    sem_post(&m.named);
    thread_join(&t);
    assert_false(t.running);
    assert_string_equal(m.name, name);
    thread_join(&t); /* nothing to wait for */
    meeting_deinit(&m);
}

static void threads_have_names(void **state)
{
    expect_name("net", -1, "skiff-net");
    expect_name("shard", 12, "skiff-shard.12");
    expect_name("communicator", 3, "skiff-communica"); /* as many letters as Linux takes */
}

/* A stack that no machine has room for. */
static void failure_says_what_to_do(void **state)
{
    pthread_attr_t old, huge;
    struct thread t = {0};
    struct skiff_error err;
    assert_int_equal(pthread_getattr_default_np(&old), 0);
    assert_int_equal(pthread_getattr_default_np(&huge), 0);
    pthread_attr_setstacksize(&huge, (size_t)1 << 47);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    enum skiff_status status = thread_start(&t, "read", 3, read_name, NULL, &err);
    pthread_setattr_default_np(&old);
    pthread_attr_destroy(&old);
    pthread_attr_destroy(&huge);
    assert_int_equal(status, SKIFF_IO);
    assert_true(err.sys_errno == EAGAIN || err.sys_errno == ENOMEM);
    assert_non_null(strstr(err.message, "thread skiff-read.3 cannot be started: "));
    assert_non_null(strstr(err.message, "; ask for fewer threads"));
    assert_false(t.running);
    thread_join(&t);
}

static void *arrive(void *arg)
{
    struct meeting *m = arg;
    pthread_mutex_lock(&m->lock);
    m->arrived++;
    pthread_cond_broadcast(&m->changed);
    while (!m->open)
        cond_wait_until(&m->changed, &m->lock, CLOCK_NEVER);
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static void waiting_ends_by_a_signal(void **state)
{
    enum { N = 3 };
    struct meeting m;
    struct thread t[N] = {{0}};
    meeting_init(&m);
    for (int i = 0; i < N; i++)
        assert_int_equal(thread_start(&t[i], "meet", i, arrive, &m, NULL), SKIFF_OK);
    pthread_mutex_lock(&m.lock);
    int64_t deadline = clock_now() + 20 * CLOCK_SECOND;
    while (m.arrived < N)
        assert_true(cond_wait_until(&m.changed, &m.lock, deadline));
    m.open = true;
    pthread_cond_broadcast(&m.changed);
    pthread_mutex_unlock(&m.lock);
    for (int i = 0; i < N; i++)
        thread_join(&t[i]);
    meeting_deinit(&m);
}

static void waiting_ends_by_the_deadline(void **state)
{
    struct meeting m;
    meeting_init(&m);
    pthread_mutex_lock(&m.lock);
    int64_t deadline = clock_now() + 30 * CLOCK_MS;
    while (cond_wait_until(&m.changed, &m.lock, deadline))
        ;
    assert_true(clock_now() >= deadline);
    assert_false(cond_wait_until(&m.changed, &m.lock, 0)); /* long ago */
    pthread_mutex_unlock(&m.lock);
    meeting_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_names),
        cmocka_unit_test(failure_says_what_to_do),
        cmocka_unit_test(waiting_ends_by_a_signal),
        cmocka_unit_test(waiting_ends_by_the_deadline),
    };
    return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
