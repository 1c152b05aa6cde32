/* Communication between workers by way of server 0: barriers, reductions, messages; and saving of
 * tables, which all servers do at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/session_parts.h"

enum skiff_status session_text(char *to, size_t capacity, const char *text, struct skiff_error *err)
{
    if (strlen(text) >= capacity)
        return error_set(err, SKIFF_RANGE, "'%.40s...' is longer than %zu bytes", text,
                         capacity - 1);
    strcpy(to, text);
    return SKIFF_OK;
}

static enum skiff_status reduce(struct session *s, const char *tag, const char *op,
                                enum dtype dtype, void *v, size_t n, struct skiff_error *err)
{
    struct ps_reduce x = {.worker = (uint32_t)s->options.worker,
                          .dtype = (uint32_t)dtype,
                          .data = v,
                          .n = n},
                     y;
    struct wire_writer w;
    struct blob *reply = NULL;
    struct batch_request ask = {.method = PS_REDUCE, .joint = true};
    TRY(session_text(x.tag, sizeof x.tag, tag, err));
    TRY(session_text(x.op, sizeof x.op, op, err));
    writer_init(&w);
    ps_write_reduce(&w, &x);
    TRY(writer_finish(&w, &ask.body, err));
    enum skiff_status status = session_ask(s, &ask, tag, &reply, err);
    if (status == SKIFF_TIMEOUT && err)
        session_blame(s, err);
    TRY(status);
    status = ps_read_reduce(reply, &y, err);
    if (status == SKIFF_OK && (y.n != n || y.dtype != (uint32_t)dtype))
        status = error_set(err, SKIFF_FORMAT,
                           "reduction %s: worker %d sent %zu elements, server 0 answered with %zu: "
                           "all workers must send the same number",
                           tag, s->options.worker, n, y.n);
    if (status == SKIFF_OK)
        memcpy(v, y.data, n * 8);
    blob_unref(reply);
    return status;
}

enum skiff_status session_reduce_double(struct session *s, const char *tag, const char *op,
                                        double *v, size_t n, struct skiff_error *err)
{
    return reduce(s, tag, op, DTYPE_FP64, v, n, err);
}

enum skiff_status session_reduce_int64(struct session *s, const char *tag, const char *op,
                                       int64_t *v, size_t n, struct skiff_error *err)
{
    return reduce(s, tag, op, DTYPE_INT64, v, n, err);
}

/* A reduction of nothing. Server 0's coordinator state knows which workers take part in reductions;
 * the list of members does not. */
enum skiff_status session_barrier(struct session *s, const char *name, struct skiff_error *err)
{
    int64_t nothing = 0;
    return session_reduce_int64(s, name, "max", &nothing, 1, err);
}

static enum skiff_status ask_message(struct session *s, uint32_t method, const struct ps_message *m,
                                     struct blob **out, struct skiff_error *err)
{
    struct wire_writer w;
    struct batch_request ask = {.method = method, .joint = method == PS_MESSAGE_TAKE};
    writer_init(&w);
    ps_write_message(&w, m);
    TRY(writer_finish(&w, &ask.body, err));
    return session_ask(s, &ask, m->tag, out, err);
}

enum skiff_status session_message_put(struct session *s, int to, const char *tag, const void *data,
                                      size_t bytes, struct skiff_error *err)
{
    struct ps_message m = {
        .from = (uint32_t)s->options.worker, .to = (uint32_t)to, .data = data, .bytes = bytes};
    TRY(session_text(m.tag, sizeof m.tag, tag, err));
    return ask_message(s, PS_MESSAGE_PUT, &m, NULL, err);
}

enum skiff_status session_message_take(struct session *s, int from, const char *tag, void **out,
                                       size_t *out_bytes, struct skiff_error *err)
{
    struct ps_message m = {.from = (uint32_t)from, .to = (uint32_t)s->options.worker}, got;
    struct blob *reply = NULL;
    TRY(session_text(m.tag, sizeof m.tag, tag, err));
    TRY(ask_message(s, PS_MESSAGE_TAKE, &m, &reply, err));
    enum skiff_status status = ps_read_message(reply, &got, err);
    if (status == SKIFF_OK) {
        *out = mem_alloc_or_die(got.bytes + 1);
        if (got.bytes)
            memcpy(*out, got.data, got.bytes);
        *out_bytes = got.bytes;
    }
    blob_unref(reply);
    return status;
}

enum skiff_status session_save_table(struct session *s, const char *dir, const char *table,
                                     struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct ps_save_table x;
    TRY(session_text(x.table, sizeof x.table, table, err));
    TRY(session_text(x.dir, sizeof x.dir, dir, err));
    struct request_batch *r = request_batch_create(s, s->options.servers);
    for (int i = 0; i < s->options.servers; i++) {
        struct wire_writer w;
        struct batch_request ask = {
            .server = i, .method = PS_SAVE_TABLE, .shard = ps_shard(table, s->shards[i])};
        writer_init(&w);
        ps_write_save_table(&w, &x);
        TRY_OUT(writer_finish(&w, &ask.body, err));
        TRY_OUT(request_batch_start(r, i, &ask, err, "saving of %s", table));
    }
    TRY_OUT(request_batch_wait(r, err));
out:
    request_batch_unref(r);
    return status;
}
