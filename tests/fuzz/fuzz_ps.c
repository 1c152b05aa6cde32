/* Bodies of messages between trainers and servers (net/ps.h). The first byte of an input selects
 * the reader of the rest. An accepted value lies inside the body, and is the same after writing and
 * reading it again. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "net/ps.h"

static void require(int promise)
{
    if (!promise)
        abort();
}

static void touch(const struct blob *b, const uint8_t *p, size_t n)
{
    require(n == 0 || (p >= b->data && n <= b->len && p <= b->data + b->len - n));
    volatile uint8_t last = n ? p[n - 1] : 0;
    (void)last;
}

static void check_item(const struct blob *b, const struct ps_item *item)
{
    require(strlen(item->name) < PS_NAME && item->ndim >= 0 && item->ndim <= 9);
    touch(b, item->data, item->bytes);
    if (item->has_rows) {
        require(item->ndim > 0 && item->dims[0] == item->nrows);
        touch(b, item->rows, (size_t)item->nrows * 8);
    }
    uint64_t n = 1;
    for (int i = 0; i < item->ndim; i++) {
        require(item->dims[i] >= 0);
        n *= (uint64_t)item->dims[i];
    }
    require(n <= item->bytes);
}

/* The bytes of w, which is emptied, as a blob. */
static struct blob *rewritten(struct wire_writer *w)
{
    struct blob *b = NULL;
    require(writer_finish(w, &b, NULL) == SKIFF_OK);
    return b;
}

static void check_pieces(const struct blob *b, const struct ps_pieces *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        struct ps_piece piece = ps_piece_at(p, i);
        touch(b, piece.data, piece.bytes);
        if (piece.has_rows)
            touch(b, piece.rows, piece.nrows * 8);
        require(piece.has_rows || !piece.nrows);
    }
}

static void fuzz_exchange(const struct blob *b)
{
    struct ps_exchange x, again;
    struct ps_piece pieces[16];
    struct wire_writer w;
    if (ps_read_exchange(b, &x, NULL) < 0)
        return;
    check_pieces(b, &x.pieces);
    touch(b, x.want, (size_t)x.nwant * 4);
    uint32_t n = x.pieces.n < 16 ? x.pieces.n : 16;
    for (uint32_t i = 0; i < n; i++)
        pieces[i] = ps_piece_at(&x.pieces, i);
    writer_init(&w);
    ps_write_exchange(&w, &x, pieces, n);
    struct blob *copy = rewritten(&w);
    require(ps_read_exchange(copy, &again, NULL) == SKIFF_OK);
    require(again.pieces.n == n && again.nwant == x.nwant && again.step == x.step);
    for (uint32_t i = 0; i < n; i++) {
        struct ps_piece other = ps_piece_at(&again.pieces, i);
        require(other.number == pieces[i].number && other.nrows == pieces[i].nrows);
        require(other.bytes == pieces[i].bytes);
        require(!other.bytes || !memcmp(other.data, pieces[i].data, other.bytes));
    }
    require(!x.nwant || memcmp(again.want, x.want, (size_t)x.nwant * 4) == 0);
    blob_unref(copy);
}

