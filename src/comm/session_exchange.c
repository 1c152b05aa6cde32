/* An exchange: whole values are split by their slices into one message per server and shard, and
 * the replies are put together again. Slices are written straight from the source memory; replies
 * are copied straight to their destination.
 *
 * One message carries all pushes to a shard and the numbers of all variables to be returned, so
 * that a step costs one round trip however many variables there are. Numbers are those of bindings
 * (session_bind.c); lists keep their memory from one exchange to the next. Rows by id are
 * partitioned in two passes, like a counting sort: first the slice of each id, then ids and
 * positions slice by slice. The rows themselves are not moved: a piece lists which rows of the
 * value it takes (pick), and they are gathered when the message is written. In sync mode slices
 * without rows are sent too: the server waits for every slice of a step. */
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

static enum skiff_status cut_reserve(struct rows_cut *c, size_t slots, size_t n,
                                     struct skiff_error *err)
{
    size_t bytes = 3 * slots * sizeof(size_t) + n * (sizeof(int64_t) + sizeof(size_t)) +
                   n * sizeof(int32_t) + 64;
    void *p;
    if (bytes <= c->cap)
        return SKIFF_OK;
    rows_cut_deinit(c);
    TRY(mem_alloc(bytes + bytes / 4, "rows for servers", &p, err));
    c->count = p;
    c->cap = bytes + bytes / 4;
    return SKIFF_OK;
}

enum skiff_status rows_cut_init(struct rows_cut *c, const struct job_slices *slices,
                                const int64_t *ids, size_t n, struct skiff_error *err)
{
    size_t slots = (size_t)slices->n;
    TRY(cut_reserve(c, slots, n, err));
    c->first = c->count + slots;
    int64_t *ends = (int64_t *)(c->first + slots);
    c->local = ends + slots;
    c->from = (size_t *)(c->local + n);
    int32_t *where = (int32_t *)(c->from + n);
    for (size_t k = 0; k < slots; k++) /* one slice and no sections: all ids, as they are */
        ends[k] = slices->sections ? slices_first(slices, (int)k + 1) : 0;
    memset(c->count, 0, slots * sizeof(size_t));
    size_t bad = slices_of(slices, ends, ids, n, where);
    if (bad < n)
        return error_set(err, SKIFF_RANGE, "%s: id %lld is outside its %lld rows", slices->origin,
                         (long long)ids[bad], (long long)slices_first(slices, slices->n));
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
    struct ps_piece *pieces;
    uint32_t *want;
    uint32_t npieces, nwant, pieces_cap, want_cap;
};

struct want_at { /* destination of a requested slice */
    int message;
    uint32_t index;
};

struct session_exchange {
    struct session *session;
    struct session_exchange *next;    /* of those that are idle */
    struct request_message *messages; /* session's nmessages */
    struct want_at *wants;            /* slices of all pulls, in their order */
    size_t nwants, wants_cap;
    struct rows_cut *cuts; /* of pushes of rows */
    int ncuts, cuts_cap;
    struct ps_pieces *replies;   /* per message */
    struct session_slots *slots; /* NULL: no push is in a slot */
    struct request_batch *batch; /* NULL: none yet */
};

static struct session_exchange *exchange_create(struct session *s)
{
    struct session_exchange *x = mem_alloc_or_die(sizeof *x);
    x->session = s;
    x->messages = mem_alloc_or_die((size_t)s->nmessages * sizeof *x->messages);
    x->replies = mem_alloc_or_die((size_t)s->nmessages * sizeof *x->replies);
    for (int i = 0; i < s->options.servers; i++)
        for (int k = 0; k < s->shards[i]; k++)
            x->messages[s->first[i] + k] = (struct request_message){.server = i, .shard = k};
    return x;
}

static void exchange_destroy(struct session_exchange *x)
{
    for (int i = 0; i < x->session->nmessages; i++) {
        free(x->messages[i].pieces);
        free(x->messages[i].want);
    }
    for (int i = 0; i < x->cuts_cap; i++)
        rows_cut_deinit(&x->cuts[i]);
    request_batch_unref(x->batch);
    free(x->messages);
    free(x->replies);
    free(x->wants);
    free(x->cuts);
    free(x);
}

void exchanges_destroy(struct session *s)
{
    while (s->idle) {
        struct session_exchange *x = s->idle;
        s->idle = x->next;
        exchange_destroy(x);
    }
}

