/* Admission of ids, with one small record for each id that waits. These records lie in pages with
 * an index, like rows. When their bytes reach the limit, the least requested of LOOKED_AT
 * neighbours is forgotten, so that a new id costs the same however many wait.
 *
 * A snapshot is copy-on-write: a waiting id has the version in which it last changed or was copied;
 * before its first change in a newer one the old record is copied to `kept`. Versions have 16 bits;
 * when they wrap around, all records are reset. Threads: those of the table that owns it. */
#include "table/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "table/id_index.h"

#define FORGET_DEFAULT 30
#define LEAST_WAITING 64 /* the least number that a limit must hold */
#define LOOKED_AT 16

/* ---- Paddle's texts ---- */

static bool starts(const char **text, const char *with)
{
    size_t n = strlen(with);
    if (strncmp(*text, with, n))
        return false;
    *text += n;
    return true;
}

static enum skiff_status parse_names(const char *text, struct admission *out,
                                     struct skiff_error *err)
{
    const char *colon = strchr(text, ':');
    if (!colon || colon == text || !colon[1] || (size_t)(colon - text) >= sizeof out->show ||
        strlen(colon + 1) >= sizeof out->click)
        return error_set(err, SKIFF_FORMAT,
                         "show_click_entry:%s: expected the names of two variables, "
                         "show_click_entry:SHOW:CLICK",
                         text);
    snprintf(out->show, sizeof out->show, "%.*s", (int)(colon - text), text);
    snprintf(out->click, sizeof out->click, "%s", colon + 1);
    return SKIFF_OK;
}

enum skiff_status admission_parse(const char *text, struct admission *out, struct skiff_error *err)
{
    const char *rest = text;
    char *stop;
    *out = (struct admission){.kind = ADMISSION_ALL};
    if (!*text || !strcmp(text, "none"))
        return SKIFF_OK;
    if (starts(&rest, "show_click_entry:")) {
        out->kind = ADMISSION_SHOW_CLICK;
        return parse_names(rest, out, err);
    }
    if (starts(&rest, "count_filter_entry:")) {
        out->kind = ADMISSION_COUNT;
        out->count = strtoll(rest, &stop, 10);
        if (stop != rest && !*stop && out->count >= 0)
            return SKIFF_OK;
        return error_set(err, SKIFF_FORMAT, "%s: expected a count of 0 or more", text);
    }
    if (starts(&rest, "probability_entry:")) {
        out->kind = ADMISSION_PROBABILITY;
        out->probability = strtod(rest, &stop);
        if (stop != rest && !*stop && out->probability > 0 && out->probability < 1)
            return SKIFF_OK;
        return error_set(err, SKIFF_FORMAT, "%s: expected a probability between 0 and 1", text);
    }
    return error_set(err, SKIFF_FORMAT,
                     "entry \"%s\" is unknown; known are count_filter_entry:N, "
                     "probability_entry:P and show_click_entry:SHOW:CLICK",
                     text);
}

/* ---- waiting ids ---- */

struct waiter {
    int64_t id;
    uint32_t asked;   /* 0: the slot is free */
    uint16_t unseen;  /* shrinks since then */
    uint16_t version; /* version of the last copy, or of its creation */
};

struct waiting_snapshot {
    struct pages kept; /* old records of ids that have changed */
    uint32_t top;      /* slots at the beginning */
    bool lost;         /* a copy failed for lack of memory */
};

struct waiting {
    struct admission admission;
    uint64_t seed;
    struct pages waiters;
    struct id_index index;
    size_t most;   /* bytes */
    uint32_t hand; /* where the next search for an id to forget begins */
    uint16_t version;
    struct waiting_snapshot *snapshot; /* borrowed; NULL: none is being read */
};

static size_t growth(const struct waiting *w, size_t n)
{
    return pages_growth(&w->waiters, n) + id_index_growth(&w->index, n);
}

static bool has_space(const struct waiting *w, size_t n)
{
    return w->most == SIZE_MAX || waiting_bytes(w) + growth(w, n) <= w->most;
}

