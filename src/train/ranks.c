/* `skiff train` and `skiff infer` as ranks of a collective job (ranks.h).
 *
 * Every function is called by all ranks at the same point. Each rank reads its own files; decisions
 * and models are rank 0's, which sends them to the others (ranks_follow, ranks_spread), and counts
 * are summed over all (ranks_add_up). Alone (one rank) the functions do nothing, except that
 * gradient merge works there, too. One thread. */
#define _GNU_SOURCE
#include "train/ranks.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <skiff/collective.h>
#include <skiff/optimizer.h>

#include "base/log.h"
#include "base/mem.h"
#include "collective/rings.h"
#include "fleet/role.h"
#include "fleet/settings.h"

/* ---- open ---- */

/* What the keys say of more than one thread holds for a process that trains alone. */
static enum skiff_status one_thread(const struct ranks *r, struct task *t, struct skiff_error *err)
{
    int threads = task_threads(t);
    if (threads > 1 && ranks_first(r))
        logger_info(&t->logger,
                    "runner.thread_num is %d: a rank of a collective job has one thread; "
                    "--nproc_per_node starts more ranks",
                    threads);
    return config_set(t->config, KEY_RUNNER_THREAD_NUM, "1", err);
}

static void on_log(void *user, const char *line)
{
    logger_warn((const struct logger *)user, "%s", line);
}

static enum skiff_status open_world(struct task *t, const struct task_args *args,
                                    struct skiff_error *err)
{
    struct settings_security security;
    task_security(args, t->config, &security);
    return skiff_world_open(&(struct skiff_world_options){.secret_file = security.secret_file,
                                                          .insecure = security.insecure,
                                                          .on_log = on_log,
                                                          .user = &t->logger},
                            err);
}

/* An environment that does not fit together is an error: a rank of it would train alone. */
static enum skiff_status is_wanted(struct task *t, bool *out, struct skiff_error *err)
{
    struct config *c = t->config;
    const char *mode =
        config_has(c, KEY_RUNNER_SYNC_MODE) ? config_text(c, KEY_RUNNER_SYNC_MODE) : "";
    struct role r;
    *out = false;
    if (role_env_is_set(NULL, NULL))
        return SKIFF_OK;
    TRY(role_from_ranks(&r, NULL, NULL, err));
    *out = r.workers > 1 || !strcasecmp(mode, "collective");
    role_deinit(&r);
    return SKIFF_OK;
}

/* ---- fewer sums ---- */

static enum skiff_status refuse_both(struct config *c, struct skiff_error *err)
{
    return error_set(
        err, SKIFF_INVALID,
        "%s: runner.gradient_merge and runner.localsgd exclude each other; remove one of them",
        config_name(c));
}

/* Gradient merge, also of one process; the keys are those of Paddle's DistributedStrategy. */
static enum skiff_status merge_gradients(struct task *t, struct skiff_error *err)
{
    struct config *c = t->config;
    int k = (int)config_int(c, KEY_RUNNER_GRADIENT_MERGE_CONFIGS_K_STEPS);
    bool avg = config_bool(c, KEY_RUNNER_GRADIENT_MERGE_CONFIGS_AVG);
    bool merges = config_bool(c, KEY_RUNNER_GRADIENT_MERGE);
    if (merges && config_bool(c, KEY_RUNNER_LOCALSGD))
        return refuse_both(c, err);
    TRY(config_check(c, err));
    return merges ? skiff_gradient_merge(t->main, t->startup, k, avg, err) : SKIFF_OK;
}

static enum skiff_status add_up_over_ranks(struct task *t, struct skiff_error *err)
{
    struct config *c = t->config;
    struct skiff_collective_options o = {.by_rows = true, .loss_is_sum = t->vars.loss_is_sum};
    int k = (int)config_int(c, KEY_RUNNER_LOCALSGD_CONFIGS_K_STEPS);
    int begin = (int)config_int(c, KEY_RUNNER_LOCALSGD_CONFIGS_BEGIN_STEP);
    if (config_bool(c, KEY_RUNNER_LOCALSGD)) {
        o.local_steps = k;
        o.local_begin = begin;
    }
    TRY(config_check(c, err));
    return skiff_collective_transpile(t->main, t->startup, &o, err);
}

