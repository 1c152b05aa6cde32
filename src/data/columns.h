/* Columns: what was learnt about the columns of a table, so that a reader can turn raw cells into
 * what networks take. A small text file, which `skiff init` and `skiff prepare` write:
 *
 *   skiff-columns 1
 *   rows 29305
 *   ids 153
 *   number "age" missing=0 min=17 max=90 mean=38.6 ids=0 size=33 knots 17 20 22 ...
 *   values "workclass" missing=1836 distinct=8 ids=33 size=10
 *    "Private" 20441
 *    ...
 *   hashed "device_ip" missing=0 distinct=262144+ ids=43 size=1048577
 *   hour "time" form=yymmddhh missing=0 ids=44 size=25
 *
 * Every column has its own range of ids (size 0: none), so that all share one table of a network:
 *   number   first: missing; then one for each bucket, which begins at a knot
 *   values   first: missing; second: rare, or never seen; then the values, frequent ones first
 *   hashed   first: missing; then XXH64 of the text modulo (size - 1)
 *   hour     first: missing; then the hour of the day
 *   weekday  first: missing; then Monday to Sunday
 * A column may stand there twice: as a number, and with ids of another kind. As a number it lies
 * between 0 and 1: knot i of n is i/n, straight lines between knots, the largest value is 1; a
 * missing one is 0. form= says how its cells are written (number.h); of
 * times (moment.h), the number is that of days since 1970. list= says that a cell
 * holds several values (list.h). The columns weekday(NAME) and days(NAME)
 * are made from the table's column NAME. Names and
 * values are quoted as in CSV. Many threads may read it. */
#ifndef DATA_COLUMNS_H
#define DATA_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "data/moment.h"
#include "data/number.h"

#define COLUMNS_KNOTS_MAX 256

enum column_kind { COLUMN_NUMBER, COLUMN_VALUES, COLUMN_HASHED, COLUMN_HOUR, COLUMN_WEEKDAY };

struct column_value {
    char *text; /* owned */
    int64_t count;
};

struct column_stats {
    char *name; /* owned */
    enum column_kind kind;
    int64_t missing, distinct;
    bool more;           /* there are more than `distinct` */
    int64_t first, size; /* ids */
    /* number */
    double min, max, mean;
    enum number_form number_form;
    double *knots; /* rising, owned */
    int nknots;
    /* values, hashed */
    char list; /* cells are lists of values (list.h); 0: they are values */
    /* values */
    struct column_value *values; /* owned, frequent ones first */
    int64_t nvalues;
    struct id_map map; /* from XXH64 of the text to its index; made by columns_parse */
    /* hour, weekday; number: days since 1970 of such times */
    enum timestamp_form form;
};

struct columns {
    int64_t rows;
    struct column_stats *at; /* owned */
    int count;
};

void columns_deinit(struct columns *c);
/* Appends a column of that name; the other fields are zero. */
struct column_stats *columns_add(struct columns *c, const char *name, size_t n,
                                 enum column_kind kind);
/* Assigns the ranges of ids to all columns, in order, from 0; returns the number of ids. */
int64_t columns_number_ids(struct columns *c);
int64_t columns_ids(const struct columns *c);

void columns_print(const struct columns *c, struct buf *out);
enum skiff_status columns_parse(const char *text, size_t n, const char *name, struct columns *out,
                                struct skiff_error *err);
/* Atomic (fs_write_file): on failure an old file stays as it is. */
enum skiff_status columns_write(const struct columns *c, const char *path, struct skiff_error *err);
enum skiff_status columns_read(const char *path, struct columns *out, struct skiff_error *err);
/* The columns without their values: which there are, and of which kind. */
enum skiff_status columns_read_heads(const char *path, struct columns *out,
                                     struct skiff_error *err);

/* Looks up a column by name: one that gives numbers; one that gives ids (any kind before a number).
 * NULL: none. */
const struct column_stats *columns_find_number(const struct columns *c, const char *name, size_t n);
const struct column_stats *columns_find_ids(const struct columns *c, const char *name, size_t n);

/* The number of a cell that is not missing; false: it is none. text is padded as lines are. */
bool column_number(const struct column_stats *s, const char *text, size_t n, float *out);
/* The table's column that it is made from, *n bytes: NAME of weekday(NAME). */
const char *column_source(const struct column_stats *s, size_t *n);
/* The number between 0 and 1. */
float column_scale(const struct column_stats *s, double x);
/* The id of a cell that is not missing; -1: the column cannot hold it. text is padded as lines are.
 */
int64_t column_id(const struct column_stats *s, const char *text, size_t n);
int64_t column_number_id(const struct column_stats *s, double x); /* of a number: its bucket's */
static inline int64_t column_missing_id(const struct column_stats *s)
{
    return s->first;
}

/* Computes knots for at most `most` buckets with about as many of the n sorted values each; a more
 * frequent value gets a bucket of its own. Returns the number of knots, at least 1 when n > 0. */
int columns_knots(const double *sorted, int64_t n, int most, double *out);

#endif
