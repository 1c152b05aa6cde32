/* skiff _generate: man pages and completions, for the build. */
#include <stdio.h>
#include <string.h>

#include "cli/generate.h"
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

static enum skiff_status write_man(const char *folder, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    man_skiff(&text);
    TRY(write_file(folder, "skiff.1", &text, err));
    buf_str(&text, ".so man1/skiff-launch.1\n");
    TRY(write_file(folder, "fleetrun.1", &text, err));
    for (const struct command *const *c = command_all(); *c; c++) {
        char name[64];
        snprintf(name, sizeof name, "skiff-%s.1", (*c)->name);
        if (!(*c)->summary)
            continue;
        man_command(*c, &text);
        TRY(write_file(folder, name, &text, err));
    }
    return SKIFF_OK;
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

static int run(const struct command_call *call)
{
    struct skiff_error err = {0};
    if (call->nwords != 2)
        return command_usage(call->name, "expected man DIR or completions DIR");
    bool man = !strcmp(call->words[0], "man");
    if (!man && strcmp(call->words[0], "completions"))
        return command_usage(call->name, "expected man or completions, found %s", call->words[0]);
    enum skiff_status status =
        man ? write_man(call->words[1], &err) : write_completions(call->words[1], &err);
    return status < 0 ? command_fail(call->name, &err) : 0;
}

const struct command command_generate = {
    .name = "_generate",
    .usage = "man DIR\ncompletions DIR",
    .text = "Writes man pages, or completions for bash, zsh and fish, into a folder.",
    .run = run};
