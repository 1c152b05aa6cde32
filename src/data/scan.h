/* Scan: reads files one after the other into batches: a stream or a pipe command, a reader, the
 * rule for bad lines, and the cache.
 *
 * Many scans may share a plan and a cursor (one per thread): each takes the next file.
 *
 * Cache: with plan.cache, the samples of a file are also written to a binary file (binary.h), and
 * later scans read that in its place. It is hidden beside the file (.NAME.skiffcache), or in
 * cache_dir. It counts only when its key fits: schema, format and all its settings, pipe command,
 * size and time of the file. A cache that cannot be written is no failure: it is reported by
 * scan.cache_error. Standard input is never cached. */
#ifndef DATA_SCAN_H
#define DATA_SCAN_H

#include <pthread.h>

#include "data/binary.h"
#include "data/files.h"
#include "data/reader.h"
#include "data/rules.h"
#include "metrics/metrics.h"

/* Bad lines over all scans of a plan. */
struct bad_lines {
    int64_t limit; /* this many are counted and skipped; one more is an error; -1: no limit */
    atomic_llong count;
    enum bad_kind kind; /* of the line that on_bad gets */
    /* Called for every bad line, one call at a time, with file, line and what was wrong (the
     * message begins with both already); of empty lines in a row for the first. May be NULL. Must
     * not call into the scan. */
    void (*on_bad)(void *arg, const char *file, int64_t line, const struct skiff_error *why);
    /* Called when a file continues without giving a sample, at most every SCAN_REPORT_SECONDS, with
     * the lines read since the last sample; may be NULL, otherwise as on_bad. */
    void (*on_idle)(void *idle_arg, const char *file, int64_t lines);
    void *idle_arg;
    /* Called once for a name that matches no slot, with its first line, and for a file without
     * content (name NULL); otherwise as on_bad. */
    void (*on_odd)(void *arg, const char *file, int64_t line, const char *name);
    void *arg;
    struct strange_names strange; /* that on_odd was called for */
    pthread_mutex_t lock;
};

#define SCAN_REPORT_SECONDS 5
#define SCAN_IDLE_LINES \
    10000000 /* a file that begins with so many lines and no sample is refused */

void bad_lines_init(struct bad_lines *bad, int64_t limit);
void bad_lines_deinit(struct bad_lines *bad);

/* FORMAT when a file has begun with so many lines and no sample. limit 0: SCAN_IDLE_LINES; -1: any
 * number. */
enum skiff_status idle_check(const char *path, int64_t lines, int64_t limit,
                             struct skiff_error *err);

/* What scans of a plan read, over all epochs. */
struct scan_metrics {
    struct metric *files, *bytes, *samples, *bad[BAD_KINDS];
};
void scan_metrics_init(struct scan_metrics *m, struct metrics *registry);

struct scan_plan {
    const struct schema *schema;
    const struct reader_config *reader;
    const char *pipe_command; /* NULL or "cat": files are read directly */
    bool short_batches; /* a batch ends where the input pauses, before the next line is there */
    bool cache;
    const char *cache_dir; /* NULL: beside the file */
    size_t max_line;       /* 0: SOURCE_MAX_LINE */
    int64_t unpack_ratio;  /* 0: SOURCE_UNPACK_RATIO; -1: any */
    int64_t idle_lines;    /* 0: SCAN_IDLE_LINES; -1: any number */
    const struct data_rules
        *rules; /* NULL: any value is good; a row that breaks one is a bad line */
    struct bad_lines *bad;
    const struct scan_metrics *metrics; /* NULL: not counted */
    const atomic_bool *stop; /* NULL, or: reading fails with STATE soon after it becomes true */
};

/* Lines in the first `bytes` bytes of a file. */
int64_t scan_count_lines(const char *path, int64_t bytes);
/* "FILE lines 1-32", "FILE:900 to NEXT:24"; nothing for a batch that is not from files. */
void batch_position_text(const struct batch *b, struct buf *out);

/* A part of a plain file, cut anywhere: the lines that begin in it. */
struct file_piece {
    int file;
    int64_t begin, end;
};

struct file_cursor {
    const struct file_list *files;
    const struct file_piece *pieces; /* NULL: whole files */
    int npieces;
    atomic_int next;
};

struct scan {
    const struct scan_plan *plan; /* borrowed, like all it points to */
    struct reader *reader, *binary;
    struct reader *active; /* of the open file; NULL: none is open */
    struct source source;
    bool has_source;
    int file;             /* position of the open file, or -1 */
    const char *path;     /* of the open file, as the user knows it */
    int64_t piece;        /* start of the open piece; 0: the beginning of the file */
    int64_t lines_before; /* lines in front of the piece; -1: not counted yet */
    int64_t sample_line;  /* line of the source that gave the last sample; 0: none yet */
    int64_t reported;     /* when on_idle was called, or the last sample came; 0: not known */
    int64_t samples;      /* samples of the open file, or its cache */
    int strange_reported; /* of the reader's unknown names */
    struct binary_writer writer;
    bool writing;
    struct skiff_error cache_error; /* code 0: none */
    atomic_llong bytes_done;        /* of files as they lie on disk; for progress */
    int64_t bytes_before;           /* of finished files */
};

enum skiff_status scan_open(struct scan *s, const struct scan_plan *plan, struct skiff_error *err);
/* Also in the middle of a file: kills its pipe command. */
void scan_close(struct scan *s);

/* Opens the next file of the cursor; END when there is none left. */
enum skiff_status scan_next_file(struct scan *s, struct file_cursor *cursor,
                                 struct skiff_error *err);
enum skiff_status scan_open_file(struct scan *s, const struct file_list *files, int file,
                                 struct skiff_error *err);
/* Opens a piece: only for line formats without a header, plain files, no pipe command; no cache. */
enum skiff_status scan_open_piece(struct scan *s, const struct file_list *files,
                                  const struct file_piece *piece, struct skiff_error *err);
/* Appends samples of the open file until the batch has max_rows; END at the end of the file (the
 * batch may have got rows then, too; the file is closed). Failures name the file and, where there
 * is one, the line. */
enum skiff_status scan_rows(struct scan *s, struct batch *b, int64_t max_rows,
                            struct skiff_error *err);
/* The same across files: OK when the batch has rows, END when there are none left. */
enum skiff_status scan_fill(struct scan *s, struct file_cursor *cursor, struct batch *b,
                            int64_t max_rows, struct skiff_error *err);

#endif
