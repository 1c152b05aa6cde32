/* Lexer of the text form: words, numbers, strings and bytes.
 *
 * A function that fails reports line, column, the expected item and the item found; the first
 * failure ends the reading. Numbers are read in the C locale, whatever the process has set. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/pb_fields.h"
#include "program/text_lex.h"

/* "file:3:14: expected ..., found ..." at the current character. */
enum skiff_status lex_fail(struct parser *s, const char *format, ...)
{
    char expected[256], found[40] = "the end of the text";
    va_list args;
    va_start(args, format);
    vsnprintf(expected, sizeof(expected), format, args);
    va_end(args);
    if (*s->p == '\n')
        snprintf(found, sizeof(found), "the end of the line");
    else if (*s->p)
        snprintf(found, sizeof(found), "\"%.*s\"",
                 (int)strcspn(s->p, "\n") < 24 ? (int)strcspn(s->p, "\n") : 24, s->p);
    return error_set(s->err, SKIFF_FORMAT, "%s:%d:%d: %s, found %s", s->what, s->line_no,
                     (int)(s->p - s->line) + 1, expected, found);
}

void lex_skip(struct parser *s)
{
    while (*s->p == ' ' || *s->p == '\t' || *s->p == '\r')
        s->p++;
    if (*s->p == '#')
        s->p += strcspn(s->p, "\n");
}

/* To the next character that is neither blank nor the end of a line. */
void lex_skip_lines(struct parser *s)
{
    for (lex_skip(s); *s->p == '\n'; lex_skip(s)) {
        s->line = ++s->p;
        s->line_no++;
    }
}

enum skiff_status lex_expect(struct parser *s, const char *text)
{
    lex_skip(s);
    size_t n = strlen(text);
    if (strncmp(s->p, text, n) != 0)
        return lex_fail(s, "expected \"%s\"", text);
    s->p += n;
    return SKIFF_OK;
}

bool lex_accept(struct parser *s, char c)
{
    lex_skip(s);
    if (*s->p != c)
        return false;
    s->p++;
    return true;
}

