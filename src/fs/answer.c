#include "fs/answer.h"

#include <stdlib.h>
#include <string.h>

/* Behind the text that begins at p ("...), or the end, which is a NUL at the latest. */
static const char *text_end(const char *p, const char *end)
{
    for (p++; p < end && *p && *p != '"'; p++)
        p += *p == '\\' && p + 1 < end && p[1];
    return p < end && *p ? p + 1 : p;
}

bool answer_object(const char **at, const char **object, size_t *n)
{
    const char *p = *at, *open = NULL;
    while (*p) { /* no strlen: there may be very many objects */
        if (*p == '"') {
            p = text_end(p, (const char *)UINTPTR_MAX);
            continue;
        }
        if (*p == '{')
            open = p;
        else if (*p == '}') {
            if (open) {
                *object = open;
                *n = (size_t)(p + 1 - open);
                *at = p + 1;
                return true;
            }
        }
        p++;
    }
    *at = p;
    return false;
}

static void add_code(struct buf *out, unsigned long c)
{
    char text[4];
    int n = 0;
    if (c < 0x80)
        text[n++] = (char)c;
    else {
        if (c < 0x800)
            text[n++] = (char)(0xC0 | c >> 6);
        else {
            if (c < 0x10000)
                text[n++] = (char)(0xE0 | c >> 12);
            else {
                text[n++] = (char)(0xF0 | c >> 18);
                text[n++] = (char)(0x80 | (c >> 12 & 63));
            }
            text[n++] = (char)(0x80 | (c >> 6 & 63));
        }
        text[n++] = (char)(0x80 | (c & 63));
    }
    buf_add(out, text, (size_t)n);
}

/* Four hexadecimal digits at p, or -1. */
static long unit_at(const char *p, const char *end)
{
    char digits[5] = {0}, *stop;
    if (end - p < 4)
        return -1;
    memcpy(digits, p, 4);
    long unit = strtol(digits, &stop, 16);
    return stop == digits + 4 ? unit : -1;
}

/* Adds what \x at p stands for; returns the place behind. */
static const char *add_escape(struct buf *out, const char *p, const char *end)
{
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    const char *known = strchr(from, *p);
    if (*p != 'u' || unit_at(p + 1, end) < 0) {
        buf_char(out, known ? to[known - from] : *p);
        return p + 1;
    }
    long c = unit_at(p + 1, end);
    p += 5;
    if (c >= 0xD800 && c < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
        unit_at(p + 2, end) >= 0xDC00) {
        c = 0x10000 + ((c - 0xD800) << 10) + (unit_at(p + 2, end) - 0xDC00);
        p += 6;
    }
    add_code(out, (unsigned long)c);
    return p;
}

static void add_value(struct buf *out, const char *p, const char *end)
{
    buf_str(out, "");
    if (p < end && *p == '"') {
        for (p++; p < end && *p != '"';)
            if (*p == '\\' && p + 1 < end)
                p = add_escape(out, p + 1, end);
            else
                buf_char(out, *p++);
        return;
    }
    while (p < end && !strchr(",} \r\n\t", *p))
        buf_char(out, *p++);
}

bool answer_field(const char *object, size_t n, const char *name, struct buf *out)
{
    const char *end = object + n;
    size_t len = strlen(name);
    for (const char *p = object; p < end; p++) {
        if (*p != '"')
            continue;
        const char *after = text_end(p, end), *v = after;
        while (v < end && strchr(" \r\n\t", *v))
            v++;
        if (v < end && *v == ':' && (size_t)(after - p) == len + 2 && !memcmp(p + 1, name, len)) {
            v++;
            while (v < end && strchr(" \r\n\t", *v))
                v++;
            add_value(out, v, end);
            return true;
        }
        p = after - 1;
    }
    return false;
}

int64_t answer_number(const char *object, size_t n, const char *name, int64_t otherwise)
{
    struct buf text = BUF_INIT;
    char *stop = NULL;
    int64_t value = answer_field(object, n, name, &text) ? strtoll(text.data, &stop, 10) : 0;
    bool good = stop && stop != text.data && !*stop;
    buf_deinit(&text);
    return good ? value : otherwise;
}
