/* Pages of docs/reference/commands, one for each command and an index. All text is escaped for
 * Markdown; names of pages below docs/ become links. tests/source/run_generated.sh compares the
 * pages in the tree with what this file writes. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/generate.h"
#include "config/keys.h"
#include "fleet/settings.h"

#define WIDTH 120

/* The length of "docs/<folder>/<name>.md" at the beginning of text; 0: something else. */
static size_t page_length(const char *text)
{
    if (strncmp(text, "docs/", 5))
        return 0;
    size_t n = 5 + strspn(text + 5, "abcdefghijklmnopqrstuvwxyz-/");
    return strncmp(text + n, ".md", 3) ? 0 : n + 3;
}

/* A character that Markdown would take for more than itself. Underscores within words are none. */
static bool is_special(const char *text, char before)
{
    if (*text == '_')
        return !isalnum((unsigned char)before) || !isalnum((unsigned char)text[1]);
    return strchr("*<[|\\", *text) != NULL;
}

/* Text as it is; pages of docs/ become links. */
static void add_text(struct buf *out, const char *text)
{
    bool code = false; /* between backquotes */
    for (char before = ' '; *text; before = *text++) {
        size_t n = page_length(text);
        if (n && !code) {
            buf_printf(out, "[%.*s](../../%.*s)", (int)n, text, (int)n - 5, text + 5);
            text += n - 1;
            continue;
        }
        code ^= *text == '`';
        if (!code && is_special(text, before))
            buf_char(out, '\\');
        buf_char(out, *text);
    }
}

static void add_paragraphs(struct buf *out, const char *text)
{
    struct buf escaped = BUF_INIT;
    add_text(&escaped, text);
    buf_char(out, '\n');
    buf_wrap(out, escaped.data, 0, 0, WIDTH);
    buf_char(out, '\n');
    buf_deinit(&escaped);
}

/* One form a line, as code. */
static void add_usage(struct buf *out, const char *name, const char *usage)
{
    while (*usage) {
        size_t n = strcspn(usage, "\n");
        buf_printf(out, "    skiff %s%s%.*s\n", name, n ? " " : "", (int)n, usage);
        usage += n + (usage[n] == '\n');
    }
}

static void add_row(struct buf *out, const char *head, const char *text)
{
    buf_str(out, "| `");
    for (const char *c = head; *c; c++) /* "on|off" would end the cell */
        buf_printf(out, *c == '|' ? "\\%c" : "%c", *c);
    buf_str(out, "` | ");
    add_text(out, text);
    buf_str(out, " |\n");
}

static void add_options(struct buf *out, const struct command *c)
{
    struct buf head = BUF_INIT, text = BUF_INIT;
    bool head_due = true;
    for (const struct option *row = c->options ? c->options->rows : NULL; row && row->name; row++) {
        if (!option_shown(row))
            continue;
        if (row->group) {
            buf_printf(out, "\n**%c%s**\n", toupper((unsigned char)*row->group), row->group + 1);
            head_due = true;
        }
        buf_str(out, head_due ? "\n| flag | meaning |\n|---|---|\n" : "");
        head_due = false;
        buf_reset(&head);
        buf_reset(&text);
        option_flag(row, &head);
        option_sentence(row, &text);
        add_row(out, head.data, text.data);
    }
    buf_reset(&text);
    command_flags(c, OPTION_IGNORED, &text);
    if (text.len) {
        buf_reset(&head);
        buf_printf(&head, "Accepted for Paddle's launchers and ignored: %s.", text.data);
        add_paragraphs(out, head.data);
    }
    buf_deinit(&head);
    buf_deinit(&text);
}

static void add_more(struct buf *out, const struct command *c)
{
    struct buf more = BUF_INIT;
    if (!c->more)
        return;
    c->more(&more);
    buf_printf(out, "\n```\n%s```\n", more.data + strspn(more.data, "\n"));
    buf_deinit(&more);
}

static void add_examples(struct buf *out, const struct command *c)
{
    if (c->examples)
        buf_printf(out, "\n**Examples**\n\n```\n%s\n```\n", c->examples);
}

