/* Numbers and separators in text, fast and exact.
 *
 * All functions read from a line as source.h gives it: the byte behind the line is a line end, and
 * TEXT_PAD bytes behind the line may be read (their contents do not matter). */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_PAD 64

static inline uint64_t text_load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static inline bool text_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* What isspace takes for a blank, other than the line end. */
static inline bool text_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static inline const char *text_skip_blanks(const char *p, const char *end)
{
    while (p < end && text_blank(*p))
        p++;
    return p;
}

/* First blank at or behind p, or end. */
static inline const char *text_token_end(const char *p, const char *end)
{
    while (p < end && !text_blank(*p))
        p++;
    return p;
}

/* How many of the first 8 bytes of v are digits. A byte below the first non-digit is a digit and
 * neither carries nor borrows, so the lowest flag is exact. */
static inline int text_digits8(uint64_t v)
{
    uint64_t bad =
        ((v + 0x4646464646464646ull) | (v - 0x3030303030303030ull)) & 0x8080808080808080ull;
    return bad ? __builtin_ctzll(bad) >> 3 : 8;
}

/* Value of the first n (1 .. 8) bytes of v, all digits: shifted so that zeros lead, then pairs,
 * fours and eights are joined by one multiplication each. */
static inline uint64_t text_value8(uint64_t v, int n)
{
    v = (v & 0x0f0f0f0f0f0f0f0full) << (64 - 8 * n);
    v = (v * 10 + (v >> 8)) & 0x00ff00ff00ff00ffull;
    v = (v * 100 + (v >> 16)) & 0x0000ffff0000ffffull;
    return (v * 10000 + (v >> 32)) & 0xffffffff;
}

extern const uint64_t text_pow10[20]; /* 10^0 .. 10^19 */

/* Digits at p to *out; returns the byte behind them, or p when there is none. *overflow is set to
 * true, and *out to 2^64-1, when the number does not fit. */
static inline const char *text_u64(const char *p, uint64_t *out, bool *overflow)
{
    extern const char *text_u64_long(const char *p, uint64_t *out, bool *overflow);
    uint64_t v = text_load64(p);
    int n = text_digits8(v);
    if (n == 0)
        return p;
    if (__builtin_expect(n == 8, 0))
        return text_u64_long(p, out, overflow);
    *out = text_value8(v, n);
    return p + n;
}

/* An optional sign and digits, as strtoll in base 10 without blanks; returns p when there is no
 * number; *overflow as above, *out is the nearest int64 then. */
const char *text_i64(const char *p, int64_t *out, bool *overflow);

/* Paddle's ids, as strtoull takes them: a sign is allowed, a negative number wraps, a number of
 * more than 64 bits gives 2^64-1. */
const char *text_id(const char *p, uint64_t *out);

/* A float as strtof takes it (also hex, inf, nan; too large gives inf), correctly rounded; returns
 * p when there is none. The C locale always. */
const char *text_f32(const char *p, float *out);

/* Positions of `separator` in p[0..n), at most max of them; returns how many there are (it may be
 * more than max: only max are stored). */
size_t text_find_all(const char *p, size_t n, char separator, uint32_t *out, size_t max);

/* True for UTF-8; zero bytes count as such. */
bool text_is_utf8(const char *p, size_t n);

/* The text for an error message: printable, cut to 40 characters, in quotes. Returns out. */
const char *text_quote(const char *p, size_t n, char out[static 64]);

#endif
