/* From files to rows in batches: opening (file, cache, pipe, piece), bad lines, line numbers.
 *
 * A piece of a file begins at any byte. The line that contains the byte before it belongs to the
 * previous piece, so reading starts one byte early and drops the first line; the last line is read
 * to its end, beyond the piece. So every line is read once, by the piece that has its first byte,
 * without a search for line ends beforehand. Line numbers of a piece are counted only when a bad
 * line needs one.
 *
 * A cache is written while the file is read, and used when it is complete and its key matches;
 * failing to write one is not an error. */
#include "data/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "data/pipe.h"
#include "data/scan_cache.h"
#include "data/scan_rules.h"

#define EMPTY_AT_ONCE (1 << 20) /* empty lines that are skipped at once */

void bad_lines_init(struct bad_lines *bad, int64_t limit)
{
    *bad = (struct bad_lines){.limit = limit};
    pthread_mutex_init(&bad->lock, NULL);
}

void bad_lines_deinit(struct bad_lines *bad)
{
    pthread_mutex_destroy(&bad->lock);
}

enum skiff_status scan_open(struct scan *s, const struct scan_plan *plan, struct skiff_error *err)
{
    struct reader_config binary = {.format = "binary"};
    *s = (struct scan){.plan = plan, .file = -1};
    TRY(reader_create(plan->reader, plan->schema, &s->reader, err));
    enum skiff_status status = reader_create(&binary, plan->schema, &s->binary, err);
    if (status < 0)
        scan_close(s);
    return status;
}

void scan_metrics_init(struct scan_metrics *m, struct metrics *registry)
{
    static const char *const kinds[BAD_KINDS] = {
        [BAD_FORM] = "form", [BAD_EMPTY_LINE] = "empty", [BAD_NO_LABEL] = "no label",
        [BAD_NAME] = "name", [BAD_LABEL] = "label",      [BAD_NUMBER] = "number",
        [BAD_ID] = "id"};
    *m = (struct scan_metrics){.files = metrics_get(registry, METRIC_DATA_FILES),
                               .bytes = metrics_get(registry, METRIC_DATA_BYTES),
                               .samples = metrics_get(registry, METRIC_DATA_SAMPLES)};
    for (int i = 0; i < BAD_KINDS; i++)
        m->bad[i] = metrics_get(registry, METRIC_DATA_BAD_LINES, kinds[i]);
}

static void scan_close_file(struct scan *s)
{
    if (s->active)
        s->bytes_before += stream_report(s->source.stream);
    if (s->has_source)
        source_next(&s->source, NULL);
    binary_writer_close(&s->writer);
    s->writing = false;
    s->active = NULL;
    s->file = -1;
}

void scan_close(struct scan *s)
{
    scan_close_file(s);
    if (s->has_source)
        source_close(&s->source);
    reader_destroy(s->reader);
    reader_destroy(s->binary);
    s->reader = s->binary = NULL;
    s->has_source = false;
}

/* Gives the stream to the source and starts the reader on it. Takes the stream over. */
static enum skiff_status scan_begin(struct scan *s, struct stream *stream, struct reader *reader,
                                    struct skiff_error *err)
{
    if (s->has_source)
        source_next(&s->source, stream);
    else
        TRY(source_open(&s->source, stream, s->plan->max_line, err));
    s->has_source = true;
    s->source.max_line = s->plan->max_line ? s->plan->max_line : SOURCE_MAX_LINE;
    s->source.unpack_ratio = s->plan->unpack_ratio ? s->plan->unpack_ratio : SOURCE_UNPACK_RATIO;
    s->sample_line = s->reported = s->samples = 0;
    s->active = reader;
    if (s->plan->metrics)
        metric_add(s->plan->metrics->files, 1);
    if (reader->class->begin) {
        enum skiff_status status = reader->class->begin(reader, &s->source, err);
        if (status < 0) {
            scan_close_file(s);
            return error_prefix(err, status, "%s", s->path);
        }
    }
    return SKIFF_OK;
}

/* True when the file was opened from its cache. A cache that turns out to be
 * damaged is not used. */
static bool scan_open_cached(struct scan *s, const char *cache, uint64_t key)
{
    uint64_t found;
    struct stream *stream;
    if (!binary_key(cache, &found) || found != key)
        return false;
    if (stream_open(cache, s->plan->stop, &stream, NULL) < 0)
        return false;
    return scan_begin(s, stream, s->binary, NULL) == SKIFF_OK;
}

