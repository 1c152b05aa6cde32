/* What needs no server: paths, answers of servers, files of this machine. tests/python has the
 * servers. */
#include "fs/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "fs/answer.h"
#include "fs/http.h"
#include "fs/s3.h"

static void test_paths(void **state)
{
    char host[16];
    assert_true(fs_is_remote("s3://b/k") && fs_is_remote("hdfs:/a") && fs_is_remote("afs://h:1/a"));
    assert_true(fs_is_remote("gs://b"));
    assert_false(fs_is_remote("/s3://b") || fs_is_remote("a:b") || fs_is_remote("s3:/a") ||
                 fs_is_remote("file:///a") || fs_is_remote("hdfs") || fs_is_remote(""));
    assert_string_equal(fs_path_of("hdfs://h:1/a/b"), "/a/b");
    assert_string_equal(fs_path_of("hdfs:/a"), "/a");
    assert_string_equal(fs_path_of("hdfs://h"), "/");
    assert_true(fs_host_of("hdfs://h:1/a", host, sizeof host));
    assert_string_equal(host, "h:1");
    assert_true(fs_host_of("hdfs:/a", host, sizeof host));
    assert_string_equal(host, "");
    assert_false(fs_host_of("hdfs://a-name-of-seventeen/a", host, sizeof host));
}

static void test_settings(void **state)
{
    struct fs_settings s;
    struct skiff_error err;
    char name[600];
    assert_int_equal(fs_settings_parse(&s, "hdfs://h:1", "me,se,cret", &err), SKIFF_OK);
    assert_string_equal(s.uri, "hdfs://h:1");
    assert_string_equal(s.user, "me");
    assert_string_equal(s.passwd, "se,cret");
    assert_int_equal(fs_settings_parse(&s, "host", "", &err), SKIFF_INVALID);
    assert_string_equal(err.message,
                        "fs_name \"host\": write hdfs://host:port, afs://host:port, or "
                        "http://namenode:9870");
    memset(name, ':', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(fs_settings_parse(&s, name, "", &err), SKIFF_RANGE);
    assert_string_equal(err.message, "fs_name has 599 letters; at most 511");
    assert_int_equal(fs_configure("ftp", &s, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "no settings for the file system ftp; hdfs or s3");
}

static void test_answers(void **state)
{
    const char *at = "{\"x\":{\"y\":[{\"a\\\"}{\":\"q\",\"n\": -5 ,\"b\":\"\\u00fc\\ud83d\\ude00"
                     "\\n\\\"\"},{\"b\":true}]}";
    const char *object, *text;
    size_t n;
    struct buf b = BUF_INIT;
    assert_true(answer_object(&at, &object, &n));
    assert_int_equal(answer_number(object, n, "n", 7), -5);
    assert_int_equal(answer_number(object, n, "b", 7), 7);
    assert_true(answer_field(object, n, "b", &b));
    assert_string_equal(b.data, "ü😀\n\"");
    assert_true(answer_object(&at, &object, &n));
    buf_reset(&b);
    assert_true(answer_field(object, n, "b", &b));
    assert_string_equal(b.data, "true");
    assert_false(answer_field(object, n, "c", &b));
    assert_false(answer_object(&at, &object, &n));

    at = "<A><K>1 &lt;&amp;&#252;&#x41;</K></A><K>2</K>";
    assert_true(s3_tag(&at, NULL, "K", &text, &n));
    buf_reset(&b);
    s3_text(&b, text, n);
    assert_string_equal(b.data, "1 <&üA");
    assert_false(s3_tag(&at, at + 4, "K", &text, &n));
    assert_true(s3_tag(&at, NULL, "K", &text, &n));
    assert_false(s3_tag(&at, NULL, "K", &text, &n));
    buf_reset(&b);
    http_encode(&b, "a/b c+ü~", true);
    assert_string_equal(b.data, "a/b%20c%2B%C3%BC~");
    buf_deinit(&b);
}

static void write_file(const char *path, const char *text)
{
    struct fs_writer *w;
    assert_int_equal(fs_create(NULL, path, &w, NULL), SKIFF_OK);
    assert_int_equal(fs_write(w, text, strlen(text), NULL), SKIFF_OK);
    assert_int_equal(fs_commit(w, NULL), SKIFF_OK);
}

static void test_this_machine(void **state)
{
    char folder[] = "/tmp/fs_test.XXXXXX", a[64], b[64], c[64], text[16];
    struct fs_stat st;
    struct fs_list l = {0};
    struct fs_reader *r;
    struct fs_writer *w;
    struct skiff_error err;
    size_t got;
    assert_non_null(mkdtemp(folder));
    snprintf(a, sizeof a, "%s/d/e", folder);
    snprintf(b, sizeof b, "%s/d/e/f", folder);
    snprintf(c, sizeof c, "%s/copy", folder);
    assert_int_equal(fs_mkdirs(NULL, a, &err), SKIFF_OK);
    write_file(b, "hello");
    assert_int_equal(fs_create(NULL, b, &w, NULL), SKIFF_OK); /* never committed */
    fs_abort(w);
    assert_int_equal(fs_copy(NULL, folder, c, NULL, &err) < 0, 0);
    assert_int_equal(fs_look(NULL, c, &st, &err), SKIFF_OK);
    assert_true(st.folder);
    snprintf(b, sizeof b, "file://%s/copy/d/e/f", folder);
    assert_int_equal(fs_open(NULL, b, NULL, &r, &err), SKIFF_OK);
    assert_int_equal(r->size, 5);
    assert_int_equal(fs_read(r, text, sizeof text, &got, &err), SKIFF_OK);
    assert_memory_equal(text, "hello", 5);
    fs_close(r);
    assert_int_equal(fs_list(NULL, a, &l, &err), SKIFF_OK);
    assert_int_equal(l.count, 1); /* what was aborted is gone */
    fs_list_deinit(&l);
    assert_int_equal(fs_open(NULL, a, NULL, &r, &err), SKIFF_IO);
    assert_non_null(strstr(err.message, "/d/e: is a folder, a file was expected"));
    assert_true(fs_rename_is_atomic(NULL, a));
    assert_int_equal(fs_remove(NULL, folder, &err), SKIFF_OK);
    assert_int_equal(fs_look(NULL, folder, &st, &err), SKIFF_NOT_FOUND);
    assert_int_equal(fs_remove(NULL, folder, &err), SKIFF_OK);
}

static void test_replacing(void **state)
{
    char folder[] = "/tmp/fs_test.XXXXXX", a[64], b[64];
    struct skiff_error err;
    struct fs_list l = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(a, sizeof a, "%s/part-0", folder);
    snprintf(b, sizeof b, "%s/part-1", folder);
    write_file(a, "one");
    write_file(b, "older");
    assert_int_equal(fs_rename(NULL, a, b, &err), SKIFF_STATE);
    const struct fs_move move = {.from = a, .to = b};
    assert_int_equal(fs_replace_all(NULL, &move, 1, &err), SKIFF_OK);
    assert_int_equal(fs_replace_all(NULL, &move, 1, &err), SKIFF_OK); /* a has been moved */
    assert_int_equal(fs_list(NULL, folder, &l, &err), SKIFF_OK);
    assert_int_equal(l.count, 1);
    assert_int_equal(l.entries[0].stat.size, 3);
    fs_list_deinit(&l);
    assert_int_equal(fs_remove(NULL, folder, &err), SKIFF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths), cmocka_unit_test(test_settings),
        cmocka_unit_test(test_answers), cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_replacing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
