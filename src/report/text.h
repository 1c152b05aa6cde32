/* Texts of other processes in JSON and HTML, and numbers for readers. Names of slots, values of
 * configs and messages may hold anything: bytes that are no UTF-8 become U+FFFD, what has a
 * meaning in the format is escaped. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "base/buf.h"

/* With its quotes. Also valid in YAML. */
void json_text(struct buf *b, const char *text);
/* null when it is not finite; otherwise as many digits as it needs, up to 9. */
void json_number(struct buf *b, double v);
/* In text and in quoted attributes. */
void html_text(struct buf *b, const char *text);

/* "0.0031", "42", "12.3 k", "1.25 M": three digits or a little more. */
const char *number_short(double v, char out[static 32]);
/* "0.31 s", "45 s", "2:03", "1:02:03" */
const char *time_short(double seconds, char out[static 32]);
/* "1.2 GB" */
const char *bytes_short(double bytes, char out[static 32]);

#endif
