/* Fused and unfused runs of random training networks agree: losses, all other fetches (and fetching
 * changes nothing), all parameters and states at the end. So do the same networks with ops in odd
 * positions, and partly broken ones, as long as they run.
 *
 * fuse_random_test [FIRST_SEED [COUNT]]; with COUNT 1 the program of that seed is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"
#include "passes/fuse.h"
#include "program/op_kind.h"
#include "random_net.h"

#define STEPS 6
#define MAX_FETCHES 6
#define MAX_NAMES 512
#define TOLERANCE 2e-4

static uint64_t first_seed = 1;
static int count = 200;

struct side { /* one way of running the net */
    struct skiff_scope *scope;
    struct skiff_executor *e;
    struct skiff_tensor out[MAX_FETCHES];
};

enum how { AS_BUILT, DISTURBED, BROKEN };

struct pair {
    struct random_net net;
    enum how how;
    struct side plain, fused;
    const char *names[MAX_NAMES]; /* what can be fetched */
    int nnames;
};

static const struct skiff_program *program_of(const struct skiff_program *p)
{
    return p;
}

static void side_open(struct side *s, bool no_fuse)
{
    *s = (struct side){.scope = scope_create()};
    s->e = executor_create(
        s->scope, &(struct executor_options){.no_fuse = no_fuse, .has_seed = true, .seed = 1});
}

static void side_close(struct side *s)
{
    executor_destroy(s->e);
    for (int i = 0; i < MAX_FETCHES; i++)
        value_deinit(&s->out[i]);
    scope_destroy(s->scope);
}

/* Clips take the rows of a sparse gradient as a dense matrix; in which order is theirs. */
static bool is_free_order(const struct skiff_op *op, const struct skiff_var *v)
{
    return (op_role_of(op) & ROLE_OPTIMIZE) && v->kind == VAR_LOD_TENSOR && v->shape.ndim == 2 &&
           op_in1(op, "X") &&
           (strstr(op_in1(op, "X"), "selected_rows") || strstr(v->name, "selected_rows"));
}

/* Variables that ops of block 0 write in every run. */
static void list_names(struct pair *p)
{
    const struct skiff_block *b = program_root(program_of(skiff_net_main(p->net.net)));
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        for (int j = 0; j < op->nouts && !(op->kind->flags & OP_RUNS_BLOCK); j++)
            for (int k = 0; k < op->outs[j].n && strcmp(op->outs[j].slot, "MaxIndex") &&
                            strcmp(op->outs[j].slot, "XShape");
                 k++) {
                const struct skiff_var *v = block_find_var(b, op->outs[j].names[k]);
                if (p->nnames < MAX_NAMES && v && !is_free_order(op, v))
                    p->names[p->nnames++] = v->name;
            }
    }
}

static enum skiff_status run(struct side *s, const struct skiff_program *program,
                             const struct feed *all, int nall, const char *const *fetches, int n,
                             struct skiff_error *err)
{
    struct feed feeds[RANDOM_MAX_INPUTS];
    int nfeeds = 0;
    for (int i = 0; i < nall; i++) /* a clone for testing lacks inputs that no op reads */
        if (skiff_program_var(program, all[i].name))
            feeds[nfeeds++] = all[i];
    return executor_run(s->e, program_of(program), feeds, nfeeds, fetches, n, s->out, err);
}

static void compare_outputs(struct pair *p, uint64_t seed, const char *when, int step,
                            const char *const *fetches, int n)
{
    char why[256];
    for (int i = 0; i < n; i++)
        if (!values_agree(&p->plain.out[i], &p->fused.out[i], TOLERANCE, why, sizeof(why)))
            fail_msg("seed %llu (%s), %s step %d, %s: %s", (unsigned long long)seed, p->net.about,
                     when, step, fetches[i], why);
}

