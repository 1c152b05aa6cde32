/* The list of readers, and their settings by name.
 *
 * Settings are one table of name, kind and place in struct reader_config, so that a config file,
 * Dataset's methods and tests set them alike, and an unknown name or a wrong value is told in one
 * way. */
#include "data/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/text.h"

#define READER(class) extern const struct reader_class class;
#include "data/reader_list.h"
#undef READER

static const struct reader_class *const readers[] = {
#define READER(class) &class,
#include "data/reader_list.h"
#undef READER
    NULL};

const struct reader_class *const *reader_all(void)
{
    return readers;
}

const struct reader_class *reader_find(const char *name)
{
    for (int i = 0; readers[i]; i++)
        if (strcmp(readers[i]->name, name) == 0)
            return readers[i];
    return NULL;
}

enum skiff_status reader_create(const struct reader_config *config, const struct schema *schema,
                                struct reader **out, struct skiff_error *err)
{
    const char *name = config->format ? config->format : "multislot";
    const struct reader_class *class = reader_find(name);
    if (!class) {
        struct buf known = BUF_INIT;
        for (int i = 0; readers[i]; i++)
            buf_printf(&known, "%s%s", i ? ", " : "", readers[i]->name);
        enum skiff_status status = error_set(
            err, SKIFF_NOT_FOUND, "input format %s is not known; there are: %s", name, known.data);
        buf_deinit(&known);
        return status;
    }
    if (schema->count == 0)
        return error_set(err, SKIFF_INVALID, "no slot is used: there is nothing to read");
    enum skiff_status status = class->create(config, schema, out, err);
    if (status < 0)
        return error_prefix(err, status, "input format %s", name);
    return status;
}

void reader_destroy(struct reader *r)
{
    if (r)
        r->class->destroy(r);
}

enum skiff_status reader_bad(const struct schema *schema, int slot, const char *expected,
                             const char *found, size_t n, struct skiff_error *err)
{
    char quoted[64];
    return error_set(err, SKIFF_FORMAT, "slot \"%s\" (%d of %d): expected %s, found %s",
                     schema->slots[slot].name, slot + 1, schema->count, expected,
                     text_quote(found, n, quoted));
}

enum skiff_status reader_no_memory(const struct schema *schema, int slot, struct skiff_error *err)
{
    return error_set(err, SKIFF_NOMEM, "no memory for a value of slot \"%s\"",
                     schema->slots[slot].name);
}

/* ---- configuration ---- */

void reader_config_init(struct reader_config *c)
{
    *c = (struct reader_config){.separator = ',', .header = true, .index_base = 1};
}

void reader_config_deinit(struct reader_config *c)
{
    free(c->format);
    free(c->stats);
    free(c->slots);
    free(c->columns);
    *c = (struct reader_config){0};
}

static char *copy_text(const char *s)
{
    return s ? mem_must_strdup(s) : NULL;
}

void reader_config_copy(struct reader_config *to, const struct reader_config *from)
{
    *to = *from;
    to->format = copy_text(from->format);
    to->stats = copy_text(from->stats);
    to->slots = copy_text(from->slots);
    to->columns = copy_text(from->columns);
}

enum value_kind_of_key {
    KEY_TEXT,
    KEY_BOOL,
    KEY_NOT,
    KEY_INT,
    KEY_CHAR,
    KEY_SIZE,
    KEY_HASH,
    KEY_NORM
};

struct key {
    const char *name;
    enum value_kind_of_key kind;
    size_t at;
};

#define AT(field) offsetof(struct reader_config, field)

static const struct key keys[] = {
    {"format", KEY_TEXT, AT(format)},
    {"hash", KEY_HASH, AT(hash)},
    {"hash_size", KEY_SIZE, AT(hash_size)},
    {"normalise", KEY_NORM, AT(normalise)},
    {"stats", KEY_TEXT, AT(stats)},
    {"label", KEY_NOT, AT(no_label)},
    {"parse_ins_id", KEY_BOOL, AT(parse_ins_id)},
    {"parse_content", KEY_BOOL, AT(parse_content)},
    {"parse_logkey", KEY_BOOL, AT(parse_logkey)},
    {"slots", KEY_TEXT, AT(slots)},
    {"columns", KEY_TEXT, AT(columns)},
    {"separator", KEY_CHAR, AT(separator)},
    {"header", KEY_BOOL, AT(header)},
    {"multi", KEY_CHAR, AT(multi)},
    {"index_base", KEY_INT, AT(index_base)},
    {"field_base", KEY_INT, AT(field_base)},
};
#define NKEYS (sizeof keys / sizeof *keys)

