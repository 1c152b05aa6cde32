/* op_compatible_map: the table that Paddle 1.8.5 writes into every program it saves, whatever ops
 * the program holds. Paddle 1.x readers look up in it whether they may run a newer program. */
#ifndef IO_COMPAT_MAP_H
#define IO_COMPAT_MAP_H

#include "program/program.h"

/* Puts the table into a 1.x program that has none; others are left as they are. */
void compat_map_set(struct skiff_program *p);

#endif
