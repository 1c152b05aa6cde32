/* Datasets with threads, pipes, failures; what is handed out and how long it holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

#include "data/dataset_fixture_test.h"

static void test_queue_threads(void **state)
{
    static const int threads[] = {1, 2, 4, 6, 9}, prefetch[] = {0, 1, -1};
    unsigned char seen[FILES * ROWS];
    struct skiff_error err;
    for (int a = 0; a < 3; a++)
        for (int k = 0; k < 5; k++) {
            struct dataset_config c;
            config_create(&c, DATASET_QUEUE);
            c.threads = threads[k];
            c.prefetch = prefetch[a];
            struct dataset *d = make(&c);
            for (int e = 0; e < 2; e++) {
                int want = threads[k] < FILES ? threads[k] : FILES; /* one per file at most */
                assert_int_equal(epoch(d, want, seen, SKIFF_END, &err), FILES * ROWS);
                all_once(seen);
                assert_true(dataset_progress(d) == 1);
            }
            dataset_destroy(d);
        }
}

/* Files cut into pieces: every row once, and bad lines keep their numbers. */
static void test_split_files(void **state)
{
    unsigned char seen[FILES * ROWS];
    struct skiff_error err;
    struct buf text = BUF_INIT;
    static char whole[512];
    for (int row = 1; row <= FILES * ROWS; row++)
        buf_printf(&text, row % 3 ? "2 %d %d 1 %d\n" : "  2  %d   %d  1  %d\r\n", row, row,
                   row & 1);
    strcpy(whole, temp_text(dir, "whole", text.data));
    const char *files[] = {whole};
    for (int threads = 2; threads < 14; threads += 3)
        for (int prefetch = -1; prefetch < 2; prefetch++) {
            struct dataset_config c;
            config_create(&c, DATASET_QUEUE);
            c.threads = threads;
            c.split_files = true;
            c.prefetch = prefetch;
            struct dataset *d = make(&c);
            assert_int_equal(dataset_set_files(d, files, 1, &err), SKIFF_OK);
            assert_int_equal(epoch(d, threads, seen, SKIFF_END, &err), FILES * ROWS);
            all_once(seen);
            dataset_destroy(d);
        }
    /* line 1234 is bad */
    char *at = strstr(text.data, "2 1234 1234");
    memcpy(at, "2 x234", 6);
    temp_text(dir, "whole", text.data);
    struct dataset_config c;
    config_create(&c, DATASET_QUEUE);
    c.threads = 4;
    c.split_files = true;
    struct dataset *d = make(&c);
    assert_int_equal(dataset_set_files(d, files, 1, &err), SKIFF_OK);
    epoch(d, 4, seen, SKIFF_FORMAT, &err);
    assert_non_null(strstr(err.message, "whole:1234: slot \"ids\""));
    assert_non_null(strstr(err.message, "found \"x234\""));
    dataset_destroy(d);
    /* an empty file, a file of one byte, a pipe: whole files */
    static const char *const small[] = {"", "\n"};
    for (int k = 0; k < 2; k++) {
        strcpy(whole, temp_text(dir, "whole", small[k]));
        c.bad_limit = 1;
        d = make(&c);
        assert_int_equal(dataset_set_files(d, files, 1, &err), SKIFF_OK);
        assert_int_equal(epoch(d, 1, seen, SKIFF_END, &err), 0);
        dataset_destroy(d);
    }
    c.pipe_command = "sed s/a/a/";
    d = make(&c);
    assert_int_equal(dataset_set_files(d, (const char *const *)names, 1, &err), SKIFF_OK);
    assert_int_equal(epoch(d, 1, seen, SKIFF_END, &err), ROWS);
    dataset_destroy(d);
    buf_deinit(&text);
}

static void test_standard_input_once(void **state)
{
    struct dataset_config c;
    unsigned char seen[FILES * ROWS];
    struct skiff_error err;
    const char *in[] = {"-"};
    int keep = dup(STDIN_FILENO), fd = open(names[0], O_RDONLY), threads;
    dup2(fd, STDIN_FILENO);
    config_create(&c, DATASET_QUEUE);
    struct dataset *d = make(&c);
    assert_int_equal(dataset_set_files(d, in, 1, &err), SKIFF_OK);
    assert_true(dataset_progress(d) == -1);
    assert_int_equal(epoch(d, 1, seen, SKIFF_END, &err), ROWS);
    assert_int_equal(dataset_start(d, &threads, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "standard input can be read only once"));
    dataset_destroy(d);
    dup2(keep, STDIN_FILENO);
    close(keep);
    close(fd);
}

