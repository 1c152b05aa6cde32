/* Places for dense values in messages. A worker that sends the same values in every step writes
 * them into the bodies of its messages at once: a gradient is copied once between its kernel and
 * the socket.
 *
 * A body has the header and tables of the message first (as much space as the counts given need),
 * then the places, then whatever else a step pushes. Between two steps the body may still be held
 * by the transport: then slots_begin takes another one. Otherwise it is ours alone, and is written
 * again. Threads: slots_begin and slots_write while no other thread writes; slot_add to different
 * slots at the same time. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/session_parts.h"

struct slot_message {
    struct blob *body;
    size_t end, cap; /* of the places; of the body */
};

struct session_slots {
    int nmessages;
    size_t first; /* where places begin */
    struct slot_message messages[];
};

struct slot_part {
    int message;
    uint32_t number;
    size_t at, bytes; /* at: in the body */
    size_t from;      /* in the value */
};

struct session_slot {
    struct session_slots *slots;
    size_t bytes; /* of the value */
    int n;
    struct slot_part parts[];
};

struct session_slots *slots_create(const struct session *s, size_t npieces, size_t nwant)
{
    struct session_slots *p =
        mem_alloc_or_die(sizeof *p + (size_t)s->nmessages * sizeof p->messages[0]);
    p->nmessages = s->nmessages;
    p->first = ps_exchange_head(npieces, nwant);
    for (int i = 0; i < p->nmessages; i++)
        p->messages[i].end = p->first;
    return p;
}

void slots_destroy(struct session_slots *p)
{
    for (int i = 0; p && i < p->nmessages; i++)
        blob_unref(p->messages[i].body);
    free(p);
}

struct session_slot *slot_create(struct session_slots *p, const struct session *s,
                                 const struct job_slices *to)
{
    const struct session_binding *b = to->bound;
    struct session_slot *slot =
        mem_alloc_or_die(sizeof *slot + (size_t)b->n * sizeof slot->parts[0]);
    slot->slots = p;
    slot->n = b->n;
    for (int i = 0; i < b->n; i++) {
        const struct bound_slice *from = &b->slices[i];
        int message = s->first[from->server] + from->shard;
        struct slot_message *m = &p->messages[message];
        slot->parts[i] = (struct slot_part){.message = message,
                                            .number = from->number,
                                            .at = m->end,
                                            .bytes = from->bytes,
                                            .from = to->sections ? slot->bytes : 0};
        slot->bytes = to->sections ? slot->bytes + from->bytes : from->bytes;
        m->end += (from->bytes + PS_ALIGN - 1) / PS_ALIGN * PS_ALIGN;
    }
    return slot;
}

/* A body of at least so many bytes, with the places' contents. */
static enum skiff_status body_grow(struct slot_message *m, size_t cap, bool keep,
                                   struct skiff_error *err)
{
    struct blob *fresh;
    TRY(blob_create(cap, "a message to a server", &fresh, err));
    if (keep)
        memcpy(fresh->data, m->body->data, m->end);
    else
        memset(fresh->data, 0, m->end);
    blob_unref(m->body);
    m->body = fresh;
    m->cap = cap;
    return SKIFF_OK;
}

enum skiff_status slots_begin(struct session_slots *p, struct skiff_error *err)
{
    for (int i = 0; i < p->nmessages; i++) {
        struct slot_message *m = &p->messages[i];
        size_t cap = m->cap > m->end ? m->cap : m->end;
        if (!m->body || m->cap < m->end || atomic_load(&m->body->refs) != 1)
            TRY(body_grow(m, cap, false, err));
    }
    return SKIFF_OK;
}

enum skiff_status slot_add(struct session_slot *slot, int n, const struct skiff_tensor *x,
                           const char *name, struct skiff_error *err)
{
    if (x->kind != VALUE_TENSOR || x->tensor.dtype != DTYPE_FP32 ||
        tensor_bytes(&x->tensor) != slot->bytes)
        return error_set(err, SKIFF_SHAPE,
                         "%s is no longer a float32 tensor of %zu bytes, as its slices on the "
                         "servers are: is the program the one that was split?",
                         name, slot->bytes);
    for (int i = 0; i < slot->n; i++) {
        const struct slot_part *part = &slot->parts[i];
        float *to = (float *)(void *)(slot->slots->messages[part->message].body->data + part->at);
        const float *from = tensor_f32(&x->tensor) + part->from / sizeof *from;
        if (!n)
            memcpy(to, from, part->bytes);
        for (size_t k = 0; n && k < part->bytes / sizeof *to; k++)
            to[k] += from[k];
    }
    return SKIFF_OK;
}

void slot_finish(struct session_slot *slot, int n, bool mean)
{
    float f = 1.0f / (float)n;
    for (int i = 0; i < slot->n && mean && n > 1; i++) {
        const struct slot_part *part = &slot->parts[i];
        float *x = (float *)(void *)(slot->slots->messages[part->message].body->data + part->at);
        for (size_t k = 0; k < part->bytes / sizeof *x; k++)
            x[k] *= f;
    }
}

int slot_piece(const struct session_slot *slot, int i, struct ps_piece *out)
{
    const struct slot_part *part = &slot->parts[i];
    *out = (struct ps_piece){.number = part->number,
                             .data = slot->slots->messages[part->message].body->data + part->at,
                             .bytes = part->bytes,
                             .at = part->at};
    return part->message;
}

struct session_slots *slot_owner(const struct session_slot *slot)
{
    return slot->slots;
}

enum skiff_status slots_write(struct session_slots *p, int message, const struct ps_exchange *head,
                              struct ps_piece *pieces, uint32_t n, struct blob **out,
                              struct skiff_error *err)
{
    struct slot_message *m = &p->messages[message];
    size_t need = m->end;
    bool fits = ps_exchange_head(n, head->nwant) <= p->first;
    struct wire_writer w;
    writer_init(&w);
    for (uint32_t i = 0; i < n; i++) {
        need += pieces[i].at ? 0 : pieces[i].bytes + pieces[i].nrows * 8 + 2 * PS_ALIGN;
        pieces[i].at = fits ? pieces[i].at : 0;
    }
    if (!fits) { /* a step that pushes more than the first one did */
        ps_write_exchange(&w, head, pieces, n);
        return writer_finish(&w, out, err);
    }
    if (need > m->cap)
        TRY(body_grow(m, need + need / 4, true, err));
    w = (struct wire_writer){.data = m->body->data, .cap = m->cap};
    ps_write_exchange(&w, head, pieces, n);
    m->body->len = w.len;
    *out = blob_ref(m->body);
    return SKIFF_OK;
}
