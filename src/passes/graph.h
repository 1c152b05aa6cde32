/* Who writes and who reads each variable of a program: what fusing passes ask before they replace
 * ops. A snapshot: passes mark ops as taken while they match, and rebuild after they have changed
 * the program. */
#ifndef PASSES_GRAPH_H
#define PASSES_GRAPH_H

#include "program/op_kind.h"
#include "program/program.h"

struct graph_name {
    struct op **writers, **readers;
    int nwriters, nreaders, writers_cap, readers_cap;
    bool kept; /* fetched, persistable, or used by a sub-block: must stay as it is */
};

struct graph {
    struct program *program;
    struct block *block; /* block 0 */
    struct arena arena;
    struct str_map names; /* name -> struct graph_name */
    bool *taken;          /* by position in block 0 */
};

void graph_init(struct graph *g, struct program *p, const char *const *keep, int nkeep);
void graph_deinit(struct graph *g);

/* The only op that writes `name`, when it is of class `fuse` and not taken; else NULL. */
struct op *graph_writer(const struct graph *g, const char *name, enum op_fuse_class fuse);
/* The only op of class `fuse` that reads `name` through input `slot`; NULL when there is none or
 * more than one. */
struct op *graph_reader(const struct graph *g, const char *name, const char *slot,
                        enum op_fuse_class fuse);
/* Is `name` written by exactly one op, not kept, and read by nobody but the n given ops (NULLs
 * allowed)? */
bool graph_private(const struct graph *g, const char *name, struct op *const *readers, int n);
int graph_position(const struct graph *g, const struct op *op); /* in block 0, -1: not there */
bool graph_kept(const struct graph *g, const char *name);
bool graph_taken(const struct graph *g, const struct op *op);
void graph_take(struct graph *g, const struct op *op);

/* Replaces taken ops: `with` stands where `at` stood; all ops of `gone` disappear (with
 * graph_sweep). */
struct op *graph_replace(struct graph *g, const struct op *at, const char *type);
void graph_drop(struct graph *g, const struct op *op);
/* Removes what was dropped, after which the graph must be deinitialised. */
void graph_sweep(struct graph *g);

#endif
