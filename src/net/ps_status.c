/* Bodies that describe a running job: members, missing workers, samples trained (ps.h). `skiff
 * inspect servers` and doctor read them from servers of a job that they do not belong to, so
 * readers check every number, and a list costs no more memory than its message. No state; any
 * thread. */
#include <stdlib.h>
#include <string.h>

#include "net/ps.h"

static void fault_unless(struct wire_reader *r, bool good, const char *what)
{
    if (good || r->fault)
        return;
    r->fault = what;
    r->fault_at = r->pos;
}

static uint32_t read_number(struct wire_reader *r)
{
    uint64_t v = reader_varint(r);
    fault_unless(r, v <= UINT32_MAX, "a number of more than 32 bits");
    return (uint32_t)v;
}

/* n elements, each of at least `least` bytes on the wire. */
static void *read_list(struct wire_reader *r, size_t least, size_t each, uint32_t *out_n)
{
    size_t n = reader_count(r, least);
    void *list = n ? calloc(n, each) : NULL;
    fault_unless(r, !n || list, "no memory for a list");
    *out_n = list ? (uint32_t)n : 0;
    return list;
}

/* ---- status ---- */

static void write_member(struct wire_writer *w, const struct ps_status_member *m)
{
    writer_u8(w, m->role);
    writer_varint(w, m->index);
    writer_u8(w, m->state);
    writer_signed(w, m->silent_ms);
    writer_signed(w, m->epoch);
    writer_varint(w, m->samples);
    writer_string(w, m->name);
    writer_string(w, m->reason);
}

static void read_member(struct wire_reader *r, struct ps_status_member *m)
{
    m->role = reader_u8(r);
    m->index = read_number(r);
    m->state = reader_u8(r);
    m->silent_ms = reader_signed(r);
    m->epoch = reader_signed(r);
    m->samples = reader_varint(r);
    reader_name(r, m->name, sizeof m->name);
    reader_name(r, m->reason, sizeof m->reason);
    fault_unless(r, m->role <= 2 && m->state <= 3, "an invalid role or state");
}

void ps_write_status(struct wire_writer *w, const struct ps_status *x)
{
    writer_varint(w, x->nmembers);
    for (uint32_t i = 0; i < x->nmembers; i++)
        write_member(w, &x->members[i]);
    writer_varint(w, x->nmissing);
    for (uint32_t i = 0; i < x->nmissing; i++)
        writer_varint(w, x->missing[i]);
    writer_varint(w, x->nwaits);
    for (uint32_t i = 0; i < x->nwaits; i++) {
        writer_string(w, x->waits[i].what);
        writer_varint(w, x->waits[i].waited_ms);
        writer_varint(w, x->waits[i].first);
        writer_varint(w, x->waits[i].n);
    }
}

static void read_waits(struct wire_reader *r, struct ps_status *x)
{
    x->waits = read_list(r, 4, sizeof *x->waits, &x->nwaits);
    for (uint32_t i = 0; i < x->nwaits && !r->fault; i++) {
        struct ps_status_wait *wait = &x->waits[i];
        reader_name(r, wait->what, sizeof wait->what);
        wait->waited_ms = reader_varint(r);
        wait->first = read_number(r);
        wait->n = read_number(r);
        fault_unless(r, wait->first <= x->nmissing && wait->n <= x->nmissing - wait->first,
                     "a wait for workers that are not listed");
    }
}

enum skiff_status ps_read_status(const struct blob *b, struct ps_status *out,
                                 struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_status x = {0};
    reader_init_block(&r, b);
    x.members = read_list(&r, 8, sizeof *x.members, &x.nmembers);
    for (uint32_t i = 0; i < x.nmembers && !r.fault; i++)
        read_member(&r, &x.members[i]);
    x.missing = read_list(&r, 1, sizeof *x.missing, &x.nmissing);
    for (uint32_t i = 0; i < x.nmissing && !r.fault; i++)
        x.missing[i] = read_number(&r);
    read_waits(&r, &x);
    enum skiff_status status = reader_end(&r, "the status of a server", err);
    if (status == SKIFF_OK)
        *out = x;
    else
        ps_status_deinit(&x);
    return status;
}

void ps_status_deinit(struct ps_status *x)
{
    free(x->members);
    free(x->waits);
    free(x->missing);
    *x = (struct ps_status){0};
}

/* ---- samples trained ---- */

void ps_write_trained(struct wire_writer *w, const struct ps_trained *x)
{
    writer_varint(w, x->worker);
    writer_signed(w, x->epoch);
    writer_varint(w, x->samples);
    writer_varint(w, x->batches);
    writer_u8(w, x->done);
}

enum skiff_status ps_read_trained(const struct blob *b, struct ps_trained *out,
                                  struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_trained x = {0};
    reader_init_block(&r, b);
    x.worker = read_number(&r);
    x.epoch = reader_signed(&r);
    x.samples = reader_varint(&r);
    x.batches = reader_varint(&r);
    x.done = reader_u8(&r) != 0;
    fault_unless(&r, x.epoch >= 0 && x.epoch <= INT32_MAX, "an invalid epoch");
    enum skiff_status status = reader_end(&r, "a worker's report of samples", err);
    if (status == SKIFF_OK)
        *out = x;
    return status;
}

void ps_write_account(struct wire_writer *w, const struct ps_account *x)
{
    writer_varint(w, x->samples);
    writer_varint(w, x->batches);
    writer_varint(w, x->twice);
    writer_varint(w, x->nlost);
    writer_string(w, x->lost);
}

enum skiff_status ps_read_account(const struct blob *b, struct ps_account *out,
                                  struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_account x = {0};
    reader_init_block(&r, b);
    x.samples = reader_varint(&r);
    x.batches = reader_varint(&r);
    x.twice = reader_varint(&r);
    x.nlost = read_number(&r);
    reader_name(&r, x.lost, sizeof x.lost);
    enum skiff_status status = reader_end(&r, "the account of an epoch", err);
    if (status == SKIFF_OK)
        *out = x;
    return status;
}
