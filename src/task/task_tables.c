/* Settings of sparse tables from a config: table_parameters.<table>, nested as in PaddleRec,
 * become settings of table/table_config.h. They are checked when the config is read, so that a
 * wrong value is reported with file, line and key before a process of the job starts. */
#include "task/task_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "program/op_kind.h"
#include "table/table_config.h"

#define EACH_TABLE (-1) /* at: of runner.table_bytes */

/* One setting of a table: its place in the config (config_at) and its line for the servers. */
struct setting_line {
    int at;
    const char *text;
};

/* A distributed table of the program. */
struct table_found {
    const char *name;
    int64_t width;
    struct setting_line *lines;
    int n;
    bool limited; /* it has a memory_limit of its own */
};

struct tables_found {
    struct arena *arena;
    struct table_found *at;
    int n;
};

/* ---- the program ---- */

static bool is_lookup(const struct skiff_op *op)
{
    return op_is(op, CLASS_LOOKUP);
}

static struct table_found *table_named(struct tables_found *f, const char *name)
{
    for (int i = 0; i < f->n; i++)
        if (!strcmp(f->at[i].name, name))
            return &f->at[i];
    return NULL;
}

static void find_tables(struct tables_found *f, const struct skiff_program *main)
{
    const struct skiff_block *b = program_root(main);
    f->at = arena_alloc(f->arena, (size_t)(b->nops + 1) * sizeof *f->at);
    for (int i = 0; i < b->nops; i++) {
        const struct op_attr_value *a = op_attr(b->ops[i], "is_distributed");
        const char *w = is_lookup(b->ops[i]) ? op_in1(b->ops[i], "W") : NULL;
        const struct skiff_var *v = w ? block_find_var(b, w) : NULL;
        if (v && a && a->value.b && v->shape.ndim == 2 && !table_named(f, w))
            f->at[f->n++] = (struct table_found){.name = w, .width = v->shape.dims[1]};
    }
}

/* ---- the config ---- */

/* The table that a key is of: names may have dots, so the longest that fits. NULL: none that the
 * program has. */
static struct table_found *table_of(struct tables_found *f, const char *rest, const char **path)
{
    struct table_found *found = NULL;
    size_t longest = 0;
    for (int i = 0; i < f->n; i++) {
        size_t n = strlen(f->at[i].name);
        if (n <= longest || strncmp(rest, f->at[i].name, n) || rest[n] != '.')
            continue;
        found = &f->at[i];
        longest = n;
        *path = rest + n + 1;
    }
    return found;
}

