#include "data/moment.h"

#include <string.h>

#include "data/text.h"

static const char *const names[TIMESTAMP_FORMS] = {"none", "yymmddhh", "yyyymmddhh",
                                                   "iso",  "seconds",  "milliseconds"};

const char *timestamp_form_name(enum timestamp_form form)
{
    return names[form];
}

enum timestamp_form timestamp_form_of(const char *name, size_t n)
{
    for (int i = 1; i < TIMESTAMP_FORMS; i++)
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
            return (enum timestamp_form)i;
    return TIMESTAMP_NONE;
}

static bool digits(const char *p, size_t n, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (!text_digit(p[i]))
            return false;
        *out = *out * 10 + (p[i] - '0');
    }
    return n > 0;
}

static bool day_and_hour(int64_t month, int64_t day, int64_t hour)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour >= 0 && hour <= 23;
}

/* [YY]YYMMDDHH */
static bool read_compact(const char *p, size_t n, size_t want, int64_t *when, int *hour)
{
    int64_t v;
    if (n != want || !digits(p, n, &v) || !day_and_hour(v / 10000 % 100, v / 100 % 100, v % 100))
        return false;
    if (want == 10 && (v / 1000000 < 1970 || v / 1000000 > 2200))
        return false;
    *when = v;
    *hour = (int)(v % 100);
    return true;
}

/* YYYY-MM-DD[(T| )HH[:MM[:SS...]]], also with / */
static bool read_iso(const char *p, size_t n, int64_t *when, int *hour)
{
    int64_t year, month, day, h = 0, minute = 0, second = 0;
    if (n < 10 || (p[4] != '-' && p[4] != '/') || p[7] != p[4] || !digits(p, 4, &year) ||
        !digits(p + 5, 2, &month) || !digits(p + 8, 2, &day))
        return false;
    if (n > 10 && (n < 13 || (p[10] != ' ' && p[10] != 'T') || !digits(p + 11, 2, &h)))
        return false;
    if (n > 13 && (n < 16 || p[13] != ':' || !digits(p + 14, 2, &minute)))
        return false;
    if (n > 16 && p[16] == ':' && (n < 19 || !digits(p + 17, 2, &second)))
        return false;
    if (!day_and_hour(month, day, h))
        return false;
    *when = ((((year * 100 + month) * 100 + day) * 100 + h) * 100 + minute) * 100 + second;
    *hour = (int)h;
    return true;
}

/* From 2000 to 2100, so that few other numbers look like it. */
static bool read_unix(const char *p, size_t n, int64_t per_second, int64_t *when, int *hour)
{
    int64_t v;
    if (n > 14 || !digits(p, n, &v) || v / per_second < 946684800 || v / per_second > 4102444800)
        return false;
    *when = v;
    *hour = (int)(v / per_second % 86400 / 3600);
    return true;
}

bool timestamp_read(enum timestamp_form form, const char *text, size_t n, int64_t *when, int *hour)
{
    switch (form) {
    case TIMESTAMP_NONE:
        return false;
    case TIMESTAMP_YYMMDDHH:
        return read_compact(text, n, 8, when, hour);
    case TIMESTAMP_YYYYMMDDHH:
        return read_compact(text, n, 10, when, hour);
    case TIMESTAMP_ISO:
        return read_iso(text, n, when, hour);
    case TIMESTAMP_SECONDS:
        return read_unix(text, n, 1, when, hour);
    case TIMESTAMP_MILLIS:
        return read_unix(text, n, 1000, when, hour);
    }
    return false;
}
