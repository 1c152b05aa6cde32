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
                               .has_accuracy = names->accuracy};
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
}

void eval_metrics_deinit(struct eval_metrics *t)
{
    for (int i = 0; i < t->threads; i++)
        pthread_mutex_destroy(&t->thread_states[i].lock);
    free(t->thread_states);
    *t = (struct eval_metrics){0};
}

void eval_metrics_reset(struct eval_metrics *t)
{
    for (int i = 0; i < t->threads; i++) {
        pthread_mutex_lock(&t->thread_states[i].lock);
        memset(&t->thread_states[i].sum, 0, sizeof(t->thread_states[i].sum));
        pthread_mutex_unlock(&t->thread_states[i].lock);
    }
}

static void count_predictions(const struct eval_metrics *t, struct eval_metrics_sum *s,
                              const struct tensor *predict, const struct tensor *label)
{
    const int64_t n = predict->shape.dims[0], width = predict->shape.dims[1];
    const float least = 1e-7f;
    for (int64_t i = 0; i < n; i++) {
        float p = tensor_f32(predict)[i * width + width - 1];
        if (t->adjust)
            p = (float)t->adjust(t->adjust_self, (double)p);
        int64_t l = tensor_i64(label)[i];
        int64_t bucket = (int64_t)(p * (float)(EVAL_METRICS_BUCKETS - 1));
        if (!(p >= 0.0f && p <= 1.0f) || l < 0)
            continue;
        (l > 0 ? s->pos : s->neg)[bucket]++;
        float q = l > 0 ? p : 1.0f - p;
        s->log_loss -= log((double)(q < least ? least : q));
        s->clicks += l > 0;
        s->predicted += (double)p;
        s->abs_error += 1.0 - (double)q;
        s->sqr_error += (1.0 - (double)q) * (1.0 - (double)q);
        s->q += 1.0 / (1.0 + exp(-(double)p));
        s->evaluated++;
    }
}

void eval_metrics_batch(struct eval_metrics *t, int thread, int64_t rows,
                        const struct skiff_tensor *watched)
{
    struct eval_metrics_thread *thread_state = &t->thread_states[thread];
    double loss = t->has_loss ? (double)tensor_f32(&watched[0].tensor)[0] : 0.0;
    const struct skiff_tensor *predict = watched + t->has_loss;
    pthread_mutex_lock(&thread_state->lock);
    thread_state->sum.batches++;
    thread_state->sum.samples += rows;
    thread_state->sum.loss += t->loss_is_sum ? loss : loss * (double)rows;
    if (t->has_predict)
        count_predictions(t, &thread_state->sum, &predict[0].tensor, &predict[1].tensor);
    if (t->has_accuracy)
        thread_state->sum.right +=
            (double)tensor_f32(&watched[t->nwatched - 1].tensor)[0] * (double)rows;
    pthread_mutex_unlock(&thread_state->lock);
}

static void add(struct eval_metrics_sum *to, const struct eval_metrics_sum *from)
{
    to->batches += from->batches;
    to->samples += from->samples;
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

void eval_metrics_sum_pack(const struct eval_metrics_sum *s, int64_t *whole, double *part)
{
    const double parts[EVAL_METRICS_PART] = {s->loss,  s->log_loss,  s->clicks,    s->predicted,
                                             s->right, s->abs_error, s->sqr_error, s->q};
    whole[0] = s->batches;
    whole[1] = s->samples;
    whole[2] = s->evaluated;
    memcpy(whole + 3, s->pos, sizeof(s->pos));
    memcpy(whole + 3 + EVAL_METRICS_BUCKETS, s->neg, sizeof(s->neg));
    memcpy(part, parts, sizeof(parts));
}

void eval_metrics_sum_unpack(struct eval_metrics_sum *s, const int64_t *whole, const double *part)
{
    s->batches = whole[0];
    s->samples = whole[1];
    s->evaluated = whole[2];
    memcpy(s->pos, whole + 3, sizeof(s->pos));
    memcpy(s->neg, whole + 3 + EVAL_METRICS_BUCKETS, sizeof(s->neg));
    s->loss = part[0];
    s->log_loss = part[1];
    s->clicks = part[2];
    s->predicted = part[3];
    s->right = part[4];
    s->abs_error = part[5];
    s->sqr_error = part[6];
    s->q = part[7];
}

double eval_metrics_loss(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->has_loss && s->samples ? s->loss / (double)s->samples : NAN;
}

double eval_metrics_auc(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->has_predict && !eval_metrics_no_auc(t, s)
               ? auc_area(s->pos, s->neg, EVAL_METRICS_BUCKETS)
               : NAN;
}

const char *eval_metrics_no_auc(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    if (!t->has_predict)
        return NULL;
    if (!s->evaluated)
        return "no labels";
    return s->clicks <= 0                      ? "no clicks"
           : s->clicks >= (double)s->evaluated ? "nothing but clicks"
                                               : NULL;
}

double eval_metrics_log_loss(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->is_probability && s->evaluated ? s->log_loss / (double)s->evaluated : NAN;
}

double eval_metrics_copc(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->is_probability && s->predicted > 0 ? s->clicks / s->predicted : NAN;
}

double eval_metrics_accuracy(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    return t->has_accuracy && s->samples ? s->right / (double)s->samples : NAN;
}