static void fuzz_bound(const struct blob *b)
{
    struct ps_bound *list;
    uint32_t n;
    if (ps_read_bound(b, &list, &n, NULL) < 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        require(strlen(list[i].name) < PS_NAME && list[i].ndim <= 9 && list[i].shard < 4096);
    free(list);
}

static void fuzz_items(const struct blob *b)
{
    struct ps_item *items;
    uint32_t n;
    if (ps_read_items(b, &items, &n, NULL) < 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        check_item(b, &items[i]);
    free(items);
}

static void fuzz_table(const struct blob *b)
{
    struct ps_table t, again;
    struct wire_writer w;
    if (ps_read_table(b, &t, NULL) < 0)
        return;
    require(strlen(t.table) < PS_NAME && strlen(t.dir) < sizeof t.dir);
    writer_init(&w);
    ps_write_table(&w, &t);
    struct blob *copy = rewritten(&w);
    require(ps_read_table(copy, &again, NULL) == SKIFF_OK);
    require(again.call == t.call && again.mode == t.mode && again.token == t.token);
    require(!strcmp(again.table, t.table) && !strcmp(again.dir, t.dir));
    blob_unref(copy);
}

static void fuzz_status(const struct blob *b)
{
    struct ps_status x, again;
    struct wire_writer w;
    if (ps_read_status(b, &x, NULL) < 0)
        return;
    for (uint32_t i = 0; i < x.nwaits; i++)
        require(x.waits[i].first + (uint64_t)x.waits[i].n <= x.nmissing);
    writer_init(&w);
    ps_write_status(&w, &x);
    struct blob *copy = rewritten(&w);
    require(ps_read_status(copy, &again, NULL) == SKIFF_OK);
    require(again.nmembers == x.nmembers && again.nwaits == x.nwaits);
    require(again.nmissing == x.nmissing);
    blob_unref(copy);
    ps_status_deinit(&again);
    ps_status_deinit(&x);
}

static void fuzz_small(uint8_t which, const struct blob *b)
{
    struct ps_pull_rows pull;
    struct ps_item item;
    struct ps_save_table save;
    struct ps_describe describe;
    struct ps_reduce reduce;
    struct ps_message mail;
    struct ps_snapshot snapshot;
    struct ps_pull_snapshot kept;
    struct ps_begin begin;
    struct ps_begun begun;
    struct ps_saving saving;
    struct ps_applied *applied;
    struct ps_put put;
    struct ps_table_state state;
    struct ps_table_info *tables;
    struct ps_trained trained;
    struct ps_account account;
    struct ps_pieces pieces;
    uint32_t count;
    char name[PS_NAME];
    uint64_t first, second;
    switch (which) {
    case 2:
        if (ps_read_pull_rows(b, &pull, NULL) < 0)
            return;
        touch(b, pull.ids, pull.n * 8);
        return;
    case 3:
        ps_read_range(b, name, &first, &second, NULL);
        return;
    case 4:
        if (ps_read_scan(b, &item, &first, NULL) < 0)
            return;
        check_item(b, &item);
        return;
    case 5:
        ps_read_save_table(b, &save, NULL);
        return;
    case 6:
        ps_read_describe(b, &describe, NULL);
        return;
    case 7:
        if (ps_read_reduce(b, &reduce, NULL) < 0)
            return;
        touch(b, reduce.data, reduce.n * 8);
        return;
    case 8:
        if (ps_read_message(b, &mail, NULL) < 0)
            return;
        touch(b, mail.data, mail.bytes);
        return;
    case 9:
        if (ps_read_snapshot(b, &snapshot, NULL) == SKIFF_OK)
            free(snapshot.pushes);
        return;
    case 10:
        if (ps_read_pull_snapshot(b, &kept, NULL) == SKIFF_OK)
            touch(b, kept.ids, kept.n * 8);
        return;
    case 11:
        ps_read_begin(b, &begin, NULL);
        return;
    case 12:
        ps_read_begun(b, &begun, NULL);
        return;
    case 13:
        ps_read_saving(b, &saving, NULL);
        return;
    case 14:
        if (ps_read_applied(b, &applied, &count, NULL) == SKIFF_OK)
            free(applied);
        return;
    case 15:
        fuzz_table(b);
        return;
    case 16:
        ps_read_table_state(b, &state, NULL);
        return;
    case 17:
        if (ps_read_put(b, &put, NULL) == SKIFF_OK)
            check_item(b, &put.item);
        return;
    case 18:
        if (ps_read_tables(b, &tables, &count, NULL) < 0)
            return;
        for (uint32_t i = 0; i < count; i++)
            require(strlen(tables[i].table) < PS_NAME);
        free(tables);
        return;
    case 19:
        fuzz_status(b);
        return;
    case 20:
        ps_read_trained(b, &trained, NULL);
        return;
    case 21:
        ps_read_account(b, &account, NULL);
        return;
    case 22:
        if (ps_read_values(b, &pieces, NULL) == SKIFF_OK)
            check_pieces(b, &pieces);
        return;
    case 23:
        fuzz_bound(b);
        return;
    default:
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct blob *b;
    if (n < 1 || blob_copy(data + 1, n - 1, "fuzz", &b, NULL) < 0)
        return 0;
    if (data[0] == 0)
        fuzz_exchange(b);
    else if (data[0] == 1)
        fuzz_items(b);
    else
        fuzz_small(data[0], b);
    blob_unref(b);
    return 0;
}
