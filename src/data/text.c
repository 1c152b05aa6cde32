/* Numbers and separators in text (text.h).
 *
 * Digits are taken 8 at a time from a 64-bit load, without a branch per character; lines are
 * padded, so that no bounds need be checked. A float goes through a double of up to 19 digits and
 * an exact power of ten, which is right unless the result lies next to the middle between two
 * floats; then, and for anything unusual (hex, nan, inf, long mantissas), strtof decides, in the C
 * locale. So the result is always that of strtof, at a fraction of its time. */
#define _GNU_SOURCE

#include "data/text.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

const uint64_t text_pow10[20] = {1ull,
                                 10ull,
                                 100ull,
                                 1000ull,
                                 10000ull,
                                 100000ull,
                                 1000000ull,
                                 10000000ull,
                                 100000000ull,
                                 1000000000ull,
                                 10000000000ull,
                                 100000000000ull,
                                 1000000000000ull,
                                 10000000000000ull,
                                 100000000000000ull,
                                 1000000000000000ull,
                                 10000000000000000ull,
                                 100000000000000000ull,
                                 1000000000000000000ull,
                                 10000000000000000000ull};

/* Powers that a double holds exactly. */
static const double exact_pow10[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

const char *text_u64_long(const char *p, uint64_t *out, bool *overflow);

const char *text_u64_long(const char *p, uint64_t *out, bool *overflow)
{
    uint64_t x = 0;
    bool over = false;
    for (;;) {
        uint64_t v = text_load64(p), scaled;
        int n = text_digits8(v);
        if (n)
            over |= __builtin_mul_overflow(x, text_pow10[n], &scaled) ||
                    __builtin_add_overflow(scaled, text_value8(v, n), &x);
        p += n;
        if (n < 8)
            break;
    }
    *out = over ? UINT64_MAX : x;
    if (over)
        *overflow = true;
    return p;
}

const char *text_i64(const char *p, int64_t *out, bool *overflow)
{
    const char *start = p;
    bool negative = *p == '-', over = false;
    uint64_t x;
    p += negative || *p == '+';
    const char *end = text_u64(p, &x, &over);
    if (end == p)
        return start;
    uint64_t most = (uint64_t)INT64_MAX + negative;
    if (over || x > most) {
        x = most;
        *overflow = true;
    }
    *out = negative ? (int64_t)(0 - x) : (int64_t)x;
    return end;
}

const char *text_id(const char *p, uint64_t *out)
{
    const char *start = p;
    bool negative = *p == '-', over = false;
    uint64_t x;
    p += negative || *p == '+';
    const char *end = text_u64(p, &x, &over);
    if (end == p)
        return start;
    *out = negative && !over ? 0 - x : x;
    return end;
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void c_locale_make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Everything that is not a short decimal number. p[0] is not a blank: strtof would skip it. */
static const char *text_f32_slow(const char *p, float *out)
{
    char *end;
    pthread_once(&c_locale_once, c_locale_make);
    float f = c_locale ? strtof_l(p, &end, c_locale) : strtof(p, &end);
    if (end != p)
        *out = f;
    return end;
}

/* mantissa * 10^exponent as a float, when that is certain: the double result is off by less than 4
 * units in its last place, so that the float is right unless the double lies that near to the
 * middle of two floats. */
static inline bool decimal_f32(uint64_t mantissa, int exponent, float *out)
{
    if (mantissa == 0) {
        *out = 0;
        return true;
    }
    if (exponent < -22 || exponent > 22)
        return false;
    double d = (double)mantissa;
    d = exponent < 0 ? d / exact_pow10[-exponent] : d * exact_pow10[exponent];
    uint64_t bits;
    memcpy(&bits, &d, 8);
    uint64_t low = bits & 0x1fffffff; /* what a float has no room for; 2^28 is the middle */
    if (low - (0x10000000 - 4) <= 8 || d < 0x1p-125 || d > 0x1p+127)
        return false;
    *out = (float)d;
    return true;
}

/* An exponent at p ('e' seen): adds it to *exponent. False when it is not a plain one. */
static bool exponent_at(const char **p, int *exponent)
{
    const char *s = *p + 1;
    bool negative = *s == '-';
    s += negative || *s == '+';
    int n = 0, x = 0;
    for (; text_digit(*s) && n < 5; s++, n++)
        x = x * 10 + (*s - '0');
    if (n == 0 || n == 5)
        return false;
    *exponent += negative ? -x : x;
    *p = s;
    return true;
}

/* Digits at p joined to *mantissa; *digits counts those behind leading zeros. */
static inline const char *mantissa_at(const char *p, uint64_t *mantissa, int *digits)
{
    for (;;) {
        uint64_t v = text_load64(p);
        int n = text_digits8(v);
        if (n == 0)
            return p;
        *mantissa = *mantissa * text_pow10[n] + text_value8(v, n);
        *digits += n;
        p += n;
        if (n < 8)
            return p;
    }
}

const char *text_f32(const char *p, float *out)
{
    const char *start = p;
    if (text_blank(*p) || *p == '\n')
        return start;
    bool negative = *p == '-';
    p += negative || *p == '+';
    const char *first = p;
    uint64_t mantissa = 0;
    int digits = 0, exponent = 0, leading = 0;
    while (*p == '0')
        p++, leading++;
    if (leading && (*p == 'x' || *p == 'X'))
        return text_f32_slow(start, out);
    p = mantissa_at(p, &mantissa, &digits);
    if (*p == '.') {
        const char *fraction = ++p;
        if (digits == 0)
            while (*p == '0')
                p++;
        p = mantissa_at(p, &mantissa, &digits);
        exponent = (int)(fraction - p);
        if (p - first < 2) /* a lone point */
            return start;
    } else if (p == first) {
        return text_f32_slow(start, out);
    }
    if ((*p == 'e' || *p == 'E') && !exponent_at(&p, &exponent))
        return text_f32_slow(start, out);
    float f;
    if (digits > 19 || exponent < -1000 || !decimal_f32(mantissa, exponent, &f))
        return text_f32_slow(start, out);
    *out = negative ? -f : f;
    return p;
}

size_t text_find_all(const char *p, size_t n, char separator, uint32_t *out, size_t max)
{
    size_t found = 0, at = 0;
#ifdef __SSE2__
    /* 64 bytes at a time; the last step reads into the pad behind the text and masks it off */
    const __m128i want = _mm_set1_epi8(separator);
    for (; at < n; at += 64) {
        uint64_t mask = 0;
        for (int k = 0; k < 4; k++) {
            __m128i v = _mm_loadu_si128((const __m128i *)(p + at + 16 * k));
            mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, want)) << (16 * k);
        }
        if (n - at < 64)
            mask &= ((uint64_t)1 << (n - at)) - 1;
        for (; mask; mask &= mask - 1) {
            if (found < max)
                out[found] = (uint32_t)(at + (size_t)__builtin_ctzll(mask));
            found++;
        }
    }
#else
    for (const char *q; at < n && (q = memchr(p + at, separator, n - at)); found++) {
        if (found < max)
            out[found] = (uint32_t)(q - p);
        at = (size_t)(q - p) + 1;
    }
#endif
    return found;
}

const char *text_quote(const char *p, size_t n, char out[static 64])
{
    size_t at = 0, i;
    out[at++] = '"';
    for (i = 0; i < n && at < 44; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c >= 0x20 && c != 0x7f && c != '"' && c != '\\')
            out[at++] = (char)c;
        else
            at += (size_t)snprintf(out + at, 8, "\\x%02x", c);
    }
    snprintf(out + at, 64 - at, i < n ? "...\"" : "\"");
    return out;
}

bool text_is_utf8(const char *p, size_t n)
{
    const unsigned char *at = (const unsigned char *)p, *end = at + n;
    while (at < end) {
        if (end - at >= 8 && (text_load64((const char *)at) & 0x8080808080808080ull) == 0) {
            at += 8;
            continue;
        }
        unsigned char c = *at++;
        int more = c < 0x80 ? 0 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : -1;
        if (more < 0 || c > 0xf4 || end - at < more)
            return false;
        for (; more > 0; more--)
            if ((*at++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}
