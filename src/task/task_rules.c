/* The rules for a task's data (struct data_rules), and warnings about files and names. Training
 * and check-data take their rules from here, so that both refuse the same lines: label, range of
 * ids of the model's tables, finite numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/slot_columns.h"
#include "task/task.h"
#include "executor/data_rules.h"
#include "executor/trainer.h"
#include "store/file.h"

#define ROWS_KEY "hyper_parameters.sparse_feature_number" /* in messages */

/* The key that a table's size comes from, behind the table itself. */
static void name_key(struct task *j, struct slot_rule *rule)
{
    int64_t rows = config_int_or(j->config, KEY_HYPER_SPARSE_FEATURE_NUMBER, 0);
    struct buf text = BUF_INIT;
    if (!rule->limit || rule->label || (rows && rows != rule->limit))
        return;
    buf_printf(&text, "%s: " ROWS_KEY, rule->why);
    free(rule->why);
    rule->why = mem_strdup_or_die(text.data);
    buf_deinit(&text);
}

void task_rules(struct task *j)
{
    struct data_rules *r = &j->rules;
    const struct skiff_var *label = j->vars.not_probability ? NULL : j->vars.label;
    int at = label && j->vars.predict ? schema_find(&j->schema, skiff_var_name(label)) : -1;
    const char *weight = j->vars.weight ? skiff_var_name(j->vars.weight) : "";
    data_rules_of(j->main, &j->schema, r);
    for (int i = 0; i < r->count; i++) {
        r->slots[i].finite = true;
        r->slots[i].weight = !strcmp(j->schema.slots[i].name, weight);
        name_key(j, &r->slots[i]);
    }
    if (at < 0)
        return;
    free(r->slots[at].why);
    r->slots[at] = (struct slot_rule){
        .limit = 2, .label = true, .finite = true, .why = mem_strdup_or_die("it is the label")};
}

/* The smallest table that ids of the data are looked up in; 0: none. */
static int64_t smallest_table(const struct task *j)
{
    int64_t least = 0;
    for (int i = 0; i < j->rules.count; i++) {
        const struct slot_rule *rule = &j->rules.slots[i];
        if (rule->limit && !rule->label && (!least || rule->limit < least))
            least = rule->limit;
    }
    return least;
}

void task_check_hash_size(struct task *j, const struct reader_config *r)
{
    int64_t rows = smallest_table(j);
    bool hashes = !strcmp(r->format, "criteo") || !strcmp(r->format, "csv");
    if (!r->has_hash_size || !rows || !strcmp(r->format, "multislot") ||
        !strcmp(r->format, "binary"))
        return;
    if (r->hash_size > (uint64_t)rows)
        config_refuse(j->config, KEY_RUNNER_INPUT_HASH_SIZE,
                      "is %llu, but " ROWS_KEY " is %lld: ids of %lld or more would have no row; "
                      "decrease the former or increase the latter",
                      (unsigned long long)r->hash_size, (long long)rows, (long long)rows);
    else if (!r->hash_size && hashes)
        config_refuse(j->config, KEY_RUNNER_INPUT_HASH_SIZE,
                      "is 0 (ids of 64 bits), but " ROWS_KEY
                      " is %lld: ids of %lld or more would have no row",
                      (long long)rows, (long long)rows);
}

enum skiff_status task_cache_dir(const struct dataset_config *dc, struct skiff_error *err)
{
    struct buf file = BUF_INIT;
    if (!dc->cache || !dc->cache_dir)
        return SKIFF_OK;
    buf_printf(&file, "%s/x", dc->cache_dir);
    enum skiff_status status = file_make_parents(file.data, err);
    buf_deinit(&file);
    if (status == SKIFF_OK && access(dc->cache_dir, W_OK | X_OK) < 0)
        status = error_set_sys(err, "%s: cannot create files in it", dc->cache_dir);
    return status < 0 ? error_prefix(err, status, "runner.cache_dir") : SKIFF_OK;
}

/* ---- what is reported ---- */

void task_warn_nan(struct task *j, struct trainer_options *options, const char *what, int epoch)
{
    snprintf(j->about, sizeof j->about, "%.15s %d", what, epoch);
    options->loss = skiff_var_name(j->vars.loss);
    options->about = j->about;
    options->advice = j->advice[0] ? j->advice : "train again with a lower learning_rate";
}

void task_warn_odd(void *task, const char *file, int64_t line, const char *name)
{
    const struct task *j = task;
    if (name)
        logger_warn(
            &j->logger,
            "%s:%lld: \"%s\" is not a slot of the model: its values are ignored in all lines", file,
            (long long)line, name);
    else
        logger_warn(&j->logger, "%s is empty", file);
}

static void log_slot(const struct task *j, const struct slot *slot, const struct slot_rule *rule)
{
    char limit[64] = "", title[SLOT_TITLE_MAX];
    if (rule->limit)
        snprintf(limit, sizeof limit, ", 0 to %lld", (long long)rule->limit - 1);
    logger_debug(&j->logger, "slot %s%s%s: %s, %s%s", slot->name, slot->ncolumns ? " = " : "",
                 slot->ncolumns ? slot_title(slot, -1, title) : "", dtype_name(slot->dtype),
                 slot->ragged ? "any number of values" : "dense", limit);
}

void task_warn_all(const struct task *j, const struct file_list *files)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < config_count(j->config); i++) {
        buf_reset(&text);
        config_print_at(j->config, i, &text);
        logger_debug(&j->logger, "key %s: %s", config_at(j->config, i), text.len ? text.data : "");
    }
    buf_deinit(&text);
    for (int i = 0; i < files->count; i++)
        logger_debug(&j->logger, "file %s", files->paths[i]);
    for (int i = 0; i < j->schema.count; i++)
        log_slot(j, &j->schema.slots[i], &j->rules.slots[i]);
}

void task_warn_left_out(const struct task *j, const struct file_list *files)
{
    if (files->left_out)
        logger_warn(&j->logger,
                    "%d file%s ignored, because the name is hidden or that of a backup: %s%s",
                    files->left_out, files->left_out == 1 ? " is" : "s are", files->left_out_names,
                    files->left_out > 3 ? ", ..." : "");
}
