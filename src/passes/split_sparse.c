/* Sparse tables (Paddle 2.x's MemorySparseTable): rows with statistics and update rules of their
 * own.
 *
 * These are the tables with settings, or all distributed ones. The settings of a table are the
 * user's lines and, as hints, what the program contains (its optimizer, rate, initializer, width).
 * They are checked here, so that minimize reports an error in every process. Trainers look rows up
 * by distributed_lookup_table and push by distributed_push_sparse and send, as in Paddle; servers
 * have no ops for these tables. */
#include <string.h>

#include "passes/split_parts.h"
#include "table/table_config.h"

static const struct skiff_table_settings *settings_of(const struct skiff_split *s,
                                                      const char *table)
{
    for (int i = 0; i < s->config.ntables; i++)
        if (!strcmp(s->config.tables[i].table, table))
            return &s->config.tables[i];
    return NULL;
}

bool split_wants_features(const struct skiff_split *s, const char *table)
{
    return s->mode != SKIFF_SPLIT_GEO && (s->config.all_features || settings_of(s, table));
}

const char *split_features_grad(const struct split_table *t, struct arena *a)
{
    return arena_printf(a, "%s@GRAD", t->name);
}

/* ---- hints ---- */

static const struct skiff_op *writer_of(const struct skiff_program *p, const char *name)
{
    const struct skiff_block *b = program_root(p);
    int at = name ? block_last_writer(b, name) : -1;
    return at < 0 ? NULL : b->ops[at];
}

static bool float_attr(const struct skiff_op *op, const char *name, float *out)
{
    const struct op_attr_value *a = op ? op_attr(op, name) : NULL;
    if (!a || a->type != ATTR_FLOAT)
        return false;
    *out = a->value.f;
    return true;
}

static void hint_float(struct buf *text, const char *hint, const struct skiff_op *op,
                       const char *attr)
{
    float v;
    if (float_attr(op, attr, &v))
        buf_printf(text, "hint.%s %.9g\n", hint, (double)v);
}

/* The last number of the initializer: a bound, a standard deviation, or a value. */
static void hint_range(struct buf *text, const struct skiff_op *init)
{
    static const char *const last[] = {"max", "std", "value"};
    float v;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        if (float_attr(init, last[i], &v)) {
            buf_printf(text, "hint.initial_range %.9g\n", (double)v);
            return;
        }
}

static bool has_line(const char *text, const char *path)
{
    size_t n = strlen(path);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, path, n) && line[n] == ' ')
            return true;
    }
    return false;
}

static enum skiff_status hint_rule(const struct skiff_split *s, const struct split_table *t,
                                   struct buf *text, struct skiff_error *err)
{
    const struct skiff_op *op = t->update;
    const struct optimizer_kind *kind = split_optimizer(op);
    bool known = kind && kind->flags & OPTIMIZER_FEATURES;
    bool given = has_line(text->data, "accessor.embed_sgd_param.name") &&
                 has_line(text->data, "accessor.embedx_sgd_param.name");
    if (!known && !given)
        return error_set(err, SKIFF_INVALID,
                         "The dense optimizer in PS is only supported SGD or Adam! The program has "
                         "%s; table %s gets rules of its own by accessor.embed_sgd_param.name and "
                         "accessor.embedx_sgd_param.name",
                         op->type, t->name);
    if (known)
        buf_printf(text, "hint.optimizer %s\n", op->type);
    hint_float(text, "learning_rate", writer_of(s->startup, op_in1(op, "LearningRate")), "value");
    if (known) {
        hint_float(text, "beta1", op, "beta1");
        hint_float(text, "beta2", op, "beta2");
        hint_float(text, "epsilon", op, "epsilon");
    }
    return SKIFF_OK;
}

/* ---- entries ---- */

static const char *entry_of(const struct skiff_op *op)
{
    const struct op_attr_value *a = op_attr(op, "entry");
    return a && a->type == ATTR_STRING ? a->value.s : "";
}

/* The first look-up of the table whose entry has this prefix; NULL if none. table NULL: any
 * table. */
