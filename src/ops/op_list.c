/* The families of op_list.h as one list for the registry. */
#include "program/op_kind.h"

#define OP_FAMILY(name) extern const struct op_kind ops_##name[];
#include "ops/op_list.h"
#undef OP_FAMILY

const struct op_kind *const op_families[] = {
#define OP_FAMILY(name) ops_##name,
#include "ops/op_list.h"
#undef OP_FAMILY
    NULL,
};
