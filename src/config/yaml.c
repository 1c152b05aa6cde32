/* YAML events to a tree. Nesting is bounded and aliases are refused: a few lines of them can stand
 * for gigabytes. Walking the tree gives keys with dots: maps become parts of the key, lists of
 * plain values one value, lists of maps numbered keys ("a.0.b"). */
#include "config/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/mem.h"

struct yaml_reader {
    yaml_parser_t parser;
    const char *name;
    struct arena *arena;
    int depth;
};

static int line_of(const yaml_event_t *e)
{
    return (int)e->start_mark.line + 1;
}

static enum skiff_status next_event(struct yaml_reader *r, yaml_event_t *out,
                                    struct skiff_error *err)
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

static enum skiff_status read_node(struct yaml_reader *r, const yaml_event_t *e, const char *key,
                                   struct yaml_node **out, struct skiff_error *err);

/* The key of the next value of a map; *key NULL at its end. */
static enum skiff_status read_key(struct yaml_reader *r, const char **key, struct skiff_error *err)
{
    yaml_event_t e;
    enum skiff_status s = SKIFF_OK;
    *key = NULL;
    TRY(next_event(r, &e, err));
    if (e.type == YAML_SCALAR_EVENT)
        *key = arena_strndup(r->arena, (const char *)e.data.scalar.value, e.data.scalar.length);
    else if (e.type != YAML_MAPPING_END_EVENT)
        s = error_set(err, SKIFF_UNSUPPORTED, "%s:%d: a key must be a plain word", r->name,
                      line_of(&e));
    yaml_event_delete(&e);
    return s;
}

static enum skiff_status read_children(struct yaml_reader *r, struct yaml_node *parent,
                                       struct skiff_error *err)
{
    for (struct yaml_node **at = &parent->first;; at = &(*at)->next, parent->n++) {
        yaml_event_t e;
        const char *key = NULL;
        if (parent->kind == YAML_MAP) {
            TRY(read_key(r, &key, err));
            if (!key)
                return SKIFF_OK;
        }
        TRY(next_event(r, &e, err));
        bool end = e.type == YAML_SEQUENCE_END_EVENT;
        enum skiff_status s = end ? SKIFF_OK : read_node(r, &e, key, at, err);
        yaml_event_delete(&e);
        if (s < 0 || end)
            return s;
    }
}

static enum skiff_status read_node(struct yaml_reader *r, const yaml_event_t *e, const char *key,
                                   struct yaml_node **out, struct skiff_error *err)
{
    struct yaml_node *node = arena_alloc(r->arena, sizeof(*node));
    *node = (struct yaml_node){.line = line_of(e), .key = key};
    *out = node;
    if (e->type == YAML_SCALAR_EVENT) {
        node->kind = YAML_TEXT;
        node->text =
            arena_strndup(r->arena, (const char *)e->data.scalar.value, e->data.scalar.length);
        return SKIFF_OK;
    }
    if (++r->depth > YAML_MAX_DEPTH)
        return error_set(err, SKIFF_UNSUPPORTED, "%s:%d: nested more than %d deep", r->name,
                         node->line, YAML_MAX_DEPTH);
    node->kind = e->type == YAML_MAPPING_START_EVENT ? YAML_MAP : YAML_LIST;
    TRY(read_children(r, node, err));
    r->depth--;
    return SKIFF_OK;
}

/* Up to and with the first document's content. */
static enum skiff_status read_document(struct yaml_reader *r, struct yaml_node **out,
                                       struct skiff_error *err)
{
    for (;;) {
        yaml_event_t e;
        TRY(next_event(r, &e, err));
        enum skiff_status status = SKIFF_END;
        if (e.type == YAML_STREAM_START_EVENT || e.type == YAML_DOCUMENT_START_EVENT)
            status = SKIFF_OK;
        else if (e.type != YAML_STREAM_END_EVENT) {
            status = read_node(r, &e, NULL, out, err);
            status = status < 0 ? status : SKIFF_END;
        }
        yaml_event_delete(&e);
        if (status != SKIFF_OK)
            return status;
    }
}

enum skiff_status yaml_read(const void *bytes, size_t n, const char *name, struct arena *arena,
                            const struct yaml_node **out, struct skiff_error *err)
{
    struct yaml_reader r = {.name = name, .arena = arena};
    struct yaml_node *root = NULL;
    if (n > YAML_MAX_BYTES)
        return error_set(err, SKIFF_RANGE, "%s: a config of %zu bytes is too large (at most %zu)",
                         name, n, YAML_MAX_BYTES);
    if (!yaml_parser_initialize(&r.parser))
        return error_set(err, SKIFF_NOMEM, "%s: no memory for the YAML parser", name);
    yaml_parser_set_input_string(&r.parser, bytes, n);
    enum skiff_status status = read_document(&r, &root, err);
    yaml_parser_delete(&r.parser);
    *out = root;
    return status < 0 ? status : SKIFF_OK;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *found = NULL;
    for (const struct yaml_node *c = map->first; map->kind == YAML_MAP && c; c = c->next)
        if (!strcmp(c->key, key))
            found = c;
    return found;
}

/* ---- keys with dots ---- */

static void walk(const struct yaml_node *node, struct buf *key, const struct yaml_sink *sink);

/* The node below `key`, under its own word. */
static void walk_child(const struct yaml_node *child, int number, struct buf *key,
                       const struct yaml_sink *sink)
{
    size_t before = key->len;
    if (before)
        buf_char(key, '.');
    if (child->key)
        buf_str(key, child->key);
    else
        buf_printf(key, "%d", number);
    walk(child, key, sink);
    key->len = before;
    key->data[before] = 0;
}

static void walk(const struct yaml_node *node, struct buf *key, const struct yaml_sink *sink)
{
    const char **values = mem_alloc_or_die((size_t)(node->n + 1) * sizeof(*values));
    int n = 0, number = 0;
    if (node->kind == YAML_TEXT)
        values[n++] = node->text;
    for (const struct yaml_node *c = node->first; c; c = c->next, number++) {
        if (node->kind == YAML_LIST && c->kind == YAML_TEXT)
            values[n++] = c->text;
        else
            walk_child(c, number, key, sink);
    }
    if (n || !node->n)
        sink->value(sink->self, key->data ? key->data : "", node->line, node->kind != YAML_TEXT,
                    values, n);
    free(values);
}

void yaml_walk(const struct yaml_node *node, const char *key, const struct yaml_sink *sink)
{
    struct buf path = BUF_INIT;
    buf_str(&path, key);
    walk(node, &path, sink);
    buf_deinit(&path);
}
