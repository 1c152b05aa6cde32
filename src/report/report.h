/* A run report as text: the JSON that is kept beside the model, and pages that show one run or
 * several side by side. Pure functions; docs/guide/report.md describes the JSON's shape. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/buf.h"
#include "report/run_report.h"

#define REPORT_VERSION 1
#define REPORT_MAX_RUNS 16 /* side by side */

void report_json(const struct run_report *r, struct buf *out);
/* n from 1 to REPORT_MAX_RUNS. One file: nothing is loaded from elsewhere. */
void report_html(const struct run_report *const *runs, int n, struct buf *out);

#endif
