/* Optimizer ops: their kinds, made from the rows of rules/optimizer_list.h, twice: as 1.x declares
 * them and as 2.x does. Formulas are in `rules`; the kernel is optimizer.c. */
#include "ops/optimizer/optimizer.h"

#define GENERATION 1
#define INS(type) type##_ins_1x
#define OUTS(type) type##_outs_1x
#define ATTRS(type) type##_attrs_1x
#include "ops/optimizer/optimizer_slots.h"

#define GENERATION 2
#define INS(type) type##_ins_2x
#define OUTS(type) type##_outs_2x
#define ATTRS(type) type##_attrs_2x
#include "ops/optimizer/optimizer_slots.h"

#define OPTIMIZER_OP(name, generation, optimizer_flags, in_slots, out_slots, attributes)     \
    {                                                                                        \
        .type = name, .generations = generation,                                             \
        .flags = OP_OPTIMIZER | OP_NO_GRAD_NEEDED |                                          \
                 ((optimizer_flags)&OPTIMIZER_SPARSE ? OP_ROWS_OK : 0) |                     \
                 ((optimizer_flags)&OPTIMIZER_ROWS_ONCE ? OP_ROWS_ANYWHERE : 0),             \
        .class = CLASS_UPDATE, .ins = in_slots, .outs = out_slots, .attrs = attributes,      \
        .infer = optimizer_infer, .prepare = optimizer_prepare, .release = optimizer_detach, \
        .run = optimizer_run                                                                 \
    }

const struct op_kind ops_optimizer[] = {
#define OPTIMIZER_GENERATION 1
#define OPTIMIZER(type, class, rule, flags, ...) \
    OPTIMIZER_OP(#type, GEN_1X, flags, type##_ins_1x, type##_outs_1x, type##_attrs_1x),
#include "rules/optimizer_list.h"
#define OPTIMIZER_GENERATION 2
#define OPTIMIZER(type, class, rule, flags, ...) \
    OPTIMIZER_OP(#type, GEN_2X, flags, type##_ins_2x, type##_outs_2x, type##_attrs_2x),
#include "rules/optimizer_list.h"
    {0}};