enum skiff_status scan_open_file(struct scan *s, const struct file_list *files, int file,
                                 struct skiff_error *err)
{
    struct stream *stream;
    struct buf cache = BUF_INIT;
    uint64_t key;
    enum skiff_status status = SKIFF_OK;
    scan_close_file(s);
    s->path = files->paths[file];
    s->piece = s->lines_before = 0;
    bool cached = s->plan->cache && cache_path(s->plan, s->path, &cache, &key);
    if (cached && scan_open_cached(s, cache.data, key)) {
        s->file = file;
        goto out;
    }
    if (pipe_is_plain(s->plan->pipe_command))
        TRY_OUT(stream_open(s->path, s->plan->stop, &stream, err));
    else
        TRY_OUT(pipe_open(s->plan->pipe_command, s->path, s->plan->stop, &stream, err));
    TRY_OUT(scan_begin(s, stream, s->reader, err));
    s->file = file;
    if (cached)
        s->writing = binary_writer_open(&s->writer, cache.data, s->plan->schema, key,
                                        &s->cache_error) == SKIFF_OK;
out:
    buf_deinit(&cache);
    return status;
}

enum skiff_status scan_open_piece(struct scan *s, const struct file_list *files,
                                  const struct file_piece *piece, struct skiff_error *err)
{
    struct stream *stream;
    const char *line;
    size_t n;
    int64_t from = piece->begin > 0 ? piece->begin - 1 : 0;
    scan_close_file(s);
    s->path = files->paths[piece->file];
    TRY(stream_open_at(s->path, from, s->plan->stop, &stream, err));
    TRY(scan_begin(s, stream, s->reader, err));
    s->file = piece->file;
    s->piece = from;
    s->lines_before = piece->begin > 0 ? -1 : 0;
    s->source.limit = piece->end - from;
    if (piece->begin > 0) {
        /* the line that the byte before the piece belongs to is another piece's */
        enum skiff_status status = source_line(&s->source, &line, &n, err);
        if (status < 0 && status != SKIFF_RANGE)
            return status;
    }
    return SKIFF_OK;
}

enum skiff_status scan_next_file(struct scan *s, struct file_cursor *cursor,
                                 struct skiff_error *err)
{
    int count = cursor->pieces ? cursor->npieces : cursor->files->count;
    int next = atomic_fetch_add(&cursor->next, 1);
    if (next >= count) {
        atomic_store(&cursor->next, count); /* never wraps */
        return SKIFF_END;
    }
    if (cursor->pieces)
        return scan_open_piece(s, cursor->files, &cursor->pieces[next], err);
    return scan_open_file(s, cursor->files, next, err);
}

int64_t scan_count_lines(const char *path, int64_t bytes)
{
    char buf[65536];
    int64_t left = bytes, lines = 0;
    FILE *f = left > 0 ? fopen(path, "re") : NULL;
    while (f && left > 0) {
        size_t n = fread(buf, 1, left < (int64_t)sizeof buf ? (size_t)left : sizeof buf, f);
        if (n == 0)
            break;
        left -= (int64_t)n;
        for (const char *p = buf; (p = memchr(p, '\n', (size_t)(buf + n - p))); p++)
            lines++;
    }
    if (f)
        fclose(f);
    return lines;
}

bool scan_has_lines(const struct scan *s)
{
    return s->active && s->active->class->line;
}

int64_t scan_line_number(struct scan *s, int64_t line)
{
    if (s->lines_before < 0)
        s->lines_before = scan_count_lines(s->path, s->piece);
    return s->lines_before + line;
}

enum skiff_status scan_bad_line(struct scan *s, int64_t line, enum bad_kind kind,
                                struct skiff_error *why, struct skiff_error *err)
{
    struct bad_lines *bad = s->plan->bad;
    line = scan_has_lines(s) ? scan_line_number(s, line) : line;
    error_prefix(why, why->code, scan_has_lines(s) ? "%s:%" PRId64 : "%s: sample %" PRId64, s->path,
                 line);
    int64_t limit = bad ? bad->limit : 0, count = 1;
    if (s->plan->metrics)
        metric_add(s->plan->metrics->bad[kind], 1);
    if (bad) {
        pthread_mutex_lock(&bad->lock);
        bad->kind = kind;
        count = atomic_fetch_add(&bad->count, 1) + 1;
        if (bad->on_bad)
            bad->on_bad(bad->arg, s->path, line, why);
        pthread_mutex_unlock(&bad->lock);
    }
    if (limit < 0 || count <= limit)
        return SKIFF_OK;
    if (err)
        *err = *why;
    if (limit > 0)
        return error_prefix(err, why->code, "more than %" PRId64 " bad lines; the last one", limit);
    return why->code;
}

