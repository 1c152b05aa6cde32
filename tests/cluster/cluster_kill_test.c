/* Processes of a job are killed: the others react as, and as soon as, docs/internals/consistency.md
 * says. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"

#define SILENCE_MS 1500
#ifdef __SANITIZE_THREAD__
#define SOON 14.0 /* this build tests for races, not for time */
#else
#define SOON 6.0 /* seconds; a dead process is noticed in SILENCE_MS */
#endif

static const enum skiff_split_mode modes[] = {
#define SKIFF_MODE(constant, number, name, flags, promise) SKIFF_SPLIT_##constant,
#include <skiff/mode_list.h>
#undef SKIFF_MODE
};
enum { MODES = sizeof modes / sizeof modes[0] };

static struct cluster_spec job(enum skiff_split_mode mode)
{
    struct cluster_spec s;
    cluster_case(&s, cluster_golden(), "linreg-fleet-sync-2x2-sgd");
    s.config = split_config_fleet(mode);
    s.push_nums = 4;
    s.config.geo_sgd_need_push_nums = 4;
    s.silence_ms = SILENCE_MS;
    s.steps = 120;
    s.pause_ms = 5;
    return s;
}

static void check_status(const struct cluster *c, const char *what, bool server, int i, int want)
{
    const struct cluster_seen *seen = server ? &c->shared->server[i] : &c->shared->trainer[i];
    int have = atomic_load(&seen->status);
    if (have != want)
        fail_msg("%s: %s %d ended with %d (%s), expected %d", what, server ? "server" : "trainer",
                 i, have, seen->message, want);
}

static void check_contains(const char *what, const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s: '%s' does not say '%s'", what, text, part);
}

/* One job per mode, all at once. */
static void start_all(struct cluster *c, int steps, int pause_ms)
{
    for (size_t m = 0; m < MODES; m++) {
        struct cluster_spec s = job(modes[m]);
        s.steps = steps;
        s.pause_ms = pause_ms;
        cluster_start(&c[m], &s);
    }
}

/* Rows that a dead trainer has prefetched delay neither the others nor the end of the server. */
static void a_trainer_that_asked_ahead_dies(void **state)
{
    static const enum skiff_split_mode pulling[] = {SKIFF_SPLIT_SYNC, SKIFF_SPLIT_HALF_ASYNC};
    static struct cluster c[2];
    for (int m = 0; m < 2; m++) {
        struct cluster_spec s;
        cluster_case(&s, cluster_golden(), "ctr4k-fleet-sync-2x2-adam");
        s.config = split_config_fleet(pulling[m]);
        s.silence_ms = SILENCE_MS;
        s.steps = 60;
        s.pause_ms = 5;
        s.prefetch = true;
        cluster_start(&c[m], &s);
    }
    for (int m = 0; m < 2; m++) {
        cluster_await_step(&c[m], 1, 20);
        cluster_kill(&c[m], false, 1);
    }
    for (int m = 0; m < 2; m++) {
        const char *what = skiff_mode_name(pulling[m]);
        cluster_wait(&c[m], 15);
        check_status(&c[m], what, false, 0, SKIFF_OK);
        assert_int_equal(atomic_load(&c[m].shared->trainer[0].steps), 60);
        assert_true(c[m].shared->trainer[0].rows_prefetch > 0);
        for (int i = 0; i < 2; i++)
            check_status(&c[m], what, true, i, SKIFF_OK);
        cluster_end(&c[m]);
    }
}

/* The other trainer continues: in sync after the death has been noticed, else at once. */
static void a_trainer_dies(void **state)
{
    static struct cluster c[MODES];
    double killed[MODES];
    start_all(c, 120, 5);
    for (size_t m = 0; m < MODES; m++) {
        cluster_await_step(&c[m], 1, 20);
        killed[m] = clock_seconds();
        cluster_kill(&c[m], false, 1);
    }
    for (size_t m = 0; m < MODES; m++) {
        const char *what = skiff_mode_name(modes[m]);
        cluster_wait(&c[m], 15);
        double took = clock_seconds() - killed[m];
        check_status(&c[m], what, false, 0, SKIFF_OK);
        check_status(&c[m], what, true, 0, SKIFF_OK);
        check_status(&c[m], what, true, 1, SKIFF_OK);
        assert_int_equal(atomic_load(&c[m].shared->trainer[0].steps), 120);
        check_contains(what, c[m].shared->server[0].output, "worker 1");
        if (took > SOON)
            fail_msg("%s: it took %.1f s", what, took);
        cluster_end(&c[m]);
    }
}

