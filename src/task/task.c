/* A task: what is made of a config (task.h): storage, model, programs, parameters.
 *
 * task_open builds everything in a fixed order, because each step needs the one before: config,
 * storage, model, network, optimizer, rules of the data. Values are checked while they are read;
 * task_check reports a wrong one after everything was read. The seed of runner.seed gives every
 * random op its own seed, so that the start does not depend on the number of threads. */
#include "task/task.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <skiff/mode.h>

#include "fleet/settings.h"
#include "base/buf.h"
#include "base/near.h"
#include "task/saved_tables.h"
#include "executor/executor.h"
#include "fs/fs.h"
#include "program/op_kind.h"

/* ---- keys ---- */

struct once_logged {
    const struct task_args *args;
    char first[700];
};

static void report_unknown(void *arg, bool likely, const char *text)
{
    struct once_logged *t = arg;
    if (likely && !t->first[0])
        snprintf(t->first, sizeof(t->first), "%s", text);
    else if (t->args->on_unknown)
        t->args->on_unknown(t->args->on_unknown_user, text);
}

enum skiff_status task_check(struct task *j, struct skiff_error *err)
{
    struct once_logged reported = {.args = j->args};
    config_read_all(j->config); /* also keys that are read later, or by other commands */
    TRY(config_check(j->config, err));
    if (config_unknown(j->config, report_unknown, &reported))
        return error_set(err, SKIFF_INVALID, "%s", reported.first);
    return SKIFF_OK;
}

/* ---- open, close ---- */

/* NULL: the key is not set, and the default is somebody else's choice. */
static const char *text_if_set(struct config *c, enum config_key key)
{
    return config_has(c, key) ? config_text(c, key) : NULL;
}

/* Outside of a job it has no effect; a job would run in another mode than the one meant. */
static enum skiff_status check_mode(struct config *c, struct skiff_error *err)
{
    static const char *const others[] = {"collective", "gpubox", "heter"};
    enum config_key key =
        config_has(c, KEY_RUNNER_SYNC_MODE) ? KEY_RUNNER_SYNC_MODE : KEY_OPTIMIZER_STRATEGY;
    const char *mode = text_if_set(c, key);
    enum skiff_split_mode known;
    char lower[32] = "";
    for (size_t i = 0; mode && mode[i] && i + 1 < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)mode[i]);
    struct near near = near_to(lower);
    if (!mode || skiff_mode_find(mode, &known))
        return SKIFF_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!strcasecmp(mode, others[i]))
            return SKIFF_OK;
        near_try(&near, others[i]);
    }
    for (int i = 0; i < 16; i++)
        if (strcmp(skiff_mode_name((enum skiff_split_mode)i), "unknown") != 0)
            near_try(&near, skiff_mode_name((enum skiff_split_mode)i));
    return error_set(err, SKIFF_INVALID, "%s: %s is %s; expected %s, or collective%s%s%s",
                     config_name(c), key_name(key), mode, skiff_mode_names(),
                     near.best ? "; did you mean " : "", near.best ? near.best : "",
                     near.best ? "?" : "");
}

enum skiff_status task_check_values(struct config *c, struct skiff_error *err)
{
    struct skiff_optimizer_options optimizer = {0};
    struct reader_config reader = {0};
    TRY(check_mode(c, err));
    task_optimizer(c, &optimizer);
    enum skiff_status status = task_reader(c, &reader, err);
    reader_config_deinit(&reader);
    return status < 0 ? status : config_check(c, err);
}

static enum skiff_status make_schema(struct task *j, struct skiff_error *err)
{
    for (int i = 0; i < j->vars.ninputs; i++) {
        const struct skiff_var *v = j->vars.inputs[i];
        TRY(schema_add(&j->schema, v->name, v->dtype, v->lod_level, &v->shape, err));
    }
    return SKIFF_OK;
}

static enum skiff_status build(struct task *j, enum task_use use, struct skiff_error *err)
{
    bool given = j->args->net, train = use == TASK_TRAINS;
    TRY(given ? task_model_given(j, err) : task_model_open(j, err));
    if (!given) {
        j->net = skiff_net_create();
        TRY(task_model_build(j, err));
        if (use != TASK_PREDICTS)
            TRY(task_weigh(j, err));
    }
    if (train && !given) {
        TRY(task_count_clicks(j, err));
        TRY(task_minimize(j, err));
    } else {
        member_know(j->config, KEY_OPTIMIZER, NULL);
    }
    j->main = skiff_net_main(j->net);
    j->startup = skiff_net_startup(j->net);
    TRY(make_schema(j, err));
    task_name_columns(j);
    task_rules(j);
    return SKIFF_OK;
}

const char *task_transport(const struct task_args *a, struct config *c)
{
    const char *env = getenv("SKIFF_TRANSPORT"), *own = text_if_set(c, KEY_RUNNER_TRANSPORT);
    return a->transport ? a->transport : env && *env ? NULL : own;
}

static bool is_set(const char *name)
{
    const char *text = getenv(name);
    return text && *text;
}