static struct session_exchange *exchange_take(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    struct session_exchange *x = s->idle;
    if (x)
        s->idle = x->next;
    pthread_mutex_unlock(&s->lock);
    if (!x)
        return exchange_create(s);
    for (int i = 0; i < s->nmessages; i++)
        x->messages[i].npieces = x->messages[i].nwant = 0;
    x->nwants = 0;
    x->ncuts = 0;
    x->slots = NULL;
    return x;
}

static void exchange_give_back(struct session_exchange *x)
{
    struct session *s = x->session;
    pthread_mutex_lock(&s->lock);
    x->next = s->idle;
    s->idle = x;
    pthread_mutex_unlock(&s->lock);
}

static struct request_message *message_for(struct session_exchange *x, const struct bound_slice *b)
{
    return &x->messages[x->session->first[b->server] + b->shard];
}

static struct ps_piece *message_piece(struct request_message *m, uint32_t number)
{
    if (m->npieces == m->pieces_cap) {
        m->pieces_cap = m->pieces_cap ? 2 * m->pieces_cap : 16;
        m->pieces = mem_grow_or_die(m->pieces, m->pieces_cap * sizeof *m->pieces);
    }
    struct ps_piece *piece = &m->pieces[m->npieces++];
    *piece = (struct ps_piece){.number = number};
    return piece;
}

static struct rows_cut *next_cut(struct session_exchange *x)
{
    if (x->ncuts == x->cuts_cap) {
        x->cuts_cap = x->cuts_cap ? 2 * x->cuts_cap : 4;
        x->cuts = mem_grow_or_die(x->cuts, (size_t)x->cuts_cap * sizeof *x->cuts);
        memset(x->cuts + x->ncuts, 0, (size_t)(x->cuts_cap - x->ncuts) * sizeof *x->cuts);
    }
    return &x->cuts[x->ncuts++];
}

/* ---- pushes ---- */

static int64_t row_width(const struct tensor *t)
{
    return t->shape.ndim ? shape_cols(&t->shape, 1) : 1;
}

/* Is the value what the server expects under this number? */
static enum skiff_status check_push(const struct session *s, const struct bound_slice *b,
                                    const struct skiff_tensor *v, struct skiff_error *err)
{
    bool rows = v->kind == VALUE_ROWS;
    const char *at = s->endpoints[b->server];
    if (!(b->var->use & (rows ? PS_PUSH_ROWS : PS_PUSH_DENSE)))
        return error_set(err, SKIFF_INVALID, "%s is sent as %s; server %d (%s) expects %s",
                         b->var->name, rows ? "rows" : "a tensor", b->server, at,
                         rows ? "a tensor" : "rows");
    if (v->tensor.dtype != (enum dtype)b->var->dtype)
        return error_set(err, SKIFF_DTYPE, "%s is of type %s; server %d (%s) expects %s",
                         b->var->name, dtype_name(v->tensor.dtype), b->server, at,
                         dtype_name((enum dtype)b->var->dtype));
    return SKIFF_OK;
}

static enum skiff_status dense_piece(struct session_exchange *x, const struct bound_slice *b,
                                     const struct tensor *t, int64_t first, int64_t rows,
                                     struct skiff_error *err)
{
    size_t row = (size_t)row_width(t) * dtype_size(t->dtype), bytes = (size_t)rows * row;
    if (bytes != b->bytes)
        return error_set(err, SKIFF_SHAPE,
                         "%s has %zu bytes here, and %zu on server %d (%s): is the program the one "
                         "that was split?",
                         b->var->name, bytes, b->bytes, b->server,
                         x->session->endpoints[b->server]);
    struct ps_piece *piece = message_piece(message_for(x, b), b->number);
    piece->bytes = bytes;
    piece->data = (const unsigned char *)t->data + (size_t)first * row;
    return SKIFF_OK;
}

static enum skiff_status add_dense(struct session_exchange *x, const struct session_push *p,
                                   const struct session_binding *bound, struct skiff_error *err)
{
    const struct tensor *t = &p->x->tensor;
    int64_t rows = t->shape.ndim ? t->shape.dims[0] : 1, at = 0;
    for (int i = 0; i < p->to.n; i++) {
        int64_t n = p->to.sections ? p->to.sections[i] : rows;
        TRY(check_push(x->session, &bound->slices[i], p->x, err));
        if (!p->to.sections)
            at = 0; /* every server gets the whole */
        if (n < 0 || at + n > rows)
            break;
        TRY(dense_piece(x, &bound->slices[i], t, at, n, err));
        at += n;
    }
    if (at != rows)
        return error_set(err, SKIFF_SHAPE,
                         "%s has %lld rows, its slices on the servers have %lld: is the program "
                         "the one that was split?",
                         p->to.origin, (long long)rows, (long long)slices_first(&p->to, p->to.n));
    return SKIFF_OK;
}

