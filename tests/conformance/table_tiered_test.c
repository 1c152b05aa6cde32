/* Tests of kind tiered beyond the conformance suite (table_test.c): rows go to disk and come back,
 * are prefetched, and are gone when they are removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "table/table.h"

#define WIDTH 4
#define ROWS 20000
#define LIMIT ((size_t)128 << 10)

static char folder[] = "/tmp/skiff_tiered_test_XXXXXX";

static struct accessor *plain(void)
{
    static struct accessor a;
    struct accessor_options o = {.nparts = 1, .parts = {{.width = WIDTH}}};
    assert_int_equal(accessor_init(&a, &accessor_plain, &o, NULL), SKIFF_OK);
    return &a;
}

static enum skiff_status create(const char *name, struct table **out, struct skiff_error *err)
{
    char slot[128];
    struct table_options o = {.accessor = plain(), .limit = {LIMIT, TABLE_SELDOM}, .folder = slot};
    snprintf(slot, sizeof slot, "%s/%s", folder, name);
    return table_create(&table_tiered, &o, out, err);
}

static struct table *make(void)
{
    struct table *t;
    struct skiff_error err;
    if (create("rows", &t, &err) < 0)
        fail_msg("%s", err.message);
    return t;
}

/* Row i has i in all its values. */
static void put_all(struct table *t, int64_t n, float more)
{
    for (int64_t id = 0; id < n; id++) {
        float row[WIDTH];
        for (int k = 0; k < WIDTH; k++)
            row[k] = (float)id + more;
        assert_int_equal(table_scatter(t, (const uint8_t *)&id, 1, TABLE_MAKE, 0, WIDTH, row, NULL),
                         SKIFF_OK);
    }
}

static float get(struct table *t, int64_t id)
{
    float row[WIDTH];
    assert_int_equal(table_pull(t, (const uint8_t *)&id, 1, TABLE_LOOK, row, NULL), SKIFF_OK);
    return row[WIDTH - 1];
}

static struct table_stats stats(const struct table *t)
{
    struct table_stats s;
    table_stats(t, &s);
    return s;
}

static void most_rows_are_on_disk_and_none_is_lost(void **state)
{
    struct table *t = make();
    put_all(t, ROWS, 0.5f);
    struct table_stats s = stats(t);
    assert_int_equal(s.rows, ROWS);
    assert_true(s.disk_rows > ROWS * 8 / 10 && s.disk_rows < ROWS - 500);
    assert_int_equal(s.counts.evicted, 0);
    assert_true(s.spilled >= s.disk_rows);
    for (int64_t id = 0; id < ROWS; id++)
        assert_true(get(t, id) == (float)id + 0.5f);
    s = stats(t);
    assert_int_equal(s.rows, ROWS);
    assert_int_equal(s.hits + s.misses, ROWS);
    assert_true(s.misses > ROWS * 8 / 10);
    assert_true(get(t, ROWS) == 0);
    table_destroy(t);
}

static void nothing(void *self, size_t first, size_t n, struct table_row *const *row_list) {}

/* A walk waits until all that has left memory is on disk. */
static void wait_for_disk(struct table *t)
{
    struct table_cursor at = {0};
    assert_true(table_walk(t, &at, 1, TABLE_LOOK, nothing, NULL, NULL) >= 0);
}

/* Rows that were fetched from disk and only read are not written again. */
static void only_what_changed_is_written(void **state)
{
    struct table *t = make();
    struct table_cursor at = {0};
    put_all(t, ROWS, 0);
    for (int64_t id = 0; id < ROWS; id++) {
        get(t, id);
        if (id % 100 == 0) /* so that few are taken back in flight, which counts as changed */
            wait_for_disk(t);
    }
    wait_for_disk(t);
    uint64_t before = stats(t).rows_written;
    for (int64_t id = 0; id < ROWS; id++)
        get(t, id);
    wait_for_disk(t);
    assert_true(stats(t).rows_written - before < 500);
    put_all(t, ROWS, 1);
    wait_for_disk(t);
    assert_true(stats(t).rows_written - before > ROWS * 8 / 10);
    assert_int_equal(table_shrink(t, &at, SIZE_MAX, NULL), SKIFF_END); /* plain: changes nothing */
    assert_int_equal(table_count(t), ROWS);
    table_destroy(t);
}

