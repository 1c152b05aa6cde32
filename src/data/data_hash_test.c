/* Expected numbers: libxxhash 0.8.1 and Python 3.7's own hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "data/hash.h"

static void test_xxh64_published(void **state)
{
    char bytes[101];
    for (int i = 0; i < 101; i++)
        bytes[i] = (char)(i * 7 + 3);
    assert_int_equal(hash_xxh64("", 0, 0), 0xef46db3751d8e999ull);
    assert_int_equal(hash_xxh64("a", 1, 0), 0xd24ec4f1a98c6e5bull);
    assert_int_equal(hash_xxh64("abc", 3, 0), 0x44bc2cf5ad770999ull);
    assert_int_equal(hash_xxh64("Nobody inspects the spammish repetition", 39, 0),
                     0xfbcea83c8a378bf1ull);
    static const struct {
        size_t n;
        uint64_t seed, want;
    } cases[] = {
        {4, 0x0ull, 0x9bb64b7d66ee9fdaull},   {4, 0x9e3779b97f4a7c15ull, 0x6f0a6c97d68bf353ull},
        {8, 0x0ull, 0xdab99d95c6f90092ull},   {8, 0x9e3779b97f4a7c15ull, 0xa2f1e28437a78a1bull},
        {12, 0x0ull, 0xd52e407833af5133ull},  {12, 0x9e3779b97f4a7c15ull, 0xbcc9f0d616ff9a7bull},
        {31, 0x0ull, 0xa2aa5f33cc4a6119ull},  {31, 0x9e3779b97f4a7c15ull, 0x755437271d1d0a84ull},
        {32, 0x0ull, 0x23c3c17ef790fd97ull},  {32, 0x9e3779b97f4a7c15ull, 0xbf624b932c090428ull},
        {33, 0x0ull, 0x50a7cfc7ba588784ull},  {33, 0x9e3779b97f4a7c15ull, 0x7aceaf1e9d34ea35ull},
        {40, 0x0ull, 0xb620306b253d76b6ull},  {40, 0x9e3779b97f4a7c15ull, 0x3b3666e250c83a50ull},
        {63, 0x0ull, 0x5e3e54b431c7493cull},  {63, 0x9e3779b97f4a7c15ull, 0x2c8ddce5c85d0d9dull},
        {64, 0x0ull, 0xeb64b3ef6eeb01full},   {64, 0x9e3779b97f4a7c15ull, 0x4af341f14e3a6fc9ull},
        {101, 0x0ull, 0xbad4d3bf033bda4cull}, {101, 0x9e3779b97f4a7c15ull, 0x9a5f95077eaecb78ull},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(hash_xxh64(bytes, cases[i].n, cases[i].seed), cases[i].want);
    /* C1 = 05db9164 of a Criteo line */
    assert_int_equal(hash_xxh64("1405db9164", 10, 0), 0xdc35777db08125b2ull);
    assert_int_equal(hash_xxh64("1405db9164", 10, 0) % 1000001, 305721);
}

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
        cmocka_unit_test(test_xxh64_published),   cmocka_unit_test(test_xxh64_in_registers),
        cmocka_unit_test(test_mod_by_reciprocal), cmocka_unit_test(test_python),
        cmocka_unit_test(test_long_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
