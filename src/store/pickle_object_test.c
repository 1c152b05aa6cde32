/* Objects of pickles: written and read again, hostile ones, files that stay as they were. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "store/test_help.h"

/* {"n": [1, -70000, 2**40, 0.5, None, True], "t": ("x", b"\xff"), "w": array} */
static void write_example(struct skiff_pickler *p)
{
    struct skiff_error err;
    struct skiff_tensor *t = skiff_tensor_create("float32", 2, (int64_t[]){2, 1}, &err);
    ((float *)skiff_tensor_data(t))[1] = 2.5f;
    skiff_pickler_begin(p, SKIFF_OBJECT_DICT);
    assert_int_equal(skiff_pickler_text(p, "n", 1, &err), SKIFF_OK);
    skiff_pickler_begin(p, SKIFF_OBJECT_LIST);
    skiff_pickler_int(p, 1);
    skiff_pickler_int(p, -70000);
    skiff_pickler_int(p, (int64_t)1 << 40);
    skiff_pickler_float(p, 0.5);
    skiff_pickler_none(p);
    skiff_pickler_bool(p, true);
    skiff_pickler_finish(p, SKIFF_OBJECT_LIST);
    assert_int_equal(skiff_pickler_text(p, "t", 1, &err), SKIFF_OK);
    skiff_pickler_begin(p, SKIFF_OBJECT_TUPLE);
    assert_int_equal(skiff_pickler_text(p, "x", 1, &err), SKIFF_OK);
    assert_int_equal(skiff_pickler_bytes(p, "\xff", 1, &err), SKIFF_OK);
    skiff_pickler_finish(p, SKIFF_OBJECT_TUPLE);
    assert_int_equal(skiff_pickler_text(p, "w", 1, &err), SKIFF_OK);
    assert_int_equal(skiff_pickler_array(p, t, &err), SKIFF_OK);
    skiff_pickler_finish(p, SKIFF_OBJECT_DICT);
    skiff_tensor_destroy(t);
}

static void check_numbers(const struct skiff_object *list)
{
    assert_int_equal(skiff_object_kind(list), SKIFF_OBJECT_LIST);
    assert_int_equal(skiff_object_count(list), 6);
    assert_int_equal(skiff_object_int(skiff_object_item(list, 0)), 1);
    assert_int_equal(skiff_object_int(skiff_object_item(list, 1)), -70000);
    assert_true(skiff_object_int(skiff_object_item(list, 2)) == (int64_t)1 << 40);
    assert_true(skiff_object_float(skiff_object_item(list, 3)) == 0.5);
    assert_int_equal(skiff_object_kind(skiff_object_item(list, 4)), SKIFF_OBJECT_NONE);
    assert_int_equal(skiff_object_kind(skiff_object_item(list, 5)), SKIFF_OBJECT_BOOL);
    assert_int_equal(skiff_object_int(skiff_object_item(list, 5)), 1);
    assert_null(skiff_object_item(list, 6));
}

static void check_example(struct skiff_pickle *p)
{
    struct skiff_error err;
    struct skiff_tensor *t;
    size_t n;
    const struct skiff_object *root = skiff_pickle_root(p);
    assert_int_equal(skiff_object_kind(root), SKIFF_OBJECT_DICT);
    assert_int_equal(skiff_object_count(root), 6);
    check_numbers(skiff_object_item(root, 1));
    const struct skiff_object *pair = skiff_object_item(root, 3);
    assert_int_equal(skiff_object_kind(pair), SKIFF_OBJECT_TUPLE);
    assert_memory_equal(skiff_object_text(p, skiff_object_item(pair, 0), &n), "x", 1);
    assert_int_equal(skiff_object_kind(skiff_object_item(pair, 1)), SKIFF_OBJECT_BYTES);
    assert_memory_equal(skiff_object_text(p, skiff_object_item(pair, 1), &n), "\xff", 1);
    assert_int_equal(n, 1);
    assert_int_equal(skiff_object_kind(skiff_object_item(root, 5)), SKIFF_OBJECT_ARRAY);
    assert_int_equal(skiff_object_array(p, skiff_object_item(root, 5), &t, &err), SKIFF_OK);
    assert_int_equal(skiff_tensor_ndim(t), 2);
    assert_true(((const float *)skiff_tensor_data(t))[1] == 2.5f);
    skiff_tensor_destroy(t);
}