static const char *find_entry(const struct skiff_split *s, const char *table, const char *kind)
{
    const struct skiff_block *b = program_root(s->main);
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        if (op_is_lookup(op) && attr_bool(op, "is_distributed") &&
            (!table || !strcmp(op_in1(op, "W"), table)) &&
            !strncmp(entry_of(op), kind, strlen(kind)))
            return entry_of(op);
    }
    return NULL;
}

static void hint_entry(const struct skiff_split *s, const struct split_table *t, struct buf *text)
{
    const char *entry = find_entry(s, t->name, "count_filter_entry:");
    if (!entry)
        entry = find_entry(s, t->name, "probability_entry:");
    if (entry && !has_line(text->data, "entry"))
        buf_printf(text, "entry %s\n", entry);
}

static enum skiff_status check_counter(const struct skiff_split *s, const struct split_table *t,
                                       const char *name, struct skiff_error *err)
{
    const struct skiff_var *v = block_own_var(program_root(s->main), name);
    if (!v)
        return error_set(err, SKIFF_INVALID,
                         "table %s: ShowClickEntry names the variable '%s', which the program does "
                         "not have",
                         t->name, name);
    if (v->dtype != DTYPE_FP32)
        return error_set(err, SKIFF_INVALID,
                         "table %s: the variable '%s' of its ShowClickEntry is %s; expected "
                         "float32: cast it, and give the name of what the cast gives",
                         t->name, name, dtype_name(v->dtype));
    return SKIFF_OK;
}

/* "show_click_entry:<show>:<click>"; a table without one uses that of the program's first table
 * with one. */
static enum skiff_status find_counters(struct skiff_split *s, struct split_table *t,
                                       struct skiff_error *err)
{
    static const char kind[] = "show_click_entry:";
    const char *entry = find_entry(s, t->name, kind);
    if (!entry)
        entry = find_entry(s, NULL, kind);
    if (!entry)
        return SKIFF_OK;
    char *names = arena_strdup(&s->arena, entry + strlen(kind)), *colon = strchr(names, ':');
    if (!colon || !*names || !colon[1])
        return error_set(err, SKIFF_INVALID,
                         "table %s: its entry is '%s'; expected show_click_entry:<show>:<click>",
                         t->name, entry);
    *colon = 0;
    t->show = names;
    t->click = colon + 1;
    TRY(check_counter(s, t, t->show, err));
    return check_counter(s, t, t->click, err);
}

static bool has_cvm(const struct skiff_program *p)
{
    const struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++)
        if (op_is(b->ops[i], CLASS_CVM))
            return true;
    return false;
}

/* ---- settings ---- */

static enum skiff_status write_settings(const struct skiff_split *s, const struct split_table *t,
                                        struct buf *text, struct skiff_error *err)
{
    const struct skiff_table_settings *given = settings_of(s, t->name);
    const char *lines = given && given->settings ? given->settings : "";
    size_t n = strlen(lines);
    buf_printf(text, "%s%s", lines, n && lines[n - 1] != '\n' ? "\n" : "");
    hint_entry(s, t, text);
    buf_printf(text, "hint.dim %lld\n", (long long)t->var->shape.dims[1]);
    TRY(hint_rule(s, t, text, err));
    hint_range(text, writer_of(s->startup, t->name));
    buf_printf(text, "hint.seed %lld\nhint.mode %s\n", (long long)s->startup->random_seed,
               skiff_mode_name(s->mode));
    return SKIFF_OK;
}

/* Warnings about a table's settings. */
static void record_settings(struct skiff_split *s, const struct split_table *t,
                            const struct table_config *config)
{
    if (config->unknown)
        buf_printf(&s->notes, "table %s: unknown settings: %s\n", t->name, config->unknown);
    if (config->accessor->counts_pulled && !t->cvm)
        buf_printf(&s->notes,
                   "table %s: rows of its accessor begin with shows and clicks, and no "
                   "continuous_value_model takes them: the network reads counts as features "
                   "(SparseAccessor: weights alone)\n",
                   t->name);
}

