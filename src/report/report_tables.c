/* The tables of the page. Every table is in a box of its own that scrolls when the screen is
 * narrower than it. Numbers that are not known are a dash, never NAN; texts pass through html_text.
 * Ops are shown up to TOP_OPS, the longest first. */
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "report/html_parts.h"
#include "report/text.h"

#define TOP_OPS 8

/* name: for screen readers. The box can be scrolled by keys, too. */
static void open_table(struct buf *b, const char *class, const char *name)
{
    buf_printf(b,
               "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
               "<table class=\"%s\">\n",
               name, class);
}

static void close_table(struct buf *b)
{
    buf_str(b, "</table></div>\n");
}

/* Heads, NULL behind the last; those that begin with '>' stand over numbers. */
static void add_heads(struct buf *b, const char *const *heads)
{
    buf_str(b, "<thead><tr>");
    for (; *heads; heads++) {
        bool number = **heads == '>';
        buf_printf(b, "<th scope=\"col\"%s>", number ? " class=\"n\"" : "");
        html_text(b, *heads + number);
        buf_str(b, "</th>");
    }
    buf_str(b, "</tr></thead>\n");
}

void add_cell(struct buf *b, double v, int digits)
{
    if (!isfinite(v))
        buf_str(b, "<td class=\"n\">\u2013</td>");
    else if (fabs(v) >= 1e12)
        buf_printf(b, "<td class=\"n\">%.4g</td>", v);
    else
        buf_printf(b, "<td class=\"n\">%.*f</td>", digits, v);
}

static void add_text_cell(struct buf *b, const char *class, const char *text)
{
    buf_printf(b, "<td class=\"%s\">", class);
    html_text(b, text);
    buf_str(b, "</td>");
}

static void add_share_cell(struct buf *b, double share)
{
    if (isfinite(share))
        buf_printf(b, "<td class=\"n\">%.0f&nbsp;%%</td>", 100 * share);
    else
        buf_str(b, "<td class=\"n\">\u2013</td>");
}

static void add_short_cell(struct buf *b, double v)
{
    char text[32];
    buf_printf(b, "<td class=\"n\">%s</td>", number_short(v, text));
}

/* ---- one run ---- */

static double part_share(double part, double all)
{
    return all > 0 ? part / all : NAN;
}

/* What the run was given: above all numbers. */
void add_data_table(struct buf *b, const struct run_report *r)
{
    static const char *const heads[] = {"data",      ">files",         ">rows", ">share of rows",
                                        ">positive", ">positive rate", NULL};
    double all = 0;
    for (int i = 0; i < RUN_PARTS; i++)
        all += r->data[i].rows;
    if (!(all > 0))
        return;
    open_table(b, "data", "data of the run");
    add_heads(b, heads);
    for (int i = 0; i < RUN_PARTS; i++) {
        const struct run_data *d = &r->data[i];
        if (!(d->rows > 0))
            continue;
        double rate = part_share(d->positives, d->rows);
        buf_printf(b, "<tr><td>%s</td>", run_part_word((enum run_part)i));
        add_cell(b, d->files ? (double)d->files : NAN, 0);
        add_cell(b, d->rows, 0);
        add_share_cell(b, part_share(d->rows, all));
        add_cell(b, d->positives, 0);
        if (isfinite(rate))
            buf_printf(b, "<td class=\"n\">%.*f&nbsp;%%</td></tr>\n", rate < 0.1 ? 2 : 1,
                       100 * rate);
        else
            buf_str(b, "<td class=\"n\">\u2013</td></tr>\n");
    }
    close_table(b);
}

static void add_epoch_cell(struct buf *b, int epoch, bool best, bool complete)
{
    buf_printf(b, "<td class=\"n\">%d%s%s</td>", epoch,
               best ? "<b class=\"t1\" title=\"best epoch on validation data\">\u2605</b>" : "",
               complete ? "" : " <small>part</small>");
}

