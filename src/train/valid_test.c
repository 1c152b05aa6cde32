#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "train/valid.h"
#include "store/file.h"
#include "store/model_dir.h"

static void add(struct valid *v, int epoch, bool end, double auc, double log_loss)
{
    valid_add(v, &(struct valid_point){.epoch = epoch,
                                       .batch = 10 * (v->n + 1),
                                       .samples = 100 * (v->n + 1),
                                       .end = end,
                                       .kept = end,
                                       .auc = auc,
                                       .log_loss = log_loss,
                                       .copc = NAN,
                                       .loss = log_loss});
    valid_replay(v);
}

static void patience_counts_points_without_improvement(void **state)
{
    (void)state;
    struct valid v = {.patience = 2, .delta = 0.01};
    add(&v, 0, true, 0.70, 0.5);
    assert_int_equal(v.metric, VALID_AUC);
    assert_int_equal(v.best, 0);
    add(&v, 1, true, 0.705, 0.4); /* better, by too little */
    assert_int_equal(v.best, 1);
    assert_int_equal(v.idle, 1);
    assert_false(v.stop);
    add(&v, 2, true, 0.711, 0.6); /* enough, over what had to be improved on */
    assert_int_equal(v.idle, 0);
    assert_true(v.reference == 0.711);
    add(&v, 3, true, 0.70, 0.3);
    assert_false(v.stop);
    add(&v, 4, true, NAN, NAN); /* never better */
    assert_true(v.stop);
    assert_int_equal(v.best, 2);
    v.patience = 3; /* replayed with other settings: continues */
    valid_replay(&v);
    assert_false(v.stop);
    v.metric = VALID_LOG_LOSS; /* the smallest */
    valid_replay(&v);
    assert_int_equal(v.best, 3);
    free(v.points);
}

static void without_delta_any_improvement_counts(void **state)
{
    (void)state;
    struct valid v = {.patience = 1};
    add(&v, 0, true, NAN, 0.5);
    assert_int_equal(v.metric, VALID_LOG_LOSS); /* there is no auc */
    add(&v, 1, true, NAN, 0.4999999);
    assert_false(v.stop);
    add(&v, 2, true, NAN, 0.4999999); /* the same is none */
    assert_true(v.stop);
    assert_int_equal(v.best, 1);
    free(v.points);
}

static void the_best_is_one_that_is_kept(void **state)
{
    (void)state;
    struct valid v = {0};
    add(&v, 0, true, 0.7, 0.5);
    add(&v, 1, false, 0.9, 0.5);
    add(&v, 1, true, 0.8, 0.5);
    assert_int_equal(v.best, 2);
    assert_int_equal(v.top, 1);
    assert_ptr_equal(valid_of_epoch(&v, 1), &v.points[2]);
    assert_null(valid_of_epoch(&v, 2));
    assert_int_equal(v.idle, 1); /* patience sees all of them */
    free(v.points);
}

static void save_epoch(const char *folder, const char *name, const char *run)
{
    struct model_writer w;
    char path[200];
    struct model_info note = {.epoch = atoi(name), .complete = true, .known = true};
    snprintf(note.run, sizeof(note.run), "%s", run);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(model_writer_open(&w, path, NULL), SKIFF_OK);
    model_writer_describe(&w, &note);
    assert_int_equal(model_writer_bytes(&w, "x", "y", 1, NULL), SKIFF_OK);
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
}

static void is_there(const char *folder, const char *name, bool want)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(file_exists(path) != 0, want);
}

static void a_record_is_read_as_it_was_written(void **state)
{
    (void)state;
    char folder[] = "/tmp/skiff-valid-XXXXXX";
    struct skiff_error err = {0};
    struct valid_best best;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(valid_best_read(folder, &best, &err), SKIFF_OK);
    assert_int_equal(best.epoch, -1); /* not known */
    struct valid v = {.folder = folder, .run = "5c0f", .keep_best = true}, w = v;
    add(&v, 0, true, 0.7, 0.5);
    add(&v, 1, false, 0.1 + 0.7, 0.5);
    add(&v, 1, true, 1.0 / 3, 0.25);
    save_epoch(folder, "0", "5c0f");
    assert_int_equal(valid_record_write(&v, &err), SKIFF_OK);
    assert_int_equal(valid_record_read(&w, &err), SKIFF_OK);
    assert_int_equal(w.n, 3);
    for (int i = 0; i < 3; i++) {
        const struct valid_point *a = &v.points[i], *b = &w.points[i];
        assert_true(a->epoch == b->epoch && a->batch == b->batch && a->samples == b->samples);
        assert_true(a->end == b->end && a->kept == b->kept && isnan(b->copc));
        assert_true(a->auc == b->auc && a->log_loss == b->log_loss && a->loss == b->loss);
    }
    assert_int_equal(valid_best_read(folder, &best, &err), SKIFF_OK);
    assert_int_equal(best.epoch, 0);
    assert_int_equal(best.metric, VALID_AUC);
    assert_true(best.value == 0.7 && best.end);
    assert_string_equal(best.model, "0");
    save_epoch(folder, "0", "another"); /* another run has replaced it */
    assert_int_equal(valid_best_read(folder, &best, &err), SKIFF_OK);
    assert_int_equal(best.epoch, -1);
    snprintf(w.run, sizeof(w.run), "another");
    assert_int_equal(valid_record_read(&w, &err), SKIFF_OK);
    assert_int_equal(w.n, 0); /* what was found is not of this run */
    free(v.points);
    free(w.points);
    file_remove_tree(folder);
}

static void old_epochs_go_and_the_best_stays(void **state)
{
    (void)state;
    char folder[] = "/tmp/skiff-valid-XXXXXX";
    static const char *const names[] = {"0", "1", "2", "3", "4"};
    assert_non_null(mkdtemp(folder));
    struct task task = {.name = NULL}; /* it logs to nobody */
    struct valid v = {
        .task = &task, .folder = folder, .run = "5c0f", .keep_best = true, .keep_epochs = 2};
    for (int i = 0; i < 5; i++) {
        save_epoch(folder, names[i], i == 0 ? "another" : "5c0f");
        add(&v, i, true, i == 1 ? 0.9 : 0.5, 0.5);
    }
    assert_true(valid_remove_old(&v, 4));
    is_there(folder, "0", true); /* not this run's */
    is_there(folder, "1", true); /* the best */
    is_there(folder, "2", false);
    is_there(folder, "3", true);
    is_there(folder, "4", true);
    assert_false(v.points[2].kept);
    assert_false(valid_remove_old(&v, 4));
    v.keep_best = false;
    assert_true(valid_remove_old(&v, 4));
    is_there(folder, "1", false);
    valid_replay(&v);
    assert_int_equal(v.best, 0); /* of what is there */
    v.keep_epochs = 0;
    assert_false(valid_remove_old(&v, 4));
    is_there(folder, "3", true);
    free(v.points);
    file_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patience_counts_points_without_improvement),
        cmocka_unit_test(without_delta_any_improvement_counts),
        cmocka_unit_test(the_best_is_one_that_is_kept),
        cmocka_unit_test(a_record_is_read_as_it_was_written),
        cmocka_unit_test(old_epochs_go_and_the_best_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
