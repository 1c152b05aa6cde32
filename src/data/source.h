/* Source: lines (or records) out of a stream, found in place in one buffer.
 *
 * The buffer is filled in large blocks; a line is a pointer into it. Line ends are \n and \r\n; the
 * last line needs none. In CSV (source_quotes) a quoted cell may hold line ends: such a row is one
 * line, whose number is that of its first. NUL and other bytes are ordinary. A line longer than
 * max_line is an error, after which reading goes on behind it; memory stays bounded by max_line.
 * One without end (1 GB) is an error of the stream. Compressed content that unpacks to more than
 * unpack_ratio times its size is refused: it was made to hurt.
 * Threads: one user at a time. */
#ifndef DATA_SOURCE_H
#define DATA_SOURCE_H

#include "data/stream.h"

#define SOURCE_MAX_LINE ((size_t)16 << 20)
/* A line that has not ended after so many bytes is not a line: the stream is refused. */
#define SOURCE_ENDLESS_LINE ((int64_t)1 << 30)
/* Compressed content: beyond the first so many bytes, at most so many times the size on disk. */
#define SOURCE_UNPACK_FREE ((int64_t)64 << 20)
#define SOURCE_UNPACK_RATIO 200

struct source {
    struct stream *stream;
    const char *name; /* of the stream */
    char *buf;        /* mem_alloc */
    size_t cap;       /* without the pad */
    size_t at, end;   /* what has been read and not handed out */
    bool ended;       /* the stream is at its end */
    size_t max_line;
    int64_t line;   /* number of the line handed out last, from 1 */
    int64_t inside; /* line ends within it */
    bool quotes;    /* CSV: */
    char separator, comment;
    int64_t unclosed;     /* a quote was open up to this byte, and never closed */
    int64_t bytes;        /* of the content handed out */
    int64_t read;         /* of the content, so far */
    int64_t unpack_ratio; /* -1: any */
    int64_t limit;        /* no line begins at or behind this byte of the stream; -1: no limit */
};

/* Takes the stream over, also when it fails. max_line 0: SOURCE_MAX_LINE. */
enum skiff_status source_open(struct source *s, struct stream *stream, size_t max_line,
                              struct skiff_error *err);
void source_close(struct source *s);
/* The same for the next file: the buffer is kept. */
void source_next(struct source *s, struct stream *stream);

/* From here on, up to source_next: rows of CSV. separator 0: tab, comma, semicolon or pipe. A line
 * that begins with `comment` (0: none) is one without quotes. A quote that is not closed within
 * max_line bytes does not join lines. */
void source_quotes(struct source *s, char separator, char comment);

/* The next line without its end. line[n] is \n or \r, and TEXT_PAD bytes behind it may be read. The
 * pointer holds until the next call. END behind the last line; RANGE for a line that is too long:
 * the call after it gives the line behind. FORMAT, with the line number as it was, for one without
 * end. */
enum skiff_status source_line(struct source *s, const char **line, size_t *n,
                              struct skiff_error *err);

/* Would source_line give a line, or the end, without waiting for the stream? */
bool source_ready(const struct source *s);

/* Skips empty lines that come next, at most so many, at memory speed. *out: how many; they count as
 * read. */
enum skiff_status source_skip_empty(struct source *s, int64_t most, int64_t *out,
                                    struct skiff_error *err);

/* Exactly n bytes in one piece, END when the stream is at its end, FORMAT when only a part is left;
 * n is at most max_line. */
enum skiff_status source_bytes(struct source *s, size_t n, const char **bytes,
                               struct skiff_error *err);

#endif