static void test_memory_threads(void **state)
{
    unsigned char seen[FILES * ROWS];
    struct skiff_error err;
    for (int threads = 1; threads < 6; threads += 2) {
        struct dataset_config c;
        config_create(&c, DATASET_MEMORY);
        c.threads = threads;
        struct dataset *d = make(&c);
        assert_int_equal(dataset_memory_size(d), 0);
        assert_int_equal(epoch(d, threads, seen, SKIFF_END, &err), 0); /* nothing loaded yet */
        assert_int_equal(dataset_load(d, &err), SKIFF_OK);
        assert_int_equal(dataset_memory_size(d), FILES * ROWS);
        for (int e = 0; e < 3; e++) {
            assert_int_equal(epoch(d, threads, seen, SKIFF_END, &err), FILES * ROWS);
            all_once(seen);
            assert_int_equal(dataset_local_shuffle(d, (uint64_t)e, &err), SKIFF_OK);
        }
        assert_int_equal(dataset_release(d, &err), SKIFF_OK);
        assert_int_equal(dataset_memory_size(d), 0);
        assert_int_equal(dataset_preload(d, 3, &err), SKIFF_OK);
        assert_int_equal(dataset_load(d, &err), SKIFF_STATE);
        assert_int_equal(dataset_wait_preload(d, &err), SKIFF_OK);
        assert_int_equal(dataset_wait_preload(d, &err), SKIFF_STATE);
        assert_int_equal(epoch(d, threads, seen, SKIFF_END, &err), FILES * ROWS);
        all_once(seen);
        assert_int_equal(dataset_preload(d, 0, &err), SKIFF_OK); /* given up by destroy */
        dataset_destroy(d);
    }
}

static void test_order(void **state)
{
    int64_t first[FILES * ROWS], again[FILES * ROWS];
    struct dataset_config c;
    config_create(&c, DATASET_QUEUE);
    struct dataset *d = make(&c);
    order(d, first);
    for (int i = 0; i < FILES * ROWS; i++)
        assert_int_equal(first[i], i + 1);
    dataset_destroy(d);
    /* loaded by many threads: still the order of files and lines; a shuffle is the
     * same for a seed */
    config_create(&c, DATASET_MEMORY);
    for (int round = 0; round < 2; round++) {
        c.threads = 1;
        d = make(&c);
        assert_int_equal(dataset_preload(d, round ? 4 : 1, NULL), SKIFF_OK);
        assert_int_equal(dataset_wait_preload(d, NULL), SKIFF_OK);
        order(d, again);
        assert_memory_equal(again, first, sizeof first);
        assert_int_equal(dataset_local_shuffle(d, 42, NULL), SKIFF_OK);
        order(d, again);
        assert_memory_not_equal(again, first, sizeof first);
        static int64_t shuffled[FILES * ROWS];
        if (round)
            assert_memory_equal(again, shuffled, sizeof first);
        memcpy(shuffled, again, sizeof shuffled);
        dataset_destroy(d);
    }
}

/* *out holds until the second next call. */
static void test_batches_hold(void **state)
{
    for (int k = 0; k < 3; k++) {
        struct dataset_config c;
        const struct batch *b = NULL, *before = NULL;
        struct buf text = BUF_INIT, now = BUF_INIT;
        int threads;
        config_create(&c, k == 2 ? DATASET_MEMORY : DATASET_QUEUE);
        c.prefetch = k == 1 ? -1 : 1;
        struct dataset *d = make(&c);
        if (k == 2)
            assert_int_equal(dataset_load(d, NULL), SKIFF_OK);
        assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
        while (dataset_next(d, 0, &b, NULL) == SKIFF_OK) {
            const struct timespec tick = {0, 200000};
            nanosleep(&tick, NULL); /* the reader runs as far ahead as it may */
            if (before) {
                buf_reset(&now);
                batch_text(before, &now);
                assert_string_equal(now.data, text.data);
            }
            buf_reset(&text);
            batch_text(b, &text);
            before = b;
        }
        dataset_destroy(d);
        buf_deinit(&text);
        buf_deinit(&now);
    }
}

