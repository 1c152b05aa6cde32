/* Bodies of operations on sparse tables (ps.h), and the state of a table as text, for progress
 * lines, logs and inspect. The numbers of a state stand in one list (STATE_NUMBERS), from which
 * writing, reading and adding up are generated: none can be forgotten in one of them. Readers trust
 * nothing. No state; any thread. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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
    fault_unless(&r, call <= PS_TABLE_DAY, "an unknown call");
    fault_unless(&r, mode >= INT32_MIN && mode <= INT32_MAX, "a mode of more than 32 bits");
    out->call = (uint32_t)call;
    out->mode = (int32_t)mode;
    uint8_t all = reader_u8(&r);
    fault_unless(&r, all <= 1, "an invalid flag for all files");
    out->all = all == 1;
    out->threshold = read_double(&r);
    out->token = reader_u64(&r);
    reader_name(&r, out->table, sizeof out->table);
    reader_string(&r, out->dir, sizeof out->dir);
    return reader_end(&r, "a call for a table", err);
}

/* The numbers of a state, in their order on the wire. */
/* clang-format off */
#define STATE_NUMBERS(X) \
    X(rows) X(bytes) X(admitted) X(refused) X(expired) X(evicted) X(hits) X(misses) \
    X(disk_rows) X(disk_bytes) X(written_bytes) X(done) X(shards) X(elsewhere) \
    X(limit) X(waiting) X(fetched) X(written_rows)
/* clang-format on */

void ps_write_table_state(struct wire_writer *w, const struct ps_table_state *s)
{
#define WRITE(name) writer_varint(w, s->name);
    STATE_NUMBERS(WRITE)
#undef WRITE
    write_double(w, s->threshold);
}

static void read_state(struct wire_reader *r, struct ps_table_state *s)
{
#define READ(name) s->name = reader_varint(r);
    STATE_NUMBERS(READ)
#undef READ
    s->threshold = read_double(r);
}

enum skiff_status ps_read_table_state(const struct blob *b, struct ps_table_state *out,
                                      struct skiff_error *err)
{
    struct wire_reader r;
    struct ps_table_state s;
    reader_init_block(&r, b);
    read_state(&r, &s);
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

/* ---- as text ---- */

const char *ps_bytes_text(uint64_t n, char out[static 32])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double v = (double)n;
    int u = 0;
    for (; v >= 1000 && u < 4; u++)
        v /= 1000;
    snprintf(out, 32, u ? "%.3g %s" : "%.0f %s", v, units[u]);
    return out;
}

/* Hits: rows that were in memory when they were requested; tables without a disk have only hits. */
static void disk_text(const struct ps_table_state *s, bool brief, struct buf *out)
{
    uint64_t asked = s->hits + s->misses;
    char text[32];
    buf_printf(out, ", hit rate %.4g %%", asked ? 100.0 * (double)s->hits / (double)asked : 100);
    if (!asked && !s->disk_rows && !s->written_rows)
        return;
    if (brief) {
        buf_printf(out, ", %" PRIu64 " on disk", s->disk_rows);
        return;
    }
    buf_printf(out, ", %" PRIu64 " prefetched, %" PRIu64 " rows on disk in %s", s->fetched,
               s->disk_rows, ps_bytes_text(s->disk_bytes, text));
    if (s->written_rows)
        buf_printf(out, ", %.0f bytes written for a row",
                   (double)s->written_bytes / (double)s->written_rows);
}

void ps_table_state_text(const struct ps_table_state *s, bool brief, struct buf *out)
{
    char text[32];
    buf_printf(out, "%" PRIu64 " rows, %s", s->rows, ps_bytes_text(s->bytes, text));
    if (s->limit)
        buf_printf(out, " of %s", ps_bytes_text(s->limit, text));
    if (s->waiting)
        buf_printf(out, ", %" PRIu64 " waiting", s->waiting);
    buf_printf(out, ", %" PRIu64 " admitted, %" PRIu64 " refused, %" PRIu64 " expired", s->admitted,
               s->refused, s->expired);
    if (s->evicted || (s->limit && !brief))
        buf_printf(out, ", %" PRIu64 " dropped for memory", s->evicted);
    disk_text(s, brief, out);
}

/* ---- all tables of a server ---- */

#define TABLE_LEAST 28 /* least size of one in a body: a name, a flag, numbers */

void ps_write_tables(struct wire_writer *w, const struct ps_table_info *tables, uint32_t n)
{
    writer_varint(w, n);
    for (uint32_t i = 0; i < n; i++) {
        writer_string(w, tables[i].table);
        writer_u8(w, tables[i].sparse_table);
        ps_write_table_state(w, &tables[i].state);
    }
}

enum skiff_status ps_read_tables(const struct blob *b, struct ps_table_info **out, uint32_t *out_n,
                                 struct skiff_error *err)
{
    struct wire_reader r;
    reader_init_block(&r, b);
    uint64_t n = reader_varint(&r);
    fault_unless(&r, n <= blob_len(b) / TABLE_LEAST, "more tables than there are bytes for");
    n = r.fault ? 0 : n;
    struct ps_table_info *tables = mem_alloc_or_die((size_t)(n + 1) * sizeof *tables);
    for (uint64_t i = 0; i < n && !r.fault; i++) {
        reader_name(&r, tables[i].table, sizeof tables[i].table);
        uint8_t sparse_table = reader_u8(&r);
        fault_unless(&r, sparse_table <= 1, "an unknown kind of table");
        tables[i].sparse_table = sparse_table == 1;
        read_state(&r, &tables[i].state);
    }
    enum skiff_status status = reader_end(&r, "the tables of a server", err);
    if (status < 0) {
        free(tables);
        return status;
    }
    *out = tables;
    *out_n = (uint32_t)n;
    return SKIFF_OK;
}
