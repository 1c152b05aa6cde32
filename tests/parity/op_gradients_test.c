/* Gradients of single ops: the recorded case programs (tests/golden, ops) hold an op and the
 * gradient ops that fluid.gradients appended. Here the gradient ops are taken off, shapes are
 * inferred anew, and append_gradients must give the recorded program again: slots, attributes,
 * names, shapes. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"
#include "passes/backward.h"
#include "program/infer.h"

enum { MOST = 64 };

struct wish { /* what a case asks for */
    struct skiff_var *targets[MOST], *target_grads[MOST], *inputs[MOST];
    int ntargets, ninputs;
};

static bool is_backward(const struct skiff_op *op)
{
    int role = op_role_of(op);
    return role != ROLE_UNSPECIFIED && role & ROLE_BACKWARD;
}

/* Takes off the gradient ops and what only they write. Returns how many there were. */
static int take_off(struct skiff_block *b)
{
    int taken = 0;
    for (int i = b->nops - 1; i >= 0 && is_backward(b->ops[i]); i--, taken++) {
        struct skiff_op *op = b->ops[i];
        for (int s = 0; s < op->nouts; s++)
            for (int k = 0; k < op->outs[s].n; k++) {
                const char *name = op->outs[s].names[k];
                const struct skiff_var *v = block_own_var(b, name);
                if (v && strstr(name, GRAD_SUFFIX) && !var_persistable(v))
                    block_remove_var(b, name);
            }
        block_remove_ops(b, i, 1);
    }
    return taken;
}

/* Shape rules once more, from shapes that are not there yet; types stay as they were declared. */
static enum skiff_status infer_again(struct skiff_block *b, struct skiff_error *err)
{
    for (size_t i = 0; i < b->vars.count; i++) {
        struct skiff_var *v = b->vars.entries[i].value;
        v->stop_gradient = v->dtype != DTYPE_FP32 && v->dtype != DTYPE_FP64;
    }
    for (int i = 0; i < b->nops; i++) {
        struct skiff_op *op = b->ops[i];
        struct skiff_var *outs[MOST];
        enum dtype types[MOST];
        int n = 0;
        for (int s = 0; s < op->nouts; s++)
            for (int k = 0; k < op->outs[s].n && n < MOST; k++) {
                struct skiff_var *v = block_own_var(b, op->outs[s].names[k]);
                if (!v)
                    continue;
                if (!op_reads(op, v->name)) {
                    v->shape.ndim = 0;
                    v->stop_gradient = false;
                }
                types[n] = v->dtype;
                outs[n++] = v;
            }
        TRY(infer_op(b, op, err));
        for (int k = 0; k < n; k++)
            outs[k]->dtype = types[k];
    }
    return SKIFF_OK;
}

/* The variable that this word names, without a last @GRAD. */
static struct skiff_var *stem(const struct skiff_block *b, const char *word)
{
    char name[256];
    snprintf(name, sizeof name, "%s", word);
    char *at = strstr(name, GRAD_SUFFIX);
    if (at)
        *at = 0;
    return at ? block_own_var(b, name) : NULL;
}

/* Fed gradients belong to targets, fetched ones to inputs. */
static void read_wish(const struct skiff_block *b, FILE *f, struct wish *w)
{
    char line[4096], *save;
    while (fgets(line, sizeof line, f)) {
        bool feeds = !strncmp(line, "feeds: ", 7), fetches = !strncmp(line, "fetches: ", 9);
        if (!feeds && !fetches)
            continue;
        for (char *word = strtok_r(strchr(line, ' '), " \n", &save); word;
             word = strtok_r(NULL, " \n", &save)) {
            struct skiff_var *v = stem(b, word), *g = block_own_var(b, word);
            if (feeds && v && g) {
                g->stop_gradient = false;
                w->targets[w->ntargets] = v;
                w->target_grads[w->ntargets++] = g;
            } else if (fetches && v && !g) {
                w->inputs[w->ninputs++] = v;
            }
        }
    }
}

/* 0 when the recorded program comes out again. */
static int check_case(const char *folder)
{
    char path[512];
    struct skiff_error err = {0};
    struct wish w = {.ntargets = 0};
    struct skiff_var *out[MOST];
    struct names names;
    snprintf(path, sizeof path, "%s/main.pb", folder);
    struct skiff_program *theirs = recorded_program(path), *mine = recorded_program(path);
    struct skiff_block *b = program_root(mine);
    int taken = take_off(b), n = 0;
    snprintf(path, sizeof path, "%s/case.txt", folder);
    FILE *f = fopen(path, "r");
    names_init(&names, "");
    enum skiff_status status = infer_again(b, &err);
    if (status == SKIFF_OK && taken && f) {
        read_wish(b, f, &w);
        struct backward_options o = {.times = 1, .names = &names};
        status = append_gradients(mine, w.targets, w.ntargets, w.target_grads, w.inputs, w.ninputs,
                                  &o, out, &err);
    }
    struct buf text = BUF_INIT;
    n = status < 0 ? 1 : program_diff(mine, theirs, &text);
    if (n)
        print_error("%s: %s%s\n", folder, err.message, text.data ? text.data : "");
    buf_deinit(&text);
    if (f)
        fclose(f);
    names_deinit(&names);
    program_destroy(mine);
    program_destroy(theirs);
    return n != 0;
}

static int each_folder(const char *parent, int (*walk)(const char *), int *wrong)
{
    struct dirent **list;
    int n = scandir(parent, &list, NULL, alphasort), seen = 0;
    for (int i = 0; i < n; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", parent, list[i]->d_name);
        if (list[i]->d_name[0] != '.') {
            *wrong += walk(path);
            seen++;
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return seen;
}

static int cases_seen;

static int check_op(const char *folder)
{
    int wrong = 0;
    cases_seen += each_folder(folder, check_case, &wrong);
    return wrong;
}

static void recorded_gradients_come_out_again(void **state)
{
    const char *build = getenv("BUILD");
    char ops[256];
    int wrong = 0;
    assert_int_equal(system("tests/golden/unpack.sh"), 0);
    snprintf(ops, sizeof ops, "%s/golden/ops", build ? build : "build");
    each_folder(ops, check_op, &wrong);
    assert_true(cases_seen > 500);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_gradients_come_out_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