static void a_trainer_dies_and_all_stop(void **state)
{
    struct cluster_spec s = job(SKIFF_SPLIT_SYNC);
    struct cluster c;
    s.on_death = ON_DEATH_STOP;
    cluster_start(&c, &s);
    cluster_await_step(&c, 0, 20);
    double killed = clock_seconds();
    cluster_kill(&c, false, 1);
    cluster_wait(&c, 15);
    assert_true(clock_seconds() - killed < SOON);
    assert_true(atomic_load(&c.shared->trainer[0].status) < 0);
    check_contains("trainer 0", c.shared->trainer[0].message, "worker 1");
    assert_true(atomic_load(&c.shared->server[0].status) < 0);
    check_contains("server 0", c.shared->server[0].message, "worker 1");
    cluster_end(&c);
}

/* Its parameters are lost: all processes end, with its name. */
static void server_dies(int which)
{
    static struct cluster c[MODES];
    double killed[MODES];
    char what[64], name[32];
    snprintf(name, sizeof name, "server %d", which);
    start_all(c, 250, 20);
    for (size_t m = 0; m < MODES; m++) {
        cluster_await_step(&c[m], 0, 10);
        killed[m] = clock_seconds();
        cluster_kill(&c[m], true, which);
    }
    for (size_t m = 0; m < MODES; m++) {
        snprintf(what, sizeof what, "%s, server %d", skiff_mode_name(modes[m]), which);
        cluster_wait(&c[m], 15);
        double took = clock_seconds() - killed[m];
        for (int k = 0; k < 2; k++) {
            if (atomic_load(&c[m].shared->trainer[k].status) >= 0)
                fail_msg("%s: trainer %d ended well", what, k);
            check_contains(what, c[m].shared->trainer[k].message, name);
        }
        if (atomic_load(&c[m].shared->server[1 - which].status) >= 0)
            fail_msg("%s: the other server ended well", what);
        if (took > SOON)
            fail_msg("%s: it took %.1f s", what, took);
        cluster_end(&c[m]);
    }
}

/* A server that is stopped for less than the silence is not declared dead: its parameters are still
 * there, and requests are retried. */
static void a_stopped_server_comes_back(void **state)
{
    static struct cluster c[MODES];
    start_all(c, 200, 10);
    for (size_t m = 0; m < MODES; m++)
        cluster_await_step(&c[m], 0, 20);
    for (size_t m = 0; m < MODES; m++)
        kill(c[m].server[1], SIGSTOP);
    clock_sleep(SILENCE_MS / 3 * CLOCK_MS); /* this tests the time itself */
    for (size_t m = 0; m < MODES; m++)
        kill(c[m].server[1], SIGCONT);
    for (size_t m = 0; m < MODES; m++) {
        const char *what = skiff_mode_name(modes[m]);
        cluster_wait(&c[m], 15);
        for (int k = 0; k < 2; k++) {
            check_status(&c[m], what, false, k, SKIFF_OK);
            check_status(&c[m], what, true, k, SKIFF_OK);
            assert_int_equal(atomic_load(&c[m].shared->trainer[k].steps), 200);
        }
        cluster_end(&c[m]);
    }
}

/* A new process in a dead server's place does not have its parameters (real Paddle hangs, or
 * continues with fresh ones): trainers end, with its name; the new process ends, too. */
