/* Options as flags of a command: reading argv, and the flags part of --help.
 *
 * Words are read from left to right; the first error, or --help, ends it. '-' and '_' are equal in
 * long names, because Paddle's scripts use both. An unknown flag is an error that names the nearest
 * one. Help is laid out from the same rows, so that no flag can be without it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"
#include "base/options.h"

#define WIDTH 100 /* of help */
#define COLUMN 30 /* where sentences begin at the latest */

/* ---- finding ---- */

/* '-' and '_' are the same behind the first letter: --log-dir is --log_dir. */
static bool same_name(const char *name, const char *word, size_t n)
{
    if (!name || strlen(name) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (name[i] != word[i] && !(strchr("-_", name[i]) && strchr("-_", word[i])))
            return false;
    return true;
}

/* --name or --name=value */
static const struct option *find_long(const struct options *o, const char *word)
{
    if (strncmp(word, "--", 2))
        return NULL;
    size_t n = strcspn(word + 2, "=");
    for (const struct option *row = o->rows; row->name; row++)
        if (same_name(row->name, word + 2, n) || same_name(row->also, word + 2, n))
            return row;
    return NULL;
}

static const struct option *find_letter(const struct options *o, char letter)
{
    for (const struct option *row = o->rows; row->name; row++)
        if (row->letter && (row->letter == letter || row->also_letter == letter))
            return row;
    return NULL;
}

static bool is_flag(const struct options *o, const char *word)
{
    return find_long(o, word) || (word[0] == '-' && word[1] && !word[2] && find_letter(o, word[1]));
}

static bool needs_value(const struct option *row)
{
    return row->kind != OPTION_BOOL && row->kind != OPTION_NOT && row->kind != OPTION_PASS;
}

/* ---- reading ---- */

struct flag_reader {
    const struct options *o;
    void *to;
    int argc, at;
    char **argv;
    struct option_words *words;
    bool passing; /* behind an OPTION_PASS */
};

static void add_word(struct flag_reader *r, char *word)
{
    r->words->at[r->words->n++] = word;
}

static void add_rest(struct flag_reader *r)
{
    while (r->at < r->argc)
        add_word(r, r->argv[r->at++]);
}

/* What the owner of the table knows of a flag that is not in it. */
static bool is_meant(const struct flag_reader *r, const char *name, const char *word,
                     struct skiff_error *err)
{
    const char *equals = strchr(word, '='), *next = r->at < r->argc ? r->argv[r->at] : NULL;
    struct buf text = BUF_INIT;
    bool meant = r->o->meant && r->o->meant(name + strspn(name, "-"),
                                            equals                   ? equals + 1
                                            : next && next[0] != '-' ? next
                                                                     : NULL,
                                            &text);
    if (meant)
        error_set(err, SKIFF_INVALID, "unknown flag %s; %s", name, text.data);
    buf_deinit(&text);
    return meant;
}

/* The word was read: what follows it is next. */
static enum skiff_status unknown_flag(const struct flag_reader *r, const char *word,
                                      struct skiff_error *err)
{
    char name[64];
    size_t n = strcspn(word, "=");
    n = n < sizeof name ? n : sizeof name - 1;
    memcpy(name, word, n);
    name[n] = '\0';
    if (is_meant(r, name, word, err))
        return SKIFF_INVALID;
    struct near near = near_to(name + strspn(name, "-"));
    for (const struct option *row = r->o->rows; row->name; row++)
        if (option_shown(row)) {
            near_try(&near, row->name);
            if (row->also)
                near_try(&near, row->also);
        }
    return error_set(err, SKIFF_INVALID, "unknown flag %s%s%s%s%s", name,
                     near.best ? "; the nearest is --" : "", near.best ? near.best : "",
                     r->o->advice ? "; " : "", r->o->advice ? r->o->advice : "");
}

/* Words that follow -o key=value and have a '=' belong to it, too. */
static enum skiff_status take_pairs(struct flag_reader *r, const struct option *row,
                                    const char *subject, struct skiff_error *err)
{
    while (r->at < r->argc && r->argv[r->at][0] != '-' && strchr(r->argv[r->at], '='))
        TRY(option_put(row, r->to, subject, r->argv[r->at++], err));
    return SKIFF_OK;
}

/* value: what stands in the same word, or NULL. */
static enum skiff_status take(struct flag_reader *r, const struct option *row, const char *subject,
                              const char *value, struct skiff_error *err)
{
    if (row->kind == OPTION_REFUSED)
        return error_set(err, SKIFF_INVALID, "%s: %s", subject, row->help);
    bool yes;
    if (!value && row->takes_word && r->at < r->argc && option_bool(r->argv[r->at], &yes))
        value = r->argv[r->at++];
    if (!value && !needs_value(row))
        value = "true";
    if (!value && (r->at == r->argc || is_flag(r->o, r->argv[r->at])))
        return error_set(err, SKIFF_INVALID, "%s needs a value: %s", subject,
                         row->value ? row->value : "one word");
    if (!value)
        value = r->argv[r->at++];
    TRY(option_put(row, r->to, subject, value, err));
    return row->kind == OPTION_PAIRS ? take_pairs(r, row, subject, err) : SKIFF_OK;
}

static enum skiff_status take_long(struct flag_reader *r, char *word, struct skiff_error *err)
{
    const struct option *row = find_long(r->o, word);
    if (!row)
        return unknown_flag(r, word, err);
    const char *equals = strchr(word, '=');
    struct buf subject = BUF_INIT;
    buf_add(&subject, word, strcspn(word, "="));
    enum skiff_status status = take(r, row, subject.data, equals ? equals + 1 : NULL, err);
    buf_deinit(&subject);
    return status;
}

/* -q, -m FILE, -mFILE, -qv */
static enum skiff_status take_letters(struct flag_reader *r, char *word, struct skiff_error *err)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const struct option *row = find_letter(r->o, *letter);
        const char subject[] = {'-', *letter, '\0'};
        if (!row)
            return unknown_flag(r, word, err);
        if (needs_value(row))
            return take(r, row, subject, letter[1] ? letter + 1 : NULL, err);
        TRY(take(r, row, subject, NULL, err));
    }
    return SKIFF_OK;
}

