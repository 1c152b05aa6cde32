/* skiff _generate: man pages and completions, for the build; pages of docs/reference/commands, the
 * tables of keys in docs/reference/configuration.md, and the list in docs/reference/metrics.md. */
#include <stdio.h>
#include <string.h>

#include "cli/generate.h"
#include "metrics/metrics.h"
#include "store/file.h"

static enum skiff_status write_file(const char *folder, const char *name, struct buf *text,
                                    struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", folder, name);
    enum skiff_status status = file_write(path.data, text->data, text->len, err);
    buf_deinit(&path);
    buf_deinit(text);
    return status;
}

/* A file for every command that is listed. */
static enum skiff_status write_commands(const char *folder, const char *name_format,
                                        void (*add)(const struct command *c, struct buf *out),
                                        struct skiff_error *err)
{
    for (const struct command *const *c = command_all(); *c; c++) {
        struct buf text = BUF_INIT, name = BUF_INIT;
        if (!(*c)->summary)
            continue;
        buf_printf(&name, name_format, (*c)->name);
        add(*c, &text);
        enum skiff_status status = write_file(folder, name.data, &text, err);
        buf_deinit(&name);
        TRY(status);
    }
    return SKIFF_OK;
}

static enum skiff_status write_man(const char *folder, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    man_skiff(&text);
    TRY(write_file(folder, "skiff.1", &text, err));
    buf_str(&text, ".so man1/skiff-launch.1\n");
    TRY(write_file(folder, "fleetrun.1", &text, err));
    return write_commands(folder, "skiff-%s.1", man_command, err);
}

static enum skiff_status write_markdown(const char *folder, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    markdown_index(&text);
    TRY(write_file(folder, "README.md", &text, err));
    return write_commands(folder, "%s.md", markdown_command, err);
}

/* configuration.md of the folder, with its tables anew. */
static enum skiff_status write_keys(const char *folder, struct skiff_error *err)
{
    struct buf path = BUF_INIT, page = BUF_INIT, text = BUF_INIT;
    buf_printf(&path, "%s/configuration.md", folder);
    enum skiff_status status = file_read(path.data, &page, err);
    if (status == SKIFF_OK)
        status = markdown_keys(page.len ? page.data : "", &text, err);
    if (status == SKIFF_OK)
        status = file_write(path.data, text.data, text.len, err);
    else
        error_prefix(err, status, "%s", path.data);
    buf_deinit(&path);
    buf_deinit(&page);
    buf_deinit(&text);
    return status;
}

static enum skiff_status write_completions(const char *folder, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    complete_bash(&text);
    TRY(write_file(folder, "bash/skiff", &text, err));
    complete_zsh(&text);
    TRY(write_file(folder, "zsh/_skiff", &text, err));
    complete_fish(&text);
    return write_file(folder, "fish/skiff.fish", &text, err);
}

static enum skiff_status write_metrics(const char *folder, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    metrics_markdown(&text);
    return write_file(folder, "metrics.md", &text, err);
}

static const struct {
    const char *name;
    enum skiff_status (*write)(const char *folder, struct skiff_error *err);
} kinds[] = {{"man", write_man},
             {"markdown", write_markdown},
             {"completions", write_completions},
             {"keys", write_keys},
             {"metrics", write_metrics}};

static int run(const struct command_call *call)
{
    struct skiff_error err = {0};
    if (call->nwords != 2)
        return command_usage(call->name,
                             "expected man, markdown, completions, keys or metrics, and a folder");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(call->words[0], kinds[i].name))
            return kinds[i].write(call->words[1], &err) < 0 ? command_fail(call->name, &err) : 0;
    return command_usage(call->name,
                         "expected man, markdown, completions, keys or metrics, found %s",
                         call->words[0]);
}

const struct command command_generate = {
    .name = "_generate",
    .usage = "man DIR\nmarkdown DIR\ncompletions DIR\nkeys DIR\nmetrics DIR",
    .text = "Writes man pages, pages of docs/reference/commands, "
            "completions for bash, zsh and fish, or a list of "
            "all metrics, into a folder. keys: makes the tables of configuration.md there anew.",
    .run = run};
