/* Values of a config by the keys of the table (config.h).
 *
 * values.h holds what the file and -o say, by name; this file adds what the table knows: type,
 * range, default, and the key whose value is taken when one is not set. Names that a model or a
 * network asked for are noted in `asked`: only these keys are not unknown (unknown.c). values.h
 * notes the first wrong value, and config_check reports it with its file and line. */
#include "config/config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/day.h"
#include "base/mem.h"
#include "base/options.h"
#include "config/config_parts.h"

/* ---- opening ---- */

static enum skiff_status take(struct values *v, enum skiff_status status, struct config **out)
{
    if (status < 0)
        return status;
    struct config *c = mem_alloc_or_die(sizeof *c);
    *c = (struct config){.values = v};
    arena_init(&c->arena);
    str_map_init(&c->asked);
    *out = c;
    return SKIFF_OK;
}

enum skiff_status config_parse(const void *bytes, size_t n, const char *name, struct config **out,
                               struct skiff_error *err)
{
    struct values *v = NULL;
    enum skiff_status status = values_parse(bytes, n, name, &v, err);
    return take(v, status, out);
}

enum skiff_status config_open(const char *path, struct config **out, struct skiff_error *err)
{
    struct values *v = NULL;
    enum skiff_status status = values_open(path, &v, err);
    return take(v, status, out);
}

void config_close(struct config *c)
{
    if (!c)
        return;
    values_close(c->values);
    str_map_deinit(&c->asked);
    arena_deinit(&c->arena);
    free(c);
}

enum skiff_status config_override(struct config *c, const char *assignment, struct skiff_error *err)
{
    return values_override(c->values, assignment, err);
}

enum skiff_status config_set(struct config *c, enum config_key key, const char *value,
                             struct skiff_error *err)
{
    return config_override(c, arena_printf(&c->arena, "%s=%s", key_name(key), value), err);
}

/* ---- values of keys ---- */

static void ask(struct config *c, const char *name)
{
    if (!str_map_has(&c->asked, name))
        str_map_put(&c->asked, arena_strdup(&c->arena, name), c);
}

/* The name whose value counts: of the key, or of the one that it is taken from. */
static const char *name_of(struct config *c, enum config_key key)
{
    const struct key_info *k = key_info(key);
    if (k->by_model)
        ask(c, k->name);
    if (!values_has(c->values, k->name) && k->from && values_has(c->values, key_name(k->from)))
        return key_name(k->from);
    return k->name;
}

static const char *standard_of(enum config_key key)
{
    const struct key_info *k = key_info(key);
    return k->standard || !k->from ? k->standard : key_info(k->from)->standard;
}

bool config_has(struct config *c, enum config_key key)
{
    return values_has(c->values, key_name(key));
}

static int64_t int_in(struct config *c, enum config_key key, int64_t standard)
{
    const struct key_info *k = key_info(key);
    assert(k->type == KEY_INT || k->type == KEY_TEXT);
    return values_int_in(c->values, name_of(c, key), standard, k->bounded ? k->min : INT64_MIN,
                         k->bounded ? k->max : INT64_MAX);
}

int64_t config_int(struct config *c, enum config_key key)
{
    int64_t standard = 0;
    if (standard_of(key))
        value_parse_int(standard_of(key), &standard);
    return int_in(c, key, standard);
}

int64_t config_int_or(struct config *c, enum config_key key, int64_t standard)
{
    assert(key_info(key)->depends);
    return int_in(c, key, standard);
}

double config_real(struct config *c, enum config_key key)
{
    const struct key_info *k = key_info(key);
    const char *name = name_of(c, key);
    double standard = 0;
    assert(k->type == KEY_REAL);
    if (standard_of(key))
        value_parse_real(standard_of(key), &standard);
    double v = values_real(c->values, name, standard);
    bool open = k->max == INT64_MAX; /* reals have no upper bound */
    if (!k->bounded || (v >= (double)k->min && (open || v <= (double)k->max)))
        return v;
    if (open)
        values_refuse(c->values, name, "must be at least %lld, found %g", (long long)k->min, v);
    else
        values_refuse(c->values, name, "must be between %lld and %lld, found %g", (long long)k->min,
                      (long long)k->max, v);
    return standard;
}

