/* Rows by id, changed rows, parts of variables.
 *
 * Requesting and taking rows are two calls (session_rows_ask, _take), so that a trainer can compute
 * while rows are in flight; the plain pull is one after the other. A reply is the rows alone, in
 * the order of the requested ids, and is copied straight to the positions of these ids. Reading
 * changes nothing, so servers need not keep these replies (RPC_READ). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/session_parts.h"

struct session_rows {
    struct session *session;
    struct rows_cut cut;
    struct request_batch *requests;
    size_t n;
    bool prefetch;
    int slices;
    char table[PS_NAME]; /* for messages */
};

static enum skiff_status ask_slice(struct session_rows *q, uint32_t method,
                                   const struct bound_slice *slice, int i, uint64_t after,
                                   struct skiff_error *err)
{
    struct session *s = q->session;
    const struct rows_cut *cut = &q->cut;
    struct wire_writer w;
    struct batch_request ask = {
        .server = slice->server, .shard = slice->shard, .method = method, .flags = RPC_READ};
    if (!cut->count[i])
        return SKIFF_OK;
    writer_init(&w);
    ps_write_pull_rows(&w, slice->number, (uint32_t)s->options.worker, after,
                       cut->local + cut->first[i], cut->count[i]);
    TRY(writer_finish(&w, &ask.body, err));
    return request_batch_start(q->requests, i, &ask, err, "pull of %zu rows of %s", cut->count[i],
                               slice->var->name);
}

static enum skiff_status ask_all(struct session *s, uint32_t method, const struct job_slices *table,
                                 const int64_t *ids, size_t n, bool prefetch, uint64_t after,
                                 struct session_rows **out, struct skiff_error *err)
{
    struct session_rows *q = mem_alloc_or_die(sizeof *q);
    q->session = s;
    q->n = n;
    q->prefetch = prefetch;
    q->slices = table->n;
    snprintf(q->table, sizeof q->table, "%s", table->origin);
    struct bound_now bound;
    q->requests = request_batch_create(s, table->n);
    q->requests->part = s->counts.wait_rows;
    enum skiff_status status = binding_get(s, table, PS_PULL_ROWS_OF, &bound, err);
    if (status == SKIFF_OK)
        status = rows_cut_init(&q->cut, table, ids, n, err);
    for (int i = 0; i < table->n && status == SKIFF_OK; i++)
        status = ask_slice(q, method, &bound.b->slices[i], i, after, err);
    session_unbind(bound.own);
    if (status < 0)
        session_rows_drop(q);
    else
        *out = q;
    return status;
}

enum skiff_status session_rows_ask(struct session *s, const struct job_slices *table,
                                   const int64_t *ids, size_t n, bool prefetch, uint64_t after,
                                   struct session_rows **out, struct skiff_error *err)
{
    return ask_all(s, PS_PULL_ROWS, table, ids, n, prefetch, after, out, err);
}

void session_prefetch_rows(struct session *s, const struct job_slices *table, const int64_t *ids,
                           size_t n)
{
    struct session_rows *q;
    if (ask_all(s, PS_PREFETCH_ROWS, table, ids, n, true, 0, &q, NULL) == SKIFF_OK)
        session_rows_drop(q); /* requests in flight end by themselves */
}

void session_rows_drop(struct session_rows *q)
{
    request_batch_unref(q->requests);
    rows_cut_deinit(&q->cut);
    free(q);
}

enum skiff_status rows_scatter(const struct rows_cut *c, int i, const struct blob *reply,
                               int server, const char *table, int64_t width, float *out,
                               struct skiff_error *err)
{
    size_t row = (size_t)width * sizeof(float);
    const size_t *to = c->from + c->first[i];
    if (blob_len(reply) != c->count[i] * row)
        return error_set(err, SKIFF_FORMAT,
                         "%s: server %d sent %zu bytes for %zu rows of %lld floats", table, server,
                         blob_len(reply), c->count[i], (long long)width);
    for (size_t k = 0; k < c->count[i]; k++)
        memcpy(out + to[k] * (size_t)width, reply->data + k * row, row);
    return SKIFF_OK;
}

enum skiff_status session_rows_take(struct session_rows *q, int64_t width, float *out,
                                    struct skiff_error *err)
{
    enum skiff_status status = request_batch_wait(q->requests, err);
    for (int i = 0; i < q->slices && status == SKIFF_OK; i++) {
        const struct batch_slot *slot = &q->requests->slots[i];
        status = rows_scatter(&q->cut, i, slot->reply, slot->server, q->table, width, out, err);
    }
    metric_add(q->session->counts.rows_pulled, (int64_t)q->n);
    metric_add(q->session->counts.rows_prefetched, q->prefetch ? (int64_t)q->n : 0);
    session_rows_drop(q);
    return status;
}

enum skiff_status session_pull_rows(struct session *s, const struct job_slices *table,
                                    const int64_t *ids, size_t n, int64_t width, float *out,
                                    struct skiff_error *err)
{
    struct session_rows *rows;
    TRY(session_rows_ask(s, table, ids, n, false, 0, &rows, err));
    return session_rows_take(rows, width, out, err);
}

/* ---- changed rows ---- */

