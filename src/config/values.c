/* A YAML file as values by name (values.h): reading, overrides, typed getters.
 *
 * A wrong value is kept, with file and line, and reported when all was read; the getter gives its
 * fallback until then. */
#include "config/values.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "fs/fs.h"
#include "config/yaml.h"
#include "store/file.h"

struct values {
    struct arena arena;
    const char *name, *folder;
    struct str_map entries; /* key -> struct value */
    struct skiff_error wrong;
    const struct yaml_node *network; /* the section of that name, or NULL */
    const char *override_key;        /* while a value of the command line is read: its key */
};

/* ---- making ---- */

static void take_value(void *self, const char *key, int line, bool list, const char *const *values,
                       int n)
{
    struct values *c = self;
    struct value *e = arena_alloc(&c->arena, sizeof(*e));
    const struct value *before;
    e->key = arena_strdup(&c->arena, c->override_key ? c->override_key : key);
    before = str_map_get(&c->entries, e->key);
    e->line = c->override_key ? 0 : line;
    e->earlier = before && !c->override_key ? before->line : 0;
    e->list = list;
    e->n = n;
    e->values = arena_alloc(&c->arena, (size_t)(n + 1) * sizeof(*e->values));
    for (int i = 0; i < n; i++)
        e->values[i] = arena_strdup(&c->arena, values[i]);
    str_map_put(&c->entries, e->key, e);
}

static const char *folder_of(struct arena *a, const char *path)
{
    char whole[PATH_MAX], cwd[PATH_MAX];
    if (realpath(path, whole)) {
        char *slash = strrchr(whole, '/');
        return arena_strndup(a, whole, slash == whole ? 1 : (size_t)(slash - whole));
    }
    return arena_strdup(a, getcwd(cwd, sizeof(cwd)) ? cwd : ".");
}

/* Every key but those of the section `network`, which stays a tree. */
static void take_tree(struct values *c, const struct yaml_node *root)
{
    struct yaml_sink sink = {c, take_value};
    if (root && root->kind == YAML_MAP)
        c->network = yaml_get(root, "network");
    if (!c->network) {
        if (root)
            yaml_walk(root, "", &sink);
        return;
    }
    for (const struct yaml_node *n = root->first; n; n = n->next)
        if (strcmp(n->key, "network") != 0)
            yaml_walk(n, n->key, &sink);
}

enum skiff_status values_parse(const void *bytes, size_t n, const char *name, struct values **out,
                               struct skiff_error *err)
{
    struct values *c = mem_alloc_or_die(sizeof(*c));
    arena_init(&c->arena);
    str_map_init(&c->entries);
    c->name = arena_strdup(&c->arena, name);
    c->folder = folder_of(&c->arena, name);
    const struct yaml_node *root;
    enum skiff_status status = yaml_read(bytes, n, name, &c->arena, &root, err);
    if (status == SKIFF_OK)
        take_tree(c, root);
    if (status == SKIFF_OK && str_map_has(&c->entries, ""))
        status =
            error_set(err, SKIFF_FORMAT, "%s: a config is a map of keys, as \"runner:\"", name);
    if (status < 0) {
        values_close(c);
        return status;
    }
    *out = c;
    return SKIFF_OK;
}

enum skiff_status values_open(const char *path, struct values **out, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    enum skiff_status status = file_read(path, &text, err);
    if (status == SKIFF_OK)
        status = values_parse(text.data ? text.data : "", text.len, path, out, err);
    buf_deinit(&text);
    return status;
}

void values_close(struct values *c)
{
    if (!c)
        return;
    str_map_deinit(&c->entries);
    arena_deinit(&c->arena);
    free(c);
}