static void add_numbers(struct buf *b, const struct run_numbers *n)
{
    add_cell(b, n->auc, 4);
    add_cell(b, n->log_loss, 4);
    add_cell(b, n->copc, 4);
}

static void add_epoch_row(struct buf *b, const struct run_report *r, const struct run_epoch *e)
{
    const struct run_point *valid = run_valid_of(r, e->epoch), *best = run_best_valid(r);
    char text[32];
    buf_str(b, "<tr>");
    add_epoch_cell(b, e->epoch, best && best->epoch == e->epoch, e->complete);
    if (r->valid.n)
        add_numbers(b, valid ? &valid->n : &run_numbers_none);
    add_cell(b, e->n.loss, 4);
    add_numbers(b, &e->n);
    add_cell(b, (double)e->samples, 0);
    buf_printf(b, "<td class=\"n\">%s</td>", time_short(e->seconds, text));
    add_cell(b, e->seconds > 0 ? (double)e->samples / e->seconds : NAN, 0);
    add_share_cell(b, e->read);
    add_share_cell(b, e->compute);
    add_share_cell(b, e->update);
    buf_str(b, "</tr>\n");
}

void add_epochs_table(struct buf *b, const struct run_report *r)
{
    static const char *const valid[] = {
        ">epoch",     ">valid AUC",      ">valid log loss", ">valid COPC", ">train loss",
        ">train AUC", ">train log loss", ">train COPC",     ">samples",    ">time",
        ">samples/s", ">read",           ">compute",        ">update",     NULL};
    static const char *const plain[] = {">epoch", ">loss",    ">AUC",    ">log loss",
                                        ">COPC",  ">samples", ">time",   ">samples/s",
                                        ">read",  ">compute", ">update", NULL};
    open_table(b, "epochs", "epochs");
    add_heads(b, r->valid.n ? valid : plain);
    for (int i = 0; i < r->nepochs; i++)
        add_epoch_row(b, r, &r->epochs[i]);
    close_table(b);
}

/* What skiff infer has found. */
void add_tests_table(struct buf *b, const struct run_report *r)
{
    static const char *const heads[] = {">epoch", ">AUC",     ">log loss", ">COPC",
                                        ">loss",  ">samples", NULL};
    open_table(b, "epochs", "results on test data");
    add_heads(b, heads);
    for (int i = 0; i < r->ntests; i++) {
        const struct run_test *t = &r->tests[i];
        buf_str(b, "<tr>");
        add_epoch_cell(b, t->epoch, t->best, true);
        add_numbers(b, &t->n);
        add_cell(b, t->n.loss, 4);
        add_cell(b, t->samples, 0);
        buf_str(b, "</tr>\n");
    }
    close_table(b);
}

static bool has_columns(const struct run_report *r)
{
    for (int i = 0; i < r->nslots; i++)
        if (r->slots[i].column[0])
            return true;
    return false;
}

/* Slots by the table's columns, where these are known. */
void add_slots_table(struct buf *b, const struct run_report *r)
{
    static const char *const heads[] = {
        "column",    "slot",   "type",  ">values", ">a sample", ">zero or missing",
        ">distinct", ">least", ">most", ">mean",   NULL};
    bool columns = has_columns(r);
    open_table(b, "slots", "columns and slots");
    add_heads(b, columns ? heads : heads + 1);
    for (int i = 0; i < r->nslots; i++) {
        const struct run_slot *s = &r->slots[i];
        buf_str(b, "<tr>");
        if (columns)
            add_text_cell(b, "name", s->column[0] ? s->column : s->name);
        add_text_cell(b, columns ? "soft" : "name", s->name);
        buf_str(b, "<td>");
        html_text(b, s->type);
        buf_str(b, s->ragged ? ", any number</td>" : "</td>");
        add_short_cell(b, (double)s->values);
        add_cell(b, r->slot_rows > 0 ? (double)s->values / (double)r->slot_rows : NAN, 2);
        add_share_cell(b, s->values > 0 ? (double)s->zeros / (double)s->values : NAN);
        add_short_cell(b, s->distinct);
        add_short_cell(b, s->least);
        add_short_cell(b, s->most);
        add_short_cell(b, s->mean);
        buf_str(b, "</tr>\n");
    }
    close_table(b);
}

