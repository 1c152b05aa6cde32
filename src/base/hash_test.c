/* Expected numbers: xxhsum 0.8.1, and Python 3.7 with PYTHONHASHSEED=0, whose hash is SipHash.
 * Whoever links another library must get the same ones: they are in models and files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"

static void xxh64(void **state)
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

static void xxh3(void **state)
{
    assert_int_equal(hash_xxh3("", 0, 0), 0x2d06800538d394c2ull);
    assert_int_equal(hash_xxh3("abc", 3, 0), 0x78af5f94892f3950ull);
    assert_int_not_equal(hash_xxh3("abc", 3, 1), hash_xxh3("abc", 3, 0));
}

/* In pieces of any size the same as at once. */
static void stream(void **state)
{
    static char bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * i);
    for (size_t piece = 1; piece < 3000; piece = piece * 2 + 1) {
        struct hash_stream *s = hash_stream_create();
        assert_int_equal(hash_stream_value(s), hash_xxh3("", 0, 0));
        for (size_t at = 0; at < sizeof bytes; at += piece)
            hash_stream_add(s, bytes + at, at + piece < sizeof bytes ? piece : sizeof bytes - at);
        assert_int_equal(hash_stream_value(s), hash_xxh3(bytes, sizeof bytes, 0));
        hash_stream_destroy(s);
    }
    hash_stream_destroy(NULL);
}

static void siphash(void **state)
{
    assert_int_equal(hash_siphash24("1405db9164", 10), 85234960249098367ull);
    assert_int_equal(hash_siphash24("39001f3601", 10), 7201238941617088269ull);
    assert_int_equal((int64_t)hash_siphash24("14", 2), -304569110075251198);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xxh64),
        cmocka_unit_test(xxh3),
        cmocka_unit_test(stream),
        cmocka_unit_test(siphash),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
