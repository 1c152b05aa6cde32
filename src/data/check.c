/* Statistics of files, slot by slot, in one pass and bounded memory. Distinct values are estimated:
 * an exact count would need memory for every value of columns with millions of them. */
#include "data/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/distinct.h"

#define ROWS 1024

static void add_floats(struct slot_report *r, const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = v[i];
        if (!isfinite(x)) {
            r->odd++;
            continue;
        }
        if (r->values == 0 || x < r->min)
            r->min = x;
        if (r->values == 0 || x > r->max)
            r->max = x;
        r->mean += x; /* the sum, until the end */
        r->zeros += x == 0;
        r->values++;
    }
}

static void add_ids(struct slot_report *r, struct distinct *d, const int64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (r->values == 0 || v[i] < r->least)
            r->least = v[i];
        if (r->values == 0 || v[i] > r->most)
            r->most = v[i];
        r->zeros += v[i] == 0;
        r->values++;
        distinct_add(d, v[i]);
    }
}

static void add_batch(struct check_report *r, struct distinct *distinct, const struct batch *b)
{
    for (int i = 0; i < b->schema->count; i++) {
        const struct column *c = &b->columns[i];
        struct slot_report *s = &r->slots[i];
        size_t n = c->ragged ? c->count : (size_t)b->rows * c->width;
        if (c->dtype == DTYPE_FP32)
            add_floats(s, c->f32, n);
        else
            add_ids(s, &distinct[i], c->i64, n);
        for (int64_t row = 0; c->ragged && row < b->rows; row++)
            if (c->offsets[row + 1] - c->offsets[row] > s->longest)
                s->longest = c->offsets[row + 1] - c->offsets[row];
        if (!c->ragged)
            s->longest = (int64_t)c->width;
        for (int64_t row = 0; i == r->label && row < b->rows; row++)
            r->label_mean += c->dtype == DTYPE_FP32 ? (double)c->f32[row] : (double)c->i64[row];
    }
    r->rows += b->rows;
}

static void finish(struct check_report *r, const struct distinct *distinct,
                   const struct schema *schema)
{
    for (int i = 0; i < schema->count; i++) {
        struct slot_report *s = &r->slots[i];
        if (schema->slots[i].dtype == DTYPE_INT64)
            s->distinct = s->values ? distinct_count(&distinct[i]) : 0;
        else if (s->values)
            s->mean /= (double)s->values;
        s->values += s->odd;
    }
    if (r->rows)
        r->label_mean /= (double)r->rows;
}

enum skiff_status check_run(const struct scan_plan *plan, const struct file_list *files,
                            struct check_report *out, struct skiff_error *err)
{
    struct check_report r = {.label = schema_label(plan->schema)};
    struct distinct *distinct =
        mem_alloc_or_die((size_t)plan->schema->count * sizeof *distinct + 1);
    struct batch b = {0};
    struct scan scan;
    enum skiff_status status;
    if (r.label >= 0 && plan->schema->slots[r.label].ragged)
        r.label = -1;
    r.slots = mem_alloc_or_die((size_t)plan->schema->count * sizeof *r.slots + 1);
    status = scan_open(&scan, plan, err);
    if (status < 0)
        goto out;
    status = batch_init(&b, plan->schema, ROWS, err);
    for (int i = 0; status >= 0 && i < files->count; i++) {
        status = scan_open_file(&scan, files, i, err);
        r.files++;
        while (status == SKIFF_OK) {
            status = batch_reset(&b, err);
            if (status == SKIFF_OK)
                status = scan_rows(&scan, &b, ROWS, err);
            if (status >= 0)
                add_batch(&r, distinct, &b);
        }
    }
    r.bytes = atomic_load(&scan.bytes_done);
    scan_close(&scan);
    if (b.schema)
        batch_deinit(&b);
    if (status >= 0) {
        status = SKIFF_OK;
        r.bad = plan->bad ? atomic_load(&plan->bad->count) : 0;
        finish(&r, distinct, plan->schema);
        *out = r;
        r.slots = NULL;
    }
out:
    free(r.slots);
    free(distinct);
    return status;
}

void check_report_deinit(struct check_report *r)
{
    free(r->slots);
    *r = (struct check_report){0};
}
