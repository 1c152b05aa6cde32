/* split against what DistributeTranspiler and fleet of Paddle 1.8.5 made: the placement and every
 * program of every recorded case. `known` lists what may differ, and why. */
#include <fnmatch.h>

#include "split_case.h"

/* Lines of program_diff (a: ours, b: recorded) that are right. A program with `with` is compared
 * with that case's recorded one instead of its own. */
static struct known {
    const char *name, *file, *with, *line, *reason;
    int used;
} known[] = {
    /* The trainer sends X@GRAD, but 1.8.5's server waits for X@GRAD.trainer_0. Fleet's is right. */
    {"linreg-transpiler-sync-s1t1", "pserver_*", "linreg-fleet-sync-s1t1", NULL,
     "sync with one trainer", 0},
    {"ctr3-transpiler-sync-s1t1-sgd", "pserver_*", "ctr3-fleet-sync-s1t1-sgd", NULL,
     "sync with one trainer", 0},
    {"linreg-transpiler-sync-s2t1", "pserver_*_main.pb", NULL, "*@GRAD.trainer_0*",
     "sync with one trainer", 0},
    {"linreg-transpiler-sync-s2t1", "pserver_*_main.pb", NULL, "block 1, op 0 (sgd): b has sum*",
     "sync with one trainer", 0},
    {"linreg-transpiler-sync-s2t1", "pserver_*_main.pb", NULL, "block 1: 1 ops in a, 3 in b",
     "sync with one trainer", 0},
    {"linreg-transpiler-sync-s2t1", "pserver_*_startup.pb", NULL, "*@GRAD.trainer_0: only in b",
     "sync with one trainer", 0},
    {"ctr3_dist-transpiler-sync-s1t1-sgd-patched", "pserver_0_*.pb", NULL, "*@GRAD*trainer_0*",
     "sync with one trainer", 0},
    {"ctr3_dist-transpiler-sync-s1t1-sgd-patched", "pserver_0_main.pb", NULL,
     "block [1-6], op 0 (sgd): b has sum*", "sync with one trainer", 0},
    {"ctr3_dist-transpiler-sync-s1t1-sgd-patched", "pserver_0_main.pb", NULL,
     "block [1-6]: 1 ops in a, 3 in b", "sync with one trainer", 0},

    /* Fleet's sync mode: the counters of 1.8.5 never move. Ours counts as the bare transpiler. */
    {"ctr3-fleet-sync-s2t2-sgd-decay_exp", "pserver_*", "ctr3-transpiler-sync-s2t2-sgd-decay_exp",
     "*attribute op_role_var is*", "learning rate schedule in fleet's sync mode", 0},
    {"ctr3-fleet-sync-s2t2-sgd-decay_exp", "trainer_*", "ctr3-fleet-sync-s2t2-sgd",
     "block 0, variable *: only in a", "learning rate schedule in fleet's sync mode", 0},
    {"ctr3-fleet-sync-s2t2-sgd-decay_exp", "trainer_startup.pb", "ctr3-fleet-sync-s2t2-sgd",
     "block 0, op 0 (fill_constant): *", "learning rate schedule in fleet's sync mode", 0},
    {"ctr3-fleet-sync-s2t2-sgd-decay_exp", "trainer_startup.pb", "ctr3-fleet-sync-s2t2-sgd",
     "block 0, op *", "one op more at the start: the counter", 0},
    {"ctr3-fleet-sync-s2t2-sgd-decay_exp", "trainer_startup.pb", "ctr3-fleet-sync-s2t2-sgd",
     "block 0: 20 ops in a, 19 in b", "one op more at the start: the counter", 0},
    {"linreg-fleet-sync-*-decay_exp", "*", NULL, "*@LR_DECAY_COUNTER@*",
     "learning rate schedule in fleet's sync mode", 0},
    {"linreg-fleet-sync-*-decay_exp", "pserver_*_main.pb", NULL, "block 1, op 0 (increment): *",
     "learning rate schedule in fleet's sync mode", 0},
    {"linreg-fleet-sync-*-decay_exp", "trainer_main.pb", NULL, "block 0, op 24 (send_barrier): *",
     "learning rate schedule in fleet's sync mode", 0},
    {"linreg-fleet-sync-*-decay_exp", "trainer_main.pb", NULL, "block 0: 27 ops in a, 28 in b",
     "learning rate schedule in fleet's sync mode", 0},
    {"linreg-fleet-sync-*-decay_exp", "trainer_main.pb", NULL, "*variable control*",
     "learning rate schedule in fleet's sync mode", 0},
    {"linreg-fleet-sync-*-decay_exp", "*_startup.pb", NULL, "block 0, op *",
     "two ops less at the start: the trainers' counters", 0},
    {"linreg-fleet-sync-*-decay_exp", "*_startup.pb", NULL, "block 0: * ops in a, * in b",
     "two ops less at the start: the trainers' counters", 0},

    /* The optimizer's grad_clip: 1.8.5 moves the clip ops to the servers, without their inputs. */
    {"*-clip_global", "trainer_main.pb", NULL, "*",
     "clip ops stay on the trainer (test_grad_clip looks at them)", 0},
    {"linreg-transpiler-sync-s2t2-clip_global", "pserver_*",
     "linreg-transpiler-sync-s2t2-clip_set_global", NULL, "clip ops stay on the trainer", 0},

    {"*-sync_arg_false-*", "pserver_*_main.pb", NULL, "*: attribute distributed_mode is 2*",
     "transpile(sync_mode=False) makes servers that do not wait for barriers", 0},
    {"*-decay_piecewise", "pserver_*_main.pb", NULL, "block [234], variable *: only in b",
     "1.8.5 declares variables of block 0 again in the blocks of the schedule", 0},
    {"*-rmsprop*", "pserver_*", NULL, "*variable *_mean_grad_0: shape is *",
     "1.8.5 does not cut the accumulator MeanGrad", 0},
    {"*-rmsprop*", "pserver_*_startup.pb", NULL, "*(fill_constant): attribute shape is *",
     "1.8.5 does not cut the accumulator MeanGrad", 0},
    {"tables_dist-fleet-half_async-*", "trainer_main.pb", NULL, "*(send_barrier): *",
     "1.8.5 lets the barrier wait for a variable that no op writes", 0},
    {"tables_dist-fleet-half_async-*", "trainer_main.pb", NULL, "*variable control*",
     "1.8.5 lets the barrier wait for a variable that no op writes", 0},
    {"two_of_one_id-fleet-geo-*", "trainer*_main.pb", NULL, "*(send): *",
     "1.8.5 names a pair of ids and table twice", 0},
};
enum { NKNOWN = sizeof known / sizeof known[0] };

