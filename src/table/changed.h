/* Changed: a set of rows, each once, that is taken all at once (GEO: changes that one trainer has
 * not pulled yet). A bit per row and a list. Threads: one owner. */
#ifndef TABLE_CHANGED_H
#define TABLE_CHANGED_H

#include <stddef.h>
#include <stdint.h>

struct changed {
    uint64_t *bits;
    size_t words;
    int64_t *rows;
    size_t n, cap;
};

void changed_deinit(struct changed *c); /* {0} is an empty set */
/* Rows are not negative. */
void changed_add(struct changed *c, const int64_t *rows, size_t n);
/* The rows in ascending order, c->rows[0 .. n); the set is empty afterwards, and the list stays
 * valid until the next add. */
size_t changed_take(struct changed *c);

#endif
