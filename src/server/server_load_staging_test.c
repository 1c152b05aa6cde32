/* Loads whose worker dies in between: all servers take over what was read, or none does. */
#include "server/members.h"
#include "server/sparse_fixture_test.h"

#include "base/clock.h"
#include "comm/session_parts.h"
#include "server/load_staging.h"

#define WAIT_S 30

static _Atomic int dropped, taken;

static void listen_to(void *self, enum log_level level, const char *line)
{
    (void)self;
    (void)level;
    dropped += strstr(line, "worker 0 left during a load: the load is dropped") != NULL;
    taken += strstr(line, "worker 0 left during a load: server 0 has committed") != NULL;
}

static void wait_until(const _Atomic int *count, int n)
{
    int64_t until = clock_after(clock_now(), WAIT_S * 1000);
    while (*count < n) {
        if (clock_now() > until)
            fail_msg("nothing happened for %d s", WAIT_S);
        usleep(1000);
    }
}

/* A call to one server. */
static void call_one(struct session *s, int server, const struct ps_table *x)
{
    struct wire_writer w;
    struct blob *reply;
    struct skiff_error err;
    struct batch_request ask = {.server = server, .method = PS_TABLE};
    writer_init(&w);
    ps_write_table(&w, x);
    assert_ok(writer_finish(&w, &ask.body, &err), err);
    assert_ok(session_ask(s, &ask, "a call", &reply, &err), err);
    blob_unref(reply);
}

/* Ids 1 and 2 are on servers 0 and 1. The file has the rows of the first push; they have changed
 * since. */
static void begin_load(struct fk *k, struct session *s[2], struct ps_table *x)
{
    struct skiff_error err;
    dropped = taken = 0;
    fk_open(k);
    for (int i = 0; i < 2; i++)
        s[i] = fk_session(k, i);
    for (int64_t id = 1; id < 3; id++)
        fk_push_one(k, s[0], id, 1, 0, -1);
    fk_save(k, s[0], 0, "000");
    for (int64_t id = 1; id < 3; id++)
        fk_push_one(k, s[0], id, 1, 0, -4);
    *x = fk_call(k, PS_TABLE_LOAD, 0, "000");
    assert_ok(session_load_begin(s[0], "emb", &x->token, &err), err);
    assert_ok(session_tables_read(s[0], x, 1, x->token, &err), err);
}

static void leave(struct fk *k, struct session *s)
{
    struct skiff_error err;
    assert_ok(session_leave(s, &err), err);
    session_close(s);
    fk_close(k);
}

#define TWO_SERVERS                                                                            \
    {                                                                                          \
        .servers = 2, .trainers = 2, .mode = SKIFF_SPLIT_ASYNC,                                \
        .settings = FK_NAIVE "accessor.ctr_accessor_param.show_scale false\n", .shard_num = 4, \
        .on_log = listen_to                                                                    \
    }

static void nothing_counts_without_a_commit(void **state)
{
    struct fk k = TWO_SERVERS;
    struct session *s[2];
    struct ps_table x;
    (void)state;
    begin_load(&k, s, &x);
    session_abandon(s[0], "was killed");
    wait_until(&dropped, 2);
    fk_assert_row(&k, s[1], 1, 5, 4, 4);
    fk_assert_row(&k, s[1], 2, 5, 4, 4);
    leave(&k, s[1]);
    session_close(s[0]);
    assert_int_equal(taken, 0);
}

static void what_server_0_has_taken_counts_everywhere(void **state)
{
    struct fk k = TWO_SERVERS;
    struct session *s[2];
    struct ps_table x;
    (void)state;
    begin_load(&k, s, &x);
    x.call = PS_TABLE_COMMIT;
    call_one(s[0], 0, &x);
    fk_assert_row(&k, s[1], 1, 1, 0, 0);
    fk_assert_row(&k, s[1], 2, 5, 4, 4);
    session_abandon(s[0], "was killed");
    wait_until(&taken, 1);
    fk_all(&k, s[1], PS_TABLE_SHRINK); /* after it */
    fk_assert_row(&k, s[1], 2, 1, 0, 0);
    leave(&k, s[1]);
    session_close(s[0]);
    assert_int_equal(dropped, 0);
}

/* Server 1 drops a load because server 0 has not taken it over, as it does when another one begins
 * there first: then server 0 must not take it over afterwards. */
