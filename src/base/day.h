/* Days of the calendar as numbers: 20190720. */
#ifndef BASE_DAY_H
#define BASE_DAY_H

#include <stdbool.h>

bool day_is_valid(int day); /* of the calendar, as yyyymmdd */
int day_next(int day);      /* 20191231: 20200101 */
/* Eight digits at *text, which then stands behind them; 0: there is no day. */
int day_take(const char **text);

#endif
