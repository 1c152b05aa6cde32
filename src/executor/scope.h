/* Scope: named values that live longer than a run (parameters, accumulators, metric states).
 * Values never move, so plans keep pointers to them. Threads: creating and finding are locked; the
 * values themselves are not (Hogwild). */
#ifndef EXECUTOR_SCOPE_H
#define EXECUTOR_SCOPE_H

#include "base/map.h"
#include "tensor/value.h"

struct scope;

struct scope *scope_create(void);
/* A scope in front of another: names that it owns (scope_own) hide those of the parent, all others
 * are the parent's. For what every thread has for itself (metric states). The parent must outlive
 * it. */
struct scope *scope_create_child(struct scope *parent);
struct value *scope_own(struct scope *s, const char *name); /* made when absent */
void scope_destroy(struct scope *s);
struct value *scope_var(struct scope *s, const char *name); /* made when absent */
struct value *scope_find(const struct scope *s,
                         const char *name); /* NULL when absent; settled (value.h) */
void scope_names(const struct scope *s,
                 struct str_map *out); /* name -> value, keys borrowed from s */

#endif
