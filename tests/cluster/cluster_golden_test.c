/* Runs of real Paddle 1.8.5 with parameter servers (tests/golden/dist.tar.xz) again, by real
 * processes here: losses of every step of every trainer, and all parameters and optimizer state at
 * the end. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "store/tensor_file.h"

static char final_dir[1024];

static bool near(double a, double b)
{
    return fabs(a - b) <= 2e-6 + 2e-4 * fabs(b);
}

static void compare_file(struct cluster *c, const char *name)
{
    char path[2048];
    struct value want = {0};
    struct skiff_error err;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", final_dir, name);
    if (value_file_read(path, &want, &err) < 0) {
        cluster_complain(c, "%s", err.message);
        return;
    }
    if (want.tensor.dtype != DTYPE_FP32)
        return; /* step counters: those of the trainer, which do not count */
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
    DIR *d = trainer == 0 ? opendir(final_dir) : NULL;
    for (struct dirent *f; d && (f = readdir(d));)
        if (f->d_name[0] != '.')
            compare_file(c, f->d_name);
    if (d)
        closedir(d);
    else if (trainer == 0)
        cluster_complain(c, "%s is not there", final_dir);
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

static void run_case(const char *name)
{
    struct cluster_spec s;
    struct cluster c;
    char text[512], path[1024];
    cluster_case(&s, cluster_golden(), name);
    s.at_end = compare_final;
    snprintf(path, sizeof path, "%s/%s/settings.txt", cluster_golden(), name);
    FILE *f = fopen(path, "r");
    while (f && fgets(path, sizeof path, f))
        if (sscanf(path, "final %511s", text) == 1)
            snprintf(final_dir, sizeof final_dir, "%s/%s", cluster_golden(), text);
    fclose(f);
    cluster_start(&c, &s);
    cluster_wait(&c, 20);
    for (int i = 0; i < s.servers; i++)
        if (atomic_load(&c.shared->server[i].status) != SKIFF_OK)
            fail_msg("%s: server %d: %s", name, i, c.shared->server[i].message);
    for (int k = 0; k < s.trainers; k++)
        if (atomic_load(&c.shared->trainer[k].status) != SKIFF_OK)
            fail_msg("%s: trainer %d: %s", name, k, c.shared->trainer[k].message);
    for (int k = 0; k < s.trainers; k++)
        compare_steps(&c, name, k);
    if (c.shared->complaint[0])
        fail_msg("%s: %s", name, c.shared->complaint);
    printf("  %-50s %.2f s\n", name, cluster_now() - c.started);
    cluster_end(&c);
    program_destroy((struct program *)s.main);
    program_destroy((struct program *)s.startup);
}

static void run_all(const char *part)
{
    DIR *d = opendir(cluster_golden());
    const char *only = getenv("CLUSTER_CASE");
    int n = 0;
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));)
        if (f->d_name[0] != '.' && f->d_name[0] != '_' && strstr(f->d_name, part) &&
            (!only || strstr(f->d_name, only))) {
            run_case(f->d_name);
            n++;
        }
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