enum skiff_status values_override(struct values *c, const char *assignment, struct skiff_error *err)
{
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        return error_set(err, SKIFF_INVALID, "-o %s: write key=value, as -o runner.epochs=3",
                         assignment);
    const char *key = arena_strndup(&c->arena, assignment, (size_t)(equals - assignment));
    const char *text = equals + 1;
    struct yaml_sink sink = {c, take_value};
    const struct yaml_node *tree = NULL;
    c->override_key = key;
    /* Only lists are read as YAML: anything else, such as a command, is plain text. */
    if (text[0] == '[' && yaml_read(text, strlen(text), "-o", &c->arena, &tree, NULL) == SKIFF_OK) {
        yaml_walk(tree, "", &sink);
    } else {
        size_t n = strlen(text);
        bool quoted = n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n - 1] == text[0];
        text = quoted ? arena_strndup(&c->arena, text + 1, n - 2) : text;
        take_value(c, key, 0, false, &text, 1);
    }
    c->override_key = NULL;
    return SKIFF_OK;
}

/* ---- reading ---- */

const struct value *values_find(const struct values *c, const char *key)
{
    const struct value *e = str_map_get(&c->entries, key);
    if (!e || (e->list && e->n))
        return e;
    if (e->n && (!e->values[0][0] || !strcmp(e->values[0], "null") || !strcmp(e->values[0], "~")))
        return NULL;
    return e;
}

static void refuse(struct values *c, const struct value *e, const char *key, const char *text)
{
    if (c->wrong.code)
        return;
    if (e && e->line)
        error_set(&c->wrong, SKIFF_INVALID, "%s:%d: %s %s", c->name, e->line, key, text);
    else if (e)
        error_set(&c->wrong, SKIFF_INVALID, "-o %s %s", key, text);
    else
        error_set(&c->wrong, SKIFF_INVALID, "%s: %s %s", c->name, key, text);
}

void values_refuse(struct values *c, const char *key, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    refuse(c, str_map_get(&c->entries, key), key, text);
}

/* The only value of an entry; NULL (reported) when it is a list. */
static const char *single(struct values *c, const struct value *e, const char *what)
{
    if (!e->list)
        return e->values[0];
    char text[128];
    snprintf(text, sizeof(text), "must be %s, found a list of %d", what, e->n);
    refuse(c, e, e->key, text);
    return NULL;
}

static void wrong_type(struct values *c, const struct value *e, const char *what, const char *found)
{
    char text[256];
    snprintf(text, sizeof(text), "must be %s, found \"%.80s\"", what, found);
    refuse(c, e, e->key, text);
}

bool values_has(const struct values *c, const char *key)
{
    return values_find(c, key) != NULL;
}

bool value_parse_int(const char *s, int64_t *out)
{
    char digits[32];
    size_t n = 0;
    for (; *s; s++) {
        if (*s == '_' && n)
            continue;
        if (n + 1 == sizeof(digits) || !(isdigit((unsigned char)*s) || (!n && strchr("+-", *s))))
            return false;
        digits[n++] = *s;
    }
    digits[n] = 0;
    char *end;
    errno = 0;
    *out = strtoll(digits, &end, 10);
    return n && isdigit((unsigned char)digits[n - 1]) && !*end && !errno;
}

int64_t values_int(struct values *c, const char *key, int64_t fallback)
{
    const struct value *e = values_find(c, key);
    const char *text = e ? single(c, e, "an integer") : NULL;
    int64_t v;
    if (!text)
        return fallback;
    if (value_parse_int(text, &v))
        return v;
    bool digits = text[0] && !text[strspn(text, "0123456789_+-")];
    wrong_type(c, e, digits ? "an integer of 64 bits" : "an integer", text);
    return fallback;
}

int64_t values_int_in(struct values *c, const char *key, int64_t fallback, int64_t low,
                      int64_t high)
{
    const struct value *e = values_find(c, key);
    int64_t v = values_int(c, key, fallback);
    if (!e || e->list || (v >= low && v <= high))
        return v;
    const char *text = e->values[0]; /* as it is written */
    if (high == INT64_MAX)
        values_refuse(c, key, "must be at least %lld, found %s", (long long)low, text);
    else
        values_refuse(c, key, "must be between %lld and %lld, found %s", (long long)low,
                      (long long)high, text);
    return fallback;
}

