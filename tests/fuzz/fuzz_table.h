/* Operations on a table against a plain model of it: 48 ids, click rows with the naive rule. For
 * fuzz_table.c (tables in memory) and fuzz_tiered.c (on disk, where a run takes a hundred times as
 * long). The first byte says which kind of table, and what admission or limit; then each byte is an
 * operation, followed by what it needs: push, set, remove, shrink, save and load, wait, a snapshot
 * (full, delta or by id), one piece of it. What a snapshot gives must make a copy equal to what the
 * model was when it began. Who leaves at a limit is the table's affair: the model looks, and
 * counts. */
#ifndef FUZZ_TABLE_H
#define FUZZ_TABLE_H

#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz_folder.h"
#include "table/table.h"
#include "table/table_snapshot.h"

#define IDS 48
/* tiered: this many more ids that are always treated alike. The model holds them as one; they push
 * the others out of memory, which holds about half of them */
#define CROWD 900
#define LIMIT ((size_t)44 << 10)
/* or so many, with a limit that RocksDB takes its share of only when rows have been written: places
 * are given up (fit in table_tiered.c) */
#define WIDE_CROWD 3000
#define WIDE_LIMIT ((size_t)160 << 10)
/* in a run: each takes long with a crowd */
#define OPERATIONS 256
#define TIERED_OPERATIONS 48
#define WIDE_OPERATIONS 24
#define SOME 31 /* of the crowd one in so many is compared after an operation, all at the end */
/* hash with a limit: this many ids, of which about half fit */
#define MANY 1024
#define HASH_LIMIT ((size_t)40 << 10)
#define STRUCTS 512 /* bytes that the limit does not count */
#define BLOCK 64    /* of them in a push: those who leave do so before it */
#define EMBEDX 2
#define PULLED (3 + EMBEDX)
#define PUSHED (3 + 1 + EMBEDX)
#define FORGET 2
#define PIECE 7

struct row {
    bool here, embedx, pushed;
    float show, click, unseen, delta, w[1 + EMBEDX];
    int asked, idle; /* while it waits */
};

struct model {
    struct row rows[MANY + 1]; /* the last one that is used: the crowd's */
    int least;                 /* asks that let an id in */
};

struct world {
    const uint8_t *data;
    size_t n;
    struct accessor accessor;
    const struct table_class *kind;
    struct table *table, *copy;
    struct model now, then; /* then: when the snapshot began */
    uint32_t done, running; /* moments of snapshots; 0: none */
    bool by_id;             /* the running one; and where it is, of records and of those who wait */
    uint64_t at, waiting_at;
    bool listed, met[MANY];
    int ids, crowd, made;
    bool limited; /* hash with a limit */
    bool deltas;
};

static void require(bool promise)
{
    if (!promise)
        abort();
}

static uint8_t next(struct world *w)
{
    if (!w->n)
        return 0;
    w->n--;
    return *w->data++;
}

/* Far apart and next to each other. */
static int64_t id_of(const struct world *w, int i)
{
    if (w->kind->fixed)
        return i * 11;
    if (i >= IDS) /* of a limited table or the crowd */
        return 1000000 + i;
    if (i >= IDS - 2) /* -1, and the last of all in the order of walks, as 0 is the first */
        return i == IDS - 1 ? -1 : INT64_C(0x71ea5f50a8983211);
    return i % 3 ? i : (int64_t)((uint64_t)i * UINT64_C(0x4000000000000001));
}

/* ---- the model ---- */

static float score(float show, float click)
{
    return (show - click) * 0.25f + click;
}

static bool model_lets_in(const struct model *m, struct row *r, unsigned how)
{
    if (r->here)
        return true;
    if (!(how & TABLE_MAKE))
        return false;
    r->idle = 0;
    if (++r->asked < m->least && !(how & TABLE_SKIP_ADMISSION))
        return false;
    *r = (struct row){.here = true};
    return true;
}