enum skiff_status ranks_refuse(struct config *c, struct skiff_error *err)
{
    static const enum config_key keys[] = {KEY_RUNNER_GRADIENT_MERGE, KEY_RUNNER_LOCALSGD};
    for (int i = 0; i < 2; i++)
        if (config_bool(c, keys[i]))
            return error_set(err, SKIFF_UNSUPPORTED,
                             "%s: %s is for ranks without servers; in a job with servers, "
                             "runner.sync_mode: geo sends fewer gradients",
                             config_name(c), key_name(keys[i]));
    return SKIFF_OK;
}

/* Readers, training and sums of a rank are threads: one core for all of them is slow, most of all
 * when another program uses it, because every step waits for the slowest rank. */
static void print_cores(const struct ranks *r, const struct task *t)
{
    cpu_set_t mine;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (ranks_first(r) && cores > 1 && !sched_getaffinity(0, sizeof mine, &mine) &&
        CPU_COUNT(&mine) == 1)
        logger_warn(&t->logger,
                    "this rank is bound to 1 of %ld cores, which its threads share; use mpirun "
                    "--bind-to none or srun --cpus-per-task=2",
                    cores);
}

enum skiff_status ranks_open(struct ranks *r, struct task *t, const struct task_args *args,
                             bool train, struct skiff_error *err)
{
    char role[32];
    bool wanted;
    *r = (struct ranks){.size = 1};
    if (train)
        TRY(merge_gradients(t, err));
    TRY(is_wanted(t, &wanted, err));
    if (!wanted)
        return SKIFF_OK;
    TRY(open_world(t, args, err));
    *r = (struct ranks){.rank = skiff_world_rank(), .size = skiff_world_size()};
    if (ranks_alone(r))
        return SKIFF_OK;
    snprintf(role, sizeof role, "rank.%d", r->rank);
    log_set_role(role);
    TRY(one_thread(r, t, err));
    if (train)
        TRY(add_up_over_ranks(t, err));
    logger_info(&t->logger, "%s, %d ranks, collective (%s%s)", t->model->name, r->size,
                skiff_world_engine(),
                collective_shares_memory(rings_get(0)) ? ", shared memory" : "");
    print_cores(r, t);
    if (!ranks_first(r) && !args->verbose)
        log_set_level(LOG_WARN);
    return SKIFF_OK;
}

void ranks_close(struct ranks *r)
{
    if (!ranks_alone(r))
        skiff_world_close();
}

/* ---- files ---- */

static enum skiff_status take_share(const struct ranks *r, const struct file_list *all, bool needed,
                                    struct file_list *files, struct skiff_error *err)
{
    int first, count;
    if (all->count < r->size && needed)
        return error_set(err, SKIFF_INVALID,
                         "%d ranks share %d files: a rank would have none; start at most %d ranks, "
                         "or split the files (skiff prepare)",
                         r->size, all->count, all->count);
    role_split(all->count, r->size, r->rank, &first, &count);
    for (int i = 0; i < count; i++)
        file_list_add(files, all->paths[first + i]);
    return SKIFF_OK;
}

static void print_files(const struct ranks *r, const struct task *t, int total, bool share)
{
    if (!share && ranks_first(r))
        logger_info(
            &t->logger,
            "each of %d ranks reads all %d files in its folder: if the folders are the same, "
            "a row is trained %d times an epoch; runner.split_file_list: True divides the "
            "files among ranks",
            r->size, total, r->size);
}

enum skiff_status ranks_files(const struct ranks *r, struct task *t, bool always,
                              struct task_data *data, struct file_list *files,
                              struct skiff_error *err)
{
    struct file_list all;
    bool share = config_bool(t->config, KEY_RUNNER_SPLIT_FILE_LIST) || always;
    if (ranks_alone(r))
        return SKIFF_OK;
    file_list_init(&all);
    enum skiff_status status = task_file_list(t, data, &all, err);
    if (status == SKIFF_OK && share)
        status = take_share(r, &all, !always, files, err);
    for (int i = 0; status == SKIFF_OK && !share && i < all.count; i++)
        file_list_add(files, all.paths[i]);
    if (status == SKIFF_OK) {
        print_files(r, t, all.count, share);
        data->files = (const char *const *)files->paths;
        data->nfiles = files->count;
    }
    file_list_deinit(&all);
    return status;
}

