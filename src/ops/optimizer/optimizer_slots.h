/* Slots and attributes of all optimizer ops for one generation: part of ops_optimizer.c, which
 * defines GENERATION (1 or 2), INS(type), OUTS(type) and ATTRS(type), the names of the arrays. */

#define PARAM_FLAGS(flags) ((flags)&OPTIMIZER_LISTS ? SLOT_LIST : 0)

#define OPTIMIZER_GENERATION GENERATION
#define OPTIMIZER(type, class, rule, flags, server, about, arguments, accumulators, settings, \
                  slots)                                                                      \
    static const struct op_slot INS(type)[] = {{"Param", SLOT_ROWWISE | PARAM_FLAGS(flags)},  \
                                               {"Grad", PARAM_FLAGS(flags)},                  \
                                               accumulators slots{0}};
#define STATE(name, in, out, flags) {in, SLOT_ROWWISE | (flags)},
#define STATE_FROM(name, in, out, start) {in, SLOT_ROWWISE},
#define POWER(name, in, out, start) {in, 0},
#define POWER_READ(name, in, start) {in, 0},
#define POWER_SCALED(name, in, start, scope) {in, 0},
#define IN(name, flags) {name, flags},
#include "rules/optimizer_list.h"

#define OUT_STATE (SLOT_INPLACE | SLOT_ROWWISE)
#define OPTIMIZER_GENERATION GENERATION
#define OPTIMIZER(type, class, rule, flags, server, about, arguments, accumulators, settings, \
                  slots)                                                                      \
    static const struct op_slot OUTS(type)[] = {{"ParamOut", OUT_STATE | PARAM_FLAGS(flags)}, \
                                                accumulators slots{0}};
#define STATE(name, in, out, flags) {out, OUT_STATE | ((flags)&SLOT_LIST)},
#define STATE_FROM(name, in, out, start) {out, OUT_STATE},
#define POWER(name, in, out, start) {out, SLOT_INPLACE},
#define OUT(name, flags) {name, flags},
#include "rules/optimizer_list.h"

#define OPTIMIZER_GENERATION GENERATION
#define OPTIMIZER(type, class, rule, flags, server, about, arguments, accumulators, settings, \
                  slots)                                                                      \
    static const struct op_attr_spec ATTRS(type)[] = {settings{0}};
#define NUMBER(field, attr, rule, op, preset, range) A_FLOAT(attr, op),
#define OR_DIE(field, attr, rule, preset, range) A_REQ(attr, ATTR_FLOAT),
#define NUMBER_UNLESS(field, attr, rule, preset, test) A_REQ(attr, ATTR_FLOAT),
#define NUMBERS(field, attr, rule, op, preset) \
    {.name = attr, .type = ATTR_FLOATS, .def = {.n = 1, .floats = (const float[]){op}}},
#define TRUTH(field, attr, rule) A_BOOL(attr, false),
#define ANSWER(field, attr, rule) A_BOOL(attr, false),
#define COPY(field, attr, rule, op) A_FLOAT(attr, op),
#define ATTR(spec) spec,
#define RULE_NUMBER(attr, rule, op) A_FLOAT(attr, op),
#include "rules/optimizer_list.h"

#undef PARAM_FLAGS
#undef OUT_STATE
#undef GENERATION
#undef INS
#undef OUTS
#undef ATTRS