static void model_push(const struct model *m, struct row *r, unsigned how, const float *row)
{
    float show = row[1], click = row[2], g = row[3];
    if (!model_lets_in(m, r, how))
        return;
    r->pushed = true;
    r->show += show;
    r->click += click;
    r->delta += score(show, click);
    r->unseen = 0;
    r->w[0] -= 0.5f * g;
    for (int k = 1; k <= EMBEDX && r->embedx; k++)
        r->w[k] -= 0.5f * g;
    if (score(r->show, r->click) >= 1)
        r->embedx = true;
}

static void model_shrink(struct model *m, bool fixed)
{
    for (int i = 0; i <= MANY; i++) {
        struct row *r = &m->rows[i];
        if (!r->here) {
            if (r->asked && ++r->idle > FORGET)
                r->asked = 0;
            continue;
        }
        r->show *= 0.5f;
        r->click *= 0.5f;
        if (!fixed && (score(r->show, r->click) < 0.2f || r->unseen > 1))
            *r = (struct row){0};
    }
}

static bool model_saves(struct row *r, int mode)
{
    bool changes = mode == 1 || mode == 2;
    bool wanted = mode == 5 ? r->pushed
                            : !changes || (score(r->show, r->click) >= 0.5f && r->unseen <= 1 &&
                                           r->delta >= (mode == 1 ? 0.25f : 0));
    if (wanted && changes)
        r->delta = 0;
    r->pushed &= mode != 5;
    r->unseen += mode == 3;
    return wanted;
}

/* ---- looking at a table ---- */

static void note_record(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    *(const struct table_row **)self = row_list[0];
}

static const struct table_row *look(const struct world *w, struct table *t, int i)
{
    int64_t id = id_of(w, i);
    const struct table_row *r;
    require(table_each(t, (const uint8_t *)&id, 1, TABLE_LOOK, t->stride, note_record, &r, NULL) ==
            SKIFF_OK);
    return r;
}

/* All of it. */
static bool is_row(const struct world *w, const struct table_row *x, const struct row *r)
{
    const struct accessor *a = &w->accessor;
    if (!x || !r->here)
        return !x && !r->here;
    return x->values[a->show] == r->show && x->values[a->click] == r->click &&
           x->values[a->unseen] == r->unseen && x->values[a->delta] == r->delta &&
           !memcmp(&x->values[a->embed_w], r->w, sizeof r->w) &&
           x->stamp == (r->embedx | (unsigned)r->pushed << 1);
}

/* What is shown, in one of two ways. */
static void compare_shown(const struct world *w, struct table *t, int i, const struct row *r,
                          float within)
{
    int64_t id = id_of(w, i);
    const uint8_t *bytes = (const uint8_t *)&id;
    float got[PULLED], want[PULLED] = {r->show, r->click, r->w[0], r->w[1], r->w[2]};
    require((i % 2 ? table_pull(t, bytes, 1, TABLE_LOOK, got, NULL)
                   : table_gather(t, bytes, 1, TABLE_LOOK, 0, PULLED, got, NULL)) == SKIFF_OK);
    for (int k = 0; k < PULLED; k++)
        require(got[k] == (r->here ? want[k] : 0) ||
                (r->here && fabsf(got[k] - want[k]) <= within * fabsf(want[k])));
}

static void compare_counts(const struct world *w, struct table *t, size_t here)
{
    struct table_stats s;
    table_stats(t, &s);
    require(s.rows == (w->kind->fixed ? (size_t)IDS * 11 : here));
    require(w->kind->fixed ||
            s.counts.admitted == s.rows + s.counts.expired + s.counts.removed + s.counts.evicted);
    if (w->limited && t == w->table)
        require(s.bytes <= HASH_LIMIT + STRUCTS + table_snapshot_bytes(t));
}

/* within: of rows that come from text; 0: to the bit, with all that is not shown. */
static void compare_every(const struct world *w, struct table *t, const struct model *m,
                          float within, int every)
{
    size_t here = 0;
    for (int i = 0; i < w->ids + w->crowd; i++) {
        const struct row *r = &m->rows[i < w->ids ? i : w->ids];
        here += r->here;
        if (i >= w->ids && i % every)
            continue;
        compare_shown(w, t, i, r, within);
        require(within > 0 || is_row(w, look(w, t, i), r));
    }
    compare_counts(w, t, here);
}

