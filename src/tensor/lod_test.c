#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tensor/lod.h"

static struct lod *lod_of(int nlevels, const int64_t *counts, const int64_t *offsets)
{
    struct lod *l = NULL;
    assert_int_equal(lod_build(&l, nlevels, counts, NULL), SKIFF_OK);
    for (int k = 0; k < nlevels; k++)
        for (int64_t i = 0; i < counts[k]; i++)
            l->level[k].off[i] = *offsets++;
    return l;
}

#define COUNTS(...) ((int64_t[]){__VA_ARGS__})

static void good_lods(void **state)
{
    static const struct {
        int nlevels;
        int64_t counts[4], offsets[16], dim0;
    } c[] = {
        {0, {0}, {0}, 17},
        {1, {1}, {0}, 0},
        {1, {4}, {0, 2, 2, 5}, 5},
        {2, {3, 4}, {0, 1, 3, /**/ 0, 2, 4, 9}, 9},
        {3, {2, 3, 4}, {0, 2, /**/ 0, 2, 3, /**/ 0, 1, 1, 4}, 4},
        {1, {3}, {0, 0, 0}, 0},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct lod *l = lod_of(c[i].nlevels, c[i].counts, c[i].offsets);
        assert_int_equal(lod_check(l, c[i].dim0, "x", NULL), SKIFF_OK);
        if (c[i].nlevels)
            assert_int_equal(lod_check(l, c[i].dim0 + 1, "x", NULL), SKIFF_SHAPE);
        lod_unref(l);
    }
    assert_int_equal(lod_check(NULL, 3, "x", NULL), SKIFF_OK);
}

static void bad_lods(void **state)
{
    static const struct {
        int nlevels;
        int64_t counts[4], offsets[16], dim0;
        const char *says;
    } c[] = {
        {1, {0}, {0}, 0, "slot_3: lod level 0 is empty"},
        {1, {3}, {1, 2, 5}, 5, "starts with 1"},
        {1, {4}, {0, 3, 2, 5}, 5, "decreases at 2: 2 after 3"},
        {1, {3}, {0, -2, 5}, 5, "decreases at 1: -2 after 0"},
        {1, {3}, {0, 2, 6}, 5, "ends with 6, but there are 5 rows"},
        {2, {3, 4}, {0, 1, 2, /**/ 0, 2, 4, 9}, 9, "ends with 2, but there are 3 sequences"},
        {2, {3, 4}, {0, 1, 3, /**/ 0, 2, 4, 8}, 9, "level 1 ends with 8, but there are 9 rows"},
        {2, {2, 0}, {0, 0}, 0, "ends with 0, but there are -1 sequences"},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct skiff_error err;
        struct lod *l = lod_of(c[i].nlevels, c[i].counts, c[i].offsets);
        assert_int_equal(lod_check(l, c[i].dim0, "slot_3", &err), SKIFF_SHAPE);
        assert_non_null(strstr(err.message, c[i].says));
        lod_unref(l);
    }
}

static void make_reuses_what_it_holds_alone(void **state)
{
    struct lod *l = NULL;
    assert_int_equal(lod_build(&l, 2, COUNTS(3, 40), NULL), SKIFF_OK);
    struct lod *first = l;
    uint64_t calls = mem_alloc_count();
    assert_int_equal(lod_build(&l, 1, COUNTS(43), NULL), SKIFF_OK);
    assert_int_equal(lod_build(&l, 3, COUNTS(2, 2, 2), NULL), SKIFF_OK);
    assert_ptr_equal(l, first);
    assert_int_equal(l->nlevels, 3);
    assert_ptr_equal(l->level[2].off, l->store + 4);
    assert_int_equal(mem_alloc_count(), calls);

    struct lod *other = lod_ref(l);
    assert_int_equal(l->refs, 2);
    assert_int_equal(lod_build(&l, 1, COUNTS(2), NULL), SKIFF_OK);
    assert_ptr_not_equal(l, other); /* the shared one stays as it was */
    assert_int_equal(other->nlevels, 3);
    assert_int_equal(other->refs, 1);
    lod_unref(other);

    assert_int_equal(lod_build(&l, 1, COUNTS(1000), NULL), SKIFF_OK);
    assert_int_equal(l->level[0].n, 1000);
    memset(l->level[0].off, 0, 1000 * sizeof(int64_t));
    lod_unref(l);
    assert_null(lod_ref(NULL));
    lod_unref(NULL);
}

static void make_refuses(void **state)
{
    struct skiff_error err;
    struct lod *l = NULL;
    assert_int_equal(lod_build(&l, 5, COUNTS(1, 1, 1, 1, 1), &err), SKIFF_RANGE);
    assert_int_equal(lod_build(&l, -1, COUNTS(1), &err), SKIFF_RANGE);
    assert_int_equal(lod_build(&l, 1, COUNTS(-1), &err), SKIFF_RANGE);
    assert_int_equal(lod_build(&l, 2, COUNTS(INT64_MAX, INT64_MAX), &err), SKIFF_RANGE);
    assert_int_equal(lod_build(&l, 1, COUNTS((int64_t)1 << 55), &err), SKIFF_NOMEM);
    assert_null(l);
}

static void equality(void **state)
{
    struct lod *a = lod_of(2, COUNTS(3, 4), COUNTS(0, 1, 3, 0, 2, 4, 9));
    struct lod *b = lod_of(2, COUNTS(3, 4), COUNTS(0, 1, 3, 0, 2, 4, 9));
    struct lod *c = lod_of(2, COUNTS(3, 4), COUNTS(0, 1, 3, 0, 3, 4, 9));
    struct lod *d = lod_of(1, COUNTS(3), COUNTS(0, 1, 3));
    struct lod *none = lod_of(0, COUNTS(0), COUNTS(0));
    assert_true(lod_equal(a, a));
    assert_true(lod_equal(a, b));
    assert_false(lod_equal(a, c));
    assert_false(lod_equal(a, d));
    assert_false(lod_equal(a, NULL));
    assert_true(lod_equal(NULL, NULL));
    assert_true(lod_equal(none, NULL));
    assert_ptr_equal(lod_last(a), &a->level[1]);
    assert_null(lod_last(none));
    assert_null(lod_last(NULL));
    lod_unref(a);
    lod_unref(b);
    lod_unref(c);
    lod_unref(d);
    lod_unref(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_lods),
        cmocka_unit_test(bad_lods),
        cmocka_unit_test(make_reuses_what_it_holds_alone),
        cmocka_unit_test(make_refuses),
        cmocka_unit_test(equality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
