#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define MANY 20000

static void many_keys_in_order(void **state)
{
    struct str_map m;
    char(*keys)[24] = malloc(MANY * sizeof *keys);
    str_map_init(&m);
    assert_null(str_map_get(&m, "x"));
    assert_false(str_map_has(&m, "x"));
    assert_false(str_map_remove(&m, "x"));
    for (int i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "fc_%d.tmp_%d", i / 3, i % 3);
        str_map_put(&m, keys[i], &keys[i]);
    }
    assert_int_equal(m.count, MANY);
    for (int i = 0; i < MANY; i++) {
        char copy[24];
        memcpy(copy, keys[i], sizeof copy);
        assert_ptr_equal(str_map_get(&m, copy), &keys[i]);
        assert_ptr_equal(m.entries[i].key, keys[i]);
    }
    assert_null(str_map_get(&m, "fc_1.tmp_3"));
    str_map_deinit(&m);
    assert_int_equal(m.count, 0);
    free(keys);
}

static void put_replaces_and_keeps_place(void **state)
{
    struct str_map m;
    int a, b, c;
    str_map_init(&m);
    str_map_put(&m, "a", &a);
    str_map_put(&m, "b", &b);
    str_map_put(&m, "a", &c);
    str_map_put(&m, "none", NULL);
    assert_int_equal(m.count, 3);
    assert_ptr_equal(m.entries[0].value, &c);
    assert_null(str_map_get(&m, "none"));
    assert_true(str_map_has(&m, "none"));
    str_map_deinit(&m);
}

static void removal_keeps_order(void **state)
{
    struct str_map m;
    char keys[300][8];
    str_map_init(&m);
    for (int i = 0; i < 300; i++) {
        snprintf(keys[i], sizeof keys[i], "v%d", i);
        str_map_put(&m, keys[i], keys[i]);
    }
    for (int i = 0; i < 300; i += 3)
        assert_true(str_map_remove(&m, keys[i]));
    assert_false(str_map_remove(&m, "v0"));
    assert_int_equal(m.count, 200);
    size_t at = 0;
    for (int i = 0; i < 300; i++) {
        assert_int_equal(str_map_has(&m, keys[i]), i % 3 != 0);
        if (i % 3)
            assert_ptr_equal(m.entries[at++].value, keys[i]);
    }
    str_map_put(&m, "v0", keys[0]);
    assert_ptr_equal(m.entries[200].value, keys[0]);
    while (m.count)
        assert_true(str_map_remove(&m, m.entries[0].key));
    assert_false(str_map_has(&m, "v1"));
    str_map_deinit(&m);
}

/* Values written down once: they may be stored, so they must never change. */
static void hash_is_stable(void **state)
{
    assert_int_equal(hash_bytes("", 0), 0xda829b9679105244ull);
    assert_int_equal(hash_bytes("fc_0.w_0", 8), 0x727032bf5d0514f7ull);
    assert_int_equal(hash_bytes("embedding_0.w_0@GRAD", 20), 0x2c6ff980dc43e18dull);
    assert_int_not_equal(hash_bytes("a", 1), hash_bytes("a\0", 2));
}

static void hash_spreads(void **state)
{
    enum { BUCKETS = 1024 };
    static int load[BUCKETS];
    char key[32];
    for (int i = 0; i < 16 * BUCKETS; i++) {
        int n = snprintf(key, sizeof key, "slot_%d", i);
        load[hash_bytes(key, (size_t)n) % BUCKETS]++;
    }
    for (int i = 0; i < BUCKETS; i++)
        assert_in_range(load[i], 1, 48);
}

static void ids_get_dense_numbers(void **state)
{
    static const int64_t ids[] = {7, -1, 7, INT64_MIN, 0, -1, INT64_MAX, 0, 7};
    static const uint32_t want[] = {0, 1, 0, 2, 3, 1, 4, 3, 0};
    struct id_map m;
    id_map_init(&m);
    for (int round = 0; round < 5; round++) {
        id_map_reset(&m, 9);
        uint32_t seen = 0;
        for (int i = 0; i < 9; i++) {
            bool fresh;
            assert_int_equal(id_map_add(&m, ids[i], &fresh), want[i]);
            assert_int_equal(fresh, want[i] == seen);
            seen += fresh;
        }
        assert_int_equal(m.count, 5);
    }
    id_map_deinit(&m);
}

static void many_ids(void **state)
{
    struct id_map m;
    id_map_init(&m);
    for (int64_t stride = 1; stride < (int64_t)1 << 40; stride *= 1024) {
        id_map_reset(&m, MANY);
        for (int twice = 0; twice < 2; twice++)
            for (int64_t i = 0; i < MANY; i++) {
                bool fresh;
                assert_int_equal(id_map_add(&m, i * stride, &fresh), i);
                assert_int_equal(fresh, !twice);
            }
    }
    struct id_map_slot *kept = m.slot;
    id_map_reset(&m, 10);
    assert_ptr_equal(m.slot, kept); /* no new memory for a smaller batch */
    assert_int_equal(m.count, 0);
    id_map_deinit(&m);
}

static void generation_wraps(void **state)
{
    struct id_map m;
    bool fresh;
    id_map_init(&m);
    id_map_reset(&m, 4);
    id_map_add(&m, 5, &fresh); /* stamped with generation 1 */
    m.generation = UINT32_MAX;
    id_map_reset(&m, 4);
    assert_int_equal(m.generation, 1);
    id_map_add(&m, 5, &fresh);
    assert_true(fresh);
    id_map_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_keys_in_order),
        cmocka_unit_test(put_replaces_and_keeps_place),
        cmocka_unit_test(removal_keeps_order),
        cmocka_unit_test(hash_is_stable),
        cmocka_unit_test(hash_spreads),
        cmocka_unit_test(ids_get_dense_numbers),
        cmocka_unit_test(many_ids),
        cmocka_unit_test(generation_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
