/* Numbers of variables (PS_BIND). Everything that trainers may push or pull gets a number before
 * the server answers; a worker reads the list when its session opens, and messages of a step have
 * numbers only. The list is made from the plan, so it is the same for every worker, and never
 * changes while the server runs. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/bind.h"
#include "server/exchange.h"
#include "server/server_parts.h"
#include "server/slice.h"

static void add(struct server *s, const struct bound_var *v)
{
    if (v->use && strlen(v->name) < PS_NAME)
        s->bound[s->nbound++] = *v;
}

static void bind_pushes(struct server *s)
{
    for (size_t i = 0; i < s->by_grad.count; i++) {
        const char *name = s->by_grad.entries[i].key;
        struct param_slice *u = s->by_grad.entries[i].value;
        if (str_map_has(&s->counters_in, name))
            continue;
        add(s, &(struct bound_var){.name = name,
                                   .slice = u,
                                   .use = u->sparse ? PS_PUSH_ROWS : PS_PUSH_DENSE,
                                   .shard = u->shard,
                                   .delta = u->add || (u->delta && !strcmp(name, u->delta))});
    }
    for (size_t i = 0; i < s->counters_in.count; i++)
        add(s, &(struct bound_var){.name = s->counters_in.entries[i].key,
                                   .value = s->counters_in.entries[i].value,
                                   .use = PS_PUSH_DENSE,
                                   .shard = -1,
                                   .counter = true});
}

static struct skiff_tensor *value_of(const struct server *s, const struct param_slice *u,
                                     const char *name)
{
    struct skiff_tensor *v = u && slice_is_hashed(u) ? NULL : scope_find(s->scope, name);
    return v && v->kind == VALUE_TENSOR ? v : NULL;
}

static void bind_pull(struct server *s, const char *name, struct param_slice *u)
{
    struct bound_var v = {
        .name = name, .slice = u, .value = value_of(s, u, name), .shard = u ? u->shard : -1};
    v.use = (v.value ? PS_PULL_WHOLE : 0) | (u && !strcmp(u->param, name) ? PS_PULL_ROWS_OF : 0);
    add(s, &v);
}

void bind_all(struct server *s)
{
    const struct str_map *root = &program_root(s->program)->vars;
    s->bound = mem_alloc_or_die(
        (s->by_grad.count + s->counters_in.count + s->by_var.count + root->count + 1) *
        sizeof *s->bound);
    bind_pushes(s);
    for (size_t i = 0; i < s->by_var.count; i++)
        bind_pull(s, s->by_var.entries[i].key, s->by_var.entries[i].value);
    for (size_t i = 0; i < root->count; i++)
        if (!str_map_has(&s->by_var, root->entries[i].key))
            bind_pull(s, root->entries[i].key, NULL);
}

static const char *use_text(uint32_t use)
{
    return use & (PS_PUSH_DENSE | PS_PUSH_ROWS) ? "pushed"
           : use & PS_PULL_WHOLE                ? "sent"
                                                : "pulled by id";
}

enum skiff_status bound_get(const struct server *s, uint32_t number, uint32_t use, int shard,
                            const struct bound_var **out, struct skiff_error *err)
{
    char text[320];
    if (number >= s->nbound)
        return error_set(err, SKIFF_NOT_FOUND,
                         "variable number %u of a message: %s has numbers 0 to %u; open the "
                         "session again",
                         number, server_text(s, text), s->nbound - 1);
    const struct bound_var *v = &s->bound[number];
    if (!(v->use & use))
        return error_set(err, SKIFF_INVALID, "%s (number %u) of %s cannot be %s", v->name, number,
                         server_text(s, text), use_text(use));
    if (shard >= 0 && v->shard >= 0 && v->shard != shard)
        return error_set(err, SKIFF_INVALID, "%s belongs to shard %d of %s, not to shard %d",
                         v->name, v->shard, server_text(s, text), shard);
    *out = v;
    return SKIFF_OK;
}

/* ---- the list ---- */

static void describe(const struct bound_var *v, struct ps_bound *out)
{
    const struct param_slice *u = v->slice;
    bool whole = v->value != NULL;
    struct shape shape = whole ? v->value->tensor.shape : u->shape;
    if (!whole && (v->use & PS_PUSH_ROWS) && u->sparse_table)
        shape = SHAPE(-1, u->pushed);
    strcpy(out->name, v->name);
    out->use = v->use;
    out->shard = v->shard < 0 ? 0 : (uint32_t)v->shard;
    out->dtype = whole ? (uint32_t)v->value->tensor.dtype : DTYPE_FP32;
    out->ndim = shape.ndim;
    memcpy(out->dims, shape.dims, sizeof out->dims);
}

void on_bind(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct wire_writer w;
    struct ps_bound *list = mem_alloc_or_die((s->nbound + 1) * sizeof *list);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->nbound; i++)
        describe(&s->bound[i], &list[n++]);
    writer_init(&w);
    ps_write_bound(&w, list, n);
    free(list);
    reply_written(s, q, &w);
}
