/* With up to nine digits x is scaled to a whole number of so many by one exact power of ten: one
 * rounding, whose error is far below the margin that is kept from halves. Numbers that come nearer
 * to a half than that, exact halves among them, very large and very small ones, and those with more
 * digits are printf's. */
#include "base/print_g.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 9
#define POWER_MAX 22 /* the largest power of ten that a double holds exactly */
#define MARGIN 1e-6  /* of a digit; the error is below 1e9 * 2^-52 */

static const double power[POWER_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static double scaled(double x, int by)
{
    return by >= 0 ? x * power[by] : x / power[-by];
}

/* x > 0 is *whole * 10^(*exponent - digits + 1), rounded to so many digits; false: printf knows. */
static bool round_to(double x, int digits, uint32_t *whole, int *exponent)
{
    int two;
    frexp(x, &two);
    int e = (int)floor((two - 1) * 0.30102999566398120); /* log10: right, or one too small */
    if (abs(digits - 1 - e) > POWER_MAX || abs(digits - 2 - e) > POWER_MAX)
        return false;
    if (scaled(x, digits - 1 - e) >= power[digits])
        e++;
    double y = scaled(x, digits - 1 - e), below = floor(y), rest = y - below;
    if (fabs(rest - 0.5) < MARGIN)
        return false;
    *whole = (uint32_t)below + (rest > 0.5);
    if (*whole == (uint32_t)power[digits]) {
        *whole /= 10;
        e++;
    }
    *exponent = e;
    return true;
}

/* The digits without zeros at the end; how many are left. */
static int spell(uint32_t whole, int digits, char text[DIGITS_MAX])
{
    for (int i = digits; i-- > 0; whole /= 10)
        text[i] = (char)('0' + whole % 10);
    while (digits > 1 && text[digits - 1] == '0')
        digits--;
    return digits;
}

static char *copy(char *at, const char *from, int n)
{
    memcpy(at, from, (size_t)n);
    return at + n;
}

static char *with_exponent(char *at, const char *text, int n, int e)
{
    *at++ = text[0];
    if (n > 1) {
        *at++ = '.';
        at = copy(at, text + 1, n - 1);
    }
    *at++ = 'e';
    *at++ = e < 0 ? '-' : '+';
    e = abs(e); /* two digits are enough, see POWER_MAX */
    *at++ = (char)('0' + e / 10);
    *at++ = (char)('0' + e % 10);
    return at;
}

static char *with_point(char *at, const char *text, int n, int e)
{
    static const char zeros[DIGITS_MAX + 1] = "000000000";
    if (e < 0) {
        at = copy(at, "0.", 2);
        at = copy(at, zeros, -e - 1);
        return copy(at, text, n);
    }
    if (n <= e + 1) {
        at = copy(at, text, n);
        return copy(at, zeros, e + 1 - n);
    }
    at = copy(at, text, e + 1);
    *at++ = '.';
    return copy(at, text + e + 1, n - e - 1);
}

size_t print_g(char *out, double x, int digits)
{
    char text[DIGITS_MAX] = "", *at = out;
    uint32_t whole = 0;
    int e = 0;
    bool zero = x == 0;
    if (!isfinite(x) || digits > DIGITS_MAX || (!zero && !round_to(fabs(x), digits, &whole, &e)))
        return (size_t)snprintf(out, PRINT_G_MAX, "%.*g", digits, x);
    if (signbit(x))
        *at++ = '-';
    int n = spell(whole, digits, text);
    at = e < -4 || e >= digits ? with_exponent(at, text, n, e) : with_point(at, text, n, e);
    *at = 0;
    return (size_t)(at - out);
}
