/* Metrics accumulator (metrics.h): per-thread sums, merged when they are read.
 *
 * Each thread adds under its own lock, so threads never wait for each other, only briefly for a
 * reader. The AUC is computed from a histogram of predictions with the buckets of the auc op. Log
 * loss is computed only from predictions that are probabilities. */
#include "executor/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/auc.h"

void eval_metrics_open(struct eval_metrics *t, const struct eval_metrics_names *names, int threads)
{
    *t = (struct eval_metrics){.threads = threads,
                               .loss_is_sum = names->loss_is_sum,
                               .has_loss = names->loss,
                               .has_predict = names->predict && names->label,
                               .has_accuracy = names->accuracy,
                               .has_weight = names->weight,
                               .has_group = names->predict && names->label && names->group};
    t->is_probability = t->has_predict && !names->not_probability;
    t->thread_states = mem_alloc_or_die((size_t)threads * sizeof(*t->thread_states));
    for (int i = 0; i < threads; i++)
        pthread_mutex_init(&t->thread_states[i].lock, NULL);
    if (t->has_loss)
        t->watched[t->nwatched++] = names->loss;
    if (t->has_predict) {
        t->watched[t->nwatched++] = names->predict;
        t->watched[t->nwatched++] = names->label;
    }
    if (t->has_accuracy)
        t->watched[t->nwatched++] = names->accuracy;
    if (t->has_weight)
        t->watched[t->nwatched++] = names->weight;
    if (t->has_group)
        t->watched[t->nwatched++] = names->group;
}

void eval_metrics_deinit(struct eval_metrics *t)
{
    for (int i = 0; i < t->threads; i++) {
        pthread_mutex_destroy(&t->thread_states[i].lock);
        scores_deinit(&t->thread_states[i].scores);
    }
    free(t->thread_states);
    *t = (struct eval_metrics){0};
}

void eval_metrics_reset(struct eval_metrics *t)
{
    for (int i = 0; i < t->threads; i++) {
        pthread_mutex_lock(&t->thread_states[i].lock);
        memset(&t->thread_states[i].sum, 0, sizeof(t->thread_states[i].sum));
        scores_reset(&t->thread_states[i].scores);
        pthread_mutex_unlock(&t->thread_states[i].lock);
    }
}

/* What is watched of a batch, by its meaning; NULL: the model has none. */
struct counted_batch {
    const struct tensor *predict, *label, *accuracy, *weight, *group;
    double loss;
};

static struct counted_batch counted_batch_of(const struct eval_metrics *t,
                                             const struct skiff_tensor *watched)
{
    struct counted_batch b = {0};
    const struct skiff_tensor *at = watched;
    if (t->has_loss)
        b.loss = (double)tensor_f32(&(at++)->tensor)[0];
    if (t->has_predict) {
        b.predict = &(at++)->tensor;
        b.label = &(at++)->tensor;
    }
    b.accuracy = t->has_accuracy ? &(at++)->tensor : NULL;
    b.weight = t->has_weight ? &(at++)->tensor : NULL;
    b.group = t->has_group ? &(at++)->tensor : NULL;
    return b;
}

static double weight_of(const struct counted_batch *b, int64_t row)
{
    return b->weight ? (double)tensor_f32(b->weight)[row] : 1.0;
}

/* The first value of the row. */
static uint64_t group_of(const struct counted_batch *b, int64_t row)
{
    const struct tensor *g = b->group;
    if (!g)
        return 0;
    const struct lod_level *rows = lod_last(g->lod);
    if (rows)
        return (uint64_t)tensor_i64(g)[rows->off[row]];
    int64_t width = g->shape.ndim > 1 ? g->shape.dims[1] : 1;
    return (uint64_t)tensor_i64(g)[row * width];
}

static void count_predictions(const struct eval_metrics *t, struct eval_metrics_thread *state,
                              const struct counted_batch *b)
{
    struct eval_metrics_sum *s = &state->sum;
    const int64_t n = b->predict->shape.dims[0], width = b->predict->shape.dims[1];
    const float least = 1e-7f;
    for (int64_t i = 0; i < n; i++) {
        float p = tensor_f32(b->predict)[i * width + width - 1];
        if (t->adjust)
            p = (float)t->adjust(t->adjust_self, (double)p);
        int64_t l = tensor_i64(b->label)[i];
        int64_t bucket = (int64_t)(p * (float)(EVAL_METRICS_BUCKETS - 1));
        if (!(p >= 0.0f && p <= 1.0f) || l < 0)
            continue;
        double w = weight_of(b, i);
        (l > 0 ? s->pos : s->neg)[bucket] += w;
        float q = l > 0 ? p : 1.0f - p;
        double miss = 1.0 - (double)q;
        s->log_loss -= w * log((double)(q < least ? least : q));
        s->clicks += l > 0 ? w : 0;
        s->predicted += w * (double)p;
        s->abs_error += w * miss;
        s->sqr_error += w * miss * miss;
        s->q += w / (1.0 + exp(-(double)p));
        s->evaluated += w;
        if (t->keeps_scores)
            scores_add(&state->scores, p, l > 0, w, group_of(b, i));
    }
}

