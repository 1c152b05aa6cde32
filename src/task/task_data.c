/* Keys of `runner` to datasets: files, reader, batch size, shuffle, limits, pipe commands.
 *
 * Training and inference differ only in the names of some keys (struct task_data). Relative
 * folders are relative to the config, as in PaddleRec. When an epoch has no sample,
 * task_no_samples finds the reason: no files, only bad lines, or no full batch. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/plural.h"
#include "task/python_env.h"
#include "task/task.h"
#include "data/line_format.h"
#include "data/pipe.h"
#include "data/slot_columns.h"
#include "store/file.h"

const struct task_data task_data_train = {.dir_key = KEY_RUNNER_TRAIN_DATA_DIR,
                                          .batch_key = KEY_RUNNER_TRAIN_BATCH_SIZE};
const struct task_data task_data_infer = {.dir_key = KEY_RUNNER_TEST_DATA_DIR,
                                          .batch_key = KEY_RUNNER_INFER_BATCH_SIZE};

static enum skiff_status set_from(struct config *c, enum config_key config_key, const char *key,
                                  struct reader_config *r, struct skiff_error *err)
{
    const char *const *words;
    int n = config_list(c, config_key, &words);
    if (n < 0)
        return SKIFF_OK;
    if (n > 1 && (!strcmp(key, "positive") || !strcmp(key, "negative")))
        return error_set(
            err, SKIFF_INVALID, "%s: %s: one label is expected, found a list of %d (%s, %s%s)",
            config_name(c), key_name(config_key), n, words[0], words[1], n > 2 ? ", ..." : "");
    struct buf text = BUF_INIT;
    for (int i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i ? "\n" : "", words[i]);
    const char *value = text.data ? text.data : "";
    if (!strcmp(key, "stats"))
        value = config_path(c, config_key);
    enum skiff_status status = reader_config_set(r, key, value, err);
    buf_deinit(&text);
    return status < 0 ? error_prefix(err, status, "%s: %s", config_name(c), key_name(config_key))
                      : SKIFF_OK;
}

/* Ids of hashed values stay inside the model's table unless the user says otherwise. */
static enum skiff_status set_hash_size(struct task *j, struct reader_config *r,
                                       struct skiff_error *err)
{
    char size[32];
    int64_t rows = config_int_or(j->config, KEY_HYPER_SPARSE_FEATURE_NUMBER, 0);
    if (r->has_hash_size || rows <= 0 || !r->format || strcmp(r->format, "criteo"))
        return SKIFF_OK;
    snprintf(size, sizeof(size), "%lld", (long long)rows);
    return reader_config_set(r, "hash_size", size, err);
}

enum skiff_status task_reader(struct config *c, struct reader_config *r, struct skiff_error *err)
{
    bool piped = config_has(c, KEY_RUNNER_PIPE_COMMAND);
    const char *format =
        config_text_or(c, KEY_RUNNER_INPUT_FORMAT, piped ? "multislot" : "slot_text");
    if (!reader_find(format)) {
        struct buf names = BUF_INIT;
        for (const struct reader_class *const *known = reader_all(); *known; known++)
            buf_printf(&names, "%s%s", names.len ? ", " : "", (*known)->name);
        enum skiff_status status = error_set(
            err, SKIFF_NOT_FOUND, "%s: runner.input_format: unknown reader %s; expected one of %s",
            config_name(c), format, names.data);
        buf_deinit(&names);
        return status;
    }
    TRY(reader_config_set(r, "format", format, err));
    /* runner.input_<setting>; those of Paddle's datasets have their own names */
    for (const struct option *row = reader_options.rows; row->name; row++) {
        char key[64];
        bool own = !strncmp(row->name, "parse_", 6);
        snprintf(key, sizeof(key), "runner.%s%s", own ? "" : "input_", row->name);
        if (strcmp(row->name, "format"))
            TRY(set_from(c, key_find(key), row->name, r, err));
    }
    return SKIFF_OK;
}

static enum skiff_status read_reader(struct task *j, struct reader_config *r,
                                     struct skiff_error *err)
{
    TRY(task_reader(j->config, r, err));
    TRY(task_weigh_columns(j, r, err));
    TRY(set_hash_size(j, r, err));
    task_check_hash_size(j, r);
    return SKIFF_OK;
}