static bool is_pass(const struct options *o, const char *word)
{
    const struct option *row = find_long(o, word);
    if (!row && word[0] == '-' && word[1] && !word[2])
        row = find_letter(o, word[1]);
    return row && row->kind == OPTION_PASS;
}

static const struct option *first_row(const struct options *o)
{
    const struct option *row = o->rows;
    while (strcmp(row->name, o->first) != 0)
        row++;
    return row;
}

static const char **first_value(const struct flag_reader *r)
{
    return (const char **)((char *)r->to + first_row(r->o)->at);
}

static enum skiff_status unexpected(const struct flag_reader *r, const char *word,
                                    struct skiff_error *err)
{
    const char *first = r->o->first;
    if (!first)
        return error_set(err, SKIFF_INVALID, "unexpected argument '%s': expected only flags", word);
    const char *value = *first_value(r) ? *first_value(r) : r->words->n ? r->words->at[0] : NULL;
    if (value)
        return error_set(err, SKIFF_INVALID,
                         "unexpected argument '%s': --%s is '%s' already; expected only flags",
                         word, first, value);
    return error_set(err, SKIFF_INVALID, "unexpected argument '%s': write --%s %s", word, first,
                     word);
}

/* The first word is the value of `first`, unless its flag has given one. */
static enum skiff_status take_first(struct flag_reader *r, struct skiff_error *err)
{
    struct option_words *words = r->words;
    if (!r->o->first || !words->n)
        return SKIFF_OK;
    if (!words->dashes && !*first_value(r) && (!r->o->is_first || r->o->is_first(words->at[0]))) {
        *first_value(r) = words->at[0];
        memmove(words->at, words->at + 1, (size_t)words->n-- * sizeof *words->at);
    }
    return r->o->words || !words->n ? SKIFF_OK : unexpected(r, words->at[0], err);
}

/* A word that is no flag, where some may stand. */
static enum skiff_status take_word(struct flag_reader *r, char *word, struct skiff_error *err)
{
    if (!r->o->words && (!r->o->first || r->words->n))
        return unexpected(r, word, err);
    add_word(r, word);
    if (r->o->rest && r->o->is_first && r->o->is_first(word))
        r->passing = true;
    else if (r->o->rest)
        add_rest(r);
    return SKIFF_OK;
}