static void compare(const struct world *w, struct table *t, const struct model *m, float within)
{
    compare_every(w, t, m, within, SOME);
}

/* The table, or a copy: everybody comes in there, and a hash has no limit. */
static struct table *make(struct world *w, bool copy)
{
    struct table *t;
    char folder[96];
    struct table_options o = {
        .accessor = &w->accessor, .rows = w->kind->fixed ? IDS * 11 : 0, .deltas = w->deltas};
    if (w->kind == &table_tiered) {
        snprintf(folder, sizeof folder, "%s/%d", fuzz_folder(), w->made++);
        o.limit.bytes = w->crowd == CROWD ? LIMIT : WIDE_LIMIT;
        o.folder = folder;
    }
    if (w->limited && !copy)
        o.limit = (struct table_limit){HASH_LIMIT, w->made % 2 ? TABLE_OLDEST : TABLE_LOWEST};
    if (!copy && w->now.least > 1)
        o.admission = (struct admission){ADMISSION_COUNT, .count = w->now.least, .forget = FORGET};
    require(table_create(w->kind, &o, &t, NULL) == SKIFF_OK);
    return t;
}

/* ---- operations ---- */

static unsigned how_of(uint8_t head)
{
    return (head & 64 ? 0 : TABLE_MAKE) | (head & 128 ? TABLE_SKIP_ADMISSION : 0);
}

static void read_row(uint8_t what, float row[PUSHED])
{
    float g = (float)(what / 8 % 9) - 4;
    memcpy(row, (float[PUSHED]){1, (float)(what % 4), (float)(what / 4 % 2), g, g, g},
           PUSHED * sizeof *row);
}

static void push(struct world *w)
{
    int64_t ids[8];
    float rows[8][PUSHED];
    uint8_t head = next(w);
    size_t n = head % 8 + 1;
    unsigned how = w->limited ? 0 : how_of(head);
    for (size_t i = 0; i < n; i++) {
        uint8_t which = next(w);
        read_row(next(w), rows[i]);
        ids[i] = id_of(w, which % IDS);
        model_push(&w->now, &w->now.rows[which % IDS], how, rows[i]);
    }
    require(table_push(w->table, (const uint8_t *)ids, n, how, rows[0], NULL) == SKIFF_OK);
}

/* Who has left? Of those in first .. first + BLOCK, who have been pushed to, some may have left and
 * come back, as new ones. */
static uint64_t finish_leaving(struct world *w, int first, const float *row)
{
    uint64_t left = 0;
    for (int i = 0; i < MANY; i++) {
        bool in = i >= first && i < first + BLOCK;
        struct row *r = &w->now.rows[i], old = *r, fresh = {0};
        const struct table_row *x = look(w, w->table, i);
        if (in)
            model_push(&w->now, r, TABLE_MAKE, row);
        if (is_row(w, x, r))
            continue;
        require(old.here);
        left++;
        if (in)
            model_push(&w->now, &fresh, TABLE_MAKE, row);
        require(is_row(w, x, &fresh));
        *r = fresh;
    }
    return left;
}

/* A block of new ids, perhaps, where others must leave. */
static void push_block(struct world *w, int first, const float *row)
{
    int64_t ids[BLOCK];
    float rows[BLOCK][PUSHED];
    uint64_t before = w->table->counts.evicted;
    for (int i = 0; i < BLOCK; i++) {
        memcpy(rows[i], row, sizeof *rows);
        ids[i] = id_of(w, first + i);
    }
    require(table_push(w->table, (const uint8_t *)ids, BLOCK, TABLE_MAKE, rows[0], NULL) ==
            SKIFF_OK);
    uint64_t left = finish_leaving(w, first, row), counted = w->table->counts.evicted - before;
    /* a row that was as a new one is may have left without a trace */
    require(left <= counted && counted <= left + BLOCK);
}

