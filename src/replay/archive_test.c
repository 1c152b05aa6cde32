/* Archives: what is unpacked, what is refused, and that nothing is written elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "replay/archive.h"
#include "store/file.h"

static char base[64], dir[80]; /* archives are unpacked into dir, which is in base */

static int make_dir(void **state)
{
    strcpy(base, "/tmp/skiff-archive-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(dir, sizeof dir, "%s/in", base);
    return mkdir(dir, 0700);
}

static int remove_dir(void **state)
{
    file_remove_tree(base);
    return 0;
}

/* ---- making archives ---- */

static void add_sum(char h[512])
{
    unsigned sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)h[i];
    snprintf(h + 148, 8, "%06o", sum);
}

static void add_sized(struct buf *b, const char *name, char type, const char *text, unsigned size)
{
    char h[512] = {0}, pad[512] = {0};
    memcpy(h, name, strlen(name) < 100 ? strlen(name) : 100);
    snprintf(h + 124, 12, "%011o", size);
    h[156] = type;
    snprintf(h + 157, 100, "%s", type == '1' || type == '2' ? "/etc/passwd" : "");
    memcpy(h + 257, "ustar\0", 6);
    add_sum(h);
    buf_add(b, h, 512);
    buf_str(b, text);
    buf_add(b, pad, (512 - strlen(text) % 512) % 512);
}

static void add(struct buf *b, const char *name, char type, const char *text)
{
    add_sized(b, name, type, text, (unsigned)strlen(text));
}

static void finish(struct buf *b)
{
    char zero[1024] = {0};
    buf_add(b, zero, sizeof zero);
}

static enum skiff_status unpack(const struct buf *b, struct skiff_error *err)
{
    return archive_unpack_memory(b->data, b->len, "a.tar", dir, err);
}

static void has(const char *name, const char *text)
{
    char path[512];
    struct buf found = BUF_INIT;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_read(path, &found, NULL), SKIFF_OK);
    assert_string_equal(found.data ? found.data : "", text);
    buf_deinit(&found);
}

/* ---- tests ---- */

static void test_files(void **state)
{
    struct buf b = BUF_INIT;
    char many[1500], name[200];
    memset(many, 'x', sizeof many - 1);
    many[sizeof many - 1] = 0;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    add(&b, "./a/", '5', "");
    add(&b, "./a/one", '0', "first");
    add(&b, "deep/er/two", 0, many); /* folders that no entry makes */
    add(&b, "empty", '0', "");
    add(&b, "././@LongLink", 'L', name);
    add(&b, "short", '0', "by GNU");
    add(&b, "pax", 'x', "12 mtime=1.5\n22 path=by/posix/name\n");
    add(&b, "short", '0', "by POSIX");
    add(&b, "pax", 'g', "19 comment=nothing\n");
    add(&b, "..a/b..", '0', "dots");
    finish(&b);
    assert_int_equal(unpack(&b, NULL), SKIFF_OK);
    has("a/one", "first");
    has("deep/er/two", many);
    has("empty", "");
    has(name, "by GNU");
    has("by/posix/name", "by POSIX");
    has("..a/b..", "dots");
    buf_deinit(&b);
}

static void refused(const char *name, char type, const char *want)
{
    struct buf b = BUF_INIT;
    struct skiff_error err = {0};
    add(&b, name, type, "");
    finish(&b);
    assert_true(unpack(&b, &err) < 0);
    if (!strstr(err.message, want))
        fail_msg("\"%s\" does not hold \"%s\"", err.message, want);
    buf_deinit(&b);
}

static void test_hostile(void **state)
{
    const char *out = "leads out of the archive; it is not unpacked";
    char absolute[90], above[90];
    snprintf(absolute, sizeof absolute, "%s/absolute", base);
    snprintf(above, sizeof above, "%s/outside", base);
    refused(absolute, '0', out);
    refused("../outside", '0', out);
    refused("a/../../outside", '0', out);
    refused("a/..", '5', out);
    refused("..", '5', out);
    refused("", '0', out);
    for (const char *type = "123467S"; *type; type++)
        refused("thing", *type, "thing is a link or a device; only files and folders are unpacked");
    struct buf b = BUF_INIT;
    struct skiff_error err = {0};
    add(&b, "x", 'L', "../by/a/long/name");
    add(&b, "fine", '0', "");
    finish(&b);
    assert_true(unpack(&b, &err) < 0);
    assert_non_null(strstr(err.message, "a.tar: the name \"../by/a/long/name\" leads out"));
    buf_deinit(&b);
    assert_int_equal(access(absolute, F_OK), -1);
    assert_int_equal(access(above, F_OK), -1);
}

static void test_damaged(void **state)
{
    struct buf b = BUF_INIT;
    struct skiff_error err = {0};
    add(&b, "one", '0', "text");
    finish(&b);
    for (size_t n = 0; n < 1024 + 512; n += 7) { /* up to the end of the first block of zeroes */
        assert_int_equal(archive_unpack_memory(b.data, n, "a.tar", dir, &err), SKIFF_FORMAT);
        assert_non_null(strstr(err.message, "a.tar: the archive ends too early"));
        remove_dir(NULL);
        assert_int_equal(make_dir(NULL), 0);
    }
    b.data[3] ^= 1;
    assert_int_equal(unpack(&b, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "a.tar: not a tar archive, or damaged"));
    b.data[3] ^= 1;
    assert_int_equal(unpack(&b, &err), SKIFF_OK);
    assert_int_equal(unpack(&b, &err), SKIFF_IO); /* nothing is written over */
    assert_non_null(strstr(err.message, "a.tar: cannot make the file one"));
    buf_deinit(&b);
}

static void test_too_large(void **state)
{
    struct buf b = BUF_INIT;
    struct skiff_error err = {0};
    add_sized(&b, "one", '0', "", 1u << 30);
    assert_int_equal(unpack(&b, &err), SKIFF_FORMAT); /* allowed, but not there */
    buf_reset(&b);
    add_sized(&b, "two", '0', "", 4294967295u);
    assert_int_equal(unpack(&b, &err), SKIFF_RANGE);
    assert_non_null(strstr(err.message, "more than 200000 files or 2048 MB; unpack it yourself"));
    buf_reset(&b);
    for (int i = 0; i <= ARCHIVE_MAX_ENTRIES; i++)
        add(&b, "a/", '5', "");
    finish(&b);
    assert_int_equal(unpack(&b, &err), SKIFF_RANGE);
    buf_reset(&b);
    add_sized(&b, "x", 'L', "", 1u << 20);
    assert_int_equal(unpack(&b, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "a file name of 1048576 bytes"));
    buf_deinit(&b);
}

static void test_names(void **state)
{
    assert_true(archive_is_named("a/b.tar.xz"));
    assert_true(archive_is_named("b.tgz"));
    assert_false(archive_is_named(".tar"));
    assert_false(archive_is_named("b.xz"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_hostile, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_damaged, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_too_large, make_dir, remove_dir),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
