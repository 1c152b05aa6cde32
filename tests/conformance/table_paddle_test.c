/* The accessors and SGD rules of tables against recorded jobs of Paddle 2.6.2: the lines of
 * table_paddle.txt are the pulls, pushes, saves, loads and shrinks of workers
 * (pack_table_cases.py). Files have six digits, so numbers may differ by 2e-5; keys and the number
 * of columns may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "table/table.h"

#define LINES 64
#define NUMBERS 64

struct job {
    char name[64];
    struct accessor_options options;
    const struct accessor_class *class;
    struct accessor accessor;
    struct table *table;
    char saved[LINES][512]; /* the last save, by key */
    int nsaved, nwanted;
};

static void forget(struct job *j)
{
    table_destroy(j->table);
    j->table = NULL;
}

static struct table *the_table(struct job *j)
{
    struct skiff_error err;
    if (j->table)
        return j->table;
    if (accessor_init(&j->accessor, j->class, &j->options, &err) < 0)
        fail_msg("%s: %s", j->name, err.message);
    struct table_options o = {.accessor = &j->accessor};
    if (table_create(&table_hash, &o, &j->table, &err) < 0)
        fail_msg("%s: %s", j->name, err.message);
    return j->table;
}

static int read_numbers(const char *text, double *out)
{
    char *stop;
    int n = 0;
    for (;; text = stop) {
        double x = strtod(text, &stop);
        if (stop == text || n == NUMBERS)
            return n;
        out[n++] = x;
    }
}

/* ---- settings ---- */

static void set_table(struct job *j, const char *text)
{
    char class[64];
    int scale;
    struct ctr_params *c = &j->options.ctr;
    *c = ctr_defaults();
    assert_int_equal(sscanf(text, "%63s %d %f %f %f %f %f %f %f %f %f %d", class,
                            &j->options.embedx, &c->embedx_threshold, &c->nonclk_coeff,
                            &c->click_coeff, &c->base_threshold, &c->delta_threshold,
                            &c->delta_keep_days, &c->show_click_decay_rate, &c->delete_threshold,
                            &c->delete_after_unseen_days, &scale),
                     12);
    c->show_scale = scale;
    j->class = accessor_find(class);
    assert_non_null(j->class);
}

static void set_rule(struct job *j, const char *text)
{
    char part[16], name[64];
    struct sgd_params p;
    float rate, g0, low, high;
    assert_int_equal(sscanf(text, "%15s %63s %f %f %f %f", part, name, &rate, &g0, &low, &high), 6);
    const struct sgd_rule *rule = sgd_rule_find(name);
    assert_non_null(rule);
    p = sgd_rule_defaults(rule);
    p.rate = rate;
    p.initial_g2sum = g0;
    p.initial_range = 0; /* in all recorded jobs */
    p.low = low;
    p.high = high;
    bool embed = !strcmp(part, "embed");
    *(embed ? &j->options.embed_rule : &j->options.embedx_rule) = rule;
    *(embed ? &j->options.embed : &j->options.embedx_params) = p;
}

/* ---- recorded actions ---- */

static bool is_close(double a, double b, double relative)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= relative * fabs(b) + 1e-7;
}

static void check_pull(struct job *j, const char *text)
{
    char *rest;
    struct skiff_error err;
    float row[NUMBERS];
    double want[NUMBERS];
    int64_t id = (int64_t)strtoull(text, &rest, 10);
    int n = read_numbers(rest, want);
    assert_int_equal(table_pull(the_table(j), (const uint8_t *)&id, 1, TABLE_LOOK, row, &err), 0);
    assert_int_equal(n, j->accessor.pulled);
    for (int i = 0; i < n; i++)
        if (!is_close(row[i], want[i], 2e-6))
            fail_msg("%s: pull %s: number %d is %.9g", j->name, text, i, row[i]);
}