enum skiff_status waiting_create(const struct admission *a, uint64_t seed, size_t most,
                                 struct waiting **out, struct skiff_error *err)
{
    struct waiting *w = mem_alloc_or_die(sizeof *w);
    w->admission = *a;
    w->seed = seed;
    if (!w->admission.forget)
        w->admission.forget = FORGET_DEFAULT;
    if (w->admission.forget >= UINT16_MAX)
        w->admission.forget = UINT16_MAX - 1;
    pages_init(&w->waiters, sizeof(struct waiter), false, "ids that wait for admission");
    enum skiff_status status = id_index_init(&w->index, &w->waiters, err);
    w->most = most;
    if (status == SKIFF_OK && !has_space(w, LEAST_WAITING)) {
        status =
            error_set(err, SKIFF_INVALID,
                      "the table's limit leaves %zu bytes for ids that wait; %zu are needed at "
                      "least",
                      most, waiting_bytes(w) + growth(w, LEAST_WAITING));
        id_index_deinit(&w->index);
    }
    if (status < 0)
        free(w);
    else
        *out = w;
    return status;
}

void waiting_destroy(struct waiting *w)
{
    if (!w)
        return;
    id_index_deinit(&w->index);
    pages_deinit(&w->waiters);
    free(w);
}

/* Copies the record, which is about to change, for the snapshot. */
static void keep(struct waiting *w, struct waiter *x)
{
    struct waiting_snapshot *s = w->snapshot;
    uint32_t slot;
    if (!s || x->version == w->version || !x->asked)
        return;
    x->version = w->version;
    if (pages_take(&s->kept, &slot, NULL) < 0)
        s->lost = true;
    else
        memcpy(pages_at(&s->kept, slot), x, sizeof *x);
}

/* Forgets the least requested of a few neighbours. */
static void make_space(struct waiting *w)
{
    const struct waiter *least = NULL;
    for (int i = 0; i < LOOKED_AT; i++, w->hand++) {
        const struct waiter *x = pages_at(&w->waiters, w->hand % w->waiters.top);
        if (x->asked && (!least || x->asked < least->asked))
            least = x;
    }
    if (least)
        waiting_forget(w, least->id);
}

static enum skiff_status enter(struct waiting *w, int64_t id, uint32_t *out,
                               struct skiff_error *err)
{
    if (!w->waiters.nfree && !has_space(w, 1))
        make_space(w);
    TRY(pages_take(&w->waiters, out, err));
    struct waiter *x = pages_at(&w->waiters, *out);
    *x = (struct waiter){.id = id, .version = w->version};
    enum skiff_status status = id_index_add(&w->index, id, *out, err);
    if (status < 0)
        pages_give_back(&w->waiters, *out);
    return status;
}

static bool lets_in(const struct waiting *w, const struct waiter *x)
{
    uint32_t words[4];
    if (w->admission.kind == ADMISSION_COUNT)
        return x->asked >= w->admission.count;
    philox(w->seed, (uint64_t)x->id, x->asked, words);
    return words[0] * 0x1p-32 >= w->admission.probability;
}

enum skiff_status waiting_ask(struct waiting *w, int64_t id, uint32_t times, bool *out,
                              struct skiff_error *err)
{
    uint32_t slot = id_index_find(&w->index, id);
    *out = w->admission.kind == ADMISSION_COUNT && w->admission.count <= 1;
    if (*out)
        return SKIFF_OK;
    if (slot == PAGES_NONE)
        TRY(enter(w, id, &slot, err));
    struct waiter *x = pages_at(&w->waiters, slot);
    keep(w, x);
    times = w->admission.kind == ADMISSION_COUNT ? times : 1;
    x->asked += times < UINT32_MAX - x->asked ? times : UINT32_MAX - x->asked;
    x->unseen = 0;
    *out = lets_in(w, x);
    if (*out)
        waiting_forget(w, id);
    return SKIFF_OK;
}

void waiting_forget(struct waiting *w, int64_t id)
{
    uint32_t slot = id_index_remove(&w->index, id);
    if (slot == PAGES_NONE)
        return;
    struct waiter *x = pages_at(&w->waiters, slot);
    keep(w, x);
    x->asked = 0;
    pages_give_back(&w->waiters, slot);
}

bool waiting_age(struct waiting *w, uint64_t *at, size_t max)
{
    for (; max && *at < w->waiters.top; max--, ++*at) {
        struct waiter *x = pages_at(&w->waiters, (uint32_t)*at);
        if (!x->asked)
            continue;
        keep(w, x);
        if (++x->unseen > w->admission.forget)
            waiting_forget(w, x->id);
    }
    return *at >= w->waiters.top;
}

size_t waiting_count(const struct waiting *w)
{
    return w->index.count;
}

