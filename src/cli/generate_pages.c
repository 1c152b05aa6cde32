/* Pages about commands, made from the tables of commands and flags: man pages in the language of
 * man(7), and Markdown for docs/reference/commands. One walk over the tables (write_command); what
 * differs is data in a struct page_format.
 *
 * All texts are plain and are escaped for the page: no text of a command can become a request of
 * troff or markup. In Markdown names of pages below docs/ become links.
 * tests/source/run_generated.sh compares the pages in the tree with what this file writes. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <skiff/version.h>

#include "cli/generate.h"
#include "config/keys.h"
#include "fleet/settings.h"

#define WIDTH 120

typedef void (*add_fn)(struct buf *out, const char *text);

/* add_fn: escape a text. Pairs and triples stand in front of, between and behind the parts. */
struct page_format {
    add_fn text, code, lines, paragraphs;
    bool list_last; /* a command's list (`more`) stands behind its flags, not in front of them */
    bool capitals;  /* groups begin with one */
    bool help;      /* --help is among the flags */
    const char *usage[4];                         /* all forms, each name, each form, behind all */
    const char *section, *part, *items, *command; /* with %s */
    const char *group[2], *item[3], *list[2], *examples[2];
};

/* ---- man ---- */

/* Text as it is: nothing in it is a request or an escape. */
static void add_man(struct buf *out, const char *text)
{
    bool begin = true; /* of a line: '.' and '\'' would be requests */
    for (; *text; text++) {
        if (begin && strchr(".'", *text))
            buf_str(out, "\\&");
        if (*text == '\\')
            buf_str(out, "\\e");
        else if (*text == '-')
            buf_str(out, "\\-");
        else if (*text == '`')
            buf_str(out, "\\(ga");
        else
            buf_char(out, *text);
        begin = *text == '\n';
    }
}

/* Paragraphs, an empty line between them. */
static void man_paragraphs(struct buf *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        struct buf one = BUF_INIT;
        buf_add(&one, text, n);
        buf_str(out, ".PP\n");
        add_man(out, one.data);
        buf_char(out, '\n');
        buf_deinit(&one);
        text += n + (end ? 2 : 0);
    }
}

