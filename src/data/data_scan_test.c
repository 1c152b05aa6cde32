/* Scans: files and pipes through readers, bad lines, Skiff's own files, the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/buf.h"
#include "data/check.h"
#include "data/test_help.h"

static char dir[256];

struct fixture {
    struct schema schema;
    struct reader_config config;
    struct bad_lines bad;
    struct scan_plan plan;
    struct file_list files;
    struct skiff_error err;
};

static void fixture_open(struct fixture *r, const char *schema, const char *format,
                         int64_t bad_limit)
{
    memset(r, 0, sizeof *r);
    schema_create(&r->schema, schema);
    reader_config_init(&r->config);
    assert_int_equal(reader_config_set(&r->config, "format", format, NULL), SKIFF_OK);
    bad_lines_init(&r->bad, bad_limit);
    file_list_init(&r->files);
    r->plan = (struct scan_plan){.schema = &r->schema, .reader = &r->config, .bad = &r->bad};
}

static void fixture_close(struct fixture *r)
{
    schema_deinit(&r->schema);
    reader_config_deinit(&r->config);
    bad_lines_deinit(&r->bad);
    file_list_deinit(&r->files);
}

/* Everything in the files, in batches of `rows`, as text; *out_batches counts them. */
static enum skiff_status fixture_read(struct fixture *r, int64_t rows, struct buf *out,
                                      int *out_batches)
{
    struct scan scan;
    struct batch b;
    struct file_cursor cursor = {.files = &r->files};
    enum skiff_status status;
    buf_reset(out);
    buf_str(out, "");
    assert_int_equal(scan_open(&scan, &r->plan, &r->err), SKIFF_OK);
    assert_int_equal(batch_init(&b, &r->schema, rows, NULL), SKIFF_OK);
    for (*out_batches = 0;; ++*out_batches) {
        assert_int_equal(batch_reset(&b, NULL), SKIFF_OK);
        status = scan_fill(&scan, &cursor, &b, rows, &r->err);
        if (status != SKIFF_OK)
            break;
        batch_text(&b, out);
    }
    if (scan.cache_error.code)
        r->err = scan.cache_error;
    batch_deinit(&b);
    scan_close(&scan);
    return status;
}

static void test_across_files(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    int batches;
    fixture_open(&r, "ids:i label:i1", "multislot", 0);
    file_list_add(&r.files, temp_text(dir, "a", "1 1 1 0\n1 2 1 1\n1 3 1 0"));
    file_list_add(&r.files, temp_text(dir, "b", ""));
    file_list_add(&r.files, temp_text(dir, "c", "2 4 5 1 1\r\n"));
    assert_int_equal(fixture_read(&r, 2, &got, &batches), SKIFF_END);
    assert_string_equal(got.data, "1 0\n2 1\n3 0\n4,5 1\n");
    assert_int_equal(batches, 2);
    r.plan.pipe_command = "sed s/^1/2\\ 7/";
    assert_int_equal(fixture_read(&r, 3, &got, &batches), SKIFF_END);
    assert_string_equal(got.data, "7,1 0\n7,2 1\n7,3 0\n4,5 1\n");
    r.plan.pipe_command = "cat; exit 9";
    assert_int_equal(fixture_read(&r, 2, &got, &batches), SKIFF_IO);
    assert_non_null(strstr(r.err.message, "exit status 9"));
    buf_deinit(&got);
    fixture_close(&r);
}

struct seen {
    struct buf text;
};

static void on_bad(void *arg, const char *file, int64_t line, const struct skiff_error *why)
{
    struct seen *s = arg;
    const char *slash = strrchr(file, '/');
    buf_printf(&s->text, "%s %lld %s\n", slash + 1, (long long)line,
               strstr(why->message, "slot") ? strstr(why->message, "slot") : why->message);
}