size_t waiting_bytes(const struct waiting *w)
{
    return sizeof *w + pages_bytes(&w->waiters) + id_index_bytes(&w->index);
}

/* ---- saving and loading ---- */

void waiting_pack(const struct waiting_id *x, float out[static WAITING_WIDTH])
{
    out[0] = (float)(x->asked >> 16);
    out[1] = (float)(x->asked & 0xffff);
    out[2] = (float)x->unseen;
}

/* An integer of 16 bits? NaN is not. */
static bool is_half(float x)
{
    return x >= 0 && x <= UINT16_MAX && (float)(uint32_t)x == x;
}

bool waiting_unpack(int64_t id, const float row[static WAITING_WIDTH], struct waiting_id *out)
{
    if (!is_half(row[0]) || !is_half(row[1]) || !is_half(row[2]) || (row[0] == 0 && row[1] == 0))
        return false;
    *out = (struct waiting_id){id, (uint32_t)row[0] << 16 | (uint32_t)row[1], (uint32_t)row[2]};
    return true;
}

enum skiff_status waiting_put(struct waiting *w, const struct waiting_id *x,
                              struct skiff_error *err)
{
    uint32_t slot = id_index_find(&w->index, x->id);
    if (slot == PAGES_NONE)
        TRY(enter(w, x->id, &slot, err));
    struct waiter *to = pages_at(&w->waiters, slot);
    keep(w, to);
    to->asked = x->asked ? x->asked : 1; /* 0 marks a free slot */
    to->unseen = x->unseen < UINT16_MAX ? (uint16_t)x->unseen : UINT16_MAX - 1;
    return SKIFF_OK;
}

struct waiting_snapshot *waiting_snapshot_begin(struct waiting *w)
{
    struct waiting_snapshot *s = w->snapshot = mem_alloc_or_die(sizeof *s);
    pages_init(&s->kept, sizeof(struct waiter), false, "what a snapshot keeps of ids that wait");
    s->top = w->waiters.top;
    for (uint32_t i = 0; w->version == UINT16_MAX && i < s->top; i++)
        ((struct waiter *)pages_at(&w->waiters, i))->version = 0; /* once in 65535 snapshots */
    w->version = w->version == UINT16_MAX ? 1 : w->version + 1;
    return s;
}

#define LIST_KEPT (UINT64_C(1) << 63) /* the current records come first */

static size_t list_slots(const struct waiting *w, uint64_t *cursor, size_t max,
                         struct waiting_id *out)
{
    size_t n = 0;
    for (size_t looked = 0; looked < max && *cursor < w->snapshot->top; looked++, ++*cursor) {
        const struct waiter *x = pages_at(&w->waiters, (uint32_t)*cursor);
        if (x->asked && x->version != w->version)
            out[n++] = (struct waiting_id){x->id, x->asked, x->unseen};
    }
    if (*cursor >= w->snapshot->top)
        *cursor = LIST_KEPT;
    return n;
}

enum skiff_status waiting_snapshot_list(const struct waiting *w, uint64_t *cursor, size_t max,
                                        struct waiting_id *out, size_t *out_n,
                                        struct skiff_error *err)
{
    const struct waiting_snapshot *s = w->snapshot;
    if (!s || s->lost)
        return error_set(err, s ? SKIFF_NOMEM : SKIFF_STATE,
                         s ? "no memory for copies of waiting ids while a snapshot is read"
                           : "no snapshot of ids that wait is being read");
    if (!(*cursor & LIST_KEPT)) {
        *out_n = list_slots(w, cursor, max, out);
        return SKIFF_OK;
    }
    size_t n = 0;
    for (uint64_t at = *cursor & ~LIST_KEPT; n < max && at < s->kept.top; at++, n++) {
        const struct waiter *x = pages_at(&s->kept, (uint32_t)at);
        out[n] = (struct waiting_id){x->id, x->asked, x->unseen};
    }
    *out_n = n;
    *cursor += n;
    return (*cursor & ~LIST_KEPT) < s->kept.top ? SKIFF_OK : SKIFF_END;
}

size_t waiting_snapshot_bytes(const struct waiting_snapshot *s)
{
    return s ? pages_bytes(&s->kept) : 0;
}

void waiting_snapshot_take_off(struct waiting *w)
{
    w->snapshot = NULL;
}

void waiting_snapshot_destroy(struct waiting_snapshot *s)
{
    if (!s)
        return;
    pages_deinit(&s->kept);
    free(s);
}
