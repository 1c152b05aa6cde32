#include "executor/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/auc.h"

void tally_open(struct tally *t, const struct tally_names *names, int threads)
{
    *t = (struct tally){.threads = threads,
                        .loss_is_sum = names->loss_is_sum,
                        .has_loss = names->loss,
                        .has_predict = names->predict && names->label,
                        .has_accuracy = names->accuracy};
    t->is_probability = t->has_predict && !names->not_probability;
    t->lanes = mem_must((size_t)threads * sizeof(*t->lanes));
    for (int i = 0; i < threads; i++)
        pthread_mutex_init(&t->lanes[i].lock, NULL);
    if (t->has_loss)
        t->watched[t->nwatched++] = names->loss;
    if (t->has_predict) {
        t->watched[t->nwatched++] = names->predict;
        t->watched[t->nwatched++] = names->label;
    }
    if (t->has_accuracy)
        t->watched[t->nwatched++] = names->accuracy;
}

void tally_deinit(struct tally *t)
{
    for (int i = 0; i < t->threads; i++)
        pthread_mutex_destroy(&t->lanes[i].lock);
    free(t->lanes);
    *t = (struct tally){0};
}

void tally_reset(struct tally *t)
{
    for (int i = 0; i < t->threads; i++) {
        pthread_mutex_lock(&t->lanes[i].lock);
        memset(&t->lanes[i].sum, 0, sizeof(t->lanes[i].sum));
        pthread_mutex_unlock(&t->lanes[i].lock);
    }
}

static void count_predictions(struct tally_sum *s, const struct tensor *predict,
                              const struct tensor *label)
{
    const int64_t n = predict->shape.dims[0], width = predict->shape.dims[1];
    const float least = 1e-7f;
    for (int64_t i = 0; i < n; i++) {
        float p = tensor_f32(predict)[i * width + width - 1];
        int64_t l = tensor_i64(label)[i];
        int64_t bucket = (int64_t)(p * (float)(TALLY_BUCKETS - 1));
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
        s->judged++;
    }
}

void tally_batch(struct tally *t, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct tally_lane *lane = &t->lanes[thread];
    double loss = t->has_loss ? (double)tensor_f32(&watched[0].tensor)[0] : 0.0;
    const struct skiff_tensor *predict = watched + t->has_loss;
    pthread_mutex_lock(&lane->lock);
    lane->sum.batches++;
    lane->sum.samples += rows;
    lane->sum.loss += t->loss_is_sum ? loss : loss * (double)rows;
    if (t->has_predict)
        count_predictions(&lane->sum, &predict[0].tensor, &predict[1].tensor);
    if (t->has_accuracy)
        lane->sum.right += (double)tensor_f32(&watched[t->nwatched - 1].tensor)[0] * (double)rows;
    pthread_mutex_unlock(&lane->lock);
}

static void add(struct tally_sum *to, const struct tally_sum *from)
{
    to->batches += from->batches;
    to->samples += from->samples;
    to->loss += from->loss;
    to->judged += from->judged;
    to->log_loss += from->log_loss;
    to->clicks += from->clicks;
    to->predicted += from->predicted;
    to->right += from->right;
    to->abs_error += from->abs_error;
    to->sqr_error += from->sqr_error;
    to->q += from->q;
    for (int i = 0; i < TALLY_BUCKETS; i++) {
        to->pos[i] += from->pos[i];
        to->neg[i] += from->neg[i];
    }
}

void tally_read(struct tally *t, struct tally_sum *out)
{
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < t->threads; i++) {
        pthread_mutex_lock(&t->lanes[i].lock);
        add(out, &t->lanes[i].sum);
        pthread_mutex_unlock(&t->lanes[i].lock);
    }
}

void tally_sum_pack(const struct tally_sum *s, int64_t *whole, double *part)
{
    const double parts[TALLY_PART] = {s->loss,  s->log_loss,  s->clicks,    s->predicted,
                                      s->right, s->abs_error, s->sqr_error, s->q};
    whole[0] = s->batches;
    whole[1] = s->samples;
    whole[2] = s->judged;
    memcpy(whole + 3, s->pos, sizeof(s->pos));
    memcpy(whole + 3 + TALLY_BUCKETS, s->neg, sizeof(s->neg));
    memcpy(part, parts, sizeof(parts));
}

void tally_sum_unpack(struct tally_sum *s, const int64_t *whole, const double *part)
{
    s->batches = whole[0];
    s->samples = whole[1];
    s->judged = whole[2];
    memcpy(s->pos, whole + 3, sizeof(s->pos));
    memcpy(s->neg, whole + 3 + TALLY_BUCKETS, sizeof(s->neg));
    s->loss = part[0];
    s->log_loss = part[1];
    s->clicks = part[2];
    s->predicted = part[3];
    s->right = part[4];
    s->abs_error = part[5];
    s->sqr_error = part[6];
    s->q = part[7];
}

double tally_loss(const struct tally *t, const struct tally_sum *s)
{
    return t->has_loss && s->samples ? s->loss / (double)s->samples : NAN;
}

double tally_auc(const struct tally *t, const struct tally_sum *s)
{
    return t->has_predict && !tally_no_auc(t, s) ? auc_area(s->pos, s->neg, TALLY_BUCKETS) : NAN;
}

const char *tally_no_auc(const struct tally *t, const struct tally_sum *s)
{
    if (!t->has_predict)
        return NULL;
    if (!s->judged)
        return "no labels";
    return s->clicks <= 0                   ? "no clicks"
           : s->clicks >= (double)s->judged ? "nothing but clicks"
                                            : NULL;
}

double tally_log_loss(const struct tally *t, const struct tally_sum *s)
{
    return t->is_probability && s->judged ? s->log_loss / (double)s->judged : NAN;
}

double tally_copc(const struct tally *t, const struct tally_sum *s)
{
    return t->is_probability && s->predicted > 0 ? s->clicks / s->predicted : NAN;
}

double tally_accuracy(const struct tally *t, const struct tally_sum *s)
{
    return t->has_accuracy && s->samples ? s->right / (double)s->samples : NAN;
}
