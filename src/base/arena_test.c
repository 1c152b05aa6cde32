#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"

static void blocks_are_zeroed_aligned_apart(void **state)
{
    struct arena a;
    unsigned char *p[500];
    arena_init(&a);
    for (int i = 0; i < 500; i++) {
        p[i] = arena_alloc(&a, (size_t)i);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        for (int j = 0; j < i; j++)
            assert_int_equal(p[i][j], 0);
        memset(p[i], i & 255, (size_t)i);
    }
    for (int i = 0; i < 500; i++)
        for (int j = 0; j < i; j++)
            assert_int_equal(p[i][j], i & 255);
    arena_deinit(&a);
    assert_null(a.first);
}

static void large_block_gets_its_own_chunk(void **state)
{
    struct arena a;
    arena_init(&a);
    char *small = arena_strdup(&a, "small");
    char *big = arena_alloc(&a, 10 << 20);
    memset(big, 1, 10 << 20);
    char *after = arena_strdup(&a, "after");
    assert_string_equal(small, "small");
    assert_string_equal(after, "after");
    arena_deinit(&a);
}

static void strings(void **state)
{
    struct arena a;
    arena_init(&a);
    assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
    assert_string_equal(arena_strndup(&a, "ab", 30), "ab");
    assert_string_equal(arena_strdup(&a, ""), "");
    assert_string_equal(arena_printf(&a, "%s_%d.w_%d", "fc", 3, 0), "fc_3.w_0");
    char long_text[20000];
    memset(long_text, 'z', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    assert_string_equal(arena_printf(&a, "%s", long_text), long_text);
    int v[3] = {1, 2, 3}, *w = arena_memdup(&a, v, sizeof v);
    assert_memory_equal(w, v, sizeof v);
    assert_non_null(arena_memdup(&a, NULL, 0));
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_zeroed_aligned_apart),
        cmocka_unit_test(large_block_gets_its_own_chunk),
        cmocka_unit_test(strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
