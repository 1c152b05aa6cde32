/* Repeats runs of real Paddle 1.8.5 with parameter servers (tests/golden/dist.tar.xz) with real
 * processes: compares the losses of every step of every trainer, and all parameters and optimizer
 * state at the end. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "store/tensor_file.h"

#define AT_ONCE 4

struct recorded {
    char name[128], final_dir[1024];
    struct cluster_spec spec;
    struct cluster cluster;
};

static bool near(double a, double b)
{
    return fabs(a - b) <= 2e-6 + 2e-4 * fabs(b);
}

static void compare_file(struct cluster *c, const char *name)
{
    char path[2048];
    struct skiff_tensor want = {0};
    struct skiff_error err;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", (const char *)c->spec.user, name);
    if (value_file_read(path, &want, &err) < 0) {
        cluster_complain(c, "%s", err.message);
        return;
    }
    if (want.tensor.dtype != DTYPE_FP32)
        return; /* step counters are the trainer's and do not matter */
    float *have = cluster_value(c, name, &n);
    if (!have || n < (size_t)tensor_numel(&want.tensor)) {
        cluster_complain(c, "%s: has %zu elements, recorded %lld", name, n,
                         (long long)tensor_numel(&want.tensor));
    } else {
        for (int64_t i = 0; i < tensor_numel(&want.tensor); i++)
            if (!near(have[i], tensor_f32(&want.tensor)[i])) {
                cluster_complain(c, "%s[%lld] = %.9g, recorded %.9g", name, (long long)i,
                                 (double)have[i], (double)tensor_f32(&want.tensor)[i]);
                break;
            }
    }
    free(have);
    value_deinit(&want);
}

static void compare_final(struct cluster *c, int trainer)
{
    DIR *d = trainer == 0 ? opendir(c->spec.user) : NULL;
    for (struct dirent *f; d && (f = readdir(d));)
        if (f->d_name[0] != '.')
            compare_file(c, f->d_name);
    if (d)
        closedir(d);
    else if (trainer == 0)
        cluster_complain(c, "%s is not there", (const char *)c->spec.user);
}

static void compare_steps(const struct cluster *c, const char *name, int k)
{
    char path[2048];
    int step;
    double want;
    snprintf(path, sizeof path, "%s/%s/trainer%d.steps.txt", cluster_golden(), name, k);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fscanf(f, "%d %lf%*[^\n]", &step, &want) == 2) {
        double have = c->shared->trainer[k].loss[step][0];
        if (!near(have, want))
            fail_msg("%s: trainer %d, step %d: loss %.9g, recorded %.9g", name, k, step, have,
                     want);
    }
    fclose(f);
}

static void case_start(struct recorded *r, const char *name)
{
    char line[1024], text[512];
    snprintf(r->name, sizeof r->name, "%s", name);
    cluster_case(&r->spec, cluster_golden(), name);
    r->spec.at_end = compare_final;
    snprintf(line, sizeof line, "%s/%s/settings.txt", cluster_golden(), name);
    FILE *f = fopen(line, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "final %511s", text) == 1)
            snprintf(r->final_dir, sizeof r->final_dir, "%s/%s", cluster_golden(), text);
    fclose(f);
    r->spec.user = r->final_dir;
    cluster_start(&r->cluster, &r->spec);
}

static void case_check(struct recorded *r)
{
    struct cluster *c = &r->cluster;
    cluster_wait(c, 20);
    for (int i = 0; i < r->spec.servers; i++)
        if (atomic_load(&c->shared->server[i].status) != SKIFF_OK)
            fail_msg("%s: server %d: %s", r->name, i, c->shared->server[i].message);
    for (int k = 0; k < r->spec.trainers; k++)
        if (atomic_load(&c->shared->trainer[k].status) != SKIFF_OK)
            fail_msg("%s: trainer %d: %s", r->name, k, c->shared->trainer[k].message);
    for (int k = 0; k < r->spec.trainers; k++)
        compare_steps(c, r->name, k);
    if (c->shared->complaint[0])
        fail_msg("%s: %s", r->name, c->shared->complaint);
    printf("  %-50s %.2f s\n", r->name, clock_seconds() - c->started);
    cluster_end(c);
}

/* All cases whose name contains this part, some at a time. */
static void run_all(const char *part)
{
    static struct recorded running[AT_ONCE];
    DIR *d = opendir(cluster_golden());
    const char *only = getenv("CLUSTER_CASE");
    int n = 0, open = 0;
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));)
        if (f->d_name[0] != '.' && f->d_name[0] != '_' && strstr(f->d_name, part) &&
            (!only || strstr(f->d_name, only))) {
            case_start(&running[open++], f->d_name);
            n++;
            for (int i = 0; open == AT_ONCE && i < AT_ONCE; i++)
                case_check(&running[i]);
            open %= AT_ONCE;
        }
    for (int i = 0; i < open; i++)
        case_check(&running[i]);
    closedir(d);
    assert_true(n > 0 || only);
}

static void linear_regression(void **state)
{
    run_all("linreg-fleet");
}

static void bare_transpiler(void **state)
{
    run_all("-transpiler-");
}

static void ctr_sync(void **state)
{
    run_all("ctr-fleet-sync");
    run_all("ctr4k-fleet-sync");
}

static void ctr_half_async(void **state)
{
    run_all("half_async");
}

static void ctr_geo(void **state)
{
    run_all("ctr-fleet-geo");
}

static int unpack(void **state)
{
    return system("tests/golden/unpack.sh");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_regression), cmocka_unit_test(bare_transpiler),
        cmocka_unit_test(ctr_sync),          cmocka_unit_test(ctr_half_async),
        cmocka_unit_test(ctr_geo),
    };
    return cmocka_run_group_tests(tests, unpack, NULL);
}
