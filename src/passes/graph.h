/* Writers and readers of each variable of a program; fusing passes ask it before they replace ops.
 *
 * A snapshot. Positions are those of the ops when the graph was made. Replaced and dropped ops keep
 * theirs until graph_sweep and still count as readers and writers, which errs on the safe side. A
 * pass that moves the reads or writes of an op must ask graph_written_between /
 * graph_touched_between whether an op in between would notice. */
#ifndef PASSES_GRAPH_H
#define PASSES_GRAPH_H

#include "program/op_kind.h"
#include "program/program.h"

struct graph_use {
    struct skiff_op *op;
    int at; /* position in block 0; -1: the op is in a sub-block */
};

struct graph_uses {
    struct graph_use *use;
    int n, cap;
};

struct graph_name {
    struct graph_uses writers, readers;
    bool kept; /* fetched, persistable, or used by a sub-block: must stay as it is */
};

struct graph {
    struct skiff_program *program;
    struct skiff_block *block; /* block 0 */
    int nops;                  /* of block 0 when the graph was made */
    struct arena arena;
    struct str_map names;    /* name -> struct graph_name */
    struct id_map positions; /* address of an op of block 0 -> its position */
};

void graph_init(struct graph *g, struct skiff_program *p, const char *const *keep, int nkeep);
void graph_deinit(struct graph *g);

/* The only op that writes `name`, when it is of `class` and still there; else NULL. */
struct skiff_op *graph_writer(const struct graph *g, const char *name, enum op_class class);
/* The only op of `class` that reads `name` through input `slot` and is still there; NULL when
 * there is none or more than one. */
struct skiff_op *graph_reader(const struct graph *g, const char *name, const char *slot,
                              enum op_class class);
/* Is `name` written by at most one op, not kept, and read by nobody but the n given ops (NULLs
 * allowed)? */
bool graph_private(const struct graph *g, const char *name, struct skiff_op *const *readers, int n);
bool graph_kept(const struct graph *g, const char *name);
int graph_position(const struct graph *g,
                   const struct skiff_op *op); /* in block 0, -1: not there */

/* Does an op between the positions a and b (neither of them counts) write `name`? Writers in
 * sub-blocks count as being everywhere. A NULL name is never written. */
bool graph_written_between(const struct graph *g, const char *name, int a, int b);
/* The same, for readers too. */
bool graph_touched_between(const struct graph *g, const char *name, int a, int b);

/* A new op at the position of `at`; `at` is removed. */
struct skiff_op *graph_replace(struct graph *g, const struct skiff_op *at, const char *type);
void graph_drop(struct graph *g, const struct skiff_op *op);
/* Removes dropped ops; the graph must then be deinitialised. */
void graph_sweep(struct graph *g);

#endif
