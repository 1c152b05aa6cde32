/* A config as keys with dots, and the getters that commands read it with.
 *
 * Getters note every key that they are asked for; together with what other commands read
 * (config_know) these are the known keys. A key in the file that is none of them is an error that
 * names the nearest known key. A wrong value is kept, with file and line, and reported when the
 * command has read all it needs; the getter gives its fallback until then. */
#include "config/config.h"

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
#include "base/near.h"
#include "fs/fs.h"
#include "config/aliases.h"
#include "config/yaml.h"
#include "store/file.h"

struct config_entry {
    const char *key;
    const char **values;
    int n;
    bool list;
    int line;    /* 0: from the command line */
    int earlier; /* line of the same key before, or 0 */
};

struct config {
    struct arena arena;
    const char *name, *folder;
    struct str_map entries;  /* key -> struct config_entry */
    struct str_map known;    /* keys that were asked for */
    struct str_map prefixes; /* config_know_all */
    struct skiff_error wrong;
    const struct yaml_node *network; /* the section of that name, or NULL */
    const char *override_key;        /* while a value of the command line is read: its key */
};

/* ---- making ---- */

static void take_value(void *self, const char *key, int line, bool list, const char *const *values,
                       int n)
{
    struct config *c = self;
    struct config_entry *e = arena_alloc(&c->arena, sizeof(*e));
    const struct config_entry *before;
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
static void take_tree(struct config *c, const struct yaml_node *root)
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

enum skiff_status config_parse(const void *bytes, size_t n, const char *name, struct config **out,
                               struct skiff_error *err)
{
    struct config *c = mem_alloc_or_die(sizeof(*c));
    arena_init(&c->arena);
    str_map_init(&c->entries);
    str_map_init(&c->known);
    str_map_init(&c->prefixes);
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
        config_close(c);
        return status;
    }
    *out = c;
    return SKIFF_OK;
}

enum skiff_status config_open(const char *path, struct config **out, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    enum skiff_status status = file_read(path, &text, err);
    if (status == SKIFF_OK)
        status = config_parse(text.data ? text.data : "", text.len, path, out, err);
    buf_deinit(&text);
    return status;
}

void config_close(struct config *c)
{
    if (!c)
        return;
    str_map_deinit(&c->entries);
    str_map_deinit(&c->known);
    str_map_deinit(&c->prefixes);
    arena_deinit(&c->arena);
    free(c);
}

enum skiff_status config_override(struct config *c, const char *assignment, struct skiff_error *err)
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

void config_know(struct config *c, const char *key)
{
    if (!str_map_has(&c->known, key))
        str_map_put(&c->known, arena_strdup(&c->arena, key), c);
}

void config_know_all(struct config *c, const char *prefix)
{
    if (!str_map_has(&c->prefixes, prefix))
        str_map_put(&c->prefixes, arena_strdup(&c->arena, prefix), c);
}

/* NULL when absent; a key without a value ("key:" or "key: null") counts as absent. */
static const struct config_entry *find(struct config *c, const char *key)
{
    config_know(c, key);
    const struct config_entry *e = str_map_get(&c->entries, key);
    if (!e || (e->list && e->n))
        return e;
    if (e->n && (!e->values[0][0] || !strcmp(e->values[0], "null") || !strcmp(e->values[0], "~")))
        return NULL;
    return e;
}

static void refuse(struct config *c, const struct config_entry *e, const char *key,
                   const char *text)
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

void config_refuse(struct config *c, const char *key, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    refuse(c, str_map_get(&c->entries, key), key, text);
}

/* The only value of an entry; NULL (told) when it is a list. */
static const char *single(struct config *c, const struct config_entry *e, const char *what)
{
    if (!e->list)
        return e->values[0];
    char text[128];
    snprintf(text, sizeof(text), "must be %s, found a list of %d", what, e->n);
    refuse(c, e, e->key, text);
    return NULL;
}

static void wrong_type(struct config *c, const struct config_entry *e, const char *what,
                       const char *found)
{
    char text[256];
    snprintf(text, sizeof(text), "must be %s, found \"%.80s\"", what, found);
    refuse(c, e, e->key, text);
}

bool config_has(struct config *c, const char *key)
{
    return find(c, key) != NULL;
}

/* 1000001, -3, 1_000_001 as YAML 1.1 has it. */
static bool parse_int(const char *s, int64_t *out)
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

