#include "report/tune_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_parts.h"
#include "report/plot.h"
#include "report/text.h"

static void add_head(struct buf *b, const char *text, bool number)
{
    buf_str(b, number ? "<th class=\"n\">" : "<th>");
    html_text(b, text);
    buf_str(b, "</th>");
}

static void add_text(struct buf *b, const char *text)
{
    buf_str(b, "<td>");
    html_text(b, text);
    buf_str(b, "</td>");
}

/* The last word of a key: the plots have the whole. */
static const char *last_word(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

static void add_table(struct buf *b, const struct tune_page *t)
{
    bool seeds = false;
    for (int i = 0; i < t->nrows; i++)
        seeds |= t->rows[i].seeds > 1;
    buf_str(b, "<div class=\"scroll\"><table class=\"trials\"><tr>");
    add_head(b, "trial", true);
    for (int k = 0; k < t->nkeys; k++)
        add_head(b, last_word(t->keys[k]), false);
    add_head(b, t->metric, true);
    if (seeds) {
        add_head(b, "seeds", true);
        add_head(b, "mean", true);
        add_head(b, "from", true);
        add_head(b, "to", true);
    }
    add_head(b, "epochs", true);
    add_head(b, "seconds", true);
    add_head(b, "state", false);
    buf_str(b, "</tr>\n");
    for (int i = 0; i < t->nrows; i++) {
        const struct tune_row *r = &t->rows[i];
        buf_str(b, "<tr>");
        add_cell(b, r->number, 0);
        for (int k = 0; k < t->nkeys; k++)
            add_text(b, r->values[k]);
        add_cell(b, r->value, 5);
        if (seeds) {
            add_cell(b, r->seeds > 1 ? r->seeds : NAN, 0);
            add_cell(b, r->seeds > 1 ? r->mean : NAN, 5);
            add_cell(b, r->seeds > 1 ? r->low : NAN, 5);
            add_cell(b, r->seeds > 1 ? r->high : NAN, 5);
        }
        add_cell(b, r->epochs, 0);
        add_cell(b, r->seconds, 1);
        buf_str(b, "<td>");
        html_text(b, r->state);
        if (r->error) {
            buf_str(b, ": ");
            html_text(b, r->error);
        }
        buf_str(b, "</td></tr>\n");
    }
    buf_str(b, "</table></div>\n");
}

/* Nothing where values are texts. */
static void add_plot(struct buf *b, const struct tune_page *t, int k)
{
    char name[300];
    struct plot p = {.title = t->keys[k], .x_name = name, .reference = NAN};
    struct plot_series *s = plot_new_series(&p, NULL, 0, PLOT_DOTS);
    snprintf(name, sizeof name, "%s%.200s", t->logarithmic[k] ? "log10 of " : "", t->keys[k]);
    for (int i = 0; i < t->nrows; i++) {
        char *end;
        double x = strtod(t->rows[i].values[k], &end), y = t->rows[i].value;
        if (*end || !isfinite(y) || (t->logarithmic[k] && x <= 0))
            continue;
        const struct tune_row *r = &t->rows[i];
        plot_add(s, (struct plot_point){.x = t->logarithmic[k] ? log10(x) : x,
                                        .y = y,
                                        .y2 = r->seeds > 1 ? r->low : NAN,
                                        .y3 = r->seeds > 1 ? r->high : NAN});
    }
    if (plot_has_data(&p))
        plot_html(&p, b);
    plot_deinit(&p);
}

void tune_page_html(const struct tune_page *t, struct buf *out)
{
    html_begin_page(out, t->config);
    buf_str(out, "<header><p class=\"eyebrow\">skiff tune</p>\n<h1>");
    html_text(out, t->config);
    buf_printf(out,
               "</h1></header>\n<p class=\"note\">%d trials (%s), compared by %s on validation "
               "data.</p>\n",
               t->nrows, t->method, t->metric);
    if (*t->command) {
        buf_str(out, "<h2>The best one</h2>\n<pre>");
        html_text(out, t->command);
        buf_str(out, "</pre>\n");
    }
    buf_str(out, "<h2>Trials</h2>\n");
    add_table(out, t);
    buf_printf(out, "<h2>%s by each key</h2>\n<div class=\"two\">\n", t->metric);
    for (int k = 0; k < t->nkeys; k++)
        add_plot(out, t, k);
    buf_str(out, "</div>\n");
    html_end_page(out, "Written by skiff tune; tune.json in this folder has the numbers.");
}
