/* Programs from files: ops that act outside them are refused by name and position unless allowed,
 * and then their files must lie below the given folder, wherever links lead. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/executor.h"
#include "program/op_kind.h"
#include "program/rights.h"
#include "program/text.h"
#include "store/file.h"
#include "store/tensor_file.h"

static char base[] = "/tmp/skiff_rights_XXXXXX";
static char home[64];

static int make_dir(void **state)
{
    if (!mkdtemp(base) || chdir(base) < 0)
        return -1;
    snprintf(home, sizeof(home), "%s/home", base);
    return mkdir("home", 0755) || mkdir("other", 0755) || symlink("../other", "home/out") ||
           symlink("../other/new", "home/dangling") || symlink("inner", "home/in") ||
           mkdir("home/inner", 0755);
}

static int remove_dir(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", base);
    return chdir("/") || system(command);
}

/* x = 7; save x: written as bytes and read again, as a file would be. */
static struct skiff_program *saving(const char *path)
{
    struct skiff_program *p = program_create(), *read = NULL;
    struct skiff_error err;
    struct buf bytes = BUF_INIT;
    const char *x = "x";
    block_add_var(program_root(p), "x")->dtype = DTYPE_FP32;
    struct skiff_op *fill = block_insert_op(program_root(p), -1, "fill_constant");
    op_set_out(p, fill, "Out", 1, &x);
    op_set_longs(p, fill, "shape", 1, (int64_t[]){3});
    op_set_float(p, fill, "value", 7);
    op_set_int(p, fill, "dtype", DTYPE_FP32);
    struct skiff_op *save = block_insert_op(program_root(p), -1, "save");
    op_set_in(p, save, "X", 1, &x);
    op_set_string(p, save, "file_path", path);
    program_encode(p, &bytes);
    program_destroy(p);
    assert_int_equal(program_decode(bytes.data, bytes.len, "models/m/__model__", &read, &err),
                     SKIFF_OK);
    buf_deinit(&bytes);
    return read;
}

static enum skiff_status run(const struct skiff_program *p, struct skiff_error *err)
{
    struct skiff_scope *scope = scope_create();
    struct skiff_executor *e = executor_create(scope, &(struct executor_options){0});
    enum skiff_status status = executor_run(e, p, NULL, 0, NULL, 0, NULL, err);
    executor_destroy(e);
    scope_destroy(scope);
    return status;
}

static enum skiff_status run_allowed(const char *path, struct skiff_error *err)
{
    struct skiff_program *p = saving(path);
    assert_int_equal(program_allow(p, "save", home, err), SKIFF_OK);
    enum skiff_status status = run(p, err);
    program_destroy(p);
    return status;
}

static void refused_unless_allowed(void **state)
{
    char path[96];
    struct skiff_error err;
    snprintf(path, sizeof(path), "%s/other/made/x", base);
    struct skiff_program *p = saving(path), *clone = program_clone(p);
    assert_int_equal(run(p, &err), SKIFF_UNSUPPORTED);
    assert_non_null(strstr(err.message, "block 0, op 1 save: acts outside the program (file "));
    assert_non_null(strstr(err.message, path));
    assert_non_null(strstr(err.message, "read from models/m/__model__"));
    assert_non_null(strstr(err.message, "--allow-ops save"));
    assert_int_equal(run(clone, &err), SKIFF_UNSUPPORTED);
    assert_false(file_exists("other/made"));
    program_destroy(clone);
    program_destroy(p);
}

static void allowed_below_the_folder(void **state)
{
    char path[96];
    struct skiff_error err = {0};
    struct skiff_tensor v = {0};
    snprintf(path, sizeof(path), "%s/a/b/x", home);
    assert_int_equal(run_allowed(path, &err), SKIFF_OK);
    assert_int_equal(value_file_read(path, &v, &err), SKIFF_OK);
    assert_true(tensor_f32(&v.tensor)[2] == 7);
    value_deinit(&v);
    assert_int_equal(run_allowed("home/relative", &err), SKIFF_OK);
    assert_true(file_exists("home/relative"));
    assert_int_equal(run_allowed("home/a/../b//y", &err), SKIFF_OK);
    assert_true(file_exists("home/b/y"));
    /* a link that stays inside */
    assert_int_equal(run_allowed("home/in/z", &err), SKIFF_OK);
    assert_true(file_exists("home/inner/z"));
}

static void nothing_leads_out(void **state)
{
    static const char *const paths[] = {"/etc/skiff_rights_x",
                                        "home/../x",
                                        "home/out/x",
                                        "home/out/new/x",
                                        "home/dangling",
                                        "home/no/../../x",
                                        "homes/x",
                                        "home/dangling/",
                                        "home",
                                        "home/inner/../../x",
                                        "home/no/../x"};
    struct skiff_error err;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        err.message[0] = '\0';
        assert_true(run_allowed(paths[i], &err) < 0);
        if (!strstr(err.message, "block 0, op 1 save: file ") || !strstr(err.message, paths[i]))
            fail_msg("%s: %s", paths[i], err.message);
    }
    assert_false(file_exists("x"));
    assert_false(file_exists("homes"));
    assert_false(file_exists("other/x"));
    assert_false(file_exists("other/new"));
    run_allowed("home/out/x", &err);
    assert_non_null(strstr(err.message, "does not lie below"));
    assert_non_null(strstr(err.message, "other/x"));
}

