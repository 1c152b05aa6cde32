/* An exchange: whole values are split by their slices into one message per server and shard, and
 * the replies are put together again. Slices are written straight from the source memory; replies
 * are copied straight to their destination.
 *
 * One message carries all pushes to a shard and names all variables to be returned, so that a step
 * costs one round trip however many variables there are. Rows by id are partitioned in two passes,
 * like a counting sort: first the slice of each id, then ids and positions slice by slice. The rows
 * themselves are not moved: an item lists which rows of the value it takes (pick), and they are
 * gathered when the message is written. In sync mode slices without rows are sent too: the server
 * waits for every slice of a step. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/session_parts.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "ids and floats are sent in memory order");

/* ---- slices ---- */

int64_t slices_first(const struct job_slices *slices, int i)
{
    int64_t first = 0;
    for (int k = 0; k < i && slices->sections && !slices->modulo; k++)
        first += slices->sections[k];
    return first;
}

enum skiff_status slice_server(const struct session *s, const struct job_slices *slices, int i,
                               int *out, struct skiff_error *err)
{
    int server = session_server_of(s, slices->endpoints[i]);
    if (server < 0)
        return error_set(
            err, SKIFF_NOT_FOUND,
            "%s: slice %s is at %s, which is not one of the job's %d parameter servers",
            slices->origin, slices->names[i], slices->endpoints[i], s->options.servers);
    if (strlen(slices->names[i]) >= PS_NAME)
        return error_set(err, SKIFF_RANGE, "%s: the name of slice %d is longer than %d bytes",
                         slices->origin, i, PS_NAME - 1);
    *out = server;
    return SKIFF_OK;
}

/* Finds the slice of every id; ends[i]: rows up to and including slice i. Returns the index of the
 * first id that is in no slice, or n. */
static size_t slices_of(const struct job_slices *slices, const int64_t *ends, const int64_t *ids,
                        size_t n, int32_t *where)
{
    for (size_t i = 0; i < n; i++) {
        if (slices->modulo) {
            where[i] = job_slice_of(slices, ids[i]);
            continue;
        }
        int32_t k = 0; /* ids are as good as random: counting is faster than branching */
        for (int s = 0; slices->sections && s < slices->n - 1; s++)
            k += ids[i] >= ends[s];
        if (slices->sections && (uint64_t)ids[i] >= (uint64_t)ends[slices->n - 1])
            return i;
        where[i] = k;
    }
    return n;
}

enum skiff_status rows_cut_init(struct rows_cut *c, const struct job_slices *slices,
                                const int64_t *ids, size_t n, struct skiff_error *err)
{
    size_t slots = (size_t)slices->n;
    void *p;
    memset(c, 0, sizeof *c);
    TRY(mem_alloc(3 * slots * sizeof(size_t) + n * (sizeof(int64_t) + sizeof(size_t)) +
                      n * sizeof(int32_t) + 64,
                  "rows for servers", &p, err));
    c->count = p;
    c->first = c->count + slots;
    int64_t *ends = (int64_t *)(c->first + slots);
    c->local = ends + slots;
    c->from = (size_t *)(c->local + n);
    int32_t *where = (int32_t *)(c->from + n);
    for (size_t k = 0; k < slots; k++) /* one slice and no sections: all ids, as they are */
        ends[k] = slices->sections ? slices_first(slices, (int)k + 1) : 0;
    memset(c->count, 0, slots * sizeof(size_t));
    size_t bad = slices_of(slices, ends, ids, n, where);
    if (bad < n) {
        rows_cut_deinit(c);
        return error_set(err, SKIFF_RANGE, "%s: id %lld is outside its %lld rows", slices->origin,
                         (long long)ids[bad], (long long)slices_first(slices, slices->n));
    }
    for (size_t i = 0; i < n; i++)
        c->count[where[i]]++;
    size_t at = 0;
    for (size_t k = 0; k < slots; k++) {
        c->first[k] = at;
        at += c->count[k];
        c->count[k] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        size_t k = (size_t)where[i], to = c->first[k] + c->count[k]++;
        c->local[to] = ids[i] - (k && !slices->modulo ? ends[k - 1] : 0);
        c->from[to] = i;
    }
    return SKIFF_OK;
}

void rows_cut_deinit(struct rows_cut *c)
{
    mem_free(c->count);
    memset(c, 0, sizeof *c);
}

/* ---- messages ---- */

struct request_message { /* for one shard of one server */
    int server, shard;
    struct ps_item *items;
    char (*want)[PS_NAME];
    uint32_t nitems, nwant, items_cap, want_cap;
};

struct want_at { /* destination of a requested slice */
    int message;
    uint32_t index;
};

