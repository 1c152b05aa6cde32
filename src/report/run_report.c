/* Recording (run_report.h). Arrays grow by doubling up to their bound; a full one is thinned out
 * before the next entry, so that adding stays cheap on average and a report has a bounded size,
 * however long the run is.
 *
 * Points are merged in pairs, weighted by their samples, so that means stay right; of events, the
 * oldest saves go first, and lost ones are counted. Texts live in the report's arena. The caller
 * locks. */
#include "report/run_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const struct run_numbers run_numbers_none = {NAN, NAN, NAN, NAN, NAN};

const char *run_event_word(enum run_event_kind kind)
{
    static const char *const words[] = {"start",   "resume",     "saved",      "warning",
                                        "plateau", "early stop", "calibrated", "interrupt",
                                        "error",   "end"};
    return words[kind];
}

const char *run_part_word(enum run_part part)
{
    static const char *const words[] = {"train", "valid", "test"};
    return words[part];
}

const char *run_status_word(enum run_status status)
{
    static const char *const words[] = {"running", "done", "stopped", "failed"};
    return words[status];
}

void run_report_init(struct run_report *r)
{
    *r = (struct run_report){.name = "",
                             .command = "",
                             .model = "",
                             .model_path = "",
                             .label = "",
                             .started = "",
                             .valid_metric = "",
                             .workers = 1};
    for (int i = 0; i < RUN_PARTS; i++)
        r->data[i].positives = NAN;
    r->machine =
        (struct run_machine){.host = "", .cpu = "", .system = "", .skiff = "", .compiler = ""};
    arena_init(&r->arena);
}

void run_report_deinit(struct run_report *r)
{
    free(r->points.at);
    free(r->valid.at);
    free(r->epochs);
    free(r->tests);
    free(r->ops);
    free(r->slots);
    free(r->config);
    free(r->events);
    free(r->quality);
    free(r->importance);
    arena_deinit(&r->arena);
}

const char *run_text(struct run_report *r, const char *text)
{
    return arena_strdup(&r->arena, text ? text : "");
}

/* Room for one more of `size` bytes behind n of them: there is always that of the next power of
 * two, also after some have been taken out. */
static void *space_for_one(void *at, int n, size_t size)
{
    if (n & (n - 1))
        return at;
    return mem_grow_or_die(at, (n ? 2 * (size_t)n : 1) * size);
}

/* ---- points ---- */

/* Mean of two means; one that is not there does not count. */
static double mean(double a, double wa, double b, double wb)
{
    if (isnan(a))
        return b;
    if (isnan(b) || !(wa + wb > 0))
        return a;
    return (a * wa + b * wb) / (wa + wb);
}

static void merge(struct run_point *a, const struct run_point *b)
{
    double wa = a->samples, wb = b->samples;
    a->n.loss = mean(a->n.loss, wa, b->n.loss, wb);
    a->n.auc = mean(a->n.auc, wa, b->n.auc, wb);
    a->n.log_loss = mean(a->n.log_loss, wa, b->n.log_loss, wb);
    a->n.accuracy = mean(a->n.accuracy, wa, b->n.accuracy, wb);
    a->clicks = mean(a->clicks, wa, b->clicks, wb);
    a->predicted = mean(a->predicted, wa, b->predicted, wb);
    a->n.copc = a->predicted > 0 ? a->clicks / a->predicted : NAN;
    a->samples += b->samples;
    a->seconds += b->seconds;
    a->at_samples = b->at_samples;
    a->at_seconds = b->at_seconds;
}

int run_merge_points(struct run_point *at, int n, int most)
{
    while (n > most) {
        int out = 0;
        for (int i = 0; i < n; i++) {
            bool pair = i + 1 < n && at[i].epoch == at[i + 1].epoch;
            at[out] = at[i];
            if (pair)
                merge(&at[out], &at[++i]);
            out++;
        }
        if (out == n)
            break; /* one an epoch */
        n = out;
    }
    return n;
}