static enum skiff_status check_width(const struct session_exchange *x, const struct session_push *p,
                                     const struct bound_slice *b, struct skiff_error *err)
{
    int64_t width = row_width(&p->x->tensor);
    TRY(check_push(x->session, b, p->x, err));
    if (!p->x->sel.nrows || width == b->width)
        return SKIFF_OK;
    return error_set(err, SKIFF_SHAPE,
                     "%s has rows of %lld numbers; table %s expects rows of %lld numbers%s on "
                     "server %d (%s)",
                     b->var->name, (long long)width, p->to.origin, (long long)b->width,
                     p->to.shards ? " (slot, show, click, gradients)" : "", b->server,
                     x->session->endpoints[b->server]);
}

/* Servers that wait do so for every slice, also for those without rows. */
static enum skiff_status add_rows(struct session_exchange *x, const struct session_push *p,
                                  const struct session_binding *bound, struct skiff_error *err)
{
    const struct skiff_tensor *v = p->x;
    size_t width = (size_t)row_width(&v->tensor) * dtype_size(v->tensor.dtype);
    struct rows_cut *cut = next_cut(x);
    for (int i = 0; i < p->to.n; i++)
        TRY(check_width(x, p, &bound->slices[i], err));
    TRY(rows_cut_init(cut, &p->to, v->sel.rows, v->sel.nrows, err));
    for (int i = 0; i < p->to.n; i++) {
        const struct bound_slice *b = &bound->slices[i];
        if (!cut->count[i] && !mode_waits(x->session->options.mode))
            continue;
        struct ps_piece *piece = message_piece(message_for(x, b), b->number);
        piece->has_rows = true;
        piece->nrows = cut->count[i];
        piece->rows = (const unsigned char *)(cut->local + cut->first[i]);
        piece->data = v->tensor.data;
        piece->pick = cut->from + cut->first[i];
        piece->bytes = cut->count[i] * width;
    }
    return SKIFF_OK;
}

static void add_slot(struct session_exchange *x, const struct session_push *p)
{
    x->slots = slot_owner(p->slot);
    for (int i = 0; i < p->to.n; i++) {
        struct ps_piece piece;
        struct request_message *m = &x->messages[slot_piece(p->slot, i, &piece)];
        *message_piece(m, piece.number) = piece;
    }
}

static enum skiff_status add_push(struct session_exchange *x, const struct session_push *p,
                                  struct skiff_error *err)
{
    struct bound_now bound;
    if (p->slot) {
        add_slot(x, p);
        return SKIFF_OK;
    }
    TRY(binding_get(x->session, &p->to, PS_PUSH_DENSE | PS_PUSH_ROWS, &bound, err));
    enum skiff_status status =
        p->x->kind == VALUE_ROWS ? add_rows(x, p, bound.b, err) : add_dense(x, p, bound.b, err);
    session_unbind(bound.own);
    return status;
}

/* ---- pulls ---- */

static void add_want(struct session_exchange *x, const struct bound_slice *b)
{
    struct request_message *m = message_for(x, b);
    if (m->nwant == m->want_cap) {
        m->want_cap = m->want_cap ? 2 * m->want_cap : 16;
        m->want = mem_grow_or_die(m->want, m->want_cap * sizeof *m->want);
    }
    if (x->nwants == x->wants_cap) {
        x->wants_cap = x->wants_cap ? 2 * x->wants_cap : 16;
        x->wants = mem_grow_or_die(x->wants, x->wants_cap * sizeof *x->wants);
    }
    x->wants[x->nwants++] = (struct want_at){(int)(m - x->messages), m->nwant};
    m->want[m->nwant++] = b->number;
}

static enum skiff_status add_pull(struct session_exchange *x, const struct job_slices *from,
                                  struct skiff_error *err)
{
    struct bound_now bound;
    TRY(binding_get(x->session, from, PS_PULL_WHOLE, &bound, err));
    for (int i = 0; i < from->n; i++)
        add_want(x, &bound.b->slices[i]);
    session_unbind(bound.own);
    return SKIFF_OK;
}

