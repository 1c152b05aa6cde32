#include "program/attr.h"

#include <string.h>

#include "program/build.h"

/* Name and size of an element, by type; size 0: a list of strings. */
static const struct {
    const char *name;
    bool list;
    size_t size;
} types[] = {
    [ATTR_INT] = {"INT", false, sizeof(int32_t)},
    [ATTR_FLOAT] = {"FLOAT", false, sizeof(float)},
    [ATTR_STRING] = {"STRING", false, 0},
    [ATTR_INTS] = {"INTS", true, sizeof(int32_t)},
    [ATTR_FLOATS] = {"FLOATS", true, sizeof(float)},
    [ATTR_STRINGS] = {"STRINGS", true, 0},
    [ATTR_BOOLEAN] = {"BOOLEAN", false, sizeof(bool)},
    [ATTR_BOOLEANS] = {"BOOLEANS", true, sizeof(bool)},
    [ATTR_BLOCK] = {"BLOCK", false, sizeof(int32_t)},
    [ATTR_LONG] = {"LONG", false, sizeof(int64_t)},
    [ATTR_BLOCKS] = {"BLOCKS", true, sizeof(int32_t)},
    [ATTR_LONGS] = {"LONGS", true, sizeof(int64_t)},
    [ATTR_FLOAT64S] = {"FLOAT64S", true, sizeof(double)},
    [ATTR_VAR] = {"VAR", false, 0},
    [ATTR_VARS] = {"VARS", true, 0},
    [ATTR_FLOAT64] = {"FLOAT64", false, sizeof(double)},
    [ATTR_SCALAR] = {"SCALAR", false, sizeof(struct scalar)},
    [ATTR_SCALARS] = {"SCALARS", true, sizeof(struct scalar)},
};
enum { NTYPES = sizeof(types) / sizeof(types[0]) };

const char *attr_type_name(enum attr_type t)
{
    return (unsigned)t < NTYPES ? types[t].name : "?";
}

bool attr_type_is_list(enum attr_type t)
{
    return (unsigned)t < NTYPES && types[t].list;
}

static bool string_equal(const char *a, const char *b)
{
    return a == b || strcmp(a ? a : "", b ? b : "") == 0;
}

static bool scalar_equal(const struct scalar *a, const struct scalar *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case SCALAR_BOOLEAN:
        return a->b == b->b;
    case SCALAR_LONG:
        return a->i == b->i;
    case SCALAR_FLOAT64:
        return memcmp(&a->r, &b->r, sizeof(a->r)) == 0;
    default:
        return memcmp(&a->r, &b->r, sizeof(a->r)) == 0 &&
               memcmp(&a->im, &b->im, sizeof(a->im)) == 0;
    }
}

/* Floats are equal when their bits are. */
bool attr_from_number(enum attr_type to, double real, int64_t whole, bool is_real,
                      struct attr_value *out)
{
    switch (to) {
    case ATTR_INT:
    case ATTR_BLOCK:
        out->i = (int32_t)whole;
        return whole >= INT32_MIN && whole <= INT32_MAX;
    case ATTR_LONG:
        out->l = whole;
        return true;
    case ATTR_BOOLEAN:
        out->b = real != 0;
        return true;
    case ATTR_FLOAT:
        out->f = (float)real;
        return true;
    case ATTR_FLOAT64:
        out->d = real;
        return true;
    case ATTR_SCALAR:
        out->scalar = is_real ? (struct scalar){.type = SCALAR_FLOAT64, .r = real}
                              : (struct scalar){.type = SCALAR_LONG, .i = whole};
        return true;
    default:
        return false;
    }
}

bool attr_value_equal(enum attr_type t, const struct attr_value *a, const struct attr_value *b)
{
    if ((unsigned)t >= NTYPES)
        return true; /* a type that this version does not know has its value in the unknown bytes */
    if (t == ATTR_SCALAR)
        return scalar_equal(&a->scalar, &b->scalar);
    if (!types[t].list)
        return types[t].size ? memcmp(&a->i, &b->i, types[t].size) == 0 : string_equal(a->s, b->s);
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++) {
        if (types[t].size == 0 && !string_equal(a->strings[i], b->strings[i]))
            return false;
        if (t == ATTR_SCALARS && !scalar_equal(&a->scalars[i], &b->scalars[i]))
            return false;
    }
    if (types[t].size == 0 || t == ATTR_SCALARS || a->n == 0)
        return true;
    return memcmp(a->ints, b->ints, (size_t)a->n * types[t].size) == 0;
}

struct attr_value attr_value_copy(struct arena *a, enum attr_type t, const struct attr_value *v)
{
    struct attr_value out = *v;
    if ((unsigned)t >= NTYPES)
        return out;
    if (!types[t].list) {
        if (types[t].size == 0)
            out.s = arena_strdup(a, v->s ? v->s : "");
        return out;
    }
    if (v->n <= 0)
        return (struct attr_value){0};
    if (types[t].size) {
        out.ints = arena_memdup(a, v->ints, (size_t)v->n * types[t].size);
        return out;
    }
    const char **strings = arena_alloc(a, (size_t)v->n * sizeof(*strings));
    for (int i = 0; i < v->n; i++)
        strings[i] = arena_strdup(a, v->strings[i]);
    out.strings = strings;
    return out;
}