/* Both ways. False: not even the plain one runs, and it need not. */
static bool run_both(struct pair *p, uint64_t seed, const struct skiff_program *program,
                     const struct feed *feeds, int nfeeds, const char *const *fetches, int n)
{
    struct skiff_error plain = {0}, fused = {0};
    run(&p->plain, program, feeds, nfeeds, fetches, n, &plain);
    run(&p->fused, program, feeds, nfeeds, fetches, n, &fused);
    if (plain.code == SKIFF_OK && fused.code == SKIFF_OK)
        return true;
    /* fused ops may look closer at shapes and ids than the ops they stand for */
    bool strict = fused.code == SKIFF_SHAPE || fused.code == SKIFF_DTYPE;
    if (p->how != BROKEN || (plain.code == SKIFF_OK && !strict))
        fail_msg("seed %llu (%s): %s%s%s", (unsigned long long)seed, p->net.about, plain.message,
                 fused.code ? "; fused: " : "", fused.message);
    return false;
}

static bool train_step(struct pair *p, uint64_t seed, int step)
{
    struct random_net *r = &p->net;
    struct feed feeds[RANDOM_MAX_INPUTS];
    const char *fetches[MAX_FETCHES] = {r->loss};
    int n = 1, nfeeds = random_net_batch(r, step % 3 == 2 ? 2 : 7, feeds);
    if (step % 2)
        for (; n < MAX_FETCHES; n++)
            fetches[n] = p->names[random_below(r, p->nnames)];
    if (!run_both(p, seed, skiff_net_main(r->net), feeds, nfeeds, fetches, n))
        return false;
    compare_outputs(p, seed, "training", step, fetches, n);
    if (step == STEPS / 2) { /* another program for a step */
        run_both(p, seed, r->test, feeds, nfeeds, fetches, 1);
        compare_outputs(p, seed, "testing", step, fetches, 1);
    }
    return true;
}

/* After every fusing pass the program is sound, shapes included. */
static void check_passes(struct pair *p, uint64_t seed)
{
    struct skiff_error err = {0};
    const struct skiff_program *programs[] = {skiff_net_main(p->net.net), p->net.test};
    for (int i = 0; i < 2 && p->how != BROKEN; i++) {
        struct skiff_program *fused = NULL;
        if (program_verify(program_of(programs[i]), &err) < 0 ||
            fuse_program(program_of(programs[i]), &p->net.loss, 1, 0, &fused, &err) < 0)
            fail_msg("seed %llu (%s): %s", (unsigned long long)seed, p->net.about, err.message);
        program_destroy(fused);
    }
}

static void run_seed(uint64_t seed, enum how how)
{
    struct pair p = {.how = how};
    struct skiff_error err = {0};
    char why[512];
    if (random_net_open(&p.net, seed, &err) < 0)
        fail_msg("seed %llu (%s) cannot be built: %s", (unsigned long long)seed, p.net.about,
                 err.message);
    if (how == DISTURBED)
        random_net_disturb(&p.net);
    side_open(&p.plain, true);
    side_open(&p.fused, false);
    list_names(&p);
    if (how == BROKEN)
        random_net_break(&p.net);
    if (count == 1) {
        char *text = skiff_program_text(skiff_net_main(p.net.net));
        printf("%s\n%s\n", p.net.about, text);
        free(text);
    }
    check_passes(&p, seed);
    run(&p.plain, skiff_net_startup(p.net.net), NULL, 0, NULL, 0, &err);
    scope_copy(p.fused.scope, p.plain.scope);
    bool runs = true;
    for (int i = 0; i < STEPS && runs; i++)
        runs = train_step(&p, seed, i);
    if (runs && !scopes_agree(p.plain.scope, p.fused.scope, TOLERANCE, why, sizeof(why)))
        fail_msg("seed %llu (%s), in the end: %s", (unsigned long long)seed, p.net.about, why);
    side_close(&p.plain);
    side_close(&p.fused);
    random_net_close(&p.net);
}

static void run_seeds(enum how how)
{
    for (int i = 0; i < count; i++)
        run_seed(first_seed + (uint64_t)i, how);
}

static void test_random_nets(void **state)
{
    run_seeds(AS_BUILT);
}

static void test_disturbed_nets(void **state)
{
    run_seeds(DISTURBED);
}

static void test_broken_nets(void **state)
{
    run_seeds(BROKEN);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        count = atoi(argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_nets),
                                       cmocka_unit_test(test_disturbed_nets),
                                       cmocka_unit_test(test_broken_nets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