static void no_table(const struct tables_found *f, struct config *c, int at)
{
    struct buf names = BUF_INIT;
    const char *rest = config_at(c, at) + key_family_length(KEY_TABLE_PARAMETERS);
    for (int i = 0; i < f->n; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", f->at[i].name);
    config_refuse_at(
        c, at, "names the table %.*s, but the model has no distributed table of that name; %s%s",
        (int)strcspn(rest, "."), rest,
        f->n ? "it has "
             : "hyper_parameters.distributed_embedding: 1 makes those of "
               "rank/* distributed, is_distributed: True an embedding of a "
               "network in YAML",
        f->n ? names.data : "");
    buf_deinit(&names);
}

/* The value as a line has it: lists with commas, truths in lower case. */
static const char *value_text(struct arena *arena, struct config *c, int at)
{
    const char *const *values;
    struct buf out = BUF_INIT;
    int n = config_list_at(c, at, &values);
    for (int i = 0; i < n; i++) {
        bool yes = !strcasecmp(values[i], "true"), no = !strcasecmp(values[i], "false");
        buf_printf(&out, "%s%s", i ? "," : "", yes ? "true" : no ? "false" : values[i]);
    }
    const char *kept = arena_strdup(arena, out.data ? out.data : "");
    buf_deinit(&out);
    return kept;
}

static void add_line(struct tables_found *f, struct table_found *t, int at, const char *path,
                     const char *value)
{
    struct setting_line *longer = arena_alloc(f->arena, (size_t)(t->n + 2) * sizeof *longer);
    if (t->n)
        memcpy(longer, t->lines, (size_t)t->n * sizeof *longer);
    t->lines = longer;
    struct setting_line one = {at, arena_printf(f->arena, "%s %s\n", path, value)};
    /* what other settings are checked against goes first */
    int to = strcmp(path, "accessor.accessor_class") ? t->n : 0;
    memmove(longer + to + 1, longer + to, (size_t)(t->n - to) * sizeof *longer);
    longer[to] = one;
    t->n++;
    t->limited |= !strcmp(path, "memory_limit");
}

static void read_keys(struct tables_found *f, struct config *c, bool refuse)
{
    for (int i = 0; i < config_count(c); i++) {
        const char *key = config_at(c, i), *path = NULL;
        if (key_matching(key) != KEY_TABLE_PARAMETERS)
            continue;
        struct table_found *t = table_of(f, key + key_family_length(KEY_TABLE_PARAMETERS), &path);
        const char *value = value_text(f->arena, c, i);
        if (!t && refuse)
            no_table(f, c, i);
        else if (t && strchr(value, '\n'))
            config_refuse_at(c, i, "must be one line");
        else if (t)
            add_line(f, t, i, path, value);
    }
}

/* ---- memory ---- */

/* What a server's tables share is read by servers from the environment, where skiff launch has put
 * it if it was reported; what the config says counts less. What each table may have is a
 * setting. */
static void limit_tables(struct tables_found *f, struct config *c)
{
    size_t each = config_size(c, KEY_RUNNER_TABLE_BYTES);
    if (config_size(c, KEY_RUNNER_MEMORY_LIMIT))
        setenv(SERVER_MEMORY_ENV, config_text(c, KEY_RUNNER_MEMORY_LIMIT), 0);
    for (int i = 0; each && i < f->n; i++)
        if (f->at[i].n && !f->at[i].limited)
            add_line(f, &f->at[i], EACH_TABLE, "memory_limit", arena_printf(f->arena, "%zu", each));
}

/* ---- checks ---- */

static enum skiff_status parse(const struct table_found *t, int n, struct buf *text,
                               struct skiff_error *err)
{
    struct table_config known;
    buf_reset(text);
    buf_printf(text, "hint.dim %lld\n", (long long)t->width);
    size_t own = text->len;
    for (int i = 0; i < n; i++)
        buf_str(text, t->lines[i].text);
    enum skiff_status status = table_config_parse(t->name, text->data, &known, err);
    if (status == SKIFF_OK)
        table_config_deinit(&known);
    memmove(text->data, text->data + own, text->len - own + 1);
    text->len -= own;
    return status;
}

static void refuse_line(struct config *c, int at, const char *why)
{
    if (at == EACH_TABLE)
        config_refuse(c, KEY_RUNNER_TABLE_BYTES, "is refused: %.400s", why);
    else
        config_refuse_at(c, at, "is refused: %.400s", why);
}

/* The text of all lines; a wrong one is reported with its place. */
static const char *check_table(struct tables_found *f, struct config *c,
                               const struct table_found *t)
{
    struct buf text = BUF_INIT;
    struct skiff_error why = {0};
    if (parse(t, t->n, &text, &why) < 0) {
        int i = 1;
        while (i < t->n && parse(t, i, &text, NULL) == SKIFF_OK)
            i++;
        refuse_line(c, t->lines[i - 1].at, why.message);
    }
    const char *kept = arena_strdup(f->arena, text.data ? text.data : "");
    buf_deinit(&text);
    return kept;
}

static enum skiff_status read_all(struct task_tables *t, struct task *task, bool job,
                                  struct skiff_error *err)
{
    struct tables_found f = {.arena = &t->arena};
    find_tables(&f, task->main);
    read_keys(&f, task->config, job);
    limit_tables(&f, task->config);
    t->at = arena_alloc(&t->arena, (size_t)(f.n + 1) * sizeof *t->at);
    for (int i = 0; i < f.n; i++)
        if (f.at[i].n)
            t->at[t->n++] = (struct skiff_table_settings){
                .table = f.at[i].name, .settings = check_table(&f, task->config, &f.at[i])};
    return config_check(task->config, err);
}

enum skiff_status task_tables_read(struct task_tables *t, struct task *task, const char *mode,
                                   struct skiff_error *err)
{
    arena_init(&t->arena);
    t->n = 0;
    TRY(read_all(t, task, true, err));
    if (t->n && !strcasecmp(mode, "geo")) {
        logger_warn(&task->logger, "geo has no sparse tables: table_parameters have no effect");
        t->n = 0;
    }
    return SKIFF_OK;
}

enum skiff_status task_tables_any(struct task *task, bool *out, struct skiff_error *err)
{
    struct task_tables t = {0};
    arena_init(&t.arena);
    enum skiff_status status = read_all(&t, task, false, err);
    *out = t.n > 0;
    task_tables_deinit(&t);
    return status;
}

void task_tables_deinit(struct task_tables *t)
{
    arena_deinit(&t->arena);
    *t = (struct task_tables){0};
}