static void add_pair(struct buf *b, const char *key, const char *value)
{
    buf_str(b, "<tr><th scope=\"row\">");
    html_text(b, key);
    buf_str(b, "</th>");
    add_text_cell(b, "value", value);
    buf_str(b, "</tr>\n");
}

void add_config_table(struct buf *b, const struct run_report *r)
{
    open_table(b, "pairs", "config");
    for (int i = 0; i < r->nconfig; i++)
        add_pair(b, r->config[i].key, r->config[i].value);
    close_table(b);
}

void add_machine_table(struct buf *b, const struct run_report *r)
{
    const struct run_machine *m = &r->machine;
    struct buf cpu = BUF_INIT;
    char text[32];
    buf_printf(&cpu, "%s, %lld cores", m->cpu[0] ? m->cpu : "unknown", (long long)m->cores);
    open_table(b, "pairs", "machine");
    add_pair(b, "processor", cpu.data);
    add_pair(b, "memory", bytes_short((double)m->memory, text));
    add_pair(b, "most memory used", bytes_short((double)m->peak_memory, text));
    add_pair(b, "system", m->system);
    add_pair(b, "host", m->host);
    add_pair(b, "skiff", m->skiff);
    add_pair(b, "compiler", m->compiler);
    close_table(b);
    buf_deinit(&cpu);
}

void add_events_table(struct buf *b, const struct run_report *r)
{
    char text[32];
    open_table(b, "events", "events");
    for (int i = 0; i < r->nevents; i++) {
        const struct run_event *e = &r->events[i];
        buf_printf(b, "<tr><td class=\"n\">%s</td><td><span class=\"pill %s\">%s</span></td>",
                   time_short(e->seconds, text), run_event_word(e->kind), run_event_word(e->kind));
        add_text_cell(b, "value", e->text);
        buf_str(b, "</tr>\n");
    }
    close_table(b);
    if (r->events_lost)
        buf_printf(b, "<p class=\"note\">%lld more events are not shown.</p>\n",
                   (long long)r->events_lost);
}

/* ---- where the time went ---- */

/* One bar in three parts, and their names under it. */
static void add_parts(struct buf *b, const double shares[static 3])
{
    static const char *const words[] = {"compute", "read", "update"};
    double at = 0;
    buf_str(b, "<svg class=\"parts\" aria-hidden=\"true\" viewBox=\"0 0 100 10\" "
               "preserveAspectRatio=\"none\">");
    for (int i = 0; i < 3; i++) {
        buf_printf(b, "<rect class=\"f%d\" x=\"%.2f\" width=\"%.2f\" height=\"10\"/>", i, at,
                   100 * shares[i]);
        at += 100 * shares[i];
    }
    buf_str(b, "</svg>\n<p class=\"legend\">");
    for (int i = 0; i < 3; i++)
        buf_printf(b,
                   "<span><svg viewBox=\"0 0 18 10\"><rect class=\"f%d\" x=\"4\" width=\"10\" "
                   "height=\"10\" rx=\"2\"/></svg>%s %.0f&nbsp;%%</span>",
                   i, words[i], 100 * shares[i]);
    buf_str(b, "</p>\n");
}

static void add_op(struct buf *b, const struct run_op *op, double longest, double all)
{
    buf_str(b, "<tr>");
    add_text_cell(b, "name", op->type);
    buf_printf(b,
               "<td class=\"wide\"><svg class=\"bar\" aria-hidden=\"true\" viewBox=\"0 0 100 10\" "
               "preserveAspectRatio=\"none\"><rect class=\"f%d\" width=\"%.1f\" height=\"10\"/>"
               "</svg></td>",
               op->update ? 2 : 0, longest > 0 ? 100 * op->seconds / longest : 0);
    add_share_cell(b, all > 0 ? op->seconds / all : NAN);
    buf_str(b, "</tr>\n");
}