enum skiff_status idle_check(const char *path, int64_t lines, int64_t limit,
                             struct skiff_error *err)
{
    limit = limit ? limit : SCAN_IDLE_LINES;
    if (limit < 0 || lines < limit)
        return SKIFF_OK;
    return error_set(err, SKIFF_FORMAT,
                     "%s: no sample in its first %" PRId64
                     " lines; is it the right file and format? (setting idle_lines, %" PRId64
                     "; -1: any number)",
                     path, lines, limit);
}

/* Lines of a file that gave no sample: reported periodically, and limited at its beginning. */
static enum skiff_status scan_idle(struct scan *s, struct skiff_error *err)
{
    struct bad_lines *bad = s->plan->bad;
    int64_t lines = s->source.line - s->sample_line, now = clock_now();
    if (s->plan->stop && atomic_load_explicit(s->plan->stop, memory_order_relaxed))
        return error_set(err, SKIFF_STATE, "%s: reading was stopped", s->path);
    if (!s->sample_line)
        TRY(idle_check(s->path, lines, s->plan->idle_lines, err));
    if (!s->reported)
        s->reported = now;
    if (bad && bad->on_idle && now - s->reported >= SCAN_REPORT_SECONDS * CLOCK_SECOND) {
        s->reported = now;
        pthread_mutex_lock(&bad->lock);
        bad->on_idle(bad->idle_arg, s->path, lines);
        pthread_mutex_unlock(&bad->lock);
    }
    return SKIFF_OK;
}

/* Behind an empty line that was bad and may be skipped: those that follow it are so, too. */
static enum skiff_status scan_skip_empty(struct scan *s, struct batch *b, struct skiff_error *err)
{
    struct bad_lines *bad = s->plan->bad;
    int64_t most = EMPTY_AT_ONCE, n = 0;
    if (bad->limit >= 0 && most > bad->limit - atomic_load(&bad->count))
        most = bad->limit - atomic_load(&bad->count);
    if (most > 0)
        TRY(source_skip_empty(&s->source, most, &n, err));
    batch_holes(b, n);
    atomic_fetch_add(&bad->count, n);
    if (s->plan->metrics)
        metric_add(s->plan->metrics->bad[BAD_EMPTY_LINE], n);
    return SKIFF_OK;
}

/* What reader_class.line may give for a bad line (reader.h). */
static bool is_bad_line(enum skiff_status status)
{
    return status == SKIFF_FORMAT || status == SKIFF_RANGE || status == SKIFF_NOT_FOUND ||
           status == SKIFF_INVALID;
}

static enum bad_kind kind_of(enum skiff_status status, size_t n)
{
    return !n                          ? BAD_EMPTY_LINE
           : status == SKIFF_NOT_FOUND ? BAD_NO_LABEL
           : status == SKIFF_INVALID   ? BAD_NAME
                                       : BAD_FORM;
}

/* Reports names that the reader has found since the last call and that match no slot. */
static void scan_report_strange(struct scan *s)
{
    struct bad_lines *bad = s->plan->bad;
    const struct strange_names *names =
        s->active->class->strange ? s->active->class->strange(s->active) : NULL;
    if (__builtin_expect(!names || names->n == s->strange_reported, 1))
        return;
    for (; s->strange_reported < names->n && bad && bad->on_odd; s->strange_reported++) {
        const char *name = names->name[s->strange_reported];
        int64_t line = scan_line_number(s, names->line[s->strange_reported]);
        if (names->like[s->strange_reported] >= 0)
            continue; /* rows that lack that slot are reported */
        pthread_mutex_lock(&bad->lock);
        if (strange_names_find(&bad->strange, name, strlen(name)) < 0 &&
            strange_names_add(&bad->strange, name, strlen(name)) >= 0)
            bad->on_odd(bad->arg, s->path, line, name);
        pthread_mutex_unlock(&bad->lock);
    }
    s->strange_reported = names->n;
}