static void fetch(struct table *t, int64_t first, int64_t n)
{
    int64_t ids[1000];
    for (int64_t i = 0; i < n; i++)
        ids[i] = first + i;
    assert_int_equal(table_fetch_prefetch(t, (const uint8_t *)ids, (size_t)n, NULL), SKIFF_OK);
}

/* Prefetched rows: the owner never reads the disk for them. Changes in between are seen. */
static void rows_are_fetched_prefetch(void **state)
{
    struct table *t = make();
    bool was;
    put_all(t, ROWS, 0);
    uint64_t before = stats(t).fetched;
    fetch(t, 100, 500);
    for (int64_t id = 100; id < 600; id++)
        assert_true(get(t, id) == (float)id);
    assert_true(stats(t).fetched - before >= 450);
    fetch(t, 1000, 100);
    assert_int_equal(table_remove(t, 1000, &was, NULL), SKIFF_OK);
    assert_true(was);
    for (int64_t id = 1001; id < 1010; id++) { /* changed, and gone to disk again */
        float row[WIDTH] = {0, 0, 0, -1};
        assert_int_equal(table_scatter(t, (const uint8_t *)&id, 1, 0, 0, WIDTH, row, NULL),
                         SKIFF_OK);
    }
    for (int64_t id = 5000; id < 15000; id++)
        get(t, id);
    assert_true(get(t, 1000) == 0);
    for (int64_t id = 1001; id < 1010; id++)
        assert_true(get(t, id) == -1);
    fetch(t, ROWS, 10); /* there are none */
    assert_true(get(t, ROWS) == 0);
    for (int i = 0; i < 50; i++) /* more than there is space for */
        fetch(t, i * 400, 400);
    for (int64_t id = 2000; id < ROWS; id += 7)
        assert_true(get(t, id) == (float)id);
    assert_int_equal(table_count(t), ROWS - 1);
    table_destroy(t);
}

/* A missing row is looked up on disk once: for the prefetch, the look-up and the later creation. */
static void new_ids_are_looked_for_once(void **state)
{
    struct table *t = make();
    put_all(t, ROWS, 0);
    fetch(t, ROWS, 500);
    uint64_t before = stats(t).waited;
    for (int64_t id = ROWS; id < ROWS + 500; id++)
        assert_true(get(t, id) == 0);
    assert_int_equal(table_count(t), ROWS);
    for (int64_t id = ROWS; id < ROWS + 500; id++) {
        float row[WIDTH] = {0, 0, 0, 7};
        assert_int_equal(table_scatter(t, (const uint8_t *)&id, 1, TABLE_MAKE, 0, WIDTH, row, NULL),
                         SKIFF_OK);
    }
    assert_int_equal(stats(t).waited, before);
    assert_int_equal(table_count(t), ROWS + 500);
    put_all(t, ROWS, 1); /* they go to disk, and are found there */
    for (int64_t id = ROWS; id < ROWS + 500; id++)
        assert_true(get(t, id) == 7);
    table_destroy(t);
}

#define TRAINERS 6
#define BATCH 1000

static void draw(uint64_t *seed, int64_t rows, int64_t ids[BATCH])
{
    for (int i = 0; i < BATCH; i++) {
        *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        ids[i] = (int64_t)((*seed >> 33) % (uint64_t)rows);
    }
}

/* Trainers pull rows and update them later, after others have pulled theirs: rows do not leave
 * before, however many train at a time. */