int run_merge_windows(struct run_point *at, int n, double samples, double seconds)
{
    int out = 0;
    for (int i = 0; i < n; i++) {
        struct run_point *last = out ? &at[out - 1] : NULL;
        if (last && last->epoch == at[i].epoch &&
            (last->samples < samples || last->seconds < seconds))
            merge(last, &at[i]);
        else
            at[out++] = at[i];
    }
    return out;
}

/* Every second goes; the last one stays. */
static int halve(void *at, int n, size_t size)
{
    char *p = at;
    int out = 0;
    for (int i = (n - 1) & 1; i < n; i += 2, out++)
        memmove(p + (size_t)out * size, p + (size_t)i * size, size);
    return out;
}

static void points_add(struct run_points *l, const struct run_point *p)
{
    l->at = space_for_one(l->at, l->n, sizeof(*l->at));
    l->at[l->n++] = *p;
}

void run_add_point(struct run_report *r, const struct run_point *p)
{
    struct run_points *l = &r->points;
    if (l->n >= RUN_MAX_POINTS) {
        /* one pass halves them, but for epochs with an odd number: a second one is not wanted */
        l->n = run_merge_points(l->at, l->n, RUN_MAX_POINTS * 3 / 4);
        if (l->n >= RUN_MAX_POINTS) /* that many epochs */
            l->n = halve(l->at, l->n, sizeof(*l->at));
    }
    points_add(l, p);
}

void run_add_last_point(struct run_report *r, const struct run_point *p)
{
    struct run_point *before = r->points.n ? &r->points.at[r->points.n - 1] : NULL;
    if (before && before->epoch == p->epoch && p->samples < before->samples / 2)
        merge(before, p);
    else
        run_add_point(r, p);
}

/* Of two neighbours one goes: the best takes the place of the one that would stay, unless that is
 * the last. */
static void keep_best(struct run_points *l)
{
    int best = -1;
    for (int i = 0; i < l->n; i++)
        best = l->at[i].best ? i : best;
    bool goes = best >= 0 && ((best ^ (l->n - 1)) & 1);
    if (goes && best + 1 < l->n - 1)
        l->at[best + 1] = l->at[best];
    else if (goes && best > 0)
        l->at[best - 1] = l->at[best];
}

void run_add_valid(struct run_report *r, const struct run_point *p)
{
    if (r->valid.n >= RUN_MAX_POINTS) {
        keep_best(&r->valid);
        r->valid.n = halve(r->valid.at, r->valid.n, sizeof(*r->valid.at));
    }
    points_add(&r->valid, p);
}

void run_scale_epoch(struct run_report *r, int epoch, double start, double factor)
{
    for (int i = 0; i < r->points.n; i++) {
        struct run_point *p = &r->points.at[i];
        if (p->epoch != epoch)
            continue;
        p->at_samples = start + (p->at_samples - start) * factor;
        p->samples *= factor;
    }
    for (int i = 0; i < r->valid.n; i++) {
        struct run_point *p = &r->valid.at[i];
        if (p->epoch == epoch)
            p->at_samples = start + (p->at_samples - start) * factor;
    }
}

/* ---- the rest ---- */

void run_add_epoch(struct run_report *r, const struct run_epoch *e)
{
    if (r->nepochs >= RUN_MAX_EPOCHS)
        r->nepochs = halve(r->epochs, r->nepochs, sizeof(*r->epochs));
    r->epochs = space_for_one(r->epochs, r->nepochs, sizeof(*r->epochs));
    r->epochs[r->nepochs++] = *e;
}

/* Makes room: of saves there are many, and the last ones tell as much as all. */
static bool drop_event(struct run_report *r)
{
    for (int i = 0; i < r->nevents; i++)
        if (r->events[i].kind == RUN_SAVED) {
            memmove(&r->events[i], &r->events[i + 1],
                    (size_t)(r->nevents - i - 1) * sizeof(*r->events));
            r->nevents--;
            return true;
        }
    return false;
}

