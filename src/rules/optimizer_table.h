/* The rows of optimizer_list.h for one GENERATION, as the array OPTIMIZER_TABLE: part of
 * optimizer.c. */

/* ---- attributes ---- */

#define OPTIMIZER_GENERATION GENERATION
#define OPTIMIZER(type, class, rule, flags, no_server, about, arguments, accumulators, settings, \
                  ...)                                                                           \
    static const struct optimizer_attr ATTRS_OF(type)[] = {settings{0}};
#define FROM(how, field, attr, rule) {attr, how, FIELD(field), NO_FIELD, RULE_FIELD(rule)},
#define NUMBER(field, attr, rule, op, preset, range) FROM(OPTIMIZER_NUMBER, field, attr, rule)
#define OR_DIE(field, attr, rule, preset, range) FROM(OPTIMIZER_NUMBER, field, attr, rule)
#define NUMBERS(field, attr, rule, op, preset) FROM(OPTIMIZER_NUMBER, field, attr, rule)
#define COPY(field, attr, rule, op) FROM(OPTIMIZER_NUMBER, field, attr, rule)
#define TRUTH(field, attr, rule) FROM(OPTIMIZER_TRUTH, field, attr, rule)
#define ANSWER(field, attr, rule) FROM(OPTIMIZER_ANSWER, field, attr, rule)
#define NUMBER_UNLESS(field, attr, rule, preset, test) \
    {attr, OPTIMIZER_NUMBER, FIELD(field), FIELD(test), RULE_FIELD(rule)},
#define RULE_NUMBER(attr, rule, op) {attr, OPTIMIZER_NUMBER, NO_FIELD, NO_FIELD, RULE_FIELD(rule)},
#include "rules/optimizer_list.h"

/* ---- rows ---- */

#define OPTIMIZER_GENERATION GENERATION
#define OPTIMIZER(t, class, r, f, server, text, args, accs, sets, slots)      \
    {.info = {.type = #t,                                                     \
              .class_name = class,                                            \
              .about = text,                                                  \
              .arguments = args,                                              \
              .settings = (const struct skiff_optimizer_setting[]){sets{0}}}, \
     .rule = &r,                                                              \
     .second_gen = OPTIMIZER_GENERATION == 2,                                 \
     .flags = f,                                                              \
     .no_server = server,                                                     \
     .accumulators = (const struct optimizer_accumulator[]){accs{0}},         \
     .attrs = ATTRS_OF(t),                                                    \
     .columns = (const char *const[]){slots NULL}},
#define COLUMN(in) in,
#define STATE(name, in, out, flags) {name, in, out, .start = NO_FIELD},
#define STATE_FROM(name, in, out, from) {name, in, out, .start = FIELD(from)},
#define POWER(name, in, out, from) \
    {name, in, out, .start = FIELD(from), .scalar = true, .on_cpu = true},
#define POWER_READ(name, in, from) \
    {name, in, NULL, .start = FIELD(from), .scalar = true, .on_cpu = true},
#define POWER_SCALED(name, in, from, scope) \
    {name, in, NULL, .start = FIELD(from), .scalar = true, .scaled_in = scope},
#define SETTING(field, arg, what, ran, pre) \
    {.name = #field,                        \
     .argument = arg,                       \
     .kind = what,                          \
     .range = ran,                          \
     .offset = FIELD(field),                \
     .preset = pre},
#define OPTION(field, pre) SETTING(field, NULL, SKIFF_SETTING_NUMBER, SKIFF_RANGE_ANY, pre)
#define NUMBER(field, attr, rule, op, pre, ran) SETTING(field, NULL, SKIFF_SETTING_NUMBER, ran, pre)
#define OR_DIE(field, attr, rule, pre, ran) SETTING(field, NULL, SKIFF_SETTING_NUMBER, ran, pre)
#define NUMBER_UNLESS(field, attr, rule, pre, test) \
    SETTING(field, NULL, SKIFF_SETTING_NUMBER, SKIFF_RANGE_ANY, pre)
#define NUMBERS(field, attr, rule, op, pre) \
    SETTING(field, NULL, SKIFF_SETTING_NUMBER, SKIFF_RANGE_ANY, pre)
#define TRUTH(field, attr, rule) SETTING(field, NULL, SKIFF_SETTING_TRUTH, SKIFF_RANGE_ANY, 0)
#define TEST(field, argument, kind) SETTING(field, argument, kind, SKIFF_RANGE_ANY, 0)
#define FACTOR(field) SETTING(field, NULL, SKIFF_SETTING_FACTOR, SKIFF_RANGE_ANY, 0)
static const struct optimizer_kind OPTIMIZER_TABLE[] = {
#include "rules/optimizer_list.h"
    {.rule = NULL}};

#undef FROM
#undef SETTING
#undef GENERATION
#undef OPTIMIZER_TABLE
#undef ATTRS_OF