struct session_exchange {
    struct session *session;
    struct request_message *messages; /* of server i: from first[i] on, one per shard */
    int *first, nmessages;
    struct want_at **wants; /* per pull, per slice */
    void **buffers;         /* buffers for rows */
    int nbuffers;
};

static struct ps_item *message_item(struct request_message *m)
{
    if (m->nitems == m->items_cap) {
        m->items_cap = m->items_cap ? 2 * m->items_cap : 16;
        m->items = mem_grow_or_die(m->items, m->items_cap * sizeof *m->items);
    }
    struct ps_item *item = &m->items[m->nitems++];
    memset(item, 0, sizeof *item);
    return item;
}

static struct request_message *message_for(struct session_exchange *x, int server, const char *name)
{
    int shard = ps_shard(name, x->session->shards[server]);
    return &x->messages[x->first[server] + shard];
}

static void item_shape(struct ps_item *item, const char *name, const struct tensor *t, int64_t rows)
{
    strcpy(item->name, name);
    item->dtype = (uint32_t)t->dtype;
    item->ndim = t->shape.ndim;
    memcpy(item->dims, t->shape.dims, sizeof(int64_t) * (size_t)t->shape.ndim);
    if (item->ndim)
        item->dims[0] = rows;
}

static size_t row_bytes(const struct tensor *t)
{
    return (size_t)(t->shape.ndim ? shape_cols(&t->shape, 1) : 1) * dtype_size(t->dtype);
}

static enum skiff_status add_dense(struct session_exchange *x, const struct session_push *p,
                                   struct skiff_error *err)
{
    const struct tensor *t = &p->x->tensor;
    int64_t rows = t->shape.ndim ? t->shape.dims[0] : 1, at = 0;
    for (int i = 0; i < p->to.n; i++) {
        int server;
        int64_t n = p->to.sections ? p->to.sections[i] : rows;
        TRY(slice_server(x->session, &p->to, i, &server, err));
        if (!p->to.sections)
            at = 0; /* every server gets the whole */
        if (n < 0 || at + n > rows)
            break;
        struct ps_item *item = message_item(message_for(x, server, p->to.names[i]));
        item_shape(item, p->to.names[i], t, n);
        item->bytes = (size_t)n * row_bytes(t);
        item->data = (const unsigned char *)t->data + (size_t)at * row_bytes(t);
        at += n;
    }
    if (at != rows)
        return error_set(err, SKIFF_SHAPE,
                         "%s has %lld rows, its slices on the servers have %lld: is the program "
                         "the one that was split?",
                         p->to.origin, (long long)rows, (long long)slices_first(&p->to, p->to.n));
    return SKIFF_OK;
}

/* Servers that wait do so for every slice, also for those without rows. */
static enum skiff_status add_rows(struct session_exchange *x, const struct session_push *p,
                                  struct skiff_error *err)
{
    const struct skiff_tensor *v = p->x;
    size_t width = row_bytes(&v->tensor), n = v->sel.nrows;
    struct rows_cut cut;
    TRY(rows_cut_init(&cut, &p->to, v->sel.rows, n, err));
    x->buffers[x->nbuffers++] = cut.count;
    for (int i = 0; i < p->to.n; i++) {
        int server;
        TRY(slice_server(x->session, &p->to, i, &server, err));
        if (!cut.count[i] && !mode_waits(x->session->options.mode))
            continue;
        struct ps_item *item = message_item(message_for(x, server, p->to.names[i]));
        item_shape(item, p->to.names[i], &v->tensor, (int64_t)cut.count[i]);
        item->has_rows = true;
        item->nrows = (int64_t)cut.count[i];
        item->rows = (const unsigned char *)(cut.local + cut.first[i]);
        item->data = v->tensor.data;
        item->pick = cut.from + cut.first[i];
        item->bytes = cut.count[i] * width;
    }
    return SKIFF_OK;
}

static enum skiff_status add_pull(struct session_exchange *x, int at, const struct job_slices *from,
                                  struct skiff_error *err)
{
    x->wants[at] = mem_alloc_or_die((size_t)from->n * sizeof **x->wants);
    for (int i = 0; i < from->n; i++) {
        int server;
        TRY(slice_server(x->session, from, i, &server, err));
        struct request_message *m = message_for(x, server, from->names[i]);
        if (m->nwant == m->want_cap) {
            m->want_cap = m->want_cap ? 2 * m->want_cap : 16;
            m->want = mem_grow_or_die(m->want, m->want_cap * sizeof *m->want);
        }
        x->wants[at][i] = (struct want_at){(int)(m - x->messages), m->nwant};
        memset(m->want[m->nwant], 0, PS_NAME);
        strcpy(m->want[m->nwant++], from->names[i]);
    }
    return SKIFF_OK;
}

