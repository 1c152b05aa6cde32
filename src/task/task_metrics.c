#include "task/task_metrics.h"

static const char *name_of(const struct skiff_var *v)
{
    return v ? skiff_var_name(v) : NULL;
}

void eval_metrics_init(struct eval_metrics *t, const struct skiff_model_net *net, int threads)
{
    const struct eval_metrics_names names = {.loss = name_of(net->loss),
                                             .predict = name_of(net->predict),
                                             .label = name_of(net->label),
                                             .accuracy = name_of(net->accuracy),
                                             .weight = name_of(net->weight),
                                             .group = name_of(net->group),
                                             .loss_is_sum = net->loss_is_sum,
                                             .not_probability = net->not_probability};
    eval_metrics_open(t, &names, threads);
}