static void test_bad_lines(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    struct seen seen = {BUF_INIT};
    char text[3000] = "1 1 1 0\nx\n1 2 1 1\n";
    int batches;
    memset(text + strlen(text), '1', 2000);
    strcpy(text + 2018, "\n1 3 1 0\n1 4");
    fixture_open(&r, "ids:i label:i1", "multislot", 0);
    const char *path = temp_text(dir, "bad", text);
    file_list_add(&r.files, path);
    r.plan.max_line = 1000;
    assert_int_equal(fixture_read(&r, 8, &got, &batches), SKIFF_FORMAT);
    assert_non_null(strstr(r.err.message, path));
    assert_non_null(strstr(r.err.message,
                           "bad:2: slot \"ids\" (1 of 2): expected the number of its "
                           "values (1 or more), found \"x\""));
    /* two may be skipped, the third is one too many */
    bad_lines_init(&r.bad, 2);
    assert_int_equal(fixture_read(&r, 8, &got, &batches), SKIFF_FORMAT);
    assert_non_null(strstr(r.err.message, "more than 2 bad lines; the last one: "));
    assert_non_null(strstr(r.err.message, "bad:6"));
    bad_lines_init(&r.bad, -1);
    r.bad.on_bad = on_bad;
    r.bad.arg = &seen;
    assert_int_equal(fixture_read(&r, 8, &got, &batches), SKIFF_END);
    assert_string_equal(got.data, "1 0\n2 1\n3 0\n");
    assert_int_equal(atomic_load(&r.bad.count), 3);
    assert_non_null(strstr(seen.text.data, "bad 2 slot \"ids\" (1 of 2)"));
    assert_non_null(strstr(seen.text.data, "the line is longer than 1000 bytes"));
    assert_non_null(strstr(seen.text.data, "bad 6 slot \"label\" (2 of 2)"));
    buf_deinit(&seen.text);
    buf_deinit(&got);
    fixture_close(&r);
}

