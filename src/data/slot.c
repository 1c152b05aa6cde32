#include "data/slot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void schema_init(struct schema *s)
{
    *s = (struct schema){0};
}

void schema_deinit(struct schema *s)
{
    for (int i = 0; i < s->count; i++) {
        for (int k = 0; k < s->slots[i].ncolumns; k++)
            free(s->slots[i].columns[k]);
        free(s->slots[i].columns);
        free(s->slots[i].name);
    }
    free(s->slots);
    *s = (struct schema){0};
}

static enum skiff_status slot_dense(struct slot *slot, const struct shape *shape,
                                    struct skiff_error *err)
{
    char text[160];
    if (shape->ndim < 1 || shape->ndim > TENSOR_MAX_DIMS)
        return error_set(err, SKIFF_SHAPE,
                         "slot %s: a shape of 1 to %d dimensions is needed, found %d", slot->name,
                         TENSOR_MAX_DIMS, shape->ndim);
    slot->shape = *shape;
    slot->shape.dims[0] = -1;
    slot->width = 1;
    for (int i = 1; i < shape->ndim; i++) {
        size_t product;
        if (shape->dims[i] <= 0)
            return error_set(err, SKIFF_SHAPE,
                             "slot %s: shape %s: only the first dimension of a dense slot may be "
                             "unknown",
                             slot->name, shape_text(shape, text));
        if (!mem_mul((size_t)slot->width, (size_t)shape->dims[i], &product) ||
            product > ((size_t)1 << 32))
            return error_set(err, SKIFF_RANGE, "slot %s: shape %s is too large", slot->name,
                             shape_text(shape, text));
        slot->width = (int64_t)product;
    }
    return SKIFF_OK;
}

enum skiff_status schema_add(struct schema *s, const char *name, enum dtype dtype, int lod_level,
                             const struct shape *shape, struct skiff_error *err)
{
    if (!name || !*name)
        return error_set(err, SKIFF_INVALID, "slot %d has no name", s->count);
    if (schema_find(s, name) >= 0)
        return error_set(err, SKIFF_INVALID, "slot %s is given twice", name);
    if (dtype != DTYPE_FP32 && dtype != DTYPE_INT64)
        return error_set(err, SKIFF_DTYPE,
                         "slot %s: only float32 and int64 can be read from data, found %s", name,
                         dtype_name(dtype));
    struct slot slot = {.name = mem_strdup_or_die(name),
                        .dtype = dtype,
                        .ragged = lod_level > 0,
                        .shape = SHAPE(-1, 1),
                        .width = 1};
    if (!slot.ragged) {
        enum skiff_status status = slot_dense(&slot, shape, err);
        if (status < 0) {
            free(slot.name);
            return status;
        }
    }
    s->slots = mem_grow_or_die(s->slots, ((size_t)s->count + 1) * sizeof *s->slots);
    s->slots[s->count++] = slot;
    return SKIFF_OK;
}

void slot_add_column(struct slot *s, const char *text)
{
    s->columns = mem_grow_or_die(s->columns, ((size_t)s->ncolumns + 1) * sizeof *s->columns);
    s->columns[s->ncolumns++] = mem_strdup_or_die(text);
}

enum skiff_status schema_copy(struct schema *to, const struct schema *from, struct skiff_error *err)
{
    struct schema copy = {0};
    for (int i = 0; i < from->count; i++) {
        const struct slot *slot = &from->slots[i];
        enum skiff_status status =
            schema_add(&copy, slot->name, slot->dtype, slot->ragged, &slot->shape, err);
        if (status < 0) {
            schema_deinit(&copy);
            return status;
        }
        for (int k = 0; k < slot->ncolumns; k++)
            slot_add_column(&copy.slots[i], slot->columns[k]);
    }
    *to = copy;
    return SKIFF_OK;
}

int schema_find(const struct schema *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->slots[i].name, name) == 0)
            return i;
    return -1;
}

int schema_label(const struct schema *s)
{
    static const char *const names[] = {"label", "click", "y"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        int i = schema_find(s, names[k]);
        if (i >= 0)
            return i;
    }
    int found = -1;
    for (int i = 0; i < s->count; i++) {
        const struct slot *slot = &s->slots[i];
        bool extra = !strcmp(slot->name, SLOT_WEIGHT) || !strcmp(slot->name, SLOT_GROUP);
        if (slot->ragged || slot->width != 1 || extra)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}
