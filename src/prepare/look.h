/* Look: what kind of table a file is, and what is in its columns. Nothing is kept of the rows but
 * counts, so memory does not grow with them.
 *
 * look_guess reads the beginning of a file: CSV (which separator, a header line or not), libsvm or
 * libffm. look_run reads all rows of all files and counts. What follows from it (which column is
 * the label, which ones are features) is for others to decide. */
#ifndef PREPARE_LOOK_H
#define PREPARE_LOOK_H

#include <stdatomic.h>

#include "prepare/count.h"
#include "data/csv.h"
#include "data/files.h"
#include "data/moment.h"
#include "data/number.h"

/* LOOK_LINES is never guessed: any format with one row a line; its cells are not examined. */
enum look_format { LOOK_CSV, LOOK_LIBSVM, LOOK_LIBFFM, LOOK_LINES };
const char *look_format_name(enum look_format format); /* reader names */

/* The format of the rows. */
struct look_form {
    enum look_format format;
    char separator;
    bool header;
    int titles;         /* lines above the header in the first file */
    bool decimal_comma; /* csv: numbers are written 3,5 */
    char comment;       /* comment lines begin with it; 0: none */
};

/* The numbers of a column, as one form reads them. */
struct look_numbers {
    int64_t whole, real;
    double min, max;
};

#define LOOK_LISTS 4
#define LOOK_VALUES 12 /* of a column, kept with their texts */

struct look_value {
    char *text;
    int64_t count;
};

struct look_column {
    char *name; /* from the header, else its position, from 1 */
    int64_t missing, whole, real, text;
    double min, max;
    int64_t distinct;
    bool more;                             /* there are more than `distinct`, */
    int64_t full_at;                       /* which were found in so many cells */
    bool counts_up;                        /* whole numbers, each larger than the one before */
    size_t longest;                        /* bytes of a cell */
    unsigned times;                        /* bit f: all values can be read as timestamp_form f */
    struct look_value values[LOOK_VALUES]; /* the first ones that were found, frequent ones first */
    int nvalues;
    /* The numbers are those of this form: one that reads all cells, or NUMBER_PLAIN. */
    enum number_form form;
    bool ambiguous;                       /* two forms read all cells, and differently */
    struct look_numbers as[NUMBER_FORMS]; /* while counting: not of NUMBER_PLAIN */
    unsigned forms;                       /* bit f: all cells can be read in form f */
    char list; /* cells are lists of values that come again (data/list.h); 0: they are not */
    struct look_list {
        int64_t cells, items; /* cells with two items at least; items of all cells */
        struct value_counts seen;
    } lists[LOOK_LISTS]; /* while counting, by list_kinds */
    struct value_counts seen;
    struct number_sample when[TIMESTAMP_FORMS]; /* by bits of `times`: seconds since 1970 */
    bool dates_ambiguous; /* day and month could change places in all of them */
    double last;
};

#define LOOK_DISTINCT 262144
#define LOOK_MARKS 10

struct look {
    struct look_form form;
    int64_t rows, bad, bytes;
    int odd_file;                /* with bytes that are not UTF-8 */
    int64_t odd_line;            /* its first such line; 0: none */
    struct look_column *columns; /* csv: all; libsvm, libffm: the label alone; lines: none */
    int ncolumns;
    bool marks[LOOK_MARKS]; /* which of look_marks were found */
    /* libsvm, libffm */
    int64_t tokens, least_index, most_index, least_field, most_field;
    bool all_ones; /* every value is 1 */
};

/* Texts that stand for a missing value, besides an empty cell. */
extern const char *const look_marks[LOOK_MARKS];
bool look_is_missing(const char *p, size_t n);
/* A finite number in p[0..n) (NUMBER_PLAIN), padded as lines are; not hex, not inf. */
bool look_number(const char *p, size_t n, double *out, bool *whole);

struct look_config {
    const struct file_list *files;
    /* set by the user; has_* false: detected */
    bool has_format, has_separator, has_header;
    struct look_form form;
    /* Called for every row that cannot be read, and periodically with the number of bytes read;
     * either may be NULL. */
    void (*on_bad)(void *arg, const char *file, int64_t line, const struct skiff_error *why);
    void (*on_progress)(void *arg, int64_t bytes);
    void *arg;
    const atomic_bool *stop;
};

/* The form of a column of times: the first that all its values have. */
static inline enum timestamp_form look_time_form(const struct look_column *c)
{
    return c->times ? (enum timestamp_form)__builtin_ctz(c->times) : TIMESTAMP_NONE;
}

/* From the first 1000 rows of the first file. */
enum skiff_status look_guess(const struct look_config *config, struct look_form *out,
                             struct skiff_error *err);
enum skiff_status look_run(const struct look_config *config, struct look *out,
                           struct skiff_error *err);
void look_deinit(struct look *l);

/* ---- rows one by one, for everything that reads files in such a format ---- */

struct look_row {
    const char *line; /* the row as it stands there; holds until the next call */
    size_t n;
    bool header;
    int64_t number; /* of the line */
};

struct look_rows {
    const struct look_config *config;
    struct look_form form;
    struct source *source;
    int file; /* the next one */
    bool begun;
    int above; /* titles of the file so far */
    int64_t bytes_before;
    int64_t reported;
};

enum skiff_status look_rows_open(struct look_rows *r, const struct look_config *config,
                                 struct look_form form, struct skiff_error *err);
void look_rows_close(struct look_rows *r);
/* The next row of the files, including header lines; skips empty lines and comments. END behind the
 * last. */
enum skiff_status look_rows_next(struct look_rows *r, struct look_row *out,
                                 struct skiff_error *err);
const char *look_rows_file(const struct look_rows *r); /* that the last row is from */
int64_t look_rows_bytes(const struct look_rows *r);    /* read so far, as they lie on disk */

#endif
