#include "report/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define REPLACEMENT 0xFFFD

/* The next character of UTF-8 text, and how many bytes it has; broken ones are one byte long. */
static uint32_t next_char(const unsigned char *s, int *out_bytes)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = s[0] < 0x80 ? 1 : s[0] >= 0xF8 ? 0 : s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    *out_bytes = 1;
    if (n == 1)
        return s[0];
    if (n == 0 || s[0] < 0xC0)
        return REPLACEMENT;
    uint32_t c = s[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) /* also the end of the text */
            return REPLACEMENT;
        c = c << 6 | (s[i] & 0x3F);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        return REPLACEMENT;
    *out_bytes = n;
    return c;
}

/* Characters that YAML forbids, though JSON would take them. */
static int is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || c == 0xFEFF ||
           c == 0xFFFE || c == 0xFFFF;
}

static void add_char(struct buf *b, const unsigned char *s, int bytes, uint32_t c)
{
    if (c == REPLACEMENT)
        buf_str(b, "\xEF\xBF\xBD");
    else
        buf_add(b, s, (size_t)bytes);
}

void json_text(struct buf *b, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    int bytes;
    buf_char(b, '"');
    for (; *s; s += bytes) {
        uint32_t c = next_char(s, &bytes);
        if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", (int)c);
        else if (c == '\n')
            buf_str(b, "\\n");
        else if (is_control(c))
            buf_printf(b, "\\u%04x", (unsigned)c);
        else
            add_char(b, s, bytes, c);
    }
    buf_char(b, '"');
}

void json_number(struct buf *b, double v)
{
    if (isfinite(v))
        buf_printf(b, "%.9g", v);
    else
        buf_str(b, "null");
}

void html_text(struct buf *b, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    int bytes;
    for (; *s; s += bytes) {
        uint32_t c = next_char(s, &bytes);
        if (c == '<')
            buf_str(b, "&lt;");
        else if (c == '>')
            buf_str(b, "&gt;");
        else if (c == '&')
            buf_str(b, "&amp;");
        else if (c == '"')
            buf_str(b, "&quot;");
        else if (c == '\'')
            buf_str(b, "&#39;");
        else if (is_control(c) && c != '\n' && c != '\t')
            buf_str(b, "\xEF\xBF\xBD");
        else
            add_char(b, s, bytes, c);
    }
}

const char *number_short(double v, char out[static 32])
{
    static const char *const units[] = {"", "\u00a0k", "\u00a0M", "\u00a0G", "\u00a0T"};
    double size = fabs(v);
    int unit = 0;
    if (!isfinite(v)) {
        snprintf(out, 32, "\u2013");
        return out;
    }
    while (size >= (unit ? 999.5 : 9999.5) && unit < 4) {
        size /= 1000;
        v /= 1000;
        unit++;
    }
    int digits = size >= 99.95 || (size == floor(size) && !unit) ? 0
                 : size >= 9.995                                 ? 1
                 : size >= 0.9995                                ? 2
                                                                 : 4;
    if (size >= 1e15 || (size > 0 && size < 5e-5))
        snprintf(out, 32, "%.3g%s", v, units[unit]);
    else
        snprintf(out, 32, "%.*f%s", digits, v, units[unit]);
    return out;
}

const char *time_short(double seconds, char out[static 32])
{
    double s = !(seconds > 0) ? 0 : seconds > 1e8 ? 1e8 : seconds;
    long whole = lround(s);
    if (whole >= 3600)
        snprintf(out, 32, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else if (whole >= 60)
        snprintf(out, 32, "%ld:%02ld", whole / 60, whole % 60);
    else if (s < 0.005)
        snprintf(out, 32, "0\u00a0s");
    else
        snprintf(out, 32, "%.*f\u00a0s", s < 0.995 ? 2 : s < 9.95 ? 1 : 0, s);
    return out;
}

const char *bytes_short(double bytes, char out[static 32])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    for (; bytes >= 999.5 && unit < 4; unit++)
        bytes /= 1000;
    snprintf(out, 32, "%.*f\u00a0%s", unit && bytes < 9.95 ? 1 : 0, bytes, units[unit]);
    return out;
}
