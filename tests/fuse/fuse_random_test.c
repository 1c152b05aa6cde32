/* Fused and unfused runs of random training networks give the same: losses, whatever else is
 * fetched (and fetching changes nothing), all parameters and states in the end.
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
    struct scope *scope;
    struct executor *e;
    struct value out[MAX_FETCHES];
};

struct pair {
    struct random_net net;
    struct side plain, fused;
    const char *names[MAX_NAMES]; /* what can be fetched */
    int nnames;
};

static const struct program *program_of(const struct skiff_program *p)
{
    return (const struct program *)p;
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
static bool is_free_order(const struct op *op, const struct var *v)
{
    return (op_role_of(op) & ROLE_OPTIMIZE) && v->kind == VAR_LOD_TENSOR && v->shape.ndim == 2 &&
           op_in1(op, "X") &&
           (strstr(op_in1(op, "X"), "selected_rows") || strstr(v->name, "selected_rows"));
}

/* Variables that ops of block 0 write in every run. */
static void list_names(struct pair *p)
{
    const struct block *b = program_root(program_of(skiff_net_main(p->net.net)));
    for (int i = 0; i < b->nops; i++) {
        const struct op *op = b->ops[i];
        for (int j = 0; j < op->nouts && !(op->kind->flags & OP_RUNS_BLOCK); j++)
            for (int k = 0; k < op->outs[j].n && strcmp(op->outs[j].slot, "MaxIndex") &&
                            strcmp(op->outs[j].slot, "XShape");
                 k++) {
                const struct var *v = block_find_var(b, op->outs[j].names[k]);
                if (p->nnames < MAX_NAMES && v && !is_free_order(op, v))
                    p->names[p->nnames++] = v->name;
            }
    }
}

static void run(struct pair *p, struct side *s, const struct skiff_program *program,
                const struct feed *all, int nall, const char *const *fetches, int n)
{
    struct skiff_error err = {0};
    struct feed feeds[RANDOM_MAX_INPUTS];
    int nfeeds = 0;
    for (int i = 0; i < nall; i++) /* a clone for testing lacks inputs that no op reads */
        if (skiff_program_var(program, all[i].name))
            feeds[nfeeds++] = all[i];
    if (executor_run(s->e, program_of(program), feeds, nfeeds, fetches, n, s->out, &err) < 0)
        fail_msg("%s (%s): %s", s == &p->plain ? "plain" : "fused", p->net.about, err.message);
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

static void train_step(struct pair *p, uint64_t seed, int step)
{
    struct random_net *r = &p->net;
    struct feed feeds[RANDOM_MAX_INPUTS];
    const char *fetches[MAX_FETCHES] = {r->loss};
    int n = 1, nfeeds = random_net_batch(r, step % 3 == 2 ? 2 : 7, feeds);
    if (step % 2)
        for (; n < MAX_FETCHES; n++)
            fetches[n] = p->names[random_below(r, p->nnames)];
    const struct skiff_program *main = skiff_net_main(r->net);
    run(p, &p->plain, main, feeds, nfeeds, fetches, n);
    run(p, &p->fused, main, feeds, nfeeds, fetches, n);
    compare_outputs(p, seed, "training", step, fetches, n);
    if (step != STEPS / 2)
        return;
    run(p, &p->plain, r->test, feeds, nfeeds, fetches, 1); /* and back again */
    run(p, &p->fused, r->test, feeds, nfeeds, fetches, 1);
    compare_outputs(p, seed, "testing", step, fetches, 1);
}

/* After every fusing pass the program is sound, shapes included. */
static void check_passes(struct pair *p, uint64_t seed)
{
    struct skiff_error err = {0};
    const struct skiff_program *programs[] = {skiff_net_main(p->net.net), p->net.test};
    for (int i = 0; i < 2; i++) {
        struct program *fused;
        if (program_verify(program_of(programs[i]), &err) < 0 ||
            fuse_program(program_of(programs[i]), &p->net.loss, 1, 0, &fused, &err) < 0)
            fail_msg("seed %llu (%s): %s", (unsigned long long)seed, p->net.about, err.message);
        program_destroy(fused);
    }
}

static void run_seed(uint64_t seed, bool disturb)
{
    struct pair p = {0};
    struct skiff_error err = {0};
    char why[512];
    if (random_net_open(&p.net, seed, &err) < 0)
        fail_msg("seed %llu (%s) cannot be built: %s", (unsigned long long)seed, p.net.about,
                 err.message);
    if (disturb)
        random_net_disturb(&p.net);
    if (count == 1) {
        char *text = skiff_program_text(skiff_net_main(p.net.net));
        printf("%s\n%s\n", p.net.about, text);
        free(text);
    }
    side_open(&p.plain, true);
    side_open(&p.fused, false);
    list_names(&p);
    check_passes(&p, seed);
    run(&p, &p.plain, skiff_net_startup(p.net.net), NULL, 0, NULL, 0);
    scope_copy(p.fused.scope, p.plain.scope);
    for (int i = 0; i < STEPS; i++)
        train_step(&p, seed, i);
    if (!scopes_agree(p.plain.scope, p.fused.scope, TOLERANCE, why, sizeof(why)))
        fail_msg("seed %llu (%s), in the end: %s", (unsigned long long)seed, p.net.about, why);
    side_close(&p.plain);
    side_close(&p.fused);
    random_net_close(&p.net);
}

static void test_random_nets(void **state)
{
    for (int i = 0; i < count; i++)
        run_seed(first_seed + (uint64_t)i, false);
}

static void test_disturbed_nets(void **state)
{
    for (int i = 0; i < count; i++)
        run_seed(first_seed + (uint64_t)i, true);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        count = atoi(argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_nets),
                                       cmocka_unit_test(test_disturbed_nets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
