#include "task/label.h"

#include <string.h>

#include "base/buf.h"
#include "data/label.h"

/* Can the first row of the files be read? */
static bool can_read(struct task *j, const struct dataset_config *dc, const struct file_list *files,
                     bool skip_label)
{
    struct reader_config reader;
    struct scan scan;
    struct batch b = {0};
    struct file_cursor cursor = {.files = files};
    bool can = false;
    reader_config_copy(&reader, &dc->reader);
    reader.skip_label = skip_label;
    struct scan_plan plan = {
        .schema = &j->schema, .reader = &reader, .pipe_command = dc->pipe_command};
    if (scan_open(&scan, &plan, NULL) == SKIFF_OK) {
        can = batch_init(&b, &j->schema, 1, NULL) == SKIFF_OK &&
              scan_fill(&scan, &cursor, &b, 1, NULL) == SKIFF_OK;
        scan_close(&scan);
    }
    if (b.schema)
        batch_deinit(&b);
    reader_config_deinit(&reader);
    return can;
}

static bool lacks_label(struct task *j, const struct task_data *data)
{
    struct dataset_config dc;
    struct file_list files;
    const char *const *names;
    int n;
    bool lacks = false, again = true;
    if (task_dataset_config(j, data, &dc, NULL) < 0)
        return false;
    file_list_init(&files);
    if (task_files(j, data, &names, &n, NULL) == SKIFF_OK)
        for (int i = 0; i < n; i++) {
            again &= strcmp(names[i], "-") != 0; /* standard input can be read once */
            (void)file_list_expand(&files, names[i], NULL);
        }
    if (files.count && again)
        lacks = !can_read(j, &dc, &files, false) && can_read(j, &dc, &files, true);
    file_list_deinit(&files);
    reader_config_deinit(&dc.reader);
    return lacks;
}

/* The label is there, and the message says what is wrong with it. In a CSV file that is so of a
 * text in a column of labels, too; elsewhere it is the first word of a row that has none. */
static bool is_unknown(struct task *j, const struct skiff_error *err)
{
    bool csv = !strcmp(config_text_or(j->config, KEY_RUNNER_INPUT_FORMAT, ""), "csv");
    return strstr(err->message, LABEL_UNKNOWN) ||
           (csv && strstr(err->message, "for labels that are text"));
}

void label_explain(struct task *j, const struct task_data *data, struct skiff_error *err)
{
    bool about_data =
        err->code == SKIFF_FORMAT || err->code == SKIFF_NOT_FOUND || err->code == SKIFF_RANGE;
    if (about_data && !is_unknown(j, err) && lacks_label(j, data))
        error_prefix(err, err->code,
                     "%s has rows without labels, which cannot be evaluated; skiff predict %s "
                     "predicts them",
                     key_name(data->dir_key), config_name(j->config));
}
