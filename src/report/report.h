/* A run report as text: the JSON that is kept beside the model, and pages that show one run or
 * several side by side. Pure functions, but those with files; docs/guide/report.md describes the
 * JSON. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/buf.h"
#include "base/error.h"
#include "report/run_report.h"

#define REPORT_JSON "report.json" /* in the folder of a run's models */
#define REPORT_HTML "report.html"

#define REPORT_VERSION 1
#define REPORT_MAX_RUNS 16 /* side by side */

void report_json(const struct run_report *r, struct buf *out);
/* n from 1 to REPORT_MAX_RUNS. One file: nothing is loaded from elsewhere. */
void report_html(const struct run_report *const *runs, int n, struct buf *out);

/* Both forms into the folder, each atomically; of texts that were made before. */
enum skiff_status report_write_texts(const char *folder, const struct buf *json,
                                     const struct buf *html, struct skiff_error *err);
enum skiff_status report_write(const struct run_report *r, const char *folder,
                               struct skiff_error *err);
/* A report.json, or a folder that holds one, into an empty report. FORMAT and others, with the
 * file's name and line: it is not one, or broken. */
enum skiff_status report_read(const char *path, struct run_report *out, struct skiff_error *err);
enum skiff_status report_parse_json(const void *bytes, size_t n, const char *name,
                                    struct run_report *out, struct skiff_error *err);

#endif