static void push_blocks(struct world *w)
{
    float row[PUSHED];
    uint8_t head = next(w), first = next(w);
    read_row(next(w), row);
    for (int i = 0; i <= head % 8; i++)
        push_block(w, (first + i) % (MANY / BLOCK) * BLOCK, row);
}

/* All ids of the crowd, prefetched or not. */
static void push_crowd(struct world *w)
{
    static int64_t ids[WIDE_CROWD];
    static float rows[WIDE_CROWD][PUSHED];
    size_t n = (size_t)w->crowd;
    uint8_t what = next(w);
    unsigned how = TABLE_MAKE | TABLE_SKIP_ADMISSION; /* so many could not wait */
    for (size_t i = 0; i < n; i++) {
        read_row(what, rows[i]);
        ids[i] = id_of(w, IDS + (int)i);
    }
    if (!n)
        return;
    model_push(&w->now, &w->now.rows[IDS], how, rows[0]);
    if (what & 128)
        require(table_fetch_prefetch(w->table, (const uint8_t *)ids, n, NULL) == SKIFF_OK);
    require(table_push(w->table, (const uint8_t *)ids, n, how, rows[0], NULL) == SKIFF_OK);
}

/* Weights of a few. */
static void set(struct world *w)
{
    int64_t ids[4];
    float values[4];
    uint8_t head = next(w);
    unsigned how = w->limited ? 0 : how_of(head);
    for (int i = 0; i < 4; i++) {
        struct row *r = &w->now.rows[next(w) % IDS];
        ids[i] = id_of(w, (int)(r - w->now.rows));
        values[i] = (float)(head % 64) + (float)i;
        if (model_lets_in(&w->now, r, how))
            r->w[0] = values[i];
    }
    require(table_scatter(w->table, (const uint8_t *)ids, 4, how, w->accessor.embed_w, 1, values,
                          NULL) == SKIFF_OK);
}

/* As a load brings them. */
static void wait(struct world *w)
{
    int i = next(w) % IDS;
    uint8_t counts = next(w);
    struct row *r = &w->now.rows[i];
    struct waiting_id x = {id_of(w, i), counts % 3 + 1u, counts / 4 % (FORGET + 1u)};
    require(table_put_waiting(w->table, &x, NULL) == SKIFF_OK);
    if (!r->here && w->table->waiting) {
        r->asked = (int)x.asked;
        r->idle = (int)x.unseen;
    }
}

/* Hints change nothing. */
static void fetch(struct world *w)
{
    int64_t ids[16];
    for (int i = 0; i < 16; i++)
        ids[i] = id_of(w, next(w) % (w->ids + w->crowd));
    require(table_fetch_prefetch(w->table, (const uint8_t *)ids, 16, NULL) == SKIFF_OK);
}

static void take_away(struct world *w)
{
    int i = next(w) % IDS;
    bool was;
    enum skiff_status status = table_remove(w->table, id_of(w, i), &was, NULL);
    if (w->kind->fixed) {
        require(status == SKIFF_UNSUPPORTED);
        return;
    }
    require(status == SKIFF_OK && was == w->now.rows[i].here);
    if (was)
        w->now.rows[i] = (struct row){0};
}

static void shrink(struct world *w)
{
    struct table_cursor at = {0};
    enum skiff_status status;
    do
        status = table_shrink(w->table, &at, PIECE, NULL);
    while (status == SKIFF_OK);
    require(status == SKIFF_END);
    model_shrink(&w->now, w->kind->fixed);
}

struct saved {
    struct table *to;
    size_t lines;
};

static enum skiff_status load_line(void *self, int64_t id, const char *line, size_t n,
                                   struct skiff_error *err)
{
    struct saved *s = self;
    s->lines++;
    return table_import(s->to, line, n, err);
}

