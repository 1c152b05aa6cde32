/* Streams, lines, file lists. The compressed files of tests/data/streams hold the lines "line 1" to
 * "line 5000"; two.* are two members or frames of one line each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/source.h"
#include "data/test_help.h"
#include "data/text.h"

#define ROOT "tests/data/streams/"

static void open_memory(struct source *s, const void *bytes, size_t n, size_t max_line)
{
    struct stream *stream;
    assert_int_equal(stream_open_memory(bytes, n, "memory", &stream, NULL), SKIFF_OK);
    assert_int_equal(source_open(s, stream, max_line, NULL), SKIFF_OK);
}

static void expect_line(struct source *s, const char *want, size_t n)
{
    const char *line;
    size_t got;
    assert_int_equal(source_line(s, &line, &got, NULL), SKIFF_OK);
    assert_int_equal(got, n);
    assert_memory_equal(line, want, n);
    assert_true(line[n] == '\n' || line[n] == '\r');
    volatile char sum = 0; /* the pad may be read */
    for (size_t i = 0; i < TEXT_PAD; i++)
        sum ^= line[n + i];
    (void)sum;
}

static void expect_end(struct source *s)
{
    const char *line;
    size_t n;
    assert_int_equal(source_line(s, &line, &n, NULL), SKIFF_END);
    assert_int_equal(source_line(s, &line, &n, NULL), SKIFF_END);
}

static void test_line_ends(void **state)
{
    static const char text[] = "one\ntwo\r\n\n\r\nnul\0inside\nr\rinside\nlast";
    struct source s;
    open_memory(&s, text, sizeof text - 1, 0);
    expect_line(&s, "one", 3);
    expect_line(&s, "two", 3);
    expect_line(&s, "", 0);
    expect_line(&s, "", 0);
    expect_line(&s, "nul\0inside", 10);
    expect_line(&s, "r\rinside", 8);
    assert_int_equal(s.line, 6);
    expect_line(&s, "last", 4);
    assert_int_equal(s.line, 7);
    assert_int_equal(s.bytes, sizeof text - 1);
    expect_end(&s);
    source_close(&s);
    open_memory(&s, "", 0, 0);
    expect_end(&s);
    source_close(&s);
    open_memory(&s, "x\r", 2, 0); /* CR at the very end */
    expect_line(&s, "x", 1);
    expect_end(&s);
    source_close(&s);
    open_memory(&s, "\n", 1, 0);
    expect_line(&s, "", 0);
    expect_end(&s);
    source_close(&s);
}

/* Rows of CSV: quoted cells may hold line ends, and a row has the number of its first line. */
static void test_quoted_line_ends(void **state)
{
    static const char text[] = "a,\"b\nc\"\n1,5\" nail\r\n\"x\r\n\n,\"\"y\n\" ,2\r\n# \"\n,\"\"\n"
                               "3,\"z\"q\n4,\"never\n5,6\n7,\"8";
    struct source s;
    open_memory(&s, text, sizeof text - 1, 0);
    source_quotes(&s, ',', '#');
    expect_line(&s, "a,\"b\nc\"", 7);
    assert_int_equal(s.line, 1);
    expect_line(&s, "1,5\" nail", 9);
    assert_int_equal(s.line, 3);
    expect_line(&s, "\"x\r\n\n,\"\"y\n\" ,2", 14);
    assert_int_equal(s.line, 4);
    expect_line(&s, "# \"", 3);
    assert_int_equal(s.line, 8);
    expect_line(&s, ",\"\"", 3);
    expect_line(&s, "3,\"z\"q", 6);
    expect_line(&s, "4,\"never", 8); /* alone: the reader says what is wrong with it */
    assert_int_equal(s.line, 11);
    expect_line(&s, "5,6", 3);
    expect_line(&s, "7,\"8", 4);
    assert_int_equal(s.line, 13);
    assert_int_equal(s.bytes, sizeof text - 1);
    expect_end(&s);
    source_close(&s);
}

