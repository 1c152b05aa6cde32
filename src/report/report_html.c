/* The page of one run, or of several side by side. It answers in this order: is it learning, is it
 * calibrated, is it fast, did anything go wrong; what it was made with comes last.
 *
 * The page is one file that refers to no other, so that it can be mailed and opened anywhere.
 * Names, settings and messages of a run are untrusted text and pass through html_text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "report/html_parts.h"
#include "report/text.h"

const char *run_label(const struct run_report *r)
{
    return r->label[0] ? r->label : r->model_path[0] ? r->model_path : r->name;
}

void add_swatch(struct buf *b, int i)
{
    buf_printf(b,
               "<svg class=\"swatch\" aria-hidden=\"true\" viewBox=\"0 0 18 10\"><path "
               "class=\"line%s c%d\" "
               "d=\"M0 5H18\"/></svg>",
               i >= 8 ? " again" : "", i % 8);
}

void html_begin_page(struct buf *b, const char *title)
{
    buf_str(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
               "<meta name=\"generator\" content=\"skiff\">\n<title>");
    html_text(b, title);
    buf_str(b, "</title>\n<style>\n");
    buf_str(b, page_style);
    buf_str(b, "</style>\n</head>\n<body>\n<main>\n");
}

void html_end_page(struct buf *b, const char *note)
{
    buf_str(b, "<footer>");
    html_text(b, note);
    buf_str(b, "</footer>\n</main>\n<script>");
    buf_str(b, page_script);
    buf_str(b, "</script>\n</body>\n</html>\n");
}

/* ---- the head of one run ---- */

/* "2026-05-01T10:11:12Z" for readers; anything else as it is. */
static void add_time(struct buf *b, const char *text)
{
    size_t n = strlen(text);
    if (n != 20 || text[10] != 'T' || text[19] != 'Z') {
        html_text(b, text);
        return;
    }
    char day[11], hour[9];
    snprintf(day, sizeof(day), "%.10s", text);
    snprintf(hour, sizeof(hour), "%.8s", text + 11);
    html_text(b, day);
    buf_char(b, ' ');
    html_text(b, hour);
    buf_str(b, " UTC");
}

static void add_header(struct buf *b, const struct run_report *r)
{
    char text[32];
    buf_str(b, "<header><p class=\"eyebrow\">skiff ");
    html_text(b, r->command);
    buf_str(b, r->model_path[0] ? " \u00b7 " : "");
    html_text(b, r->model_path);
    buf_str(b, "</p>\n<h1>");
    html_text(b, r->model);
    buf_printf(b, "</h1>\n<p class=\"sub\"><span class=\"pill %s\">%s</span><span>started ",
               run_status_word(r->status), run_status_word(r->status));
    add_time(b, r->started);
    buf_printf(b, "</span><span>%s</span><span>%lld thread%s", time_short(r->seconds, text),
               (long long)r->threads, plural(r->threads));
    if (r->servers)
        buf_printf(b, ", %lld server%s", (long long)r->servers, plural(r->servers));
    if (r->workers > 1 || r->servers)
        buf_printf(b, ", %lld %s%s", (long long)r->workers, r->servers ? "worker" : "rank",
                   plural(r->workers));
    buf_str(b, r->name[0] ? "</span><span>run " : "");
    html_text(b, r->name);
    buf_str(b, "</span></p>\n");
    if (r->status == RUN_RUNNING)
        buf_str(b, "<p class=\"note\">This page was written during the run. If the run has ended, "
                   "it was killed.</p>\n");
    buf_str(b, "</header>\n");
}

static void open_card(struct buf *b, const char *question, const char *value)
{
    buf_printf(b, "<div class=\"card\"><p class=\"q\">%s</p><p class=\"v\">%s</p><p class=\"s\">",
               question, value);
}

static void close_card(struct buf *b)
{
    buf_str(b, "</p></div>\n");
}

static const char *number_text(double v, char out[static 32])
{
    if (fabs(v) >= 1e4)
        return number_short(v, out);
    snprintf(out, 32, "%.4f", v);
    return out;
}

static void add_number_card(struct buf *b, const char *question, double value, double first,
                            const char *else_text)
{
    char text[32];
    open_card(b, question, number_text(value, text));
    if (isfinite(first) && fabs(value - first) < 1e4)
        buf_printf(b, "%s%.4f since the first epoch", value < first ? "\u2212" : "+",
                   fabs(value - first));
    else
        buf_str(b, else_text);
    close_card(b);
}

static void add_copc_card(struct buf *b, const char *question, double copc)
{
    char text[32];
    double off = 100 * (copc - 1);
    snprintf(text, sizeof(text), "%.3f", copc);
    open_card(b, question, fabs(copc) < 1e4 ? text : number_short(copc, text));
    bool bold = fabs(off) >= 10;
    if (fabs(off) < 0.5)
        buf_str(b, "clicks as predicted");
    else
        buf_printf(b, "%s%s %% %s clicks than predicted%s", bold ? "<b>" : "",
                   number_short(round(fabs(off)), text), off > 0 ? "more" : "fewer",
                   bold ? "</b>" : "");
    close_card(b);
}

