/* Many pushes, pulls and queries of several workers while tables are saved and shrunk: every reply
 * is right, and no worker waits forever. */
#include "server/sparse_fixture_test.h"

#define FLOODERS 3
#define TIMES 400

struct flooder {
    struct fk *k;
    struct session *s;
    int64_t id; /* no other worker pushes to it, nor to the next */
    enum skiff_status status;
    struct skiff_error err;
    pthread_t thread;
};

static _Atomic int flooding;

/* Checks a row that was pushed n times. */
static void check(struct flooder *f, int64_t id, int n)
{
    fk_assert_row(f->k, f->s, id, n, n - 1, n - 1);
}

static void *flood(void *arg)
{
    struct flooder *f = arg;
    struct ps_table stat = fk_call(f->k, PS_TABLE_STAT, 0, "");
    struct ps_table_state sum;
    for (int n = 1; n <= TIMES && f->status == SKIFF_OK; n++) {
        for (int64_t id = f->id; id < f->id + 2; id++) { /* on both servers */
            fk_push_one(f->k, f->s, id, 1, 0, -1);
            check(f, id, n);
        }
        f->status = session_table_sum(f->s, &stat, &sum, &f->err);
    }
    flooding--;
    return NULL;
}

static void saves_and_shrinks_in_a_flood(void **state)
{
    struct fk k = {.servers = 2,
                   .trainers = FLOODERS + 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE "accessor.ctr_accessor_param.show_scale false\n"
                                        "accessor.embed_sgd_param.naive.weight_bounds -1e6,1e6\n"
                                        "accessor.embedx_sgd_param.naive.weight_bounds -1e6,1e6\n",
                   .shard_num = 4};
    struct flooder f[FLOODERS] = {0};
    struct skiff_error err;
    int calls = 0;
    (void)state;
    fk_open(&k);
    struct session *s = fk_session(&k, FLOODERS);
    flooding = FLOODERS;
    for (int i = 0; i < FLOODERS; i++)
        f[i] = (struct flooder){.k = &k, .s = fk_session(&k, i), .id = 1 + 2 * i};
    for (int i = 0; i < FLOODERS; i++)
        assert_int_equal(pthread_create(&f[i].thread, NULL, flood, &f[i]), 0);
    for (; flooding || calls < 2; calls++) {
        fk_save(&k, s, 0, "000");
        fk_all(&k, s, PS_TABLE_SHRINK);
    }
    for (int i = 0; i < FLOODERS; i++) {
        pthread_join(f[i].thread, NULL);
        assert_ok(f[i].status, f[i].err);
        for (int64_t id = f[i].id; id < f[i].id + 2; id++)
            check(&f[i], id, TIMES);
        assert_ok(session_leave(f[i].s, &err), err);
        session_close(f[i].s);
    }
    assert_ok(session_leave(s, &err), err);
    session_close(s);
    fk_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(saves_and_shrinks_in_a_flood)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
