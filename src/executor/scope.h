/* Scope: named values that live longer than a run (parameters, accumulators, metric states).
 * Values never move, so plans keep pointers to them. Threads: creating and finding are locked; the
 * values themselves are not (Hogwild). */
#ifndef EXECUTOR_SCOPE_H
#define EXECUTOR_SCOPE_H

#include "base/map.h"
#include "tensor/value.h"

struct skiff_scope;

struct skiff_scope *scope_create(void);
/* A scope in front of another: names that it owns (scope_own) hide those of the parent, all others
 * are the parent's, which lives as long as it does. For what every thread has for itself (metric
 * states). */
struct skiff_scope *scope_create_child(struct skiff_scope *parent);
struct skiff_tensor *scope_own(struct skiff_scope *s, const char *name); /* made when absent */
/* From now on the name stands for a value of the caller's, which outlives the scope and all plans
 * that were made with it. The name is new, or was lent before. */
void scope_lend(struct skiff_scope *s, const char *name, struct skiff_tensor *value);
struct skiff_scope *scope_ref(struct skiff_scope *s);
void scope_destroy(struct skiff_scope *s); /* gives one reference back; NULL is fine */
struct skiff_tensor *scope_var(struct skiff_scope *s, const char *name); /* made when absent */
struct skiff_tensor *scope_find(const struct skiff_scope *s,
                                const char *name); /* NULL when absent; shown (value.h) */
/* Settles all values of the scope itself. */
void scope_settle(struct skiff_scope *s);
void scope_names(const struct skiff_scope *s,
                 struct str_map *out); /* name -> value, keys borrowed from s */

#endif
