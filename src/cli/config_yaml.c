/* YAML events to keys with dots. Maps become parts of the key, lists of plain values one value,
 * lists of maps numbered keys ("a.0.b"). Nesting is bounded and aliases are refused: a few lines of
 * them can stand for gigabytes. */
#include "cli/config_yaml.h"

#include <string.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/buf.h"

struct reading {
    yaml_parser_t parser;
    const char *name;
    const struct yaml_sink *sink;
    struct arena arena;
    struct buf key; /* dotted path to where we are */
    int depth;
};

static int line_of(const yaml_event_t *e)
{
    return (int)e->start_mark.line + 1;
}

static enum skiff_status next_event(struct reading *r, yaml_event_t *out, struct skiff_error *err)
{
    if (!yaml_parser_parse(&r->parser, out)) {
        const yaml_parser_t *p = &r->parser;
        return error_set(err, SKIFF_FORMAT, "%s:%d: %s%s%s", r->name, (int)p->problem_mark.line + 1,
                         p->problem ? p->problem : "not YAML", p->context ? " " : "",
                         p->context ? p->context : "");
    }
    if (out->type == YAML_ALIAS_EVENT) {
        int line = line_of(out);
        yaml_event_delete(out);
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%s:%d: aliases (*name) are not supported in configs; write the value out",
                         r->name, line);
    }
    return SKIFF_OK;
}

static const char *text_of(struct reading *r, const yaml_event_t *e)
{
    return arena_strndup(&r->arena, (const char *)e->data.scalar.value, e->data.scalar.length);
}

/* Appends ".word" and returns the length before. */
static size_t key_push(struct reading *r, const char *word)
{
    size_t before = r->key.len;
    if (before)
        buf_char(&r->key, '.');
    buf_str(&r->key, word);
    return before;
}

static void key_pop(struct reading *r, size_t before)
{
    r->key.len = before;
    if (r->key.data)
        r->key.data[before] = 0;
}

static enum skiff_status read_node(struct reading *r, const yaml_event_t *e,
                                   struct skiff_error *err);

static enum skiff_status read_map(struct reading *r, int line, struct skiff_error *err)
{
    for (int n = 0;; n++) {
        yaml_event_t e;
        TRY(next_event(r, &e, err));
        if (e.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&e);
            if (!n)
                r->sink->value(r->sink->self, r->key.data ? r->key.data : "", line, true, NULL, 0);
            return SKIFF_OK;
        }
        if (e.type != YAML_SCALAR_EVENT) {
            enum skiff_status s = error_set(
                err, SKIFF_UNSUPPORTED, "%s:%d: a key must be a plain word", r->name, line_of(&e));
            yaml_event_delete(&e);
            return s;
        }
        size_t before = key_push(r, text_of(r, &e));
        yaml_event_delete(&e);
        TRY(next_event(r, &e, err));
        enum skiff_status s = read_node(r, &e, err);
        yaml_event_delete(&e);
        if (s < 0)
            return s;
        key_pop(r, before);
    }
}

struct items {
    const char **text;
    int n, cap;
};

static void items_add(struct reading *r, struct items *l, const char *text)
{
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 16;
        const char **grown = arena_alloc(&r->arena, (size_t)cap * sizeof(*grown));
        if (l->n)
            memcpy(grown, l->text, (size_t)l->n * sizeof(*grown));
        l->text = grown;
        l->cap = cap;
    }
    l->text[l->n++] = text;
}

static enum skiff_status read_list(struct reading *r, int line, struct skiff_error *err)
{
    struct items items = {0};
    for (int n = 0;; n++) {
        yaml_event_t e;
        TRY(next_event(r, &e, err));
        enum skiff_status s = SKIFF_OK;
        bool end = e.type == YAML_SEQUENCE_END_EVENT;
        if (e.type == YAML_SCALAR_EVENT) {
            items_add(r, &items, text_of(r, &e));
        } else if (!end) {
            char number[16];
            snprintf(number, sizeof(number), "%d", n);
            size_t before = key_push(r, number);
            s = read_node(r, &e, err);
            key_pop(r, before);
        }
        yaml_event_delete(&e);
        if (s < 0)
            return s;
        if (end && (items.n || !n))
            r->sink->value(r->sink->self, r->key.data ? r->key.data : "", line, true, items.text,
                           items.n);
        if (end)
            return SKIFF_OK;
    }
}

static enum skiff_status read_node(struct reading *r, const yaml_event_t *e,
                                   struct skiff_error *err)
{
    int line = line_of(e);
    if (e->type == YAML_SCALAR_EVENT) {
        const char *text = text_of(r, e);
        r->sink->value(r->sink->self, r->key.data ? r->key.data : "", line, false, &text, 1);
        return SKIFF_OK;
    }
    if (++r->depth > YAML_MAX_DEPTH)
        return error_set(err, SKIFF_UNSUPPORTED, "%s:%d: nested more than %d deep", r->name, line,
                         YAML_MAX_DEPTH);
    TRY(e->type == YAML_MAPPING_START_EVENT ? read_map(r, line, err) : read_list(r, line, err));
    r->depth--;
    return SKIFF_OK;
}

/* Up to and with the first document's content. */
static enum skiff_status read_document(struct reading *r, struct skiff_error *err)
{
    for (;;) {
        yaml_event_t e;
        TRY(next_event(r, &e, err));
        enum skiff_status status = SKIFF_END;
        if (e.type == YAML_STREAM_START_EVENT || e.type == YAML_DOCUMENT_START_EVENT)
            status = SKIFF_OK;
        else if (e.type != YAML_STREAM_END_EVENT) {
            status = read_node(r, &e, err);
            status = status < 0 ? status : SKIFF_END;
        }
        yaml_event_delete(&e);
        if (status != SKIFF_OK)
            return status;
    }
}

enum skiff_status yaml_read(const void *bytes, size_t n, const char *name,
                            const struct yaml_sink *sink, struct skiff_error *err)
{
    struct reading r = {.name = name, .sink = sink};
    if (n > YAML_MAX_BYTES)
        return error_set(err, SKIFF_RANGE, "%s: a config of %zu bytes is too large (at most %zu)",
                         name, n, YAML_MAX_BYTES);
    if (!yaml_parser_initialize(&r.parser))
        return error_set(err, SKIFF_NOMEM, "%s: no memory for the YAML parser", name);
    arena_init(&r.arena);
    yaml_parser_set_input_string(&r.parser, bytes, n);
    enum skiff_status status = read_document(&r, err);
    yaml_parser_delete(&r.parser);
    arena_deinit(&r.arena);
    buf_deinit(&r.key);
    return status < 0 ? status : SKIFF_OK;
}