static void what_was_forgotten_cannot_be_committed(void **state)
{
    struct fk k = TWO_SERVERS;
    struct session *s[2];
    struct ps_table x, other;
    struct skiff_error err;
    (void)state;
    begin_load(&k, s, &x);
    other = x;
    other.call = PS_TABLE_BEGIN;
    other.token++;
    call_one(s[1], 1, &other);
    assert_int_equal(session_load_end(s[0], "emb", x.token, true, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "load again"));
    fk_assert_row(&k, s[1], 1, 5, 4, 4);
    fk_assert_row(&k, s[1], 2, 5, 4, 4);
    assert_int_equal(dropped, 2);
    assert_ok(session_leave(s[0], &err), err);
    session_close(s[0]);
    leave(&k, s[1]);
}

/* Another worker saves or shrinks after the loading one has gone; server 1 hears of that later. */
static void what_is_for_all_rows_finds_the_load_everywhere(void **state)
{
    struct fk k = TWO_SERVERS;
    struct session *s[2];
    struct ps_table x;
    struct skiff_error err;
    (void)state;
    begin_load(&k, s, &x);
    x.call = PS_TABLE_COMMIT;
    call_one(s[0], 0, &x);
    fk_all(&k, s[1], PS_TABLE_SHRINK);
    assert_int_equal(taken, 1);
    fk_assert_row(&k, s[1], 1, 1, 0, 0);
    fk_assert_row(&k, s[1], 2, 1, 0, 0);
    assert_ok(session_leave(s[0], &err), err);
    session_close(s[0]);
    leave(&k, s[1]);
    assert_int_equal(dropped, 0);
}

static void work_for_all_rows_finds_no_load(void **state)
{
    struct fk k = TWO_SERVERS;
    struct session *s[2];
    struct ps_table x;
    struct skiff_error err;
    (void)state;
    begin_load(&k, s, &x);
    fk_all(&k, s[1], PS_TABLE_SHRINK);
    assert_int_equal(dropped, 2);
    assert_int_equal(session_load_end(s[0], "emb", x.token, true, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "load again"));
    fk_assert_row(&k, s[1], 1, 5, 4, 4);
    fk_assert_row(&k, s[1], 2, 5, 4, 4);
    assert_ok(session_leave(s[0], &err), err);
    session_close(s[0]);
    leave(&k, s[1]);
    assert_int_equal(taken, 0);
}

/* The maintenance thread was busy and reaches the request after its sender has died: no later
 * notification of that comes. (Here the thread is idle.) */
static void a_dead_worker_begins_nothing(void **state)
{
    struct fk k = TWO_SERVERS;
    struct session *s[2];
    struct ps_table x;
    struct skiff_error err;
    struct rpc_request q = {.sender = {NET_WORKER, 0}};
    (void)state;
    begin_load(&k, s, &x);
    session_abandon(s[0], "was killed");
    wait_until(&dropped, 2);
    fk_all(&k, s[1], PS_TABLE_SHRINK);
    q.incarnation = members_get(k.server[1], 0).incarnation;
    assert_int_equal(staging_begin(k.server[1], &q, 7, &err), SKIFF_PEER);
    assert_string_equal(err.message, "worker 0, which began a load, has left the job");
    q.sender.role = NET_NOBODY;
    assert_int_equal(staging_begin(k.server[1], &q, 7, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "only workers of the job can load");
    assert_false(staging_is(k.server[1], 7));
    leave(&k, s[1]);
    session_close(s[0]);
}

/* The next load of a live worker ends the last one, too. */
static void another_load_ends_the_last(void **state)
{
    struct fk k = TWO_SERVERS;
    struct session *s[2];
    struct ps_table x;
    struct ps_table_state states[2];
    struct skiff_error err;
    uint64_t token;
    (void)state;
    begin_load(&k, s, &x);
    assert_ok(session_load_begin(s[1], "emb", &token, &err), err);
    assert_int_equal(session_load_end(s[0], "emb", x.token, true, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "another one has begun since"));
    assert_int_equal(session_table(s[0], &x, states, &err), SKIFF_OK); /* with a new token */
    assert_int_equal(session_tables_read(s[1], &x, 1, token, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "there is no such load (it was aborted); load again"));
    fk_assert_row(&k, s[1], 1, 1, 0, 0);
    assert_ok(session_leave(s[0], &err), err);
    session_close(s[0]);
    leave(&k, s[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_counts_without_a_commit),
        cmocka_unit_test(what_server_0_has_taken_counts_everywhere),
        cmocka_unit_test(what_was_forgotten_cannot_be_committed),
        cmocka_unit_test(what_is_for_all_rows_finds_the_load_everywhere),
        cmocka_unit_test(work_for_all_rows_finds_no_load),
        cmocka_unit_test(a_dead_worker_begins_nothing),
        cmocka_unit_test(another_load_ends_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
