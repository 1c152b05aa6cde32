/* Attributes of ops: a name, a type (Paddle's AttrType numbers) and a value. */
#ifndef PROGRAM_ATTR_H
#define PROGRAM_ATTR_H

#include <stdbool.h>
#include <stdint.h>

enum attr_type {
    ATTR_INT = 0,
    ATTR_FLOAT = 1,
    ATTR_STRING = 2,
    ATTR_INTS = 3,
    ATTR_FLOATS = 4,
    ATTR_STRINGS = 5,
    ATTR_BOOLEAN = 6,
    ATTR_BOOLEANS = 7,
    ATTR_BLOCK = 8,
    ATTR_LONG = 9,
    ATTR_BLOCKS = 10,
    ATTR_LONGS = 11,
    ATTR_FLOAT64S = 12,
    ATTR_VAR = 13,
    ATTR_VARS = 14,
    ATTR_FLOAT64 = 15,
    ATTR_SCALAR = 16,
    ATTR_SCALARS = 17,
};

enum scalar_type { SCALAR_BOOLEAN = 1, SCALAR_LONG = 2, SCALAR_FLOAT64 = 3, SCALAR_COMPLEX128 = 4 };

struct scalar {
    enum scalar_type type;
    bool b;
    int64_t i;
    double r, im;
};

/* Lists: n elements; v may be NULL when n is 0. Strings and lists are borrowed from the program's
 * arena (or are constants, in the op tables). */
struct attr_value {
    int n; /* of a list */
    union {
        int32_t i; /* INT, BLOCK */
        float f;
        double d; /* FLOAT64 */
        int64_t l;
        bool b;
        const char *s; /* STRING, VAR */
        struct scalar scalar;
        const int32_t *ints; /* INTS, BLOCKS */
        const float *floats;
        const double *doubles; /* FLOAT64S */
        const int64_t *longs;
        const bool *bools;
        const char *const *strings; /* STRINGS, VARS */
        const struct scalar *scalars;
    };
};

const char *attr_type_name(enum attr_type t); /* "INT", ...; "?" when unknown */
/* One number as a value of type `to`: `real` for types of reals, `whole` for the others; is_real: a
 * SCALAR becomes a real one. False: it does not fit, or the type is not of one number. */
bool attr_from_number(enum attr_type to, double real, int64_t whole, bool is_real,
                      struct attr_value *out);
bool attr_value_equal(enum attr_type t, const struct attr_value *a, const struct attr_value *b);

#endif
