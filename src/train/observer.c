#include "train/observer.h"

#define EACH(l, o) for (struct train_observer *o = (l)->at; o < (l)->at + (l)->n; o++)

enum skiff_status observers_add(struct train_observers *l, const struct train_observer *o,
                                struct skiff_error *err)
{
    if (l->n == TRAIN_OBSERVERS)
        return error_set(err, SKIFF_RANGE, "a run has at most %d observers", TRAIN_OBSERVERS);
    l->at[l->n++] = *o;
    return SKIFF_OK;
}

enum skiff_status observers_start(struct train_observers *l, struct train_run *run,
                                  struct skiff_error *err)
{
    EACH(l, o)
    if (o->start)
        TRY(o->start(o->self, run, err));
    return SKIFF_OK;
}

enum skiff_status observers_span_begin(struct train_observers *l, const struct train_span *span,
                                       struct skiff_error *err)
{
    EACH(l, o)
    if (o->span_begin)
        TRY(o->span_begin(o->self, span, err));
    return SKIFF_OK;
}

void observers_batch(struct train_observers *l, int thread, int64_t rows,
                     const struct skiff_tensor *watched)
{
    EACH(l, o)
    if (o->batch)
        o->batch(o->self, thread, rows, watched);
}

void observers_tick(struct train_observers *l)
{
    EACH(l, o)
    if (o->tick)
        o->tick(o->self);
}

enum skiff_status observers_pause(struct train_observers *l, int64_t batches, int64_t rows,
                                  struct skiff_error *err)
{
    EACH(l, o)
    if (o->pause)
        TRY(o->pause(o->self, batches, rows, err));
    return SKIFF_OK;
}

void observers_profile(struct train_observers *l, const struct profile *profile)
{
    EACH(l, o)
    if (o->profile)
        o->profile(o->self, profile);
}

enum skiff_status observers_data_end(struct train_observers *l, const struct trainer_result *r,
                                     bool ok, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    EACH(l, o)
    if (o->data_end) {
        enum skiff_status one = o->data_end(o->self, r, ok, status < 0 ? NULL : err);
        status = status < 0 ? status : one;
    }
    return status;
}

enum skiff_status observers_span_end(struct train_observers *l, const struct train_counts *counts,
                                     bool *stop, struct skiff_error *err)
{
    EACH(l, o)
    if (o->span_end)
        TRY(o->span_end(o->self, counts, stop, err));
    return SKIFF_OK;
}

enum skiff_status observers_saved(struct train_observers *l, const struct train_saved *s,
                                  struct skiff_error *err)
{
    EACH(l, o)
    if (o->saved)
        TRY(o->saved(o->self, s, err));
    return SKIFF_OK;
}

void observers_validated(struct train_observers *l, int epoch, struct eval_metrics *counted)
{
    EACH(l, o)
    if (o->validated)
        o->validated(o->self, epoch, counted);
}

void observers_results(struct train_observers *l, const struct epoch_row *rows, int n)
{
    EACH(l, o)
    if (o->results)
        o->results(o->self, rows, n);
}

void observers_end(struct train_observers *l, enum run_status how, const char *why)
{
    EACH(l, o)
    if (o->end)
        o->end(o->self, how, why);
}
