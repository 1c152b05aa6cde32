/* Numbers of variables (net/ps.h, PS_BIND): when a session opens, every server lists what it can be
 * sent and asked for. A binding finds the slices of one variable in these lists by name, once;
 * messages of a step have the numbers only. Lists and bindings do not change while the session is
 * open: a server that was restarted has lost its parameters, and the session with it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/session_parts.h"

#define PUSHES (PS_PUSH_DENSE | PS_PUSH_ROWS)

/* ---- lists ---- */

static enum skiff_status take_list(struct session *s, int i, const struct blob *reply,
                                   struct skiff_error *err)
{
    struct server_vars *v = &s->vars[i];
    enum skiff_status status = ps_read_bound(reply, &v->list, &v->n, err);
    if (status < 0)
        return error_prefix(err, status, "server %d (%s)", i, s->endpoints[i]);
    for (uint32_t k = 0; k < v->n; k++) {
        const struct ps_bound *b = &v->list[k];
        if (b->shard >= (uint32_t)s->shards[i])
            return error_set(err, SKIFF_FORMAT, "server %d (%s): %s is in shard %u of %d", i,
                             s->endpoints[i], b->name, b->shard, s->shards[i]);
        str_map_put(b->use & PUSHES ? &v->pushed : &v->pulled, b->name, &v->list[k]);
    }
    return SKIFF_OK;
}

enum skiff_status session_read_vars(struct session *s, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct request_batch *r = request_batch_create(s, s->options.servers);
    for (int i = 0; i < s->options.servers; i++) {
        struct batch_request ask = {.server = i, .method = PS_BIND, .flags = RPC_READ};
        s->first[i] = s->nmessages;
        s->nmessages += s->shards[i];
        TRY_OUT(request_batch_start(r, i, &ask, err, "variables of server %d", i));
    }
    TRY_OUT(request_batch_wait(r, err));
    for (int i = 0; i < s->options.servers; i++)
        TRY_OUT(take_list(s, i, r->slots[i].reply, err));
out:
    request_batch_unref(r);
    return status;
}

void session_vars_init(struct session *s)
{
    s->vars = mem_alloc_or_die((size_t)s->options.servers * sizeof *s->vars);
    s->first = mem_alloc_or_die((size_t)s->options.servers * sizeof *s->first);
    for (int i = 0; i < s->options.servers; i++) {
        str_map_init(&s->vars[i].pushed);
        str_map_init(&s->vars[i].pulled);
    }
}

void session_vars_deinit(struct session *s)
{
    for (int i = 0; i < s->options.servers; i++) {
        str_map_deinit(&s->vars[i].pushed);
        str_map_deinit(&s->vars[i].pulled);
        free(s->vars[i].list);
    }
    free(s->vars);
    free(s->first);
}

/* ---- bindings ---- */

static enum skiff_status bind_slice(const struct session *s, const struct job_slices *slices, int i,
                                    uint32_t use, struct bound_slice *out, struct skiff_error *err)
{
    int server;
    TRY(slice_server(s, slices, i, &server, err));
    const struct server_vars *v = &s->vars[server];
    const char *name = slices->names[i];
    const struct ps_bound *b = str_map_get(use & PUSHES ? &v->pushed : &v->pulled, name);
    if (!b && (use & PUSHES))
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s is not on server %d (%s): the trainer's program was split in another "
                         "way",
                         name, server, s->endpoints[server]);
    if (!b || !(b->use & use))
        return error_set(err, SKIFF_NOT_FOUND, "server %d (%s) has no variable %s to send%s",
                         server, s->endpoints[server], name,
                         use & PS_PULL_ROWS_OF ? " by rows" : "");
    *out = (struct bound_slice){.server = server,
                                .shard = (int)b->shard,
                                .number = (uint32_t)(b - v->list),
                                .var = b,
                                .width = 1};
    int64_t rows = b->ndim ? b->dims[0] : 1;
    for (int k = 1; k < b->ndim; k++)
        out->width *= b->dims[k];
    out->bytes = rows < 0 ? 0 : (size_t)(rows * out->width) * dtype_size((enum dtype)b->dtype);
    return SKIFF_OK;
}

enum skiff_status session_bind(const struct session *s, const struct job_slices *slices,
                               uint32_t use, struct session_binding **out, struct skiff_error *err)
{
    struct session_binding *b =
        mem_alloc_or_die(sizeof *b + (size_t)slices->n * sizeof b->slices[0]);
    b->n = slices->n;
    for (int i = 0; i < slices->n; i++) {
        enum skiff_status status = bind_slice(s, slices, i, use, &b->slices[i], err);
        if (status < 0) {
            session_unbind(b);
            return status;
        }
    }
    *out = b;
    return SKIFF_OK;
}

void session_unbind(struct session_binding *b)
{
    free(b);
}

enum skiff_status binding_get(const struct session *s, const struct job_slices *slices,
                              uint32_t use, struct bound_now *out, struct skiff_error *err)
{
    *out = (struct bound_now){.b = slices->bound};
    if (out->b)
        return SKIFF_OK;
    TRY(session_bind(s, slices, use, &out->own, err));
    out->b = out->own;
    return SKIFF_OK;
}