static void server_restarts(int which)
{
    static struct cluster c[MODES];
    double killed[MODES];
    char name[32];
    snprintf(name, sizeof name, "server %d", which);
    start_all(c, 250, 20);
    for (size_t m = 0; m < MODES; m++) {
        cluster_await_step(&c[m], 0, 10);
        killed[m] = clock_seconds();
        cluster_restart_server(&c[m], which);
    }
    for (size_t m = 0; m < MODES; m++) {
        const char *what = skiff_mode_name(modes[m]);
        cluster_wait(&c[m], 15);
        double took = clock_seconds() - killed[m];
        for (int k = 0; k < 2; k++) {
            if (atomic_load(&c[m].shared->trainer[k].status) >= 0)
                fail_msg("%s: trainer %d ended well", what, k);
            check_contains(what, c[m].shared->trainer[k].message, name);
        }
        for (int k = 0; k < 2; k++)
            if (atomic_load(&c[m].shared->server[k].status) >= 0)
                fail_msg("%s: server %d ended well", what, k);
        check_contains(what, c[m].shared->server[1 - which].message, name);
        if (which == 0)
            check_contains(what, c[m].shared->server[0].message, "is in this job already");
        if (took > SOON)
            fail_msg("%s: it took %.1f s", what, took);
        cluster_end(&c[m]);
    }
}

static void a_restarted_server_is_not_the_old_one(void **state)
{
    server_restarts(1);
}

static void a_restarted_server_0_is_not_the_old_one(void **state)
{
    server_restarts(0);
}

static void server_0_dies(void **state)
{
    server_dies(0);
}

static void another_server_dies(void **state)
{
    server_dies(1);
}

/* A trainer with fewer batches leaves; the other one continues alone. */
static void short_data(struct cluster *c, int trainer, int step)
{
    if (trainer == 1 && step == 30) {
        struct skiff_error err;
        enum skiff_status status = c->job->class->close(c->job, &err);
        c->shared->trainer[1].ended = clock_seconds() - c->started;
        atomic_store(&c->shared->trainer[1].status, status);
        _Exit(0);
    }
}

static void a_trainer_has_less_data(void **state)
{
    struct cluster_spec s = job(SKIFF_SPLIT_SYNC);
    struct cluster c;
    s.at_step = short_data;
    s.pause_ms = 0;
    cluster_start(&c, &s);
    cluster_wait(&c, 10);
    check_status(&c, "less data", false, 0, SKIFF_OK);
    check_status(&c, "less data", false, 1, SKIFF_OK);
    check_status(&c, "less data", true, 0, SKIFF_OK);
    assert_int_equal(atomic_load(&c.shared->trainer[0].steps), s.steps);
    cluster_end(&c);
}

/* Sync: a trainer that is too slow is named, by the deadline of requests. */
static void too_slow(struct cluster *c, int trainer, int step)
{
    while (trainer == 1 && step == 5 && atomic_load(&c->shared->trainer[0].status) == 1)
        clock_sleep(10 * CLOCK_MS);
}

static void a_trainer_is_too_slow(void **state)
{
    struct cluster_spec s = job(SKIFF_SPLIT_SYNC);
    struct cluster c;
    s.at_step = too_slow;
    s.request_ms = 1000;
    s.pause_ms = 0;
    cluster_start(&c, &s);
    cluster_await_step(&c, 1, 5);
    double start = clock_seconds();
    while (atomic_load(&c.shared->trainer[0].status) == 1 && clock_seconds() - start < SOON)
        clock_sleep(10 * CLOCK_MS);
    check_status(&c, "too slow", false, 0, SKIFF_TIMEOUT);
    check_contains("trainer 0", c.shared->trainer[0].message, "worker 1");
    for (int i = 0; i < 2; i++) {
        cluster_kill(&c, false, i);
        cluster_kill(&c, true, i);
    }
    cluster_wait(&c, 5);
    cluster_end(&c);
}

static int unpack(void **state)
{
    return system("tests/golden/unpack.sh");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trainer_dies),
        cmocka_unit_test(a_trainer_that_asked_ahead_dies),
        cmocka_unit_test(a_trainer_dies_and_all_stop),
        cmocka_unit_test(server_0_dies),
        cmocka_unit_test(another_server_dies),
        cmocka_unit_test(a_stopped_server_comes_back),
        cmocka_unit_test(a_restarted_server_is_not_the_old_one),
        cmocka_unit_test(a_restarted_server_0_is_not_the_old_one),
        cmocka_unit_test(a_trainer_has_less_data),
        cmocka_unit_test(a_trainer_is_too_slow),
    };
    return cmocka_run_group_tests(tests, unpack, NULL);
}