/* ---- together ---- */

void ranks_snapshot(struct metrics_snapshot *out)
{
    const struct collective *c = rings_get(0);
    if (c)
        snapshot_add(out, collective_metrics(c));
}

static enum skiff_status world(struct collective **out, struct skiff_error *err)
{
    return rings_need(0, "the ranks", out, err);
}

enum skiff_status ranks_add_up(const struct ranks *r, struct eval_metrics_sum *s,
                               struct skiff_error *err)
{
    struct collective *c;
    if (ranks_alone(r))
        return SKIFF_OK;
    int64_t *whole = mem_alloc_or_die(EVAL_METRICS_WHOLE * sizeof(*whole));
    double part[EVAL_METRICS_PART];
    eval_metrics_sum_pack(s, whole, part);
    enum skiff_status status = world(&c, err);
    if (status == SKIFF_OK)
        status =
            collective_all_reduce(c, whole, EVAL_METRICS_WHOLE, DTYPE_INT64, COLLECTIVE_SUM, err);
    if (status == SKIFF_OK)
        status = collective_all_reduce(c, part, EVAL_METRICS_PART, DTYPE_FP64, COLLECTIVE_SUM, err);
    eval_metrics_sum_unpack(s, whole, part);
    free(whole);
    return status;
}

enum skiff_status ranks_gather_scores(const struct ranks *r, struct scores *s,
                                      struct skiff_error *err)
{
    struct collective *c;
    struct scores all = {0};
    size_t bytes = 0, *sizes;
    void *got = NULL;
    if (ranks_alone(r))
        return SKIFF_OK;
    TRY(world(&c, err));
    sizes = mem_alloc_or_die((size_t)r->size * sizeof *sizes);
    enum skiff_status status =
        collective_all_gather_any(c, s->at, s->n * sizeof *s->at, &got, sizes, err);
    for (int i = 0; status == SKIFF_OK && i < r->size; i++)
        bytes += sizes[i];
    if (status == SKIFF_OK) {
        struct scores others = {.at = got, .n = bytes / sizeof *s->at, .dropped = s->dropped};
        scores_append(&all, &others);
        scores_deinit(s);
        *s = all;
    }
    mem_free(got);
    free(sizes);
    return status;
}

enum skiff_status ranks_follow(const struct ranks *r, int64_t *values, int n,
                               struct skiff_error *err)
{
    struct collective *c;
    if (ranks_alone(r))
        return SKIFF_OK;
    TRY(world(&c, err));
    return collective_broadcast(c, values, (size_t)n * sizeof(*values), 0, err);
}

enum skiff_status ranks_any(const struct ranks *r, bool *value, struct skiff_error *err)
{
    struct collective *c;
    int64_t one = *value;
    if (ranks_alone(r))
        return SKIFF_OK;
    TRY(world(&c, err));
    TRY(collective_all_reduce(c, &one, 1, DTYPE_INT64, COLLECTIVE_MAX, err));
    *value = one != 0;
    return SKIFF_OK;
}

enum skiff_status ranks_spread(const struct ranks *r, struct task *t, struct skiff_error *err)
{
    struct collective *c;
    const struct str_map *vars = &program_root(t->main)->vars;
    if (ranks_alone(r))
        return SKIFF_OK;
    TRY(world(&c, err));
    for (size_t i = 0; i < vars->count; i++) {
        const struct skiff_var *v = vars->entries[i].value;
        struct skiff_tensor *value = scope_find(t->scope, v->name);
        if (!var_persistable(v) || !value || value->kind != VALUE_TENSOR)
            continue;
        value_flush(value);
        enum skiff_status status =
            collective_broadcast(c, value->tensor.data, tensor_bytes(&value->tensor), 0, err);
        if (status < 0)
            return error_prefix(err, status, "%s of rank 0", v->name);
    }
    return SKIFF_OK;
}
