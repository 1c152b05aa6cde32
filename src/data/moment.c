/* Time formats of table columns (moment.h).
 *
 * Each form has a reader that takes the whole text or refuses it; detection tries them all, so a
 * reader must be strict: ranges of years keep other numbers from looking like times. Days are
 * counted without the C library, whose functions depend on the machine's zone and locale. */
#include "data/moment.h"

#include <string.h>
#include <strings.h>

#include "data/text.h"

static const char *const names[TIMESTAMP_FORMS] = {"none", "yymmddhh", "yyyymmddhh",  "iso", "dmy",
                                                   "mdy",  "seconds",  "milliseconds"};

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

/* At least one and at most `most` digits at *at, which moves behind them. */
static bool take(const char **at, const char *end, int most, int64_t *out)
{
    const char *p = *at;
    for (*out = 0; p < end && p - *at < most && text_digit(*p); p++)
        *out = *out * 10 + (*p - '0');
    bool any = p > *at;
    *at = p;
    return any;
}

static bool is_day(int64_t year, int64_t month, int64_t day)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

/* Days since 1970 of a day of the Gregorian calendar; years begin with March. */
static int64_t days_since_1970(int64_t year, int64_t month, int64_t day)
{
    int64_t y = year - (month <= 2), m = (month + 9) % 12;
    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

/* [YY]YYMMDDHH */
static bool read_compact(const char *p, size_t n, size_t want, struct timestamp *out)
{
    int64_t v;
    if (n != want || !digits(p, n, &v))
        return false;
    int64_t year = v / 1000000 + (want == 8 ? 2000 : 0), month = v / 10000 % 100;
    if (!is_day(year, month, v / 100 % 100) || v % 100 > 23 || year < 1970 || year > 2200)
        return false;
    out->day = days_since_1970(year, month, v / 100 % 100);
    out->hour = (int)(v % 100);
    out->when = out->day * TIMESTAMP_DAY + out->hour * 3600;
    return true;
}

/* Z, +02:00, -0530 or nothing known: seconds that the zone is ahead of UTC. */
static int64_t zone_of(const char *p, const char *end)
{
    int64_t hours, minutes = 0;
    if (p == end || (*p != '+' && *p != '-'))
        return 0;
    int64_t sign = *p++ == '-' ? -1 : 1;
    if (!take(&p, end, 2, &hours))
        return 0;
    p += p < end && *p == ':';
    take(&p, end, 2, &minutes);
    return sign * (hours * 3600 + minutes * 60);
}

/* What follows a day: nothing, or a blank or T and HH[:MM[:SS[.fraction]]][ AM| PM][zone]. */
static bool read_clock(const char *p, const char *end, struct timestamp *out)
{
    int64_t hour = 0, minute = 0, second = 0, fraction;
    if (p < end && ((*p != ' ' && *p != 'T') || (p++, !take(&p, end, 2, &hour))))
        return false;
    if (p < end && *p == ':' && (p++, !take(&p, end, 2, &minute)))
        return false;
    if (p < end && *p == ':' && (p++, !take(&p, end, 2, &second)))
        return false;
    if (p < end && (*p == '.' || *p == ',') && (p++, !take(&p, end, 9, &fraction)))
        return false;
    p = text_skip_blanks(p, end);
    if (end - p >= 2 && hour >= 1 && hour <= 12 && strncasecmp(p + 1, "M", 1) == 0 &&
        strchr("aApP", *p)) {
        hour = hour % 12 + (*p == 'p' || *p == 'P' ? 12 : 0);
        p = text_skip_blanks(p + 2, end);
    }
    if (hour > 23 || minute > 59 || second > 60 || (p < end && text_digit(*p)))
        return false;
    out->hour = (int)hour;
    out->when = out->day * TIMESTAMP_DAY + hour * 3600 + minute * 60 + second - zone_of(p, end);
    return true;
}

/* YYYY-MM-DD, also with / */
static bool read_iso(const char *p, size_t n, struct timestamp *out)
{
    int64_t year, month, day;
    if (n < 10 || (p[4] != '-' && p[4] != '/') || p[7] != p[4] || !digits(p, 4, &year) ||
        !digits(p + 5, 2, &month) || !digits(p + 8, 2, &day) || !is_day(year, month, day))
        return false;
    out->day = days_since_1970(year, month, day);
    return read_clock(p + 10, p + n, out);
}

/* D/M/YYYY or M/D/YYYY, also with . or -, and with years of two digits from 1970 to 2069 */
static bool read_dated(const char *p, size_t n, bool month_first, struct timestamp *out)
{
    const char *end = p + n, *year_at;
    int64_t first, second, year;
    if (!take(&p, end, 2, &first) || p == end || !strchr("/.-", *p))
        return false;
    char mark = *p++;
    if (!take(&p, end, 2, &second) || p == end || *p != mark)
        return false;
    year_at = ++p;
    if (!take(&p, end, 4, &year) || (p - year_at != 4 && p - year_at != 2))
        return false;
    if (p - year_at == 2)
        year += year < 70 ? 2000 : 1900;
    int64_t month = month_first ? first : second, day = month_first ? second : first;
    if (!is_day(year, month, day))
        return false;
    out->day = days_since_1970(year, month, day);
    return read_clock(p, end, out);
}

/* From 2000 to 2100, so that few other numbers look like it. */
static bool read_unix(const char *p, size_t n, int64_t per_second, struct timestamp *out)
{
    int64_t v;
    if (n > 14 || !digits(p, n, &v) || v / per_second < 946684800 || v / per_second > 4102444800)
        return false;
    out->when = v / per_second;
    out->day = out->when / TIMESTAMP_DAY;
    out->hour = (int)(out->when % TIMESTAMP_DAY / 3600);
    return true;
}

bool timestamp_read(enum timestamp_form form, const char *text, size_t n, struct timestamp *out)
{
    switch (form) {
    case TIMESTAMP_NONE:
        return false;
    case TIMESTAMP_YYMMDDHH:
        return read_compact(text, n, 8, out);
    case TIMESTAMP_YYYYMMDDHH:
        return read_compact(text, n, 10, out);
    case TIMESTAMP_ISO:
        return read_iso(text, n, out);
    case TIMESTAMP_DMY:
        return read_dated(text, n, false, out);
    case TIMESTAMP_MDY:
        return read_dated(text, n, true, out);
    case TIMESTAMP_SECONDS:
        return read_unix(text, n, 1, out);
    case TIMESTAMP_MILLIS:
        return read_unix(text, n, 1000, out);
    }
    return false;
}
