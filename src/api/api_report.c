#include "api/api_report.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "data/dataset.h"
#include "fleet/report.h"
#include "program/op_kind.h"
#include "tensor/auc.h"

/* What this process has trained in all its passes: a process has one launcher. */
static atomic_int passes;
static atomic_int_fast64_t all_samples;
static _Atomic double all_seconds;

void pass_report_begin(struct pass_report *r, const struct dataset *data, struct metrics *metrics,
                       bool trains)
{
    *r = (struct pass_report){.wanted = trains && report_wanted(),
                              .data = data,
                              .metrics = metrics,
                              .started = clock_seconds()};
    if (r->wanted)
        snapshot_add(&r->before, metrics);
}

void pass_report_tick(struct pass_report *r)
{
    struct metrics_snapshot now = {0};
    snapshot_add(&now, r->metrics);
    report_metrics(&now);
    report_send(
        &(struct report){.epoch = atomic_load(&passes),
                         .share = fmin(0.99, dataset_progress(r->data)),
                         .samples = snapshot_since(&now, &r->before, METRIC_TRAIN_SAMPLES, "train"),
                         .seconds = clock_seconds() - r->started,
                         .loss = NAN,
                         .auc = NAN,
                         .job_auc = NAN});
    snapshot_deinit(&now);
}

/* ---- AUC ---- */

static const struct tensor *buckets(const struct skiff_scope *scope, const struct skiff_op *op,
                                    const char *slot)
{
    const struct op_arg *arg = op_out(op, slot);
    const struct skiff_tensor *v = arg && arg->n ? scope_find(scope, arg->names[0]) : NULL;
    return v && v->kind == VALUE_TENSOR && v->tensor.dtype == DTYPE_INT64 ? &v->tensor : NULL;
}

/* The op that adds up over all batches: one with slide_steps looks at the last ones. */
static bool is_global(const struct skiff_op *op)
{
    const struct op_attr_value *steps = op_attr(op, "slide_steps");
    return op_is(op, CLASS_AUC) && steps && steps->type == ATTR_INT && steps->value.i == 0;
}

static double auc_of(const struct skiff_program *p, const struct skiff_scope *scope)
{
    const struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++) {
        if (!is_global(b->ops[i]))
            continue;
        const struct tensor *pos = buckets(scope, b->ops[i], "StatPosOut");
        const struct tensor *neg = buckets(scope, b->ops[i], "StatNegOut");
        if (pos && neg && tensor_numel(pos) == tensor_numel(neg))
            return auc_area(pos->data, neg->data, tensor_numel(pos));
    }
    return NAN;
}

void pass_report_deinit(struct pass_report *r)
{
    snapshot_deinit(&r->before);
}

void pass_report_end(const struct pass_report *r, const struct skiff_program *p,
                     const struct skiff_scope *scope, const struct trainer_result *result)
{
    if (!r->wanted)
        return;
    double auc = auc_of(p, scope);
    int64_t samples = atomic_fetch_add(&all_samples, result->rows) + result->rows;
    double seconds = atomic_load(&all_seconds) + result->seconds;
    atomic_store(&all_seconds, seconds);
    report_send(&(struct report){.epoch = atomic_fetch_add(&passes, 1),
                                 .share = 1,
                                 .samples = result->rows,
                                 .seconds = result->seconds,
                                 .loss = NAN,
                                 .auc = auc,
                                 .job_auc = NAN});
    report_send(&(struct report){.epoch = -1,
                                 .samples = samples,
                                 .seconds = seconds,
                                 .loss = NAN,
                                 .auc = auc,
                                 .job_auc = NAN});
}
