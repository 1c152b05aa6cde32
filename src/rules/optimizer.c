/* The list of optimizers as two tables. */
#include "rules/optimizer.h"

#include <string.h>

#define FIELD(f) offsetof(struct skiff_optimizer_options, f)
#define RULE_FIELD(f) offsetof(struct rule_params, f)
#define NO_FIELD OPTIMIZER_NO_FIELD

/* One pass over the list makes the attributes of every row, the next one the rows. */
#define GENERATION 1
#define OPTIMIZER_TABLE kinds_1x
#define ATTRS_OF(type) type##_attrs_1x
#include "rules/optimizer_table.h"

#define GENERATION 2
#define OPTIMIZER_TABLE kinds_2x
#define ATTRS_OF(type) type##_attrs_2x
#include "rules/optimizer_table.h"

const struct optimizer_kind *optimizer_kinds(int generation)
{
    return generation == 2 ? kinds_2x : kinds_1x;
}

const struct optimizer_kind *optimizer_kind_find(const char *type, int generation)
{
    for (const struct optimizer_kind *k = optimizer_kinds(generation); k->info.type; k++)
        if (!strcmp(k->info.type, type))
            return k;
    return NULL;
}

bool optimizer_kind_holds(const struct optimizer_kind *kind, const char *in)
{
    for (const struct optimizer_accumulator *a = kind->accumulators; a->name; a++)
        if (!strcmp(a->in, in))
            return true;
    return false;
}

const struct skiff_optimizer_info *skiff_optimizer_info(int i, int generation)
{
    for (const struct optimizer_kind *k = optimizer_kinds(generation); k->info.type; k++)
        if (k->info.class_name && i-- == 0)
            return &k->info;
    return NULL;
}
