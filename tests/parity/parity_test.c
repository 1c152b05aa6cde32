/* The same call sequence gives the same program as Fluid 1.8.5: every recorded model is built with
 * the public API and compared, op by op, with what real Paddle wrote (tests/data/parity).
 *
 * The models of `recorded` were built one after the other by one process, and name scopes
 * (op_namescope "/optimizer_17/") count through it: one net builds them all here too, in the same
 * order, with fresh programs and names for each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"
#include "models_ctr.h"
#include "models_rec.h"

/* ---- small models ---- */

static struct skiff_var *build_linreg(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(13));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1));
    return skiff_mean(net, skiff_square_error_cost(net, skiff_fc(net, x, 1), y));
}

static struct skiff_var *tiny(struct skiff_net *net, bool table, bool sparse)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1));
    if (table) {
        struct skiff_var *ids =
            skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
        struct skiff_var *e = skiff_embedding(net, ids, 12, 3, .is_sparse = sparse,
                                              .param_attr = TABLE("table", 0.5));
        x = skiff_concat(net, SKIFF_VARS(x, skiff_sequence_pool(net, e, "sum")), 1);
    }
    return skiff_mean(net, skiff_square_error_cost(net, skiff_fc(net, x, 1), y));
}

static struct skiff_var *build_tiny(struct skiff_net *net)
{
    return tiny(net, false, false);
}

static struct skiff_var *build_tiny_sparse(struct skiff_net *net)
{
    return tiny(net, true, true);
}

static struct skiff_var *build_tiny_dense(struct skiff_net *net)
{
    return tiny(net, true, false);
}

static struct skiff_var *build_ctr(struct skiff_net *net)
{
    return ctr_dnn(net, &ctr_small).loss;
}

static struct skiff_var *build_ctr_dense(struct skiff_net *net)
{
    return ctr_dnn(net, &ctr_small_dense).loss;
}

static struct skiff_var *build_ctr_multi(struct skiff_net *net)
{
    return ctr_dnn(net, &ctr_multi_id).loss;
}

/* ---- learning rates ---- */

static struct skiff_var *lr_exponential(struct skiff_net *net)
{
    return skiff_lr_exponential(net, 0.1, 4, 0.5, false);
}
static struct skiff_var *lr_exponential_staircase(struct skiff_net *net)
{
    return skiff_lr_exponential(net, 0.1, 4, 0.5, true);
}
static struct skiff_var *lr_natural_exp(struct skiff_net *net)
{
    return skiff_lr_natural_exp(net, 0.1, 4, 0.5, false);
}
static struct skiff_var *lr_natural_exp_staircase(struct skiff_net *net)
{
    return skiff_lr_natural_exp(net, 0.1, 4, 0.5, true);
}
static struct skiff_var *lr_inverse_time(struct skiff_net *net)
{
    return skiff_lr_inverse_time(net, 0.1, 4, 0.5, false);
}
static struct skiff_var *lr_inverse_time_staircase(struct skiff_net *net)
{
    return skiff_lr_inverse_time(net, 0.1, 4, 0.5, true);
}
static struct skiff_var *lr_polynomial(struct skiff_net *net)
{
    return skiff_lr_polynomial(net, 0.1, 5, 0.01, 2.0, false);
}
static struct skiff_var *lr_polynomial_cycle(struct skiff_net *net)
{
    return skiff_lr_polynomial(net, 0.1, 5, 0.01, 2.0, true);
}
static struct skiff_var *lr_piecewise(struct skiff_net *net)
{
    return skiff_lr_piecewise(net, 2, (double[]){3, 7}, (double[]){0.1, 0.05, 0.01});
}
static struct skiff_var *lr_noam(struct skiff_net *net)
{
    return skiff_lr_noam(net, 16, 4, 1.0);
}
static struct skiff_var *lr_cosine(struct skiff_net *net)
{
    return skiff_lr_cosine(net, 0.1, 3, 4);
}
static struct skiff_var *lr_linear_warmup(struct skiff_net *net)
{
    return skiff_lr_linear_warmup(net, NULL, 0.1, 5, 0.01, 0.1);
}
static struct skiff_var *lr_linear_warmup_piecewise(struct skiff_net *net)
{
    struct skiff_var *lr =
        skiff_lr_piecewise(net, 2, (double[]){7, 9}, (double[]){0.1, 0.05, 0.01});
    return skiff_lr_linear_warmup(net, lr, 0, 5, 0.01, 0.1);
}

/* ---- all of them ---- */