static void add_speed_card(struct buf *b, const struct run_report *r)
{
    char text[32];
    const struct run_epoch *last = run_last_epoch(r);
    open_card(b, "Fast? Samples/s", number_short(run_speed(r), text));
    if (last)
        buf_printf(b, "%.0f&nbsp;%% of the time spent on reading", 100 * last->read);
    close_card(b);
}

static void add_trouble_card(struct buf *b, const struct run_report *r)
{
    int errors = run_count_events(r, RUN_ERROR), warnings = run_count_events(r, RUN_WARNING);
    char text[64];
    snprintf(text, sizeof(text), "%s", run_status_word(r->status));
    open_card(b, "Anything wrong?", text);
    if (errors)
        buf_printf(b, "<b class=\"bad\">%d error%s</b>, ", errors, plural(errors));
    if (warnings)
        buf_printf(b, "<b>%d warning%s</b>", warnings, plural(warnings));
    else
        buf_str(b, "no warnings");
    close_card(b);
}

static void add_done_card(struct buf *b, const struct run_report *r)
{
    char text[32];
    open_card(b, "Samples", number_short(r->samples, text));
    buf_printf(b, "%d epoch%s in %s", r->nepochs, plural(r->nepochs), time_short(r->seconds, text));
    close_card(b);
}

/* The best epoch's number, and the last one's if that is another. */
static void add_valid_card(struct buf *b, const struct run_report *r, const char *question,
                           double best, double last)
{
    const struct run_point *p = run_best_valid(r);
    char text[32];
    if (!isfinite(best))
        return;
    open_card(b, question, number_text(best, text));
    buf_printf(b, "\u2605 best epoch: %d", p->epoch);
    if (p != &r->valid.at[r->valid.n - 1] && isfinite(last))
        buf_printf(b, "; last: %s", number_text(last, text));
    close_card(b);
}

static void add_valid_cards(struct buf *b, const struct run_report *r)
{
    const struct run_point *p = run_best_valid(r);
    if (!p)
        return;
    const struct run_numbers *best = &p->n, *last = &r->valid.at[r->valid.n - 1].n;
    add_valid_card(b, r, "Validation AUC", best->auc, last->auc);
    if (isfinite(best->log_loss))
        add_valid_card(b, r, "Validation log loss", best->log_loss, last->log_loss);
    else
        add_valid_card(b, r, "Validation loss", best->loss, last->loss);
    if (isfinite(best->copc))
        add_copc_card(b, "Calibrated? Validation COPC", best->copc);
}

static void add_test_card(struct buf *b, const struct run_report *r)
{
    const struct run_test *t = run_best_test(r);
    char text[32];
    if (!t || !isfinite(t->n.auc))
        return;
    open_card(b, "Test AUC", number_text(t->n.auc, text));
    buf_printf(b, "%sepoch %d, by skiff infer", t->best ? "\u2605 " : "", t->epoch);
    close_card(b);
}

/* Without validation they are the headlines, with it they come second. */
static void add_training_cards(struct buf *b, const struct run_report *r)
{
    const struct run_epoch *last = run_last_epoch(r);
    const struct run_epoch *first = r->nepochs > 1 ? &r->epochs[0] : NULL;
    if (!last)
        return;
    if (isfinite(last->n.auc))
        add_number_card(b, "Training AUC", last->n.auc, first ? first->n.auc : NAN,
                        "of the last epoch");
    if (isfinite(last->n.log_loss))
        add_number_card(b, "Training log loss", last->n.log_loss, first ? first->n.log_loss : NAN,
                        "of the last epoch");
    else if (isfinite(last->n.loss))
        add_number_card(b, "Training loss", last->n.loss, first ? first->n.loss : NAN,
                        "of the last epoch");
    if (!r->valid.n && isfinite(last->n.copc))
        add_copc_card(b, "Calibrated? Training COPC", last->n.copc);
}

