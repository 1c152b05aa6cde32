/* Operations on a table against a plain model of it: 48 ids, click rows with the naive rule. The
 * first byte says which kind of table and what admission; then each byte is an operation, followed
 * by what it needs: push, pull, remove, shrink, save and load, a snapshot (full or delta), one
 * piece of it. What a snapshot gives must make a copy equal to what the model was when it began. */
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "table/table.h"
#include "table/table_snapshot.h"

#define IDS 48
/* tiered: so many more ids to which always the same happens; they stand as one in the model, and
 * push the others out of memory, which has room for about half of them */
#define CROWD 900
#define LIMIT ((size_t)44 << 10)
/* or so many, with a limit that RocksDB takes its share of only when rows have been written: places
 * are given up (fit in table_tiered.c) */
#define WIDE_CROWD 3000
#define WIDE_LIMIT ((size_t)160 << 10)
#define WIDE_OPERATIONS 32 /* each takes long */
#define ALL (IDS + 1)
#define EMBEDX 2
#define PULLED (3 + EMBEDX)
#define FORGET 2
#define PIECE 7

struct row {
    bool here, embedx;
    float show, click, unseen, delta, w[1 + EMBEDX];
    int asked, idle; /* while it waits */
};

struct model {
    struct row rows[ALL];
    int least; /* asks that let an id in */
};

