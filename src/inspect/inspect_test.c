/* Facts about tensors and tables. Accessors write the lines of tables here themselves: one whose
 * columns do not say where its numbers are fails. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "fs/fs.h"
#include "inspect/programs.h"
#include "inspect/table_files.h"
#include "inspect/tensors.h"
#include "store/test_help.h"

/* ---- tensors ---- */

static void statistics_leave_out_what_is_not_finite(void **state)
{
    float values[] = {3, NAN, -1, INFINITY, 4};
    struct tensor t = {0};
    assert_int_equal(tensor_resize(&t, DTYPE_FP32, SHAPE_PTR(5), NULL), SKIFF_OK);
    memcpy(t.data, values, sizeof values);
    struct tensor_stats s = tensor_stats_of(&t);
    assert_int_equal(s.finite, 3);
    assert_int_equal(s.not_finite, 2);
    assert_true(s.least == -1 && s.most == 4 && s.mean == 2);
    tensor_deinit(&t);
}

/* ---- tables ---- */

#define EMBEDX 2

static void accessor_make(struct accessor *a, const struct accessor_class *class)
{
    struct accessor_options o = {.parts = {{.width = 3}, {.width = 1}},
                                 .nparts = 2,
                                 .ctr = ctr_defaults(),
                                 .embedx = EMBEDX,
                                 .embed_rule = sgd_rule_find("naive"),
                                 .embedx_rule = sgd_rule_find("naive")};
    struct skiff_error err = {0};
    if (accessor_init(a, class, &o, &err) < 0)
        fail_msg("%s", err.message);
}

/* A row of each id: shows 10 * id, clicks id, unseen days id - 1. */
static void set_row(const struct accessor *a, struct table_row *r, int id)
{
    r->id = id;
    a->class->start(a, r);
    if (!a->class->columns.statistics)
        return;
    double show = 10 * id, click = id;
    float push[16] = {7, (float)show, (float)click};
    a->class->push(a, &r, 1, push);
    for (int day = 1; day < id; day++)
        a->class->saved(a, r, SAVE_BATCH, true);
}

static void write_shard(const struct accessor *a, const char *path, int from, int to)
{
    struct table_row *r = mem_alloc_or_die(sizeof *r + (size_t)a->width * sizeof(float));
    char *line = mem_alloc_or_die(accessor_line_max(a));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int id = from; id <= to; id++) {
        set_row(a, r, id);
        assert_true(fwrite(line, 1, accessor_print(a, r, line), f) > 0);
    }
    assert_int_equal(fclose(f), 0);
    free(line);
    free(r);
}

struct seen {
    const struct accessor *accessor;
    int tables;
};

static void check_table(void *arg, const struct table_files *t)
{
    struct seen *seen = arg;
    bool statistics = seen->accessor->class->columns.statistics;
    seen->tables++;
    assert_int_equal(t->rows, 4);
    assert_int_equal(t->nparts, 2);
    assert_string_equal(t->parts[0].name, "part-000-00000");
    assert_int_equal(t->parts[0].rows, 3);
    assert_int_equal(t->parts[1].rows, 1);
    assert_false(t->dense);
    assert_int_equal(t->statistics, statistics);
    assert_true(t->ncolumns >= 1 && t->columns[0].columns >= seen->accessor->class->columns.least);
    if (!statistics)
        return;
    assert_true(t->show.least == 10 && t->show.most == 40 && t->show.sum == 100);
    assert_true(t->click.least == 1 && t->click.most == 4 && t->click.sum == 10);
    assert_true(t->unseen.least == 0 && t->unseen.most == 3 && t->unseen.sum == 6);
    /* scores 1.9, 3.8, 5.7, 7.6 */
    assert_int_equal(t->scores[2], 4);
}

static void columns_are_those_of_the_accessor(void **state)
{
    for (int i = 0; accessor_at(i); i++) {
        struct accessor a;
        struct skiff_error err = {0};
        struct seen seen = {.accessor = &a};
        accessor_make(&a, accessor_at(i));
        const char *model = temp_path(a.class->name);
        char *dir = path_join(model, "000"), *first = path_join(dir, "part-000-00000"),
             *second = path_join(dir, "part-000-00001");
        assert_int_equal(fs_mkdirs(NULL, dir, NULL), SKIFF_OK);
        write_shard(&a, first, 1, 3);
        write_shard(&a, second, 4, 4);
        if (table_files_walk(model, a.class, check_table, &seen, &err) < 0)
            fail_msg("%s: %s", a.class->name, err.message);
        assert_int_equal(seen.tables, 1);
        free(first);
        free(second);
        free(dir);
    }
}

static void on_table(void *arg, const struct table_files *t)
{
    fail_msg("%s is no table", t->path);
}

static void other_folders_are_refused(void **state)
{
    struct skiff_error err = {0};
    assert_int_equal(
        table_files_walk(SAVED "inference_default", &accessor_sparse, on_table, NULL, &err),
        SKIFF_NOT_FOUND);
    assert_message_has(&err, "no files of sparse tables");
    assert_int_equal(table_files_walk(SAVED "main.pb", &accessor_sparse, on_table, NULL, &err),
                     SKIFF_INVALID);
}

/* ---- programs ---- */

static void ops_are_counted(void **state)
{
    struct skiff_program *p;
    struct op_counts c;
    assert_int_equal(saved_program_read(SAVED "inference_default", &p, NULL), SKIFF_OK);
    op_counts_init(&c, p);
    int sum = 0, mul = 0;
    for (int i = 0; i < c.n; i++) {
        sum += c.at[i].n;
        mul += !strcmp(c.at[i].type, "mul") ? c.at[i].n : 0;
        assert_true(!i || c.at[i].n <= c.at[i - 1].n);
    }
    struct role_counts roles = role_counts_of(p);
    assert_int_equal(mul, 4);
    assert_int_equal(roles.ops, sum);
    assert_int_equal(roles.forward, sum);
    assert_int_equal(op_counts_check(&c, "x", NULL), SKIFF_OK);
    op_counts_deinit(&c);
    program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_leave_out_what_is_not_finite),
        cmocka_unit_test(columns_are_those_of_the_accessor),
        cmocka_unit_test(other_folders_are_refused),
        cmocka_unit_test(ops_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