/* In Paddle's text: six digits. */
static void save_and_load(struct world *w)
{
    int mode = next(w) % 6;
    struct saved s = {make(w, true), 0};
    struct table_cursor at = {0};
    struct model before = w->now;
    enum skiff_status status;
    size_t want = 0;
    do
        status = table_export(w->table, mode, &at, PIECE, load_line, &s, NULL);
    while (status == SKIFF_OK);
    require(status == SKIFF_END);
    for (int i = 0; i <= w->ids; i++)
        if (w->now.rows[i].here)
            want += model_saves(&w->now.rows[i], mode) ? (size_t)(i < w->ids ? 1 : w->crowd) : 0;
    require(w->kind->fixed || want == s.lines);
    /* rows whose score is below the threshold of embedx leave it behind */
    for (int i = 0; i <= w->ids; i++)
        if (score(before.rows[i].show, before.rows[i].click) < 1)
            before.rows[i].w[1] = before.rows[i].w[2] = 0;
    if (mode == 0 || mode == 4)
        compare(w, s.to, &before, 1e-5f);
    table_destroy(s.to);
}

/* ---- snapshots ---- */

static void begin_snapshot(struct world *w)
{
    uint8_t head = next(w);
    uint32_t since = head % 2 && w->deltas ? w->done : 0, version;
    const int64_t *gone = NULL;
    bool was;
    enum skiff_status status = table_snapshot_begin(w->table, since, &version, NULL);
    /* a table with a limit may have given up its notes of who has gone */
    require(status == SKIFF_OK ? !w->running : w->running || (w->limited && since));
    if (status < 0)
        return;
    w->running = version;
    w->then = w->now;
    w->by_id = !since && head & 2;
    if (w->by_id)
        require(table_snapshot_by_id(w->table, NULL) == SKIFF_OK);
    w->at = w->waiting_at = 0;
    w->listed = false;
    memset(w->met, 0, sizeof w->met);
    if (!since) {
        table_destroy(w->copy);
        w->copy = make(w, true);
    }
    size_t n = table_snapshot_gone(w->table, &gone);
    for (size_t i = 0; i < n; i++)
        require(table_remove(w->copy, gone[i], &was, NULL) == SKIFF_OK);
}

static void take_piece(struct world *w, const char *row_list, size_t n)
{
    require(n <= PIECE);
    for (size_t i = 0; i < n; i++)
        require(table_put(w->copy, (const void *)(row_list + i * w->table->stride), NULL) ==
                SKIFF_OK);
}

static void end_snapshot(struct world *w, bool complete)
{
    table_snapshot_end(w->table, complete);
    if (complete)
        compare(w, w->copy, &w->then, 0);
    w->done = complete ? w->running : 0;
    w->running = 0;
}

static bool next_piece(struct world *w, char *capacity)
{
    size_t n;
    enum skiff_status status = table_snapshot_next(w->table, PIECE, capacity, &n, NULL);
    if (status == SKIFF_STATE && w->limited) {
        end_snapshot(w, false);
        return false;
    }
    require(status >= 0);
    take_piece(w, capacity, n);
    if (status == SKIFF_END)
        end_snapshot(w, true);
    return status == SKIFF_OK;
}

static void meet(struct world *w, const struct waiting_id *x)
{
    int i = 0;
    while (i < w->ids && id_of(w, i) != x->id)
        i++;
    require(i < w->ids);
    const struct row *r = &w->then.rows[i];
    require(!r->here && r->asked == (int)x->asked && r->idle == (int)x->unseen);
    w->met[i] = true;
}

/* Whatever has happened since, each can still be asked for. */
static void end_by_id(struct world *w)
{
    for (int i = 0; i < w->ids + w->crowd; i++) {
        const struct row *r = &w->then.rows[i < w->ids ? i : w->ids];
        const struct table_row *now = look(w, w->table, i);
        require(is_row(w, table_snapshot_was(w->table, id_of(w, i), now), r));
        require(i >= w->ids || w->met[i] == (!r->here && r->asked && w->table->waiting));
    }
    require(!table_snapshot_lost(w->table));
    end_snapshot(w, true);
}

