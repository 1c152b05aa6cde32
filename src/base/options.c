/* Options (options.h): values of a table of rows, read from text into the fields of a struct.
 *
 * One table serves flags, environment variables, configs and lists "a=1,b=2", so that ranges,
 * messages and help are the same everywhere. A row has type, offset and range; only rows of type
 * OTHER have code of their own. Texts that were allocated belong to the struct (options_deinit). No
 * state; any thread. */
#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/near.h"

/* ---- values ---- */

bool option_int(const char *text, int64_t low, int64_t high, int64_t *out)
{
    char *end;
    const char *digits = *text == '+' || *text == '-' ? text + 1 : text;
    if (!isdigit((unsigned char)*digits))
        return false;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (*end || errno || v < low || v > high)
        return false;
    *out = v;
    return true;
}

bool option_bool(const char *text, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(text, words[i])) {
            *out = i & 1;
            return true;
        }
    return false;
}

bool option_size(const char *text, size_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (errno || (*end && (!unit || end[1])) || v << shift >> shift != v)
        return false;
    *out = (size_t)(v << shift);
    return true;
}

static bool read_real(const char *text, double *out)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) || !isfinite(v))
        return false;
    *out = v;
    return true;
}

static bool read_choice(const struct option *row, const char *text, int *out)
{
    for (int i = 0; row->words[i]; i++)
        if (!strcmp(row->words[i], text)) {
            *out = i;
            return true;
        }
    return false;
}

static bool any_number(const struct option *row)
{
    return row->low == 0 && row->high == 0;
}

static bool put_number(const struct option *row, void *target, const char *text)
{
    bool any = any_number(row);
    int64_t low = any ? INT64_MIN : row->low, high = any ? INT64_MAX : row->high, v;
    double real;
    if (row->kind == OPTION_REAL) {
        if (!read_real(text, &real) || (!any && (real < (double)low || real > (double)high)))
            return false;
        *(double *)target = real;
        return true;
    }
    if (row->kind == OPTION_INT && any)
        low = INT32_MIN, high = INT32_MAX;
    if (!option_int(text, low, high, &v))
        return false;
    if (row->kind == OPTION_INT)
        *(int *)target = (int)v;
    else
        *(int64_t *)target = v;
    return true;
}

static void put_copy(char **target, const char *text)
{
    free(*target);
    *target = mem_strdup_or_die(text);
}

static bool put_capacity(const struct option *row, char *target, const char *text)
{
    size_t n = strlen(text);
    if (n >= (size_t)row->high)
        return false;
    memcpy(target, text, n + 1);
    return true;
}

static bool put_pair(struct option_list *list, const char *text)
{
    if (!strchr(text, '=') || *text == '=')
        return false;
    list->at = mem_grow_or_die(list->at, (size_t)(list->n + 1) * sizeof *list->at);
    list->at[list->n++] = text;
    return true;
}

/* False: text is no value of this row. expected is set by OTHER alone. */
static bool put(const struct option *row, void *target, const char *text, const char **expected)
{
    bool yes;
    switch (row->kind) {
    case OPTION_BOOL:
    case OPTION_NOT:
    case OPTION_PASS:
        if (!option_bool(text, &yes))
            return false;
        *(bool *)target = yes != (row->kind == OPTION_NOT);
        return true;
    case OPTION_INT:
    case OPTION_LONG:
    case OPTION_REAL:
        return put_number(row, target, text);
    case OPTION_SIZE:
        return option_size(text, target);
    case OPTION_TEXT:
        *(const char **)target = text;
        return true;
    case OPTION_COPY:
        put_copy(target, text);
        return true;
    case OPTION_CAPACITY:
        return put_capacity(row, target, text);
    case OPTION_CHOICE:
        return read_choice(row, text, target);
    case OPTION_PAIRS:
        return put_pair(target, text);
    case OPTION_OTHER:
        *expected = row->read(target, text);
        return !*expected;
    case OPTION_IGNORED:
    case OPTION_REFUSED:
        break;
    }
    return true;
}

/* ---- what is expected ---- */

static void describe_number(const struct option *row, struct buf *out)
{
    buf_str(out, row->kind == OPTION_REAL ? "a number" : "a whole number");
    if (any_number(row))
        return;
    if (row->high == INT64_MAX)
        buf_printf(out, ", at least %lld", (long long)row->low);
    else
        buf_printf(out, " from %lld to %lld", (long long)row->low, (long long)row->high);
}

static void describe(const struct option *row, struct buf *out)
{
    switch (row->kind) {
    case OPTION_INT:
    case OPTION_LONG:
    case OPTION_REAL:
        describe_number(row, out);
        break;
    case OPTION_SIZE:
        buf_str(out, "a size, as 4096, 64K, 10M or 2G");
        break;
    case OPTION_CHOICE:
        for (int i = 0; row->words[i]; i++)
            buf_printf(out, "%s%s", !i ? "" : row->words[i + 1] ? ", " : " or ", row->words[i]);
        break;
    case OPTION_PAIRS:
        buf_str(out, "key=value");
        break;
    default:
        buf_str(out, "true or false");
    }
}