void task_name_columns(struct task *j)
{
    static const struct {
        enum config_key key;
        const char *name;
    } settings[] = {{KEY_RUNNER_INPUT_FORMAT, "format"},
                    {KEY_RUNNER_INPUT_HEADER, "header"},
                    {KEY_RUNNER_INPUT_COLUMNS, "columns"},
                    {KEY_RUNNER_INPUT_STATS, "stats"}};
    struct reader_config r;
    enum skiff_status status = SKIFF_OK;
    reader_config_init(&r);
    for (size_t i = 0; status == SKIFF_OK && i < sizeof settings / sizeof *settings; i++)
        status = set_from(j->config, settings[i].key, settings[i].name, &r, NULL);
    if (status == SKIFF_OK)
        slot_columns_read(&j->schema, &r);
    reader_config_deinit(&r);
}

/* The command of the config, or NULL: files are read directly. */
static const char *own_command(struct task *j)
{
    const char *command = config_text(j->config, KEY_RUNNER_PIPE_COMMAND);
    bool unused = config_has(j->config, KEY_RUNNER_INPUT_FORMAT) || pipe_is_plain(command);
    return unused ? NULL : command;
}

void task_pipe_environment(struct task *j)
{
    struct skiff_error err = {0};
    struct buf python = BUF_INIT;
    if (own_command(j) && python_env_set(&python, &err) < 0)
        logger_debug(&j->logger, "pipe commands cannot import Skiff's Python packages: %s",
                     err.message);
    buf_deinit(&python);
}

/* PaddleRec runs "<command> <yaml> <folder of its utils>" where the config lies. The arguments are
 * given to Python scripts only: cat or awk would take them for files. */
static const char *pipe_of(struct task *j)
{
    const char *command = own_command(j);
    if (!command)
        return NULL;
    size_t n = strlen(command);
    const char *folder = config_folder(j->config), *slash = strrchr(config_name(j->config), '/');
    const char *yaml = slash ? slash + 1 : config_name(j->config);
    buf_reset(&j->pipe);
    buf_printf(&j->pipe, "cd '%s' && %s", folder, command);
    if (strstr(command, "python") && n > 3 && !strcmp(command + n - 3, ".py"))
        buf_printf(&j->pipe, " '%s/%s' '%s/../../../tools/utils'", folder, yaml, folder);
    return j->pipe.data;
}

void task_warn_pipe(struct task *j, double share, const char *file)
{
    const char *format = file ? file_line_format(file) : NULL;
    struct buf advice = BUF_INIT;
    if (format)
        buf_printf(&advice,
                   "%s looks like %s, which Skiff reads without a command: set "
                   "runner.input_format: %s in its place",
                   file, format, format);
    else
        buf_str(&advice, "runner.input_format reads many formats without a command");
    logger_warn(&j->logger,
                "the pipe command '%s' takes %.0f %% of the time (runner.pipe_command); %s "
                "(docs/guide/data.md)",
                config_text(j->config, KEY_RUNNER_PIPE_COMMAND), 100 * share, advice.data);
    buf_deinit(&advice);
}

bool task_in_memory(struct task *j)
{
    enum { IN_MEMORY = 3 }; /* of the words of the key */
    return config_word(j->config, KEY_RUNNER_READER_TYPE) == IN_MEMORY;
}

static void warn_idle(void *task, const char *file, int64_t lines)
{
    const struct task *j = task;
    logger_warn(&j->logger, "%s: %lld line%s read since its last sample", file, (long long)lines,
                plural(lines));
}

