/* Growable byte buffer, also used as string builder (always NUL-terminated past len). */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data;
    size_t len, cap;
};

#define BUF_INIT \
    {            \
        0        \
    }

void buf_deinit(struct buf *b);
void buf_reset(struct buf *b);
void buf_reserve(struct buf *b, size_t extra);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds text in lines of at most `width` columns (a longer word stands alone), broken at blanks; the
 * first one begins at `column`, further ones with `indent` blanks. A '\n' in the text stays. */
void buf_wrap(struct buf *b, const char *text, size_t column, size_t indent, size_t width);
/* Little-endian integers. */
void buf_u32(struct buf *b, uint32_t v);
void buf_u64(struct buf *b, uint64_t v);

#endif