bool config_bool_or(struct config *c, enum config_key key, bool standard)
{
    assert(key_info(key)->type == KEY_BOOL && (key_info(key)->depends || standard_of(key)));
    return values_bool(c->values, name_of(c, key), standard);
}

bool config_bool(struct config *c, enum config_key key)
{
    bool standard = false;
    if (standard_of(key))
        value_parse_bool(standard_of(key), &standard);
    return values_bool(c->values, name_of(c, key), standard);
}

const char *config_text(struct config *c, enum config_key key)
{
    return values_text(c->values, name_of(c, key), standard_of(key));
}

const char *config_text_or(struct config *c, enum config_key key, const char *standard)
{
    assert(key_info(key)->depends);
    return values_text(c->values, name_of(c, key), standard);
}

int config_word_of(struct config *c, enum config_key key, const char *const *words)
{
    int standard = 0;
    while (words[standard] && strcmp(words[standard], standard_of(key)) != 0)
        standard++;
    assert(words[standard]);
    return values_choice(c->values, name_of(c, key), standard, words);
}

int config_word(struct config *c, enum config_key key)
{
    enum { MOST = 8 };
    char texts[MOST][64];
    const char *words[MOST + 1] = {NULL};
    assert(key_info(key)->type == KEY_WORD);
    for (int i = 0; i < MOST && key_word(key, i, texts[i]); i++)
        words[i] = texts[i];
    return config_word_of(c, key, words);
}

size_t config_size(struct config *c, enum config_key key)
{
    const char *text = config_text(c, key);
    size_t size = 0;
    assert(key_info(key)->type == KEY_SIZE);
    if (text && !option_size(text, &size))
        config_refuse(c, key, "must be a size, as 4096, 64K, 10M or 2G, found \"%.80s\"", text);
    return size;
}

int config_day(struct config *c, enum config_key key)
{
    const char *text = config_text(c, key), *rest = text;
    assert(key_info(key)->type == KEY_DAY);
    int day = text ? day_take(&rest) : 0;
    if (text && (!day || *rest))
        config_refuse(c, key, "must be a day as 20190720, found \"%.40s\"", text);
    return day;
}

const char *config_path(struct config *c, enum config_key key)
{
    return values_resolve(c->values, config_text(c, key));
}

int config_list(struct config *c, enum config_key key, const char *const **out)
{
    return values_list(c->values, name_of(c, key), out);
}

int config_paths(struct config *c, enum config_key key, const char *const **out)
{
    const char *const *raw;
    int n = config_list(c, key, &raw);
    if (n < 0)
        return n;
    const char **paths = arena_alloc(&c->arena, (size_t)(n + 1) * sizeof *paths);
    for (int i = 0; i < n; i++)
        paths[i] = values_resolve(c->values, raw[i]);
    *out = paths;
    return n;
}

/* ---- members of a family ---- */

static const char *member(struct config *c, enum config_key family, const char *name)
{
    assert(key_is_family(family));
    const char *whole =
        arena_printf(&c->arena, "%.*s%s", key_family_length(family), key_name(family), name);
    ask(c, whole);
    return whole;
}

bool member_has(struct config *c, enum config_key family, const char *name)
{
    return values_has(c->values, member(c, family, name));
}

int64_t member_int(struct config *c, enum config_key family, const char *name, int64_t fallback,
                   int64_t low, int64_t high)
{
    return values_int_in(c->values, member(c, family, name), fallback, low, high);
}

double member_real(struct config *c, enum config_key family, const char *name, double fallback)
{
    return values_real(c->values, member(c, family, name), fallback);
}

bool member_bool(struct config *c, enum config_key family, const char *name, bool fallback)
{
    return values_bool(c->values, member(c, family, name), fallback);
}

const char *member_text(struct config *c, enum config_key family, const char *name,
                        const char *fallback)
{
    return values_text(c->values, member(c, family, name), fallback);
}

int member_list(struct config *c, enum config_key family, const char *name, const char *const **out)
{
    return values_list(c->values, member(c, family, name), out);
}

int member_ints(struct config *c, enum config_key family, const char *name, int64_t *out, int max)
{
    return values_ints(c->values, member(c, family, name), out, max);
}

