/* Tables at their limit (src/table/table.h, struct table_limit): bytes stay within it, and the
 * records that leave are those of the policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "table/table.h"
#include "table/table_snapshot.h"

#define WIDTH 3
#define LIMIT ((size_t)256 << 10)

static const struct fill weights = {FILL_UNIFORM, -1, 1, 77};

static struct accessor *plain(void)
{
    static struct accessor a;
    struct accessor_options o = {.nparts = 1, .parts = {{WIDTH, weights}}};
    assert_int_equal(accessor_init(&a, &accessor_plain, &o, NULL), SKIFF_OK);
    return &a;
}

static struct accessor *clicks(void)
{
    static struct accessor a;
    struct accessor_options o = {.ctr = ctr_defaults()};
    o.embed_rule = o.embedx_rule = &sgd_rule_naive;
    o.embed = o.embedx_params = sgd_rule_defaults(&sgd_rule_naive);
    assert_int_equal(accessor_init(&a, &accessor_ctr_common, &o, NULL), SKIFF_OK);
    return &a;
}

static struct table *make(const struct table_options *o)
{
    struct table *t;
    struct skiff_error err;
    if (table_create(&table_hash, o, &t, &err) < 0)
        fail_msg("%s", err.message);
    return t;
}

static struct table *make_limited(const struct accessor *a, enum table_policy policy)
{
    return make(&(struct table_options){.accessor = a, .limit = {LIMIT, policy}, .deltas = true});
}

static void ask(struct table *t, int64_t first, int64_t n, unsigned how)
{
    int64_t ids[1000];
    float out[1000 * WIDTH];
    assert_true(n <= 1000);
    for (int64_t i = 0; i < n; i++)
        ids[i] = first + i;
    assert_int_equal(table_pull(t, (const uint8_t *)ids, (size_t)n, how, out, NULL), SKIFF_OK);
}

static void note_here(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    for (size_t i = 0; i < n; i++)
        *(size_t *)self += row_list[i] != NULL;
}

static size_t here(struct table *t, int64_t first, int64_t n)
{
    size_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t id = first + i;
        assert_int_equal(
            table_each(t, (const uint8_t *)&id, 1, TABLE_LOOK, 8, note_here, &found, NULL),
            SKIFF_OK);
    }
    return found;
}

static void a_table_stays_within_its_limit(void **state)
{
    struct table *t = make_limited(plain(), TABLE_OLDEST);
    struct table_stats s;
    for (int64_t id = 0; id < 100000; id += 500) {
        ask(t, id, 500, TABLE_MAKE);
        assert_true(table_bytes(t) <= LIMIT + sizeof(struct table) + 512);
        table_stats(t, &s);
        assert_int_equal(s.rows + s.counts.evicted, id + 500);
        assert_int_equal(s.counts.admitted, id + 500);
        assert_int_equal(s.bytes, table_bytes(t));
    }
    assert_true(s.rows * t->stride > LIMIT * 6 / 10); /* and uses it */
    assert_true(here(t, 99900, 100) == 100);
    table_destroy(t);
}

/* From the first save on, evicted ids are recorded; the list has its part of the limit. */
static void notes_of_who_went_are_within_the_limit(void **state)
{
    struct table *t = make_limited(plain(), TABLE_OLDEST);
    uint32_t version;
    assert_int_equal(table_snapshot_begin(t, 0, &version, NULL), SKIFF_OK);
    table_snapshot_end(t, true);
    for (int64_t id = 0; id < 100000; id += 500) {
        ask(t, id, 500, TABLE_MAKE);
        assert_true(table_bytes(t) <= LIMIT + sizeof(struct table) + 512);
    }
    table_destroy(t);
}

static void rows_that_are_asked_for_stay(void **state)
{
    struct table *t = make_limited(plain(), TABLE_OLDEST);
    ask(t, 0, 500, TABLE_MAKE);
    for (int64_t id = 1000; id < 60000; id += 100) {
        ask(t, id, 100, TABLE_MAKE);
        ask(t, 0, 500, TABLE_LOOK);
    }
    assert_true(t->counts.evicted > 50000);
    assert_true(here(t, 0, 500) >= 490);
    table_destroy(t);
}

/* Requested more often, though longer ago than others that are requested once each; but not kept
 * forever. */
