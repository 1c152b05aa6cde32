/* Scope: named values that live longer than a run (parameters, accumulators, metric states).
 * Values never move, so plans keep pointers to them. Threads: creating and finding are locked; the
 * values themselves are not (Hogwild). */
#ifndef EXECUTOR_SCOPE_H
#define EXECUTOR_SCOPE_H

#include "base/map.h"
#include "tensor/value.h"

struct scope;

struct scope *scope_create(void);
void scope_destroy(struct scope *s);
struct value *scope_var(struct scope *s, const char *name); /* made when absent */
struct value *scope_find(const struct scope *s,
                         const char *name); /* NULL when absent; settled (value.h) */
void scope_names(const struct scope *s,
                 struct str_map *out); /* name -> value, keys borrowed from s */

#endif