/* Beyond max_line a quote counts as never closed; the lines behind it are rows of their own. */
static void test_quote_beyond_limit(void **state)
{
    struct source s;
    struct buf text = BUF_INIT;
    buf_str(&text, "1,\"open\n");
    for (int i = 0; i < 200; i++)
        buf_str(&text, "2,3\n");
    buf_str(&text, "4,\"5\"\n6,\"7\n8\"\n");
    open_memory(&s, text.data, text.len, 100);
    source_quotes(&s, ',', 0);
    expect_line(&s, "1,\"open", 7);
    for (int i = 0; i < 200; i++)
        expect_line(&s, "2,3", 3);
    expect_line(&s, "4,\"5\"", 5);
    expect_line(&s, "6,\"7\n8\"", 7);
    assert_int_equal(s.line, 203);
    expect_end(&s);
    source_close(&s);
    buf_deinit(&text);
}

/* Lines of every length around the block size come out whole. */
static void test_lines_over_blocks(void **state)
{
    struct buf text = BUF_INIT;
    struct source s;
    char row[600];
    size_t lengths[4000];
    for (int i = 0; i < 4000; i++) {
        lengths[i] = (size_t)(i * 7919 % 597);
        memset(row, 'a' + i % 26, lengths[i]);
        buf_add(&text, row, lengths[i]);
        buf_char(&text, '\n');
    }
    open_memory(&s, text.data, text.len, 0);
    for (int i = 0; i < 4000; i++) {
        memset(row, 'a' + i % 26, lengths[i]);
        expect_line(&s, row, lengths[i]);
    }
    expect_end(&s);
    source_close(&s);
    buf_deinit(&text);
}

static void test_huge_lines(void **state)
{
    size_t n = 3 << 20;
    char *big = malloc(n + 20);
    struct source s;
    const char *line;
    size_t got;
    struct skiff_error err;
    memcpy(big, "first\n", 6);
    memset(big + 6, 'x', n);
    memcpy(big + 6 + n, "\nafter\n", 7);
    /* within the bound: the buffer grows */
    open_memory(&s, big, n + 13, 4 << 20);
    expect_line(&s, "first", 5);
    expect_line(&s, big + 6, n);
    expect_line(&s, "after", 5);
    expect_end(&s);
    source_close(&s);
    /* above: an error, and reading goes on behind the line; memory stays bounded */
    size_t before = mem_in_use();
    open_memory(&s, big, n + 13, 1000);
    expect_line(&s, "first", 5);
    assert_int_equal(source_line(&s, &line, &got, &err), SKIFF_RANGE);
    assert_non_null(strstr(err.message, "longer than 1000 bytes"));
    assert_int_equal(s.line, 2);
    assert_true(mem_in_use() - before < (1 << 20));
    expect_line(&s, "after", 5);
    assert_int_equal(s.line, 3);
    expect_end(&s);
    source_close(&s);
    /* a huge last line without an end */
    open_memory(&s, big, n, 1000);
    expect_line(&s, "first", 5);
    assert_int_equal(source_line(&s, &line, &got, &err), SKIFF_RANGE);
    expect_end(&s);
    source_close(&s);
    free(big);
}

static void test_bytes(void **state)
{
    struct source s;
    const char *p;
    open_memory(&s, "abcdefghij", 10, 100);
    assert_int_equal(source_bytes(&s, 4, &p, NULL), SKIFF_OK);
    assert_memory_equal(p, "abcd", 4);
    assert_int_equal(source_bytes(&s, 101, &p, NULL), SKIFF_RANGE);
    assert_int_equal(source_bytes(&s, 7, &p, NULL), SKIFF_FORMAT);
    assert_int_equal(source_bytes(&s, 6, &p, NULL), SKIFF_OK);
    assert_memory_equal(p, "efghij", 6);
    assert_int_equal(source_bytes(&s, 1, &p, NULL), SKIFF_END);
    source_close(&s);
}

static void check_lines(const char *path)
{
    struct stream *stream;
    struct source s;
    struct skiff_error err;
    char want[32];
    if (stream_open(path, NULL, &stream, &err) != SKIFF_OK)
        fail_msg("%s", err.message);
    assert_int_equal(source_open(&s, stream, 0, &err), SKIFF_OK);
    for (int i = 1; i <= 5000; i++) {
        snprintf(want, sizeof want, "line %d", i);
        expect_line(&s, want, strlen(want));
    }
    expect_end(&s);
    source_close(&s);
}

