/* The public names of programs, blocks, variables and ops are those inside; files that define
 * functions of <skiff/build.h> include this header before any public one. */
#ifndef PROGRAM_API_H
#define PROGRAM_API_H

#define skiff_var var
#define skiff_program program
#define skiff_block block
#define skiff_op op

#include <skiff/build.h>

#include "program/infer.h"
#include "program/program.h"

/* The value in its public form; lists that are stored in another width are copied to the arena. */
struct skiff_attr attr_publish(struct arena *a, enum attr_type type, const struct attr_value *v);

#endif
