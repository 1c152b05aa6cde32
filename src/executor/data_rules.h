/* The values of its inputs that a program would refuse, as rules for the code that reads the data.
 */
#ifndef EXECUTOR_DATA_RULES_H
#define EXECUTOR_DATA_RULES_H

#include "data/rules.h"
#include "program/program.h"

/* Fills `out` (the caller's: rules_deinit): ids that a look-up would not find in its table, classes
 * that a cross entropy does not have. Inputs are followed through ops that only move values. */
void data_rules_of(const struct skiff_program *program, const struct schema *schema,
                   struct data_rules *out);

#endif
