/* readers [ROWS]: rows a second of every reader, one core, from the page cache.
 *
 * Makes Criteo-shaped rows (synth) in a temporary folder, writes the same samples in each text
 * form, and reads each file three times into batches of 1000; the best time counts (processor time,
 * so that a busy machine does not matter much). Hashes go to the documents' 1,000,001 ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "data/binary.h"
#include "data/scan.h"
#include "prepare/synth.h"

#define BATCH 1000
#define ROUNDS 3

static void or_die(enum skiff_status status, const struct skiff_error *err)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static void put_float(struct buf *out, float f)
{
    buf_printf(out, "%.9g", f);
}

/* One row in the given form; dense values as the documents' reader prints them. */
static void put_row(const char *form, const struct batch *b, int64_t row, struct buf *out)
{
    const float *dense = b->columns[0].f32 + row * 13;
    long long label = (long long)b->columns[27].i64[row];
    if (strcmp(form, "multislot") == 0) {
        buf_str(out, "13");
        for (int i = 0; i < 13; i++)
            buf_printf(out, " %.17g", (double)dense[i]);
        for (int i = 1; i < 27; i++)
            buf_printf(out, " 1 %lld", (long long)b->columns[i].i64[row]);
        buf_printf(out, " 1 %lld\n", label);
    } else if (strcmp(form, "slot_text") == 0) {
        buf_printf(out, "click:%lld", label);
        for (int i = 0; i < 13; i++) {
            buf_str(out, " dense_feature:");
            put_float(out, dense[i]);
        }
        for (int i = 1; i < 27; i++)
            buf_printf(out, " %d:%lld", i, (long long)b->columns[i].i64[row]);
        buf_char(out, '\n');
    } else if (strcmp(form, "sign_slot") == 0) {
        buf_printf(out, "%lld:1", label);
        for (int i = 1; i < 27; i++)
            buf_printf(out, " %llu:%d",
                       (unsigned long long)b->columns[i].i64[row] * 0x9E3779B97F4A7C15ull, i + 1);
        buf_char(out, '\n');
    } else if (strcmp(form, "libsvm") == 0 || strcmp(form, "libffm") == 0) {
        buf_printf(out, "%lld", label);
        for (int i = 1; i < 27; i++)
            buf_printf(out, form[3] == 's' ? " %.0d%lld:1" : " %d:%lld:1",
                       form[3] == 's' ? 0 : i - 1, (long long)b->columns[i].i64[row]);
        buf_char(out, '\n');
    } else {
        buf_printf(out, "%lld", label);
        for (int i = 0; i < 13; i++) {
            buf_char(out, ',');
            put_float(out, dense[i]);
        }
        for (int i = 1; i < 27; i++)
            buf_printf(out, ",%lld", (long long)b->columns[i].i64[row]);
        buf_char(out, '\n');
    }
}

static void add_slot(struct schema *s, const char *name, enum dtype dtype, int lod, int width)
{
    struct skiff_error err;
    struct shape shape = SHAPE(-1, width);
    or_die(schema_add(s, name, dtype, lod, &shape, &err), &err);
}

static void make_schema(const char *form, struct schema *s)
{
    char name[8];
    bool svm = strcmp(form, "libsvm") == 0, sign = strcmp(form, "sign_slot") == 0;
    schema_init(s);
    if (!svm && !sign && strcmp(form, "libffm") != 0)
        add_slot(s, "dense_input", DTYPE_FP32, 0, 13);
    if (svm) {
        add_slot(s, "ids", DTYPE_INT64, 1, 1);
        add_slot(s, "values", DTYPE_FP32, 1, 1);
    }
    for (int i = 1; !svm && i < 27; i++) {
        snprintf(name, sizeof name, sign ? "%d" : "C%d", sign ? i + 1 : i);
        add_slot(s, name, DTYPE_INT64, 1, 1);
    }
    add_slot(s, sign ? "1" : "label", DTYPE_INT64, 0, 1);
}

static void plan_make(struct scan_plan *plan, struct reader_config *config, struct schema *schema,
                      const char *form)
{
    struct skiff_error err;
    reader_config_init(config);
    or_die(reader_config_set(config, "format", form, &err), &err);
    if (strcmp(form, "csv") == 0) {
        or_die(reader_config_set(config, "header", "false", &err), &err);
        or_die(
            reader_config_set(config, "columns",
                              "label,dense_input*13,C1,C2,C3,C4,C5,C6,C7,C8,C9,C10,C11,C12,C13,C14,"
                              "C15,C16,C17,C18,C19,C20,C21,C22,C23,C24,C25,C26",
                              &err),
            &err);
    }
    make_schema(form, schema);
    *plan = (struct scan_plan){.schema = schema, .reader = config};
}