static void rows_wait_for_their_update(void **state)
{
    enum { MANY = 100000, MEMORY = 3 << 20, ROUNDS = 100 };
    static int64_t ids[TRAINERS][BATCH];
    static float rows[BATCH][WIDTH];
    char slot[128];
    struct table *t;
    struct table_stats before;
    uint64_t seed = 1;
    struct table_options o = {.accessor = plain(), .limit = {MEMORY, TABLE_SELDOM}, .folder = slot};
    snprintf(slot, sizeof slot, "%s/rows", folder);
    assert_int_equal(table_create(&table_tiered, &o, &t, NULL), SKIFF_OK);
    put_all(t, MANY, 0);
    for (int i = 0; i < TRAINERS * ROUNDS; i++) {
        int64_t *mine = ids[i % TRAINERS];
        const uint8_t *at = (const uint8_t *)mine;
        if (i >= TRAINERS)
            assert_int_equal(table_scatter(t, at, BATCH, 0, 0, WIDTH, rows[0], NULL), SKIFF_OK);
        draw(&seed, MANY, mine);
        assert_int_equal(table_fetch_prefetch(t, at, BATCH, NULL), SKIFF_OK);
        assert_int_equal(table_pull(t, at, BATCH, TABLE_LOOK, rows[0], NULL), SKIFF_OK);
        /* it takes a while until the table has learnt their number */
        if (i == TRAINERS * ROUNDS / 2)
            before = stats(t);
    }
    double misses = (double)(stats(t).misses - before.misses);
    double waited = (double)(stats(t).waited - before.waited);
    assert_true(misses > TRAINERS * ROUNDS / 2 * BATCH / 2);
    if (waited > 0.02 * misses)
        fail_msg("the owner waited for %.0f rows of %.0f", waited, misses);
    table_destroy(t);
}

/* The database's memory, which grows with the rows on disk, is part of the limit: the memory for
 * rows shrinks accordingly. */
static void the_database_is_within_the_limit(void **state)
{
    enum { MANY = 400000, AT_ONCE = 1000, MEMORY = 6 << 20 };
    char slot[128];
    struct table *t;
    struct table_options o = {.accessor = plain(), .limit = {MEMORY, TABLE_SELDOM}, .folder = slot};
    snprintf(slot, sizeof slot, "%s/rows", folder);
    assert_int_equal(table_create(&table_tiered, &o, &t, NULL), SKIFF_OK);
    for (int64_t id = 0; id < MANY; id += AT_ONCE) {
        int64_t ids[AT_ONCE];
        float rows[AT_ONCE][WIDTH] = {{0}};
        for (int64_t i = 0; i < AT_ONCE; i++) {
            ids[i] = id + i;
            rows[i][WIDTH - 1] = (float)(id + i);
        }
        assert_int_equal(
            table_scatter(t, (const uint8_t *)ids, AT_ONCE, TABLE_MAKE, 0, WIDTH, rows[0], NULL),
            SKIFF_OK);
    }
    assert_int_equal(table_count(t), MANY);
    assert_true(stats(t).bytes < MEMORY * 11 / 10);
    for (int64_t id = 0; id < MANY; id += 37)
        assert_true(get(t, id) == (float)id);
    table_destroy(t);
}

struct seen {
    uint8_t times[ROWS];
    size_t n;
};

static void note(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct seen *s = self;
    for (size_t i = 0; i < n; i++) {
        assert_true(row_list[i]->values[0] == (float)row_list[i]->id);
        row_list[i]->values[1] = -7;
        s->times[row_list[i]->id]++;
        s->n++;
    }
}

/* Rows move between memory and disk meanwhile; each is visited once, and its changes stay. */
static void a_walk_sees_every_row_once(void **state)
{
    struct table *t = make();
    struct seen *s = mem_alloc_or_die(sizeof *s);
    struct table_cursor at = {0};
    enum skiff_status status = SKIFF_OK;
    put_all(t, ROWS, 0);
    for (int64_t id = 0; status == SKIFF_OK; id = (id + 997) % (ROWS - 200)) {
        status = table_walk(t, &at, 300, TABLE_CHANGE, note, s, NULL);
        for (int64_t i = 0; i < 200; i++)
            get(t, id + i);
    }
    assert_int_equal(status, SKIFF_END);
    assert_int_equal(s->n, ROWS);
    for (int64_t id = 0; id < ROWS; id++) {
        float row[WIDTH];
        assert_int_equal(s->times[id], 1);
        assert_int_equal(table_pull(t, (const uint8_t *)&id, 1, TABLE_LOOK, row, NULL), SKIFF_OK);
        assert_true(row[0] == (float)id && row[1] == -7);
    }
    free(s);
    table_destroy(t);
}

