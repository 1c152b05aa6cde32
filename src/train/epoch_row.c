#include "train/epoch_row.h"

#include "executor/trainer.h"

void epoch_row_fill(struct epoch_row *row, const struct eval_metrics *t,
                    const struct eval_metrics_sum *s)
{
    row->samples = s->samples;
    row->auc = eval_metrics_auc(t, s);
    row->no_auc = eval_metrics_no_auc(t, s);
    row->log_loss = eval_metrics_log_loss(t, s);
    row->copc = eval_metrics_copc(t, s);
    row->loss = eval_metrics_loss(t, s);
    row->accuracy = eval_metrics_accuracy(t, s);
}

void epoch_row_times(struct epoch_row *row, const struct trainer_result *r)
{
    double all = r->read_seconds + r->compute_seconds;
    if (all <= 0)
        return;
    row->read = r->read_seconds / all;
    row->update = r->update_seconds / all;
    row->compute = (r->compute_seconds - r->update_seconds) / all;
}

struct run_numbers epoch_row_numbers(const struct epoch_row *row)
{
    return (struct run_numbers){row->loss, row->auc, row->log_loss, row->copc, row->accuracy};
}