static void man_head(struct buf *out, const char *name, const char *summary)
{
    buf_str(out, ".TH ");
    for (const char *c = name; *c; c++)
        buf_char(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    buf_str(out, " 1 \"\" \"skiff " SKIFF_VERSION "\" \"Skiff\"\n.SH NAME\n");
    add_man(out, name);
    buf_str(out, " \\- ");
    add_man(out, summary);
    buf_str(out, "\n.SH SYNOPSIS\n");
}

static void man_end(struct buf *out)
{
    buf_str(out, ".SH \"EXIT STATUS\"\n0: done. 1: failed; the reason is the last line on standard "
                 "error. 2: wrong usage.\n.SH \"SEE ALSO\"\n");
}

static const struct page_format man = {.text = add_man,
                                       .code = add_man,
                                       .lines = add_man,
                                       .paragraphs = man_paragraphs,
                                       .help = true,
                                       .usage = {".nf\n", "\\fBskiff ", "\\fR", ".fi\n"},
                                       .section = ".SH %s\n",
                                       .part = ".SS %s: ",
                                       .items = "",
                                       .group = {".SS \"", "\"\n"},
                                       .item = {".TP\n\\fB", "\\fR\n", "\n"},
                                       .list = {".PP\n.nf\n", ".fi\n"},
                                       .examples = {".SH EXAMPLES\n.nf\n", "\n.fi\n"}};

/* ---- Markdown ---- */

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
static void add_markdown(struct buf *out, const char *text)
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

static void markdown_paragraphs(struct buf *out, const char *text)
{
    struct buf escaped = BUF_INIT;
    add_markdown(&escaped, text);
    buf_char(out, '\n');
    buf_wrap(out, escaped.data, 0, 0, WIDTH);
    buf_char(out, '\n');
    buf_deinit(&escaped);
}

/* "on|off" would end the cell of a table. */
static void add_code(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_printf(out, *text == '|' ? "\\%c" : "%c", *text);
}

static void markdown_head(struct buf *out, const char *title)
{
    buf_printf(out, "<!-- made by `make docs` from the tables in src/cli -->\n# %s\n\n", title);
}

static const struct page_format markdown = {.text = add_markdown,
                                            .code = add_code,
                                            .lines = buf_str,
                                            .paragraphs = markdown_paragraphs,
                                            .list_last = true,
                                            .capitals = true,
                                            .usage = {"", "    skiff ", "", ""},
                                            .section = "",
                                            .part = "\n## %s: ",
                                            .items = "\n| %s | %s |\n|---|---|\n",
                                            .command = "| [%s](%s.md) | ",
                                            .group = {"\n**", "**\n"},
                                            .item = {"| `", "` | ", " |\n"},
                                            .list = {"\n```\n", "```\n"},
                                            .examples = {"\n**Examples**\n\n```\n", "\n```\n"}};

/* ---- the walk ---- */

static void write_forms(const struct page_format *f, const char *name, const char *usage,
                        struct buf *out)
{
    buf_str(out, f->usage[0]);
    while (*usage) {
        size_t n = strcspn(usage, "\n");
        struct buf form = BUF_INIT;
        buf_printf(&form, "%s%.*s", n ? " " : "", (int)n, usage);
        buf_str(out, f->usage[1]);
        f->lines(out, name);
        buf_str(out, f->usage[2]);
        f->lines(out, form.data);
        buf_char(out, '\n');
        buf_deinit(&form);
        usage += n + (usage[n] == '\n');
    }
    buf_str(out, f->usage[3]);
}

static void write_usage(const struct page_format *f, const struct command *c, struct buf *out)
{
    char name[64];
    for (const struct command *p = c->parts; p && p->name; p++) {
        snprintf(name, sizeof name, "%s %s", c->name, p->name);
        write_forms(f, name, p->usage, out);
    }
    if (!c->parts)
        write_forms(f, c->name, c->usage, out);
}

static void write_group(const struct page_format *f, const char *name, struct buf *out)
{
    char text[64];
    snprintf(text, sizeof text, "%c%s", f->capitals ? toupper((unsigned char)*name) : *name,
             name + 1);
    buf_str(out, f->group[0]);
    f->text(out, text);
    buf_str(out, f->group[1]);
}

static void write_item(const struct page_format *f, const char *head, const char *text,
                       struct buf *out)
{
    buf_str(out, f->item[0]);
    f->code(out, head);
    buf_str(out, f->item[1]);
    f->text(out, text);
    buf_str(out, f->item[2]);
}

static void write_lines(const struct page_format *f, const char *const around[2], const char *lines,
                        struct buf *out)
{
    buf_str(out, around[0]);
    f->lines(out, lines);
    buf_str(out, around[1]);
}

static void write_options(const struct page_format *f, const struct command *c, struct buf *out)
{
    struct buf head = BUF_INIT, text = BUF_INIT;
    bool begins = true;
    for (const struct option *row = c->options ? c->options->rows : NULL; row && row->name; row++) {
        if (!option_shown(row))
            continue;
        if (row->group)
            write_group(f, row->group, out);
        if (begins || row->group)
            buf_printf(out, f->items, "flag", "meaning");
        begins = false;
        buf_reset(&head);
        buf_reset(&text);
        option_flag(row, &head);
        option_sentence(row, &text);
        write_item(f, head.data, text.data, out);
    }
    buf_reset(&text);
    command_flags(c, OPTION_IGNORED, &text);
    if (text.len) {
        buf_reset(&head);
        buf_printf(&head, "Accepted for Paddle's launchers and ignored: %s.", text.data);
        f->paragraphs(out, head.data);
    }
    buf_deinit(&head);
    buf_deinit(&text);
}

static void write_list(const struct page_format *f, const struct command *c, struct buf *out)
{
    struct buf more = BUF_INIT;
    if (!c->more)
        return;
    c->more(&more);
    write_lines(f, f->list, more.data + strspn(more.data, "\n"), out);
    buf_deinit(&more);
}

static void write_parts(const struct page_format *f, const struct command *c, struct buf *out)
{
    for (const struct command *p = c->parts; p && p->name; p++) {
        buf_printf(out, f->part, p->name);
        f->text(out, p->summary);
        buf_char(out, '\n');
        f->paragraphs(out, p->text);
        write_options(f, p, out);
    }
}

static void write_command(const struct page_format *f, const struct command *c, struct buf *out)
{
    write_usage(f, c, out);
    buf_printf(out, f->section, "DESCRIPTION");
    f->paragraphs(out, c->text);
    if (!f->list_last)
        write_list(f, c, out);
    if (!c->parts)
        buf_printf(out, f->section, "OPTIONS");
    write_options(f, c, out);
    if (!c->parts && f->help)
        write_item(f, "-h, --help", "prints this description", out);
    if (f->list_last)
        write_list(f, c, out);
    write_parts(f, c, out);
    if (c->examples)
        write_lines(f, f->examples, c->examples, out);
}

/* A command as an item, with a link to its page where there are links. */
static void write_link(const struct page_format *f, const struct command *c, struct buf *out)
{
    if (!f->command) {
        write_item(f, c->name, c->summary, out);
        return;
    }
    buf_printf(out, f->command, c->name, c->name);
    f->text(out, c->summary);
    buf_str(out, f->item[2]);
}

static void write_commands(const struct page_format *f, struct buf *out)
{
    for (enum command_group group = 0; group < COMMAND_GROUPS; group++) {
        write_group(f, command_group_name(group), out);
        buf_printf(out, f->items, "command", "does");
        for (const struct command *const *c = command_all(); *c; c++)
            if ((*c)->summary && (*c)->group == group)
                write_link(f, *c, out);
    }
}

static void write_variables(const struct page_format *f, struct buf *out)
{
    buf_printf(out, f->items, "variable", "meaning");
    for (const struct option *row = settings_options.rows; row->name; row++)
        write_item(f, row->name, row->help, out);
}

/* ---- pages ---- */

void man_command(const struct command *c, struct buf *out)
{
    char name[64];
    snprintf(name, sizeof name, "skiff-%s", c->name);
    man_head(out, name, c->summary);
    write_command(&man, c, out);
    man_end(out);
    buf_str(out, ".BR skiff (1)\n");
}

void man_skiff(struct buf *out)
{
    man_head(out, "skiff", "trains click-through-rate and recommendation models");
    buf_str(out, "\\fBskiff\\fR COMMAND [ARGUMENTS]\n.SH COMMANDS\n");
    write_commands(&man, out);
    buf_str(out, ".PP\n\\fBskiff\\fR COMMAND \\fB\\-\\-help\\fR and the page of each command say "
                 "more. \\fBskiff \\-\\-version\\fR prints the version.\n"
                 ".SH ENVIRONMENT\n");
    write_variables(&man, out);
    man_end(out);
    for (const struct command *const *c = command_all(); *c; c++)
        if ((*c)->summary) {
            buf_str(out, ".BR skiff\\-");
            add_man(out, (*c)->name);
            buf_str(out, c[1] && c[1]->summary ? " (1),\n" : " (1)\n");
        }
}

void markdown_command(const struct command *c, struct buf *out)
{
    char name[64];
    snprintf(name, sizeof name, "skiff %s", c->name);
    markdown_head(out, name);
    write_command(&markdown, c, out);
}

void markdown_index(struct buf *out)
{
    markdown_head(out, "The command skiff");
    buf_str(out, "    skiff COMMAND [ARGUMENTS]\n");
    write_commands(&markdown, out);
    markdown_paragraphs(
        out,
        "`skiff COMMAND --help`, `skiff help COMMAND` and `man skiff-COMMAND` have the same text "
        "as "
        "these pages. `skiff --version` prints the version. Exit status: 0 done; 1 failed, the "
        "reason is the last line on standard error; 2 wrong usage.");
    buf_str(out, "\n## Environment\n");
    markdown_paragraphs(out,
                        "Variables that the processes of a job read (docs/guide/distributed.md).");
    write_variables(&markdown, out);
}

/* ---- the page of keys ---- */

#define KEYS_BEGIN "<!-- keys: "
#define KEYS_END "<!-- end of keys -->\n"

/* From the mark at `page` to behind its end; NULL: wrong. */
static const char *add_key_group(struct buf *out, const char *page, struct skiff_error *err)
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
        page = add_key_group(out, mark, err);
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
