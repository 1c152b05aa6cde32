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
    TIMESTAMP_ISO,        /* 2014-10-21; a time may follow: 2014-10-21T00:15:00.5+02:00 */
    TIMESTAMP_DMY,        /* 21/10/2014, 21.10.14; a time may follow: 21/10/2014 3:15 PM */
    TIMESTAMP_MDY,        /* 10/21/2014 */
    TIMESTAMP_SECONDS,    /* since 1970 */
    TIMESTAMP_MILLIS,
};
#define TIMESTAMP_FORMS 8
#define TIMESTAMP_DAY 86400 /* seconds */

struct timestamp {
    int64_t when; /* seconds since 1970, UTC where the text names its zone */
    int64_t day;  /* since 1970, as written */
    int hour;     /* as written; 0 when the text has none */
};

/* 0: Monday */
static inline int timestamp_weekday(const struct timestamp *t)
{
    return (int)(((t->day + 3) % 7 + 7) % 7);
}

const char *timestamp_form_name(enum timestamp_form form); /* "yymmddhh" */
/* TIMESTAMP_NONE: no form of that name. */
enum timestamp_form timestamp_form_of(const char *name, size_t n);
/* Parses text[0..n), padded as lines are, in that format. False: another format. */
bool timestamp_read(enum timestamp_form form, const char *text, size_t n, struct timestamp *out);

#endif
