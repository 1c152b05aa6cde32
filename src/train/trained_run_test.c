/* A run of a table, from rows to predictions, with public calls alone: prepared, trained, opened;
 * rows as text, as values and in files, in other orders, from several threads; what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <skiff/prepare.h>
#include <skiff/run.h>
#include <skiff/trainer.h>

#include "store/file.h"

#define ROWS 800
#define THREADS 4
#define COLUMNS 6

static char dir[] = "/tmp/trained_run_test.XXXXXX";
static char table[64], folder[64];
static char rows[ROWS][96]; /* of the table, without their labels */

/* visit, device, age, seen, bought, price */
static void write_table(void)
{
    static const char *const devices[] = {"phone", "laptop", "tablet, old"};
    FILE *f = fopen(table, "w");
    assert_non_null(f);
    fprintf(f, "visit,device,age,seen,bought,price\n");
    for (int i = 0; i < ROWS; i++) {
        int device = i % 3, age = 18 + (i * 7) % 50;
        char left[64], right[32], number[8] = "";
        if (i % 11)
            snprintf(number, sizeof number, "%d", age);
        snprintf(left, sizeof left, "v%05d,\"%s\",%s,2024-03-%02d %02d:00", i, devices[device],
                 number, 1 + i % 28, i % 24);
        snprintf(right, sizeof right, "%.2f", (i % 97) / 4.0);
        snprintf(rows[i], sizeof rows[i], "%s,%s", left, right);
        fprintf(f, "%s,%s,%s\n", left, (device == 1) ^ (age > 40) ? "yes" : "no", right);
    }
    assert_int_equal(fclose(f), 0);
}

static int prepare_and_train(void **state)
{
    struct skiff_error err = {0};
    struct skiff_prepare_result made;
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(table, sizeof table, "%s/visits.csv", dir);
    snprintf(folder, sizeof folder, "%s/run", dir);
    write_table();
    assert_int_equal(skiff_prepare(&(struct skiff_prepare_options){.data = table,
                                                                   .out = folder,
                                                                   .label = "bought",
                                                                   .positive = "yes",
                                                                   .split = "random"},
                                   &made, &err),
                     SKIFF_OK);
    assert_int_equal(made.train + made.valid + made.test, ROWS);
    assert_true(made.train > 600 && made.valid > 40 && made.test > 40);
    assert_true(made.train_positive > 0 && made.train_positive < made.train);
    char config[96];
    snprintf(config, sizeof config, "%s/config.yaml", folder);
    struct skiff_trainer *t = skiff_trainer_create(
        &(struct skiff_trainer_config){
            .config = config,
            .options = (const char *[]){"runner.epochs=20", "runner.calibrate=isotonic"},
            .noptions = 2},
        &err);
    assert_non_null(t);
    assert_int_equal(skiff_trainer_run(t, &err), SKIFF_OK);
    skiff_trainer_destroy(t);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    file_remove_tree(dir);
    return 0;
}

static struct skiff_run *open_or_die(const char *header)
{
    struct skiff_error err = {0};
    struct skiff_run *run = skiff_run_open(
        folder,
        &(struct skiff_run_options){.header = header,
                                    .options = (const char *[]){"runner.calibrate=isotonic"},
                                    .noptions = 1},
        &err);
    if (!run)
        fail_msg("%s", err.message);
    return run;
}

/* The rows as files have them, in front of which the label's column is left out. */
#define HEADER "visit,device,age,seen,price"

static void predict_rows_or_die(struct skiff_run *run, double *out)
{
    struct skiff_error err = {0};
    const char *texts[ROWS];
    for (int i = 0; i < ROWS; i++)
        texts[i] = rows[i];
    if (skiff_run_predict_text(run, texts, ROWS, out, &err) < 0)
        fail_msg("%s", err.message);
}

struct lines {
    double p[ROWS];
    int n;
};