static void add_ops(struct buf *b, const struct run_report *r)
{
    double all = 0;
    for (int i = 0; i < r->nops; i++)
        all += r->ops[i].seconds;
    buf_str(b, "<p class=\"note\">The longest ops, as shares of the time of all ops:</p>\n");
    open_table(b, "ops", "ops by time");
    for (int i = 0; i < r->nops && i < TOP_OPS; i++)
        add_op(b, &r->ops[i], r->ops[0].seconds, all);
    close_table(b);
}

void add_time_table(struct buf *b, const struct run_report *r)
{
    double parts[3] = {0}, all = 0;
    for (int i = 0; i < r->nepochs; i++) {
        const struct run_epoch *e = &r->epochs[i];
        parts[0] += e->compute * e->seconds;
        parts[1] += e->read * e->seconds;
        parts[2] += e->update * e->seconds;
    }
    all = parts[0] + parts[1] + parts[2];
    buf_str(b, "<figure><figcaption><b>Use of time</b> <span>of the training "
               "threads</span></figcaption>\n");
    for (int i = 0; i < 3; i++)
        parts[i] = all > 0 && isfinite(all) ? parts[i] / all : 0;
    if (all > 0)
        add_parts(b, parts);
    if (r->nops)
        add_ops(b, r);
    buf_str(b, "</figure>\n");
}

/* ---- several runs ---- */

/* What a run is compared by: the best epoch on validation data, otherwise the last one. */
static const struct run_numbers *best_numbers(const struct run_report *r)
{
    const struct run_point *best = run_best_valid(r);
    return best ? &best->n : &run_numbers_none;
}

/* Of all runs the lowest log loss, or the highest AUC; runs have it when it is theirs. */
static double winner(const struct runs *runs, bool auc)
{
    double best = NAN;
    for (int i = 0; i < runs->n; i++) {
        const struct run_numbers *n = best_numbers(runs->at[i]);
        best = auc ? fmax(best, n->auc) : fmin(best, n->log_loss);
    }
    return best;
}

static void add_won_cell(struct buf *b, double v, double best)
{
    if (isfinite(v) && v == best)
        buf_printf(b, "<td class=\"n\"><b>%.4f</b></td>", v);
    else
        add_cell(b, v, 4);
}

static void add_result(struct buf *b, const struct runs *runs, int i)
{
    const struct run_report *r = runs->at[i];
    const struct run_epoch *last = run_last_epoch(r);
    const struct run_point *point = run_best_valid(r);
    const struct run_test *test = run_best_test(r);
    const struct run_numbers *n = best_numbers(r);
    char text[32];
    buf_str(b, "<tr><td class=\"name\">");
    add_swatch(b, i);
    html_text(b, run_label(r));
    buf_str(b, "</td>");
    add_cell(b, point ? point->epoch : NAN, 0);
    add_won_cell(b, n->auc, winner(runs, true));
    add_won_cell(b, n->log_loss, winner(runs, false));
    add_cell(b, n->copc, 4);
    add_cell(b, test ? test->n.auc : NAN, 4);
    add_cell(b, test ? test->n.log_loss : NAN, 4);
    add_numbers(b, last ? &last->n : &run_numbers_none);
    add_cell(b, last ? last->n.loss : NAN, 4);
    add_text_cell(b, "", r->model);
    buf_printf(b, "<td><span class=\"pill %s\">%s</span></td>", run_status_word(r->status),
               run_status_word(r->status));
    add_cell(b, r->nepochs, 0);
    add_short_cell(b, r->samples);
    add_short_cell(b, run_speed(r));
    buf_printf(b, "<td class=\"n\">%s</td>", time_short(r->seconds, text));
    add_cell(b, run_count_events(r, RUN_WARNING), 0);
    buf_str(b, "</tr>\n");
}

