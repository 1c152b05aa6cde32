/* The table of keys and what is printed of it (keys.h).
 *
 * key_list.h is read three times: for the rows, for the numbers of the groups, and for the
 * groups' names. Pages, completions and `skiff config` are made from these rows, so that
 * nothing about a key is written twice. */
#include "config/keys.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/near.h"

/* commands that read keys */
enum {
    TRAIN = 1,
    INFER = 2,
    PREDICT = 4,
    CALIBRATE = 8,
    CHECK_DATA = 16,
    LAUNCH = 32,
    DOCTOR = 64
};
#define TASK (TRAIN | INFER | PREDICT | CALIBRATE | CHECK_DATA)
static const char *const command_names[] = {"train",      "infer",  "predict", "calibrate",
                                            "check-data", "launch", "doctor"};

#define BETWEEN(a, b) .bounded = true, .min = (a), .max = (b)
#define AT_LEAST(a) BETWEEN(a, INT64_MAX)

static const struct key_info keys[KEY_COUNT] = {
#define GROUP(id, text)
#define KEY(id, name_, type_, standard_, commands_, ...) \
    [KEY_##id] = {.name = (name_),                       \
                  .type = KEY_##type_,                   \
                  .standard = (standard_),               \
                  .commands = (commands_),               \
                  __VA_ARGS__},
#include "config/key_list.h"
};

/* A group has the number of its first key. */
enum {
    BEFORE_GROUPS,
#define GROUP(id, text) GROUP_##id, BEHIND_##id = GROUP_##id - 1,
#define KEY(id, ...) NUMBER_##id,
#include "config/key_list.h"
};

static const struct {
    const char *name;
    int first;
} groups[] = {
#define GROUP(id, text) {text, GROUP_##id},
#define KEY(id, ...)
#include "config/key_list.h"
    {NULL, KEY_COUNT}};

const struct key_info *key_info(enum config_key key)
{
    return &keys[key];
}

const char *key_name(enum config_key key)
{
    return keys[key].name;
}

/* ---- looking up ---- */

bool key_is_family(enum config_key key)
{
    size_t n = strlen(keys[key].name);
    return keys[key].name[n - 1] == '*';
}

int key_family_length(enum config_key key)
{
    return (int)strlen(keys[key].name) - 1;
}

enum config_key key_find(const char *name)
{
    for (int i = KEY_NONE + 1; i < KEY_COUNT; i++)
        if (!strcmp(keys[i].name, name))
            return (enum config_key)i;
    return KEY_NONE;
}

enum config_key key_matching(const char *name)
{
    enum config_key found = key_find(name);
    int longest = 0;
    for (int i = KEY_NONE + 1; i < KEY_COUNT && (longest || !found); i++) {
        int n = key_is_family((enum config_key)i) ? key_family_length((enum config_key)i) : 0;
        if (n <= longest || strncmp(name, keys[i].name, (size_t)n) != 0 || !name[n])
            continue;
        longest = n;
        found = (enum config_key)i;
    }
    return found;
}

/* Is `word` one of the words of `list`, which have a space between? The case does not matter. */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; at && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && !strncasecmp(at, word, n))
            return true;
    return false;
}

enum config_key key_by_alias(const char *name)
{
    const char *dot = strrchr(name, '.');
    for (int i = KEY_NONE + 1; i < KEY_COUNT; i++)
        if (has_word(keys[i].alias, dot ? dot + 1 : name) && strcmp(keys[i].name, name) != 0)
            return (enum config_key)i;
    return KEY_NONE;
}

const char *key_word(enum config_key key, int i, char text[static 64])
{
    const char *at = keys[key].words;
    for (; at && *at; at += strcspn(at, " "), at += *at == ' ') {
        if (i--)
            continue;
        snprintf(text, 64, "%.*s", (int)strcspn(at, " "), at);
        return text;
    }
    return NULL;
}