static void test_there_and_back(void **unused)
{
    struct skiff_error err;
    for (int protocol = 2; protocol <= 4; protocol++) {
        struct skiff_pickler *to;
        struct skiff_pickle *from;
        void *bytes = NULL;
        size_t n = 0;
        assert_int_equal(skiff_pickler_open(NULL, protocol, &to, &err), SKIFF_OK);
        write_example(to);
        assert_int_equal(skiff_pickler_end(to, &bytes, &n, &err), SKIFF_OK);
        assert_int_equal(((uint8_t *)bytes)[1], protocol);
        assert_int_equal(skiff_pickle_parse(bytes, n, "memory", &from, &err), SKIFF_OK);
        check_example(from);
        skiff_pickle_close(from);
        for (size_t cut = 0; cut < n; cut++) { /* every truncation is an error */
            assert_true(skiff_pickle_parse(bytes, cut, "memory", &from, &err) < 0);
            assert_true(err.message[0]);
        }
        free(bytes);
    }
}

static void test_files_are_whole(void **unused)
{
    struct skiff_error err;
    struct skiff_pickler *to;
    struct skiff_pickle *from;
    const char *path = temp_path("object.pd");
    assert_int_equal(skiff_pickler_open(path, 4, &to, &err), SKIFF_OK);
    write_example(to);
    assert_int_equal(skiff_pickler_end(to, NULL, NULL, &err), SKIFF_OK);
    assert_int_equal(skiff_pickler_open(path, 4, &to, &err), SKIFF_OK);
    skiff_pickler_none(to);
    skiff_pickler_close(to); /* what was there stays */
    assert_int_equal(skiff_pickle_open(path, &from, &err), SKIFF_OK);
    check_example(from);
    skiff_pickle_close(from);
    assert_true(skiff_pickler_open("/proc/nothing/here", 4, &to, &err) < 0);
    assert_int_equal(skiff_pickler_open(NULL, 5, &to, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "received protocol=5"));
    assert_true(skiff_pickle_open(temp_path("nothing"), &from, &err) < 0);
}

static void test_hostile(void **unused)
{
    static const char evil[] = "\x80\x02"
                               "cos\nsystem\nX\x02\0\0\0ls\x85R.";
    struct skiff_error err;
    struct skiff_pickle *p;
    struct skiff_tensor *t;
    assert_true(skiff_pickle_parse(evil, sizeof evil - 1, "evil", &p, &err) == SKIFF_UNSUPPORTED);
    assert_non_null(strstr(err.message, "evil: the pickle asks for os.system"));
    assert_true(skiff_pickle_parse("hello", 5, "text", &p, &err) == SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "text: not a pickle"));
    /* an array that was never filled; a type where a value belongs */
    static const char bare[] = "\x80\x02"
                               "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n\x85R.";
    assert_int_equal(skiff_pickle_parse(bare, sizeof bare - 1, "bare", &p, &err), SKIFF_OK);
    assert_int_equal(skiff_object_array(p, skiff_pickle_root(p), &t, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "never filled"));
    skiff_pickle_close(p);
    static const char type[] = "\x80\x02"
                               "cnumpy\ndtype\n.";
    assert_int_equal(skiff_pickle_parse(type, sizeof type - 1, "type", &p, &err), SKIFF_OK);
    assert_int_equal(skiff_object_kind(skiff_pickle_root(p)), SKIFF_OBJECT_OTHER);
    skiff_pickle_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_files_are_whole),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
