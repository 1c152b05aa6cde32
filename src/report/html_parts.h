/* What the files of the page share: report_html.c, report_curves.c, report_tables.c. */
#ifndef REPORT_HTML_PARTS_H
#define REPORT_HTML_PARTS_H

#include "report/report.h"

struct runs {
    const struct run_report *const *at;
    int n;
};

/* The page around everything. title, note: texts; the note stands at its end. */
void html_begin_page(struct buf *b, const char *title);
void html_end_page(struct buf *b, const char *note);

const char *run_label(const struct run_report *r);
/* A small line in the colour of run i. */
void add_swatch(struct buf *b, int i);

/* report_curves.c: figures */
void add_learning(struct buf *b, const struct runs *runs);
void add_calibration(struct buf *b, const struct runs *runs);
void add_speed(struct buf *b, const struct runs *runs);

/* report_tables.c */
void add_data_table(struct buf *b, const struct run_report *r);
void add_tests_table(struct buf *b, const struct run_report *r);
void add_epochs_table(struct buf *b, const struct run_report *r);
void add_slots_table(struct buf *b, const struct run_report *r);
void add_config_table(struct buf *b, const struct run_report *r);
void add_machine_table(struct buf *b, const struct run_report *r);
void add_events_table(struct buf *b, const struct run_report *r);
void add_time_table(struct buf *b, const struct run_report *r);
void add_results_table(struct buf *b, const struct runs *runs);
void add_differences_table(struct buf *b, const struct runs *runs);
/* A number as a cell; NAN: a dash. */
void add_cell(struct buf *b, double v, int digits);

extern const char page_style[], page_script[];

#endif