static void test_steady_epochs_allocate_nothing(void **state)
{
    for (int k = 0; k < 2; k++) {
        struct dataset_config c;
        const struct batch *b;
        int threads;
        config_create(&c, k ? DATASET_MEMORY : DATASET_QUEUE);
        struct dataset *d = make(&c);
        if (k)
            assert_int_equal(dataset_load(d, NULL), SKIFF_OK);
        for (int e = 0; e < 3; e++) {
            uint64_t before = 0;
            int64_t batches = 0;
            assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
            while (dataset_next(d, 0, &b, NULL) == SKIFF_OK)
                if (++batches == 10)
                    before = mem_alloc_count();
            assert_int_equal(mem_alloc_count(), before);
        }
        dataset_destroy(d);
    }
}

static void test_short_last_batch(void **state)
{
    for (int k = 0; k < 4; k++) {
        struct dataset_config c;
        const struct batch *b;
        int threads;
        int64_t batches = 0, rows = 0;
        config_create(&c, k & 1 ? DATASET_MEMORY : DATASET_QUEUE);
        c.drop_last = k > 1;
        c.batch_size = 1000;
        struct dataset *d = make(&c);
        if (k & 1)
            assert_int_equal(dataset_load(d, NULL), SKIFF_OK);
        assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
        for (; dataset_next(d, 0, &b, NULL) == SKIFF_OK; batches++)
            rows += b->rows;
        assert_int_equal(batches, k > 1 ? 1 : 2);
        assert_int_equal(rows, k > 1 ? 1000 : FILES * ROWS);
        dataset_destroy(d);
    }
}

/* What is seen ahead is what comes, and holds when it has come; nobody waits for it. */
static void test_peek(void **state)
{
    for (int k = 0; k < 3; k++) {
        struct dataset_config c;
        const struct batch *b, *later;
        int threads, seen = 0;
        config_create(&c, k == 2 ? DATASET_MEMORY : DATASET_QUEUE);
        c.batch_size = 100;
        c.prefetch = k == 0 ? -1 : 2;
        struct dataset *d = make(&c);
        assert_null(dataset_peek(d, 0)); /* not started */
        if (k == 2)
            assert_int_equal(dataset_load(d, NULL), SKIFF_OK);
        assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
        int64_t first = -1, rows = 0;
        while (dataset_next(d, 0, &b, NULL) == SKIFF_OK) {
            const int64_t *ids = tensor_i64(batch_tensor(b, 0));
            if (first >= 0)
                assert_int_equal(ids[0], first);
            later = dataset_peek(d, 0);
            assert_ptr_equal(dataset_peek(d, 0), later);
            first = later ? tensor_i64(batch_tensor(later, 0))[0] : -1;
            seen += later != NULL;
            assert_ptr_not_equal(later, b);
            rows += b->rows;
        }
        assert_int_equal(rows, FILES * ROWS);
        if (k != 1) /* with a reader: what it has ready */
            assert_int_equal(seen, k == 0 ? 0 : (FILES * ROWS + 99) / 100 - 1);
        assert_null(dataset_peek(d, 0));
        dataset_destroy(d);
    }
}

static void test_stop_early(void **state)
{
    for (int k = 0; k < 3; k++) {
        struct dataset_config c;
        const struct batch *b;
        unsigned char seen[FILES * ROWS];
        struct skiff_error err;
        int threads, before = open_fds();
        config_create(&c, DATASET_QUEUE);
        c.threads = 3;
        c.prefetch = k == 2 ? -1 : 2;
        c.pipe_command = k ? "cat; sleep 1000" : NULL; /* commands that would never end */
        struct dataset *d = make(&c);
        assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
        assert_int_equal(dataset_next(d, 1, &b, NULL), SKIFF_OK);
        dataset_stop(d);
        assert_int_equal(dataset_next(d, 1, &b, &err), SKIFF_STATE);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
        assert_int_equal(open_fds(), before);
        assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK); /* destroyed while it runs */
        if (k == 0) {
            assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK); /* and started anew */
            assert_int_equal(epoch(d, 3, seen, SKIFF_END, &err), FILES * ROWS);
            all_once(seen);
        }
        dataset_destroy(d);
        assert_int_equal(open_fds(), before);
    }
}

