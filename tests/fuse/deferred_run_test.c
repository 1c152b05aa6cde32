/* Sparse rules that move every row in each step: deferring rows (fused runs) gives the values of
 * sweeping the table (unfused runs), over thousands of steps between two touches of a row. In
 * between come all operations that read or replace the table: fetching, testing, saving and
 * loading, loading parameters over it, writing to it, another executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "compare.h"
#include "executor/executor.h"
#include "io/io.h"

#define ROWS 60
#define WIDTH 3
#define BATCH 4
#define STEPS 3600
#define MANY_STEPS 18000 /* more than DEFERRED_HISTORY */
#define TOLERANCE 2e-4

struct model {
    struct skiff_net *net;
    struct skiff_program *test;
    const char *loss;
};

struct side {
    struct skiff_scope *scope;
    struct skiff_executor *e;
    struct skiff_tensor out[2];
    char dir[64];
    bool no_fuse;
};

static const struct skiff_program *inner(const struct skiff_program *p)
{
    return p;
}

static void or_die(enum skiff_status status, const struct skiff_error *err)
{
    if (status < 0)
        fail_msg("%s", err->message);
}

/* ---- the model ---- */

static void model_open(struct model *m, const char *optimizer, struct skiff_optimizer_options o,
                       bool schedule)
{
    static const double bounds[] = {500, 1500, 2600}, rates[] = {0.02, 0.005, 0.03, 0.01};
    struct skiff_error err = {0};
    *m = (struct model){.net = skiff_net_create()};
    struct skiff_var *ids = skiff_data(m->net, "ids", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *y = skiff_data(m->net, "y", SKIFF_DIMS(1));
    struct skiff_var *e = skiff_embedding(
        m->net, ids, ROWS, WIDTH, .is_sparse = true,
        .param_attr = SKIFF_PARAM(.name = "table", .initializer = skiff_init_uniform(-1, 1, 3)));
    struct skiff_var *dense = skiff_data(m->net, "x", SKIFF_DIMS(1));
    struct skiff_var *x = skiff_concat(m->net, SKIFF_VARS(e, dense), 1);
    struct skiff_var *out = skiff_fc(
        m->net, x, 1, .param_attr = SKIFF_PARAM(.initializer = skiff_init_uniform(-1, 1, 4)));
    struct skiff_var *loss = skiff_mean(m->net, skiff_square_error_cost(m->net, out, y));
    m->loss = skiff_var_name(loss);
    or_die(skiff_program_clone_for_test(skiff_net_main(m->net), &m->test, &err), &err);
    if (schedule)
        o.learning_rate_var = skiff_lr_piecewise(m->net, 3, bounds, rates);
    or_die(skiff_net_minimize(m->net, loss, optimizer, &o, &err), &err);
}

static void model_close(struct model *m)
{
    skiff_program_destroy(m->test);
    skiff_net_destroy(m->net);
}

/* Rows 0..9 come often, the others once in a long while, row ROWS - 1 at two steps only. */
static int64_t draw(uint64_t *state, int step)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    uint64_t r = *state >> 33;
    if (step == 5 || step == STEPS - 100 || step == MANY_STEPS - 100)
        return ROWS - 1;
    if (r % 97 == 0)
        return 10 + (int64_t)(r / 97 % (ROWS - 11));
    return (int64_t)(r % 10);
}

/* ---- running ---- */

static void side_run(struct side *s, const struct skiff_program *p, const struct tensor *ids,
                     const struct tensor *x, const struct tensor *y, const char *const *fetches,
                     int n)
{
    struct skiff_error err = {0};
    struct feed feeds[] = {{"ids", ids, NULL}, {"x", x, NULL}, {"y", y, NULL}};
    or_die(executor_run(s->e, inner(p), feeds, ids ? 3 : 0, fetches, n, s->out, &err), &err);
}

static void side_open(struct side *s, bool no_fuse)
{
    *s = (struct side){.scope = scope_create(), .no_fuse = no_fuse};
    s->e = executor_create(s->scope, &(struct executor_options){.no_fuse = no_fuse});
    snprintf(s->dir, sizeof(s->dir), "/tmp/skiff_deferred_XXXXXX");
    assert_non_null(mkdtemp(s->dir));
}

static void side_close(struct side *s)
{
    char command[128];
    executor_destroy(s->e);
    for (int i = 0; i < 2; i++)
        value_deinit(&s->out[i]);
    scope_destroy(s->scope);
    snprintf(command, sizeof(command), "rm -rf %s", s->dir);
    assert_int_equal(system(command), 0);
}

/* Everything into files, and from there into a new scope with a new executor. */
static void side_move(struct side *s, const struct model *m)
{
    struct skiff_error err = {0};
    const struct skiff_program *p = inner(skiff_net_main(m->net));
    or_die(io_save_group(s->scope, p, IO_PERSISTABLES, s->dir, "all", &err), &err);
    executor_destroy(s->e);
    scope_destroy(s->scope);
    s->scope = scope_create();
    s->e = executor_create(s->scope, &(struct executor_options){.no_fuse = s->no_fuse});
    or_die(io_load_group(s->scope, p, IO_PERSISTABLES, s->dir, "all", &err), &err);
}

static void side_save_params(struct side *s, const struct model *m)
{
    struct skiff_error err = {0};
    or_die(io_save_group(s->scope, inner(skiff_net_main(m->net)), IO_PARAMS, s->dir, NULL, &err),
           &err);
}

static void side_load_params(struct side *s, const struct model *m)
{
    struct skiff_error err = {0};
    or_die(io_load_group(s->scope, inner(skiff_net_main(m->net)), IO_PARAMS, s->dir, NULL, &err),
           &err);
}

