#include "program/testing.h"

#include <pthread.h>

#include "program/op_kind.h"

/* Every row of the tables, in the order in which the registry reads them. Returns their number. */
static int all_rows(const struct op_kind **out, int cap)
{
    int n = 0;
    for (const struct op_kind *const *f = op_families; *f; f++)
        for (const struct op_kind *k = *f; k->type; k++) {
            assert_true(n < cap);
            out[n++] = k;
        }
    return n;
}

static unsigned generations_of(const struct op_kind *k)
{
    return k->generations ? k->generations : GEN_1X | GEN_2X;
}

/* Names are compared, not rows: a family that is listed twice gives the same rows again. Runs
 * before anything asks the registry, which would abort. */
static void no_type_stands_twice(void **state)
{
    static const struct op_kind *row[4096];
    int n = all_rows(row, 4096);
    assert_true(n > 50);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(row[i]->type, row[j]->type) == 0 &&
                generations_of(row[i]) & generations_of(row[j]))
                fail_msg("op %s is listed twice in the tables", row[i]->type);
    assert_int_equal(op_kind_count(), n);
}

static void *find_all(void *unused)
{
    for (int i = 0; i < op_kind_count(); i++) {
        const struct op_kind *k = op_kind_at(i);
        unsigned g = generations_of(k);
        if (g & GEN_1X && op_kind_find(k->type, GEN_1X) != k)
            return (void *)k->type;
        if (g & GEN_2X && op_kind_find(k->type, GEN_2X) != k)
            return (void *)k->type;
    }
    return NULL;
}

static void every_row_is_found(void **state)
{
    pthread_t threads[4];
    assert_true(op_kind_count() > 50);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find_all, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        if (wrong)
            fail_msg("op %s is not found as its own row", (const char *)wrong);
    }
    assert_null(op_kind_at(-1));
    assert_null(op_kind_at(op_kind_count()));
}

static void unknown_types(void **state)
{
    assert_null(op_kind_find("no_such_op", GEN_1X));
    assert_string_equal(op_kind_nearest("reluu"), "relu");
    assert_string_equal(op_kind_nearest("elementwise_ad"), "elementwise_add");
    assert_string_equal(op_kind_nearest("sgd"), "sgd");
    assert_null(op_kind_nearest("zzzzqqqqxxxx"));
    assert_null(op_kind_nearest(""));
    char longer[200];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    assert_null(op_kind_nearest(longer));
}

static void positions(void **state)
{
    static const struct op_slot slots[] = {{"X", 0}, {"Y", 0}, {0}};
    static const struct op_attr_spec attrs[] = {A_INT("a", 0), A_INT("b", 0), {0}};
    const struct op_kind kind = {.type = "t", .attrs = attrs}, bare = {.type = "t"};
    assert_int_equal(op_kind_slot(slots, "Y"), 1);
    assert_int_equal(op_kind_slot(slots, "Z"), -1);
    assert_int_equal(op_kind_slot(NULL, "Z"), -1);
    assert_int_equal(op_kind_attr(&kind, "b"), 1);
    assert_int_equal(op_kind_attr(&kind, "c"), -1);
    assert_int_equal(op_kind_attr(&bare, "c"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_type_stands_twice), /* first */
        cmocka_unit_test(every_row_is_found),
        cmocka_unit_test(unknown_types),
        cmocka_unit_test(positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
