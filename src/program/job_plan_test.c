#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "program/job_plan.h"

/* w [5, 2] on servers 1 and 0; emb [4, 3], remote, on server 1; w's moment, cut with it, and a beta
 * pow that both have. */
static const struct job_plan *made(int64_t rows_of_block0)
{
    int64_t first[] = {rows_of_block0, 2}, second[] = {5 - rows_of_block0, 2}, emb[] = {4, 3},
            one[] = {1};
    const char *const endpoints[] = {"a:1", "b:2"}, *const tables[] = {"big"};
    int64_t at = rows_of_block0;
    struct skiff_placement all[] = {
        {"w.block0", "w", "Param", true, false, 0, 0, 0, 2, first, "b:2", 1, false, false},
        {"w.block1", "w", "Param", true, false, 1, 2 * at, at, 2, second, "a:1", 0, false, false},
        {"emb", "emb", "RemotePrefetch", false, true, 0, 0, 0, 2, emb, "b:2", 1, true, false},
        {"w_m", "w_m", "Optimizer", true, false, 1, 2 * at, at, 2, second, "a:1", 0, false, true},
        {"pow", "pow", "Optimizer", false, false, 0, 0, 0, 1, one, "a:1", 0, false, true},
        {"w_m", "w_m", "Optimizer", true, false, 0, 0, 0, 2, first, "b:2", 1, false, true},
        {"pow", "pow", "Optimizer", false, false, 0, 0, 0, 1, one, "b:2", 1, false, true}};
    struct job_plan p = {.mode = SKIFF_SPLIT_ASYNC,
                         .trainers = 2,
                         .servers = 2,
                         .endpoints = endpoints,
                         .tables = tables,
                         .ntables = 1,
                         .placement = all,
                         .nplacement = sizeof all / sizeof all[0]};
    return job_plan_create(&p); /* everything above is gone afterwards */
}

static void who_has_what(void **state)
{
    const struct job_plan *p = made(3);
    assert_int_equal(job_plan_server(p, "b:2"), 1);
    assert_int_equal(job_plan_server(p, "b:20"), -1);
    assert_true(job_plan_has_table(p, "big"));
    assert_false(job_plan_has_table(p, "w"));
    assert_int_equal(job_plan_slice(p, 0, "w.block1")->first_row, 3);
    assert_string_equal(job_plan_slice(p, 0, "w.block1")->endpoint, "a:1");
    assert_null(job_plan_slice(p, 1, "w.block1"));
    assert_null(job_plan_slice(p, 1, "big"));
    assert_int_equal(job_plan_slice(p, 1, "w_m")->dims[0], 3); /* same name, each its own part */
    assert_int_equal(job_plan_slice(p, 0, "w_m")->dims[0], 2);
    job_plan_unref(p);
}

static void slices(void **state)
{
    const struct job_plan *p = made(3);
    int n;
    const struct skiff_placement **w = job_plan_slices(p, "w_m", &n);
    assert_int_equal(n, 2);
    assert_int_equal(w[0]->server, 1); /* in the order of blocks */
    assert_int_equal(w[1]->server, 0);
    struct shape whole = job_plan_whole(p, w[1]);
    assert_int_equal(whole.ndim, 2);
    assert_int_equal(whole.dims[0], 5);
    assert_int_equal(whole.dims[1], 2);
    free(w);
    w = job_plan_slices(p, "pow", &n);
    assert_int_equal(n, 1); /* copies of one value */
    assert_int_equal(placement_rows(w[0]), 1);
    whole = job_plan_whole(p, w[0]);
    assert_int_equal(whole.dims[0], 1);
    free(w);
    w = job_plan_slices(p, "big", &n);
    assert_int_equal(n, 0);
    free(w);
    job_plan_unref(p);
}

static void hashes(void **state)
{
    const struct job_plan *p = made(3), *same = made(3), *other = made(2);
    assert_true(p->hash == same->hash);
    assert_true(p->hash != other->hash);
    struct job_plan more = *p;
    more.trainers = 3;
    const struct job_plan *third = job_plan_create(&more);
    assert_true(p->hash != third->hash);
    job_plan_unref(same);
    job_plan_unref(other);
    job_plan_unref(third);
    assert_ptr_equal(job_plan_ref(p), p);
    job_plan_unref(p);
    assert_string_equal(p->placement[0].slice, "w.block0"); /* there is one reference left */
    job_plan_unref(p);
    job_plan_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_what),
        cmocka_unit_test(slices),
        cmocka_unit_test(hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
