/* What files that define functions of <skiff/build.h> share. */
#ifndef PROGRAM_API_H
#define PROGRAM_API_H

#include <skiff/build.h>

#include "program/infer.h"
#include "program/program.h"

/* The value in its public form; lists that are stored in another width are copied to the arena. */
struct skiff_attr attr_publish(struct arena *a, enum attr_type type, const struct attr_value *v);

#endif