static enum skiff_status complete_table(struct skiff_split *s, struct split_table *t,
                                        struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    struct table_config config;
    enum skiff_status status = write_settings(s, t, &text, err);
    if (status == SKIFF_OK)
        status = table_config_parse(t->name, text.data, &config, err);
    if (status == SKIFF_OK) {
        t->sparse_table = arena_strdup(&s->arena, text.data);
        t->shards = config.shard_num;
        t->disk = config.policy == MEMORY_DISK;
        t->push_dim = 4 + config.options.embedx; /* slot, show, click, embed, embedx */
        t->cvm = config.accessor->counts_pulled && has_cvm(s->main);
        record_settings(s, t, &config);
        table_config_deinit(&config);
        status = t->cvm ? SKIFF_OK : find_counters(s, t, err);
    }
    buf_deinit(&text);
    return status;
}

static void record_foreign(struct skiff_split *s)
{
    for (int i = 0; i < s->config.ntables; i++) {
        bool found = false;
        for (int k = 0; k < s->ntables && s->mode != SKIFF_SPLIT_GEO; k++)
            found |= !strcmp(s->tables[k].name, s->config.tables[i].table);
        if (!found)
            buf_printf(&s->notes,
                       s->mode == SKIFF_SPLIT_GEO
                           ? "settings of table %s are not used: GEO has none\n"
                           : "settings of table %s are not used: the program has no distributed "
                             "table of that name\n",
                       s->config.tables[i].table);
    }
}

static bool any_features(const struct skiff_split *s)
{
    for (int i = 0; i < s->ntables; i++)
        if (split_wants_features(s, s->tables[i].name))
            return true;
    return false;
}

/* Tables are numbered in the order of their updates, which in Paddle is the order of names: the
 * folders of a saved model have these numbers. */
static void order_tables(struct skiff_split *s)
{
    const struct skiff_block *b = program_root(s->main);
    int n = 0;
    for (int i = 0; i < b->nops; i++)
        for (int k = n; k < s->ntables; k++) {
            if (s->tables[k].update != b->ops[i])
                continue;
            struct split_table next = s->tables[k];
            memmove(&s->tables[n + 1], &s->tables[n], (size_t)(k - n) * sizeof next);
            s->tables[n++] = next;
        }
    for (int i = 0; i < s->ntables; i++)
        s->table_names[i] = s->tables[i].name;
}

enum skiff_status split_sparse(struct skiff_split *s, struct skiff_error *err)
{
    record_foreign(s);
    if (any_features(s))
        order_tables(s);
    for (int i = 0; i < s->ntables; i++)
        if (split_wants_features(s, s->tables[i].name))
            TRY(complete_table(s, &s->tables[i], err));
    return SKIFF_OK;
}

/* ---- the trainer's pushes ---- */

static bool is_gradient(const struct skiff_op *op, const char *table)
{
    return op_is(op, CLASS_LOOKUP_GRAD) && op_in1(op, "W") && !strcmp(op_in1(op, "W"), table) &&
           op_in1(op, "Ids") && op_in1(op, "Out@GRAD");
}

struct pushed { /* in the order of the gradients' ops, as in Paddle: the last look-up first */
    const char **ids, **grads;
    int32_t *slots;
    int n, at; /* after the last op that computes one of the gradients */
};

static void list_gradients(const struct skiff_block *b, const char *table, struct pushed *out)
{
    struct arena *a = &b->program->arena;
    size_t most = (size_t)b->nops + 1;
    *out = (struct pushed){.ids = arena_alloc(a, most * sizeof *out->ids),
                           .grads = arena_alloc(a, most * sizeof *out->grads),
                           .slots = arena_alloc(a, most * sizeof *out->slots)};
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        if (!is_gradient(op, table))
            continue;
        const struct op_attr_value *slot = op_attr(op, "slot");
        out->ids[out->n] = op_in1(op, "Ids");
        out->grads[out->n] = op_in1(op, "Out@GRAD");
        out->slots[out->n] = slot && slot->type == ATTR_INT ? slot->value.i : 0;
        int made = block_last_writer(b, out->grads[out->n]) + 1;
        out->at = made > out->at ? made : out->at;
        out->n++;
    }
}

