/* Attributes by position, with defaults, in the type that the kind declares.
 *
 * Programs of different Paddle versions write the same attribute in different types (2.x: LONGS
 * where INTS are declared, a scalar for a float, an empty list of any type), so numbers and lists
 * of numbers are converted where nothing is lost. What cannot be converted is an error that names
 * both types. This runs once for each op of a plan, never in a step. */
#include "program/bind.h"

/* A real as a whole number; 0 for what has none (infinite, not a number, too large). */
static int64_t whole_of(double v)
{
    return v >= -9.2e18 && v <= 9.2e18 ? (int64_t)v : 0;
}

/* A number out of any scalar attribute; false when the attribute is not a number. */
static bool read_number(const struct op_attr_value *a, double *real, int64_t *whole)
{
    switch (a->type) {
    case ATTR_INT:
        *whole = a->value.i;
        break;
    case ATTR_LONG:
        *whole = a->value.l;
        break;
    case ATTR_BOOLEAN:
        *whole = a->value.b;
        break;
    case ATTR_FLOAT:
        *real = a->value.f;
        *whole = whole_of(a->value.f);
        return true;
    case ATTR_FLOAT64:
        *real = a->value.d;
        *whole = whole_of(a->value.d);
        return true;
    case ATTR_SCALAR:
        *whole = a->value.scalar.type == SCALAR_BOOLEAN ? a->value.scalar.b : a->value.scalar.i;
        if (a->value.scalar.type == SCALAR_FLOAT64) {
            *real = a->value.scalar.r;
            *whole = whole_of(a->value.scalar.r);
            return true;
        }
        if (a->value.scalar.type == SCALAR_COMPLEX128)
            return false;
        break;
    default:
        return false;
    }
    *real = (double)*whole;
    return true;
}

static bool convert_number(const struct op_attr_value *from, enum attr_type to,
                           struct attr_value *out)
{
    double real = 0;
    int64_t whole = 0;
    if (!read_number(from, &real, &whole))
        return false;
    bool is_real = from->type == ATTR_FLOAT || from->type == ATTR_FLOAT64;
    return to != ATTR_BLOCK && attr_from_number(to, real, whole, is_real, out);
}

/* Element i of a numeric list as a one-element attribute; false when the list is not numeric. */
static bool list_element(const struct op_attr_value *a, int i, struct op_attr_value *out)
{
    switch (a->type) {
    case ATTR_INTS:
        *out = (struct op_attr_value){.type = ATTR_INT, .value = {.i = a->value.ints[i]}};
        return true;
    case ATTR_LONGS:
        *out = (struct op_attr_value){.type = ATTR_LONG, .value = {.l = a->value.longs[i]}};
        return true;
    case ATTR_FLOATS:
        *out = (struct op_attr_value){.type = ATTR_FLOAT, .value = {.f = a->value.floats[i]}};
        return true;
    case ATTR_FLOAT64S:
        *out = (struct op_attr_value){.type = ATTR_FLOAT64, .value = {.d = a->value.doubles[i]}};
        return true;
    case ATTR_BOOLEANS:
        *out = (struct op_attr_value){.type = ATTR_BOOLEAN, .value = {.b = a->value.bools[i]}};
        return true;
    case ATTR_SCALARS:
        *out =
            (struct op_attr_value){.type = ATTR_SCALAR, .value = {.scalar = a->value.scalars[i]}};
        return true;
    default:
        return false;
    }
}

static bool convert_list(const struct op_attr_value *from, enum attr_type to, struct arena *arena,
                         struct attr_value *out)
{
    static const struct {
        enum attr_type list, element;
        size_t size;
    } kinds[] = {{ATTR_INTS, ATTR_INT, sizeof(int32_t)},
                 {ATTR_LONGS, ATTR_LONG, sizeof(int64_t)},
                 {ATTR_FLOATS, ATTR_FLOAT, sizeof(float)},
                 {ATTR_FLOAT64S, ATTR_FLOAT64, sizeof(double)},
                 {ATTR_BOOLEANS, ATTR_BOOLEAN, sizeof(bool)},
                 {ATTR_SCALARS, ATTR_SCALAR, sizeof(struct scalar)}};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        if (kinds[k].list != to)
            continue;
        int n = from->value.n;
        char *items = arena_alloc(arena, (size_t)(n ? n : 1) * kinds[k].size);
        for (int i = 0; i < n; i++) {
            struct op_attr_value one;
            struct attr_value converted = {0};
            if (!list_element(from, i, &one) || !convert_number(&one, kinds[k].element, &converted))
                return false;
            /* every scalar member of the union starts at the same address */
            __builtin_memcpy(items + (size_t)i * kinds[k].size, &converted.i, kinds[k].size);
        }
        out->n = n;
        out->ints = (const int32_t *)items;
        return true;
    }
    return false;
}

/* An empty list says nothing about its type: 2.x writes INTS {} where LONGS are declared. */
static bool is_list(enum attr_type t)
{
    return t == ATTR_INTS || t == ATTR_FLOATS || t == ATTR_STRINGS || t == ATTR_BOOLEANS ||
           t == ATTR_BLOCKS || t == ATTR_LONGS || t == ATTR_FLOAT64S || t == ATTR_VARS ||
           t == ATTR_SCALARS;
}

static enum skiff_status bind_one(const struct skiff_op *op, const struct op_attr_spec *spec,
                                  struct arena *arena, struct attr_value *out,
                                  struct skiff_error *err)
{
    const struct op_attr_value *a = op_attr(op, spec->name);
    if (!a) {
        if (spec->flags & ATTR_REQUIRED)
            return error_set(err, SKIFF_INVALID, "op %s: attribute %s (%s) is required and missing",
                             op->type, spec->name, attr_type_name(spec->type));
        *out = spec->def;
        return SKIFF_OK;
    }
    if (a->type == spec->type) {
        *out = a->value;
        return SKIFF_OK;
    }
    if (is_list(a->type) && is_list(spec->type) && a->value.n == 0) {
        *out = (struct attr_value){0};
        return SKIFF_OK;
    }
    if (convert_number(a, spec->type, out) || convert_list(a, spec->type, arena, out))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID, "op %s: attribute %s must be %s, but the program has %s",
                     op->type, spec->name, attr_type_name(spec->type), attr_type_name(a->type));
}

enum skiff_status attrs_bind(const struct skiff_op *op, struct arena *arena,
                             const struct attr_value **out, struct skiff_error *err)
{
    const struct op_attr_spec *specs = op->kind->attrs;
    int n = 0;
    while (specs && specs[n].name)
        n++;
    struct attr_value *values = arena_alloc(arena, (size_t)(n ? n : 1) * sizeof(*values));
    for (int i = 0; i < n; i++)
        TRY(bind_one(op, &specs[i], arena, &values[i], err));
    *out = values;
    return SKIFF_OK;
}
