#include "base/day.h"

#include <ctype.h>

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

bool day_is_valid(int day)
{
    int year = day / 10000, month = day / 100 % 100, of = day % 100;
    return year >= 1000 && year <= 9999 && month >= 1 && month <= 12 && of >= 1 &&
           of <= days_of_month(year, month);
}

int day_next(int day)
{
    int year = day / 10000, month = day / 100 % 100, of = day % 100 + 1;
    if (of > days_of_month(year, month)) {
        of = 1;
        month++;
    }
    if (month > 12) {
        month = 1;
        year++;
    }
    return year * 10000 + month * 100 + of;
}

int day_take(const char **text)
{
    int day = 0;
    const char *s = *text;
    for (int i = 0; i < 8; i++, s++) {
        if (!isdigit((unsigned char)*s))
            return 0;
        day = day * 10 + (*s - '0');
    }
    *text = s;
    return !isdigit((unsigned char)*s) && day_is_valid(day) ? day : 0;
}
