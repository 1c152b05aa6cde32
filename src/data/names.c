/* Looking up slot names (names.h) in an open-addressing table.
 *
 * The names of the few slots are known in advance, and readers look them up for every value. So
 * the first 8 bytes are compared as one integer, and the text only behind them. Names that match
 * no slot are recorded once each, the first few of them, and compared with slot names to find
 * misspellings. */
#include "data/names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/near.h"

static uint64_t name_head(const char *p, size_t n)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return n >= 8 ? v : v & (((uint64_t)1 << (8 * n)) - 1);
}

static uint32_t name_slot(uint64_t head, size_t n)
{
    return (uint32_t)(((head ^ n * 0x9E3779B97F4A7C15ull) * 0xC2B2AE3D27D4EB4Full) >> 32);
}

int name_table_find(const struct name_table *t, const char *p, size_t n)
{
    uint64_t head = name_head(p, n);
    for (uint32_t i = name_slot(head, n) & t->mask;; i = (i + 1) & t->mask) {
        const struct name_entry *e = &t->entries[i];
        if (e->slot < 0)
            return -1;
        if (e->head == head && e->len == n && (n <= 8 || memcmp(e->text, p, n) == 0))
            return e->slot;
    }
}

/* False when the name is there already. `text` lives in t->texts, with 8 bytes behind it. */
static bool name_put(struct name_table *t, const char *text, size_t n, int slot)
{
    if (name_table_find(t, text, n) >= 0)
        return false;
    uint64_t head = name_head(text, n);
    uint32_t i = name_slot(head, n) & t->mask;
    while (t->entries[i].slot >= 0)
        i = (i + 1) & t->mask;
    t->entries[i] = (struct name_entry){head, (uint32_t)n, slot, text};
    return true;
}

/* The other usual name of a slot, or NULL. */
static const char *other_name(const char *name, const char *label_name)
{
    static const char *const pairs[][2] = {
        {"label", "click"}, {"dense_input", "dense_feature"}, {"dense_feature", "dense_input"}};
    if (label_name && (strcmp(name, "label") == 0 || strcmp(name, "click") == 0))
        return label_name;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(name, pairs[i][0]) == 0)
            return pairs[i][1];
    const char *number = strncmp(name, "slot_", 5) == 0 ? name + 5 : name[0] == 'C' ? name + 1 : "";
    return *number && number[strspn(number, "0123456789")] == '\0' ? number : NULL;
}

static enum skiff_status names_given(struct name_table *t, const struct schema *schema,
                                     const char *slots, struct skiff_error *err)
{
    char *at = strcpy(t->texts, slots);
    int slot = 0;
    for (char *name; (name = strsep(&at, " ,\t\n"));) {
        if (!*name)
            continue;
        if (slot < schema->count && !name_put(t, name, strlen(name), slot))
            return error_set(err, SKIFF_INVALID, "slots: %s is given twice", name);
        slot++;
    }
    if (slot != schema->count)
        return error_set(err, SKIFF_INVALID, "slots: %d names are given for %d slots", slot,
                         schema->count);
    return SKIFF_OK;
}

static void names_usual(struct name_table *t, const struct schema *schema, const char *label_name)
{
    char *at = t->texts;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < schema->count; i++) {
            const char *own = schema->slots[i].name;
            const char *name = round ? other_name(own, label_name) : own;
            if (!name)
                continue;
            size_t n = strlen(name);
            memcpy(at, name, n + 1);
            name_put(t, at, n, i);
            at += n + 1;
        }
}

enum skiff_status name_table_init(struct name_table *t, const struct schema *schema,
                                  const char *slots, const char *label_name,
                                  struct skiff_error *err)
{
    uint32_t cap = 16;
    size_t bytes = (slots ? strlen(slots) : 0) + 16;
    for (int i = 0; i < schema->count; i++)
        bytes += 2 * strlen(schema->slots[i].name) + 64;
    while (cap < 4 * (uint32_t)schema->count)
        cap *= 2;
    *t = (struct name_table){.entries = mem_alloc_or_die(cap * sizeof *t->entries),
                             .mask = cap - 1,
                             .texts = mem_alloc_or_die(bytes)};
    for (uint32_t i = 0; i < cap; i++)
        t->entries[i].slot = -1;
    if (!slots) {
        names_usual(t, schema, label_name);
        return SKIFF_OK;
    }
    enum skiff_status status = names_given(t, schema, slots, err);
    if (status < 0)
        name_table_deinit(t);
    return status;
}

void name_table_deinit(struct name_table *t)
{
    free(t->entries);
    free(t->texts);
    *t = (struct name_table){0};
}

/* ---- names of no slot ---- */

int strange_names_find(const struct strange_names *s, const char *name, size_t n)
{
    n = n < sizeof s->name[0] ? n : sizeof s->name[0] - 1;
    for (int i = 0; i < s->n; i++)
        if (memcmp(s->name[i], name, n) == 0 && s->name[i][n] == '\0')
            return i;
    return -1;
}

int strange_names_add(struct strange_names *s, const char *name, size_t n)
{
    if (s->n == STRANGE_MAX)
        return -1;
    snprintf(s->name[s->n], sizeof s->name[0], "%.*s", (int)n, name);
    for (char *c = s->name[s->n]; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?'; /* it will be printed */
    s->like[s->n] = -1;
    return s->n++;
}

/* C27 is another slot than C26, not a slip of the pen. */
static bool differ_in_digits(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

static int slot_like(const struct name_table *t, const char *name)
{
    struct near near = near_to(name);
    int letters = (int)strlen(name), slot = -1;
    for (uint32_t i = 0; i <= t->mask; i++) {
        const struct name_entry *e = &t->entries[i];
        if (e->slot >= 0 && strcasecmp(e->text, name) == 0)
            return e->slot;
        if (e->slot < 0 || differ_in_digits(e->text, name))
            continue;
        const char *before = near.best;
        near_try(&near, e->text);
        slot = near.best != before ? e->slot : slot;
    }
    return near.best && near.distance <= (letters < 6 ? 1 : letters / 3) ? slot : -1;
}

int name_table_strange(struct name_table *t, const char *p, size_t n, int64_t line)
{
    int at = strange_names_find(&t->strange, p, n);
    if (at >= 0)
        return at;
    at = strange_names_add(&t->strange, p, n);
    if (at >= 0) {
        t->strange.like[at] = slot_like(t, t->strange.name[at]);
        t->strange.line[at] = line;
    }
    return at;
}

const char *name_table_names(const struct name_table *t, int slot, char out[static 96])
{
    const char *found[2] = {NULL, NULL};
    for (uint32_t i = 0; i <= t->mask; i++)
        if (t->entries[i].slot == slot)
            found[found[0] != NULL] = t->entries[i].text;
    if (found[1] && found[1] < found[0]) { /* its own stands before the other usual one */
        const char *swap = found[0];
        found[0] = found[1];
        found[1] = swap;
    }
    snprintf(out, 96, "%.40s%s%.40s", found[0] ? found[0] : "", found[1] ? " or " : "",
             found[1] ? found[1] : "");
    return out;
}

const char *name_table_meant(const struct name_table *t, int strange)
{
    const char *best = "";
    int distance = INT_MAX;
    for (uint32_t i = 0; i <= t->mask; i++) {
        int d =
            near_distance(t->strange.name[strange], t->entries[i].text ? t->entries[i].text : "");
        if (t->entries[i].slot == t->strange.like[strange] && d < distance) {
            distance = d;
            best = t->entries[i].text;
        }
    }
    return best;
}