void run_add_event(struct run_report *r, enum run_event_kind kind, double seconds, const char *text)
{
    if (r->nevents >= RUN_MAX_EVENTS) {
        r->events_lost++;
        bool needed = kind == RUN_END || kind == RUN_ERROR || kind == RUN_INTERRUPT;
        if (!drop_event(r)) {
            if (!needed)
                return;
            r->nevents--; /* how it ended is worth more than one warning of hundreds */
        }
    }
    r->events = space_for_one(r->events, r->nevents, sizeof(*r->events));
    r->events[r->nevents++] = (struct run_event){seconds, kind, run_text(r, text)};
}

void run_add_op(struct run_report *r, const struct run_op *op)
{
    for (int i = 0; i < r->nops; i++)
        if (!strcmp(r->ops[i].type, op->type) && r->ops[i].update == op->update) {
            r->ops[i].calls += op->calls;
            r->ops[i].seconds += op->seconds;
            return;
        }
    r->ops = space_for_one(r->ops, r->nops, sizeof(*r->ops));
    r->ops[r->nops] = *op;
    r->ops[r->nops++].type = run_text(r, op->type);
}

void run_add_slot(struct run_report *r, const struct run_slot *s)
{
    if (r->nslots >= RUN_MAX_SLOTS)
        return;
    r->slots = space_for_one(r->slots, r->nslots, sizeof(*r->slots));
    r->slots[r->nslots] = *s;
    r->slots[r->nslots].name = run_text(r, s->name);
    r->slots[r->nslots].column = run_text(r, s->column);
    r->slots[r->nslots++].type = run_text(r, s->type);
}

void run_add_config(struct run_report *r, const char *key, const char *value)
{
    r->config = space_for_one(r->config, r->nconfig, sizeof(*r->config));
    r->config[r->nconfig++] = (struct run_pair){run_text(r, key), run_text(r, value)};
}

static int longer_first(const void *a, const void *b)
{
    const struct run_op *x = a, *y = b;
    return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : strcmp(x->type, y->type);
}

void run_sort_ops(struct run_report *r)
{
    if (r->nops)
        qsort(r->ops, (size_t)r->nops, sizeof(*r->ops), longer_first);
}

int run_count_events(const struct run_report *r, enum run_event_kind kind)
{
    int n = 0;
    for (int i = 0; i < r->nevents; i++)
        n += r->events[i].kind == kind;
    return n;
}

void run_add_test(struct run_report *r, const struct run_test *t)
{
    if (r->ntests >= RUN_MAX_TESTS)
        return;
    r->tests = space_for_one(r->tests, r->ntests, sizeof(*r->tests));
    r->tests[r->ntests++] = *t;
}

static bool is_better(const struct run_numbers *a, const struct run_numbers *b)
{
    return isfinite(a->log_loss) && isfinite(b->log_loss) ? a->log_loss < b->log_loss
           : isfinite(a->auc) && isfinite(b->auc)         ? a->auc > b->auc
                                                          : a->loss < b->loss;
}

const struct run_point *run_best_valid(const struct run_report *r)
{
    const struct run_point *best = NULL, *lowest = NULL;
    for (int i = 0; i < r->valid.n; i++) {
        const struct run_point *p = &r->valid.at[i];
        best = p->best ? p : best;
        lowest = !lowest || is_better(&p->n, &lowest->n) ? p : lowest;
    }
    return best ? best : lowest; /* older reports do not say which is the best */
}

const struct run_point *run_valid_of(const struct run_report *r, int epoch)
{
    for (int i = r->valid.n - 1; i >= 0; i--)
        if (r->valid.at[i].epoch == epoch)
            return &r->valid.at[i];
    return NULL;
}

const struct run_test *run_best_test(const struct run_report *r)
{
    for (int i = 0; i < r->ntests; i++)
        if (r->tests[i].best)
            return &r->tests[i];
    return r->ntests ? &r->tests[r->ntests - 1] : NULL;
}

const struct run_epoch *run_last_epoch(const struct run_report *r)
{
    return r->nepochs ? &r->epochs[r->nepochs - 1] : NULL;
}

double run_speed(const struct run_report *r)
{
    double samples = 0, seconds = 0;
    for (int i = 0; i < r->nepochs; i++) {
        samples += (double)r->epochs[i].samples;
        seconds += r->epochs[i].seconds;
    }
    return seconds > 0 ? samples / seconds : NAN;
}