static void rows_that_are_asked_for_often_stay(void **state)
{
    struct table *t = make_limited(plain(), TABLE_SELDOM);
    for (int i = 0; i < 8; i++)
        ask(t, 0, 500, TABLE_MAKE);
    int64_t id = 1000;
    for (; id < 14000; id += 100)
        ask(t, id, 100, TABLE_MAKE);
    assert_true(t->counts.evicted > 4000);
    assert_true(here(t, 0, 500) >= 490);
    for (; id < 200000; id += 100)
        ask(t, id, 100, TABLE_MAKE);
    assert_true(here(t, 0, 500) < 100);
    table_destroy(t);
}

static void rows_of_low_score_go_first(void **state)
{
    struct table *t = make_limited(clicks(), TABLE_LOWEST);
    for (int64_t id = 0; id < 60000; id++) {
        bool good = id % 100 == 0; /* 600: score 2, the others 0.1 */
        float row[4] = {0, good ? 2 : 1, good ? 2 : 0, 0};
        assert_int_equal(table_push(t, (const uint8_t *)&id, 1, TABLE_MAKE, row, NULL), SKIFF_OK);
    }
    size_t good = 0;
    for (int64_t id = 0; id < 60000; id += 100)
        good += here(t, id, 1);
    assert_true(t->counts.evicted > 50000);
    assert_int_equal(good, 600);
    table_destroy(t);
}

static enum skiff_status no_line(void *self, int64_t id, const char *line, size_t n,
                                 struct skiff_error *err)
{
    return SKIFF_OK;
}

/* A save of mode 3 ends a day. */
static void rows_that_were_not_seen_for_days_go_first(void **state)
{
    struct table *t = make_limited(clicks(), TABLE_OLDEST);
    struct table_cursor at = {0};
    float row[4] = {0, 1, 0, 0};
    for (int64_t id = 0; id < 1000; id++)
        assert_int_equal(table_push(t, (const uint8_t *)&id, 1, TABLE_MAKE, row, NULL), SKIFF_OK);
    assert_int_equal(table_export(t, SAVE_BATCH, &at, SIZE_MAX, no_line, NULL, NULL), SKIFF_END);
    for (int64_t id = 0; id < 500; id++) /* half of them are seen today */
        assert_int_equal(table_push(t, (const uint8_t *)&id, 1, 0, row, NULL), SKIFF_OK);
    for (int64_t id = 1000; t->counts.evicted < 450; id++)
        assert_int_equal(table_push(t, (const uint8_t *)&id, 1, TABLE_MAKE, row, NULL), SKIFF_OK);
    assert_true(here(t, 500, 500) < 250);
    assert_true(here(t, 0, 500) > 400);
    table_destroy(t);
}

static void those_who_wait_have_a_limit(void **state)
{
    struct table_options o = {.accessor = plain(),
                              .admission = {ADMISSION_COUNT, .count = 3},
                              .limit = {LIMIT, TABLE_OLDEST}};
    struct table *t = make(&o);
    for (int64_t id = 0; id < 200000; id += 1000) {
        ask(t, 1000000, 20, TABLE_MAKE); /* these are requested again and again */
        ask(t, id, 1000, TABLE_MAKE);
        assert_true(table_bytes(t) <= LIMIT + sizeof(struct table) + 512);
    }
    assert_true(waiting_bytes(t->waiting) <= LIMIT / 8);
    assert_true(waiting_count(t->waiting) > 500);
    assert_true(here(t, 1000000, 20) >= 15);
    table_destroy(t);
}

/* Evicted rows are removals for deltas, and a running snapshot has their old values. */
static void snapshots_know_who_left(void **state)
{
    struct table *t = make_limited(plain(), TABLE_OLDEST);
    struct table_options whole = {.accessor = t->accessor};
    struct table *copy = make(&whole);
    uint32_t version;
    const int64_t *gone;
    size_t n;
    char *out = mem_alloc_or_die(100 * t->stride);
    ask(t, 0, 1000, TABLE_MAKE);
    ask(t, 1000, 1000, TABLE_MAKE);
    assert_int_equal(table_snapshot_begin(t, 0, &version, NULL), SKIFF_OK);
    enum skiff_status status = SKIFF_OK;
    for (int64_t id = 10000; status == SKIFF_OK; id += 800) {
        status = table_snapshot_next(t, 100, out, &n, NULL);
        for (size_t i = 0; i < n; i++)
            table_put(copy, (struct table_row *)(void *)(out + i * t->stride), NULL);
        ask(t, id, 800, TABLE_MAKE);
    }
    assert_int_equal(status, SKIFF_END);
    table_snapshot_end(t, true);
    assert_int_equal(table_count(copy), 2000);
    assert_int_equal(here(copy, 0, 2000), 2000);
    assert_true(t->counts.evicted > 2000); /* more than the list has space for */
    assert_int_equal(table_snapshot_begin(t, 0, &version, NULL), SKIFF_OK);
    table_snapshot_end(t, true);
    uint64_t before = t->counts.evicted;
    ask(t, 100000, 500, TABLE_MAKE);
    assert_true(t->counts.evicted > before + 400);
    assert_int_equal(table_snapshot_begin(t, version, &version, NULL), SKIFF_OK);
    n = table_snapshot_gone(t, &gone);
    assert_int_equal(n, t->counts.evicted - before);
    table_destroy(t);
    table_destroy(copy);
    free(out);
}