/* A file attribute that the op does not know does not replace the one that it does. */
static void every_file_is_looked_at(void **state)
{
    struct skiff_error err;
    struct skiff_program *p;
    char text[400];
    snprintf(text, sizeof text,
             "program generation=1\nblock 0 parent=-1 {\nop checkpoint_notify {} -> {} "
             "file_path=\"%s/x\" dir=\"/etc/skiff_rights\" lookup_table=\"t\"\n}\n",
             home);
    assert_int_equal(program_parse(text, "notify", &p, &err), SKIFF_OK);
    assert_int_equal(program_allow(p, "checkpoint_notify", home, &err), SKIFF_OK);
    assert_int_equal(run(p, &err), SKIFF_UNSUPPORTED);
    assert_non_null(strstr(err.message, "file /etc/skiff_rights, which is "));
    program_destroy(p);
}

/* A link that appears after the plan was made. */
static void looked_at_in_every_run(void **state)
{
    struct skiff_error err;
    struct skiff_program *p = saving("home/late/x");
    struct skiff_scope *scope = scope_create();
    struct skiff_executor *e = executor_create(scope, &(struct executor_options){0});
    assert_int_equal(program_allow(p, "save", "home", &err), SKIFF_OK);
    assert_int_equal(executor_run(e, p, NULL, 0, NULL, 0, NULL, &err), SKIFF_OK);
    assert_int_equal(unlink("home/late/x") | rmdir("home/late") | symlink("../other", "home/late"),
                     0);
    assert_true(executor_run(e, p, NULL, 0, NULL, 0, NULL, &err) < 0);
    assert_non_null(strstr(err.message, "does not lie below"));
    assert_false(file_exists("other/x"));
    executor_destroy(e);
    scope_destroy(scope);
    program_destroy(p);
}

static void what_is_allowed_is_checked(void **state)
{
    struct skiff_error err;
    struct skiff_program *p = saving("home/x");
    assert_int_equal(program_allow(p, "save", NULL, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "takes a folder"));
    assert_int_equal(program_allow(p, "svae", "home", &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "the nearest that does is save"));
    assert_int_equal(program_allow(p, "relu", "home", &err), SKIFF_INVALID);
    assert_int_equal(program_allow(p, "save", "nowhere", &err), SKIFF_IO);
    assert_int_equal(program_allow(p, "load, load_combine", "home", &err), SKIFF_OK);
    assert_int_equal(run(p, &err), SKIFF_UNSUPPORTED);
    assert_int_equal(program_allow(p, "load,save", "home", &err), SKIFF_OK);
    assert_int_equal(run(p, &err), SKIFF_OK);
    program_destroy(p);
}

/* Every block runs the next one: refused before a stack is full. */
static void blocks_too_deep(void **state)
{
    struct buf text = BUF_INIT;
    struct skiff_program *p = NULL;
    struct skiff_error err;
    buf_str(&text, "program generation=1 version=1008005\n");
    for (int b = 0; b < 100000; b++)
        buf_printf(&text,
                   "block %d parent=%d {\n%s op conditional_block {Cond:[c] Input:[c]} -> {Out:[c] "
                   "Scope:[c]} sub_block=block(%d) is_scalar_condition=True\n}\n",
                   b, b ? 0 : -1, b ? "" : "var c LOD_TENSOR bool [1] persistable=True\n",
                   b < 99999 ? b + 1 : 1);
    assert_int_equal(program_parse(text.data, "deep", &p, &err), SKIFF_OK);
    assert_int_equal(run(p, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "lie more than 256 deep"));
    program_destroy(p);
    buf_deinit(&text);
}

/* The list of ops that act outside a program: extend it on purpose. */
static void kinds_are_marked(void **state)
{
    static const char *const outside[] = {"save",
                                          "save_combine",
                                          "load",
                                          "load_combine",
                                          "send",
                                          "recv",
                                          "send_barrier",
                                          "fetch_barrier",
                                          "prefetch",
                                          "recv_save",
                                          "listen_and_serv",
                                          "distributed_lookup_table",
                                          "checkpoint_notify",
                                          "py_func"};
    int n = 0;
    for (int i = 0; i < op_kind_count(); i++)
        n += (op_kind_at(i)->flags & OP_SIDE_EFFECT) && !(op_kind_at(i)->flags & OP_INTERNAL);
    assert_int_equal(n, sizeof(outside) / sizeof(outside[0]));
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
        assert_true(op_kind_find(outside[i], GEN_1X)->flags & OP_SIDE_EFFECT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_unless_allowed), cmocka_unit_test(allowed_below_the_folder),
        cmocka_unit_test(nothing_leads_out),      cmocka_unit_test(every_file_is_looked_at),
        cmocka_unit_test(looked_at_in_every_run), cmocka_unit_test(what_is_allowed_is_checked),
        cmocka_unit_test(blocks_too_deep),        cmocka_unit_test(kinds_are_marked)};
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
