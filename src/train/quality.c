#include "train/quality.h"

void quality_add(struct run_report *r, const char *data, int epoch, const struct score_metrics *m)
{
    struct run_quality q = {.data = data, .epoch = epoch};
    const double values[RUN_QUALITY_VALUES] = {[QUALITY_AUC] = m->auc,
                                               [QUALITY_PR_AUC] = m->pr_auc,
                                               [QUALITY_KS] = m->ks,
                                               [QUALITY_LIFT_1] = m->lift[0],
                                               [QUALITY_LIFT_5] = m->lift[1],
                                               [QUALITY_LIFT_10] = m->lift[2],
                                               [QUALITY_LOG_LOSS] = m->log_loss,
                                               [QUALITY_ENTROPY] = m->normalised_entropy,
                                               [QUALITY_GROUP_AUC] = m->group_auc,
                                               [QUALITY_GROUPS] = (double)m->groups,
                                               [QUALITY_THRESHOLD] = m->threshold,
                                               [QUALITY_PRECISION] = m->precision,
                                               [QUALITY_RECALL] = m->recall,
                                               [QUALITY_F1] = m->f1,
                                               [QUALITY_TRUE_POS] = m->true_pos,
                                               [QUALITY_FALSE_POS] = m->false_pos,
                                               [QUALITY_FALSE_NEG] = m->false_neg,
                                               [QUALITY_TRUE_NEG] = m->true_neg};
    for (int i = 0; i < RUN_QUALITY_VALUES; i++)
        q.values[i] = values[i];
    run_add_quality(r, &q);
}

void quality_add_counted(struct run_report *r, const char *data, int epoch,
                         struct eval_metrics *counted)
{
    struct scores all = {0};
    struct score_metrics m;
    if (!counted->keeps_scores)
        return;
    eval_metrics_scores(counted, &all);
    score_metrics_of(&all, counted->threshold, counted->has_group, &m);
    scores_deinit(&all);
    quality_add(r, data, epoch, &m);
}
