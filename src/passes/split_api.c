/* The public face of split (<skiff/transpile.h>). */
#include <skiff/transpile.h>

#include <string.h>

#include "passes/split.h"

static struct skiff_split_config publish(const struct split_config *c)
{
    return (struct skiff_split_config){
        .slice_var_up = c->slice_var_up,
        .split_method = c->split_method ? c->split_method->name : split_round_robin.name,
        .min_block_size = c->min_block_size,
        .enable_dc_asgd = c->enable_dc_asgd,
        .mode = c->mode,
        .print_log = c->print_log,
        .wait_port = c->wait_port,
        .sync_mode = c->sync_mode,
        .runtime_split_send_recv = c->runtime_split_send_recv,
        .half_async = c->half_async,
        .completely_not_async = c->completely_not_async,
        .geo_sgd_mode = c->geo_sgd_mode,
        .geo_sgd_need_push_nums = c->geo_sgd_need_push_nums,
        .rpc_send_thread_num = c->rpc_send_thread_num,
        .rpc_get_thread_num = c->rpc_get_thread_num,
        .rpc_prefetch_thread_num = c->rpc_prefetch_thread_num,
    };
}

static enum skiff_status take(const struct skiff_split_config *c, struct split_config *out,
                              struct skiff_error *err)
{
    TRY(reserved_check(c->reserved, "skiff_split_config", err));
    *out = split_config_default();
    if (c->split_method) {
        out->split_method = split_dispatcher_find(c->split_method);
        if (!out->split_method)
            return error_set(err, SKIFF_INVALID, "split_method is %s; RoundRobin or HashName",
                             c->split_method);
    }
    out->slice_var_up = c->slice_var_up;
    out->min_block_size = c->min_block_size;
    out->enable_dc_asgd = c->enable_dc_asgd;
    out->mode = c->mode;
    out->print_log = c->print_log;
    out->wait_port = c->wait_port;
    out->sync_mode = c->sync_mode;
    out->runtime_split_send_recv = c->runtime_split_send_recv;
    out->half_async = c->half_async;
    out->completely_not_async = c->completely_not_async;
    out->geo_sgd_mode = c->geo_sgd_mode;
    out->geo_sgd_need_push_nums = c->geo_sgd_need_push_nums;
    out->rpc_send_thread_num = c->rpc_send_thread_num;
    out->rpc_get_thread_num = c->rpc_get_thread_num;
    out->rpc_prefetch_thread_num = c->rpc_prefetch_thread_num;
    return SKIFF_OK;
}

struct skiff_split_config skiff_split_config_default(void)
{
    struct split_config c = split_config_default();
    return publish(&c);
}

struct skiff_split_config skiff_split_config_fleet(enum skiff_split_mode mode)
{
    struct split_config c = split_config_fleet(mode);
    return publish(&c);
}

enum skiff_status skiff_split_config_set_sync_mode(struct skiff_split_config *c, bool value,
                                                   struct skiff_error *err)
{
    struct split_config inner;
    TRY(take(c, &inner, err));
    TRY(split_config_set_sync_mode(&inner, value, err));
    *c = publish(&inner);
    return SKIFF_OK;
}

enum skiff_status skiff_split_config_set_runtime_split_send_recv(struct skiff_split_config *c,
                                                                 bool value,
                                                                 struct skiff_error *err)
{
    struct split_config inner;
    TRY(take(c, &inner, err));
    TRY(split_config_set_runtime_split_send_recv(&inner, value, err));
    *c = publish(&inner);
    return SKIFF_OK;
}

enum skiff_status skiff_split_create(const struct skiff_split_job *job,
                                     const struct skiff_split_config *config,
                                     struct skiff_split **out, struct skiff_error *err)
{
    struct split_config inner = split_config_default();
    TRY(reserved_check(job->reserved, "skiff_split_job", err));
    if (!job->main || !job->startup || !job->pservers)
        return error_set(err, SKIFF_INVALID, "split needs a %s",
                         !job->main      ? "main program"
                         : !job->startup ? "startup program"
                                         : "list of servers (pservers)");
    if (config)
        TRY(take(config, &inner, err));
    struct split_job j = {.main = job->main,
                          .startup = job->startup,
                          .trainer_id = job->trainer_id,
                          .pservers = job->pservers,
                          .trainers = job->trainers,
                          .sync_mode = job->sync_mode};
    return split_create(&j, &inner, out, err);
}

void skiff_split_destroy(struct skiff_split *s)
{
    if (s)
        split_destroy(s);
}

enum skiff_status skiff_split_trainer(const struct skiff_split *s, struct skiff_program **main,
                                      struct skiff_program **startup, struct skiff_error *err)
{
    return split_trainer(s, main, startup, err);
}

enum skiff_status skiff_split_server(const struct skiff_split *s, const char *endpoint,
                                     struct skiff_program **main, struct skiff_program **startup,
                                     struct skiff_error *err)
{
    return split_server(s, endpoint, main, startup, err);
}

enum skiff_split_mode skiff_split_mode_of(const struct skiff_split *s)
{
    return split_mode_of(s);
}

const char *const *skiff_split_endpoints(const struct skiff_split *s, int *out_n)
{
    return split_endpoints(s, out_n);
}

const char *const *skiff_split_tables(const struct skiff_split *s, int *out_n)
{
    return split_tables(s, out_n);
}

const char *skiff_split_notes(const struct skiff_split *s)
{
    return split_notes(s);
}

int skiff_split_placements(const struct skiff_split *s)
{
    int n;
    split_placement(s, &n);
    return n;
}

struct skiff_placement skiff_split_placement(const struct skiff_split *s, int i)
{
    int n;
    const struct placement *p = &split_placement(s, &n)[i];
    return (struct skiff_placement){.slice = p->slice,
                                    .origin = p->origin,
                                    .kind = placement_kind_name(p->kind),
                                    .is_slice = p->is_slice,
                                    .sparse = p->sparse,
                                    .block = p->block,
                                    .offset = p->offset,
                                    .first_row = p->first_row,
                                    .ndim = p->shape.ndim,
                                    .dims = p->shape.dims,
                                    .endpoint = p->endpoint,
                                    .server = p->server};
}
