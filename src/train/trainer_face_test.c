/* The trainer over a network and a dataset of the caller's: epochs, observers, early end, a stop,
 * resuming, and what it refuses. Only public calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <skiff/model.h>
#include <skiff/skiff.h>

#define ROWS 200

struct line { /* y = 2 x + 1, from a file */
    char dir[64], file[96], save[128];
    struct skiff_net *net;
    struct skiff_model_net vars;
    struct skiff_dataset *data;
};

static void write_rows(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < ROWS; i++) {
        double x = i / (double)ROWS;
        fprintf(f, "1 %g 1 %g\n", x, 2 * x + 1);
    }
    assert_int_equal(fclose(f), 0);
}

static void line_init(struct line *l)
{
    struct skiff_error err;
    *l = (struct line){.dir = "/tmp/trainer_test.XXXXXX"};
    assert_non_null(mkdtemp(l->dir));
    snprintf(l->file, sizeof l->file, "%s/rows", l->dir);
    snprintf(l->save, sizeof l->save, "runner.model_save_path=%s/out", l->dir);
    write_rows(l->file);
    l->net = skiff_net_create();
    struct skiff_var *x = skiff_model_input(&l->vars, skiff_data(l->net, "x", SKIFF_DIMS(1)));
    struct skiff_var *y = skiff_model_input(&l->vars, skiff_data(l->net, "y", SKIFF_DIMS(1)));
    struct skiff_var *cost = skiff_square_error_cost(l->net, skiff_fc(l->net, x, 1), y);
    l->vars.loss = skiff_mean(l->net, cost);
    assert_int_equal(skiff_minimize(l->net, l->vars.loss, &err, "sgd", .learning_rate = 0.1), 0);
    l->data = skiff_dataset_create("QueueDataset", &err);
    skiff_dataset_set_vars(l->data, l->vars.inputs, l->vars.ninputs);
    skiff_dataset_set_batch_size(l->data, 10);
    skiff_dataset_set_files(l->data, (const char *[]){l->file}, 1);
}

static void line_deinit(struct line *l)
{
    char command[128];
    skiff_dataset_destroy(l->data);
    skiff_net_destroy(l->net);
    snprintf(command, sizeof command, "rm -rf %s", l->dir);
    assert_int_equal(system(command), 0);
}

static struct skiff_trainer *trainer_of(struct line *l, const char *epochs, bool resume)
{
    struct skiff_error err = {0};
    const char *options[] = {l->save, epochs};
    struct skiff_trainer_config config = {.options = options,
                                          .noptions = 2,
                                          .resume = resume,
                                          .quiet = true,
                                          .net = l->net,
                                          .vars = &l->vars,
                                          .dataset = l->data};
    struct skiff_trainer *t = skiff_trainer_create(&config, &err);
    if (!t)
        fail_msg("%s", err.message);
    return t;
}

struct seen {
    struct skiff_trainer *trainer; /* to be stopped at its first batch; or NULL */
    int begun, ended, saved, end_after;
    int64_t batches, samples;
    double loss[4];
    char folder[160];
};

static void on_begin(void *user, int epoch)
{
    struct seen *s = user;
    assert_int_equal(epoch, s->begun);
    s->begun++;
}

static void on_batch(void *user, int thread, int64_t samples)
{
    struct seen *s = user;
    assert_int_equal(thread, 0);
    s->batches++;
    s->samples += samples;
    if (s->trainer)
        skiff_trainer_stop(s->trainer);
}

static void on_end(void *user, const struct skiff_trainer_epoch *epoch, bool *stop)
{
    struct seen *s = user;
    assert_true(s->ended < 4);
    s->loss[s->ended++] = epoch->loss;
    *stop = s->end_after && s->ended == s->end_after;
}

static void on_saved(void *user, int epoch, const char *folder)
{
    struct seen *s = user;
    s->saved++;
    snprintf(s->folder, sizeof s->folder, "%s", folder);
    (void)epoch;
}

static void watch(struct skiff_trainer *t, struct seen *s)
{
    struct skiff_error err;
    struct skiff_trainer_observer o = {
        .begin = on_begin, .batch = on_batch, .end = on_end, .saved = on_saved, .user = s};
    assert_int_equal(skiff_trainer_add_observer(t, &o, &err), SKIFF_OK);
}