static enum skiff_status bad_setting(const char *key, const char *value, const char *expected,
                                     struct skiff_error *err)
{
    return error_set(err, SKIFF_INVALID, "reader setting %s: expected %s, found \"%s\"", key,
                     expected, value);
}

/* A number that fills the whole text. */
static bool whole_number(const char *value, int64_t least, int64_t *out)
{
    char *end;
    long long x = strtoll(value, &end, 10);
    *out = x;
    return end != value && !*end && x >= least;
}

static bool truth(const char *value, bool *out)
{
    static const char *const yes[] = {"true", "True", "1", "yes", "on"};
    static const char *const no[] = {"false", "False", "0", "no", "off"};
    for (size_t i = 0; i < 5; i++) {
        *out = strcmp(value, yes[i]) == 0;
        if (*out || strcmp(value, no[i]) == 0)
            return true;
    }
    return false;
}

static bool one_char(const char *value, char *out)
{
    static const char *const names[] = {"tab", "\\t", "comma", "space", "pipe", "semicolon"};
    static const char chars[] = "\t\t, |;";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i]) == 0) {
            *out = chars[i];
            return true;
        }
    *out = value[0];
    return !value[0] || !value[1];
}

static bool choice(const char *value, const char *const *names, int n, int *out)
{
    for (*out = 0; *out < n; ++*out)
        if (strcmp(value, names[*out]) == 0)
            return true;
    return false;
}

static enum skiff_status config_put(struct reader_config *c, const struct key *k, const char *value,
                                    struct skiff_error *err)
{
    static const char *const hashes[] = {"xxh64", "python"};
    static const char *const norms[] = {"documents", "quantile", "none"};
    void *at = (char *)c + k->at;
    int64_t number;
    bool flag;
    int chosen;
    switch (k->kind) {
    case KEY_TEXT:
        free(*(char **)at);
        *(char **)at = mem_must_strdup(value);
        return SKIFF_OK;
    case KEY_BOOL:
    case KEY_NOT:
        if (!truth(value, &flag))
            return bad_setting(k->name, value, "true or false", err);
        *(bool *)at = flag != (k->kind == KEY_NOT);
        return SKIFF_OK;
    case KEY_INT:
        if (!whole_number(value, INT64_MIN, &number))
            return bad_setting(k->name, value, "a whole number", err);
        *(int64_t *)at = number;
        return SKIFF_OK;
    case KEY_SIZE:
        if (!whole_number(value, 0, &number))
            return bad_setting(k->name, value, "a whole number, 0 for all 64 bits", err);
        c->hash_size = (uint64_t)number;
        c->has_hash_size = true;
        return SKIFF_OK;
    case KEY_CHAR:
        if (!one_char(value, at))
            return bad_setting(k->name, value,
                               "one character, or tab, comma, space, pipe, semicolon", err);
        return SKIFF_OK;
    case KEY_HASH:
        if (!choice(value, hashes, 2, &chosen))
            return bad_setting(k->name, value, "xxh64 or python", err);
        c->hash = (enum hash_kind)chosen;
        return SKIFF_OK;
    case KEY_NORM:
        if (!choice(value, norms, 3, &chosen))
            return bad_setting(k->name, value, "documents, quantile or none", err);
        c->normalise = (enum normalise)chosen;
        return SKIFF_OK;
    }
    return SKIFF_OK;
}

enum skiff_status reader_config_set(struct reader_config *c, const char *key, const char *value,
                                    struct skiff_error *err)
{
    for (size_t i = 0; i < NKEYS; i++)
        if (strcmp(keys[i].name, key) == 0)
            return config_put(c, &keys[i], value, err);
    struct buf known = BUF_INIT;
    for (size_t i = 0; i < NKEYS; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", keys[i].name);
    enum skiff_status status = error_set(
        err, SKIFF_NOT_FOUND, "reader setting %s is not known; there are: %s", key, known.data);
    buf_deinit(&known);
    return status;
}