bool value_parse_real(const char *s, double *out)
{
    char *end;
    *out = strtod(s, &end);
    return *s && !*end && isfinite(*out) && !isspace((unsigned char)*s);
}

double values_real(struct values *c, const char *key, double fallback)
{
    const struct value *e = values_find(c, key);
    const char *text = e ? single(c, e, "a number") : NULL;
    double v;
    if (!text)
        return fallback;
    if (value_parse_real(text, &v))
        return v;
    wrong_type(c, e, "a number", text);
    return fallback;
}

static int word_at(const char *const *words, const char *text)
{
    for (int i = 0; words[i]; i++)
        if (!strcasecmp(words[i], text))
            return i;
    return -1;
}

bool value_parse_bool(const char *text, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1", NULL};
    int at = word_at(words, text);
    *out = at & 1;
    return at >= 0;
}

bool values_bool(struct values *c, const char *key, bool fallback)
{
    const struct value *e = values_find(c, key);
    const char *text = e ? single(c, e, "True or False") : NULL;
    bool v;
    if (!text)
        return fallback;
    if (value_parse_bool(text, &v))
        return v;
    wrong_type(c, e, "True or False", text);
    return fallback;
}

const char *values_text(struct values *c, const char *key, const char *fallback)
{
    const struct value *e = values_find(c, key);
    const char *text = e ? single(c, e, "one value") : NULL;
    return text ? text : fallback;
}

int values_choice(struct values *c, const char *key, int fallback, const char *const *words)
{
    const struct value *e = values_find(c, key);
    const char *text = e ? single(c, e, "one word") : NULL;
    if (!text)
        return fallback;
    int at = word_at(words, text);
    if (at >= 0)
        return at;
    struct buf list = BUF_INIT;
    for (int i = 0; words[i]; i++)
        buf_printf(&list, "%s%s", i ? (words[i + 1] ? ", " : " or ") : "", words[i]);
    wrong_type(c, e, list.data, text);
    buf_deinit(&list);
    return fallback;
}

const char *values_resolve(struct values *c, const char *path)
{
    if (!path || path[0] == '/' || !path[0] || !strcmp(path, "-") || fs_is_remote(path))
        return path;
    while (!strncmp(path, "./", 2))
        path += 2;
    return arena_printf(&c->arena, "%s/%s", c->folder, path);
}

int values_list(struct values *c, const char *key, const char *const **out)
{
    const struct value *e = values_find(c, key);
    *out = e ? e->values : NULL;
    return e ? e->n : -1;
}

int values_ints(struct values *c, const char *key, int64_t *out, int max)
{
    const struct value *e = values_find(c, key);
    if (!e)
        return -1;
    if (e->n > max) {
        values_refuse(c, key, "has %d values, at most %d fit", e->n, max);
        return -1;
    }
    for (int i = 0; i < e->n; i++)
        if (!value_parse_int(e->values[i], &out[i])) {
            wrong_type(c, e, "a list of integers", e->values[i]);
            return -1;
        }
    return e->n;
}

enum skiff_status values_check(const struct values *c, struct skiff_error *err)
{
    if (c->wrong.code && err)
        *err = c->wrong;
    return c->wrong.code;
}

/* ---- the rest ---- */

const struct yaml_node *values_network(const struct values *c)
{
    return c->network;
}

const char *values_name(const struct values *c)
{
    return c->name;
}

const char *values_folder(const struct values *c)
{
    return c->folder;
}

int values_count(const struct values *c)
{
    return (int)c->entries.count;
}

const struct value *values_at(const struct values *c, int i)
{
    return c->entries.entries[i].value;
}

void value_print(const struct value *e, struct buf *out)
{
    if (!e->list) {
        buf_str(out, e->n ? e->values[0] : "");
        return;
    }
    buf_char(out, '[');
    for (int k = 0; k < e->n; k++)
        buf_printf(out, "%s%s", k ? ", " : "", e->values[k]);
    buf_char(out, ']');
}
