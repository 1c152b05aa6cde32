#include "train/recorder_slots.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "data/distinct.h"
#include "data/slot_columns.h"

#define SHARE 0.002
#define ROWS 256 /* of one batch */

struct slot_sum {
    int64_t values, zeros, finite;
    double least, most, sum;
    struct distinct *distinct; /* ids only */
};

struct slot_sampler {
    pthread_mutex_t lock; /* of sums and rows */
    const struct schema *schema;
    struct dataset *data;
    struct slot_sum *sums; /* of every field (data/slot_columns.h) */
    int nsums;
    int64_t rows;
    double started, spent;
};

struct slot_sampler *slot_sampler_create(const struct schema *schema)
{
    struct slot_sampler *s = mem_alloc_or_die(sizeof(*s));
    pthread_mutex_init(&s->lock, NULL);
    s->schema = schema;
    s->nsums = schema_fields(schema);
    s->sums = mem_alloc_or_die(((size_t)s->nsums + 1) * sizeof(*s->sums));
    for (int i = 0, at = 0; i < schema->count; i++)
        for (int k = 0; k < slot_fields(&schema->slots[i]); k++, at++)
            if (schema->slots[i].dtype == DTYPE_INT64 && at < RUN_MAX_SLOTS)
                s->sums[at].distinct = mem_alloc_or_die(sizeof(struct distinct));
    s->started = clock_seconds();
    return s;
}

void slot_sampler_destroy(struct slot_sampler *s)
{
    for (int i = 0; i < s->nsums; i++)
        free(s->sums[i].distinct);
    free(s->sums);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void slot_sampler_begin(struct slot_sampler *s, struct dataset *data)
{
    s->data = data;
}

static void add_value(struct slot_sum *s, double v)
{
    s->values++;
    s->zeros += v == 0;
    if (!isfinite(v))
        return;
    if (!s->finite || v < s->least)
        s->least = v;
    if (!s->finite || v > s->most)
        s->most = v;
    s->sum += v;
    s->finite++;
}

/* Field `field` of `fields`, which lie side by side in the column's rows. */
static void add_field(struct slot_sum *s, const struct column *c, int64_t rows, int field,
                      int fields)
{
    size_t n = c->ragged ? (size_t)c->offsets[rows] : (size_t)rows * c->width;
    for (size_t i = (size_t)field; i < n; i += (size_t)fields) {
        add_value(s, c->dtype == DTYPE_FP32 ? (double)c->f32[i] : (double)c->i64[i]);
        if (s->distinct)
            distinct_add(s->distinct, c->i64[i]);
    }
}

static void add_batch(struct slot_sampler *s, const struct batch *b, int64_t rows)
{
    for (int i = 0, at = 0; i < s->schema->count; i++) {
        int fields = slot_fields(&s->schema->slots[i]);
        for (int k = 0; k < fields && at < RUN_MAX_SLOTS; k++, at++)
            add_field(&s->sums[at], &b->columns[i], rows, k, fields);
    }
}

void slot_sampler_batch(struct slot_sampler *s)
{
    double start = clock_seconds();
    if (!s->data || (s->rows && s->spent > SHARE * (start - s->started)))
        return;
    const struct batch *b = dataset_peek(s->data, 0);
    if (!b || !b->rows)
        return;
    int64_t rows = b->rows < ROWS ? b->rows : ROWS;
    pthread_mutex_lock(&s->lock);
    add_batch(s, b, rows);
    s->rows += rows;
    pthread_mutex_unlock(&s->lock);
    s->spent += clock_seconds() - start;
}

static void fill_field(const struct slot_sum *sum, const struct slot *slot, int field,
                       struct run_report *out)
{
    char title[SLOT_TITLE_MAX];
    bool ids = slot->dtype == DTYPE_INT64, any = sum->finite > 0;
    run_add_slot(out,
                 &(struct run_slot){.name = slot->name,
                                    .column = slot->ncolumns ? slot_title(slot, field, title) : "",
                                    .type = dtype_name(slot->dtype),
                                    .ragged = slot->ragged,
                                    .values = sum->values,
                                    .zeros = sum->zeros,
                                    .distinct = ids && any && sum->distinct
                                                    ? round(distinct_count(sum->distinct))
                                                    : NAN,
                                    .least = any ? sum->least : NAN,
                                    .most = any ? sum->most : NAN,
                                    .mean = any && !ids ? sum->sum / (double)sum->finite : NAN});
}

void slot_sampler_fill(struct slot_sampler *s, struct run_report *out)
{
    pthread_mutex_lock(&s->lock);
    out->slot_rows = s->rows;
    out->nslots = 0;
    for (int i = 0, at = 0; i < s->schema->count && s->rows; i++)
        for (int k = 0; k < slot_fields(&s->schema->slots[i]); k++, at++)
            fill_field(&s->sums[at], &s->schema->slots[i], k, out);
    pthread_mutex_unlock(&s->lock);
}