struct model {
    const char *name;
    struct skiff_var *(*build)(struct skiff_net *net);
    const char *optimizer;
    struct skiff_optimizer_options o;
    struct skiff_var *(*rate)(struct skiff_net *net);
    bool set_clip; /* fluid.clip.set_gradient_clip instead of grad_clip */
    int seed;
};

#define L2                \
    {                     \
        SKIFF_REG_L2, 0.1 \
    }
#define L1                \
    {                     \
        SKIFF_REG_L1, 0.1 \
    }
#define GLOBAL_NORM(v)                            \
    {                                             \
        .kind = SKIFF_CLIP_GLOBAL_NORM, .norm = v \
    }
#define SGD_WITH(...)                     \
    "sgd",                                \
    {                                     \
        .learning_rate = 0.1, __VA_ARGS__ \
    }
#define LR_CASE(what)                                                                   \
    {                                                                                   \
        .name = "lr_" #what, .build = build_tiny, .optimizer = "sgd", .rate = lr_##what \
    }

static const struct model recorded[] = {
    {"linreg_sgd", build_linreg, "sgd", {.learning_rate = 0.01}, .seed = 7},
    {"ctr_dnn_sgd", build_ctr, "sgd", {.learning_rate = 0.005}, .seed = 7},
    {"ctr_dnn_sgd_dense", build_ctr_dense, "sgd", {.learning_rate = 0.005}, .seed = 7},
    {"ctr_dnn_adam", build_ctr, "adam", {.learning_rate = 1e-3}, .seed = 7},
    {"ctr_dnn_adam_lazy", build_ctr, "adam", {.learning_rate = 1e-3, .lazy_mode = true}, .seed = 7},
    {"ctr_dnn_adam_dense", build_ctr_dense, "adam", {.learning_rate = 1e-3}, .seed = 7},
    {"ctr_dnn_adagrad", build_ctr, "adagrad", {.learning_rate = 0.01}, .seed = 7},
    {"ctr_dnn_momentum",
     build_ctr,
     "momentum",
     {.learning_rate = 0.002, .momentum = 0.9},
     .seed = 7},
    {"ctr_dnn_nesterov",
     build_ctr,
     "momentum",
     {.learning_rate = 0.002, .momentum = 0.9, .use_nesterov = true},
     .seed = 7},
    {"ctr_dnn_rmsprop", build_ctr, "rmsprop", {.learning_rate = 0.001}, .seed = 7},
    {"ctr_dnn_rmsprop_centered",
     build_ctr,
     "rmsprop",
     {.learning_rate = 0.001, .centered = true, .momentum = 0.5},
     .seed = 7},
    {"ctr_dnn_decayed_adagrad_dense",
     build_ctr_dense,
     "decayed_adagrad",
     {.learning_rate = 0.001},
     .seed = 7},
    {"ctr_dnn_adamax_dense", build_ctr_dense, "adamax", {.learning_rate = 0.001}, .seed = 7},
    {"ctr_dnn_adadelta_dense", build_ctr_dense, "adadelta", {.learning_rate = 1.0}, .seed = 7},
    {"ctr_dnn_ftrl_dense", build_ctr_dense, "ftrl", {.learning_rate = 0.1, .l1 = 0.001}, .seed = 7},
    {"ctr_dnn_lamb", build_ctr, "lamb", {.learning_rate = 0.001}, .seed = 7},
    {"ctr_dnn_lars_dense",
     build_ctr_dense,
     "lars_momentum",
     {.learning_rate = 0.05, .momentum = 0.9},
     .seed = 7},
    {"ctr_dnn_multi_id_adam", build_ctr_multi, "adam", {.learning_rate = 1e-3}, .seed = 7},
    {.name = "ctr_dnn_full"},
    {"fm_sgd", build_fm, "sgd", {.learning_rate = 0.5}, .seed = 7},
    {"deepfm_adam", build_deepfm, "adam", {.learning_rate = 0.01}, .seed = 7},
    {"wide_deep_adam", build_wide_deep, "adam", {.learning_rate = 0.01}, .seed = 7},
    {"dcn_sgd", build_dcn, "sgd", {.learning_rate = 0.05}, .seed = 7},
    {"logistic_regression_sgd", build_logistic, "sgd", {.learning_rate = 0.5}, .seed = 7},
    {"word2vec_nce_sgd", build_word2vec_nce, "sgd", {.learning_rate = 0.5}, .seed = 7},
    {"word2vec_negsampling_adam",
     build_word2vec_negative,
     "adam",
     {.learning_rate = 0.02},
     .seed = 7},
    {"dssm_simnet_bow_sgd", build_simnet, "sgd", {.learning_rate = 0.5}, .seed = 7},
    LR_CASE(exponential),
    LR_CASE(exponential_staircase),
    LR_CASE(natural_exp),
    LR_CASE(natural_exp_staircase),
    LR_CASE(inverse_time),
    LR_CASE(inverse_time_staircase),
    LR_CASE(polynomial),
    LR_CASE(polynomial_cycle),
    LR_CASE(piecewise),
    LR_CASE(noam),
    LR_CASE(cosine),
    LR_CASE(linear_warmup),
    LR_CASE(linear_warmup_piecewise),
    {"regularizer_l2_fc_only", build_tiny, SGD_WITH(.regularization = L2), .seed = 0},
    {"regularizer_l1_fc_only", build_tiny, SGD_WITH(.regularization = L1), .seed = 0},
    {"clip_global_norm_fc_only", build_tiny, SGD_WITH(.grad_clip = GLOBAL_NORM(0.5)), .seed = 0},
    {"clip_value_fc_only", build_tiny,
     SGD_WITH(.grad_clip = {.kind = SKIFF_CLIP_VALUE, .max = 0.2, .min = -0.1}), .seed = 0},
    {"clip_norm_fc_only", build_tiny, SGD_WITH(.grad_clip = {.kind = SKIFF_CLIP_NORM, .norm = 0.5}),
     .seed = 0},
    {"regularizer_l2_sparse_table", build_tiny_sparse, SGD_WITH(.regularization = L2), .seed = 0},
    {"regularizer_l1_sparse_table", build_tiny_sparse, SGD_WITH(.regularization = L1), .seed = 0},
    {"clip_global_norm_sparse_table", build_tiny_sparse, SGD_WITH(.grad_clip = GLOBAL_NORM(0.5)),
     .seed = 0},
    {"clip_value_sparse_table", build_tiny_sparse,
     SGD_WITH(.grad_clip = {.kind = SKIFF_CLIP_VALUE, .max = 0.2, .min = -0.1}), .seed = 0},
    {"clip_norm_sparse_table", build_tiny_sparse,
     SGD_WITH(.grad_clip = {.kind = SKIFF_CLIP_NORM, .norm = 0.5}), .seed = 0},
    {"clip_global_norm_dense_table", build_tiny_dense, SGD_WITH(.grad_clip = GLOBAL_NORM(0.5)),
     .seed = 0},
    {"clip_and_regularizer",
     build_tiny_sparse,
     "adam",
     {.learning_rate = 0.1, .grad_clip = GLOBAL_NORM(0.5), .regularization = L2},
     .seed = 0},
    {"clip_global_norm_not_reached", build_tiny, SGD_WITH(.grad_clip = GLOBAL_NORM(500.0)),
     .seed = 0},
    {"clip_set_gradient_clip", build_tiny, "sgd", {.learning_rate = 0.1}, .set_clip = true},
};