const char *key_last_word(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

enum config_key key_meant(const char *name)
{
    enum config_key key = key_matching(name);
    for (int i = KEY_NONE + 1; !key && i < KEY_COUNT; i++)
        if (!strcmp(key_last_word(key_name((enum config_key)i)), name))
            key = (enum config_key)i;
    return key ? key : key_by_alias(name);
}

const char *key_nearest(const char *name)
{
    struct near near = near_to(name);
    for (int i = KEY_NONE + 1; i < KEY_COUNT; i++)
        near_try(&near, key_name((enum config_key)i));
    for (int i = KEY_NONE + 1; !near.best && i < KEY_COUNT; i++)
        near_try(&near, key_last_word(key_name((enum config_key)i)));
    return near.best;
}

/* ---- printing ---- */

static void print_words(enum config_key key, struct buf *out)
{
    char word[64], next[64];
    for (int i = 0; key_word(key, i, word); i++)
        buf_printf(out, "%s`%s`", !i ? "" : key_word(key, i + 1, next) ? ", " : " or ", word);
}

const char *key_group(enum config_key key)
{
    int i = 0;
    while (groups[i + 1].first <= (int)key)
        i++;
    return groups[i].name;
}

void key_print_type(enum config_key key, struct buf *out)
{
    static const char *const names[] = {"integer",
                                        "number",
                                        "True or False",
                                        "text",
                                        "",
                                        "path",
                                        "list",
                                        "path or list of paths",
                                        "list of integers",
                                        "day",
                                        "size, as 64K or 2G",
                                        "any"};
    const struct key_info *k = key_info(key);
    buf_str(out, names[k->type]);
    print_words(key, out);
    if (k->bounded && k->max < INT_MAX)
        buf_printf(out, ", %lld to %lld", (long long)k->min, (long long)k->max);
    else if (k->bounded)
        buf_printf(out, ", at least %lld", (long long)k->min);
}

void key_print_standard(enum config_key key, struct buf *out)
{
    const struct key_info *k = key_info(key);
    bool standard = k->standard && *k->standard;
    if (k->from)
        buf_printf(out, "`%s`%s", key_name(k->from), standard || k->depends ? "; else " : "");
    if (standard)
        buf_printf(out, "%s%s", k->standard, k->depends ? "; " : "");
    if (k->depends)
        buf_str(out, k->depends);
    if (!standard && !k->depends && !k->from)
        buf_str(out, "none");
}

void key_print_commands(enum config_key key, struct buf *out)
{
    const char *between = "";
    for (int i = 0; i < (int)(sizeof command_names / sizeof *command_names); i++)
        if (keys[key].commands & 1u << i) {
            buf_printf(out, "%s%s", between, command_names[i]);
            between = ", ";
        }
}

static void print_row(enum config_key key, struct buf *out)
{
    buf_printf(out, "| `%s` | ", key_name(key));
    key_print_type(key, out);
    buf_str(out, " | ");
    key_print_standard(key, out);
    buf_printf(out, " | %s", keys[key].help);
    buf_str(out, " |");
    if (keys[key].commands) {
        buf_char(out, ' ');
        key_print_commands(key, out);
        buf_str(out, " |");
    }
    buf_char(out, '\n');
}

bool key_print_group(const char *group, struct buf *out)
{
    int i = 0;
    while (groups[i].name && strcmp(groups[i].name, group) != 0)
        i++;
    if (!groups[i].name)
        return false;
    bool read = keys[groups[i].first].commands != 0;
    buf_printf(out, "| key | value | default | meaning |%s\n|---|---|---|---|%s\n",
               read ? " read by |" : "", read ? "---|" : "");
    for (int k = groups[i].first; k < groups[i + 1].first; k++)
        print_row((enum config_key)k, out);
    return true;
}

void key_plain_text(struct buf *out, const char *text)
{
    const char *open, *to, *end;
    for (; *text; text++) {
        if (*text == '`')
            continue;
        open = *text == '[' ? strstr(text, "](") : NULL;
        end = open ? strchr(open, ')') : NULL;
        if (!end) {
            buf_char(out, *text);
            continue;
        }
        to = open + 2;
        bool up = !strncmp(to, "../", 3);
        buf_printf(out, "docs/%s", up ? "" : "reference/configuration.md");
        to += up ? 3 : 0;
        buf_add(out, to, (size_t)(end - to));
        text = end;
    }
}
