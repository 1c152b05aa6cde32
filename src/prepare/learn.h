/* Learn: collects the column statistics of columns.h from rows of a table. One pass; memory is
 * bounded by columns and LEARN_VALUES, not by rows. */
#ifndef PREPARE_LEARN_H
#define PREPARE_LEARN_H

#include "data/columns.h"
#include "prepare/count.h"
#include "prepare/look.h"

/* What to learn about a column; several at once, or nothing. */
struct learn_column {
    const char *name;         /* borrowed */
    bool number;              /* knots, for a number between 0 and 1 */
    enum number_form form;    /* of the numbers */
    bool buckets;             /* and ids for its buckets */
    bool values;              /* ids for its values */
    char list;                /* cells are lists of them (data/list.h) */
    enum timestamp_form time; /* of the times; TIMESTAMP_NONE: they are none */
    bool hour, weekday;       /* ids for the hour of the day, for the day of the week */
    bool days;                /* knots and ids for the days since 1970 */
};

#define LEARN_VALUES 262144  /* distinct values of a column; with more the column is hashed */
#define LEARN_HASHED 1048576 /* ids of a hashed column */
#define LEARN_SAMPLE 100000  /* numbers of a column */

struct learn_config {
    const struct learn_column *columns;
    int ncolumns;
    int buckets;         /* at most */
    int64_t least;       /* values that are rarer share an id */
    bool absent_is_zero; /* libsvm: a row without the column has 0 there */
    uint64_t seed;
};

struct learn;
struct learn *learn_create(const struct learn_config *config); /* which must live longer */
void learn_destroy(struct learn *l);
/* Begins a row; then call for its cells, missing ones as empty texts. text is padded as lines are.
 */
void learn_row(struct learn *l);
enum skiff_status learn_cell(struct learn *l, int column, const char *text, size_t n,
                             struct skiff_error *err);
void learn_number(struct learn *l, int column, double x);
/* The result, with ids assigned. */
void learn_finish(struct learn *l, struct columns *out);

#endif