static void exchange_init(struct session_exchange *x, struct session *s, int npush, int npull)
{
    *x = (struct session_exchange){.session = s};
    x->first = mem_alloc_or_die((size_t)s->options.servers * sizeof *x->first);
    for (int i = 0; i < s->options.servers; i++) {
        x->first[i] = x->nmessages;
        x->nmessages += s->shards[i];
    }
    x->messages = mem_alloc_or_die((size_t)x->nmessages * sizeof *x->messages);
    for (int i = 0; i < s->options.servers; i++)
        for (int k = 0; k < s->shards[i]; k++) {
            x->messages[x->first[i] + k].server = i;
            x->messages[x->first[i] + k].shard = k;
        }
    x->wants = mem_alloc_or_die((size_t)(npull + 1) * sizeof *x->wants);
    x->buffers = mem_alloc_or_die((size_t)(npush + 1) * sizeof *x->buffers);
}

static void exchange_deinit(struct session_exchange *x, int npull)
{
    for (int i = 0; i < x->nmessages; i++) {
        free(x->messages[i].items);
        free(x->messages[i].want);
    }
    for (int i = 0; i < npull; i++)
        free(x->wants[i]);
    for (int i = 0; i < x->nbuffers; i++)
        mem_free(x->buffers[i]);
    free(x->messages);
    free(x->first);
    free(x->wants);
    free(x->buffers);
}

/* ---- numbers of pushes ---- */

struct push_number {
    uint64_t push, settled;
    uint32_t parts;
};

/* Everything before the oldest one in flight has been answered. */
static void number_take(struct session_exchange *x, struct push_number *out)
{
    struct session *s = x->session;
    *out = (struct push_number){0};
    for (int i = 0; i < x->nmessages; i++)
        out->parts += x->messages[i].nitems > 0;
    if (!out->parts)
        return;
    pthread_mutex_lock(&s->lock);
    out->push = out->settled = ++s->pushes;
    if (s->nopen == s->open_cap) {
        s->open_cap = s->open_cap ? 2 * s->open_cap : 8;
        s->open = mem_grow_or_die(s->open, (size_t)s->open_cap * sizeof *s->open);
    }
    s->open[s->nopen++] = out->push;
    for (int i = 0; i < s->nopen; i++)
        out->settled = s->open[i] < out->settled ? s->open[i] : out->settled;
    pthread_mutex_unlock(&s->lock);
}

static void number_give_back(struct session *s, const struct push_number *n)
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->nopen; i++)
        if (s->open[i] == n->push)
            s->open[i--] = s->open[--s->nopen];
    pthread_mutex_unlock(&s->lock);
}

static enum skiff_status send_messages(struct session_exchange *x, uint64_t step, uint32_t flags,
                                       const struct push_number *number, struct request_batch *r,
                                       struct skiff_error *err)
{
    for (int i = 0; i < x->nmessages; i++) {
        struct request_message *m = &x->messages[i];
        struct wire_writer w;
        struct batch_request ask = {.server = m->server,
                                    .method = PS_EXCHANGE,
                                    .shard = m->shard,
                                    .joint = flags & PS_END_STEP &&
                                             mode_waits(x->session->options.mode)};
        struct ps_exchange body = {.trainer = (uint32_t)x->session->options.worker,
                                   .flags = flags,
                                   .step = step,
                                   .push = m->nitems ? number->push : 0,
                                   .settled = number->settled,
                                   .parts = number->parts,
                                   .nitems = m->nitems,
                                   .nwant = m->nwant,
                                   .items = m->items,
                                   .want = m->want};
        if (!m->nitems && !m->nwant && !(flags & PS_END_STEP))
            continue;
        if (!m->nitems && !flags) /* a pull alone changes nothing: no reply needs to be kept */
            ask.flags = RPC_READ;
        writer_init(&w);
        ps_write_exchange(&w, &body);
        TRY(writer_finish(&w, &ask.body, err));
        if (flags & PS_END_STEP)
            TRY(request_batch_start(r, i, &ask, err, "step %llu of worker %d",
                                    (unsigned long long)step, x->session->options.worker));
        else
            TRY(request_batch_start(r, i, &ask, err, "%s of %s", m->nitems ? "push" : "pull",
                                    m->nitems ? m->items[0].name : m->want[0]));
    }
    return SKIFF_OK;
}

/* ---- replies ---- */

struct replies { /* items of every message */
    struct ps_item **items;
    uint32_t *n;
};

