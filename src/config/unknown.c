/* Keys of a config that the table does not have, or that mean another one: what is reported of
 * them, and which key is nearest.
 *
 * A key that is close to a known one is taken for a misspelling and is an error; so is every
 * unknown key of -o. Others are only reported: configs of PaddleRec have keys of their own. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/near.h"
#include "config/config_parts.h"

/* A row of the table that is a key in every config. */
static bool is_plain(enum config_key key)
{
    return !key_is_family(key) && !key_info(key)->by_model;
}

static bool is_known(const struct config *c, const char *name)
{
    enum config_key key = key_matching(name);
    if (str_map_has(&c->asked, name))
        return true;
    if (key && key_info(key)->by_model)
        key = KEY_HYPER;
    return key && (is_plain(key) || c->whole_family[key]);
}

/* Walks all known names: of the table, then of families. NULL behind the last. */
static const char *known_at(const struct config *c, size_t *at)
{
    while (*at < KEY_COUNT) {
        enum config_key key = (enum config_key)(*at)++;
        if (key != KEY_NONE && is_plain(key))
            return key_name(key);
    }
    size_t i = (*at)++ - KEY_COUNT;
    return i < c->asked.count ? c->asked.entries[i].key : NULL;
}

static const char *nearest(const struct config *c, const char *key, int *out_distance)
{
    const char *best = NULL, *known;
    *out_distance = INT_MAX;
    for (size_t at = 0; (known = known_at(c, &at));) {
        int d = near_distance(key, known);
        if (d < *out_distance) {
            *out_distance = d;
            best = known;
        }
    }
    return best;
}

static const char *in_another_case(const struct config *c, const char *key)
{
    const char *known;
    for (size_t at = 0; (known = known_at(c, &at));)
        if (!strcasecmp(key, known) && strcmp(key, known) != 0)
            return known;
    return NULL;
}

static const char *last_word(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

/* A known key of another section with the same last word, or NULL. */
static const char *elsewhere(const struct config *c, const char *key)
{
    const char *known;
    for (size_t at = 0; (known = known_at(c, &at));)
        if (!strcmp(last_word(key), last_word(known)))
            return known;
    return NULL;
}

/* "FILE:3: " or "-o " */
static void location_of(const struct config *c, const struct value *e, char out[static 300])
{
    if (e->line)
        snprintf(out, 300, "%.270s:%d: ", config_name(c), e->line);
    else
        snprintf(out, 300, "-o ");
}

static bool is_empty(const struct value *e)
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

/* The key in another case, or by the name of another tool; NULL: neither. */
static const char *meant_here(const struct config *c, const char *key)
{
    const char *meant = in_another_case(c, key);
    enum config_key alias = meant ? KEY_NONE : key_by_alias(key);
    return alias ? key_name(alias) : meant;
}

enum skiff_status config_aliases(const struct config *c, struct skiff_error *err)
{
    for (int i = 0; i < values_count(c->values); i++) {
        const struct value *e = values_at(c->values, i);
        char location[300], right[32];
        location_of(c, e, location);
        if (wrong_section(e->key, right))
            return error_set(err, SKIFF_INVALID,
                             "%s%.*s must be written %s: keys are case-sensitive", location,
                             (int)strcspn(e->key, "."), e->key, right);
        if (is_known(c, e->key) || is_empty(e) ||
            (strchr(e->key, '.') && strncmp(e->key, "runner.", 7) != 0))
            continue;
        const char *meant = meant_here(c, e->key);
        if (meant)
            return error_set(err, SKIFF_INVALID, "%s%s is not a key: write %s", location, e->key,
                             meant);
    }
    return SKIFF_OK;
}

const char *config_like(const struct config *c, enum config_key key)
{
    struct near near = near_to(key_name(key));
    for (int i = 0; i < values_count(c->values); i++)
        if (!is_known(c, config_at(c, i)))
            near_try(&near, config_at(c, i));
    return near.distance <= 3 ? near.best : NULL;
}

/* What an unknown key means; NULL: who knows. */
static const char *meant_by(const struct config *c, const char *key)
{
    const char *meant = meant_here(c, key);
    return meant ? meant : elsewhere(c, key);
}

int config_unknown(struct config *c, void (*report)(void *arg, bool likely, const char *text),
                   void *arg)
{
    int count = 0;
    for (int i = 0; i < values_count(c->values); i++) {
        const struct value *e = values_at(c->values, i);
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

enum skiff_status config_check_all(struct config *c,
                                   void (*report)(void *arg, bool likely, const char *text),
                                   void *arg, struct skiff_error *err)
{
    member_know(c, KEY_TABLE_PARAMETERS, NULL);
    member_know(c, KEY_HYPER, NULL);
    TRY(config_aliases(c, err));
    config_read_all(c);
    TRY(config_check(c, err));
    int wrong = config_unknown(c, report, arg);
    return wrong ? error_set(err, SKIFF_INVALID, "%s: %d key%s unknown", config_name(c), wrong,
                             wrong == 1 ? " is" : "s are")
                 : SKIFF_OK;
}
