#include "base/buf.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void buf_deinit(struct buf *b)
{
    free(b->data);
    *b = (struct buf)BUF_INIT;
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

void buf_reserve(struct buf *b, size_t extra)
{
    size_t need;
    if (!mem_add(b->len, extra, &need) || !mem_add(need, 1, &need))
        need = SIZE_MAX; /* ends in mem_grow_or_die */
    if (need <= b->cap)
        return;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? SIZE_MAX : cap * 2;
    b->data = mem_grow_or_die(b->data, cap);
    b->cap = cap;
    b->data[b->len] = '\0';
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    buf_reserve(b, n);
    if (n)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    buf_reserve(b, 64);
    size_t capacity = b->cap - b->len;
    int n = vsnprintf(b->data + b->len, capacity, format, args);
    va_end(args);
    if (n > 0 && (size_t)n >= capacity) {
        buf_reserve(b, (size_t)n);
        vsnprintf(b->data + b->len, (size_t)n + 1, format, again);
    }
    va_end(again);
    if (n > 0)
        b->len += (size_t)n;
    b->data[b->len] = '\0';
}

void buf_wrap(struct buf *b, const char *text, size_t column, size_t indent, size_t width)
{
    bool first = true; /* of its line */
    while (*text) {
        if (*text == '\n') {
            buf_char(b, '\n');
            text++;
            if (*text && *text != '\n')
                buf_printf(b, "%*s", (int)indent, "");
            column = indent;
            first = true;
            continue;
        }
        size_t blanks = strspn(text, " "), n = strcspn(text + blanks, " \n");
        if (!first && column + blanks + n > width) {
            buf_printf(b, "\n%*s", (int)indent, "");
            column = indent;
            blanks = 0;
            text += strspn(text, " ");
        }
        buf_add(b, text, blanks + n);
        column += blanks + n;
        text += blanks + n;
        first = false;
    }
}

static void buf_le(struct buf *b, uint64_t v, int bytes)
{
    char out[8];
    for (int i = 0; i < bytes; i++)
        out[i] = (char)(v >> (8 * i));
    buf_add(b, out, (size_t)bytes);
}

void buf_u32(struct buf *b, uint32_t v)
{
    buf_le(b, v, 4);
}

void buf_u64(struct buf *b, uint64_t v)
{
    buf_le(b, v, 8);
}