void add_results_table(struct buf *b, const struct runs *runs)
{
    static const char *const heads[] = {"run",
                                        ">\u2605 epoch",
                                        ">valid AUC",
                                        ">valid log loss",
                                        ">valid COPC",
                                        ">test AUC",
                                        ">test log loss",
                                        ">train AUC",
                                        ">train log loss",
                                        ">train COPC",
                                        ">train loss",
                                        "model",
                                        "status",
                                        ">epochs",
                                        ">samples",
                                        ">samples/s",
                                        ">time",
                                        ">warnings",
                                        NULL};
    open_table(b, "results", "results of the runs");
    add_heads(b, heads);
    for (int i = 0; i < runs->n; i++)
        add_result(b, runs, i);
    close_table(b);
    buf_str(b, "<p class=\"note\">Validation: of the best epoch (\u2605); bold is the best run. "
               "Training: of the last epoch.</p>\n");
}

/* Servers, workers, ranks and threads are no keys of the config, and decide as much. */
static const char *const shape_keys[] = {"servers", "workers", "ranks", "threads"};
#define SHAPE_KEYS 4

static int64_t shape_value(const struct run_report *r, int key)
{
    return (int64_t[]){r->servers, r->servers ? r->workers : 0, r->servers ? 0 : r->workers,
                       r->threads}[key];
}

static int add_shape(struct buf *b, const struct runs *runs)
{
    int found = 0;
    for (int k = 0; k < SHAPE_KEYS; k++) {
        bool differs = false;
        for (int i = 1; i < runs->n; i++)
            differs |= shape_value(runs->at[i], k) != shape_value(runs->at[0], k);
        if (!differs)
            continue;
        found++;
        buf_printf(b, "<tr><th scope=\"row\">%s</th>", shape_keys[k]);
        for (int i = 0; i < runs->n; i++)
            buf_printf(b, "<td class=\"value\">%lld</td>", (long long)shape_value(runs->at[i], k));
        buf_str(b, "</tr>\n");
    }
    return found;
}

static const char *config_value(const struct run_report *r, const char *key)
{
    for (int i = 0; i < r->nconfig; i++)
        if (!strcmp(r->config[i].key, key))
            return r->config[i].value;
    return NULL;
}

static bool differs(const struct runs *runs, const char *key)
{
    const char *first = config_value(runs->at[0], key);
    for (int i = 1; i < runs->n; i++) {
        const char *value = config_value(runs->at[i], key);
        if (!first != !value || (first && strcmp(first, value)))
            return true;
    }
    return false;
}

static void add_difference(struct buf *b, const struct runs *runs, const char *key)
{
    buf_str(b, "<tr><th scope=\"row\">");
    html_text(b, key);
    buf_str(b, "</th>");
    for (int i = 0; i < runs->n; i++) {
        const char *value = config_value(runs->at[i], key);
        add_text_cell(b, "value", value ? value : "\u2013");
    }
    buf_str(b, "</tr>\n");
}

void add_differences_table(struct buf *b, const struct runs *runs)
{
    struct str_map reported;
    int found = 0;
    str_map_init(&reported);
    open_table(b, "pairs differences", "differing keys");
    buf_str(b, "<thead><tr><th>key</th>");
    for (int i = 0; i < runs->n; i++) {
        buf_str(b, "<th>");
        add_swatch(b, i);
        html_text(b, run_label(runs->at[i]));
        buf_str(b, "</th>");
    }
    buf_str(b, "</tr></thead>\n");
    found = add_shape(b, runs);
    for (int i = 0; i < runs->n; i++)
        for (int k = 0; k < runs->at[i]->nconfig; k++) {
            const char *key = runs->at[i]->config[k].key;
            if (str_map_has(&reported, key))
                continue;
            str_map_put(&reported, key, (void *)runs);
            if (differs(runs, key)) {
                add_difference(b, runs, key);
                found++;
            }
        }
    if (!found)
        buf_printf(b, "<tr><td colspan=\"%d\">all keys have the same values</td></tr>\n",
                   runs->n + 1);
    close_table(b);
    str_map_deinit(&reported);
}