enum skiff_status task_dataset_config(struct task *j, const struct task_data *data,
                                      struct dataset_config *out, struct skiff_error *err)
{
    struct config *c = j->config;
    dataset_config_init(out);
    out->kind = task_in_memory(j) ? DATASET_MEMORY : DATASET_QUEUE;
    out->schema = &j->schema;
    out->pipe_command = pipe_of(j);
    out->threads = task_threads(j);
    out->split_files = true;
    out->batch_size = config_int(c, data->batch_key);
    out->drop_last = config_bool(c, KEY_RUNNER_DROP_LAST);
    out->cache_dir = config_path(c, KEY_RUNNER_CACHE_DIR);
    out->cache = config_bool_or(c, KEY_RUNNER_CACHE, out->cache_dir != NULL);
    out->bad_limit = config_int(c, KEY_RUNNER_BAD_LINES);
    out->unpack_ratio = config_int(c, KEY_RUNNER_UNPACK_RATIO);
    out->idle_lines = config_int(c, KEY_RUNNER_IDLE_LINES);
    out->on_idle = warn_idle;
    out->on_idle_arg = j;
    out->keep_ids = config_bool(c, KEY_RUNNER_NEED_DUMP);
    out->on_odd = task_warn_odd;
    out->rules = &j->rules;
    out->on_bad_arg = j;
    out->metrics = j->metrics;
    enum skiff_status status = read_reader(j, &out->reader, err);
    if (status == SKIFF_OK)
        status = config_check(c, err);
    if (status < 0)
        reader_config_deinit(&out->reader);
    return status;
}

enum skiff_status task_files(struct task *j, const struct task_data *data,
                             const char *const **out_names, int *out_count, struct skiff_error *err)
{
    if (data->files) {
        *out_names = data->files;
        *out_count = data->nfiles;
        return SKIFF_OK;
    }
    int n = config_paths(j->config, data->dir_key, out_names);
    const char *like = n < 1 ? config_like(j->config, data->dir_key) : NULL;
    if (n < 1)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: %s is required: a folder, files or patterns%s%s%s",
                         config_name(j->config), key_name(data->dir_key), like ? "; what is " : "",
                         like ? like : "", like ? "?" : "");
    *out_count = n;
    return SKIFF_OK;
}

enum skiff_status task_file_list(struct task *j, const struct task_data *data,
                                 struct file_list *out, struct skiff_error *err)
{
    const char *const *names;
    int n;
    TRY(task_files(j, data, &names, &n, err));
    for (int i = 0; i < n; i++)
        TRY(file_list_expand(out, names[i], err));
    return SKIFF_OK;
}

enum skiff_status task_no_samples(struct task *j, const struct task_data *data,
                                  const struct dataset *d, struct skiff_error *err)
{
    if (dataset_bad_lines(d))
        return error_set(err, SKIFF_NOT_FOUND,
                         "no samples in %s: skipped %lld bad line%s (runner.bad_lines); skiff "
                         "check-data prints their errors",
                         key_name(data->dir_key), (long long)dataset_bad_lines(d),
                         plural(dataset_bad_lines(d)));
    if (config_bool(j->config, KEY_RUNNER_DROP_LAST))
        return error_set(err, SKIFF_NOT_FOUND,
                         "no batch is full: %s has fewer samples than %s (%lld) for each thread, "
                         "and runner.drop_last drops incomplete batches; use smaller batches or "
                         "set drop_last to False",
                         key_name(data->dir_key), key_name(data->batch_key),
                         (long long)config_int(j->config, data->batch_key));
    return error_set(err, SKIFF_NOT_FOUND, "no samples in %s", key_name(data->dir_key));
}

enum skiff_status task_dataset_open(struct task *j, const struct task_data *data,
                                    struct dataset **out, struct skiff_error *err)
{
    struct dataset_config dc;
    struct dataset *d = NULL;
    const char *const *names;
    int count;
    TRY(task_dataset_config(j, data, &dc, err));
    enum skiff_status status = task_cache_dir(&dc, err);
    bool placed = status == SKIFF_OK;
    if (placed)
        status = dataset_create(&dc, &d, err);
    if (status == SKIFF_OK)
        status = task_files(j, data, &names, &count, err);
    if (status == SKIFF_OK)
        status = dataset_set_files(d, names, count, err);
    reader_config_deinit(&dc.reader);
    if (status < 0) {
        dataset_destroy(d);
        return placed ? error_prefix(err, status, "%s",
                                     data->files ? "files" : key_name(data->dir_key))
                      : status;
    }
    task_warn_left_out(j, dataset_files(d));
    task_warn_all(j, dataset_files(d));
    *out = d;
    return SKIFF_OK;
}