static void or_die(struct skiff_net *net, const char *name, enum skiff_status status,
                   const struct skiff_error *err)
{
    if (status < 0)
        fail_msg("%s: %s (%s)", name, err->message, err->origin);
}

/* Fresh programs and names, the model, minimize; compared with the record. */
static int check_model(struct skiff_net *net, const struct model *m)
{
    struct skiff_program *main = skiff_program_create(), *startup = skiff_program_create();
    struct skiff_error err = {0};
    skiff_program_set_seed(startup, m->seed);
    skiff_net_push_programs(net, main, startup);
    skiff_net_push_names(net, NULL);
    struct skiff_var *loss = m->build(net);
    struct skiff_optimizer_options o = m->o;
    if (m->set_clip) {
        struct skiff_clip clip = skiff_clip_global_norm(0.5);
        skiff_net_set_gradient_clip(net, &clip, NULL, 0);
    }
    if (m->rate)
        o.learning_rate_var = m->rate(net);
    int n = 1;
    if (skiff_net_minimize(net, loss, m->optimizer, &o, &err) < 0) {
        print_error("%s: %s (%s)\n", m->name, err.message, err.origin);
        skiff_net_forget(net);
    } else {
        n = compare(main, m->name, "main.pb") + compare(startup, m->name, "startup.pb");
    }
    skiff_net_pop_names(net);
    skiff_net_pop_programs(net);
    skiff_program_destroy(main);
    skiff_program_destroy(startup);
    return n;
}