static void test_compressed(void **state)
{
    static const char *const names[] = {"lines.gz", "lines.zst", "lines.lz4", "renamed.txt",
                                        "lines.xz"};
    static const char *const two[] = {"two.gz", "two.zst", "two.lz4", "two.xz"};
    for (int i = 0; i < 5; i++) {
        char path[100];
        snprintf(path, sizeof path, ROOT "%s", names[i]);
        check_lines(path);
    }
    for (int i = 0; i < 4; i++) {
        struct stream *stream;
        struct source s;
        char path[100];
        snprintf(path, sizeof path, ROOT "%s", two[i]);
        assert_int_equal(stream_open(path, NULL, &stream, NULL), SKIFF_OK);
        assert_int_equal(source_open(&s, stream, 0, NULL), SKIFF_OK);
        expect_line(&s, "first", 5);
        expect_line(&s, "second", 6);
        expect_end(&s);
        source_close(&s);
    }
}

/* Every cut of a compressed file is an error (or, before the kind can be known, plain text); a
 * damaged one is an error or gives other bytes, but never a crash. */
static void test_compressed_damaged(void **state)
{
    static const char *const names[] = {"two.gz", "two.zst", "two.lz4", "two.xz"};
    for (int k = 0; k < 4; k++) {
        char path[100], bytes[512];
        snprintf(path, sizeof path, ROOT "%s", names[k]);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        int failures = 0;
        for (size_t cut = 0; cut < 2 * n; cut++) {
            struct stream *stream;
            struct source s;
            const char *line;
            size_t got, len = cut < n ? cut : n;
            enum skiff_status status;
            if (cut >= n)
                bytes[cut - n] ^= 0x55;
            assert_int_equal(stream_open_memory(bytes, len, "cut", &stream, NULL), SKIFF_OK);
            assert_int_equal(source_open(&s, stream, 0, NULL), SKIFF_OK);
            while ((status = source_line(&s, &line, &got, NULL)) == SKIFF_OK)
                ;
            failures += status < 0;
            source_close(&s);
            if (cut >= n)
                bytes[cut - n] ^= 0x55;
        }
        assert_true(failures > (int)n);
    }
    struct stream *stream;
    struct skiff_error err;
    char buf[100];
    size_t got;
    assert_int_equal(stream_open_memory("\x1f\x8b\x08zzzzzzzzzz", 13, "bad.gz", &stream, NULL),
                     SKIFF_OK);
    assert_int_equal(stream_read(stream, buf, 100, &got, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "bad.gz: not valid gzip data"));
    stream_close(stream);
}

static void test_open_errors(void **state)
{
    struct stream *stream;
    struct skiff_error err;
    int before = open_fds();
    assert_true(stream_open("/no/such/file", NULL, &stream, &err) < 0);
    assert_non_null(strstr(err.message, "/no/such/file: cannot open"));
    assert_int_equal(stream_open("/tmp", NULL, &stream, &err), SKIFF_IO);
    assert_non_null(strstr(err.message, "is a folder"));
    assert_int_equal(open_fds(), before);
}

struct fifo_writer {
    char path[300];
};

static void *fifo_write(void *arg)
{
    struct fifo_writer *w = arg;
    FILE *f = fopen(w->path, "w");
    fputs("through a fifo\n", f);
    fclose(f);
    return NULL;
}

static void test_fifo_and_stop(void **state)
{
    char dir[256];
    struct fifo_writer w;
    pthread_t thread;
    struct stream *stream;
    struct source s;
    atomic_bool stop = false;
    temp_create(dir);
    snprintf(w.path, sizeof w.path, "%s/fifo", dir);
    assert_int_equal(mkfifo(w.path, 0600), 0);
    pthread_create(&thread, NULL, fifo_write, &w);
    assert_int_equal(stream_open(w.path, &stop, &stream, NULL), SKIFF_OK);
    assert_int_equal(source_open(&s, stream, 0, NULL), SKIFF_OK);
    expect_line(&s, "through a fifo", 14);
    expect_end(&s);
    source_close(&s);
    pthread_join(thread, NULL);
    /* nobody writes: the stop flag ends it */
    struct skiff_error err;
    atomic_store(&stop, true);
    assert_int_equal(stream_open(w.path, &stop, &stream, &err), SKIFF_STATE);
    temp_remove(dir);
}

