/* Statistics of files, slot by slot, in one pass and bounded memory. Distinct values are estimated:
 * an exact count would need memory for every value of columns with millions of them.
 *
 * A dense slot whose columns are known has statistics of each: its values lie side by side. */
#include "data/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/distinct.h"
#include "data/slot_columns.h"

#define ROWS 1024

/* n values, `step` apart */
static void add_floats(struct slot_report *r, const float *v, size_t n, size_t step)
{
    for (size_t i = 0; i < n; i++) {
        double x = v[i * step];
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

static void add_ids(struct slot_report *r, struct distinct *d, const int64_t *v, size_t n,
                    size_t step)
{
    for (size_t i = 0; i < n; i++) {
        int64_t x = v[i * step];
        if (r->values == 0 || x < r->least)
            r->least = x;
        if (r->values == 0 || x > r->most)
            r->most = x;
        r->zeros += x == 0;
        r->values++;
        distinct_add(d, x);
    }
}

static int64_t longest_row(const struct column *c, int64_t rows)
{
    int64_t longest = c->ragged ? 0 : (int64_t)c->width;
    for (int64_t row = 0; c->ragged && row < rows; row++)
        if (c->offsets[row + 1] - c->offsets[row] > longest)
            longest = c->offsets[row + 1] - c->offsets[row];
    return longest;
}

/* The fields of a slot lie side by side in its rows. */
static void add_slot(struct slot_report *r, struct distinct *distinct, const struct column *c,
                     int64_t rows, int fields)
{
    size_t n = c->ragged ? c->count : (size_t)rows * c->width, step = (size_t)fields;
    int64_t longest = longest_row(c, rows);
    for (int k = 0; k < fields; k++) {
        if (c->dtype == DTYPE_FP32)
            add_floats(&r[k], c->f32 + k, n / step, step);
        else
            add_ids(&r[k], &distinct[k], c->i64 + k, n / step, step);
        r[k].longest = longest / fields > r[k].longest ? longest / fields : r[k].longest;
    }
}

static void add_batch(struct check_report *r, struct distinct *distinct, const struct batch *b)
{
    int at = 0;
    for (int i = 0; i < b->schema->count; i++) {
        const struct column *c = &b->columns[i];
        int fields = slot_fields(&b->schema->slots[i]);
        add_slot(&r->slots[at], &distinct[at], c, b->rows, fields);
        at += fields;
        for (int64_t row = 0; i == r->label && row < b->rows; row++)
            r->label_mean += c->dtype == DTYPE_FP32 ? (double)c->f32[row] : (double)c->i64[row];
    }
    r->rows += b->rows;
}

static void finish_field(struct slot_report *s, const struct distinct *distinct, enum dtype dtype)
{
    if (dtype == DTYPE_INT64)
        s->distinct = s->values ? distinct_count(distinct) : 0;
    else if (s->values)
        s->mean /= (double)s->values;
    s->values += s->odd;
}

static void finish(struct check_report *r, const struct distinct *distinct,
                   const struct schema *schema)
{
    int at = 0;
    for (int i = 0; i < schema->count; i++)
        for (int k = 0; k < slot_fields(&schema->slots[i]); k++, at++)
            finish_field(&r->slots[at], &distinct[at], schema->slots[i].dtype);
    if (r->rows)
        r->label_mean /= (double)r->rows;
}

enum skiff_status check_run(const struct scan_plan *plan, const struct file_list *files,
                            struct check_report *out, struct skiff_error *err)
{
    struct check_report r = {.label = schema_label(plan->schema)};
    size_t fields = (size_t)schema_fields(plan->schema);
    struct distinct *distinct = mem_alloc_or_die(fields * sizeof *distinct + 1);
    struct batch b = {0};
    struct scan scan;
    enum skiff_status status;
    if (r.label >= 0 && plan->schema->slots[r.label].ragged)
        r.label = -1;
    r.slots = mem_alloc_or_die(fields * sizeof *r.slots + 1);
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
