/* Coordinator state on server 0: the start of the job, workers that join late, the choice of the
 * saver. */
#include <stdatomic.h>

#include "server/server_fixture_test.h"

struct beginner {
    struct session *session;
    struct ps_begin has;
    struct ps_begun got;
    enum skiff_status status;
    struct skiff_error err;
    atomic_bool done;
    pthread_t thread;
};

static void *begin_now(void *arg)
{
    struct beginner *b = arg;
    b->status = session_begin(b->session, &b->has, &b->got, &b->err);
    atomic_store(&b->done, true);
    return NULL;
}

static void beginner_start(struct beginner *b, struct session *s)
{
    *b = (struct beginner){.session = s, .has = {.epoch = -1, .where = "here:/model"}};
    b->has.index = (uint32_t)session_worker(s);
    assert_int_equal(pthread_create(&b->thread, NULL, begin_now, b), 0);
}

static void beginner_join(struct beginner *b)
{
    pthread_join(b->thread, NULL);
    if (b->status < 0)
        fail_msg("%s", b->err.message);
}

/* Two workers that have begun. */
static void open_pair(struct server_fixture *k, struct session *s[2])
{
    struct fixture_options o = {
        .servers = 1, .trainers = 2, .config = split_config_fleet(SKIFF_SPLIT_ASYNC)};
    struct beginner b[2];
    fixture_open(k, &o);
    for (int i = 0; i < 2; i++) {
        s[i] = fixture_session(k, i);
        beginner_start(&b[i], s[i]);
    }
    for (int i = 0; i < 2; i++) {
        beginner_join(&b[i]);
        assert_int_equal(b[i].got.epoch, 0);
        assert_false(b[i].got.late);
    }
    assert_string_equal(b[0].got.run, b[1].got.run); /* one run, with a name */
    assert_int_equal(strlen(b[0].got.run), 32);
}

static void close_pair(struct server_fixture *k, struct session *s[2])
{
    session_close(s[1]);
    session_close(s[0]);
    fixture_join(k, SKIFF_OK);
    fixture_close(k);
}

static void die(struct session **s)
{
    session_abandon(*s, "has fallen");
    session_close(*s);
    *s = NULL;
}

/* There was no reduction in the epoch yet: it takes part at once, and the others wait for it. */
static void a_late_one_joins(void **state)
{
    struct server_fixture k;
    struct session *s[2];
    struct beginner late;
    open_pair(&k, s);
    die(&s[1]);
    s[1] = fixture_session(&k, 1);
    beginner_start(&late, s[1]);
    beginner_join(&late);
    assert_true(late.got.late);
    assert_int_equal(late.got.epoch, 0);
    close_pair(&k, s);
}

/* There was a reduction in the epoch: it waits for the next one, and no worker waits for it. */
static void a_late_one_waits_for_the_next_epoch(void **state)
{
    struct server_fixture k;
    struct session *s[2];
    struct beginner late;
    struct skiff_error err;
    open_pair(&k, s);
    die(&s[1]);
    assert_ok(session_barrier(s[0], "a shuffle", &err), err);
    s[1] = fixture_session(&k, 1);
    struct metrics *metrics = server_metrics(k.server[0]);
    int64_t before = metrics_value(metrics, METRIC_RPC_REQUESTS);
    beginner_start(&late, s[1]);
    while (metrics_value(metrics, METRIC_RPC_REQUESTS) == before)
        clock_sleep(CLOCK_MS);
    assert_ok(session_barrier(s[0], "epoch 0: counts", &err), err);
    assert_false(atomic_load(&late.done));
    assert_ok(session_barrier(s[0], "epoch 0: back", &err), err);
    beginner_join(&late);
    assert_true(late.got.late);
    assert_int_equal(late.got.epoch, 1);
    close_pair(&k, s);
}

/* A restarted script knows nothing of epochs: it may train, but not join reductions. */
static void an_uninvited_one_is_refused_at_once(void **state)
{
    struct server_fixture k;
    struct session *s[2];
    struct skiff_error err;
    open_pair(&k, s);
    die(&s[1]);
    s[1] = fixture_session(&k, 1);
    assert_int_equal(session_barrier(s[1], "all_reduce.0", &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "worker 1 was restarted while the job is running"));
    assert_ok(session_barrier(s[0], "all_reduce.7", &err), err); /* does not wait for it */
    close_pair(&k, s);
}

static enum ps_saving_state saving(struct session *s, enum ps_saving_state word, int64_t what,
                                   char *reason)
{
    struct ps_saving x = {.state = word, .epoch = what};
    struct skiff_error err;
    snprintf(x.reason, sizeof x.reason, "%s", word == PS_SAVE_FAILED ? "no space" : "");
    assert_ok(session_saving(s, &x, &err), err);
    if (reason)
        strcpy(reason, x.reason);
    return (enum ps_saving_state)x.state;
}