static enum skiff_status read_replies(struct session_exchange *x, struct request_batch *r,
                                      struct replies *out, struct skiff_error *err)
{
    for (int i = 0; i < x->nmessages; i++) {
        const struct request_message *m = &x->messages[i];
        if (!m->nwant)
            continue;
        TRY(ps_read_items(r->slots[i].reply, &out->items[i], &out->n[i], err));
        if (out->n[i] != m->nwant)
            return error_set(err, SKIFF_FORMAT,
                             "server %d answered with %u variables, %u were requested", m->server,
                             out->n[i], m->nwant);
        for (uint32_t k = 0; k < m->nwant; k++)
            if (strcmp(out->items[i][k].name, m->want[k]))
                return error_set(err, SKIFF_FORMAT, "server %d answered with %s instead of %s",
                                 m->server, out->items[i][k].name, m->want[k]);
    }
    return SKIFF_OK;
}

static enum skiff_status check_part(const struct ps_item *item, const struct session_pull *p,
                                    struct skiff_error *err)
{
    size_t size = dtype_size((enum dtype)item->dtype), n = 1;
    for (int i = 0; i < item->ndim; i++)
        n *= (size_t)item->dims[i]; /* the reader has checked for overflow */
    if (item->has_rows || !size || item->bytes != n * size)
        return error_set(err, SKIFF_FORMAT, "%s: the server's slice %s is not a whole tensor",
                         p->from.origin, item->name);
    return SKIFF_OK;
}

/* A variable of one slice takes the shape that arrives. If it has that shape already, only its data
 * are written: training threads may be reading it. */
static enum skiff_status fill_whole(const struct session_pull *p, const struct ps_item *item,
                                    struct skiff_error *err)
{
    struct shape shape = shape_of(item->ndim, item->dims);
    const struct skiff_tensor *v = p->out;
    if (v->kind != VALUE_TENSOR || !v->tensor.data || v->tensor.dtype != (enum dtype)item->dtype ||
        !shape_equal(&v->tensor.shape, &shape))
        TRY(value_as_tensor(p->out, (enum dtype)item->dtype, &shape, err));
    memcpy(p->out->tensor.data, item->data, item->bytes);
    return SKIFF_OK;
}

/* Parameters that training threads read meanwhile, in modes that do not wait: Hogwild. */
static enum skiff_status fill_pull(const struct session_exchange *x, int at,
                                   const struct session_pull *p, const struct replies *r,
                                   struct skiff_error *err)
{
    struct tensor *t = &p->out->tensor;
    size_t done = 0, all = p->out->kind == VALUE_TENSOR ? tensor_bytes(t) : 0;
    for (int i = 0; i < p->from.n; i++) {
        struct want_at w = x->wants[at][i];
        const struct ps_item *item = &r->items[w.message][w.index];
        TRY(check_part(item, p, err));
        if (p->from.n == 1)
            return fill_whole(p, item, err);
        if (item->dtype != (uint32_t)t->dtype || done + item->bytes > all)
            break;
        memcpy((char *)t->data + done, item->data, item->bytes);
        done += item->bytes;
    }
    if (done != all || !all)
        return error_set(err, SKIFF_SHAPE,
                         "%s has %zu bytes here, its slices on the servers %zu or another type: is "
                         "the program the one that was split?",
                         p->from.origin, all, done);
    return SKIFF_OK;
}

enum skiff_status session_exchange(struct session *s, uint64_t step, uint32_t flags,
                                   const struct session_push *pushes, int npush,
                                   const struct session_pull *pulls, int npull,
                                   struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct session_exchange x;
    struct push_number number = {0};
    exchange_init(&x, s, npush, npull);
    struct request_batch *r = request_batch_create(s, x.nmessages);
    struct replies in = {.items = mem_alloc_or_die((size_t)x.nmessages * sizeof *in.items),
                         .n = mem_alloc_or_die((size_t)x.nmessages * sizeof *in.n)};
    for (int i = 0; i < npush; i++)
        TRY_OUT(pushes[i].x->kind == VALUE_ROWS ? add_rows(&x, &pushes[i], err)
                                                : add_dense(&x, &pushes[i], err));
    for (int i = 0; i < npull; i++)
        TRY_OUT(add_pull(&x, i, &pulls[i].from, err));
    r->part = s->counts.wait_servers;
    number_take(&x, &number);
    TRY_OUT(send_messages(&x, step, flags, &number, r, err));
    status = request_batch_wait(r, err);
    if (status == SKIFF_TIMEOUT && (flags & PS_END_STEP) && err)
        session_blame(s, err);
    TRY_OUT(status);
    TRY_OUT(read_replies(&x, r, &in, err));
    for (int i = 0; i < npull; i++)
        TRY_OUT(fill_pull(&x, i, &pulls[i], &in, err));
    metric_add(s->counts.exchanges, 1);
out:
    for (int i = 0; i < x.nmessages; i++)
        free(in.items[i]);
    free(in.items);
    free(in.n);
    if (number.push)
        number_give_back(s, &number);
    request_batch_unref(r);
    exchange_deinit(&x, npull);
    return status;
}