/* Reads the file once; the rows. */
static int64_t read_once(const struct scan_plan *plan, const char *path)
{
    struct skiff_error err;
    struct file_list files;
    struct scan scan;
    struct batch b;
    int64_t rows = 0;
    enum skiff_status status;
    file_list_init(&files);
    file_list_add(&files, path);
    struct file_cursor cursor = {.files = &files};
    or_die(scan_open(&scan, plan, &err), &err);
    or_die(batch_init(&b, plan->schema, BATCH, &err), &err);
    for (;;) {
        or_die(batch_reset(&b, &err), &err);
        status = scan_fill(&scan, &cursor, &b, BATCH, &err);
        or_die(status, &err);
        if (status == SKIFF_END)
            break;
        batch_finish(&b);
        rows += b.rows;
    }
    batch_deinit(&b);
    scan_close(&scan);
    file_list_deinit(&files);
    return rows;
}

static void measure(const char *form, const char *path)
{
    struct schema schema;
    struct reader_config config;
    struct scan_plan plan;
    struct stat st;
    double best = 1e9;
    int64_t rows = 0;
    plan_make(&plan, &config, &schema, form);
    for (int i = 0; i < ROUNDS; i++) {
        double start = clock_cpu_thread();
        rows = read_once(&plan, path);
        double t = clock_cpu_thread() - start;
        best = t < best ? t : best;
    }
    stat(path, &st);
    printf("%-10s %10.0f rows/s %8.1f MB/s %6.0f bytes a row\n", form, (double)rows / best,
           (double)st.st_size / best / 1e6, (double)st.st_size / (double)rows);
    reader_config_deinit(&config);
    schema_deinit(&schema);
}

/* The samples of the Criteo file in another form, or in the binary one. */
static void convert(const char *from, const char *form, const char *to)
{
    struct skiff_error err;
    struct schema schema;
    struct reader_config config;
    struct scan_plan plan;
    struct file_list files;
    struct scan scan;
    struct batch b;
    struct buf text = BUF_INIT;
    struct binary_writer w;
    bool binary = strcmp(form, "binary") == 0;
    FILE *f = binary ? NULL : fopen(to, "w");
    plan_make(&plan, &config, &schema, "criteo");
    file_list_init(&files);
    file_list_add(&files, from);
    struct file_cursor cursor = {.files = &files};
    or_die(scan_open(&scan, &plan, &err), &err);
    or_die(batch_init(&b, &schema, BATCH, &err), &err);
    if (binary)
        or_die(binary_writer_open(&w, to, &schema, 0, &err), &err);
    for (;;) {
        or_die(batch_reset(&b, &err), &err);
        enum skiff_status status = scan_fill(&scan, &cursor, &b, BATCH, &err);
        or_die(status, &err);
        if (status == SKIFF_END)
            break;
        if (binary)
            or_die(binary_writer_add(&w, &b, 0, b.rows, &err), &err);
        buf_reset(&text);
        for (int64_t row = 0; !binary && row < b.rows; row++)
            put_row(form, &b, row, &text);
        if (f && fwrite(text.data, 1, text.len, f) != text.len)
            exit(1);
    }
    if (binary)
        or_die(binary_writer_commit(&w, &err), &err);
    if (f && fclose(f) != 0)
        exit(1);
    buf_deinit(&text);
    batch_deinit(&b);
    scan_close(&scan);
    file_list_deinit(&files);
    reader_config_deinit(&config);
    schema_deinit(&schema);
}

int main(int argc, char **argv)
{
    static const char *const forms[] = {"multislot", "slot_text", "sign_slot", "libsvm",
                                        "libffm",    "csv",       "binary"};
    const char *temp = getenv("TMPDIR");
    char dir[256], criteo[300], path[300];
    struct skiff_error err;
    struct synth_report report;
    snprintf(dir, sizeof dir, "%s/skiff-bench-XXXXXX", temp ? temp : "/tmp");
    if (!mkdtemp(dir))
        return 1;
    struct synth_config config = {
        .seed = 1, .rows = argc > 1 ? atoll(argv[1]) : 200000, .dir = dir};
    or_die(synth_write(&config, &report, &err), &err);
    snprintf(criteo, sizeof criteo, "%s/part-000", dir);
    measure("criteo", criteo);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, forms[i]);
        convert(criteo, forms[i], path);
        measure(forms[i], path);
        unlink(path);
    }
    unlink(criteo);
    rmdir(dir);
    return 0;
}
