/* Man pages in the language of man(7), one for each command and one for skiff, generated from the
 * same tables as --help, so that both say the same. All text passes through add_text, which escapes
 * it: no text of a command can become a request of troff. */
#include <stdio.h>
#include <string.h>

#include <skiff/version.h>

#include "cli/generate.h"
#include "fleet/settings.h"

/* Text as it is: nothing in it is a request or an escape. */
static void add_text(struct buf *out, const char *text)
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
static void add_paragraphs(struct buf *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        struct buf one = BUF_INIT;
        buf_add(&one, text, n);
        buf_str(out, ".PP\n");
        add_text(out, one.data);
        buf_char(out, '\n');
        buf_deinit(&one);
        text += n + (end ? 2 : 0);
    }
}

static void add_head(struct buf *out, const char *name, const char *summary)
{
    buf_str(out, ".TH ");
    for (const char *c = name; *c; c++)
        buf_char(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    buf_str(out, " 1 \"\" \"skiff " SKIFF_VERSION "\" \"Skiff\"\n.SH NAME\n");
    add_text(out, name);
    buf_str(out, " \\- ");
    add_text(out, summary);
    buf_str(out, "\n.SH SYNOPSIS\n");
}

/* One form a line. */
static void add_usage(struct buf *out, const char *name, const char *usage)
{
    buf_str(out, ".nf\n");
    while (*usage) {
        size_t n = strcspn(usage, "\n");
        struct buf form = BUF_INIT;
        buf_add(&form, usage, n);
        buf_str(out, "\\fBskiff ");
        add_text(out, name);
        buf_str(out, "\\fR ");
        add_text(out, form.data);
        buf_char(out, '\n');
        buf_deinit(&form);
        usage += n + (usage[n] == '\n');
    }
    buf_str(out, ".fi\n");
}

static void add_item(struct buf *out, const char *head, const char *text)
{
    buf_str(out, ".TP\n\\fB");
    add_text(out, head);
    buf_str(out, "\\fR\n");
    add_text(out, text);
    buf_char(out, '\n');
}

static void add_options(struct buf *out, const struct command *c)
{
    struct buf head = BUF_INIT, text = BUF_INIT;
    for (const struct option *row = c->options ? c->options->rows : NULL; row && row->name; row++) {
        if (!option_shown(row))
            continue;
        if (row->group) {
            buf_str(out, ".SS \"");
            add_text(out, row->group);
            buf_str(out, "\"\n");
        }
        buf_reset(&head);
        buf_reset(&text);
        option_flag(row, &head);
        option_sentence(row, &text);
        add_item(out, head.data, text.data);
    }
    buf_reset(&text);
    command_flags(c, OPTION_IGNORED, &text);
    if (text.len) {
        buf_str(out, ".PP\nAccepted for Paddle's launchers and ignored: ");
        add_text(out, text.data);
        buf_str(out, ".\n");
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
    buf_str(out, ".PP\n.nf\n");
    add_text(out, more.data + strspn(more.data, "\n"));
    buf_str(out, ".fi\n");
    buf_deinit(&more);
}

static void add_examples(struct buf *out, const struct command *c)
{
    if (!c->examples)
        return;
    buf_str(out, ".SH EXAMPLES\n.nf\n");
    add_text(out, c->examples);
    buf_str(out, "\n.fi\n");
}

static void add_end(struct buf *out)
{
    buf_str(out, ".SH \"EXIT STATUS\"\n0: done. 1: failed; the reason is the last line on standard "
                 "error. 2: wrong usage.\n.SH \"SEE ALSO\"\n");
}

void man_command(const struct command *c, struct buf *out)
{
    char name[64];
    snprintf(name, sizeof name, "skiff-%s", c->name);
    add_head(out, name, c->summary);
    for (const struct command *p = c->parts; p && p->name; p++) {
        snprintf(name, sizeof name, "%s %s", c->name, p->name);
        add_usage(out, name, p->usage);
    }
    if (!c->parts)
        add_usage(out, c->name, c->usage);
    buf_str(out, ".SH DESCRIPTION\n");
    add_paragraphs(out, c->text);
    add_more(out, c);
    for (const struct command *p = c->parts; p && p->name; p++) {
        buf_printf(out, ".SS %s: ", p->name);
        add_text(out, p->summary);
        buf_char(out, '\n');
        add_paragraphs(out, p->text);
        add_options(out, p);
    }
    if (!c->parts) {
        buf_str(out, ".SH OPTIONS\n");
        add_options(out, c);
        add_item(out, "-h, --help", "prints this description");
    }
    add_examples(out, c);
    add_end(out);
    buf_str(out, ".BR skiff (1)\n");
}

void man_skiff(struct buf *out)
{
    add_head(out, "skiff", "trains click-through-rate and recommendation models");
    buf_str(out, "\\fBskiff\\fR COMMAND [ARGUMENTS]\n.SH COMMANDS\n");
    for (enum command_group group = 0; group < COMMAND_GROUPS; group++) {
        buf_printf(out, ".SS \"%s\"\n", command_group_name(group));
        for (const struct command *const *c = command_all(); *c; c++)
            if ((*c)->summary && (*c)->group == group)
                add_item(out, (*c)->name, (*c)->summary);
    }
    buf_str(out, ".PP\n\\fBskiff\\fR COMMAND \\fB\\-\\-help\\fR and the page of each command say "
                 "more. \\fBskiff \\-\\-version\\fR prints the version.\n"
                 ".SH ENVIRONMENT\n");
    for (const struct option *row = settings_options.rows; row->name; row++)
        add_item(out, row->name, row->help);
    add_end(out);
    for (const struct command *const *c = command_all(); *c; c++)
        if ((*c)->summary) {
            buf_str(out, ".BR skiff\\-");
            add_text(out, (*c)->name);
            buf_str(out, c[1] && c[1]->summary ? " (1),\n" : " (1)\n");
        }
}
