#include "data/number.h"

#include <string.h>

#include "data/text.h"

#define LONGEST 40 /* bytes */

static const char *const names[NUMBER_FORMS] = {"plain", "point", "comma"};

/* May stand before a number or behind it. */
static const char *const units[] = {"$",  "€",   "£",   "¥",   "₹",   "₽", "%", "zł",
                                    "kr", "EUR", "USD", "GBP", "CHF", "JPY", NULL};

const char *number_form_name(enum number_form form)
{
    return names[form];
}

bool number_form_of(const char *name, size_t n, enum number_form *out)
{
    for (int i = 0; i < NUMBER_FORMS; i++)
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0) {
            *out = (enum number_form)i;
            return true;
        }
    return false;
}

/* Bytes of a blank at p, also the ones that are not broken at line ends (UTF-8). */
static size_t blank_at(const char *p, const char *end)
{
    if (p < end && *p == ' ')
        return 1;
    if (end - p >= 2 && memcmp(p, "\xc2\xa0", 2) == 0)
        return 2;
    return end - p >= 3 && memcmp(p, "\xe2\x80\xaf", 3) == 0 ? 3 : 0;
}

static size_t unit_at(const char *p, const char *end)
{
    for (int i = 0; units[i]; i++) {
        size_t n = strlen(units[i]);
        if ((size_t)(end - p) >= n && memcmp(p, units[i], n) == 0)
            return n;
    }
    return 0;
}

/* Skips blanks and at most one unit; it begins or ends the number. */
static const char *skip_unit(const char *p, const char *end)
{
    size_t n;
    while ((n = blank_at(p, end)))
        p += n;
    p += unit_at(p, end);
    while ((n = blank_at(p, end)))
        p += n;
    return p;
}

/* Bytes of a thousands separator at p, before three digits. */
static size_t group_at(const char *p, const char *end, char mark)
{
    size_t n = blank_at(p, end);
    if (!n)
        n = p < end && (*p == mark || *p == '\'');
    if (!n || (size_t)(end - p) < n + 3)
        return 0;
    for (size_t i = 0; i < 3; i++)
        if (!text_digit(p[n + i]))
            return 0;
    return n;
}

/* The digits at p to `out`, with a point between them where the form has its decimal mark. Returns
 * the end of the number, or NULL. */
static const char *take_digits(const char *p, const char *end, enum number_form form, char *out)
{
    char mark = form == NUMBER_POINT ? ',' : '.', decimal = form == NUMBER_POINT ? '.' : ',';
    const char *begin = p;
    size_t n;
    while (p < end && text_digit(*p))
        *out++ = *p++;
    bool grouped = p - begin >= 1 && p - begin <= 3 && *begin != '0';
    while (grouped && (n = group_at(p, end, mark))) {
        memcpy(out, p + n, 3);
        out += 3;
        p += n + 3;
    }
    bool any = p > begin;
    if (p < end && *p == decimal) {
        *out++ = '.';
        for (p++; p < end && text_digit(*p); any = true)
            *out++ = *p++;
    }
    *out = '\n';
    return any ? p : NULL;
}

bool number_read(enum number_form form, const char *text, size_t n, float *out)
{
    char plain[LONGEST + 2 + TEXT_PAD] = {0};
    const char *p = text, *end = text + n;
    if (form == NUMBER_PLAIN)
        return text_f32(text, out) == end && *out - *out == 0;
    if (n == 0 || n > LONGEST)
        return false;
    bool negative = n > 2 && *p == '(' && end[-1] == ')';
    p += negative;
    end -= negative;
    bool sign = p < end && (*p == '-' || *p == '+'); /* -$5, $-5 */
    negative |= sign && *p == '-';
    p = skip_unit(p + sign, end);
    if (!sign && p < end && (*p == '-' || *p == '+'))
        negative |= *p++ == '-';
    p = take_digits(p, end, form, plain + 1);
    if (!p || skip_unit(p, end) != end)
        return false;
    plain[0] = negative ? '-' : '+';
    return text_f32(plain, out) == plain + strlen(plain) - 1 && *out - *out == 0;
}
