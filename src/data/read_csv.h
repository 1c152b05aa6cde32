/* The reader of CSV, for its files: read_csv.c (columns, lines) and read_csv_given.c (rows that are
 * cells already). */
#ifndef DATA_READ_CSV_H
#define DATA_READ_CSV_H

#include "data/columns.h"
#include "data/csv.h"
#include "data/label.h"
#include "data/reader.h"

/* Where the cells of a column go. */
struct target {
    int slot;
    int at; /* place in a dense slot */
    const struct column_stats *stats;
};

/* A line of the first form of columns, cut: `name` is to be found in the header. */
struct wanted_column {
    char *name;
    struct target to;
};

struct reader_csv {
    struct reader base;
    struct csv csv;
    bool header, hashed, scaled;
    char multi, comment;
    int label, weight, group; /* slots, or -1 */
    int needed;               /* the label, where every row must have one; or -1 */
    bool skip_label;
    int64_t width; /* of a whole row; 0: not known */
    char *id_name; /* looked for in headers, or NULL */
    int id;        /* column or -1 */
    struct label_rule rule;
    struct hasher hasher;
    struct hash_prefix *prefix; /* per slot */
    struct csv_marks missing;
    struct columns own_stats;
    const struct columns *stats;  /* own_stats, or the config's; NULL: none */
    struct buf header_line;       /* of the file that is read */
    struct buf written;           /* a number as text */
    struct wanted_column *wanted; /* by name; none: columns go by position or by slot names */
    int nwanted;
    bool bound;  /* columns are known without a header */
    int *filled; /* per slot: columns so far */
    /* of the file that is read: targets[first[k] .. first[k + 1]) are column k's */
    struct target *targets;
    int *first, ncolumns, ntargets;
};

/* Binds columns to slots by their positions, as many as the line has. */
enum skiff_status csv_positions(struct reader_csv *r, const char *line, const char *end,
                                struct skiff_error *err);
long csv_last_position(const struct reader_csv *r); /* that a slot is made from */
enum skiff_status csv_put_id(struct reader_csv *r, struct batch *b, const struct target *t,
                             int64_t id, struct skiff_error *err);
/* A cell, padded as lines are, to one slot; to all slots of column k. */
enum skiff_status csv_put(struct reader_csv *r, struct batch *b, const struct target *t,
                          const char *p, size_t n, struct skiff_error *err);
enum skiff_status csv_put_cell(struct reader_csv *r, struct batch *b, int k, const char *p,
                               size_t n, struct skiff_error *err);

/* reader_class.row, .columns */
enum skiff_status csv_row(struct reader *base, const struct reader_cell *cells, int n,
                          struct batch *b, struct skiff_error *err);
int csv_columns_of(const struct reader *base, const char **header);

#endif