static double batch_weight(const struct counted_batch *b, int64_t rows)
{
    double sum = 0;
    if (!b->weight)
        return (double)rows;
    for (int64_t i = 0; i < rows; i++)
        sum += weight_of(b, i);
    return sum;
}

void eval_metrics_batch(struct eval_metrics *t, int thread, int64_t rows,
                        const struct skiff_tensor *watched)
{
    struct eval_metrics_thread *thread_state = &t->thread_states[thread];
    struct counted_batch b = counted_batch_of(t, watched);
    double weight = batch_weight(&b, rows);
    pthread_mutex_lock(&thread_state->lock);
    thread_state->sum.batches++;
    thread_state->sum.samples += rows;
    thread_state->sum.weight += weight;
    thread_state->sum.loss += t->loss_is_sum ? b.loss : b.loss * weight;
    if (t->has_predict)
        count_predictions(t, thread_state, &b);
    if (b.accuracy)
        thread_state->sum.right += (double)tensor_f32(b.accuracy)[0] * (double)rows;
    pthread_mutex_unlock(&thread_state->lock);
}

void eval_metrics_scores(struct eval_metrics *t, struct scores *out)
{
    for (int i = 0; i < t->threads; i++) {
        pthread_mutex_lock(&t->thread_states[i].lock);
        scores_append(out, &t->thread_states[i].scores);
        pthread_mutex_unlock(&t->thread_states[i].lock);
    }
}

static void add(struct eval_metrics_sum *to, const struct eval_metrics_sum *from)
{
    to->batches += from->batches;
    to->samples += from->samples;
    to->weight += from->weight;
    to->loss += from->loss;
    to->evaluated += from->evaluated;
    to->log_loss += from->log_loss;
    to->clicks += from->clicks;
    to->predicted += from->predicted;
    to->right += from->right;
    to->abs_error += from->abs_error;
    to->sqr_error += from->sqr_error;
    to->q += from->q;
    for (int i = 0; i < EVAL_METRICS_BUCKETS; i++) {
        to->pos[i] += from->pos[i];
        to->neg[i] += from->neg[i];
    }
}

void eval_metrics_read(struct eval_metrics *t, struct eval_metrics_sum *out)
{
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < t->threads; i++) {
        pthread_mutex_lock(&t->thread_states[i].lock);
        add(out, &t->thread_states[i].sum);
        pthread_mutex_unlock(&t->thread_states[i].lock);
    }
}

/* The doubles, in the order of the array; the histograms follow. */
#define PART_FIELDS(s)                                                                            \
    {                                                                                             \
        &(s)->weight, &(s)->loss, &(s)->evaluated, &(s)->log_loss, &(s)->clicks, &(s)->predicted, \
            &(s)->right, &(s)->abs_error, &(s)->sqr_error, &(s)->q                                \
    }
#define PART_FIRST (EVAL_METRICS_PART - 2 * EVAL_METRICS_BUCKETS)

void eval_metrics_sum_pack(const struct eval_metrics_sum *s, int64_t *whole, double *part)
{
    const double *const fields[PART_FIRST] = PART_FIELDS(s);
    whole[0] = s->batches;
    whole[1] = s->samples;
    for (int i = 0; i < PART_FIRST; i++)
        part[i] = *fields[i];
    memcpy(part + PART_FIRST, s->pos, sizeof(s->pos));
    memcpy(part + PART_FIRST + EVAL_METRICS_BUCKETS, s->neg, sizeof(s->neg));
}

void eval_metrics_sum_unpack(struct eval_metrics_sum *s, const int64_t *whole, const double *part)
{
    double *const fields[PART_FIRST] = PART_FIELDS(s);
    s->batches = whole[0];
    s->samples = whole[1];
    for (int i = 0; i < PART_FIRST; i++)
        *fields[i] = part[i];
    memcpy(s->pos, part + PART_FIRST, sizeof(s->pos));
    memcpy(s->neg, part + PART_FIRST + EVAL_METRICS_BUCKETS, sizeof(s->neg));
}

double eval_metrics_loss(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->has_loss && s->weight > 0 ? s->loss / s->weight : NAN;
}

double eval_metrics_auc(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->has_predict && !eval_metrics_no_auc(t, s)
               ? auc_area_of_weights(s->pos, s->neg, EVAL_METRICS_BUCKETS)
               : NAN;
}

const char *eval_metrics_no_auc(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    if (!t->has_predict)
        return NULL;
    if (!(s->evaluated > 0))
        return "no labels";
    return s->clicks <= 0 ? "no clicks" : s->clicks >= s->evaluated ? "nothing but clicks" : NULL;
}

double eval_metrics_log_loss(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->is_probability && s->evaluated > 0 ? s->log_loss / s->evaluated : NAN;
}

double eval_metrics_copc(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->is_probability && s->predicted > 0 ? s->clicks / s->predicted : NAN;
}

double eval_metrics_accuracy(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->has_accuracy && s->samples ? s->right / (double)s->samples : NAN;
}