static enum skiff_status scan_lines(struct scan *s, struct batch *b, int64_t max_rows,
                                    struct skiff_error *err)
{
    enum skiff_status (*parse)(struct reader *, const char *, size_t, struct batch *,
                               struct skiff_error *) = s->active->class->line;
    int64_t rows = b->rows; /* at the last bad line */
    int64_t evaluated = rows;
    while (!batch_is_full(b, max_rows)) {
        struct skiff_error why;
        const char *line;
        if (s->plan->short_batches && (b->rows || b->holes) && !source_ready(&s->source))
            break;
        size_t n = 1; /* of a line that is too long, it stays so */
        int64_t before = s->source.line;
        enum skiff_status status = source_line(&s->source, &line, &n, &why);
        b->lines[b->rows] = s->source.line;
        if (status == SKIFF_OK)
            status = parse(s->active, line, n, b, &why);
        else if (status == SKIFF_END)
            return status;
        if (__builtin_expect(status >= 0, 1))
            continue;
        /* a failure of the stream itself has not moved the line number */
        if (!is_bad_line(status) || s->source.line == before) {
            if (err)
                *err = why;
            return status;
        }
        if (b->rows > rows) {
            rows = b->rows;
            s->sample_line = before;
            s->reported = 0;
        }
        if (!s->writing) { /* in the order of the lines; a cache gets all rows first */
            TRY(scan_check(s, b, evaluated, SKIFF_OK, err));
            evaluated = rows = b->rows;
        }
        TRY(scan_bad_line(s, s->source.line, kind_of(status, n), &why, err));
        batch_holes(b, 1);
        if (n == 0)
            TRY(scan_skip_empty(s, b, err));
        TRY(scan_idle(s, err));
    }
    s->sample_line = s->source.line;
    s->reported = 0;
    return SKIFF_OK;
}

/* Writes the rows that were read to the cache, too. */
static void scan_cache_rows(struct scan *s, const struct batch *b, int64_t from, bool ended)
{
    if (!s->writing)
        return;
    enum skiff_status status = binary_writer_add(&s->writer, b, from, b->rows, &s->cache_error);
    if (status == SKIFF_OK && ended)
        status = binary_writer_commit(&s->writer, &s->cache_error);
    if (status < 0)
        binary_writer_close(&s->writer);
    s->writing = status == SKIFF_OK && !ended;
}

/* Reports what is suspicious but not an error. */
static void scan_report(struct scan *s, bool ended)
{
    struct bad_lines *bad = s->plan->bad;
    scan_report_strange(s);
    if (!ended || s->samples || s->source.line || !bad || !bad->on_odd)
        return;
    pthread_mutex_lock(&bad->lock);
    bad->on_odd(bad->arg, s->path, 0, NULL);
    pthread_mutex_unlock(&bad->lock);
}

static void scan_record_position(const struct scan *s, struct batch *b, int64_t from)
{
    if (b->rows == from)
        return;
    b->last = (struct batch_position){s->path, s->piece, !scan_has_lines(s)};
    if (from == 0)
        b->first = b->last;
}

static void scan_count(struct scan *s, int64_t rows)
{
    int64_t bytes = s->bytes_before + stream_report(s->source.stream);
    int64_t before = atomic_load_explicit(&s->bytes_done, memory_order_relaxed);
    atomic_store_explicit(&s->bytes_done, bytes, memory_order_relaxed);
    if (!s->plan->metrics)
        return;
    metric_add(s->plan->metrics->bytes, bytes - before);
    metric_add(s->plan->metrics->samples, rows);
}

enum skiff_status scan_rows(struct scan *s, struct batch *b, int64_t max_rows,
                            struct skiff_error *err)
{
    enum skiff_status status;
    int64_t from = b->rows;
    if (!s->active)
        return SKIFF_END;
    if (s->plan->stop && atomic_load_explicit(s->plan->stop, memory_order_relaxed))
        return error_set(err, SKIFF_STATE, "%s: reading was stopped", s->path);
    if (max_rows > b->max_rows)
        max_rows = b->max_rows;
    if (s->active->class->line) {
        status = scan_lines(s, b, max_rows, err);
    } else {
        status = s->active->class->read(s->active, &s->source, b, max_rows, err);
        if (status < 0)
            error_prefix(err, status, "%s", s->path);
        for (int64_t row = from; row < b->rows; row++)
            b->lines[row] = s->samples + 1 + row - from;
    }
    s->samples += b->rows - from;
    if (status >= 0) {
        scan_cache_rows(s, b, from, status == SKIFF_END);
        status = scan_check(s, b, from, status, err);
    }
    scan_report(s, status == SKIFF_END);
    scan_record_position(s, b, from);
    scan_count(s, b->rows - from);
    if (status == SKIFF_END)
        scan_close_file(s);
    return status;
}

enum skiff_status scan_fill(struct scan *s, struct file_cursor *cursor, struct batch *b,
                            int64_t max_rows, struct skiff_error *err)
{
    while (!batch_is_full(b, max_rows)) {
        enum skiff_status status;
        if (!s->active) {
            status = scan_next_file(s, cursor, err);
            if (status < 0)
                return status;
            if (status == SKIFF_END)
                break;
        }
        status = scan_rows(s, b, max_rows, err);
        if (status < 0)
            return status;
        if (status == SKIFF_OK && s->plan->short_batches && (b->rows || b->holes))
            break;
    }
    return b->rows || b->holes ? SKIFF_OK : SKIFF_END;
}
