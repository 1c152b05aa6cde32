/* Moment: times as they stand in tables, told by their form. */
#ifndef DATA_MOMENT_H
#define DATA_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum moment_form {
    MOMENT_NONE,
    MOMENT_YYMMDDHH,   /* 14102100 */
    MOMENT_YYYYMMDDHH, /* 2014102100 */
    MOMENT_ISO,        /* 2014-10-21, and hours behind a blank or T: 2014-10-21 00:15:00 */
    MOMENT_SECONDS,    /* since 1970 */
    MOMENT_MILLIS,
};
#define MOMENT_FORMS 6

const char *moment_form_name(enum moment_form form); /* "yymmddhh" */
/* MOMENT_NONE: no form of that name. */
enum moment_form moment_form_of(const char *name, size_t n);
/* Reads text[0..n), padded as lines are, in that form: something that grows with time, and the hour
 * of the day (0 when the form has none). False: it is not of that form. */
bool moment_read(enum moment_form form, const char *text, size_t n, int64_t *when, int *hour);

#endif
