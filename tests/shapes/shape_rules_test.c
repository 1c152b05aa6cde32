/* Shape rules while building, against recorded programs: every op's rule runs on the recorded
 * variables (with their unknown dims), and its outputs must equal those that Paddle wrote into the
 * program: dims, element type, lod level and kind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/infer.h"
#include "store/file.h"

#define PATH_MAX_LEN 1024

static char golden[512];
static int programs, outputs, differences;

/* Outputs for which Paddle's own record is not a shape rule's work. */
static const struct {
    const char *op, *slot, *reason;
} exceptions[] = {
    {"feed", "Out", "the caller declares it"},
    {"conditional_block", "Out", "made by the ops of its block"},
    {"while_grad", "X@GRAD", "made by backward"},
    {"data_norm_grad", "BatchSize", "in place, no rule"},
    {"data_norm_grad", "BatchSum", "in place, no rule"},
    {"data_norm_grad", "BatchSquareSum", "in place, no rule"},
    {"range", "Out", "Python sets the length where it knows the numbers"},
    {"linspace", "Out", "Python sets the length where it knows the number"},
    {"isnan", "Out", "1.x: declared of the type of X; it is bool"},
    {"isinf", "Out", "1.x: declared of the type of X; it is bool"},
    {"expand_as", "Out", "1.x declares zeros"},
    {"kthvalue", "Indices", "declared of the type of X; its values are int64"},
    {"mode", "Indices", "declared of the type of X; its values are int64"},
    {"tensor_array_to_tensor", "OutIndex", "Paddle's rule leaves it alone"},
    {"transpose2", "XShape", "the type is never used; the recorder declared float32"},
};

static bool is_exception(const char *op, const char *slot)
{
    for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
        if (!strcmp(exceptions[i].op, op) && !strcmp(exceptions[i].slot, slot))
            return true;
    return false;
}

static void compare_output(const char *path, const struct skiff_op *op, const char *slot,
                           const struct skiff_var *made, const struct skiff_var *recorded)
{
    char a[160], b[160];
    outputs++;
    if (is_exception(op->type, slot) || !recorded->has_tensor)
        return;
    if (shape_equal(&made->shape, &recorded->shape) && made->dtype == recorded->dtype &&
        made->lod_level == recorded->lod_level && made->kind == recorded->kind)
        return;
    differences++;
    printf("%s: op %s, output %s (%s): %s %s lod %d kind %d, recorded %s %s lod %d kind %d\n", path,
           op->type, slot, made->name, dtype_name(made->dtype), shape_text(&made->shape, a),
           made->lod_level, (int)made->kind, dtype_name(recorded->dtype),
           shape_text(&recorded->shape, b), recorded->lod_level, (int)recorded->kind);
}

/* Outputs start as a new variable does, unless the op also reads them. */
static void blank_outputs(struct skiff_block *work, const struct skiff_op *op)
{
    for (int s = 0; s < op->nouts; s++)
        for (int i = 0; i < op->outs[s].n; i++) {
            struct skiff_var *v = block_find_var(work, op->outs[s].names[i]);
            if (!v || !v->has_tensor || op_reads(op, v->name))
                continue;
            v->shape = (struct shape){0};
            v->lod_level = 0;
            v->kind = VAR_LOD_TENSOR;
        }
}

/* Runs the rule on the work copy, compares, and puts the recorded variables back. */
static void check_op(const char *path, struct skiff_block *work, const struct skiff_block *recorded,
                     struct skiff_op *op)
{
    struct skiff_error err;
    if (!op->kind)
        return;
    blank_outputs(work, op);
    if (infer_op(work, op, &err) < 0) {
        printf("%s: %s\n", path, err.message);
        differences++;
        return;
    }
    for (int s = 0; s < op->nouts; s++)
        for (int i = 0; i < op->outs[s].n; i++) {
            struct skiff_var *made = block_find_var(work, op->outs[s].names[i]);
            const struct skiff_var *old = block_find_var(recorded, op->outs[s].names[i]);
            if (!made || !old)
                continue;
            compare_output(path, op, op->outs[s].slot, made, old);
            made->shape = old->shape;
            made->dtype = old->dtype;
            made->lod_level = old->lod_level;
            made->kind = old->kind;
        }
}

static void check_program(const char *path)
{
    struct buf bytes = BUF_INIT;
    struct skiff_program *p = NULL;
    struct skiff_error err;
    if (file_read(path, &bytes, &err) < 0 ||
        program_decode(bytes.data, bytes.len, path, &p, &err) < 0) {
        printf("%s\n", err.message);
        differences++;
    } else {
        struct skiff_program *work = program_clone(p);
        programs++;
        for (int b = 0; b < work->nblocks; b++)
            for (int i = 0; i < work->blocks[b]->nops; i++)
                check_op(path, work->blocks[b], p->blocks[b], work->blocks[b]->ops[i]);
        program_destroy(work);
        program_destroy(p);
    }
    buf_deinit(&bytes);
}

static void walk(const char *dir)
{
    struct dirent **list;
    int n = scandir(dir, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX_LEN];
        if (list[i]->d_name[0] != '.' &&
            snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name) < PATH_MAX_LEN) {
            if (file_is_dir(path))
                walk(path);
            else if (!strcmp(list[i]->d_name, "main.pb"))
                check_program(path);
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

static int unpack(void **state)
{
    const char *build = getenv("BUILD") ? getenv("BUILD") : "build";
    snprintf(golden, sizeof(golden), "%s", getenv("GOLDEN") ? getenv("GOLDEN") : "");
    if (*golden)
        return 0;
    snprintf(golden, sizeof(golden), "%s/golden", build);
    return system("tests/golden/unpack.sh");
}

static void test_rules(void **state)
{
    static const char *const sets[] = {"ops",      "ops26",    "models",
                                       "models26", "ops_more", "ops26_more"};
    for (int i = 0; i < 6; i++) {
        char path[PATH_MAX_LEN];
        if (snprintf(path, sizeof(path), "%s/%s", golden, sets[i]) < PATH_MAX_LEN)
            walk(path);
    }
    printf("%d programs, %d outputs\n", programs, outputs);
    assert_true(programs > 1000);
    assert_int_equal(differences, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules)};
    return cmocka_run_group_tests(tests, unpack, NULL);
}
