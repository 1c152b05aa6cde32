/* Data for skiff bench: one synthetic set, written both as Criteo rows and as MultiSlot text, so
 * that readers are measured on equal work. Reading is measured alone (bench_read_rate), without a
 * network, because in training the slower of the two hides the other.
 *
 * The files lie in a temporary folder that bench_data_close removes. One thread; the reader threads
 * belong to the dataset. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/bench.h"
#include "prepare/synth.h"
#include "store/file.h"

static enum skiff_status make_schema(struct schema *s, struct skiff_error *err)
{
    const struct shape one = SHAPE(-1, 1), thirteen = SHAPE(-1, 13);
    TRY(schema_add(s, "dense_input", DTYPE_FP32, 0, &thirteen, err));
    for (int i = 1; i <= 26; i++) {
        char name[8];
        snprintf(name, sizeof(name), "C%d", i);
        TRY(schema_add(s, name, DTYPE_INT64, 1, &one, err));
    }
    return schema_add(s, "label", DTYPE_INT64, 0, &one, err);
}

static void add_row(struct buf *out, const struct batch *b, int64_t row)
{
    const struct schema *s = b->schema;
    for (int i = 0; i < s->count; i++) {
        const struct tensor *t = batch_tensor(b, i);
        int64_t n = s->slots[i].width;
        buf_printf(out, "%s%" PRId64, i ? " " : "", n);
        for (int64_t k = 0; k < n; k++)
            if (s->slots[i].dtype == DTYPE_FP32)
                buf_printf(out, " %g", (double)tensor_f32(t)[row * n + k]);
            else
                buf_printf(out, " %" PRId64, tensor_i64(t)[row * n + k]);
    }
    buf_char(out, '\n');
}

/* The same samples as MultiSlot text, what a pipe command would have made of them. */
static enum skiff_status write_multislot(const struct bench_data *d, struct skiff_error *err)
{
    struct dataset *data = NULL;
    struct buf text = BUF_INIT, path = BUF_INIT;
    const struct batch *b;
    struct file_writer w;
    int threads;
    bool open = false;
    enum skiff_status status;
    TRY(bench_dataset(d, "criteo", 1, 1000, -1, &data, err));
    TRY_OUT(dataset_start(data, &threads, err));
    buf_printf(&path, "%s/multislot/part-000", d->dir);
    TRY_OUT(file_writer_open(&w, path.data, err));
    open = true;
    while ((status = dataset_next(data, 0, &b, err)) == SKIFF_OK) {
        buf_reset(&text);
        for (int64_t i = 0; i < b->rows; i++)
            add_row(&text, b, i);
        TRY_OUT(file_writer_add(&w, text.data, text.len, err));
    }
    if (status == SKIFF_END) {
        open = false;
        status = file_writer_commit(&w, err);
    }
out:
    if (open)
        file_writer_close(&w);
    dataset_destroy(data);
    buf_deinit(&text);
    buf_deinit(&path);
    return status;
}

enum skiff_status bench_data_open(struct bench_data *d, int64_t rows, int files,
                                  struct skiff_error *err)
{
    const char *tmp = getenv("TMPDIR");
    struct synth_report report;
    char dir[300];
    *d = (struct bench_data){.rows = rows};
    snprintf(d->dir, sizeof(d->dir), "%.200s/skiff-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(d->dir)) {
        enum skiff_status status = error_set_sys(err, "%s: cannot be made", d->dir);
        d->dir[0] = 0;
        return status;
    }
    schema_init(&d->schema);
    snprintf(dir, sizeof(dir), "%s/criteo", d->dir);
    const struct synth_config config = {.seed = 1, .rows = rows, .files = files, .dir = dir};
    enum skiff_status status = make_schema(&d->schema, err);
    if (status == SKIFF_OK)
        status = synth_write(&config, &report, err);
    if (status == SKIFF_OK) {
        snprintf(dir, sizeof(dir), "%s/multislot/x", d->dir);
        status = file_make_parents(dir, err);
    }
    if (status == SKIFF_OK)
        status = write_multislot(d, err);
    if (status < 0)
        bench_data_close(d);
    return status;
}

void bench_data_close(struct bench_data *d)
{
    if (d->dir[0])
        file_remove_tree(d->dir);
    schema_deinit(&d->schema);
    d->dir[0] = 0;
}

enum skiff_status bench_dataset(const struct bench_data *d, const char *format, int threads,
                                int64_t batch, int prefetch, struct dataset **out,
                                struct skiff_error *err)
{
    struct dataset_config c;
    char dir[300];
    const char *names[1] = {dir};
    dataset_config_init(&c);
    c.schema = &d->schema;
    c.threads = threads;
    c.batch_size = batch;
    c.prefetch = prefetch;
    snprintf(dir, sizeof(dir), "%s/%s", d->dir, format);
    enum skiff_status status = reader_config_set(&c.reader, "format", format, err);
    if (status == SKIFF_OK)
        status = dataset_create(&c, out, err);
    reader_config_deinit(&c.reader);
    if (status < 0)
        return status;
    status = dataset_set_files(*out, names, 1, err);
    if (status < 0)
        dataset_destroy(*out);
    return status;
}

enum skiff_status bench_read_rate(const struct bench_data *d, const char *format, double *out,
                                  struct skiff_error *err)
{
    struct dataset *data;
    const struct batch *b;
    int threads;
    int64_t rows = 0;
    TRY(bench_dataset(d, format, 1, 1000, -1, &data, err));
    double start = clock_seconds();
    enum skiff_status status = dataset_start(data, &threads, err);
    while (status == SKIFF_OK && (status = dataset_next(data, 0, &b, err)) == SKIFF_OK)
        rows += b->rows;
    *out = (double)rows / (clock_seconds() - start);
    dataset_destroy(data);
    return status < 0 ? status : SKIFF_OK;
}