static void notes_of_who_went_are_bounded(void **state)
{
    struct table *t = make_limited(plain(), TABLE_OLDEST);
    struct skiff_error err;
    uint32_t first, second;
    size_t n;
    char out[256];
    assert_int_equal(table_snapshot_begin(t, 0, &first, NULL), SKIFF_OK);
    table_snapshot_end(t, true);
    size_t before = table_bytes(t);
    for (int64_t id = 0; id < 400000; id += 1000)
        ask(t, id, 1000, TABLE_MAKE);
    assert_true(table_bytes(t) - before < LIMIT + 1024);
    assert_int_equal(table_snapshot_begin(t, first, &second, &err), SKIFF_STATE);
    assert_string_equal(err.message,
                        "changes since snapshot 1: the rows removed then are no longer known; "
                        "take a full snapshot");
    assert_int_equal(table_snapshot_begin(t, 0, &first, NULL), SKIFF_OK);
    table_snapshot_end(t, true);
    assert_int_equal(table_snapshot_begin(t, first, &second, NULL), SKIFF_OK);
    for (int64_t id = 1000000; id < 1400000; id += 1000)
        ask(t, id, 1000, TABLE_MAKE);
    assert_true(table_snapshot_lost(t));
    assert_int_equal(table_snapshot_next(t, 1, out, &n, &err), SKIFF_STATE);
    assert_string_equal(err.message,
                        "changes since snapshot 2: more rows were removed meanwhile than "
                        "can be recorded; take a full snapshot");
    table_destroy(t);
}

static void limits_that_cannot_be(void **state)
{
    struct table *t;
    struct skiff_error err;
    struct table_options o = {.accessor = plain(), .limit = {1000, TABLE_OLDEST}};
    assert_int_equal(table_create(&table_hash, &o, &t, &err), SKIFF_INVALID);
    assert_string_equal(err.message,
                        "a limit of 1000 bytes for a table whose rows take 32: its part for rows "
                        "in memory is 1000, and must be at least 32800");
    o.limit = (struct table_limit){1 << 20, TABLE_LOWEST};
    assert_int_equal(table_create(&table_hash, &o, &t, &err), SKIFF_INVALID);
    assert_string_equal(err.message,
                        "accessor plain has no score by which rows could be evicted at the "
                        "table's limit; use eviction by age");
    o.limit.policy = TABLE_OLDEST;
    o.rows = 10;
    assert_int_equal(table_create(&table_array, &o, &t, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "a table of 10 declared rows has no limit: its rows cannot "
                                     "be evicted; use kind hash or tiered");
    o.rows = 0;
    o.limit.bytes = 60000;
    o.admission.kind = ADMISSION_COUNT;
    assert_int_equal(table_create(&table_hash, &o, &t, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "the table's limit leaves 7500 bytes for ids that wait; "
                                     "13168 are needed at least");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_stays_within_its_limit),
        cmocka_unit_test(notes_of_who_went_are_within_the_limit),
        cmocka_unit_test(rows_that_are_asked_for_stay),
        cmocka_unit_test(rows_that_are_asked_for_often_stay),
        cmocka_unit_test(rows_of_low_score_go_first),
        cmocka_unit_test(rows_that_were_not_seen_for_days_go_first),
        cmocka_unit_test(those_who_wait_have_a_limit),
        cmocka_unit_test(snapshots_know_who_left),
        cmocka_unit_test(notes_of_who_went_are_bounded),
        cmocka_unit_test(limits_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