static void add_head(struct buf *out, const char *title)
{
    buf_printf(out, "<!-- made by `make docs` from the tables in src/cli -->\n# %s\n", title);
}

void markdown_command(const struct command *c, struct buf *out)
{
    char name[64];
    snprintf(name, sizeof name, "skiff %s", c->name);
    add_head(out, name);
    buf_char(out, '\n');
    for (const struct command *p = c->parts; p && p->name; p++) {
        snprintf(name, sizeof name, "%s %s", c->name, p->name);
        add_usage(out, name, p->usage);
    }
    if (!c->parts)
        add_usage(out, c->name, c->usage);
    add_paragraphs(out, c->text);
    add_options(out, c);
    add_more(out, c);
    for (const struct command *p = c->parts; p && p->name; p++) {
        buf_printf(out, "\n## %s: ", p->name);
        add_text(out, p->summary);
        buf_char(out, '\n');
        add_paragraphs(out, p->text);
        add_options(out, p);
    }
    add_examples(out, c);
}

void markdown_index(struct buf *out)
{
    add_head(out, "The command skiff");
    buf_str(out, "\n    skiff COMMAND [ARGUMENTS]\n");
    for (enum command_group group = 0; group < COMMAND_GROUPS; group++) {
        const char *name = command_group_name(group);
        buf_printf(out, "\n**%c%s**\n\n| command | does |\n|---|---|\n",
                   toupper((unsigned char)*name), name + 1);
        for (const struct command *const *c = command_all(); *c; c++)
            if ((*c)->summary && (*c)->group == group) {
                buf_printf(out, "| [%s](%s.md) | ", (*c)->name, (*c)->name);
                add_text(out, (*c)->summary);
                buf_str(out, " |\n");
            }
    }
    add_paragraphs(out,
                   "`skiff COMMAND --help`, `skiff help COMMAND` and `man skiff-COMMAND` have the "
                   "same text as these pages. `skiff --version` prints the version. Exit status: 0 "
                   "done; 1 failed, the reason is the last line on standard error; 2 wrong "
                   "usage.");
    buf_str(out, "\n## Environment\n");
    add_paragraphs(out, "Variables that the processes of a job read (docs/guide/distributed.md).");
    buf_str(out, "\n| variable | meaning |\n|---|---|\n");
    for (const struct option *row = settings_options.rows; row->name; row++)
        add_row(out, row->name, row->help);
}

/* ---- the page of keys ---- */

#define KEYS_BEGIN "<!-- keys: "
#define KEYS_END "<!-- end of keys -->\n"

/* From the mark at `page` to behind its end; NULL: wrong. */
static const char *add_group(struct buf *out, const char *page, struct skiff_error *err)
{
    char group[64];
    const char *name = page + strlen(KEYS_BEGIN), *end = strstr(page, KEYS_END);
    snprintf(group, sizeof group, "%.*s", (int)strcspn(name, ">\n") - 3, name);
    if (!end) {
        error_set(err, SKIFF_FORMAT, "the table of keys \"%s\" has no end: " KEYS_END, group);
        return NULL;
    }
    buf_printf(out, KEYS_BEGIN "%s -->\n", group);
    if (!key_print_group(group, out)) {
        error_set(err, SKIFF_FORMAT, "config/key_list.h has no group \"%s\"", group);
        return NULL;
    }
    buf_str(out, KEYS_END);
    return end + strlen(KEYS_END);
}

enum skiff_status markdown_keys(const char *page, struct buf *out, struct skiff_error *err)
{
    for (const char *mark; (mark = strstr(page, KEYS_BEGIN));) {
        buf_add(out, page, (size_t)(mark - page));
        page = add_group(out, mark, err);
        if (!page)
            return SKIFF_FORMAT;
    }
    buf_str(out, page);
    for (int i = KEY_NONE + 1; i < KEY_COUNT; i++) {
        char cell[128];
        snprintf(cell, sizeof cell, "\n| `%s` |", key_name((enum config_key)i));
        if (!strstr(out->data, cell))
            return error_set(err, SKIFF_FORMAT, "no table of the page has the group \"%s\"",
                             key_group((enum config_key)i));
    }
    return SKIFF_OK;
}
