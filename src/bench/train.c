#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "executor/trainer.h"
#include "models/rank/dnn/net.h"

struct bench_net {
    struct skiff_net *net;
    struct skiff_scope *scope;
};

enum skiff_status bench_net_open(const char *optimizer, bool lazy, struct bench_net **out,
                                 struct skiff_error *err)
{
    struct bench_net *n = mem_alloc_or_die(sizeof(*n));
    n->net = skiff_net_create();
    n->scope = scope_create();
    skiff_program_set_seed(skiff_net_startup(n->net), 1);
    struct rank_dnn vars = rank_dnn_build(n->net, &rank_dnn_documents);
    enum skiff_status status =
        skiff_minimize(n->net, vars.loss, err, optimizer, .learning_rate = 1e-4, .lazy_mode = lazy);
    struct skiff_executor *e = executor_create(n->scope, &(struct executor_options){0});
    if (status == SKIFF_OK)
        status = executor_run(e, skiff_net_startup(n->net), NULL, 0, NULL, 0, NULL, err);
    executor_destroy(e);
    if (status < 0) {
        bench_net_close(n);
        return status;
    }
    *out = n;
    return SKIFF_OK;
}

void bench_net_close(struct bench_net *n)
{
    if (!n)
        return;
    scope_destroy(n->scope);
    skiff_net_destroy(n->net);
    free(n);
}

enum skiff_status bench_net_rate(struct bench_net *n, struct dataset *data, struct bench_rate *out,
                                 struct skiff_error *err)
{
    struct trainer_result r;
    double cpu = clock_cpu_process();
    TRY(trainer_train_dataset(n->scope, skiff_net_main(n->net), data, &(struct trainer_options){0},
                              &r, err));
    *out = (struct bench_rate){.rate = (double)r.rows / r.seconds,
                               .cpu = (clock_cpu_process() - cpu) / (double)r.rows};
    return SKIFF_OK;
}