static enum skiff_status take_next(struct flag_reader *r, struct skiff_error *err)
{
    char *word = r->argv[r->at++];
    if (r->passing && (is_pass(r->o, word) || !find_long(r->o, word))) {
        add_word(r, word);
    } else if (is_pass(r->o, word)) {
        r->passing = true;
        add_word(r, word);
        return word[1] == '-' ? take_long(r, word, err) : take_letters(r, word, err);
    } else if (!strcmp(word, "--")) {
        if (r->at < r->argc && !r->o->words)
            return unexpected(r, r->argv[r->at], err);
        r->words->dashes = true;
        add_rest(r);
    } else if (word[0] != '-' || !word[1]) {
        return take_word(r, word, err);
    } else {
        return word[1] == '-' ? take_long(r, word, err) : take_letters(r, word, err);
    }
    return SKIFF_OK;
}

static bool wants_help(const struct flag_reader *r)
{
    const char *word = r->argv[r->at];
    return !r->passing && (!strcmp(word, "--help") || !strcmp(word, "-h"));
}

enum skiff_status options_parse(const struct options *o, void *to, int argc, char **argv,
                                struct option_words *out, struct skiff_error *err)
{
    struct flag_reader r = {.o = o, .to = to, .argc = argc, .at = 1, .argv = argv, .words = out};
    *out = (struct option_words){.at = mem_alloc_or_die((size_t)(argc + 1) * sizeof *out->at)};
    while (r.at < argc) {
        if (wants_help(&r)) {
            out->help = true;
            return SKIFF_OK;
        }
        TRY(take_next(&r, err));
    }
    return take_first(&r, err);
}

/* ---- help ---- */

bool option_shown(const struct option *row)
{
    return row->kind != OPTION_IGNORED && row->kind != OPTION_REFUSED;
}

void option_flag(const struct option *row, struct buf *out)
{
    if (row->letter)
        buf_printf(out, "-%c, ", row->letter);
    buf_printf(out, "--%s", row->name);
    if (row->value || needs_value(row))
        buf_printf(out, " %s", row->value ? row->value : "VALUE");
}

void option_sentence(const struct option *row, struct buf *out)
{
    buf_str(out, row->help);
    if (row->kind == OPTION_CHOICE) {
        buf_str(out, ": ");
        for (int i = 0; row->words[i]; i++)
            buf_printf(out, "%s%s", !i ? "" : row->words[i + 1] ? ", " : " or ", row->words[i]);
    }
    if (row->also || row->also_letter)
        buf_str(out, "; also ");
    if (row->also_letter)
        buf_printf(out, "-%c%s", row->also_letter, row->also ? ", " : "");
    if (row->also)
        buf_printf(out, "--%s", row->also);
    const char *value = row->default_text ? row->default_text : row->standard;
    if (value && *value && needs_value(row))
        buf_printf(out, " (default: %s)", value);
}

/* Left column of a row, with room where others have a letter. */
static void left_column(const struct option *row, bool letters, struct buf *out)
{
    buf_reset(out);
    buf_str(out, row->letter || !letters ? "  " : "      ");
    option_flag(row, out);
}

void options_help(const struct options *o, struct buf *out)
{
    struct buf left = BUF_INIT, text = BUF_INIT;
    bool letters = false;
    size_t column = 0;
    for (const struct option *row = o->rows; row->name; row++)
        letters |= row->letter && option_shown(row);
    for (const struct option *row = o->rows; row->name; row++) {
        left_column(row, letters, &left);
        if (option_shown(row) && left.len + 2 > column)
            column = left.len + 2;
    }
    column = column < COLUMN ? column : COLUMN;
    for (const struct option *row = o->rows; row->name; row++) {
        if (!option_shown(row))
            continue;
        if (row->group)
            buf_printf(out, "%s%s:\n", row == o->rows ? "" : "\n", row->group);
        left_column(row, letters, &left);
        buf_printf(out, "%-*s", (int)column, left.data);
        if (left.len + 2 > column)
            buf_printf(out, "\n%*s", (int)column, "");
        buf_reset(&text);
        option_sentence(row, &text);
        buf_wrap(out, text.data, column, column, WIDTH);
        buf_char(out, '\n');
    }
    buf_deinit(&left);
    buf_deinit(&text);
}
