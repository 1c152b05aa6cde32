/* Time formats of table columns. */
#ifndef DATA_MOMENT_H
#define DATA_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum timestamp_form {
    TIMESTAMP_NONE,
    TIMESTAMP_YYMMDDHH,   /* 14102100 */
    TIMESTAMP_YYYYMMDDHH, /* 2014102100 */
    TIMESTAMP_ISO,        /* 2014-10-21, and hours behind a blank or T: 2014-10-21 00:15:00 */
    TIMESTAMP_SECONDS,    /* since 1970 */
    TIMESTAMP_MILLIS,
};
#define TIMESTAMP_FORMS 6

const char *timestamp_form_name(enum timestamp_form form); /* "yymmddhh" */
/* TIMESTAMP_NONE: no form of that name. */
enum timestamp_form timestamp_form_of(const char *name, size_t n);
/* Parses text[0..n), padded as lines are, in that format: a number that grows with time, and the
 * hour of the day (0 when the format has none). False: another format. */
bool timestamp_read(enum timestamp_form form, const char *text, size_t n, int64_t *when, int *hour);

#endif
