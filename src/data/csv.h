/* CSV: the cells of a row. Quotes as in RFC 4180 ("a,""b"); a quoted cell may hold line ends.
 * Blanks around a cell are ignored, unless they are quoted. One user at a time. */
#ifndef DATA_CSV_H
#define DATA_CSV_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "data/text.h"

#define CSV_COLUMNS_MAX 100000
#define CSV_TITLES 10 /* lines above a header, at most */

struct csv {
    char separator;
    bool decimal_comma; /* a cell 3,5 is given as 3.5 */
    struct buf cell;    /* a quoted cell without its quotes, padded; or a replaced decimal comma */
};

/* Where in a row a text ends. */
enum csv_state {
    CSV_BEGIN, /* of a cell */
    CSV_PLAIN,
    CSV_QUOTED, /* a quote is open */
    CSV_CLOSED, /* just behind a quote that may have been the closing one */
    CSV_BEHIND, /* blanks behind it */
    CSV_MALFORMED,
};

/* The state behind text[0..n), which begins in `state`. separator 0: tab, comma, semicolon, pipe.
 */
enum csv_state csv_scan(enum csv_state state, const char *text, size_t n, char separator);

void csv_deinit(struct csv *c);
/* The cell at *at. *at moves behind its separator, or to NULL behind the last cell. The byte behind
 * the cell is not part of a number, and TEXT_PAD bytes may be read. Valid until the next call. */
enum skiff_status csv_cell(struct csv *c, const char **at, const char *end, const char **cell,
                           size_t *n, struct skiff_error *err);
/* The same for a text that is a cell as it is, without quotes around it, and needs no padding. */
const char *csv_given(struct csv *c, const char *text, size_t n);
/* Cuts the next line `slot = cell, cell` off *at, NULL behind the last; cells may hold line ends
 * within quotes. */
char *csv_next_assignment(char **at);
/* Cuts such a line in two: the name, and the cells from *at to *end. False: it has no "=". */
bool csv_assignment(char *line, char **name, const char **at, const char **end);
/* True for a line with one cell that is not empty, or none: such lines above a header are titles.
 * That cell's place and length to *title. */
bool csv_is_title(struct csv *c, const char *line, const char *end, const char **title, size_t *n);
/* True for a number with a decimal comma: 3,5 or -,25 */
bool csv_has_decimal_comma(const char *text, size_t n);
/* Prints the text as a cell, quoted where necessary. */
void csv_quote(struct buf *out, const char *text, size_t n, char separator);
/* Prints a number as a cell that is read as the same number: 3, 0.1, 1e+300; nothing for NAN. */
void csv_print_number(struct buf *out, double x);

/* Texts that stand for a missing value, besides the empty one. */
struct csv_marks {
    char *text, **at; /* owned; at: into the text */
    int n;
};
void csv_marks_init(struct csv_marks *m, const char *lines); /* one a line; NULL: none */
void csv_marks_deinit(struct csv_marks *m);
bool csv_is_missing(const struct csv_marks *m, const char *p, size_t n);

#endif