static void run(struct skiff_trainer *t, struct skiff_trainer_result *out)
{
    struct skiff_error err = {0};
    if (skiff_trainer_run(t, &err) < 0)
        fail_msg("%s", err.message);
    skiff_trainer_result(t, out);
}

static void test_epochs(void **state)
{
    struct line l;
    struct skiff_trainer_result r;
    struct skiff_error err;
    struct seen seen = {.begun = 0};
    line_init(&l);
    struct skiff_trainer *t = trainer_of(&l, "runner.epochs=3", false);
    watch(t, &seen);
    run(t, &r);
    assert_int_equal(seen.begun, 3);
    struct skiff_metrics_sources counted = {.trainer = t};
    char *text = skiff_metrics_text(&counted), line[80];
    snprintf(line, sizeof line, "\nskiff_train_samples_total{work=\"train\"} %lld\n",
             (long long)seen.samples);
    assert_non_null(strstr(text, line));
    assert_non_null(strstr(text, "\nskiff_step_seconds_count{part=\"update\"} "));
    assert_non_null(strstr(text, "\nskiff_memory_bytes "));
    free(text);
    assert_int_equal(seen.ended, 3);
    assert_int_equal(seen.saved, 3);
    assert_int_equal(seen.batches, 3 * ROWS / 10);
    assert_int_equal(seen.samples, 3 * ROWS);
    assert_true(seen.loss[2] < seen.loss[1] && seen.loss[1] < seen.loss[0]);
    assert_int_equal(r.epochs, 3);
    assert_int_equal(r.samples, 3 * ROWS);
    assert_true(r.loss == seen.loss[2] && !r.stopped && r.best_epoch == -1);
    assert_int_equal(access(seen.folder, F_OK), 0);
    assert_string_equal(strrchr(seen.folder, '/'), "/2");
    assert_non_null(skiff_scope_find(skiff_trainer_scope(t), "fc_0.w_0"));
    assert_int_equal(skiff_trainer_run(t, &err), SKIFF_STATE);
    skiff_trainer_destroy(t);
    line_deinit(&l);
}

/* An observer ends it; what is behind it goes on. */
static void test_end_and_resume(void **state)
{
    struct line l;
    struct skiff_trainer_result r;
    struct seen seen = {.end_after = 2};
    line_init(&l);
    struct skiff_trainer *t = trainer_of(&l, "runner.epochs=4", false);
    watch(t, &seen);
    run(t, &r);
    assert_int_equal(r.epochs, 2);
    assert_false(r.stopped);
    skiff_trainer_destroy(t);
    t = trainer_of(&l, "runner.epochs=4", true);
    run(t, &r);
    assert_int_equal(r.epochs, 2);
    assert_true(r.loss < seen.loss[1]);
    skiff_trainer_destroy(t);
    line_deinit(&l);
}

static void test_stop(void **state)
{
    struct line l;
    struct skiff_trainer_result r;
    struct seen seen = {.begun = 0};
    line_init(&l);
    struct skiff_trainer *t = trainer_of(&l, "runner.epochs=4", false);
    seen.trainer = t;
    watch(t, &seen);
    run(t, &r);
    assert_true(r.stopped);
    assert_int_equal(r.epochs, 1);
    assert_true(r.samples < ROWS && r.samples == seen.samples);
    assert_int_equal(seen.saved, 1); /* the part that was trained */
    skiff_trainer_destroy(t);
    line_deinit(&l);
}

static void assert_refused(const struct skiff_trainer_config *c, const char *text)
{
    struct skiff_error err = {0};
    assert_null(skiff_trainer_create(c, &err));
    assert_non_null(strstr(err.message, text));
}

static void test_refusals(void **state)
{
    struct line l;
    line_init(&l);
    assert_refused(&(struct skiff_trainer_config){.quiet = true}, "needs a config, or a net");
    assert_refused(&(struct skiff_trainer_config){.net = l.net}, "needs vars");
    assert_refused(&(struct skiff_trainer_config){.config = "/none.yaml"}, "/none.yaml");
    assert_refused(&(struct skiff_trainer_config){.config = "x", .resume = true, .overwrite = true},
                   "exclude each other");
    assert_refused(&(struct skiff_trainer_config){.config = "x", .reserved = {1}}, "reserved");
    line_deinit(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_end_and_resume),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
