/* Finding lines in a stream (source.h), in place in one buffer.
 *
 * The unread rest moves to the front when the buffer is refilled, and the buffer doubles only when
 * that rest leaves less than a block free, which takes a long line; lines are at most max_line.
 * TEXT_PAD bytes behind the data are always readable, since the parsers of numbers read 8 bytes at
 * a time. A line that is too long is skipped to its end, so that reading can continue after the
 * error, unless there is no end within SOURCE_ENDLESS_LINE. One user at a time. */
#include "data/source.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "data/csv.h"
#include "data/text.h"

#define JOINED_AGAIN 1000         /* so many lines may be read again behind a row that is none */
#define BLOCK ((size_t)256 << 10) /* fits the second-level cache together with a batch */

enum skiff_status source_open(struct source *s, struct stream *stream, size_t max_line,
                              struct skiff_error *err)
{
    *s = (struct source){.max_line = max_line ? max_line : SOURCE_MAX_LINE,
                         .unpack_ratio = SOURCE_UNPACK_RATIO};
    s->cap = 2 * BLOCK;
    void *buf;
    enum skiff_status status = mem_alloc(s->cap + TEXT_PAD, "read buffer", &buf, err);
    if (status < 0) {
        stream_close(stream);
        return status;
    }
    s->buf = buf;
    memset(s->buf + s->cap, 0, TEXT_PAD);
    source_next(s, stream);
    return SKIFF_OK;
}

void source_next(struct source *s, struct stream *stream)
{
    stream_close(s->stream);
    s->stream = stream;
    s->name = stream ? stream->name : NULL;
    s->at = s->end = 0;
    s->ended = false;
    s->line = s->inside = 0;
    s->quotes = false;
    s->unclosed = 0;
    s->bytes = s->read = 0;
    s->limit = -1;
}

void source_close(struct source *s)
{
    stream_close(s->stream);
    mem_free(s->buf);
    *s = (struct source){0};
}

void source_quotes(struct source *s, char separator, char comment)
{
    s->quotes = true;
    s->separator = separator;
    s->comment = comment;
}

static void count_line(struct source *s)
{
    s->line += 1 + s->inside;
    s->inside = 0;
}

static enum skiff_status check_ratio(const struct source *s, struct skiff_error *err)
{
    int64_t packed = stream_report(s->stream);
    if (!s->stream->class->unpacks || s->unpack_ratio < 0 || s->read <= SOURCE_UNPACK_FREE ||
        s->read / s->unpack_ratio <= packed)
        return SKIFF_OK;
    return error_set(err, SKIFF_IO,
                     "%s: %" PRId64 " bytes of %s unpack to more than %" PRId64 ": over %" PRId64
                     " times as much is refused (setting unpack_ratio; -1: any)",
                     s->name, packed, s->stream->class->name, s->read, s->unpack_ratio);
}

/* Text that editors of Windows wrote begins with three bytes that say "UTF-8". */
static void skip_mark(struct source *s)
{
    if (s->bytes == 0 && s->read == (int64_t)s->end && s->end >= 3 &&
        memcmp(s->buf, "\xef\xbb\xbf", 3) == 0) {
        s->at = 3;
        s->bytes = 3;
    }
}

/* Reads at least one more byte behind end, or sets ended. Moves what is left to the front, and
 * makes the buffer larger when it is all one line. */
static enum skiff_status source_fill(struct source *s, struct skiff_error *err)
{
    size_t left = s->end - s->at, got = 0;
    if (s->at > 0) {
        memmove(s->buf, s->buf + s->at, left);
        s->at = 0;
        s->end = left;
    }
    if (s->cap - left < BLOCK) {
        void *fresh;
        TRY(mem_alloc(2 * s->cap + TEXT_PAD, "read buffer", &fresh, err));
        memcpy(fresh, s->buf, left);
        mem_free(s->buf);
        s->buf = fresh;
        s->cap *= 2;
    }
    TRY(stream_read(s->stream, s->buf + s->end, s->cap - s->end, &got, err));
    s->end += got;
    s->read += (int64_t)got;
    s->ended = got == 0;
    if (left == 0)
        skip_mark(s);
    TRY(check_ratio(s, err));
    /* what follows the data is read by the parsers, never used */
    memset(s->buf + s->end, 0, TEXT_PAD);
    return SKIFF_OK;
}

static void source_hand_out(struct source *s, size_t n, size_t with_end, const char **line,
                            size_t *out_n)
{
    *line = s->buf + s->at;
    s->at += with_end;
    s->bytes += (int64_t)with_end;
    count_line(s);
    if (n && (*line)[n - 1] == '\r')
        n--;
    *out_n = n;
}

/* The line at `at` is too long: drops it, up to and with its end. */
static enum skiff_status source_drop_line(struct source *s, struct skiff_error *err)
{
    int64_t begin = s->bytes;
    for (;;) {
        char *p = memchr(s->buf + s->at, '\n', s->end - s->at);
        size_t n = p ? (size_t)(p + 1 - (s->buf + s->at)) : s->end - s->at;
        s->at += n;
        s->bytes += (int64_t)n;
        if (p || s->ended)
            break;
        if (s->bytes - begin >= SOURCE_ENDLESS_LINE)
            return error_set(err, SKIFF_FORMAT,
                             "%s:%" PRId64 ": no line end within %" PRId64
                             " bytes; is it text? (a line has at most %zu bytes)",
                             s->name, s->line + 1, s->bytes - begin, s->max_line);
        TRY(source_fill(s, err));
    }
    count_line(s);
    return error_set(err, SKIFF_RANGE, "the line is longer than %zu bytes", s->max_line);
}