void task_security(const struct task_args *a, struct config *c, struct settings_security *out)
{
    const char *encrypt = text_if_set(c, KEY_SECURITY_ENCRYPT);
    const char *file = config_path(c, KEY_SECURITY_SECRET_FILE);
    bool insecure = config_bool(c, KEY_SECURITY_INSECURE);
    bool has_secret = is_set("SKIFF_SECRET") || is_set("SKIFF_SECRET_FILE");
    *out = (struct settings_security){.encrypt = a->encrypt                ? a->encrypt
                                                 : is_set("SKIFF_ENCRYPT") ? NULL
                                                                           : encrypt,
                                      .secret_file = a->secret_file ? a->secret_file
                                                     : has_secret   ? NULL
                                                                    : file,
                                      .insecure = a->insecure || insecure};
}

/* A folder of that name must not look like an epoch, nor lead elsewhere. */
static enum skiff_status check_name(const char *name, struct skiff_error *err)
{
    if (!name || (name[0] && name[0] != '.' && name[strspn(name, "0123456789")] != '\0' &&
                  !strchr(name, '/') && strcmp(name, "best")))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "--name \"%s\": expected the name of a folder: not a number alone (that is an "
                     "epoch), nor best, without /, not beginning with a dot",
                     name);
}

static const char *model_path_of(struct task *j, const char *path)
{
    size_t n = strlen(path);
    while (fs_is_remote(path) && n > 1 && path[n - 1] == '/') /* would be a part of keys of S3 */
        n--;
    if (!j->name && !path[n])
        return path;
    buf_reset(&j->model_path);
    buf_add(&j->model_path, path, n);
    if (j->name)
        buf_printf(&j->model_path, "/%s", j->name);
    return j->model_path.data;
}

const char *task_save_path(struct task *j)
{
    return model_path_of(j, config_path(j->config, KEY_RUNNER_MODEL_SAVE_PATH));
}

const char *task_load_path(struct task *j)
{
    return model_path_of(j, config_path(j->config, KEY_RUNNER_INFER_LOAD_PATH));
}

enum skiff_status task_open(struct task *j, const struct task_args *args, enum task_use use,
                            struct skiff_error *err)
{
    *j = (struct task){.args = args, .logger = args->logger};
    schema_init(&j->schema);
    j->metrics = metrics_create(NULL, 0);
    enum skiff_status status = args->config ? config_open(args->config, &j->config, err)
                                            : config_parse("", 0, "options", &j->config, err);
    for (int i = 0; status == SKIFF_OK && i < args->overrides.n; i++)
        status = config_override(j->config, args->overrides.at[i], err);
    if (status == SKIFF_OK && args->group)
        status = config_set(j->config, KEY_RUNNER_GROUP_COLUMN, args->group, err);
    j->name = args->name;
    if (status == SKIFF_OK)
        status = check_name(args->name, err);
    if (status == SKIFF_OK) {
        member_know(j->config, KEY_TABLE_PARAMETERS, NULL);
        j->scope = scope_create();
        status = config_aliases(j->config, err);
    }
    if (status == SKIFF_OK)
        status = check_mode(j->config, err);
    if (status == SKIFF_OK)
        status = task_storage(j->config, err);
    if (status == SKIFF_OK)
        task_pipe_environment(j);
    if (status == SKIFF_OK)
        status = build(j, use, err);
    if (status < 0)
        task_close(j);
    return status;
}

void task_close(struct task *j)
{
    saved_tables_close(j->saved_tables);
    buf_deinit(&j->pipe);
    buf_deinit(&j->model_path);
    schema_deinit(&j->schema);
    rules_deinit(&j->rules);
    scope_destroy(j->scope);
    if (j->args && !j->args->net)
        skiff_net_destroy(j->net);
    task_model_close(j);
    config_close(j->config);
    metrics_destroy(j->metrics);
    *j = (struct task){0};
}

int task_threads(struct task *j)
{
    return (int)config_int(j->config, KEY_RUNNER_THREAD_NUM);
}

/* ---- initial values ---- */

static int32_t mixed_seed(uint64_t seed, uint64_t index)
{
    uint64_t x = seed + (index + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return (int32_t)(x % 2147483646u) + 1;
}

/* A seed for every op that has none: one seed for all of them would start equal layers with equal
 * weights. */
static void seed_ops(struct skiff_program *startup, uint64_t seed)
{
    const struct skiff_block *b = program_root(startup);
    for (int i = 0; i < b->nops; i++) {
        struct skiff_op *op = b->ops[i];
        if (!op->kind || !(op->kind->flags & OP_RANDOM))
            continue;
        const struct op_attr_value *a = op_attr(op, "seed");
        if (!a || !a->value.i)
            op_set_int(startup, op, "seed", mixed_seed(seed, (uint64_t)i));
    }
}

const char *task_start_path(struct task *j)
{
    const char *init = config_path(j->config, KEY_RUNNER_MODEL_INIT_PATH);
    return init ? init : config_path(j->config, KEY_RUNNER_WARMUP_MODEL_PATH);
}

uint64_t task_seed(struct task *j)
{
    uint64_t seed = (uint64_t)config_int(j->config, KEY_RUNNER_SEED);
    seed_ops(j->startup, seed);
    return seed;
}

enum skiff_status task_startup(struct task *j, struct skiff_error *err)
{
    uint64_t seed = task_seed(j);
    struct skiff_executor *e =
        executor_create(j->scope, &(struct executor_options){.seed = seed, .has_seed = true});
    enum skiff_status status = executor_run(e, j->startup, NULL, 0, NULL, 0, NULL, err);
    executor_destroy(e);
    j->started = status == SKIFF_OK;
    return status;
}
