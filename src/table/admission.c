#include "table/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "table/id_index.h"

#define FORGET_DEFAULT 30
#define LEAST_WAITING 64 /* that a limit must have room for */
#define LOOKED_AT 16

/* ---- Paddle's words ---- */

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
                         "show_click_entry:%s: the names of two variables are needed, "
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
    *out = (struct admission){.kind = ADMIT_ALL};
    if (!*text || !strcmp(text, "none"))
        return SKIFF_OK;
    if (starts(&rest, "show_click_entry:")) {
        out->kind = ADMIT_SHOW_CLICK;
        return parse_names(rest, out, err);
    }
    if (starts(&rest, "count_filter_entry:")) {
        out->kind = ADMIT_COUNT;
        out->count = strtoll(rest, &stop, 10);
        if (stop != rest && !*stop && out->count >= 0)
            return SKIFF_OK;
        return error_set(err, SKIFF_FORMAT, "%s: a count of 0 or more is needed", text);
    }
    if (starts(&rest, "probability_entry:")) {
        out->kind = ADMIT_PROBABILITY;
        out->probability = strtod(rest, &stop);
        if (stop != rest && !*stop && out->probability > 0 && out->probability < 1)
            return SKIFF_OK;
        return error_set(err, SKIFF_FORMAT, "%s: a probability between 0 and 1 is needed", text);
    }
    return error_set(err, SKIFF_FORMAT,
                     "entry \"%s\" is not known; there are count_filter_entry:N, "
                     "probability_entry:P and show_click_entry:SHOW:CLICK",
                     text);
}

/* ---- those who wait ---- */

struct waiter {
    int64_t id;
    uint32_t asked;  /* 0: nobody is here */
    uint32_t unseen; /* shrinks since then */
};

struct waiting {
    struct admission admission;
    uint64_t seed;
    struct pages waiters;
    struct id_index index;
    size_t most;   /* bytes */
    uint32_t hand; /* who is looked at next when somebody must go */
};

static size_t growth(const struct waiting *w, size_t n)
{
    return pages_growth(&w->waiters, n) + id_index_growth(&w->index, n);
}

static bool has_room(const struct waiting *w, size_t n)
{
    return w->most == SIZE_MAX || waiting_bytes(w) + growth(w, n) <= w->most;
}

enum skiff_status waiting_create(const struct admission *a, uint64_t seed, size_t most,
                                 struct waiting **out, struct skiff_error *err)
{
    struct waiting *w = mem_must(sizeof *w);
    w->admission = *a;
    w->seed = seed;
    if (!w->admission.forget)
        w->admission.forget = FORGET_DEFAULT;
    pages_init(&w->waiters, sizeof(struct waiter), false, "ids that wait for admission");
    enum skiff_status status = id_index_init(&w->index, &w->waiters, err);
    w->most = most;
    if (status == SKIFF_OK && !has_room(w, LEAST_WAITING)) {
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

/* The one of a few that has asked least often goes. */
static void make_room(struct waiting *w)
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
    if (!w->waiters.nfree && !has_room(w, 1))
        make_room(w);
    TRY(pages_take(&w->waiters, out, err));
    struct waiter *x = pages_at(&w->waiters, *out);
    *x = (struct waiter){.id = id};
    enum skiff_status status = id_index_add(&w->index, id, *out, err);
    if (status < 0)
        pages_give_back(&w->waiters, *out);
    return status;
}

static bool lets_in(const struct waiting *w, const struct waiter *x)
{
    uint32_t words[4];
    if (w->admission.kind == ADMIT_COUNT)
        return x->asked >= w->admission.count;
    philox(w->seed, (uint64_t)x->id, x->asked, words);
    return words[0] * 0x1p-32 >= w->admission.probability;
}

enum skiff_status waiting_ask(struct waiting *w, int64_t id, uint32_t times, bool *out,
                              struct skiff_error *err)
{
    uint32_t place = id_index_find(&w->index, id);
    *out = w->admission.kind == ADMIT_COUNT && w->admission.count <= 1;
    if (*out)
        return SKIFF_OK;
    if (place == PAGES_NONE)
        TRY(enter(w, id, &place, err));
    struct waiter *x = pages_at(&w->waiters, place);
    times = w->admission.kind == ADMIT_COUNT ? times : 1;
    x->asked += times < UINT32_MAX - x->asked ? times : UINT32_MAX - x->asked;
    x->unseen = 0;
    *out = lets_in(w, x);
    if (*out)
        waiting_forget(w, id);
    return SKIFF_OK;
}

void waiting_forget(struct waiting *w, int64_t id)
{
    uint32_t place = id_index_remove(&w->index, id);
    if (place == PAGES_NONE)
        return;
    ((struct waiter *)pages_at(&w->waiters, place))->asked = 0;
    pages_give_back(&w->waiters, place);
}

bool waiting_age(struct waiting *w, uint64_t *at, size_t max)
{
    for (; max && *at < w->waiters.top; max--, ++*at) {
        struct waiter *x = pages_at(&w->waiters, (uint32_t)*at);
        if (x->asked && ++x->unseen > (uint32_t)w->admission.forget)
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