/* How many bytes from `at` on there are up to the first line end behind `seen` of them; without one
 * (*found) up to the end of the stream, or more than a line may have. */
static enum skiff_status find_end(struct source *s, size_t seen, size_t *length, bool *found,
                                  struct skiff_error *err)
{
    for (;;) {
        char *p = memchr(s->buf + s->at + seen, '\n', s->end - s->at - seen);
        *length = p ? (size_t)(p - (s->buf + s->at)) : s->end - s->at;
        *found = p;
        if (p || s->ended || *length > s->max_line)
            return SKIFF_OK;
        seen = *length;
        TRY(source_fill(s, err));
    }
}

/* A row of CSV that has quotes in its first line: adds the lines up to the one in which all quotes
 * are closed. If that is none, or what follows a quote is no separator, the first line stays alone
 * and csv_cell reports it. Behind such a row lines are not joined as far as was searched, so that
 * each byte is searched twice at most. */
static enum skiff_status join_lines(struct source *s, size_t *length, bool *found, int64_t *joined,
                                    struct skiff_error *err)
{
    size_t begin = 0, n = *length;
    bool more = *found;
    int64_t lines = 0;
    enum csv_state state = CSV_BEGIN;
    if (s->bytes < s->unclosed || (s->comment && s->buf[s->at] == s->comment))
        return SKIFF_OK;
    for (;; lines++) {
        state = csv_scan(state, s->buf + s->at + begin, n - begin, s->separator);
        if (state != CSV_QUOTED || !more || n > s->max_line)
            break;
        begin = n;
        TRY(find_end(s, n + 1, &n, &more, err));
    }
    if (n > s->max_line || state == CSV_QUOTED || state == CSV_MALFORMED) {
        if (state == CSV_QUOTED || lines > JOINED_AGAIN)
            s->unclosed = s->bytes + (int64_t)n;
        return SKIFF_OK;
    }
    *length = n;
    *found = more;
    *joined = lines;
    return SKIFF_OK;
}

enum skiff_status source_line(struct source *s, const char **line, size_t *n,
                              struct skiff_error *err)
{
    size_t length;
    bool found;
    int64_t joined = 0;
    if (__builtin_expect(s->limit >= 0 && s->bytes >= s->limit, 0))
        return SKIFF_END;
    TRY(find_end(s, 0, &length, &found, err));
    if (__builtin_expect(length > s->max_line, 0))
        return source_drop_line(s, err);
    if (!found && length == 0)
        return SKIFF_END;
    if (s->quotes && memchr(s->buf + s->at, '"', length))
        TRY(join_lines(s, &length, &found, &joined, err));
    if (!found)
        s->buf[s->end] = '\n';
    source_hand_out(s, length, length + found, line, n);
    s->inside = joined;
    return SKIFF_OK;
}

bool source_ready(const struct source *s)
{
    return s->ended || memchr(s->buf + s->at, '\n', s->end - s->at) || stream_ready(s->stream);
}

/* How many of the n bytes at p are line ends, up to the first that is none. */
static size_t count_newlines(const char *p, size_t n)
{
    static const uint64_t newlines = 0x0a0a0a0a0a0a0a0aull;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        uint64_t w[4];
        memcpy(w, p + i, 32);
        if ((w[0] ^ newlines) | (w[1] ^ newlines) | (w[2] ^ newlines) | (w[3] ^ newlines))
            break;
    }
    while (i < n && p[i] == '\n')
        i++;
    return i;
}

enum skiff_status source_skip_empty(struct source *s, int64_t most, int64_t *out,
                                    struct skiff_error *err)
{
    if (s->limit >= 0 && most > s->limit - s->bytes)
        most = s->limit - s->bytes;
    for (*out = 0; *out < most;) {
        size_t left = s->end - s->at,
               want = left < (size_t)(most - *out) ? left : (size_t)(most - *out);
        size_t n = count_newlines(s->buf + s->at, want);
        s->at += n;
        s->bytes += (int64_t)n;
        s->line += (int64_t)n + (n ? s->inside : 0);
        s->inside = n ? 0 : s->inside;
        *out += (int64_t)n;
        if (n < left || s->ended)
            break;
        TRY(source_fill(s, err));
    }
    return SKIFF_OK;
}

enum skiff_status source_bytes(struct source *s, size_t n, const char **bytes,
                               struct skiff_error *err)
{
    if (n > s->max_line)
        return error_set(err, SKIFF_RANGE, "a piece of %zu bytes: at most %zu are read at once", n,
                         s->max_line);
    while (s->end - s->at < n && !s->ended)
        TRY(source_fill(s, err));
    size_t left = s->end - s->at;
    if (left < n) {
        if (left == 0)
            return SKIFF_END;
        return error_set(err, SKIFF_FORMAT,
                         "the data ends too early: %zu bytes expected, %zu found", n, left);
    }
    *bytes = s->buf + s->at;
    s->at += n;
    s->bytes += (int64_t)n;
    return SKIFF_OK;
}