static void push(struct job *j, const char *text)
{
    char *rest;
    struct skiff_error err;
    double numbers[NUMBERS];
    float row[NUMBERS];
    int64_t id = (int64_t)strtoull(text, &rest, 10);
    int n = read_numbers(rest, numbers);
    the_table(j);
    assert_int_equal(n, j->accessor.pushed);
    for (int i = 0; i < n; i++)
        row[i] = (float)numbers[i];
    assert_int_equal(table_push(j->table, (const uint8_t *)&id, 1, TABLE_MAKE, row, &err), 0);
}

static enum skiff_status note_line(void *self, int64_t id, const char *line, size_t n,
                                   struct skiff_error *err)
{
    struct job *j = self;
    assert_true(j->nsaved < LINES && n < sizeof j->saved[0] && line[n - 1] == '\n');
    snprintf(j->saved[j->nsaved++], sizeof j->saved[0], "%.*s", (int)n - 1, line);
    assert_int_equal((int64_t)strtoull(line, NULL, 10), id);
    return SKIFF_OK;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = strtoull(a, NULL, 10), y = strtoull(b, NULL, 10);
    return (x > y) - (x < y);
}

static void save(struct job *j, const char *text)
{
    struct skiff_error err;
    struct table_cursor at = {0};
    enum skiff_status status;
    j->nsaved = j->nwanted = 0;
    do
        status = table_export(the_table(j), atoi(text), &at, 3, note_line, j, &err);
    while (status == SKIFF_OK);
    assert_int_equal(status, SKIFF_END);
    qsort(j->saved, (size_t)j->nsaved, sizeof j->saved[0], by_key);
}

static void check_line(struct job *j, const char *text)
{
    double got[NUMBERS], want[NUMBERS];
    if (j->nwanted >= j->nsaved)
        fail_msg("%s: no line for %s", j->name, text);
    const char *line = j->saved[j->nwanted++];
    int n = read_numbers(text, want);
    bool same = read_numbers(line, got) == n && !by_key(line, text);
    for (int i = 1; i < n && same; i++)
        same = is_close(got[i], want[i], 2e-5);
    if (!same)
        fail_msg("%s:\nwritten  %s\nrecorded %s", j->name, line, text);
}

static void load(struct job *j, const char *text)
{
    struct skiff_error err;
    if (table_import(the_table(j), text, strlen(text), &err) < 0)
        fail_msg("%s: %s", j->name, err.message);
}

static void shrink(struct job *j)
{
    struct skiff_error err;
    struct table_cursor at = {0};
    enum skiff_status status;
    do
        status = table_shrink(the_table(j), &at, 2, &err);
    while (status == SKIFF_OK);
    assert_int_equal(status, SKIFF_END);
}

static void do_line(struct job *j, const char *word, const char *rest)
{
    if (!strcmp(word, "case")) {
        forget(j);
        *j = (struct job){0};
        snprintf(j->name, sizeof j->name, "%s", rest);
    } else if (!strcmp(word, "table")) {
        set_table(j, rest);
    } else if (!strcmp(word, "rule")) {
        set_rule(j, rest);
    } else if (!strcmp(word, "pull")) {
        check_pull(j, rest);
    } else if (!strcmp(word, "push")) {
        push(j, rest);
    } else if (!strcmp(word, "save")) {
        save(j, rest);
    } else if (!strcmp(word, "want")) {
        check_line(j, rest);
    } else if (!strcmp(word, "saved")) {
        assert_int_equal(j->nwanted, j->nsaved);
    } else if (!strcmp(word, "load")) {
        load(j, rest);
    } else if (!strcmp(word, "shrink")) {
        shrink(j);
    } else {
        assert_string_equal(word, "end");
    }
}

static void recorded_jobs(void **state)
{
    FILE *f = fopen("tests/conformance/table_paddle.txt", "r");
    struct job *j = mem_alloc_or_die(sizeof *j);
    char line[4096];
    int cases = 0;
    size_t before = mem_in_use();
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *rest = strchr(line, ' ');
        if (line[0] == '#')
            continue;
        if (rest)
            *rest++ = 0;
        cases += !strcmp(line, "case");
        do_line(j, line, rest ? rest : "");
    }
    forget(j);
    free(j);
    fclose(f);
    assert_int_equal(cases, 53);
    assert_int_equal(mem_in_use(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_jobs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