static void side_write(struct side *s)
{
    struct skiff_tensor *table = scope_find(s->scope, "table");
    for (int i = 0; i < ROWS * WIDTH; i += 7)
        tensor_f32(&table->tensor)[i] = 0.01f * (float)i;
}

/* A few steps with an executor of the other kind on the same scope. */
static void side_switch(struct side *s)
{
    executor_destroy(s->e);
    s->no_fuse = !s->no_fuse;
    s->e = executor_create(s->scope, &(struct executor_options){.no_fuse = s->no_fuse});
}

/* ---- the comparison ---- */

struct pair {
    struct model model;
    struct side plain, deferred;
    struct tensor ids, x, y;
    uint64_t state;
    const char *about;
};

static void both(struct pair *p, const struct skiff_program *program, const char *const *fetches,
                 int n, int step)
{
    char why[256];
    side_run(&p->plain, program, &p->ids, &p->x, &p->y, fetches, n);
    side_run(&p->deferred, program, &p->ids, &p->x, &p->y, fetches, n);
    for (int i = 0; i < n; i++)
        if (!values_agree(&p->plain.out[i], &p->deferred.out[i], TOLERANCE, why, sizeof(why)))
            fail_msg("%s, step %d, %s: %s", p->about, step, fetches[i], why);
}

static void events(struct pair *p, int step)
{
    struct side *sides[] = {&p->plain, &p->deferred};
    for (int i = 0; i < 2; i++) {
        if (step == 1200 || step == 3100)
            side_move(sides[i], &p->model);
        if (step == 700)
            side_save_params(sides[i], &p->model);
        if (step == 1700)
            side_load_params(sides[i], &p->model);
        if (step == 2000)
            side_write(sides[i]);
    }
    if (step == 2300 || step == 2340)
        side_switch(&p->deferred);
}

static void pair_step(struct pair *p, int step)
{
    const char *fetches[] = {p->model.loss, "table"};
    for (int i = 0; i < BATCH; i++) {
        tensor_i64(&p->ids)[i] = draw(&p->state, step);
        tensor_f32(&p->x)[i] = (float)((p->state >> 20) % 1000) / 1000;
        tensor_f32(&p->y)[i] = (float)((p->state >> 40) % 1000) / 1000;
    }
    events(p, step);
    both(p, skiff_net_main(p->model.net), fetches, step % 500 == 499 ? 2 : 1, step);
    if (step % 400 == 399) /* tests with a row that has long been left behind */
        tensor_i64(&p->ids)[0] = ROWS - 1 - step / 400 % 40,
        both(p, p->model.test, fetches, 1, step);
}

static void compare_steps(const char *optimizer, struct skiff_optimizer_options o, bool schedule,
                          int steps)
{
    struct pair p = {.state = 99, .about = optimizer};
    struct shape shape = SHAPE(BATCH, 1);
    char why[512];
    model_open(&p.model, optimizer, o, schedule);
    side_open(&p.plain, true);
    side_open(&p.deferred, false);
    assert_int_equal(tensor_resize(&p.ids, DTYPE_INT64, &shape, NULL), SKIFF_OK);
    assert_int_equal(tensor_resize(&p.x, DTYPE_FP32, &shape, NULL), SKIFF_OK);
    assert_int_equal(tensor_resize(&p.y, DTYPE_FP32, &shape, NULL), SKIFF_OK);
    side_run(&p.plain, skiff_net_startup(p.model.net), NULL, NULL, NULL, NULL, 0);
    scope_copy(p.deferred.scope, p.plain.scope);
    for (int i = 0; i < steps; i++)
        pair_step(&p, i);
    if (!scopes_agree(p.plain.scope, p.deferred.scope, TOLERANCE, why, sizeof(why)))
        fail_msg("%s, in the end: %s", optimizer, why);
    tensor_deinit(&p.ids);
    tensor_deinit(&p.x);
    tensor_deinit(&p.y);
    side_close(&p.plain);
    side_close(&p.deferred);
    model_close(&p.model);
}

static void compare_run(const char *optimizer, struct skiff_optimizer_options o, bool schedule)
{
    compare_steps(optimizer, o, schedule, STEPS);
}

static void test_adam(void **state)
{
    struct skiff_optimizer_options o = {.learning_rate = 0.01, .epsilon = 1e-4};
    compare_steps("adam", o, false, MANY_STEPS);
    compare_run("adam", o, true);
    o = (struct skiff_optimizer_options){
        .learning_rate = 0.01, .beta1 = 0.5, .beta2 = 0.9, .epsilon = 0.02};
    compare_run("adam", o, true);
}

static void test_momentum(void **state)
{
    struct skiff_optimizer_options o = {.learning_rate = 0.01, .momentum = 0.9};
    compare_run("momentum", o, false);
    compare_run("momentum", o, true);
    o.use_nesterov = true;
    compare_run("momentum", o, true);
}

static void test_rmsprop(void **state)
{
    struct skiff_optimizer_options o = {.learning_rate = 0.005, .epsilon = 1e-3, .momentum = 0.7};
    compare_run("rmsprop", o, false);
    compare_run("rmsprop", o, true);
    o.centered = true;
    compare_run("rmsprop", o, true);
}

static void test_adamax(void **state)
{
    struct skiff_optimizer_options o = {.learning_rate = 0.01, .epsilon = 1e-3};
    compare_run("adamax", o, false);
    compare_run("adamax", o, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_rmsprop),
        cmocka_unit_test(test_adamax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