static void test_standard_input(void **state)
{
    char dir[256];
    struct stream *stream;
    struct source s;
    temp_create(dir);
    int keep = dup(STDIN_FILENO), fd = open(temp_text(dir, "in", "from stdin\n"), O_RDONLY);
    dup2(fd, STDIN_FILENO);
    assert_int_equal(stream_open("-", NULL, &stream, NULL), SKIFF_OK);
    assert_int_equal(source_open(&s, stream, 0, NULL), SKIFF_OK);
    assert_string_equal(s.name, "standard input");
    expect_line(&s, "from stdin", 10);
    expect_end(&s);
    source_close(&s);
    dup2(keep, STDIN_FILENO);
    close(keep);
    close(fd);
    temp_remove(dir);
}

static void test_file_list(void **state)
{
    char dir[256], name[512];
    struct file_list l;
    struct skiff_error err;
    temp_create(dir);
    temp_text(dir, "b.txt", "12345");
    temp_text(dir, "a.txt", "123");
    temp_text(dir, "_SUCCESS", "");
    temp_text(dir, ".hidden", "");
    temp_text(dir, ".a.txt.skiffcache", "");
    temp_text(dir, "a.txt~", "");
    temp_text(dir, "a.txt.bak", "");
    temp_text(dir, "#b.txt#", "");
    temp_text(dir, "b.txt.swp", "");
    temp_text(dir, "we*ird", "");
    snprintf(name, sizeof name, "%s/sub", dir);
    mkdir(name, 0700);
    temp_text(name, "c.txt", "1");
    snprintf(name, sizeof name, "%s/empty", dir);
    mkdir(name, 0700);

    file_list_init(&l);
    assert_int_equal(file_list_expand(&l, dir, &err), SKIFF_OK);
    assert_int_equal(l.count, 4);
    assert_string_equal(strrchr(l.paths[0], '/'), "/a.txt");
    assert_string_equal(strrchr(l.paths[1], '/'), "/b.txt");
    assert_string_equal(strrchr(l.paths[2], '/'), "/c.txt");
    assert_int_equal(l.bytes, 9);
    assert_int_equal(l.left_out, 5);
    char left[1024];
    snprintf(left, sizeof left, "%s/#b.txt#, %s/.hidden, %s/a.txt.bak", dir, dir, dir);
    assert_string_equal(l.left_out_names, left);
    snprintf(name, sizeof name, "%s/*.bak", dir); /* who asks for it gets it */
    assert_int_equal(file_list_expand(&l, name, &err), SKIFF_OK);
    assert_int_equal(l.count, 5);
    free(l.paths[--l.count]);
    assert_int_equal(file_list_expand(&l, "-", &err), SKIFF_OK);
    assert_string_equal(l.paths[4], "-");
    snprintf(name, sizeof name, "%s/[ab].txt", dir);
    assert_int_equal(file_list_expand(&l, name, &err), SKIFF_OK);
    assert_int_equal(l.count, 7);
    snprintf(name, sizeof name, "%s/s*", dir); /* a folder that matches is walked */
    assert_int_equal(file_list_expand(&l, name, &err), SKIFF_OK);
    assert_int_equal(l.count, 8);
    snprintf(name, sizeof name, "%s/we*ird", dir); /* a file of that very name */
    assert_int_equal(file_list_expand(&l, name, &err), SKIFF_OK);
    assert_string_equal(l.paths[8], name);

    snprintf(name, sizeof name, "%s/*.tsv", dir);
    assert_int_equal(file_list_expand(&l, name, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "no file matches"));
    snprintf(name, sizeof name, "%s/empty", dir);
    assert_int_equal(file_list_expand(&l, name, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "holds no data file"));
    assert_int_equal(file_list_expand(&l, "/no/such", &err), SKIFF_NOT_FOUND);
    snprintf(name, sizeof name, "%s/sub/loop", dir);
    assert_int_equal(symlink(dir, name), 0);
    assert_int_equal(file_list_expand(&l, dir, &err), SKIFF_IO);
    file_list_deinit(&l);
    temp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_ends),          cmocka_unit_test(test_quoted_line_ends),
        cmocka_unit_test(test_quote_beyond_limit), cmocka_unit_test(test_lines_over_blocks),
        cmocka_unit_test(test_huge_lines),         cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_compressed),         cmocka_unit_test(test_compressed_damaged),
        cmocka_unit_test(test_open_errors),        cmocka_unit_test(test_fifo_and_stop),
        cmocka_unit_test(test_standard_input),     cmocka_unit_test(test_file_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