static void removed_rows_stay_away(void **state)
{
    struct table *t = make();
    bool was;
    put_all(t, ROWS, 0);
    for (int64_t id = 0; id < ROWS; id += 2) {
        assert_int_equal(table_remove(t, id, &was, NULL), SKIFF_OK);
        assert_true(was);
    }
    for (int64_t id = 0; id < ROWS; id++)
        assert_true(get(t, id) == (id % 2 ? (float)id : 0));
    assert_int_equal(table_remove(t, 0, &was, NULL), SKIFF_OK);
    assert_false(was);
    assert_int_equal(table_count(t), ROWS / 2);
    assert_int_equal(stats(t).counts.removed, ROWS / 2);
    table_destroy(t);
}

static void folders_that_cannot_be(void **state)
{
    struct table *t, *second;
    struct skiff_error err;
    char want[256];
    struct table_options o = {.accessor = plain(), .limit = {LIMIT, TABLE_OLDEST}};
    assert_int_equal(table_create(&table_tiered, &o, &t, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "a table of kind tiered needs a limit for memory and a folder "
                                     "for the rows beyond it");
    o.rows = 3;
    assert_int_equal(table_create(&table_tiered, &o, &t, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "a table of kind tiered has no declared number of rows");
    assert_int_equal(create("no/such", &t, &err), SKIFF_IO);
    snprintf(
        want, sizeof want,
        "the folder of the table's rows, %s/no/such, cannot be created: No such file or directory",
        folder);
    assert_string_equal(err.message, want);
    t = make();
    put_all(t, 3000, 0);
    assert_int_equal(create("rows", &second, &err), SKIFF_IO); /* the folder is in use */
    assert_non_null(strstr(err.message, "cannot be cleared: another process uses the "
                                        "folder; give this table another path: "));
    assert_non_null(strstr(err.message, "LOCK"));
    for (int64_t id = 0; id < 3000; id++)
        assert_true(get(t, id) == (float)id);
    table_destroy(t);
}

/* A killed process leaves its files behind; the next one starts without them. */
static void what_is_left_behind_is_wiped(void **state)
{
    char slot[128];
    struct stat st;
    snprintf(slot, sizeof slot, "%s/rows", folder);
    struct table *t = make();
    put_all(t, 3000, 0);
    assert_int_equal(stat(slot, &st), 0);
    table_destroy(t);
    assert_int_not_equal(stat(slot, &st), 0);
    assert_int_equal(mkdir(slot, 0777), 0);
    snprintf(slot, sizeof slot, "%s/rows/CURRENT", folder);
    FILE *f = fopen(slot, "w");
    fputs("nonsense\n", f);
    fclose(f);
    t = make();
    assert_int_equal(table_count(t), 0);
    assert_true(get(t, 5) == 0);
    table_destroy(t);
}

/* Files may not grow past 64 KB, as on a full disk. Rows are written from memory much later than
 * they are sent. */
static void a_full_disk_is_reported_and_loses_nothing_in_memory(void **state)
{
    struct table *t = make();
    struct skiff_error err = {0};
    struct rlimit before, small;
    enum skiff_status status = SKIFF_OK;
    float row[WIDTH] = {1, 2, 3, 4};
    int64_t id = 0;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){64 << 10, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    for (; status == SKIFF_OK && id < 5000000; id++)
        status = table_scatter(t, (const uint8_t *)&id, 1, TABLE_MAKE, 0, WIDTH, row, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, SKIFF_IO);
    assert_non_null(strstr(err.message, "the table's rows in "));
    assert_non_null(strstr(err.message, "cannot be written: "));
    assert_true(table_count(t) >= (size_t)id - 1);
    struct table_cursor at = {0};
    assert_int_equal(table_shrink(t, &at, SIZE_MAX, &err), SKIFF_IO); /* it is not forgotten */
    table_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_rows_are_on_disk_and_none_is_lost),
        cmocka_unit_test(only_what_changed_is_written),
        cmocka_unit_test(rows_are_fetched_prefetch),
        cmocka_unit_test(new_ids_are_looked_for_once),
        cmocka_unit_test(rows_wait_for_their_update),
        cmocka_unit_test(the_database_is_within_the_limit),
        cmocka_unit_test(a_walk_sees_every_row_once),
        cmocka_unit_test(removed_rows_stay_away),
        cmocka_unit_test(folders_that_cannot_be),
        cmocka_unit_test(what_is_left_behind_is_wiped),
        cmocka_unit_test(a_full_disk_is_reported_and_loses_nothing_in_memory),
    };
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(folder) < 0 ? 1 : failed; /* tables leave no files behind */
}
