/* Scope: named values that live longer than a run (parameters, accumulators, metric states).
 * Values never move, so plans keep pointers to them. Threads: creating and finding are locked; the
 * values themselves are not (Hogwild). */
#ifndef EXECUTOR_SCOPE_H
#define EXECUTOR_SCOPE_H

#include "base/map.h"
#include "tensor/value.h"

struct skiff_scope;

struct skiff_scope *scope_create(void);
/* A scope in front of another: names that it owns (scope_own) hide those of the parent; all others
 * are the parent's. The parent must outlive it. For values that are per thread (metric states). */
struct skiff_scope *scope_create_child(struct skiff_scope *parent);
struct skiff_tensor *scope_own(struct skiff_scope *s, const char *name); /* made when absent */
/* From now on the name refers to a value of the caller's, which must outlive the scope and all
 * plans made with it. The name is new, or was lent before. */
void scope_lend(struct skiff_scope *s, const char *name, struct skiff_tensor *value);
struct skiff_scope *scope_ref(struct skiff_scope *s);
void scope_destroy(struct skiff_scope *s); /* drops one reference; NULL is fine */
struct skiff_tensor *scope_var(struct skiff_scope *s, const char *name); /* made when absent */
struct skiff_tensor *scope_find(const struct skiff_scope *s,
                                const char *name); /* NULL when absent; shown (value.h) */
/* Flushes the deferred updates of all values of the scope itself. */
void scope_flush(struct skiff_scope *s);
void scope_names(const struct skiff_scope *s,
                 struct str_map *out); /* name -> value, keys borrowed from s */

#endif