static int check_full(struct skiff_net *net)
{
    struct skiff_program *main = skiff_program_create(), *startup = skiff_program_create();
    struct skiff_program *test = NULL, *inference = NULL;
    struct skiff_error err = {0};
    const char *feeds[27] = {"dense_input"};
    char names[26][4];
    skiff_net_push_programs(net, main, startup);
    skiff_net_push_names(net, NULL);
    struct ctr_net ctr = ctr_dnn(net, &ctr_full);
    if (skiff_net_check(net, &err) < 0) {
        print_error("ctr_dnn_full: %s\n", err.message);
        skiff_net_forget(net);
        return 1;
    }
    int n = compare(main, "ctr_dnn_full/before_minimize", "main.pb") +
            compare(startup, "ctr_dnn_full/before_minimize", "startup.pb");
    or_die(net, "ctr_dnn_full", skiff_minimize(net, ctr.loss, &err, "adam", .learning_rate = 1e-4),
           &err);
    n += compare(main, "ctr_dnn_full/after_minimize", "main.pb") +
         compare(startup, "ctr_dnn_full/after_minimize", "startup.pb");
    or_die(net, "for_test", skiff_program_clone_for_test(main, &test, &err), &err);
    n += compare(test, "ctr_dnn_full/for_test", "main.pb");
    for (int i = 0; i < 26; i++) {
        snprintf(names[i], sizeof names[i], "C%d", i + 1);
        feeds[1 + i] = names[i];
    }
    const char *target = skiff_var_name(ctr.predict);
    or_die(net, "inference", skiff_program_prune(main, feeds, 27, &target, 1, &inference, &err),
           &err);
    n += compare(inference, "ctr_dnn_full/inference", "main.pb");
    skiff_net_pop_names(net);
    skiff_net_pop_programs(net);
    skiff_program_destroy(main);
    skiff_program_destroy(startup);
    skiff_program_destroy(test);
    skiff_program_destroy(inference);
    return n;
}

static void all_recorded_models(void **state)
{
    struct skiff_net *net = skiff_net_create();
    int wrong = 0;
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        int n = recorded[i].build ? check_model(net, &recorded[i]) : check_full(net);
        if (n)
            print_error("%s: %d differences\n", recorded[i].name, n);
        wrong += n != 0;
    }
    skiff_net_destroy(net);
    assert_int_equal(wrong, 0);
}

/* ---- models/parallel_*: another process, other order ---- */

static struct skiff_var *parallel_net(struct skiff_net *net, bool total)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1));
    struct skiff_var *ids = skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
    struct skiff_var *e = skiff_embedding(net, ids, 12, 3, .is_sparse = true,
                                          .param_attr = SKIFF_PARAM(.name = "table"));
    e = skiff_sequence_pool(net, e, "sum");
    struct skiff_var *p = skiff_fc(net, skiff_concat(net, SKIFF_VARS(x, e), 1), 1);
    struct skiff_var *cost = skiff_square_error_cost(net, p, y);
    return total ? skiff_reduce(net, sum, cost) : skiff_mean(net, cost);
}

static struct skiff_var *build_parallel_mean(struct skiff_net *net)
{
    return parallel_net(net, false);
}

static struct skiff_var *build_parallel_sum(struct skiff_net *net)
{
    return parallel_net(net, true);
}

static void parallel_models(void **state)
{
    static const struct model models[] = {
        {"parallel_mean", build_parallel_mean, "sgd", {.learning_rate = 0.1}, .seed = 3},
        {"parallel_sum", build_parallel_sum, "sgd", {.learning_rate = 0.001}, .seed = 3},
        {"parallel_mean_scale_one", build_parallel_mean, "sgd", {.learning_rate = 0.1}, .seed = 3},
        {"parallel_mean_adam", build_parallel_mean, "adam", {.learning_rate = 0.01}, .seed = 3},
    };
    struct skiff_net *net = skiff_net_create();
    int wrong = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        wrong += check_model(net, &models[i]) != 0;
    skiff_net_destroy(net);
    assert_int_equal(wrong, 0);
}

/* ---- saved/: the small CTR-DNN and its inference program ---- */

static void saved_model(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_program *inference = NULL;
    const char *feeds[] = {"dense_input", "C1", "C2", "C3"};
    skiff_program_set_seed(skiff_net_startup(net), 7);
    struct ctr_net ctr = ctr_dnn(net, &ctr_saved);
    or_die(net, "saved", skiff_minimize(net, ctr.loss, &err, "adam", .learning_rate = 1e-2), &err);
    const char *target = skiff_var_name(ctr.predict);
    or_die(net, "saved",
           skiff_program_prune(skiff_net_main(net), feeds, 4, &target, 1, &inference, &err), &err);
    int n = compare(skiff_net_main(net), "saved", "main.pb") +
            compare(skiff_net_startup(net), "saved", "startup.pb") +
            compare(inference, "saved", "inference.pb");
    skiff_program_destroy(inference);
    skiff_net_destroy(net);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_recorded_models),
        cmocka_unit_test(parallel_models),
        cmocka_unit_test(saved_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