static void the_lowest_that_lives_saves(void **state)
{
    struct server_fixture k;
    struct session *s[2];
    char reason[512];
    open_pair(&k, s);
    assert_int_equal(saving(s[1], PS_SAVE_ASK, 1, NULL), PS_SAVE_OTHER); /* worker 0 will ask */
    assert_int_equal(saving(s[0], PS_SAVE_ASK, 1, NULL), PS_SAVE_YOU);
    assert_int_equal(saving(s[1], PS_SAVE_ASK, 1, NULL), PS_SAVE_OTHER);
    saving(s[0], PS_SAVE_DONE, 1, NULL);
    assert_int_equal(saving(s[1], PS_SAVE_ASK, 1, NULL), PS_SAVE_DONE);
    assert_int_equal(saving(s[0], PS_SAVE_ASK, 3, NULL), PS_SAVE_YOU);
    die(&s[0]);
    double until = clock_seconds() + 10;
    while (saving(s[1], PS_SAVE_ASK, 3, NULL) != PS_SAVE_YOU) {
        assert_true(clock_seconds() < until);
        clock_sleep(5 * CLOCK_MS);
    }
    saving(s[1], PS_SAVE_FAILED, 3, NULL);
    assert_int_equal(saving(s[1], PS_SAVE_ASK, 3, reason), PS_SAVE_FAILED);
    assert_string_equal(reason, "no space");
    /* the next save is a new one */
    assert_int_equal(saving(s[1], PS_SAVE_ASK, 5, NULL), PS_SAVE_YOU);
    assert_int_equal(saving(s[1], PS_SAVE_ASK, 1, NULL), PS_SAVE_DONE); /* it is no longer needed */
    session_close(s[1]);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

/* A worker that joined after an epoch does not know it: it does not take part in saving it. */
static void a_late_one_does_not_save_what_was_before(void **state)
{
    struct server_fixture k;
    struct session *s[2];
    struct beginner late;
    struct skiff_error err;
    open_pair(&k, s);
    die(&s[0]);
    assert_ok(session_barrier(s[1], "epoch 0: back", &err), err);
    s[0] = fixture_session(&k, 0);
    beginner_start(&late, s[0]);
    beginner_join(&late);
    assert_int_equal(late.got.epoch, 1);
    assert_int_equal(saving(s[1], PS_SAVE_ASK, 1, NULL), PS_SAVE_YOU);   /* the end of epoch 0 */
    assert_int_equal(saving(s[1], PS_SAVE_ASK, 3, NULL), PS_SAVE_OTHER); /* of epoch 1 */
    assert_int_equal(saving(s[0], PS_SAVE_ASK, 3, NULL), PS_SAVE_YOU);
    close_pair(&k, s);
}

/* A result that no worker could save: servers end with an error. */
static void an_unsaved_result_is_a_failure(void **state)
{
    struct server_fixture k;
    struct session *s[2];
    struct skiff_error err;
    open_pair(&k, s);
    assert_ok(session_unsaved(s[0], "no space on any disk", &err), err);
    session_close(s[1]);
    session_close(s[0]);
    fixture_join(&k, SKIFF_IO);
    assert_non_null(
        strstr(k.err[0].message, "the job's result is not saved: no space on any disk"));
    fixture_close(&k);
}

static struct ps_account trained(struct session *s, uint64_t samples, bool done)
{
    struct ps_trained x = {.epoch = 0, .samples = samples, .batches = samples / 10, .done = done};
    struct ps_account out;
    struct skiff_error err;
    assert_ok(session_trained(s, &x, &out, &err), err);
    return out;
}

/* A worker is killed, in the middle or after its last file, and restarted: it trains all of its
 * files again. */
static void files_that_are_trained_twice(void **state)
{
    for (int whole = 0; whole <= 1; whole++) {
        struct server_fixture k;
        struct session *s[2];
        struct beginner late;
        open_pair(&k, s);
        trained(s[0], 50, false);
        trained(s[1], whole ? 100 : 60, whole);
        die(&s[1]);
        s[1] = fixture_session(&k, 1);
        beginner_start(&late, s[1]);
        beginner_join(&late);
        assert_int_equal(late.got.epoch, 0);
        struct ps_account a = trained(s[1], 100, true);
        assert_int_equal(a.samples, 50 + (whole ? 100 : 60) + 100);
        assert_int_equal(a.twice, whole ? 100 : 60);
        a = trained(s[0], 120, true);
        assert_int_equal(a.samples, 120 + (whole ? 100 : 60) + 100);
        assert_int_equal(a.twice, whole ? 100 : 60);
        assert_int_equal(a.nlost, 0);
        close_pair(&k, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_one_joins),
        cmocka_unit_test(a_late_one_waits_for_the_next_epoch),
        cmocka_unit_test(an_uninvited_one_is_refused_at_once),
        cmocka_unit_test(the_lowest_that_lives_saves),
        cmocka_unit_test(a_late_one_does_not_save_what_was_before),
        cmocka_unit_test(an_unsaved_result_is_a_failure),
        cmocka_unit_test(files_that_are_trained_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