int64_t config_int(struct config *c, const char *key, int64_t fallback)
{
    const struct config_entry *e = find(c, key);
    const char *text = e ? single(c, e, "an integer") : NULL;
    int64_t v;
    if (!text)
        return fallback;
    if (parse_int(text, &v))
        return v;
    bool digits = text[0] && !text[strspn(text, "0123456789_+-")];
    wrong_type(c, e, digits ? "an integer of 64 bits" : "an integer", text);
    return fallback;
}

int64_t config_int_in(struct config *c, const char *key, int64_t fallback, int64_t low,
                      int64_t high)
{
    int64_t v = config_int(c, key, fallback);
    const char *text = config_text(c, key, ""); /* as it is written */
    if (v >= low && v <= high)
        return v;
    if (high == INT64_MAX)
        config_refuse(c, key, "must be at least %lld, found %s", (long long)low, text);
    else
        config_refuse(c, key, "must be between %lld and %lld, found %s", (long long)low,
                      (long long)high, text);
    return fallback;
}

static bool parse_real(const char *s, double *out)
{
    char *end;
    *out = strtod(s, &end);
    return *s && !*end && isfinite(*out) && !isspace((unsigned char)*s);
}

double config_real(struct config *c, const char *key, double fallback)
{
    const struct config_entry *e = find(c, key);
    const char *text = e ? single(c, e, "a number") : NULL;
    double v;
    if (!text)
        return fallback;
    if (parse_real(text, &v))
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

bool config_bool(struct config *c, const char *key, bool fallback)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1", NULL};
    const struct config_entry *e = find(c, key);
    const char *text = e ? single(c, e, "True or False") : NULL;
    if (!text)
        return fallback;
    int at = word_at(words, text);
    if (at >= 0)
        return at & 1;
    wrong_type(c, e, "True or False", text);
    return fallback;
}

const char *config_text(struct config *c, const char *key, const char *fallback)
{
    const struct config_entry *e = find(c, key);
    const char *text = e ? single(c, e, "one value") : NULL;
    return text ? text : fallback;
}