static enum skiff_status check_changed(const struct job_slices *table, int i, int64_t width,
                                       const struct ps_item *items, uint32_t n,
                                       struct skiff_error *err)
{
    if (n != 1 || !items->has_rows || items->dtype != DTYPE_FP32 ||
        items->bytes != (size_t)items->nrows * (size_t)width * sizeof(float))
        return error_set(
            err, SKIFF_FORMAT,
            "%s: the server's list of changed rows does not fit a table of %lld floats "
            "a row",
            table->names[i], (long long)width);
    return SKIFF_OK;
}

/* Appends slice i's reply. */
static enum skiff_status take_changed(const struct job_slices *table, int i, int64_t width,
                                      const struct blob *reply, int64_t **ids, float **rows,
                                      size_t *n, struct skiff_error *err)
{
    struct ps_item *items;
    uint32_t count;
    int64_t first = slices_first(table, i);
    TRY(ps_read_items(reply, &items, &count, err));
    enum skiff_status status = check_changed(table, i, width, items, count, err);
    size_t more = status == SKIFF_OK ? (size_t)items->nrows : 0;
    if (more) {
        *ids = mem_grow_or_die(*ids, (*n + more) * sizeof **ids);
        *rows = mem_grow_or_die(*rows, (*n + more) * (size_t)width * sizeof **rows);
        memcpy(*ids + *n, items->rows, more * sizeof **ids);
        memcpy(*rows + *n * (size_t)width, items->data, items->bytes);
        for (size_t k = *n; k < *n + more; k++)
            (*ids)[k] += first;
        *n += more;
    }
    free(items);
    return status;
}

enum skiff_status session_pull_changed(struct session *s, const struct job_slices *table,
                                       int64_t width, int64_t **out_ids, float **out_rows,
                                       size_t *out_n, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    int64_t *ids = NULL;
    float *rows = NULL;
    size_t n = 0;
    struct bound_now bound;
    struct request_batch *r = request_batch_create(s, table->n);
    TRY_OUT(binding_get(s, table, PS_PULL_ROWS_OF, &bound, err));
    for (int i = 0; i < table->n; i++) {
        const struct bound_slice *slice = &bound.b->slices[i];
        struct wire_writer w;
        struct batch_request ask = {
            .server = slice->server, .shard = slice->shard, .method = PS_PULL_CHANGED};
        writer_init(&w);
        ps_write_pull_rows(&w, slice->number, (uint32_t)s->options.worker, 0, NULL, 0);
        TRY_OUT(writer_finish(&w, &ask.body, err));
        TRY_OUT(request_batch_start(r, i, &ask, err, "changed rows of %s", table->names[i]));
    }
    TRY_OUT(request_batch_wait(r, err));
    for (int i = 0; i < table->n; i++)
        TRY_OUT(take_changed(table, i, width, r->slots[i].reply, &ids, &rows, &n, err));
    metric_add(s->counts.rows_pulled, (int64_t)n);
    *out_ids = ids;
    *out_rows = rows;
    *out_n = n;
out:
    if (status < 0) {
        free(ids);
        free(rows);
    }
    session_unbind(bound.own);
    request_batch_unref(r);
    return status;
}

/* ---- parts ---- */

static enum skiff_status part_to_value(const struct ps_item *item, struct skiff_tensor *out,
                                       struct skiff_error *err)
{
    struct shape shape = shape_of(item->ndim, item->dims);
    size_t size = dtype_size((enum dtype)item->dtype);
    if (!size || item->bytes != (size_t)shape_numel(&shape) * size)
        return error_set(err, SKIFF_FORMAT, "%s: %zu bytes do not fit its shape", item->name,
                         item->bytes);
    if (item->has_rows) {
        TRY(value_as_rows_shape(out, (enum dtype)item->dtype, &shape, 0, err));
        memcpy(out->sel.rows, item->rows, (size_t)item->nrows * sizeof(int64_t));
    } else {
        TRY(value_as_tensor(out, (enum dtype)item->dtype, &shape, err));
    }
    memcpy(out->tensor.data, item->data, item->bytes);
    return SKIFF_OK;
}

enum skiff_status session_take_part(int server, const char *name, const struct blob *reply,
                                    struct skiff_tensor *out, struct skiff_error *err)
{
    struct ps_item *items = NULL;
    uint32_t count = 0;
    enum skiff_status status = ps_read_items(reply, &items, &count, err);
    if (status == SKIFF_OK && count != 1)
        status = error_set(err, SKIFF_FORMAT, "%s: server %d answered with %u variables", name,
                           server, count);
    if (status == SKIFF_OK)
        status = part_to_value(items, out, err);
    free(items);
    return status;
}

enum skiff_status session_pull_part(struct session *s, int server, const char *name, int64_t first,
                                    int64_t n, struct skiff_tensor *out, struct skiff_error *err)
{
    struct wire_writer w;
    struct blob *reply = NULL;
    struct batch_request ask = {.server = server,
                                .method = PS_PULL_PART,
                                .shard = ps_shard(name, s->shards[server]),
                                .flags = RPC_READ};
    writer_init(&w);
    ps_write_range(&w, name, (uint64_t)first, (uint64_t)n);
    TRY(writer_finish(&w, &ask.body, err));
    TRY(session_ask(s, &ask, name, &reply, err));
    enum skiff_status status = session_take_part(server, name, reply, out, err);
    blob_unref(reply);
    return status;
}
