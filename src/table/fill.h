/* Fill: the initial values of a row. They are a function of (seed, variable, id, column) alone:
 * neither the server that holds the row nor the time of its first use matters. Threads: plain
 * functions. */
#ifndef TABLE_FILL_H
#define TABLE_FILL_H

#include <stddef.h>
#include <stdint.h>

enum fill_kind {
    FILL_CONSTANT,  /* a */
    FILL_UNIFORM,   /* [a, b) */
    FILL_GAUSSIAN,  /* mean a, deviation b */
    FILL_TRUNCATED, /* the same, no further from a than 2 b */
};

struct fill {
    enum fill_kind kind;
    float a, b;
    uint64_t key; /* fill_key */
};

uint64_t fill_key(uint64_t seed, const char *variable);
void fill_row(const struct fill *f, int64_t id, float *out, size_t width);

#endif