static bool list_piece(struct world *w, char *capacity)
{
    struct waiting_id waiting[PIECE];
    size_t n;
    enum skiff_status status =
        w->listed ? table_snapshot_waiting(w->table, &w->waiting_at, PIECE, waiting, &n, NULL)
                  : table_snapshot_list(w->table, &w->at, PIECE, capacity, &n, NULL);
    require(status >= 0 && n <= PIECE);
    if (!w->listed)
        take_piece(w, capacity, n);
    for (size_t i = 0; w->listed && i < n; i++)
        meet(w, &waiting[i]);
    if (status == SKIFF_END && w->listed) {
        end_by_id(w);
        return false;
    }
    w->listed |= status == SKIFF_END;
    return true;
}

static bool piece(struct world *w)
{
    if (!w->running)
        return false;
    char *capacity = mem_alloc_or_die(PIECE * w->table->stride);
    bool more = w->by_id ? list_piece(w, capacity) : next_piece(w, capacity);
    free(capacity);
    return more;
}

static void operate(struct world *w)
{
    static void (*const operations[])(struct world * w) = {
        push, push, take_away, shrink, save_and_load, begin_snapshot, set, wait, fetch,
    };
    size_t n = sizeof operations / sizeof *operations, which = next(w) % (n + 3);
    if (which < n)
        operations[which](w);
    else if (which == n)
        piece(w);
    else if (which == n + 1)
        (w->limited ? push_blocks : push_crowd)(w);
    else
        compare(w, w->table, &w->now, 0);
}

static void set_up(struct world *w, bool tiered)
{
    struct accessor_options o = {.ctr = ctr_defaults(), .embedx = EMBEDX};
    uint8_t head = next(w);
    w->kind = tiered ? &table_tiered : head & 1 ? &table_array : &table_hash;
    w->crowd = w->kind != &table_tiered ? 0 : head & 64 ? WIDE_CROWD : CROWD;
    w->limited = w->kind == &table_hash && head & 8;
    w->ids = w->limited ? MANY : IDS;
    w->deltas = !(head & 32);
    w->made = head & 16 ? 1 : 0; /* which policy */
    bool admits = (w->kind == &table_hash && !w->limited) || w->crowd == WIDE_CROWD;
    w->now.least = admits ? head / 2 % 4 : 1;
    o.ctr.nonclk_coeff = 0.25f;
    o.ctr.base_threshold = 0.5f;
    o.ctr.delta_threshold = 0.25f;
    o.ctr.delta_keep_days = 1;
    o.ctr.show_click_decay_rate = 0.5f;
    o.ctr.delete_threshold = 0.2f;
    o.ctr.delete_after_unseen_days = 1;
    o.ctr.embedx_threshold = 1;
    o.embed_rule = o.embedx_rule = &sgd_rule_naive;
    o.embed = sgd_rule_defaults(&sgd_rule_naive);
    o.embed.rate = 0.5f;
    o.embed.initial_range = 0;
    o.embedx_params = o.embed;
    require(accessor_init(&w->accessor, &accessor_ctr_common, &o, NULL) == SKIFF_OK);
    for (int i = 0; i < IDS; i++)
        w->now.rows[i].here = w->kind->fixed;
    w->table = make(w, false);
}

static int run_table(const uint8_t *data, size_t n, bool tiered)
{
    size_t before = mem_in_use();
    struct world *w = mem_alloc_or_die(sizeof *w);
    w->data = data;
    w->n = n;
    set_up(w, tiered);
    int most = !tiered ? OPERATIONS : w->crowd == CROWD ? TIERED_OPERATIONS : WIDE_OPERATIONS;
    for (int i = 0; w->n && i < most; i++)
        operate(w);
    while (piece(w))
        ;
    compare_every(w, w->table, &w->now, 0, 1);
    table_destroy(w->copy);
    table_destroy(w->table);
    free(w);
    require(mem_in_use() == before);
    return 0;
}

#endif
