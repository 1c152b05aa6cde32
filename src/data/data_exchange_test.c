/* Global shuffle: workers that exchange their samples. */
#include "data/dataset_fixture_test.h"

#define WORKERS 3

struct hub { /* what the workers share */
    pthread_barrier_t barrier;
    const void *const *send[WORKERS];
    const size_t *bytes[WORKERS];
    int spoil; /* this worker gets bytes that are no samples in the first round; -1: none */
};

struct worker {
    struct dataset *dataset;
    struct skiff_exchange exchange;
    pthread_t thread;
    struct hub *hub;
    int rounds;
    enum skiff_status status;
    struct skiff_error err;
};

static enum skiff_status worker_alltoall(void *arg, const void *const *send, const size_t *bytes,
                                         void **recv, size_t *got, struct skiff_error *err)
{
    struct worker *w = arg;
    struct hub *h = w->hub;
    int me = w->exchange.rank;
    h->send[me] = send;
    h->bytes[me] = bytes;
    pthread_barrier_wait(&h->barrier);
    for (int i = 0; i < WORKERS; i++) {
        got[i] = h->bytes[i][me];
        recv[i] = memcpy(malloc(got[i] + 1), h->send[i][me], got[i]);
        if (h->spoil == me && w->rounds == 0 && got[i] > 20)
            got[i] -= 3; /* ends in the middle of a sample */
    }
    w->rounds++;
    pthread_barrier_wait(&h->barrier);
    return SKIFF_OK;
}

static enum skiff_status worker_barrier(void *arg, struct skiff_error *err)
{
    pthread_barrier_wait(&((struct worker *)arg)->hub->barrier);
    return SKIFF_OK;
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    w->status = dataset_global_shuffle(w->dataset, &w->exchange, 9, &w->err);
    return NULL;
}

static void workers_open(struct worker *workers, struct hub *hub, int spoil)
{
    struct skiff_error err;
    hub->spoil = spoil;
    pthread_barrier_init(&hub->barrier, NULL, WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        struct dataset_config c;
        struct worker *w = &workers[i];
        config_create(&c, DATASET_MEMORY);
        *w = (struct worker){.dataset = make(&c), .hub = hub};
        w->exchange = (struct skiff_exchange){w, i, WORKERS, worker_alltoall, worker_barrier, {0}};
        assert_int_equal(dataset_set_files(w->dataset, (const char *const *)names + 2 * i, 2, &err),
                         SKIFF_OK);
        assert_int_equal(dataset_load(w->dataset, &err), SKIFF_OK);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
}

static void workers_close(struct worker *workers, struct hub *hub)
{
    for (int i = 0; i < WORKERS; i++)
        dataset_destroy(workers[i].dataset);
    pthread_barrier_destroy(&hub->barrier);
}

static void test_global_shuffle(void **state)
{
    struct worker workers[WORKERS];
    struct hub hub;
    unsigned char seen[FILES * ROWS] = {0}, one[FILES * ROWS];
    struct skiff_error err;
    int64_t total = 0;
    workers_open(workers, &hub, -1);
    for (int i = 0; i < WORKERS; i++) {
        int64_t n = dataset_memory_size(workers[i].dataset);
        assert_int_equal(workers[i].status, SKIFF_OK);
        assert_int_equal(dataset_shuffle_size(workers[i].dataset), n);
        assert_true(n > FILES * ROWS / WORKERS * 3 / 4 && n < FILES * ROWS / WORKERS * 5 / 4);
        total += epoch(workers[i].dataset, 1, one, SKIFF_END, &err);
        for (int k = 0; k < FILES * ROWS; k++)
            seen[k] += one[k];
    }
    assert_int_equal(total, FILES * ROWS);
    all_once(seen);
    /* alone: a local shuffle */
    assert_int_equal(dataset_global_shuffle(workers[0].dataset, NULL, 1, &err), SKIFF_OK);
    workers_close(workers, &hub);
}

/* One worker gets bad bytes: all of them fail, nobody waits, all keep what they had. */
static void test_global_shuffle_fails(void **state)
{
    struct worker workers[WORKERS];
    struct hub hub;
    unsigned char seen[FILES * ROWS] = {0}, one[FILES * ROWS];
    struct skiff_error err;
    workers_open(workers, &hub, 1);
    assert_int_equal(workers[1].status, SKIFF_FORMAT);
    assert_non_null(strstr(workers[1].err.message, "received samples end in the middle of one"));
    assert_int_equal(workers[0].status, SKIFF_STATE);
    assert_non_null(strstr(workers[2].err.message, "worker 1 has failed"));
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(workers[i].rounds, 2);
        epoch(workers[i].dataset, 1, one, SKIFF_END, &err);
        for (int k = 0; k < FILES * ROWS; k++)
            seen[k] += one[k];
    }
    all_once(seen);
    workers_close(workers, &hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_global_shuffle),
        cmocka_unit_test(test_global_shuffle_fails),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
