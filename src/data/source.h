/* Source: lines (or records) out of a stream, found in place in one buffer.
 *
 * The buffer is filled in large blocks; a line is a pointer into it. Line ends are \n and \r\n; the
 * last line needs none. NUL and other bytes are ordinary. A line longer than max_line is an error,
 * after which reading goes on behind it; memory stays bounded by max_line.
 * Threads: one user at a time. */
#ifndef DATA_SOURCE_H
#define DATA_SOURCE_H

#include "data/stream.h"

#define SOURCE_MAX_LINE ((size_t)16 << 20)

struct source {
    struct stream *stream;
    const char *name; /* of the stream */
    char *buf;        /* mem_alloc */
    size_t cap;       /* without the pad */
    size_t at, end;   /* what has been read and not handed out */
    bool ended;       /* the stream is at its end */
    size_t max_line;
    int64_t line;  /* number of the line handed out last, from 1 */
    int64_t bytes; /* of the content handed out */
    int64_t limit; /* no line begins at or behind this byte of the stream; -1: no limit */
};

/* Takes the stream over, also when it fails. max_line 0: SOURCE_MAX_LINE. */
enum skiff_status source_open(struct source *s, struct stream *stream, size_t max_line,
                              struct skiff_error *err);
void source_close(struct source *s);
/* The same for the next file: the buffer is kept. */
void source_next(struct source *s, struct stream *stream);

/* The next line without its end. line[n] is \n or \r, and TEXT_PAD bytes behind it may be read. The
 * pointer holds until the next call. END behind the last line; RANGE for a line that is too long:
 * the call after it gives the line behind. */
enum skiff_status source_line(struct source *s, const char **line, size_t *n,
                              struct skiff_error *err);

/* Exactly n bytes in one piece, END when the stream is at its end, FORMAT when only a part is left;
 * n is at most max_line. */
enum skiff_status source_bytes(struct source *s, size_t n, const char **bytes,
                               struct skiff_error *err);

#endif