/* Lines of the placement that differ on purpose. */
static const char *const uncut = "*_mean_grad_0\t*"; /* RMSProp, as above */

static int failures, programs, placements;

static bool is_known(const char *name, const char *file, const char *line)
{
    for (int i = 0; i < NKNOWN; i++)
        if (known[i].line && !fnmatch(known[i].name, name, 0) && !fnmatch(known[i].file, file, 0) &&
            !fnmatch(known[i].line, line, 0)) {
            known[i].used++;
            return true;
        }
    return false;
}

static const char *compare_with(const char *name, const char *file)
{
    for (int i = 0; i < NKNOWN; i++)
        if (known[i].with && !fnmatch(known[i].name, name, 0) && !fnmatch(known[i].file, file, 0)) {
            known[i].used += !known[i].line;
            return known[i].with;
        }
    return name;
}

static void compare(const char *name, const char *file, struct skiff_program *made)
{
    const char *with = compare_with(name, file);
    struct skiff_error err;
    if (program_verify(made, &err) < 0) {
        failures++;
        printf("%s %s: %s\n", name, file, err.message);
    }
    if (case_has(with, file)) {
        struct skiff_program *recorded = case_program(with, file);
        struct buf out = BUF_INIT;
        normalise(made);
        normalise(recorded);
        program_diff(made, recorded, &out);
        for (char *line = out.len ? strtok(out.data, "\n") : NULL; line; line = strtok(NULL, "\n"))
            if (!is_known(name, file, line)) {
                failures++;
                printf("%s %s (%s): %s\n", name, file, with, line);
            }
        program_destroy(recorded);
        buf_deinit(&out);
        programs++;
    }
    program_destroy(made);
}