/* From another thread: who waits gets END, also behind a command that says nothing. */
static void test_interrupt(void **state)
{
    for (int k = 0; k < 3; k++) {
        struct dataset_config c;
        const struct batch *b;
        struct test_trainer t = {.seen = calloc(1, FILES * ROWS)};
        int threads;
        config_create(&c, k == 2 ? DATASET_MEMORY : DATASET_QUEUE);
        c.prefetch = k == 1 ? -1 : 2;
        c.pipe_command = k < 2 ? "sleep 1000" : NULL;
        struct dataset *d = t.dataset = make(&c);
        if (k == 2)
            assert_int_equal(dataset_load(d, NULL), SKIFF_OK);
        assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
        if (k == 2) {
            assert_int_equal(dataset_next(d, 0, &b, NULL), SKIFF_OK);
            dataset_interrupt(d);
        }
        pthread_create(&t.thread, NULL, trainer_run, &t);
        const struct timespec tick = {0, 20000000};
        nanosleep(&tick, NULL);
        dataset_interrupt(d);
        pthread_join(t.thread, NULL);
        assert_int_equal(t.status, SKIFF_END);
        assert_int_equal(t.rows, 0);
        dataset_destroy(d);
        free(t.seen);
    }
}

static void test_failures(void **state)
{
    unsigned char seen[FILES * ROWS];
    struct skiff_error err;
    static const int prefetch[] = {3, -1};
    for (int k = 0; k < 2; k++) {
        struct dataset_config c;
        struct dataset *d;
        const char *bad = temp_text(dir, "bad.txt", "2 1 1 1 1\n2 2 x 1 0\n");
        const char *with_bad[] = {names[0], bad, names[1], names[2]};
        config_create(&c, DATASET_QUEUE);
        c.prefetch = prefetch[k];
        c.threads = 3;
        d = make(&c);
        assert_int_equal(dataset_set_files(d, with_bad, 4, NULL), SKIFF_OK);
        for (int e = 0; e < 2; e++) { /* the next epoch fails, too */
            epoch(d, 3, seen, SKIFF_FORMAT, &err);
            assert_non_null(strstr(err.message,
                                   "bad.txt:2: slot \"ids\" (1 of 2): expected a whole "
                                   "number as value 2 of 2, found \"x\""));
        }
        dataset_destroy(d);
        c.bad_limit = 1;
        d = make(&c);
        assert_int_equal(dataset_set_files(d, with_bad, 4, NULL), SKIFF_OK);
        assert_int_equal(epoch(d, 3, seen, SKIFF_END, &err), 3 * ROWS + 1);
        assert_int_equal(dataset_bad_lines(d), 1);
        dataset_destroy(d);
        c.pipe_command = "cat; echo broken >&2; exit 5";
        d = make(&c);
        epoch(d, 3, seen, SKIFF_IO, &err);
        assert_non_null(
            strstr(err.message, "exit status 5; the end of its standard error: broken"));
        dataset_destroy(d);
    }
    struct dataset_config c;
    config_create(&c, DATASET_MEMORY);
    c.threads = 3;
    c.pipe_command = "exit 5";
    struct dataset *d = make(&c);
    assert_int_equal(dataset_load(d, &err), SKIFF_IO);
    assert_int_equal(dataset_memory_size(d), 0);
    const char *missing = "/no/such/file";
    assert_int_equal(dataset_set_files(d, &missing, 1, &err), SKIFF_NOT_FOUND);
    assert_int_equal(dataset_file_count(d), FILES); /* as before */
    dataset_destroy(d);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_misuse(void **state)
{
    struct dataset_config c;
    struct dataset *d;
    struct skiff_error err;
    const struct batch *b;
    int threads;
    struct schema empty = {0};
    config_create(&c, DATASET_QUEUE);
    c.batch_size = -1;
    assert_int_equal(dataset_create(&c, &d, &err), SKIFF_INVALID);
    c.batch_size = 0;
    c.threads = -1;
    assert_int_equal(dataset_create(&c, &d, &err), SKIFF_INVALID);
    c.threads = 0;
    c.schema = &empty;
    assert_int_equal(dataset_create(&c, &d, &err), SKIFF_INVALID);
    c.schema = &schema;
    c.reader.format = "nothing";
    assert_int_equal(dataset_create(&c, &d, &err), SKIFF_NOT_FOUND);
    c.reader.format = NULL;
    assert_int_equal(dataset_create(&c, &d, &err), SKIFF_OK);
    assert_int_equal(dataset_start(d, &threads, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "no files"));
    assert_int_equal(dataset_next(d, 0, &b, &err), SKIFF_STATE);
    assert_int_equal(dataset_load(d, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "a QueueDataset streams"));
    assert_int_equal(dataset_local_shuffle(d, 1, &err), SKIFF_STATE);
    assert_int_equal(dataset_slots_shuffle(d, NULL, 0, 1, &err), SKIFF_STATE);
    assert_int_equal(dataset_global_shuffle(d, NULL, 1, &err), SKIFF_STATE);
    assert_int_equal(dataset_release(d, &err), SKIFF_STATE);
    assert_int_equal(dataset_set_files(d, (const char *const *)names, 1, &err), SKIFF_OK);
    assert_int_equal(dataset_start(d, &threads, &err), SKIFF_OK);
    assert_int_equal(dataset_next(d, 1, &b, &err), SKIFF_STATE);
    dataset_destroy(d);
}

static void test_zero_rule(void **state)
{
    const char *path = temp_text(dir, "zeros", "3 0 5 0 1 0\n2 0 0 1 1\n");
    for (int keep = 0; keep < 2; keep++) {
        struct dataset_config c;
        struct buf got = BUF_INIT;
        const struct batch *b;
        int threads;
        config_create(&c, DATASET_MEMORY);
        c.keep_zeros = keep;
        struct dataset *d = make(&c);
        assert_int_equal(dataset_set_files(d, &path, 1, NULL), SKIFF_OK);
        assert_int_equal(dataset_load(d, NULL), SKIFF_OK);
        assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
        assert_int_equal(dataset_next(d, 0, &b, NULL), SKIFF_OK);
        batch_text(b, &got);
        assert_string_equal(got.data, keep ? "0,5,0 0\n0,0 1\n" : "5 0\n0 1\n");
        buf_deinit(&got);
        dataset_destroy(d);
    }
}

/* ids is shuffled among the samples, label stays; then back. */
static void test_slots_shuffle(void **state)
{
    struct dataset_config c;
    struct skiff_error err;
    int64_t got[FILES * ROWS], again[FILES * ROWS];
    const char *slots[] = {"ids"}, *wrong[] = {"nothing"};
    const struct batch *b;
    int threads, moved = 0, n = 0;
    unsigned char seen[FILES * ROWS];
    config_create(&c, DATASET_MEMORY);
    struct dataset *d = make(&c);
    assert_int_equal(dataset_load(d, NULL), SKIFF_OK);
    assert_int_equal(dataset_slots_shuffle(d, wrong, 1, 1, &err), SKIFF_NOT_FOUND);
    assert_int_equal(dataset_slots_shuffle(d, slots, 1, 1, &err), SKIFF_OK);
    memset(seen, 0, sizeof seen);
    assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
    while (dataset_next(d, 0, &b, NULL) == SKIFF_OK)
        for (int64_t i = 0; i < b->rows; i++, n++) {
            int64_t id = b->columns[0].i64[b->columns[0].offsets[i]];
            seen[id - 1]++;
            moved += id != n + 1;
            assert_int_equal(b->columns[1].i64[i], (n + 1) & 1); /* the label of its own row */
        }
    all_once(seen); /* a permutation */
    assert_true(moved > FILES * ROWS * 9 / 10);
    order(d, got);
    assert_int_equal(dataset_slots_shuffle(d, slots, 1, 1, &err), SKIFF_OK);
    order(d, again);
    assert_memory_equal(got, again, sizeof got); /* starts from the samples as loaded */
    assert_int_equal(dataset_slots_shuffle(d, NULL, 0, 1, &err), SKIFF_OK);
    order(d, got);
    for (int i = 0; i < FILES * ROWS; i++)
        assert_int_equal(got[i], i + 1);
    dataset_destroy(d);
}

static void test_cache(void **state)
{
    struct dataset_config c;
    unsigned char seen[FILES * ROWS];
    struct skiff_error err;
    config_create(&c, DATASET_QUEUE);
    c.threads = 2;
    c.cache = true;
    struct dataset *d = make(&c);
    for (int e = 0; e < 3; e++) {
        assert_int_equal(epoch(d, 2, seen, SKIFF_END, &err), FILES * ROWS);
        all_once(seen);
    }
    dataset_stop(d);
    assert_null(dataset_cache_error(d));
    dataset_destroy(d);
    c.cache_dir = "/no/such";
    d = make(&c);
    assert_int_equal(epoch(d, 2, seen, SKIFF_END, &err), FILES * ROWS);
    dataset_stop(d);
    assert_non_null(strstr(dataset_cache_error(d), "/no/such"));
    dataset_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_threads),
        cmocka_unit_test(test_split_files),
        cmocka_unit_test(test_standard_input_once),
        cmocka_unit_test(test_memory_threads),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_batches_hold),
        cmocka_unit_test(test_steady_epochs_allocate_nothing),
        cmocka_unit_test(test_short_last_batch),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_stop_early),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_zero_rule),
        cmocka_unit_test(test_slots_shuffle),
        cmocka_unit_test(test_cache),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