void member_know(struct config *c, enum config_key family, const char *name)
{
    if (name)
        member(c, family, name);
    else
        c->whole_family[family] = true;
}

/* ---- wrong values ---- */

#define REFUSE(name, format)                        \
    do {                                            \
        char text[512];                             \
        va_list ap;                                 \
        va_start(ap, format);                       \
        vsnprintf(text, sizeof text, format, ap);   \
        va_end(ap);                                 \
        values_refuse(c->values, name, "%s", text); \
    } while (0)

void config_refuse(struct config *c, enum config_key key, const char *format, ...)
{
    REFUSE(name_of(c, key), format);
}

void config_refuse_at(struct config *c, int i, const char *format, ...)
{
    REFUSE(values_at(c->values, i)->key, format);
}

void member_refuse(struct config *c, enum config_key family, const char *name, const char *format,
                   ...)
{
    REFUSE(member(c, family, name), format);
}

enum skiff_status config_check(const struct config *c, struct skiff_error *err)
{
    return values_check(c->values, err);
}

static void read_one(struct config *c, enum config_key key)
{
    const char *const *list;
    int64_t numbers[64];
    switch (key_info(key)->type) {
    case KEY_INT:
        config_int(c, key);
        break;
    case KEY_REAL:
        config_real(c, key);
        break;
    case KEY_BOOL:
        config_bool(c, key);
        break;
    case KEY_WORD:
        config_word(c, key);
        break;
    case KEY_INTS:
        values_ints(c->values, key_name(key), numbers, 64);
        break;
    case KEY_LIST:
    case KEY_PATHS:
        config_list(c, key, &list);
        break;
    case KEY_TEXT:
    case KEY_PATH:
        config_text(c, key);
        break;
    case KEY_DAY:
        config_day(c, key);
        break;
    case KEY_SIZE:
        config_size(c, key);
        break;
    case KEY_ANY:
        break;
    }
}

void config_read_all(struct config *c)
{
    for (int i = 0; i < config_count(c); i++) {
        enum config_key key = key_find(config_at(c, i));
        if (key && config_has(c, key))
            read_one(c, key);
    }
}

/* ---- the rest ---- */

const struct yaml_node *config_network(const struct config *c)
{
    return values_network(c->values);
}

const char *config_name(const struct config *c)
{
    return values_name(c->values);
}

const char *config_folder(const struct config *c)
{
    return values_folder(c->values);
}

int config_count(const struct config *c)
{
    return values_count(c->values);
}

const char *config_at(const struct config *c, int i)
{
    return values_at(c->values, i)->key;
}

int config_list_at(const struct config *c, int i, const char *const **out)
{
    const struct value *e = values_at(c->values, i);
    *out = e->values;
    return e->n;
}

static void print_value(const struct value *e, struct buf *out)
{
    if (key_info(key_matching(e->key))->hidden)
        buf_str(out, "(hidden)");
    else
        value_print(e, out);
}

void config_print_at(const struct config *c, int i, struct buf *out)
{
    print_value(values_at(c->values, i), out);
}

static void print_source(const struct config *c, const struct value *e, struct buf *out)
{
    if (e->line)
        buf_printf(out, "%s:%d", config_name(c), e->line);
    else
        buf_str(out, "-o");
}

void config_print_source_at(const struct config *c, int i, struct buf *out)
{
    print_source(c, values_at(c->values, i), out);
}

bool config_print_effective(struct config *c, enum config_key key, struct buf *value,
                            struct buf *source)
{
    const struct key_info *k = key_info(key);
    const char *name = name_of(c, key), *env = k->environment ? getenv(k->environment) : NULL;
    const struct value *e = values_find(c->values, name);
    if (env && *env) {
        buf_str(value, env);
        buf_printf(source, "environment %s", k->environment);
    } else if (e) {
        print_value(e, value);
        print_source(c, e, source);
        if (name != k->name)
            buf_printf(source, " (%s)", name);
    } else {
        key_print_standard(k->from ? k->from : key, value);
        buf_str(source, "default");
        if (k->from && !k->standard)
            buf_printf(source, " (%s)", key_name(k->from));
    }
    return e || (env && *env);
}
