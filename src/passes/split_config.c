/* DistributeTranspilerConfig: defaults, fleet's strategies, checks. */
#include <string.h>

#include "base/map.h"
#include "passes/split_parts.h"

enum { MIN_BLOCK_SIZE = 8192, RPC_THREADS = 12, PUSH_NUMS = 100 };

static int pick_round_robin(const char *var, int block, int step, int servers)
{
    return step % servers;
}

static int pick_hash_name(const char *var, int block, int step, int servers)
{
    return (int)((hash_bytes(var, strlen(var)) + (uint64_t)block) % (uint64_t)servers);
}

const struct split_dispatcher split_round_robin = {"RoundRobin", pick_round_robin};
const struct split_dispatcher split_hash_name = {"HashName", pick_hash_name};

const struct split_dispatcher *split_dispatcher_find(const char *name)
{
    static const struct split_dispatcher *const all[] = {&split_round_robin, &split_hash_name};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!strcmp(all[i]->name, name))
            return all[i];
    return NULL;
}

struct skiff_split_config split_config_default(void)
{
    return (struct skiff_split_config){.slice_var_up = true,
                                       .split_method = split_round_robin.name,
                                       .min_block_size = MIN_BLOCK_SIZE,
                                       .mode = "pserver",
                                       .wait_port = true,
                                       .sync_mode = true,
                                       .geo_sgd_need_push_nums = PUSH_NUMS,
                                       .rpc_send_thread_num = RPC_THREADS,
                                       .rpc_get_thread_num = RPC_THREADS,
                                       .rpc_prefetch_thread_num = RPC_THREADS};
}

struct skiff_split_config split_config_fleet(enum skiff_split_mode mode)
{
    struct skiff_split_config c = split_config_default();
    c.sync_mode = false;
    c.runtime_split_send_recv = true;
    c.half_async = mode_joins_threads(mode);
    c.completely_not_async = mode_waits(mode);
    c.geo_sgd_mode = mode_adds(mode);
    return c;
}

enum skiff_status split_config_set_sync_mode(struct skiff_split_config *c, bool value,
                                             struct skiff_error *err)
{
    if (value && c->runtime_split_send_recv)
        return error_set(err, SKIFF_INVALID,
                         "if you want to set sync_mode to be true, make ensure "
                         "config.runtime_split_send_recv is false at first");
    c->sync_mode = value;
    return SKIFF_OK;
}

enum skiff_status split_config_set_runtime_split_send_recv(struct skiff_split_config *c, bool value,
                                                           struct skiff_error *err)
{
    if (value && c->sync_mode)
        return error_set(err, SKIFF_INVALID,
                         "if you want to set runtime_split_send_recv to be true, make ensure "
                         "config.sync_mode is false at first");
    c->runtime_split_send_recv = value;
    return SKIFF_OK;
}

static enum skiff_status check_positive(const char *name, int value, struct skiff_error *err)
{
    if (value > 0)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID, "DistributeTranspilerConfig: %s is %d; it must be above 0",
                     name, value);
}

enum skiff_status split_config_check(const struct skiff_split_config *c, struct skiff_error *err)
{
    if (!c->mode || strcmp(c->mode, "pserver"))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "DistributeTranspilerConfig: mode is %s; only pserver programs are split "
                         "into trainers and servers",
                         c->mode ? c->mode : "NULL");
    if (c->split_method && !split_dispatcher_find(c->split_method))
        return error_set(err, SKIFF_INVALID,
                         "DistributeTranspilerConfig: split_method is %s; expected RoundRobin or "
                         "HashName",
                         c->split_method);
    if (c->min_block_size < MIN_BLOCK_SIZE)
        return error_set(
            err, SKIFF_INVALID,
            "DistributeTranspilerConfig: min_block_size is %lld; at least %d is needed",
            (long long)c->min_block_size, MIN_BLOCK_SIZE);
    if (c->sync_mode && c->runtime_split_send_recv && !c->geo_sgd_mode)
        return error_set(err, SKIFF_INVALID,
                         "if you want to set runtime_split_send_recv to be true, make ensure "
                         "config.sync_mode is false at first");
    if (c->geo_sgd_mode)
        TRY(check_positive("geo_sgd_need_push_nums", c->geo_sgd_need_push_nums, err));
    TRY(check_positive("rpc_send_thread_num", c->rpc_send_thread_num, err));
    TRY(check_positive("rpc_get_thread_num", c->rpc_get_thread_num, err));
    return check_positive("rpc_prefetch_thread_num", c->rpc_prefetch_thread_num, err);
}
