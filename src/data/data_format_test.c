#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/line_format.h"
#include "data/stream.h"

static void has_format(const char *line, const char *expected)
{
    const char *found = line_format(line);
    if (!expected ? found != NULL : !found || strcmp(found, expected) != 0)
        fail_msg("'%s' is %s, expected %s", line, found ? found : "nothing",
                 expected ? expected : "nothing");
}

static void lines(void **state)
{
    char criteo[512] = "1";
    for (int i = 1; i < 40; i++)
        strcat(criteo, i < 14 ? "\t3" : "\t68fd1e64");
    has_format(criteo, "criteo");
    has_format("click:0 dense_feature:0.05 dense_feature:0.00663 1:737395 2:210498", "slot_text");
    has_format("click:0", "slot_text");
    has_format("1 3:0.5 7:1\r\n", "libsvm");
    has_format("-1 3:1", "libsvm");
    has_format("1 0:3:0.5 1:7:1", "libffm");
    has_format("yes,3.5,phone", "csv");
    has_format("yes\t3.5", "csv");
    has_format("user;age", "csv");
    has_format("1 2 3 0.5 1 7", NULL); /* multislot has no mark of its own, nor has free text */
    has_format("some text", NULL);
    has_format("1 3:0.5 1:7:1", NULL);
    has_format("", NULL);
}

static void first_line_of_a_file(void **state)
{
    char path[] = "/tmp/line_format_XXXXXX";
    struct buf packed = BUF_INIT;
    static const char text[] = "1 3:0.5\n1,2,3\n";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(stream_gzip_pack(text, sizeof text - 1, &packed, NULL), 0);
    assert_int_equal(write(fd, packed.data, packed.len), (ssize_t)packed.len);
    assert_string_equal(file_line_format(path), "libsvm");
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_null(file_line_format(path));
    close(fd);
    unlink(path);
    assert_null(file_line_format(path));
    buf_deinit(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(first_line_of_a_file),
    };
    return cmocka_run_group_tests_name("line_format", tests, NULL, NULL);
}
