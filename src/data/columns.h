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
 * A column may stand there twice: as a number, and with ids of another kind. As a number it lies
 * between 0 and 1: knot i of n is i/n, straight lines between knots, the largest value is 1; a
 * missing one is 0. Names and values are quoted as in CSV. Many threads may read it. */
#ifndef DATA_COLUMNS_H
#define DATA_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "data/moment.h"

#define COLUMNS_KNOTS_MAX 256

enum column_kind { COLUMN_NUMBER, COLUMN_VALUES, COLUMN_HASHED, COLUMN_HOUR };

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
    double *knots; /* rising, owned */
    int nknots;
    /* values */
    struct column_value *values; /* owned, frequent ones first */
    int64_t nvalues;
    struct id_map map; /* from XXH64 of the text to its place; made by columns_parse */
    /* hour */
    enum moment_form form;
};

struct columns {
    int64_t rows;
    struct column_stats *at; /* owned */
    int count;
};

void columns_deinit(struct columns *c);
/* Appends one of that name; the rest is zero. */
struct column_stats *columns_add(struct columns *c, const char *name, size_t n,
                                 enum column_kind kind);
/* Gives all their ranges of ids, in order, from 0; returns how many ids there are. */
int64_t columns_number_ids(struct columns *c);
int64_t columns_ids(const struct columns *c);

void columns_print(const struct columns *c, struct buf *out);
enum skiff_status columns_parse(const char *text, size_t n, const char *name, struct columns *out,
                                struct skiff_error *err);
/* The file appears at once (temporary file, rename). */
enum skiff_status columns_write(const struct columns *c, const char *path, struct skiff_error *err);
enum skiff_status columns_read(const char *path, struct columns *out, struct skiff_error *err);

/* By name: one that gives numbers; one that gives ids (anything before a number). NULL: none. */
const struct column_stats *columns_find_number(const struct columns *c, const char *name, size_t n);
const struct column_stats *columns_find_ids(const struct columns *c, const char *name, size_t n);

/* The number between 0 and 1. */
float column_scale(const struct column_stats *s, double x);
/* The id of a cell that is not missing; -1: it is not what the column holds. text is padded as
 * lines are. */
int64_t column_id(const struct column_stats *s, const char *text, size_t n);
int64_t column_number_id(const struct column_stats *s, double x); /* of a number: its bucket's */
static inline int64_t column_missing_id(const struct column_stats *s)
{
    return s->first;
}

/* Knots for at most `most` buckets that hold about as many of the n sorted values each; a value
 * that is more frequent has a bucket of its own. Returns how many; at least 1 when n > 0. */
int columns_knots(const double *sorted, int64_t n, int most, double *out);

#endif
