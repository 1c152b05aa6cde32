/* Inside of the program module: what program.c, op.c, pb.c, text.c and grad.c share. */
#ifndef PROGRAM_BUILD_H
#define PROGRAM_BUILD_H

#include "program/program.h"

struct skiff_program *program_create_bare(void); /* no blocks, no version */
/* A block with its own idx; the caller has checked parent and forward_idx. */
struct skiff_block *program_push_block(struct skiff_program *p, int parent, int forward_idx);

/* Names are looked up along the parents, so files may not nest blocks without limit. */
enum { BLOCK_DEPTH_MAX = 256 };
bool block_too_deep(const struct skiff_program *p,
                    int parent); /* would a block under `parent` be? */

struct skiff_op *op_create(struct skiff_program *p,
                           const char *type); /* loose, kind bound, type copied */
/* Binds the kind for the program's generation; shares the type's text with the registry. */
void op_bind(const struct skiff_program *p, struct skiff_op *op);

/* Adds a slot without looking whether it is there; `slot` and `names` are borrowed for good. */
void op_push_arg(struct skiff_program *p, struct op_arg **list, int *n, const struct op_arg *arg);
/* Sets an attribute; name and value are borrowed for good. */
void op_put_attr(struct skiff_program *p, struct skiff_op *op, const struct op_attr_value *attr);
void op_reserve_attrs(struct skiff_program *p, struct skiff_op *op, int n);
void op_share_attrs(struct skiff_program *p, struct skiff_op *to,
                    const struct skiff_op *from); /* same program */

struct attr_value attr_value_copy(struct arena *a, enum attr_type t, const struct attr_value *v);
bool attr_type_is_list(enum attr_type t);

#endif
