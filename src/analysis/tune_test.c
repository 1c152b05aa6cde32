/* The space of a search and its journal: what is chosen, what is refused, what is read again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/tune_journal.h"
#include "analysis/tune_space.h"
#include "base/buf.h"
#include "base/mem.h"
#include "store/file.h"

static void value_is(const struct tune_space *s, int k, bool grid, int number, const char *want)
{
    struct buf text = BUF_INIT;
    tune_space_value(s, k, grid, 7, number, &text);
    assert_string_equal(text.data, want);
    buf_deinit(&text);
}

static void a_grid_has_all_combinations(void **state)
{
    (void)state;
    const char *const tries[] = {"a=x,[1, 2],y", "b=2..10", "c=log:0.01..1"};
    struct tune_space s;
    struct skiff_error err;
    assert_int_equal(tune_space_read(&s, tries, 3, &err), SKIFF_OK);
    assert_int_equal(tune_space_grid(&s), 27);
    assert_int_equal(tune_space_size(&s), 0);
    static const char *const a[] = {"x", "[1, 2]", "y"}, *const b[] = {"2", "6", "10"},
                             *const c[] = {"0.01", "0.1", "1"};
    for (int i = 0; i < 27; i++) {
        value_is(&s, 0, true, i, a[i / 9]);
        value_is(&s, 1, true, i, b[i / 3 % 3]);
        value_is(&s, 2, true, i, c[i % 3]);
    }
    tune_space_deinit(&s);
}

/* Lists alone: no combination comes twice. */
static void combinations_are_not_repeated(void **state)
{
    (void)state;
    const char *const tries[] = {"a=1,2,3", "b=1,2,3,4"};
    struct tune_space s;
    struct skiff_error err;
    bool seen[12] = {false};
    assert_int_equal(tune_space_read(&s, tries, 2, &err), SKIFF_OK);
    assert_int_equal(tune_space_size(&s), 12);
    for (int i = 0; i < 12; i++) {
        struct buf a = BUF_INIT, b = BUF_INIT;
        tune_space_value(&s, 0, false, 7, i, &a);
        tune_space_value(&s, 1, false, 7, i, &b);
        int at = (atoi(a.data) - 1) * 4 + atoi(b.data) - 1;
        assert_false(seen[at]);
        seen[at] = true;
        buf_deinit(&a);
        buf_deinit(&b);
    }
    tune_space_deinit(&s);
}

/* Half of the values of a log range lie below its geometric mean. */
static void ranges_are_even(void **state)
{
    (void)state;
    const char *const tries[] = {"a=log:1e-4..1", "b=1..4"};
    struct tune_space s;
    struct skiff_error err;
    int below = 0, counts[5] = {0};
    assert_int_equal(tune_space_read(&s, tries, 2, &err), SKIFF_OK);
    for (int i = 0; i < 1000; i++) {
        struct buf a = BUF_INIT, b = BUF_INIT;
        tune_space_value(&s, 0, false, 1, i, &a);
        tune_space_value(&s, 1, false, 1, i, &b);
        double x = atof(a.data);
        assert_true(x >= 1e-4 && x <= 1);
        below += x < 1e-2;
        counts[atoi(b.data)]++;
        buf_deinit(&a);
        buf_deinit(&b);
    }
    assert_in_range(below, 450, 550);
    for (int i = 1; i <= 4; i++)
        assert_in_range(counts[i], 200, 300);
    tune_space_deinit(&s);
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"a", "it has no key"},
                                           {"=1", "it has no key"},
                                           {"a=", "it has no value"},
                                           {"a=1,,2", "a value is empty"},
                                           {"a=1..", "the ends of the range are no numbers"},
                                           {"a=x..3", "the ends of the range are no numbers"},
                                           {"a=3..3", "the range is empty"},
                                           {"a=log:0..1", "begins above 0"},
                                           {"a=log:1,2", "log: stands before a range"}};
    struct tune_space s;
    struct skiff_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(tune_space_read(&s, &cases[i][0], 1, &err), SKIFF_INVALID);
        assert_non_null(strstr(err.message, cases[i][1]));
        tune_space_deinit(&s);
    }
    const char *const twice[] = {"a=1", "a=2"};
    assert_int_equal(tune_space_read(&s, twice, 2, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "the key is tried twice"));
    tune_space_deinit(&s);
    assert_int_equal(tune_space_read(&s, NULL, 0, &err), SKIFF_INVALID);
    tune_space_deinit(&s);
}

static void a_journal_is_read_again(void **state)
{
    (void)state;
    char folder[] = "/tmp/skiff-tune-XXXXXX";
    struct tune_journal j = {.search = mem_strdup_or_die("random \"x\"\n"), .metric = "log loss"},
                        k;
    struct skiff_error err;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(tune_journal_read(&k, folder, &err), SKIFF_NOT_FOUND);
    tune_journal_add(&j, &(struct tune_part){3, 1, 0, 0.25, 9, 4, 1.5, NULL});
    tune_journal_add(&j, &(struct tune_part){4, 0, 2, NAN, 0, -1, 0.5, "no \"rows\"\nin x"});
    assert_int_equal(tune_journal_write(&j, folder, &err), SKIFF_OK);
    assert_int_equal(tune_journal_read(&k, folder, &err), SKIFF_OK);
    assert_string_equal(k.search, j.search);
    assert_string_equal(k.metric, "log loss");
    assert_int_equal(k.n, 2);
    const struct tune_part *p = tune_journal_find(&k, 3, 1, 0);
    assert_true(p && p->value == 0.25 && p->epochs == 9 && p->best_epoch == 4 && !p->error);
    p = tune_journal_find(&k, 4, 0, 2);
    assert_true(p && isnan(p->value) && p->best_epoch == -1 && p->seconds == 0.5);
    assert_string_equal(p->error, "no \"rows\"\nin x");
    assert_null(tune_journal_find(&k, 4, 0, 0));
    tune_journal_forget_failed(&k);
    assert_int_equal(k.n, 1);
    assert_null(tune_journal_find(&k, 4, 0, 2));
    assert_non_null(tune_journal_find(&k, 3, 1, 0));
    tune_journal_deinit(&j);
    tune_journal_deinit(&k);
    char *path = path_join(folder, TUNE_JOURNAL);
    assert_int_equal(file_write(path, "{\"skiff_tune\": 9}", 17, &err), SKIFF_OK);
    assert_int_equal(tune_journal_read(&k, folder, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "--overwrite"));
    tune_journal_deinit(&k);
    free(path);
    file_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_has_all_combinations),
        cmocka_unit_test(combinations_are_not_repeated), cmocka_unit_test(ranges_are_even),
        cmocka_unit_test(wrong_texts_are_refused), cmocka_unit_test(a_journal_is_read_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
