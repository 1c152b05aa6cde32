/* Quality and importance in a run report (quality.h).
 *
 * They are kept like other rows of the report, and each has a section of the page, which is not
 * there without them. Columns without any number are left out. */
#include "report/quality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/html_parts.h"
#include "report/text.h"

const struct run_quality_text run_quality_texts[RUN_QUALITY_VALUES] = {
    [QUALITY_AUC] = {"auc", "AUC", 4},
    [QUALITY_PR_AUC] = {"pr_auc", "PR-AUC", 4},
    [QUALITY_KS] = {"ks", "KS", 4},
    [QUALITY_LIFT_1] = {"lift_1", "lift 1 %", 2},
    [QUALITY_LIFT_5] = {"lift_5", "lift 5 %", 2},
    [QUALITY_LIFT_10] = {"lift_10", "lift 10 %", 2},
    [QUALITY_LOG_LOSS] = {"log_loss", NULL, 4},
    [QUALITY_ENTROPY] = {"normalised_entropy", "norm. entropy", 4},
    [QUALITY_GROUP_AUC] = {"group_auc", "grouped AUC", 4},
    [QUALITY_GROUPS] = {"groups", NULL, 0},
    [QUALITY_THRESHOLD] = {"threshold", "threshold", 2},
    [QUALITY_PRECISION] = {"precision", "precision", 4},
    [QUALITY_RECALL] = {"recall", "recall", 4},
    [QUALITY_F1] = {"f1", "F1", 4},
    [QUALITY_TRUE_POS] = {"true_positives", NULL, 0},
    [QUALITY_FALSE_POS] = {"false_positives", NULL, 0},
    [QUALITY_FALSE_NEG] = {"false_negatives", NULL, 0},
    [QUALITY_TRUE_NEG] = {"true_negatives", NULL, 0},
};

/* ---- keeping ---- */

static void *space_for_one(void *at, int n, size_t size)
{
    return n & (n - 1) ? at : mem_grow_or_die(at, (n ? 2 * (size_t)n : 1) * size);
}

void run_add_quality(struct run_report *r, const struct run_quality *q)
{
    if (r->nquality >= RUN_MAX_QUALITY)
        return;
    r->quality = space_for_one(r->quality, r->nquality, sizeof *r->quality);
    r->quality[r->nquality] = *q;
    r->quality[r->nquality++].data = run_text(r, q->data);
}

void run_drop_quality(struct run_report *r, const char *data)
{
    int kept = 0;
    for (int i = 0; i < r->nquality; i++)
        if (strcmp(r->quality[i].data, data) != 0)
            r->quality[kept++] = r->quality[i];
    r->nquality = kept;
}

void run_add_importance(struct run_report *r, const struct run_importance *i)
{
    if (r->nimportance >= RUN_MAX_IMPORTANCE)
        return;
    r->importance = space_for_one(r->importance, r->nimportance, sizeof *r->importance);
    struct run_importance *to = &r->importance[r->nimportance++];
    *to = *i;
    to->column = run_text(r, i->column);
    to->data = run_text(r, i->data);
}

/* ---- sections ---- */

static void add_head(struct buf *b, const char *title)
{
    buf_str(b, "<th class=\"n\">");
    html_text(b, title);
    buf_str(b, "</th>");
}

/* Is there such a number in any row? */
static bool has_value(const struct run_report *r, int value)
{
    for (int i = 0; i < r->nquality; i++)
        if (isfinite(r->quality[i].values[value]))
            return run_quality_texts[value].title != NULL;
    return false;
}

void add_quality_section(struct buf *b, const struct run_report *r)
{
    if (!r->nquality)
        return;
    buf_str(b, "<h2>How well does it rank?</h2>\n<p class=\"note\">On data that it was not trained "
               "on. Lift: clicks among the highest predictions over those among as many random "
               "rows. Precision, recall and F1 count a prediction of at least the threshold as a "
               "click. Normalised entropy: log loss over that of the mean click rate.</p>\n"
               "<div class=\"scroll\"><table class=\"quality\"><tr><th>data</th>");
    add_head(b, "epoch");
    for (int k = 0; k < RUN_QUALITY_VALUES; k++)
        if (has_value(r, k))
            add_head(b, run_quality_texts[k].title);
    buf_str(b, "</tr>\n");
    for (int i = 0; i < r->nquality; i++) {
        buf_str(b, "<tr><td>");
        html_text(b, r->quality[i].data);
        buf_str(b, "</td>");
        add_cell(b, r->quality[i].epoch, 0);
        for (int k = 0; k < RUN_QUALITY_VALUES; k++)
            if (has_value(r, k))
                add_cell(b, r->quality[i].values[k], run_quality_texts[k].digits);
        buf_str(b, "</tr>\n");
    }
    buf_str(b, "</table></div>\n");
}

static double largest(const struct run_report *r)
{
    double most = 0;
    for (int i = 0; i < r->nimportance; i++) {
        const struct run_effect *e = &r->importance[i].log_loss;
        most = fmax(most, fmax(fabs(e->low), fabs(e->high)));
    }
    return most;
}

/* A bar from 0 to the mean with a line over the interval, 240 wide; 0 lies at a fifth. */
static void add_bar(struct buf *b, const struct run_effect *e, double most)
{
    double zero = 48, scale = most > 0 && isfinite(most) ? 190 / most : 0;
    double mean = fmax(-zero, e->mean * scale), low = fmax(-zero, e->low * scale),
           high = fmax(-zero, e->high * scale);
    buf_printf(b,
               "<td><svg width=\"240\" height=\"14\" role=\"img\">"
               "<rect x=\"%.1f\" y=\"3\" width=\"%.1f\" height=\"8\" class=\"f0\" "
               "opacity=\".5\"/><line x1=\"%.1f\" x2=\"%.1f\" y1=\"7\" y2=\"7\" "
               "stroke=\"currentColor\" stroke-width=\"2\"/><line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" "
               "y2=\"14\" stroke=\"currentColor\"/></svg></td>",
               zero + fmin(0, mean), fabs(mean), zero + low, zero + high, zero, zero);
}

static void add_effect(struct buf *b, const struct run_effect *e)
{
    add_cell(b, e->mean, 5);
    add_cell(b, e->low, 5);
    add_cell(b, e->high, 5);
}

void add_importance_section(struct buf *b, const struct run_report *r)
{
    static const char *const heads[] = {"log loss rises by", "from", "to",
                                        "AUC falls by",      "from", "to"};
    double most = largest(r);
    if (!r->nimportance)
        return;
    buf_printf(b,
               "<h2>Which columns matter?</h2>\n<p class=\"note\">What is lost when the values of "
               "one column are exchanged between rows (%.0f rows of %s, %d times), with 95 %% "
               "intervals. An interval that contains 0: no effect is seen.</p>\n"
               "<div class=\"scroll\"><table class=\"importance\"><tr><th>column</th><th></th>",
               r->importance[0].rows, r->importance[0].data, r->importance[0].repeats);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        add_head(b, heads[i]);
    buf_str(b, "</tr>\n");
    for (int i = 0; i < r->nimportance; i++) {
        buf_str(b, "<tr><td class=\"name\">");
        html_text(b, r->importance[i].column);
        buf_str(b, "</td>");
        add_bar(b, &r->importance[i].log_loss, most);
        add_effect(b, &r->importance[i].log_loss);
        add_effect(b, &r->importance[i].auc);
        buf_str(b, "</tr>\n");
    }
    buf_str(b, "</table></div>\n");
}
