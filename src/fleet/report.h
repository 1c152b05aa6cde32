/* Report: what a process of a job sends to the launcher that started it: lines on a pipe whose
 * number is in SKIFF_PROGRESS_FD. Without the variable nothing is written. A full pipe drops
 * the line: progress never holds training up.
 *
 *   P epoch share samples seconds loss auc tables...
 *       the running epoch; unknown: share -1, loss and auc nan; the rest of the line: how the job's
 *       tables are, if it has any
 *   D day pass share samples seconds loss auc tables...
 *       the same of the running pass of online training
 *   R samples seconds loss auc               the whole run, at its end
 *   S name{labels} value                     a counter or gauge (metrics/metrics.h,
 *                                            snapshot_write)
 *
 * News about members, so that the launcher sees what otherwise only logs show (struct report_news):
 *
 *   M role index state incarnation process reason
 *                                            a member has joined, left or died; process: 0, or its
 *                                            number on its machine
 *   L role index text                        the sender waits for a member that is alive
 *   A role index text                        the sender fails because of this member
 *   N text                                   a warning that belongs on the screen; the job is not
 *                                            entirely good any more */
#ifndef FLEET_REPORT_H
#define FLEET_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metrics_snapshot;

#define REPORT_TABLES 224

struct report {
    int epoch; /* or pass; -1: the whole run (R) */
    int day;   /* 20260131, of a pass; 0: an epoch */
    double share;
    int64_t samples;
    double seconds, loss, auc, job_auc;
    char tables[REPORT_TABLES];
};

enum report_news_kind {
    NEWS_MEMBER = 'M',
    NEWS_LATE = 'L',
    NEWS_ACCUSED = 'A',
    NEWS_WARNING = 'N'
};

struct report_news {
    enum report_news_kind kind;
    char role[16]; /* "worker", "server", "rank"; "": a note */
    int index;
    char state[16]; /* of a member: "here", "left", "dead" */
    uint64_t incarnation;
    int process;
    char text[512];
};

#define REPORT_FD "SKIFF_PROGRESS_FD"

/* Is a launcher listening? */
bool report_wanted(void);
void report_send(const struct report *r);
void report_news_send(const struct report_news *n);
/* A note, as printf. */
void report_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The counters and gauges of a snapshot, a line each. */
void report_metrics(const struct metrics_snapshot *s);

/* One line without its end; false: not one of these. */
bool report_parse(const char *line, struct report *out);
bool report_news_parse(const char *line, struct report_news *out);
/* Of an S line: the value replaces that of the same metric in `out`. */
bool report_metric_parse(const char *line, struct metrics_snapshot *out);
int report_news_encode(const struct report_news *n, char *out, size_t capacity);
int report_encode(const struct report *r, char *out, size_t capacity); /* with its end; bytes */

#endif