struct world {
    const uint8_t *data;
    size_t n;
    struct accessor accessor;
    const struct table_class *kind;
    struct table *table, *copy;
    struct model now, then; /* then: when the snapshot began */
    uint32_t done, running; /* moments of snapshots; 0: none */
    int crowd, made;
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
    if (i >= IDS)
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

static bool model_lets_in(struct model *m, struct row *r)
{
    if (r->here)
        return true;
    r->idle = 0;
    if (++r->asked < m->least)
        return false;
    *r = (struct row){.here = true};
    return true;
}

static void model_push(struct model *m, int i, unsigned how, float show, float click, float g)
{
    struct row *r = &m->rows[i];
    if (!r->here && (!(how & TABLE_MAKE) || !model_lets_in(m, r)))
        return;
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
    for (int i = 0; i < ALL; i++) {
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
    bool wanted =
        mode == 0 || mode == 3 ||
        (score(r->show, r->click) >= 0.5f && r->unseen <= 1 && r->delta >= (mode == 1 ? 0.25f : 0));
    if (wanted && (mode == 1 || mode == 2))
        r->delta = 0;
    r->unseen += mode == 3;
    return wanted;
}

/* ---- looking at a table ---- */

static void look(const struct world *w, struct table *t, int i, float *out)
{
    int64_t id = id_of(w, i);
    require(table_pull(t, (const uint8_t *)&id, 1, TABLE_LOOK, out, NULL) == SKIFF_OK);
}

static void compare(const struct world *w, struct table *t, const struct model *m, float within)
{
    size_t here = 0;
    for (int i = 0; i < IDS + w->crowd; i++) {
        const struct row *r = &m->rows[i < IDS ? i : IDS];
        float got[PULLED];
        float want[PULLED] = {r->show, r->click, r->w[0], r->w[1], r->w[2]};
        look(w, t, i, got);
        here += r->here;
        for (int k = 0; k < PULLED; k++)
            require(got[k] == (r->here ? want[k] : 0) ||
                    (r->here && fabsf(got[k] - want[k]) <= within * fabsf(want[k])));
    }
    require(table_count(t) == (w->kind->fixed ? (size_t)IDS * 11 : here));
}

static const char *temporary_path;

static void remove_temporary(void)
{
    rmdir(temporary_path);
}

/* In memory where there is such a folder: a database is made for each input. */
static const char *temporary(void)
{
    static char path[64];
    if (!path[0]) {
        snprintf(path, sizeof path, "%s/skiff_fuzz_table_XXXXXX",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
        require(mkdtemp(path) != NULL);
        atexit(remove_temporary);
        temporary_path = path;
    }
    return path;
}

static struct table *make(struct world *w, bool admits)
{
    struct table *t;
    char folder[96];
    struct table_options o = {.accessor = &w->accessor, .rows = w->kind->fixed ? IDS * 11 : 0};
    if (w->kind == &table_tiered) {
        snprintf(folder, sizeof folder, "%s/%d", temporary(), w->made++);
        o.limit.bytes = w->crowd == CROWD ? LIMIT : WIDE_LIMIT;
        o.folder = folder;
    }
    if (admits && w->now.least > 1)
        o.admission = (struct admission){ADMIT_COUNT, .count = w->now.least, .forget = FORGET};
    require(table_create(w->kind, &o, &t, NULL) == SKIFF_OK);
    return t;
}

/* ---- operations ---- */

static void push(struct world *w)
{
    int64_t ids[8];
    float rows[8][3 + 1 + EMBEDX];
    uint8_t head = next(w);
    size_t n = head % 8 + 1;
    unsigned how = head & 64 ? 0 : TABLE_MAKE;
    for (size_t i = 0; i < n; i++) {
        uint8_t which = next(w), what = next(w);
        float show = (float)(what % 4), click = (float)(what / 4 % 2),
              g = (float)(what / 8 % 9) - 4;
        ids[i] = id_of(w, which % IDS);
        float row[6] = {1, show, click, g, g, g};
        memcpy(rows[i], row, sizeof row);
        model_push(&w->now, which % IDS, how, show, click, g);
    }
    require(table_push(w->table, (const uint8_t *)ids, n, how, rows[0], NULL) == SKIFF_OK);
}

/* Everybody of the crowd, fetched ahead or not. */
static void push_crowd(struct world *w)
{
    static int64_t ids[WIDE_CROWD];
    static float rows[WIDE_CROWD][3 + 1 + EMBEDX];
    size_t n = (size_t)w->crowd;
    uint8_t what = next(w);
    float show = (float)(what % 4), click = (float)(what / 4 % 2), g = (float)(what / 8 % 9) - 4;
    for (size_t i = 0; i < n; i++) {
        float row[6] = {1, show, click, g, g, g};
        ids[i] = id_of(w, IDS + (int)i);
        memcpy(rows[i], row, sizeof row);
    }
    model_push(&w->now, IDS, TABLE_MAKE, show, click, g);
    if (what & 128)
        require(table_fetch_ahead(w->table, (const uint8_t *)ids, n, NULL) == SKIFF_OK);
    require(table_push(w->table, (const uint8_t *)ids, n, TABLE_MAKE, rows[0], NULL) == SKIFF_OK);
}

/* Hints change nothing. */
static void fetch(struct world *w)
{
    int64_t ids[16];
    for (int i = 0; i < 16; i++)
        ids[i] = id_of(w, next(w) % (IDS + w->crowd));
    require(table_fetch_ahead(w->table, (const uint8_t *)ids, 16, NULL) == SKIFF_OK);
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
    int mode = next(w) % 4;
    struct saved s = {make(w, false), 0};
    struct table_cursor at = {0};
    struct model before = w->now;
    enum skiff_status status;
    size_t want = 0;
    do
        status = table_export(w->table, mode, &at, PIECE, load_line, &s, NULL);
    while (status == SKIFF_OK);
    require(status == SKIFF_END);
    for (int i = 0; i < ALL; i++)
        if (w->now.rows[i].here)
            want += model_saves(&w->now.rows[i], mode) ? (size_t)(i < IDS ? 1 : w->crowd) : 0;
    require(w->kind->fixed || want == s.lines);
    /* rows whose score is below the threshold of embedx leave it behind */
    for (int i = 0; i < ALL; i++)
        if (score(before.rows[i].show, before.rows[i].click) < 1)
            before.rows[i].w[1] = before.rows[i].w[2] = 0;
    if (mode == 0)
        compare(w, s.to, &before, 1e-5f);
    table_destroy(s.to);
}

static void begin_snapshot(struct world *w)
{
    uint32_t since = next(w) % 2 ? w->done : 0, moment;
    const int64_t *gone = NULL;
    bool was;
    enum skiff_status status = table_snapshot_begin(w->table, since, &moment, NULL);
    require((status == SKIFF_OK) == !w->running);
    if (status < 0)
        return;
    w->running = moment;
    w->then = w->now;
    if (!since) {
        table_destroy(w->copy);
        w->copy = make(w, false);
    }
    size_t n = table_snapshot_gone(w->table, &gone);
    for (size_t i = 0; i < n; i++)
        require(table_remove(w->copy, gone[i], &was, NULL) == SKIFF_OK);
}

static bool piece(struct world *w)
{
    size_t n;
    if (!w->running)
        return false;
    char *out = mem_must(PIECE * w->table->stride);
    enum skiff_status status = table_snapshot_next(w->table, PIECE, out, &n, NULL);
    require(status >= 0 && n <= PIECE);
    for (size_t i = 0; i < n; i++)
        require(table_put(w->copy, (struct record *)(void *)(out + i * w->table->stride), NULL) ==
                SKIFF_OK);
    free(out);
    if (status == SKIFF_OK)
        return true;
    table_snapshot_end(w->table, true);
    compare(w, w->copy, &w->then, 0);
    w->done = w->running;
    w->running = 0;
    return false;
}

static void operate(struct world *w)
{
    switch (next(w) % 8) {
    case 0:
    case 1:
        push(w);
        break;
    case 2:
        take_away(w);
        break;
    case 3:
        shrink(w);
        break;
    case 4:
        save_and_load(w);
        break;
    case 5:
        begin_snapshot(w);
        break;
    case 6:
        piece(w);
        break;
    default:
        if (w->crowd && next(w) % 4)
            next(w) % 2 ? push_crowd(w) : fetch(w);
        else
            compare(w, w->table, &w->now, 0);
    }
}

static void set_up(struct world *w)
{
    struct accessor_options o = {.ctr = ctr_defaults(), .embedx = EMBEDX};
    uint8_t head = next(w);
    w->kind = head & 1 ? &table_array : head & 128 ? &table_tiered : &table_hash;
    w->crowd = w->kind != &table_tiered ? 0 : head & 64 ? WIDE_CROWD : CROWD;
    w->now.least = w->kind != &table_hash ? 1 : head / 2 % 4;
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
    w->table = make(w, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t before = mem_in_use();
    struct world *w = mem_must(sizeof *w);
    w->data = data;
    w->n = n;
    set_up(w);
    for (int i = 0; w->n && (w->crowd != WIDE_CROWD || i < WIDE_OPERATIONS); i++)
        operate(w);
    while (piece(w))
        ;
    compare(w, w->table, &w->now, 0);
    table_destroy(w->copy);
    table_destroy(w->table);
    free(w);
    require(mem_in_use() == before);
    return 0;
}