/* A compressed file that breaks off is a failure of the file, not a bad line to skip. */
static void test_broken_stream_is_no_bad_line(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    int batches;
    char bytes[20000];
    FILE *f = fopen("tests/data/streams/lines.gz", "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    fixture_open(&r, "ids:i label:i1", "multislot", -1);
    file_list_add(&r.files, temp_file(dir, "cut.gz", bytes, n / 2));
    assert_int_equal(fixture_read(&r, 8, &got, &batches), SKIFF_FORMAT);
    assert_non_null(strstr(r.err.message, "the gzip data ends too early"));
    buf_deinit(&got);
    fixture_close(&r);
}

/* ---- files made to hurt ---- */

static const char *make_by(const char *name, const char *command)
{
    static char path[512];
    char line[1024];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    snprintf(line, sizeof line, "%s > %s 2>/dev/null", command, path);
    assert_int_equal(system(line), 0);
    return path;
}

/* Content of 100 MB from a few thousand bytes: refused soon after its first 64 MB. */
static void test_bombs(void **state)
{
    static const char *const packers[] = {"gzip", "zstd -q"};
    for (int i = 0; i < 2; i++) {
        struct fixture r;
        struct buf got = BUF_INIT;
        char command[128];
        int batches;
        snprintf(command, sizeof command, "yes '' | head -c 100000000 | %s", packers[i]);
        fixture_open(&r, "ids:i label:i1", "multislot", -1);
        r.plan.idle_lines = -1;
        const char *path = make_by("bomb", command);
        file_list_add(&r.files, path);
        assert_int_equal(fixture_read(&r, 8, &got, &batches), SKIFF_IO);
        assert_non_null(strstr(r.err.message, path));
        assert_non_null(strstr(r.err.message, "over 200 times as much is refused"));
        assert_in_range(atomic_load(&r.bad.count), 60000000, 70000000);
        bad_lines_init(&r.bad, -1);
        r.plan.unpack_ratio = -1;
        assert_int_equal(fixture_read(&r, 8, &got, &batches), SKIFF_END);
        assert_int_equal(atomic_load(&r.bad.count), 100000000);
        buf_deinit(&got);
        fixture_close(&r);
    }
}

static void on_idle(void *arg, const char *file, int64_t lines)
{
    assert_non_null(strstr(file, "/lines"));
    *(int64_t *)arg = lines;
}

/* Lines without a sample: counted, reported, and at the beginning of a file not without end. */
static void test_empty_lines(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    int batches;
    fixture_open(&r, "ids:i label:i1", "multislot", -1);
    const char *path =
        make_by("lines", "(yes '' | head -n 3000000; echo 1 5 1 0; echo; echo; echo 1 6 1 1)");
    file_list_add(&r.files, path);
    assert_int_equal(fixture_read(&r, 8, &got, &batches), SKIFF_END);
    assert_string_equal(got.data, "5 0\n6 1\n");
    assert_int_equal(atomic_load(&r.bad.count), 3000002);
    r.plan.idle_lines = 2500000;
    assert_int_equal(fixture_read(&r, 8, &got, &batches), SKIFF_FORMAT);
    assert_non_null(strstr(r.err.message, path));
    assert_non_null(strstr(r.err.message, "no sample in its first "));
    /* a budget is kept to the line */
    bad_lines_init(&r.bad, 3000001);
    r.plan.idle_lines = -1;
    assert_int_equal(fixture_read(&r, 8, &got, &batches), SKIFF_FORMAT);
    assert_non_null(strstr(r.err.message, "lines:3000003: "));
    assert_non_null(strstr(r.err.message, "more than 3000001 bad lines"));
    buf_deinit(&got);
    fixture_close(&r);
}

static void test_idle_is_reported(void **state)
{
    struct fixture r;
    struct scan scan;
    struct batch b;
    int64_t reported = 0;
    fixture_open(&r, "ids:i label:i1", "multislot", -1);
    r.bad.on_idle = on_idle;
    r.bad.idle_arg = &reported;
    file_list_add(&r.files, make_by("lines", "(echo 1 5 1 0; yes x | head -n 20)"));
    assert_int_equal(scan_open(&scan, &r.plan, &r.err), SKIFF_OK);
    assert_int_equal(batch_init(&b, &r.schema, 8, NULL), SKIFF_OK);
    assert_int_equal(batch_reset(&b, NULL), SKIFF_OK);
    assert_int_equal(scan_open_file(&scan, &r.files, 0, &r.err), SKIFF_OK);
    assert_int_equal(scan_rows(&scan, &b, 1, &r.err), SKIFF_OK);
    scan.reported = 1; /* long ago */
    assert_int_equal(scan_rows(&scan, &b, 8, &r.err), SKIFF_END);
    assert_int_equal(reported, 1); /* and no second time: 5 seconds have not gone by */
    batch_deinit(&b);
    scan_close(&scan);
    fixture_close(&r);
}

/* ---- binary ---- */

static const char *make_binary(const char *name, int rows)
{
    struct schema schema;
    struct batch b;
    struct binary_writer w;
    char path[512];
    schema_create(&schema, "ids:i dense:f2 label:i1");
    batch_init(&b, &schema, 16, NULL);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(binary_writer_open(&w, path, &schema, 77, NULL), SKIFF_OK);
    for (int i = 0; i < rows; i++) {
        batch_reset(&b, NULL);
        for (int k = 0; k <= i % 5; k++)
            column_add_i64(&b.columns[0], i * 1000 + k);
        batch_dense_f32(&b, 1)[0] = (float)i;
        batch_dense_f32(&b, 1)[1] = 0.5f;
        *batch_dense_i64(&b, 2) = i & 1;
        batch_row_end(&b, NULL);
        assert_int_equal(binary_writer_add(&w, &b, 0, 1, NULL), SKIFF_OK);
    }
    assert_int_equal(binary_writer_commit(&w, NULL), SKIFF_OK);
    batch_deinit(&b);
    schema_deinit(&schema);
    static char keep[512];
    strcpy(keep, path);
    return keep;
}

static void test_binary(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT, want = BUF_INIT;
    int batches;
    uint64_t key;
    fixture_open(&r, "ids:i dense:f2 label:i1", "binary", 0);
    const char *path = make_binary("rows.bin", 20000); /* several blocks */
    assert_true(binary_key(path, &key));
    assert_int_equal(key, 77);
    file_list_add(&r.files, path);
    assert_int_equal(fixture_read(&r, 1000, &got, &batches), SKIFF_END);
    assert_int_equal(batches, 20);
    for (int i = 0; i < 20000; i++) {
        for (int k = 0; k <= i % 5; k++)
            buf_printf(&want, "%s%d", k ? "," : "", i * 1000 + k);
        buf_printf(&want, " %d,0.5 %d\n", i, i & 1);
    }
    assert_string_equal(got.data, want.data);
    fixture_close(&r);
    /* other slots, other order */
    fixture_open(&r, "ids:i dense:f3 label:i1", "binary", 0);
    file_list_add(&r.files, path);
    assert_int_equal(fixture_read(&r, 10, &got, &batches), SKIFF_FORMAT);
    assert_non_null(strstr(r.err.message, "rows.bin: the file holds other slots"));
    fixture_close(&r);
    buf_deinit(&got);
    buf_deinit(&want);
}

/* Every cut and every flipped byte of a binary file is noticed. */
static void test_binary_damaged(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    char bytes[4096];
    int batches;
    FILE *f = fopen(make_binary("small.bin", 5), "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    fixture_open(&r, "ids:i dense:f2 label:i1", "binary", -1);
    file_list_add(&r.files, temp_file(dir, "damaged.bin", bytes, n));
    for (size_t cut = 0; cut < n; cut++) {
        temp_file(dir, "damaged.bin", bytes, cut);
        if (fixture_read(&r, 3, &got, &batches) != SKIFF_FORMAT)
            fail_msg("%zu of %zu bytes: accepted", cut, n);
    }
    for (size_t at = 0; at < n; at++) {
        bytes[at] ^= 0x20;
        temp_file(dir, "damaged.bin", bytes, n);
        if (fixture_read(&r, 3, &got, &batches) != SKIFF_FORMAT)
            fail_msg("byte %zu of %zu changed: accepted", at, n);
        bytes[at] ^= 0x20;
    }
    bytes[n] = 'x';
    temp_file(dir, "damaged.bin", bytes, n + 1);
    assert_int_equal(fixture_read(&r, 3, &got, &batches), SKIFF_FORMAT);
    assert_non_null(strstr(r.err.message, "bytes behind the end block"));
    temp_file(dir, "damaged.bin", "", 0);
    assert_int_equal(fixture_read(&r, 3, &got, &batches), SKIFF_FORMAT);
    assert_non_null(strstr(r.err.message, "the file ends before its header"));
    buf_deinit(&got);
    fixture_close(&r);
}

/* ---- cache ---- */

static bool exists(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void test_cache(void **state)
{
    struct fixture r;
    struct buf first = BUF_INIT, second = BUF_INIT;
    int batches;
    fixture_open(&r, "ids:i label:i1", "multislot", 0);
    char count[400];
    snprintf(count, sizeof count, "echo run >> '%s/runs'; cat", dir);
    r.plan.cache = true;
    r.plan.pipe_command = count;
    char path[512];
    strcpy(path, temp_text(dir, "t.txt", "1 1 1 0\n2 2 3 1 1\n1 3 1 0\n"));
    file_list_add(&r.files, path);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(fixture_read(&r, 2, round ? &second : &first, &batches), SKIFF_END);
        if (round)
            assert_string_equal(first.data, second.data);
    }
    assert_true(exists(".t.txt.skiffcache"));
    struct stat st;
    char runs[512];
    snprintf(runs, sizeof runs, "%s/runs", dir);
    assert_int_equal(stat(runs, &st), 0);
    assert_int_equal(st.st_size, 4); /* the command ran once */
    /* hidden: not found as data */
    struct file_list l;
    file_list_init(&l);
    assert_int_equal(file_list_expand(&l, dir, NULL), SKIFF_OK);
    for (int i = 0; i < l.count; i++)
        assert_null(strstr(l.paths[i], "skiffcache"));
    file_list_deinit(&l);
    /* another pipe command, another file content: read anew */
    r.plan.pipe_command = "sed 's/0$/1/'";
    assert_int_equal(fixture_read(&r, 2, &second, &batches), SKIFF_END);
    assert_string_equal(second.data, "1 1\n2,3 1\n3 1\n");
    temp_text(dir, "t.txt", "1 9 1 0\n");
    assert_int_equal(fixture_read(&r, 2, &second, &batches), SKIFF_END);
    assert_string_equal(second.data, "9 1\n");
    /* a failed read leaves no cache behind */
    temp_text(dir, "t.txt", "1 9 1 0\nbad\n");
    assert_int_equal(fixture_read(&r, 2, &second, &batches), SKIFF_FORMAT);
    assert_int_equal(fixture_read(&r, 2, &second, &batches), SKIFF_FORMAT);
    assert_false(exists(".t.txt.skiffcache.tmp"));
    buf_deinit(&first);
    buf_deinit(&second);
    fixture_close(&r);
}

static void test_cache_elsewhere(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    int batches;
    fixture_open(&r, "ids:i label:i1", "multislot", 0);
    r.plan.cache = true;
    r.plan.cache_dir = "/no/such/folder";
    file_list_add(&r.files, temp_text(dir, "u.txt", "1 1 1 0\n"));
    assert_int_equal(fixture_read(&r, 2, &got, &batches), SKIFF_END); /* no failure, but reported */
    assert_string_equal(got.data, "1 0\n");
    assert_non_null(strstr(r.err.message, "/no/such/folder/u.txt"));
    assert_non_null(strstr(r.err.message, "cannot write"));
    r.plan.cache_dir = dir;
    assert_int_equal(fixture_read(&r, 2, &got, &batches), SKIFF_END);
    assert_int_equal(fixture_read(&r, 2, &got, &batches), SKIFF_END);
    assert_string_equal(got.data, "1 0\n");
    buf_deinit(&got);
    fixture_close(&r);
}

static void test_stop(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    int batches;
    atomic_bool stop = true;
    fixture_open(&r, "ids:i label:i1", "multislot", 0);
    file_list_add(&r.files, temp_text(dir, "s", "1 1 1 0\n"));
    r.plan.stop = &stop;
    assert_int_equal(fixture_read(&r, 2, &got, &batches), SKIFF_STATE);
    buf_deinit(&got);
    fixture_close(&r);
}

/* ---- check ---- */

static void test_check(void **state)
{
    struct fixture r;
    struct check_report report;
    fixture_open(&r, "ids:i d:f2 label:i1", "multislot", -1);
    file_list_add(&r.files, temp_text(dir, "k1", "2 5 -6 2 1 nan 1 1\nbad\n1 0 2 -3 0.5 1 0\n"));
    file_list_add(&r.files, temp_text(dir, "k2", "3 7 7 8 2 0 0 1 1\n"));
    assert_int_equal(check_run(&r.plan, &r.files, &report, &r.err), SKIFF_OK);
    assert_int_equal(report.files, 2);
    assert_int_equal(report.rows, 3);
    assert_int_equal(report.bad, 1);
    assert_int_equal(report.label, 2);
    assert_true(report.label_mean > 0.666 && report.label_mean < 0.667);
    const struct slot_report *ids = &report.slots[0], *d = &report.slots[1];
    assert_int_equal(ids->values, 6);
    assert_int_equal(ids->zeros, 1);
    assert_int_equal(ids->longest, 3);
    assert_int_equal(ids->least, -6);
    assert_int_equal(ids->most, 8);
    assert_true(ids->distinct > 4.9 && ids->distinct < 5.1);
    assert_int_equal(d->values, 6);
    assert_int_equal(d->odd, 1);
    assert_int_equal(d->zeros, 2);
    assert_true(d->min == -3 && d->max == 1);
    assert_true(d->mean > -0.301 && d->mean < -0.299);
    check_report_deinit(&report);
    fixture_close(&r);
    fixture_open(&r, "ids:i label:i1", "multislot", 0);
    file_list_add(&r.files, temp_text(dir, "k3", "1 1 1 0\noops\n"));
    assert_int_equal(check_run(&r.plan, &r.files, &report, &r.err), SKIFF_FORMAT);
    fixture_close(&r);
}

static void test_check_counts_distinct(void **state)
{
    struct fixture r;
    struct check_report report;
    struct buf text = BUF_INIT;
    fixture_open(&r, "ids:i", "multislot", 0);
    for (int i = 0; i < 100000; i++)
        buf_printf(&text, "1 %d\n", i % 50000);
    file_list_add(&r.files, temp_text(dir, "k4", text.data));
    assert_int_equal(check_run(&r.plan, &r.files, &report, &r.err), SKIFF_OK);
    assert_true(report.slots[0].distinct > 47500 && report.slots[0].distinct < 52500);
    check_report_deinit(&report);
    buf_deinit(&text);
    fixture_close(&r);
}

static int setup(void **state)
{
    temp_create(dir);
    return 0;
}

static int teardown(void **state)
{
    temp_remove(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_across_files),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_broken_stream_is_no_bad_line),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_empty_lines),
        cmocka_unit_test(test_idle_is_reported),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_binary_damaged),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_cache_elsewhere),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_check_counts_distinct),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