int config_choice(struct config *c, const char *key, int fallback, const char *const *words)
{
    const struct config_entry *e = find(c, key);
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

static const char *resolve(struct config *c, const char *path)
{
    if (!path || path[0] == '/' || !path[0] || !strcmp(path, "-") || fs_is_remote(path))
        return path;
    while (!strncmp(path, "./", 2))
        path += 2;
    return arena_printf(&c->arena, "%s/%s", c->folder, path);
}

const char *config_path(struct config *c, const char *key, const char *fallback)
{
    return resolve(c, config_text(c, key, fallback));
}

int config_list(struct config *c, const char *key, const char *const **out)
{
    const struct config_entry *e = find(c, key);
    *out = e ? e->values : NULL;
    return e ? e->n : -1;
}

int config_paths(struct config *c, const char *key, const char *const **out)
{
    const char *const *raw;
    int n = config_list(c, key, &raw);
    if (n < 0)
        return n;
    const char **paths = arena_alloc(&c->arena, (size_t)(n + 1) * sizeof(*paths));
    for (int i = 0; i < n; i++)
        paths[i] = resolve(c, raw[i]);
    *out = paths;
    return n;
}

int config_ints(struct config *c, const char *key, int64_t *out, int max)
{
    const struct config_entry *e = find(c, key);
    if (!e)
        return -1;
    if (e->n > max) {
        config_refuse(c, key, "has %d values, at most %d fit", e->n, max);
        return -1;
    }
    for (int i = 0; i < e->n; i++)
        if (!parse_int(e->values[i], &out[i])) {
            wrong_type(c, e, "a list of integers", e->values[i]);
            return -1;
        }
    return e->n;
}

enum skiff_status config_check(const struct config *c, struct skiff_error *err)
{
    if (c->wrong.code && err)
        *err = c->wrong;
    return c->wrong.code;
}

/* ---- unknown keys ---- */

static const char *nearest(const struct config *c, const char *key, int *out_distance)
{
    const char *best = NULL;
    *out_distance = INT_MAX;
    for (size_t i = 0; i < c->known.count; i++) {
        int d = near_distance(key, c->known.entries[i].key);
        if (d < *out_distance) {
            *out_distance = d;
            best = c->known.entries[i].key;
        }
    }
    return best;
}

static bool is_known(const struct config *c, const char *key)
{
    if (str_map_has(&c->known, key))
        return true;
    for (size_t i = 0; i < c->prefixes.count; i++) {
        size_t n = strlen(c->prefixes.entries[i].key);
        if (!strncmp(key, c->prefixes.entries[i].key, n))
            return true;
    }
    return false;
}

/* "FILE:3: " or "-o " */
static void location_of(const struct config *c, const struct config_entry *e, char out[static 300])
{
    if (e->line)
        snprintf(out, 300, "%.270s:%d: ", c->name, e->line);
    else
        snprintf(out, 300, "-o ");
}

static bool is_empty(const struct config_entry *e)
{
    return !e->n || (e->n == 1 && !e->values[0][0]);
}

static bool wrong_section(const char *key, char right[static 32])
{
    static const char *const sections[] = {"runner", "hyper_parameters", "security",
                                           "table_parameters", NULL};
    size_t n = strcspn(key, ".");
    for (int i = 0; sections[i]; i++)
        if (strlen(sections[i]) == n && !strncasecmp(key, sections[i], n) &&
            strncmp(key, sections[i], n) != 0) {
            snprintf(right, 32, "%s", sections[i]);
            return true;
        }
    return false;
}

enum skiff_status config_aliases(const struct config *c, struct skiff_error *err)
{
    for (size_t i = 0; i < c->entries.count; i++) {
        const struct config_entry *e = c->entries.entries[i].value;
        char location[300], right[32];
        location_of(c, e, location);
        if (wrong_section(e->key, right))
            return error_set(err, SKIFF_INVALID,
                             "%s%.*s must be written %s: keys are case-sensitive", location,
                             (int)strcspn(e->key, "."), e->key, right);
        if (is_known(c, e->key) || is_empty(e) ||
            (strchr(e->key, '.') && strncmp(e->key, "runner.", 7) != 0))
            continue;
        const char *meant = config_alias_case(e->key, &c->known);
        meant = meant ? meant : config_alias(e->key);
        if (meant)
            return error_set(err, SKIFF_INVALID, "%s%s is not a key: write %s", location, e->key,
                             meant);
    }
    return SKIFF_OK;
}

const char *config_like(const struct config *c, const char *key)
{
    struct near near = near_to(key);
    for (size_t i = 0; i < c->entries.count; i++)
        if (!is_known(c, c->entries.entries[i].key))
            near_try(&near, c->entries.entries[i].key);
    return near.distance <= 3 ? near.best : NULL;
}

/* What an unknown key means; NULL: who knows. */
static const char *meant_by(const struct config *c, const char *key)
{
    const char *meant = config_alias_case(key, &c->known);
    meant = meant ? meant : config_alias(key);
    return meant ? meant : config_alias_elsewhere(key, &c->known);
}

int config_unknown(struct config *c, void (*report)(void *arg, bool likely, const char *text),
                   void *arg)
{
    int count = 0;
    for (size_t i = 0; i < c->entries.count; i++) {
        const struct config_entry *e = c->entries.entries[i].value;
        char location[300], text[700];
        if (is_empty(e))
            continue; /* an empty section */
        location_of(c, e, location);
        if (e->earlier) {
            snprintf(text, sizeof(text), "%s%s was already set in line %d; this value is used",
                     location, e->key, e->earlier);
            report(arg, false, text);
        }
        if (is_known(c, e->key))
            continue;
        const char *meant = meant_by(c, e->key);
        if (meant) {
            snprintf(text, sizeof(text), "%s%s is not a key: write %s", location, e->key, meant);
            report(arg, true, text);
            count++;
            continue;
        }
        int d;
        const char *near = nearest(c, e->key, &d);
        const char *word = strrchr(e->key, '.');
        int length = (int)strlen(word ? word + 1 : e->key);
        bool likely = !e->line || d <= (length < 6 ? 1 : length / 3);
        snprintf(text, sizeof(text), "%sunknown key %s%s%s%s", location, e->key,
                 near ? " (the nearest known one is " : "", near ? near : "", near ? ")" : "");
        report(arg, likely, text);
        count += likely;
    }
    return count;
}

/* ---- the rest ---- */

const struct yaml_node *config_network(const struct config *c)
{
    return c->network;
}

const char *config_name(const struct config *c)
{
    return c->name;
}

const char *config_folder(const struct config *c)
{
    return c->folder;
}

int config_count(const struct config *c)
{
    return (int)c->entries.count;
}

void config_at(const struct config *c, int i, const char **key, const char **text)
{
    const struct config_entry *e = c->entries.entries[i].value;
    *key = e->key;
    *text = e->n ? e->values[0] : "";
}

void config_value(const struct config *c, int i, struct buf *out)
{
    const struct config_entry *e = c->entries.entries[i].value;
    if (!e->list) {
        buf_str(out, e->n ? e->values[0] : "");
        return;
    }
    buf_char(out, '[');
    for (int k = 0; k < e->n; k++)
        buf_printf(out, "%s%s", k ? ", " : "", e->values[k]);
    buf_char(out, ']');
}
