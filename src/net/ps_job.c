/* Bodies of job-wide operations: snapshots, the start, saving (ps.h). Writers append to a message;
 * readers trust nothing: every count, enum and text is checked, a fault is kept by the reader and
 * reported once at its end, and lists are allocated only as large as the remaining bytes allow. No
 * state; any thread. */
#include <stdlib.h>
#include <string.h>

#include "net/ps.h"

static uint32_t read_u32_varint(struct wire_reader *r)
{
    uint64_t v = reader_varint(r);
    if (v > UINT32_MAX && !r->fault) {
        r->fault = "a number of more than 32 bits";
        r->fault_at = r->pos;
    }
    return (uint32_t)v;
}

static void fault_unless(struct wire_reader *r, bool good, const char *what)
{
    if (good || r->fault)
        return;
    r->fault = what;
    r->fault_at = r->pos;
}

void ps_write_applied(struct wire_writer *w, const struct ps_applied *list, uint32_t n)
{
    writer_varint(w, n);
    for (uint32_t i = 0; i < n; i++) {
        writer_varint(w, list[i].trainer);
        writer_varint(w, list[i].parts);
        writer_varint(w, list[i].here);
        writer_varint(w, list[i].push);
        writer_varint(w, list[i].acked);
    }
}

static struct ps_applied *read_applied(struct wire_reader *r, uint32_t *out_n)
{
    size_t n = reader_count(r, 5);
    struct ps_applied *list = n ? calloc(n, sizeof *list) : NULL;
    fault_unless(r, !n || list, "no memory for the list of pushes");
    for (size_t i = 0; i < n && !r->fault; i++) {
        list[i].trainer = read_u32_varint(r);
        list[i].parts = read_u32_varint(r);
        list[i].here = read_u32_varint(r);
        list[i].push = reader_varint(r);
        list[i].acked = reader_varint(r);
    }
    *out_n = (uint32_t)n;
    return list;
}

enum skiff_status ps_read_applied(const struct blob *b, struct ps_applied **out, uint32_t *out_n,
                                  struct skiff_error *err)
{
    struct wire_reader r;
    reader_init_block(&r, b);
    struct ps_applied *list = read_applied(&r, out_n);
    enum skiff_status status = reader_end(&r, "a list of pushes", err);
    if (status < 0)
        free(list);
    else
        *out = list;
    return status;
}

void ps_write_snapshot(struct wire_writer *w, const struct ps_snapshot *s)
{
    writer_varint(w, s->call);
    writer_string(w, s->tag);
    ps_write_applied(w, s->pushes, s->npushes);
}

enum skiff_status ps_read_snapshot(const struct blob *b, struct ps_snapshot *out,
                                   struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_snapshot s = {0};
    reader_init_block(&r, b);
    s.call = read_u32_varint(&r);
    reader_name(&r, s.tag, sizeof s.tag);
    s.pushes = read_applied(&r, &s.npushes);
    fault_unless(&r, s.call <= PS_TAG_OWN, "an unknown call");
    enum skiff_status status = reader_end(&r, "a call for a snapshot", err);
    if (status == SKIFF_OK)
        *out = s;
    else
        free(s.pushes);
    return status;
}

void ps_write_pull_snapshot(struct wire_writer *w, const struct ps_pull_snapshot *k)
{
    writer_reserve(w, 2 * PS_NAME + 64 + k->n * 8);
    writer_string(w, k->tag);
    writer_string(w, k->name);
    writer_varint(w, k->first);
    writer_varint(w, k->count);
    writer_varint(w, k->n);
    writer_bytes(w, k->ids, k->n * 8);
}

enum skiff_status ps_read_pull_snapshot(const struct blob *b, struct ps_pull_snapshot *out,
                                        struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_pull_snapshot k = {0};
    reader_init_block(&r, b);
    reader_name(&r, k.tag, sizeof k.tag);
    reader_name(&r, k.name, sizeof k.name);
    k.first = reader_varint(&r);
    k.count = reader_varint(&r);
    k.ids = reader_ids(&r, &k.n);
    enum skiff_status status = reader_end(&r, "a request for a part of a snapshot", err);
    if (status == SKIFF_OK)
        *out = k;
    return status;
}

void ps_write_begin(struct wire_writer *w, const struct ps_begin *x)
{
    writer_varint(w, x->index);
    writer_u8(w, x->idle);
    writer_u8(w, x->resume);
    writer_signed(w, x->epoch);
    writer_u8(w, x->complete);
    writer_u64(w, x->sum);
    writer_string(w, x->run);
    writer_string(w, x->where);
}

enum skiff_status ps_read_begin(const struct blob *b, struct ps_begin *out, struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_begin x = {0};
    reader_init_block(&r, b);
    x.index = read_u32_varint(&r);
    x.idle = reader_u8(&r) != 0;
    x.resume = reader_u8(&r) != 0;
    x.epoch = reader_signed(&r);
    x.complete = reader_u8(&r) != 0;
    x.sum = reader_u64(&r);
    reader_name(&r, x.run, sizeof x.run);
    reader_name(&r, x.where, sizeof x.where);
    fault_unless(&r, x.epoch >= -1 && x.epoch <= INT32_MAX, "an invalid epoch");
    enum skiff_status status = reader_end(&r, "a process's checkpoint", err);
    if (status == SKIFF_OK)
        *out = x;
    return status;
}

void ps_write_begun(struct wire_writer *w, const struct ps_begun *x)
{
    writer_signed(w, x->epoch);
    writer_varint(w, x->idle);
    writer_u8(w, x->late);
    writer_string(w, x->run);
}

enum skiff_status ps_read_begun(const struct blob *b, struct ps_begun *out, struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_begun x = {0};
    reader_init_block(&r, b);
    x.epoch = reader_signed(&r);
    x.idle = read_u32_varint(&r);
    x.late = reader_u8(&r) != 0;
    reader_name(&r, x.run, sizeof x.run);
    fault_unless(&r, x.epoch >= 0 && x.epoch <= INT32_MAX, "an invalid epoch");
    enum skiff_status status = reader_end(&r, "the job's start", err);
    if (status == SKIFF_OK)
        *out = x;
    return status;
}

void ps_write_saving(struct wire_writer *w, const struct ps_saving *x)
{
    writer_varint(w, x->state);
    writer_varint(w, x->worker);
    writer_signed(w, x->epoch);
    writer_string(w, x->reason);
}

enum skiff_status ps_read_saving(const struct blob *b, struct ps_saving *out,
                                 struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_saving x = {0};
    reader_init_block(&r, b);
    x.state = read_u32_varint(&r);
    x.worker = read_u32_varint(&r);
    x.epoch = reader_signed(&r);
    reader_name(&r, x.reason, sizeof x.reason);
    fault_unless(&r, x.state <= PS_SAVE_FAILED, "an unknown state");
    enum skiff_status status = reader_end(&r, "a request or answer about saving", err);
    if (status == SKIFF_OK)
        *out = x;
    return status;
}