static enum skiff_status send_push(const struct skiff_split *s, struct skiff_block *b, int at,
                                   const struct split_table *t, const char *push,
                                   const char *control, struct skiff_error *err)
{
    struct arena *a = &b->program->arena;
    int n = s->nendpoints;
    const char **names = arena_alloc(a, (size_t)n * sizeof *names);
    for (int i = 0; i < n; i++)
        names[i] = split_features_grad(t, a);
    struct skiff_op *op = build_op(b, at, "send");
    build_in1(b, op, "X", push);
    build_out(b, op, "Out", control ? 1 : 0, &control);
    op_set_strings(b->program, op, "epmap", n, s->endpoints);
    op_set_strings(b->program, op, "send_varnames", n, names);
    op_set_int(b->program, op, "trainer_id", s->trainer_id);
    op_set_int(b->program, op, "shards", t->shards);
    op_set_bool(b->program, op, "merge_add", true);
    build_role(b, op, ROLE_RPC, t->name, t->grad);
    return build_done(b, op, err);
}

enum skiff_status split_features_push(const struct skiff_split *s, struct skiff_block *b,
                                      const struct split_table *t, const char *control,
                                      struct skiff_error *err)
{
    struct skiff_program *p = b->program;
    struct pushed g;
    struct shape shape = {2, {t->var->shape.dims[0], t->push_dim}};
    const char *push = arena_printf(&p->arena, "%s@PUSH", t->name);
    list_gradients(b, t->name, &g);
    if (!g.n)
        return error_set(err, SKIFF_INVALID, "no op computes a gradient of table %s", t->name);
    build_var(b, push, VAR_SELECTED_ROWS, DTYPE_FP32, &shape, false);
    struct skiff_op *op = build_op(b, g.at, "distributed_push_sparse");
    build_in(b, op, "Ids", g.n, g.ids);
    build_in1(b, op, "W", t->name);
    build_in(b, op, "Outputs", g.n, g.grads);
    if (t->show) {
        build_in1(b, op, "Shows", t->show);
        build_in1(b, op, "Clicks", t->click);
    }
    build_out1(b, op, "Out", push);
    op_set_ints(p, op, "slots", g.n, g.slots);
    op_set_long(p, op, "padding_idx", t->padding);
    op_set_bool(p, op, "use_cvm_op", t->cvm);
    op_set_int(p, op, "push_dim", t->push_dim);
    build_role(b, op, ROLE_BACKWARD, NULL, NULL);
    TRY(build_done(b, op, err));
    return send_push(s, b, g.at + 1, t, push, control, err);
}

/* ---- removing unused ops ---- */

/* W@GRAD, W@GRAD@RENAME@.., of this table */
static bool is_grad_name(const char *name, const struct split_table *t)
{
    size_t n = strlen(t->name);
    if (strncmp(name, t->name, n) || strncmp(name + n, "@GRAD", 5))
        return false;
    return !name[n + 5] || name[n + 5] == '@';
}

static bool is_read(const struct skiff_program *p, const char *name)
{
    for (int k = 0; k < p->nblocks; k++)
        for (int i = 0; i < p->blocks[k]->nops; i++)
            if (op_reads(p->blocks[k]->ops[i], name))
                return true;
    return false;
}

/* The op writes only gradients of the table, and nobody reads them. */
static bool is_idle(const struct skiff_block *b, const struct skiff_op *op,
                    const struct split_table *t)
{
    int n = 0;
    for (int i = 0; i < op->nouts; i++)
        for (int k = 0; k < op->outs[i].n; k++, n++)
            if (!is_grad_name(op->outs[i].names[k], t) || is_read(b->program, op->outs[i].names[k]))
                return false;
    return n > 0;
}

void split_features_drop(const struct skiff_split *s, struct skiff_block *b)
{
    for (int k = 0; k < s->ntables; k++)
        for (int i = b->nops - 1; s->tables[k].sparse_table && i >= 0; i--) {
            const struct skiff_op *op = b->ops[i];
            if (!is_idle(b, op, &s->tables[k]))
                continue;
            for (int o = 0; o < op->nouts; o++)
                for (int n = 0; n < op->outs[o].n; n++)
                    block_remove_var(b, op->outs[o].names[n]);
            block_remove_ops(b, i, 1);
        }
}
