/* Reading a run report again (docs/guide/report.md): what a run has left, or what somebody has
 * sent. */
#ifndef CLI_REPORT_READ_H
#define CLI_REPORT_READ_H

#include "base/error.h"
#include "report/run_report.h"

#define REPORT_JSON "report.json"
#define REPORT_HTML "report.html"

/* A report.json, or a folder that holds one, into an empty report. FORMAT and others, with the
 * file's name and line: it is not one, or broken. */
enum skiff_status report_read(const char *path, struct run_report *out, struct skiff_error *err);
enum skiff_status report_parse_json(const void *bytes, size_t n, const char *name,
                                    struct run_report *out, struct skiff_error *err);

#endif