enum skiff_status lex_line_end(struct parser *s)
{
    lex_skip(s);
    if (*s->p && *s->p != '\n')
        return lex_fail(s, "expected the end of the line");
    return SKIFF_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static enum skiff_status parse_escape(struct parser *s, char *out)
{
    static const char from[] = "\"\\nt", to[] = "\"\\\n\t";
    const char *known = s->p[1] ? strchr(from, s->p[1]) : NULL;
    if (known) {
        *out = to[known - from];
        s->p += 2;
        return SKIFF_OK;
    }
    int high = s->p[1] == 'x' ? hex_digit(s->p[2]) : -1;
    int low = high >= 0 ? hex_digit(s->p[3]) : -1;
    if (low < 0 || high * 16 + low == 0)
        return lex_fail(s, "expected one of \\\" \\\\ \\n \\t \\x01 to \\xff");
    *out = (char)(high * 16 + low);
    s->p += 4;
    return SKIFF_OK;
}

enum skiff_status lex_quoted(struct parser *s, const char **out)
{
    if (*s->p != '"')
        return lex_fail(s, "expected a string in quotes");
    size_t capacity = 1;
    for (const char *q = s->p + 1; *q && *q != '"' && *q != '\n'; q += *q == '\\' && q[1] ? 2 : 1)
        capacity++;
    char *text = arena_alloc(&s->program->arena, capacity);
    size_t n = 0;
    s->p++;
    while (*s->p != '"') {
        if (!*s->p || *s->p == '\n')
            return lex_fail(s, "expected the closing quote of a string");
        if (*s->p == '\\')
            TRY(parse_escape(s, &text[n++]));
        else
            text[n++] = *s->p++;
    }
    s->p++;
    *out = text;
    return SKIFF_OK;
}

enum skiff_status lex_word(struct parser *s, const char *name, const char **out)
{
    lex_skip(s);
    if (*s->p == '"')
        return lex_quoted(s, out);
    size_t n = 0;
    while (text_is_bare(s->p[n]))
        n++;
    if (n == 0)
        return lex_fail(s, "expected %s", name);
    *out = arena_strndup(&s->program->arena, s->p, n);
    s->p += n;
    return SKIFF_OK;
}

enum skiff_status lex_whole(struct parser *s, int64_t least, int64_t most, int64_t *out)
{
    lex_skip(s);
    char *end;
    errno = 0;
    if (*s->p != '-' && (*s->p < '0' || *s->p > '9'))
        return lex_fail(s, "expected a whole number");
    long long v = strtoll(s->p, &end, 10);
    if (end == s->p || errno == ERANGE || v < least || v > most)
        return lex_fail(s, "expected a whole number from %lld to %lld", (long long)least,
                        (long long)most);
    s->p = end;
    *out = v;
    return SKIFF_OK;
}

enum skiff_status lex_int(struct parser *s, int32_t *out)
{
    int64_t v = 0;
    TRY(lex_whole(s, INT32_MIN, INT32_MAX, &v));
    *out = (int32_t)v;
    return SKIFF_OK;
}

/* nan:7fc00000, or false when there is none. `digits` hex digits. */
static bool parse_nan(struct parser *s, int digits, uint64_t *bits)
{
    if (strncmp(s->p, "nan:", 4) != 0)
        return false;
    *bits = 0;
    for (int i = 0; i < digits; i++) {
        int d = hex_digit(s->p[4 + i]);
        if (d < 0)
            return false;
        *bits = *bits << 4 | (unsigned)d;
    }
    s->p += 4 + digits;
    return true;
}

bool lex_at_number(const char *p)
{
    p += *p == '-';
    return (*p >= '0' && *p <= '9') || *p == '.' || strncmp(p, "inf", 3) == 0;
}

enum skiff_status lex_float(struct parser *s, float *out)
{
    lex_skip(s);
    uint64_t bits;
    if (parse_nan(s, 8, &bits)) {
        uint32_t word = (uint32_t)bits;
        memcpy(out, &word, sizeof(word));
        return SKIFF_OK;
    }
    char *end = (char *)s->p;
    float v = lex_at_number(s->p) ? strtof(s->p, &end) : 0;
    if (end == s->p)
        return lex_fail(s, "expected a number");
    s->p = end;
    *out = v;
    return SKIFF_OK;
}

enum skiff_status lex_double(struct parser *s, double *out)
{
    lex_skip(s);
    uint64_t bits;
    if (parse_nan(s, 16, &bits)) {
        memcpy(out, &bits, sizeof(bits));
        return SKIFF_OK;
    }
    char *end = (char *)s->p;
    double v = lex_at_number(s->p) ? strtod(s->p, &end) : 0;
    if (end == s->p)
        return lex_fail(s, "expected a number");
    s->p = end;
    *out = v;
    return SKIFF_OK;
}

enum skiff_status lex_bool(struct parser *s, bool *out)
{
    lex_skip(s);
    *out = strncmp(s->p, "True", 4) == 0;
    if (!*out && strncmp(s->p, "False", 5) != 0)
        return lex_fail(s, "expected True or False");
    s->p += *out ? 4 : 5;
    return SKIFF_OK;
}

/* Bytes in hex; `fields`: they must be whole protobuf fields. */
enum skiff_status lex_hex(struct parser *s, bool fields, struct unknown_fields *out)
{
    const char *start = s->p;
    size_t n = 0;
    while (hex_digit(s->p[n]) >= 0)
        n++;
    uint8_t *bytes = arena_alloc(&s->program->arena, n / 2 + 1);
    for (size_t i = 0; i < n / 2; i++)
        bytes[i] = (uint8_t)(hex_digit(start[2 * i]) * 16 + hex_digit(start[2 * i + 1]));
    if (n % 2)
        return lex_fail(s, "expected an even number of hex digits");
    if (fields && (n == 0 || !pb_fields_whole(bytes, n / 2)))
        return lex_fail(s, "expected whole protobuf fields in hex");
    s->p += n;
    *out = (struct unknown_fields){bytes, n / 2};
    return SKIFF_OK;
}
