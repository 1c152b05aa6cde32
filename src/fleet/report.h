/* Report: what a worker tells the launcher that started it: lines on a pipe whose number stands in
 * SKIFF_PROGRESS_FD. Without the variable nothing is written. A full pipe drops the line: progress
 * never holds training up.
 *
 *   P epoch share samples seconds loss auc tables...
 *       the running epoch; unknown: share -1, loss and auc nan; the rest of the line: how the job's
 *       tables are, if it has any
 *   R samples seconds loss auc               the whole run, at its end */
#ifndef FLEET_REPORT_H
#define FLEET_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_TABLES 224

struct report {
    int epoch; /* -1: the whole run (R) */
    double share;
    int64_t samples;
    double seconds, loss, auc, job_auc;
    char tables[REPORT_TABLES];
};

#define REPORT_FD "SKIFF_PROGRESS_FD"

/* Is a launcher listening? */
bool report_wanted(void);
void report_send(const struct report *r);

/* One line without its end; false: not one of these. */
bool report_parse(const char *line, struct report *out);
int report_encode(const struct report *r, char *out, size_t room); /* with its end; bytes */

#endif