static int count_parts(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

/* Rows of about the same length, of at most 7 cards on a wide screen. */
static void add_cards(struct buf *b, const struct run_report *r)
{
    struct buf cards = BUF_INIT;
    add_valid_cards(&cards, r);
    add_test_card(&cards, r);
    add_training_cards(&cards, r);
    if (r->nepochs)
        add_speed_card(&cards, r);
    add_done_card(&cards, r);
    add_trouble_card(&cards, r);
    int n = count_parts(cards.data, "<div class=\"card\">"), rows = (n + 6) / 7;
    buf_printf(b, "<div class=\"cards\" style=\"--n:%d\">\n%s</div>\n", (n + rows - 1) / rows,
               cards.data);
    buf_deinit(&cards);
}

/* ---- sections ---- */

static void add_heading(struct buf *b, const char *text)
{
    buf_printf(b, "<h2>%s</h2>\n", text);
}

static void add_worker_note(struct buf *b, const struct run_report *r)
{
    if (r->workers > 1)
        buf_printf(b,
                   "<p class=\"note\">Epochs cover all %lld workers. Within an epoch, curves show "
                   "the part of worker %lld; samples and speed are scaled to all workers.</p>\n",
                   (long long)r->workers, (long long)r->worker);
}

static bool has_calibration(const struct runs *runs)
{
    for (int i = 0; i < runs->n; i++)
        if (runs->at[i]->calibration.n || runs->at[i]->valid_calibration.n ||
            runs->at[i]->test_calibration.n)
            return true;
    return false;
}

static void add_one(struct buf *b, const struct runs *runs)
{
    const struct run_report *r = runs->at[0];
    add_header(b, r);
    add_data_table(b, r);
    add_cards(b, r);
    add_heading(b, "Is it learning?");
    add_worker_note(b, r);
    add_learning(b, runs);
    add_heading(b, has_calibration(runs) ? "Is it calibrated, is it fast?" : "Is it fast?");
    buf_str(b, "<div class=\"two\">\n");
    if (has_calibration(runs))
        add_calibration(b, runs);
    buf_str(b, "<div class=\"stack\">\n");
    add_speed(b, runs);
    add_time_table(b, r);
    buf_str(b, "</div></div>\n");
    add_quality_section(b, r);
    add_importance_section(b, r);
    add_heading(b, "Did anything go wrong?");
    add_events_table(b, r);
    add_heading(b, "Epochs");
    add_epochs_table(b, r);
    if (r->ntests) {
        add_heading(b, "On test data");
        add_tests_table(b, r);
    }
    if (r->nslots) {
        add_heading(b, "Columns and slots");
        buf_printf(b,
                   "<p class=\"note\">From a sample of %lld training rows; distinct values are "
                   "estimated from these rows.</p>\n",
                   (long long)r->slot_rows);
        add_slots_table(b, r);
    }
    buf_str(b, "<div class=\"two\"><div>");
    add_heading(b, "Config");
    add_config_table(b, r);
    buf_str(b, "</div><div>");
    add_heading(b, "Machine");
    add_machine_table(b, r);
    buf_str(b, "</div></div>\n");
}

static void add_legend(struct buf *b, const struct runs *runs)
{
    buf_str(b, "<p class=\"legend\">");
    for (int i = 0; i < runs->n; i++) {
        buf_str(b, "<span>");
        add_swatch(b, i);
        html_text(b, run_label(runs->at[i]));
        buf_str(b, "</span>");
    }
    buf_str(b, "</p>\n");
}

static void add_details(struct buf *b, const struct runs *runs)
{
    for (int i = 0; i < runs->n; i++) {
        const struct run_report *r = runs->at[i];
        int wrong = run_count_events(r, RUN_WARNING) + run_count_events(r, RUN_ERROR);
        buf_str(b, "<details><summary>");
        add_swatch(b, i);
        html_text(b, run_label(r));
        buf_printf(b, ": %d event%s, %d warning%s or error%s</summary>\n", r->nevents,
                   plural(r->nevents), wrong, plural(wrong), plural(wrong));
        add_events_table(b, r);
        add_epochs_table(b, r);
        add_machine_table(b, r);
        buf_str(b, "</details>\n");
    }
}

static void add_several(struct buf *b, const struct runs *runs)
{
    buf_printf(b,
               "<header><p class=\"eyebrow\">skiff report</p>\n<h1>%d runs side by side</h1>"
               "</header>\n",
               runs->n);
    add_results_table(b, runs);
    add_heading(b, "Which one learns better?");
    add_legend(b, runs);
    add_learning(b, runs);
    add_heading(b, "Calibration and speed");
    add_legend(b, runs);
    buf_str(b, "<div class=\"two several\">\n");
    if (has_calibration(runs))
        add_calibration(b, runs);
    add_speed(b, runs);
    buf_str(b, "</div>\n");
    add_heading(b, "How do their configs differ?");
    add_differences_table(b, runs);
    add_heading(b, "Each of them");
    add_details(b, runs);
}

void report_html(const struct run_report *const *at, int n, struct buf *out)
{
    struct runs runs = {at, n};
    struct buf title = BUF_INIT;
    if (n == 1)
        buf_printf(&title, "%s: %s", at[0]->model, at[0]->model_path);
    else
        buf_printf(&title, "%d runs side by side", n);
    html_begin_page(out, title.data);
    if (n == 1)
        add_one(out, &runs);
    else
        add_several(out, &runs);
    html_end_page(out, "Written by skiff; the same numbers are in report.json in the same folder.");
    buf_deinit(&title);
}
