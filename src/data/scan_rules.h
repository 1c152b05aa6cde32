/* Rows that break a rule of the plan become bad lines; functions shared with scan.c. */
#ifndef DATA_SCAN_RULES_H
#define DATA_SCAN_RULES_H

#include "data/scan.h"

/* Removes the rows from `from` on that break a rule from the batch, as bad lines are. Returns
 * `status`, or the error when there are too many. */
enum skiff_status scan_check(struct scan *s, struct batch *b, int64_t from,
                             enum skiff_status status, struct skiff_error *err);

/* Whether the open file has lines; a cache and binary files have samples. */
bool scan_has_lines(const struct scan *s);
/* The number in the file of a line of its piece. The lines before a piece are counted when the
 * first one is asked for: bad lines are rare. */
int64_t scan_line_number(struct scan *s, int64_t line);
/* Counts and reports a bad line; OK when it may be skipped. */
enum skiff_status scan_bad_line(struct scan *s, int64_t line, enum bad_kind kind,
                                struct skiff_error *why, struct skiff_error *err);

#endif