enum skiff_status option_put(const struct option *row, void *to, const char *subject,
                             const char *text, struct skiff_error *err)
{
    const char *reason = NULL;
    if (put(row, (char *)to + row->at, text, &reason)) {
        if (row->given)
            *(bool *)((char *)to + row->given) = true;
        return SKIFF_OK;
    }
    if (row->kind == OPTION_CAPACITY) /* it may be a secret */
        return error_set(err, SKIFF_INVALID, "%s is %zu bytes long; expected at most %lld", subject,
                         strlen(text), (long long)row->high - 1);
    struct buf expected = BUF_INIT;
    if (reason)
        buf_str(&expected, reason);
    else
        describe(row, &expected);
    error_set(err, SKIFF_INVALID, "%s is '%.200s'; expected %s", subject, text, expected.data);
    buf_deinit(&expected);
    return SKIFF_INVALID;
}

/* ---- tables ---- */

/* *table: the one that has it; *at: where its struct begins in ours. */
static const struct option *find_row(const struct options *o, const char *name,
                                     const struct options **table, size_t *at)
{
    for (*at = 0; o; *at += o->next_at, o = o->next)
        for (const struct option *row = o->rows; row->name; row++)
            if (!strcmp(row->name, name) || (row->also && !strcmp(row->also, name))) {
                *table = o;
                return row;
            }
    return NULL;
}

static enum skiff_status unknown(const struct options *o, const char *name, struct skiff_error *err)
{
    struct buf all = BUF_INIT;
    struct near near = near_to(name);
    for (const struct options *table = o; table; table = table->next)
        for (const struct option *row = table->rows; row->name; row++) {
            near_try(&near, row->name);
            buf_printf(&all, "%s%s", all.len ? ", " : "", row->name);
        }
    error_set(err, SKIFF_NOT_FOUND, "there is no %s %s%s%s; all: %s", o->what ? o->what : "setting",
              name, near.best ? ", the nearest is " : "", near.best ? near.best : "", all.data);
    buf_deinit(&all);
    return SKIFF_NOT_FOUND;
}

enum skiff_status options_set(const struct options *o, void *to, const char *name, const char *text,
                              struct skiff_error *err)
{
    const struct options *table;
    size_t at;
    const struct option *row = find_row(o, name, &table, &at);
    if (!row)
        return unknown(o, name, err);
    struct buf subject = BUF_INIT;
    buf_printf(&subject, "%s%s%s", table->what ? table->what : "", table->what ? " " : "", name);
    enum skiff_status status = option_put(row, (char *)to + at, subject.data, text, err);
    buf_deinit(&subject);
    return status;
}

enum skiff_status options_set_all(const struct options *o, void *to, const char *text,
                                  struct skiff_error *err)
{
    char *copy = mem_strdup_or_die(text), *rest = NULL;
    enum skiff_status status = SKIFF_OK;
    for (char *word = strtok_r(copy, " ", &rest); word && status == SKIFF_OK;
         word = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(word, '=');
        if (!equals) {
            status = error_set(err, SKIFF_INVALID, "'%s' is no %s: write name=value", word,
                               o->what ? o->what : "setting");
            break;
        }
        *equals = '\0';
        status = options_set(o, to, word, equals + 1, err);
    }
    free(copy);
    return status;
}

void options_init(const struct options *o, void *to)
{
    for (; o; to = (char *)to + o->next_at, o = o->next)
        for (const struct option *row = o->rows; row->name; row++)
            if (row->standard) {
                const char *expected;
                if (!put(row, (char *)to + row->at, row->standard, &expected))
                    abort(); /* a wrong row */
            }
}

void options_copy(const struct options *o, void *to)
{
    for (; o; to = (char *)to + o->next_at, o = o->next)
        for (const struct option *row = o->rows; row->name; row++) {
            char **target = (char **)((char *)to + row->at);
            if (row->kind == OPTION_COPY && *target)
                *target = mem_strdup_or_die(*target);
        }
}

void options_deinit(const struct options *o, void *to)
{
    for (; o; to = (char *)to + o->next_at, o = o->next)
        for (const struct option *row = o->rows; row->name; row++) {
            void *target = (char *)to + row->at;
            if (row->kind == OPTION_COPY) {
                free(*(char **)target);
                *(char **)target = NULL;
            } else if (row->kind == OPTION_PAIRS) {
                free(((struct option_list *)target)->at);
                *(struct option_list *)target = (struct option_list){0};
            }
        }
}
