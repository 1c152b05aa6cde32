/* Bodies of what is done with tables of features (ps.h). */
#include <string.h>

#include "net/ps.h"

static void fault_unless(struct wire_reader *r, bool good, const char *what)
{
    if (good || r->fault)
        return;
    r->fault = what;
    r->fault_at = r->pos;
}

static void write_double(struct wire_writer *w, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    writer_u64(w, bits);
}

static double read_double(struct wire_reader *r)
{
    uint64_t bits = reader_u64(r);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void ps_write_table(struct wire_writer *w, const struct ps_table *t)
{
    writer_varint(w, t->call);
    writer_signed(w, t->mode);
    writer_u8(w, t->all);
    write_double(w, t->threshold);
    writer_u64(w, t->token);
    writer_string(w, t->table);
    writer_string(w, t->dir);
}

enum skiff_status ps_read_table(const struct blob *b, struct ps_table *out, struct skiff_error *err)
{
    struct wire_reader r;
    reader_init_block(&r, b);
    uint64_t call = reader_varint(&r);
    int64_t mode = reader_signed(&r);
    fault_unless(&r, call <= PS_TABLE_REVERT, "a call that no table has");
    fault_unless(&r, mode >= INT32_MIN && mode <= INT32_MAX, "a mode of more than 32 bits");
    out->call = (uint32_t)call;
    out->mode = (int32_t)mode;
    uint8_t all = reader_u8(&r);
    fault_unless(&r, all <= 1, "neither all files nor some");
    out->all = all == 1;
    out->threshold = read_double(&r);
    out->token = reader_u64(&r);
    reader_name(&r, out->table, sizeof out->table);
    reader_string(&r, out->dir, sizeof out->dir);
    return reader_end(&r, "a call for a table", err);
}

/* The numbers of a state, in the order of the wire. */
/* clang-format off */
#define STATE_NUMBERS(X) \
    X(rows) X(bytes) X(admitted) X(refused) X(expired) X(evicted) X(hits) X(misses) \
    X(disk_rows) X(disk_bytes) X(written_bytes) X(done) X(elsewhere)
/* clang-format on */

void ps_write_table_state(struct wire_writer *w, const struct ps_table_state *s)
{
#define WRITE(name) writer_varint(w, s->name);
    STATE_NUMBERS(WRITE)
#undef WRITE
    write_double(w, s->threshold);
}

enum skiff_status ps_read_table_state(const struct blob *b, struct ps_table_state *out,
                                      struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_table_state s;
    reader_init_block(&r, b);
#define READ(name) s.name = reader_varint(&r);
    STATE_NUMBERS(READ)
#undef READ
    s.threshold = read_double(&r);
    enum skiff_status status = reader_end(&r, "the state of a table", err);
    if (status == SKIFF_OK)
        *out = s;
    return status;
}

void ps_table_state_add(struct ps_table_state *sum, const struct ps_table_state *x)
{
#define ADD(name) sum->name += x->name;
    STATE_NUMBERS(ADD)
#undef ADD
    sum->threshold += x->threshold;
}