/* ---- numbers of pushes ---- */

struct push_number {
    uint64_t push, acked;
    uint32_t parts;
};

/* Everything before the oldest one in flight has been answered. */
static void number_take(struct session_exchange *x, struct push_number *out)
{
    struct session *s = x->session;
    *out = (struct push_number){0};
    for (int i = 0; i < x->session->nmessages; i++)
        out->parts += x->messages[i].npieces > 0;
    if (!out->parts)
        return;
    pthread_mutex_lock(&s->lock);
    out->push = out->acked = ++s->pushes;
    if (s->nopen == s->open_cap) {
        s->open_cap = s->open_cap ? 2 * s->open_cap : 8;
        s->open = mem_grow_or_die(s->open, (size_t)s->open_cap * sizeof *s->open);
    }
    s->open[s->nopen++] = out->push;
    for (int i = 0; i < s->nopen; i++)
        out->acked = s->open[i] < out->acked ? s->open[i] : out->acked;
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

/* ---- sending ---- */

static const char *var_name(const struct session *s, int server, uint32_t number)
{
    return s->vars[server].list[number].name;
}

static enum skiff_status write_message(struct session_exchange *x, int i,
                                       const struct ps_exchange *head, struct blob **out,
                                       struct skiff_error *err)
{
    const struct request_message *m = &x->messages[i];
    struct wire_writer w;
    if (x->slots)
        return slots_write(x->slots, i, head, m->pieces, m->npieces, out, err);
    writer_init(&w);
    ps_write_exchange(&w, head, m->pieces, m->npieces);
    return writer_finish(&w, out, err);
}

static enum skiff_status send_message(struct session_exchange *x, int i, struct ps_exchange *head,
                                      struct request_batch *r, struct skiff_error *err)
{
    const struct session *s = x->session;
    const struct request_message *m = &x->messages[i];
    struct batch_request ask = {.server = m->server,
                                .method = PS_EXCHANGE,
                                .shard = m->shard,
                                .joint = head->flags & PS_END_STEP && mode_waits(s->options.mode)};
    if (!m->npieces && !head->flags) /* a pull alone changes nothing: no reply needs to be kept */
        ask.flags = RPC_READ;
    head->nwant = m->nwant;
    head->want = (const uint8_t *)m->want;
    TRY(write_message(x, i, head, &ask.body, err));
    if (head->flags & PS_END_STEP)
        return request_batch_start(r, i, &ask, err, "step %llu of worker %d",
                                   (unsigned long long)head->step, s->options.worker);
    return request_batch_start(
        r, i, &ask, err, "%s of %s", m->npieces ? "push" : "pull",
        var_name(s, m->server, m->npieces ? m->pieces[0].number : m->want[0]));
}

static enum skiff_status send_messages(struct session_exchange *x, uint64_t step, uint32_t flags,
                                       const struct push_number *number, struct request_batch *r,
                                       struct skiff_error *err)
{
    for (int i = 0; i < x->session->nmessages; i++) {
        const struct request_message *m = &x->messages[i];
        struct ps_exchange head = {.trainer = (uint32_t)x->session->options.worker,
                                   .flags = flags,
                                   .step = step,
                                   .push = m->npieces ? number->push : 0,
                                   .acked = number->acked,
                                   .parts = number->parts};
        if (m->npieces || m->nwant || (flags & PS_END_STEP))
            TRY(send_message(x, i, &head, r, err));
    }
    return SKIFF_OK;
}

/* ---- replies ---- */

static enum skiff_status check_reply(const struct session *s, const struct request_message *m,
                                     const struct ps_pieces *values, struct skiff_error *err)
{
    const char *at = s->endpoints[m->server];
    if (values->n != m->nwant)
        return error_set(err, SKIFF_FORMAT,
                         "server %d (%s) answered with %u variables, %u were requested", m->server,
                         at, values->n, m->nwant);
    for (uint32_t k = 0; k < m->nwant; k++) {
        struct ps_piece got = ps_piece_at(values, k);
        const char *name = var_name(s, m->server, m->want[k]);
        if (got.number != m->want[k])
            return error_set(err, SKIFF_FORMAT,
                             "server %d (%s) answered with number %u in place "
                             "of %s (number %u)",
                             m->server, at, got.number, name, m->want[k]);
        if (got.has_rows)
            return error_set(err, SKIFF_FORMAT,
                             "server %d (%s) answered with rows of %s, which "
                             "was requested as a whole",
                             m->server, at, name);
    }
    return SKIFF_OK;
}

static enum skiff_status read_replies(struct session_exchange *x, struct request_batch *r,
                                      struct skiff_error *err)
{
    for (int i = 0; i < x->session->nmessages; i++) {
        const struct request_message *m = &x->messages[i];
        if (!m->nwant)
            continue;
        TRY(ps_read_values(r->slots[i].reply, &x->replies[i], err));
        TRY(check_reply(x->session, m, &x->replies[i], err));
    }
    return SKIFF_OK;
}

static enum skiff_status check_length(const struct session *s, int server,
                                      const struct ps_bound *var, const struct ps_piece *got,
                                      struct skiff_error *err)
{
    size_t bytes = dtype_size((enum dtype)var->dtype);
    for (int i = 0; i < var->ndim; i++)
        bytes *= (size_t)var->dims[i]; /* the reader has checked for overflow */
    if (got->bytes != bytes)
        return error_set(err, SKIFF_FORMAT,
                         "server %d (%s) answered with %zu bytes of %s, which has %zu", server,
                         s->endpoints[server], got->bytes, var->name, bytes);
    return SKIFF_OK;
}

/* A variable of one slice takes the server's shape. If it has that shape already, only its data are
 * written: training threads may be reading it. */
static enum skiff_status fill_whole(const struct session_pull *p, const struct ps_bound *var,
                                    const struct ps_piece *got, struct skiff_error *err)
{
    struct shape shape = shape_of(var->ndim, var->dims);
    const struct skiff_tensor *v = p->out;
    if (v->kind != VALUE_TENSOR || !v->tensor.data || v->tensor.dtype != (enum dtype)var->dtype ||
        !shape_equal(&v->tensor.shape, &shape))
        TRY(value_as_tensor(p->out, (enum dtype)var->dtype, &shape, err));
    memcpy(p->out->tensor.data, got->data, got->bytes);
    return SKIFF_OK;
}

/* Parameters that training threads read meanwhile, in modes that do not wait: Hogwild. wants: of
 * the pull's slices. */
static enum skiff_status fill_pull(const struct session_exchange *x, const struct want_at *wants,
                                   const struct session_pull *p, struct skiff_error *err)
{
    struct tensor *t = &p->out->tensor;
    size_t done = 0, all = p->out->kind == VALUE_TENSOR ? tensor_bytes(t) : 0;
    for (int i = 0; i < p->from.n; i++) {
        const struct ps_piece got = ps_piece_at(&x->replies[wants[i].message], wants[i].index);
        int server = x->messages[wants[i].message].server;
        const struct ps_bound *var = &x->session->vars[server].list[got.number];
        TRY(check_length(x->session, server, var, &got, err));
        if (p->from.n == 1)
            return fill_whole(p, var, &got, err);
        if (var->dtype != (uint32_t)t->dtype || done + got.bytes > all)
            break;
        memcpy((char *)t->data + done, got.data, got.bytes);
        done += got.bytes;
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
    struct session_exchange *x = exchange_take(s);
    struct push_number number = {0};
    struct request_batch *r = x->batch = request_batch_again(x->batch, s, s->nmessages);
    r->part = s->counts.wait_servers;
    for (int i = 0; i < npush; i++)
        TRY_OUT(add_push(x, &pushes[i], err));
    for (int i = 0; i < npull; i++)
        TRY_OUT(add_pull(x, &pulls[i].from, err));
    number_take(x, &number);
    TRY_OUT(send_messages(x, step, flags, &number, r, err));
    status = request_batch_wait(r, err);
    if (status == SKIFF_TIMEOUT && (flags & PS_END_STEP) && err)
        session_blame(s, err);
    TRY_OUT(status);
    TRY_OUT(read_replies(x, r, err));
    const struct want_at *wants = x->wants;
    for (int i = 0; i < npull; wants += pulls[i++].from.n)
        TRY_OUT(fill_pull(x, wants, &pulls[i], err));
    metric_add(s->counts.exchanges, 1);
    request_batch_empty(r);
out:
    if (number.push)
        number_give_back(s, &number);
    exchange_give_back(x);
    return status;
}
