#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void counts_bytes_and_calls(void **state)
{
    size_t before = mem_in_use();
    uint64_t calls = mem_alloc_count();
    void *a, *b;
    assert_int_equal(mem_alloc(1000, "a", &a, NULL), SKIFF_OK);
    assert_int_equal(mem_alloc(0, "b", &b, NULL), SKIFF_OK);
    assert_non_null(b);
    assert_int_equal(mem_in_use(), before + 1000);
    assert_true(mem_peak() >= before + 1000);
    assert_true(mem_of_machine() > mem_peak());
    assert_int_equal(mem_alloc_count(), calls + 2);
    mem_free(a);
    mem_free(b);
    mem_free(NULL);
    assert_int_equal(mem_in_use(), before);
    assert_true(mem_peak() >= before + 1000);
}

static void is_aligned_and_writable(void **state)
{
    static const size_t sizes[] = {1, 63, 64, 65, 4096, 1 << 20, (1 << 20) + 1, 5 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *p;
        assert_int_equal(mem_alloc(sizes[i], "block", &p, NULL), SKIFF_OK);
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 0x77, sizes[i]);
        mem_free(p);
    }
}

static void large_blocks_are_staggered(void **state)
{
    void *p[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(mem_alloc(8 << 20, "table", &p[i], NULL), SKIFF_OK);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_int_not_equal((uintptr_t)p[i] % 4096, (uintptr_t)p[j] % 4096);
    for (int i = 0; i < 4; i++)
        mem_free(p[i]);
}

static void maps_cost_what_is_claimed(void **state)
{
    size_t before = mem_in_use(), bytes = (size_t)64 << 20;
    struct skiff_error err;
    void *p;
    assert_int_equal(mem_map(bytes, 0, "rows", &p, &err), SKIFF_OK);
    assert_int_equal((uintptr_t)p % (2 << 20), 0);
    assert_int_equal(mem_in_use(), before);
    assert_int_equal(mem_claim(5000, "rows", &err), SKIFF_OK);
    assert_int_equal(mem_in_use(), before + 5000);
    for (size_t i = 0; i < bytes; i += bytes / 8)
        assert_int_equal(((char *)p)[i], 0);
    ((char *)p)[bytes - 1] = 1;
    mem_set_limit(mem_in_use() + 10);
    assert_int_equal(mem_claim(11, "rows", &err), SKIFF_NOMEM);
    mem_set_limit(SIZE_MAX);
    assert_non_null(strstr(err.message, "rows: needs 11 bytes"));
    mem_unclaim(5000);
    mem_unmap(p, bytes);
    mem_unmap(NULL, bytes);
    assert_int_equal(mem_in_use(), before);
    assert_int_equal(mem_map((size_t)1 << 62, 0, "rows", &p, &err), SKIFF_NOMEM);
    assert_non_null(strstr(err.message, "rows: the system has no 4611686018427387904 bytes"));
}

static void refuses_what_the_machine_lacks(void **state)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2, (size_t)1 << 60};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct skiff_error err;
        void *p = &err;
        size_t before = mem_in_use();
        assert_int_equal(mem_alloc(sizes[i], "the table emb", &p, &err), SKIFF_NOMEM);
        assert_ptr_equal(p, &err);
        assert_non_null(strstr(err.message, "the table emb"));
        assert_int_equal(mem_in_use(), before);
    }
}

static void or_die_gives_zeroes(void **state)
{
    char *p = mem_alloc_or_die(100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(p[i], 0);
    memset(p, 1, 100);
    p = mem_grow_or_die(p, 100000);
    assert_int_equal(p[99], 1);
    free(p);
    p = mem_strdup_or_die("word");
    assert_string_equal(p, "word");
    free(p);
    p = mem_alloc_or_die(0);
    assert_non_null(p);
    free(p);
}

static void sizes_do_not_overflow(void **state)
{
    size_t v = 0;
    assert_true(mem_mul(3, 5, &v));
    assert_int_equal(v, 15);
    assert_false(mem_mul(SIZE_MAX, 2, &v));
    assert_true(mem_add(3, 5, &v));
    assert_int_equal(v, 8);
    assert_false(mem_add(SIZE_MAX, 1, &v));
}

static void *churn(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        void *p;
        if (mem_alloc((size_t)i, "churn", &p, NULL) < 0)
            return arg;
        mem_free(p);
    }
    return NULL;
}

static void many_threads_keep_the_count(void **state)
{
    size_t before = mem_in_use();
    uint64_t calls = mem_alloc_count();
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, churn, t), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(t[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(mem_in_use(), before);
    assert_int_equal(mem_alloc_count(), calls + 8000);
}

static void limit_of_all(void **state)
{
    void *a = NULL, *b = NULL;
    struct skiff_error err;
    mem_set_limit(mem_in_use() + 3000);
    assert_int_equal(mem_alloc(2000, "first", &a, &err), SKIFF_OK);
    assert_int_equal(mem_alloc(2000, "second", &b, &err), SKIFF_NOMEM);
    assert_non_null(strstr(err.message, "second: needs 2000 bytes"));
    mem_free(a);
    assert_int_equal(mem_alloc(2000, "second", &b, &err), SKIFF_OK);
    mem_free(b);
    mem_set_limit(SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_of_all),
        cmocka_unit_test(counts_bytes_and_calls),
        cmocka_unit_test(is_aligned_and_writable),
        cmocka_unit_test(large_blocks_are_staggered),
        cmocka_unit_test(maps_cost_what_is_claimed),
        cmocka_unit_test(refuses_what_the_machine_lacks),
        cmocka_unit_test(or_die_gives_zeroes),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(many_threads_keep_the_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
