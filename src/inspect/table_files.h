/* Saved sparse tables: the shard files that servers write, read without a job. What stands in which
 * column of a line, the accessor says (table/accessor.h). The dense parameters are one more table,
 * of numbers alone. */
#ifndef INSPECT_TABLE_FILES_H
#define INSPECT_TABLE_FILES_H

#include "base/buf.h"
#include "table/accessor.h"

struct value_stats {
    double least, most, sum;
};

struct column_count { /* rows with so many numbers behind the key */
    int columns;
    int64_t rows;
};

#define TABLE_SCORES 5
extern const char *const table_score_names[TABLE_SCORES]; /* "below 0.1", "to 1", ... */

struct table_part {
    char *name; /* "part-000-00000" */
    int64_t rows, bytes;
};

struct table_files {
    const char *path; /* of the folder; borrowed */
    bool dense;       /* dense parameters; else rows by key */
    bool statistics;  /* the accessor has statistics: the next four members are set */
    struct value_stats show, click, unseen;
    int64_t scores[TABLE_SCORES]; /* rows by score: (show - click) * 0.1 + click */
    struct table_part *parts;
    int nparts;
    struct column_count *columns; /* fewest first */
    int ncolumns;
    int64_t rows, bytes;
    struct buf state; /* the lines of `skiff train` about this table in its job; may be empty */
};

/* The folder itself, or the tables in it (000, 001, ...), one after the other. */
typedef void (*table_files_fn)(void *arg, const struct table_files *t);
enum skiff_status table_files_walk(const char *path, const struct accessor_class *accessor,
                                   table_files_fn on_table, void *arg, struct skiff_error *err);

#endif
