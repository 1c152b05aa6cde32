/* Expected numbers: Python 3.7's own hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "data/hash.h"

static void test_xxh64_in_registers(void **state)
{
    struct mt64 r;
    mt64_seed(&r, 11);
    for (int i = 0; i < 1000; i++) {
        uint64_t value = mt64_next(&r), prefix = mt64_next(&r) & 0xffff;
        char bytes[10];
        memcpy(bytes, &prefix, 2);
        memcpy(bytes + 2, &value, 8);
        assert_int_equal(hash_xxh64_2_8(prefix, value), hash_xxh64(bytes, 10, 0));
    }
}

static void test_mod_by_reciprocal(void **state)
{
    static const uint64_t sizes[] = {1,        2,          3,          10,         1000001,
                                     1u << 20, UINT32_MAX, 1ull << 32, 1ull << 63, UINT64_MAX};
    struct mt64 r;
    mt64_seed(&r, 12);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct hasher h = hasher_of(HASH_XXH64, sizes[k]);
        uint64_t edges[] = {0, 1, sizes[k] - 1, sizes[k], sizes[k] + 1, UINT64_MAX, UINT64_MAX - 1};
        for (int i = 0; i < 2000; i++) {
            uint64_t x = i < 7 ? edges[i] : mt64_next(&r) >> (i % 64);
            assert_int_equal(hasher_mod(&h, x), x % sizes[k]);
        }
    }
}

/* hash(s) % 1000001 of Python 3.7 with PYTHONHASHSEED=0, and hash(s) itself. */
static void test_python(void **state)
{
    struct hash_prefix c14 = {"14", 2}, c39 = {"39", 2};
    struct hasher mod = hasher_of(HASH_PYTHON, 1000001), whole = hasher_of(HASH_PYTHON, 0);
    assert_int_equal(hasher_id(&mod, &c14, "05db9164", 8), 223353);
    assert_int_equal(hasher_id(&whole, &c14, "05db9164", 8), 85234960249098367ll);
    assert_int_equal(hasher_id(&mod, &c39, "001f3601", 8), 347884);
    assert_int_equal(hasher_id(&whole, &c39, "001f3601", 8), 7201238941617088269ll);
    assert_int_equal(hasher_id(&mod, &c14, "", 0), 554309);
    assert_int_equal(hasher_id(&whole, &c14, "", 0), -304569110075251198ll);
    assert_int_equal(hasher_id(&mod, &c39, "", 0), 663456);
    assert_int_equal(hasher_id(&whole, &c39, "", 0), -4778438540214098325ll);
}

static void test_long_values(void **state)
{
    char value[1000];
    struct hash_prefix c = {"20", 2};
    struct hasher h = hasher_of(HASH_XXH64, 0);
    char whole[1002] = "20";
    for (size_t n = 0; n < sizeof value; n++) {
        value[n] = whole[n + 2] = (char)(n * 31);
        assert_int_equal(hasher_id(&h, &c, value, n), (int64_t)hash_xxh64(whole, n + 2, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xxh64_in_registers),
        cmocka_unit_test(test_mod_by_reciprocal),
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_long_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
