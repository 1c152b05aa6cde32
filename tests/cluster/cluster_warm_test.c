/* Jobs that start from a saved model: saved in every form, loaded by 1, 2 and 3 servers; the values
 * of trainers and servers are compared with it, bit by bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster.h"
#include "io/io.h"

static char dir[] = "/tmp/skiff-warm-XXXXXX";

struct expected {
    struct skiff_scope *model;
    bool has_state;
};

/* Different numbers for every persistable variable. */
static struct skiff_scope *make_model(const struct skiff_program *p)
{
    struct skiff_scope *s = scope_create();
    struct io_vars vars;
    io_vars_list(p, IO_PERSISTABLES, &vars);
    for (int i = 0; i < vars.n; i++) {
        struct skiff_tensor *v = scope_var(s, vars.v[i]->name);
        assert_int_equal(value_as_tensor(v, vars.v[i]->dtype, &vars.v[i]->shape, NULL), SKIFF_OK);
        memset(v->tensor.data, 0, tensor_bytes(&v->tensor));
        for (int64_t k = 0; v->tensor.dtype == DTYPE_FP32 && k < tensor_numel(&v->tensor); k++)
            tensor_f32(&v->tensor)[k] = (float)(i * 1000 + 1) / 64 + (float)k / 1024;
    }
    io_vars_deinit(&vars);
    return s;
}

static void compare(struct cluster *c, int trainer)
{
    const struct expected *e = c->spec.user;
    int count = split_plan(c->split)->nplacement;
    const struct skiff_placement *p = split_plan(c->split)->placement;
    for (int i = 0; i < count && trainer == 0; i++) {
        size_t n;
        if (p[i].state && !e->has_state)
            continue;
        const struct tensor *want = &scope_find(e->model, p[i].origin)->tensor;
        float *have = cluster_value(c, p[i].origin, &n);
        if (n != (size_t)tensor_numel(want) || memcmp(have, want->data, n * sizeof *have))
            cluster_complain(c, "%s: %zu elements, first %g; saved %lld, first %g", p[i].origin, n,
                             n ? (double)have[0] : 0, (long long)tensor_numel(want),
                             (double)tensor_f32(want)[0]);
        free(have);
    }
}

static void run(const struct cluster_spec *s)
{
    struct cluster c;
    cluster_start(&c, s);
    cluster_wait(&c, 25);
    for (int i = 0; i < s->servers; i++)
        if (atomic_load(&c.shared->server[i].status) != SKIFF_OK)
            fail_msg("%s, server %d of %d: %s", s->init, i, s->servers,
                     c.shared->server[i].message);
    if (atomic_load(&c.shared->trainer[0].status) != SKIFF_OK)
        fail_msg("%s, %d servers, trainer: %s", s->init, s->servers, c.shared->trainer[0].message);
    if (c.shared->complaint[0])
        fail_msg("%s, %d servers: %s", s->init, s->servers, c.shared->complaint);
    cluster_end(&c);
}

static const char *in_dir(const char *name)
{
    static char ring[4][128];
    static int at;
    snprintf(ring[at = (at + 1) % 4], sizeof ring[0], "%s/%s", dir, name);
    return ring[at];
}

static void save_forms(struct skiff_scope *model, const struct cluster_spec *s)
{
    const struct skiff_program *p = s->main;
    const char *feeds[32], *target = s->fetch[0];
    struct io_inference what = {feeds, s->ninputs, &target, 1};
    struct skiff_error err;
    for (int i = 0; i < s->ninputs; i++)
        feeds[i] = s->inputs[i].name;
#define OR_DIE(call) \
    if ((call) < 0)  \
    fail_msg("%s", err.message)
    OR_DIE(io_save_group(model, p, IO_PERSISTABLES, in_dir("files"), NULL, &err));
    OR_DIE(io_save_group(model, p, IO_PERSISTABLES, in_dir("all"), "a", &err));
    OR_DIE(io_save_group(model, p, IO_PARAMS, in_dir("params"), "p", &err));
    OR_DIE(io_save(model, p, in_dir("pickles/x"), &err));
    OR_DIE(io_save_inference_dir(model, p, &what, in_dir("model"), NULL, "__params__", &err));
    OR_DIE(io_save_inference_prefix(model, p, &what, in_dir("pair/x"), &err));
#undef OR_DIE
}

static void every_form_loads(void **state)
{
    static const struct {
        const char *path;
        bool has_state;
    } forms[] = {{"files", true},     {"all", true},    {"params", false},
                 {"pickles/x", true}, {"model", false}, {"pair/x", false}};
    struct cluster_spec s;
    cluster_case(&s, cluster_golden(), "ctr4k-fleet-sync-2x2-adam");
    struct expected e = {.model = make_model(s.main)};
    save_forms(e.model, &s);
    s.trainers = 1;
    s.steps = 0;
    s.at_end = compare;
    s.user = &e;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (s.servers = 1; s.servers <= 3; s.servers++) {
            snprintf(s.init, sizeof s.init, "%s", in_dir(forms[k].path));
            e.has_state = forms[k].has_state;
            run(&s);
        }
    scope_destroy(e.model);
}

static int prepare(void **state)
{
    return mkdtemp(dir) ? system("tests/golden/unpack.sh") : -1;
}

static int clean_up(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form_loads)};
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