static void print_placement(const struct skiff_split *s, struct buf *out)
{
    int n = split_plan(s)->nplacement;
    const struct skiff_placement *p = split_plan(s)->placement;
    buf_str(out, "# slice\torigin\tkind\tblock\tfirst_row\trows\tshape\tendpoint\n");
    for (int i = 0; i < n; i++, p++) {
        buf_printf(out, "%s\t%s\t%s\t%d\t%lld\t%lld\t", p->slice, p->origin, p->kind, p->block,
                   (long long)p->first_row, (long long)p->dims[0]);
        for (int k = 0; k < p->ndim; k++)
            buf_printf(out, "%s%lld", k ? "x" : "", (long long)p->dims[k]);
        buf_printf(out, "\t%s\n", p->endpoint);
    }
}

static void compare_placement(const char *name, const struct skiff_split *s)
{
    if (!case_has(name, "blocks.txt"))
        return;
    struct buf made = BUF_INIT, recorded = case_read(name, "blocks.txt");
    print_placement(s, &made);
    char *at, *bt, *a = strtok_r(made.data, "\n", &at), *b = strtok_r(recorded.data, "\n", &bt);
    for (; a || b; a = strtok_r(NULL, "\n", &at), b = strtok_r(NULL, "\n", &bt)) {
        if (a && b && (!strcmp(a, b) || (!fnmatch(uncut, a, 0) && !fnmatch(uncut, b, 0))))
            continue;
        failures++;
        printf("%s, placement: %s, recorded %s\n", name, a ? a : "nothing", b ? b : "nothing");
        break;
    }
    placements++;
    buf_deinit(&made);
    buf_deinit(&recorded);
}

static void compare_trainer(const struct split_case *c, int id)
{
    struct skiff_program *main, *startup;
    struct skiff_error err;
    struct skiff_split *s = case_split(c, id);
    if (!id)
        compare_placement(c->name, s);
    if (split_trainer(s, &main, &startup, &err) < 0)
        fail_msg("%s: %s", c->name, err.message);
    compare(c->name, id ? "trainer1_main.pb" : "trainer_main.pb", main);
    if (id)
        program_destroy(startup);
    else
        compare(c->name, "trainer_startup.pb", startup);
    split_destroy(s);
}

static void compare_servers(const struct split_case *c)
{
    struct skiff_split *s = case_split(c, 0);
    int n = split_plan(s)->servers;
    const char *const *endpoints = split_plan(s)->endpoints;
    for (int i = 0; i < n; i++) {
        struct skiff_program *main, *startup;
        struct skiff_error err;
        char file[64];
        if (split_server(s, endpoints[i], &main, &startup, NULL, &err) < 0)
            fail_msg("%s: %s", c->name, err.message);
        snprintf(file, sizeof file, "pserver_%d_main.pb", i);
        compare(c->name, file, main);
        snprintf(file, sizeof file, "pserver_%d_startup.pb", i);
        compare(c->name, file, startup);
    }
    split_destroy(s);
}

static void check_case(const char *name)
{
    struct split_case c;
    if (strstr(name, "lamb"))
        return; /* refused here too: split_rules_test.c */
    case_open(&c, name);
    compare_trainer(&c, 0);
    if (case_has(name, "trainer1_main.pb"))
        compare_trainer(&c, 1);
    compare_servers(&c);
    case_close(&c);
}

static void test_recorded(void **state)
{
    each_case(check_case);
    printf("%d placements, %d programs\n", placements, programs);
    assert_int_equal(failures, 0);
    assert_true(placements > 170 && programs > 900);
    for (int i = 0; i < NKNOWN; i++)
        if (!known[i].used)
            fail_msg("difference %s %s %s is listed, but does not occur", known[i].name,
                     known[i].file, known[i].line ? known[i].line : "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recorded)};
    return cmocka_run_group_tests(tests, case_unpack, NULL);
}
