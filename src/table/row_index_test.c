#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "table/changed.h"
#include "table/fill.h"
#include "table/row_index.h"

static void ids_get_rows_in_order(void **state)
{
    struct row_index *t = row_index_create();
    int64_t ids[6] = {7, INT64_MAX, 7, -3, 0, INT64_MIN}, rows[6];
    uint8_t bytes[sizeof ids + 1];
    size_t first;
    memcpy(bytes + 1, ids, sizeof ids); /* unaligned */
    assert_int_equal(row_index_find(t, 7), -1);
    assert_int_equal(row_index_rows(t, bytes + 1, 6, rows, &first, NULL), SKIFF_OK);
    int64_t expected[6] = {0, 1, 0, 2, 3, 4};
    assert_memory_equal(rows, expected, sizeof rows);
    assert_int_equal(first, 0);
    assert_int_equal(row_index_count(t), 5);
    assert_int_equal(row_index_rows(t, bytes + 1, 6, rows, &first, NULL), SKIFF_OK);
    assert_memory_equal(rows, expected, sizeof rows);
    assert_int_equal(first, 5);
    assert_int_equal(row_index_find(t, INT64_MIN), 4);
    assert_int_equal(row_index_ids(t)[1], INT64_MAX);
    row_index_destroy(t);
}

/* Many ids, in steps of a server count: none is lost while the map grows. */
static void growing_keeps_all(void **state)
{
    enum { BATCH = 1000, BATCHES = 100 };
    struct row_index *t = row_index_create();
    int64_t ids[BATCH], rows[BATCH];
    size_t first;
    for (int b = 0; b < BATCHES; b++) {
        for (int i = 0; i < BATCH; i++)
            ids[i] = ((int64_t)b * BATCH + i) * 5 + 3;
        assert_int_equal(row_index_rows(t, (const uint8_t *)ids, BATCH, rows, &first, NULL),
                         SKIFF_OK);
        assert_int_equal(first, b * BATCH);
        assert_int_equal(rows[BATCH - 1], b * BATCH + BATCH - 1);
    }
    for (int64_t i = 0; i < BATCH * BATCHES; i++)
        assert_int_equal(row_index_find(t, i * 5 + 3), i);
    assert_int_equal(row_index_find(t, 4), -1);
    row_index_destroy(t);
}

static void fills_hang_on_the_id_alone(void **state)
{
    enum { N = 4000, WIDTH = 5 };
    static const enum fill_kind kinds[] = {FILL_UNIFORM, FILL_GAUSSIAN, FILL_TRUNCATED};
    for (int k = 0; k < 3; k++) {
        struct fill f = {kinds[k], kinds[k] == FILL_UNIFORM ? -1 : 0.5f, 2, fill_key(9, "emb")};
        double sum = 0, squares = 0;
        float row[WIDTH], again[WIDTH], worst = 0;
        for (int64_t id = 0; id < N; id++) {
            fill_row(&f, id * 7, row, WIDTH);
            for (int c = 0; c < WIDTH; c++) {
                sum += row[c];
                squares += (row[c] - 0.5) * (row[c] - 0.5);
                worst = fmaxf(worst, fabsf(row[c] - 0.5f));
            }
        }
        double variance = squares / (N * WIDTH);
        double expected = k == 0 ? 9.0 / 12 : k == 1 ? 4 : 4 * 0.774;
        assert_true(fabs(sum / (N * WIDTH) - 0.5) < 0.05);
        assert_true(fabs(variance / expected - 1) < 0.04);
        assert_true(worst <= (k == 0 ? 1.5f : k == 1 ? 20.f : 4.0001f));
        fill_row(&f, 7, row, WIDTH);
        fill_row(&f, 7, again, WIDTH);
        assert_memory_equal(row, again, sizeof row);
        f.key = fill_key(9, "emb2");
        fill_row(&f, 7, again, WIDTH);
        assert_memory_not_equal(row, again, sizeof row);
    }
    struct fill constant = {.kind = FILL_CONSTANT, .a = 0.25f};
    float one[2];
    fill_row(&constant, 3, one, 2);
    assert_true(one[0] == 0.25f && one[1] == 0.25f);
}

static void changed_rows_come_once_and_sorted(void **state)
{
    struct changed c = {0};
    int64_t a[] = {100, 3, 3, 64}, b[] = {64, 100000};
    changed_add(&c, a, 4);
    changed_add(&c, b, 2);
    assert_int_equal(changed_take(&c), 4);
    int64_t expected[] = {3, 64, 100, 100000};
    assert_memory_equal(c.rows, expected, sizeof expected);
    assert_int_equal(changed_take(&c), 0);
    changed_add(&c, b, 1);
    assert_int_equal(changed_take(&c), 1);
    changed_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_get_rows_in_order),
        cmocka_unit_test(growing_keeps_all),
        cmocka_unit_test(fills_hang_on_the_id_alone),
        cmocka_unit_test(changed_rows_come_once_and_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