static enum skiff_status take_lines(void *user, const char *text, size_t n, int64_t count,
                                    struct skiff_error *err)
{
    struct lines *l = user;
    (void)err;
    int64_t found = 0;
    for (const char *at = text; at < text + n; at = strchr(at, '\n') + 1, found++)
        l->p[l->n++] = strtod(at, NULL);
    assert_int_equal(found, count);
    return SKIFF_OK;
}

static void test_text_values_and_files_agree(void **state)
{
    struct skiff_error err = {0};
    struct lines *files = calloc(1, sizeof *files);
    double *text = calloc(ROWS, sizeof *text), p, low = 1, high = 0;
    struct skiff_run *run = open_or_die(HEADER);
    assert_non_null(strstr(skiff_run_model(run), "/model/"));
    predict_rows_or_die(run, text);
    if (skiff_run_predict_files(run, table, take_lines, files, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(files->n, ROWS);
    for (int i = 0; i < ROWS; i++) {
        assert_true(fabs(text[i] - files->p[i]) < 1e-5);
        low = fmin(low, text[i]);
        high = fmax(high, text[i]);
    }
    assert_true(low < 0.4 && high > 0.6); /* they differ from row to row */
    struct skiff_run *raw = skiff_run_open(
        folder,
        &(struct skiff_run_options){
            .header = HEADER, .options = (const char *[]){"runner.calibrate=none"}, .noptions = 1},
        &err);
    assert_non_null(raw);
    const char *first = rows[0];
    assert_int_equal(skiff_run_predict_text(raw, &first, 1, &p, &err), SKIFF_OK);
    assert_true(fabs(p - text[0]) > 1e-4); /* the others are calibrated */
    skiff_run_close(raw);
    assert_int_equal(skiff_run_columns(run), 5);
    for (int i = 0; i < ROWS; i += 7) {
        static const char *const devices[] = {"phone", "laptop", "tablet, old"};
        char seen[32];
        snprintf(seen, sizeof seen, "2024-03-%02d %02d:00", 1 + i % 28, i % 24);
        const struct skiff_run_value row[5] = {{.text = ""},
                                               {.text = devices[i % 3]},
                                               {.number = i % 11 ? 18 + (i * 7) % 50 : NAN},
                                               {.text = seen, .size = strlen(seen)},
                                               {.number = (i % 97) / 4.0}};
        assert_int_equal(skiff_run_predict_values(run, row, 1, &p, &err), SKIFF_OK);
        assert_true(fabs(p - text[i]) < 1e-5);
    }
    skiff_run_close(run);
    free(files);
    free(text);
}

static void test_the_order_of_the_table(void **state)
{
    struct skiff_error err = {0};
    struct skiff_run *own = open_or_die(NULL), *other = open_or_die("price,age,device,seen");
    const char *names[] = {"visit", "device", "age", "seen", "bought", "price"};
    double a, b;
    assert_int_equal(skiff_run_columns(own), COLUMNS);
    for (int i = 0; i < COLUMNS; i++) {
        assert_string_equal(skiff_run_column(own, i), names[i]);
        assert_int_equal(skiff_run_find_column(own, names[i]), i);
    }
    assert_null(skiff_run_column(own, COLUMNS));
    assert_int_equal(skiff_run_find_column(own, "none"), -1);
    const char *row = "v1,laptop,30,2024-03-05 07:00,no,12.5\r\n";
    const char *turned = "12.5,30,laptop,2024-03-05 07:00";
    assert_int_equal(skiff_run_predict_text(own, &row, 1, &a, &err), SKIFF_OK);
    assert_int_equal(skiff_run_predict_text(other, &turned, 1, &b, &err), SKIFF_OK);
    assert_true(a > 0 && a < 1);
    assert_true(a == b);
    skiff_run_close(own);
    skiff_run_close(other);
}

struct user {
    struct skiff_run *run;
    const double *want;
    int number, right;
    pthread_t thread;
};

static void *predict_one_by_one(void *arg)
{
    struct user *u = arg;
    double p[3];
    for (int i = 0; i < ROWS - 3; i++) {
        const char *texts[] = {rows[i], rows[i + 1], rows[i + 2]};
        int n = 1 + (i + u->number) % 3;
        bool same = skiff_run_predict_text(u->run, texts, n, p, NULL) == SKIFF_OK;
        for (int k = 0; k < n; k++)
            same &= fabs(p[k] - u->want[i + k]) < 1e-5;
        u->right += same;
    }
    return NULL;
}

static void test_threads_share_a_run(void **state)
{
    struct user users[THREADS];
    double *want = calloc(ROWS, sizeof *want);
    struct skiff_run *run = open_or_die(HEADER);
    predict_rows_or_die(run, want);
    for (int i = 0; i < THREADS; i++) {
        users[i] = (struct user){.run = run, .want = want, .number = i};
        assert_int_equal(pthread_create(&users[i].thread, NULL, predict_one_by_one, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        assert_int_equal(users[i].right, ROWS - 3);
    }
    skiff_run_close(run);
    free(want);
}

static void refused(const char *path, const struct skiff_run_options *options, const char *why)
{
    struct skiff_error err = {0};
    assert_null(skiff_run_open(path, options, &err));
    if (!strstr(err.message, why))
        fail_msg("\"%s\" does not say \"%s\"", err.message, why);
}

static void test_what_is_refused(void **state)
{
    struct skiff_error err = {0};
    double p[2] = {7, 7};
    struct skiff_run *run = open_or_die(HEADER);
    const char *texts[] = {rows[0], "v1,phone,old,2024-03-05,1"}, *comment = "";
    assert_int_equal(skiff_run_predict_text(run, texts, 2, p, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "row 2: "));
    assert_non_null(strstr(err.message, "found \"old\""));
    assert_int_equal(skiff_run_predict_text(run, &comment, 1, p, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "row 1: the line holds no row"));
    struct skiff_run_value row[5] = {{.text = ""}, {.text = "phone"}, {.number = INFINITY}};
    row[3].number = row[4].number = NAN;
    assert_true(skiff_run_predict_values(run, row, 1, p, &err) < 0);
    assert_non_null(strstr(err.message, "row 1"));
    row[2].number = 30; /* it still works */
    assert_int_equal(skiff_run_predict_values(run, row, 1, p, &err), SKIFF_OK);
    assert_true(p[0] > 0 && p[0] < 1);
    skiff_run_close(run);
    refused("", NULL, "there is no path");
    refused("/none", NULL, "/none");
    refused(folder, &(struct skiff_run_options){.header = "device,age"},
            "there is no column \"seen\"");
    refused(folder, &(struct skiff_run_options){.model = "/none"}, "/none");
    refused(folder, &(struct skiff_run_options){.reserved = {1}}, "skiff_run_options");
    refused(
        folder,
        &(struct skiff_run_options){.options = (const char *[]){"runner.epochz=1"}, .noptions = 1},
        "runner.epochz");
    refused(folder,
            &(struct skiff_run_options){.options = (const char *[]){"runner.train_data_dir=none",
                                                                    "runner.test_data_dir=none"},
                                        .noptions = 2},
            "name the columns in the option `header`");
}

static void test_parts_of_a_table(void **state)
{
    struct skiff_error err = {0};
    struct skiff_prepare_result made;
    char out[64], path[128];
    snprintf(out, sizeof out, "%s/parts", dir);
    struct skiff_prepare_options o = {
        .data = table, .out = out, .label = "bought", .valid = table, .no_test = true};
    assert_int_equal(skiff_prepare(&o, &made, &err), SKIFF_OK);
    assert_int_equal(made.train, ROWS);
    assert_int_equal(made.valid, ROWS);
    assert_int_equal(made.train_positive, made.valid_positive);
    assert_int_equal(made.test, 0);
    snprintf(path, sizeof path, "%s/valid/part-00000.csv", out);
    assert_true(file_exists(path));
    snprintf(path, sizeof path, "%s/test", out);
    assert_false(file_exists(path));
    o = (struct skiff_prepare_options){.data = table,
                                       .out = out,
                                       .label = "bought",
                                       .no_test = true,
                                       .split = "random",
                                       .share = 0.25,
                                       .overwrite = true};
    assert_int_equal(skiff_prepare(&o, &made, &err), SKIFF_OK);
    assert_int_equal(made.train + made.valid, ROWS);
    assert_true(made.valid > ROWS / 5 && made.valid < ROWS * 3 / 10);
    o.split = "time";
    assert_int_equal(skiff_prepare(&o, &made, &err), SKIFF_OK);
    assert_int_equal(made.train + made.valid, ROWS);
    assert_true(made.valid > ROWS / 5 && made.valid < ROWS * 3 / 10);
    o.no_valid = true;
    assert_int_equal(skiff_prepare(&o, &made, &err), SKIFF_OK);
    assert_int_equal(made.train, ROWS);
}

struct seen {
    int epochs;
    struct skiff_trainer_epoch last;
};

static void see_epoch(void *user, const struct skiff_trainer_epoch *epoch)
{
    struct seen *seen = user;
    seen->epochs++;
    seen->last = *epoch;
}

static void test_evaluation(void **state)
{
    struct skiff_error err = {0};
    struct seen seen = {0};
    char config[96];
    snprintf(config, sizeof config, "%s/config.yaml", folder);
    struct skiff_trainer_config c = {.config = config};
    if (skiff_trainer_evaluate(&c, see_epoch, &seen, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(seen.epochs, 1); /* runner.infer_epoch: best */
    assert_true(seen.last.samples > 40 && seen.last.samples < ROWS / 5);
    assert_true(seen.last.auc > 0.8 && seen.last.auc <= 1);
    c.resume = true;
    assert_int_equal(skiff_trainer_evaluate(&c, see_epoch, &seen, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "are for training"));
}

static void not_prepared(struct skiff_prepare_options o, const char *why)
{
    struct skiff_error err = {0};
    assert_true(skiff_prepare(&o, NULL, &err) < 0);
    if (!strstr(err.message, why))
        fail_msg("\"%s\" does not say \"%s\"", err.message, why);
}

static void test_what_prepare_refuses(void **state)
{
    char out[64], other[64];
    snprintf(out, sizeof out, "%s/refused", dir);
    snprintf(other, sizeof other, "%s/other.csv", dir);
    FILE *f = fopen(other, "w");
    assert_non_null(f);
    fprintf(f, "device,bought\nphone,yes\n");
    assert_int_equal(fclose(f), 0);
    not_prepared((struct skiff_prepare_options){.out = out}, "data (a table)");
    not_prepared((struct skiff_prepare_options){.data = table, .out = out, .share = 2}, "share");
    not_prepared((struct skiff_prepare_options){.data = table, .out = out, .split = "odd"},
                 "split: expected auto, random or time");
    not_prepared((struct skiff_prepare_options){.data = table, .out = out, .model = "match/dssm"},
                 "rank/ models");
    not_prepared((struct skiff_prepare_options){.data = table, .out = out, .valid = other},
                 "the header line of");
    not_prepared(
        (struct skiff_prepare_options){.data = table, .out = out, .valid = other, .no_valid = true},
        "exclude each other");
    assert_false(file_exists(out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_values_and_files_agree),
        cmocka_unit_test(test_the_order_of_the_table),
        cmocka_unit_test(test_threads_share_a_run),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_parts_of_a_table),
        cmocka_unit_test(test_what_prepare_refuses),
    };
    return cmocka_run_group_tests(tests, prepare_and_train, remove_all);
}
